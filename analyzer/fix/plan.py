"""What a list of fixes would make of the files that they name."""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path, PurePosixPath

from analyzer.beside import beside
from analyzer.collection import without_collection
from analyzer.findings import (
    AddAssignment,
    AddBase,
    AddImport,
    AddListItem,
    AddMethods,
    AddStatement,
    AnnotateResult,
    CollectStates,
    Edit,
    Fix,
    RemoveMethod,
    RenameMethod,
    ReplaceMethod,
    ReplaceSignature,
)
from analyzer.fix.edits import apply_edits, moved_line
from analyzer.fix.folding import parse
from analyzer.fix.method_source import parse_method
from analyzer.fix.source import Refused, Source
from analyzer.fix.tree import Module
from analyzer.fix.verify import verify

# By name: type checkers that target Python 3.10 would ask for tomli on every version.
_toml = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")


_Edited = tuple[Source, tuple[Edit, ...]]


@dataclass(frozen=True)
class FileChange:
    """A file's contents before and after; ``path`` is relative to the root, with forward slashes."""

    path: str
    before: bytes
    after: bytes


@dataclass(frozen=True)
class Plan:
    """What fixing would do.

    Args:
        changes: the files that change, in order of their paths.
        applied: the fixes that the changes carry out.
        unchanged: the fixes whose edits are all in place already.
        refused: the fixes that are not carried out, each with the reason.
    """

    changes: tuple[FileChange, ...] = ()
    applied: tuple[Fix, ...] = ()
    unchanged: tuple[Fix, ...] = ()
    refused: tuple[tuple[Fix, str], ...] = ()


_MANY = 8
"""Groups of fixes from which on a second process takes less time than it costs."""
_READ_ONCE = AddBase | AddImport | AddListItem
"""Edits after which no member of a class is read a second time (:mod:`analyzer.fix.witness`)."""
_Verdict = bool | str
"""Whether a fix changes anything; or the reason why it is refused."""


def plan_fixes(root: Path, fixes: Sequence[Fix], changed: Mapping[str, bytes] | None = None) -> Plan:
    """Carry out fixes in memory.

    Each fix is carried out whole or not at all, on top of those before it; the result is verified.  A fix
    that contradicts an earlier one is refused.  Nothing is written.

    Args:
        root: the folder that the fixes' paths are relative to; its ``pyproject.toml`` sets the line length.
        fixes: in order of preference.
        changed: files that are to have other contents than they have on disk, by path.
    """
    tree = _Tree(root, changed or {}, configured_line_length(root))
    groups = _groups(fixes)
    short = [group for group in groups if all(isinstance(e, _READ_ONCE) for fix in group.values() for e in fix.edits)]
    long = [group for group in groups if group not in short]
    # Of all fixes of vLLM 0.33.0 each half takes about as long; only the other one needs libcst to be imported.
    with (
        without_collection(),  # syntax trees are no garbage, and parsing takes twice as long with it
        beside(partial(_plan_groups, tree, long), pays=min(len(short), len(long)) >= _MANY) as planned_beside,
    ):
        made, verdicts = _plan_groups(tree, short)
        more, others = planned_beside()
    made, verdicts = [*made, *more], {**verdicts, **others}
    told = sorted(verdicts.items())
    return Plan(
        changes=tuple(sorted(made, key=lambda change: change.path)),
        applied=tuple(fixes[number] for number, verdict in told if verdict is True),
        unchanged=tuple(fixes[number] for number, verdict in told if verdict is False),
        refused=tuple((fixes[number], verdict) for number, verdict in told if isinstance(verdict, str)),
    )


def _groups(fixes: Sequence[Fix]) -> list[dict[int, Fix]]:
    """Fixes that share files, directly or not, by their numbers: no group has to do with another."""
    groups: list[tuple[set[str], dict[int, Fix]]] = []
    for number, fix in enumerate(fixes):
        paths = {edit.path for edit in fix.edits}
        members = {number: fix}
        for group in [group for group in groups if group[0] & paths]:
            groups.remove(group)
            paths |= group[0]
            members |= group[1]
        groups.append((paths, members))
    return [dict(sorted(members.items())) for _, members in groups]


@dataclass(frozen=True)
class _Tree:
    """Where files are read: a folder, contents that count instead of those on disk, the line length to keep."""

    root: Path
    changed: Mapping[str, bytes]
    line_length: int | None


def _plan_groups(tree: _Tree, groups: Sequence[dict[int, Fix]]) -> tuple[list[FileChange], dict[int, _Verdict]]:
    """What becomes of the files and of each fix of some groups."""
    changes: list[FileChange] = []
    verdicts: dict[int, _Verdict] = {}
    for group in groups:
        made, found = _plan_group(tree, group)
        changes += made
        verdicts.update(found)
    return changes, verdicts


def _plan_group(tree: _Tree, fixes: Mapping[int, Fix]) -> tuple[list[FileChange], dict[int, _Verdict]]:
    """What becomes of the files and of each fix.

    A file is verified once, with all that was done to it.  Only where that fails is it done after each fix, such
    that the fix at fault is refused and the others are not.
    """
    desk = _Desk(tree)
    verdicts = _carry_out(desk, fixes)
    if desk.is_sound():
        return list(desk.changes()), verdicts
    desk = _Desk(tree, one_by_one=True)
    verdicts = _carry_out(desk, fixes)
    if unstable := desk.unstable():
        reason = f"a second pass over {', '.join(sorted(unstable))} would change it again"
        bad = [
            number
            for number, fix in fixes.items()
            if not isinstance(verdicts[number], str) and not unstable.isdisjoint(edit.path for edit in fix.edits)
        ]
        rest = {number: fix for number, fix in fixes.items() if number not in bad}
        changes, verdicts = _plan_group(tree, rest)
        return changes, {**verdicts, **dict.fromkeys(bad, reason)}
    return list(desk.changes()), verdicts


def _carry_out(desk: _Desk, fixes: Mapping[int, Fix]) -> dict[int, _Verdict]:
    """What becomes of each fix; the changes stay on the desk."""
    return {number: _attempt(desk, fix) for number, fix in fixes.items()}


def _attempt(desk: _Desk, fix: Fix) -> _Verdict:
    try:
        return desk.carry_out(fix)
    except Refused as reason:
        return str(reason)


@dataclass
class _File:
    """A file on the desk: as it is on disk, as it is now, and the edits between, a list for each fix."""

    data: bytes
    original: Source
    current: Source
    edits: list[tuple[Edit, ...]] = field(default_factory=list)


class _Desk:
    """The files that fixes work on, in memory; ``one_by_one`` says whether they are verified after each fix."""

    def __init__(self, tree: _Tree, *, one_by_one: bool = False) -> None:
        self.tree, self.line_length, self.one_by_one = tree, tree.line_length, one_by_one
        self.files: dict[str, _File] = {}
        self.claims: dict[tuple[str, str, str], str] = {}

    def carry_out(self, fix: Fix) -> bool:
        """Carry out a fix; whether it changes anything on disk.

        Raises:
            Refused: it cannot be carried out; nothing has changed then.
        """
        if not fix.edits:
            raise Refused("has no edits")
        claims = self._claims_of(fix)
        results: dict[str, _Edited] = {}
        for path in dict.fromkeys(edit.path for edit in fix.edits):
            results[path] = self._edited(path, [edit for edit in fix.edits if edit.path == path])
        changes = any(self._matters(path, result) for path, result in results.items())
        for path, (source, edits) in results.items():
            self.files[path].current = source
            self.files[path].edits.append(edits)
        self.claims.update(claims)
        return changes

    def changes(self) -> Iterator[FileChange]:
        for path, file in sorted(self.files.items()):
            after = file.current.encode()
            if after != file.data:
                yield FileChange(path, file.data, after)

    def is_sound(self) -> bool:
        """Whether every file is what its edits declare and nothing else, and would stay so."""
        return all(self._is_verified(path, file) and self._is_stable(file) for path, file in self.files.items())

    def unstable(self) -> set[str]:
        """The files that would change again if all their edits were carried out a second time."""
        return {path for path, file in self.files.items() if not self._is_stable(file)}

    def _is_verified(self, path: str, file: _File) -> bool:
        try:
            if file.current != file.original:
                verify(path, file.original, file.current, [edit for edits in file.edits for edit in edits])
        except Refused:
            return False
        return True

    def _is_stable(self, file: _File) -> bool:
        text = file.current.text
        try:
            return all(apply_edits(text, edits, self.line_length)[0] == text for edits in file.edits)
        except Refused:
            return False

    def _edited(self, path: str, edits: Sequence[Edit]) -> _Edited:
        try:
            return self._edit(self._file(path), path, edits)
        except Refused as reason:
            raise Refused(f"{path}: {self._defect(path) or reason}") from None

    def _defect(self, path: str) -> str:
        """Why a file does not parse: what an edit made of it, or missed in it, counts for less."""
        try:
            parse(self.files[path].original.text if path in self.files else "")
        except Refused as reason:
            return str(reason)
        return ""

    def _edit(self, file: _File, path: str, edits: Sequence[Edit]) -> _Edited:
        if file.current != file.original:
            edits = [_moved(edit, file.original.text, file.current.text) for edit in edits]
        text, done = apply_edits(file.current.text, edits, self.line_length)
        source = file.current.with_text(text)
        if source == file.original:
            parse(text)  # nothing else looks into all bodies of a file that does not change
        if source != file.current and self.one_by_one:
            verify(path, file.current, source, done)
            if apply_edits(text, done, self.line_length)[0] != text:
                raise Refused("a second pass would change it again")
        return source, done

    def _matters(self, path: str, result: _Edited) -> bool:
        """Whether the edits change the file as it is on disk, or an earlier fix has made the same change."""
        file = self.files[path]
        if result[0] != file.current:
            return True
        if file.current == file.original:
            return False
        try:
            return apply_edits(file.original.text, result[1], self.line_length)[0] != file.original.text
        except Refused:
            return True

    def _file(self, path: str) -> _File:
        if path not in self.files:
            tree = self.tree
            data = tree.changed[path] if path in tree.changed else read_inside(tree.root, path)
            source = Source.decode(data)
            self.files[path] = _File(data, source, source)
        return self.files[path]

    def _claims_of(self, fix: Fix) -> dict[tuple[str, str, str], str]:
        claims: dict[tuple[str, str, str], str] = {}
        for edit in fix.edits:
            for key, outcome in _outcomes(edit):
                if {**self.claims, **claims}.get(key, outcome) != outcome:
                    raise Refused(f"{key[0]}: an earlier fix does something else to {key[1]}.{key[2]}")
                claims[key] = outcome
        return claims


def _outcomes(edit: Edit) -> Iterator[tuple[tuple[str, str, str], str]]:
    """What an edit makes of each method that it touches."""
    if isinstance(edit, AddMethods):
        for source in edit.methods:
            yield (edit.path, edit.cls, parse_method(source).name), ast.dump(parse_method(source))
    elif isinstance(edit, ReplaceMethod):
        method = parse_method(edit.source)
        yield (edit.path, edit.cls, method.name), ast.dump(method)
        if method.name != edit.method:
            yield (edit.path, edit.cls, edit.method), "removed"
    elif isinstance(edit, ReplaceSignature):
        yield (edit.path, edit.cls, edit.method), f"({', '.join(edit.parameters)}) -> {edit.returns}"
    elif isinstance(edit, RenameMethod):
        yield (edit.path, edit.cls, edit.old), f"renamed to {edit.new}"
        yield (edit.path, edit.cls, edit.new), f"renamed from {edit.old}"
    elif isinstance(edit, RemoveMethod):
        yield (edit.path, edit.cls, edit.method), "removed"
    elif isinstance(edit, AddAssignment):
        yield (edit.path, edit.cls, f"{edit.method}: self.{edit.target}"), edit.value
    elif isinstance(edit, CollectStates):
        yield (edit.path, edit.cls, edit.method), repr(edit)
    elif isinstance(edit, AnnotateResult):
        yield (edit.path, edit.cls, f"the result of {edit.method}"), edit.returns
    elif isinstance(edit, AddStatement) and edit.method:
        yield (edit.path, edit.cls, f"the end of {edit.method}"), edit.source


def _moved(edit: Edit, original: str, current: str) -> Edit:
    """An edit that names places of the original text, as it reads on the current one."""
    if isinstance(edit, AddListItem):
        return replace(edit, line=moved_line(edit.line, original, current))
    if isinstance(edit, AddBase):
        old = [ast.dump(base) for base in Module.of(original).class_named(edit.cls).bases]
        new = [ast.dump(base) for base in Module.of(current).class_named(edit.cls).bases]
        past_end = edit.position >= len(old)
        return replace(edit, position=len(new) if past_end else new.index(old[max(edit.position, 0)]))
    return edit


def read_inside(root: Path, path: str) -> bytes:
    """Read a file below a root.

    Raises:
        Refused: the path leaves the root, by itself or through a link, or cannot be read.
    """
    pure = PurePosixPath(path)
    target = (root / pure).resolve()
    if pure.is_absolute() or ".." in pure.parts or not target.is_relative_to(root.resolve()):
        raise Refused("lies outside the checkout")
    try:
        return target.read_bytes()
    except OSError as error:
        raise Refused(f"cannot be read: {error.strerror}") from None


def configured_line_length(root: Path) -> int | None:
    """The ``line-length`` of ``[tool.ruff]`` in the root's ``pyproject.toml``, if there is one."""
    try:
        settings = _toml.loads((root / "pyproject.toml").read_text("utf-8"))
        length = settings["tool"]["ruff"]["line-length"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return length if isinstance(length, int) and length > 0 else None


def linked(paths: Iterable[str], fixes: Iterable[Fix]) -> set[str]:
    """These paths and all that share a fix with them, directly or not: they change together or not at all."""
    found = set(paths)
    groups = [{edit.path for edit in fix.edits} for fix in fixes]
    while more := [group for group in groups if group & found and not group <= found]:
        found.update(*more)
    return found
