"""Baselines: the findings that a project has and knows of, so that only new ones count.

The file is JSON with one finding a line, sorted, to be read in a diff and merged by git.  A finding is known again by
its :func:`~analyzer.fingerprint.fingerprint`, which holds no lines: the code around it may move, and a baseline of one
release serves on the next.  The other fields of a line are for readers.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from analyzer.findings import Finding
from analyzer.fingerprint import fingerprints
from analyzer.problems import InputError
from analyzer.records import BaselineRecord, EntryRecord

TOOL, VERSION = "vllm-contracts baseline", 1

_HOW = "vllm-contracts audit --update-baseline makes one"


class BaselineError(InputError):
    """A file is no baseline, or cannot be read or written; the message is one line for the user."""


def entries_of(findings: Iterable[Finding]) -> list[EntryRecord]:
    """The entry of each finding, in their order."""
    findings = list(findings)
    keys = fingerprints(findings)
    return [EntryRecord(f.at.path, f.cls, f.code, f.contract, key) for f, key in zip(findings, keys, strict=True)]


def compare(
    file: Path, baseline: Iterable[EntryRecord], findings: Iterable[Finding], covers: Callable[[EntryRecord], bool]
) -> tuple[list[Finding], BaselineRecord]:
    """Part findings into new ones and known ones.

    Args:
        file: the baseline's.
        baseline: its entries.
        findings: what counts so far.
        covers: whether the run would have told of an entry's finding: only such entries can be stale.

    Returns:
        The new findings, and the rest.
    """
    findings = list(findings)
    known = {entry.fingerprint: entry for entry in baseline}
    found = dict(zip(entries_of(findings), findings, strict=True))
    keys = {entry.fingerprint for entry in found}
    gone = sorted(entry for key, entry in known.items() if key not in keys)
    compared = BaselineRecord(
        file=file,
        known=tuple(finding for entry, finding in found.items() if entry.fingerprint in known),
        stale=tuple(entry for entry in gone if covers(entry)),
        entries=tuple(sorted([*found, *(entry for entry in gone if not covers(entry))])),
    )
    return [finding for entry, finding in found.items() if entry.fingerprint not in known], compared


def updated(compared: BaselineRecord, new: Iterable[Finding]) -> BaselineRecord:
    """The comparison with the baseline that :func:`write_baseline` makes of it: everything is known.

    Args:
        compared: with the baseline as it was.
        new: what is not in that.
    """
    new = list(new)
    known = sorted([*compared.known, *new], key=lambda finding: finding.sort_key)
    return replace(compared, known=tuple(known), updated=True, added=len(new))


# -- the file --------------------------------------------------------------------------------------


def read_baseline(file: Path, *, may_lack: bool = False) -> list[EntryRecord]:
    """The entries of a baseline.

    Args:
        file: where.
        may_lack: whether a file that is not there is an empty baseline.

    Raises:
        BaselineError: there is none, or it is damaged, something else, or of a later version.
    """
    try:
        data: Any = json.loads(file.read_text("utf-8"))
    except FileNotFoundError:
        if may_lack:
            return []
        raise BaselineError(f"{file}: no such baseline; {_HOW}") from None
    except OSError as error:
        raise BaselineError(f"{file}: cannot be read: {error.strerror or error}") from None
    except json.JSONDecodeError as error:
        raise BaselineError(f"{file}:{error.lineno}: the baseline is damaged: {error.msg}") from None
    except (ValueError, RecursionError):
        raise BaselineError(f"{file}: is no baseline: it is not JSON; {_HOW}") from None
    if not isinstance(data, dict) or data.get("tool") != TOOL:
        raise BaselineError(f"{file}: is no baseline of vllm-contracts; {_HOW}")
    if data.get("version") != VERSION:
        version = json.dumps(data.get("version"))
        raise BaselineError(f"{file}: is a baseline of version {version}; this program knows version {VERSION}")
    return [_entry(file, number, item) for number, item in enumerate(_listed(file, data.get("findings")), 1)]


def _listed(file: Path, items: Any) -> list[Any]:
    if not isinstance(items, list):
        raise BaselineError(f"{file}: the baseline is damaged: it has no list of findings")
    return items


def _entry(file: Path, number: int, item: Any) -> EntryRecord:
    fields = (
        {"cls" if name == "class" else name: value for name, value in item.items()} if isinstance(item, dict) else {}
    )
    if fields.keys() != EntryRecord.__dataclass_fields__.keys() or not all(isinstance(v, str) for v in fields.values()):
        raise BaselineError(f"{file}: the baseline is damaged: its entry {number} is none")
    return EntryRecord(**fields)


def render(entries: Iterable[EntryRecord]) -> str:
    """The text of a baseline."""
    lines = []
    for entry in sorted(entries):
        record = {"class" if name == "cls" else name: value for name, value in asdict(entry).items()}
        lines.append(f"\n{json.dumps(record)}")
    return f'{{"tool": "{TOOL}", "version": {VERSION}, "findings": [{",".join(lines)}\n]}}\n'


def write_baseline(file: Path, entries: Iterable[EntryRecord]) -> bool:
    """Write a baseline in one step; whether that changed anything.

    Args:
        file: where; what it is now is replaced, a symbolic link stays.
        entries: all of them.

    Raises:
        BaselineError: it cannot be written.
    """
    data = render(entries).encode("ascii")
    with _one_line_errors(file):
        target = Path(os.path.realpath(file))
        if target.is_file() and target.read_bytes() == data:
            return False
        handle, name = tempfile.mkstemp(".tmp", f".{target.name}.", target.parent)
        with contextlib.ExitStack() as cleanup:
            cleanup.callback(Path(name).unlink, missing_ok=True)
            os.close(handle)
            with Path(name).open("wb") as stream:
                stream.write(data)
                stream.flush()
                os.fsync(stream.fileno())
            _set_mode(Path(name), target)
            os.replace(name, target)  # noqa: PTH105 - the name says that it is atomic
    return True


@contextlib.contextmanager
def _one_line_errors(file: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError) as error:  # the latter for a name that no file can have
        raise BaselineError(f"{file}: cannot be written: {getattr(error, 'strerror', None) or error}") from None


def _set_mode(temporary: Path, target: Path) -> None:
    """That of the file to be replaced, else what the umask leaves of a new one's."""
    if target.exists():
        shutil.copymode(target, temporary)
        return
    mask = os.umask(0)
    os.umask(mask)
    temporary.chmod(0o666 & ~mask)
