"""Classes that derive from the tree's: what they have to define, and how the tree calls what they override."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from analyzer.drift.classes import Classes
from analyzer.drift.kinds import FunctionKind, ObjectKind
from analyzer.drift.package import Module
from analyzer.drift.records import Evidence, UseRecord
from analyzer.drift.signatures import Given, Signature, Signatures, given_by, misfits
from analyzer.facts import FunctionFacts
from analyzer.findings import Position
from analyzer.index import ClassInfo, External
from analyzer.lower import Expr, walk

ABSTRACT = ("abc.ABC", "typing.Protocol", "typing_extensions.Protocol")
MOST_DEFINERS = 80
"""A name that more classes define is nobody's own."""


@dataclass(frozen=True)
class Override:
    """A method of third-party code that stands in place of one of the tree's.

    Args:
        cls: dotted name of the third-party class.
        method: its name.
        at: where it is defined.
        base: where the method of the tree is, as ``Class.method``.
        base_at: and its place.
    """

    cls: str
    method: str
    at: Position
    base: str
    base_at: Position


class Overrides:
    """The search through the classes of one file.

    Args:
        classes, signatures: what the tree has.
    """

    def __init__(self, classes: Classes, signatures: Signatures) -> None:
        self.classes, self.signatures = classes, signatures
        self.index, self.texts = classes.index, classes.texts
        self.found: list[Override] = []
        self.looked_at = 0

    def read(self, module: Module) -> Iterator[UseRecord]:
        """What is wrong with the classes of a file.

        Args:
            module: the file.
        """
        facts = self.index.module(module.name)
        for cls in self.index.classes(facts) if facts is not None else ():
            bases = [base for base in cls.own_mro[1:] if self.classes.is_ours(base)]
            if not bases or self.classes.is_ours(cls) or cls.problem or not self._is_known(cls):
                continue
            self.looked_at += 1
            yield from self._abstract(cls)
            for method in cls.facts.methods.values():
                base = next((b for b in cls.own_mro[1:] if method.name in b.facts.methods), None)
                if base is not None and self.classes.is_ours(base) and not method.name.startswith("__"):
                    yield from self._override(cls, method, base)

    # -- abstract methods --------------------------------------------------------------------------

    def _abstract(self, cls: ClassInfo) -> Iterator[UseRecord]:
        """Methods that a class has to define before it can be built (``abc``)."""
        if not self._enforced(cls) or self.classes.decorators.of_class(cls):
            return
        if any("abstractmethod" in d for m in cls.facts.methods.values() for d in m.decorators):
            return
        heirs, missing = self.classes.heirs(cls), self._missing(cls)
        filled = {name for base in cls.own_mro if not self.classes.is_ours(base) for name in base.facts.methods}
        for name, (owner, method) in missing.items():
            wanted = {m.name for m in owner.facts.methods.values() if self._is_abstract(m)}
            if not wanted & filled:  # it is not meant to fill in for that class: a namespace, or a factory
                continue
            if not self.classes.is_ours(owner) or any(name not in self._missing(heir) for heir in heirs):
                continue
            if name in self.classes.set_outside:
                continue
            at = Position(owner.path, method.line, method.column)
            text = f"{cls.name} cannot be built: it does not define {name}, which {owner.name} requires"
            shown = Position(cls.path, cls.line, cls.facts.column)
            evidence = (Evidence(at, f"{owner.name}.{name} is abstract"),)
            yield UseRecord("abstract-method", shown, f"{cls.name}.{name}", text, evidence)

    def _enforced(self, cls: ClassInfo) -> bool:
        """Whether Python refuses to build a class with abstract methods: its metaclass is ``ABCMeta``."""
        made = any(isinstance(b, External) and b.name in ABSTRACT for b in cls.mro)
        return made or any(owner.facts.has_metaclass for owner in cls.own_mro)

    def _is_known(self, cls: ClassInfo) -> bool:
        """Whether everything that a class inherits is seen."""
        plain = ("builtins.", "abc.", "typing.", "typing_extensions.", "enum.", "torch.nn.")
        return all(isinstance(b, ClassInfo) or (isinstance(b, External) and b.name.startswith(plain)) for b in cls.mro)

    def _is_abstract(self, method: FunctionFacts) -> bool:
        return any(d.rpartition(".")[2].startswith("abstract") for d in method.decorators)

    def _missing(self, cls: ClassInfo) -> dict[str, tuple[ClassInfo, FunctionFacts]]:
        done: set[str] = set()
        missing: dict[str, tuple[ClassInfo, FunctionFacts]] = {}
        for owner in cls.own_mro:
            body = self.classes.body(owner)
            if body is None:
                return {}
            for name in {*body.bound, *owner.facts.attributes}:
                attribute = owner.facts.attributes.get(name)
                if name in done or (attribute is not None and not attribute.assigned):
                    continue
                done.add(name)
                method = owner.facts.methods.get(name)
                if method is not None and self._is_abstract(method):
                    missing[name] = (owner, method)
        return missing

    # -- signatures --------------------------------------------------------------------------------

    def _override(self, cls: ClassInfo, method: FunctionFacts, base: ClassInfo) -> Iterator[UseRecord]:
        theirs = base.facts.methods[method.name]
        at = Position(cls.path, method.line, method.column)
        base_at = Position(base.path, theirs.line, theirs.column)
        self.found.append(Override(cls.key, method.name, at, f"{base.name}.{method.name}", base_at))
        if method.kind != theirs.kind or method.kind == "property":
            return
        own, given = self._signature(cls, method), self._signature(base, theirs)
        if own is None or given is None or not self.classes.reader.defines_once(cls, method.name):
            return
        if self._called_otherwise(own, given, method.name):
            return
        for place, call in self._calls(cls, method.name):
            wrong = misfits(own, call)
            if wrong and not misfits(given, call):
                shown = f"{cls.name}.{method.name}"
                text = f"vLLM calls {method.name} in a way that {shown} does not take: {wrong[0].text}"
                evidence = (
                    Evidence(place, f"vLLM's call of {method.name}"),
                    Evidence(base_at, f"{base.name}.{method.name}, which it overrides"),
                )
                yield UseRecord("override-signature", at, shown, text, evidence)
                return

    def _called_otherwise(self, own: Signature, given: Signature, name: str) -> bool:
        """Whether the package itself calls a method in a way that only its own form takes: it has its own callers."""
        for module in self.index.outside.modules(f".{name}(".encode()):
            for node in self.classes.reader.calls(module.name).get(name, ()):
                passed = given_by(node)
                if passed.more or passed.named or (misfits(given, passed) and not misfits(own, passed)):
                    return True
        return False

    def _signature(self, cls: ClassInfo, method: FunctionFacts) -> Signature | None:
        found = self.classes.kinds_of(ObjectKind(cls), method.name)
        if len(found) != 1 or not isinstance(found[0], FunctionKind) or found[0].facts is not method:
            return None
        made = self.signatures.of(found[0])
        return made if isinstance(made, Signature) else None

    def _calls(self, cls: ClassInfo, name: str) -> Iterator[tuple[Position, Given]]:
        """Calls of a method in the tree that reach objects of a class: on ``self`` in what it inherits, and anywhere
        where the tree defines nothing else of the name."""
        inherited = [base for base in cls.own_mro[1:] if self.classes.is_ours(base)]
        for base in inherited:
            for method in base.facts.methods.values():
                overridden = any(method.name in heir.facts.methods for heir in cls.own_mro[: cls.own_mro.index(base)])
                if not overridden:
                    yield from self._on_self(base, method, name)
        if self._is_unique(cls, name):
            for rel, line in self.texts.calls(name):
                node = self._call_at(rel, line, name)
                if node is not None:
                    yield Position(rel, line, node.col_offset + 1), given_by(node)

    def _on_self(self, base: ClassInfo, method: FunctionFacts, name: str) -> Iterator[tuple[Position, Given]]:
        first = method.parameters[0].name if method.parameters else ""
        for node in walk(method.body or ()):
            if node[0] == "call" and node[1][0] == "attr" and node[1][1:3] == (("name", first), name):
                yield Position(base.path, node[4], node[5] + 1), _given(node)

    def _is_unique(self, cls: ClassInfo, name: str) -> bool:
        """Whether all methods of a name in the tree are of one family: the class's own."""
        tops = [base for base in cls.own_mro[1:] if self.classes.is_ours(base) and name in base.facts.methods]
        family = {tops[-1], *self.classes.heirs(tops[-1])} if tops else set()
        lines = self.texts.methods(name)
        if not family or len(lines) > MOST_DEFINERS:
            return False
        known = {(m.path, m.facts.methods[name].line) for m in family if name in m.facts.methods}
        return all(place in known for place in lines)

    def _call_at(self, rel: str, line: int, name: str) -> ast.Call | None:
        for node in self.classes.reader.calls(self.texts.module_of(rel)).get(name, ()):
            assert isinstance(node.func, ast.Attribute)
            asked = ast.unparse(node.func.value)  # on self and super() it reaches what the calling class inherits
            if node.func.end_lineno == line and asked not in ("self", "cls", "super()"):
                return node
        return None


def _given(node: Expr) -> Given:
    """The arguments of a lowered call."""
    return Given(
        sum(argument[0] != "star" for argument in node[2]),
        tuple(name for name, _ in node[3] if name),
        any(argument[0] == "star" for argument in node[2]),
        any(name is None for name, _ in node[3]),
    )
