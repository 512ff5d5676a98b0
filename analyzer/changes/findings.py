"""Which findings are new, gone, or of another weight."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

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
    changes = [_change(one, other, old, new) for one, other in paired(before, after, keys)]
    found = [change for change in changes if change is not None]
    found.sort(key=lambda c: (SEVERITIES.index(c.finding.severity), c.finding.code, c.finding.sort_key))
    return tuple(found), len(changes) - len(found)


def _change(one: Finding | None, other: Finding | None, old: Report, new: Report) -> FindingChange | None:
    if one is None or other is None:
        return FindingChange(one, other, "".join(_note(one, other, old, new)))
    return FindingChange(one, other) if _weight(one) != _weight(other) else None


def _weight(finding: Finding) -> tuple[str, str, str]:
    return finding.severity, finding.confidence, finding.fix.safety


def _note(one: Finding | None, other: Finding | None, old: Report, new: Report) -> Iterator[str]:
    """Whether the finding came with its class, or went with it."""
    if other is not None and not _has(old, other.cls):
        yield "the class is new"
    if one is not None and not _has(new, one.cls):
        yield "the class is gone"


def _has(report: Report, cls: str) -> bool:
    """Whether a tree has a class of a name, as far as its report tells: its models and what they build."""
    name = _name(cls)
    models = (key for model in report.models for key in (model.cls, *(i.cls or "" for i in model.inner)))
    return any(_name(key) == name for key in models) or any(_name(f.cls) == name for f in report.findings)


def _name(dotted: str) -> str:
    return dotted.rpartition(".")[2]
