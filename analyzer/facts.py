"""What one source file says, as plain records: the only thing that later stages see of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from analyzer.lower import Block, Expr, render

Stub = Literal["", "returns-none", "raises"]
Contents: TypeAlias = tuple[Stub, Block | None]

# A method longer than this is kept only if its name says that it shapes the model.
LONGEST_HELPER = 90
ALWAYS_KEPT = frozenset({"__init__", "__new__", "__getattr__", "forward"})

_RETURNS = re.compile(r"^[ \t]*return[ (]", re.MULTILINE)


def _after_strings(body: str) -> str:
    """The text of a body behind its last string of several lines, which may look like code; empty if that is not clear.

    A string in one pair of quotes that goes on behind a backslash may, too.
    """
    if "\\" in body or ('"""' in body and "'''" in body):
        return ""
    return body.rpartition("'''" if "'''" in body else '"""')[2]


@dataclass(slots=True)
class Parameter:
    """One parameter; ``kind`` is the name of the ``inspect.Parameter`` kind in lower case."""

    name: str
    kind: str
    annotation: Expr | None = None
    default: Expr | None = None

    @property
    def required(self) -> bool:
        return self.default is None and self.kind not in ("var_positional", "var_keyword")


Header: TypeAlias = tuple[tuple[Parameter, ...], Expr | None]


@dataclass(slots=True)
class FunctionFacts:
    """A function or method.

    ``header`` are its parameters and what it returns, ``contents`` its stub and body; or what reads them when they are
    first asked for, which of most functions nobody does.  ``source`` gives the text of a body that was cut out.
    """

    name: str
    line: int
    column: int
    end_line: int
    header: Header | Callable[[], Header] = field(repr=False)
    decorators: tuple[str, ...]
    contents: Contents | Callable[[], Contents] = field(repr=False)
    is_async: bool = False
    source: Callable[[], str] | None = field(default=None, repr=False, compare=False)

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """In the order of the source."""
        return self._read_header()[0]

    @property
    def returns(self) -> Expr | None:
        """The annotation of its result."""
        return self._read_header()[1]

    def _read_header(self) -> Header:
        if callable(self.header):
            self.header = self.header()
        return self.header

    @property
    def text(self) -> str:
        """The body as it is written; empty where it was not cut out of its file, but read with it."""
        return self.source() if self.source is not None else ""

    @property
    def body(self) -> Block | None:
        """The statements; None where there are too many, or they cannot be read."""
        return None if self.too_long else self._read()[1]

    @property
    def whole_body(self) -> Block | None:
        """The statements, however many; None where they cannot be read."""
        return self._read()[1]

    @property
    def too_long(self) -> bool:
        """Whether the body is left out for its length."""
        return self.end_line - self.line > LONGEST_HELPER and self.name not in ALWAYS_KEPT

    @property
    def stub(self) -> Stub:
        """Whether the body is nothing but a docstring, ``...`` or ``pass`` ("returns-none"), or nothing but
        ``raise NotImplementedError`` ("raises")."""
        if callable(self.contents) and _RETURNS.search(_after_strings(self.text)):
            return ""  # told without parsing: many are asked for nothing else
        return self._read()[0]

    def _read(self) -> Contents:
        if callable(self.contents):
            self.contents = self.contents()
        return self.contents

    @property
    def kind(self) -> Literal["instance", "class", "static", "property"]:
        for decorator in self.decorators:
            last = decorator.rpartition(".")[2]
            if last == "classmethod":
                return "class"
            if last == "staticmethod":
                return "static"
            if last in ("property", "cached_property"):
                return "property"
        return "instance"

    @property
    def parameter_sources(self) -> tuple[str, ...]:
        """The source of each parameter, with ``*`` and ``/`` where they belong."""
        shown: list[str] = []
        star_seen = False
        for index, parameter in enumerate(self.parameters):
            prefix = {"var_positional": "*", "var_keyword": "**"}.get(parameter.kind, "")
            if parameter.kind == "keyword_only" and not star_seen:
                shown.append("*")
            star_seen = star_seen or parameter.kind in ("keyword_only", "var_positional")
            text = prefix + parameter.name
            if parameter.annotation is not None:
                text += f": {render(parameter.annotation)}"
            if parameter.default is not None:
                text += f" = {render(parameter.default)}" if parameter.annotation else f"={render(parameter.default)}"
            shown.append(text)
            following = self.parameters[index + 1 : index + 2]
            if parameter.kind == "positional_only" and (not following or following[0].kind != "positional_only"):
                shown.append("/")
        return tuple(shown)

    @property
    def signature(self) -> str:
        """``(self, layers: tuple[int, ...]) -> None``"""
        returns = f" -> {render(self.returns)}" if self.returns is not None else ""
        return f"({', '.join(self.parameter_sources)}){returns}"


@dataclass(slots=True)
class AttributeFacts:
    """A name in a class body: annotated only (``value`` None and ``assigned`` False) or given a value."""

    name: str
    line: int
    assigned: bool
    value: Expr | None
    annotation: Expr | None


@dataclass(slots=True)
class ClassFacts:
    """A class statement; ``index`` is its place in the module's list, ``qualname`` as Python gives it."""

    name: str
    qualname: str
    line: int
    column: int
    header_end: int
    end_line: int
    bases: tuple[Expr, ...]
    decorators: tuple[Expr, ...]
    attributes: dict[str, AttributeFacts] = field(default_factory=dict)
    methods: dict[str, FunctionFacts] = field(default_factory=dict)
    nested: dict[str, int] = field(default_factory=dict)
    has_metaclass: bool = False


@dataclass(slots=True)
class Binding:
    """One thing that a module-level name can be at run time.

    ``kind`` "import": ``target`` is (module, attribute or None).  "class": the index of the class.  "def": the
    function's name.  "value": the expression that was assigned.  ``arm`` names the branch that it stands in,
    with the source of the condition; empty where it is unconditional.
    """

    kind: Literal["import", "class", "def", "value"]
    target: object
    line: int
    arm: str = ""


@dataclass(slots=True)
class ModuleFacts:
    """Everything of one file.

    ``names`` maps a module-level name to what it can be at run time (several where branches differ; the one
    that an ordinary run takes comes last); ``type_names`` holds names bound only for type checkers.
    ``shadowed`` keeps what a name meant until the line that bound it anew, for ``class A(A)``.  ``cut`` has each body
    that is read when it is first asked for, by the line of its ``def``: the lines of the colon and of its end;
    ``asked`` the lines of those that were.
    """

    module: str
    path: str
    is_package: bool
    names: dict[str, list[Binding]] = field(default_factory=dict)
    type_names: dict[str, list[Binding]] = field(default_factory=dict)
    shadowed: dict[str, list[tuple[int, list[Binding]]]] = field(default_factory=dict)
    stars: list[str] = field(default_factory=list)
    classes: list[ClassFacts] = field(default_factory=list)
    functions: dict[str, FunctionFacts] = field(default_factory=dict)
    cut: dict[int, tuple[int, int]] = field(default_factory=dict, compare=False)
    asked: set[int] = field(default_factory=set, compare=False)

    @property
    def all_functions(self) -> Iterator[FunctionFacts]:
        """Every function of the module and method of its classes."""
        yield from self.functions.values()
        for cls in self.classes:
            yield from cls.methods.values()

    @property
    def package(self) -> str:
        return self.module if self.is_package else self.module.rpartition(".")[0]

    def bindings_at(self, name: str, line: int) -> list[Binding] | None:
        """What ``name`` is where ``line`` runs while the module is imported; None where it is not bound."""
        for replaced_at, earlier in self.shadowed.get(name, ()):
            if replaced_at >= line:
                return earlier
        return self.names.get(name)
