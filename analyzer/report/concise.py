"""One line a finding, as compilers print them: editors and ``grep`` read it."""

from __future__ import annotations

from analyzer.records import Report
from analyzer.report.context import BARE, Context
from analyzer.report.layout import clean


def render(report: Report, _: Context = BARE) -> str:
    """``path:line:column: CODE message`` for every finding; empty where there is none."""
    return "".join(
        clean(f"{f.at.path}:{f.at.line}:{f.at.column}: {f.code} {f.message}") + "\n" for f in report.findings
    )
