"""Where a report goes: standard output, whose reader may leave early, or a file."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from analyzer.commands.failure import Failure

if TYPE_CHECKING:
    from rich.console import Console


def console(*, to_file: bool) -> Console:
    """What a text is laid out for: the terminal, or a file, which has no colours and no width of its own."""
    import io

    from rich.console import Console

    from analyzer.report import layout

    if not to_file:
        return Console()
    return Console(file=io.TextIOWrapper(io.BytesIO(), "utf-8"), width=layout.WIDEST, color_system=None)


def write_out(data: str | bytes) -> None:
    """Write to standard output; a reader that has gone away (``| head``) is no error.

    Args:
        data: text, or bytes that have to arrive as they are.

    Raises:
        Failure: it cannot be written, for want of space for instance.
    """
    if sys.stdout is None:  # the shell closed it
        return
    try:
        if isinstance(data, bytes):
            sys.stdout.buffer.write(data)
        else:
            sys.stdout.write(data)
        sys.stdout.flush()
    except BrokenPipeError:
        silence_stdout()
    except OSError as error:
        silence_stdout()
        raise Failure(f"the report cannot be written: {error.strerror or error}") from None


def silence_stdout() -> None:
    """Let nothing more be written: the interpreter flushes once more when it ends."""
    with suppress(OSError, ValueError, AttributeError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)


def write_file(path: Path, text: str) -> None:
    """Write a report to a file, in UTF-8.

    Raises:
        Failure: it cannot be written.
    """
    try:
        path.write_text(text, "utf-8", "backslashreplace")
    except OSError as error:
        raise Failure(f"{path}: cannot be written: {error.strerror or error}") from None


def append_file(path: Path, text: str) -> None:
    """Add to the end of a file, in UTF-8.

    Raises:
        Failure: it cannot be written.
    """
    try:
        with path.open("a", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
            file.write(text)
    except OSError as error:
        raise Failure(f"{path}: cannot be written: {error.strerror or error}") from None
