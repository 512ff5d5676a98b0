"""Files of the cache: put in place whole or not at all, and the oldest go first.

Nothing here can make a run fail.  What cannot be read counts as absent, what cannot be written is said once.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

LARGEST = 256_000_000
"""Bytes that all results together may take; the ones not used for longest go first."""

_MAGIC = b"vllm-contracts result "
_FOLDER = "results"


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


def _checksum(body: bytes) -> bytes:
    return hashlib.blake2b(body, digest_size=16).hexdigest().encode()


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
        import shutil

        shutil.rmtree(results)
    return size
