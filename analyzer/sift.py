"""What of an audit's findings is reported: after the engine, settings decide, and the engine never knows them.

The order matters.  Comments are held against everything that was found; then what nobody asked for is left out;
then what the baseline knows.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from analyzer.baseline import compare, read_baseline, updated
from analyzer.engine import EngineError, require_contracts
from analyzer.findings import Finding
from analyzer.globs import matches
from analyzer.records import EntryRecord, Report
from analyzer.settings import COMMAND_LINE, RuleNames, Settings
from analyzer.suppress import CommentUse, suppress


class JudgesComments(Protocol):
    """What is needed of a rule about comments."""

    def judge(self, use: CommentUse, /) -> Iterator[Finding]:
        """The findings of this rule on one comment."""
        ...


def sift(
    report: Report,
    settings: Settings,
    rules: RuleNames,
    comment_rules: Iterable[JudgesComments],
    *,
    silent: Collection[str] = (),
    baseline: Path | None = None,
    update: bool = False,
) -> Report:
    """The report with the findings that count.

    Args:
        report: of all rules on all contracts.
        settings: what is in force.
        rules: which rules there are.
        comment_rules: those about comments.
        silent: codes of rules that were not applied: nothing is known of what they would find.
        baseline: the file of known findings.
        update: make that file of what is found; it is not written here.

    Raises:
        EngineError: the settings name a contract that the checkout does not have.
        BaselineError: the file cannot be used.
    """
    _check_contracts(report, settings)
    parted = suppress(report.findings, report.comments, rules, silent, require_reason=settings.require_reason)
    remarks = [finding for use in parted.uses for rule in comment_rules for finding in rule.judge(use)]
    findings = [f for f in (*parted.kept, *remarks) if _wanted(f, settings)]
    findings.sort(key=lambda finding: finding.sort_key)
    suppressed = [s for s in parted.suppressed if _wanted(s.finding, settings)]
    report = replace(report, findings=findings, suppressed=suppressed)
    if baseline is None:
        return report
    entries = read_baseline(baseline, may_lack=update)
    new, compared = compare(baseline, entries, findings, lambda entry: _covers(entry, settings, silent))
    if update:
        new, compared = [], updated(compared, new)
    return replace(report, findings=new, baseline=compared)


def _check_contracts(report: Report, settings: Settings) -> None:
    try:
        require_contracts([contract.name for contract in report.contracts], settings.contracts)
    except EngineError as error:
        origin = settings.origin("contracts")
        raise error if origin == COMMAND_LINE else EngineError(f"{origin}: {error}") from None


def _wanted(finding: Finding, settings: Settings) -> bool:
    if not settings.wants(finding.code) or not _of_contracts(finding.contract, settings):
        return False
    ignores = settings.per_path_ignores
    return not any(finding.code in codes and matches(glob, finding.at.path) for glob, codes in ignores)


def _of_contracts(contract: str, settings: Settings) -> bool:
    """Whether a contract is reported on; findings on comments are on none."""
    return not settings.contracts or not contract or contract in settings.contracts


def _covers(entry: EntryRecord, settings: Settings, silent: Collection[str]) -> bool:
    """Whether a run with these settings tells of a finding like an entry, if there is one."""
    applied = entry.code not in silent and settings.wants(entry.code)
    return applied and _of_contracts(entry.contract, settings)
