"""Third-party code against a tree, one line for each thing that is wrong, as compilers do."""

from __future__ import annotations

from analyzer.drift.records import DriftReport
from analyzer.report.layout import clean


def render(report: DriftReport) -> str:
    """The report in lines, by place.

    Args:
        report: to be told.
    """
    rows = [(use.at, f"{use.kind} {use.message}{_went(use.went)}") for use in report.uses]
    for consumer in report.consumers:
        if consumer.problems:
            rows.append((consumer.at, f"{','.join(consumer.problems)} {'; '.join(consumer.notes)}"))
    return "".join(f"{clean(at.path)}:{at.line}:{at.column}: {clean(text)}\n" for at, text in sorted(rows))


def _went(went: tuple[str, ...]) -> str:
    return f"; it is in {went[0].partition(' ')[0]}" if went else ""
