"""Annotations: what the runner reads out of a line is what was meant, and the worst comes first."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from analyzer.findings import Position, Severity
from analyzer.report import github
from analyzer.report.context import Context
from tests.report_samples import FINDING, HOSTILE, HOSTILE_FINDING, LOST, PATHS, made_report

ESCAPES = {"%25": "%", "%0D": "\r", "%0A": "\n", "%3A": ":", "%2C": ","}


def unescaped(text: str) -> str:
    return re.sub("%[0-9A-F]{2}", lambda match: ESCAPES[match[0]], text)


def read(line: str) -> tuple[str, dict[str, str], str]:
    """A line as the runner takes it apart: command, properties, message."""
    assert line.startswith("::")
    head, _, said = line[2:].partition("::")
    level, _, rest = head.partition(" ")
    properties = dict(part.split("=", 1) for part in rest.split(","))
    return level, {key: unescaped(value) for key, value in properties.items()}, unescaped(said)


def test_a_finding(tmp_path: Path) -> None:
    assert github.render(made_report(tmp_path, [FINDING])) == (
        "::error file=vllm/a.py,line=7,col=3,title=VC001 undeclared-support::"
        "Outer fails%0Ano fix: nothing can be done\n"
    )


def test_hostile_text_stays_in_its_place(tmp_path: Path) -> None:
    (line,) = github.render(made_report(tmp_path, [HOSTILE_FINDING])).split("\n")[:-1]
    level, properties, said = read(line)
    assert level == "error"
    assert properties == {
        "file": f"vllm/{HOSTILE}",
        "line": "7",
        "col": "1",
        "title": "VC001 undeclared-support",
    }
    assert said.startswith("100% of a:b,c;d  ::error::no ")
    assert said.count("\n") == 1
    assert "\x1b" not in said
    assert "\r" not in line


@pytest.mark.parametrize("path", PATHS)
def test_paths(tmp_path: Path, path: str) -> None:
    line = github.render(made_report(tmp_path, [replace(FINDING, at=Position(path, 7))])).rstrip("\n")
    assert read(line)[1]["file"] == path


def test_levels_come_in_order_and_what_was_not_read_before_warnings(tmp_path: Path) -> None:
    severities: tuple[Severity, ...] = ("info", "warning", "error", "warning")
    report = made_report(tmp_path, [replace(FINDING, severity=s) for s in severities], LOST)
    lines = [read(line) for line in github.render(report).splitlines()]
    assert [level for level, _, _ in lines] == ["error", "warning", "warning", "warning", "warning", "notice"]
    assert lines[1][1:] == ({"file": "vllm/broken.py", "line": "3", "title": "not read"}, "invalid syntax")
    assert lines[2][1:] == ({"file": "vllm/pipe.py", "title": "not read"}, "not a file")


def test_what_github_does_not_show_is_counted(tmp_path: Path) -> None:
    ten = made_report(tmp_path, [FINDING] * 10)
    assert "not shown" not in github.render(ten)
    more = replace(ten, findings=[FINDING] * 12 + [replace(FINDING, severity="warning")] * 11)
    lines = github.render(more).splitlines()
    assert len(lines) == 24
    assert lines[-1] == "3 of 23 are not shown beside the code: GitHub takes 10 of a level"


def test_a_message_is_cut_where_github_cuts_it(tmp_path: Path) -> None:
    line = github.render(made_report(tmp_path, [replace(FINDING, message="%" * 9_000)])).rstrip("\n")
    assert len(read(line)[2]) == github.LONGEST_MESSAGE


def test_nothing_found_and_only_problems(tmp_path: Path) -> None:
    report = made_report(tmp_path, [])
    assert github.render(report) == ""
    lines = github.render(replace(report, diagnostics=LOST)).splitlines()
    assert [line.partition(" ")[0] for line in lines] == ["::warning"] * 2


def test_paths_start_at_the_repository(tmp_path: Path) -> None:
    report = made_report(tmp_path / "libs" / "my vllm", [FINDING], LOST)
    shown = github.render(report, Context(repository=tmp_path))
    assert [read(line)[1]["file"] for line in shown.splitlines()] == [
        f"libs/my vllm/vllm/{name}.py" for name in ("a", "broken", "pipe")
    ]
    for elsewhere in (tmp_path / "libs" / "my vllm", tmp_path / "other"):
        assert "::error file=vllm/a.py," in github.render(report, Context(repository=elsewhere))


def test_the_summary_is_as_long_as_github_takes(tmp_path: Path) -> None:
    report = made_report(tmp_path, [replace(FINDING, message="x" * 1000)] * 2_000)
    whole = github.summary(report).encode()
    assert github.LONGEST_SUMMARY - 2_000 < len(whole) <= github.LONGEST_SUMMARY
    rest = github.summary(report, taken=len(whole) - 50_000).encode()
    assert len(rest) <= github.LONGEST_SUMMARY - len(whole) + 50_000
    assert b"more entries would make this too long" in rest
