"""Lines for people: wrapped between words only, so that every path stays whole, and in what the stream can encode."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass

NARROWEST = 48
WIDEST = 100


@dataclass(frozen=True)
class Glyphs:
    """The marks and lines of a tree."""

    ok: str
    broken: str
    unknown: str
    fork: str
    end: str
    pipe: str

    def mark(self, ok: bool | None) -> str:
        """The mark of a link that holds, is broken, or is not known."""
        return self.unknown if ok is None else self.ok if ok else self.broken


UNICODE = Glyphs(ok="✓", broken="✗", unknown="?", fork="├─ ", end="└─ ", pipe="│  ")
ASCII = Glyphs(ok="ok", broken="NO", unknown="??", fork="|- ", end="`- ", pipe="|  ")


def glyphs_for(encoding: str | None) -> Glyphs:
    """The marks that a stream can show.

    Args:
        encoding: of the stream; None where it is not known.
    """
    try:
        "".join(vars(UNICODE).values()).encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return ASCII
    return UNICODE


def clean(text: str) -> str:
    """Text from a checkout in one line, with everything that a terminal would act upon shown as an escape."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else " " if c.isspace() else ascii(c)[1:-1] for c in text)


def wrap(text: str, width: int) -> list[str]:
    """The lines of a text, broken between words only: a word that is too long stands on a line of its own."""
    lines = textwrap.wrap(clean(text), width, break_long_words=False, break_on_hyphens=False)
    return lines or [""]


def plural(count: int, noun: str, many: str = "") -> str:
    """``1 finding``, ``2 findings``.

    Args:
        count: how many.
        noun: what, if it is one.
        many: what, if not; ``noun`` with an s unless given.
    """
    return f"{count} {noun if count == 1 else many or f'{noun}s'}"
