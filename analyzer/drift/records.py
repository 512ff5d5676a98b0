"""The result as plain data: what renderers and comparisons work on."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, get_args

from analyzer.findings import Diagnostic, Position
from analyzer.records import TreeRecord

UseKind = Literal[
    "missing-module",
    "missing-name",
    "missing-member",
    "missing-argument",
    "unknown-argument",
    "too-many-arguments",
    "abstract-method",
    "override-signature",
    "lost-override",
]
ProbeKind = Literal["lacking-path", "inner-only", "inherited-probe", "other-generation"]
Before = Literal["", "honoured", "not-honoured", "not-known"]

KINDS: tuple[str, ...] = (*get_args(UseKind), *get_args(ProbeKind))


@dataclass(frozen=True, order=True)
class Evidence:
    """A place in the tree and what it shows."""

    at: Position
    text: str


@dataclass(frozen=True)
class UseRecord:
    """A use of vLLM's API that the tree does not honour.

    Args:
        kind: what is wrong.
        at: where, in the third-party code.
        name: what is used: a dotted name, ``Class.method``, ``function(argument)``.
        message: one sentence.
        evidence: places in the tree.
        went: where the name is now, as dotted names.
        before: what the older tree makes of it; empty without one.
    """

    kind: UseKind
    at: Position
    name: str
    message: str
    evidence: tuple[Evidence, ...] = ()
    went: tuple[str, ...] = ()
    before: Before = ""


@dataclass(frozen=True)
class ReasonRecord:
    """A use that is not judged, or that something guards, and why."""

    at: Position
    name: str
    reason: str


@dataclass(frozen=True)
class FailingModel:
    """A model for which a consumer cannot work.

    Args:
        cls: dotted name.
        role: see :class:`analyzer.records.ModelRecord`.
        step: what fails, as Python says it.
        at: where in the third-party code.
        class_at: where the class stands in the tree.
        architectures: registered names that it serves.
    """

    cls: str
    role: str
    step: str
    at: Position
    class_at: Position
    architectures: tuple[str, ...] = ()


@dataclass(frozen=True)
class ConsumerRecord:
    """A gate in third-party code and what comes of it for the models of the tree.

    Args:
        contract: that it asks for.
        member: the checker, method or member that it uses.
        how: ``checker``, ``isinstance``, ``method`` or ``probe``.
        subject: the object that it asks, as the source writes it.
        asks: ``outer model``, ``inner model``, ``class`` or ``not known``.
        at: where.
        function: the function that it stands in.
        refused: models of the tree that it refuses, as it should.
        works: models for which everything behind it could be followed.
        failing: those for which it cannot work.
        unknown: those for which it could not be followed, with the reason.
        problems: kinds of what is wrong.
        notes: one sentence for each of them.
        before: what the older tree makes of it.
    """

    contract: str
    member: str
    how: str
    subject: str
    asks: str
    at: Position
    function: str
    refused: int = 0
    works: tuple[str, ...] = ()
    failing: tuple[FailingModel, ...] = ()
    unknown: tuple[tuple[str, str], ...] = ()
    problems: tuple[ProbeKind, ...] = ()
    notes: tuple[str, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    before: Before = ""


@dataclass
class DriftReport:
    """Third-party code against a tree.

    Args:
        package: its folder.
        names: of its packages.
        checkout: the tree.
        since: an older tree that it is held against too.
        files: Python files of the package, and those that mention vLLM.
        checked: how many uses of each sort were looked at: ``imports``, ``members``, ``calls``, ``classes``.
        uses: what is not honoured, by place.
        guarded: what is not honoured and stands behind a guard.
        unresolved: what could not be judged.
        consumers: gates.
        diagnostics: files that could not be read.
    """

    package: Path
    names: tuple[str, ...]
    checkout: TreeRecord
    since: TreeRecord | None = None
    files: tuple[int, int] = (0, 0)
    checked: dict[str, int] = field(default_factory=dict)
    uses: list[UseRecord] = field(default_factory=list)
    guarded: list[ReasonRecord] = field(default_factory=list)
    unresolved: list[ReasonRecord] = field(default_factory=list)
    consumers: list[ConsumerRecord] = field(default_factory=list)
    diagnostics: list[Diagnostic] = field(default_factory=list)

    @property
    def failing(self) -> bool:
        """Whether anything is wrong."""
        return bool(self.uses) or any(consumer.problems for consumer in self.consumers)
