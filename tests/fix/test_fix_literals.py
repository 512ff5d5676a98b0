"""Appending to a list, tuple or set that is written out."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzer.findings import AddListItem, Edit
from tests.fix.fixing import PATH, base, edited, refusal


def item(line: int = 1, beside: str = "qwen", new: str = "kimi") -> AddListItem:
    return AddListItem(PATH, line, beside, new)


CASES = {
    "on one line": ('x = ["llama", "qwen"]\n', 'x = ["llama", "qwen", "kimi"]\n'),
    "in single quotes": ("x = {'llama', 'qwen'}\n", "x = {'llama', 'qwen', 'kimi'}\n"),
    "a tuple of one": ('x = ("qwen",)\n', 'x = ("qwen", "kimi")\n'),
    "a tuple of one over several lines": (
        'x = (\n    "qwen",  # first\n)\n',
        'x = (\n    "qwen",  # first\n    "kimi",\n)\n',
    ),
    "one entry a line": (
        'x = [\n    "llama",\n    # new\n    "qwen",  # yes\n    # end\n]\n',
        'x = [\n    "llama",\n    # new\n    "qwen",  # yes\n    "kimi",\n    # end\n]\n',
    ),
    "without a trailing comma": (
        'x = [\n    "llama",\n    "qwen"\n]\n',
        'x = [\n    "llama",\n    "qwen",\n    "kimi"\n]\n',
    ),
    "in filled lines": (
        'x = ["llama",\n     "qwen"]\n',
        'x = ["llama",\n     "qwen", "kimi"]\n',
    ),
    "beside entries of other kinds": (
        'x = f([*a, "qwen", b(1, 2), 3])\n',
        'x = f([*a, "qwen", b(1, 2), 3, "kimi"])\n',
    ),
    "a line that grows too long is exploded": (
        'def f():\n    if name in ["qwen", "a_name_that_is_rather_long", "another_name_that_is_as_long"]:\n'
        "        pass\n",
        'def f():\n    if name in [\n        "qwen",\n        "a_name_that_is_rather_long",\n'
        '        "another_name_that_is_as_long",\n        "kimi",\n    ]:\n        pass\n',
    ),
    "already": ('x = ["kimi", "qwen"]\n', 'x = ["kimi", "qwen"]\n'),
}


@pytest.mark.parametrize(("before", "after"), CASES.values(), ids=list(CASES))
def test_add_list_item(before: str, after: str) -> None:
    line = next(number for number, text in enumerate(before.splitlines(), 1) if "qwen" in text)
    assert edited(before, item(line)) == after


def test_the_line_tells_which_of_several_literals_is_meant() -> None:
    before = 'x = ["qwen"]\ny = ["qwen"]\n'
    assert edited(before, item(2)) == 'x = ["qwen"]\ny = ["qwen", "kimi"]\n'
    assert refusal(before, item(9)) == "several lists, tuples or sets hold 'qwen' (lines 1, 2)"


def test_lines_are_those_of_the_text_as_it_was() -> None:
    before = 'class Model: ...\nx = [\n    "a",\n]\ny = [\n    "a",\n]\n'
    edits: list[Edit] = [item(2, "a", "one"), item(5, "a", "two"), base()]
    assert edited(before, *edits) == (
        'class Model(SupportsEagle3): ...\nx = [\n    "a",\n    "one",\n]\ny = [\n    "a",\n    "two",\n]\n'
    )


def test_the_only_literal_is_found_without_its_line() -> None:
    assert edited('x = 1\n\n\ny = ["qwen"]\n', item(1)) == 'x = 1\n\n\ny = ["qwen", "kimi"]\n'


@pytest.mark.parametrize("text", ['x = "qwen", "llama"\n', 'x = ("qwen"), ("llama")\n'])
def test_a_tuple_without_brackets_is_refused(text: str) -> None:
    assert refusal(text, item()) == "the tuple of 'qwen' (line 1) has no brackets"


def test_no_literal_is_refused() -> None:
    assert refusal('x = {"qwen": 1}\nf("qwen")\n', item()) == "no list, tuple or set holds 'qwen'"


@pytest.mark.parametrize("value", ['a"b', "a'b", "back\\slash", "new\nline", "é世"])
def test_any_string_can_be_added(value: str) -> None:
    for quote in "'\"":
        after = edited(f"x = [{quote}qwen{quote}]\n", item(new=value))
        assert eval(after.removeprefix("x = ")) == ["qwen", value]


@settings(max_examples=200, deadline=None)
@given(
    entries=st.lists(st.text(max_size=12), min_size=1, max_size=6),
    brackets=st.sampled_from(["[]", "()", "{}"]),
    gaps=st.lists(st.sampled_from([" ", "", "\n    ", " # c, [\n  ", "\r\n\t"]), min_size=14, max_size=14),
    comma=st.booleans(),
    new=st.text(max_size=90),
)
def test_any_literal_takes_any_string(
    entries: list[str], brackets: str, gaps: list[str], comma: bool, new: str
) -> None:
    comma = comma or brackets == "()"
    inner = ",".join(f"{gaps[2 * at]}{entry!a}{gaps[2 * at + 1]}" for at, entry in enumerate(entries))
    text = f"x = {brackets[0]}{inner}{',' if comma else ''}{gaps[12]}{brackets[1]}  # end\n"
    after = edited(text, item(1, entries[0], new))
    expected = eval(text.removeprefix("x = "))
    if new not in entries:
        expected = {*expected, new} if isinstance(expected, set) else type(expected)([*expected, new])
    assert eval(after.removeprefix("x = ")) == expected
    assert after.count("# c, [") == text.count("# c, [")
