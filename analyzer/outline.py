"""A source without the bodies of its functions: what a module defines, for a fraction of the parser's work.

Most of a model file is bodies that nobody asks for: how weights are loaded, how images are prepared.  Of the
functions in the files that an audit of vLLM 0.33 reads, one in seven is ever looked into.  So a file is parsed
with ``pass`` in place of the bodies, line for line, and a body by itself when it is first asked for: a quarter of
the time of parsing everything.

A body is found by its indentation, which tells where a block ends as long as the line in question does not start
inside a string, inside brackets or behind a backslash.  Strings over several lines are known here; where a block
would begin or end behind a backslash, and where there are tabs, form feeds or carriage returns, the text is refused.
Of brackets nothing needs to be known: a cut inside them would leave the closing one alone, which no parser accepts,
and then the whole text is parsed (:func:`analyzer.source.parse_outline`).  That both ways give the same is tested
on whole releases.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

_REFUSED = ("\r", "\f", "\t")
_SHORT = r"""'[^'\\\n]*(?:\\.[^'\\\n]*)*'|"[^"\\\n]*(?:\\.[^"\\\n]*)*\""""
_LONG = r'''"""[^"\\]*(?:(?:\\.|"(?!""))[^"\\]*)*"""|\'\'\'[^'\\]*(?:(?:\\.|'(?!''))[^'\\]*)*\'\'\''''
_TEXT = re.compile(rf"#[^\n]*|{_LONG}|{_SHORT}|['\"]", re.DOTALL)
_FORMATTED = re.compile(r"[fFtT][rR]?['\"]")
_TRIPLE = re.compile(r"\"\"\"|'''")
_NAME = re.compile(r"def +\w+")
_SIGNATURE = re.compile(r"\([^()'\"#]*\)(?: *-> *[\w.\[\], |]+)?:")
_SIGN = re.compile(rf"[()\[\]{{}}:]|#[^\n]*|{_LONG}|{_SHORT}|['\"]", re.DOTALL)
_LINE_REST = re.compile(r" *(?:#[^\n]*)?\n")


class Body(NamedTuple):
    """A function's body that was cut out.

    Args:
        text: the source behind the colon, up to the end of the last statement.
        line: the line of the colon.
        end_line: the last line of the last statement.
    """

    text: str
    line: int
    end_line: int


class Outline(NamedTuple):
    """A text with ``pass`` for bodies, of as many lines, and the bodies by the line of their ``def``."""

    text: str
    bodies: dict[int, Body]


def outline(text: str, kept: Sequence[int] = ()) -> Outline | None:
    """Cut the bodies out of a text; None where it is not certain how.

    Args:
        text: a module's source.
        kept: sorted numbers of lines; functions that stand on any of them are left whole.
    """
    if any(mark in text for mark in _REFUSED):
        return None
    strings = long_strings(text)
    if strings is None:
        return None
    starts = [start for start, _ in strings]
    parts: list[str] = []
    bodies: dict[int, Body] = {}
    done = passed = counted = 0
    line = 1
    for begin, indent, behind in _definitions(text):
        if begin < passed or _inside(begin, strings, starts):
            continue
        if text.endswith("\\\n", 0, begin - indent):
            return None
        line += text.count("\n", counted, begin)
        counted = begin
        colon = _colon(text, behind)
        if colon < 0:
            return None
        if not _LINE_REST.match(text, colon):
            continue  # a body on the same line
        first = text.index("\n", colon)
        end = _end(text, first, indent, strings, starts)
        last = _last(text, first, end, strings, starts)
        if last <= first or text.endswith("\\", first, end):
            return None
        at_colon = line + text.count("\n", begin, colon)
        body = Body(text[colon:last], at_colon, at_colon + text.count("\n", colon, last))
        if any_within(kept, line, body.end_line):
            passed = last
            continue
        bodies[line] = body
        parts += (text[done:colon], " pass", "\n" * (body.end_line - at_colon))
        done = passed = last
    parts.append(text[done:])
    return Outline("".join(parts), bodies)


def any_within(numbers: Sequence[int], first: int, last: int) -> bool:
    """Whether any of some sorted numbers is one from a first to a last."""
    place = bisect_left(numbers, first)
    return place < len(numbers) and numbers[place] <= last


def long_strings(text: str) -> list[tuple[int, int]] | None:
    """Start and end of every string between three quotes, in order; None where one does not end."""
    found: list[tuple[int, int]] = []
    position = 0
    while (quotes := _TRIPLE.search(text, position)) is not None:
        start = quotes.start()
        begin = max(position, _line_start(text, start))
        before = text[begin:start]
        if "'" in before or '"' in before or "#" in before:
            inside = _covering(text, begin, start)
            if inside is None or _FORMATTED.search(before):  # formatted strings may hold their own quotes (PEP 701)
                return None
            if inside > start:
                position = inside
                continue
        whole = _TEXT.match(text, start)
        if whole is None or whole.end() < start + 6:
            return None
        found.append((start, whole.end()))
        position = whole.end()
    return found


def _line_start(text: str, place: int) -> int:
    """The start of the line that a place stands on, and of those that it continues behind backslashes."""
    while True:
        place = text.rfind("\n", 0, place)
        if place <= 0 or text[place - 1] != "\\":
            return place + 1


def _covering(text: str, begin: int, place: int) -> int | None:
    """Where the comment or short string ends that a place stands in, else the place; None where that is not clear."""
    for token in _TEXT.finditer(text, begin):
        if token.start() >= place:
            return place
        if token.end() - token.start() == 1 and token[0] != "#":
            return None
        if token.end() > place:
            return token.end()
    return None


def _definitions(text: str) -> Iterator[tuple[int, int, int]]:
    """Where each ``def`` stands that is the first of its line: its place, its indentation, the end of its name."""
    for match in _NAME.finditer(text):
        start = match.start()
        line_start = text.rfind("\n", 0, start) + 1
        before = text[line_start:start].strip(" ")
        if not before:
            yield start, start - line_start, match.end()
        elif before == "async":
            begin = text.index("async", line_start)
            yield begin, begin - line_start, match.end()


def _inside(place: int, strings: list[tuple[int, int]], starts: list[int]) -> int:
    """The end of the string that a place stands in, else 0."""
    index = bisect_right(starts, place) - 1
    return strings[index][1] if index >= 0 and place < strings[index][1] else 0


def _colon(text: str, position: int) -> int:
    """The place behind the colon that ends a function's header, or -1."""
    plain = _SIGNATURE.match(text, position)
    if plain is not None:
        return plain.end()
    depth = 0
    for sign in _SIGN.finditer(text, position):
        found = sign[0]
        if found in "([{":
            depth += 1
        elif found in ")]}":
            depth -= 1
        elif found == ":" and depth == 0:
            return sign.end()
        elif found in "'\"" or depth < 0:
            return -1
    return -1


@cache
def _outside(indent: int) -> re.Pattern[str]:
    """The end of a line before one that is indented no more than so much, and not empty or a comment."""
    return re.compile(rf"\n {{0,{indent}}}(?=[^ \n#])")


def _end(text: str, position: int, indent: int, strings: list[tuple[int, int]], starts: list[int]) -> int:
    """Where the block that starts behind a line's end is over."""
    while (found := _outside(indent).search(text, position)) is not None:
        within = _inside(found.start(), strings, starts)
        if not within:
            return found.start()
        position = within
    return len(text)


def _last(text: str, first: int, end: int, strings: list[tuple[int, int]], starts: list[int]) -> int:
    """The end of a block's last line that is not empty or a comment."""
    while True:
        while end > first and text[end - 1] in " \n":
            end -= 1
        line_start = text.rfind("\n", first, end) + 1
        if line_start == 0 or not text.startswith("#", line_start + _indentation(text, line_start, end)):
            return end
        if _inside(line_start, strings, starts) or text.endswith("\\\n", first, line_start):
            return end
        end = line_start - 1


def _indentation(text: str, start: int, end: int) -> int:
    return end - start - len(text[start:end].lstrip(" "))
