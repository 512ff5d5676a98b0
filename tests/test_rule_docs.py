"""The pages in ``docs/rules`` and the README's table are what ``make docs`` makes of the rules."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from rules import all_rules
from scripts import rule_docs

ROOT = Path(__file__).parent.parent


def test_the_pages_are_current() -> None:
    assert list(rule_docs.stale(ROOT)) == [], "run make docs"


def test_every_rule_has_its_page_and_its_row() -> None:
    made = rule_docs.pages()
    readme = (ROOT / "README.md").read_text("utf-8")
    index = made["docs/rules/README.md"]
    for rule in all_rules():
        assert f"# {rule.code} {rule.name}\n" in made[f"docs/rules/{rule.code}.md"]
        assert f"| [{rule.code}](docs/rules/{rule.code}.md) | {rule.name} |" in readme
        assert f"| [{rule.code}]({rule.code}.md) | {rule.name} |" in index


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    shutil.copy(ROOT / "README.md", tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", ["README.md", "docs/rules/README.md", "docs/rules/VC001.md"])
def test_a_page_that_was_edited_is_found(copy: Path, name: str) -> None:
    path = copy / name
    path.write_text(path.read_text("utf-8").replace("undeclared-support", "undeclared"), "utf-8")
    assert list(rule_docs.stale(copy)) == [name]


def test_a_page_that_is_missing_or_has_no_rule_is_found(copy: Path) -> None:
    (copy / "docs/rules/VC002.md").rename(copy / "docs/rules/VC098.md")
    found = rule_docs.stale(copy)
    assert set(found) == {"docs/rules/VC002.md", "docs/rules/VC098.md"}
    assert found["docs/rules/VC098.md"] is None


def test_the_rest_of_the_readme_stays(copy: Path) -> None:
    before, _, rest = (copy / "README.md").read_text("utf-8").partition(rule_docs.BEGIN)
    after = rest.partition(rule_docs.END)[2]
    made = rule_docs.readme(before + rule_docs.BEGIN + rule_docs.END + after)
    assert made.startswith(before) and made.endswith(after)
    with pytest.raises(SystemExit, match="has no"):
        rule_docs.readme(before)
