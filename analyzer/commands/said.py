"""What a run says, kept: where tree, options and surroundings are those of an earlier run, it is told again."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from analyzer.commands import output

if TYPE_CHECKING:
    from analyzer.commands.tree import Rests, Tree

_TERMINAL = (
    *("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "COLUMNS", "LINES", "TERM", "COLORTERM"),
    *("JUPYTER_COLUMNS", "JUPYTER_LINES", "WT_SESSION", "UNICODE_VERSION"),
)
"""What rich's ``Console`` asks of the environment (its documentation, "Environment variables", and its source)."""


class Said(NamedTuple):
    """Everything that a run says.

    Args:
        texts: in an order that the command knows, for standard output or files.
        notes: lines for standard error.
        code: the exit code.
    """

    texts: tuple[str, ...]
    notes: tuple[str, ...] = ()
    code: int = 0


def say(
    tree: Tree, depends_on: object, make: Callable[[], Said], files: Iterable[Path] = (), *, rests_on: Rests = "report"
) -> Said:
    """What a run says, from the cache where it is known.

    Args:
        tree: what it is about.
        depends_on: everything else that decides, with a ``repr`` that tells it.
        make: for what is not known.
        files: their contents decide too; one that cannot be read counts as none.
        rests_on: see :meth:`analyzer.commands.tree.Tree.known`.
    """

    import json

    def made() -> bytes:
        said = make()
        return json.dumps([said.texts, said.notes, said.code]).encode()

    texts, notes, code = json.loads(tree.known(_product(tree, depends_on, files), made, rests_on=rests_on))
    return Said(tuple(texts), tuple(notes), code)


def say_of_tool(
    depends_on: object, make: Callable[[], str], *, no_cache: bool = False, cache_dir: Path | None = None
) -> str:
    """What a run says that is about no tree.

    Args:
        depends_on, make: as for :func:`say`.
        no_cache, cache_dir: the options of the same names.
    """
    if no_cache:
        return make()
    from analyzer.commands.where import cache_folder_of, warn
    from analyzer.tool_cache import ToolCache

    cache = ToolCache(cache_folder_of(cache_dir), warn)
    return cache.known(repr((depends_on, _surroundings())), lambda: make().encode("utf-8", "surrogatepass")).decode(
        "utf-8", "surrogatepass"
    )


def _product(tree: Tree, depends_on: object, files: Iterable[Path]) -> str:
    checkout = tree.checkout
    told = repr((depends_on, _surroundings(), checkout.version, str(checkout.root)))
    digest = hashlib.blake2b(told.encode("utf-8", "surrogateescape"), digest_size=12)
    for file in files:
        try:
            data = file.read_bytes()
        except OSError as error:  # the run will say so
            data = str(error.errno).encode()
        digest.update(b"%d " % len(data) + data)
    return f"said-{digest.hexdigest()}"


def _surroundings() -> tuple[object, ...]:
    """Everything outside of a command's options that the look of a text depends on."""
    out = sys.stdout
    size = None
    with suppress(OSError, AttributeError, ValueError):
        size = os.get_terminal_size(out.fileno()) if out.isatty() else None
    asked = tuple(os.environ.get(name) for name in _TERMINAL)
    return str(Path.cwd()), asked, size, getattr(out, "encoding", None), sys.platform


def deliver(said: Said, target: Path | None) -> None:
    """Write the one text of a run, and its notes.

    Args:
        said: what there is to say.
        target: the file; None for standard output.
    """
    for note in said.notes:
        click.echo(note, err=True)
    if target is None:
        output.write_out(said.texts[0])
    else:
        output.write_file(target, said.texts[0])
