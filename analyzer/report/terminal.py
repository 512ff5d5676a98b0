"""Lines with styles, as the stream of a console can show them."""

from __future__ import annotations

import io
from collections.abc import Iterable

from rich.console import Console
from rich.text import Text


def printed(lines: Iterable[Text], console: Console) -> str:
    """The lines as one string, with the colours of a console, each line as long as it is.

    Args:
        lines: already wrapped.
        console: tells whether there are colours; nothing is printed on it.
    """
    written = io.StringIO()
    twin = Console(
        file=written,
        force_terminal=console.is_terminal,
        color_system=None if console.legacy_windows else console.color_system,  # type: ignore[arg-type]
        no_color=console.no_color,
    )
    shown = Text("\n").join(lines)
    if shown:
        twin.print(shown, soft_wrap=True)
    return written.getvalue()
