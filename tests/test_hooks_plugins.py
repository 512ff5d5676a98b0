"""The hooks in the repository of a package outside vLLM, under real git and pre-commit."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.plugin_trees import vllm_of
from tests.repository import Repository
from tests.test_plugins import PLUGINS

HOME = "src/by_string"
OURS, INIT = f"{HOME}/sight.py", f"{HOME}/__init__.py"
SOUND = '''\
"""A wrapper around one of vLLM's text models."""

from torch import nn

from vllm.model_executor.models.interfaces import SupportsEagle3, SupportsMultiModal
from vllm.model_executor.models.utils import init_vllm_registered_model


class SightForConditionalGeneration(nn.Module, SupportsMultiModal, SupportsEagle3):
    def __init__(self, *, vllm_config, prefix=""):
        super().__init__()
        self.image_token = vllm_config.model_config.hf_config.image_token_index
        self.language_model = init_vllm_registered_model(vllm_config, architectures=["AlphaForCausalLM"])

    def forward(self, input_ids, positions, **kwargs):
        return self.language_model.model(input_ids, positions, **kwargs)

    def compute_logits(self, hidden_states):
        return self.language_model.compute_logits(hidden_states)
'''
LACKING = SOUND.replace(", SupportsEagle3):", "):").replace("import SupportsEagle3, ", "import ")
NAME = "SightForConditionalGeneration"
REGISTERED = f'    ModelRegistry.register_model("{NAME}", f"{{__name__}}.sight:{NAME}")\n'
BLAMED = f"{OURS}:9:1: VC001 SightForConditionalGeneration fails supports_eagle3"


def make_repository(folder: Path, *hooks: str, args: tuple[str, ...] | None = None, ours: str = SOUND) -> Repository:
    """The repository of a plugin without findings, but for those of ``ours``; git does not run the hooks yet."""
    root = Path(shutil.copytree(PLUGINS / "by_string", folder / "repository"))
    (root / OURS).write_text(ours)
    with (root / INIT).open("a") as file:
        file.write(REGISTERED)
    args = ("--vllm", str(vllm_of("0.33"))) if args is None else args
    return Repository(root, folder, *(hooks or ("vllm-contracts",)), args=args)


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    made = make_repository(tmp_path)
    made.install()
    return made


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
    assert "\n  fix: add SupportsEagle3 to the bases of SightForConditionalGeneration" in done.said
    assert "Traceback" not in done.said
    assert repository.head() == before


def test_files_outside_of_the_packages_start_nothing(tmp_path: Path) -> None:
    """Not even a vLLM is opened that cannot be used."""
    repository = make_repository(tmp_path, ours=LACKING)
    repository.install()
    repository.write("tests/test_something.py", "def test_it():\n    pass\n")
    done = repository.commit("tests/test_something.py")
    assert done.code == 0, done.said
    assert BLAMED in repository.pre_commit("run", "--all-files").said


def test_the_settings_name_the_vllm(tmp_path: Path) -> None:
    repository = make_repository(tmp_path, args=())
    (tmp_path / "vllm").symlink_to(vllm_of("0.33"))
    pyproject = repository.read("pyproject.toml")
    repository.write("pyproject.toml", f'{pyproject}\n[tool.vllm-contracts]\nvllm = "../vllm"\n')
    repository.install()
    repository.write(OURS, LACKING)
    done = repository.commit("pyproject.toml", OURS)
    assert done.code == 1
    assert BLAMED in done.said


def test_a_change_of_the_inner_model_names_the_wrapper_elsewhere(tmp_path: Path) -> None:
    """The text model of the plugin takes the place of vLLM's, and no longer declares what the wrapper needs."""
    text = "from vllm.model_executor.models.alpha import AlphaForCausalLM\n\n\n"
    text += "class OwnForCausalLM(AlphaForCausalLM):\n    pass\n"
    own = SOUND.replace('["AlphaForCausalLM"]', '["OwnForCausalLM"]')
    repository = make_repository(tmp_path, ours=own)
    repository.write(f"{HOME}/own.py", text)
    more = '    ModelRegistry.register_model("OwnForCausalLM", f"{__name__}.own:OwnForCausalLM")\n'
    repository.write(INIT, repository.read(INIT) + more)
    repository.install()
    done = repository.commit("-A")
    assert done.code == 0, done.said
    repository.replace(f"{HOME}/own.py", "models.alpha import AlphaForCausalLM", "models.beta import BetaForCausalLM")
    repository.replace(f"{HOME}/own.py", "(AlphaForCausalLM)", "(BetaForCausalLM)")
    done = repository.commit(f"{HOME}/own.py")
    assert done.code == 1
    assert f"{OURS}:9:1: VC004 SightForConditionalGeneration passes supports_eagle3" in done.said
    assert f"\n  {HOME}/own.py:4: inner-check: OwnForCausalLM fails supports_eagle3" in done.said


def test_the_fix_hook_repairs_and_asks_to_stage(tmp_path: Path) -> None:
    repository = make_repository(tmp_path, "vllm-contracts-fix", "vllm-contracts")
    repository.install()
    repository.write(OURS, f"{LACKING}\n\n# more\n")
    done = repository.commit(OURS)
    assert done.code == 1
    assert f"fixed {OURS}; stage it after a look" in done.said
    assert "SupportsMultiModal, SupportsEagle3):" in repository.read(OURS)
    done = repository.commit(OURS)
    assert done.code == 0, done.said


def test_a_plugin_in_a_folder_of_the_repository(tmp_path: Path) -> None:
    root = tmp_path / "repository"
    shutil.copytree(PLUGINS / "by_table", root / "plugins/ours")
    args = ("--tree", "plugins/ours", "--vllm", str(vllm_of("0.33")), "--select=VC001")
    done = Repository(root, tmp_path, "vllm-contracts", args=args).pre_commit("run", "--all-files")
    assert done.code == 1
    assert "\nplugins/ours/by_table/models/sound/lute.py:8:1: VC001 LuteForConditionalGeneration" in done.said


@pytest.mark.parametrize(
    ("args", "why"),
    [
        (("--vllm", "no/such/tree"), "--vllm: no/such/tree: no such folder, no release number such as 0.33.0"),
        ((), "no vLLM here (looked for vllm/model_executor/models/interfaces.py); the hook judges the vLLM tree"),
        (("--tree", "src/nothing", "--vllm", "."), "no vLLM here"),
    ],
)
def test_what_cannot_be_used_is_told_in_one_line(tmp_path: Path, args: tuple[str, ...], why: str) -> None:
    done = make_repository(tmp_path, args=args).pre_commit("run", "--all-files")
    assert done.code == 1
    (error,) = [line for line in done.said.splitlines() if "error" in line]
    assert why in error
    assert "exit code: 2" in done.said
