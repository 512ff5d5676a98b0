"""Commas and brackets: what a syntax tree does not tell about a class header or an import."""

from __future__ import annotations

import io
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass

from analyzer.fix.source import Refused

_SPACE = frozenset({tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT})


@dataclass(frozen=True)
class Token:
    """A token with its offsets in the whole text."""

    type: int
    string: str
    start: int
    end: int


@dataclass(frozen=True)
class Item:
    """One entry of a comma-separated list: its span without comments, and the comma after it if any."""

    start: int
    end: int
    comma: int | None


@dataclass(frozen=True)
class Listing:
    """A comma-separated list in the text.

    Args:
        start: of the opening bracket, or of the first item where there are no brackets.
        end: behind the closing bracket, or behind the last item.
        opener: the opening bracket, or nothing.
        closer: the closing bracket, or nothing.
        items: in order.
        comments: where those between the brackets begin.
    """

    start: int
    end: int
    opener: str
    closer: str
    items: tuple[Item, ...]
    comments: tuple[int, ...]

    @property
    def trailing_comma(self) -> bool:
        return bool(self.items) and self.items[-1].comma is not None


def tokens(text: str, start: int) -> Iterator[Token]:
    """The tokens from ``start`` on, which must be the beginning of one; white space is left out.

    Raises:
        Refused: the text cannot be tokenized.
    """
    rest = text[start:]
    line_starts = [start]
    reader = io.StringIO(rest, newline="\n").readline

    def readline() -> str:
        line = reader()
        line_starts.append(line_starts[-1] + len(line))
        return line

    try:
        for token in tokenize.generate_tokens(readline):
            if token.type in _SPACE:
                continue
            (first, column), (last, end) = token.start, token.end
            yield Token(token.type, token.string, line_starts[first - 1] + column, line_starts[last - 1] + end)
    except (tokenize.TokenError, SyntaxError) as error:
        raise Refused(f"cannot be tokenized: {error}") from None


def scan_brackets(text: str, start: int) -> Listing:
    """The list whose opening bracket stands at ``start``."""
    return _scan(text, start, len(text), depth=0)


def scan_bare(text: str, start: int, end: int) -> Listing:
    """The list without brackets that fills ``text[start:end]``."""
    return _scan(text, start, end, depth=1)


def _scan(text: str, start: int, end: int, depth: int) -> Listing:
    bare = depth == 1
    items: list[Item] = []
    first: Token | None = None
    last: Token | None = None
    comments: list[int] = []
    for token in tokens(text, start):
        if bare and token.start >= end:
            break  # the list was the last thing in the text
        if token.type == tokenize.COMMENT:
            comments.append(token.start)
            continue
        if token.type == tokenize.OP and token.string in "([{":
            depth += 1
            if depth == 1:
                continue
        elif token.type == tokenize.OP and token.string in ")]}":
            depth -= 1
            if depth == 0:
                end = token.end
                break
        elif token.type == tokenize.OP and token.string == "," and depth == 1:
            if first and last:
                items.append(Item(first.start, last.end, token.start))
            first = None
            continue
        first, last = first or token, token
        if bare and token.end >= end:
            break
    if first and last:
        items.append(Item(first.start, last.end, None))
    opener, closer = ("", "") if bare else (text[start], text[end - 1])
    return Listing(start, end, opener, closer, tuple(items), tuple(comments))


@dataclass(frozen=True)
class Header:
    """The head of a class.

    Args:
        bases: offset of the opening bracket of the base list, if there is one.
        name_end: behind the name and its type parameters.
        colon: offset of the colon.
    """

    bases: int | None
    name_end: int
    colon: int


def scan_header(text: str, start: int) -> Header:
    """The head of the class whose keyword stands at ``start``."""
    bases: int | None = None
    name_end = start
    depth = 0
    for count, token in enumerate(tokens(text, start)):
        if token.type == tokenize.OP and token.string in "([{":
            if depth == 0 and token.string == "(":
                bases = token.start
            depth += 1
        elif token.type == tokenize.OP and token.string in ")]}":
            depth -= 1
        elif token.string == ":" and depth == 0:
            return Header(bases, name_end, token.start)
        if bases is None and depth == 0 and (count == 1 or token.string == "]"):
            name_end = token.end
    raise Refused("has a class header without an end")
