"""Which loops are regular: each case changes one that is, and the line is named that is not understood."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from analyzer import engine
from analyzer.audit import Audit
from analyzer.checkout import open_checkout
from analyzer.conventions import read_convention
from analyzer.lessons import lesson_of, support
from analyzer.loops import Irregular, Loop
from tests.fixture_trees import FIXTURES, MODELS, copy_tree

CONTRACT = "SupportsEagle3"
DEFERRED = (FIXTURES / "decoders" / "deferred.py").read_text()

CALL = "            hidden_states, residual = layer(positions, hidden_states, residual)\n"
HEAD = "        for layer in islice(self.layers, self.start_layer, self.end_layer):\n"
NORM = "        hidden_states, _ = self.norm(hidden_states, residual)\n"
LAST = "        return hidden_states\n\n\nclass DeferredForCausalLM"
STAGE = "        if not get_pp_group().is_last_rank:\n"


@dataclass(frozen=True)
class Odd:
    """A change that makes the loop irregular.

    Args:
        old, new: what is changed.
        reason: a part of what is said.
        at: a part of the line that is named.
    """

    old: str
    new: str
    reason: str
    at: str


OVER = "islice(self.layers, self.start_layer, self.end_layer)"
SUM = "        hidden_states = self.merge(hidden_states, positions)\n"

ODD = {
    "a second loop": Odd(NORM, HEAD + CALL + NORM, "a second loop", "for layer"),
    "another loop behind": Odd(
        NORM, "        for _ in range(2):\n            pass\n" + NORM, "behind the loop", "range(2)"
    ),
    "a loop in a branch": Odd(
        HEAD + CALL, f"        if positions:\n    {HEAD}    {CALL}", "inside a branch", "for layer"
    ),
    "an early return": Odd(
        STAGE, "        if positions is None:\n            return hidden_states\n" + STAGE, "early return", "return"
    ),
    "a return before": Odd(
        "        # every layer",
        "        if positions is None:\n            return hidden_states\n        # every layer",
        "returns before the loop",
        "return hidden_states",
    ),
    "a break": Odd(CALL, CALL + "            if positions is None:\n                break\n", "break inside", "break"),
    "more than two results": Odd(
        CALL,
        "            hidden_states, residual, kept = layer(positions, hidden_states, residual)\n",
        "3 things",
        "kept",
    ),
    "a result that is not handed on": Odd(
        CALL,
        "            hidden_states, logits = layer(positions, hidden_states)\n",
        "logits, which the next",
        "logits",
    ),
    "packed states": Odd(
        NORM, "        hidden_states, _ = self.norm(hidden_states[0], residual)\n", "packed", "for layer"
    ),
    "an item of the result": Odd(
        CALL, "            hidden_states = layer(positions, hidden_states, residual)[0]\n", "not kept in names", "[0]"
    ),
    "a layer that is called twice": Odd(CALL, CALL + CALL, "more than once", "layer("),
    "a layer that is called on a condition": Odd(
        CALL, f"            if positions:\n    {CALL}", "only on a condition", "layer("
    ),
    "a state that is changed beside the layer": Odd(
        CALL, CALL + "            hidden_states = hidden_states * 2\n", "changed beside the layer", "* 2"
    ),
    "a state that is changed in place": Odd(
        CALL, CALL + "            hidden_states.mul_(2)\n", "changed in place", "mul_"
    ),
    "something else that goes from layer to layer": Odd(
        HEAD + CALL,
        "        kept = None\n"
        + HEAD
        + CALL.replace("residual)", "residual + (kept or 0))")
        + "            kept = positions\n",
        "kept too goes",
        "kept = positions",
    ),
    "a compiled part": Odd(
        HEAD + CALL,
        "        hidden_states, residual = self.layers(positions, hidden_states)\n",
        "self.layers",
        "self.layers(positions",
    ),
    "layers from elsewhere": Odd(OVER, "self.chosen(positions)", "runs over", "chosen"),
    "layers from some index on": Odd(OVER, "islice(self.layers, 2, 4)", "runs over", "2, 4"),
    "another use of the state behind": Odd(NORM, SUM + NORM, "not only normed", "merge"),
    "a result that is a pair already": Odd(
        LAST,
        LAST.replace("hidden_states", "hidden_states, residual", 1),
        "and not the states alone",
        "return hidden_states, r",
    ),
    "a residual that goes somewhere": Odd(
        NORM,
        "        hidden_states = self.norm(hidden_states)\n        self.keep(residual)\n",
        "what becomes of residual",
        "return hidden",
    ),
    "a norm that is not known": Odd(
        "self.norm = DeferredNorm()",
        "self.norm = vllm_config.make_norm()",
        "whether self.norm adds",
        "self.norm(hidden",
    ),
    "several streams": Odd(
        "                hidden_states = self.embed_input_ids(input_ids)\n",
        "                hidden_states = self.embed_input_ids(input_ids).unsqueeze(1).repeat(1, 4, 1)\n",
        "another shape before the loop (repeat)",
        "unsqueeze(1)",
    ),
    "two steps behind": Odd(
        NORM, "        hidden_states = self.head(hidden_states)\n" + NORM, "not only normed", "self.norm("
    ),
    "a function inside": Odd(
        STAGE, "        def scaled():\n            return positions\n\n" + STAGE, "defined inside", "def scaled"
    ),
    "a wrapped forward": Odd(
        "        return self.embed_tokens(input_ids)\n\n    def forward(",
        "        return self.embed_tokens(input_ids)\n\n    @compiled\n    def forward(",
        "wrapped by @compiled",
        "def forward(",
    ),
}


def class_name(number: int) -> str:
    return f"Odd{number}"


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> Audit:
    """A tree with all of them, and the regular one."""
    root = copy_tree("0.33", tmp_path_factory.mktemp("odd") / "tree")
    registry = root / MODELS / "registry.py"
    text = registry.read_text()
    head = "_TEXT_GENERATION_MODELS = {\n"
    for number, odd in enumerate([Odd("", "", "", ""), *ODD.values()]):
        assert DEFERRED.count(odd.old) == 1 or not odd.old, odd.old
        source = DEFERRED.replace(odd.old, odd.new).replace("Deferred", class_name(number))
        (root / MODELS / f"odd{number}.py").write_text(source)
        name = f"{class_name(number)}ForCausalLM"
        text = text.replace(head, f'{head}    "{name}": ("odd{number}", "{name}"),\n')
    registry.write_text(text)
    return engine.read_checkout(open_checkout(root))


def judged(read: Audit, number: int) -> Loop | Irregular:
    model = next(m for m in read.models if m.cls.name == f"{class_name(number)}ForCausalLM")
    lesson = lesson_of(read, model, read.contracts[CONTRACT])
    assert lesson is not None
    return lesson.loops[0]


def test_without_a_change_the_loop_is_regular(read: Audit) -> None:
    loop = judged(read, 0)
    assert isinstance(loop, Loop)
    assert (loop.hidden, loop.residual, loop.layers, loop.start) == (
        "hidden_states",
        "residual",
        "layers",
        "self.start_layer",
    )


@pytest.mark.parametrize("number", range(1, len(ODD) + 1), ids=list(ODD))
def test_what_makes_a_loop_irregular_is_named_with_its_line(number: int, read: Audit) -> None:
    odd = list(ODD.values())[number - 1]
    loop = judged(read, number)
    assert isinstance(loop, Irregular), odd
    assert odd.reason in loop.reason
    line = (read.checkout.root / loop.path).read_text().splitlines()[loop.line - 1]
    assert odd.at in line.replace(class_name(number), "Deferred"), (loop, line)


@pytest.mark.parametrize("number", range(1, len(ODD) + 1), ids=list(ODD))
def test_nothing_is_offered_for_an_irregular_loop(number: int, read: Audit) -> None:
    contract = read.contracts[CONTRACT]
    model = next(m for m in read.models if m.cls.name == f"{class_name(number)}ForCausalLM")
    fix = support(read, model, contract, read_convention(read, contract))
    assert (fix.safety, fix.edits) == ("none", ())
    assert fix.summary.startswith(f"{MODELS}/odd{number}.py:")


def test_a_decoder_that_stands_elsewhere_is_refused(tmp_path: Path) -> None:
    root = copy_tree("0.33", tmp_path / "tree")
    source = DEFERRED.replace("self.model", "self.transformer")
    (root / MODELS / "deferred.py").write_text(source)
    registry = root / MODELS / "registry.py"
    head = "_TEXT_GENERATION_MODELS = {\n"
    registry.write_text(
        registry.read_text().replace(head, f'{head}    "DeferredForCausalLM": ("deferred", "DeferredForCausalLM"),\n')
    )
    read = engine.read_checkout(open_checkout(root))
    contract = read.contracts[CONTRACT]
    model = next(m for m in read.models if m.cls.name == "DeferredForCausalLM")
    fix = support(read, model, contract, read_convention(read, contract))
    assert not fix.edits
    assert "self.transformer" in fix.summary and "self.model" in fix.summary
