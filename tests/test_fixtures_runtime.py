"""The static verdict equals what Python does: every case is built, checked and run for real, and again once repaired.

Each model of a case's file is built from the tree's own configuration, with every text model that a checkpoint could
name, and taken through the runner's steps (``fixtures/harness.py``).  A step that the analysis calls unknown is a
fault here too: nothing in these files is beyond what it follows.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from analyzer.chains import Chain, MethodResult, configures
from analyzer.contracts import Contract
from analyzer.findings import Finding
from analyzer.fix import plan_fixes, write_plan
from analyzer.inner import generates
from analyzer.models import Alternative, Model, Status
from rules._rule import Case
from tests.fixture_trees import FIXTURES, GENERATIONS, Tree, Trees, all_cases

CONTRACT = "SupportsEagle3"
IMAGE_TOKENS = ("image_token_id", "image_token_index", "media_placeholder_token_id")

Outcome = dict[str, Any]


# -- running ---------------------------------------------------------------------------------------


@dataclass
class Ran:
    """What the models of a tree did: one list of outcomes a model, one outcome a configuration."""

    tree: Tree
    outcomes: list[tuple[Model, list[Outcome]]] = field(default_factory=list)

    def of(self, cls: str) -> list[Outcome]:
        return [out for model, outs in self.outcomes for out in outs if model.cls.key == cls]


def contract_of(tree: Tree) -> Contract:
    return next(c for c in tree.report.contracts if c.name == CONTRACT)


def job(tree: Tree, platform: str) -> tuple[dict[str, Any], list[Model]]:
    """What the harness has to do with a tree, and the models in the order of its answer."""
    contract = contract_of(tree)
    setter = next(m for m in contract.methods if configures(m))
    getter = next(m for m in contract.methods if not configures(m))
    models = [m for m in tree.models if m.role != "draft" and generates(m.cls)]
    asked = [(m.name, sum(p.required for p in m.facts.parameters[1:])) for m in called_methods(tree)]
    return {
        "root": str(tree.root),
        "platform": platform,
        "setter": setter.name,
        "getter": getter.name,
        "models": [
            {
                "class": model.cls.key,
                "inner": model.inner[0].attribute if model.inner else "",
                "calls": asked,
                "architecture": served(model),
                "model_type": model_type(model),
                "configs": list(configurations(tree, model)),
            }
            for model in models
        ],
    }, models


def called_methods(tree: Tree) -> list[Any]:
    """Methods that the trees' own code calls, of all contracts."""
    return [
        m
        for c in tree.report.contracts
        for m in c.methods
        if m.name.startswith(("make_empty", "get_mamba", "set_aux", "get_eagle3"))
    ]


def served(model: Model) -> str:
    """The architecture under which the runner would load exactly this class, or empty."""
    stems = [e for e in model.entries if e.module == model.cls.module.module and e.cls == model.cls.name]
    return stems[0].architecture if stems else ""


def model_type(model: Model) -> str:
    """That of the text model inside, or of the model itself: the name of its file, as in vLLM."""
    inside = [a.cls.path for a in model.statuses[CONTRACT].alternatives if a.cls is not None]
    return Path(inside[0] if inside else model.cls.path).stem


def configurations(tree: Tree, model: Model) -> Iterator[dict[str, Any]]:
    """For a model around another: one for each text model that a checkpoint can name; else only its own."""
    source = "".join((tree.root / path).read_text() for path in {cls.path for cls in model.cls.own_mro})
    tokens = {name: 7 for name in IMAGE_TOKENS if re.search(rf"config\W+{name}", source)}
    texts = [m for m in tree.report.models if m.role == "text" and m.architectures and not m.becomes]
    inside = [m for m in texts if m.cls.path != model.cls.path] if model.inner or model.becomes else [model]
    for text in inside:
        yield {
            "architecture": served(model) or "AlphaForCausalLM",
            "text_architecture": text.architectures[0],
            "text_model_type": Path(text.cls.path).stem,
            **tokens,
        }


def run(trees: list[Tree]) -> list[Ran]:
    """Everything in one process: importing is what takes the time."""
    platforms = ("cuda", "rocm")
    jobs = [job(tree, platform) for tree in trees for platform in platforms]
    environment = {**os.environ, "PYTHONPATH": str(FIXTURES / "stand_in"), "PYTHONDONTWRITEBYTECODE": "1"}
    answer = subprocess.run(
        [sys.executable, "-W", "error", str(FIXTURES / "harness.py")],
        input=json.dumps([asked for asked, _ in jobs]),
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr
    told = iter(json.loads(answer.stdout))
    ran = []
    for position, tree in enumerate(trees):
        ran.append(Ran(tree))
        models = jobs[position * len(platforms)][1]
        both = [next(told) for _ in platforms]
        for index, model in enumerate(models):
            ran[-1].outcomes.append((model, [out for outs in both for out in outs[index]]))
    return ran


# -- repairing -------------------------------------------------------------------------------------


def repairable(tree: Tree) -> list[Finding]:
    return [f for f in tree.findings if f.fix.edits]


def repaired(trees: Trees, name: str, tree: Tree) -> Tree | None:
    """The tree with every fix of its findings applied, unsafe ones too; None where there is none."""
    fixes = [f.fix for f in repairable(tree)]
    if not fixes:
        return None
    root = trees.scratch(f"{name}-repaired", tree)
    plan = plan_fixes(root, fixes)
    assert not plan.refused
    assert len(plan.applied) == len(fixes)
    assert not write_plan(root, plan).refused
    return Tree(root, tree.generation, tree.path)


class Session:
    """All cases of all generations, before and after their repair, run once."""

    def __init__(self, trees: Trees) -> None:
        self.before: dict[str, Ran] = {}
        self.after: dict[str, Ran] = {}
        for generation in GENERATIONS:
            todo = {generation: trees.plain(generation)}
            todo |= {name: trees.of(name, case) for name, case in all_cases() if case.generation == generation}
            fixed = {name: made for name, tree in todo.items() if (made := repaired(trees, name, tree))}
            ran = run([*todo.values(), *fixed.values()])
            self.before |= dict(zip(todo, ran[: len(todo)], strict=True))
            self.after |= dict(zip(fixed, ran[len(todo) :], strict=True))


@pytest.fixture(scope="module")
def session(trees: Trees) -> Session:
    return Session(trees)


# -- comparing -------------------------------------------------------------------------------------


def differences(tree: Tree, outcome: Outcome) -> Iterator[str]:
    """Where the analysis and Python disagree about one model built with one configuration."""
    model = next(m for m in tree.report.models if m.cls.key == outcome["class"])
    for contract in tree.report.contracts:
        if contract.checker in outcome["checks"]:
            said = model.statuses[contract.name].satisfied
            if said is not outcome["checks"][contract.checker]:
                yield f"{contract.checker} is {outcome['checks'][contract.checker]}, static {said}"
    status = model.statuses[CONTRACT]
    alternative = matching(status, outcome)
    if alternative is not None:
        yield from chain_differences(alternative.outer, outcome)


def matching(status: Status, outcome: Outcome) -> Alternative | None:
    """The possibility that this configuration realised."""
    known = [a for a in status.alternatives if a.cls is None or not outcome["inner"] or a.cls.key == outcome["inner"]]
    return next((a for a in known if a.cls is not None), known[0] if known else None)


def chain_differences(chain: Chain, outcome: Outcome) -> Iterator[str]:
    for result in chain.methods:
        step = "setter" if configures(result.method) else "getter"
        problem = step_difference(
            result, outcome[step], bool(outcome["landed"] if step == "setter" else outcome["gives"])
        )
        if problem:
            yield f"{step}: {problem}"
    landed = [tuple(place) for place in outcome["landed"]]
    expected = [(".".join(chain.holder.trail), chain.attribute)] if chain.holder is not None else []
    if landed != expected:
        yield f"layers land at {landed}, static {expected}"
    if chain.capture is not None and chain.capture.ok is not outcome.get("captured"):
        yield f"captured is {outcome.get('captured')}, static {chain.capture.ok}: {chain.capture.detail}"
    if chain.handing is not None and outcome.get("captured") and chain.handing.ok is not outcome["handed"]:
        yield f"handed on is {outcome['handed']} ({outcome['forward']}), static {chain.handing}"
    works = bool(chain.satisfied and not outcome["getter"] and not outcome["setter"] and outcome["handed"] and landed)
    if (chain.ok and chain.satisfied) is not works:
        yield f"the whole works: {works}, static {chain.ok} of {chain.satisfied}"
    if "runner" in outcome and (outcome["runner"] == "") is not works:
        yield f"the runner says {outcome['runner']!r}"


def step_difference(result: MethodResult, raised: str, effect: bool) -> str:
    """Why what a method did is not what the analysis says it does; empty where it is."""
    did = raised or ("has an effect" if effect else "no effect")
    if result.how == "works":
        right = did == "has an effect"
    elif result.how == "refuses":
        right = did.startswith("TypeError")
    elif result.how == "missing":
        right = did.startswith("AttributeError") and f"has no attribute {result.method.name!r}" in did
    elif result.how in ("stub", "no-effect"):
        right = did == "no effect"
    elif result.how == "fails" and result.failure is not None:
        right = did == f"{result.failure.kind}: {result.failure.detail}" or (
            "…" in result.failure.detail and did.startswith(f"{result.failure.kind}: ")
        )
    else:
        right = False
    return "" if right else f"{did}, static {result.how} {result.reason}"


# -- tests -----------------------------------------------------------------------------------------

NAMES = [*GENERATIONS, *(name for name, _ in all_cases())]
CASES: dict[str, Case] = dict(all_cases())


@pytest.mark.parametrize("name", NAMES)
def test_what_the_analysis_says_is_what_python_does(name: str, session: Session) -> None:
    ran = session.before[name]
    wrong = [
        f"{model.cls.name}: {difference}"
        for model, outcomes in ran.outcomes
        for outcome in outcomes
        if not outcome["build"]
        for difference in differences(ran.tree, outcome)
    ]
    assert not wrong
    built = [outcome["build"] for _, outcomes in ran.outcomes for outcome in outcomes]
    if name in CASES and any(code == "VC900" for code, _ in CASES[name].finds):
        assert any(built)  # what could not be resolved is not there
    else:
        assert not any(built)


@pytest.mark.parametrize("name", NAMES)
def test_every_possibility_for_the_inner_model_was_met(name: str, session: Session) -> None:
    """Branches, platforms and configurations: the classes that the analysis names are those that Python builds."""
    for model, outcomes in session.before[name].outcomes:
        status = model.statuses[CONTRACT]
        named = {a.cls.key for a in status.alternatives if a.inner is not None and a.cls is not None}
        met = {outcome["inner"] for outcome in outcomes if not outcome["build"]}
        assert named <= met
        if not status.config_decides and model.inner:
            assert met == named


FAULTS: dict[str, Callable[[Finding, Outcome], bool]] = {
    "VC001": lambda _, out: (
        not out["checks"]["supports_eagle3"] and out.get("runner", "RuntimeError").startswith("RuntimeError")
    ),
    "VC002": lambda finding, out: "None" in [gave for name, gave in out["calls"] if name in finding.message],
    "VC003": lambda _, out: bool(out["getter"] or out["setter"]) or not out["landed"],
    "VC004": lambda _, out: out["checks"]["supports_eagle3"] and not out["handed"],
    "VC006": lambda _, out: bool(out["landed"]) and out["captured"] and not out["handed"],
    "VC007": lambda _, out: bool(out["landed"]) and not out["captured"],
    "VC008": lambda _, out: out["allow_list"].startswith("ValueError"),
    "VC009": lambda finding, out: "TypeError" in [gave for name, gave in out["calls"] if name in finding.message],
    "VC010": lambda _, out: not out["checks"]["supports_eagle3"],
    "VC011": lambda _, out: not out["checks"]["supports_eagle3"],
    "VC012": lambda _, out: out["proposer"].startswith("AttributeError"),
}
"""By code: whether a finding's fault shows when the model is run.  VC005 and VC900 are about what is never run."""

SHOWN_BY_THE_RUN = ("VC001", "VC002", "VC003", "VC010", "VC011")
"""What a repair of these must lead to: the states arrive, or a clear error where the configuration chose badly."""


@pytest.mark.parametrize("name", CASES)
def test_every_finding_shows_when_the_model_is_run_and_nothing_else_does(name: str, session: Session) -> None:
    ran = session.before[name]
    for outcome in (out for _, outs in ran.outcomes for out in outs if not out["build"]):
        found = {f.code: f for f in ran.tree.findings if concerned(f, ran.tree, outcome)}
        for code, finding in found.items():
            if code in FAULTS:
                assert FAULTS[code](finding, outcome), (code, outcome)
        if outcome.get("runner") == "":
            assert not set(found) - {"VC005", "VC008", "VC010", "VC012"}
            assert "VC008" in found or not outcome["allow_list"]
            assert "VC012" in found or not outcome["proposer"]


@pytest.mark.parametrize("name", [name for name, case in all_cases() if case.finds])
def test_a_repaired_case_passes_the_check_and_hands_the_states_through(name: str, session: Session) -> None:
    before = session.before[name].tree
    fixable = repairable(before)
    if not fixable:
        assert name not in session.after
        return
    ran = session.after[name]
    assert not [
        d for model, outs in ran.outcomes for out in outs if not out["build"] for d in differences(ran.tree, out)
    ]
    left = {(f.code, f.cls) for f in ran.tree.report.findings}
    assert not left & {(f.code, f.cls) for f in fixable}
    for finding in fixable:
        judge_repair(finding, ran)


def judge_repair(finding: Finding, ran: Ran) -> None:
    """What the repair of a finding must have made of the models that it concerns."""
    outcomes = [
        out for _, outs in ran.outcomes for out in outs if not out["build"] and concerned(finding, ran.tree, out)
    ]
    assert outcomes
    for outcome in outcomes:
        if finding.code in FAULTS and finding.code not in SHOWN_BY_THE_RUN:
            assert not FAULTS[finding.code](finding, outcome)
        elif outcome.get("runner"):  # only where the configuration chose a model that cannot, and with a clear error
            assert finding.fix.safety == "unsafe"
            assert re.match("RuntimeError: .* needs a language model that supports SupportsEagle3", outcome["runner"])
        else:
            assert outcome["checks"]["supports_eagle3"]
            assert outcome["landed"] and outcome["handed"]
    if finding.code in SHOWN_BY_THE_RUN:
        assert any(outcome["handed"] for outcome in outcomes)


def concerned(finding: Finding, tree: Tree, outcome: Outcome) -> bool:
    """Whether a finding is on the class of an object or on one that it inherits from."""
    made = next(m for m in tree.report.models if m.cls.key == outcome["class"])
    return finding.cls in {cls.key for cls in made.cls.own_mro}
