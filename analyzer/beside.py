"""A second process for work that needs nothing but what is known when it starts.

Two pieces of an audit are like that: reading the registered models' files, which the registry names, and the search
for gates, which knows the contracts and reads the package.  They are a third of the work of an audit of vLLM 0.33, and
on two processors take as much off the time that one waits for.  The result is the same: work that cannot be done
beside is done when its result is asked for.
"""

from __future__ import annotations

import os
import pickle
import select
import signal
import struct
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Generic, NoReturn, TypeVar

T = TypeVar("T")
_SIZE = struct.Struct(">Q")


class Pending(Generic[T]):
    """The result of some work that may be done beside.

    Args:
        work: it.
        answers: of the process that does it, and its place among them; None where there is no such process.
    """

    def __init__(self, work: Callable[[], T], answers: tuple[_Answers, int] | None) -> None:
        self._work, self._answers = work, answers
        self._made: list[T] = []

    def __call__(self) -> T:
        """The result, waited for; made here where the other process did not."""
        if not self._made:
            self._made.append(self._make())
        return self._made[0]

    def _make(self) -> T:
        if self._answers is None:
            return self._work()
        answers, place = self._answers
        try:
            return pickle.loads(answers.get(place))  # type: ignore[no-any-return]
        except (pickle.UnpicklingError, EOFError):
            return self._work()

    def is_done(self) -> bool:
        """Whether another process has the result."""
        return self._answers is not None and self._answers[0].has(self._answers[1])


class _Answers:
    """What a process answers, one piece of work after the other."""

    def __init__(self, reading: int) -> None:
        self._stream = os.fdopen(reading, "rb", buffering=0)
        self._known: list[bytes] = []

    def has(self, place: int) -> bool:
        """Whether an answer, or the end of all, has begun to arrive."""
        if len(self._known) > place or self._stream.closed:
            return len(self._known) > place
        poll = select.poll()
        poll.register(self._stream, select.POLLIN)
        return bool(poll.poll(0))

    def get(self, place: int) -> bytes:
        """An answer; nothing where it did not arrive whole."""
        while len(self._known) <= place:
            size = self._read(_SIZE.size)
            whole = self._read(_SIZE.unpack(size)[0]) if len(size) == _SIZE.size else b""
            self._known.append(whole)
        return self._known[place]

    def _read(self, size: int) -> bytes:
        parts: list[bytes] = []
        while size and (part := self._stream.read(size)):
            parts.append(part)
            size -= len(part)
        return b"" if size else b"".join(parts)

    def close(self) -> None:
        """Let go of the pipe."""
        self._stream.close()


@contextmanager
def beside(*works: Callable[[], Any], pays: bool) -> Iterator[list[Pending[Any]]]:
    """Do some work in a copy of this process while the block runs.

    Args:
        works: what to do, one after the other; the results can be pickled, and nothing is changed here.  The result of
            one is to be asked for, or to be seen done, before the next can be.
        pays: whether there is enough of it to be worth a process.

    Yields:
        The results.  Where there is one processor, where other threads run, which a copied process would lack (a
        progress display is one), and where the copy fails or is killed, the work is done here when one is asked for.
    """
    started = _start(works) if pays and _can_copy() else None
    if started is None:
        yield [Pending(work, None) for work in works]
        return
    process, reading = started
    answers = _Answers(reading)
    try:
        yield [Pending(work, (answers, place)) for place, work in enumerate(works)]
    finally:
        answers.close()
        os.kill(process, signal.SIGKILL)  # it has answered, or nobody asks any more
        os.waitpid(process, 0)


def _can_copy() -> bool:
    """Whether processes can be copied safely and cheaply here: Linux, with a processor to spare and one thread."""
    return sys.platform == "linux" and len(os.sched_getaffinity(0)) > 1 and threading.active_count() == 1


def _start(works: Sequence[Callable[[], object]]) -> tuple[int, int] | None:
    """The process, and where to read what it answers; None where there is no room for one."""
    reading, writing = os.pipe()
    try:
        process = os.fork()
    except OSError:
        os.close(reading)
        os.close(writing)
        return None
    if process == 0:
        _answer(works, writing)
    os.close(writing)
    return process, reading


def _answer(works: Sequence[Callable[[], object]], writing: int) -> NoReturn:
    """Do the work in the copy, which ends without flushing or tearing down what it shares with the original."""
    try:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        with os.fdopen(writing, "wb") as pipe:
            for work in works:
                answer = pickle.dumps(work(), pickle.HIGHEST_PROTOCOL)
                pipe.write(_SIZE.pack(len(answer)) + answer)
                pipe.flush()
    finally:
        os._exit(0)
