"""How something of the tree is called: parameters of functions, methods and constructors, and whether a call fits."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import lru_cache

from analyzer.drift.classes import Classes
from analyzer.drift.decorators import dotted_name
from analyzer.drift.kinds import ClassKind, FunctionKind, Kind, SuperKind
from analyzer.facts import AttributeFacts, FunctionFacts, Parameter
from analyzer.findings import Position
from analyzer.index import ClassInfo, External, Target
from analyzer.lower import Expr

STRUCT = "msgspec.Struct"
TUPLE = ("typing.NamedTuple", "typing_extensions.NamedTuple")
BUILDS_NOTHING = ("builtins.object", "abc.ABC", "typing.Generic", "typing.Protocol", "typing_extensions.Protocol")


@dataclass(frozen=True)
class Taken:
    """A parameter and where the tree declares it."""

    parameter: Parameter
    at: Position


@dataclass(frozen=True)
class Signature:
    """What a call may pass.

    Args:
        name: of what is called.
        taken: the parameters, without one that is given already.
        at: where it is defined.
        swallows: whether arguments of unknown names are dropped in silence.
    """

    name: str
    taken: tuple[Taken, ...]
    at: Position
    swallows: bool = False

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return tuple(t.parameter for t in self.taken)

    def has(self, kind: str) -> bool:
        """Whether there is a parameter of a kind."""
        return any(p.kind == kind for p in self.parameters)


@dataclass(frozen=True)
class Misfit:
    """One thing that is wrong with a call.

    Args:
        kind: ``missing-argument``, ``unknown-argument`` or ``too-many-arguments``.
        name: of the parameter or argument, empty for the last kind.
        text: what is wrong.
        at: the place in the tree that shows it.
    """

    kind: str
    name: str
    text: str
    at: Position


@dataclass(frozen=True)
class Given:
    """The arguments of a call, as far as they are counted.

    Args:
        positional: how many stand before any ``*``.
        keywords: their names.
        more: whether there is a ``*``.
        named: whether there is a ``**``.
    """

    positional: int
    keywords: tuple[str, ...]
    more: bool = False
    named: bool = False


def given_by(node: ast.Call) -> Given:
    """What a call passes."""
    return Given(
        sum(not isinstance(a, ast.Starred) for a in node.args),
        tuple(k.arg for k in node.keywords if k.arg is not None),
        any(isinstance(a, ast.Starred) for a in node.args),
        any(k.arg is None for k in node.keywords),
    )


def misfits(signature: Signature, given: Given) -> list[Misfit]:
    """What keeps a call from fitting; nothing where it fits or that cannot be told."""
    out: list[Misfit] = []
    positional = [t for t in signature.taken if t.parameter.kind in ("positional_only", "positional_or_keyword")]
    named = {t.parameter.name for t in signature.taken if t.parameter.kind in ("positional_or_keyword", "keyword_only")}
    if not signature.swallows and not signature.has("var_keyword"):
        for name in given.keywords:
            if name not in named:
                out.append(Misfit("unknown-argument", name, f"{signature.name} takes no {name}", signature.at))
    if given.positional > len(positional) and not signature.has("var_positional"):
        text = f"{signature.name} takes {len(positional)} positional arguments, {given.positional} are given"
        out.append(Misfit("too-many-arguments", "", text, signature.at))
    if given.more or given.named:
        return out
    filled = {t.parameter.name for t in positional[: given.positional]} | set(given.keywords)
    for taken in signature.taken:
        if taken.parameter.required and taken.parameter.name not in filled:
            text = f"{signature.name} requires {taken.parameter.name}, which is not given"
            out.append(Misfit("missing-argument", taken.parameter.name, text, taken.at))
    return out


class Signatures:
    """Questions about how things are called.

    Args:
        classes: what is known of classes.
    """

    def __init__(self, classes: Classes) -> None:
        self.classes = classes
        self.of_class = lru_cache(maxsize=None)(self._of_class)

    def of(self, callee: Kind) -> Signature | str:
        """How something is called, or why that is not known."""
        if isinstance(callee, ClassKind):
            return self.of_class(callee.cls)
        if isinstance(callee, FunctionKind):
            return self._of_function(callee)
        return "what is called is not known"

    def _of_function(self, callee: FunctionKind) -> Signature | str:
        facts = callee.facts
        if not all(self.classes.decorators.is_known(d) for d in facts.decorators):
            unknown = next(d for d in facts.decorators if not self.classes.decorators.is_known(d))
            return f"what the decorator {unknown or 'of it'} makes of {facts.name} is not followed"
        if callee.owner is None:
            bindings = callee.module.names.get(facts.name, [])
            scope = self.classes.reader.scope(callee.module.module)
            if len(bindings) > 1 or (
                scope is not None and len(scope.names.get(facts.name, ())) > 1 and not self._overloads(callee)
            ):
                return f"{facts.name} is defined more than once"
        name = facts.name if callee.owner is None else f"{callee.owner.name}.{facts.name}"
        return self._function(name, facts, callee.module.path, skip=callee.bound)

    def _overloads(self, callee: FunctionKind) -> bool:
        scope = self.classes.reader.scope(callee.module.module)
        nodes = [b.node for b in scope.names.get(callee.facts.name, ())] if scope is not None else []
        others = [n for n in nodes if getattr(n, "lineno", 0) != callee.facts.line]
        return all(any("overload" in ast.unparse(d) for d in getattr(node, "decorator_list", [])) for node in others)

    def _function(self, name: str, facts: FunctionFacts, path: str, *, skip: bool) -> Signature:
        at = Position(path, facts.line, facts.column)
        parameters = facts.parameters
        if skip and parameters and parameters[0].kind in ("positional_only", "positional_or_keyword"):
            parameters = parameters[1:]
        return Signature(name, tuple(Taken(p, at) for p in parameters), at)

    # -- constructors ------------------------------------------------------------------------------

    def init_of(self, kind: SuperKind) -> Signature | str:
        """How ``super().__init__`` of a class is called."""
        if self.classes.is_mixed_in(kind.cls):
            return f"what stands behind {kind.cls.name} depends on the class that inherits it"
        return self._constructor(kind.cls, self.classes.line(kind))

    def _of_class(self, cls: ClassInfo) -> Signature | str:
        if cls.problem:
            return cls.problem
        if not self.classes.makes_itself(cls):
            return f"{cls.name} makes its objects in a way of its own"
        return self._constructor(cls, cls.mro)

    def _constructor(self, cls: ClassInfo, line: tuple[Target, ...]) -> Signature | str:
        for base in line:
            if isinstance(base, External):
                if base.name in BUILDS_NOTHING:
                    continue
                if base.name == STRUCT:
                    return self._struct(cls)
                if base.name in TUPLE:
                    return self._fields_in_order(cls, [o for o in cls.own_mro if o.facts.attributes])
                return f"{cls.name} is built by {base.name}, which is outside the tree"
            if not isinstance(base, ClassInfo):
                return getattr(base, "reason", "a base could not be resolved")
            if why := self.classes.decorators.of_class(base):
                return why
            made = base.facts.methods.get("__init__")
            if made is not None:
                if not self.classes.reader.defines_once(base, "__init__"):
                    return f"{base.name}.__init__ is defined more than once"
                if not all(self.classes.decorators.is_known(d) for d in made.decorators):
                    return f"what the decorator of {base.name}.__init__ makes of it is not followed"
                named = cls.name if base is cls else f"{base.name}.__init__"
                return self._function(named, made, base.path, skip=True)
            body = self.classes.body(base)
            if "__init__" in base.facts.attributes or (body is not None and "__init__" in body.loose):
                return f"{base.name}.__init__ is set from elsewhere"
            if self.classes.decorators.flavour(base) is not None:
                return self._dataclass(base, cls.name)
        return Signature(cls.name, (), Position(cls.path, cls.line, cls.facts.column))

    def _struct(self, cls: ClassInfo) -> Signature | str:
        """The constructor of a msgspec.Struct: fields of bases first, keyword-only ones last."""
        ordinary: dict[str, Taken] = {}
        keyword: dict[str, Taken] = {}
        for owner in reversed(cls.own_mro):
            node = self.classes.reader.class_node(owner)
            if node is None:
                return f"{owner.name} cannot be read"
            only = any(k.arg == "kw_only" and ast.unparse(k.value) == "True" for k in node.keywords)
            if not self._is_struct(owner):
                continue
            for field in owner.facts.attributes.values():
                if field.annotation is None or _is_class_variable(field.annotation):
                    continue
                taken = Taken(
                    Parameter(
                        field.name,
                        "keyword_only" if only else "positional_or_keyword",
                        field.annotation,
                        _default(field),
                    ),
                    Position(owner.path, field.line),
                )
                ordinary.pop(field.name, None)
                keyword.pop(field.name, None)
                (keyword if only else ordinary)[field.name] = taken
        return Signature(cls.name, (*ordinary.values(), *keyword.values()), Position(cls.path, cls.line))

    def _is_struct(self, cls: ClassInfo) -> bool:
        return any(isinstance(b, External) and b.name == STRUCT for b in cls.mro)

    def _fields_in_order(self, cls: ClassInfo, owners: list[ClassInfo]) -> Signature:
        taken = [
            Taken(Parameter(f.name, "positional_or_keyword", f.annotation, f.value), Position(o.path, f.line))
            for o in reversed(owners)
            for f in o.facts.attributes.values()
            if f.annotation is not None
        ]
        return Signature(cls.name, tuple(taken), Position(cls.path, cls.line))

    def _dataclass(self, made: ClassInfo, name: str) -> Signature | str:
        """The constructor that ``dataclass`` writes (``dataclasses``, ``_process_class`` and ``_init_fn``)."""
        fields: dict[str, Taken] = {}
        flavours: list[str] = []
        for owner in reversed(made.mro):
            if isinstance(owner, External) and owner.name not in BUILDS_NOTHING:
                return f"{name} inherits from {owner.name}, which is outside the tree"
            if not isinstance(owner, (ClassInfo, External)):
                return getattr(owner, "reason", "a base could not be resolved")
            flavour = self.classes.decorators.flavour(owner) if isinstance(owner, ClassInfo) else None
            if flavour is None or not isinstance(owner, ClassInfo):
                continue
            flavours.append(flavour[0])
            if flavour[1].get("init") == ("const", False):
                return f"{owner.name} writes its constructor itself"
            only = flavour[1].get("kw_only") == ("const", True)
            for field in owner.facts.attributes.values():
                if field.annotation is None:
                    continue
                if dotted_name(field.annotation).rpartition(".")[2] == "KW_ONLY":
                    only = True
                    continue
                if _is_class_variable(field.annotation):
                    continue
                asked = _asked(field)
                if asked.get("init") == ("const", False):
                    fields.pop(field.name, None)
                    continue
                by_name = asked.get("kw_only", ("const", only)) == ("const", True)
                if "alias" in asked or "validation_alias" in asked:
                    return f"{owner.name}.{field.name} goes by another name"
                kind = "keyword_only" if by_name else "positional_or_keyword"
                parameter = Parameter(field.name, kind, field.annotation, _default(field))
                fields[field.name] = Taken(parameter, Position(owner.path, field.line))
        ordered = sorted(fields.values(), key=lambda t: t.parameter.kind == "keyword_only")
        at = Position(made.path, made.line, made.facts.column)
        return Signature(name, tuple(ordered), at, swallows=flavours[-1] == "pydantic")


def _is_class_variable(annotation: Expr) -> bool:
    if annotation[0] == "const" and isinstance(annotation[1], str):
        return annotation[1].startswith(("ClassVar", "typing.ClassVar"))
    head = annotation[1] if annotation[0] == "sub" else annotation
    return dotted_name(head).rpartition(".")[2] == "ClassVar"


FIELD_MAKERS = frozenset({"field", "Field"})


def _asked(field: AttributeFacts) -> dict[str, Expr]:
    """The keywords of ``field(…)`` or pydantic's ``Field(…)``."""
    value = field.value
    if value is None or value[0] != "call" or dotted_name(value[1]).rpartition(".")[2] not in FIELD_MAKERS:
        return {}
    return {name: given for name, given in value[3] if name}


def _default(field: AttributeFacts) -> Expr | None:
    """What stands for a field that is not given; None where it has to be."""
    value = field.value
    if value is None or value[0] != "call" or dotted_name(value[1]).rpartition(".")[2] not in FIELD_MAKERS:
        return value
    asked = _asked(field)
    if any(name is None for name, _ in value[3]):
        return ("const", "...")  # whatever the mapping holds
    given = asked.get("default", value[2][0] if value[2] else None)
    if given == ("const", "..."):  # pydantic: required
        given = None
    return given if given is not None else asked.get("default_factory")
