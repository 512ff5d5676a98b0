"""``vllm-contracts explain``."""

from __future__ import annotations

import pytest

from analyzer.commands import explain
from rules import all_rules
from rules._rule import Case, Rule
from tests.cli.running import main


def test_explain_lists_every_rule(capsys: pytest.CaptureFixture[str]) -> None:
    status, shown, _ = main(capsys, "explain")
    assert status == 0
    for rule in all_rules():
        assert f"{rule.code}  {rule.name}" in shown
    assert max(map(len, shown.splitlines())) <= explain.WIDTH


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.code)
def test_explain_one(capsys: pytest.CaptureFixture[str], rule: Rule) -> None:
    by_code = main(capsys, "explain", rule.code.lower())
    assert by_code == main(capsys, "explain", rule.name)
    words = " ".join(by_code[1].split())
    for part in (rule.what, rule.why, rule.how):
        assert " ".join(part.split()) in words


def test_explain_shows_the_first_cases(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    rule = type(all_rules()[0])
    monkeypatch.setattr(rule, "bad", (Case("A wrapper without it", "class A:\n    x = 1\n", {}),))
    monkeypatch.setattr(rule, "good", (Case("A wrapper with it", "\nclass B:\n    pass\n", {}),))
    shown = main(capsys, "explain", rule.code)[1]
    assert shown.endswith(
        "\nReported: A wrapper without it\n    class A:\n        x = 1\n"
        "\nNot reported: A wrapper with it\n    class B:\n        pass\n"
    )
