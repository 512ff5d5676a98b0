"""The command in a process of its own, and in this one."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence

import pytest

from analyzer import cli

COMMAND = [sys.executable, "-m", "analyzer"]


def run(arguments: Sequence[str], **options: object) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own."""
    return subprocess.run([*COMMAND, *arguments], capture_output=True, encoding="utf-8", timeout=60, **options)  # type: ignore[call-overload, no-any-return]


def main(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    """The command in this process: exit code, standard output, standard error."""
    code = cli.main([str(argument) for argument in arguments])
    return code, *capsys.readouterr()
