"""Packages on PyPI whose models stand outside vLLM, each with a release that it is made for.

What is expected was read in the packages' sources and in vLLM's.  Of the first one, ``vllm-contracts verify`` confirmed
46 findings of 61 with the sources of vLLM 0.30.0 on CPU torch 2.13, and contradicted none: all of VC004, VC007, VC009
and VC011, those of VC002 that are about methods, and all of VC001 but one whose forward does not run without weights.
"""

from __future__ import annotations

from collections import Counter

import pytest

from analyzer.fix import plan_fixes
from analyzer.packages import VLLM
from analyzer.records import ModelRecord, Report
from tests import releases

pytestmark = pytest.mark.release

OMNI, MERALION, SPARK = ("vllm-omni", "0.30.0"), ("vllm-plugin-meralion2", "0.3.0"), ("vllm-spark2-5-plugin", "0.1.0")


def serving(report: Report) -> dict[str, ModelRecord]:
    return {architecture: model for model in report.models for architecture in model.architectures}


# -- vllm-omni: a table of 92 architectures, many of them wrappers, some of vLLM's own names ---------

SAFE, UNSAFE, NONE = "safe", "unsafe", "none"
EXPECTED: dict[str, dict[str, str]] = {
    # SupportsEagle3.  The inner model is named in the source and passes the checker in vLLM 0.30.0; none of these
    # classes, or of their bases, has SupportsEagle3.
    "VC001": {
        "NemotronHAudexForConditionalGeneration": SAFE,  # _LM_ARCHITECTURE, which the base sets to another
        "OmniBagelForConditionalGeneration": SAFE,  # inherits from vLLM's own, which lacks it too
        "CovoAudioLLMForConditionalGeneration": SAFE,
        "GepardTalkerForConditionalGeneration": SAFE,  # as self.model, where no default of the contract reaches
        "NemotronVoiceChatThinkerForConditionalGeneration": SAFE,
        "Qwen2_5OmniThinkerForConditionalGeneration": SAFE,
        "MammothModa2ForConditionalGeneration": UNSAFE,  # the configuration's architectures
        "MiniCPMO45OmniLLMForConditionalGeneration": UNSAFE,
        "StepAudio2ThinkerForConditionalGeneration": UNSAFE,
        "MiMoAudioLLMForConditionalGeneration": NONE,  # its forward uses the decoder's result as a tensor
        "Qwen3OmniMoeTalkerForConditionalGeneration": NONE,  # the decoder has a forward of its own without capture
        "Qwen3OmniMoeThinkerForConditionalGeneration": NONE,
    },
    # SupportsMRoPE among the bases, and no get_mrope_input_positions; SupportsPP among them, and nothing in the class
    # or its bases that sets make_empty_intermediate_tensors.
    "VC002": {
        "MiniCPMO45OmniForConditionalGeneration": NONE,
        "MiniCPMO45OmniLLMForConditionalGeneration": NONE,
        "CovoAudioCode2WavForConditionalGeneration": NONE,
        "MiMoAudioToken2WavForConditionalGenerationVLLM": NONE,
    },
    # Heirs of vLLM's Qwen2.5-VL and Qwen3-VL, which have the contract, around text models of the package, which do not.
    "VC004": {"MammothModa2ARForConditionalGeneration": NONE, "MammothModa2Qwen3ARForConditionalGeneration": NONE},
    "VC007": {"Qwen3OmniMoeModel": NONE, "Qwen3MoeLLMForCausalLM": NONE},
    # A required keyword, hf_config, that the contract does not give.
    "VC009": {"AuKForConditionalGeneration": NONE, "Qwen2_5OmniForConditionalGeneration": NONE},
    # vLLM's Qwen2Model or Qwen3Model (or HunyuanModel) at self.model, which capture.
    "VC011": {
        "Audio8TTSSlowARForConditionalGeneration": SAFE,
        "BreezeForConditionalGeneration": SAFE,
        "FishSpeechSlowARForConditionalGeneration": SAFE,
        "MossTTSDelayTalkerForGeneration": SAFE,
        "MossTTSRealtimeTalkerForGeneration": SAFE,
        "MossTTSLocalTalkerForGeneration": SAFE,
        "Qwen3TTSTalkerForConditionalGeneration": SAFE,
        "HiggsAudioV3TalkerForConditionalGeneration": UNSAFE,
        "HunyuanImage3ForConditionalGeneration": UNSAFE,
        "MiniMaxMusic3TalkerForConditionalGeneration": UNSAFE,
        "MingLLMModel": NONE,  # its forward uses the decoder's result as a tensor
    },
    # Built around vLLM's bare decoders, past the classes that have their mappings.
    "VC018": dict.fromkeys(
        (
            "Audio8TTSSlowARForConditionalGeneration",
            "BreezeForConditionalGeneration",
            "CosyVoice3Model",
            "FishSpeechSlowARForConditionalGeneration",
            "HiggsAudioV3TalkerForConditionalGeneration",
            "MammothModa2Qwen2ForCausalLM",
            "MammothModa2Qwen3ForCausalLM",
            "MingLLMModel",
            "MiniCPMO45OmniTTSForConditionalGeneration",
            "MiniMaxMusic3TalkerForConditionalGeneration",
            "MossTTSDelayTalkerForGeneration",
            "MossTTSRealtimeTalkerForGeneration",
            "MossTTSLocalTalkerForGeneration",
            "Qwen3TTSTalkerForConditionalGeneration",
        ),
        NONE,
    ),
}


@pytest.fixture(scope="module")
def omni() -> Report:
    return releases.plugin_report(*OMNI, "0.30.0")


@pytest.mark.parametrize("code", EXPECTED)
def test_omni_findings(omni: Report, code: str) -> None:
    told = [f for f in omni.findings if f.code == code and (code != "VC001" or f.contract == "SupportsEagle3")]
    assert {f.cls.rpartition(".")[2]: f.fix.safety for f in told} == EXPECTED[code]


OWED = {
    # Bases without any of them, around Qwen3_5ForCausalLM, Gemma3ForCausalLM and NemotronHForCausalLM.
    "SupportsPP": {
        "GepardTalkerForConditionalGeneration",
        "NemotronVoiceChatTalkerForConditionalGeneration",
        "NemotronVoiceChatThinkerForConditionalGeneration",
    },
    # The thinker around NemotronHForCausalLM has both of these bases, this one has neither.
    "IsHybrid": {"GepardTalkerForConditionalGeneration"},
    "HasInnerState": {"GepardTalkerForConditionalGeneration"},
}


@pytest.mark.parametrize("contract", OWED)
def test_omni_contracts_that_are_no_matter_of_the_decoder(omni: Report, contract: str) -> None:
    found = {f.cls.rpartition(".")[2] for f in omni.findings if (f.code, f.contract) == ("VC001", contract)}
    assert found == OWED[contract]


def test_omni_adapters_are_for_information(omni: Report) -> None:
    found = [f for f in omni.findings if f.contract == "SupportsLoRA"]
    assert len(found) == 11
    assert {(f.code, f.severity, f.fix.safety) for f in found} == {("VC001", "info", NONE)}


def test_omni_classes_that_the_proposer_does_not_know(omni: Report) -> None:
    """Multimodal models that pass the check, or would once repaired, and are in no list of names in vLLM."""
    found = [f for f in omni.findings if f.code == "VC012"]
    assert len(found) == 12
    assert {f.fix.safety for f in found} == {NONE}  # the lists stand in vLLM
    assert {f.code for f in omni.findings} == {*EXPECTED, "VC012"}


def test_omni_registers_what_its_table_has(omni: Report) -> None:
    """As Python reads the table: 92 rows, some of them for names that vLLM has too."""
    source = (releases.package(*OMNI) / "vllm_omni/model_executor/models/registry.py").read_text()
    names: dict[str, dict[str, tuple[str, str, str]]] = {}
    exec(source[source.index("_OMNI_MODELS = {") : source.index("_VLLM_OMNI_MODELS")], None, names)
    table = names["_OMNI_MODELS"]
    served = serving(omni)
    assert len(table) == 92
    assert set(served) == set(table)
    homes = {a: f"vllm_omni.model_executor.models.{folder}.{module}" for a, (folder, module, _) in table.items()}
    assert {a: model.cls.rpartition(".")[0] for a, model in served.items()} == homes
    assert not omni.diagnostics
    assert set(served) & set(serving(releases.report("0.30.0")))  # it takes the place of some of vLLM's


def test_omni_inner_models(omni: Report) -> None:
    """Those of vLLM, those of the package, and those that the configuration chooses."""
    inner = {
        m.name: [(i.attribute, i.cls and i.cls.rpartition(".")[0], i.resolution) for i in m.inner] for m in omni.models
    }
    models, ours = "vllm.model_executor.models", "vllm_omni.model_executor.models"
    assert inner["CovoAudioLLMForConditionalGeneration"] == [("llm", f"{models}.qwen2", "static")]
    assert inner["GepardTalkerForConditionalGeneration"] == [("model", f"{models}.qwen3_5", "static")]
    assert inner["Qwen2_5OmniTalkerForConditionalGeneration"] == [
        ("language_model", f"{ours}.qwen2_5_omni.qwen2_old", "static")
    ]
    assert inner["AuKForConditionalGeneration"] == [("thinker", f"{ours}.qwen2_5_omni.qwen2_5_omni_thinker", "static")]
    assert inner["StepAudio2ThinkerForConditionalGeneration"] == [("language_model", None, "config")]
    roles = Counter(m.role for m in omni.models)
    assert roles["wrapper"] >= 25
    assert not [i for m in omni.models for i in m.inner if i.resolution == "unresolved"]


def test_omni_verdicts_are_known_but_for_a_few(omni: Report) -> None:
    unknown = [m.name for m in omni.models if m.statuses["SupportsEagle3"].verdict == "unknown"]
    assert len(unknown) <= 6 < 0.08 * len(omni.models)
    assert omni.files_seen > 1600


def test_omni_findings_are_its_own(omni: Report) -> None:
    assert all(f.at.path.startswith("vllm_omni/model_executor/") for f in omni.findings)
    gates = {link.path for f in omni.findings for link in f.chain if link.link == "gate"}
    assert gates and all(path.startswith(f"{VLLM}vllm/") for path in gates)


def test_omni_safe_fixes_can_be_carried_out(omni: Report) -> None:
    fixes = [f.fix for f in omni.findings if f.fix.safety == SAFE]
    plan = plan_fixes(omni.checkout.root, fixes)
    assert [reason.rpartition(" (")[0] for _, reason in plan.refused] == [
        "vllm_omni/model_executor/models/nemotron_voicechat/nemotron_voicechat_talker.py: "
        "__init__ sets self.backbone in a branch"
    ]
    assert len(plan.applied) == len(fixes) - 1 == 16
    for change in plan.changes:
        compile(change.after, change.path, "exec")
        assert b"from vllm.model_executor.models.interfaces import" in change.after


# -- vllm-plugin-meralion2: a class, fetched by name --------------------------------------------------


@pytest.mark.parametrize("vllm", ["0.12.0", "0.16.0"])
def test_meralion(vllm: str) -> None:
    """One wrapper around vLLM's Gemma-2, at ``text_decoder``; neither has auxiliary states, both have SupportsPP, and
    the inner one takes adapters."""
    report = releases.plugin_report(*MERALION, vllm)
    assert [(f.code, f.contract, f.severity) for f in report.findings] == [("VC001", "SupportsLoRA", "info")]
    assert not report.diagnostics
    (model,) = report.models
    assert model.cls == "vllm_plugin_meralion2.vllm0101.MERaLiON2ForConditionalGeneration"
    assert model.architectures == ("MERaLiON2ForConditionalGeneration",)
    assert [(i.attribute, i.cls, i.resolution) for i in model.inner] == [
        ("text_decoder", "vllm.model_executor.models.gemma2.Gemma2ForCausalLM", "static")
    ]
    verdicts = {name: status.verdict for name, status in model.statuses.items()}
    assert verdicts["SupportsMultiModal"] == verdicts["SupportsPP"] == "works"
    assert verdicts["SupportsEagle3"] == verdicts["SupportsMRoPE"] == "unsupported"
    assert verdicts["SupportsLoRA"] == "undeclared"


# -- vllm-spark2-5-plugin: a text model, by a name that is put together -------------------------------


def test_spark() -> None:
    """A text model with a decoder of its own, which does not capture; pipeline parallelism is all that it declares."""
    report = releases.plugin_report(*SPARK, "0.33.0")
    assert not report.findings
    assert not report.diagnostics
    (model,) = report.models
    assert (model.cls, model.architectures) == (
        "vllm_spark2_5_plugin.spark2_5.Spark2_5ForCausalLM",
        ("Spark2_5ForCausalLM",),
    )
    assert (model.role, model.inner) == ("text", ())
    working = {name for name, status in model.statuses.items() if status.verdict == "works"}
    assert working == {"SupportsPP"}
    assert not {s.verdict for s in model.statuses.values()} - {"works", "unsupported"}
