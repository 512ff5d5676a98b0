"""``--stdin-filename``: a tree in which one file is as an editor has it, and a report on that file."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from analyzer.commands.concerning import inside, only_about
from analyzer.commands.failure import Failure
from analyzer.commands.options import Given, layout_of, settings_for
from analyzer.commands.tree import Tree

if TYPE_CHECKING:
    from analyzer.records import Report


@dataclass(frozen=True)
class View:
    """How a report is told: of one tree, on some files."""

    root: Path
    files: tuple[str, ...]

    def of(self, report: Report) -> Report:
        """The report with what has to do with the files."""
        return replace(only_about(report, self.files), checkout=replace(report.checkout, root=self.root))


def tree_around(file: Path, given: Given) -> Path | None:
    """The tree that a file is in; the file need not be there.  None where the options name the vLLM of a plugin.

    Raises:
        Failure: it is in none, and no settings above it say that it is in a plugin.
    """
    if given.vllm is not None:
        return None
    from analyzer.checkout import INTERFACES, PACKAGE
    from analyzer.source import is_file

    for folder in file.absolute().parents:
        if is_file(folder / PACKAGE / INTERFACES):
            return folder
    settings = settings_for(file.absolute().parent, given)
    if settings.vllm is not None and settings.file is not None:
        return settings.file.parent
    layout = layout_of(settings)
    for folder in file.absolute().parents:
        if is_file(folder / str(layout)):
            return folder
    raise Failure(f"{file}: in no vLLM tree; name one: vllm-contracts audit PATH --stdin-filename {file}")


@contextmanager
def unsaved(tree: Tree, file: Path | None) -> Iterator[tuple[Tree, View | None]]:
    """The tree with a file's contents from standard input, and the view on that file.

    Args:
        tree: as it is on disk; also what is given back where nothing differs from it.
        file: None to change nothing.

    Raises:
        OverlayError: the changed tree cannot be laid out.
    """
    if file is None:
        yield tree, None
        return
    data = sys.stdin.buffer.read() if sys.stdin is not None else b""
    checkout = tree.checkout
    files = tuple(inside(checkout, [file]))
    if not all(map(checkout.is_judged, files)):
        raise Failure(f"{file}: is vLLM's, and not the plugin's")
    view = View(checkout.root, files)
    if not files or not files[0].endswith(".py") or _saved(checkout.path(files[0])) == data:
        yield tree, view
        return
    from analyzer.overlay import overlay

    with ExitStack() as stack:
        with tree.stage("the tree laid out"):
            changed = stack.enter_context(overlay(checkout, {files[0]: data}))
        yield Tree(changed, None, tree.stage), view


def _saved(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None
