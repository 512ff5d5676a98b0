"""Lay out statements that are to be written: within the line length, broken as ruff format breaks."""

from __future__ import annotations

from itertools import pairwise

from analyzer.fix.listing import width
from analyzer.fix.source import Refused
from analyzer.fix.tokens import Token, tokens
from analyzer.fix.tree import Module

_UNIT = "    "  # one step of indentation in the sources that rules write
_OPENING, _CLOSING = "([{", ")]}"


def lay_out(statement: str, indent: str, unit: str, limit: int) -> list[str]:
    """The lines of a statement.

    Args:
        statement: dedented; each of its lines is one simple statement or one head of a compound one.
        indent: of the block that it goes into.
        unit: one step of indentation in the file.
        limit: the line length to keep.
    """
    lines: list[str] = []
    for line in statement.splitlines():
        code = line.lstrip(" ")
        steps = (len(line) - len(code)) // len(_UNIT)
        lines += _broken(code, "", indent + unit * steps, unit, limit)
    return lines


def _broken(code: str, behind: str, indent: str, unit: str, limit: int) -> list[str]:
    """One line, or as many as it takes: the last pair of brackets is opened first.

    Args:
        code: without indentation.
        behind: what follows it on its line: a comma, or nothing.
        indent, unit, limit: as for :func:`lay_out`.
    """
    if width(indent + code + behind) <= limit:
        return [indent + code + behind]
    pair = _last_pair(code)
    if pair is None:
        return [indent + row for row in _clauses(code + behind)]
    start, end = pair
    inner, inside = code[start + 1 : end], indent + unit
    head, tail = indent + code[: start + 1], indent + code[end:] + behind
    if width(inside + inner) <= limit:
        return [head, inside + inner, tail]
    items = _items(inner)
    comma = "," if len(items) > 1 else ""  # behind a single argument the formatters put none
    rows = [row for item in items for row in _broken(item, comma, inside, unit, limit)]
    return [head, *rows, tail]


def _clauses(code: str) -> list[str]:
    """A conditional expression without brackets on three lines; anything else as it is."""
    first, condition, rest = code.partition(" if ")
    test, otherwise, last = rest.partition(" else ")
    return [first, f"if {test}", f"else {last}"] if condition and otherwise and first else [code]


def _last_pair(code: str) -> tuple[int, int] | None:
    """Where the last outermost pair of brackets of a line opens and closes."""
    depth, start, found = 0, 0, None
    for token in _tokens(code):
        if token.string in _OPENING:
            start = token.start if depth == 0 else start
            depth += 1
        elif token.string in _CLOSING:
            depth -= 1
            found = (start, token.start) if depth == 0 else found
    return found if found is not None and found[1] > found[0] + 1 else None


def _items(inner: str) -> list[str]:
    """What stands between the commas of a bracket's contents."""
    depth, cuts = 0, [-1]
    for token in _tokens(inner):
        depth += (token.string in _OPENING) - (token.string in _CLOSING)
        if token.string == "," and depth == 0:
            cuts.append(token.start)
    cuts.append(len(inner))
    parts = [inner[one + 1 : two].strip() for one, two in pairwise(cuts)]
    return [part for part in parts if part]


def _tokens(code: str) -> list[Token]:
    """The brackets and commas of a line, which may be the head of a compound statement."""
    bracketed = f"({code})"  # so that a line that is no statement of its own can be read as well
    found = [t for t in tokens(bracketed, 0) if t.string and t.string in "()[]{},"][1:-1]
    return [Token(t.type, t.string, t.start - 1, t.end - 1) for t in found]


def one_line(module: Module, start: int, end: int) -> str:
    """The text of an expression on one line.

    Raises:
        Refused: comments or strings over several lines stand in it.
    """
    text = module.text[start:end]
    if "\n" not in text:
        return text
    if "#" in text or '"""' in text or "'''" in text:
        raise Refused(f"line {module.line_at(start)} cannot be written on one line")
    joined = " ".join(part.strip() for part in text.splitlines())
    for bracket in _OPENING:
        joined = joined.replace(f"{bracket} ", bracket)
    for bracket in _CLOSING:
        joined = joined.replace(f", {bracket}", bracket).replace(f" {bracket}", bracket)
    return joined
