"""A class has the same faults outside vLLM's tree as inside it, and Python agrees: each case of the rules is put into
a package of its own, which registers it, is audited with its generation's fixture tree, built, run, repaired, and run
again."""

from __future__ import annotations

from itertools import cycle

import pytest

from analyzer.fix import plan_fixes, write_plan
from tests.fixture_runs import Ran, differences, run
from tests.fixture_trees import EMBEDDING, SPECULATIVE, Tree, Trees, all_cases, table_of
from tests.plugin_trees import FORMS, plugin_of
from tests.test_fixtures_runtime import judge_repair, repairable

CASES = {
    name: case
    for name, case in all_cases()
    if not {table_of(architecture) for architecture in case.architectures} & {SPECULATIVE, EMBEDDING}
}
"""Without those where only the table of vLLM's registry tells what a class is for."""

WAYS = dict(zip(CASES, cycle((form, src) for form in FORMS for src in (False, True)), strict=False))
"""How each case's plugin registers its models, and whether it has a ``src`` folder."""


class Plugins:
    """All cases as plugins, before and after their repair, run once."""

    def __init__(self, trees: Trees) -> None:
        self.trees = {
            name: plugin_of(case, trees.folder / "plugins" / name, WAYS[name][0], src=WAYS[name][1])
            for name, case in CASES.items()
        }
        self.fixed = {name: made for name, tree in self.trees.items() if (made := repaired(trees, name, tree))}
        ran = run([*self.trees.values(), *self.fixed.values()])
        self.before = dict(zip(self.trees, ran[: len(self.trees)], strict=True))
        self.after = dict(zip(self.fixed, ran[len(self.trees) :], strict=True))


def repaired(trees: Trees, name: str, tree: Tree) -> Tree | None:
    fixes = [finding.fix for finding in repairable(tree)]
    if not fixes:
        return None
    root = trees.scratch(f"plugins/{name}-repaired", tree)
    plan = plan_fixes(root, fixes)
    assert not plan.refused
    assert not write_plan(root, plan).refused
    return Tree(root, tree.generation, tree.path, tree.vllm)


@pytest.fixture(scope="module")
def plugins(trees: Trees) -> Plugins:
    return Plugins(trees)


@pytest.mark.parametrize("name", CASES)
def test_a_class_outside_has_the_faults_that_it_has_inside(name: str, plugins: Plugins) -> None:
    tree = plugins.trees[name]
    found = sorted((f.code, f.cls.rpartition(".")[2]) for f in tree.report.findings)
    assert found == sorted(CASES[name].finds)
    assert all(f.at.path == tree.path for f in tree.report.findings)
    assert not tree.report.diagnostics
    assert {a for m in tree.report.models for a in m.architectures} == set(CASES[name].architectures)


@pytest.mark.parametrize("name", CASES)
def test_what_is_said_is_what_python_does(name: str, plugins: Plugins) -> None:
    assert not wrong(plugins.before[name])
    if name in plugins.after:
        assert not wrong(plugins.after[name])


def wrong(ran: Ran) -> list[str]:
    return [
        f"{model.cls.name}: {difference}"
        for model, outcomes in ran.outcomes
        for outcome in outcomes
        if not outcome["build"]
        for difference in differences(ran.tree, outcome)
    ]


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.finds])
def test_a_repair_does_what_it_does_inside(name: str, plugins: Plugins) -> None:
    fixable = repairable(plugins.trees[name])
    if not fixable:
        assert name not in plugins.after
        return
    ran = plugins.after[name]
    left = {(f.code, f.contract, f.cls) for f in ran.tree.report.findings}
    assert not left & {(f.code, f.contract, f.cls) for f in fixable}
    for finding in fixable:
        judge_repair(finding, ran)
