"""Fused layers: what of a loader counts as packing, which mappings name it, and where nothing can be told."""

from __future__ import annotations

from pathlib import Path

import pytest

from analyzer import packing
from analyzer.checkout import open_checkout
from analyzer.engine import read_checkout
from analyzer.findings import Finding
from rules._rule import Case
from rules.vc018_missing_mapping import MissingMapping
from tests.fixture_trees import MODELS, Trees, add_case, copy_tree

HEAD = """
from torch import nn

from vllm.model_executor.layers.linear import MergedLinear
from .beta import BetaForCausalLM, BetaModel
from .interfaces import SupportsLoRA


class SorbMLP(nn.Module):
    def __init__(self, hidden_size, quant_config=None, prefix=""):
        super().__init__()
        self.gate_up_proj = MergedLinear(4, 4, quant_config=quant_config, prefix=prefix + ".gate_up_proj")


class SorbModel(BetaModel):
    def __init__(self, *, vllm_config, prefix=""):
        super().__init__(vllm_config=vllm_config, prefix=prefix)
        self.layers = nn.ModuleList([SorbMLP(4, vllm_config.quant_config, prefix)])

    def load_weights(self, weights):
LOADER

class SorbForCausalLM(BetaForCausalLM):
BODY

    def __init__(self, *, vllm_config, prefix=""):
        super().__init__(vllm_config=vllm_config, prefix=prefix)
        self.model = SorbModel(vllm_config=vllm_config, prefix=prefix)
REST
"""
LISTED = """
        stacked = [("gate_up_proj", "gate_proj", 0), ("gate_up_proj", "up_proj", 1)]
        return {name for name, _ in weights if name in stacked}
"""


def findings(
    root: Path, *, loader: str = LISTED, body: str = "    pass", rest: str = "", head: str = HEAD
) -> list[Finding]:
    """The findings of VC018 on a tree with one text model."""
    copy_tree("contracts", root)
    source = head.replace("LOADER", loader).replace("BODY", body).replace("REST", rest)
    add_case(Case("a model", source, {"SorbForCausalLM": "SorbForCausalLM"}, "contracts"), root)
    return list(MissingMapping().check(read_checkout(open_checkout(root))))


PACKING = {
    "a list": LISTED,
    "a list that more rows are put to": """
        stacked = [("gate_up_proj", "gate_proj", 0)]
        stacked.append((".mlp.gate_up_proj", ".mlp.up_proj", 1))
        return {name for name, _ in weights if name in stacked}
""",
    "a list that another is added to": """
        stacked = [("gate_up_proj", "gate_proj", 0)]
        stacked += [("gate_up_proj.", "up_proj.", self.shard)]
        return {name for name, _ in weights if name in stacked}
""",
    "rows over several lines": """
        stacked = [
            # (param_name, shard_name, shard_id)
            (
                "gate_up_proj",  # fused
                "gate_proj",
                0,
            ),
            ("gate_up_proj", "up_proj", 1),
        ]
        return {name for name, _ in weights if name in stacked}
""",
}


@pytest.mark.parametrize("name", PACKING)
def test_rows_of_a_loader_are_packing(name: str, tmp_path: Path) -> None:
    (finding,) = findings(tmp_path / "tree", loader=PACKING[name])
    assert "gate_up_proj, into which SorbModel packs gate_proj and up_proj" in finding.message


OTHER = {
    "rows of experts have four": """
        experts = [("gate_up_proj", "gate_proj", 0, 0), ("gate_up_proj", "up_proj", 0, 1)]
        return {name for name, _ in weights if name in experts}
""",
    "one part is a rename": """
        stacked = [("gate_up_proj", "gate_and_up", 0)]
        return {name for name, _ in weights if name in stacked}
""",
    "what is no row of a list": """
        first = ("gate_up_proj", "gate_proj", 0)
        second = ("gate_up_proj", "up_proj", 1)
        return {name for name, _ in weights if name in first or name in second}
""",
}


@pytest.mark.parametrize("name", OTHER)
def test_other_tuples_are_not(name: str, tmp_path: Path) -> None:
    assert not findings(tmp_path / "tree", loader=OTHER[name])


NAMED = {
    "in its mapping": '    packed_modules_mapping = {"gate_up_proj": ["gate_proj", "up_proj"]}',
    "by the end of a longer name": '    packed_modules_mapping = {"mlp.gate_up_proj": ["gate_proj", "up_proj"]}',
    "by a method that adds to it": """    packed_modules_mapping = {}

    def prepare(self):
        self.packed_modules_mapping.update({"gate_up_proj": ["gate_proj", "up_proj"]})""",
    "by what cannot be told": "    packed_modules_mapping = make_mapping()",
    "by a property": """    @property
    def packed_modules_mapping(self):
        return {}""",
    "by additions that cannot be told": """    packed_modules_mapping = {}

    def prepare(self, config):
        for name in config.fused:
            self.packed_modules_mapping[name] = config.parts(name)""",
}


@pytest.mark.parametrize("name", NAMED)
def test_what_is_named_or_may_be_is_no_finding(name: str, tmp_path: Path) -> None:
    assert not findings(tmp_path / "tree", body=NAMED[name])


def test_reading_a_mapping_or_handing_it_over_names_nothing(tmp_path: Path) -> None:
    body = """    def prepare(self, quant_config):
        quant_config.packed_modules_mapping = self.packed_modules_mapping"""
    assert len(findings(tmp_path / "tree", body=body)) == 1


def test_a_mapping_of_none_names_nothing(tmp_path: Path) -> None:
    (finding,) = findings(tmp_path / "tree", body="    packed_modules_mapping = None")
    assert finding.message.startswith("no packed_modules_mapping names gate_up_proj")


HEIRS = """

class SorbBase(BetaForCausalLM, SupportsLoRA):
    packed_modules_mapping = {"qkv_proj": ["q_proj"]}

    def __init__(self, *, vllm_config, prefix=""):
        super().__init__(vllm_config=vllm_config, prefix=prefix)
        self.model = SorbModel(vllm_config=vllm_config, prefix=prefix)


class OneForCausalLM(SorbBase):
    pass


class OtherForCausalLM(SorbBase):
    packed_modules_mapping = {"qkv_proj": ["q_proj"], OTHER}
"""


@pytest.mark.parametrize(
    ("other", "named"), [('"gate_up_proj": ["gate_proj", "up_proj"]', True), ('"o": ["o"]', False)]
)
def test_what_another_heir_adds_to_the_mapping_of_a_common_base_was_left_out_on_purpose(
    other: str, named: bool, tmp_path: Path
) -> None:
    root = copy_tree("contracts", tmp_path / "tree")
    source = HEAD.partition("class SorbForCausalLM")[0].replace("LOADER", LISTED) + HEIRS.replace("OTHER", other)
    add_case(Case("heirs", source, {n: n for n in ("OneForCausalLM", "OtherForCausalLM")}, "contracts"), root)
    found = {f.cls.rpartition(".")[2]: f for f in MissingMapping().check(read_checkout(open_checkout(root)))}
    assert set(found) == (set() if named else {"SorbBase", "OtherForCausalLM"})
    assert all(f.severity == "warning" and "SupportsLoRA" in f.message for f in found.values())


NEVER = {
    "a layer that is told nothing": ("quant_config=quant_config, ", ""),
    "a layer that is told None": ("quant_config=quant_config, ", "quant_config=None, "),
    "a constructor that takes it away for a while": (
        "        self.gate_up_proj",
        "        self.quant_config = None\n        self.gate_up_proj",
    ),
    "a block that is built with None": (
        "SorbMLP(4, vllm_config.quant_config, prefix)",
        "SorbMLP(4, quant_config=None)",
    ),
}


@pytest.mark.parametrize("name", NEVER)
def test_layers_that_are_never_quantised_need_no_mapping(name: str, tmp_path: Path) -> None:
    old, new = NEVER[name]
    assert old in HEAD
    assert not findings(tmp_path / "tree", head=HEAD.replace(old, new))


def test_a_condition_decides_whether_a_block_is_quantised(tmp_path: Path) -> None:
    built = "SorbMLP(4, quant_config=None\n            if prefix else vllm_config.quant_config)"
    head = HEAD.replace("SorbMLP(4, vllm_config.quant_config, prefix)", built)
    assert len(findings(tmp_path / "tree", head=head)) == 1


def test_a_file_that_cannot_be_cut_is_read_whole(tmp_path: Path) -> None:
    """A form feed: no body of the file is left for later, so that none has a source of its own."""
    head = HEAD.replace("class SorbMLP", "\f\nclass SorbMLP", 1)
    (finding,) = findings(tmp_path / "tree", head=head)
    assert "gate_up_proj" in finding.message


def test_blocks_of_another_file_are_followed_by_name(tmp_path: Path) -> None:
    root = tmp_path / "tree"
    block, rest = HEAD.split("\n\nclass SorbModel")
    head = block.partition("class SorbMLP")[0] + "from .blocks import SorbMLP\n\n\nclass SorbModel" + rest
    (root / MODELS).mkdir(parents=True)
    (root / MODELS / "blocks.py").write_text(block.replace("from .beta import BetaForCausalLM, BetaModel\n", ""))
    (finding,) = findings(root, head=head)
    assert [link.path for link in finding.chain if link.link == "built"] == [f"{MODELS}/blocks.py"]


def test_nothing_is_found_where_nothing_asks_the_class(tmp_path: Path) -> None:
    root = tmp_path / "tree"
    assert len(findings(root)) == 1
    loader = root / "vllm" / "model_executor" / "model_loader" / "utils.py"
    loader.write_text(loader.read_text().replace('"packed_modules_mapping"', "ATTRIBUTE"))
    assert not list(MissingMapping().check(read_checkout(open_checkout(root))))


def test_who_asks_is_the_loader_of_models_before_it_builds_one(trees: Trees) -> None:
    read = trees.plain("contracts").read
    (gate,) = packing.askers(read, read.contracts["SupportsQuant"])
    assert (gate.path, gate.function, gate.subject) == (
        "vllm/model_executor/model_loader/utils.py",
        "configure_quant_config",
        "class",
    )
