"""Annotations for GitHub Actions: workflow commands on standard output.

Of each level, GitHub shows the first ten of a step beside the code and the rest in the log alone; of one
message, 4,096 characters (``ExecutionContext`` of actions/runner).  So the worst come first, and the last line
says what is in the log only.  A job's summary may have a mebibyte.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from analyzer.findings import SEVERITIES, Finding
from analyzer.records import Report
from analyzer.report import markdown
from analyzer.report.context import BARE, Context, placed
from analyzer.report.layout import clean

SHOWN = 10
LONGEST_MESSAGE = 4_096
LONGEST_SUMMARY = 1024 * 1024

_LEVELS = {"error": "error", "warning": "warning", "info": "notice"}


def render(report: Report, context: Context = BARE) -> str:
    """A line for each finding and for each problem with the input; empty where there is neither."""
    commands = list(_commands(report, context.prefix(report.checkout.root)))
    levels = Counter(level for level, _ in commands)
    lines = [line for _, line in commands]
    if hidden := sum(max(0, count - SHOWN) for count in levels.values()):
        lines.append(f"{hidden} of {len(commands)} are not shown beside the code: GitHub takes {SHOWN} of a level")
    return "".join(f"{line}\n" for line in lines)


def summary(report: Report, context: Context = BARE, *, taken: int = 0) -> str:
    """The job's summary, in Markdown.

    Args:
        report: of an audit.
        context: tells where the repository is.
        taken: how many bytes the step's summary has already.
    """
    return markdown.page(report, context, LONGEST_SUMMARY - taken)


def _commands(report: Report, prefix: str) -> Iterator[tuple[str, str]]:
    """Level and line of each, the worst first; what was not read goes before what is only a warning."""
    findings = {severity: [f for f in report.findings if f.severity == severity] for severity in SEVERITIES}
    for finding in findings["error"]:
        yield _command(finding, prefix)
    for lost in report.diagnostics:
        place = {"file": placed(prefix, lost.path), **({"line": str(lost.line)} if lost.line else {})}
        yield "warning", _line("warning", {**place, "title": "not read"}, clean(lost.message))
    for finding in (*findings["warning"], *findings["info"]):
        yield _command(finding, prefix)


def _command(finding: Finding, prefix: str) -> tuple[str, str]:
    level, at = _LEVELS[finding.severity], finding.at
    place = {"file": placed(prefix, at.path), "line": str(at.line), "col": str(at.column)}
    fix = f"{'no' if finding.fix.safety == 'none' else finding.fix.safety} fix: {finding.fix.summary}"
    said = f"{clean(finding.message)}\n{clean(fix)}"
    return level, _line(level, {**place, "title": f"{finding.code} {finding.name}"}, said)


def _line(level: str, properties: dict[str, str], said: str) -> str:
    shown = ",".join(f"{key}={_escaped(value, ':,')}" for key, value in properties.items())
    return f"::{level} {shown}::{_escaped(said[:LONGEST_MESSAGE])}"


def _escaped(text: str, more: str = "") -> str:
    """Text in which the runner finds no end of a line or, with ``more``, of a property."""
    return "".join(f"%{ord(c):02X}" if c in f"%\r\n{more}" else c for c in text)
