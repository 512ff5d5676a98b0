"""Real packages against real releases; each expectation was read in both sources."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from textwrap import dedent

import pytest

from analyzer.drift.package import open_package
from analyzer.drift.read import analyse
from analyzer.drift.records import ConsumerRecord, DriftReport
from tests import releases

pytestmark = pytest.mark.release

SPECULATORS = ("speculators", "0.3.0")
GENERATOR = "speculators/data_generation/vllm_hidden_states_generator.py"
WORKER = "speculators/data_generation/custom_worker.py"
DATA = Path(__file__).parent / "data"


@cache
def report(name: str, version: str, vllm: str, since: str = "") -> DriftReport:
    package = open_package(releases.package(name, version))
    return analyse(package, releases.checkout(vllm), releases.checkout(since) if since else None)


def rows(found: DriftReport) -> list[tuple[str, str, str]]:
    return [(use.kind, use.name, str(use.at)) for use in found.uses]


# -- speculators 0.3.0: made for 0.11.0, which it names in its metadata ------------------------------

BROKEN_SINCE_0_12 = [
    ("unknown-argument", "get_kv_cache_config_from_groups(kv_cache_specs)", f"{GENERATOR}:136"),
    ("missing-argument", "Scheduler(block_size)", f"{GENERATOR}:148"),
    ("missing-argument", "SchedulerConfig(is_encoder_decoder)", f"{GENERATOR}:194"),
]


def test_speculators_uses_nothing_that_the_release_that_it_names_lacks() -> None:
    found = report(*SPECULATORS, "0.11.0")
    assert found.uses == []
    assert (found.guarded, found.unresolved) == ([], [])
    assert found.checked == {"imports": 21, "calls": 29, "members": 23, "classes": 0, "gates": 1}


@pytest.mark.parametrize("vllm", ["0.12.0", "0.15.1", "0.16.0"])
def test_speculators_does_not_fit_later_releases(vllm: str) -> None:
    found = report(*SPECULATORS, vllm)
    assert rows(found) == BROKEN_SINCE_0_12
    source = (releases.checkout(vllm).root / "vllm/config/scheduler.py").read_text().splitlines()
    evidence = found.uses[2].evidence[0].at
    assert source[evidence.line - 1].strip() == "is_encoder_decoder: InitVar[bool]"


def test_it_is_told_which_release_broke_speculators() -> None:
    assert [use.before for use in report(*SPECULATORS, "0.12.0", "0.11.0").uses] == ["honoured"] * 3
    assert [use.before for use in report(*SPECULATORS, "0.16.0", "0.15.1").uses] == ["not-honoured"] * 3


def gate(vllm: str, since: str = "") -> ConsumerRecord:
    (only,) = report(*SPECULATORS, vllm, since).consumers
    return only


def test_the_worker_of_speculators_asks_the_outer_model() -> None:
    found = gate("0.16.0")
    assert (found.contract, found.member, found.how) == ("SupportsEagle3", "supports_eagle3", "checker")
    assert (found.subject, found.asks, str(found.at)) == ("model", "outer model", f"{WORKER}:102")
    assert found.problems == ("lacking-path",)


def test_no_model_of_0_11_that_passes_lacks_what_the_worker_takes() -> None:
    found = gate("0.11.0")
    assert (found.problems, found.failing, found.unknown) == ((), (), ())
    assert len(found.works) == 16
    assert "vllm.model_executor.models.llama.LlamaForCausalLM" in found.works


WRAPPERS = {"LlavaForConditionalGeneration", "MantisForConditionalGeneration", "Llama4ForConditionalGeneration"}


@pytest.mark.parametrize("vllm", ["0.15.1", "0.16.0"])
def test_wrappers_that_pass_have_no_model_inside_of_that_name(vllm: str) -> None:
    """``model.model`` is what the worker takes; a wrapper keeps its inner model under another name."""
    lacking = [f for f in gate(vllm).failing if str(f.at) == f"{WORKER}:107"]
    assert {f.role for f in lacking} == {"wrapper"}
    assert {f.cls.rpartition(".")[2] for f in lacking} >= WRAPPERS
    assert len(lacking) == {"0.15.1": 7, "0.16.0": 11}[vllm]
    for model in lacking:
        name = model.cls.rpartition(".")[2]
        assert model.step == f"{name!r} object has no attribute 'model'"
        text = (releases.checkout(vllm).root / model.class_at.path).read_text()
        body = re.split(r"\n(?=\S)", text.split(f"class {name}")[1])
        assert not re.search(r"self\.model\s*=", body[0])


@pytest.mark.parametrize("vllm", ["0.15.1", "0.16.0"])
def test_text_models_lack_the_method_that_became_another(vllm: str) -> None:
    """The worker puts a forward on the decoder that calls ``get_input_embeddings`` of it."""
    found = gate(vllm, "0.11.0")
    lacking = [f for f in found.failing if str(f.at) == f"{WORKER}:30"]
    assert "vllm.model_executor.models.llama.LlamaForCausalLM" in {f.cls for f in lacking}
    assert {f.step.partition(" object ")[2] for f in lacking} == {"has no attribute 'get_input_embeddings'"}
    assert "get_input_embeddings became embed_input_ids" in found.notes
    assert found.works == ()
    assert found.before == "honoured"


def test_python_says_the_same_of_who_passes() -> None:
    """What ``supports_eagle3`` returned for each class of 0.16.0 when that release was imported."""
    found = gate("0.16.0")
    followed = {*found.works, *(f.cls for f in found.failing), *(cls for cls, _ in found.unknown)}
    answers = json.loads((DATA / "runtime-0.16.0.json").read_text())
    place = answers["checkers"].index("supports_eagle3")
    passed = {cls for cls, said in answers["classes"].items() if said[place] == "1"}
    serving = {m.cls for m in releases.report("0.16.0").models if m.serves and m.architectures}
    assert followed & serving == passed & serving
    assert len(passed & serving) > 30


# -- vLLM's own changes --------------------------------------------------------------------------------

OLD_FORM = """
    from vllm import LLM
    from vllm.config import CacheConfig, SchedulerConfig
    from vllm.distributed.kv_transfer.kv_connector.v1.base import KVConnectorBase_V1
    from vllm.entrypoints.chat_utils import make_tool_call_id
    from vllm.entrypoints.openai.engine.protocol import DeltaMessage
    from vllm.forward_context import ForwardContext
    from vllm.model_executor.models.utils import AutoWeightsLoader
    from vllm.sampling_params import SamplingParams
    from vllm.v1.attention.backends.utils import get_kv_cache_layout
    from vllm.v1.request import Request


    def caches():
        return CacheConfig(block_size=16, swap_space=4)


    def scheduler():
        return SchedulerConfig(max_model_len=64, is_encoder_decoder=False, max_num_partial_prefills=2)


    def parameters():
        return SamplingParams(temperature=0.0, truncate_prompt_tokens=8)


    def request(identifier: str):
        return Request(identifier, [1], parameters(), None, eos_token_id=2)


    def load(model, weights):
        return AutoWeightsLoader(model, skip_prefixes=["lm_head."]).load_weights(weights)


    def engine(context: ForwardContext):
        return context.virtual_engine


    class Connector(KVConnectorBase_V1):
        def __init__(self, vllm_config, role):
            super().__init__(vllm_config=vllm_config, role=role)


    def generate(model: str):
        return LLM(model=model, swap_space=4, enable_lora=True).generate(["a"])
"""
CHANGED = [
    ("missing-module", "vllm.entrypoints.chat_utils.make_tool_call_id"),
    ("missing-module", "vllm.entrypoints.openai.engine.protocol.DeltaMessage"),
    ("missing-name", "vllm.v1.attention.backends.utils.get_kv_cache_layout"),
    ("unknown-argument", "CacheConfig(swap_space)"),
    ("unknown-argument", "SchedulerConfig(max_num_partial_prefills)"),
    ("unknown-argument", "SamplingParams(truncate_prompt_tokens)"),
    ("unknown-argument", "Request(eos_token_id)"),
    ("unknown-argument", "AutoWeightsLoader(skip_prefixes)"),
    ("missing-member", "ForwardContext.virtual_engine"),
    ("missing-argument", "KVConnectorBase_V1.__init__(kv_cache_config)"),
    ("unknown-argument", "LLM(swap_space)"),
]
WENT = {
    "vllm.entrypoints.chat_utils.make_tool_call_id": "vllm.renderers.chat_utils.tool_call.make_tool_call_id",
    "vllm.entrypoints.openai.engine.protocol.DeltaMessage": "vllm.entrypoints.generate.base.protocol.DeltaMessage",
}
NEW_FORM = """
    from vllm import LLM, SamplingParams
    from vllm.config import CacheConfig, SchedulerConfig, VllmConfig
    from vllm.distributed.kv_transfer.kv_connector.v1.base import KVConnectorBase_V1
    from vllm.forward_context import ForwardContext, get_forward_context
    from vllm.model_executor.models.utils import AutoWeightsLoader
    from vllm.v1.request import Request, RequestStatus


    def scheduler(config: VllmConfig):
        made = SchedulerConfig(max_model_len=64, is_encoder_decoder=False, max_num_seqs=4)
        return made.max_num_batched_tokens, config.scheduler_config.max_num_seqs, CacheConfig(block_size=16)


    def request(identifier: str):
        made = Request(identifier, [1], SamplingParams(temperature=0.0, top_p=1.0), None)
        return made.status == RequestStatus.WAITING, made.num_tokens


    def load(model, weights):
        return AutoWeightsLoader(model).load_weights(weights)


    def context() -> ForwardContext:
        found = get_forward_context()
        return found.attn_metadata


    def generate(model: str):
        llm = LLM(model=model, enforce_eager=True, max_num_seqs=4)
        return llm.generate(["a"], SamplingParams(max_tokens=1))


    class Connector(KVConnectorBase_V1):
        def __init__(self, vllm_config, role, kv_cache_config):
            super().__init__(vllm_config=vllm_config, role=role, kv_cache_config=kv_cache_config)
"""


def client(folder: Path, source: str) -> DriftReport:
    package = folder / "client"
    package.mkdir()
    (package / "__init__.py").write_text(dedent(source))
    return analyse(open_package(package), releases.checkout("0.33.0"), releases.checkout("0.16.0"))


def test_eleven_names_that_changed_between_two_releases(tmp_path: Path) -> None:
    found = client(tmp_path, OLD_FORM)
    uses = [use for use in found.uses if use.kind != "abstract-method"]
    assert [(use.kind, use.name) for use in uses] == CHANGED
    assert {use.before for use in uses} == {"honoured"}
    for use in uses:
        if use.name in WENT:
            assert use.went[0].partition(" ")[0] == WENT[use.name]


def test_what_both_releases_have_is_passed_over(tmp_path: Path) -> None:
    found = client(tmp_path, NEW_FORM)
    assert [use for use in found.uses if use.kind != "abstract-method"] == []


# -- packages that use vLLM, at the release that they name ---------------------------------------------


def test_trl_with_a_release_that_it_allows() -> None:
    """Each use of what 0.28 dropped stands behind ``is_vllm_available(min_version="0.28.0")``."""
    found = report("trl", "1.16.0", "0.30.0")
    assert found.uses == []
    assert len(found.guarded) == 9
    assert all("_HAS_STATEFUL_TRAINER_ENGINE" in row.reason for row in found.guarded)


def test_verl_with_the_release_that_it_names() -> None:
    """A function that moved; what else that release lacks is behind tests of versions and of settings."""
    found = report("verl", "0.9.1", "0.24.0")
    utils = "vllm.model_executor.layers.quantization.utils"
    assert rows(found) == [
        ("missing-name", f"{utils}.quant_utils.swizzle_blockscale", "verl/utils/qat/vllm_patch.py:371")
    ]
    assert found.uses[0].went[0].partition(" ")[0] == f"{utils}.nvfp4_utils.swizzle_blockscale"
    assert len(found.guarded) == 12


@pytest.mark.parametrize(
    ("name", "version", "vllm"), [("lm-eval", "0.4.13", "0.18.1"), ("vllm-plugin-meralion2", "0.3.0", "0.16.0")]
)
def test_packages_that_fit_are_clean(name: str, version: str, vllm: str) -> None:
    found = report(name, version, vllm)
    assert found.uses == []
    assert found.checked["imports"] > 10
