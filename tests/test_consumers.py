"""Consumers of contracts: for each model of a fixture tree, what is said of a consumer is what Python does."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from textwrap import dedent

import pytest

from analyzer.checkout import Checkout, open_checkout
from analyzer.drift.package import open_package
from analyzer.drift.read import analyse
from analyzer.drift.records import ConsumerRecord
from analyzer.engine import read_checkout
from tests.fixture_runs import configurations
from tests.fixture_trees import FIXTURES, GENERATIONS, Tree, copy_tree

HEAD = "from vllm.model_executor.models.interfaces import SupportsEagle3, supports_eagle3\n"
CONSUMERS = {
    "takes an attribute of the outer model": """
        def use(model):
            if not supports_eagle3(model):
                raise ValueError("not supported")
            decoder = model.model
            decoder.extension = 1
            return decoder.layers
        """,
    "asks isinstance": """
        def use(model):
            if not isinstance(model, SupportsEagle3):
                raise ValueError("not supported")
            return model.model.layers
        """,
    "takes what is there": """
        def use(model):
            if not supports_eagle3(model):
                raise ValueError("not supported")
            inner = model.get_language_model() if hasattr(model, "get_language_model") else model
            return inner.model.layers
        """,
    "puts a function on the decoder": """
        import types

        def patched(self, *arguments):
            return self.what_no_decoder_has

        def use(model):
            if not supports_eagle3(model):
                raise ValueError("not supported")
            inner = getattr(model, "language_model", model)
            inner.model.forward = types.MethodType(patched, inner.model)
            return inner.model.forward()
        """,
    "keeps the model elsewhere": """
        class Worker:
            def __init__(self, model):
                self.runner = self
                self.model = model

            def start(self):
                model = self.runner.model
                if not supports_eagle3(model):
                    raise ValueError("not supported")
                return self.layers_of(model)

            def layers_of(self, model):
                return model.model.layers

        def use(model):
            return Worker(model).start()
        """,
}
RUN = """
import importlib, json, sys
from vllm.config import VllmConfig
from vllm.model_executor.model_loader.utils import initialize_model

consumers, models = json.load(sys.stdin)
told = []
for name in consumers:
    use = importlib.import_module(name).use
    told.append([])
    for dotted, configs in models:
        module, _, cls = dotted.rpartition(".")
        told[-1].append([])
        for config in configs:
            made = initialize_model(
                VllmConfig.for_architecture(**config), model_class=getattr(importlib.import_module(module), cls)
            )
            try:
                use(made)
                said = "works"
            except Exception as error:
                said = "refused" if type(error) is ValueError else f"{type(error).__name__}: {error}"
            told[-1][-1].append(said)
json.dump(told, sys.stdout)
"""


@cache
def checkout(generation: str) -> Checkout:
    return open_checkout(FIXTURES / GENERATIONS[generation][0])


def consumer(number: int) -> str:
    return f"consumer_{number}"


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("consumers")
    for number, source in enumerate(CONSUMERS.values()):
        (root / consumer(number)).mkdir()
        (root / consumer(number) / "__init__.py").write_text(HEAD + dedent(source))
    return root


@pytest.fixture(scope="module", params=[name for name, folders in GENERATIONS.items() if len(folders) == 1])
def generation(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def did(generation: str, packages: Path, tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, set[str]]]:
    """For each consumer and model: what Python did with it, over all configurations."""
    tree = Tree(copy_tree(generation, tmp_path_factory.mktemp("tree") / "tree"), generation)
    models = [m for m in tree.read.models if m.serves]
    asked = [[m.cls.key, list(configurations(tree, m))] for m in models]
    path = os.pathsep.join(map(str, (FIXTURES / "stand_in", tree.root, packages)))
    answer = subprocess.run(
        [sys.executable, "-B", "-c", RUN],
        input=json.dumps([[consumer(number) for number in range(len(CONSUMERS))], asked]),
        env={**os.environ, "PYTHONPATH": path, "FIXTURE_PLATFORM": "cuda"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr
    told = json.loads(answer.stdout)
    return [{m.cls.key: set(said) for m, said in zip(models, one, strict=True)} for one in told]


def gates(folder: Path, generation: str, since: str = "") -> list[ConsumerRecord]:
    return analyse(open_package(folder), checkout(generation), checkout(since) if since else None).consumers


def said_of(record: ConsumerRecord, models: list[str]) -> dict[str, str]:
    failing = {f.cls: f"AttributeError: {f.step}" for f in record.failing}
    unknown = dict(record.unknown)
    return {
        cls: failing.get(cls) or ("unknown" if cls in unknown else "works" if cls in record.works else "refused")
        for cls in models
    }


@pytest.mark.parametrize("number", range(len(CONSUMERS)), ids=list(CONSUMERS))
def test_what_is_said_of_each_model_is_what_python_does(
    number: int, generation: str, packages: Path, did: list[dict[str, set[str]]]
) -> None:
    record = next(g for g in gates(packages / consumer(number), generation) if g.how in ("checker", "isinstance"))
    said = said_of(record, list(did[number]))
    for cls, outcomes in did[number].items():
        if said[cls] == "unknown":
            continue
        assert outcomes == {said[cls]}, cls
    assert sum(answer != "unknown" for answer in said.values()) > len(said) // 2


def test_wrappers_are_what_an_attribute_of_the_outer_model_fails_for(
    generation: str, packages: Path, did: list[dict[str, set[str]]]
) -> None:
    (record,) = gates(packages / consumer(0), generation)
    assert record.problems == ("lacking-path",)
    assert {f.role for f in record.failing} >= {"wrapper"}
    assert record.works
    source = (packages / consumer(0) / "__init__.py").read_text().splitlines()
    for model in record.failing:
        assert model.step.endswith("has no attribute 'model'")
        assert source[model.at.line - 1].strip() == "decoder = model.model"
    assert any(said == {"works"} for said in did[0].values())


def test_a_consumer_that_takes_what_is_there_serves_every_wrapper(generation: str, packages: Path) -> None:
    """From 0.28 on a model may be its own decoder: this consumer does not ask for that."""
    record = next(g for g in gates(packages / consumer(2), generation) if g.how == "checker")
    assert {f.role for f in record.failing} == ({"text"} if generation == "0.33" else set())
    assert record.works


def test_what_no_model_has_is_found_behind_a_function_put_on_it(generation: str, packages: Path) -> None:
    record = next(g for g in gates(packages / consumer(3), generation) if g.how == "checker")
    assert record.works == ()
    assert record.problems == ("lacking-path",)


# -- other ways to ask -----------------------------------------------------------------------------


def package_of(folder: Path, source: str) -> Path:
    package = folder / "asks"
    package.mkdir()
    (package / "__init__.py").write_text(HEAD + dedent(source))
    return package


def test_a_method_of_another_generation(tmp_path: Path) -> None:
    source = """
        def layers(runner):
            return runner.model.get_eagle3_aux_hidden_state_layers()
        """
    package = package_of(tmp_path, source)
    assert [g.problems for g in gates(package, "0.16")] == [()]
    for since in ("", "0.16"):
        (record,) = gates(package, "0.33", since)
        assert record.problems == ("other-generation",)
        assert "get_eagle3_default_aux_hidden_state_layers" in record.notes[0]


def broken_tree(folder: Path, generation: str, source: str, architecture: str, cls: str) -> Path:
    """A fixture tree with one more wrapper."""
    root = copy_tree(generation, folder / "tree")
    models = root / "vllm/model_executor/models"
    (models / "omega.py").write_text(dedent(source))
    registry = models / "registry.py"
    text = registry.read_text()
    head = "_MULTIMODAL_MODELS = {\n"
    assert head in text
    registry.write_text(text.replace(head, f'{head}    "{architecture}": ("omega", "{cls}"),\n'))
    return root


UNDECLARED = """
    from torch import nn

    from vllm.model_executor.models.utils import init_vllm_registered_model


    class OmegaForConditionalGeneration(nn.Module):
        def __init__(self, *, vllm_config, prefix=""):
            super().__init__()
            self.language_model = init_vllm_registered_model(
                vllm_config=vllm_config, prefix="language_model", architectures=["AlphaForCausalLM"]
            )

        def get_language_model(self):
            return self.language_model

        def forward(self, input_ids, positions, intermediate_tensors=None, inputs_embeds=None):
            return self.language_model(input_ids, positions, intermediate_tensors, inputs_embeds)

        def compute_logits(self, hidden_states):
            return self.language_model.compute_logits(hidden_states)
"""


def test_a_check_of_the_inner_model_only(tmp_path: Path) -> None:
    """The wrapper is let through, and vLLM's own runner refuses it."""
    root = broken_tree(tmp_path, "0.16", UNDECLARED, "OmegaForConditionalGeneration", "OmegaForConditionalGeneration")
    source = """
        def use(model):
            inner = model.get_language_model()
            if not supports_eagle3(inner):
                raise ValueError("not supported")
            return inner.model.layers
        """
    found = analyse(open_package(package_of(tmp_path, source)), open_checkout(root)).consumers
    record = next(g for g in found if g.how == "checker")
    assert (record.asks, "inner-only" in record.problems) == ("inner model", True)
    assert "OmegaForConditionalGeneration" in record.notes[-1]
    model = next(m for m in read_checkout(open_checkout(root)).models if m.cls.name == "OmegaForConditionalGeneration")
    assert model.statuses["SupportsEagle3"].satisfied is False


STUB = UNDECLARED.replace(
    "class OmegaForConditionalGeneration(nn.Module)", "class OmegaForConditionalGeneration(nn.Module, SupportsEagle3)"
).replace("from vllm.model", "from vllm.model_executor.models.interfaces import SupportsEagle3\n    from vllm.model", 1)


def test_a_probe_of_what_every_heir_of_the_protocol_has(tmp_path: Path) -> None:
    root = broken_tree(tmp_path, "0.16", STUB, "OmegaForConditionalGeneration", "OmegaForConditionalGeneration")
    source = """
        def use(model):
            if hasattr(model, "set_aux_hidden_state_layers"):
                model.set_aux_hidden_state_layers((1, 2))
        """
    found = analyse(open_package(package_of(tmp_path, source)), open_checkout(root)).consumers
    record = next(g for g in found if g.how == "probe")
    assert record.problems == ("inherited-probe",)
    assert "OmegaForConditionalGeneration" in record.notes[-1]
