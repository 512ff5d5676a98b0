"""What is known of vLLM's history, as the comparison of two releases tells it."""

from __future__ import annotations

import json
from functools import cache

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from analyzer.changes import Changes, compare
from analyzer.changes.records import ContractChange, SupportChange
from analyzer.report import changes_json
from tests import releases
from tests.changed_trees import shown
from tests.test_changes_report import SCHEMA

pytestmark = pytest.mark.release


@cache
def between(old: str, new: str) -> Changes:
    return compare(releases.report(old), releases.report(new))


def contract(changes: Changes, name: str) -> ContractChange:
    (found,) = [c for c in changes.contracts if c.name == name]
    return found


def support(changes: Changes, name: str, contract: str = "SupportsEagle3") -> SupportChange:
    (found,) = [s for s in changes.support if (s.contract, s.new.name) == (contract, name)]
    return found


def test_0_18_renamed_the_getter_and_gave_both_methods_defaults() -> None:
    found = contract(between("0.16.0", "0.18.1"), "SupportsEagle3")
    setter, getter = found.methods
    assert setter.kinds == ("default",)
    assert getter.kinds == ("renamed", "default")
    assert getter.evidence == ("same signature", "similar name", "called at the same place")
    assert getter.old is not None and getter.new is not None
    assert (getter.old.name, getter.old.default, getter.old.at.line) == (
        "get_eagle3_aux_hidden_state_layers", "stub", 1308)  # fmt: skip
    assert (getter.new.name, getter.new.default, getter.new.at.line) == (
        "get_eagle3_default_aux_hidden_state_layers", "working", 1361)  # fmt: skip


def test_0_18_has_a_second_runner_that_asks_and_a_longer_allow_list() -> None:
    found = contract(between("0.16.0", "0.18.1"), "SupportsEagle3")
    assert {g.kinds for g in found.gates} == {("added",)}
    assert {g.new.at.path for g in found.gates if g.new} == {"vllm/v1/worker/gpu/spec_decode/eagle/eagle3_utils.py"}
    (allowed,) = found.allow_lists
    assert allowed.added == ("nemotron_h", "deepseek_v2", "deepseek_v3", "kimi_k2", "kimi_k25")
    assert not allowed.removed


def test_0_18_supports_more_and_the_reason_is_a_link() -> None:
    found = between("0.16.0", "0.18.1")
    wrapper = support(found, "KimiK25ForConditionalGeneration")
    assert (wrapper.direction, wrapper.old_status.verdict, wrapper.new_status.verdict) == (
        "gained", "unsupported", "works")  # fmt: skip
    assert [(r.link, r.text) for r in wrapper.reasons] == [
        ("check", "inherits SupportsEagle3 now"),
        ("inner-check", "its inner model DeepseekV2ForCausalLM passes supports_eagle3 now"),
        ("capture", "DeepseekV2Model.forward collects the auxiliary states and returns them"),
    ]
    heir = support(found, "DeepseekV3ForCausalLM")
    assert heir.reasons[0].text == "inherits SupportsEagle3 through DeepseekV2ForCausalLM now"
    half = support(found, "KimiVLForConditionalGeneration")
    assert (half.direction, half.new_status.verdict) == ("changed", "undeclared")
    assert half.reasons[0].link == "inner-check"


def test_0_18_left_methods_of_the_old_name_behind() -> None:
    stale = [f for f in between("0.16.0", "0.18.1").new_findings if f.finding.code == "VC005"]
    names = {f.finding.cls.rpartition(".")[2] for f in stale}
    assert {"DeepseekV2ForCausalLM", "KimiK25ForConditionalGeneration"} <= names


def test_0_22_has_no_allow_list_any_more() -> None:
    found = between("0.20.2", "0.22.1")
    (allowed,) = contract(found, "SupportsEagle3").allow_lists
    assert allowed.new is None
    assert allowed.old is not None and allowed.old.at.path == "vllm/config/speculative.py"
    assert "llama" in allowed.removed
    gone = {f.finding.code for f in found.gone_findings}
    assert "VC008" in gone
    assert not [f for f in found.new_findings if f.finding.code == "VC008"]
    text = " ".join(shown(found, "text").split())
    assert "- allow-list of self.target_model_config.hf_text_config.model_type: llama, qwen," in text


def test_0_22_asks_in_another_function_and_unwraps_for_the_load_balancer() -> None:
    found = between("0.20.2", "0.22.1")
    gates = contract(found, "SupportsEagle3").gates
    assert {g.kinds for g in gates} == {("moved",)}
    assert {(g.old.function, g.new.function) for g in gates if g.old and g.new} == {
        ("load_model", "_setup_eagle3_aux_hidden_state_outputs")
    }
    experts = [g for g in contract(found, "MixtureOfExperts").gates if "subject" in g.kinds]
    assert {(g.old.subject, g.new.subject) for g in experts if g.old and g.new} == {("outer model", "unwrapped")}


def test_a_model_of_one_class_became_one_for_each_platform() -> None:
    found = between("0.20.2", "0.22.1")
    moved = [a for a in found.moved if a.architectures == ("DeepseekV4ForCausalLM",)]
    assert len({a.new.cls for a in moved if a.new}) == len(moved) == 2
    assert len({a.old.cls for a in moved if a.old}) == 1


@pytest.mark.parametrize(("old", "new"), [("0.16.0", "0.18.1"), ("0.20.2", "0.22.1"), ("0.22.1", "0.20.2")])
def test_the_record_is_what_the_schema_says(old: str, new: str) -> None:
    record = json.loads(changes_json.render(between(old, new)))
    assert [error.message for error in Draft202012Validator(SCHEMA).iter_errors(record)] == []


def test_a_release_does_not_differ_from_itself() -> None:
    found = compare(releases.report("0.22.1"), releases.report("0.22.1"))
    assert not found.differs
    assert found.unchanged_findings == len(releases.report("0.22.1").findings)
