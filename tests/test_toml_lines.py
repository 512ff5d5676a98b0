"""The place of each key is the line where a reader finds it, however the file is written."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.toml_lines import Place, key_lines, parse_toml

TABLE = ("tool", "mine")

FILES: dict[str, tuple[str, dict[Place, int]]] = {
    "a table of its own": ('x = 1\n[tool.mine]\na = 1\n\n# b = 2\nb = "c"\n', {(): 2, ("a",): 3, ("b",): 6}),
    "a table after it": ("[tool.mine]\na = 1\n[tool.yours]\na = 2\nz = 3\n", {(): 1, ("a",): 2}),
    "a table that begins alike": ("[tool.mine-too]\na = 1\n[tool.mine]\nb = 2\n", {(): 3, ("b",): 4}),
    "dotted keys from above": (
        "[tool]\nyours.a = 1\nmine.a = 2\nmine.b.c = 3\n",
        {(): 3, ("a",): 3, ("b",): 4, ("b", "c"): 4},
    ),
    "quoted keys": ("[\"tool\" . 'mine']\n\"a b\" = 1\n'c' = 2\n", {(): 1, ("a b",): 2, ("c",): 3}),
    "an inline table": ("[tool]\nmine = { a = 1, b = { c = 2 } }\n", {(): 2, ("a",): 2, ("b",): 2, ("b", "c"): 2}),
    "a table below": ("[tool.mine.b]\nc = 1\n[tool.mine]\na = 1\n", {(): 1, ("b",): 1, ("b", "c"): 2, ("a",): 4}),
    "keys inside a string": ('[tool.mine]\na = """\nb = 1\n[tool.mine]\n"""\nb = 2\n', {(): 1, ("a",): 2, ("b",): 6}),
    "an empty inline table": ("tool.mine = {}\n", {(): 1}),
    "lines that end in CR LF": (
        "[tool.mine]\r\na = 1\r\nb = [\r\n  1,\r\n]\r\n",
        {(): 1, ("a",): 2, ("b",): 3, ("b", 0): 4},
    ),
    "an array of several lines": (
        '[tool.mine]\na = [ # "x"\n  "p", "q",\n\n  # "]"\n  "r"\n]\nb = 1\n',
        {(): 1, ("a",): 2, ("a", 0): 3, ("a", 1): 3, ("a", 2): 6, ("b",): 8},
    ),
    "an array that ends behind its last item": (
        '[tool.mine]\na = ["p",\n "]",\n "q"]\n',
        {(): 1, ("a",): 2, ("a", 0): 2, ("a", 1): 3, ("a", 2): 4},
    ),
    "tables in an array": ("[[tool.mine.a]]\nb = 1\n[[tool.mine.a]]\nb = 2\n", {(): 1, ("a",): 1, ("a", "b"): 2}),
    "another table": ("[tool.yours]\na = 1\n", {}),
}


@pytest.mark.parametrize("name", FILES)
def test_lines(name: str) -> None:
    text, lines = FILES[name]
    parse_toml(text)
    assert key_lines(text, TABLE) == lines


def test_the_top_of_a_file_is_a_table_too() -> None:
    assert key_lines("a = 1\nb.c = [\n1]\n", ()) == {(): 1, ("a",): 1, ("b",): 2, ("b", "c"): 2, ("b", "c", 0): 3}


KEYS = st.text("ab.' ]#=[", min_size=1, max_size=4)
SCALARS = st.one_of(st.integers(0, 9), st.booleans(), st.text("a\n\"'[]#=,", max_size=8))


def written(value: Any, broken: bool) -> str:
    """A value in TOML, over several lines if that is asked for and possible."""
    if isinstance(value, list):
        start, between, end = ("[\n  ", ", # ]\n  ", "\n]") if broken else ("[", ", ", "]")
        return start + between.join(written(item, False) for item in value) + end
    if isinstance(value, bool | int):
        return str(value).lower()
    if broken and "\n" in value:
        escaped = value.replace('"', '\\"')
        return f'"""\n{escaped}"""'
    escaped = value.replace("\n", "\\n").replace('"', '\\"')
    return f'"{escaped}"'


@given(
    st.dictionaries(KEYS, st.one_of(SCALARS, st.lists(SCALARS, max_size=3)), max_size=6),
    st.booleans(),
)
def test_any_file_that_is_written_key_by_key(values: dict[str, Any], broken: bool) -> None:
    lines = ["[tool.mine]"]
    expected: dict[Place, int] = {(): 1}
    for key, value in values.items():
        expected[key,] = len("\n".join(lines).split("\n")) + 1
        lines.append(f"{written(key, False)} = {written(value, broken)}")
    text = "\n".join(lines)
    assert parse_toml(text) == {"tool": {"mine": values}}
    found = key_lines(text, TABLE)
    assert {place: line for place, line in found.items() if not isinstance((place or [""])[-1], int)} == expected
    assert {place[:1] for place in found if len(place) == 2} == {
        (k,) for k, v in values.items() if isinstance(v, list) and v
    }
