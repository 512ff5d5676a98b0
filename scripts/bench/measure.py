"""Commands measured side by side with hyperfine: every command once a round, as many rounds as are asked for.

Ratios are formed within a round and their median is told, so that a machine that other work slows down slows both
sides.  hyperfine is a Debian package, and to be had at https://github.com/sharkdp/hyperfine for the rest.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Literal

Kind = Literal["wall", "cpu"]


@dataclass(frozen=True)
class Command:
    """A command to be measured.

    Args:
        line: for hyperfine, which gives it to no shell.
        prepare: a command that is run before each run and not measured.
    """

    line: str
    prepare: str = "true"


@dataclass(frozen=True)
class Times:
    """One run: the time that one waits, and that of the processors (user and system)."""

    wall: float
    cpu: float

    def of(self, kind: Kind) -> float:
        """One of the two."""
        return self.wall if kind == "wall" else self.cpu


Rounds = dict[str, list[Times]]

UNCOMPILED = "PYTHONDONTWRITEBYTECODE"


def as_installed() -> dict[str, str]:
    """The environment of what is measured: Python may keep compiled modules, as pip has them beside what it installs.

    Where a checkout's modules are compiled anew by each run, that is a tenth of a cold audit and most of a warm one
    (the documentation of ``PYTHONDONTWRITEBYTECODE``; pip compiles unless told ``--no-compile``).
    """
    return {name: value for name, value in os.environ.items() if name != UNCOMPILED}


def python(*arguments: str) -> str:
    """A command line of the Python that runs this."""
    return shlex.join([sys.executable, *arguments])


def measure(commands: Mapping[str, Command], rounds: int) -> Rounds:
    """Run commands in turn, after one run of each that does not count.

    Args:
        commands: by name.
        rounds: how often.
    """
    if shutil.which("hyperfine") is None:
        sys.exit("hyperfine is not installed: apt-get install hyperfine, or see https://github.com/sharkdp/hyperfine")
    found: Rounds = {name: [] for name in commands}
    for number in range(rounds + 1):
        print(f"round {number} of {rounds}" if number else "first runs, not counted", file=sys.stderr)
        for name, times in zip(found, _round(commands.values()), strict=True):
            if number:
                found[name].append(times)
    return found


def _round(commands: Iterable[Command]) -> list[Times]:
    options: list[str] = []
    for command in commands:
        options += ["--prepare", command.prepare, command.line]
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        fixed = ["--shell=none", "--runs", "1", "--warmup", "0", "--ignore-failure", "--style", "none"]
        subprocess.run(
            ["hyperfine", *fixed, "--export-json", file.name, *options],
            check=True,
            stderr=subprocess.DEVNULL,
            env=as_installed(),
        )
        results = json.loads(Path(file.name).read_text())["results"]
    return [Times(result["mean"], result["user"] + result["system"]) for result in results]


def ratio(rounds: Rounds, name: str, base: str, kind: Kind) -> float:
    """The median over the rounds of one command's time by another's.

    Args:
        rounds: what was measured.
        name, base: of two commands.
        kind: which time.
    """
    pairs = zip(rounds[name], rounds[base], strict=True)
    return median(one.of(kind) / other.of(kind) for one, other in pairs)


def extra(rounds: Rounds, name: str, without: str, base: str, base_without: str | None, kind: Kind) -> float:
    """How often what one command takes more than another holds what a third takes (more than a fourth)."""
    values = []
    for index, times in enumerate(rounds[name]):
        more = times.of(kind) - rounds[without][index].of(kind)
        less = rounds[base_without][index].of(kind) if base_without else 0.0
        values.append(more / (rounds[base][index].of(kind) - less))
    return median(values)


def peak_megabytes(line: str) -> float:
    """The most memory that the largest process of a command held, as the system accounts for it."""
    code = (
        "import resource, subprocess, sys; subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=False); "
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    command = [sys.executable, "-c", code, *shlex.split(line)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=as_installed())
    return int(done.stdout) / 1024


def machine() -> str:
    """What it was measured on, for the head of a table."""
    return f"Python {sys.version.split()[0]}, {os.cpu_count()} processors"
