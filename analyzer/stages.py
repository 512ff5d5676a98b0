"""Auxiliary states across the stages of a pipeline: which decoders say that they carry them along, and which do."""

from __future__ import annotations

from dataclasses import dataclass

from analyzer import members
from analyzer.audit import Audit
from analyzer.contracts import Contract
from analyzer.facts import AttributeFacts, FunctionFacts
from analyzer.findings import Link
from analyzer.gates import Gate
from analyzer.index import ClassInfo
from analyzer.lower import walk
from analyzer.models import Model

Method = tuple[ClassInfo, FunctionFacts]
"""A method, and the class whose body defines it."""


@dataclass(frozen=True)
class Decoder:
    """A decoder that hands auxiliary states out.

    Args:
        cls: its class.
        models: those that it works for.
        says: the class whose body says that states cross stages; None where nothing says so.
        denies: whether a class of models says that they do not, the contract's own mixin left out.
        forgets: methods that the ``forward`` of ``says`` calls, and the effective ``forward`` does not.
        forward: that one, and whose it is.
    """

    cls: ClassInfo
    models: tuple[Model, ...]
    says: ClassInfo | None
    denies: bool
    forgets: tuple[str, ...]
    forward: Method | None


def askers(audit: Audit, contract: Contract) -> list[Gate]:
    """Who asks the decoder for the flag."""
    flag = contract.handling.over_stages
    return [g for g in audit.consumers.of(contract.name) if flag and g.member == flag]


def asking_links(gates: list[Gate]) -> tuple[Link, ...]:
    """Who asks, as evidence."""
    return tuple(gate.link("asks the decoder") for gate in gates)


def decoders(audit: Audit, contract: Contract) -> list[Decoder]:
    """The decoders that a contract works with, each once."""
    found: dict[ClassInfo, list[Model]] = {}
    for model in audit.serving:
        for alternative in audit.status(model, contract).alternatives:
            for chain in (alternative.outer, alternative.own):  # of its own where the wrapper does not declare it
                if chain is not None and chain.ok and chain.holder is not None:
                    group = found.setdefault(chain.holder.cls, [])
                    group += [model] if model not in group else []
    return [_decoder(contract, cls, models) for cls, models in found.items()]


def _decoder(contract: Contract, cls: ClassInfo, models: list[Model]) -> Decoder:
    member = members.class_member(cls, contract.handling.over_stages)
    says = denies = None
    if member is not None and isinstance(member[1], AttributeFacts):
        says = member[0] if member[1].value == ("const", True) else None
        denies = says is None and member[0].path != contract.path
    forward = members.class_method(cls, "forward")
    forgets: tuple[str, ...] = ()
    if says is not None and forward is not None and _overrides(cls, forward[0], says):
        carrying = members.class_method(says, "forward")
        if carrying is not None:
            shared = {name for name in _calls(cls, carrying) if _is_shared(cls, name, contract)}
            forgets = tuple(sorted(shared - _calls(cls, forward)))
    return Decoder(cls, tuple(models), says, bool(denies), forgets, forward)


def _overrides(cls: ClassInfo, owner: ClassInfo, says: ClassInfo) -> bool:
    """Whether the effective ``forward`` belongs to a class that the one with the flag knows nothing of."""
    order = cls.own_mro
    return owner is not says and owner in order and order.index(owner) < order.index(says)


def _calls(cls: ClassInfo, start: Method) -> set[str]:
    """Methods of ``self`` that a method calls, by way of others and of ``super()`` too, on an object of a class."""
    found: set[str] = set()
    todo, seen = [start], [start]
    while todo:
        owner, facts = todo.pop()
        for node in walk(facts.body or ()):
            if node[0] != "call" or node[1][0] != "attr":
                continue
            receiver, name = node[1][1], node[1][2]
            called = None
            if receiver == ("name", "self"):
                found.add(name)
                called = members.class_method(cls, name)
            elif receiver[0] == "call" and receiver[1] == ("name", "super"):
                behind = members.class_member(cls, name, owner)
                called = (behind[0], behind[1]) if behind and isinstance(behind[1], FunctionFacts) else None
            if called is not None and called not in seen:
                seen.append(called)
                todo.append(called)
    return found


def _is_shared(cls: ClassInfo, name: str, contract: Contract) -> bool:
    """Whether a method comes from the module of the contracts: what all decoders are given to carry states along."""
    member = members.class_method(cls, name)
    return member is not None and member[0].path == contract.path
