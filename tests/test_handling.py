"""Entries for contracts: those that come with the rules, those of a fork, and what an entry of one's own does."""

from __future__ import annotations

import re
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from analyzer.checkout import open_checkout
from analyzer.engine import audit, read_checkout
from analyzer.fix import plan_fixes, write_plan
from analyzer.handling import KEYS, NOTHING, SHIPPED, Handling, HandlingError, read_entry, shipped
from analyzer.models import is_delegated
from analyzer.toml_lines import parse_toml
from rules import all_rules
from tests.fixture_runs import run
from tests.fixture_trees import MODELS, Tree, copy_tree


def test_every_entry_is_of_a_contract_that_some_tree_has(tmp_path: Path) -> None:
    known = set(read_checkout(open_checkout(copy_tree("contracts", tmp_path / "tree"))).contracts)
    assert shipped().keys() - known == {"SupportsMambaPrefixCaching"}  # a flag of its own up to 0.30
    assert parse_toml(SHIPPED.read_text("utf-8")).keys() == shipped().keys()


def test_an_entry_that_severs_a_wrapper_says_what_that_costs() -> None:
    for name, handling in shipped().items():
        assert bool(handling.undeclared) <= bool(handling.consequence), name
        assert bool(handling.undeclared) <= bool(handling.hands_on), name
        assert bool(handling.attributes) <= (handling.hands_on == "attributes"), name


def test_keys_are_the_fields_in_the_spelling_of_toml() -> None:
    assert {f.name.replace("_", "-"): f.name for f in fields(Handling)} == KEYS


def test_a_key_that_is_left_out_is_as_it_was() -> None:
    base = shipped()["SupportsPP"]
    assert read_entry({"undeclared": "error"}, base) == replace(base, undeclared="error")
    assert read_entry({"undeclared": "never"}, base).undeclared is None
    assert read_entry({}) == NOTHING


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "an unknown key": ({"consequences": "x"}, "unknown key consequences; did you mean consequence?"),
    "no text": ({"advice": 1}, "advice has to be a string"),
    "no severity": ({"undeclared": "bad"}, "undeclared is one of error, warning, info, never, not 'bad'"),
    "no array": ({"mappings": "a"}, "mappings has to be an array of names"),
    "no table": ({"former": ["a"]}, "former has to be a table of names"),
    "no new name": ({"former": {"a": 1}}, "former has to be a name of Python, not 1"),
    "no old name": ({"former": {"a-b": "c"}}, "former has to be a name of Python, not 'a-b'"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_told_with_its_key(name: str) -> None:
    values, message = WRONG[name]
    with pytest.raises(HandlingError, match="^" + re.escape(message)) as told:
        read_entry(values)
    assert told.value.key == next(iter(values))


# -- a contract of one's own -----------------------------------------------------------------------

PROTOCOL = '''

@runtime_checkable
class SupportsSketch(Protocol):
    """Draws while it writes."""

    supports_sketch: ClassVar[Literal[True]] = True
    make_canvas: object


def supports_sketch(model: type[object] | object) -> TypeIs[type[SupportsSketch]] | TypeIs[SupportsSketch]:
    return getattr(model, "supports_sketch", False)
'''
RUNNER = """

def sketch(model: nn.Module) -> Any:
    from vllm.model_executor.models.interfaces import supports_sketch

    if not supports_sketch(model):
        raise ValueError("The model does not draw")
    return model.make_canvas(4)
"""
ARTIST = """
from torch import nn

from .beta import BetaForCausalLM
from .interfaces import SupportsPP, SupportsSketch


class ArtistForCausalLM(BetaForCausalLM, SupportsSketch):
    def __init__(self, *, vllm_config, prefix=""):
        super().__init__(vllm_config=vllm_config, prefix=prefix)
        self.make_canvas = list


class PatronForCausalLM(nn.Module, SupportsPP):
    def __init__(self, *, vllm_config, prefix=""):
        super().__init__()
        self.artist = ArtistForCausalLM(vllm_config=vllm_config, prefix=prefix)
        self.make_empty_intermediate_tensors = self.artist.make_empty_intermediate_tensors

    def forward(self, input_ids, positions, intermediate_tensors=None):
        return self.artist(input_ids, positions, intermediate_tensors)

    def compute_logits(self, hidden_states):
        return self.artist.compute_logits(hidden_states)
"""
ENTRY = Handling("attributes", ("make_canvas",), "warning", "nobody draws")


def fork(root: Path) -> Path:
    """The tree with every contract, and one more with a model, a wrapper and something that asks."""
    copy_tree("contracts", root)
    interfaces = root / MODELS / "interfaces.py"
    interfaces.write_text(interfaces.read_text() + PROTOCOL)
    runner = root / "vllm" / "v1" / "worker" / "gpu_model_runner.py"
    runner.write_text(runner.read_text() + RUNNER)
    (root / MODELS / "artist.py").write_text(ARTIST)
    registry = root / MODELS / "registry.py"
    entries = "".join(f'    "{name}": ("artist", "{name}"),\n' for name in ("ArtistForCausalLM", "PatronForCausalLM"))
    table = "_TEXT_GENERATION_MODELS = {\n"
    registry.write_text(registry.read_text().replace(table, table + entries))
    return root


def test_a_contract_of_a_fork_takes_one_entry(tmp_path: Path) -> None:
    plain = open_checkout(fork(tmp_path / "fork"))
    assert not audit(plain, all_rules()).findings
    checkout = replace(plain, contract_entries=(("SupportsSketch", ENTRY),))
    report = audit(checkout, all_rules())
    (finding,) = report.findings
    assert (finding.code, finding.severity, finding.contract) == ("VC001", "warning", "SupportsSketch")
    assert finding.message == (
        "PatronForCausalLM fails supports_sketch although its inner model self.artist, ArtistForCausalLM, supports "
        "SupportsSketch: nobody draws"
    )
    assert [gate.path for gate in finding.gates] == ["vllm/v1/worker/gpu_model_runner.py"]
    patron = next(m for m in report.models if m.name == "PatronForCausalLM")
    assert patron.statuses["SupportsSketch"].verdict == "undeclared"

    plan = plan_fixes(checkout.root, [finding.fix])
    assert not plan.refused and not write_plan(checkout.root, plan).refused
    repaired = open_checkout(checkout.root)
    assert not audit(replace(repaired, contract_entries=checkout.contract_entries), all_rules()).findings
    (ran,) = run([Tree(checkout.root, "contracts", f"{MODELS}/artist.py")])
    outcomes = [out for model, outs in ran.outcomes for out in outs if model.cls.name == "PatronForCausalLM"]
    assert outcomes and all(out["checks"]["supports_sketch"] for out in outcomes)


def test_a_contract_can_be_made_one_of_the_decoder(tmp_path: Path) -> None:
    checkout = open_checkout(copy_tree("contracts", tmp_path / "tree"))
    contract = read_checkout(checkout).contracts["SupportsEagle3"]
    assert is_delegated(contract)
    other = replace(checkout, contract_entries=(("SupportsEagle3", Handling("declaration")),))
    assert not is_delegated(read_checkout(other).contracts["SupportsEagle3"])
