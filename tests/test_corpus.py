"""What changed upstream: every row is explained, and the committed table is what the audits say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from analyzer.report.json import to_dict
from scripts.corpus import CONTRACT, INTRODUCTION, RELEASES, UNEXPLAINED, Row, changes, read, section
from tests import releases

DOCUMENT = Path(__file__).parent.parent / "docs" / "corpus.md"
MODELS = "vllm.model_executor.models."


def model(name: str, *, satisfied: bool, verdict: str, **more: Any) -> dict[str, Any]:
    status = {"declared": satisfied, "satisfied": satisfied, "verdict": verdict, "reason": "a reason"}
    contracts = {CONTRACT: status}
    return {
        "class": MODELS + name,
        "architectures": [name],
        "role": "text",
        "inner": [],
        "contracts": contracts,
        **more,
    }


def finding(code: str, name: str) -> dict[str, Any]:
    return {"code": code, "class": MODELS + name, "contract": CONTRACT}


def rows(old: list[dict[str, Any]], new: list[dict[str, Any]]) -> list[Row]:
    """The rows of two audits, each given as models and findings in one list."""
    audits = [
        {"models": [r for r in records if "role" in r], "findings": [r for r in records if "code" in r]}
        for records in (old, new)
    ]
    return changes(read(audits[0]), read(audits[1]))


INNER = [{"class": MODELS + "b.B", "path": "vllm/a.py", "line": 3}]
UNABLE: dict[str, Any] = {"satisfied": False, "verdict": "unsupported"}
ABLE: dict[str, Any] = {"satisfied": True, "verdict": "works"}
WRAPPED: dict[str, Any] = {"role": "wrapper", "inner": INNER}


@pytest.mark.parametrize(
    ("old", "new", "row"),
    [
        (
            [model("a.A", satisfied=False, verdict="undeclared"), finding("VC001", "a.A")],
            [model("a.A", **ABLE)],
            Row("a.A", "no", "yes", "found before: VC001; gone after"),
        ),
        (
            [
                model("a.A", satisfied=False, verdict="undeclared", **WRAPPED),
                model("a.Base", satisfied=False, verdict="undeclared", **WRAPPED),
                finding("VC001", "a.Base"),
            ],
            [model("a.A", **ABLE), model("a.Base", satisfied=False, verdict="undeclared", **WRAPPED)],
            Row("a.A", "no", "yes", "found before: VC001 on a.Base; gone after"),
        ),
        (
            [model("a.A", satisfied=True, verdict="broken", **WRAPPED), finding("VC007", "b.B")],
            [model("a.A", **ABLE, **WRAPPED)],
            Row("a.A", "claimed, broken", "yes", "found before: VC007 on b.B; gone after"),
        ),
        (
            [model("a.A", **UNABLE)],
            [model("a.A", **ABLE)],
            Row("a.A", "no", "yes", "outside: its decoder could not do it and was taught to"),
        ),
        (
            [model("a.A", **UNABLE, **WRAPPED)],
            [model("a.A", **ABLE, **WRAPPED)],
            Row("a.A", "no", "yes", "outside: its inner model could not do it and was taught to"),
        ),
        ([], [model("a.A", **ABLE)], Row("a.A", "no such class", "yes", "outside: new class")),
        (
            [model("a.A", **UNABLE, architectures=["X"])],
            [model("b.A", **ABLE, architectures=["X"])],
            Row("b.A", "no such class", "yes", "outside: new class, takes the place of a.A (no)"),
        ),
        (
            [model("a.A", **UNABLE)],
            [model("a.A", satisfied=False, verdict="unknown")],
            Row("a.A", "no", "unknown", "outside: not decided after: a reason"),
        ),
        (
            [model("a.A", satisfied=False, verdict="undeclared")],
            [model("a.A", **ABLE)],
            Row("a.A", "no", "yes", UNEXPLAINED),
        ),
        ([model("a.A", **ABLE)], [model("a.A", **UNABLE)], Row("a.A", "yes", "no", UNEXPLAINED)),
    ],
)
def test_a_change_is_explained_by_what_the_audits_say(
    old: list[dict[str, Any]], new: list[dict[str, Any]], row: Row
) -> None:
    assert [r for r in rows(old, new) if r.name == row.name] == [row]


@pytest.mark.parametrize("same", [UNABLE, ABLE])
def test_what_stayed_as_it_was_has_no_row(same: dict[str, Any]) -> None:
    assert not rows([model("a.A", **same)], [model("a.A", **same)])


def test_no_row_of_the_document_is_unexplained() -> None:
    text = DOCUMENT.read_text()
    assert text.startswith(INTRODUCTION)
    assert text.count("\n## ") == len(RELEASES) - 1
    assert UNEXPLAINED not in text


@pytest.mark.release
@pytest.mark.parametrize("pair", [("0.14.1", "0.15.1"), ("0.30.0", "0.32.0")], ids="-".join)
def test_the_document_is_what_the_audits_say(pair: tuple[str, str]) -> None:
    old, new = (read(to_dict(releases.report(version))) for version in pair)
    current = section(*pair, changes(old, new))
    assert current in DOCUMENT.read_text()
    assert UNEXPLAINED not in current
