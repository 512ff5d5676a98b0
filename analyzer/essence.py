"""What of a file's text results rest on, so that an edit of the rest does not call for reading the tree again.

Of most files an audit looks into a few functions only (:mod:`analyzer.outline`).  What it can have seen of a file is
then its text without the other functions' bodies, and without empty lines and comments.  Two texts whose *essences* are
equal give the same results, but for the numbers of lines.

A body or comment that holds one of the words that the tree is searched for belongs to the essence, for the searches
look at every line.  So does a function's being too long to be followed, which its last line tells.
"""

from __future__ import annotations

import hashlib
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from analyzer.outline import any_within, long_strings, outline
from analyzer.scan import lines_with

Runs = list[tuple[int, int]]
"""Numbers of lines, as pairs of a first one and how many follow each other from there."""


class Cut(NamedTuple):
    """A body of a function: the lines of the function's ``def``, of the colon, and of the last statement."""

    line: int
    colon: int
    end: int


class PartlyRead(NamedTuple):
    """The files that a run looked into in part.

    Args:
        bodies: by file, the bodies that could be cut out; for each of them whether it was looked into all the same
            (``1``) or not (``0``); and whether the file was searched for ``more`` than ``words``.
        words, more: what any line of such a file may have been searched for.
        longest: lines behind its ``def`` that a function can have and still be followed.
    """

    bodies: dict[str, tuple[list[Cut], str, bool]]
    words: tuple[str, ...]
    more: tuple[str, ...]
    longest: int


class Essence(NamedTuple):
    """A text's essence.

    Args:
        digest: of its lines, and of which bodies were looked into and which are too long.
        runs: where these lines stand.
    """

    digest: str
    runs: Runs


def cuts_of(text: str) -> list[Cut] | None:
    """The bodies that can be cut out of a text; None where it is not certain which."""
    found = outline(text)
    return None if found is None else [Cut(line, b.line, b.end_line) for line, b in found.bodies.items()]


def essence(text: str, cuts: Sequence[Cut], asked: str, longest: int, words: re.Pattern[bytes]) -> Essence | None:
    """The essence of a text; None where it is not certain what belongs to it.

    Args:
        text: with plain line ends.
        cuts: its bodies, in order.
        asked, longest, words: see :class:`PartlyRead`; ``asked`` of this text, or of another that it is held against.
    """
    lines = text.split("\n")
    if len(cuts) != len(asked) or (cuts and cuts[-1].end > len(lines)):
        return None
    spoken = lines_with(text.encode("utf-8", "surrogatepass"), words)
    left = [c for c, was in zip(cuts, asked, strict=True) if was == "0" and not any_within(spoken, c.colon + 1, c.end)]
    outside = list(_outside(left, len(lines)))
    texts = [lines[number - 1] for number in outside]
    strings = long_strings("\n".join(texts))
    if strings is None:
        return None
    inside, told = _lines_inside(strings, texts), set(spoken)
    kept = [n for place, n in enumerate(outside) if place in inside or n in told or not _is_empty(lines, n)]
    long = "".join("1" if cut.end - cut.line > longest else "0" for cut in cuts)
    said = "\n".join((asked, long, *(lines[number - 1] for number in kept)))
    return Essence(hashlib.blake2b(said.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest(), _runs(kept))


def _outside(left: Sequence[Cut], count: int) -> Iterator[int]:
    """The numbers of the lines that are in none of some bodies."""
    number = 1
    for cut in left:
        yield from range(number, cut.colon + 1)
        number = max(number, cut.end + 1)
    yield from range(number, count + 1)


def _lines_inside(strings: list[tuple[int, int]], lines: Sequence[str]) -> set[int]:
    """Which of some lines, by place, begin inside a string between three quotes."""
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    found: set[int] = set()
    for start, end in strings:
        found.update(range(bisect_right(starts, start), bisect_right(starts, end - 1)))
    return found


def _is_empty(lines: Sequence[str], number: int) -> bool:
    """Whether a line says nothing; one behind a backslash, or that may declare the encoding (PEP 263), does."""
    line = lines[number - 1].strip(" ")
    if line and not line.startswith("#"):
        return False
    return not (number > 1 and lines[number - 2].endswith("\\")) and not (number <= 2 and "coding" in line)


def _runs(numbers: Iterable[int]) -> Runs:
    found: Runs = []
    for number in numbers:
        if found and sum(found[-1]) == number:
            found[-1] = (found[-1][0], found[-1][1] + 1)
        else:
            found.append((number, 1))
    return found


class Moves:
    """Where the lines of a text went in another of the same essence.

    Args:
        before, after: where the lines of the essence stand.

    Attributes:
        any: whether any line stands elsewhere.
    """

    def __init__(self, before: Runs, after: Runs) -> None:
        self.any = before != after
        self._before = before
        self._firsts = [first for first, _ in before]
        self._ordinals = [0]
        for _, count in before:
            self._ordinals.append(self._ordinals[-1] + count)
        self._after = [number for first, count in after for number in range(first, first + count)]

    def line(self, number: int) -> int:
        """The new number of a line.

        Raises:
            KeyError: it is no line of the essence.
        """
        place = bisect_right(self._firsts, number) - 1
        if place < 0 or number - self._firsts[place] >= self._before[place][1]:
            raise KeyError(number)
        return self._after[self._ordinals[place] + number - self._firsts[place]]
