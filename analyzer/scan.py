"""Search bytes before parsing: which files of a checkout can matter at all."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path


def files_with(paths: Iterable[Path], words: Iterable[bytes]) -> list[Path]:
    """The files that hold any of some words; files that cannot be read are passed over.

    Args:
        paths: where to look.
        words: exact byte strings.
    """
    wanted = tuple(words)
    out = []
    for path in paths:
        try:
            data = path.read_bytes()
        except OSError:
            continue
        if any(word in data for word in wanted):
            out.append(path)
    return out
