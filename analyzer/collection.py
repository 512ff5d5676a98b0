"""The garbage collector, off where it finds nothing: it looks through all objects again and again as they get more."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_collection() -> Iterator[None]:
    """Leave the collector off while the block runs; objects that no cycle holds go all the same."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
