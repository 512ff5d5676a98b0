"""Traces of names and of checkpoints, on the fixture trees and on real releases."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from analyzer import asked
from analyzer.checkpoint import MISSING, Checkpoint, read_checkpoint
from analyzer.commands.tree import Tree as CachedTree
from analyzer.problems import InputError
from analyzer.records import Report
from analyzer.report import trace as report_trace
from analyzer.trace import Trace, layers_link, trace
from tests import releases
from tests.fixture_trees import FIXTURES, Trees, all_cases

CONTRACT = "SupportsEagle3"
CHECKPOINTS = FIXTURES / "checkpoints"
DATA = Path(__file__).parent / "data"
GOLDEN = FIXTURES / "golden" / "traces"


def of_name(report: Report, name: str) -> Trace:
    contract = report.contract(CONTRACT)
    assert contract is not None
    return trace(report, contract, name, asked.named(report, name).models)


def of_checkpoint(version: str, name: str, draft: str = "") -> Trace:
    checkout, report = releases.checkout(version), releases.report(version)
    contract = report.contract(CONTRACT)
    assert contract is not None
    checkpoint = read_checkpoint(CHECKPOINTS / f"{name}.json", asked.aliases_of(checkout))
    layers = asked.drafted_layers(read_checkpoint(CHECKPOINTS / f"{draft}.json"), checkout) if draft else None
    found = asked.of_checkpoint(checkout, report, contract, checkpoint, layers)
    return trace(report, contract, name, found.models, statuses=found.statuses, extra=found.extra, facts=found.facts)


def links(found: Trace, *kinds: str) -> list[str]:
    return [x.detail for x in found.paths[0].links if x.link in kinds]


def broken(found: Trace) -> list[str]:
    return [x.link for x in found.paths[0].links if x.ok is False]


# -- real releases ---------------------------------------------------------------------------------


@pytest.mark.release
def test_the_story_of_a_release_that_lacked_everything() -> None:
    """0.16.0: the list refuses, the wrapper that the runner asks declares nothing, and the decoder collects nothing."""
    found = of_checkpoint("0.16.0", "kimi_k25")
    assert found.answer == "fails"
    assert broken(found) == ["allow-list", "check", "inner-check", "method", "method", "capture"]
    assert links(found, "gate") == ["asks the outer model: supports_eagle3(self.get_model())"]
    assert links(found, "inner") == ["self.language_model is built as DeepseekV2ForCausalLM"]
    assert "kimi_k2" in links(found, "allow-list")[0]


@pytest.mark.release
def test_the_same_model_works_today_with_a_stale_method_noted() -> None:
    found = of_checkpoint("0.33.0", "kimi_k25")
    assert (found.answer, found.why) == ("works", "")
    assert [note.code for note in found.notes] == ["VC005"]
    assert links(found, "layers") == ["layers unless the drafter names others: 2, 30, 58, of 61 layers"]


FAMILIES: dict[tuple[str, str], tuple[str, str, str, str]] = {
    # (checkpoint, release): (answer, first broken link, inner model, default layers)
    ("llama", "0.16.0"): ("works", "", "", "2, 16, 29"),
    ("llama", "0.33.0"): ("works", "", "", "2, 16, 29"),
    ("qwen3_moe_quantised", "0.33.0"): ("works", "", "", "2, 24, 45"),
    ("qwen3_without_architectures", "0.16.0"): ("depends", "", "", "2, 18, 33"),
    ("llava", "0.16.0"): ("works", "", "LlamaForCausalLM", "2, 16, 29"),
    ("llava", "0.33.0"): ("works", "", "LlamaForCausalLM", "2, 16, 29"),
    ("llava_next_without_text_architecture", "0.16.0"): ("fails", "allow-list", "MistralForCausalLM", ""),
    ("llava_next_without_text_architecture", "0.33.0"): ("fails", "check", "MistralForCausalLM", "2, 20, 37"),
    ("internvl_llm_config", "0.16.0"): ("fails", "check", "Qwen3ForCausalLM", ""),
    ("internvl_llm_config", "0.33.0"): ("fails", "check", "Qwen3ForCausalLM", "2, 18, 33"),
    ("deepseek_vl2_language_config", "0.33.0"): ("fails", "check", "DeepseekV2ForCausalLM", ""),
    ("mistral3", "0.16.0"): ("fails", "allow-list", "MistralForCausalLM", "2, 20, 37"),
    ("mistral3", "0.33.0"): ("works", "", "MistralForCausalLM", "2, 20, 37"),
    ("gemma3", "0.16.0"): ("fails", "allow-list", "Gemma3ForCausalLM", ""),
    ("gemma3", "0.33.0"): ("fails", "check", "Gemma3ForCausalLM", ""),
    ("qwen2_vl_flat", "0.33.0"): ("fails", "check", "Qwen2ForCausalLM", "2, 14, 25"),
    ("qwen2_5_omni_thinker", "0.33.0"): ("fails", "check", "Qwen2ForCausalLM", "2, 14, 25"),
    ("llama4", "0.16.0"): ("works", "", "Llama4ForCausalLM", "2, 24, 45"),
    ("llama4", "0.33.0"): ("works", "", "Llama4ForCausalLM", "2, 24, 45"),
    ("ultravox", "0.33.0"): ("fails", "check", "LlamaForCausalLM", "2, 16, 29"),
    ("qwen2_audio", "0.33.0"): ("fails", "check", "Qwen2ForCausalLM", "2, 16, 29"),
    ("qwen3_vl_moe", "0.33.0"): ("works", "", "Qwen3MoeLLMForCausalLM", "2, 24, 45"),
    ("nemotron_h", "0.16.0"): ("fails", "allow-list", "", ""),
}
"""Read by hand from the sources of each release."""


@pytest.mark.release
@pytest.mark.parametrize(("name", "version"), FAMILIES, ids=["-".join(key) for key in FAMILIES])
def test_what_is_said_of_a_family(name: str, version: str) -> None:
    answer, first, inner, layers = FAMILIES[name, version]
    found = of_checkpoint(version, name)
    assert found.answer == answer, found.why
    assert next(iter(broken(found)), "") == first
    assert [d.rpartition(" ")[2] for d in links(found, "inner")] == ([inner] if inner else [])
    if layers:
        assert f": {layers}, of " in links(found, "layers")[0]


RESOLVED = {version: json.loads((DATA / f"checkpoints-{version}.json").read_text()) for version in ("0.16.0", "0.33.0")}
"""What vLLM's own ``get_config``, ``get_hf_text_config`` and ``ModelRegistry`` said of each file, in that release."""

NOT_ASKED_OF_THE_REGISTRY = {("kimi_k25", "0.16.0"), ("kimi_k25", "0.33.0")}
"""Wrappers whose own code names the inner model's architecture, whatever the file says."""


@pytest.mark.release
@pytest.mark.parametrize(
    ("name", "version"), [(name, version) for version, told in RESOLVED.items() for name in told], ids=str
)
def test_a_file_is_resolved_as_vllm_resolves_it(name: str, version: str) -> None:
    told = RESOLVED[version][name]
    found = of_checkpoint(version, name)
    facts = dict(found.facts)
    assert found.paths[0].model.name == told["cls"]
    assert facts["layers"] == str(told["layers"])
    if told["inner"] is not None and (name, version) not in NOT_ASKED_OF_THE_REGISTRY:
        assert links(found, "inner") == [f"self.language_model is built as {told['inner']}"]
    for asks in links(found, "allow-list"):
        assert f'the model type is "{told["text_model_type"]}"' in asks


@pytest.mark.release
def test_the_layers_of_a_drafter_are_checked_against_those_of_the_target() -> None:
    found = of_checkpoint("0.33.0", "llama", draft="draft_eagle3")
    assert found.answer == "works"
    assert links(found, "layers") == ["layers that the drafter names: 1, 14, 25, of 32 layers"]
    found = of_checkpoint("0.33.0", "llama", draft="draft_too_deep")
    assert found.answer == "fails"
    assert links(found, "layers") == ["layers that the drafter names: 2, 30, 58; of 32 layers there is no 58"]


@pytest.mark.release
def test_code_of_its_own_and_an_unknown_architecture_are_told() -> None:
    with pytest.raises(InputError, match=r"no architecture StrangerForCausalLM; nearest: .*auto_map"):
        of_checkpoint("0.33.0", "remote_code")


@pytest.mark.release
def test_a_drafter_is_no_target() -> None:
    found = of_checkpoint("0.33.0", "draft_eagle3")
    assert found.answer == "unknown"
    assert "draft head" in found.why


# -- fixture trees: kept texts ---------------------------------------------------------------------

SHAPES = {
    "plain text model": ("0.33", "", "AlphaForCausalLM"),
    "stubs of the old contract": ("0.16", "", "AlphaForCausalLM"),
    "wrapper that delegates": ("0.33", "", "GammaForConditionalGeneration"),
    "wrapper of the old contract": ("0.16", "", "GammaForConditionalGeneration"),
    "no support at all": ("0.33", "", "BetaForCausalLM"),
    "undeclared wrapper": ("", "VC001-bad-0", ""),
    "method is a stub": ("", "VC002-bad-0", ""),
    "decoder out of reach": ("", "VC003-bad-0", ""),
    "overclaimed": ("", "VC004-bad-0", ""),
    "stale method": ("", "VC005-bad-0", ""),
    "states dropped": ("", "VC006-bad-0", ""),
    "states not collected": ("", "VC007-bad-0", ""),
    "refused by the list": ("", "VC008-bad-0", ""),
    "wrong signature": ("", "VC009-bad-0", ""),
    "platform variants": ("", "VC010-bad-0", ""),
    "undeclared text model": ("", "VC011-bad-0", ""),
    "falls through by its name": ("", "VC012-bad-0", ""),
    "inner model not known": ("", "VC900-bad-0", ""),
}


def shown(trees: Trees, shape: str) -> str:
    generation, case_name, name = SHAPES[shape]
    cases = dict(all_cases())
    tree = trees.of(case_name, cases[case_name]) if case_name else trees.plain(generation)
    name = name or cases[case_name].finds[0][1]
    return json.dumps(report_trace.to_dict(of_name(tree.report, name)), indent=1) + "\n"


@pytest.mark.parametrize("shape", SHAPES)
def test_a_trace_is_as_it_was_when_it_was_checked_by_hand(shape: str, trees: Trees) -> None:
    kept = GOLDEN / f"{shape.replace(' ', '-')}.json"
    assert shown(trees, shape) == kept.read_text()


# -- names -----------------------------------------------------------------------------------------


def test_a_class_and_its_module_name_the_same_models(trees: Trees) -> None:
    report = trees.plain("0.33").report
    for name in ("GammaForConditionalGeneration", "vllm.model_executor.models.gamma.GammaForConditionalGeneration"):
        [model] = asked.named(report, name).models
        assert model.name == "GammaForConditionalGeneration"


def test_an_unknown_name_gets_the_nearest(trees: Trees) -> None:
    with pytest.raises(InputError, match="nearest: GammaForConditionalGeneration"):
        asked.named(trees.plain("0.33").report, "GamaForConditionalGeneration")


def test_a_cached_report_gives_the_same_trace(trees: Trees, tmp_path: Path) -> None:
    from analyzer.cache import Cache

    tree = trees.plain("0.33")
    cached = CachedTree(tree.read.checkout, Cache(tmp_path, tree.read.checkout, print))
    cached.report()
    again = CachedTree(tree.read.checkout, Cache(tmp_path, tree.read.checkout, print)).report()
    for model in tree.report.models:
        assert of_name(again, model.name) == of_name(tree.report, model.name)


# -- configurations --------------------------------------------------------------------------------


def test_expressions_of_the_source_mean_paths_of_the_file() -> None:
    values = {"text_config": {"a": 1, "architectures": ["X"]}, "thinker_config": {"text_config": {"b": 2}}}
    checkpoint = Checkpoint(values, "config.json")
    for text, keys in {
        "vllm_config.model_config.hf_config.text_config.a": ("text_config", "a"),
        "vllm_config.model_config.hf_text_config.a": ("text_config", "a"),
        "vllm_config[text_config].model_config.hf_config.a": ("text_config", "a"),
        "vllm_config.model_config.hf_config.get_text_config(…).a": ("text_config", "a"),
        "vllm_config.model_config.hf_config.text_config.model_config.hf_config.a": ("text_config", "a"),
        "vllm_config": (),
        "vllm_config.quant_config": None,
        "vllm_configuration.model_config.hf_config": None,
        "config.a": None,
        "": None,
    }.items():
        assert checkpoint.keys_of(text) == keys, text
    assert checkpoint.at(("text_config", "a", "b")) is MISSING
    assert Checkpoint({"thinker_config": values}, "").text_keys() == ("thinker_config", "text_config")


@pytest.mark.parametrize(
    ("contents", "message"),
    [
        (b"", "no JSON"),
        (b"[1]", "a JSON object, this is list"),
        (b"\xff\xfe", "no JSON"),
        (b"[" * 100_000, "no JSON"),
        (b'{"architectures": ["\\ud800"]}', "no architecture"),
        (b'{"architectures": 5}', "names no architecture"),
        (b'{"architectures": [], "model_type": 3}', "names no architecture"),
    ],
)
def test_a_file_that_is_no_configuration_gives_one_line(
    contents: bytes, message: str, trees: Trees, tmp_path: Path
) -> None:
    (tmp_path / "config.json").write_bytes(contents)
    tree = trees.plain("0.33")
    contract = tree.report.contract(CONTRACT)
    assert contract is not None
    with pytest.raises(InputError, match=message) as told:
        asked.of_checkpoint(tree.read.checkout, tree.report, contract, read_checkpoint(tmp_path))
    assert "\n" not in str(told.value)


def test_layers_that_are_not_there_or_doubled_are_told(trees: Trees) -> None:
    found = of_name(trees.plain("0.33").report, "AlphaForCausalLM")
    place = found.paths[0].links[0]
    assert layers_link((2, 4, 5), 8, "x", place).ok is True
    assert layers_link((2, 4, 5), None, "x", place).ok is None
    assert layers_link((2, 4, 9), 8, "x", place).ok is False
    assert layers_link((-1, 4, 5), 8, "x", place).ok is False
    assert layers_link((2, 2, 1), 4, "x", place).ok is False
    assert layers_link((2, 4, 8), 8, "x", place).ok is None
