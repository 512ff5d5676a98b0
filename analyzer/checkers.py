"""What a checker can see of an object or a class: of all that look the same to it, one has to be asked.

A checker is a small function of the interfaces module.  Hundreds of models are held against two dozen contracts, and
most have nothing that a contract names: without this, a tenth of an audit would be spent on asking.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from analyzer import construct, members
from analyzer.facts import FunctionFacts, ModuleFacts
from analyzer.index import ClassInfo, Index
from analyzer.lower import Expr, walk
from analyzer.values import ClassValue, Instance, Value

if TYPE_CHECKING:
    from analyzer.interpret import Machine

ASKING = frozenset({"all", "any", "bool", "callable", "cast", "getattr", "hasattr", "isinstance", "tuple"})
"""Builtins that ask an object for nothing but attributes whose names stand in the source, and for its class."""

Look = tuple[object, ...]


@dataclass(frozen=True)
class Sight:
    """All that a checker can ask for.

    Args:
        names: of attributes.
        classes: that an object is held against.
        looks: what was seen of classes so far.
    """

    names: tuple[str, ...]
    classes: tuple[ClassInfo, ...]
    looks: dict[ClassInfo, Look | None] = field(default_factory=dict, repr=False, compare=False)

    def look(self, machine: Machine, value: Value) -> Look | None:
        """What is seen of a value; None where that is more than what its class has under those names."""
        if isinstance(value, Instance):
            construct.prepare(machine, value)
            own = value.attrs.keys() | value.maybe
            if value.missing_reason or not own.isdisjoint(self.names):
                return None
        elif not isinstance(value, ClassValue):
            return None
        if value.cls not in self.looks:
            self.looks[value.cls] = self._of_class(value.cls)
        seen = self.looks[value.cls]
        return None if seen is None else (type(value), seen)

    def _of_class(self, cls: ClassInfo) -> Look | None:
        if members.getattr_hook(cls) is not None or members.unknown_base(cls):
            return None
        seen: list[object] = [members.is_torch_module(cls), *(cls.derives_from(other) for other in self.classes)]
        for name in self.names:
            member = members.class_member(cls, name)
            if member is None:
                seen.append(None)
            elif isinstance(member[1], FunctionFacts) and member[1].kind == "property":
                return None
            else:
                seen += [member[0].key, id(member[1])]
        return tuple(seen)


def sight_of(
    index: Index, home: ModuleFacts | None, checker: FunctionFacts | None, contract: ClassInfo
) -> Sight | None:
    """What a contract's checker can ask for; None where its source does not tell.

    Args:
        index: the checkout's names.
        home: the module of the checker.
        checker: the function; None where only ``isinstance`` is asked.
        contract: the Protocol.
    """
    if checker is None or home is None:
        return _sight((), [contract])
    reader = _Reader(index, home)
    if not reader.read(checker) or any(name.startswith("__") for name in reader.names):
        return None
    return _sight(reader.names, reader.classes)


def _sight(names: Iterable[str], classes: list[ClassInfo]) -> Sight:
    wanted = {*names, *(name for cls in classes for name in members.protocol_members(cls))}
    return Sight(tuple(sorted(wanted)), tuple(dict.fromkeys(classes)))


@dataclass
class _Reader:
    """Collects what a checker names, and what the functions of its module that it calls name."""

    index: Index
    home: ModuleFacts
    names: set[str] = field(default_factory=set)
    classes: list[ClassInfo] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)

    def read(self, function: FunctionFacts) -> bool:
        """Whether nothing in a function asks for more than attributes and classes."""
        if function.name in self.seen:
            return True
        self.seen.add(function.name)
        given = {parameter.name for parameter in function.parameters}
        nodes = walk(function.body or ())
        self.names.update(_words(nodes))
        used = {node[1] for node in nodes if node[0] == "name" and isinstance(node[1], str)} - given
        return (
            function.body is not None
            and all(self._is_harmless(node, given) for node in nodes if node[0] == "call")
            and not any(_renames(node, given) for node in nodes)
            and all(self._is_known(name) for name in sorted(used))
        )

    def _is_harmless(self, call: Expr, given: set[str]) -> bool:
        """Whether a call neither runs a method of the object nor hands the object to what is not read here."""
        function, arguments = call[1], (*call[2], *(value for _, value in call[3]))
        if function[0] == "attr":
            return function[1][0] == "name" and function[1][1] not in given and function[1][1] in self.home.names
        if function[0] != "name":
            return False
        bindings = self.home.names.get(function[1])
        if bindings is None:
            return function[1] in ASKING
        handed = {node[1] for node in walk(arguments) if node[0] == "name"}
        return all(b.kind == "def" for b in bindings) or not handed & given

    def _is_known(self, name: str) -> bool:
        """Whether a name is not one of the module, or of something that can be read here or does not see the object."""
        for binding in self.home.names.get(name, ()):
            if binding.kind == "class" and isinstance(binding.target, int):
                self.classes.append(self.index.class_at(self.home, binding.target))
            elif binding.kind == "def":
                if not self.read(self.home.functions[name]):
                    return False
            elif binding.kind == "import":
                if not isinstance(binding.target, tuple) or self.index.in_model_roots(f"{binding.target[0]}."):
                    return False
            elif isinstance(binding.target, tuple):
                self.names.update(_words(walk(binding.target)))
        return True


def _renames(node: Expr, given: set[str]) -> bool:
    """Whether a statement or expression gives a parameter another name."""
    if node[0] not in ("assign", "walrus"):
        return False
    value: Expr = node[3] if node[0] == "assign" else node[2]
    return value[0] == "name" and value[1] in given


def _words(nodes: list[Expr]) -> Iterator[str]:
    """Names of attributes, and strings that can be names; none for ``SomeClass in model.__mro__``."""
    held = {id(node[3]) for node in nodes if node[0] == "cmp" and node[2] == "In" and node[1][0] == "name"}
    for node in nodes:
        if node[0] == "attr":
            if node[2] != "__mro__" or id(node) not in held:
                yield node[2]
        elif node[0] == "const" and isinstance(node[1], str) and node[1].isidentifier():
            yield node[1]
