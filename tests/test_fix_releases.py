"""Fixes on real releases: they compile, settle, lose nothing, and behave as upstream's own repairs did."""

from __future__ import annotations

import ast
import difflib
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

from analyzer.audit import Audit
from analyzer.checkout import open_checkout
from analyzer.engine import audit, read_checkout
from analyzer.findings import Finding, RemoveMethod, RenameMethod, ReplaceMethod
from analyzer.fix import Plan, plan_fixes, write_plan
from analyzer.records import Report
from rules import all_rules
from tests import releases

CONTRACT = "SupportsEagle3"


def copy_of(version: str, target: Path) -> Path:
    source = releases.checkout(version)
    shutil.copytree(source.package, target / "vllm")
    return target


def fixable(report: Report) -> list[Finding]:
    return [f for f in report.findings if f.fix.edits]


class Repaired:
    """A release before and after all of its fixes, the unsafe ones too."""

    def __init__(self, root: Path, before: Report, plan: Plan, after: Report) -> None:
        self.root, self.before, self.plan, self.after = root, before, plan, after


@pytest.fixture(scope="module", params=["0.11.0", "0.16.0", "0.22.1", "0.33.0"])
def repaired(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Repaired]:
    root = copy_of(request.param, tmp_path_factory.mktemp("release"))
    before = releases.report(request.param)
    plan = plan_fixes(root, [f.fix for f in fixable(before)])
    write_plan(root, plan)
    yield Repaired(root, before, plan, audit(open_checkout(root), all_rules()))
    shutil.rmtree(root)


@pytest.mark.release
def test_every_offered_fix_can_be_carried_out(repaired: Repaired) -> None:
    assert not repaired.plan.refused
    assert len(repaired.plan.applied) == len(fixable(repaired.before)) > 0


@pytest.mark.release
def test_the_fixed_tree_compiles(repaired: Repaired) -> None:
    for change in repaired.plan.changes:
        compile((repaired.root / change.path).read_bytes(), change.path, "exec")


@pytest.mark.release
def test_a_second_audit_finds_nothing_that_was_fixed_and_nothing_new(repaired: Repaired) -> None:
    def keys(findings: list[Finding]) -> Counter[tuple[str, str]]:
        return Counter((f.code, f.cls) for f in findings)

    assert not fixable(repaired.after)
    assert not keys(repaired.after.findings) - keys(repaired.before.findings)


@pytest.mark.release
def test_a_second_fix_changes_nothing(repaired: Repaired) -> None:
    again = plan_fixes(repaired.root, [f.fix for f in fixable(repaired.before)])
    assert not again.changes


@pytest.mark.release
def test_only_headers_imports_lists_and_declared_methods_differ(repaired: Repaired) -> None:
    for change in repaired.plan.changes:
        old, new = change.before.splitlines(keepends=True), change.after.splitlines(keepends=True)
        allowed = editable_lines(change.before, declared_methods(repaired.plan, change.path))
        for tag, first, last, _, _ in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
            if tag in ("replace", "delete"):
                assert set(range(first + 1, last + 1)) <= allowed, f"{change.path}:{first + 1}: {old[first:last]}"


def declared_methods(plan: Plan, path: str) -> set[str]:
    edits = [edit for fix in plan.applied for edit in fix.edits if edit.path == path]
    return {
        edit.old if isinstance(edit, RenameMethod) else edit.method
        for edit in edits
        if isinstance(edit, RenameMethod | ReplaceMethod | RemoveMethod)
    }


def editable_lines(source: bytes, methods: set[str]) -> set[int]:
    """Lines of imports, class headers, lists of strings and the methods that some fix declares to change."""
    lines: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ClassDef):
            lines |= set(range(node.lineno, node.body[0].lineno))
        elif isinstance(node, ast.Import | ast.ImportFrom | ast.List | ast.Tuple) or (
            isinstance(node, ast.FunctionDef) and node.name in methods
        ):
            lines |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return lines


# -- as upstream did it ----------------------------------------------------------------------------

PAIRS = [
    ("0.11.0", "0.12.0", "mllama4.Llama4ForConditionalGeneration"),
    ("0.11.0", "0.12.0", "qwen2_5_vl.Qwen2_5_VLForConditionalGeneration"),
    ("0.14.1", "0.15.1", "llava.LlavaForConditionalGeneration"),
    ("0.15.1", "0.16.0", "mistral3.Mistral3ForConditionalGeneration"),
    ("0.15.1", "0.16.0", "lightonocr.LightOnOCRForConditionalGeneration"),
    ("0.30.0", "0.32.0", "mimo_v2_omni.MiMoV2OmniForCausalLM"),
    ("0.30.0", "0.32.0", "minicpmv4_6.MiniCPMV4_6ForConditionalGeneration"),
    ("0.30.0", "0.32.0", "nano_nemotron_vl.NemotronH_Nano_VL_V2"),
    ("0.30.0", "0.32.0", "qwen3_asr.Qwen3ASRForConditionalGeneration"),
]


@pytest.fixture(scope="module")
def fixed(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Audit]:
    """An older release with our fixes of all the pairs' classes, read once."""

    @cache
    def read(old: str) -> Audit:
        names = {f"vllm.model_executor.models.{name}" for first, _, name in PAIRS if first == old}
        wanted = [f for f in releases.report(old).findings if f.code == "VC001" and f.cls in names]
        assert {f.cls for f in wanted} == names
        root = copy_of(old, tmp_path_factory.mktemp("older"))
        plan = plan_fixes(root, [f.fix for f in wanted])
        assert len(plan.applied) == len(names)
        write_plan(root, plan)
        return read_checkout(open_checkout(root))

    return read


def outcome(read: Audit, name: str) -> tuple[bool | None, str, set[tuple[str, str]]]:
    """The checker's answer, the verdict, and where the layers land for the inner models that work."""
    model = read.model_set.models[f"vllm.model_executor.models.{name}"]
    status = read.status(model, read.contracts[CONTRACT])
    landed = {
        (".".join(a.outer.holder.trail), a.outer.attribute)
        for a in status.alternatives
        if a.outer.ok and a.outer.holder is not None
    }
    return status.satisfied, status.verdict, landed


@pytest.mark.release
@pytest.mark.parametrize(("old", "new", "name"), PAIRS, ids=[f"{n.partition('.')[2]}-{o}" for o, _, n in PAIRS])
def test_the_fix_of_an_older_release_behaves_as_upstreams_own(
    old: str, new: str, name: str, fixed: Callable[[str], Audit]
) -> None:
    satisfied, verdict, landed = outcome(fixed(old), name)
    upstream_satisfied, upstream_verdict, upstream_landed = outcome(releases.read(new), name)
    assert satisfied is upstream_satisfied is True
    assert verdict == upstream_verdict
    assert upstream_landed and upstream_landed <= landed
