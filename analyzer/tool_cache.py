"""Results of earlier runs that depend on nothing but this tool: what it says of itself."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import analyzer
from analyzer.store import Store

FORMAT = 1
Status = tuple[int, int, int]
"""Size, time of change of the contents, and of the inode, both in nanoseconds."""


class ToolCache:
    """Results that depend on nothing but this tool: what it says of itself.

    Args:
        folder, warn: see :class:`Store`.
    """

    def __init__(self, folder: Path, warn: Callable[[str], None]) -> None:
        self._store = Store(folder, warn)

    def known(self, product: str, make: Callable[[], bytes]) -> bytes:
        """A result; made where it is not known yet."""
        key = f"{state_of_tool()} {FORMAT} {sys.version_info[0]}.{sys.version_info[1]} {product}"
        path = self._store.results / "tool" / hashlib.blake2b(key.encode(), digest_size=16).hexdigest()
        found = self._store.load(path)
        if found is None:
            found = make()
            self._store.keep(path, found)
        return found


@lru_cache(maxsize=1)
def state_of_tool() -> str:
    """The tool's version, and the state of its own files: a changed rule must not meet old results."""
    top = Path(analyzer.__file__).parent.parent
    own = hashlib.blake2b(digest_size=8)
    for package in ("analyzer", "rules"):
        for folder, folders, files in os.walk(top / package):
            folders[:] = sorted(name for name in folders if name != "__pycache__")
            for name in sorted(files):
                status = status_of(os.path.join(folder, name))
                own.update(f"{folder}/{name} {status}\n".encode("utf-8", "surrogateescape"))
    return f"{analyzer.__version__} {own.hexdigest()}"


def status_of(path: str) -> Status | None:
    """What tells without reading whether a file has changed; None where it cannot be known."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_size, found.st_mtime_ns, found.st_ctime_ns
