"""``verify``: the audit's verdicts on fixture trees, confirmed by the same way that real vLLM goes through."""

from __future__ import annotations

import copy
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from analyzer.checkout import open_checkout
from analyzer.engine import read_and_judge
from analyzer.report import verification
from analyzer.report.json import to_dict
from analyzer.skeletons import skeletons
from analyzer.verify.compare import compare
from analyzer.verify.outcomes import Verification
from analyzer.verify.plan import Place, Plan, make_plan
from analyzer.verify.process import Answers, Limits, Runner
from rules import all_rules
from tests.cli.running import main
from tests.fixture_trees import FIXTURES, GENERATIONS, MODELS, Trees, all_cases

Record = dict[str, Any]
INTERFACES = "vllm.model_executor.models.interfaces"
REGISTRY = "vllm.model_executor.models.registry"
FOLDERS = ("vllm.model_executor.models", "vllm.models")
SCHEMA = json.loads((resources.files("analyzer.report") / "verification.schema.json").read_text("utf-8"))

NOT_EXECUTED = {"VC008", "VC012", "VC013", "VC014", "VC016", "VC017", "VC018", "VC900"}
"""Findings on what no call of a model can show."""
PARTLY = {"VC002-bad-5", "VC005-bad-0", "VC005-bad-1", "VC005-bad-3", "VC005-bad-4", "VC007-bad-2"}
"""Cases with findings of other codes that cannot be shown: methods that nothing calls, a decoder without its layers,
what a constructor would set."""


@pytest.fixture(autouse=True, scope="module")
def stand_in_torch() -> Iterator[None]:
    """The interpreter of the tests is the environment: all that it lacks is a torch."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(FIXTURES / "stand_in"))
        yield


class Executed:
    """A tree, what the analysis says of it, and what its execution gives."""

    def __init__(self, root: Path) -> None:
        read, report = read_and_judge(open_checkout(root), all_rules())
        self.report = to_dict(report)
        place = Place(str(root), "0.33.0", INTERFACES, REGISTRY, FOLDERS)
        self.plan = make_plan(self.report, [asdict(s) for s in skeletons(read)], place)
        self.answers = Runner(Path(sys.executable), self.plan, Limits(seconds=30)).run()

    def compared(self, report: Record | None = None, plan: Plan | None = None) -> Verification:
        return compare(report or self.report, plan or self.plan, self.answers)


@pytest.fixture(scope="module")
def plain(trees: Trees) -> Executed:
    return Executed(trees.plain("0.33").root)


# -- verdicts --------------------------------------------------------------------------------------


@pytest.mark.parametrize("generation", GENERATIONS)
def test_everything_said_of_a_tree_is_confirmed_and_every_registered_class_covered(
    trees: Trees, generation: str
) -> None:
    ran = Executed(trees.plain(generation).root)
    result = ran.compared()
    assert {model.outcome for model in result.models} == {"confirmed"}
    assert {c.outcome for c in result.comparisons} == {"confirmed"}
    assert {c.kind for c in result.comparisons} == {"check", "inner-check", "method", "capture", "forward"}
    assert not result.uncovered
    assert all(result.served[architecture] for model in ran.report["models"] for architecture in model["architectures"])


@pytest.mark.parametrize("name", [name for name, case in all_cases() if case.finds])
def test_the_findings_of_every_case_are_confirmed_where_models_can_show_them(trees: Trees, name: str) -> None:
    case = dict(all_cases())[name]
    tree = trees.of(name, case)
    result = Executed(tree.root).compared()
    assert not result.contradicted
    for finding in result.findings:
        if finding.path == tree.path and finding.code in NOT_EXECUTED:
            assert finding.outcome == "not testable"
        elif finding.path == tree.path and name not in PARTLY:
            assert finding.outcome == "confirmed", (finding.code, finding.reason)
        assert bool(finding.reason) is (finding.outcome == "not testable")


def status(report: Record, cls: str) -> Record:
    model = next(m for m in report["models"] if m["class"].endswith(f".{cls}"))
    return model["contracts"]["SupportsEagle3"]  # type: ignore[no-any-return]


def steps(plan: Plan, cls: str) -> Record:
    job = next(job for job in plan.jobs if job["cls"].endswith(f".{cls}"))
    return job["skeletons"][0]["steps"][0]  # type: ignore[no-any-return]


TEXT, WRAPPER = "AlphaForCausalLM", "GammaForConditionalGeneration"
WRONG: dict[str, Callable[[Record, Plan], object]] = {
    "a class that passes": lambda report, _: status(report, TEXT).update(satisfied=False),
    "a class that fails": lambda report, _: status(report, "BetaForCausalLM").update(satisfied=True),
    "a getter that works": lambda _, plan: steps(plan, TEXT)["calls"][1].update(how="stub"),
    "a setter that reaches": lambda _, plan: steps(plan, WRAPPER)["calls"][0].update(how="no-effect", lands=[]),
    "where layers land": lambda _, plan: steps(plan, WRAPPER)["calls"][0].update(lands=["language_model", "layers"]),
    "a method that is there": lambda _, plan: steps(plan, WRAPPER)["calls"][0].update(how="missing"),
    "a method that runs": lambda _, plan: steps(plan, TEXT)["calls"][0].update(how="fails", raises="AssertionError"),
    "a decoder that captures": lambda _, plan: steps(plan, TEXT).update(capture=False),
    "a forward that hands on": lambda _, plan: steps(plan, WRAPPER).update(forward=False),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_is_said_wrongly_is_contradicted_with_both_sides(plain: Executed, what: str) -> None:
    report, plan = copy.deepcopy((plain.report, plain.plan))
    WRONG[what](report, plan)
    result = plain.compared(report, plan)
    wrong = [c for c in result.comparisons if c.outcome == "contradicted"]
    assert result.contradicted
    assert wrong
    assert all(c.static and c.happened and c.static != c.happened for c in wrong)


def test_what_the_analysis_leaves_open_is_neither_confirmed_nor_contradicted(plain: Executed) -> None:
    report = copy.deepcopy(plain.report)
    status(report, TEXT).update(satisfied=False, verdict="unknown")
    result = plain.compared(report)
    left = [c for c in result.comparisons if c.outcome != "confirmed"]
    assert [(c.outcome, c.reason) for c in left] == [("not testable", "the analysis leaves it open")]


MADE = """
from .alpha import AlphaForCausalLM
from .beta import BetaForCausalLM
from .interfaces import SupportsEagle3


def declaring(cls):
    class Declared(cls, SupportsEagle3):
        pass

    return Declared


Made = declaring(BetaForCausalLM)


class OneForCausalLM(declaring(BetaForCausalLM)):
    pass


class TwoForCausalLM(Made):
    pass


class SoundForCausalLM(declaring(AlphaForCausalLM)):
    pass
"""


def test_what_a_function_adds_to_a_base_is_left_open(trees: Trees) -> None:
    root = trees.scratch("made", trees.plain("0.33"))
    (root / MODELS / "made.py").write_text(MADE.lstrip())
    registry = root / MODELS / "registry.py"
    head = "_TEXT_GENERATION_MODELS = {\n"
    rows = "".join(f'    "{name}ForCausalLM": ("made", "{name}ForCausalLM"),\n' for name in ("One", "Two", "Sound"))
    registry.write_text(registry.read_text().replace(head, head + rows))
    result = Executed(root).compared()
    answers = {m.cls.rpartition(".")[2]: m for m in result.models if ".made." in m.cls}
    asked = {
        name: [c.outcome for c in model.comparisons if c.contract == "SupportsEagle3" and c.subject == "the class"]
        for name, model in answers.items()
    }
    assert not result.contradicted
    assert asked == {
        "OneForCausalLM": ["not testable"],
        "TwoForCausalLM": ["not testable"],
        "SoundForCausalLM": ["confirmed"],
    }


def test_an_architecture_that_the_analysis_does_not_know_is_told(plain: Executed) -> None:
    report = copy.deepcopy(plain.report)
    for model in report["models"]:
        model["architectures"] = [a for a in model["architectures"] if a != TEXT]
    assert plain.compared(report).uncovered == [TEXT]


# -- the command -----------------------------------------------------------------------------------


def command(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, Record, str]:
    """The command's JSON."""
    code, out, errors = main(capsys, "verify", *arguments, "--format", "json")
    return code, json.loads(out) if out else {}, errors


def test_the_command_tells_everything_as_json_and_the_numbers_as_text(
    capsys: pytest.CaptureFixture[str], trees: Trees
) -> None:
    root = trees.plain("0.33").root
    code, told, errors = command(capsys, root)
    assert (code, errors) == (0, "")
    assert not list(Draft202012Validator(SCHEMA).iter_errors(told))
    assert told["tree"] == {"root": str(root), "vllm_version": "0.33.0", "after_fix": False}
    assert {model["outcome"] for model in told["models"]} == {"confirmed"}
    code, shown, errors = main(capsys, "verify", root)
    assert (code, errors) == (0, "")
    assert f"classes {len(told['models'])} 0 0" in " ".join(shown.split())
    assert not list(root.rglob("__pycache__"))


def test_one_class_can_be_asked_for(capsys: pytest.CaptureFixture[str], trees: Trees) -> None:
    code, told, _ = command(capsys, trees.plain("0.33").root, "--class", WRAPPER)
    assert code == 0
    assert [model["cls"].rpartition(".")[2] for model in told["models"]] == [WRAPPER]
    code, _, errors = command(capsys, trees.plain("0.33").root, "--class", "GamaForConditionalGeneration")
    assert code == 2
    assert f"did you mean {WRAPPER}?" in errors


REPAIRED = ("VC001", "VC002", "VC003", "VC010", "VC011")


@pytest.mark.parametrize(
    "name", [name for name, case in all_cases() if case.finds and name.startswith(REPAIRED) and "bad" in name]
)
def test_a_fixed_copy_does_what_the_fix_promises_and_the_tree_stays(
    capsys: pytest.CaptureFixture[str], trees: Trees, name: str
) -> None:
    tree = trees.of(name, dict(all_cases())[name])
    before = {path: path.read_bytes() for path in tree.root.rglob("*") if path.is_file()}
    repairable = [f for f in tree.findings if f.fix.edits and f.contract == "SupportsEagle3"]
    code, told, errors = command(capsys, tree.root, "--after-fix", "--unsafe-fixes")
    assert (code, errors) == (0, "")
    repairs = [r for r in told["repairs"] if r["path"] == tree.path and r["contract"] == "SupportsEagle3"]
    assert len(repairs) == len(repairable)
    assert {r["outcome"] for r in repairs if r["code"] in REPAIRED} <= {"confirmed"}, repairs
    assert told["tree"]["after_fix"]
    assert {path: path.read_bytes() for path in tree.root.rglob("*") if path.is_file()} == before


def test_a_contradiction_is_shown_and_is_exit_code_1(
    capsys: pytest.CaptureFixture[str], trees: Trees, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Runner.run

    def other_answers(runner: Runner) -> Answers:
        answers = run(runner)
        for result in answers.results:
            result["answers"]["SupportsEagle3"] = not result["answers"]["SupportsEagle3"]
        return answers

    monkeypatch.setattr(Runner, "run", other_answers)
    code, shown, _ = main(capsys, "verify", trees.plain("0.33").root, "--class", TEXT)
    assert code == 1
    assert "contradicted: vllm.model_executor.models.alpha.AlphaForCausalLM" in shown
    assert "the analysis: passes" in shown
    assert "execution:    fails" in shown


def test_the_json_is_ascii_and_its_schema_is_one(plain: Executed) -> None:
    Draft202012Validator.check_schema(SCHEMA)
    result = plain.compared()
    result.tree = {"root": "/ä", "vllm_version": None, "after_fix": False}
    result.environment["interpreter"] = "python"
    assert verification.render_json(result).isascii()
    assert "of an unknown version" in verification.render(result)
