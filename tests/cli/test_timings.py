"""``--timings``: where the time of a run goes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from analyzer.timings import Timings
from tests.cli.running import main

LINE = re.compile(r" *(\d+\.\d{3}) s +(\d+)%  (.+)")


def rows(said: str) -> list[tuple[float, int, str]]:
    found = [LINE.fullmatch(line) for line in said.splitlines()]
    return [(float(match[1]), int(match[2]), match[3]) for match in found if match]


def test_stages_add_up(capsys: pytest.CaptureFixture[str], tree: Path) -> None:
    code, out, err = main(capsys, "audit", tree, "--timings", "--format", "concise")
    assert code == 1
    assert "VC001" in out
    told = rows(err)
    assert len(told) == err.count("\n")
    names = [name for _, _, name in told]
    assert names[0] == "settings and version"
    assert {"search for changes", "models", "consumers", "rules", "reports"} < set(names)
    assert names[-2:] == ["the rest", "all"]
    *parts, (whole, share, _) = told
    assert share == 100
    assert sum(took for took, _, _ in parts) == pytest.approx(whole, abs=0.001 * len(told))


def test_what_is_known_is_not_made_again(capsys: pytest.CaptureFixture[str], tree: Path) -> None:
    first, second = (main(capsys, "audit", tree, "--timings", "--quiet") for _ in range(2))
    assert first[:2] == second[:2]
    assert [name for _, _, name in rows(second[2])] == ["settings and version", "search for changes", "the rest", "all"]


def test_nothing_is_told_unless_asked(capsys: pytest.CaptureFixture[str], tree: Path) -> None:
    assert main(capsys, "audit", tree, "--quiet")[2] == ""


def test_a_stage_that_fails_is_measured_too() -> None:
    watch = Timings()
    with pytest.raises(ValueError), watch.stage("first"):
        raise ValueError
    with watch.stage("second"):
        pass
    assert [line.split("%  ")[1] for line in watch.lines()] == ["first", "second", "the rest", "all"]
