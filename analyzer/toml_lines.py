"""Read TOML, and tell where its keys stand: the standard parser gives values and no places.

A statement of TOML, a table's header or a key with its value, begins on a line of its own, and nothing of it that
ends on an earlier line is valid by itself.  So lines are handed to the parser until it accepts them: it decides where
each statement ends, and which dotted and quoted keys it holds.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

TomlError = tomllib.TOMLDecodeError

Place = tuple[str | int, ...]
"""A path of keys; a number at its end counts the items of an array."""

_CAN_END = ("]", "}", '"""', "'''")
"""What the last line of a statement of several lines holds, one of these at least."""


def parse_toml(text: str) -> dict[str, Any]:
    """The values of a file.

    Raises:
        TomlError: it is not valid.
    """
    return tomllib.loads(text)


def key_lines(text: str, table: tuple[str, ...]) -> dict[Place, int]:
    """The lines, from 1, of everything in one table of a valid file.

    Args:
        text: the file.
        table: the keys that lead to the table; places begin behind them, and ``()`` is the table itself.
    """
    found: dict[Place, int] = {}
    header: tuple[str, ...] = ()
    for first, lines, parsed in _statements(text):
        is_header = lines[0].lstrip().startswith("[")
        if is_header:
            header = _deepest(parsed)
        for path, value in [(header, None)] if is_header else _values(parsed, header):
            if path[: len(table)] != table:
                continue
            inside = path[len(table) :]
            for end in range(len(inside) + 1):
                found.setdefault(inside[:end], first)
            if isinstance(value, list):
                for number, line in enumerate(_item_lines(lines)):
                    found.setdefault((*inside, number), first + line)
    return found


def _statements(text: str) -> Iterator[tuple[int, list[str], dict[str, Any]]]:
    """First line, lines and contents of each statement, and of each empty line and comment."""
    first, lines = 1, list[str]()
    for number, line in enumerate(text.replace("\r\n", "\n").split("\n"), 1):
        first = first if lines else number
        lines.append(line)
        if len(lines) == 1 or any(end in line for end in _CAN_END):
            parsed = _parsed("\n".join(lines))
            if parsed is not None:
                yield first, lines, parsed
                lines = []


def _parsed(text: str) -> dict[str, Any] | None:
    try:
        return parse_toml(text)
    except TomlError:
        return None


def _deepest(parsed: Mapping[str, Any]) -> tuple[str, ...]:
    """The name of a table, from its header alone."""
    path: tuple[str, ...] = ()
    value: Any = parsed
    while value:
        if isinstance(value, list):  # [[several of them]]
            value = value[0]
        else:
            ((key, value),) = value.items()
            path = (*path, key)
    return path


def _values(parsed: Mapping[str, Any], above: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """All paths to values, those of inline tables too."""
    for key, value in parsed.items():
        if isinstance(value, dict) and value:
            yield from _values(value, (*above, key))
        else:
            yield (*above, key), value


def _item_lines(lines: list[str]) -> Iterator[int]:
    """The line, from 0, of each item of the array that a statement holds.

    An array may end behind any of its items: closing it early tells how many there are up to a line.
    """
    seen = 0
    for number in range(len(lines)):
        closing = ["]"] if number < len(lines) - 1 else []
        parsed = _parsed("\n".join([*lines[: number + 1], *closing]))
        items = next((value for _, value in _values(parsed, ())), None) if parsed else None
        count = len(items) if isinstance(items, list) else seen
        yield from [number] * (count - seen)
        seen = max(count, seen)
