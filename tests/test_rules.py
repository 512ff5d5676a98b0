"""Every rule's own cases: what the audit of each file must report, and that it reports nothing else."""

from __future__ import annotations

import pytest

from rules import all_rules, rule_names
from rules._rule import Case, Rule
from tests.fixture_trees import GENERATIONS, Trees, all_cases


@pytest.mark.parametrize(("name", "case"), all_cases(), ids=[name for name, _ in all_cases()])
def test_the_audit_of_a_case_reports_exactly_what_the_case_says(name: str, case: Case, trees: Trees) -> None:
    tree = trees.of(name, case)
    found = sorted((f.code, f.cls.rpartition(".")[2]) for f in tree.findings)
    assert found == sorted(case.finds), case.name
    assert not tree.report.diagnostics


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.code)
def test_every_rule_shows_what_it_reports_and_what_it_leaves_alone(rule: Rule) -> None:
    assert len(rule.bad) >= 2 and len(rule.good) >= 2
    for case in rule.bad:
        assert any(code == rule.code for code, _ in case.finds), case.name
    for case in rule.good:
        assert not case.finds, case.name


@pytest.mark.parametrize("generation", GENERATIONS)
def test_a_fixture_tree_is_without_findings_and_every_verdict_is_known(generation: str, trees: Trees) -> None:
    report = trees.plain(generation).report
    assert not report.findings
    assert not report.diagnostics
    assert len(report.models) >= 6
    for model in report.models:
        assert all(status.verdict != "unknown" for status in model.statuses.values())


OVERRIDING_FORWARD = Case(
    name="a subclass of a wrapper that works spoils the result",
    architectures={"PlumForConditionalGeneration": "PlumForConditionalGeneration"},
    finds=(("VC006", "PlumForConditionalGeneration"),),
    source="""
        from .gamma import GammaForConditionalGeneration


        class PlumForConditionalGeneration(GammaForConditionalGeneration):
            def forward(self, input_ids, positions, intermediate_tensors=None):
                return self.language_model(input_ids, positions, intermediate_tensors) * self.config.image_token_index
        """,
)


def test_a_fault_of_a_subclass_is_reported_on_the_subclass(trees: Trees) -> None:
    tree = trees.of("overriding-forward", OVERRIDING_FORWARD)
    assert [(f.code, f.cls.rpartition(".")[2]) for f in tree.report.findings] == list(OVERRIDING_FORWARD.finds)


def test_names_of_cases_are_sentences_and_none_is_given_twice() -> None:
    names = [case.name for _, case in all_cases()]
    assert len(set(names)) == len(names)
    assert all(" " in name and not name.endswith(".") for name in names)


def test_a_module_is_called_what_its_rule_is() -> None:
    """Codes and names are read from the modules' names where a rule itself is not needed."""
    assert rule_names() == {rule.code: rule.name for rule in all_rules()}
