"""What is going on, on standard error and only where a person looks at it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from analyzer.release import Progress


def _terminal() -> Console | None:
    """Standard error, if it is a terminal that can redraw a line."""
    if sys.stderr is None or not sys.stderr.isatty():  # asked before rich is loaded, which takes time
        return None
    from rich.console import Console

    console = Console(stderr=True)
    return console if console.is_terminal and not console.is_dumb_terminal else None


@contextmanager
def working(what: str) -> Iterator[None]:
    """Show that something is going on, and remove that again.

    Args:
        what: a few words.
    """
    console = _terminal()
    if console is None:
        yield
        return
    from rich.text import Text

    spinner = "dots" if not console.options.ascii_only else "line"
    with console.status(Text(what), spinner=spinner):
        yield


@contextmanager
def fetching(release: str) -> Iterator[Progress | None]:
    """A bar for :func:`analyzer.release.fetch_release`, which appears when there is something to wait for.

    Args:
        release: which one.

    Yields:
        What the function wants to be told; None where nobody looks.
    """
    console = _terminal()
    if console is None:
        yield None
        return
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bars

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TextColumn("{task.fields[amount]}"))
    bars = Bars(*columns, console=console, transient=True)
    task = bars.add_task("", amount="")

    def report(phase: str, done: int, total: int | None) -> None:
        bars.start()
        doing = "waiting for another run" if phase == "waiting" else f"{phase} vLLM {release}"
        bars.update(task, description=doing, completed=done, total=total, amount=_amount(phase, done, total))

    try:
        yield report
    finally:
        bars.stop()


@contextmanager
def counting(what: str) -> Iterator[Callable[[int, int], None]]:
    """Show how many of so many are done.

    Args:
        what: a word or two.

    Yields:
        What to tell: how many are done, and of how many.
    """
    console = _terminal()
    if console is None:
        yield lambda *_: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
    from rich.progress import Progress as Bars

    with Bars(TextColumn(what), BarColumn(), MofNCompleteColumn(), console=console, transient=True) as bars:
        task = bars.add_task(what, total=None)
        yield lambda done, total: bars.update(task, completed=done, total=total)


def _amount(phase: str, done: int, total: int | None) -> str:
    if phase == "waiting":
        return ""
    size, unit = (1e6, "MB") if phase == "downloading" else (1, "files")
    return f"{done / size:.0f} {unit}" if total is None else f"{done / size:.0f} of {total / size:.0f} {unit}"
