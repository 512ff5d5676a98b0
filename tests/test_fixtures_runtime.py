"""The static verdict equals what Python does: every case is built, checked and run for real, and again once repaired.

Each model of a case's file is built from the tree's own configuration, with every text model that a checkpoint could
name, and taken through the runner's steps (``fixtures/harness.py``).  A step that the analysis calls unknown is a
fault here too: nothing in these files is beyond what it follows.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from analyzer import asked
from analyzer.checkpoint import Checkpoint
from analyzer.findings import Finding
from analyzer.fix import plan_fixes, write_plan
from analyzer.models import Model
from analyzer.trace import DECIDING, Trace, trace
from rules import all_rules
from rules._rule import Case, CommentRule
from tests.fixture_runs import CONTRACT, Outcome, Ran, configurations, differences, model_type, run
from tests.fixture_trees import GENERATIONS, Tree, Trees, all_cases

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
    return Tree(root, tree.generation, tree.path, tree.vllm)


class Session:
    """All cases of all generations, before and after their repair, run once."""

    def __init__(self, trees: Trees) -> None:
        self.before: dict[str, Ran] = {}
        self.after: dict[str, Ran] = {}
        self._traces: dict[str, list[tuple[Outcome, Trace]]] = {}
        for generation in GENERATIONS:
            todo = {generation: trees.plain(generation)}
            todo |= {name: trees.of(name, case) for name, case in all_cases() if case.generation == generation}
            fixed = {name: made for name, tree in todo.items() if (made := repaired(trees, name, tree))}
            ran = run([*todo.values(), *fixed.values()])
            self.before |= dict(zip(todo, ran[: len(todo)], strict=True))
            self.after |= dict(zip(fixed, ran[len(todo) :], strict=True))

    def traces(self, name: str) -> list[tuple[Outcome, Trace]]:
        """Outcomes of runs, each with the trace of the checkpoint that was run."""
        if name not in self._traces:
            ran = self.before[name]
            self._traces[name] = []
            for model, outcomes in ran.outcomes:
                configs = list(configurations(ran.tree, model))
                for number, outcome in enumerate(outcomes):
                    if not outcome["build"] and "runner" in outcome:
                        found = traced(ran.tree, model, configs[number % len(configs)])
                        self._traces[name].append((outcome, found))
        return self._traces[name]


@pytest.fixture(scope="module")
def session(trees: Trees) -> Session:
    return Session(trees)


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


@pytest.mark.parametrize("name", NAMES)
def test_the_trace_of_a_checkpoint_ends_as_its_run_does(name: str, session: Session) -> None:
    """Works, or fails at the step where the run does: the allow-list, the runner, the proposer."""
    wrong = []
    for outcome, found in session.traces(name):
        step = failing_step(outcome)
        if found.answer == "works" and step:
            wrong.append(f"{outcome} should fail at {step}")
        elif found.answer == "fails" and step not in STEPS[first_broken(found)]:
            wrong.append(f"{outcome}: {found.why}, but {step or 'it works'}")
    assert not wrong


def test_most_checkpoints_get_a_decided_trace(session: Session) -> None:
    answers = [found.answer for name in NAMES for _, found in session.traces(name)]
    assert sum(answer in ("works", "fails") for answer in answers) > 0.9 * len(answers) > 300


STEPS = {"allow-list": ("allow_list",), "name-gate": ("proposer",)} | dict.fromkeys(
    ("check", "method", "capture", "forward"), ("runner",)
)
"""Which step of a run shows that a link is broken."""


def failing_step(outcome: Outcome) -> str:
    """The first step of a start that fails: the configuration, the runner, the proposer."""
    return next((step for step in ("allow_list", "runner", "proposer") if outcome[step]), "")


def first_broken(found: Trace) -> str:
    return next(link.link for link in found.paths[0].links if link.link in DECIDING and link.ok is False)


def traced(tree: Tree, model: Model, config: dict[str, str]) -> Trace:
    """The trace of a checkpoint that would give the run's configuration."""
    rest = dict(config)
    text = {"architectures": [rest.pop("text_architecture")], "model_type": model_type(model)}
    rest.pop("text_model_type")
    values = {"architectures": [rest.pop("architecture")], "model_type": "outer", "text_config": text, **rest}
    contract = tree.report.contract(CONTRACT)
    assert contract is not None
    found = asked.of_checkpoint(tree.read.checkout, tree.report, contract, Checkpoint(values, "config.json"))
    return trace(tree.report, contract, "config.json", found.models, statuses=found.statuses, extra=found.extra)


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

OTHERS: dict[str, Callable[[Finding, Outcome, str], bool]] = {
    "VC001": lambda _, out, checker: not out["checks"][checker],
    "VC002": lambda finding, out, _: bool(
        {"None", "AttributeError"} & {gave for name, gave in out["calls"] if name in finding.message}
    ),
    "VC009": lambda finding, out, _: "TypeError" in [gave for name, gave in out["calls"] if name in finding.message],
    "VC013": lambda _, out, checker: (
        out["checks"][checker] and dict(out["calls"])["get_language_model"] == "NotImplementedError"
    ),
    "VC015": lambda _, out, checker: not out["checks"][checker],
    "VC018": lambda finding, out, _: (
        bool(out["quantised"]) and all(name in finding.message for name in out["quantised"])
    ),
}
"""The same for the contracts that do not configure the decoder; VC005 and VC014 are about what is never run."""


def shows(finding: Finding, tree: Tree, outcome: Outcome) -> bool:
    """Whether a finding's fault shows in a run; faults of what is never run count as shown."""
    if finding.contract in (CONTRACT, ""):
        return finding.code not in FAULTS or FAULTS[finding.code](finding, outcome)
    checker = tree.read.contracts[finding.contract].checker or ""
    return finding.code not in OTHERS or OTHERS[finding.code](finding, outcome, checker)


COMMENTS = {rule.code for rule in all_rules() if isinstance(rule, CommentRule)}
"""Codes of findings on comments, which no run shows."""

SHOWN_BY_THE_RUN = ("VC001", "VC002", "VC003", "VC010", "VC011")
"""What a repair of these must lead to: the states arrive, or a clear error where the configuration chose badly."""


@pytest.mark.parametrize("name", CASES)
def test_every_finding_shows_when_the_model_is_run_and_nothing_else_does(name: str, session: Session) -> None:
    ran = session.before[name]
    for outcome in (out for _, outs in ran.outcomes for out in outs if not out["build"]):
        findings = [f for f in ran.tree.findings if concerned(f, ran.tree, outcome)]
        for finding in findings:
            assert shows(finding, ran.tree, outcome), (finding, outcome)
        found = {f.code for f in findings if f.contract in (CONTRACT, "")}
        if outcome.get("runner") == "":
            assert not found - {"VC005", "VC008", "VC010", "VC012", *COMMENTS}
            assert "VC008" in found or not outcome["allow_list"]
            assert "VC012" in found or not outcome["proposer"]


@pytest.mark.parametrize("name", NAMES)
def test_a_fused_layer_is_taken_for_quantised_only_where_that_is_found(name: str, session: Session) -> None:
    """With a checkpoint that leaves the parts of each fused layer unquantised."""
    ran = session.before[name]
    for outcome in (out for _, outs in ran.outcomes for out in outs if not out["build"]):
        found = [f for f in ran.tree.findings if f.code == "VC018" and concerned(f, ran.tree, outcome)]
        assert bool(outcome["quantised"]) == bool(found)


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
    left = {(f.code, f.contract, f.cls) for f in ran.tree.report.findings}
    assert not left & {(f.code, f.contract, f.cls) for f in fixable}
    for finding in fixable:
        judge_repair(finding, ran)


def judge_repair(finding: Finding, ran: Ran) -> None:
    """What the repair of a finding must have made of the models that it concerns."""
    outcomes = [
        out for _, outs in ran.outcomes for out in outs if not out["build"] and concerned(finding, ran.tree, out)
    ]
    assert outcomes
    for outcome in outcomes:
        if finding.contract != CONTRACT:
            assert finding.code not in OTHERS or not shows(finding, ran.tree, outcome)
        elif finding.code in FAULTS and finding.code not in SHOWN_BY_THE_RUN:
            assert not FAULTS[finding.code](finding, outcome)
        elif outcome.get("runner"):  # only where the configuration chose a model that cannot, and with a clear error
            assert finding.fix.safety == "unsafe"
            assert re.match("RuntimeError: .* needs a language model that supports SupportsEagle3", outcome["runner"])
        else:
            assert outcome["checks"]["supports_eagle3"]
            assert outcome["landed"] and outcome["handed"]
    if finding.code in SHOWN_BY_THE_RUN and finding.contract == CONTRACT:
        assert any(outcome["handed"] for outcome in outcomes)


def concerned(finding: Finding, tree: Tree, outcome: Outcome) -> bool:
    """Whether a finding is on the class of an object or on one that it inherits from."""
    made = next(m for m in tree.read.models if m.cls.key == outcome["class"])
    return finding.cls in {cls.key for cls in made.cls.own_mro}
