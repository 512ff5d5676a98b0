"""A file's change as replacements of whole lines, for formats that tell a fix in that way."""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import NamedTuple


class Replacement(NamedTuple):
    """Text in place of a range; lines and columns from 1, the end is the first character that stays."""

    line: int
    column: int
    end_line: int
    end_column: int
    text: str


def replacements(before: str, after: str) -> Iterator[Replacement]:
    """What turns one text into another: every place is one of the text before.

    Lines end with a line feed; a carriage return before it belongs to the line.
    """
    old, new = _lines(before), _lines(after)
    for tag, start, end, first, last in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag != "equal":
            yield Replacement(*_edge(old, start), *_edge(old, end), "".join(new[first:last]))


def _lines(text: str) -> list[str]:
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def _edge(lines: list[str], index: int) -> tuple[int, int]:
    """Line and column where a line begins, or where the file ends."""
    if index == len(lines) and lines and not lines[-1].endswith("\n"):
        return index, len(lines[-1]) + 1
    return index + 1, 1
