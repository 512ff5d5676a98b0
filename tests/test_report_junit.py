"""JUnit's XML, as an independent reader takes it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from junitparser import Failure, JUnitXml, Skipped, TestCase, TestSuite

from analyzer.findings import Position, Severity
from analyzer.records import Report
from analyzer.report import junit
from analyzer.report.context import Context
from tests.report_samples import FINDING, HOSTILE_FINDING, LOST, PATHS, made_report


def read(report: Report, context: Context | None = None) -> list[TestSuite]:
    """The suites; the counts that are written are those that the reader finds."""
    xml = JUnitXml.fromstring(junit.render(report, context or Context()).encode("ascii"))
    written = [(suite.tests, suite.failures, suite.skipped, suite.errors) for suite in (xml, *xml)]
    for element in (xml, *xml):
        element.update_statistics()
    assert written == [(suite.tests, suite.failures, suite.skipped, suite.errors) for suite in (xml, *xml)]
    return list(xml)


def cases(report: Report, context: Context | None = None) -> list[TestCase]:
    return [case for suite in read(report, context) for case in suite]


def test_a_suite_for_each_rule_and_a_case_for_each_finding(tmp_path: Path) -> None:
    other = replace(FINDING, code="VC004", name="overclaimed-support")
    suites = read(made_report(tmp_path, [other, FINDING, replace(FINDING, cls="vllm.a.Other")]))
    assert [(suite.name, len(suite)) for suite in suites] == [
        ("VC001 undeclared-support", 2),
        ("VC004 overclaimed-support", 1),
    ]
    case = next(iter(suites[0]))
    assert (case.classname, case.name) == ("vllm.a.Outer", "SupportsEagle3")
    assert (case._elem.get("file"), case._elem.get("line")) == ("vllm/a.py", "7")


def test_a_failure_has_the_message_and_the_chain(tmp_path: Path) -> None:
    (case,) = cases(made_report(tmp_path, [FINDING]))
    (failure,) = case.result
    assert isinstance(failure, Failure)
    assert (failure.type, failure.message) == ("error", "Outer fails")
    assert failure.text.splitlines() == [
        "vllm/a.py:7",
        "NO check: Outer fails (vllm/a.py:7)",
        "?? inner: is not known",
        "no fix: nothing can be done",
    ]


@pytest.mark.parametrize(("severity", "fails"), [("error", True), ("warning", True), ("info", False)])
def test_information_is_no_failure(tmp_path: Path, severity: Severity, fails: bool) -> None:
    (case,) = cases(made_report(tmp_path, [replace(FINDING, severity=severity)]))
    assert case.is_passed is not fails
    assert "Outer fails" in (case.result[0].message if fails else case.system_out)


def test_names_are_unique_and_do_not_depend_on_lines(tmp_path: Path) -> None:
    three = [replace(FINDING, at=Position("vllm/a.py", line)) for line in (1, 2, 3)]
    names = [case.name for case in cases(made_report(tmp_path, three))]
    assert names == ["SupportsEagle3", "SupportsEagle3 2", "SupportsEagle3 3"]


def test_hostile_text_is_text(tmp_path: Path) -> None:
    (case,) = cases(made_report(tmp_path, [HOSTILE_FINDING]))
    message = case.result[0].message
    assert "<script>alert('1')</script> &amp; ]]> \\x1b[31m \\x00 \\udcff \\ufffe @everyone #1 ü模" in message
    assert case.result[0].text.count("\n") == 3


@pytest.mark.parametrize("path", PATHS)
def test_paths(tmp_path: Path, path: str) -> None:
    (case,) = cases(made_report(tmp_path, [replace(FINDING, at=Position(path, 7))]))
    assert case._elem.get("file") == path.replace("\udcff", "\\udcff")


def test_what_was_not_read_is_skipped(tmp_path: Path) -> None:
    (suite,) = read(made_report(tmp_path, [], LOST))
    assert (suite.tests, suite.skipped, suite.failures) == (2, 2, 0)
    first, second = suite
    assert isinstance(first.result[0], Skipped)
    assert (first.name, first.result[0].message) == ("vllm/broken.py", "line 3: invalid syntax")
    assert second.result[0].message == "not a file"


def test_a_sound_tree_is_a_case_that_passes(tmp_path: Path) -> None:
    (case,) = cases(made_report(tmp_path, []))
    assert case.is_passed
    assert case.name == "no findings"


def test_paths_start_at_the_repository(tmp_path: Path) -> None:
    (case,) = cases(made_report(tmp_path / "libs", [FINDING]), Context(repository=tmp_path))
    assert case._elem.get("file") == "libs/vllm/a.py"
    assert case.result[0].text.startswith("libs/vllm/a.py:7\nNO check: Outer fails (libs/vllm/a.py:7)\n")
