"""Which findings have to do with some files, wherever they are reported."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from analyzer.checkout import Checkout
    from analyzer.findings import Finding, Link
    from analyzer.records import ModelRecord, Report

SAME_FOR_ALL = frozenset({"gate"})
"""Links that stand in every chain: a change there concerns no single finding."""


def inside(checkout: Checkout, files: Iterable[Path]) -> set[str]:
    """The files of what is audited among some: of the package, or of the plugin's, relative to its root."""
    found = set()
    for file in files:
        try:
            rel = checkout.rel(file)
        except ValueError:  # elsewhere in the repository
            continue
        if any(package.holds(rel) for package in checkout.packages):
            found.add(rel)
    return found


def concerns(finding: Finding, files: Collection[str]) -> bool:
    """Whether a finding is in one of some files, stands on something there, or is repaired there."""
    return not places(finding).isdisjoint(files)


def places(finding: Finding) -> set[str]:
    """The files that a finding has to do with."""
    found = {finding.at.path, *(x.path for x in finding.chain if x.link not in SAME_FOR_ALL)}
    found.update(edit.path for edit in finding.fix.edits)
    return found | ({finding.builds_inner.path} if finding.builds_inner is not None else set())


def links_in(finding: Finding, files: Collection[str]) -> list[Link]:
    """What a finding stands on in some files."""
    return [link for link in finding.chain if link.path in files and link.link not in SAME_FOR_ALL]


def wrappers_of(report: Report, finding: Finding) -> list[ModelRecord]:
    """The wrappers in other files that are built around a finding's class and pass for its contract."""
    return [
        model
        for model in report.models
        if model.at.path != finding.at.path
        and any(inner.cls == finding.cls for inner in model.inner)
        and finding.contract in model.statuses
        and model.statuses[finding.contract].satisfied
    ]


def only_about(report: Report, files: Collection[str]) -> Report:
    """A report with nothing but what has to do with some files."""
    baseline = report.baseline
    if baseline is not None:
        known = tuple(finding for finding in baseline.known if concerns(finding, files))
        stale = tuple(entry for entry in baseline.stale if entry.path in files)
        baseline = replace(baseline, known=known, stale=stale)
    return replace(
        report,
        findings=[finding for finding in report.findings if concerns(finding, files)],
        suppressed=[one for one in report.suppressed if concerns(one.finding, files)],
        diagnostics=[lost for lost in report.diagnostics if lost.path in files],
        baseline=baseline,
    )
