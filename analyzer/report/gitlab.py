"""GitLab's code quality report, as https://docs.gitlab.com/ci/testing/code_quality/ describes it.

GitLab compares two reports by fingerprint, so each has to be there once and outlive moved lines.  What could
not be read is an issue too, for information: the format has no other place for it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from analyzer.findings import Diagnostic, Finding, Position
from analyzer.fingerprint import fingerprints
from analyzer.records import Report
from analyzer.report.context import BARE, Context, placed
from analyzer.report.layout import clean

_SEVERITIES = {"error": "major", "warning": "minor", "info": "info"}


def render(report: Report, context: Context = BARE) -> str:
    """A JSON list in ASCII, one line an issue."""
    prefix = context.prefix(report.checkout.root)
    issues = [json.dumps(issue) for issue in _issues(report, prefix)]
    return "[\n  " + ",\n  ".join(issues) + "\n]\n" if issues else "[]\n"


def _issues(report: Report, prefix: str) -> Iterator[dict[str, Any]]:
    findings = [*report.findings, *map(_as_finding, report.diagnostics)]
    for finding, key in zip(findings, fingerprints(findings), strict=True):
        yield {
            "check_name": f"{finding.code} {finding.name}".rstrip(),
            "description": clean(finding.message),
            "fingerprint": key,
            "severity": _SEVERITIES[finding.severity],
            "location": {"path": clean(placed(prefix, finding.at.path)), "lines": {"begin": finding.at.line}},
        }


def _as_finding(lost: Diagnostic) -> Finding:
    at = Position(lost.path, lost.line or 1)
    return Finding("not-read", "", "", "info", "unresolved", "", (), at, lost.message)
