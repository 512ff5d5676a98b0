"""Where modules come from: top-level packages, and the package outside vLLM that is audited with it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from analyzer.problems import Diagnostic

VLLM = "<vllm>/"
"""What stands for the root of the vLLM tree in the names of its files, where a plugin is audited: no file of the
plugin can be called so by chance."""


@dataclass(frozen=True)
class Package:
    """A top-level package or module that imports can name.

    Args:
        name: as imports have it.
        home: the folder that holds it, as it would stand on ``sys.path``; absolute.
        shown: what the names of its files in reports begin with, before their path relative to ``home``.
    """

    name: str
    home: Path
    shown: str = ""

    @property
    def path(self) -> Path:
        """Its folder; its file, where it is a single module."""
        folder = self.home / self.name
        return folder if folder.is_dir() else folder.with_name(f"{self.name}.py")

    def holds(self, rel: str) -> bool:
        """Whether a file's name in reports is that of one of its modules."""
        inside = f"{self.shown}{self.name}"
        return rel.startswith(f"{inside}/") or rel == f"{inside}.py"


@dataclass(frozen=True)
class EntryPoint:
    """A function that vLLM calls in each of its processes, as a distribution declares it.

    Args:
        name: of the entry point.
        module, function: what it stands for; a function without a name is the module itself.
        declared: the file that says so, as reports name it.
    """

    name: str
    module: str
    function: str
    declared: str


@dataclass(frozen=True)
class Plugin:
    """A distribution whose models stand outside vLLM.

    Args:
        name: as its metadata gives it, else that of its first package.
        version: as its metadata gives it.
        packages: where its modules are; all of them are judged.
        entry_points: the functions by which it registers its models.
        problems: what of its metadata could not be used.
    """

    name: str
    version: str | None
    packages: tuple[Package, ...]
    entry_points: tuple[EntryPoint, ...] = ()
    problems: tuple[Diagnostic, ...] = ()
