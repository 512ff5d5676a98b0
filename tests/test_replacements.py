"""Replacements, carried out as an editor would, give the text after."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.report.replacements import Replacement, replacements


def offset(text: str, line: int, column: int) -> int:
    """The place in a text of a line and a column, both from 1."""
    start = 0
    for _ in range(line - 1):
        start = text.index("\n", start) + 1
    place = start + column - 1
    assert place <= len(text)
    assert "\n" not in text[start:place]
    return place


def carried_out(text: str, done: list[Replacement]) -> str:
    for one in reversed(done):
        start, end = offset(text, one.line, one.column), offset(text, one.end_line, one.end_column)
        assert start <= end
        text = text[:start] + one.text + text[end:]
    return text


TEXTS = st.lists(st.sampled_from(["a\n", "b\n", "c\r\n", "\n", "é\x0c\n", "last", "\u2028"]), max_size=8).map("".join)


@given(TEXTS, TEXTS)
def test_they_give_the_text_after(before: str, after: str) -> None:
    assert carried_out(before, list(replacements(before, after))) == after


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("a\nb\n", "a\nb\n", []),
        ("a\nb\nc\n", "a\nx\nc\n", [Replacement(2, 1, 3, 1, "x\n")]),
        ("a\nc\n", "a\nb\nc\n", [Replacement(2, 1, 2, 1, "b\n")]),
        ("a\nb\nc\n", "a\nc\n", [Replacement(2, 1, 3, 1, "")]),
        ("a", "a\nb\n", [Replacement(1, 1, 1, 2, "a\nb\n")]),
        ("a\n", "a\nb\n", [Replacement(2, 1, 2, 1, "b\n")]),
        ("", "a\n", [Replacement(1, 1, 1, 1, "a\n")]),
        ("a\r\nb\r\n", "a\r\nx\r\n", [Replacement(2, 1, 3, 1, "x\r\n")]),
    ],
)
def test_whole_lines(before: str, after: str, expected: list[Replacement]) -> None:
    assert list(replacements(before, after)) == expected
