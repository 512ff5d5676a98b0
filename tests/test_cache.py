"""The cache changes how long a run takes, and nothing else."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from analyzer import codec, engine
from analyzer.audit import Audit
from analyzer.cache import Cache
from analyzer.checkout import open_checkout
from analyzer.commands.tree import Tree, tree_of
from analyzer.records import Report
from analyzer.store import clear, evict
from rules import all_rules
from tests.fixture_trees import MODELS, copy_tree
from tests.report_tree import make_tree


class Kept:
    """A tree with a cache: what it gives, what it warns of, and how often it had to read everything.

    Args:
        root: the tree.
        folder: of the cache.
    """

    def __init__(self, root: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.root, self.folder = root, folder
        self.warnings: list[str] = []
        self.runs = 0
        real = engine.read_and_judge

        def counting(*args: object, **options: object) -> tuple[Audit, Report]:
            self.runs += 1
            return real(*args, **options)  # type: ignore[arg-type]

        monkeypatch.setattr(engine, "read_and_judge", counting)

    def report(self) -> Report:
        checkout = open_checkout(self.root)
        return Tree(checkout, Cache(self.folder, checkout, self.warnings.append)).report()

    def settle(self) -> None:
        """Make everything old enough to be told from a change by its times."""
        past = time.time() - 3600
        for path in [self.root, *self.root.rglob("*")]:
            os.utime(path, (past, past), follow_symlinks=False)

    def products(self) -> list[Path]:
        return sorted(self.folder.glob("results/*/*-report"))


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kept:
    return Kept(make_tree(tmp_path / "tree"), tmp_path / "cache", monkeypatch)


def fresh(root: Path) -> Report:
    return engine.judge(engine.read_checkout(open_checkout(root)), all_rules())


def test_a_second_run_reads_nothing_and_says_the_same(kept: Kept) -> None:
    first = kept.report()
    assert kept.report() == first == fresh(kept.root)
    assert kept.runs == 1
    assert not kept.warnings


def test_a_report_is_the_same_behind_the_codec() -> None:
    root = Path(__file__).parent.parent / "fixtures" / "gen_0_33"
    report = fresh(root)
    assert codec.decode(codec.encode(report), Report) == report


CHANGES: dict[str, Callable[[Path], object]] = {
    "another text of the same length": lambda root: rewrite(root / MODELS / "plain.py", "(2, 2)", "(3, 3)"),
    "a file more": lambda root: (root / MODELS / "more.py").write_text("class More:\n    pass\n"),
    "a file less": lambda root: (root / MODELS / "wrappers.py").unlink(),
    "a renamed file": lambda root: (root / MODELS / "plain.py").rename(root / MODELS / "other.py"),
    "the interfaces": lambda root: rewrite(root / MODELS / "interfaces.py", "(2, 4, 5)", "(2, 4, 6)"),
    "a runner": lambda root: rewrite(root / "vllm/v1/runner.py", "does not", "can not"),
    "an unreadable byte": lambda root: (root / MODELS / "plain.py").write_bytes(b"\xff"),
    "a folder more": lambda root: shutil.copytree(root / "vllm/v1", root / "vllm/v2"),
}


def rewrite(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_changed_tree_is_read_again(change: Callable[[Path], object], kept: Kept) -> None:
    kept.settle()
    kept.report()
    change(kept.root)
    assert kept.report() == fresh(kept.root)
    assert kept.runs == 2


def test_a_change_that_hides_behind_the_same_time_and_size_is_found(kept: Kept) -> None:
    """The file's contents change within the clock's grain, and somebody sets its times back."""
    path = kept.root / MODELS / "plain.py"
    kept.report()
    status = path.stat()
    rewrite(path, "PlainForCausalLM(nn.Module, SupportsEagle3)", "PlainForCausalLM(nn.Module, SupportsEagleX)")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert kept.report() == fresh(kept.root)


HARMLESS: dict[str, Callable[[Path], object]] = {
    "a comment in a file that nothing looks into": lambda root: append(root / "vllm/v1/__init__.py", "# hello\n"),
    "other contents": lambda root: (root / "vllm/v1/__init__.py").write_text("def f(:\n"),
    "a package's own file": lambda root: append(root / "vllm/__init__.py", "y = 2\n"),
}


def append(path: Path, text: str) -> None:
    path.write_text(path.read_text() + text)


@pytest.mark.parametrize("change", HARMLESS.values(), ids=HARMLESS)
def test_an_edit_that_concerns_nothing_keeps_what_is_known(change: Callable[[Path], object], kept: Kept) -> None:
    kept.report()
    change(kept.root)
    report = kept.report()
    assert kept.runs == 1
    assert report == fresh(kept.root)


HELPER = "\n\ndef loaded(weights):\n    total = 0\n    for _ in weights:\n        total += 1\n    return total\n"
"""A function of a model file that no audit looks into."""

BESIDE: dict[str, Callable[[str], str]] = {
    "a comment at the end": lambda text: text + "# hello\n",
    "a comment above a class": lambda text: text.replace("\nclass ", "\n# hello\nclass "),
    "empty lines": lambda text: text.replace("\n\n\n", "\n\n\n\n\n").replace("    def ", "\n    def "),
    "a comment in a method that is looked into": lambda text: text.replace(
        "        super().__init__()", "        # first of all\n\n        super().__init__()"
    ),
    "another line in the function": lambda text: text.replace("total = 0", "total = 1"),
    "a longer function": lambda text: text.replace("total = 0", "total = (\n        0\n    )"),
    "a shorter function": lambda text: text.replace("    for _ in weights:\n        total += 1\n", ""),
    "a function that does not parse": lambda text: text.replace("total = 0", "total = ="),
    "a string with a comment in it": lambda text: text.replace("total = 0", 'total = """\n# no comment\n\n"""'),
}


@pytest.mark.parametrize("edit", BESIDE.values(), ids=BESIDE)
def test_an_edit_beside_what_was_looked_at_keeps_what_is_known(edit: Callable[[str], str], kept: Kept) -> None:
    path = kept.root / MODELS / "plain.py"
    append(path, HELPER)
    kept.report()
    before = path.read_text()
    path.write_text(edit(before))
    assert path.read_text() != before
    report = kept.report()
    assert kept.runs == 1
    assert report == fresh(kept.root)
    append(kept.root / "vllm/v1/__init__.py", "# and another\n")
    assert kept.report() == fresh(kept.root)
    assert kept.runs == 1


CONCERNED: dict[str, Callable[[str], str]] = {
    "a word that is searched for": lambda text: text.replace("total = 0", "total = supports_eagle3(weights)"),
    "the same in a comment": lambda text: text.replace("total = 0", "total = 0  # supports_eagle3(weights)"),
    "a suppression": lambda text: text.replace("\nclass ", "\n# vllm-contracts: ignore[VC001] so it is\nclass "),
    "its parameters": lambda text: text.replace("(weights)", "(weights, more=())"),
    "a function more": lambda text: text + HELPER.replace("loaded", "read"),
    "no function": lambda text: text.replace(HELPER, ""),
    "too long to be followed": lambda text: text.replace("total = 0", "total = (0" + "\n" * 100 + ")"),
    "a mark of wrappers": lambda text: text.replace("total = 0", "total = initialize_model(weights)"),
    "tabs": lambda text: text.replace("total = 0", "total =\t0"),
    "an encoding": lambda text: "# coding: latin-1\n" + text,
    "an end of lines": lambda text: text.replace("total = 0", "total = 0\r"),
    "a docstring": lambda text: '"""Hello."""\n' + text,
    "behind a backslash": lambda text: text + "x = \\\n    # hello\n",
    "a comment that becomes text": lambda text: text + 'x = """\n# hello\n"""\n',
}


@pytest.mark.parametrize("edit", CONCERNED.values(), ids=CONCERNED)
def test_an_edit_that_may_concern_what_was_looked_at_is_looked_into(edit: Callable[[str], str], kept: Kept) -> None:
    path = kept.root / MODELS / "plain.py"
    append(path, HELPER)
    kept.report()
    path.write_bytes(edit(path.read_text()).encode())
    assert kept.report() == fresh(kept.root)
    assert kept.runs == 2


def test_what_a_fix_would_change_is_told_anew_where_a_file_changed(tmp_path: Path) -> None:
    root, cache = make_tree(tmp_path / "tree"), str(tmp_path / "cache")
    path = root / MODELS / "wrappers.py"
    append(path, HELPER)
    command = [sys.executable, "-m", "analyzer", "audit", str(root), "--format", "sarif", "--fail-on", "never"]
    for edit in (lambda text: text, *list(BESIDE.values())[:6]):
        path.write_text(edit(path.read_text()))
        known = subprocess.run(
            [*command, "--cache-dir", cache], capture_output=True, text=True, timeout=120, check=True
        )
        anew = subprocess.run([*command, "--no-cache"], capture_output=True, text=True, timeout=120, check=True)
        assert known.stdout == anew.stdout


@pytest.mark.parametrize(
    "text",
    [
        "def gate(model):\n    return supports_eagle3(model.inner)\n",
        "x = model.set_aux_hidden_state_layers\n",
        "def f(self):\n    self.get_model_name()\n",
    ],
)
def test_an_edit_that_holds_a_word_that_is_searched_for_is_looked_into(text: str, kept: Kept) -> None:
    kept.report()
    append(kept.root / "vllm/v1/__init__.py", text)
    assert kept.report() == fresh(kept.root)
    assert kept.runs == 2


def test_an_edit_that_concerned_nothing_for_another_version_of_the_tool_is_looked_into(
    kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept.report()
    monkeypatch.setattr("analyzer.cache.FORMAT", 0)
    append(kept.root / "vllm/v1/__init__.py", "# hello\n")
    kept.report()
    assert kept.runs == 2


def test_a_file_that_can_be_read_again_is_no_edit_that_concerns_nothing(kept: Kept) -> None:
    path = kept.root / "vllm/v1/__init__.py"
    path.unlink()
    path.symlink_to(kept.root / "nowhere.py")
    assert [d.path for d in kept.report().diagnostics] == ["vllm/v1/__init__.py"]
    path.unlink()
    path.write_text("")
    assert kept.report() == fresh(kept.root)


def test_touched_files_are_read_and_known_again(kept: Kept) -> None:
    kept.settle()
    kept.report()
    for path in kept.root.rglob("*.py"):
        path.touch()
    kept.report()
    assert kept.runs == 1


def test_going_back_to_what_the_tree_was_before_is_known(kept: Kept) -> None:
    kept.report()
    text = (kept.root / MODELS / "plain.py").read_text()
    (kept.root / MODELS / "plain.py").write_text("")
    kept.report()
    (kept.root / MODELS / "plain.py").write_text(text)
    kept.report()
    assert kept.runs == 2


def test_two_trees_with_the_same_files_share_nothing(kept: Kept, tmp_path: Path) -> None:
    kept.report()
    kept.root = Path(shutil.copytree(kept.root, tmp_path / "twin"))
    report = kept.report()
    assert kept.runs == 2
    assert report.checkout.root == kept.root


def test_a_moved_tree_is_told_by_its_new_place(kept: Kept, tmp_path: Path) -> None:
    kept.report()
    kept.root = kept.root.rename(tmp_path / "moved")
    assert kept.report().checkout.root == tmp_path / "moved"


def test_the_version_is_that_of_now(kept: Kept) -> None:
    (kept.root / "vllm/_version.py").unlink()
    kept.report()
    info = kept.root / "vllm-0.29.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Name: vllm\nVersion: 0.29.0\n")
    assert kept.report().checkout.version == "0.29.0"
    assert kept.runs == 1


DAMAGES: dict[str, Callable[[Path], object]] = {
    "emptied": lambda path: path.write_bytes(b""),
    "cut short": lambda path: path.write_bytes(path.read_bytes()[:-40]),
    "a bit turned": lambda path: path.write_bytes(path.read_bytes()[:900] + b"~" + path.read_bytes()[901:]),
    "something else": lambda path: path.write_text("Dear diary\n" * 99),
    "a folder in its place": lambda path: become_a_folder(path),
    "null": lambda path: path.write_text("null"),
    "a list": lambda path: path.write_text("[[]]"),
    "other records": lambda path: path.write_text('{"format": 1, "folders": [], "files": {"a": 1}}'),
    "nested deeply": lambda path: path.write_text("[" * 100_000),
}


def become_a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
@pytest.mark.parametrize("victim", ["*-report", "files.json"])
def test_a_damaged_file_costs_time_and_nothing_else(victim: str, damage: Callable[[Path], object], kept: Kept) -> None:
    kept.settle()
    first = kept.report()
    [path] = kept.folder.glob(f"results/*/{victim}")
    damage(path)
    assert kept.report() == first
    assert kept.runs <= 2


def test_a_record_that_is_none_of_ours_is_refused() -> None:
    for data in (b"", b"{}", b"[[0],[]]", b'[[0],[["Report",1]]]', b'[[0],[["os.system","x"]]]', b'[[0],[["()"]]]'):
        with pytest.raises(codec.CodecError):
            codec.decode(data, Report)


def test_a_folder_that_cannot_be_written_gives_one_warning(kept: Kept) -> None:
    kept.folder.write_text("a file where the folder should be")
    report = kept.report()
    assert report == fresh(kept.root)
    assert len(kept.warnings) == 1
    assert "cannot be kept" in kept.warnings[0]


def test_a_full_disk_gives_one_warning(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(source: str, target: str) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("analyzer.store.os.replace", full)
    assert kept.report() == fresh(kept.root)
    assert kept.warnings == [w for w in kept.warnings if "No space left" in w][:1]
    assert not list(kept.folder.rglob(".*"))


def test_nothing_is_kept_of_a_tree_that_changes_while_it_is_read(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    real = engine.read_and_judge

    def changing(*args: object, **options: object) -> tuple[Audit, Report]:
        made = real(*args, **options)  # type: ignore[arg-type]
        (kept.root / MODELS / "plain.py").write_text("")
        return made

    monkeypatch.setattr(engine, "read_and_judge", changing)
    kept.report()
    assert not kept.products()


def test_old_results_make_room(kept: Kept) -> None:
    kept.report()
    [path] = kept.products()
    os.utime(path, (1, 1))
    other = path.with_name("other-report")
    other.write_bytes(b"x" * 1000)
    evict(kept.folder / "results", limit=other.stat().st_size + path.with_name("files.json").stat().st_size)
    assert not path.exists()
    assert other.exists()


def test_clearing_takes_the_results_and_leaves_the_releases(kept: Kept) -> None:
    kept.report()
    release = kept.folder / "releases" / "0.33.0"
    release.mkdir(parents=True)
    assert clear(kept.folder) > 0
    assert release.exists()
    assert not kept.products()
    assert clear(kept.folder) == 0


def test_without_a_cache_nothing_is_written(tmp_path: Path) -> None:
    root = make_tree(tmp_path / "tree")
    tree_of(open_checkout(root), no_cache=True, cache_dir=tmp_path / "cache").report()
    assert not (tmp_path / "cache").exists()


def test_runs_at_the_same_time_agree(tmp_path: Path) -> None:
    root = make_tree(tmp_path / "tree")
    command = [sys.executable, "-m", "analyzer", "audit", str(root), "--format", "json", "--cache-dir"]
    runs = [subprocess.Popen([*command, str(tmp_path / "cache")], stdout=subprocess.PIPE) for _ in range(4)]
    told = {run.communicate(timeout=120)[0] for run in runs}
    assert len(told) == 1
    assert json.loads(told.pop())["findings"]
    assert {run.returncode for run in runs} == {1}


@pytest.mark.parametrize("seed", range(12))
def test_random_edits_give_what_an_uncached_run_gives(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every field of the report, after each of a series of edits."""
    chance = random.Random(seed)
    kept = Kept(copy_tree("0.33", tmp_path / "tree"), tmp_path / "cache", monkeypatch)
    files = sorted(kept.root.rglob("*.py"))
    for _ in range(6):
        path = chance.choice(files)
        lines = path.read_text().splitlines(keepends=True) if path.exists() else []
        act = chance.randrange(8)
        if act == 0 and lines:
            del lines[chance.randrange(len(lines))]
        elif act == 1 and lines:
            lines.insert(chance.randrange(len(lines)), lines[chance.randrange(len(lines))])
        elif act == 2:
            lines.append("\n\nclass Another:\n    supports_eagle3 = True\n")
        elif act == 3:
            lines = []
        elif act == 4 and lines:
            lines.insert(chance.randrange(len(lines)), chance.choice(["\n", "# hello\n", "    # hello\n"]))
        elif act in (5, 6) and lines:
            place = chance.randrange(len(lines))
            lines[place] = lines[place].replace("return", chance.choice(["assert", "return not", "\n        return"]))
        else:
            kept.settle()
        path.write_text("".join(lines))
        try:
            expected = fresh(kept.root)
        except engine.EngineError:
            with pytest.raises(engine.EngineError):
                kept.report()
            path.write_text("".join(lines) or "x = 1\n")
            break
        assert kept.report() == expected
        assert kept.report() == expected
    assert not kept.warnings
