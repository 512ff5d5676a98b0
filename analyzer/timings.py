"""How long the stages of a run take."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

Stage = Callable[[str], AbstractContextManager[None]]
"""What a stage is run under; it gets a few words that name it."""


def unmeasured(_: str) -> AbstractContextManager[None]:
    """A stage that nobody asks about."""
    return nullcontext()


class Timings:
    """A stopwatch, started when it is made."""

    def __init__(self) -> None:
        self._start = time.perf_counter()
        self._took: dict[str, float] = {}

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Measure what happens inside; stages of one name add up.  Stages do not nest."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self._took[name] = self._took.get(name, 0.0) + time.perf_counter() - start

    def lines(self) -> list[str]:
        """One line for each stage in the order of their first runs, the rest, and the whole: seconds and shares."""
        total = time.perf_counter() - self._start
        rows = [*self._took.items(), ("the rest", max(0.0, total - sum(self._took.values()))), ("all", total)]
        return [f"{took:7.3f} s {took / total if total else 1:4.0%}  {name}" for name, took in rows]
