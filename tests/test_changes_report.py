"""A comparison in text, JSON and Markdown: kept files, the schema, and what a terminal or GitHub would act upon."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from analyzer.changes import Changes
from analyzer.report import layout
from tests import changed_trees
from tests.changed_trees import GOLDEN, NEWER, OLDER, edited, golden, shown
from tests.report_tree import FILES

SCHEMA: dict[str, Any] = json.loads((resources.files("analyzer.report") / "changes_schema.json").read_text("utf-8"))
HOSTILE = "x\x1b[31m`*a*` <b> [l](u) @someone #12"


@pytest.fixture(scope="module")
def changes(tmp_path_factory: pytest.TempPathFactory) -> Changes:
    return changed_trees.changes(tmp_path_factory.mktemp("trees"), OLDER, NEWER)


@pytest.fixture(scope="module")
def back(tmp_path_factory: pytest.TempPathFactory) -> Changes:
    """The same the other way round."""
    return changed_trees.changes(tmp_path_factory.mktemp("back"), NEWER, OLDER)


@pytest.fixture(scope="module")
def same(tmp_path_factory: pytest.TempPathFactory) -> Changes:
    return changed_trees.changes(tmp_path_factory.mktemp("same"), {}, {})


@pytest.mark.parametrize("form", ["text", "json", "markdown"])
def test_it_is_as_kept(changes: Changes, form: str) -> None:
    assert golden(changes, form) == (GOLDEN / f"changes.{form}").read_text("utf-8")


def test_where_nothing_differs_it_says_so(same: Changes) -> None:
    for form in ("text", "markdown"):
        assert "Nothing differs; 3 findings in both." in shown(same, form)
        assert "Contracts" not in shown(same, form)
    record = json.loads(shown(same, "json"))
    assert not any(record[name] for name in ("worse", "contracts", "support", "architectures", "findings"))


def test_the_other_way_round_it_tells_of_losses(back: Changes) -> None:
    text = shown(back, "text")
    words = " ".join(text.split())
    assert "Lost support SupportsEagle3 works -> undeclared: does not inherit SupportsEagle3 any more" in words
    assert "Architectures that are gone - SoundVL" in words
    assert "was works: SupportsEagle3" in words
    assert "+ allow-list of self.target.hf_text_config.model_type: plain, bare" in words
    assert 'refuses the others with "Eagle3 is only supported for some models"' in words
    assert back.worse


# -- JSON ------------------------------------------------------------------------------------------


def problems(record: object) -> list[str]:
    return [error.message for error in Draft202012Validator(SCHEMA).iter_errors(record)]


def closed(schema: object) -> object:
    """The schema as it would be if there were no fields but those that it names."""
    if isinstance(schema, list):
        return [closed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    parts = {key: closed(value) for key, value in schema.items()}
    return {**parts, "unevaluatedProperties": False} if "properties" in parts and "required" in parts else parts


def test_the_schema_is_one() -> None:
    Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("which", ["changes", "back", "same"])
def test_the_record_is_what_the_schema_says_and_has_no_field_that_it_does_not_name(
    which: str, request: pytest.FixtureRequest
) -> None:
    record = json.loads(shown(request.getfixturevalue(which), "json"))
    assert problems(record) == []
    strict = closed({**SCHEMA, "$defs": {k: v for k, v in SCHEMA["$defs"].items() if k != "model"}})
    assert isinstance(strict, dict)
    strict["$defs"] = {**strict["$defs"], "model": SCHEMA["$defs"]["model"], "standing": SCHEMA["$defs"]["standing"]}
    assert [e.message for e in Draft202012Validator(strict).iter_errors(record)] == []


DAMAGES: dict[str, tuple[list[str | int], object]] = {
    "another schema": (["schema"], 2),
    "worse as a number": (["worse"], 1),
    "no tree": (["old"], None),
    "a kind that there is not": (["contracts", 0, "methods", 0, "kinds"], ["other"]),
    "no kind": (["contracts", 0, "gates", 0, "kinds"], []),
    "evidence that there is not": (["contracts", 0, "methods", 0, "evidence"], ["a hunch"]),
    "an absolute path": (["contracts", 0, "methods", 0, "new", "path"], "/tmp/a.py"),
    "a verdict that there is not": (["support", 0, "new", "verdict"], "fine"),
    "a direction that there is not": (["support", 0, "direction"], "up"),
    "no reason": (["support", 0, "reasons"], []),
    "a link that there is not": (["support", 0, "reasons", 0, "link"], "gate"),
    "a finding on no line": (["findings", 2, "new", "line"], 0),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_the_schema_refuses(changes: Changes, damage: str) -> None:
    record = json.loads(shown(changes, "json"))
    path, value = DAMAGES[damage]
    at: Any = record
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    assert problems(record)


# -- text ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [layout.NARROWEST, 61, 80, 100])
@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
@pytest.mark.parametrize("which", ["changes", "back"])
def test_no_line_is_too_long_unless_one_word_is(
    which: str, width: int, encoding: str, request: pytest.FixtureRequest
) -> None:
    text = shown(request.getfixturevalue(which), "text", width=width, encoding=encoding)
    assert text.isascii()
    for line in text.splitlines():
        assert line == line.rstrip()
        assert len(line) <= width or max(map(len, line.split())) + 10 > width, line


def test_colours_only_where_they_are_wanted(changes: Changes) -> None:
    assert "\x1b[" not in shown(changes, "text")
    coloured = shown(changes, "text", colour=True)
    assert re.sub(r"\x1b\[[\d;]*m", "", coloured) == shown(changes, "text")
    assert "\x1b[32m+" in coloured and "\x1b[31m-" in coloured


# -- what comes from a checkout --------------------------------------------------------------------


def hostile(changes: Changes) -> Changes:
    first = changes.new_findings[0]
    assert first.new is not None
    return replace(changes, findings=(replace(first, new=replace(first.new, message=HOSTILE)),))


def test_nothing_that_a_terminal_would_act_upon(changes: Changes) -> None:
    text = shown(hostile(changes), "text")
    assert "\x1b" not in text
    assert "x\\x1b[31m" in text


def test_nothing_that_markdown_would_act_upon(changes: Changes) -> None:
    text = shown(hostile(changes), "markdown")
    line = next(line for line in text.splitlines() if "someone" in line)
    assert "\x1b" not in line
    assert "\\*" not in line.split("`*a*`")[0]
    for piece in (r"\<b>", r"\[l\](u)", "@<!-- -->someone", "#<!-- -->12", "`*a*`"):
        assert piece in line, piece


def test_a_backtick_without_a_partner_is_no_code() -> None:
    from analyzer.report.outline import code, escape

    assert escape("a ` *b*") == r"a ' \*b\*"
    assert escape(f"{code('a`b')} *c*") == r"`a'b` \*c\*"


def test_what_was_not_read_is_told_with_its_side(tmp_path: Path) -> None:
    found = changed_trees.changes(tmp_path, {"plain": "def broken(:\n"}, {})
    text = shown(found, "text")
    assert "Not read in the old tree, and not compared" in text
    assert "vllm/model_executor/models/plain.py:1" in text
    record = json.loads(shown(found, "json"))
    assert record["old"]["diagnostics"] and not record["new"]["diagnostics"]
    assert problems(record) == []


def test_a_contract_that_is_new_is_told_as_a_whole(tmp_path: Path) -> None:
    text = FILES["vllm/model_executor/models/interfaces.py"]
    more = text + (
        "\n\nclass SupportsOther(Protocol):\n    supports_other: ClassVar[Literal[True]] = True\n\n"
        "    def other(self) -> int: ...\n"
    )
    found = changed_trees.changes(tmp_path, {}, {"interfaces": more})
    words = " ".join(shown(found, "text").split())
    assert "+ the contract vllm/model_executor/models/interfaces.py:26" in words
    assert "method other(self) -> int, a stub" in words
    assert edited("interfaces") == text
