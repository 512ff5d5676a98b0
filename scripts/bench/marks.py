"""How long vllm-contracts takes, as ratios measured side by side: ``make bench``.

    python -m scripts.bench.marks [--release 0.33.0] [--oldest 0.11.0] [--rounds 5]

Releases are fetched with pip into the cache folder, and copied: what is measured as changed is changed there.  AST
is one process that parses every file of the model folders (``parse_models.py``), click one that imports click.
Two ratios stand in a row: of the time that one waits, and of the processors' time, which tells more where other
work is going on.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from analyzer.folders import default_cache_dir
from analyzer.release import fetch_release
from scripts.bench.measure import Command, Kind, Rounds, extra, machine, measure, peak_megabytes, python, ratio

MODELS = Path("vllm/model_executor/models")
CHANGED = MODELS / "llava.py"
PARSE = Path(__file__).with_name("parse_models.py")
TIMES = 20
"""How often libcst parses the changed file in a run: once is too little to be told from its import."""

GROWTH = "growth, by bytes of model sources"


@dataclass(frozen=True)
class Row:
    """A mark: what is measured, against what, and how much is allowed.

    Args:
        case: as the table names it.
        name, base: of commands.
        unit: how the table names ``base``.
        must, aim: ratios.
        beyond: the command whose time is taken off first, for what a change costs on top of it.
        base_without: the command whose time is taken off ``base``.
    """

    case: str
    name: str
    base: str
    unit: str
    must: float
    aim: float
    beyond: str = ""
    base_without: str | None = None


LIBCST = ("libcst", f"{TIMES} × libcst", 0.1, 0.05, "warm", "import libcst")
"""A mark in parses of the changed file, on top of a run where nothing changed."""

ROWS = (
    Row("cold audit, no cache", "cold", "ast", "AST", 1.5, 0.6),
    Row("warm audit, nothing changed", "warm", "click", "click", 3.0, 2.0),
    Row("one model file changed beside what is looked at, beyond warm", "one file", *LIBCST),
    Row("the same, and its lines moved", "one file, moved", *LIBCST),
    Row("one model file changed where it is looked at, beyond warm", "one file, anew", *LIBCST),
    Row("interfaces.py changed beside what is looked at, beyond warm", "interfaces", "cold", "cold", 0.2, 0.05, "warm"),
    Row("the same, and its lines moved", "interfaces, moved", "cold", "cold", 0.2, 0.05, "warm"),
    Row(
        "interfaces.py changed where it is looked at, beyond warm",
        "interfaces, anew",
        "cold",
        "cold",
        0.2,
        0.05,
        "warm",
    ),
    Row("fix of everything, cold", "fix", "cold", "cold", 1.5, 1.2),
    Row("--help", "help", "click", "click", 1.5, 1.2),
    Row("explain VC001", "explain", "click", "click", 1.5, 1.2),
)
MEMORY = (250.0, 150.0)
KINDS: tuple[Kind, Kind] = ("wall", "cpu")


def analyzer(*arguments: str) -> str:
    """A command line of this project's code."""
    return python("-m", "analyzer", *arguments)


def touching(path: Path, line: str, *, first: bool = False) -> str:
    """A command that gives a file one more line, a different one each time.

    Args:
        path: the file.
        line: what it holds; ``{}`` stands for a number.
        first: whether it becomes the first line and moves all others; else it is the last.
    """
    code = "import sys, time; path, line, first = sys.argv[1:]; old = open(path).read(); "
    code += "line = line.format(time.time_ns()) + '\\n'; open(path, 'w').write(line + old if first else old + line)"
    return python("-c", code, str(path), line, "yes" if first else "")


def commands(tree: Path, old: Path, scratch: Path) -> dict[str, Command]:
    """Everything that is measured, by name."""
    cached = ["--cache-dir", str(scratch / "cache"), "--format", "json"]
    audit = analyzer("audit", str(tree), *cached)
    read = "import pathlib, sys, libcst; data = pathlib.Path(sys.argv[1]).read_bytes()\n"
    read += f"for _ in range({TIMES}): libcst.parse_module(data)"
    return {
        "ast": Command(python(str(PARSE), str(tree))),
        "click": Command(python("-c", "import click")),
        "cold": Command(analyzer("audit", str(tree), "--no-cache", "--format", "json")),
        "cold, oldest": Command(analyzer("audit", str(old), "--no-cache", "--format", "json")),
        "fix": Command(analyzer("fix", str(tree), "--no-cache", "--unsafe-fixes", "--diff")),
        "help": Command(analyzer("--help")),
        "explain": Command(analyzer("explain", "VC001")),
        "import libcst": Command(python("-c", "import libcst")),
        "libcst": Command(python("-c", read, str(tree / CHANGED))),
        "warm": Command(audit, prepare=f"{audit} --fail-on never"),
    } | {
        f"{name}{how}": Command(audit, prepare=touching(tree / path, line, first=first))
        for name, path in (("one file", CHANGED), ("interfaces", MODELS / "interfaces.py"))
        for how, line, first in (("", "# {}", False), (", moved", "# {}", True), (", anew", "_ = {}", False))
    }


def table(rounds: Rounds, memory: float, growth: float) -> Iterator[str]:
    """The lines of the table."""
    yield "| case | unit | waited | processors | must | aim |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for row in ROWS:
        found = []
        for kind in KINDS:
            if row.beyond:
                found.append(extra(rounds, row.name, row.beyond, row.base, row.base_without, kind))
            else:
                found.append(ratio(rounds, row.name, row.base, kind))
        yield f"| {row.case} | {row.unit} | {found[0]:.2f} | {found[1]:.2f} | {row.must:g} | {row.aim:g} |"
    yield f"| peak memory, cold | MB | {memory:.0f} | | {MEMORY[0]:g} | {MEMORY[1]:g} |"
    times = [ratio(rounds, "cold", "cold, oldest", kind) / growth for kind in KINDS]
    yield f"| {GROWTH} | {growth:.2f} × | {times[0]:.2f} | {times[1]:.2f} | 1 | |"


def model_bytes(tree: Path) -> int:
    """Bytes of model sources."""
    folders = (tree / MODELS, tree / "vllm/models")
    return sum(path.stat().st_size for folder in folders for path in folder.rglob("*.py"))


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--release", default="0.33.0")
    parser.add_argument("--oldest", default="0.11.0")
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    old = fetch_release(arguments.oldest, cache_dir=default_cache_dir())
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        tree = scratch / "tree"
        shutil.copytree(fetch_release(arguments.release, cache_dir=default_cache_dir()), tree)
        every = commands(tree, old, scratch)
        memory = peak_megabytes(every["cold"].line)
        rounds = measure(every, arguments.rounds)
        print(f"vLLM {arguments.release}; {machine()}; median of {arguments.rounds} rounds\n")
        print("\n".join(table(rounds, memory, model_bytes(tree) / model_bytes(old))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
