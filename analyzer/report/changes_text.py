"""A comparison of two trees for people: the details, and the summary where a terminal stops."""

from __future__ import annotations

from rich.console import Console

from analyzer.changes.records import Changes
from analyzer.report.changes_outline import body, summary, title
from analyzer.report.outline_text import to_text


def render(changes: Changes, console: Console) -> str:
    """The comparison as text.

    Args:
        changes: of two reports.
        console: tells the width, the encoding and whether there are colours; nothing is printed on it.
    """
    return to_text([*title(changes), *body(changes), *summary(changes)], console)
