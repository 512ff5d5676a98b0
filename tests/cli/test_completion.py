"""Completion in shells: the lines that the documentation gives, in the shells themselves where there are any."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.running import COMMAND

ROOT = Path(__file__).parent.parent.parent
DOCS = (ROOT / "docs" / "hooks.md").read_text("utf-8")
ASKED = {
    "bash": {"COMP_WORDS": "vllm-contracts audit --format s", "COMP_CWORD": "3"},
    "zsh": {"COMP_WORDS": "vllm-contracts audit --format s", "COMP_CWORD": "3"},
    "fish": {"COMP_WORDS": "vllm-contracts audit --format ", "COMP_CWORD": "s"},
}
POSIX = pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX shell")


def line_for(shell: str) -> str:
    """The line that the documentation has for a shell."""
    (line,) = re.findall(rf"^```{shell}\n(.*)\n```$", DOCS, re.M)
    return str(line)


def ask(shell: str, **environment: str) -> str:
    environment = {**os.environ, **environment}
    return subprocess.run(COMMAND, env=environment, capture_output=True, text=True, timeout=60, check=True).stdout


@pytest.mark.parametrize("shell", ASKED)
def test_the_command_gives_the_script_and_the_answers(shell: str) -> None:
    (variable, value) = re.findall(r"(_[A-Z_]+)=(\w+)", line_for(shell))[0]
    script = ask(shell, **{variable: value})
    assert f"{variable}={shell}_complete" in script
    words = ask(shell, **{variable: f"{shell}_complete"}, **ASKED[shell]).split()
    assert "sarif" in (words[1] if shell == "zsh" else words[0])


@pytest.fixture
def path(tmp_path: Path) -> str:
    """A search path on which the command is this code."""
    command = tmp_path / "bin" / "vllm-contracts"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nPYTHONPATH={shlex.quote(str(ROOT))} exec {" ".join(COMMAND)} "$@"\n')
    command.chmod(0o755)
    return f"{command.parent}{os.pathsep}{os.environ['PATH']}"


def said(shell: str, script: str, path: str, *options: str) -> str:
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell}")
    done = subprocess.run(
        [shell, *options, "-c", script],
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@POSIX
def test_bash(path: str) -> None:
    script = f"""
        {line_for("bash")}
        complete -p vllm-contracts
        COMP_WORDS=(vllm-contracts audit --format s) COMP_CWORD=3
        _vllm_contracts_completion vllm-contracts
        echo "${{COMPREPLY[@]}}"
        COMPREPLY=() COMP_WORDS=(vllm-contracts wa) COMP_CWORD=1
        _vllm_contracts_completion vllm-contracts
        echo "${{COMPREPLY[@]}}"
    """
    registered, formats, commands = said("bash", script, path, "--norc").splitlines()
    assert "-F _vllm_contracts_completion vllm-contracts" in registered
    assert (formats, commands) == ("sarif", "watch")


@POSIX
def test_zsh(path: str) -> None:
    script = f"autoload -Uz compinit && compinit -u -D; {line_for('zsh')}; echo $_comps[vllm-contracts]"
    assert said("zsh", script, path, "--no-rcs").strip() == "_vllm_contracts_completion"


@POSIX
def test_fish(path: str) -> None:
    script = f"{line_for('fish')}; complete --do-complete 'vllm-contracts audit --format s'"
    assert said("fish", script, path, "--no-config").split()[0] == "sarif"
