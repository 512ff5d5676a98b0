"""GitLab's code quality report: the fields that GitLab needs, and fingerprints that are unique and stay."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest

from analyzer.findings import Diagnostic, Position
from analyzer.records import Report
from analyzer.report import gitlab
from analyzer.report.context import Context
from tests.report_samples import FINDING, HOSTILE_FINDING, LOST, PATHS, made_report

# https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format
SCHEMA = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["description", "check_name", "fingerprint", "location", "severity"],
        "properties": {
            "description": {"type": "string", "minLength": 1},
            "check_name": {"type": "string", "minLength": 1},
            "fingerprint": {"type": "string", "minLength": 1},
            "severity": {"enum": ["info", "minor", "major", "critical", "blocker"]},
            "location": {
                "type": "object",
                "required": ["path", "lines"],
                "properties": {
                    "path": {"type": "string", "pattern": r"^(?!\./|/)."},
                    "lines": {
                        "type": "object",
                        "required": ["begin"],
                        "properties": {"begin": {"type": "integer", "minimum": 1}},
                    },
                },
            },
        },
    },
}


def issues(report: Report, context: Context | None = None) -> list[dict[str, Any]]:
    text = gitlab.render(report, context or Context())
    text.encode("ascii")
    read: list[dict[str, Any]] = json.loads(text)
    jsonschema.validate(read, SCHEMA)
    keys = [issue["fingerprint"] for issue in read]
    assert len(set(keys)) == len(keys)
    return read


def test_severities_and_what_was_not_read(tmp_path: Path) -> None:
    three = [FINDING, replace(FINDING, severity="warning"), replace(FINDING, severity="info")]
    found = issues(made_report(tmp_path, three, LOST))
    assert [(i["check_name"], i["severity"], i["location"]["lines"]["begin"]) for i in found] == [
        ("VC001 undeclared-support", "major", 7),
        ("VC001 undeclared-support", "minor", 7),
        ("VC001 undeclared-support", "info", 7),
        ("not-read", "info", 3),
        ("not-read", "info", 1),
    ]


def test_fingerprints_stay_when_lines_move_and_files_come_and_go(tmp_path: Path) -> None:
    other = replace(FINDING, cls="vllm.a.Other")
    report = made_report(tmp_path, [FINDING, other])
    before = [issue["fingerprint"] for issue in issues(report)]
    moved = [replace(other, at=Position("vllm/a.py", 99)), replace(FINDING, at=Position("vllm/a.py", 120))]
    after = [issue["fingerprint"] for issue in issues(replace(report, findings=moved))]
    assert after == before[::-1]


def test_findings_and_problems_that_are_alike_are_all_there(tmp_path: Path) -> None:
    lost = [Diagnostic("vllm/a.py", 0, "twice"), Diagnostic("vllm/a.py", 0, "twice")]
    assert len(issues(made_report(tmp_path, [FINDING] * 3, lost))) == 5


def test_hostile_text_is_one_printable_line(tmp_path: Path) -> None:
    (issue,) = issues(made_report(tmp_path, [HOSTILE_FINDING]))
    assert issue["description"].isprintable()
    assert issue["description"].startswith("100% of a:b,c;d  ::error::no | `x`")


@pytest.mark.parametrize("path", PATHS)
def test_paths_are_as_they_are(tmp_path: Path, path: str) -> None:
    (issue,) = issues(made_report(tmp_path, [replace(FINDING, at=Position(path, 7))]))
    assert issue["location"]["path"] == re.sub("\udcff", r"\\udcff", path)


def test_nothing_found_and_only_problems(tmp_path: Path) -> None:
    report = made_report(tmp_path, [])
    assert issues(report) == []
    assert [i["location"]["path"] for i in issues(replace(report, diagnostics=LOST))] == [d.path for d in LOST]


def test_paths_start_at_the_repository(tmp_path: Path) -> None:
    found = issues(made_report(tmp_path / "libs", [FINDING], LOST), Context(repository=tmp_path))
    assert [issue["location"]["path"] for issue in found] == [
        f"libs/vllm/{name}.py" for name in ("a", "broken", "pipe")
    ]
