"""A comparison of two trees as Markdown, for a pull request or release notes: the summary comes first."""

from __future__ import annotations

from analyzer.changes.records import Changes
from analyzer.report.changes_outline import body, summary, title
from analyzer.report.outline import to_markdown


def render(changes: Changes) -> str:
    """The comparison as Markdown.

    Args:
        changes: of two reports.
    """
    return to_markdown([*title(changes), *summary(changes), *body(changes)])
