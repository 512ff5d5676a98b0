"""Diffs go through git apply and patch and give the same bytes."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from analyzer.fix import FileChange, Plan, render_diff

TOOLS = [
    ["git", "apply", "--whitespace=nowarn", "-"],
    ["patch", "-p1", "--silent", "--fuzz=0", "--no-backup-if-mismatch"],
]
needs = [pytest.mark.skipif(shutil.which(tool[0]) is None, reason=f"{tool[0]} is not installed") for tool in TOOLS]
tools = pytest.mark.parametrize(
    "tool", [pytest.param(tool, marks=mark, id=tool[0]) for tool, mark in zip(TOOLS, needs, strict=True)]
)


def patched(root: Path, plan: Plan, tool: list[str]) -> None:
    """Apply a plan's diff with a tool and compare each file with what the plan says."""
    for change in plan.changes:
        path = root / change.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(change.before)
    run = subprocess.run(tool, input=render_diff(plan), cwd=root, capture_output=True)
    assert run.returncode == 0, run.stderr.decode() + run.stdout.decode()
    for change in plan.changes:
        assert (root / change.path).read_bytes() == change.after, change.path


CHANGES = {
    "one line": (b"a\nb\nc\n", b"a\nB\nc\n"),
    "at both ends": (b"a\n" + b"x\n" * 20 + b"z\n", b"A\n" + b"x\n" * 20 + b"Z\n"),
    "only added": (b"a\nb\n", b"a\nn\nb\n"),
    "only removed": (b"a\nn\nb\n", b"a\nb\n"),
    "from nothing": (b"", b"a\n"),
    "to nothing": (b"a\n", b""),
    "no final newline before": (b"a\nb", b"a\nb\nc\n"),
    "no final newline after": (b"a\nb\n", b"a\nb"),
    "no final newline at all": (b"a\nb", b"A\nb"),
    "carriage returns": (b"a\r\nb\r\nc\r\n", b"a\r\nB\r\nc\r\n"),
    "mixed newlines": (b"a\r\nb\nc\r\n", b"a\r\nB\nn\r\nc\r\n"),
    "form feeds and separators": (b"a\x0c\n\x1cb\x85\n\x0b\n", b"a\x0c\n\x1cB\x85\n\x0b\nn\n"),
    "bytes of any encoding": (b"\xff\xfe\x00\n\xe9\n", b"\xff\xfe\x00\nx\n\xe9\n"),
    "lines that look like headers": (b"-- a\n++ b\n@@ c\n", b"-- A\n++ B\n@@ C\n"),
}


@tools
@pytest.mark.parametrize(("before", "after"), CHANGES.values(), ids=list(CHANGES))
def test_a_diff_applies(tmp_path: Path, tool: list[str], before: bytes, after: bytes) -> None:
    if tool[0] == "git" and not (before and after):
        pytest.skip("git reads an empty side as a file that is created or deleted")
    patched(tmp_path, Plan((FileChange("vllm/x.py", before, after),)), tool)


@tools
@pytest.mark.parametrize(
    "path", ["a b/c d.py", "é/世.py", "tab\there.py", 'quo"te.py', "back\\slash.py", "new\nline.py"]
)
def test_any_path_can_be_named(tmp_path: Path, tool: list[str], path: str) -> None:
    patched(tmp_path, Plan((FileChange(path, b"a\nb\n", b"a\nc\n"),)), tool)


@tools
def test_several_files_go_into_one_diff(tmp_path: Path, tool: list[str]) -> None:
    names = ["a.py", "b c.py", "d/e.py"]
    patched(tmp_path, Plan(tuple(FileChange(name, b"a\n" * 9, b"a\n" * 10 + b"b") for name in names)), tool)


def test_no_change_is_no_diff() -> None:
    assert render_diff(Plan()) == b""
    assert render_diff(Plan((FileChange("x.py", b"a\n", b"a\n"),))) == b""


def test_hunks_look_as_people_know_them() -> None:
    before = b"".join(b"%d\n" % number for number in range(1, 21))
    after = before.replace(b"\n3\n", b"\n3\nnew\n").replace(b"\n18\n", b"\n")
    assert render_diff(Plan((FileChange("m/x.py", before, after),))) == (
        b"--- a/m/x.py\n+++ b/m/x.py\n"
        b"@@ -1,6 +1,7 @@\n 1\n 2\n 3\n+new\n 4\n 5\n 6\n"
        b"@@ -15,6 +16,5 @@\n 15\n 16\n 17\n-18\n 19\n 20\n"
    )


lines = st.lists(st.sampled_from([b"", b" ", b"a", b"b", b"    c", b"\x0c", b"x\r", b"\\", b"-", b"+"]), max_size=30)


@tools
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(pairs=st.lists(st.tuples(lines, lines, st.booleans(), st.booleans()), min_size=1, max_size=6))
def test_any_change_goes_there(
    tmp_path: Path, tool: list[str], pairs: list[tuple[list[bytes], list[bytes], bool, bool]]
) -> None:
    changes = []
    for number, (old, new, old_ends, new_ends) in enumerate(pairs):
        before = b"\n".join([b"first", *old]) + b"\n" * old_ends
        after = b"\n".join([b"first", *new]) + b"\n" * new_ends
        if before != after:
            changes.append(FileChange(f"{number}.py", before, after))
    if changes:
        patched(tmp_path, Plan(tuple(changes)), tool)
