"""What a rule is: a code, a name, its explanation, its cases, and a check."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from analyzer.audit import Audit
from analyzer.contracts import Contract
from analyzer.findings import NO_FIX, Confidence, Finding, Fix, GateUse, Link, Position, Severity
from analyzer.index import ClassInfo
from analyzer.suppress import CommentUse


@dataclass(frozen=True)
class Case:
    """A small model file, put into one of the fixture trees.

    Args:
        name: what the case shows, as a sentence.
        source: the file; it may import what the fixture trees have.
        architectures: registered architecture -> class in the file.
        generation: which fixture tree: the contract's shape in ``0.16``, ``0.20`` or ``0.33``.
        finds: (code, class) pairs that the audit of this file must report; everything else it must not.
        settings: the project's ``vllm-contracts.toml``, where the case needs one.
    """

    name: str
    source: str
    architectures: dict[str, str]
    generation: str = "0.33"
    finds: tuple[tuple[str, str], ...] = ()
    settings: str = ""


class Rule(ABC):
    """One kind of fault.  The docstring of a subclass is its explanation.

    ``what`` says what it reports, ``why`` the consequence that users see, ``how`` the repair.  ``of_generations``
    tells whether it reports what is left from another generation of a contract; a rule that is not applied by
    ``default`` is applied where its code is selected.
    """

    code: ClassVar[str]
    name: ClassVar[str]
    severity: ClassVar[Severity]
    what: ClassVar[str]
    why: ClassVar[str]
    how: ClassVar[str]
    bad: ClassVar[Sequence[Case]] = ()
    good: ClassVar[Sequence[Case]] = ()
    of_generations: ClassVar[bool] = False
    default: ClassVar[bool] = True

    @abstractmethod
    def check(self, audit: Audit, /) -> Iterator[Finding]:
        """Yield the findings of this rule; never prints, reads the disk or sees suppressions."""

    def finding(
        self,
        contract: Contract,
        cls: ClassInfo,
        at: Position,
        message: str,
        *,
        architectures: Sequence[str] = (),
        confidence: Confidence = "certain",
        severity: Severity | None = None,
        fix: Fix = NO_FIX,
        chain: Sequence[Link] = (),
        gates: Sequence[GateUse] = (),
        builds_inner: Position | None = None,
    ) -> Finding:
        """A finding of this rule."""
        return Finding(
            code=self.code,
            name=self.name,
            contract=contract.name,
            severity=severity or self.severity,
            confidence=confidence,
            cls=cls.key,
            architectures=tuple(architectures),
            at=at,
            message=message,
            fix=fix,
            chain=tuple(chain),
            gates=tuple(gates),
            builds_inner=builds_inner,
        )


class CommentRule(Rule):
    """A rule about the comments that suppress findings of the others; it judges them after those are known."""

    def check(self, _: Audit) -> Iterator[Finding]:
        """Nothing: comments are no part of what other rules see."""
        yield from ()

    @abstractmethod
    def judge(self, use: CommentUse) -> Iterator[Finding]:
        """The findings of this rule on one comment."""

    def remark(self, use: CommentUse, message: str, fix: str) -> Finding:
        """A finding of this rule: on the comment, and on no contract.

        Args:
            use: the comment.
            message: what is wrong with it.
            fix: what a person should do.
        """
        return Finding(
            code=self.code,
            name=self.name,
            contract="",
            severity=self.severity,
            confidence="certain",
            cls=use.cls,
            architectures=(),
            at=use.at,
            message=message,
            fix=Fix("none", fix),
        )
