"""The tables of verdicts in docs/contracts.md are about what the audits report, all of it and nothing else."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from analyzer.handling import KEYS, WAYS, shipped
from tests import releases

PAGE = Path(__file__).parent.parent / "docs" / "contracts.md"
VERDICTS = ("right", "right, but", "wrong")
FOLDERS = ("vllm.model_executor.models.", "vllm.models.")
NEWEST = "0.33.0"


def tables(*head: str) -> list[list[str]]:
    """The rows of the page's table with these first columns."""
    lines = PAGE.read_text("utf-8").splitlines()
    (start,) = (n for n, line in enumerate(lines) if _cells(line)[: len(head)] == list(head))
    rows = []
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        rows.append(_cells(line))
    return rows


def _cells(line: str) -> list[str]:
    return [cell.strip().strip("`") for cell in line.strip().strip("|").split("|")]


def reported(release: str) -> Iterator[tuple[str, str, str, str]]:
    """Severity, code, contract and class of each finding, the class without the folder of models."""
    for finding in releases.report(release).findings:
        folder = next(folder for folder in FOLDERS if finding.cls.startswith(folder))
        yield finding.severity, finding.code, finding.contract, finding.cls.removeprefix(folder)


@pytest.mark.release
def test_each_error_of_the_newest_release_has_a_verdict_and_nothing_else_has() -> None:
    rows = [tuple(row[:3]) for row in tables("code", "contract", "class", "verdict")]
    errors = [tuple(rest) for severity, *rest in reported(NEWEST) if severity == "error"]
    assert rows == errors
    assert f"reports {len(errors)} findings of severity error" in PAGE.read_text("utf-8")


@pytest.mark.release
@pytest.mark.parametrize("release", ["0.20.2", NEWEST])
def test_the_other_findings_that_were_read_are_those_of_other_contracts(release: str) -> None:
    rows = [tuple(row[1:4]) for row in tables("release", "code") if row[0] == release]
    wanted = ("warning",) if release == NEWEST else ("warning", "error")
    found = [tuple(rest) for severity, *rest in reported(release) if severity in wanted and rest[1] != "SupportsEagle3"]
    assert sorted(rows) == sorted(found)


@pytest.mark.release
@pytest.mark.parametrize(
    ("code", "contract", "count"),
    [("VC001", "SupportsLoRA", 17), ("VC001", "HasInnerState", 3), ("VC018", "SupportsQuant", 12)],
)
def test_the_information_that_was_looked_at_as_a_group_is_still_that_much(code: str, contract: str, count: int) -> None:
    found = [rest for severity, *rest in reported(NEWEST) if severity == "info" and rest[:2] == [code, contract]]
    assert len(found) == count
    assert re.search(rf"{contract} \({count} findings", PAGE.read_text("utf-8"))


@pytest.mark.release
@pytest.mark.parametrize("release", ["0.16.0", "0.26.0", NEWEST])
def test_each_class_whose_mapping_lacks_layers_was_read(release: str) -> None:
    read = {
        name.strip().strip("`")
        for classes, where, *_ in tables("class", "releases read")
        for name in classes.removesuffix(", of three platforms").split(",")
        if where == "all three" or release in where
    }
    assert read == {cls.rpartition(".")[2] for _, code, _, cls in reported(release) if code == "VC018"}


@pytest.mark.release
def test_the_other_warnings_are_as_many_as_the_page_says() -> None:
    found = Counter(
        rest[0] for severity, *rest in reported(NEWEST) if (severity, rest[1]) == ("warning", "SupportsEagle3")
    )
    assert [(row[0], int(row[1])) for row in tables("warnings", "findings")] == sorted(found.items())


def test_each_verdict_is_one_of_three_and_has_its_sentence() -> None:
    rows = [row[3:] for row in tables("code", "contract", "class")] + [row[4:] for row in tables("release", "code")]
    for verdict, sentence in rows:
        assert verdict in VERDICTS, sentence
        assert sentence.endswith(".") and len(sentence.split()) > 4


def test_the_counts_of_each_rule_are_those_of_the_rows_and_no_rule_is_wrong_too_often() -> None:
    counted = Counter((row[0], row[3]) for row in tables("code", "contract", "class"))
    codes = sorted({code for code, _ in counted})
    for code, row in zip(codes, tables("rule", "findings"), strict=True):
        numbers = [counted[code, verdict] for verdict in VERDICTS]
        assert row == [code, str(sum(numbers)), *map(str, numbers)]
        assert counted[code, "wrong"] * 20 <= sum(numbers)


def test_the_page_tells_every_key_of_an_entry_and_every_contract_with_one() -> None:
    rows = tables("key", "value")
    assert [row[0] for row in rows if row[0]] == ["hands-on", *(key for key in KEYS if key != "hands-on")]
    assert [row[1] for row in rows if row[1] in WAYS] == list(WAYS)
    named = " ".join(row[0] for row in tables("contract", "fault"))
    assert all(name in named for name in shipped())
