"""From the bytes of a file to text and back, and what may not be edited at all."""

from __future__ import annotations

import codecs
import io
import re
import tokenize
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

_BARE_CR = re.compile(r"\r(?!\n)")


class Refused(Exception):
    """An edit that is not carried out; the message is the reason, in plain words.

    Nothing has been changed when this is raised: every function of this package works on a copy.
    """


@dataclass(frozen=True)
class Source:
    """A decoded file.

    Args:
        text: without a byte order mark, with the newlines of the file.
        encoding: as :pep:`263` finds it: the cookie, else UTF-8.
        bom: whether the file begins with a UTF-8 byte order mark.
    """

    text: str
    encoding: str
    bom: bool

    @classmethod
    def decode(cls, data: bytes) -> Source:
        """Decode a Python file such that :meth:`encode` gives the same bytes again.

        Raises:
            Refused: the encoding is unknown, the bytes do not fit it or do not survive the way back, or
                the file ends lines with a bare carriage return.
        """
        bom = data.startswith(codecs.BOM_UTF8)
        try:
            encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
            encoding = "utf-8" if bom else encoding
            text = data.removeprefix(codecs.BOM_UTF8).decode(encoding)
        except (SyntaxError, UnicodeError, LookupError) as error:
            raise Refused(f"does not decode: {error}") from None
        source = cls(text, encoding, bom)
        if source.encode() != data:
            raise Refused(f"does not survive decoding and encoding as {encoding}")
        if _BARE_CR.search(text):
            raise Refused("has lines that end in a bare carriage return")
        return source

    def encode(self) -> bytes:
        """The bytes of the file.

        Raises:
            Refused: the text has characters that the file's encoding lacks.
        """
        try:
            body = self.text.encode(self.encoding)
        except UnicodeError as error:
            raise Refused(f"cannot be written as {self.encoding}: {error}") from None
        return (codecs.BOM_UTF8 if self.bom else b"") + body

    def with_text(self, text: str) -> Source:
        """The same file with other contents."""
        return Source(text, self.encoding, self.bom)


@dataclass(frozen=True)
class Splice:
    """Replace ``text[start:end]`` by ``new``; an insertion if ``start == end``."""

    start: int
    end: int
    new: str


def splice(text: str, splices: Iterable[Splice]) -> str:
    """Carry out splices that do not overlap; those at the same place keep their order."""
    parts: list[str] = []
    done = 0
    for cut in sorted(splices, key=lambda cut: (cut.start, cut.end)):
        if cut.start < done:
            raise ValueError(f"overlapping splices at {cut.start}")
        parts += (text[done : cut.start], cut.new)
        done = cut.end
    return "".join([*parts, text[done:]])


def common_ends(old: Sequence[object], new: Sequence[object]) -> tuple[int, int]:
    """How many items two sequences begin with alike, and how many of the others they end with alike."""
    most = min(len(old), len(new))
    head = _alike(old[:most], new[:most])
    rest = most - head
    return head, _alike(old[len(old) - rest :][::-1], new[len(new) - rest :][::-1])


def _alike(one: Sequence[object], two: Sequence[object]) -> int:
    """How many items two sequences of one length begin with alike, found by halves: slices compare fast."""
    low, high = 0, len(one)
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == two[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
