"""The formats: a name, a line for ``--help``, and a module of that name in this package with a ``render``."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from analyzer.records import Report
    from analyzer.report.context import Context

FORMATS = {
    "text": "for people",
    "concise": "path:line:column: CODE message, for editors and grep",
    "json": "everything, for programs",
    "markdown": "a comment for a pull or merge request",
    "github": "annotations, and the job's summary, in GitHub Actions",
    "gitlab": "GitLab's code quality report",
    "sarif": "SARIF 2.1.0, for code scanning and editors",
    "junit": "JUnit's XML, for test reports",
}

FORMATS_OF_SOURCES = frozenset({"sarif"})
"""Those that also tell what fixes would change, and so look into the files that these are in."""


def render(report: Report, name: str, context: Context) -> str:
    """The report in one of the formats.

    Args:
        report: of an audit.
        name: one of :data:`FORMATS`.
        context: what else a format may need.
    """
    text: str = importlib.import_module(f"analyzer.report.{name}").render(report, context)
    return text
