"""A second process for work that needs nothing but what is known when it starts.

One piece of an audit is like that: the search for gates, which knows the contracts and reads the package.  It is
a sixth of the work of an audit of vLLM 0.33, and on two processors takes as much off the time that one waits for.
The result is the same: work that cannot be done beside is done when its result is asked for.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NoReturn, TypeVar

T = TypeVar("T")


@contextmanager
def beside(work: Callable[[], T], *, pays: bool) -> Iterator[Callable[[], T]]:
    """Do some work in a copy of this process while the block runs.

    Args:
        work: what to do; its result can be pickled, and it changes nothing here.
        pays: whether there is enough of it to be worth a process.

    Yields:
        What waits for the result.  Where there is one processor, where other threads run, which a copied process
        would lack (a progress display is one), and where the copy fails or is killed, it does the work here.
    """
    started = _start(work) if pays and _can_copy() else None
    if started is None:
        yield work
        return
    process, reading = started
    with os.fdopen(reading, "rb") as answer:
        try:
            yield lambda: _result(answer.read(), work)
        finally:
            os.kill(process, signal.SIGKILL)  # it has answered, or nobody asks any more
            os.waitpid(process, 0)


def _can_copy() -> bool:
    """Whether processes can be copied safely and cheaply here: Linux, with a processor to spare and one thread."""
    return sys.platform == "linux" and len(os.sched_getaffinity(0)) > 1 and threading.active_count() == 1


def _start(work: Callable[[], object]) -> tuple[int, int] | None:
    """The process, and where to read what it answers; None where there is no room for one."""
    reading, writing = os.pipe()
    try:
        process = os.fork()
    except OSError:
        os.close(reading)
        os.close(writing)
        return None
    if process == 0:
        _answer(work, writing)
    os.close(writing)
    return process, reading


def _answer(work: Callable[[], object], writing: int) -> NoReturn:
    """Do the work in the copy, which ends without flushing or tearing down what it shares with the original."""
    try:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        with os.fdopen(writing, "wb") as pipe:
            pickle.dump(work(), pipe)
    finally:
        os._exit(0)


def _result(answer: bytes, work: Callable[[], T]) -> T:
    """What the copy answered; an answer that is not whole counts for none."""
    try:
        return pickle.loads(answer)  # type: ignore[no-any-return]
    except (pickle.UnpicklingError, EOFError):
        return work()
