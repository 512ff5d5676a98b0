"""Unified diffs that ``git apply`` and ``patch -p1`` take, as bytes: encodings and newlines are kept."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from analyzer.fix.plan import FileChange, Plan
from analyzer.fix.source import common_ends

_CONTEXT = 3
_NO_NEWLINE = b"\\ No newline at end of file\n"
_LINES = re.compile(rb"[^\n]*\n|[^\n]+")
_NEEDS_QUOTES = re.compile(rb'[\x00-\x1f"\\\x7f]')
_Opcode = tuple[str, int, int, int, int]


def render_diff(plan: Plan) -> bytes:
    """The diff of all files that a plan changes, in order of their paths."""
    return b"".join(map(diff_file, plan.changes))


def diff_file(change: FileChange) -> bytes:
    """The diff of one file; empty if nothing changes."""
    before: list[bytes] = _LINES.findall(change.before)
    after: list[bytes] = _LINES.findall(change.after)
    hunks = [part for group in _hunks(before, after) for part in _render(group, before, after)]
    if not hunks:
        return b""
    old, new = _name("a/" + change.path), _name("b/" + change.path)
    return b"".join([b"--- " + old + b"\n", b"+++ " + new + b"\n", *hunks])


def _name(path: str) -> bytes:
    """A file name as git writes it: in quotes where it must be, with a tab behind it if it has blanks.

    The rules: quote_c_style and diff.c in git; GNU patch reads both forms since 2.7.
    """
    raw = path.encode("utf-8", "surrogateescape")
    if _NEEDS_QUOTES.search(raw):
        return b'"' + _NEEDS_QUOTES.sub(lambda match: b"\\%03o" % match[0][0], raw) + b'"'
    return raw + b"\t" if b" " in raw else raw


def _hunks(before: Sequence[bytes], after: Sequence[bytes]) -> Iterator[list[_Opcode]]:
    """Groups of opcodes with context; the equal beginnings and ends, most of a file, are cut off first."""
    head, tail = common_ends(before, after)
    head, tail = max(0, head - _CONTEXT), max(0, tail - _CONTEXT)
    old, new = before[head : len(before) - tail], after[head : len(after) - tail]
    if old != new:
        for group in SequenceMatcher(None, old, new, autojunk=False).get_grouped_opcodes(_CONTEXT):
            yield [(tag, i1 + head, i2 + head, j1 + head, j2 + head) for tag, i1, i2, j1, j2 in group]


def _render(group: list[_Opcode], before: Sequence[bytes], after: Sequence[bytes]) -> Iterator[bytes]:
    old, new = _span(group[0][1], group[-1][2]), _span(group[0][3], group[-1][4])
    yield f"@@ -{old} +{new} @@\n".encode()
    for tag, old_start, old_end, new_start, new_end in group:
        if tag == "equal":
            yield from _marked(b" ", before[old_start:old_end])
        else:
            yield from _marked(b"-", before[old_start:old_end])
            yield from _marked(b"+", after[new_start:new_end])


def _span(start: int, end: int) -> str:
    """A range as a hunk header has it: the first line from 1, or the line before an empty range."""
    length = end - start
    return f"{start + 1 if length else start},{length}"


def _marked(mark: bytes, lines: Sequence[bytes]) -> Iterator[bytes]:
    for line in lines:
        yield mark + line if line.endswith(b"\n") else mark + line + b"\n" + _NO_NEWLINE
