"""The hooks as pre-commit runs them, in real repositories."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests import releases
from tests.report_tree import FILES, WRAPPERS, make_tree
from tests.repository import MANIFEST, ROOT, Repository

MODELS = "vllm/model_executor/models"
INNER, OURS, REGISTRY = f"{MODELS}/plain.py", f"{MODELS}/ours.py", f"{MODELS}/registry.py"
BASE = FILES[WRAPPERS].split("class LackingVL")[0]
LACKING = """\
from .utils import init_vllm_registered_model
from .wrappers import _Wrapper


class OurVL(_Wrapper):
    def __init__(self, *, vllm_config, prefix=""):
        super().__init__()
        self.language_model = init_vllm_registered_model(vllm_config=vllm_config, architectures=["PlainForCausalLM"])
"""
SOUND = "from .interfaces import SupportsEagle3\n" + LACKING.replace(
    "OurVL(_Wrapper)", "OurVL(_Wrapper, SupportsEagle3)"
)
BLAMED = f"{OURS}:5:1: VC001 OurVL fails supports_eagle3"
CAPTURE = (
    "            if index in self.aux_hidden_state_layers:\n                aux_hidden_states.append(hidden_states)\n"
)


def make_repository(folder: Path, *hooks: str, args: tuple[str, ...] = (), ours: str | None = None) -> Repository:
    """A repository whose checkout has no findings, but for those of ``ours``; git does not run the hooks yet."""
    registry = FILES[REGISTRY].split("_MULTIMODAL")[0] + '_MULTIMODAL_MODELS = {"OurVL": ("ours", "OurVL")}\n'
    tree = make_tree(folder / "repository", registry=registry, wrappers=BASE)
    (tree / OURS).write_text(SOUND if ours is None else ours, "utf-8")
    return Repository(tree, folder, *(hooks or ("vllm-contracts",)), args=args)


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    made = make_repository(tmp_path)
    made.install()
    return made


def test_pre_commit_takes_the_manifest() -> None:
    command = [sys.executable, "-m", "pre_commit", "validate-manifest", str(MANIFEST)]
    subprocess.run(command, check=True, timeout=120)
    hooks = {hook["id"]: hook for hook in yaml.safe_load(MANIFEST.read_text("utf-8"))}
    assert set(hooks) == {"vllm-contracts", "vllm-contracts-fix"}
    assert all(hook["require_serial"] for hook in hooks.values())


def test_a_change_that_breaks_nothing_passes(repository: Repository) -> None:
    repository.write(OURS, SOUND + "\n\n# more\n")
    done = repository.commit(OURS)
    assert done.code == 0, done.said
    assert "Passed" in done.said


def test_a_wrapper_that_forgets_a_contract_is_refused(repository: Repository) -> None:
    before = repository.head()
    repository.write(OURS, LACKING)
    done = repository.commit(OURS)
    assert done.code == 1
    assert BLAMED in done.said
    assert "\n  fix: add SupportsEagle3 to the bases of OurVL" in done.said
    assert "Traceback" not in done.said
    assert repository.head() == before


def test_a_change_of_the_inner_model_names_the_wrapper_elsewhere(repository: Repository) -> None:
    repository.replace(INNER, "class PlainModel(nn.Module, EagleModelMixin)", "class PlainModel(nn.Module)")
    done = repository.commit(INNER)
    assert done.code == 1
    assert f"{OURS}:6:1: VC003 OurVL passes supports_eagle3, but" in done.said
    assert f"\n  {INNER}:23: inner-check: PlainForCausalLM passes" in done.said


def test_a_fault_of_the_inner_model_names_the_wrappers_around_it(repository: Repository) -> None:
    repository.replace(INNER, CAPTURE, "")
    done = repository.commit(INNER)
    assert done.code == 1
    assert f"{INNER}:21:1: VC007 PlainForCausalLM claims SupportsEagle3" in done.said
    assert f"\n  {OURS}:6: OurVL is built around it\n" in done.said


def test_what_is_broken_elsewhere_is_none_of_a_changes_business(tmp_path: Path) -> None:
    repository = make_repository(tmp_path, ours=LACKING)
    repository.install()
    repository.write(f"{MODELS}/utils.py", FILES[f"{MODELS}/utils.py"] + "\n\ndef more():\n    pass\n")
    repository.write("tests/test_x.py", "x = 1\n")
    done = repository.commit(f"{MODELS}/utils.py", "tests/test_x.py")
    assert done.code == 0, done.said


def test_all_files(tmp_path: Path) -> None:
    repository = make_repository(tmp_path, ours=LACKING)
    done = repository.pre_commit("run", "--all-files")
    assert done.code == 1
    assert done.said.count(BLAMED) == 1
    repository.write(OURS, SOUND)
    assert repository.pre_commit("run", "--all-files").code == 0


def test_the_fix_hook_repairs_and_asks_to_stage(tmp_path: Path) -> None:
    repository = make_repository(tmp_path, "vllm-contracts-fix", "vllm-contracts")
    repository.install()
    repository.write(OURS, LACKING + "\n\n# more\n")
    done = repository.commit(OURS)
    assert done.code == 1
    assert f"fixed {OURS}; stage it after a look" in done.said
    assert "files were modified by this hook" in done.said
    assert "class OurVL(_Wrapper, SupportsEagle3):" in repository.read(OURS)
    assert "SupportsEagle3" not in repository.must("git", "show", f":{OURS}")
    done = repository.commit(OURS)
    assert done.code == 0, done.said


def test_what_is_staged_is_judged(repository: Repository) -> None:
    repository.write(OURS, LACKING)
    repository.must("git", "add", OURS)
    repository.write(OURS, SOUND)
    done = repository.commit()
    assert done.code == 1
    assert BLAMED in done.said
    assert repository.read(OURS) == SOUND


def test_what_is_not_staged_is_not_judged_and_stays(repository: Repository) -> None:
    repository.write(OURS, SOUND + "# staged\n")
    repository.must("git", "add", OURS)
    repository.write(OURS, LACKING)
    done = repository.commit()
    assert done.code == 0, done.said
    assert repository.read(OURS) == LACKING
    assert repository.must("git", "show", f"HEAD:{OURS}").endswith("# staged\n")


def test_a_fix_beside_what_is_not_staged(tmp_path: Path) -> None:
    repository = make_repository(tmp_path, "vllm-contracts-fix")
    repository.install()
    repository.write(OURS, LACKING)
    repository.must("git", "add", OURS)
    repository.write(OURS, LACKING + "\n\n# on the way\n")
    done = repository.commit()
    assert done.code == 1
    text = repository.read(OURS)
    assert "class OurVL(_Wrapper, SupportsEagle3):" in text
    assert text.endswith("# on the way\n")


def test_a_renamed_file_is_judged_under_its_new_name(tmp_path: Path) -> None:
    repository = make_repository(tmp_path, ours=LACKING)
    repository.install()
    repository.must("git", "mv", OURS, f"{MODELS}/theirs.py")
    repository.replace(REGISTRY, '"ours"', '"theirs"')
    done = repository.commit(REGISTRY)
    assert done.code == 1
    assert f"{MODELS}/theirs.py:5:1: VC001 OurVL fails" in done.said
    assert OURS not in done.said


def test_deleted_files_are_not_given_to_hooks(repository: Repository) -> None:
    repository.must("git", "rm", "-q", INNER)
    done = repository.commit()
    assert done.code == 0, done.said
    assert "no files to check" in done.said


def test_a_deleted_file_beside_a_changed_one(repository: Repository) -> None:
    repository.must("git", "rm", "-q", OURS)
    repository.replace(REGISTRY, '"OurVL": ("ours", "OurVL")', "")
    done = repository.commit(REGISTRY)
    assert done.code == 0, done.said
    assert "Passed" in done.said


# -- merges ----------------------------------------------------------------------------------------


NO_WRAPPER, WITH_WRAPPER = "_MULTIMODAL_MODELS = {}", '_MULTIMODAL_MODELS = {"OurVL": ("ours", "OurVL")}'
GIVEN_UP = (
    FILES[INNER]
    .replace(CAPTURE, "")
    .replace("(nn.Module, EagleModelMixin)", "(nn.Module)")
    .replace("class PlainForCausalLM(nn.Module, SupportsEagle3)", "class PlainForCausalLM(nn.Module)")
)
MISMATCH = f"{OURS}:6:1: VC004 OurVL passes supports_eagle3, but its inner model"


@pytest.fixture
def parted(tmp_path: Path) -> Repository:
    """Two branches, each sound: ``topic`` adds a wrapper, on ``main`` the inner model gives the contract up."""
    repository = make_repository(tmp_path)
    repository.install("--hook-type", "pre-commit", "--hook-type", "pre-merge-commit")
    repository.must("git", "rm", "-q", OURS)
    repository.replace(REGISTRY, WITH_WRAPPER, NO_WRAPPER)
    assert repository.commit(REGISTRY).code == 0
    repository.must("git", "checkout", "-q", "-b", "topic")
    repository.write(OURS, SOUND)
    repository.replace(REGISTRY, NO_WRAPPER, WITH_WRAPPER)
    assert repository.commit(OURS, REGISTRY).code == 0
    repository.must("git", "checkout", "-q", "main")
    repository.write(INNER, GIVEN_UP)
    assert repository.commit(INNER).code == 0
    return repository


def test_a_merge_of_two_sound_branches_that_do_not_fit(parted: Repository) -> None:
    done = parted.run("git", "merge", "--no-edit", "topic")
    assert done.code != 0
    assert MISMATCH in done.said
    assert parted.run("git", "log", "--merges", "--oneline").said == ""


def test_a_merge_with_conflicts_is_judged_by_the_files_that_were_resolved(parted: Repository) -> None:
    parted.must("git", "checkout", "-q", "topic")
    parted.replace(INNER, CAPTURE, CAPTURE + "            # seen\n")
    assert parted.commit(INNER).code == 0
    parted.must("git", "checkout", "-q", "main")
    assert "CONFLICT" in parted.run("git", "merge", "--no-edit", "topic").said
    parted.write(INNER, GIVEN_UP + "\n# resolved\n")
    done = parted.commit(INNER)
    assert done.code == 1
    assert MISMATCH in done.said
    parted.write(INNER, FILES[INNER] + "\n# resolved\n")
    done = parted.commit(INNER)
    assert done.code == 0, done.said
    assert "Passed" in done.said


def test_a_run_from_a_folder_inside(repository: Repository) -> None:
    repository.write(OURS, LACKING)
    repository.must("git", "add", OURS)
    for done in (repository.pre_commit("run", folder=MODELS), repository.commit(folder=MODELS)):
        assert done.code == 1
        assert BLAMED in done.said


def test_two_runs_at_once_say_the_same(tmp_path: Path) -> None:
    repository = make_repository(tmp_path, ours=LACKING)
    command = [sys.executable, "-m", "pre_commit", "run", "--all-files"]
    options = {"cwd": repository.root, "env": repository.environment, "stdout": subprocess.PIPE, "text": True}
    runs = [subprocess.Popen(command, **options) for _ in range(2)]  # type: ignore[call-overload]
    said = [run.communicate(timeout=300)[0] for run in runs]
    assert [run.returncode for run in runs] == [1, 1]
    heads, bodies = zip(*(one.partition("- hook id")[::2] for one in said), strict=True)  # one may say that it waits
    assert "Failed" in heads[0]
    assert bodies[0] == bodies[1]
    assert bodies[0].count(BLAMED) == 1


def test_a_hook_that_is_switched_off(tmp_path: Path) -> None:
    repository = make_repository(tmp_path, args=("--fail-on", "never"), ours="class :\n")
    assert repository.pre_commit("run", "--all-files").code == 0


# -- trees that cannot be judged -------------------------------------------------------------------


def test_a_changed_file_that_does_not_parse_is_refused(repository: Repository) -> None:
    repository.write(OURS, SOUND + "\nclass :\n")
    done = repository.commit(OURS)
    assert done.code == 1
    line = SOUND.count("\n") + 2
    assert f"{OURS}:{line}:1: not judged: Python" in done.said
    assert "Traceback" not in done.said


def test_a_file_that_does_not_parse_elsewhere_does_not_refuse_a_change(tmp_path: Path) -> None:
    repository = make_repository(tmp_path, ours="class :\n")
    repository.install()
    repository.write(INNER, FILES[INNER] + "\n\n# more\n")
    done = repository.commit(INNER)
    assert done.code == 0, done.said


def test_a_repository_without_a_checkout_is_told_so_in_one_line(tmp_path: Path) -> None:
    plugin = tmp_path / "plugin"
    plugin.mkdir()
    (plugin / "model.py").write_text("x = 1\n", "utf-8")
    done = Repository(plugin, tmp_path, "vllm-contracts").pre_commit("run", "--all-files")
    assert done.code == 1
    (error,) = [line for line in done.said.splitlines() if "error" in line]
    assert error.startswith(f"error: {plugin}: no vLLM here (looked for {MODELS}/interfaces.py); the hook")
    assert "exit code: 2" in done.said


def test_a_checkout_in_a_folder_of_the_repository(tmp_path: Path) -> None:
    root = tmp_path / "fork"
    make_tree(root / "third_party" / "source")
    repository = Repository(root, tmp_path, "vllm-contracts", args=("--tree", "third_party/source", "--select=VC001"))
    done = repository.pre_commit("run", "--all-files")
    assert done.code == 1
    assert f"\nthird_party/source/{WRAPPERS}:15:1: VC001 LackingVL" in done.said


def test_known_findings_of_the_settings_do_not_count(tmp_path: Path) -> None:
    repository = make_repository(tmp_path, ours=LACKING)
    repository.write("vllm-contracts.toml", 'baseline = "known.json"\n')
    made = [sys.executable, "-m", "analyzer", "audit", ".", "--quiet", "--update-baseline"]
    repository.must(*made)
    done = repository.pre_commit("run", "--all-files")
    assert done.code == 0, done.said


@pytest.mark.release
def test_pre_commit_installs_it_from_the_repository(tmp_path: Path) -> None:
    """With its requirements from the package index, into an environment of its own."""
    repository = make_repository(tmp_path, ours=LACKING)
    del repository.environment["PYTHONPATH"]
    done = repository.pre_commit("try-repo", str(ROOT), "vllm-contracts", "--all-files")
    assert done.code == 1
    assert BLAMED in done.said


@pytest.mark.release
def test_a_run_on_a_known_tree_costs_little(tmp_path: Path) -> None:
    """At most twice what it takes to load the two libraries that the command line is made of."""
    resource = pytest.importorskip("resource")  # POSIX has it
    root = releases.checkout("0.33.0").root
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    environment |= {"PYTHONPYCACHEPREFIX": str(tmp_path / "compiled"), "VLLM_CONTRACTS_CACHE": str(tmp_path / "cache")}
    environment["PYTHONPATH"] = str(ROOT)
    libraries = [sys.executable, "-c", "import click, rich.console"]
    hook = [sys.executable, "-m", "analyzer", "hook", "--tree", str(root), str(root / "vllm" / "envs.py")]

    def cost(command: list[str]) -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, env=environment, check=True, timeout=600)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return float(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)

    for command in (hook, hook, libraries):  # the first makes what is known, each compiles what it imports
        cost(command)
    runs = [(cost(hook), cost(libraries)) for _ in range(9)]
    assert min(one for one, _ in runs) <= 2 * min(other for _, other in runs)
