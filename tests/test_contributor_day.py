"""A contributor's day on a real release under git, with real pre-commit: each commit and what comes back."""

from __future__ import annotations

import re
import shutil
import sys

import pytest

from tests import releases
from tests.repository import Repository

MODELS = "vllm/model_executor/models"
OURS, REGISTRY, INNER = f"{MODELS}/our_vl.py", f"{MODELS}/registry.py", f"{MODELS}/apertus.py"
FOLDERS = ("config", "model_executor", "models", "transformers_utils", "v1")
"""What is copied of the package: models, what they are built of, and who asks for contracts."""

WRAPPER = '''\
"""Our model."""

from collections.abc import Iterable

import torch
from torch import nn

from vllm.config import VllmConfig
from vllm.sequence import IntermediateTensors

from .interfaces import MultiModalEmbeddings, SupportsMultiModal, SupportsPP
from .utils import AutoWeightsLoader, init_vllm_registered_model, maybe_prefix


class OurVLForConditionalGeneration(nn.Module, SupportsMultiModal, SupportsPP):
    def __init__(self, *, vllm_config: VllmConfig, prefix: str = ""):
        super().__init__()
        self.vision = nn.Linear(8, 8)
        self.language_model = init_vllm_registered_model(
            vllm_config=vllm_config,
            prefix=maybe_prefix(prefix, "language_model"),
            architectures=["ApertusForCausalLM"],
        )
        self.make_empty_intermediate_tensors = self.language_model.make_empty_intermediate_tensors

    def embed_multimodal(self, **kwargs: object) -> MultiModalEmbeddings:
        return [self.vision(image) for image in kwargs["images"]]

    def forward(
        self,
        input_ids: torch.Tensor | None,
        positions: torch.Tensor,
        intermediate_tensors: IntermediateTensors | None = None,
        inputs_embeds: torch.Tensor | None = None,
        **kwargs: object,
    ) -> torch.Tensor | IntermediateTensors:
        return self.language_model.model(input_ids, positions, intermediate_tensors, inputs_embeds=inputs_embeds)

    def compute_logits(self, hidden_states: torch.Tensor) -> torch.Tensor | None:
        return self.language_model.compute_logits(hidden_states)

    def load_weights(self, weights: Iterable[tuple[str, torch.Tensor]]) -> set[str]:
        return AutoWeightsLoader(self).load_weights(weights)
'''
RETURNS_THE_STATES = re.compile(r"\n +if len\(aux_hidden_states\) > 0:\n +return [^\n]+")
REASON = "# vllm-contracts: ignore[VC007] the layers are being rewritten\n"


@pytest.fixture(scope="module")
def fork(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    """The release as somebody's fork that knows its findings."""
    folder = tmp_path_factory.mktemp("day")
    package = releases.checkout("0.33.0").package
    for name in FOLDERS:
        shutil.copytree(package / name, folder / "fork" / "vllm" / name)
    for file in package.glob("*.py"):
        shutil.copy(file, folder / "fork" / "vllm")
    (folder / "fork" / "vllm-contracts.toml").write_text('baseline = "known-findings.json"\n', "utf-8")
    made = Repository(folder / "fork", folder, "vllm-contracts", manual=("vllm-contracts-fix",))
    made.must(sys.executable, "-m", "analyzer", "audit", ".", "--update-baseline", "--quiet")
    made.must("git", "add", "-A")
    made.must("git", "commit", "-q", "-m", "what is known")
    made.install()
    return made


@pytest.mark.release
def test_a_day(fork: Repository) -> None:
    first = fork.head()
    # In the morning: a new wrapper, which forgets the contract.
    fork.write(OURS, WRAPPER)
    name = "OurVLForConditionalGeneration"
    fork.replace(
        REGISTRY, "_MULTIMODAL_MODELS = {\n", f'_MULTIMODAL_MODELS = {{\n    "{name}": ("our_vl", "{name}"),\n'
    )
    done = fork.commit(OURS, REGISTRY)
    assert done.code == 1
    line = WRAPPER[: WRAPPER.index("class Our")].count("\n") + 1
    assert f"\n{OURS}:{line}:1: VC001 {name} fails supports_eagle3" in done.said
    assert f"\n  fix: add SupportsEagle3 to the bases of {name}" in done.said
    assert set(re.findall(r"^(vllm/\S+?):\d+:\d+: ", done.said, re.M)) == {OURS}, done.said
    assert fork.head() == first

    done = fork.pre_commit("run", "--hook-stage", "manual", "vllm-contracts-fix")
    assert done.code == 1
    assert f"\nfixed {OURS}; " in done.said
    assert "SupportsPP, SupportsEagle3" in fork.read(OURS)
    done = fork.commit(OURS)
    assert done.code == 0, done.said
    second = fork.head()

    # At noon: the inner model no longer hands its states out, which neither file's owner has in mind.
    whole = fork.read(INNER)
    assert len(RETURNS_THE_STATES.findall(whole)) == 1
    fork.write(INNER, RETURNS_THE_STATES.sub("", whole))
    done = fork.commit(INNER)
    assert done.code == 1
    assert re.search(rf"^{INNER}:\d+:1: VC007 ApertusForCausalLM claims SupportsEagle3", done.said, re.M), done.said
    assert re.search(rf"^  {OURS}:\d+: {name} is built around it$", done.said, re.M), done.said
    assert fork.head() == second

    # It is meant for now, and said so.
    fork.replace(INNER, "class ApertusForCausalLM(", f"{REASON}class ApertusForCausalLM(")
    done = fork.commit(INNER)
    assert done.code == 0, done.said
    third = fork.head()

    # In the evening: the cause is gone, and the excuse is left.
    fork.write(INNER, whole.replace("class ApertusForCausalLM(", f"{REASON}class ApertusForCausalLM("))
    done = fork.commit(INNER)
    assert done.code == 1
    assert re.search(rf"^{INNER}:\d+:1: VC901 ", done.said, re.M), done.said
    assert fork.head() == third
    fork.write(INNER, whole + "\n")
    done = fork.commit(INNER)
    assert done.code == 0, done.said
