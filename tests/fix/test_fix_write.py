"""Writing: whole files or none, their metadata, and what is refused; also under kill -9."""

from __future__ import annotations

import os
import random
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from analyzer.findings import AddBase, Fix
from analyzer.fix import FileChange, Plan, write, write_plan

OLD, NEW = b"class Model: ...\n", b"class Model(SupportsEagle3): ...\n"
posix = pytest.mark.skipif(sys.platform == "win32", reason="owners, modes and links as POSIX has them")


def plan_for(*paths: str, fixes: tuple[Fix, ...] = ()) -> Plan:
    return Plan(tuple(FileChange(path, OLD, NEW) for path in paths), fixes)


def make(root: Path, *paths: str) -> list[Path]:
    files = [root / path for path in paths]
    for file in files:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(OLD)
    return files


def listing(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def refusal(root: Path, plan: Plan) -> str:
    """The reason why the one file of a plan is not written; nothing may have changed."""
    before = {name: (root / name).read_bytes() for name in listing(root)}
    written = write_plan(root, plan)
    assert written.paths == ()
    assert {name: (root / name).read_bytes() for name in listing(root)} == before
    [(_, reason)] = written.refused
    return reason


def test_files_are_written_and_nothing_is_left_beside_them(tmp_path: Path) -> None:
    make(tmp_path, "a.py", "b/c d.py")
    assert write_plan(tmp_path, plan_for("a.py", "b/c d.py")) == write.Written(("a.py", "b/c d.py"))
    assert listing(tmp_path) == ["a.py", "b/c d.py"]
    assert (tmp_path / "b/c d.py").read_bytes() == NEW


@posix
@pytest.mark.parametrize("mode", [0o644, 0o755, 0o600, 0o4750, 0o666])
def test_the_mode_is_kept(tmp_path: Path, mode: int) -> None:
    [file] = make(tmp_path, "a.py")
    file.chmod(mode)
    write_plan(tmp_path, plan_for("a.py"))
    assert file.read_bytes() == NEW
    assert stat.S_IMODE(file.stat().st_mode) == mode


@posix
def test_owner_and_group_are_kept_where_that_is_permitted(tmp_path: Path) -> None:
    [file] = make(tmp_path, "a.py")
    try:
        os.chown(file, 12345, 23456)
    except PermissionError:
        pytest.skip("may not give files away")
    write_plan(tmp_path, plan_for("a.py"))
    assert (file.stat().st_uid, file.stat().st_gid) == (12345, 23456)
    assert file.read_bytes() == NEW


def test_extended_attributes_are_kept(tmp_path: Path) -> None:
    [file] = make(tmp_path, "a.py")
    if sys.platform != "linux":
        pytest.skip("os.setxattr is Linux only")
    try:
        os.setxattr(file, "user.note", b"kept")
    except OSError:
        pytest.skip("the file system has no extended attributes")
    write_plan(tmp_path, plan_for("a.py"))
    assert os.getxattr(file, "user.note") == b"kept"
    assert file.read_bytes() == NEW


@posix
def test_a_symbolic_link_stays_and_its_target_is_written(tmp_path: Path) -> None:
    [file] = make(tmp_path, "real/a.py")
    (tmp_path / "link.py").symlink_to("real/a.py")
    (tmp_path / "folder").symlink_to("real")
    write_plan(tmp_path, plan_for("link.py"))
    assert (tmp_path / "link.py").is_symlink()
    assert file.read_bytes() == NEW
    file.write_bytes(OLD)
    write_plan(tmp_path, plan_for("folder/a.py"))
    assert file.read_bytes() == NEW


@posix
def test_a_link_out_of_the_root_is_refused(tmp_path: Path) -> None:
    make(tmp_path, "outside.py")
    root = tmp_path / "root"
    root.mkdir()
    (root / "a.py").symlink_to("../outside.py")
    assert refusal(root, plan_for("a.py")) == "lies outside the checkout"


@posix
def test_hard_links_are_kept_unless_they_may_break(tmp_path: Path) -> None:
    [file] = make(tmp_path, "a.py")
    os.link(file, tmp_path / "cache.py")
    reason = refusal(tmp_path, plan_for("a.py"))
    assert reason == "has 2 hard links, which replacing it would part: see --break-hard-links"
    assert write_plan(tmp_path, plan_for("a.py"), break_hard_links=True).paths == ("a.py",)
    assert (file.read_bytes(), (tmp_path / "cache.py").read_bytes()) == (NEW, OLD)


@posix
def test_a_read_only_file_is_refused(tmp_path: Path) -> None:
    [file] = make(tmp_path, "a.py")
    file.chmod(0o444)
    assert refusal(tmp_path, plan_for("a.py")) == "is read-only"


@posix
@pytest.mark.skipif(hasattr(os, "geteuid") and os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder_is_refused(tmp_path: Path) -> None:
    [file] = make(tmp_path, "a/a.py")
    file.parent.chmod(0o555)
    try:
        assert refusal(tmp_path, plan_for("a/a.py")) == "is in a read-only folder"
    finally:
        file.parent.chmod(0o755)


def test_a_file_that_changed_since_it_was_read_is_refused(tmp_path: Path) -> None:
    [file] = make(tmp_path, "a.py")
    file.write_bytes(b"x = 1\n")
    assert refusal(tmp_path, plan_for("a.py")) == "has changed since it was read"


def test_a_change_while_the_new_file_is_written_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    [file] = make(tmp_path, "a.py")
    fill = write._fill

    def fill_slowly(temporary: Path, target: Path, data: bytes) -> None:
        fill(temporary, target, data)
        target.write_bytes(b"x = 1\n")

    monkeypatch.setattr(write, "_fill", fill_slowly)
    written = write_plan(tmp_path, plan_for("a.py"))
    assert written.refused == (("a.py", "has changed since it was read"),)
    assert file.read_bytes() == b"x = 1\n"
    assert listing(tmp_path) == ["a.py"]


def test_a_file_that_is_gone_is_refused(tmp_path: Path) -> None:
    assert refusal(tmp_path, plan_for("a.py")) == "cannot be written: No such file or directory"


def test_a_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.py").mkdir()
    assert refusal(tmp_path, plan_for("a.py")) == "is not a regular file"


@pytest.mark.parametrize("step", ["_fill", "os.replace"])
def test_a_failure_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    def fail(*arguments: object) -> None:
        raise OSError(28, "No space left on device")

    make(tmp_path, "a.py")
    monkeypatch.setattr(os if step == "os.replace" else write, step.removeprefix("os."), fail)
    assert refusal(tmp_path, plan_for("a.py")) == "cannot be written: No space left on device"
    assert listing(tmp_path) == ["a.py"]


def test_an_interrupt_leaves_the_old_file_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*arguments: object) -> None:
        raise KeyboardInterrupt

    [file] = make(tmp_path, "a.py")
    monkeypatch.setattr(os, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_plan(tmp_path, plan_for("a.py"))
    assert file.read_bytes() == OLD
    assert listing(tmp_path) == ["a.py"]


def test_files_of_one_fix_are_refused_together(tmp_path: Path) -> None:
    make(tmp_path, "a.py", "b.py", "c.py", "d.py")
    (tmp_path / "a.py").write_bytes(b"x = 1\n")

    def over(*paths: str) -> Fix:
        return Fix("safe", "", tuple(AddBase(path, "Model", "X", 0) for path in paths))

    plan = plan_for("a.py", "b.py", "c.py", "d.py", fixes=(over("a.py", "b.py"), over("b.py", "c.py"), over("d.py")))
    written = write_plan(tmp_path, plan)
    assert written.paths == ("d.py",)
    together = "belongs to a fix that cannot be written as a whole"
    assert written.refused == (("a.py", "has changed since it was read"), ("b.py", together), ("c.py", together))
    assert (tmp_path / "c.py").read_bytes() == OLD


@posix
def test_leftovers_of_dead_runs_are_removed_and_those_of_living_ones_kept(tmp_path: Path) -> None:
    import fcntl

    make(tmp_path, "a.py", "b.py")
    names = [".a.py.vllm-contracts-dead.tmp", ".a.py.vllm-contracts-alive.tmp", ".b.py.vllm-contracts-dead.tmp"]
    dead, alive, other = make(tmp_path, *names)
    with alive.open() as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        write_plan(tmp_path, plan_for("a.py"))
    assert (dead.exists(), alive.exists(), other.exists()) == (False, True, True)


WRITER = """
import sys
from pathlib import Path
from analyzer.fix import FileChange, Plan, write_plan

root, *names = map(Path, sys.argv[1:])
texts = [b"".join(b"%d %d\\n" % (mark, line) for line in range(20_000)) for mark in (1, 2)]
current = {name: (root / name).read_bytes() for name in names}
print("ready", flush=True)
while True:
    changes = [FileChange(str(n), c, texts[c == texts[0]]) for n, c in current.items()]
    written = write_plan(root, Plan(tuple(changes)))
    assert not written.refused, written
    current = {Path(change.path): change.after for change in changes}
"""


@posix
def test_a_killed_run_leaves_each_file_old_or_new(tmp_path: Path) -> None:
    texts = {b"".join(b"%d %d\n" % (mark, line) for line in range(20_000)) for mark in (1, 2)}
    names = ["a.py", "b.py", "c.py"]
    for name in names:
        (tmp_path / name).write_bytes(min(texts))
    chance = random.Random(3)
    leftovers = 0
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    for _ in range(40):
        command = [sys.executable, "-c", WRITER, str(tmp_path), *names]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
            time.sleep(chance.uniform(0, 0.03))
            process.send_signal(signal.SIGKILL)
            process.wait()
        assert {(tmp_path / name).read_bytes() for name in names} <= texts
        leftovers += len(listing(tmp_path)) > len(names)
    assert leftovers, "no run was killed while it wrote; the test shows nothing"
    changes = [FileChange(name, (tmp_path / name).read_bytes(), max(texts) + b"end\n") for name in names]
    assert write_plan(tmp_path, Plan(tuple(changes))).paths == tuple(names)
    assert listing(tmp_path) == names
