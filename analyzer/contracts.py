"""The contracts of a checkout: its capability Protocols and the functions that test them, as they stand there."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from analyzer import members, typechecks
from analyzer.checkers import Look, Sight, sight_of
from analyzer.checkout import Checkout
from analyzer.facts import FunctionFacts, ModuleFacts
from analyzer.frames import Frame, Raised
from analyzer.handling import NOTHING, Handling
from analyzer.index import ClassInfo, Index
from analyzer.interpret import Machine
from analyzer.lower import Expr
from analyzer.values import Arguments, Function, Value

Default = Literal["stub", "working"]


@dataclass(frozen=True)
class ContractMethod:
    """A method that a contract names, and whether the contract's own body does anything."""

    name: str
    signature: str
    default: Default
    facts: FunctionFacts
    owner: ClassInfo


@dataclass(eq=False)
class Contract:
    """A capability Protocol, or a plain class of the interfaces that has an entry: then inheriting it is all.

    ``members`` are the names that structural conformance needs, ``checker`` the function that tests it (None
    where the checkout has none), ``check`` whether that function asks ``isinstance`` or reads a flag, ``handling``
    what is known of it beyond that.
    """

    name: str
    cls: ClassInfo
    members: tuple[str, ...]
    methods: tuple[ContractMethod, ...]
    checker: str | None = None
    checker_facts: FunctionFacts | None = None
    check: Literal["isinstance", "flag"] = "isinstance"
    home: ModuleFacts | None = field(default=None, repr=False)
    handling: Handling = NOTHING
    sight: Sight | None = field(default=None, repr=False)
    answers: dict[Look, bool | None] = field(default_factory=dict, repr=False)

    def method(self, name: str) -> ContractMethod | None:
        """The contract's method of a name."""
        return next((m for m in self.methods if m.name == name), None)

    @property
    def path(self) -> str:
        return self.cls.path

    def declared_by(self, cls: ClassInfo) -> bool:
        """Whether the Protocol is in the class's linearisation."""
        return cls.derives_from(self.cls)

    def satisfied_by(self, machine: Machine, value: Value) -> bool | None:
        """What the checker returns for an object or class; None where that depends on what is not known."""
        look = self.sight.look(machine, value) if self.sight is not None else None
        if look is None:
            return self._ask(machine, value)
        if look not in self.answers:
            self.answers[look] = self._ask(machine, value)
        return self.answers[look]

    def _ask(self, machine: Machine, value: Value) -> bool | None:
        if self.checker_facts is None or self.home is None:
            try:
                return typechecks.is_instance(machine, value, self.cls, Frame(self.cls.module, None, None, {}), 0)
            except Raised:  # a property of the object
                return None
        outcome = machine.run(Function(self.checker_facts, self.home), Arguments((value,)))
        if outcome.failure is not None:
            return None
        return machine.truth(outcome.value)


def read_contracts(index: Index, checkout: Checkout) -> dict[str, Contract]:
    """Every public Protocol of the checkout's interfaces module, and plain classes with an entry, in source order.

    Args:
        index: the checkout's names.
        checkout: the tree.
    """
    facts = index.module(checkout.module_name(checkout.interfaces_path))
    if facts is None:
        return {}
    contracts: dict[str, Contract] = {}
    for cls in index.classes(facts):
        handling = checkout.handling(cls.name)
        if not cls.name.startswith("_") and (members.is_protocol(cls) or handling is not NOTHING):
            methods = tuple(_methods(cls))
            contracts[cls.name] = Contract(
                cls.name,
                cls,
                members.protocol_members(cls),
                methods,
                home=facts,
                handling=handling,
            )
    for function in facts.functions.values():
        _attach(function, facts, contracts)
    for contract in contracts.values():
        contract.sight = sight_of(index, facts, contract.checker_facts, contract.cls)
    return contracts


def _methods(cls: ClassInfo) -> list[ContractMethod]:
    seen: dict[str, ContractMethod] = {}
    for owner in cls.own_mro:
        if not members.is_protocol(owner):
            continue
        for name, facts in owner.facts.methods.items():
            if name not in seen and not name.startswith("__") and facts.kind != "property":
                default: Default = "stub" if facts.stub else "working"
                seen[name] = ContractMethod(name, facts.signature, default, facts, owner)
    return list(seen.values())


def _attach(function: FunctionFacts, facts: ModuleFacts, contracts: dict[str, Contract]) -> None:
    """Make a function the checker of the contract that its return type names."""
    if len(function.parameters) != 1 or function.returns is None or function.body is None:
        return
    narrowed = [
        name
        for part in _subscripts(function.returns, ("TypeIs", "TypeGuard"))
        for name in _names(part)
        if name in contracts
    ]
    if not narrowed:
        return
    contract = contracts[narrowed[-1]]
    if contract.checker is None:
        contract.checker, contract.checker_facts = function.name, function
        contract.check = "isinstance" if _asks_isinstance(function, facts, set()) else "flag"


def _asks_isinstance(function: FunctionFacts, facts: ModuleFacts, seen: set[str]) -> bool:
    seen.add(function.name)
    for name in _names(function.body or ()):
        if name == "isinstance":
            return True
        helper = facts.functions.get(name)
        if helper is not None and name not in seen and _asks_isinstance(helper, facts, seen):
            return True
    return False


def _subscripts(expr: Expr, names: tuple[str, ...]) -> list[Expr]:
    """The indices of ``name[...]`` anywhere in an expression; strings are not looked into."""
    out: list[Expr] = []
    todo: list[object] = [expr]
    while todo:
        part = todo.pop()
        if not isinstance(part, tuple):
            continue
        if part and part[0] == "sub" and part[1][-1] in names:
            out.append(part[2])
        todo.extend(part)
    return out


def _names(node: object) -> list[str]:
    out: list[str] = []
    todo: list[object] = [node]
    while todo:
        part = todo.pop()
        if isinstance(part, tuple):
            if len(part) == 2 and part[0] == "name" and isinstance(part[1], str):
                out.append(part[1])
            todo.extend(part)
    return out
