"""Write the files of a plan such that each is, at every moment, either old or new.

The new contents go into a temporary file beside the target, named ``.{name}.vllm-contracts-*.tmp``, with its
mode, and where the system allows it its owner and extended attributes; after ``fsync`` it replaces the target
in one step (:func:`os.replace`, which POSIX makes atomic).  Symbolic links are followed and stay.  A file
with several hard links is refused unless ``break_hard_links`` is set, because replacing it would part it from
its other names; package managers link installed files to their cache, which must not change.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from analyzer.fix.plan import FileChange, Plan, linked
from analyzer.fix.source import Refused

try:
    import fcntl
except ImportError:  # not on Windows, which does not let go of open files anyway
    fcntl = None  # type: ignore[assignment]

_MARK = ".vllm-contracts-"
_SUFFIX = ".tmp"


@dataclass(frozen=True)
class Written:
    """What became of a plan's files: the paths written, and those refused, each with the reason."""

    paths: tuple[str, ...] = ()
    refused: tuple[tuple[str, str], ...] = ()


def write_plan(root: Path, plan: Plan, *, break_hard_links: bool = False) -> Written:
    """Write all files of a plan.

    All files are checked before the first one is written; if one is refused, so are those that share a fix
    with it.  Each file is checked once more directly before it is replaced; only if that or the disk fails
    then, or the process is killed, can a fix over several files be written in part.  Leftovers of runs that
    were killed are removed beside the files that are written.

    Args:
        root: the folder that the plan was made for.
        plan: what to write.
        break_hard_links: replace files that have other names too; those keep the old contents.
    """
    problems: dict[str, str] = {}
    for change in plan.changes:
        if problem := _problem(root, change, break_hard_links):
            problems[change.path] = problem
    for path in linked(problems, plan.applied):
        problems.setdefault(path, "belongs to a fix that cannot be written as a whole")
    written: list[str] = []
    for change in plan.changes:
        if change.path not in problems:
            if problem := _write(root, change, break_hard_links):
                problems[change.path] = problem
            else:
                written.append(change.path)
    paths = {change.path for change in plan.changes}
    return Written(tuple(written), tuple(item for item in sorted(problems.items()) if item[0] in paths))


def _problem(root: Path, change: FileChange, break_hard_links: bool) -> str:
    try:
        _check(_target(root, change), change, break_hard_links)
    except (Refused, OSError) as error:
        return _reason(error)
    return ""


def _write(root: Path, change: FileChange, break_hard_links: bool) -> str:
    try:
        target = _target(root, change)
        _remove_leftovers(target)
        with _temporary(target) as temporary:
            _fill(temporary, target, change.after)
            _check(target, change, break_hard_links)
            os.replace(temporary, target)  # noqa: PTH105 - the name says that it is atomic
        _sync_folder(target.parent)
    except (Refused, OSError) as error:
        return _reason(error)
    return ""


def _reason(error: Exception) -> str:
    if isinstance(error, OSError):
        return f"cannot be written: {error.strerror or error}"
    return str(error)


def _target(root: Path, change: FileChange) -> Path:
    """The file itself, behind symbolic links."""
    target = (root / change.path).resolve(strict=True)
    if not target.is_relative_to(root.resolve()):
        raise Refused("lies outside the checkout")
    return target


def _check(target: Path, change: FileChange, break_hard_links: bool) -> None:
    status = target.stat()
    if not stat.S_ISREG(status.st_mode):
        raise Refused("is not a regular file")
    if not status.st_mode & 0o222 or not os.access(target, os.W_OK):
        raise Refused("is read-only")
    if not os.access(target.parent, os.W_OK | os.X_OK):
        raise Refused("is in a read-only folder")
    if status.st_nlink > 1 and not break_hard_links:
        raise Refused(f"has {status.st_nlink} hard links, which replacing it would part: see --break-hard-links")
    if target.read_bytes() != change.before:
        raise Refused("has changed since it was read")


@contextlib.contextmanager
def _temporary(target: Path) -> Iterator[Path]:
    """A new file beside the target, gone afterwards unless it was renamed; locked while it is in use."""
    handle, name = tempfile.mkstemp(_SUFFIX, f".{target.name}{_MARK}", target.parent)
    with contextlib.ExitStack() as cleanup:
        cleanup.callback(Path(name).unlink, missing_ok=True)
        if fcntl is None:
            os.close(handle)  # Windows renames no open files
        else:
            cleanup.callback(os.close, handle)
            with contextlib.suppress(OSError):
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield Path(name)


def _fill(temporary: Path, target: Path, data: bytes) -> None:
    """Write the contents, give the file its metadata and make both durable."""
    with temporary.open("r+b") as stream:
        stream.write(data)
        stream.flush()
        _copy_owner(target, temporary)
        _copy_attributes(target, temporary)
        shutil.copymode(target, temporary)
        os.fsync(stream.fileno())


def _copy_owner(source: Path, copy: Path) -> None:
    """Give a copy the owner and group of its source, or the group alone, as far as that is permitted."""
    if hasattr(os, "chown"):
        status = source.stat()
        for owner in (status.st_uid, -1):
            with contextlib.suppress(OSError):
                os.chown(copy, owner, status.st_gid)
                return


def _copy_attributes(source: Path, copy: Path) -> None:
    """Copy extended attributes (access control lists among them) where system and file system have them."""
    if hasattr(os, "listxattr"):
        with contextlib.suppress(OSError):
            for name in os.listxattr(source):
                with contextlib.suppress(OSError):
                    os.setxattr(copy, name, os.getxattr(source, name))


def _sync_folder(folder: Path) -> None:
    if hasattr(os, "O_DIRECTORY"):
        with contextlib.suppress(OSError):  # the file is in place; some file systems cannot sync folders
            handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)


def _remove_leftovers(target: Path) -> None:
    """Remove temporary files of runs that were killed; those of running ones are locked and stay."""
    for leftover in target.parent.glob(f"{_escaped(f'.{target.name}{_MARK}')}*{_SUFFIX}"):
        with contextlib.suppress(OSError):
            if _is_abandoned(leftover):
                leftover.unlink()


def _escaped(name: str) -> str:
    return "".join(f"[{character}]" if character in "*?[" else character for character in name)


def _is_abandoned(leftover: Path) -> bool:
    if fcntl is None:
        return True
    handle = os.open(leftover, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    finally:
        os.close(handle)
    return True
