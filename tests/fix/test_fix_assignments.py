"""A statement that a wrapper's ``__init__`` gets behind the one that builds its inner model."""

from __future__ import annotations

from textwrap import dedent

import pytest

from analyzer.findings import AddAssignment
from analyzer.fix.assignments import add_statement
from analyzer.fix.source import Refused, Source
from analyzer.fix.verify import verify

BEFORE = """\
class Wrap(nn.Module):
    def __init__(self, config):
        super().__init__()
        with self._mark(config):
            self.model = build(config)  # the text model
        self.scale = 1.0
"""


def added(text: str, target: str = "make", value: str = "self.model.make") -> str:
    given = ("Wrap", "__init__", "model", target, value)
    after = add_statement(text, *given)
    edit = AddAssignment("a.py", *given)
    if after != text:
        verify("a.py", Source(text, "utf-8", False), Source(after, "utf-8", False), [edit])
    assert add_statement(after, *given) == after
    return after


def test_it_goes_behind_the_block_that_builds_the_model() -> None:
    assert added(BEFORE) == BEFORE.replace(
        "        self.scale", "        self.make = self.model.make\n        self.scale"
    )


def test_it_can_be_the_last_statement_of_a_file_without_a_last_newline() -> None:
    text = "class Wrap(M):\n    def __init__(self):\n        self.model = build()"
    assert added(text) == text + "\n        self.make = self.model.make\n"


def test_newlines_and_indentation_are_those_of_the_file() -> None:
    text = "class Wrap(M):\r\n\tdef __init__(self):\r\n\t\tself.model: M = build()\r\n\t\tself.a = 1\r\n"
    assert added(text) == text.replace("\t\tself.a", "\t\tself.make = self.model.make\r\n\t\tself.a")


def test_a_long_one_is_wrapped_as_the_formatter_would() -> None:
    name = "make_empty_intermediate_tensors"
    after = added(BEFORE, target=name, value=f"self.model.text.inner.{name}")
    assert f"        self.{name} = (\n            self.model.text.inner.{name}\n        )\n" in after


REFUSED = {
    "does not set self.model": "self.other = build()",
    "sets self.model in a branch": "if config:\n            self.model = build()",
    "sets self.make already": "self.model = build()\n        self.make = None",
    "has 2 definitions of __init__": "self.model = 1\n    def __init__(self, config):\n        self.model = 2",
}


@pytest.mark.parametrize("reason", REFUSED)
def test_what_is_not_understood_is_refused(reason: str) -> None:
    text = f"class Wrap(M):\n    def __init__(self, config):\n        {REFUSED[reason]}\n"
    with pytest.raises(Refused, match=reason):
        added(dedent(text))


def test_a_branch_inside_the_block_is_none_of_its_own() -> None:
    text = (
        "class Wrap:\n    def __init__(self):\n        with a():\n            if c:\n                self.model = b()\n"
    )
    with pytest.raises(Refused, match="in a branch"):
        added(text)
