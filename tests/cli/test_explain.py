"""``vllm-contracts explain``: rules, and contracts as a tree has them."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from rules import all_rules
from rules._rule import Case, Rule
from tests.changed_trees import ALLOWING, DISPATCHING, NEWER, OLDER
from tests.changed_trees import report as write
from tests.cli.running import main
from tests.report_tree import make_tree

SCHEMA: dict[str, Any] = json.loads((resources.files("analyzer.report") / "explain_schema.json").read_text("utf-8"))


def record(capsys: pytest.CaptureFixture[str], *arguments: object) -> Any:
    """The JSON of a run, which has to be what the schema says."""
    status, shown, errors = main(capsys, "explain", *arguments, "--format", "json")
    assert (status, errors) == (0, "")
    found = json.loads(shown)
    assert [error.message for error in Draft202012Validator(SCHEMA).iter_errors(found)] == []
    return found


def test_the_schema_is_one_and_refuses() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    head = {"schema": 1, "tool": {"name": "vllm-contracts", "version": "1"}}
    assert Draft202012Validator(SCHEMA).is_valid({**head, "rules": []})
    assert not Draft202012Validator(SCHEMA).is_valid(head)
    assert not Draft202012Validator(SCHEMA).is_valid({**head, "rules": [{"code": "VC001"}]})


# -- rules -----------------------------------------------------------------------------------------


def test_explain_lists_every_rule(capsys: pytest.CaptureFixture[str]) -> None:
    status, shown, _ = main(capsys, "explain")
    assert status == 0
    for rule in all_rules():
        assert f"{rule.code}  {rule.name}" in shown
        assert " ".join(rule.what.split()[:3]) in shown
    assert max(map(len, shown.splitlines())) <= 80


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.code)
def test_explain_one(capsys: pytest.CaptureFixture[str], rule: Rule) -> None:
    by_code = main(capsys, "explain", rule.code.lower())
    assert by_code == main(capsys, "explain", rule.name)
    words = " ".join(by_code[1].split())
    for part in (rule.what, rule.why, rule.how):
        assert " ".join(part.split()) in words


def test_explain_shows_the_first_cases(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    rule = type(all_rules()[0])
    monkeypatch.setattr(rule, "bad", (Case("a wrapper without it", "class A:\n\n    x = 1\n", {}),))
    monkeypatch.setattr(rule, "good", (Case("a wrapper with it", "\nclass B:\n    pass\n", {}, "0.16"),))
    shown = main(capsys, "explain", rule.code)[1]
    assert shown.endswith(
        "\nReported\n  A wrapper without it, in a tree shaped as vLLM 0.33:\n\n    class A:\n\n        x = 1\n"
        "\nNot reported\n  A wrapper with it, in a tree shaped as vLLM 0.16:\n\n    class B:\n        pass\n"
    )
    markdown = main(capsys, "explain", rule.code, "--format", "markdown")[1]
    assert (
        "\n## Reported\n\nA wrapper without it, in a tree shaped as vLLM 0.33:\n\n```python\nclass A:\n\n" in markdown
    )


def test_rules_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    everything = record(capsys)["rules"]
    assert [rule["code"] for rule in everything] == [rule.code for rule in all_rules()]
    for rule in everything:
        assert any(found["code"] == rule["code"] for found in rule["bad"]["finds"])
        assert rule["good"]["finds"] == []
        compile(rule["bad"]["source"], rule["code"], "exec")
    (one,) = record(capsys, "stub-method")["rules"]
    assert one == next(rule for rule in everything if rule["name"] == "stub-method")


def test_rules_as_a_table_of_markdown(capsys: pytest.CaptureFixture[str]) -> None:
    lines = main(capsys, "explain", "--format", "markdown")[1].splitlines()
    assert lines[:2] == ["| code | name | severity | what it reports |", "| --- | --- | --- | --- |"]
    assert len(lines) == 2 + len(all_rules())


# -- contracts -------------------------------------------------------------------------------------


@pytest.fixture
def new_tree(tmp_path: Path) -> Path:
    write(tmp_path / "new", **{**NEWER, "config": ALLOWING, "proposer": DISPATCHING})
    return tmp_path / "new"


@pytest.fixture
def old_tree(tmp_path: Path) -> Path:
    write(tmp_path / "old", **OLDER)
    return tmp_path / "old"


def test_a_contract(capsys: pytest.CaptureFixture[str], new_tree: Path) -> None:
    status, shown, errors = main(capsys, "explain", "--contract", "SupportsEagle3", new_tree)
    assert (status, errors) == (0, "")
    assert max(map(len, shown.splitlines())) <= 80
    lines = [line.strip() for line in shown.splitlines()]
    assert lines[:4] == [
        "SupportsEagle3 in vLLM 0.33.0",
        "defined  vllm/model_executor/models/interfaces.py:9",
        "tested by supports_eagle3, by isinstance",
        "a wrapper has to hand it on to its inner model",
    ]
    words = " ".join(shown.split())
    assert "models: 3 works, 1 broken, 1 undeclared, 1 unsupported" in words
    for part in (
        "set_aux_hidden_state_layers(self, layers: tuple[int, ...]) -> None, a working default vllm/",
        'set_up asks the outer model: supports_eagle3(self.get_model()), else "RuntimeError: Model cannot have EAGLE3',
        "self.target.hf_text_config.model_type has to hold one of plain, bare, else",
        "load compares the class's name with strings",
        "every other class: reads image_token_index",
        "VC005: PlainForCausalLM.get_eagle3_aux_hidden_state_layers is left from another generation",
    ):
        assert part in words, part


def test_what_changed_since_an_older_tree(capsys: pytest.CaptureFixture[str], new_tree: Path, old_tree: Path) -> None:
    shown = main(capsys, "explain", "--contract", "SupportsEagle3", new_tree, "--since", old_tree)[1]
    words = " ".join(shown.partition("Since vLLM 0.17.0")[2].split())
    assert "renamed from get_eagle3_aux_hidden_state_layers (same signature, similar name)" in words
    same = main(capsys, "explain", "--contract", "SupportsEagle3", new_tree, "--since", new_tree)[1]
    assert same.endswith("Since vLLM 0.33.0\n  The contract and who asks for it are the same.\n")


def test_the_contracts_of_a_tree(capsys: pytest.CaptureFixture[str], new_tree: Path) -> None:
    listed = main(capsys, "explain", "--contract", new_tree)
    assert listed[0] == 0
    words = " ".join(listed[1].split())
    assert words == (
        "The contracts of vLLM 0.33.0 SupportsEagle3 supports_eagle3; 2 methods, 0 stubs; 3 gates; wrappers hand it on"
    )


@pytest.mark.parametrize("arguments", [["--contract", "--release", "0.33.0"], ["--contract", "0.33.0"]])
def test_of_a_release(capsys: pytest.CaptureFixture[str], tmp_path: Path, arguments: list[str]) -> None:
    make_tree(tmp_path / "cache" / "releases" / "0.33.0")
    status, shown, errors = main(capsys, "explain", *arguments)
    assert (status, errors) == (0, "")
    assert "SupportsEagle3" in shown


def test_contracts_for_programs(capsys: pytest.CaptureFixture[str], new_tree: Path, old_tree: Path) -> None:
    found = record(capsys, "--contract", "SupportsEagle3", new_tree, "--since", old_tree)
    assert found["checkout"]["vllm_version"] == "0.33.0"
    (contract,) = found["contracts"]
    assert [m["default"] for m in contract["methods"]] == ["working", "working"]
    assert [g["checks"] for g in contract["gates"]] == [True, False, False]
    assert contract["allow_lists"][0]["items"] == ["plain", "bare"]
    assert contract["name_gates"][0]["arms"][0]["names"] == ["SoundVL", "LackingVL"]
    assert [x["code"] for x in contract["left_over"]] == ["VC005"]
    assert contract["verdicts"]["works"] == 3
    assert contract["since"]["change"]["methods"][0]["kinds"] == ["renamed", "default"]
    assert record(capsys, "--contract", new_tree)["contracts"][0]["since"] is None


def test_a_contract_as_markdown(capsys: pytest.CaptureFixture[str], new_tree: Path) -> None:
    shown = main(capsys, "explain", "--contract", "SupportsEagle3", new_tree, "--format", "markdown")[1]
    assert shown.startswith(
        "# `SupportsEagle3` in vLLM `0.33.0`\n\n- defined (`vllm/model_executor/models/interfaces.py:9`)\n"
    )
    assert "\n## Methods\n\n- method `set_aux_hidden_state_layers(self, layers: tuple[int, ...]) -> None`, " in shown


FAILURES = [
    ("explain VC999", "no rule is called VC999"),
    ("explain --release 0.33.0", "--release and --since go with --contract"),
    ("explain VC001 --since 0.33.0", "--release and --since go with --contract"),
    ("explain --contract SupportsEagle3 {tree} --release 0.33.0", "give one of PATH and --release"),
    ("explain --contract --since {tree}", "--since goes with --contract NAME"),
    ("explain --contract SupportsEagle {tree}", "the tree does not have a contract SupportsEagle; did you mean"),
    ("explain --contract SupportsEagle3 {tree}/nowhere", "no such folder, and no release number"),
    ("explain --contract {tree}/nowhere", "no such folder, and no release number"),
    ("explain --contract SupportsEagle3 {tree} --since nowhere", "--since: nowhere: no such folder"),
]


@pytest.mark.parametrize(("arguments", "said"), FAILURES, ids=[a for a, _ in FAILURES])
def test_a_failure_is_one_clear_line(capsys: pytest.CaptureFixture[str], tree: Path, arguments: str, said: str) -> None:
    status, shown, errors = main(capsys, *arguments.format(tree=tree).split())
    assert (status, shown) == (2, "")
    assert said in errors
    assert errors.count("\n") == 1
