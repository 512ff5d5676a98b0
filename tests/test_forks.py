"""Forks: another name for the package, another place for the contracts, more tables and folders of models."""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from tests.cli.running import main
from tests.fixture_trees import FIXTURES, GENERATIONS, add_case, all_cases, copy_tree, file_name

NAME = "our_vllm"
WORD, BACK = re.compile(r"\bvllm\b"), re.compile(rf"\b{NAME}\b")
CASES = {
    generation: [case for _, case in all_cases() if case.generation == generation and case.finds and not case.settings]
    for generation in GENERATIONS
}


def tree_with_faults(generation: str, into: Path) -> Path:
    """A tree with a case of each kind in it, as far as they go together."""
    root = copy_tree(generation, into)
    taken: set[str] = set()
    for case in CASES[generation]:
        names = {file_name(case), *case.architectures}
        if taken.isdisjoint(names) and "Zeta" not in case.source:
            add_case(case, root)
            taken |= names
    assert len(taken) > 8
    return root


def renamed(root: Path, into: Path) -> Path:
    """The same tree, whose package has another name."""
    shutil.copytree(root / "vllm", into / NAME)
    for file in (into / NAME).rglob("*.py"):
        file.write_text(WORD.sub(NAME, file.read_text()))
    return into


def said(capsys: pytest.CaptureFixture[str], *arguments: object) -> dict[str, Any]:
    """What an audit says, with the names of vLLM."""
    status, out, errors = main(capsys, "audit", *arguments, "--no-cache", "--format", "json")
    assert (status, errors) == (1, "")
    found: dict[str, Any] = json.loads(BACK.sub("vllm", out))
    del found["checkout"]["root"]
    return found


@pytest.mark.parametrize("generation", GENERATIONS)
def test_a_renamed_package_has_the_same_faults(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, generation: str
) -> None:
    original = tree_with_faults(generation, tmp_path / "original")
    fork = renamed(original, tmp_path / "fork")
    expected = said(capsys, original)
    assert len(expected["findings"]) > 5
    assert said(capsys, fork, "--package", NAME) == expected
    assert said(capsys, fork / NAME, "--package", NAME) == expected
    (fork / "vllm-contracts.toml").write_text(f'package = "{NAME}"\n')
    assert said(capsys, fork) == expected


def test_a_renamed_package_is_repaired(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    original = tree_with_faults("0.33", tmp_path / "original")
    fork = renamed(original, tmp_path / "fork")
    assert main(capsys, "fix", original, "--no-cache")[0] == 0
    assert main(capsys, "fix", fork, "--package", NAME, "--no-cache")[0] == 0
    for file in (original / "vllm").rglob("*.py"):
        theirs = (fork / NAME / file.relative_to(original / "vllm")).read_text()
        assert BACK.sub("vllm", theirs) == file.read_text()


def test_a_renamed_package_is_verified(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(FIXTURES / "stand_in"))
    fork = renamed(tree_with_faults("0.33", tmp_path / "original"), tmp_path / "fork")
    where = (fork, "--package", NAME, "--python", sys.executable, "--format", "json")
    status, out, errors = main(capsys, "verify", *where)
    assert (status, errors) == (0, "")
    result = json.loads(out)
    assert result["environment"]["vllm"] == str(fork / NAME)
    outcomes = [m["outcome"] for m in result["models"]]
    assert outcomes.count("confirmed") > 0.9 * len(outcomes) > 10


def test_the_contracts_may_stand_elsewhere(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    original = tree_with_faults("0.33", tmp_path / "original")
    fork = Path(shutil.copytree(original, tmp_path / "fork"))
    (fork / "vllm/model_executor/models/interfaces.py").rename(fork / "vllm/contracts.py")
    for file in (fork / "vllm").rglob("*.py"):
        text = file.read_text().replace("vllm.model_executor.models.interfaces import", "vllm.contracts import")
        file.write_text(text.replace("from .interfaces import", "from vllm.contracts import"))
    status, _, errors = main(capsys, "audit", fork, "--no-cache")
    assert status == 2
    assert "this vLLM has no vllm/model_executor/models/interfaces.py, which defines the contracts" in errors
    (fork / "vllm-contracts.toml").write_text('interfaces = "vllm/contracts.py"\n')
    found, expected = said(capsys, fork), said(capsys, original)
    keys = ("code", "class", "contract", "path", "message", "fix")
    assert [[f[k] for k in keys] for f in found["findings"]] == [[f[k] for k in keys] for f in expected["findings"]]
    places = {link["path"] for f in found["findings"] for link in f["chain"]}
    assert "vllm/contracts.py" in places
    assert "vllm/model_executor/models/interfaces.py" not in places


TABLES = """
    _OUR_MULTIMODAL_MODELS = {"OursForConditionalGeneration": ("ours", "OursForConditionalGeneration")}

    EVERYTHING = {
        "OursForCausalLM": ("vllm.ours.text", "OursForCausalLM"),
        "AlphaForCausalLM": ("vllm.ours.text", "OursForCausalLM"),
        "EagleOurs": ("vllm.ours.text", "EagleOurs"),
    }
"""
WRAPPER = """
    from torch import nn

    from vllm.model_executor.models.interfaces import SupportsMultiModal
    from vllm.model_executor.models.utils import init_vllm_registered_model


    class OursForConditionalGeneration(nn.Module, SupportsMultiModal):
        def __init__(self, *, vllm_config, prefix=""):
            super().__init__()
            config = vllm_config.model_config.hf_config
            self.image_token = config.image_token_index
            self.language_model = init_vllm_registered_model(vllm_config, architectures=["OursForCausalLM"])

        def forward(self, input_ids, positions, **kwargs):
            return self.language_model(input_ids, positions, **kwargs)

        def compute_logits(self, hidden_states):
            return self.language_model.compute_logits(hidden_states)
"""
TEXT = """
    from torch import nn

    from vllm.model_executor.models.alpha import AlphaForCausalLM


    class OursForCausalLM(AlphaForCausalLM):
        pass


    class EagleOurs(nn.Module):
        def __init__(self, *, vllm_config, prefix=""):
            super().__init__()
            self.config = vllm_config.speculative_config.draft_model_config.hf_config

        def forward(self, input_ids, positions, hidden_states):
            return hidden_states

        def compute_logits(self, hidden_states):
            return hidden_states
"""


def test_more_tables_of_architectures(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    root = copy_tree("0.33", tmp_path / "fork")
    for name, text in {"tables": TABLES, "ours": WRAPPER, "text": TEXT, "__init__": ""}.items():
        (root / "vllm/ours").mkdir(exist_ok=True)
        (root / f"vllm/ours/{name}.py").write_text(dedent(text).lstrip("\n"))
    (root / "vllm-contracts.toml").write_text('registries = ["vllm/ours/tables.py"]\nmodel-roots = ["vllm/ours"]\n')
    found = said(capsys, root)
    assert [(f["code"], f["class"]) for f in found["findings"]] == [
        ("VC001", "vllm.ours.ours.OursForConditionalGeneration")
    ]
    models = {m["class"].rpartition(".")[2]: m for m in found["models"]}
    assert models["OursForCausalLM"]["architectures"] == ["AlphaForCausalLM", "OursForCausalLM"]
    roles = {name: models[name]["role"] for name in ("OursForConditionalGeneration", "OursForCausalLM", "EagleOurs")}
    assert roles == {"OursForConditionalGeneration": "wrapper", "OursForCausalLM": "text", "EagleOurs": "draft"}
    gamma = models["GammaForConditionalGeneration"]
    assert [inner["class"] for inner in gamma["inner"]] == ["vllm.ours.text.OursForCausalLM"]  # a later table counts


def test_a_plugin_of_a_fork(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    fork = renamed(FIXTURES / "gen_0_33", tmp_path / "fork")
    plugin = Path(shutil.copytree(FIXTURES / "plugins/by_table", tmp_path / "plugin"))
    for file in (plugin / "by_table").rglob("*.py"):
        file.write_text(WORD.sub(NAME, file.read_text()))
    expected = said(capsys, FIXTURES / "plugins/by_table", "--vllm", FIXTURES / "gen_0_33")
    found = said(capsys, plugin, "--vllm", fork, "--package", NAME)
    for one in (found, expected):
        del one["checkout"]["plugin"]["vllm_root"]
    assert found == expected


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ('package = "our-vllm"', "vllm-contracts.toml:1: our-vllm is no name of a package"),
        ('package = "nothing"', "no vLLM here (looked for nothing/model_executor/models/interfaces.py)"),
        ('interfaces = "elsewhere/contracts.py"', "elsewhere/contracts.py: has to be a module of the package"),
        ('interfaces = "vllm/../contracts.py"', "vllm/../contracts.py: has to be a module of the package"),
        ('interfaces = "vllm/none.py"', "this vLLM has no vllm/none.py, which defines the contracts"),
        ('registries = ["vllm/none.py"]', "no vllm/none.py, which should have tables of architectures"),
        ('registries = ["none.json"]', "none.json: has to be a module of the package"),
        ("package = 1", "package has to be a string, not a number"),
        ('registries = "vllm/a.py"', "registries has to be an array, not a string"),
    ],
)
def test_names_that_fit_nothing(capsys: pytest.CaptureFixture[str], tmp_path: Path, settings: str, why: str) -> None:
    root = copy_tree("0.33", tmp_path / "fork")
    (root / "vllm-contracts.toml").write_text(f"{settings}\n")
    status, out, errors = main(capsys, "audit", root, "--no-cache")
    assert (status, out) == (2, "")
    assert why in errors
    assert errors.count("\n") == 1


def test_a_name_on_the_command_line_that_is_none(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    status, _, errors = main(capsys, "audit", copy_tree("0.33", tmp_path / "fork"), "--package", "a/b")
    assert status == 2
    assert "error: --package: a/b is no name of a package" in errors
