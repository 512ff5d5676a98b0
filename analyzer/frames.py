"""Activations, effects and outcomes: what the interpreter keeps of a run."""

from __future__ import annotations

from dataclasses import dataclass, field

from analyzer.facts import FunctionFacts, ModuleFacts
from analyzer.index import ClassInfo
from analyzer.values import Const, Instance, Value, one_of


class Raised(Exception):
    """The interpreted code certainly raises.

    Args:
        kind: name of the exception's class.
        detail: its message, as far as it is known.
        path, line: where.
    """

    def __init__(self, kind: str, detail: str, path: str, line: int) -> None:
        super().__init__(f"{kind}: {detail}")
        self.kind, self.detail, self.path, self.line = kind, detail, path, line


@dataclass
class Store:
    """An attribute that was set on an object, ``maybe`` if under a condition that could not be decided."""

    instance: Instance
    attribute: str
    value: Value
    path: str
    line: int
    maybe: bool


@dataclass
class Called:
    """A method of an object that was entered: which class defines it, and where it was called."""

    instance: Instance
    owner: ClassInfo
    function: FunctionFacts
    path: str
    line: int


@dataclass
class Outcome:
    """What running a method gave.

    ``misused`` are places (path, line, whether under an undecided condition) that treat a decoder's result as
    the tensor that it is not once there are auxiliary states.
    """

    returns: list[tuple[Value, str, int]] = field(default_factory=list)
    failure: Raised | None = None
    possible_failures: list[Raised] = field(default_factory=list)
    stores: list[Store] = field(default_factory=list)
    called: list[Called] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    misused: list[tuple[str, int, bool]] = field(default_factory=list)

    @property
    def value(self) -> Value:
        return one_of([value for value, _, _ in self.returns]) if self.returns else Const(None)


@dataclass
class Frame:
    """One activation of a function; ``handling`` is what the ``except`` block that runs has caught."""

    module: ModuleFacts
    function: FunctionFacts | None
    owner: ClassInfo | None
    env: dict[str, Value]
    receiver: Value | None = None
    returns: list[tuple[Value, str, int]] = field(default_factory=list)
    handling: Raised | None = None

    @property
    def path(self) -> str:
        return self.module.path


FALLS, LEAVES, LOOPS = 0, 1, 2  # how a block ends: falls through, returns or raises, breaks or continues
