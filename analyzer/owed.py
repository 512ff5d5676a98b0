"""Contracts that a wrapper owes: its inner model supports them, something asks the outer one, and it is refused.

For contracts that configure the decoder, :mod:`analyzer.chains` follows what a call does.  The others are declarations,
class methods or attributes that a wrapper takes over, each as its entry in ``rules/contracts.toml`` says.
"""

from __future__ import annotations

from dataclasses import dataclass

from analyzer import construct, members, objects
from analyzer.audit import Audit
from analyzer.contracts import Contract
from analyzer.evaluate import UNBOUND
from analyzer.facts import AttributeFacts, FunctionFacts
from analyzer.findings import Link
from analyzer.frames import Frame, Raised
from analyzer.index import ClassInfo
from analyzer.inner import Inner
from analyzer.models import Model, is_delegated
from analyzer.values import ClassValue, Collection, Const, Function, Table, Value


@dataclass(frozen=True)
class Owed:
    """What one wrapper owes.

    Args:
        model: the wrapper.
        contract: what its inner model supports.
        inner: the first possibility for the inner model that does.
        passes: whether that passes the check for certain; None where the check depends on the checkpoint.
        always: whether every possible inner model does.
    """

    model: Model
    contract: Contract
    inner: Inner
    passes: bool | None
    always: bool

    @property
    def certain(self) -> bool:
        return self.always and self.passes is True


def owed(audit: Audit, contract: Contract) -> list[Owed]:
    """The wrappers that owe a contract: none where no entry says so, or nothing asks the outer model or its class."""
    if contract.handling.undeclared is None or is_delegated(contract) or not audit.checks(contract):
        return []
    found = (_owed(audit, model, contract) for model in audit.serving if model.inner)
    return [one for one in found if one is not None]


def _owed(audit: Audit, model: Model, contract: Contract) -> Owed | None:
    status = audit.status(model, contract)
    if status.satisfied is not False or status.declared or audit.denied(model.cls, contract):
        return None
    answers = [(inner, passes(audit, inner, contract)) for inner in model.inner]
    able = [(inner, answer) for inner, answer in answers if answer is not False]
    if not able:
        return None
    return Owed(model, contract, *able[0], always=len(able) == len(answers))


def passes(audit: Audit, inner: Inner, contract: Contract) -> bool | None:
    """Whether an inner model supports a contract: for certain, or (None) if its checkpoint has what the check asks.

    One that is not known, or that any checkpoint may choose, does not count.
    """
    if inner.cls is None:
        return False
    answer = contract.satisfied_by(audit.model_set.machine, audit.model_set.probe(inner.cls))
    return None if answer is None and contract.declared_by(inner.cls) else answer is True


def lacks(audit: Audit, cls: ClassInfo, name: str) -> bool | None:
    """Whether objects of a class have no attribute of a name, or a Protocol's stub; None where that is not known."""
    machine, instance = audit.model_set.machine, audit.model_set.probe(cls)
    construct.prepare(machine, instance)
    try:
        with machine.aside():
            value = objects.get(machine, instance, name, Frame(cls.module, None, None, {}), cls.line)
    except Raised:
        return None
    if value is UNBOUND:
        return None if instance.missing_reason or members.unknown_base(cls) else True
    if isinstance(value, Function) and value.owner is not None and members.is_protocol(value.owner):
        return value.facts.stub == "returns-none"
    return False


def missing_members(audit: Audit, cls: ClassInfo, contract: Contract) -> list[str]:
    """The members of a contract that objects of a class certainly do not have."""
    return [name for name in contract.members if name != "forward" and lacks(audit, cls, name)]


def untaken(contract: Contract, cls: ClassInfo) -> tuple[str, FunctionFacts] | None:
    """A keyword that a contract's method is called with and the class's does not take, and that method."""
    for method in contract.methods:
        member = members.class_method(cls, method.name)
        if member is None or members.is_protocol(member[0]):
            continue
        taken = {p.name for p in member[1].parameters}
        if any(p.kind == "var_keyword" for p in member[1].parameters):
            continue
        for parameter in method.facts.parameters:
            if parameter.kind == "keyword_only" and parameter.name not in taken:
                return parameter.name, member[1]
    return None


@dataclass(frozen=True)
class Mapping:
    """A mapping of names that a class has as an attribute.

    Args:
        owner: the class whose body gives it.
        line: where.
        entries: each name with what it stands for.
    """

    owner: ClassInfo
    line: int
    entries: dict[str, object]


def mapping_of(audit: Audit, cls: ClassInfo, attribute: str) -> Mapping | None:
    """The mapping of a class; None where it has none, or not all of it can be told."""
    member = members.class_member(cls, attribute)
    if member is None or not isinstance(member[1], AttributeFacts) or member[1].value is None:
        return None
    machine = audit.model_set.machine
    try:
        with machine.aside():
            value = objects.get(machine, ClassValue(cls), attribute, Frame(cls.module, None, None, {}), cls.line)
    except Raised:
        return None
    entries = _plain(value)
    return Mapping(member[0], member[1].line, entries) if isinstance(entries, dict) else None


def _plain(value: Value) -> object:
    """A value as Python has it; None where part of it is not known."""
    if isinstance(value, Table) and value.complete:
        entries = {key: _plain(item) for key, item in value.pairs.items()}
        return None if None in entries.values() else entries
    if isinstance(value, Collection) and value.complete:
        items = [_plain(item) for item in value.items]
        return None if None in items else items
    return value.value if isinstance(value, Const) else None


def owed_links(audit: Audit, one: Owed, *, gates: bool = True) -> tuple[Link, ...]:
    """The chain: who asks, what the wrapper answers, what its inner model is and answers.

    Args:
        audit: what was read.
        one: what is owed.
        gates: whether to tell who asks.
    """
    cls, inner, contract = one.model.cls, one.inner, one.contract
    assert inner.cls is not None
    asking = audit.checks(contract) if gates else []
    lacking = ", ".join(missing_members(audit, cls, contract)[:3])
    why = f"it does not inherit {contract.name}" + (f" and lacks {lacking}" if lacking else "")
    path, line = (inner.site.path, inner.site.line) if inner.site is not None else (cls.path, cls.line)
    either = "" if one.always else " (one of several)"
    says = "passes" if one.passes else "passes, if its checkpoint has what it asks for,"
    return (
        *(gate.link() for gate in asking),
        Link("check", False, cls.path, cls.line, f"{cls.name} fails {contract.checker}: {why}"),
        Link("inner", True, path, line, f"self.{inner.attribute} is built as {inner.cls.name}{either}"),
        Link(
            "inner-check",
            one.passes,
            inner.cls.path,
            inner.cls.line,
            f"{inner.cls.name} {says} {contract.checker}",
        ),
    )
