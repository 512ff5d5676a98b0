"""Finding an installed vLLM: in this interpreter and in others, and never importing it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import venv
import zipfile
from pathlib import Path

import pytest

from analyzer import installed
from analyzer.checkout import CheckoutError
from analyzer.installed import find_installed

HINTS = ("vllm-contracts audit PATH", "--release 0.33.0", "--python PATH")
POSIX = pytest.mark.skipif(sys.platform == "win32", reason="uses shell scripts as programs")

FINDER = """
import importlib.machinery, importlib.util, sys

class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == "vllm":
            return importlib.util.spec_from_file_location(name, {init!r}, submodule_search_locations=[])

sys.meta_path.append(Finder)
"""


def make_vllm(root: Path) -> Path:
    """A package that ends the process when it is imported."""
    (root / "vllm").mkdir(parents=True)
    (root / "vllm/__init__.py").write_text("import os\nos._exit(3)\n")
    return root


def add_direct_url(site: Path, url: str, **info: object) -> None:
    folder = site / "vllm-0.33.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: vllm\nVersion: 0.33.0\n")
    (folder / "direct_url.json").write_text(json.dumps({"url": url, **info}))


def message_for(python: Path | None) -> str:
    with pytest.raises(CheckoutError) as raised:
        find_installed(python)
    message = str(raised.value)
    assert "\n" not in message
    return message


# --------------------------------------------------------------------------------------------------
# The running interpreter


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder in place of this interpreter's site-packages."""
    folder = tmp_path / "site-packages"
    folder.mkdir()
    library = [entry for entry in sys.path if entry and "site-packages" not in entry]
    monkeypatch.setattr(sys, "path", [*library, str(folder)])
    monkeypatch.chdir(tmp_path)
    return folder


def test_this_interpreter(site: Path) -> None:
    make_vllm(site)
    assert find_installed() == site
    assert "vllm" not in sys.modules


def test_no_vllm_in_this_interpreter(site: Path) -> None:
    message = message_for(None)
    assert message.startswith(f"no vLLM is installed for {sys.executable}; ")
    assert all(hint in message for hint in HINTS)


def test_an_editable_install_behind_a_namespace(site: Path, tmp_path: Path) -> None:
    """Run from the folder that holds the clone, Python takes the clone's root for a namespace package."""
    clone = make_vllm(tmp_path / "with space" / "vllm")
    sys.path.insert(0, str(clone.parent))
    assert "no vLLM is installed" in message_for(None)
    add_direct_url(site, clone.as_uri(), dir_info={"editable": True})
    assert find_installed() == clone


@pytest.mark.parametrize("url", ["file:///absent/vllm.whl", "https://example.org/vllm.whl", ""])
def test_installs_from_an_archive_are_no_trees(site: Path, url: str) -> None:
    add_direct_url(site, url, archive_info={})
    assert "no vLLM is installed" in message_for(None)


def test_a_broken_direct_url(site: Path) -> None:
    add_direct_url(site, "")
    (site / "vllm-0.33.0.dist-info/direct_url.json").write_text("{")
    assert "no vLLM is installed" in message_for(None)


def test_a_zipped_vllm(site: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "vllm.zip", "w") as archive:
        archive.writestr("vllm/__init__.py", "")
    sys.path.append(str(tmp_path / "vllm.zip"))
    assert "is no folder of sources" in message_for(None)


def test_a_vllm_that_somebody_put_in_place(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in module has no spec, for which ``find_spec`` raises ValueError."""
    stand_in = type(sys)("vllm")
    monkeypatch.setitem(sys.modules, "vllm", stand_in)
    assert "no vLLM is installed" in message_for(None)


# --------------------------------------------------------------------------------------------------
# Another interpreter


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The interpreter and the site-packages of a new virtual environment."""
    folder = tmp_path_factory.mktemp("other")
    venv.create(folder, with_pip=False, symlinks=sys.platform != "win32")
    python = folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    ask = "import sysconfig; print(sysconfig.get_path('purelib'))"
    answer = subprocess.run([str(python), "-c", ask], capture_output=True, text=True, check=True)
    return python, Path(answer.stdout.strip())


def test_another_interpreter(environment: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither PYTHONPATH nor the working directory of this run is part of what is installed there."""
    python, packages = environment
    elsewhere = make_vllm(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(elsewhere))
    monkeypatch.chdir(elsewhere)
    message = message_for(python)
    assert message.startswith(f"no vLLM is installed for {python}; ")
    assert all(hint in message for hint in HINTS)

    package = make_vllm(packages) / "vllm"
    assert find_installed(python) == packages
    monkeypatch.chdir(python.parent)
    assert find_installed(Path("../bin" if sys.platform != "win32" else "../Scripts") / python.name) == packages
    (package / "__init__.py").unlink()
    package.rmdir()


@pytest.mark.parametrize("kind", ["path", "finder", "direct_url"])
def test_editable_installs_of_another_interpreter(environment: tuple[Path, Path], tmp_path: Path, kind: str) -> None:
    python, packages = environment
    clone = make_vllm(tmp_path / "clone")
    added = [packages / "editable.pth", packages / "editable_finder.py"]
    if kind == "path":
        added[0].write_text(f"{clone}\n")
    elif kind == "finder":
        added[0].write_text("import editable_finder\n")
        added[1].write_text(FINDER.format(init=str(clone / "vllm/__init__.py")))
    else:
        add_direct_url(packages, clone.as_uri(), dir_info={"editable": True})
        added += [*(packages / "vllm-0.33.0.dist-info").iterdir()]
    try:
        assert find_installed(python) == clone
    finally:
        for path in added:
            path.unlink(missing_ok=True)
        if kind == "direct_url":
            (packages / "vllm-0.33.0.dist-info").rmdir()


@POSIX
def test_an_interpreter_that_talks(
    environment: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Found as a command on PATH; start-up code may print, before and after the answer."""
    _, packages = environment
    clone = make_vllm(tmp_path / "clone")
    talk = "import atexit; print('hello'); atexit.register(print, 'bye')"
    (packages / "talk.pth").write_text(f"{talk}\n{clone}\n")
    monkeypatch.setenv("PATH", str(environment[0].parent), prepend=os.pathsep)
    try:
        assert find_installed(Path("python")) == clone
    finally:
        (packages / "talk.pth").unlink()


def test_no_interpreter(tmp_path: Path) -> None:
    for path in (tmp_path / "absent", Path("no-such-command")):
        assert message_for(path) == f"{path}: no such interpreter; name a Python executable: --python PATH"


def test_a_folder_is_no_interpreter(environment: tuple[Path, Path], tmp_path: Path) -> None:
    python = environment[0]
    home = python.parent.parent
    assert message_for(home) == f"{home}: a folder; name the interpreter itself: --python {python}"
    assert message_for(tmp_path).endswith("name the interpreter itself: --python PATH")


def make_program(folder: Path, body: str) -> Path:
    program = folder / "program"
    program.write_text(body)
    program.chmod(0o755)
    return program


@POSIX
@pytest.mark.parametrize(
    ("body", "words"),
    [
        pytest.param("#!/bin/sh\nexit 7\n", "(exit code 7)", id="silent"),
        pytest.param("#!/bin/sh\necho one\necho two >&2\n", "(two)", id="another program"),
        pytest.param("#!/absent/python\n", "cannot be run: No such file", id="dangling shebang"),
        pytest.param("\x7fELF", "cannot be run: Exec format error", id="no program"),
    ],
)
def test_what_is_no_python(tmp_path: Path, body: str, words: str) -> None:
    program = make_program(tmp_path, body)
    message = message_for(program)
    assert message.startswith(f"{program}: ")
    assert words in message
    assert all(hint in message for hint in HINTS)


@POSIX
def test_a_file_that_may_not_be_run(tmp_path: Path) -> None:
    program = make_program(tmp_path, "#!/bin/sh\n")
    program.chmod(0o644)
    assert message_for(program).startswith(f"{program}: cannot be run: Permission denied; ")


@POSIX
def test_a_program_that_never_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor do its children, which outlive it and keep its output open, hold the run up."""
    monkeypatch.setattr(installed, "TIMEOUT", 0.3)
    program = make_program(tmp_path, "#!/bin/sh\nsleep 20 &\nsleep 20\n")
    before = time.monotonic()
    assert message_for(program).startswith(f"{program}: no answer within 0.3 seconds; ")
    assert time.monotonic() - before < 10
