"""What the engine runs of taught models are held against; the engines themselves are run by ``scripts.e2e.teach``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from scripts.e2e.checkpoints import DRAFTERS, LAYERS
from scripts.e2e.pupils import PUPILS
from scripts.e2e.states_run import ASKED
from scripts.e2e.teach import BEGIN, END, HEAD, REFUSAL, Lesson, put_in, render

GENERATED = {"tokens": [[1, 2]], "drafts": 10, "accepted": 0, "layers": [], "compared": 0, "same": 0, "farthest": None}
TAUGHT = {**GENERATED, "layers": [2, 4, 5], "compared": 7, "same": 7, "farthest": 1e-7}
GOOD = Lesson(
    release="0.32.0",
    pupil="Own",
    cls="OwnForCausalLM",
    alone=GENERATED,
    refused={"error": f"RuntimeError: {REFUSAL} but …"},
    taught=TAUGHT,
    sighted={**GENERATED, "accepted": 9},
    blind=GENERATED,
)


def test_a_run_that_went_well_has_no_fault() -> None:
    assert not list(GOOD.faults())
    assert not list(replace(GOOD, sighted=None, blind=None).faults())


@pytest.mark.parametrize(
    ("field", "value", "fault"),
    [
        ("alone", {"error": "OSError: no"}, "does not run at all"),
        ("refused", GENERATED, "was not refused"),
        ("taught", {"error": "ValueError: no"}, "taught: ValueError"),
        ("taught", {**TAUGHT, "tokens": [[1, 3]]}, "other tokens"),
        ("taught", {**TAUGHT, "layers": [2, 4]}, "layers are"),
        ("taught", {**TAUGHT, "same": 6}, "1 of 7 states differ"),
        ("taught", {**TAUGHT, "compared": 0, "same": 0}, "0 of 0 states differ"),
        ("taught", {**TAUGHT, "farthest": 0.01}, "from transformers'"),
        ("sighted", GENERATED, "do not help"),
    ],
)
def test_each_fault_is_told(field: str, value: dict[str, Any], fault: str) -> None:
    changed: dict[str, Any] = {field: value}
    lesson = replace(GOOD, **changed)
    assert any(fault in told for told in lesson.faults())
    assert fault in render([lesson])


def test_the_table_has_a_row_for_each() -> None:
    rows = render([GOOD, GOOD]).splitlines()
    assert len(rows) == 4
    assert {row.count("|") for row in rows} == {len(HEAD) + 1}
    assert rows[-1].endswith("| yes |")


def test_the_table_is_put_between_its_marks() -> None:
    page = f"before\n{BEGIN}old\n{END}after\n"
    assert put_in(page, "new\n") == f"before\n{BEGIN}\nnew\n\n{END}after\n"
    with pytest.raises(SystemExit):
        put_in("no marks", "new\n")
    docs = Path(__file__).parent.parent / "docs" / "teach.md"
    assert put_in(docs.read_text("utf-8"), "new\n").count("new\n") == 1


def test_pupils_differ_in_what_a_state_is() -> None:
    assert {pupil.adds for pupil in PUPILS.values()} == {True, False}
    assert all(pupil.config["architectures"] == [pupil.cls] for pupil in PUPILS.values())
    assert all(set(pupil.drafters) <= set(DRAFTERS) for pupil in PUPILS.values())
    assert {0, LAYERS - 1, LAYERS, 2, 4, 5} <= set(ASKED)
