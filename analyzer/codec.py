"""Reports as bytes and back: JSON, so that a foreign or corrupt file can do nothing worse than be refused.

Most of a report repeats itself: thousands of statuses say "fails the check", and many links are the same.  Each
record is therefore written once, in a table, and referred to by its number there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, TypeVar

from analyzer import findings, records

T = TypeVar("T")

_HOMES = (findings, records)
_KNOWN: dict[str, type[Any]] = {
    name: value
    for home in _HOMES
    for name, value in vars(home).items()
    if isinstance(value, type) and is_dataclass(value)
}
_FIELDS = {name: tuple(part.name for part in fields(cls)) for name, cls in _KNOWN.items()}
_CONSTANTS = frozenset({str, int, bool, float})
_TUPLE, _LIST, _DICT, _PATH = "()", "[]", "{}", "/"


class CodecError(Exception):
    """The bytes are not what :func:`encode` makes."""


def encode(value: object) -> bytes:
    """Records, and tuples, lists, dicts, paths and constants of them, as bytes.

    Args:
        value: anything made of dataclasses of :mod:`analyzer.findings` and :mod:`analyzer.records`.

    Raises:
        TypeError: for anything else.
    """
    writer = _Writer()
    top = writer.put(value)
    return json.dumps([top, writer.rows], separators=(",", ":")).encode()


class _Writer:
    """Numbers each distinct record, tuple and text once."""

    def __init__(self) -> None:
        self.rows: list[list[Any]] = []
        self._numbers: dict[object, int] = {}

    def put(self, value: object) -> Any:
        """What stands for a value: a constant itself, anything else by its row's number in a list of one."""
        kind = value.__class__
        if value is None or kind in _CONSTANTS:
            return value
        put = self.put
        row: list[Any]
        if _KNOWN.get(kind.__name__) is kind:
            row = [kind.__name__, *[put(getattr(value, name)) for name in _FIELDS[kind.__name__]]]
        elif kind is tuple:
            row = [_TUPLE, *[put(v) for v in value]]  # type: ignore[attr-defined]
        elif kind is list:
            row = [_LIST, *[put(v) for v in value]]  # type: ignore[attr-defined]
        elif kind is dict:
            row = [_DICT, *[put(part) for pair in value.items() for part in pair]]  # type: ignore[attr-defined]
        elif isinstance(value, Path):
            row = [_PATH, str(value)]
        else:
            raise TypeError(f"{kind.__name__} is no record")
        key = tuple([part[0] if part.__class__ is list else (part, part.__class__) for part in row])
        number = self._numbers.setdefault(key, len(self.rows))
        if number == len(self.rows):
            self.rows.append(row)
        return [number]


def decode(data: bytes, kind: type[T]) -> T:
    """The value that :func:`encode` made bytes of.

    Args:
        data: the bytes.
        kind: what it has to be.

    Raises:
        CodecError: they are damaged, or of another version.
    """
    try:
        top, rows = json.loads(data)
        made: list[Any] = []
        for row in rows:
            made.append(_value(row, made))
        found = made[top[0]]
    except (ValueError, TypeError, KeyError, IndexError, RecursionError) as error:
        raise CodecError(f"{type(error).__name__}: {error}") from None
    if not isinstance(found, kind):
        raise CodecError(f"holds {type(found).__name__}, not {kind.__name__}")
    return found


def moved(data: bytes, moves: Mapping[str, Callable[[int], int]]) -> bytes:
    """A value's bytes with places in some files where their lines stand now.

    Places are in records that have a path and a line, and in texts that name both (``path:line``).

    Args:
        data: of :func:`encode`.
        moves: by path, what gives the new number of a line; it raises KeyError where it does not know.

    Raises:
        CodecError: the bytes are damaged, or of another version, or a line is not known.
    """
    named = re.compile(rf"(?<![\w/.-])({'|'.join(map(re.escape, moves))}):(\d+)")

    def text(old: str) -> str:
        return named.sub(lambda m: f"{m[1]}:{moves[m[1]](int(m[2]))}", old) if ".py:" in old else old

    try:
        top, rows = json.loads(data)
        for row in rows:
            names = _FIELDS.get(row[0], ())
            if "line" in names and "path" in names:
                path, line = row[names.index("path") + 1], names.index("line") + 1
                if path in moves and row[line] > 0:
                    row[line] = moves[path](row[line])
            row[1:] = [text(part) if isinstance(part, str) else part for part in row[1:]]
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError) as error:
        raise CodecError(f"{type(error).__name__}: {error}") from None
    return json.dumps([top, rows], separators=(",", ":")).encode()


def _value(row: list[Any], made: list[Any]) -> Any:
    parts = [made[part[0]] if part.__class__ is list else part for part in row]
    kind = parts[0]
    cls = _KNOWN.get(kind)
    if cls is not None:
        if len(parts) != len(_FIELDS[kind]) + 1:
            raise ValueError(f"{kind} has {len(parts) - 1} fields")
        return cls(*parts[1:])
    if kind == _TUPLE:
        return tuple(parts[1:])
    if kind == _LIST:
        return parts[1:]
    if kind == _DICT:
        return dict(zip(parts[1::2], parts[2::2], strict=True))
    if kind == _PATH:
        return Path(parts[1])
    raise KeyError(kind)
