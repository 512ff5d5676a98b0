"""Results of earlier runs, kept by what the tree holds.

A tree's *state* is a digest of every Python file of the package (of a plugin's packages too, where one is audited),
of its place on disk, and of the tool and the Python that read it; results are files named by that digest.  To find
the state again without reading the tree, the size and the times of every file and folder are kept too, as git's index
does: a file whose status is the same is not read, one that changed within the clock's grain of the last look is read
all the same.

Nothing here can make a run fail.  What cannot be read counts as absent, what cannot be written is said once.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import analyzer

if TYPE_CHECKING:
    from analyzer.checkout import Checkout

FORMAT = 1
LARGEST = 256_000_000
"""Bytes that all results together may take; the ones not used for longest go first."""

GRAIN = 2_000_000_000
"""Nanoseconds within which two changes of a file can look like one (FAT keeps two seconds)."""

_MAGIC = b"vllm-contracts result "
_FOLDER = "results"

Status = tuple[int, int, int]
"""Size, time of change of the contents, and of the inode, both in nanoseconds."""


@dataclass(frozen=True)
class State:
    """What a tree holds.

    Args:
        digest: of all of it.
        files: the digest of each Python file of the packages, by its name in reports.
    """

    digest: str
    files: dict[str, str] = field(repr=False)
    statuses: dict[str, Status] = field(repr=False, compare=False)


class Store:
    """Files of the cache: each in place whole, or not at all.

    Args:
        folder: of the cache; made when something is stored.
        warn: told once, in one line, if results cannot be kept.
    """

    def __init__(self, folder: Path, warn: Callable[[str], None]) -> None:
        self.results = folder / _FOLDER
        self._warn, self._warned = warn, False

    @staticmethod
    def read(path: Path) -> bytes | None:
        """The contents of a file; None where it cannot be read."""
        try:
            return path.read_bytes()
        except OSError:
            return None

    def write(self, path: Path, data: bytes) -> None:
        """Put a file in place; two runs that do so at once leave what one of them wrote."""
        import tempfile

        temporary = ""
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            descriptor, temporary = tempfile.mkstemp(prefix=".", dir=path.parent)
            with open(descriptor, "wb") as stream:
                stream.write(data)
            os.replace(temporary, path)
        except OSError as error:
            with suppress(OSError):
                if temporary:
                    os.unlink(temporary)
            if not self._warned:
                self._warned = True
                self._warn(f"results cannot be kept in {path.parent}: {error.strerror or error}")

    def load(self, path: Path) -> bytes | None:
        """A result; None where there is none, or it is damaged."""
        head, _, body = (self.read(path) or b"").partition(b"\n")
        if head != _MAGIC + _checksum(body):
            return None
        with suppress(OSError):
            os.utime(path)  # used now: the last to go
        return body

    def keep(self, path: Path, body: bytes) -> None:
        """Keep a result, and let the oldest go."""
        self.write(path, _MAGIC + _checksum(body) + b"\n" + body)
        evict(self.results)


class ToolCache:
    """Results that depend on nothing but this tool: what it says of itself.

    Args:
        folder, warn: see :class:`Store`.
    """

    def __init__(self, folder: Path, warn: Callable[[str], None]) -> None:
        self._store = Store(folder, warn)

    def known(self, product: str, make: Callable[[], bytes]) -> bytes:
        """A result; made where it is not known yet."""
        key = f"{_tool()} {FORMAT} {sys.version_info[0]}.{sys.version_info[1]} {product}"
        path = self._store.results / "tool" / hashlib.blake2b(key.encode(), digest_size=16).hexdigest()
        found = self._store.load(path)
        if found is None:
            found = make()
            self._store.keep(path, found)
        return found


class Cache:
    """The results of one checkout.

    Args:
        folder: of the cache; made when something is stored.
        checkout: the tree.
        warn: told once, in one line, if results cannot be kept.
    """

    def __init__(self, folder: Path, checkout: Checkout, warn: Callable[[str], None]) -> None:
        self.checkout, self._store = checkout, Store(folder, warn)
        place = os.path.realpath(checkout.root)
        if checkout.plugin is not None:
            place += f"\n{os.path.realpath(checkout.package.parent)}"
        self._name = hashlib.blake2b(os.fsencode(place), digest_size=12).hexdigest()
        self._place = _placing(checkout)
        self._own = self._store.results / self._name
        rest: object = [checkout.rel(root) for root in checkout.extra_model_roots]
        rest = (rest, checkout.contract_entries)
        if checkout.layout != type(checkout.layout)():
            rest = (rest, checkout.layout)
        if checkout.plugin is not None:  # its metadata is read when it is opened
            rest = (rest, checkout.version, checkout.plugin)
        self._key = f"{self._name} {_tool()} {FORMAT} {sys.version_info[0]}.{sys.version_info[1]} {rest}"

    # -- the state of the tree -----------------------------------------------------------------

    def state(self) -> State:
        """What the tree holds now; reads the files that changed since the last look."""
        looked = time.time_ns()
        known = self._known_files()
        folders, listed = self._listing(known)
        files: dict[str, str] = {}
        statuses: dict[str, Status] = {}
        for rel in listed:
            path = self._place(rel)
            status = _status(path)
            before = known.files.get(rel)
            same = before is not None and status is not None and tuple(before[:3]) == status
            statuses[rel] = status or (-1, -1, -1)
            files[rel] = before[3] if same and before is not None else _content(path)
        digest = hashlib.blake2b(self._key.encode(), digest_size=16)
        for problem in self.checkout.walk_diagnostics:
            digest.update(repr(problem).encode("utf-8", "surrogateescape"))
        for rel in listed:
            digest.update(f"\n{files[rel]} {rel}".encode("utf-8", "surrogateescape"))
        state = State(digest.hexdigest(), files, statuses)
        rows = {rel: [*_settled(statuses[rel], looked), files[rel]] for rel in listed}
        if rows != known.files or folders != known.folders:
            record = {"format": FORMAT, "folders": _aged(folders, looked), "files": rows}
            self._store.write(self._own / "files.json", json.dumps(record, separators=(",", ":")).encode())
        return state

    def unchanged(self, state: State) -> bool:
        """Whether no file changed while the tree was analysed."""
        return all((_status(self._place(rel)) or (-1, -1, -1)) == was for rel, was in state.statuses.items())

    def _listing(self, known: _Known) -> tuple[dict[str, int], list[str]]:
        """Folders with their times, and Python files; listed anew only where a folder changed."""
        if known.folders and all(_changed_at(self._place(rel)) == at for rel, at in known.folders.items()):
            return known.folders, list(known.files)
        files = [self.checkout.rel(path) for path in self.checkout.python_files()]
        if self.checkout.walk_diagnostics:  # what could not be listed can mend without any folder's changing
            return {}, files
        names = [self.checkout.rel(folder) for folder in self.checkout.folders()]
        return {rel: _changed_at(self._place(rel)) for rel in names}, files

    def _known_files(self) -> _Known:
        data = self._store.read(self._own / "files.json")
        try:
            record = json.loads(data or b"{}")
            if record.get("format") == FORMAT:
                folders, files = record["folders"], record["files"]
                if all(len(row) == 4 for row in files.values()) and isinstance(folders, dict):
                    return _Known(folders, files)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            pass
        return _Known({}, {})

    # -- results -------------------------------------------------------------------------------

    def load(self, state: State, product: str) -> bytes | None:
        """A result of an earlier run on the same state; None where there is none, or it is damaged.

        Args:
            state: of :meth:`state`.
            product: a short name in ASCII letters, digits and hyphens.
        """
        return self._store.load(self._path(state, product))

    def store(self, state: State, product: str, body: bytes) -> None:
        """Keep a result; does nothing where the tree changed since ``state`` was taken."""
        if self.unchanged(state):
            self._store.keep(self._path(state, product), body)

    # -- edits that concern nothing ------------------------------------------------------------

    def found(self, state: State, words: Iterable[str], read: Iterable[str]) -> None:
        """Note what results on a state rest on; see :class:`analyzer.records.SearchRecord`."""
        if self.unchanged(state):
            record = {"key": self._key, "digest": state.digest, "files": state.files}
            record |= {"words": list(words), "read": list(read)}
            self._store.write(self._own / "searched.json", json.dumps(record, separators=(",", ":")).encode())

    def equal(self, state: State) -> State:
        """The state whose results hold for this one too: an earlier one that differs in nothing that was looked at.

        That is one with the same files, of which those that differ were not looked into and still hold no word
        that was searched for.  The state itself where there is none.
        """
        try:
            noted = json.loads(self._store.read(self._own / "searched.json") or b"{}")
            files, read, words = noted["files"], set(noted["read"]), [word.encode() for word in noted["words"]]
            if noted["key"] != self._key or files.keys() != state.files.keys() or not isinstance(noted["digest"], str):
                return state
            for rel, content in state.files.items():
                if files[rel] != content and (rel in read or self._holds(rel, words)):
                    return state
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return state
        return State(noted["digest"], state.files, state.statuses)

    def _holds(self, rel: str, words: Iterable[bytes]) -> bool:
        """Whether a file holds any of some words; one that cannot be read may."""
        data = self._store.read(self.checkout.path(rel))
        return data is None or any(word in data for word in words)

    def _path(self, state: State, product: str) -> Path:
        return self._own / f"{state.digest}-{product}"


def _placing(checkout: Checkout) -> Callable[[str], str]:
    """Where the file of a name in reports is: :meth:`Checkout.path` on plain strings, for thousands of them."""
    root, vllm, shown = os.fspath(checkout.root), os.fspath(checkout.package.parent), checkout.packages[0].shown
    if not shown:
        return lambda rel: f"{root}/{rel}"
    return lambda rel: f"{vllm}/{rel[len(shown) :]}" if rel.startswith(shown) else f"{root}/{rel}"


@dataclass
class _Known:
    folders: dict[str, int]
    files: dict[str, list[Any]]


def _status(path: str) -> Status | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _changed_at(path: str) -> int:
    found = _status(path)
    return -1 if found is None else max(found[1], found[2])


def _settled(status: Status, looked: int) -> Status:
    """The status to compare with next time: none that could stand for two contents."""
    return status if max(status[1:]) < looked - GRAIN else (-1, -1, -1)


def _aged(folders: dict[str, int], looked: int) -> dict[str, int]:
    return {rel: at if at < looked - GRAIN else -2 for rel, at in folders.items()}


def _content(path: str) -> str:
    try:
        with open(path, "rb") as stream:
            return hashlib.blake2b(stream.read(), digest_size=12).hexdigest()
    except OSError as error:
        return f"!{error.errno}"


def _checksum(body: bytes) -> bytes:
    return hashlib.blake2b(body, digest_size=16).hexdigest().encode()


@lru_cache(maxsize=1)
def _tool() -> str:
    """The tool's version, and the state of its own files: a changed rule must not meet old results."""
    top = Path(analyzer.__file__).parent.parent
    own = hashlib.blake2b(digest_size=8)
    for package in ("analyzer", "rules"):
        for folder, folders, files in os.walk(top / package):
            folders[:] = sorted(name for name in folders if name != "__pycache__")
            for name in sorted(files):
                status = _status(os.path.join(folder, name))
                own.update(f"{folder}/{name} {status}\n".encode("utf-8", "surrogateescape"))
    return f"{analyzer.__version__} {own.hexdigest()}"


def evict(results: Path, limit: int = LARGEST) -> None:
    """Remove the results that were not used for longest until the rest fits.

    Args:
        results: the folder of all checkouts' results.
        limit: bytes.
    """
    found: list[tuple[int, int, str]] = []
    for folder, _, files in os.walk(results):
        for name in files:
            path = os.path.join(folder, name)
            with suppress(OSError):
                status = os.stat(path)
                found.append((status.st_mtime_ns, status.st_size, path))
    total = sum(size for _, size, _ in found)
    for _, size, path in sorted(found):
        if total <= limit:
            return
        with suppress(OSError):
            os.unlink(path)
            total -= size


def clear(folder: Path) -> int:
    """Remove all results; returns how many bytes that were.

    Args:
        folder: of the cache.  Fetched releases in it stay.

    Raises:
        OSError: they cannot be removed.
    """
    results = folder / _FOLDER
    size = sum(path.stat().st_size for path in results.rglob("*") if path.is_file())
    if results.is_dir():
        shutil.rmtree(results)
    return size
