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
import re
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from analyzer.scan import any_of
from analyzer.source import Source, read_source
from analyzer.store import Store
from analyzer.tool_cache import FORMAT, Status, state_of_tool, status_of

if TYPE_CHECKING:
    from analyzer.checkout import Checkout
    from analyzer.essence import Moves, PartlyRead
    from analyzer.records import SearchRecord

GRAIN = 2_000_000_000
"""Nanoseconds within which two changes of a file can look like one (FAT keeps two seconds)."""


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


class Equal(NamedTuple):
    """An earlier state that gives the same results, but for where some lines stand.

    Args:
        state: it.
        moves: by file, of those that were looked into and are not the same.
    """

    state: State
    moves: dict[str, Moves]

    @property
    def lines_moved(self) -> bool:
        """Whether any line stands elsewhere."""
        return any(moves.any for moves in self.moves.values())


class _ConcernsError(Exception):
    """An edit concerns what was looked at."""


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
        self._key = f"{self._name} {state_of_tool()} {FORMAT} {sys.version_info[0]}.{sys.version_info[1]} {rest}"

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
            status = status_of(path)
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
        return all((status_of(self._place(rel)) or (-1, -1, -1)) == was for rel, was in state.statuses.items())

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

    def found(self, state: State, searched: SearchRecord, partly: PartlyRead) -> None:
        """Note what results on a state rest on.

        Args:
            state: of :meth:`state`.
            searched, partly: where the run looked that made them.
        """
        from analyzer.essence import essence

        marks, inside = _pattern(searched.marks), [partly.words, partly.more]
        essences: dict[str, object] = {}
        for rel, (cuts, asked, more) in partly.bodies.items():
            text = self._text(rel)
            made = essence(text, cuts, asked, partly.longest, _pattern(inside[more])) if text is not None else None
            if made is not None and text is not None:
                essences[rel] = [asked, more, made.digest, made.runs, bool(marks.search(text.encode()))]
        if self.unchanged(state):
            record: dict[str, object] = {
                "key": self._key,
                "digest": state.digest,
                "files": state.files,
                "essences": essences,
            }
            record |= {"words": searched.words, "marks": searched.marks, "read": searched.read}
            record["inside"], record["longest"] = inside, partly.longest
            self._store.write(self._own / "searched.json", json.dumps(record, separators=(",", ":")).encode())

    def equal(self, state: State) -> Equal | None:
        """An earlier state whose results hold for this one too, for it differs in nothing that was looked at.

        That is one with the same files, of which those that differ either were not looked into and still hold no word
        that was searched for, or have the same essence (:mod:`analyzer.essence`).
        """
        try:
            noted = json.loads(self._store.read(self._own / "searched.json") or b"{}")
            if noted["key"] != self._key or noted["files"].keys() != state.files.keys():
                return None
            if not isinstance(noted["digest"], str):
                return None
            read, moves = set(noted["read"]), {}
            for rel in [rel for rel, content in state.files.items() if noted["files"][rel] != content]:
                if rel in read:
                    moves[rel] = self._moves(rel, noted)
                elif self._holds(rel, [*noted["words"], *noted["marks"]]):
                    return None
        except (_ConcernsError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return None
        return Equal(State(noted["digest"], state.files, state.statuses), moves)

    def _moves(self, rel: str, noted: dict[str, Any]) -> Moves:
        """Where the lines of a file's essence went since it was noted.

        Raises:
            _ConcernsError: the essence is another one.
        """
        from analyzer.essence import Moves, cuts_of, essence

        text = self._text(rel)
        cuts = cuts_of(text) if text is not None else None
        if text is None or cuts is None:
            raise _ConcernsError
        asked, more, digest, runs, marked = noted["essences"][rel]
        now = essence(text, cuts, asked, noted["longest"], _pattern(tuple(noted["inside"][more])))
        if now is None or now.digest != digest or bool(_pattern(tuple(noted["marks"])).search(text.encode())) != marked:
            raise _ConcernsError
        return Moves([(first, count) for first, count in runs], now.runs)

    def _text(self, rel: str) -> str | None:
        """The text of a file whose bytes are its text; None for any other."""
        source = read_source(self.checkout.path(rel), rel)
        if not isinstance(source, Source) or source.bom or source.encoding != "utf-8":
            return None
        return source.text

    def _holds(self, rel: str, words: Iterable[str]) -> bool:
        """Whether a file holds any of some words; one that cannot be read may."""
        data = self._store.read(self.checkout.path(rel))
        return data is None or any(word.encode() in data for word in words)

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


@lru_cache(maxsize=8)
def _pattern(words: tuple[str, ...]) -> re.Pattern[bytes]:
    return any_of(word.encode() for word in words)


def _changed_at(path: str) -> int:
    found = status_of(path)
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
