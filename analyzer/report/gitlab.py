"""GitLab's code quality report, as https://docs.gitlab.com/ci/testing/code_quality/ describes it.

GitLab compares two reports by fingerprint, so each has to be there once and outlive moved lines.  What could
not be read is an issue too, for information: the format has no other place for it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any

from analyzer.fingerprint import fingerprints
from analyzer.records import Report
from analyzer.report.context import BARE, Context
from analyzer.report.layout import clean

_SEVERITIES = {"error": "major", "warning": "minor", "info": "info"}


def render(report: Report, context: Context = BARE) -> str:
    """A JSON list in ASCII, one line an issue."""
    issues = [json.dumps(issue) for issue in _issues(report, context)]
    return "[\n  " + ",\n  ".join(issues) + "\n]\n" if issues else "[]\n"


def _issues(report: Report, context: Context) -> Iterator[dict[str, Any]]:
    prefix = context.prefix(report.checkout.root)
    for finding, key in zip(report.findings, fingerprints(report.findings), strict=True):
        severity = _SEVERITIES[finding.severity]
        place = prefix + finding.at.path
        yield _issue(f"{finding.code} {finding.name}", finding.message, key, severity, place, finding.at.line)
    for lost in report.diagnostics:
        key = hashlib.sha256(repr((lost.path, lost.line, lost.message)).encode("ascii", "backslashreplace")).hexdigest()
        yield _issue("not-read", lost.message, key[:32], "info", prefix + lost.path, lost.line or 1)


def _issue(check: str, said: str, key: str, severity: str, path: str, line: int) -> dict[str, Any]:
    return {
        "check_name": check,
        "description": clean(said),
        "fingerprint": key,
        "severity": severity,
        "location": {"path": clean(path), "lines": {"begin": line}},
    }
