"""What a terminal shows while something is going on."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from analyzer.commands import progress
from tests.cli.running import main


def console(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """Standard error as a terminal, recorded."""
    recorded = io.StringIO()
    shown = Console(file=recorded, force_terminal=True, width=80, color_system=None)
    monkeypatch.setattr(progress, "_terminal", lambda: shown)
    return recorded


def test_a_bar_while_a_release_is_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    recorded = console(monkeypatch)
    with progress.fetching("0.33.0") as report:
        assert recorded.getvalue() == ""
        assert report is not None
        report("waiting", 0, None)
        report("downloading", 1_000_000, None)
        report("downloading", 200_000_000, 400_000_000)
        report("unpacking", 1, 2)
    shown = recorded.getvalue()
    assert "unpacking vLLM 0.33.0" in shown
    assert "1 of 2 files" in shown


@pytest.mark.parametrize(
    ("phase", "done", "total", "shown"),
    [
        ("waiting", 0, None, ""),
        ("downloading", 1_400_000, None, "1 MB"),
        ("downloading", 200_000_000, 400_000_000, "200 of 400 MB"),
        ("unpacking", 3, 12, "3 of 12 files"),
    ],
)
def test_amounts(phase: str, done: int, total: int | None, shown: str) -> None:
    assert progress._amount(phase, done, total) == shown


def test_an_audit_on_a_terminal_says_that_it_works_and_removes_it(
    capsys: pytest.CaptureFixture[str], tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded = console(monkeypatch)
    assert main(capsys, "audit", tree, "--format", "json")[0] == 1
    assert "reading vLLM 0.33.0" in recorded.getvalue()
    assert recorded.getvalue().endswith("\x1b[2K")


def test_nobody_looks_in_a_pipe() -> None:
    with progress.fetching("0.33.0") as report:
        assert report is None
