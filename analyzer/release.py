"""Fetch the sources of a published release with pip, once.

pip does the download, so that the user's index, proxy, certificates and credentials count.  Of the wheel
(some hundred megabytes) only the sources and the metadata are kept.
"""

from __future__ import annotations

import bisect
import errno
import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread
from typing import IO, TypeAlias

from analyzer.checkout import PACKAGE
from analyzer.problems import InputError
from analyzer.source import is_file

if sys.platform != "win32":
    import fcntl

Progress: TypeAlias = "Callable[[str, int, int | None], None]"
"""Called with a phase, what is done and what there is to do (None: not known).

The phases are ``waiting`` (for a concurrent run), ``downloading`` (bytes) and ``unpacking`` (files).
"""

PYTHONS = ("3.12", "3.10")
"""The Python versions that a wheel is asked for, in this order, until the index has one.

vLLM's wheels are ``cp38-abi3``, which serves any; early releases (0.2.7) had one for each Python.
What a release itself requires of Python does not matter to a reader of its sources.
"""

PLATFORMS = (
    *(f"{tag}_x86_64" for tag in ("manylinux_2_35", "manylinux_2_31", "manylinux_2_28", "manylinux2014")),
    *(f"{tag}_x86_64" for tag in ("manylinux1", "linux")),
    *(f"{tag}_aarch64" for tag in ("manylinux_2_35", "manylinux_2_31", "manylinux_2_28", "manylinux2014")),
)
"""The platforms a wheel may be for, best first: the sources are the same in each."""

ABANDONED = 24 * 3600.0
"""Seconds after which a temporary folder counts as left behind, where files cannot be locked."""

_VERSION = re.compile(
    r"v?(\d+(?:\.\d+)*(?:(?:a|b|rc)\d+)?(?:\.post\d+)?(?:\.dev\d+)?(?:\+[a-z0-9]+(?:\.[a-z0-9]+)*)?)",
    re.ASCII,
)
_RAW_PROGRESS = re.compile(r"Progress (\d+) of (\d+)\s*")
_RAW_SINCE = (24, 1)
_OFFERED = re.compile(r"\(from versions: ([^)]*)\)")
_NO_MATCH = ("Could not find a version that satisfies", "No matching distribution found")
_NO_NETWORK = (
    *("NewConnectionError", "ConnectTimeoutError", "NameResolutionError", "ProxyError", "SSLError"),
    *("ReadTimeoutError", "ProtocolError", "Max retries exceeded", "Network is unreachable"),
)
_PIP_TALK = {"PIP_QUIET", "PIP_VERBOSE", "PIP_PROGRESS_BAR"}
_METADATA = ("METADATA", "RECORD", "WHEEL", "LICENSE", "NOTICE")
_TEMPORARY = ".fetch-"


class ReleaseError(InputError):
    """A release cannot be had; the message is one line for the user."""


def fetch_release(version: str, *, cache_dir: Path, progress: Progress | None = None) -> Path:
    """The unpacked sources of a release; downloaded on the first call, read from the cache afterwards.

    Concurrent runs wait for each other.  A run that is killed leaves a temporary folder, which the next
    download removes; it never leaves half a release.

    Args:
        version: such as ``0.33.0`` or ``v0.33.0``.
        cache_dir: the release is kept in ``releases/<version>`` below it.
        progress: is told how far it is.

    Returns:
        The folder that holds ``vllm/`` and its dist-info.

    Raises:
        ReleaseError: for a malformed version, no such release, no network, no pip, no space, a damaged wheel.
    """
    match = _VERSION.fullmatch(version.lower())
    if match is None or len(version) > 64:
        raise ReleaseError(f"{version!r} is no release; give a version such as 0.33.0")
    target = cache_dir.absolute() / "releases" / match[1]
    if not _is_complete(target):
        with _one_line_errors(cache_dir):
            _fetch(match[1], target, progress or _say_nothing)
    return target


def _say_nothing(phase: str, done: int, total: int | None) -> None:
    """Report to nobody."""


def _fetch(version: str, target: Path, report: Progress) -> None:
    releases = target.parent
    releases.mkdir(parents=True, exist_ok=True)
    with _turn(releases / ".lock", report) as alone:
        _remove_remnants(releases, alone)
        if _is_complete(target):  # by the run that was waited for
            return
        work = Path(tempfile.mkdtemp(prefix=_TEMPORARY, dir=releases))
        try:
            wheel = _download(version, work, report)
            _unpack(wheel, work / "tree", report)
            _publish(work / "tree", target)
        finally:
            shutil.rmtree(work, ignore_errors=True)


def _is_complete(release: Path) -> bool:
    return is_file(release / PACKAGE / "__init__.py")


def _publish(tree: Path, target: Path) -> None:
    """Put a whole release in its place at once; one that another run put there is as good."""
    if not _is_complete(target):
        shutil.rmtree(target, ignore_errors=True)  # somebody removed files from it
    try:
        tree.rename(target)
    except OSError:
        if not _is_complete(target):
            raise


@contextmanager
def _turn(lock: Path, report: Progress) -> Iterator[bool]:
    """Wait until no other run downloads; yields whether that could be made sure."""
    with lock.open("ab") as stream:
        yield _acquire(stream.fileno(), report)


def _acquire(descriptor: int, report: Progress) -> bool:
    if sys.platform == "win32":
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        report("waiting", 0, None)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    except OSError:  # a file system without locks
        return False
    return True


def _remove_remnants(releases: Path, alone: bool) -> None:
    """Remove what killed runs left; without a lock, only what is too old to be in use."""
    for folder in releases.glob(f"{_TEMPORARY}*"):
        with suppress(FileNotFoundError):
            if alone or folder.stat().st_mtime < time.time() - ABANDONED:
                shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _one_line_errors(cache_dir: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise ReleaseError(_disk_full(cache_dir)) from None
        reason = error.strerror or str(error)
        hint = "choose another folder with VLLM_CONTRACTS_CACHE"
        raise ReleaseError(f"cannot keep releases in {cache_dir}: {reason}; {hint}") from None


def _disk_full(cache_dir: Path) -> str:
    hint = "free 1 GB, or choose another folder with VLLM_CONTRACTS_CACHE"
    return f"no space left for a release in {cache_dir}; {hint}"


# --------------------------------------------------------------------------------------------------
# Downloading


def _download(version: str, work: Path, report: Progress) -> Path:
    """The wheel of a release, of whatever platform."""
    wheels = work / "wheel"
    said = ""
    for python in PYTHONS:
        code, output = _run_pip(_pip_command(version, python, wheels), work, report)
        found = sorted(wheels.glob("*.whl"))
        if code == 0 and found:
            return found[0]
        said += output
        if not _is_no_match(output):
            break
    raise ReleaseError(_why_not(version, said, work.parents[1]))


def _pip_command(version: str, python: str, wheels: Path) -> list[str]:
    bar = "raw" if _pip_version() >= _RAW_SINCE else "off"
    command = [sys.executable, "-m", "pip", "download", f"{PACKAGE}=={version}", "--no-deps"]
    command += ["--only-binary=:all:", f"--progress-bar={bar}", "--dest", str(wheels)]
    command += ["--implementation=cp", f"--python-version={python}", "--ignore-requires-python"]
    command += [f"--abi={abi}" for abi in (f"cp{python.replace('.', '')}", "abi3", "none")]
    return command + [f"--platform={platform}" for platform in PLATFORMS]


def _pip_version() -> tuple[int, ...]:
    try:
        return _numbers(importlib.metadata.version("pip"))[:2]
    except importlib.metadata.PackageNotFoundError:
        return ()


@dataclass
class _Transfer:
    """What pip says while it runs: its lines, and its counts of bytes where it gives them."""

    lines: list[str] = field(default_factory=list)
    done: int = 0
    total: int | None = None
    of_metadata: bool = False

    def follow(self, stream: IO[str]) -> None:
        for line in stream:
            counts = _RAW_PROGRESS.fullmatch(line)
            if counts is None:
                self.lines.append(line)
                self.of_metadata = ".metadata" in line
            elif not self.of_metadata:
                self.done, self.total = int(counts[1]), int(counts[2]) or None


def _run_pip(command: list[str], work: Path, report: Progress) -> tuple[int, str]:
    """Exit code and output of pip, reporting the bytes of the wheel as they come.

    A pip older than 24.1 does not count them in a form made for programs; the size of its file does.
    """
    transfer = _Transfer()
    try:
        process = subprocess.Popen(
            command,
            env=_pip_environment(work),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
        )
    except OSError as error:
        raise ReleaseError(f"cannot start {sys.executable}, to run pip: {error.strerror}") from None
    with process:
        follower = Thread(target=transfer.follow, args=(process.stdout,), daemon=True)
        follower.start()
        try:
            while follower.is_alive():
                follower.join(0.2)
                report("downloading", transfer.done or _largest_wheel(work), transfer.total)
        except BaseException:
            process.kill()
            raise
    return process.returncode, "".join(transfer.lines)


def _pip_environment(work: Path) -> dict[str, str]:
    """The user's environment, but with messages as expected, temporary files beside the cache (a small
    ``/tmp`` would not hold the wheel) and no modules from the working directory."""
    environment = {name: value for name, value in os.environ.items() if name not in _PIP_TALK}
    places = dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(work))
    fixed = {"PYTHONSAFEPATH": "1", "PYTHONUNBUFFERED": "1", "PYTHONIOENCODING": "utf-8"}
    return {**environment, **places, **fixed, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}


def _largest_wheel(work: Path) -> int:
    """The bytes of the wheel on disk, which pip moves about while it is looked for."""
    sizes = [0]
    for path in work.rglob("*.whl"):
        with suppress(OSError):
            sizes.append(path.stat().st_size)
    return max(sizes)


def _is_no_match(output: str) -> bool:
    return any(words in output for words in _NO_MATCH) and not _is_no_network(output)


def _is_no_network(output: str) -> bool:
    return any(words in output for words in _NO_NETWORK)


def _why_not(version: str, said: str, cache_dir: Path) -> str:
    """pip's failure in one line that says what to do."""
    pip = f"{sys.executable} -m pip"
    offered = {name for names in _OFFERED.findall(said) for name in names.split(", ")} - {"none", ""}
    if "No module named pip" in said:
        return f"{sys.executable} has no pip; type: {sys.executable} -m ensurepip, or: uv pip install pip"
    if f"[Errno {errno.ENOSPC}]" in said:
        return _disk_full(cache_dir)
    if offered:
        return f"no vLLM release {version}; the nearest are {', '.join(_nearest(version, offered))}"
    if _is_no_network(said):
        return f"the package index cannot be reached; check the network and what pip uses: {pip} config list"
    if _is_no_match(said):
        doubt = "its index has none, or cannot be reached"
        return f"pip finds no vLLM at all ({doubt}); check what it uses: {pip} config list"
    lines = [line.strip() for line in said.splitlines() if line.strip()] or ["it said nothing"]
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
    return f"pip could not download vLLM {version}: {(errors or lines[-1:])[0]}"


def _nearest(version: str, offered: set[str]) -> list[str]:
    """Two releases before and two after, oldest first."""
    ordered = sorted(offered, key=lambda name: (_numbers(name), name))
    place = bisect.bisect([_numbers(name) for name in ordered], _numbers(version))
    return ordered[max(0, place - 2) : place + 2]


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", version)))


# --------------------------------------------------------------------------------------------------
# Unpacking


def _unpack(wheel: Path, tree: Path, report: Progress) -> None:
    """Write the sources and the metadata of a wheel to a new folder."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            places = {_place(member.filename): member for member in archive.infolist() if not member.is_dir()}
            wanted = {parts: member for parts, member in places.items() if _is_wanted(parts)}
            for done, (parts, member) in enumerate(wanted.items()):
                report("unpacking", done, len(wanted))
                target = tree.joinpath(*parts)
                target.parent.mkdir(parents=True, exist_ok=True)
                with archive.open(member) as packed, target.open("wb") as unpacked:
                    shutil.copyfileobj(packed, unpacked)
            report("unpacking", len(wanted), len(wanted))
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError) as error:
        raise ReleaseError(f"{wheel.name} is damaged: {error}") from None
    if not _is_complete(tree):
        raise ReleaseError(f"{wheel.name} holds no {PACKAGE} package")


def _place(name: str) -> tuple[str, ...]:
    """The parts of a member's name.

    Raises:
        ReleaseError: if it would lead out of the folder that it is unpacked to, on any platform.
    """
    parts = tuple(name.split("/"))
    if "\\" in name or ":" in name or not {"", ".", ".."}.isdisjoint(parts):
        raise ReleaseError(f"the wheel holds a file with an unsafe name, {name!r}; nothing was unpacked")
    return parts


def _is_wanted(parts: tuple[str, ...]) -> bool:
    if parts[0].endswith(".dist-info"):
        return parts[1:2] == ("licenses",) or parts[-1].startswith(_METADATA)
    return parts[0] == PACKAGE and parts[-1].endswith(".py")
