"""The parts of the whole-engine runs that need no engine."""

from __future__ import annotations

import json
import os
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from scripts.e2e.__main__ import record
from scripts.e2e.checkpoints import HIDDEN, LAYERS, VOCAB, decoder_shapes, drafter_config, drafter_shapes, token_walk
from scripts.e2e.environment import other_requirements, torch_pin
from scripts.e2e.expectations import RUNNER, Expectation, expectation
from scripts.e2e.report import Trial, render
from scripts.e2e.runs import Outcome, contained
from scripts.e2e.wrappers import WRAPPERS, Wrapper

# -- checkpoints -----------------------------------------------------------------------------------


def test_the_walk_is_one_cycle_through_all_tokens_but_the_first() -> None:
    walk = token_walk()
    seen, token = set(), 1
    while token not in seen:
        seen.add(token)
        token = walk[token]
    assert seen == set(range(1, VOCAB))
    assert walk[0] == 0


@pytest.mark.parametrize("wrapper", WRAPPERS.values(), ids=lambda w: w.cls)
def test_a_checkpoint_has_the_weights_that_its_config_asks_for(wrapper: Wrapper) -> None:
    text = wrapper.config.get("text_config", wrapper.config)
    shapes = decoder_shapes(wrapper.layer)
    assert text["num_hidden_layers"] == LAYERS == len({n.split(".")[1] for n in shapes if n.startswith("layers.")})
    assert shapes["embed_tokens.weight"] == (text["vocab_size"], text["hidden_size"])
    assert wrapper.config["architectures"] == [wrapper.cls]
    assert wrapper.layer["mlp.down_proj.weight"] == (text["hidden_size"], text["intermediate_size"])
    if "kv_lora_rank" not in text:
        head = text.get("head_dim", text["hidden_size"] // text["num_attention_heads"])
        assert wrapper.layer["self_attn.q_proj.weight"] == (text["num_attention_heads"] * head, text["hidden_size"])
        assert wrapper.layer["self_attn.v_proj.weight"] == (text["num_key_value_heads"] * head, text["hidden_size"])


def test_the_drafter_reads_embeddings_and_three_states() -> None:
    shapes, config = drafter_shapes(), drafter_config()
    assert config["num_hidden_layers"] == 1
    assert shapes["fc.weight"] == (HIDDEN, 3 * HIDDEN)
    assert shapes["midlayer.self_attn.q_proj.weight"][1] == 2 * HIDDEN
    assert shapes["lm_head.weight"] == (config["draft_vocab_size"], HIDDEN)
    assert not any("embed_tokens" in name for name in shapes)


# -- environments ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("requirement", "version"),
    [
        ('torch==2.13.0+cpu; platform_machine == "x86_64"', "2.13.0"),
        ("torch==2.11.0", "2.11.0"),
        ("torchvision", ""),
        ("torch>=2.0", ""),
        ("torchaudio==2.11.0", ""),
    ],
)
def test_the_release_says_which_torch_it_was_built_with(requirement: str, version: str) -> None:
    assert torch_pin(requirement) == version


def test_torch_and_what_is_pinned_are_not_asked_for_twice() -> None:
    asked = [
        "torch==2.13.0+cpu; sys_platform == 'linux'",
        "torchvision; x",
        "numpy",
        "transformers>=5",
        "lark==1.2",
        "",
    ]
    assert other_requirements(asked, ("transformers==5.10.4",)) == ["numpy", "lark==1.2"]


# -- contained runs --------------------------------------------------------------------------------

PARENT = """
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
open(sys.argv[1], "w").write(str(child.pid))
time.sleep(float(sys.argv[2]))
"""


@pytest.mark.parametrize(("lasts", "ended"), [("600", "stopped after"), ("0", "exit code 0")])
def test_nothing_of_a_run_is_left_behind(lasts: str, ended: str, tmp_path: Path) -> None:
    note = tmp_path / "pid"
    command = [sys.executable, "-c", PARENT, str(note), lasts]
    with (tmp_path / "log").open("w") as log:
        said = contained(command, settings={}, output=log, limit=20.0 if lasts == "600" else 120.0)
    assert said.startswith(ended)
    child = int(note.read_text())
    for _ in range(100):
        if not alive(child):
            return
        time.sleep(0.1)
    pytest.fail(f"process {child} is still there")


def alive(process: int) -> bool:
    try:
        os.kill(process, 0)
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


# -- what the findings say, and what came of it ----------------------------------------------------

REFUSAL = "RuntimeError: Model does not support EAGLE3 interface"
FINDINGS: list[dict[str, Any]] = [
    {
        "code": "VC001",
        "class": "vllm.models.a.AForCausalLM",
        "confidence": "certain",
        "fix": "safe",
        "fix_summary": "add it",
        "chain": [
            {"link": "gate", "path": "vllm/other.py", "detail": 'asks: f(model), else "ValueError: other"'},
            {"link": "gate", "path": RUNNER, "detail": f'asks: f(model), else "{REFUSAL}"'},
            {"link": "decoder", "path": "vllm/b.py", "detail": "the decoder is self.language_model.model (BModel)"},
        ],
    },
    {
        "code": "VC012",
        "class": "vllm.models.a.AForCausalLM",
        "fix": "none",
        "chain": [{"link": "branch", "path": "vllm/p.py", "detail": "every other class: config.image_token_index"}],
    },
]
EXPECTED = Expectation(
    REFUSAL, "safe", "add it", "language_model.model", "BModel", missing="image_token_index", missing_at="vllm/p.py"
)


def test_the_expectation_is_what_the_findings_quote() -> None:
    assert expectation({"findings": FINDINGS}, "AForCausalLM") == EXPECTED
    assert expectation({"findings": FINDINGS}, "ForCausalLM") is None


WORKS = Outcome(tokens=[[1, 2]], layers={"language_model.model (BModel)": [2, 4, 5]}, drafts=10, accepted=5)
GOOD = Trial(
    release="0.0.1",
    wrapper=WRAPPERS["LLaVA-NeXT"],
    expected=EXPECTED,
    alone=Outcome(tokens=[[1, 2]]),
    single=Outcome(tokens=[[1, 2]]),
    nameless=Outcome(
        error="AttributeError", message="'C' object has no attribute 'image_token_index'", raised_at="vllm/p.py:9"
    ),
    refused=Outcome(error="RuntimeError", message="Model does not support EAGLE3 interface"),
    random=replace(WORKS, accepted=0),
    sighted=WORKS,
    blind=replace(WORKS, accepted=0),
)


def test_a_trial_that_went_as_found_has_no_disagreement() -> None:
    assert GOOD.disagreements() == []
    assert "**no**" not in render([GOOD])
    assert Trial.from_record(json.loads(json.dumps(GOOD.record()))) == GOOD


def test_a_trial_that_is_run_again_takes_the_place_of_the_earlier_one(tmp_path: Path) -> None:
    results = tmp_path / "results.json"
    other = replace(GOOD, release="0.28.0")
    for trial in (other, replace(GOOD, release="0.32.0"), replace(other, blind=WORKS)):
        record(results, trial)
    first, second = json.loads(results.read_text())
    assert (first["release"], first["disagreements"]) == ("0.32.0", [])
    assert (second["release"], second["disagreements"]) == ("0.28.0", ["blind: 5 of 10 accepted"])


def test_tokens_that_depend_on_the_batch_are_not_compared() -> None:
    unsteady = replace(GOOD, single=Outcome(tokens=[[1, 4]]), sighted=replace(WORKS, tokens=[[1, 3]]))
    assert unsteady.disagreements() == []
    text = render([unsteady])
    assert "| not compared |" in text
    assert "when they come one by one than when they come together" in text
    assert "not compared" not in render([GOOD])


@pytest.mark.parametrize(
    "change",
    [
        {"alone": Outcome(error="ValueError", message="no weights")},
        {"single": Outcome(error="ValueError", message="no weights"), "alone": Outcome()},
        {"refused": WORKS},
        {"refused": Outcome(error="RuntimeError", message="Engine core died")},
        {"nameless": GOOD.refused},
        {"nameless": replace(GOOD.nameless or WORKS, raised_at="vllm/q.py:9")},
        {"random": Outcome(error="NoResult", message="stopped after 9 seconds")},
        {"sighted": replace(WORKS, tokens=[[1, 3]])},
        {"sighted": replace(WORKS, accepted=1)},
        {"sighted": replace(WORKS, drafts=0, accepted=0)},
        {"blind": WORKS},
        {"random": replace(WORKS, layers={})},
        {"random": replace(WORKS, layers={"language_model.model (CModel)": [2, 4, 5]})},
        {"random": replace(WORKS, layers={"model (BModel)": [2, 4, 5]})},
        {"random": replace(WORKS, layers={"language_model.model (BModel)": [2, 5]})},
    ],
    ids=lambda change: "-".join(change),
)
def test_each_way_to_go_otherwise_is_told(change: dict[str, Any]) -> None:
    trial = replace(GOOD, **change)
    assert trial.disagreements()
    assert "**no**" in render([trial])
