"""Repairs of every third model class that looks like a wrapper, in releases as they were published."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from analyzer.findings import AddBase, AddImport, AddMethods, Fix
from analyzer.fix import Plan, plan_fixes, render_diff, write_plan
from analyzer.folders import default_cache_dir
from analyzer.release import fetch_release
from tests.fix.fixing import GETTER, INTERFACES, SETTER

pytestmark = pytest.mark.release

AFTER = ("compute_logits", "get_language_model", "forward")


def repairs(root: Path) -> list[Fix]:
    """A repair for every class of the models that has a Supports… base or mentions a language model."""
    return [
        Fix(
            "safe",
            f"{path} {node.name}",
            (
                AddBase(path, node.name, "SupportsEagle3", len(node.bases)),
                AddImport(path, INTERFACES, "SupportsEagle3"),
                AddMethods(path, node.name, (SETTER, GETTER), AFTER),
            ),
        )
        for path, node in model_classes(root)
    ][::3]


def model_classes(root: Path) -> Iterator[tuple[str, ast.ClassDef]]:
    for file in sorted((root / "vllm/model_executor/models").rglob("*.py")):
        text = file.read_text("utf-8")
        lines = text.split("\n")
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ClassDef):
                bases = [ast.unparse(base) for base in node.bases]
                wraps = any("language_model" in line for line in lines[node.lineno : node.end_lineno])
                done = any(getattr(part, "name", "") == "set_aux_hidden_state_layers" for part in node.body)
                if (wraps or any("Supports" in name for name in bases)) and "Protocol" not in bases and not done:
                    yield file.relative_to(root).as_posix(), node


def copy_of(plan: Plan, folder: Path) -> Path:
    for change in plan.changes:
        (folder / change.path).parent.mkdir(parents=True, exist_ok=True)
        (folder / change.path).write_bytes(change.before)
    return folder


def ruff(folder: Path, *arguments: str) -> set[str]:
    command = [sys.executable, "-m", "ruff", *arguments, "--isolated", "--line-length=88", "."]
    return set(subprocess.run(command, cwd=folder, capture_output=True, text=True).stdout.splitlines())


@pytest.fixture(scope="module", params=["0.11.0", "0.16.0", "0.22.1", "0.33.0"])
def planned(request: pytest.FixtureRequest) -> Plan:
    root = fetch_release(request.param, cache_dir=default_cache_dir())
    return plan_fixes(root, repairs(root))


def test_all_are_repaired_but_classes_inside_functions(planned: Plan) -> None:
    assert len(planned.applied) > 40
    assert all("there is no class" in reason for _, reason in planned.refused)


def test_a_second_pass_changes_nothing(planned: Plan, tmp_path: Path) -> None:
    root = copy_of(planned, tmp_path)
    assert write_plan(root, planned).refused == ()
    again = plan_fixes(root, planned.applied)
    assert (again.changes, again.refused) == ((), ())


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_the_diff_applies_and_changes_only_imports_and_headers(planned: Plan, tmp_path: Path) -> None:
    root = copy_of(planned, tmp_path)
    diff = render_diff(planned)
    subprocess.run(["git", "apply", "--whitespace=nowarn", "-"], input=diff, cwd=root, check=True)
    assert all((root / change.path).read_bytes() == change.after for change in planned.changes)
    for change in planned.changes:
        kept = iter(change.after.decode().split("\n"))
        changed = imports_and_headers(change.before.decode())
        for number, line in enumerate(change.before.decode().split("\n"), 1):
            assert number in changed or line in kept, (change.path, line)


def imports_and_headers(text: str) -> set[int]:
    """The lines (from 1) of a module's imports and class headers."""
    spans = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ClassDef):
            spans.append((node.lineno, node.body[0].lineno))
        elif isinstance(node, ast.ImportFrom):
            spans.append((node.lineno, (node.end_lineno or 0) + 1))
    return {line for first, end in spans for line in range(first, end)}


def test_ruff_finds_nothing_new(planned: Plan, tmp_path: Path) -> None:
    root = copy_of(planned, tmp_path)
    first_party = "--config=lint.isort.known-first-party=['vllm']"
    lint = ("check", "--select=E501,F811,I001", first_party, "--output-format=concise")
    unformatted, messages = would_change(root), codes(ruff(root, *lint))
    write_plan(root, planned)
    assert would_change(root) <= unformatted
    assert codes(ruff(root, *lint)) == messages


def would_change(root: Path) -> set[str]:
    """The files that ruff would format (all of 0.11.0, which was formatted with yapf)."""
    return {line for line in ruff(root, "format", "--diff") if line.startswith("--- ")}


def codes(lines: set[str]) -> list[str]:
    """Which messages there are, file by file, whatever the line."""
    return sorted(f"{line.partition(':')[0]} {line.split()[1]}" for line in lines if ".py:" in line)
