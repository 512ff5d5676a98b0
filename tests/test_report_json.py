"""The report for programs: what is in it, and that it is what its schema says."""

from __future__ import annotations

import copy
import json as json_module
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from analyzer.checkout import open_checkout
from analyzer.engine import audit
from analyzer.records import Report
from analyzer.report import json
from rules import all_rules
from tests import releases
from tests.report_tree import FILES, WRAPPERS, make_tree

Record = dict[str, Any]
SCHEMA: Record = json_module.loads((resources.files("analyzer.report") / "schema.json").read_text("utf-8"))
VALIDATOR = Draft202012Validator(SCHEMA)


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    return audit(open_checkout(make_tree(tmp_path_factory.mktemp("tree"))), all_rules())


@pytest.fixture
def record(report: Report) -> Record:
    return json_module.loads(json.render(report))  # type: ignore[no-any-return]


def problems(record: Record) -> list[str]:
    return [f"{error.json_path}: {error.message}" for error in VALIDATOR.iter_errors(record)]


def test_the_schema_is_one() -> None:
    Draft202012Validator.check_schema(SCHEMA)


def test_the_report_is_what_the_schema_says(record: Record) -> None:
    assert problems(record) == []


@pytest.mark.release
@pytest.mark.parametrize("version", ["0.16.0", "0.33.0"])
def test_the_report_of_a_release_is_what_the_schema_says(version: str) -> None:
    report = releases.report(version)
    record = json_module.loads(json.render(report))
    assert problems(record) == []
    assert record["checkout"]["vllm_version"] == version
    places = [*record["findings"], *record["models"], *(x for f in record["findings"] for x in f["chain"])]
    for path in {place["path"] for place in places if place["path"]}:
        assert (report.checkout.root / path).is_file(), path
    static = [i for m in record["models"] for i in m["inner"] if i["resolution"] == "static"]
    assert sum(i["decoder"] is not None for i in static) > len(static) / 2


DAMAGES: dict[str, tuple[list[str | int], object]] = {
    "another schema": (["schema"], 2),
    "no checkout": (["checkout"], None),
    "a verdict that there is not": (["models", 0, "contracts", "SupportsEagle3", "verdict"], "fine"),
    "satisfied left open": (["models", 0, "contracts", "SupportsEagle3", "satisfied"], None),
    "an absolute path": (["findings", 0, "path"], "/tmp/vllm/a.py"),
    "a path with backslashes": (["findings", 0, "path"], "vllm\\a.py"),
    "a finding on no line": (["findings", 0, "line"], 0),
    "a class without its module": (["models", 0, "class"], "PlainForCausalLM"),
    "a fix as an object": (["findings", 0, "fix"], {"safety": "safe"}),
    "a link that is neither": (["findings", 0, "chain", 0, "ok"], "yes"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_the_schema_refuses(record: Record, damage: str) -> None:
    path, value = DAMAGES[damage]
    at: Any = record
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    assert len(problems(record)) == 1


@pytest.mark.parametrize("where", ["", "models", "findings", "contracts"])
def test_the_schema_requires_every_field_that_programs_read(record: Record, where: str) -> None:
    optional = {"fix_summary", "fix_why_unsafe", "builds_inner"}
    sample: Record = record[where][0] if where else record
    for name in set(sample) - optional:
        damaged = copy.deepcopy(record)
        del (damaged[where][0] if where else damaged)[name]
        assert problems(damaged), f"{name} may be missing"


def test_models(record: Record) -> None:
    plain = "vllm.model_executor.models.plain"
    shown = {
        m["class"].rpartition(".")[2]: (
            m["role"],
            [(i["attribute"], i["class"], i["resolution"], i["decoder"], i["line"]) for i in m["inner"]],
            m["contracts"]["SupportsEagle3"]["declared"],
            m["contracts"]["SupportsEagle3"]["satisfied"],
            m["contracts"]["SupportsEagle3"]["verdict"],
        )
        for m in record["models"]
    }
    inner = ("language_model", f"{plain}.PlainForCausalLM", "static", f"{plain}.PlainModel")
    assert shown == {
        "PlainForCausalLM": ("text", [], True, True, "works"),
        "BareForCausalLM": ("text", [], False, False, "unsupported"),
        "LackingVL": ("wrapper", [(*inner, 18)], False, False, "undeclared"),
        "SoundVL": ("wrapper", [(*inner, 26)], True, True, "works"),
        "BoastfulVL": (
            "wrapper",
            [("language_model", f"{plain}.BareForCausalLM", "static", None, 34)],
            True,
            True,
            "broken",
        ),
        "ChosenVL": ("wrapper", [("language_model", None, "config", None, 43)], False, False, "undeclared"),
    }
    assert record["models"][-1]["inner"][0]["reason"] == "the checkpoint's config.text_config chooses it"
    assert record["models"][0]["architectures"] == ["PlainForCausalLM", "PlainTextForCausalLM"]


def test_contracts(record: Record) -> None:
    (contract,) = record["contracts"]
    assert (contract["name"], contract["checker"], contract["check"]) == (
        "SupportsEagle3",
        "supports_eagle3",
        "isinstance",
    )
    assert contract["methods"][0] == {
        "name": "set_aux_hidden_state_layers",
        "signature": "(self, layers: tuple[int, ...]) -> None",
        "default": "working",
    }


def test_findings(record: Record) -> None:
    lacking = record["findings"][0]
    assert (lacking["code"], lacking["class"], lacking["fix"], lacking["severity"]) == (
        "VC001",
        "vllm.model_executor.models.wrappers.LackingVL",
        "safe",
        "error",
    )
    assert (lacking["path"], lacking["line"], lacking["column"]) == (WRAPPERS, 15, 1)
    assert lacking["builds_inner"] == {"path": WRAPPERS, "line": 18, "column": 31}
    assert [(x["link"], x["ok"]) for x in lacking["chain"][:3]] == [("gate", True), ("check", False), ("inner", True)]
    assert lacking["gates"][0] == {"path": "vllm/v1/runner.py", "line": 6, "subject": "outer model"}
    chosen = record["findings"][-1]
    assert (chosen["fix"], chosen["confidence"]) == ("unsafe", "config-dependent")
    assert chosen["fix_why_unsafe"]
    assert [x["ok"] for x in chosen["chain"] if x["link"] == "inner"] == [None]


def test_what_could_not_be_decided_is_false_and_unknown(tmp_path: Path) -> None:
    plain = FILES["vllm/model_executor/models/plain.py"].replace("nn.Module, SupportsEagle3", "elsewhere.Base")
    checkout = open_checkout(make_tree(tmp_path, plain=plain.replace("from torch", "import elsewhere\nfrom torch")))
    record = json.to_dict(audit(checkout, all_rules()))
    assert problems(record) == []
    status = record["models"][0]["contracts"]["SupportsEagle3"]
    assert (status["satisfied"], status["verdict"]) == (False, "unknown")
    assert status["reason"]


def test_diagnostics_are_part_of_it(tmp_path: Path) -> None:
    checkout = open_checkout(make_tree(tmp_path, plain="def broken(:\n"))
    record = json.to_dict(audit(checkout, all_rules()))
    assert problems(record) == []
    lost = {d["path"] for d in record["diagnostics"]}  # the file, and the architectures that it would have served
    assert lost == {"vllm/model_executor/models/plain.py", "vllm/model_executor/models/registry.py"}


def test_it_is_the_same_every_time_in_ascii_and_one_line_an_item(tmp_path: Path) -> None:
    text = FILES[WRAPPERS].replace("LackingVL", "LückenVL")
    registry = FILES["vllm/model_executor/models/registry.py"].replace("LackingVL", "LückenVL")
    root = make_tree(tmp_path, wrappers=text, registry=registry)
    first, second = (json.render(audit(open_checkout(root), all_rules())) for _ in range(2))
    assert first == second
    assert first.isascii()
    lines = first.splitlines()
    assert sum(line.startswith('  {"class": ') for line in lines) == 6
    assert any("L\\u00fcckenVL" in line and line.startswith('  {"code": "VC001"') for line in lines)
