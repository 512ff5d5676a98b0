"""A generated plugin does to running classes what the codemod does to their files, and nothing where it must not."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from analyzer.findings import Finding
from analyzer.fix import plan_fixes, write_plan
from analyzer.patches import Package, make_package
from analyzer.patches.hook import class_digest
from tests import releases
from tests.cli.running import main
from tests.fixture_runs import run
from tests.fixture_trees import FIXTURES, Tree, Trees, all_cases

CASES = dict(all_cases())
FIXED = [name for name, case in all_cases() if case.finds]


def written(package: Package, folder: Path) -> Path:
    for rel, text in package.files.items():
        (folder / rel).parent.mkdir(parents=True, exist_ok=True)
        (folder / rel).write_text(text, "utf-8")
    return folder


def fixable(tree: Tree) -> list[Finding]:
    return [f for f in tree.findings if f.fix.edits]


def version_of(tree: Tree) -> str:
    return tree.read.checkout.version or ""


class Both:
    """Every case with fixes: repaired by its plugin and left as it is in the files, and repaired in the files."""

    def __init__(self, trees: Trees, folder: Path) -> None:
        self.packages: dict[str, Package] = {}
        patched: dict[str, tuple[Tree, Path]] = {}
        fixed: dict[str, Tree] = {}
        seen: set[tuple[str, frozenset[str]]] = set()
        for name in FIXED:
            tree = trees.of(name, CASES[name])
            kinds = frozenset(type(edit).__name__ for f in fixable(tree) for edit in f.fix.edits)
            if kinds and (tree.generation, kinds) not in seen:  # one case for each kind of change is enough
                seen.add((tree.generation, kinds))
                package = make_package(tree.root, version_of(tree), fixable(tree), "fixture-repairs")
                self.packages[name] = package
                if package.patched:
                    patched[name] = tree, written(package, folder / name)
                    root = trees.scratch(f"{name}-fixed-as-patched", tree)
                    plan = plan_fixes(root, [f.fix for f in package.patched])
                    assert not write_plan(root, plan).refused
                    fixed[name] = Tree(root, tree.generation, tree.path)
        plugins = [(path, "fixture_repairs") for _, path in patched.values()]
        self.patched = dict(zip(patched, run([tree for tree, _ in patched.values()], plugins), strict=True))
        self.fixed = dict(zip(fixed, run(list(fixed.values())), strict=True))


@pytest.fixture(scope="module")
def both(trees: Trees, tmp_path_factory: pytest.TempPathFactory) -> Both:
    return Both(trees, tmp_path_factory.mktemp("plugins"))


def test_most_fixes_can_be_made_at_import_time(both: Both) -> None:
    patched = sum(len(package.patched) for package in both.packages.values())
    left = [reason for package in both.packages.values() for _, reason in package.left]
    assert patched > 10
    assert patched > 2 * len(left)
    reasons = re.compile("it adds to a list|it changes the parameters|.* calls itself by that name|it is about several")
    assert all(reasons.match(reason) for reason in left)


@pytest.mark.parametrize("name", FIXED)
def test_classes_do_with_the_plugin_what_they_do_when_their_files_are_fixed(name: str, both: Both) -> None:
    if name not in both.patched:
        assert name not in both.packages or not both.packages[name].patched
        return
    patched, fixed = both.patched[name], both.fixed[name]
    assert [m.cls.key for m, _ in patched.outcomes] == [m.cls.key for m, _ in fixed.outcomes]
    for (_, ours), (_, theirs) in zip(patched.outcomes, fixed.outcomes, strict=True):
        assert ours == theirs


# -- where nothing must be done --------------------------------------------------------------------

NAME = "VC001-bad-0"
SCRIPT = """
import json, logging, sys
logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(message)s")
import fixture_repairs
fixture_repairs.register()
fixture_repairs.register()
before = sorted(name for name in sys.modules if name.startswith("vllm.model_executor.models."))
from vllm.model_executor.models import kiwi
from vllm.model_executor.models.interfaces import supports_eagle3
file = kiwi.__spec__.loader.get_filename(kiwi.__name__)
print(json.dumps([before, supports_eagle3(kiwi.KiwiForConditionalGeneration), file]))
"""


def imported(tree: Path, plugin: Path) -> tuple[list[str], bool, str]:
    """Which models were imported before any was asked for, whether the check is passed, and what the log says."""
    path = os.pathsep.join(map(str, (plugin, tree, FIXTURES / "stand_in")))
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    before, passes, file = json.loads(done.stdout)
    assert file.startswith(str(tree))
    return before, passes, done.stderr


@pytest.fixture
def case(trees: Trees, tmp_path: Path) -> tuple[Path, Path]:
    tree = trees.of(NAME, CASES[NAME])
    root = trees.scratch(f"plugin-{tmp_path.name}", tree)
    return root, written(make_package(root, version_of(tree), fixable(tree), "fixture-repairs"), tmp_path / "plugin")


def test_a_class_is_changed_once_and_no_model_is_imported_early(case: tuple[Path, Path]) -> None:
    before, passes, log = imported(*case)
    assert not [
        name for name in before if not name.endswith((".interfaces", ".registry", ".utils", ".interfaces_base"))
    ]
    assert passes
    assert log.count("KiwiForConditionalGeneration: add SupportsEagle3 to the bases") == 1


def test_another_version_is_left_alone_with_one_line(case: tuple[Path, Path]) -> None:
    root, plugin = case
    version = root / "vllm" / "_version.py"
    version.write_text(version.read_text().replace("0.33.0", "0.33.1"))
    _, passes, log = imported(root, plugin)
    assert not passes
    assert "was made for vLLM 0.33.0 and this is 0.33.1: nothing is changed" in log


def test_a_local_version_is_the_same_version(case: tuple[Path, Path]) -> None:
    root, plugin = case
    version = root / "vllm" / "_version.py"
    version.write_text(version.read_text().replace("0.33.0", "0.33.0+cpu"))
    assert imported(root, plugin)[1]


def test_a_class_with_another_source_is_left_alone_with_one_line(case: tuple[Path, Path]) -> None:
    root, plugin = case
    model = root / "vllm" / "model_executor" / "models" / "kiwi.py"
    model.write_text(
        model.read_text().replace("return self.language_model.compute", "return  self.language_model.compute")
    )
    _, passes, log = imported(root, plugin)
    assert not passes
    assert "kiwi.KiwiForConditionalGeneration is not the class that was analysed: it is left alone" in log


def test_what_stands_around_a_class_does_not_matter(case: tuple[Path, Path]) -> None:
    root, plugin = case
    model = root / "vllm" / "model_executor" / "models" / "kiwi.py"
    model.write_text("# moved\n\n" + model.read_text())
    assert imported(root, plugin)[1]


def test_a_patch_that_fails_keeps_nothing_from_running(case: tuple[Path, Path]) -> None:
    root, plugin = case
    patches = plugin / "fixture_repairs" / "patches.py"
    patches.write_text(patches.read_text().replace("    add_base(cls,", "    add_base(None,"))
    _, passes, log = imported(root, plugin)
    assert not passes
    assert "kiwi.KiwiForConditionalGeneration could not be patched: AttributeError" in log


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ("class A: pass\n", True),
        ("if x:\n    class A: pass\n", True),
        ("class A: pass\nclass A: pass\n", False),
        ("class B:\n    class A: pass\n", False),
        ("A = 1\n", False),
    ],
)
def test_a_digest_is_of_exactly_one_class(text: str, known: bool) -> None:
    assert bool(class_digest(text, "A")) is known


# -- the command -----------------------------------------------------------------------------------


def test_the_command_writes_a_package_that_can_be_installed(
    case: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "out"
    code, out, _ = main(capsys, "plugin", case[0], "-o", folder, "--name", "our.repairs")
    assert (code, out) == (0, f"{folder}: repairs 1 of 1 for vLLM 0.33.0\n")
    assert 'our_repairs = "our_repairs:register"' in (folder / "pyproject.toml").read_text()
    assert (folder / "our_repairs" / "_hook.py").read_text() == Path(class_digest.__code__.co_filename).read_text()
    ruff = [
        sys.executable,
        "-m",
        "ruff",
        "check",
        "--isolated",
        "--select",
        "E,F,I,UP",
        "--line-length",
        "120",
        str(folder),
    ]
    assert subprocess.run(ruff, capture_output=True, check=False).returncode == 0
    code, _, err = main(capsys, "plugin", case[0], "-o", folder)
    assert (code, err.count("\n")) == (2, 1)
    assert "there is something already" in err


def test_nothing_to_repair_writes_nothing(trees: Trees, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = main(capsys, "plugin", trees.plain("0.33").root, "-o", tmp_path / "out")
    assert (code, out) == (1, "nothing to repair\n")
    assert not (tmp_path / "out").exists()


@pytest.mark.release
def test_the_package_for_a_release_is_sound_python() -> None:
    report = releases.report("0.32.0")
    wanted = [f for f in report.findings if f.fix.edits]
    made = make_package(report.checkout.root, "0.32.0", wanted, "repairs")
    assert len(made.patched) > 0.8 * len([f for f in wanted if f.code != "VC012"]) > 40
    for rel, text in made.files.items():
        if rel.endswith(".py"):
            compile(text, rel, "exec")
