"""Fetching a release: with the real pip, from wheels made here, and with programs in pip's place."""

from __future__ import annotations

import base64
import errno
import hashlib
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import venv
import zipfile
from collections.abc import Iterator
from pathlib import Path

import platformdirs
import pytest

from analyzer import release
from analyzer.checkout import open_checkout
from analyzer.folders import default_cache_dir
from analyzer.release import ReleaseError, fetch_release

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="uses scripts as programs, file locks, signals")
TAG = "cp38-abi3-manylinux_2_31_x86_64"
INTERFACES = "vllm/model_executor/models/interfaces.py"

Call = tuple[str, int, "int | None"]


def make_wheel(
    folder: Path, version: str, tag: str = TAG, *, python: str = ">=3.9", extra: tuple[str, ...] = ()
) -> Path:
    """A wheel that pip accepts, with sources, a compiled part and all kinds of metadata."""
    info = f"vllm-{version}.dist-info"
    required = f"Requires-Python: {python}\n"
    files = {
        "vllm/__init__.py": f"__version__ = {version!r}\n",
        INTERFACES: "",
        "vllm/_C.abi3.so": "compiled",
        "vllm/config.json": "{}",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: vllm\nVersion: {version}\n{required}",
        f"{info}/WHEEL": f"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: false\nTag: {tag}\n",
        f"{info}/entry_points.txt": "",
        f"{info}/licenses/LICENSE": "Apache-2.0",
        f"vllm-{version}.data/scripts/run.py": "",
        **dict.fromkeys(extra, ""),
    }
    digests = {name: hashlib.sha256(text.encode()).digest() for name, text in files.items()}
    encoded = {name: base64.urlsafe_b64encode(digest).decode().rstrip("=") for name, digest in digests.items()}
    record = "".join(f"{name},sha256={encoded[name]},{len(text)}\n" for name, text in files.items())
    folder.mkdir(exist_ok=True)
    wheel = folder / f"vllm-{version}-{tag}.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, text in {**files, f"{info}/RECORD": f"{record}{info}/RECORD,,\n"}.items():
            archive.writestr(name, text)
    return wheel


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is the only place where pip looks."""
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    folder = tmp_path / "index"
    folder.mkdir()
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def files_below(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def message_for(version: str, cache: Path) -> str:
    with pytest.raises(ReleaseError) as raised:
        fetch_release(version, cache_dir=cache)
    message = str(raised.value)
    assert "\n" not in message
    if (cache / "releases").is_dir():
        assert files_below(cache / "releases") <= {".lock"}
    return message


def fake_pip(folder: Path, monkeypatch: pytest.MonkeyPatch, body: str) -> None:
    """Run ``body`` where pip would be run; it finds the folder for the wheel in ``dest``."""
    program = folder / "python"
    head = (
        f"#!{sys.executable}\nimport os, pathlib, shutil, subprocess, sys, time\nreal = {sys.executable!r}\n"
        "dest = pathlib.Path(sys.argv[sys.argv.index('--dest') + 1])\n"
        "dest.mkdir(parents=True, exist_ok=True)\n"
    )
    program.write_text(head + body)
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))


# --------------------------------------------------------------------------------------------------
# With pip


def test_sources_and_metadata_are_kept(index: Path, cache: Path) -> None:
    make_wheel(index, "0.33.0")
    calls: list[Call] = []
    root = fetch_release("0.33.0", cache_dir=cache, progress=lambda *call: calls.append(call))
    assert root == cache / "releases/0.33.0"
    info = [f"vllm-0.33.0.dist-info/{name}" for name in ("METADATA", "RECORD", "WHEEL", "licenses/LICENSE")]
    assert files_below(root) == {"vllm/__init__.py", INTERFACES, *info}
    assert open_checkout(root).version == "0.33.0"
    assert [phase for phase, _, _ in calls] == sorted(phase for phase, _, _ in calls)
    assert [call for call in calls if call[0] == "unpacking"] == [("unpacking", n, 6) for n in range(7)]
    assert {path.name for path in root.parent.iterdir()} == {".lock", "0.33.0"}


def test_a_second_run_does_not_start_pip(index: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_wheel(index, "0.33.0rc1")
    first = fetch_release("0.33.0rc1", cache_dir=cache)
    monkeypatch.setattr(subprocess, "Popen", None)
    monkeypatch.chdir(cache.parent)
    assert fetch_release("v0.33.0RC1", cache_dir=Path(cache.name)) == first


@pytest.mark.parametrize(
    ("tag", "python"),
    [
        ("cp38-abi3-manylinux1_x86_64", ">=3.9"),
        ("cp38-abi3-manylinux_2_35_x86_64", ">=3.10,<3.14"),
        ("cp38-abi3-manylinux2014_aarch64", ">=3.9"),
        ("cp38-abi3-linux_x86_64", ">=3.9"),
        ("py3-none-any", ">=3.9"),
        ("cp310-cp310-manylinux1_x86_64", ">=3.8"),
        (TAG, ">=3.99"),
        (TAG, "<3.11"),
    ],
)
def test_wheels_for_other_platforms_and_pythons(index: Path, cache: Path, tag: str, python: str) -> None:
    make_wheel(index, "0.2.7", tag, python=python)
    assert (fetch_release("0.2.7", cache_dir=cache) / "vllm/__init__.py").is_file()


def test_one_of_several_wheels_is_chosen(index: Path, cache: Path) -> None:
    for tag in ("cp38-abi3-manylinux_2_31_aarch64", "cp38-abi3-manylinux_2_31_x86_64"):
        make_wheel(index, "0.33.0", tag)
    assert "x86_64" in (fetch_release("0.33.0", cache_dir=cache) / "vllm-0.33.0.dist-info/WHEEL").read_text()


@pytest.mark.parametrize(
    ("wanted", "nearest"),
    [
        ("0.33.1", "0.24.0, 0.33.0"),
        ("0.21", "0.20.1, 0.20.2, 0.24.0, 0.33.0"),
        ("0.20.1.post1", "0.9.2, 0.20.1, 0.20.2, 0.24.0"),
        ("0.1", "0.9.2, 0.20.1"),
    ],
)
def test_no_such_release(index: Path, cache: Path, wanted: str, nearest: str) -> None:
    for version in ("0.20.1", "0.24.0", "0.33.0", "0.9.2", "0.20.2"):
        make_wheel(index, version)
    assert message_for(wanted, cache) == f"no vLLM release {wanted}; the nearest are {nearest}"


def test_an_index_without_vllm(index: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for quiet in ("0", "3"):
        monkeypatch.setenv("PIP_QUIET", quiet)
        message = message_for("0.33.0", cache)
        assert message.startswith("pip finds no vLLM at all")
        assert message.endswith(f"{sys.executable} -m pip config list")


def test_no_network(index: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An index at a port where nobody listens."""
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "1")
    assert message_for("0.33.0", cache).startswith("the package index cannot be reached; check the network")


@pytest.mark.parametrize(
    "version",
    [
        "",
        "latest",
        "0.33.*",
        ">=0.33",
        "--index-url=x",
        "0.33.0 --pre",
        "0.33.0\n",
        "../0.33",
        "1" * 65,
        "٣.٣",
    ],
)
def test_what_is_no_version(cache: Path, version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "Popen", None)
    assert message_for(version, cache) == f"{version!r} is no release; give a version such as 0.33.0"
    assert not cache.exists()


def test_an_interpreter_without_pip(index: Path, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    venv.create(tmp_path / "bare", with_pip=False, symlinks=sys.platform != "win32")
    python = tmp_path / "bare" / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    monkeypatch.setattr(sys, "executable", str(python))
    assert message_for("0.33.0", cache).startswith(f"{python} has no pip; type: {python} -m ensurepip")
    monkeypatch.setattr(sys, "executable", str(tmp_path / "absent"))
    assert message_for("0.33.0", cache).startswith(f"cannot start {tmp_path / 'absent'}, to run pip: ")


@pytest.mark.skipif(sys.version_info < (3, 11), reason="PYTHONSAFEPATH is of Python 3.11")
def test_the_working_directory_holds_no_modules(
    index: Path, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_wheel(index, "0.33.0")
    (tmp_path / "pip.py").write_text("raise SystemExit('executed')\n")
    monkeypatch.chdir(tmp_path)
    fetch_release("0.33.0", cache_dir=cache)


# --------------------------------------------------------------------------------------------------
# Wheels that are not as they should be


@pytest.mark.parametrize(
    "name",
    ["../evil.py", "/evil.py", "vllm/../../evil.py", "vllm\\..\\..\\evil.py", "C:/evil.py", "vllm//evil.py"],
)
def test_names_that_lead_elsewhere(index: Path, cache: Path, name: str) -> None:
    make_wheel(index, "0.33.0", extra=(name,))
    assert "unsafe name" in message_for("0.33.0", cache)
    assert not [path for path in cache.parent.rglob("*") if "evil" in path.name]


def test_a_damaged_file(index: Path, cache: Path) -> None:
    wheel = make_wheel(index, "0.33.0")
    data = wheel.read_bytes()
    wheel.write_bytes(data.replace(b"__version__ =", b"__version__ ?", 1))
    assert message_for("0.33.0", cache).startswith(f"{wheel.name} is damaged: Bad CRC-32")


def test_what_is_no_wheel(index: Path, cache: Path) -> None:
    make_wheel(index, "0.33.0").write_bytes(b"<html>Please log in</html>")
    message = message_for("0.33.0", cache)
    assert message.startswith("pip could not download vLLM 0.33.0: ")
    assert "invalid" in message


@POSIX
def test_a_wheel_without_the_package(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_pip(tmp_path, monkeypatch, "import zipfile; zipfile.ZipFile(dest / 'a.whl', 'w').writestr('x.py', '')")
    assert message_for("0.33.0", cache) == "a.whl holds no vllm package"


# --------------------------------------------------------------------------------------------------
# Disks, and other runs


def test_a_full_disk_while_unpacking(index: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fill(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    make_wheel(index, "0.33.0")
    monkeypatch.setattr(shutil, "copyfileobj", fill)
    message = message_for("0.33.0", cache)
    assert message.startswith(f"no space left for a release in {cache}; ")
    assert "VLLM_CONTRACTS_CACHE" in message


@POSIX
def test_a_full_disk_while_downloading(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = "ERROR: Could not install packages due to an OSError: [Errno 28] Auf dem Gerät ist kein Platz"
    fake_pip(tmp_path, monkeypatch, f"sys.exit({said!r})")
    assert message_for("0.33.0", cache).startswith(f"no space left for a release in {cache}; ")


def test_a_cache_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("")
    message = message_for("0.33.0", tmp_path / "cache")
    assert message.startswith(f"cannot keep releases in {tmp_path / 'cache'}: ")
    assert "VLLM_CONTRACTS_CACHE" in message


def test_a_release_that_lost_files_is_fetched_again(index: Path, cache: Path) -> None:
    make_wheel(index, "0.33.0")
    root = fetch_release("0.33.0", cache_dir=cache)
    expected = files_below(root)
    (root / "vllm/__init__.py").unlink()
    assert files_below(fetch_release("0.33.0", cache_dir=cache)) == expected


def test_a_lost_race(index: Path, cache: Path) -> None:
    """Another run, where files cannot be locked, has the release in place first."""
    make_wheel(index, "0.33.0")
    theirs = cache / "releases/0.33.0/vllm/__init__.py"

    def overtake(phase: str, done: int, total: int | None) -> None:
        if phase == "unpacking" and done == total:
            theirs.parent.mkdir(parents=True)
            theirs.write_text("theirs")

    root = fetch_release("0.33.0", cache_dir=cache, progress=overtake)
    assert files_below(root) == {"vllm/__init__.py"}
    assert theirs.read_text() == "theirs"
    assert {path.name for path in root.parent.iterdir()} == {".lock", "0.33.0"}


def test_an_interrupted_run_cleans_up(index: Path, cache: Path) -> None:
    def interrupt(phase: str, done: int, total: int | None) -> None:
        raise KeyboardInterrupt

    make_wheel(index, "0.33.0")
    with pytest.raises(KeyboardInterrupt):
        fetch_release("0.33.0", cache_dir=cache, progress=interrupt)
    assert files_below(cache) == {"releases/.lock"}


@POSIX
def test_concurrent_runs_download_once(
    index: Path, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_wheel(index, "0.33.0")
    log = tmp_path / "log"
    fake_pip(
        tmp_path,
        monkeypatch,
        f"open({str(log)!r}, 'a').write('run\\n'); time.sleep(0.5)\n"
        "sys.exit(subprocess.run([real, *sys.argv[1:]]).returncode)",
    )
    calls: list[Call] = []
    roots: list[Path] = []

    def run() -> None:
        roots.append(fetch_release("0.33.0", cache_dir=cache, progress=lambda *call: calls.append(call)))

    threads = [threading.Thread(target=run) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert roots == [cache / "releases/0.33.0"] * 3
    assert log.read_text() == "run\n"
    assert calls.count(("waiting", 0, None)) == 2


@pytest.fixture
def killed(cache: Path, tmp_path: Path) -> Iterator[Path]:
    """The cache after a run was killed in the middle of its download."""
    code = (
        "import sys; from pathlib import Path; from analyzer.release import fetch_release\n"
        "sys.executable = sys.argv[2]; fetch_release('0.33.0', cache_dir=Path(sys.argv[1]))"
    )
    with pytest.MonkeyPatch.context() as patch:
        python = sys.executable
        fake_pip(tmp_path, patch, "(dest / 'vllm-0.33.0.whl').write_bytes(b'PK half'); time.sleep(60)")
        command = [python, "-c", code, str(cache), sys.executable]
    process = subprocess.Popen(command, start_new_session=True)
    deadline = time.monotonic() + 30
    while not list(cache.rglob("*.whl")) and time.monotonic() < deadline:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    (remnant,) = (path for path in (cache / "releases").iterdir() if path.is_dir())
    yield remnant


@POSIX
def test_what_a_killed_run_left_is_cleared(index: Path, cache: Path, killed: Path) -> None:
    assert list(killed.rglob("*.whl"))
    make_wheel(index, "0.32.0")
    make_wheel(index, "0.33.0")
    fetch_release("0.32.0", cache_dir=cache)
    assert not killed.exists()
    assert (fetch_release("0.33.0", cache_dir=cache) / INTERFACES).is_file()


@POSIX
def test_without_locks_only_old_remnants_are_cleared(index: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    make_wheel(index, "0.33.0")
    monkeypatch.setattr("fcntl.flock", refuse)
    young, old = cache / "releases/.fetch-young", cache / "releases/.fetch-old"
    for folder in (young, old):
        folder.mkdir(parents=True)
    yesterday = time.time() - release.ABANDONED - 60
    os.utime(old, (yesterday, yesterday))
    fetch_release("0.33.0", cache_dir=cache)
    assert young.is_dir()
    assert not old.exists()


# --------------------------------------------------------------------------------------------------
# Progress, places


@POSIX
@pytest.mark.parametrize(
    ("talk", "expected"),
    [
        pytest.param(
            "print('Downloading vllm-0.33.0.whl.metadata (17 kB)\\nProgress 17 of 17')\n"
            "print('Downloading vllm-0.33.0.whl (3 MB)\\nProgress 1000 of 3000000'); time.sleep(0.6)\n"
            "print('Progress 3000000 of 3000000')",
            [("downloading", 1000, 3_000_000), ("downloading", 3_000_000, 3_000_000)],
            id="counts",
        ),
        pytest.param(
            "print('Downloading vllm-0.33.0.whl (? MB)\\nProgress 1000 of 0'); time.sleep(0.6)",
            [("downloading", 1000, None)],
            id="counts without a total",
        ),
        pytest.param(
            "part = dest.parent / 'x' / 'v.whl'; part.parent.mkdir()\n"
            "part.write_bytes(bytes(2000)); time.sleep(0.6); part.unlink()",
            [("downloading", 2000, None)],
            id="sizes of an older pip",
        ),
    ],
)
def test_progress(
    index: Path,
    cache: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    talk: str,
    expected: list[Call],
) -> None:
    wheel = make_wheel(index, "0.33.0")
    fake_pip(tmp_path, monkeypatch, f"{talk}\nshutil.copy({str(wheel)!r}, dest)")
    calls: list[Call] = []
    fetch_release("0.33.0", cache_dir=cache, progress=lambda *call: calls.append(call))
    assert [call for call in dict.fromkeys(calls) if call in expected] == expected
    assert ("downloading", 17, 17) not in calls


@pytest.mark.parametrize(("version", "bar"), [("24.1", "raw"), ("26.3.1", "raw"), ("24.0", "off"), ("9", "off")])
def test_only_a_recent_pip_is_asked_for_counts(monkeypatch: pytest.MonkeyPatch, version: str, bar: str) -> None:
    """pip's changelog: ``--progress-bar=raw`` is of 24.1; an older pip refuses the word."""
    monkeypatch.setattr("importlib.metadata.version", {"pip": version}.get)
    assert f"--progress-bar={bar}" in release._pip_command("0.33.0", "3.12", Path("wheels"))


def test_the_cache_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("VLLM_CONTRACTS_CACHE", str(tmp_path))
    assert default_cache_dir() == tmp_path
    monkeypatch.setenv("VLLM_CONTRACTS_CACHE", "~/kept")
    assert default_cache_dir() == Path.home() / "kept"
    for unset in ("", None):
        if unset is None:
            monkeypatch.delenv("VLLM_CONTRACTS_CACHE")
        else:
            monkeypatch.setenv("VLLM_CONTRACTS_CACHE", unset)
        assert default_cache_dir() == platformdirs.user_cache_path("vllm-contracts")


@pytest.mark.parametrize("home", [None, "/some/where"])
@pytest.mark.parametrize("xdg", [None, "", "/caches", "not/absolute"])
def test_the_cache_folder_is_the_platforms(monkeypatch: pytest.MonkeyPatch, home: str | None, xdg: str | None) -> None:
    """Without platformdirs the place is known where nothing is set; it must be the same."""
    for name, value in (("HOME", home), ("XDG_CACHE_HOME", xdg), ("VLLM_CONTRACTS_CACHE", None)):
        if value is None:
            monkeypatch.delenv(name, raising=False)
        else:
            monkeypatch.setenv(name, value)
    assert default_cache_dir() == platformdirs.user_cache_path("vllm-contracts")
