"""Run whole engines on the CPU with the repairs of a generated plugin, and no file of vLLM edited.

    python -m scripts.e2e.plugin [--release X.Y.Z] [--wrapper NAME] [--write docs/plugin.md]

Uses the environments and checkpoints of ``python -m scripts.e2e``, which has to have run.  Each wrapper is started in
one process, and with the engine's core in a process of its own; and with a plugin that was made for another version,
which must change nothing.  The exit code is 1 where an engine did not do what is expected.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from platformdirs import user_cache_path

from scripts.e2e.runs import REPOSITORY, Outcome, run_engine
from scripts.e2e.wrappers import WRAPPERS, Wrapper

HEAD = """\
# A plugin instead of edits

`vllm-contracts plugin -o DIR` writes a package that carries out the repairs when vLLM imports the classes, in each of
its processes, without editing a file. A class is changed when its module is first imported, and only if the version of
vLLM and the source of the class are those that were analysed; otherwise one line in the log says so. The package
imports no model by itself. What is a list inside a function of the engine (VC008, VC012) cannot be changed so: the
command names what it leaves.

`pytest tests/test_plugin.py` holds classes that a plugin changed against the same classes with their files fixed.

## On whole engines

Written by `python -m scripts.e2e.plugin`. The engines, checkpoints and drafters are those of [docs/e2e.md](e2e.md),
with an unedited vLLM and the plugin installed beside it. *Same tokens*: as without speculation. *Accepted*: drafts of
the drafter that reads nothing but the auxiliary states. *Another version*: what the engine says with the same plugin
made for another version of vLLM.

| release | class | processes | layers | same tokens | accepted | another version | as expected |
| --- | --- | --- | --- | --- | --- | --- | --- |
"""


@dataclass(frozen=True)
class Row:
    """One wrapper, with the engine's core in this process or in its own."""

    release: str
    wrapper: Wrapper
    processes: bool
    alone: Outcome
    patched: Outcome
    other: Outcome

    @property
    def as_expected(self) -> bool:
        same = bool(self.patched.tokens) and self.patched.tokens == self.alone.tokens
        refused = "Model does not support EAGLE3 interface" in self.other.message
        if self.processes:  # what is told of a core that ended is only that it did
            refused = bool(self.other.error)
        return same and bool(self.patched.layers) and self.patched.accepted > 0 and refused

    def line(self) -> str:
        same = "yes" if self.patched.tokens and self.patched.tokens == self.alone.tokens else "**no**"
        layers = "; ".join(f"{where}: {layers}" for where, layers in self.patched.layers.items())
        cells = [
            self.release,
            f"`{self.wrapper.cls}`",
            "core in its own" if self.processes else "one",
            layers or f"`{self.patched.failure}`",
            same,
            f"{self.patched.accepted} of {self.patched.drafts}",
            f"`{self.other.failure[:90]}`",
            "yes" if self.as_expected else "**no**",
        ]
        return f"| {' | '.join(cells)} |\n"


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m scripts.e2e.plugin", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--release", default="0.32.0", help="of vLLM")
    parser.add_argument("--wrapper", action="append", choices=sorted(WRAPPERS), help="only this wrapper")
    parser.add_argument("--folder", type=Path, default=user_cache_path("vllm-contracts-e2e"), help="of scripts.e2e")
    parser.add_argument("--write", type=Path, help="also write the table into this Markdown file")
    arguments = parser.parse_args()
    rows: list[Row] = []
    for name in arguments.wrapper or WRAPPERS:
        rows += try_wrapper(arguments.release, arguments.folder, WRAPPERS[name])
        print(rows[-2].line() + rows[-1].line(), end="", flush=True)
    if arguments.write:
        arguments.write.write_text(HEAD + "".join(row.line() for row in rows))
    return int(not all(row.as_expected for row in rows))


def try_wrapper(release: str, folder: Path, wrapper: Wrapper) -> list[Row]:
    """All runs of one wrapper.

    Args:
        release: of vLLM.
        folder: of ``scripts.e2e``: environments, unedited copies, checkpoints.
        wrapper: to try.
    """
    python, original = folder / f"environment-{release}" / "bin" / "python", folder / release / "original"
    place = folder / release / wrapper.cls
    target = "target-named" if (place / "target-named").is_dir() else "target"
    plugin = install(python, original, wrapper, folder / release / "plugins" / wrapper.name)
    other = plugin.with_name(plugin.name + "-other")
    shutil.rmtree(other, ignore_errors=True)
    shutil.copytree(plugin, other)
    patches = next(other.glob("*/patches.py"))
    patches.write_text(patches.read_text().replace('VLLM = "', 'VLLM = "9.'))
    rows = []
    for processes in (False, True):
        alone, patched, refused = (
            run_engine(python, original, place, drafter, target=target, plugin=beside, processes=processes)
            for drafter, beside in (("", None), ("sighted", plugin), ("sighted", other))
        )
        rows.append(Row(release, wrapper, processes, alone, patched, refused))
    return rows


def install(python: Path, original: Path, wrapper: Wrapper, folder: Path) -> Path:
    """Generate the plugin for one class, and install it into a folder of its own; that folder.

    Args:
        python: of the environment.
        original: the unedited copy that is analysed.
        wrapper: whose class is to be repaired.
        folder: to make anew.
    """
    shutil.rmtree(folder, ignore_errors=True)
    source, site = folder / "source", folder / "site"
    make = [sys.executable, "-m", "analyzer", "plugin", str(original), "--unsafe-fixes", "--class", wrapper.cls]
    subprocess.run([*make, "--select", "VC001", "-o", str(source)], cwd=REPOSITORY, check=True)
    pip = [str(python), "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(site), str(source)]
    subprocess.run(pip, check=True)
    return site


if __name__ == "__main__":
    sys.exit(main())
