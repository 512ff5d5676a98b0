"""Static answers against what Python really returned.

``tests/data/runtime-*.json`` holds, for every class in a release's registry and every checker that takes a class,
what that release answered when it was imported (with CPU torch and stand-ins for missing third-party modules):
``1``, ``0`` or ``.`` (raised).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from analyzer.matrix import build
from analyzer.report import matrix_json
from analyzer.values import ClassValue
from tests import releases

DATA = Path(__file__).parent / "data"
DIFFERENCES = "matrix-differences.json"
RELEASES = ["0.11.0", "0.16.0", "0.20.2", "0.33.0"]


@pytest.mark.release
@pytest.mark.parametrize("version", RELEASES)
def test_every_checker_answers_for_every_class_as_python_did(version: str) -> None:
    recorded = json.loads((DATA / f"runtime-{version}.json").read_text())
    audit = releases.read(version)
    by_checker = {c.checker: c for c in audit.contracts.values() if c.checker}
    wrong: list[str] = []
    compared = 0
    for key, answers in recorded["classes"].items():
        cls = audit.index.class_by_key(key)
        assert cls is not None, f"{key} is registered in {version} and was not found"
        for checker, answer in zip(recorded["checkers"], answers, strict=True):
            contract = by_checker.get(checker)
            if contract is None or answer == ".":
                continue
            compared += 1
            said = contract.satisfied_by(audit.model_set.machine, ClassValue(cls))
            if bool(said) is not (answer == "1"):
                wrong.append(f"{checker}({key}) was {answer}, static {said}")
    assert not wrong
    assert compared > 2000


@pytest.mark.release
@pytest.mark.parametrize("version", ["0.16.0", "0.33.0"])
def test_nearly_every_registered_class_gets_a_verdict_and_the_others_a_reason(version: str) -> None:
    models = [m for m in releases.report(version).models if m.architectures]
    statuses = [m.statuses["SupportsEagle3"] for m in models]
    unknown = [s for s in statuses if s.verdict == "unknown"]
    assert len(unknown) < 0.05 * len(statuses)
    assert all(s.reason for s in unknown)


@pytest.mark.release
@pytest.mark.parametrize("version", ["0.11.0", "0.16.0", "0.20.2", "0.33.0"])
def test_no_serving_class_is_broken_without_a_finding(version: str) -> None:
    report = releases.report(version)
    faults = {"VC002", "VC003", "VC004", "VC006", "VC007"}
    named = {a for f in report.findings if f.code in faults and f.contract == "SupportsEagle3" for a in f.architectures}
    for model in report.models:
        if model.serves and model.architectures and model.statuses["SupportsEagle3"].verdict == "broken":
            assert named & set(model.architectures), model.cls


# -- the matrix ------------------------------------------------------------------------------------


def matrix_answers(version: str) -> Iterator[tuple[str, str, bool | None, bool | None, bool | None]]:
    """Each cell that has a recorded answer: its class, the checker, what was recorded, and what the cell says
    of an object and of the class."""
    recorded = json.loads((DATA / f"runtime-{version}.json").read_text())
    matrix = json.loads(matrix_json.render(build(releases.report(version))))
    checkers = {contract["name"]: contract["checker"] for contract in matrix["contracts"]}
    known = {"1": True, "0": False, ".": None}
    for row in matrix["rows"]:
        answers = dict(zip(recorded["checkers"], recorded["classes"].get(row["class"], ""), strict=False))
        for name, cell in row["cells"].items():
            if checkers[name] in answers:
                ran = known[answers[checkers[name]]]
                yield row["class"], checkers[name], ran, cell["satisfied"], cell["class_satisfied"]


@pytest.mark.release
@pytest.mark.parametrize("version", ["0.16.0", "0.33.0"])
def test_every_cell_of_the_matrix_agrees_with_what_the_class_returned(version: str) -> None:
    """``matrix-differences.json`` holds, for each release, ``checker(class)`` and why the cell may differ."""
    explained = json.loads((DATA / DIFFERENCES).read_text())[version]
    answers = list(matrix_answers(version))
    different = {f"{checker}({cls})" for cls, checker, ran, _, of_class in answers if of_class is not ran}
    assert different == set(explained), "a difference without a reason, or a reason without a difference"
    assert all(explained.values())
    classes = json.loads((DATA / f"runtime-{version}.json").read_text())["classes"]
    assert {cls for cls, *_ in answers} == set(classes)
    assert len(answers) > 4_000


@pytest.mark.release
@pytest.mark.parametrize("version", ["0.16.0", "0.33.0"])
def test_no_cell_says_of_an_object_what_its_class_contradicts(version: str) -> None:
    """An object may have more than its class, so that a cell may leave its answer open where the class says no."""
    answers = list(matrix_answers(version))
    known = [of_object for *_, ran, of_object, _ in answers if None not in (ran, of_object)]
    contradicting = [(c, checker) for c, checker, ran, of_object, _ in answers if {ran, of_object} == {True, False}]
    assert not contradicting
    assert len(known) > 0.9 * len(answers)
