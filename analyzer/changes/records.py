"""What differs between two reports, as plain data.

Everywhere ``old`` and ``new`` are the two sides of one thing; None on one side means that it is not there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from analyzer.findings import Diagnostic, Finding, Link, Position
from analyzer.records import (
    AllowListRecord,
    ContractRecord,
    GateRecord,
    MethodRecord,
    ModelRecord,
    NameGateRecord,
    StatusRecord,
    TreeRecord,
    Verdict,
)

Direction = Literal["gained", "lost", "changed"]
"""Of support. ``changed``: neither side works, or one of them is not known."""


@dataclass(frozen=True)
class MethodChange:
    """A method of a contract.

    Two names on the two sides are a rename; ``evidence`` then says in words why it is taken for one.
    """

    old: MethodRecord | None
    new: MethodRecord | None
    evidence: tuple[str, ...] = ()

    @property
    def kinds(self) -> tuple[str, ...]:
        """Of ``added``, ``removed``, ``renamed``, ``signature`` and ``default``, what applies."""
        old, new = self.old, self.new
        if old is None or new is None:
            return ("added",) if old is None else ("removed",)
        differs = {
            "renamed": old.name != new.name,
            "signature": old.signature != new.signature,
            "default": old.default != new.default,
        }
        return tuple(kind for kind, applies in differs.items() if applies)


@dataclass(frozen=True)
class GateChange:
    """A place that asks for a contract.

    On two sides it is the same one, under ``kinds``: ``moved`` to another file or function, asking another
    ``subject``, or raising another ``error``.
    """

    old: GateRecord | None
    new: GateRecord | None
    kinds: tuple[str, ...]


@dataclass(frozen=True)
class AllowListChange:
    """A list of model types that a contract is refused without."""

    old: AllowListRecord | None
    new: AllowListRecord | None

    @property
    def added(self) -> tuple[str, ...]:
        """Items of the new list that the old one lacks."""
        return _without(self.new, self.old)

    @property
    def removed(self) -> tuple[str, ...]:
        """Items of the old list that the new one lacks."""
        return _without(self.old, self.new)


def _without(one: AllowListRecord | None, other: AllowListRecord | None) -> tuple[str, ...]:
    left_out = set(other.items) if other is not None else set()
    return tuple(item for item in one.items if item not in left_out) if one is not None else ()


@dataclass(frozen=True)
class NameGateChange:
    """A consumer that compares the outer class's name with strings.

    Args:
        added, removed: names that it serves now, and names that it served before.
    """

    old: NameGateRecord | None
    new: NameGateRecord | None
    added: tuple[str, ...]
    removed: tuple[str, ...]


@dataclass(frozen=True)
class ContractChange:
    """A contract that differs; with one side None it is new or gone.

    Args:
        members_added, members_removed: what structural conformance needs, its methods left out.
        methods, gates, allow_lists: those that differ.
    """

    old: ContractRecord | None
    new: ContractRecord | None
    members_added: tuple[str, ...] = ()
    members_removed: tuple[str, ...] = ()
    methods: tuple[MethodChange, ...] = ()
    gates: tuple[GateChange, ...] = ()
    allow_lists: tuple[AllowListChange, ...] = ()

    @property
    def name(self) -> str:
        record = self.new or self.old
        assert record is not None
        return record.name

    @property
    def checker_changed(self) -> bool:
        """Whether another function tests it, or the same in another way."""
        old, new = self.old, self.new
        return old is not None and new is not None and (old.checker, old.check) != (new.checker, new.check)

    @property
    def handed_on_changed(self) -> bool:
        """Whether wrappers have to hand it on now and had not to, or the other way round."""
        return self.old is not None and self.new is not None and self.old.delegated != self.new.delegated

    @property
    def differs(self) -> bool:
        """Whether there is anything to tell."""
        one_sided = self.old is None or self.new is None
        parts = (self.members_added, self.members_removed, self.methods, self.gates, self.allow_lists)
        return one_sided or self.checker_changed or self.handed_on_changed or any(parts)


# -- architectures ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Reason:
    """Why a verdict is another one: a link of the chain that differs.

    Args:
        link: its kind, as in :class:`analyzer.findings.Link`; ``class`` for the class that serves, ``verdict``
            where no link tells, ``allow-list`` and ``name-gate`` for consumers that stop the model.
        text: in words that do not name the class itself, so that classes with one reason can be told together.
        old, new: where it stands in either tree.
    """

    link: str
    text: str
    old: Position | None = None
    new: Position | None = None


@dataclass(frozen=True)
class SupportChange:
    """How the architectures that one class serves stand to one contract, where that is not as it was.

    The verdict is another one, or it works in both trees and a consumer stops the model in one of them.
    """

    contract: str
    architectures: tuple[str, ...]
    old: ModelRecord
    new: ModelRecord
    old_status: StatusRecord
    new_status: StatusRecord
    direction: Direction
    reasons: tuple[Reason, ...]

    @property
    def old_standing(self) -> str:
        """The old verdict, and whether a consumer stops the model all the same."""
        return _standing(self.old_status)

    @property
    def new_standing(self) -> str:
        return _standing(self.new_status)


def stopper(status: StatusRecord) -> Link | None:
    """The consumer that stops a model whatever its chain is: an allow-list, or a dispatch on its name."""
    return next((link for link in status.consumers if link.ok is False), None)


def _standing(status: StatusRecord) -> str:
    stopped = stopper(status) is not None and status.verdict in SUPPORTS
    return f"{status.verdict}, but stopped" if stopped else status.verdict


@dataclass(frozen=True)
class ArchitectureChange:
    """Architectures that are registered in one of the trees only, or are served by another class.

    ``verdicts`` are those of the one side by contract, where it claims or could have the contract; empty where
    both sides are there.
    """

    architectures: tuple[str, ...]
    old: ModelRecord | None
    new: ModelRecord | None
    verdicts: dict[str, Verdict] = field(default_factory=dict)

    @property
    def supported(self) -> tuple[str, ...]:
        """Contracts that the side that is there fulfils, for some checkpoints at least."""
        return tuple(name for name, verdict in self.verdicts.items() if verdict in SUPPORTS)


SUPPORTS: frozenset[Verdict] = frozenset({"works", "config-dependent"})


# -- the whole -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class FindingChange:
    """A finding of one side only, or of both with other weight (severity, confidence, or whether it has a fix).

    ``note`` says where the finding's class is new or gone.
    """

    old: Finding | None
    new: Finding | None
    note: str = ""

    @property
    def finding(self) -> Finding:
        """The one to show: the new one where there is one."""
        found = self.new or self.old
        assert found is not None
        return found


@dataclass(frozen=True)
class Changes:
    """Everything that differs.

    Args:
        old, new: the trees.
        contracts: in the new tree's order, those that are gone at the end.
        name_gates: consumers that dispatch on class names.
        support: verdicts of architectures that both trees have.
        architectures: those that are new, gone, or served by another class.
        findings: by code and place.
        unchanged_findings: how many findings both trees have.
        old_diagnostics, new_diagnostics: input that could not be used: what it holds is not compared.
    """

    old: TreeRecord
    new: TreeRecord
    contracts: tuple[ContractChange, ...] = ()
    name_gates: tuple[NameGateChange, ...] = ()
    support: tuple[SupportChange, ...] = ()
    architectures: tuple[ArchitectureChange, ...] = ()
    findings: tuple[FindingChange, ...] = ()
    unchanged_findings: int = 0
    old_diagnostics: tuple[Diagnostic, ...] = ()
    new_diagnostics: tuple[Diagnostic, ...] = ()

    def of_direction(self, direction: Direction) -> Iterator[SupportChange]:
        """The changes of support in one direction."""
        return (change for change in self.support if change.direction == direction)

    @property
    def added(self) -> tuple[ArchitectureChange, ...]:
        return tuple(a for a in self.architectures if a.old is None)

    @property
    def removed(self) -> tuple[ArchitectureChange, ...]:
        return tuple(a for a in self.architectures if a.new is None)

    @property
    def moved(self) -> tuple[ArchitectureChange, ...]:
        return tuple(a for a in self.architectures if a.old is not None and a.new is not None)

    @property
    def new_findings(self) -> tuple[FindingChange, ...]:
        return tuple(f for f in self.findings if f.old is None)

    @property
    def gone_findings(self) -> tuple[FindingChange, ...]:
        return tuple(f for f in self.findings if f.new is None)

    @property
    def changed_findings(self) -> tuple[FindingChange, ...]:
        return tuple(f for f in self.findings if f.old is not None and f.new is not None)

    @property
    def worse(self) -> bool:
        """Whether an architecture lost support, or there is a new error."""
        lost = any(self.of_direction("lost")) or any(a.supported for a in self.removed)
        return lost or any(_new_error(f) for f in self.findings)

    @property
    def differs(self) -> bool:
        """Whether there is anything to tell."""
        return any((self.contracts, self.name_gates, self.support, self.architectures, self.findings))


def _new_error(change: FindingChange) -> bool:
    if change.new is None or change.new.severity != "error":
        return False
    return change.old is None or change.old.severity != "error"
