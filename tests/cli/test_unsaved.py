"""``audit --stdin-filename``: what an editor asks while a file is not saved."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from analyzer.checkout import open_checkout
from analyzer.overlay import overlay
from tests.cli.running import COMMAND, run
from tests.report_tree import FILES, WRAPPERS

INNER = "vllm/model_executor/models/plain.py"
REPAIRED = FILES[WRAPPERS].replace("class LackingVL(_Wrapper)", "class LackingVL(_Wrapper, SupportsEagle3)")


def typed(tree: Path, file: str, text: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """What is said about a file of the tree whose text in the editor is another."""
    return run(["audit", "--stdin-filename", str(tree / file), "--format", "concise", *arguments], input=text)


def state(tree: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in tree.rglob("*") if path.is_file()}


def test_the_text_of_the_editor_is_judged_and_nothing_is_written(tree: Path) -> None:
    before = state(tree)
    saved = typed(tree, WRAPPERS, FILES[WRAPPERS])
    assert f"{WRAPPERS}:15:1: VC001 LackingVL" in saved.stdout
    lower = typed(tree, WRAPPERS, "\n\n" + FILES[WRAPPERS])
    assert lower.stdout == saved.stdout.replace(":15:", ":17:").replace(":31:", ":33:").replace(":39:", ":41:")
    repaired = typed(tree, WRAPPERS, REPAIRED)
    assert "LackingVL" not in repaired.stdout
    assert "BoastfulVL" in repaired.stdout
    assert {done.returncode for done in (saved, lower, repaired)} == {1}
    assert state(tree) == before


def test_it_is_what_an_audit_says_once_the_file_is_saved(tree: Path) -> None:
    unsaved = typed(tree, WRAPPERS, REPAIRED)
    assert unsaved.stderr == ""
    (tree / WRAPPERS).write_text(REPAIRED, "utf-8")
    after = run(["audit", str(tree), "--format", "concise", "--no-cache"])
    assert after.stdout == unsaved.stdout


@pytest.mark.parametrize("form", ["json", "sarif", "text", "markdown"])
def test_all_formats_are_those_of_the_saved_file(tree: Path, form: str) -> None:
    """Fixes too: their patches are made of the editor's text."""
    text = "\n\n" + FILES[WRAPPERS]
    unsaved = run(["audit", "--stdin-filename", str(tree / WRAPPERS), "--format", form], input=text)
    (tree / WRAPPERS).write_text(text, "utf-8")
    saved = run(["audit", "--stdin-filename", str(tree / WRAPPERS), "--format", form], input=text)
    assert unsaved.stdout == saved.stdout
    assert "LackingVL" in saved.stdout
    assert str(tree) in saved.stdout or form != "json"


def test_findings_elsewhere_are_told_if_they_stand_on_the_file(tree: Path) -> None:
    text = FILES[INNER].replace(
        "class PlainForCausalLM(nn.Module, SupportsEagle3)", "class PlainForCausalLM(nn.Module)"
    )
    assert text != FILES[INNER]
    assert typed(tree, INNER, FILES[INNER]).stdout.count("LackingVL") == 1
    done = typed(tree, INNER, text.replace("(nn.Module, EagleModelMixin)", "(nn.Module)"))
    assert f"{WRAPPERS}:23:1: VC004 SoundVL" in done.stdout


def test_other_files_findings_are_not_told(tree: Path) -> None:
    done = typed(
        tree, "vllm/model_executor/models/utils.py", FILES["vllm/model_executor/models/utils.py"] + "\nx = 1\n"
    )
    assert (done.returncode, done.stdout) == (0, "")
    done = typed(tree, "setup.py", "x = 1\n")
    assert (done.returncode, done.stdout) == (0, "")


def test_a_file_that_does_not_parse_yet(tree: Path) -> None:
    done = run(["audit", "--stdin-filename", str(tree / WRAPPERS), "--format", "json"], input="class :\n")
    assert done.returncode == 0
    (lost,) = json.loads(done.stdout)["diagnostics"]
    assert (lost["path"], lost["line"]) == (WRAPPERS, 1)


def test_a_file_that_is_not_there_yet(tree: Path) -> None:
    (tree / WRAPPERS).unlink()
    done = typed(tree, WRAPPERS, FILES[WRAPPERS])
    assert f"{WRAPPERS}:15:1: VC001 LackingVL" in done.stdout
    assert not (tree / WRAPPERS).exists()


def test_relative_names_and_a_tree_that_is_named(tree: Path) -> None:
    for folder, file, path in ((tree, WRAPPERS, []), (tree / "vllm", "model_executor/models/wrappers.py", [str(tree)])):
        arguments = [*path, "--stdin-filename", file, "--format", "concise"]
        done = run(["audit", *arguments], input=REPAIRED, cwd=folder, env={**os.environ, "PYTHONPATH": str(Path.cwd())})
        assert (done.returncode, done.stdout.count("VC004 BoastfulVL")) == (1, 1), done.stderr


@pytest.mark.parametrize("option", ["--release=0.33.0", "--python=python", "--update-baseline"])
def test_it_goes_with_folders_only(tree: Path, option: str) -> None:
    done = typed(tree, WRAPPERS, "", option)
    assert done.returncode == 2
    assert done.stderr.startswith("error: --stdin-filename goes with none of")


def test_a_file_in_no_tree(tmp_path: Path) -> None:
    done = typed(tmp_path, "model.py", "x = 1\n")
    assert done.returncode == 2
    assert "in no vLLM tree; name one: vllm-contracts audit PATH --stdin-filename" in done.stderr


def test_nothing_is_left_in_the_temporary_folder(tree: Path, tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    command = [*COMMAND, "audit", "--stdin-filename", str(tree / WRAPPERS)]
    environment = {**os.environ, "TMPDIR": str(scratch)}
    done = subprocess.run(command, input=b"x = 1\n", env=environment, capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert list(scratch.iterdir()) == []


def test_a_laid_out_tree_lists_and_names_the_same_files(tree: Path) -> None:
    (tree / "vllm" / "linked").symlink_to(tree / "vllm" / "model_executor")
    (tree / "vllm" / "around").symlink_to(tree / "vllm")
    (tree / "elsewhere").mkdir()
    (tree / "elsewhere" / "far.py").write_text("x = 1\n")
    (tree / "vllm" / "far").symlink_to("../elsewhere")
    (tree / "vllm" / "gone.py").symlink_to(tree / "nowhere.py")
    checkout = open_checkout(tree)
    with overlay(checkout, {WRAPPERS: b"x = 1\n"}) as other:
        assert other.version == checkout.version
        assert list(map(other.rel, other.python_files())) == list(map(checkout.rel, checkout.python_files()))
        assert "vllm/far/far.py" in map(other.rel, other.python_files())
        assert other.walk_diagnostics == checkout.walk_diagnostics != ()
        linked = other.find_module("vllm.linked.models.wrappers")
        assert linked is not None
        assert linked.read_bytes() == (other.root / WRAPPERS).read_bytes() == b"x = 1\n"
    assert (tree / WRAPPERS).read_text("utf-8") == FILES[WRAPPERS]
    assert not other.root.exists()
