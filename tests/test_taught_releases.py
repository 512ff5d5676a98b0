"""Teaching an older release, beside what upstream did in a newer one: the same verdict, place and states."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from analyzer.audit import Audit
from analyzer.checkout import Checkout, open_checkout
from analyzer.conventions import read_convention
from analyzer.engine import read_model
from analyzer.findings import CollectStates
from analyzer.fix import plan_fixes, write_plan
from analyzer.lessons import support
from analyzer.teach import teach
from rules import all_rules
from tests import releases
from tests.forwards import Kind, runs

pytestmark = pytest.mark.release

CONTRACT = "SupportsEagle3"
MODELS = "vllm/model_executor/models"
SUM, ALONE, STALE = Kind(True, True), Kind(False, False), Kind(True, False)


@dataclass(frozen=True)
class Pair:
    """A model that upstream taught between two releases.

    Args:
        old, new: the releases.
        file: of its module.
        model, decoder: its classes.
        kind: what its layers do with a residual.
        raises: layers for which upstream's own code raises.
        declared: whether the newer release declares the contract as well.
    """

    old: str
    new: str
    file: str
    model: str
    decoder: str
    kind: Kind
    raises: tuple[int, ...] = ()
    declared: bool = True


PAIRS = [
    Pair("0.11.0", "0.12.0", "qwen3_moe", "Qwen3MoeForCausalLM", "Qwen3MoeModel", SUM),
    Pair("0.15.1", "0.16.0", "afmoe", "AfmoeForCausalLM", "AfmoeModel", SUM),
    Pair("0.17.1", "0.18.1", "deepseek_v2", "DeepseekV2ForCausalLM", "DeepseekV2Model", SUM, (0,)),
    Pair("0.17.1", "0.18.1", "qwen3_next", "Qwen3NextForCausalLM", "Qwen3NextModel", SUM, declared=False),
    Pair("0.19.0", "0.20.2", "minimax_m2", "MiniMaxM2ForCausalLM", "MiniMaxM2Model", SUM),
    Pair("0.20.2", "0.22.1", "nemotron_h", "NemotronHForCausalLM", "NemotronHModel", SUM),
    Pair("0.24.0", "0.26.0", "mimo_v2", "MiMoV2FlashForCausalLM", "MiMoV2Model", SUM),
    Pair("0.28.0", "0.30.0", "sarvam", "SarvamMLAForCausalLM", "SarvamMLAModel", SUM),
    Pair("0.30.0", "0.32.0", "cohere2_moe", "Cohere2MoeForCausalLM", "Cohere2MoeModel", STALE),
    Pair("0.30.0", "0.32.0", "granite", "GraniteForCausalLM", "GraniteModel", ALONE),
    Pair("0.32.0", "0.33.0", "granitemoe", "GraniteMoeForCausalLM", "GraniteMoeModel", ALONE),
    Pair("0.32.0", "0.33.0", "granitemoeshared", "GraniteMoeSharedForCausalLM", "GraniteMoeSharedModel", ALONE),
]
IDS = [f"{pair.model}-{pair.old}" for pair in PAIRS]
ASKED = [(), (1,), (3,), (7,), (8,), (2, 4, 5), (1, 2, 3, 4, 5, 6, 7), (0,), (0, 4, 7)]


@pytest.fixture(scope="module")
def taught(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Audit]]:
    """An older release with all of the pairs' models taught, read once."""
    made: list[Path] = []

    @cache
    def read(old: str) -> Audit:
        before = releases.read(old)
        contract = before.contracts[CONTRACT]
        convention = read_convention(before, contract)
        names = {pair.model for pair in PAIRS if pair.old == old}
        models = [m for m in before.models if m.cls.name in names]
        assert {m.cls.name for m in models} == names
        fixes = [support(before, model, contract, convention) for model in models]
        root = tmp_path_factory.mktemp("older")
        made.append(root)
        shutil.copytree(releases.checkout(old).package, root / "vllm")
        plan = plan_fixes(root, fixes)
        assert not plan.refused
        assert len(plan.applied) == len(names)
        assert not write_plan(root, plan).refused
        assert not plan_fixes(root, fixes).changes
        return read_some(open_checkout(root), sorted(names))

    yield read
    for root in made:
        shutil.rmtree(root)


def read_some(checkout: Checkout, architectures: list[str]) -> Audit:
    """Some models alone: what they support does not depend on the others."""
    return read_model(checkout, architectures, None, CONTRACT, [])


def outcome(read: Audit, name: str) -> tuple[bool | None, str, str, str, bool | None, bool | None]:
    """The checker's answer, the verdict, where the layers land, and what becomes of the states."""
    model = next(m for m in read.models if m.cls.name == name)
    status = read.status(model, read.contracts[CONTRACT])
    chain = status.alternatives[0].outer
    assert chain.holder is not None and chain.capture is not None and chain.handing is not None
    place = ".".join(chain.holder.trail)
    return status.satisfied, status.verdict, place, chain.attribute, chain.capture.ok, chain.handing.ok


@pytest.mark.parametrize("pair", PAIRS, ids=IDS)
def test_it_is_judged_as_upstreams_own(pair: Pair, taught: Callable[[str], Audit]) -> None:
    ours = outcome(taught(pair.old), pair.model)
    assert ours == (True, "works", "model", "aux_hidden_state_layers", True, True)
    upstreams = read_some(releases.checkout(pair.new), [pair.model])
    if pair.declared:
        assert outcome(upstreams, pair.model) == ours
    else:
        assert not next(m for m in upstreams.models).statuses[CONTRACT].declared


@pytest.mark.parametrize("pair", PAIRS, ids=IDS)
def test_the_states_are_those_of_upstreams_own(
    pair: Pair, taught: Callable[[str], Audit], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both functions are run on the same stand-ins: result and states are equal wherever upstream's does not raise."""
    path = f"{MODELS}/{pair.file}.py"
    compared = 0
    for asked in ASKED:
        ours = runs(taught(pair.old).checkout.root, path, pair.decoder, pair.kind, asked, monkeypatch)
        theirs = runs(releases.checkout(pair.new).root, path, pair.decoder, pair.kind, asked, monkeypatch)
        if set(asked) & set(pair.raises):
            assert theirs == "TypeError"
            assert isinstance(ours, tuple) and len(ours[1]) == len(asked)
            continue
        assert ours == theirs, asked
        compared += isinstance(ours, tuple)
    assert compared >= 5


@pytest.mark.parametrize("pair", [p for p in PAIRS if p.old in ("0.30.0", "0.32.0")], ids=lambda p: p.model)
@pytest.mark.parametrize("stages", [2, 3])
def test_states_of_all_stages_arrive_where_the_release_can_send_them(
    pair: Pair, stages: int, taught: Callable[[str], Audit], monkeypatch: pytest.MonkeyPatch
) -> None:
    root, path = taught(pair.old).checkout.root, f"{MODELS}/{pair.file}.py"
    for asked in ASKED:
        whole = runs(root, path, pair.decoder, pair.kind, asked, monkeypatch)
        assert runs(root, path, pair.decoder, pair.kind, asked, monkeypatch, stages) == whole, asked


def test_what_upstream_taught_otherwise_is_refused_with_the_reason() -> None:
    """Loops that upstream rewrote by hand, and that are not regular."""
    cases = [
        ("0.28.0", "Plamo3ForCausalLM", "plamo3.py", "the loop is not in forward, which calls self.layers"),
        ("0.15.1", "HunYuanDenseV1ForCausalLM", "hunyuan_v1.py", "the layer gives 3 things"),
    ]
    for version, name, file, reason in cases:
        read = releases.read(version)
        contract = read.contracts[CONTRACT]
        model = next(m for m in read.models if m.cls.name == name)
        fix = support(read, model, contract, read_convention(read, contract))
        assert not fix.edits
        assert file in fix.summary and reason in fix.summary


def test_the_story_that_began_it() -> None:
    """DeepSeek-V2 on 0.16.0, and the wrappers around it."""
    found = teach(releases.checkout("0.16.0"), all_rules(), "DeepseekV2ForCausalLM", CONTRACT)
    assert not found.refused
    assert found.trace is not None and (found.trace.answer, found.trace.why) == ("works", "")
    assert {f.cls.rpartition(".")[2] for f in found.repairs} >= {"KimiK25ForConditionalGeneration"}
    lists = [edit.item for fix in found.lessons for edit in fix.edits if hasattr(edit, "item")]
    assert {"deepseek_v2", "deepseek_v3"} <= set(lists)
    assert any(isinstance(edit, CollectStates) for fix in found.lessons for edit in fix.edits)
    assert {change.path.rpartition("/")[2] for change in found.plan.changes} >= {
        "deepseek_v2.py",
        "kimi_k25.py",
        "speculative.py",
    }


@pytest.mark.parametrize(("version", "least"), [("0.11.0", 45), ("0.20.2", 60), ("0.33.0", 39)])
def test_every_lesson_that_is_offered_can_be_carried_out(version: str, least: int, tmp_path: Path) -> None:
    """One by one: each is verified, settles, and leaves a file formatted that was formatted."""
    read = releases.read(version)
    contract = read.contracts[CONTRACT]
    convention = read_convention(read, contract)
    models = [m for m in read.models if m.role == "text" and read.status(m, contract).verdict == "unsupported"]
    offered = [fix for m in models if (fix := support(read, m, contract, convention)).edits]
    assert len(offered) >= least
    for fix in offered:
        plan = plan_fixes(read.checkout.root, [fix])
        assert not plan.refused, fix.summary
        for change in plan.changes:
            if formatted(tmp_path, change.before):
                assert formatted(tmp_path, change.after), change.path


def formatted(folder: Path, source: bytes) -> bool:
    """Whether ruff would leave a file as it is, with the line length of a vLLM tree."""
    file = folder / "file.py"
    file.write_bytes(source)
    command = [sys.executable, "-m", "ruff", "format", "--isolated", "--line-length=88", "--check", str(file)]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0
