"""What a renderer may need besides the report.  The command gives it: a renderer reads no environment."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from analyzer.findings import Fix, Severity
from analyzer.packages import VLLM
from analyzer.records import TreeRecord

if TYPE_CHECKING:
    from rich.console import Console


class RuleText(Protocol):
    """What a format tells of a rule; the docstring says more."""

    @property
    def code(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def severity(self) -> Severity: ...
    @property
    def what(self) -> str: ...
    @property
    def why(self) -> str: ...
    @property
    def how(self) -> str: ...


class Change(Protocol):
    """A file before and after a fix; ``path`` is relative to the checkout's root."""

    @property
    def path(self) -> str: ...
    @property
    def before(self) -> bytes: ...
    @property
    def after(self) -> bytes: ...


def placed(prefix: str, path: str) -> str:
    """A path of the report as its reader finds it; a file of vLLM's, beside a plugin, is in no repository.

    Args:
        prefix: of :meth:`Context.prefix`.
        path: relative to the tree's root.
    """
    return path if path.startswith(VLLM) else prefix + path


def described(tree: TreeRecord) -> dict[str, Any]:
    """What JSON says of a tree."""
    record: dict[str, Any] = {"root": str(tree.root), "vllm_version": tree.version}
    if tree.plugin is not None:
        plugin = tree.plugin
        record["plugin"] = {"name": plugin.name, "version": plugin.version, "vllm_root": str(plugin.vllm)}
    return record


def _no_changes(_: Fix) -> Iterable[Change]:
    return ()


Detail = Literal["statistics", "quiet", "normal", "verbose"]
"""How much the text report tells: how often each rule is broken, findings alone, what the tree is like as a whole,
findings that do not count too."""


@dataclass(frozen=True)
class Context:
    """What a renderer may need besides the report.

    Args:
        rules: those that were applied.
        repository: the folder that the reader's paths start from; the checkout's root unless that lies in it.
        changes: what carrying out a fix would change; nothing where it cannot be carried out.
        console: the terminal that the text report is for; None for a file.
        detail: how much the text report tells.
    """

    rules: Sequence[RuleText] = ()
    repository: Path | None = None
    changes: Callable[[Fix], Iterable[Change]] = _no_changes
    console: Console | None = None
    detail: Detail = "normal"

    def prefix(self, root: Path) -> str:
        """What goes before a path of the report, so that it starts at the repository: ``libs/vllm/`` or nothing."""
        if self.repository is None:
            return ""
        try:
            inside = root.resolve().relative_to(self.repository.resolve()).as_posix()
        except ValueError:  # a release from the cache, an installed package
            return ""
        return "" if inside == "." else f"{inside}/"


BARE = Context()
"""No rules, no repository, no fixes, no terminal."""
