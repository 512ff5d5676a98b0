"""Insert an entry into a comma-separated list in the style that the list has.

Each shape of list has a few ways to take one more entry, from the smallest change to the largest; the first
that keeps every changed line within the limit is taken.  The shapes of ruff format (and black): all on one
line, all on one line of their own between the brackets, one entry a line; that of yapf and isort's default
mode: filled lines aligned with the opening bracket.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from analyzer.fix.source import Refused, Splice, splice
from analyzer.fix.tokens import Listing
from analyzer.fix.tree import Module

RUFF_LINE_LENGTH = 88  # the default of ruff format, https://docs.astral.sh/ruff/settings/#line-length
ALIGNED_LINE_LENGTH = 80  # of the yapf and isort settings in vLLM's pyproject.toml up to 0.11.0

# A trailing comment of this kind does not count, https://docs.astral.sh/ruff/formatter/#pragma-comments
_PRAGMA = re.compile(r"\s*#\s*(noqa|type:|pyright:|pylint:|flake8:|ruff:|isort:|nosec)[^#]*$", re.I)
_REST_IS_COMMENT = re.compile(r"[ \t\f]*(#[^\n]*)?\r?\n")
_TAB = 4


def line_limit(module: Module, configured: int | None) -> int:
    """The line length to keep: the configured one, else what the formatter of such a file uses."""
    return configured or (ALIGNED_LINE_LENGTH if module.aligned else RUFF_LINE_LENGTH)


def width(line: str) -> int:
    """The columns that a line takes, as ruff counts them: wide characters two, tabs up to the next stop."""
    line = _PRAGMA.sub("", line.rstrip("\r\n")).expandtabs(_TAB)
    if line.isascii():
        return len(line)
    return sum(_columns(character) for character in line)


def _columns(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def insert_item(module: Module, at: Listing, index: int, item: str, limit: int, *, hug: bool = False) -> str:
    """Put an entry before the one at ``index`` (at the end if there is none) and give the new text.

    Args:
        module: the text that the list stands in.
        at: the list.
        index: from 0 to the number of entries.
        item: the source of the new entry.
        limit: the line length to keep.
        hug: whether the formatter prefers one line of its own for all entries to one line for each, as it
            does for base lists and not for imports and literals.
    """
    insertion = _Insertion(module, at, index, item, limit, hug)
    result = module.text
    for splices in insertion.candidates():
        result = splice(module.text, splices)
        if _fits(module.text, result, at, limit):
            break
    return result


def _fits(old: str, new: str, at: Listing, limit: int) -> bool:
    start = old.rfind("\n", 0, at.start) + 1
    end = old.find("\n", at.end)
    tail = 0 if end < 0 else len(old) - end
    before = set(old[start : len(old) - tail].split("\n"))
    return all(line in before or width(line) <= limit for line in new[start : len(new) - tail].split("\n"))


class _Insertion:
    """One insertion into one list; each method is a way to do it."""

    def __init__(self, module: Module, at: Listing, index: int, item: str, limit: int, hug: bool) -> None:
        self.module, self.text, self.at, self.items = module, module.text, at, at.items
        self.index, self.item, self.limit, self.hug = index, item, limit, hug
        self.previous = at.items[index - 1] if index else None
        self.next = at.items[index] if index < len(at.items) else None
        line = module.line_at(at.start)
        self.newline, self.indent = module.newline(line), module.indent(line)

    def candidates(self) -> Iterator[list[Splice]]:
        at = self.at
        if not self.items:
            yield from self._into_empty()
        elif "\n" not in self.text[at.start : at.end]:
            yield self._inline()
            if self.module.aligned:
                yield self._refilled()
            if self.hug:
                yield [Splice(at.start, at.end, self._hugged())]
            yield [Splice(at.start, at.end, self._exploded())]
        elif not at.opener:  # lines joined by backslashes
            yield self._inline()
        elif self._starts_on_own_line():
            yield from self._between_brackets()
        else:
            yield self._inline()
            if self.next:
                yield [Splice(self.next.start, self.next.start, f"{self.item}, ")]
            if not at.comments and not any("\n" in source for source in self._sources()):
                yield self._refilled()
            yield self._own_line(at.trailing_comma)

    def _between_brackets(self) -> Iterator[list[Splice]]:
        if not self._is_hugged():
            yield self._own_line(self.at.trailing_comma)
        elif self._has_inner_comments():
            yield self._own_line(trailing_comma=True)
        else:
            yield self._inline()
            rows = f",{self.newline}{self._row_indent()}".join(self._sources())
            yield [Splice(self.items[0].start, self.items[-1].end, f"{rows},")]

    # -- the shape of the list

    def _starts_on_own_line(self) -> bool:
        return bool(_REST_IS_COMMENT.match(self.text, self.at.start + len(self.at.opener)))

    def _is_hugged(self) -> bool:
        entries = self.text[self.items[0].start : self.items[-1].end]
        return "\n" not in entries and not self.at.trailing_comma

    def _has_inner_comments(self) -> bool:
        """Whether there are comments below the opening bracket's line: with them, one entry a line is right."""
        return any("\n" in self.text[self.at.start : comment] for comment in self.at.comments)

    def _sources(self) -> list[str]:
        sources = [self.text[item.start : item.end] for item in self.items]
        return [*sources[: self.index], self.item, *sources[self.index :]]

    # -- ways to insert

    def _into_empty(self) -> Iterator[list[Splice]]:
        start, close = self.at.start + len(self.at.opener), self.at.end - len(self.at.closer)
        if self.at.comments:  # then the closing bracket begins its line
            line = self.text.rfind("\n", 0, close) + 1
            row = f"{self.indent}{self.module.indent_unit}{self.item}{self.newline}"
            yield [Splice(line, line, row)]
        else:
            yield [Splice(start, close, self.item)]
            yield [Splice(self.at.start, self.at.end, self._hugged())]

    def _inline(self) -> list[Splice]:
        if self.previous is None:
            start = self.items[0].start
            return [Splice(start, start, f"{self.item}, ")]
        splices = [Splice(self.previous.end, self.previous.end, f", {self.item}")]
        comma = self.previous.comma
        if len(self.items) == 1 and comma is not None and "\n" not in self.text[self.at.start : self.at.end]:
            splices.append(Splice(comma, comma + 1, ""))  # only a tuple of one needs it
        return splices

    def _hugged(self) -> str:
        inner = self.indent + self.module.indent_unit
        body = ", ".join(self._sources())
        return f"{self._opener}{self.newline}{inner}{body}{self.newline}{self.indent}{self._closer}"

    def _exploded(self) -> str:
        inner = self.indent + self.module.indent_unit
        rows = "".join(f"{inner}{source},{self.newline}" for source in self._sources())
        return f"{self._opener}{self.newline}{rows}{self.indent}{self._closer}"

    @property
    def _opener(self) -> str:
        return self.at.opener or "("

    @property
    def _closer(self) -> str:
        return self.at.closer or ")"

    def _own_line(self, trailing_comma: bool) -> list[Splice]:
        """On a line of its own, after the previous entry and any comment behind it."""
        splices: list[Splice] = []
        last = self.items[-1]
        if last.comma is None and (trailing_comma or not self.next):
            splices.append(Splice(last.end, last.end, ","))
        anchor = self.at.start + len(self.at.opener)
        if self.previous:
            anchor = self.previous.end if self.previous.comma is None else self.previous.comma + 1
        comma = "," if self.next or trailing_comma else ""
        if rest := _REST_IS_COMMENT.match(self.text, anchor):
            row = f"{self._row_indent()}{self.item}{comma}{self.newline}"
            return [*splices, Splice(rest.end(), rest.end(), row)]
        if self.next and not self.previous:
            row = f"{self.item},{self.newline}{self._row_indent()}"
            return [Splice(self.next.start, self.next.start, row)]
        row = f"{self.newline}{self._row_indent()}{self.item}{comma}"
        end = self.next.start if self.next else anchor
        return [*splices, Splice(anchor, end, f"{row} " if self.next else row)]

    def _row_indent(self) -> str:
        """The indentation of the next entry that begins a line, else of the last one, else aligned."""
        following = [*self.items[self.index :], *reversed(self.items[: self.index])]
        for item in following:
            line = self.module.line_at(item.start)
            indent = self.module.indent(line)
            if self.module.line_start(line) + len(indent) == item.start:
                return indent
        return self._aligned_indent()

    def _aligned_indent(self) -> str:
        """White space up to the column of the first entry, which stands on the opening bracket's line."""
        start = self.module.line_start(self.module.line_at(self.at.start))
        prefix = self.text[start : self.items[0].start].removeprefix(self.indent)
        if "\n" in prefix:
            raise Refused("has a list in no known layout")
        return self.indent + " " * (width(prefix) + (0 if self.at.opener else 1))

    def _refilled(self) -> list[Splice]:
        """From the new entry on, fill lines that are aligned with the first entry."""
        indent = self._row_indent()
        sources = self._sources()[self.index :]
        start = self.previous.end if self.previous else self.items[0].start
        tail = ("," if self.at.trailing_comma else "") + self._closer
        rest = self.text[self.at.end :].partition("\n")[0].rstrip("\r")
        line = self.text[self.text.rfind("\n", 0, start) + 1 : start]
        splices = []
        if not self.at.opener:
            splices.append(Splice(self.at.start, self.at.start, "("))
            line += "("
        filled = "" if self.previous else sources.pop(0)
        line += filled
        for count, source in enumerate(sources, 1):
            end = tail + rest if count == len(sources) else ","
            if width(f"{line}, {source}{end}") <= self.limit:
                filled, line = f"{filled}, {source}", f"{line}, {source}"
            else:
                filled, line = f"{filled},{self.newline}{indent}{source}", indent + source
        return [*splices, Splice(start, self.at.end, filled + tail)]
