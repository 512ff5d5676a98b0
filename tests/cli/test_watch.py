"""``watch``: a process that reports anew whenever something changes, until it is interrupted."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.running import COMMAND, main, run
from tests.report_tree import FILES, WRAPPERS

WAIT = 90.0
"""Seconds until a test gives up; far longer than a look takes."""

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")


class Watch:
    """A watch over a tree, and what it has said."""

    def __init__(self, *arguments: str) -> None:
        self.lines: list[str] = []
        self.process = subprocess.Popen(
            [*COMMAND, "watch", *arguments, "--interval", "0.05"],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
            # Where the tests run in the background of a script, SIGINT is ignored, and that is inherited.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        self.lines.extend(iter(self.process.stdout.readline, ""))

    def until(self, words: str) -> list[str]:
        """The lines up to the first with some words; they are forgotten."""
        deadline = time.monotonic() + WAIT
        while time.monotonic() < deadline:
            found = next((n for n, line in enumerate(self.lines) if words in line), None)
            if found is not None:
                said, self.lines[: found + 1] = self.lines[: found + 1], []
                return said
            assert self.process.poll() is None, self.lines
            time.sleep(0.02)
        raise AssertionError(f"{words!r} was not said, but {self.lines}")

    def end(self) -> int:
        """Interrupt it, as Ctrl-C does: the exit code."""
        self.process.send_signal(signal.SIGINT)
        code = self.process.wait(WAIT)
        self._reader.join(WAIT)
        return code


@pytest.fixture
def watched(tree: Path) -> Iterator[Watch]:
    made = Watch(str(tree), "--select", "VC001,VC004")
    yield made
    made.process.kill()
    made.process.wait()


@POSIX
def test_it_reports_when_something_changes_and_ends_on_an_interrupt(watched: Watch, tree: Path) -> None:
    said = watched.until(f"3 findings in {tree}")
    assert said[0].startswith(f"{WRAPPERS}:15:1: VC001 LackingVL")
    assert len(said) == 4

    repaired = FILES[WRAPPERS].replace("class LackingVL(_Wrapper)", "class LackingVL(_Wrapper, SupportsEagle3)")
    (tree / WRAPPERS).write_text(repaired, "utf-8")
    said = watched.until("2 findings: 0 new, 1 gone")
    assert [line.split()[1:3] for line in said[:-1]] == [["VC004", "BoastfulVL"], ["VC001", "ChosenVL"]]

    added = tree / "vllm" / "model_executor" / "models" / "more.py"  # concerns nothing: one more look, the same report
    added.write_text("x = 1\n", "utf-8")
    watched.until("2 findings: 0 new, 0 gone")

    (tree / "vllm-contracts.toml").write_text('selekt = ["VC004"]\n', "utf-8")
    assert "selekt" in watched.until("error: ")[-1]
    (tree / "vllm-contracts.toml").write_text('ignore = ["VC012"]\n', "utf-8")
    watched.until("2 findings: 0 new, 0 gone")

    quiet = list(watched.lines)
    time.sleep(0.5)
    assert watched.lines == quiet == []
    assert watched.end() == 130
    assert "".join(watched.lines).strip() == ""


@POSIX
def test_a_tree_that_is_gone_for_a_while(watched: Watch, tree: Path) -> None:
    watched.until("3 findings in")
    package = tree / "vllm"
    package.rename(tree / "away")
    assert "interfaces.py" in watched.until("error: ")[-1]
    (tree / "away").rename(package)
    watched.until("3 findings: 0 new, 0 gone")
    assert watched.end() == 130


def test_no_tree_at_all(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, out, err = main(capsys, "watch", tmp_path)
    assert (code, out) == (2, "")
    assert err.startswith(f"error: {tmp_path}: no vLLM here")


@POSIX
def test_a_reader_that_leaves_ends_it(tree: Path) -> None:
    watch = subprocess.Popen([*COMMAND, "watch", str(tree), "--interval", "0.05"], stdout=subprocess.PIPE, text=True)
    try:
        assert watch.stdout is not None
        assert "VC001" in watch.stdout.readline()
        watch.stdout.close()
        (tree / WRAPPERS).write_text(FILES[WRAPPERS] + "# more\n", "utf-8")
        assert watch.wait(WAIT) == 0
    finally:
        watch.kill()
        watch.wait()


def test_intervals_are_more_than_nothing(tree: Path) -> None:
    done = run(["watch", str(tree), "--interval", "0"])
    assert done.returncode == 2
    assert "--interval" in done.stderr
