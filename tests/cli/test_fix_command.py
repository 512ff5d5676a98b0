"""``vllm-contracts fix``: what is written, what is asked, what is told."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.cli.running import main, run
from tests.report_tree import WRAPPERS, make_tree


def contents(tree: Path) -> dict[str, bytes]:
    return {str(p.relative_to(tree)): p.read_bytes() for p in tree.rglob("*.py")}


def bases(tree: Path, name: str) -> str:
    text = (tree / WRAPPERS).read_text()
    return text.partition(f"class {name}(")[2].partition(")")[0]


def test_fix_applies_the_safe_fixes_and_says_what_is_left(capsys: pytest.CaptureFixture[str], tree: Path) -> None:
    status, shown, errors = main(capsys, "fix", tree)
    assert (status, errors) == (0, "")
    assert shown.splitlines()[:3] == [
        "fixed 1:",
        f"  VC001 {WRAPPERS}:15",
        "    add SupportsEagle3 to the bases of LackingVL",
    ]
    words = " ".join(shown.split())
    assert "left 2:" in words
    assert "no fix: BareForCausalLM itself would have to support" in words
    assert "unsafe, --unsafe-fixes would add SupportsEagle3 to the bases of ChosenVL" in words
    assert bases(tree, "LackingVL") == "_Wrapper, SupportsEagle3"
    assert bases(tree, "ChosenVL") == "_Wrapper"
    assert main(capsys, "fix", tree)[1].startswith("fixed 0\n")


def test_unsafe_fixes_on_request_and_nothing_to_do_afterwards(capsys: pytest.CaptureFixture[str], tree: Path) -> None:
    assert main(capsys, "fix", tree, "--unsafe-fixes")[0] == 0
    assert bases(tree, "ChosenVL") == "_Wrapper, SupportsEagle3"
    before = contents(tree)
    assert main(capsys, "fix", tree, "--unsafe-fixes", "--check")[0] == 0
    assert main(capsys, "fix", tree, "--unsafe-fixes")[0] == 0
    assert contents(tree) == before
    status, shown, _ = main(capsys, "audit", tree, "--format", "concise")
    assert (status, [line.split()[1] for line in shown.splitlines()]) == (1, ["VC004"])


@pytest.mark.parametrize("arguments", [["--diff"], ["--check"], ["--diff", "--check"]])
def test_diff_and_check_write_nothing(capsys: pytest.CaptureFixture[str], tree: Path, arguments: list[str]) -> None:
    before = contents(tree)
    status, shown, errors = main(capsys, "fix", tree, *arguments)
    assert contents(tree) == before
    assert status == ("--check" in arguments)
    assert "would fix 1:" in (errors if "--diff" in arguments else shown)
    assert shown.startswith(f"--- a/{WRAPPERS}\n") is ("--diff" in arguments)


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_git_applies_the_diff(tree: Path, tmp_path: Path) -> None:
    patch = run(["fix", str(tree), "--unsafe-fixes", "--diff"]).stdout
    other = make_tree(tmp_path / "other")
    subprocess.run(["git", "apply", "-"], input=patch, text=True, cwd=other, check=True)
    assert run(["fix", str(tree), "--unsafe-fixes"]).returncode == 0
    assert contents(other) == contents(tree)


@pytest.mark.parametrize(
    ("arguments", "fixed"),
    [
        (["--class", "LackingVL"], ["LackingVL"]),
        (["--class", "vllm.model_executor.models.wrappers.ChosenVL"], ["ChosenVL"]),
        (["--class", "SoundVL"], []),
        (["--class", "LackingVL", "--class", "ChosenVL"], ["LackingVL", "ChosenVL"]),
        (["--select", "VC004"], []),
        (["--ignore", "undeclared-support"], []),
        (["--contract", "SupportsEagle3"], ["LackingVL", "ChosenVL"]),
    ],
)
def test_fix_only_what_is_named(
    capsys: pytest.CaptureFixture[str], tree: Path, arguments: list[str], fixed: list[str]
) -> None:
    assert main(capsys, "fix", tree, "--unsafe-fixes", *arguments)[0] == 0
    names = ("LackingVL", "ChosenVL")
    assert [name for name in names if bases(tree, name) == "_Wrapper, SupportsEagle3"] == fixed


@pytest.mark.parametrize(
    ("answers", "fixed"),
    [
        ("y\ny\n", ["LackingVL", "ChosenVL"]),
        ("n\ny\n", ["ChosenVL"]),
        ("a\n", ["LackingVL", "ChosenVL"]),
        ("n\na\n", ["ChosenVL"]),
        ("q\n", []),
        ("y\nq\n", ["LackingVL"]),
        ("what\ny\nn\n", ["LackingVL"]),
    ],
)
def test_interactive(tree: Path, answers: str, fixed: list[str]) -> None:
    done = run(["fix", str(tree), "--unsafe-fixes", "--interactive"], input=answers)
    assert done.returncode == 0
    assert "1 of 2: VC001 LackingVL fails supports_eagle3" in done.stdout
    assert "+class LackingVL(_Wrapper, SupportsEagle3):" in done.stdout
    assert [name for name in ("LackingVL", "ChosenVL") if bases(tree, name) != "_Wrapper"] == fixed
    assert ("not chosen: " in done.stdout) is ("LackingVL" not in fixed)


def test_interactive_without_an_answer_writes_nothing(tree: Path) -> None:
    before = contents(tree)
    done = run(["fix", str(tree), "--interactive"], input="")
    assert (done.returncode, done.stderr) == (130, "")
    assert contents(tree) == before


def test_a_file_that_cannot_be_written_is_named_and_fails_the_run(
    capsys: pytest.CaptureFixture[str], tree: Path
) -> None:
    (tree / WRAPPERS).chmod(0o444)
    before = contents(tree)
    status, shown, _ = main(capsys, "fix", tree)
    assert status == 1
    assert contents(tree) == before
    assert shown.startswith("fixed 0\n")
    assert f"not carried out: {WRAPPERS} is read-only" in " ".join(shown.split())
