"""Decoders of our own are taught in each generation and run: what they collect is what a loop of the test's own finds.

The decoders (``fixtures/decoders``) know no contract; each is put into a copy of each generation's tree, taught, and
executed with numbers for tensors: for the first, middle and last layers, with and without a residual, in one pipeline
stage and in several.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from analyzer import engine
from analyzer.chains import configures
from analyzer.checkout import open_checkout
from analyzer.conventions import Convention, read_convention
from analyzer.fix import plan_fixes, render_diff, write_plan
from analyzer.lessons import lesson_of
from analyzer.loops import Loop
from analyzer.teach import Taught, teach
from rules import all_rules
from tests.fixture_trees import FIXTURES, MODELS, copy_tree

CONTRACT = "SupportsEagle3"
LAYERS = 8
GENERATIONS = ("0.16", "0.20", "0.33")


@dataclass(frozen=True)
class Shape:
    """What a decoder of the fixtures does; see ``fixtures/taught.py``."""

    takes_residual: bool
    adds: bool
    counts: bool = False
    staged: bool = True


SHAPES = {
    "deferred": Shape(takes_residual=True, adds=True),
    "whole": Shape(takes_residual=False, adds=False),
    "stale": Shape(takes_residual=True, adds=False),
    "summed": Shape(takes_residual=True, adds=True),
    "branched": Shape(takes_residual=True, adds=True, counts=True),
    "alone": Shape(takes_residual=True, adds=True, staged=False),
}
ASKED = [
    [],
    [0],
    [LAYERS - 1],
    [LAYERS],
    list(range(LAYERS + 1)),
    *map(list, combinations((0, 2, 4, 7, 8), 3)),
]


def class_of(stem: str) -> str:
    return f"{stem.capitalize()}ForCausalLM"


def tree_with_decoders(generation: str, into: Path) -> Path:
    """A generation's tree with all decoders in it, registered."""
    root = copy_tree(generation, into)
    registry = root / MODELS / "registry.py"
    text = registry.read_text()
    head = "_TEXT_GENERATION_MODELS = {\n"
    assert head in text
    for stem in SHAPES:
        (root / MODELS / f"{stem}.py").write_text((FIXTURES / "decoders" / f"{stem}.py").read_text())
        text = text.replace(head, f'{head}    "{class_of(stem)}": ("{stem}", "{class_of(stem)}"),\n')
    registry.write_text(text)
    assert formatted(root / MODELS, "-q").returncode == 0  # with shorter lines, so that more of them have to be broken
    return root


def formatted(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run ruff format with the line length that vLLM has."""
    command = [sys.executable, "-m", "ruff", "format", "--isolated", "--line-length=88", *arguments, str(folder)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


class School:
    """A tree of one generation: before, taught, and what its models did then."""

    def __init__(self, generation: str, folder: Path) -> None:
        self.generation = generation
        self.root = tree_with_decoders(generation, folder / "tree")
        self.before = engine.read_checkout(open_checkout(self.root))
        self.taught: dict[str, Taught] = {}
        for stem in SHAPES:
            made = teach(open_checkout(self.root), all_rules(), class_of(stem), CONTRACT)
            self.taught[stem] = made
            assert not made.refused, made.refused
            assert not write_plan(self.root, made.plan).refused
        self.after = engine.read_checkout(open_checkout(self.root))
        self.ran = self._run()

    @property
    def convention(self) -> Convention:
        found = read_convention(self.before, self.before.contracts[CONTRACT])
        assert found is not None
        return found

    def _run(self) -> list[dict[str, Any]]:
        contract = self.before.contracts[CONTRACT]
        models = [
            {
                "class": f"vllm.model_executor.models.{stem}.{class_of(stem)}",
                "takes_residual": shape.takes_residual,
                "adds": shape.adds,
                "counts": shape.counts,
                "stages": [1, 2, 3] if shape.staged else [1],
            }
            for stem, shape in SHAPES.items()
        ]
        setter = next(method.name for method in contract.methods if configures(method))
        job = {"root": str(self.root), "setter": setter, "models": models, "asked": ASKED}
        environment = {**os.environ, "PYTHONPATH": str(FIXTURES / "stand_in"), "PYTHONDONTWRITEBYTECODE": "1"}
        answer = subprocess.run(
            [sys.executable, "-W", "error", str(FIXTURES / "taught.py")],
            input=json.dumps(job),
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert answer.returncode == 0, answer.stderr
        ran: list[dict[str, Any]] = json.loads(answer.stdout)
        return ran


@pytest.fixture(scope="module", params=GENERATIONS)
def school(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> School:
    return School(request.param, tmp_path_factory.mktemp("school"))


def expected(school: School, run: dict[str, Any], asked: list[int]) -> list[float]:
    """The states that come back: all that are asked for, or, where stages keep theirs, those of the last one."""
    first = 0 if school.convention.transport is not None else run["last"]
    end = LAYERS if school.convention.behind else LAYERS - 1
    return [run["reference"][index] for index in sorted(asked) if first <= index <= end]


def test_the_states_are_those_of_a_reference_loop(school: School) -> None:
    seen = 0
    for run in school.ran:
        for outcome in run["outcomes"]:
            what = f"{run['class']} in {run['stages']} stages, asked for {outcome['asked']}"
            assert outcome["states"] == expected(school, run, outcome["asked"]), what
            seen += len(outcome["states"])
    assert len(school.ran) == 16
    assert seen > 300


def test_the_result_is_what_it_was(school: School) -> None:
    """Whatever is collected beside it, and it is the norm of the last state."""
    for run in school.ran:
        assert len({outcome["result"] for outcome in run["outcomes"]}) == 1
        assert run["outcomes"][0]["result"] == run["reference"][-1] / 3


def test_the_generations_differ_as_their_own_decoders_do(school: School) -> None:
    convention = school.convention
    shapes = {"0.16": (False, False, False), "0.20": (True, True, False), "0.33": (True, True, True)}
    found = (convention.behind, convention.mixin is not None, convention.transport is not None)
    assert found == shapes[school.generation]


def test_what_stays_in_its_stage_is_told(school: School) -> None:
    for stem, shape in SHAPES.items():
        told = any("pipeline stages stay there" in fix.why_unsafe for fix in school.taught[stem].lessons)
        assert told is (school.convention.transport is not None and not shape.staged)


def test_every_model_works_then_and_not_before(school: School) -> None:
    for stem in SHAPES:
        verdicts = []
        for read in (school.before, school.after):
            model = next(m for m in read.models if m.cls.name == class_of(stem))
            verdicts.append(read.status(model, read.contracts[CONTRACT]).verdict)
        assert verdicts == ["unsupported", "works"]
        trace = school.taught[stem].trace
        assert trace is not None and trace.answer in ("works", "depends")  # on the allow-list's guess


def test_nothing_is_left_to_find(school: School) -> None:
    assert not [f for f in engine.judge(school.after, all_rules()).findings if f.severity != "info"]


def test_teaching_again_has_nothing_to_teach_and_the_edits_settle(school: School) -> None:
    for stem, made in school.taught.items():
        again = plan_fixes(school.root, made.lessons)
        assert (again.changes, again.refused) == ((), ())
        assert "already" in teach(open_checkout(school.root), all_rules(), class_of(stem), CONTRACT).refused


def test_the_patch_is_formatted_and_keeps_every_comment(school: School) -> None:
    for made in school.taught.values():
        patch = render_diff(made.plan).decode()
        assert not [line for line in patch.splitlines() if line.startswith("-") and "#" in line]
    done = formatted(school.root / MODELS, "--diff")
    assert done.returncode == 0, done.stdout


def test_what_the_state_is_was_judged_as_the_fixture_has_it(school: School) -> None:
    contract = school.before.contracts[CONTRACT]
    for stem, shape in SHAPES.items():
        model = next(m for m in school.before.models if m.cls.name == class_of(stem))
        lesson = lesson_of(school.before, model, contract)
        assert lesson is not None
        (loop,) = lesson.loops
        assert isinstance(loop, Loop)
        assert bool(loop.residual) is shape.adds
        assert loop.stage is shape.staged
