"""Faults that releases of vLLM had, and that upstream repaired later: found before, gone after, and nothing instead."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from analyzer.checkout import open_checkout
from analyzer.engine import audit
from analyzer.findings import Finding
from analyzer.fix import plan_fixes, write_plan
from rules import all_rules
from tests import releases

pytestmark = pytest.mark.release


@dataclass(frozen=True)
class Fault:
    """A fault of one class.

    Args:
        contract, code, cls: of the finding.
        release: that has it.
        repaired: the first of the releases looked at that has not; empty where none.
        why: how it went.
    """

    contract: str
    code: str
    cls: str
    release: str
    repaired: str
    why: str

    @property
    def name(self) -> str:
        return f"{self.code}-{self.cls}-{self.release}"


FAULTS = [
    Fault("SupportsPP", "VC002", "AyaVisionForConditionalGeneration", "0.20.2", "0.22.1", "sets the attribute"),
    Fault("SupportsPP", "VC002", "VoxtralForConditionalGeneration", "0.20.2", "0.22.1", "sets the attribute"),
    Fault("SupportsPP", "VC002", "DotsOCRForCausalLM", "0.11.0", "0.12.0", "sets the attribute"),
    Fault(
        "SupportsPP",
        "VC002",
        "Glm5NextForCausalLM",
        "0.33.0",
        "",
        "said to be gated off, which it is not",
    ),
    Fault("SupportsPP", "VC001", "Phi4MultimodalForCausalLM", "0.12.0", "0.13.0", "the class is gone"),
    Fault("SupportsPP", "VC001", "PaddleOCRVLForConditionalGeneration", "0.33.0", "", "still so"),
    Fault("IsHybrid", "VC002", "Lfm2VLForConditionalGeneration", "0.15.1", "0.16.0", "defines the class method"),
    Fault("MixtureOfExperts", "VC001", "KimiK25ForConditionalGeneration", "0.20.2", "0.22.1", "the balancer unwraps"),
    Fault("MixtureOfExperts", "VC001", "Qwen3VLMoeForConditionalGeneration", "0.11.0", "0.12.0", "hands them on"),
    Fault("MixtureOfExperts", "VC015", "KimiLinearForCausalLM", "0.20.2", "0.22.1", "nothing asks the model any more"),
    Fault("SupportsMultiModal", "VC013", "FunASRForConditionalGeneration", "0.22.1", "0.24.0", "finds its decoder"),
    Fault("SupportsMultiModal", "VC005", "BagelForConditionalGeneration", "0.13.0", "0.14.1", "renames the method"),
    Fault("SupportsMultiModal", "VC002", "BagelForConditionalGeneration", "0.13.0", "0.14.1", "renames the method"),
    Fault("SupportsMultiModal", "VC009", "QWenBaseModel", "0.13.0", "0.15.1", "takes the contract's own"),
    Fault(
        "SupportsTranscription", "VC009", "FireRedLIDForConditionalGeneration", "0.22.1", "0.30.0", "takes the record"
    ),
    Fault("SupportsQuant", "VC018", "MiniMaxM2ForCausalLM", "0.14.1", "0.15.1", "gets a mapping"),
    Fault("SupportsQuant", "VC018", "KimiK25ForConditionalGeneration", "0.15.1", "0.16.0", "builds a registered model"),
    Fault("SupportsQuant", "VC018", "Step3p5ForCausalLM", "0.20.2", "0.22.1", "gets a mapping"),
    Fault("SupportsQuant", "VC018", "MiMoV2FlashForCausalLM", "0.20.2", "0.22.1", "gets a mapping"),
    Fault("SupportsEncoderCudaGraph", "VC009", "Gemma3ForConditionalGeneration", "0.28.0", "0.30.0", "takes the path"),
]


def found(release: str, fault: Fault) -> list[Finding]:
    findings = releases.report(release).findings
    return [f for f in findings if f.contract == fault.contract and f.cls.rpartition(".")[2] == fault.cls]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_is_found_in_the_release_that_has_it_and_gone_where_it_is_repaired(fault: Fault) -> None:
    before = [f for f in found(fault.release, fault) if f.code == fault.code]
    assert len(before) == 1
    assert before[0].gates or fault.code == "VC005"
    if fault.code in ("VC001", "VC013", "VC015"):
        assert {gate.subject for gate in before[0].gates} <= {"outer model", "class"}
    if fault.repaired:
        assert not found(fault.repaired, fault)


@pytest.mark.parametrize("release", ["0.22.1", "0.33.0"])
def test_a_load_balancer_that_unwraps_asks_no_wrapper(release: str) -> None:
    assert not [f for f in releases.report(release).findings if f.contract == "MixtureOfExperts"]
    contract = releases.report(release).contract("MixtureOfExperts")
    assert contract is not None
    assert not contract.checks


def test_a_mapping_that_names_the_end_of_a_layers_name_is_no_mismatch() -> None:
    """GLM4VForCausalLM maps "merged_proj", its inner model "linear_proj.merged_proj", to the same parts."""
    assert not [f for f in releases.report("0.15.1").findings if f.code == "VC014"]


@pytest.mark.parametrize("release", ["0.12.0", "0.16.0", "0.26.0"])
def test_a_text_model_without_any_mapping_is_found(release: str) -> None:
    (finding,) = missing(release, "KimiLinearForCausalLM")
    assert "gate_up_proj" in finding.message and "gate_proj and up_proj" in finding.message
    assert (finding.severity, finding.fix.safety) == ("info", "none")
    asked = {gate.path.rpartition("/")[2]: gate.subject for gate in finding.gates}
    assert asked == {"utils.py": "class", "bitsandbytes_loader.py": "outer model"}


def test_a_decoder_that_hands_its_mapping_on_itself_ends_that_and_its_variant_without_one_does_not() -> None:
    """From 0.28 on NVIDIA's decoder inherits SupportsQuant and names what its loader packs; AMD's has no mapping."""
    (finding,) = missing("0.28.0", "KimiLinearForCausalLM")
    assert finding.at.path == "vllm/models/kimi_k3/amd/linear.py"
    assert {model.at.path for model in releases.report("0.28.0").models if model.name == "KimiLinearForCausalLM"} == {
        "vllm/models/kimi_k3/amd/linear.py",
        "vllm/models/kimi_k3/nvidia/model.py",
    }


def test_a_layer_that_only_another_heir_names_was_left_out_on_purpose() -> None:
    """Grok-1 has no residual MLP, and the mapping of Grok-2, which has, adds its layer to that of their base."""
    assert not missing("0.16.0", "GrokBaseForCausalLM") and not missing("0.16.0", "Grok1ForCausalLM")


def test_layers_that_are_told_never_to_be_quantised_need_no_mapping() -> None:
    """Glm5Next builds its latent attention and its linear attention without, its MLP with what quantises."""
    (finding,) = missing("0.33.0", "Glm5NextForCausalLM")
    assert [link.detail.split()[-1] for link in finding.chain if link.link == "packed"] == ["gate_up_proj"]


def missing(release: str, cls: str) -> list[Finding]:
    findings = releases.report(release).findings
    return [f for f in findings if f.code == "VC018" and f.cls.rpartition(".")[2] == cls]


def test_what_the_registry_writes_down_is_a_gate_where_something_reads_it() -> None:
    report = releases.report("0.33.0")
    asked = {c.name: {g.subject for g in c.checks} for c in report.contracts}
    assert asked["SupportsPP"] == asked["IsHybrid"] == asked["HasInnerState"] == {"class"}
    assert asked["SupportsEagle3"] == {"outer model"}
    assert asked["SupportsEagle"] == asked["SupportsEagleBase"] == set()


# -- repairs ---------------------------------------------------------------------------------------

REPAIRED = [
    ("0.20.2", "SupportsPP", "AyaVisionForConditionalGeneration", "safe"),
    ("0.20.2", "SupportsPP", "VoxtralForConditionalGeneration", "unsafe"),
    ("0.33.0", "SupportsPP", "PaddleOCRVLForConditionalGeneration", "safe"),
    ("0.33.0", "HasInnerState", "Qwen3_5ForConditionalGeneration", "safe"),
    ("0.13.0", "SupportsMultiModal", "BagelForConditionalGeneration", "safe"),
]


@pytest.mark.parametrize("release", sorted({release for release, *_ in REPAIRED}))
def test_a_repaired_release_is_clean_of_what_was_repaired_and_has_nothing_new(release: str, tmp_path: Path) -> None:
    wanted = {(contract, cls): safety for of, contract, cls, safety in REPAIRED if of == release}
    before = releases.report(release).findings
    chosen = [f for f in before if f.fix.edits and (f.contract, f.cls.rpartition(".")[2]) in wanted]
    for finding in chosen:
        assert finding.fix.safety == wanted[finding.contract, finding.cls.rpartition(".")[2]]
    assert len({(f.contract, f.cls) for f in chosen}) == len(wanted)
    shutil.copytree(releases.checkout(release).package, tmp_path / "vllm")
    plan = plan_fixes(tmp_path, [f.fix for f in chosen])
    assert len(plan.applied) == len(chosen) and not plan.refused
    assert not write_plan(tmp_path, plan).refused
    assert not plan_fixes(tmp_path, [f.fix for f in chosen]).changes
    after = audit(open_checkout(tmp_path), all_rules()).findings
    known = {(f.code, f.contract, f.cls) for f in before}
    left = {(f.code, f.contract, f.cls) for f in after}
    assert left <= known
    assert not left & {(f.code, f.contract, f.cls) for f in chosen}
    for contract, cls in wanted:
        assert [f for f in after if f.contract == contract and f.cls.endswith(f".{cls}")] == []
