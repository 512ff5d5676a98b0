"""Which findings are new, gone, or of another weight."""

from __future__ import annotations

from collections.abc import Sequence

from analyzer.changes.gates import Key, paired
from analyzer.changes.records import FindingChange
from analyzer.findings import SEVERITIES, Finding
from analyzer.records import Report


def compare_findings(old: Report, new: Report, wanted: Sequence[str] = ()) -> tuple[tuple[FindingChange, ...], int]:
    """The findings that differ, and how many do not.

    A finding is known again by its code, contract and class (the dotted name, or the name alone where the file was
    moved), and by its message where a class has several; never by its line.

    Args:
        old, new: of the two trees.
        wanted: contracts; all unless given.
    """
    before, after = ([f for f in report.findings if not wanted or f.contract in wanted] for report in (old, new))
    keys: list[Key[Finding]] = [
        lambda f: (f.code, f.contract, f.cls, f.message),
        lambda f: (f.code, f.contract, f.cls),
        lambda f: (f.code, f.contract, _name(f.cls), f.message),
        lambda f: (f.code, f.contract, _name(f.cls)),
    ]
    classes = (_classes(old), _classes(new))
    changes = [_change(one, other, *classes) for one, other in paired(before, after, keys)]
    found = [change for change in changes if change is not None]
    found.sort(key=lambda c: (SEVERITIES.index(c.finding.severity), c.finding.code, c.finding.sort_key))
    return tuple(found), len(changes) - len(found)


def _change(one: Finding | None, other: Finding | None, old: set[str], new: set[str]) -> FindingChange | None:
    """One pair, told with the classes of either tree whether it came or went with its class."""
    if one is None and other is not None:
        return FindingChange(one, other, "the class is new" if _name(other.cls) not in old else "")
    if other is None and one is not None:
        return FindingChange(one, other, "the class is gone" if _name(one.cls) not in new else "")
    if one is None or other is None:
        return None
    return FindingChange(one, other) if _weight(one) != _weight(other) else None


def _weight(finding: Finding) -> tuple[str, str, str]:
    return finding.severity, finding.confidence, finding.fix.safety


def _classes(report: Report) -> set[str]:
    """Names of the classes that a tree has, as far as its report tells: models, what they build, and findings."""
    models = (key for model in report.models for key in (model.cls, *(i.cls or "" for i in model.inner)))
    return {_name(key) for key in (*models, *(f.cls for f in report.findings))}


def _name(dotted: str) -> str:
    return dotted.rpartition(".")[2]
