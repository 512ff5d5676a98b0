"""What the classes of both sides have: members, each yes, no, or not known for a reason; and what stands there."""

from __future__ import annotations

import ast
import importlib
from functools import cache, lru_cache

from analyzer import members
from analyzer.drift.api import YES, Answer, Api
from analyzer.drift.bodies import Body, read_body
from analyzer.drift.decorators import Decorators
from analyzer.drift.kinds import ClassKind, Evaluation, FunctionKind, Kind, Kinds, ObjectKind, SuperKind
from analyzer.drift.reader import Reader
from analyzer.drift.texts import Texts
from analyzer.drift.together import TogetherIndex
from analyzer.facts import AttributeFacts, FunctionFacts
from analyzer.findings import Position
from analyzer.index import ClassInfo, External, Missing, Target

STANDARD = ("builtins", "abc", "enum", "typing", "collections", "collections.abc")
"""Modules of Python whose classes are asked for what they have: those whose objects get no other attributes."""

BARE = frozenset({"msgspec.Struct", "typing.Protocol", "typing_extensions.Protocol", "typing.Generic"})
"""Bases that add no public attribute (the documentation of msgspec and of typing)."""


class Classes:
    """Questions about classes.

    Args:
        index, reader, texts, api: what is known of both sides.
    """

    def __init__(self, index: TogetherIndex, reader: Reader, texts: Texts, api: Api) -> None:
        self.index, self.reader, self.texts, self.api = index, reader, texts, api
        self.evaluation = Evaluation(self)
        self.decorators = Decorators(index, reader)
        self.body = lru_cache(maxsize=None)(self._body)
        self.heirs = lru_cache(maxsize=None)(self._heirs)
        self.set_outside: set[str] = set()
        self.put_in_place: set[str] = set()
        self._stack: list[tuple[ClassInfo, str]] = []

    # -- classes -----------------------------------------------------------------------------------

    def at(self, module: str, line: int, name: str) -> ClassInfo | None:
        """The class of a statement; None for one inside a function."""
        facts = self.index.module(module)
        for number, cls in enumerate(facts.classes if facts is not None else ()):
            if cls.line == line and cls.name == name and facts is not None:
                return self.index.class_at(facts, number)
        return None

    def _body(self, cls: ClassInfo) -> Body | None:
        node = self.reader.class_node(cls)
        return read_body(node, self.reader.class_scope(cls)) if node is not None else None

    def keeps_receiver(self, decorator: str) -> bool:
        """Whether a method's decorator of this last name leaves ``self`` and the result as they are."""
        return self.decorators.is_known(decorator)

    def makes_itself(self, cls: ClassInfo) -> bool:
        """Whether calling a class gives one of its objects, as far as shows."""
        if any(isinstance(base, Missing) for base in cls.mro) or members.is_protocol(cls):
            return False
        return not any(owner.facts.has_metaclass and not self._plain_metaclass(owner) for owner in cls.own_mro) and all(
            "__new__" not in owner.facts.methods for owner in cls.own_mro
        )

    def is_nominal(self, cls: ClassInfo) -> bool:
        """Whether an annotation by a class means its objects, and not whatever has the same members."""
        dicts = ("typing.TypedDict", "typing_extensions.TypedDict")
        return not members.is_protocol(cls) and not any(isinstance(b, External) and b.name in dicts for b in cls.mro)

    def _plain_metaclass(self, cls: ClassInfo) -> bool:
        node = self.reader.class_node(cls)
        given = [k.value for k in node.keywords if k.arg == "metaclass"] if node is not None else []
        return all(ast.unparse(value).rpartition(".")[2] in ("ABCMeta", "EnumMeta", "EnumType") for value in given)

    def is_ours(self, cls: ClassInfo) -> bool:
        """Whether a class is the tree's."""
        return self.index.is_vllm(cls.module.module)

    # -- members -----------------------------------------------------------------------------------

    def has(self, owner: Kind, name: str) -> Answer:
        """Whether ``owner.name`` is there, for a class, an object or ``super()``."""
        assert isinstance(owner, (ClassKind, ObjectKind, SuperKind))
        cls = owner.cls
        line = self.line(owner)
        if name.startswith("__") and name.endswith("__"):
            return YES
        unknown = ""
        for base in line:
            answer = self._in_base(base, name)
            if answer.there:
                return answer
            unknown = unknown or (answer.reason if answer.there is None else "")
        at = Position(cls.path, cls.line, cls.facts.column)
        if unknown:
            return Answer(None, unknown, at)
        if name in self.set_outside:
            return Answer(None, f"the package sets an attribute {name} itself", at)
        for heir in self.heirs(cls):
            behind = (
                heir.mro[heir.mro.index(cls) + 1 :] if isinstance(owner, SuperKind) and cls in heir.mro else heir.mro
            )
            if not isinstance(owner, SuperKind) or cls in heir.mro:
                if any(self._in_base(base, name).there is not False for base in behind):
                    return Answer(None, f"{heir.name}, which derives from {cls.name}, has {name}", at)
        if (place := self.texts.stored(name)) is not None:
            return Answer(None, f"{name} is set on an object at {place}", place)
        what = f"what {cls.name} inherits" if isinstance(owner, SuperKind) else cls.name
        return Answer(False, f"{what} has no {name}", at)

    def line(self, owner: ClassKind | ObjectKind | SuperKind) -> tuple[Target, ...]:
        """Where ``owner.name`` is looked for, in order."""
        return owner.cls.mro[1:] if isinstance(owner, SuperKind) else owner.cls.mro

    def is_mixed_in(self, cls: ClassInfo) -> bool:
        """Whether a class of either side puts others between this one and its bases: ``super()`` leads there then."""
        own = cls.mro[1:]
        return any(cls in heir.mro and heir.mro[heir.mro.index(cls) + 1 :] != own for heir in self.heirs(cls))

    def _in_base(self, base: Target, name: str) -> Answer:
        if isinstance(base, External):
            return _external(base.name, name)
        if not isinstance(base, ClassInfo):
            return Answer(None, getattr(base, "reason", "a base could not be resolved"))
        facts = base.facts
        known = facts.methods.get(name) or facts.attributes.get(name)
        if known is not None:
            return Answer(True, at=Position(base.path, known.line))
        if name in facts.nested:
            return Answer(True, at=Position(base.path, base.line))
        body = self.body(base)
        if body is None:
            return Answer(None, f"{base.name} cannot be read")
        if name in body.bound or name in body.stored or name in body.loose:
            return Answer(True, at=Position(base.path, base.line))
        if body.open:
            return Answer(None, body.open)
        if base.facts.has_metaclass and not self._plain_metaclass(base):
            return Answer(None, f"{base.name} has a metaclass")
        why = self.decorators.of_class(base)
        return Answer(None, why) if why else Answer(False)

    def _heirs(self, cls: ClassInfo) -> tuple[ClassInfo, ...]:
        """All classes of both sides that derive from a class, as far as their heads name it."""
        found: list[ClassInfo] = []
        todo = [cls]
        while todo:
            base = todo.pop()
            for module, name in (*self.texts.subclasses(base.name), *self.index.outside.heirs.get(base.name, ())):
                facts = self.index.module(module)
                for number, one in enumerate(facts.classes if facts is not None else ()):
                    if one.name == name and facts is not None:
                        heir = self.index.class_at(facts, number)
                        if heir is not cls and heir.derives_from(base) and heir not in found:
                            found.append(heir)
                            todo.append(heir)
        return tuple(found)

    # -- what stands there -------------------------------------------------------------------------

    def kinds_of(self, owner: ClassKind | ObjectKind | SuperKind, name: str) -> Kinds:
        """What ``owner.name`` is; nothing where that is not known."""
        if isinstance(owner, SuperKind) and self.is_mixed_in(owner.cls):
            return ()
        for base in self.line(owner):
            if not isinstance(base, ClassInfo):
                if isinstance(base, External) and _external(base.name, name).there is False:
                    continue
                return ()
            method = base.facts.methods.get(name)
            if method is not None:
                return self._method(owner, base, method) if self.reader.defines_once(base, name) else ()
            if name in base.facts.nested:
                return (ClassKind(self.index.class_at(base.module, base.facts.nested[name])),)
            attribute = base.facts.attributes.get(name)
            body = self.body(base) if attribute is None else None
            if attribute is not None or (body is not None and name in body.stored):
                return self._attribute(owner, base, name, attribute)
        return ()

    def _method(self, owner: ClassKind | ObjectKind | SuperKind, base: ClassInfo, method: FunctionFacts) -> Kinds:
        receiver = owner.cls
        if method.kind == "property":
            if isinstance(owner, ClassKind) or method.returns is None:
                return ()
            return self.evaluation.in_module(method.returns, base.module)
        if not all(self.decorators.is_known(d) for d in method.decorators):
            return ()
        bound = method.kind == "class" or (method.kind == "instance" and not isinstance(owner, ClassKind))
        return (FunctionKind(method, base.module, base, bound, receiver),)

    def _attribute(
        self, owner: ClassKind | ObjectKind | SuperKind, base: ClassInfo, name: str, attribute: AttributeFacts | None
    ) -> Kinds:
        if isinstance(owner, ClassKind):
            return ()
        if attribute is not None and attribute.annotation is not None:
            return self.evaluation.in_module(attribute.annotation, base.module)
        if attribute is not None or (base, name) in self._stack:
            return ()
        body = self.body(base)
        out: list[Kind] = []
        self._stack.append((base, name))
        try:
            for annotation, value, scope in body.stored[name] if body is not None else ():
                if scope is None:
                    return ()
                if annotation is not None:
                    found = self.evaluation.annotation(annotation, scope)
                elif isinstance(value, ast.Constant) and value.value is None:
                    continue
                else:
                    found = self.evaluation.of(value, scope) if value is not None else ()
                if not found:
                    return ()
                out += [kind for kind in found if kind not in out]
        finally:
            self._stack.pop()
        return tuple(out)


@cache
def _external(dotted: str, name: str) -> Answer:
    """Whether a class outside the tree has an attribute."""
    if dotted in members.MODULE_CLASSES:
        known = name in members.MODULE_ATTRIBUTES or name in members.OBJECT_ATTRIBUTES or name.startswith("_")
        return Answer(True) if known else Answer(False)
    if dotted in BARE:
        return Answer(name.startswith("__"))
    module, _, cls = dotted.rpartition(".")
    module = "typing" if module == "typing_extensions" else module
    if module in STANDARD:
        found = getattr(importlib.import_module(module), cls, None)
        if isinstance(found, type):
            return Answer(hasattr(found, name) or (module == "enum" and name in ("name", "value")))
    return Answer(None, f"{dotted} is outside the tree")
