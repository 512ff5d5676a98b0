"""What a verification consists of: statements against what happened, and what came of models and findings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

Record = dict[str, Any]
Outcome = Literal["confirmed", "contradicted", "not testable"]


@dataclass(frozen=True)
class Comparison:
    """One statement of the analysis against what happened.

    Args:
        kind: the link of a chain that it is about: ``check``, ``inner-check``, ``method``, ``capture``, ``forward``.
        contract: name of the contract.
        subject: what was asked or called.
        ok: whether the link holds according to the analysis; None where that leaves it open.
        static: what the analysis says, in words.
        happened: what happened, in words.
        outcome: of the comparison.
        reason: why it is not testable, in words that many share.
        inner: class of the inner model in place, or empty.
    """

    kind: str
    contract: str
    subject: str
    ok: bool | None
    static: str
    happened: str
    outcome: Outcome
    reason: str = ""
    inner: str = ""


@dataclass(frozen=True)
class ModelOutcome:
    """What came of all statements about one class; ``reason`` where it gave no answer."""

    cls: str
    architectures: tuple[str, ...]
    outcome: Outcome
    reason: str = ""
    comparisons: tuple[Comparison, ...] = ()


@dataclass(frozen=True)
class FindingOutcome:
    """What came of one finding: ``shown`` is what bears it out or speaks against it."""

    code: str
    contract: str
    cls: str
    path: str
    line: int
    message: str
    outcome: Outcome
    reason: str = ""
    shown: tuple[Comparison, ...] = ()


@dataclass
class Verification:
    """The result of a run.

    Args:
        environment: what the interpreter says of itself.
        stand_ins: what was stood in for.
        models, findings: their outcomes; of a fixed copy, those that are left.
        repairs: of a fixed copy, what came of the findings that were repaired.
        served: architecture to the class that it gives there; empty where it cannot be imported.
        uncovered: architectures of the registry there whose class is none of the analysis's.
        tree: which tree it is about.
    """

    environment: Record
    stand_ins: list[str]
    models: list[ModelOutcome]
    findings: list[FindingOutcome]
    repairs: list[FindingOutcome] = field(default_factory=list)
    served: dict[str, str] = field(default_factory=dict)
    uncovered: list[str] = field(default_factory=list)
    tree: Record = field(default_factory=dict)

    @property
    def comparisons(self) -> Iterator[Comparison]:
        return (c for model in self.models for c in model.comparisons)

    @property
    def contradicted(self) -> bool:
        """Whether anything that the analysis says is not so."""
        judged = [*(m.outcome for m in self.models), *(f.outcome for f in (*self.findings, *self.repairs))]
        return "contradicted" in judged


def overall(found: Iterable[Comparison]) -> Outcome:
    """One contradiction outweighs everything."""
    outcomes = {one.outcome for one in found}
    return "contradicted" if "contradicted" in outcomes else "confirmed" if "confirmed" in outcomes else "not testable"
