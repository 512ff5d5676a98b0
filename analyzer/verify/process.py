"""Run a plan in another interpreter: batches, time limits, and losses that stay with the class that caused them."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from analyzer.verify.plan import Plan

Record = dict[str, Any]
Progress = Callable[[int, int], None]
RUN = Path(__file__).with_name("run.py")

QUIET = {
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "TRANSFORMERS_VERBOSITY": "error",
    "VLLM_LOGGING_LEVEL": "ERROR",
    "VLLM_NO_USAGE_STATS": "1",
    "OMP_NUM_THREADS": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
}
"""Nothing is downloaded, reported, or written beside the sources."""


class VerifyError(Exception):
    """Nothing can be executed in that environment; one line for the user."""


@dataclass(frozen=True)
class Limits:
    """How long things may take, in seconds, and how many classes one process answers for.

    Args:
        seconds: for one class.
        start: for importing what all classes need.
        batch: classes a process.
    """

    seconds: float = 60.0
    start: float = 300.0
    batch: int = 128


@dataclass
class Answers:
    """What came back.

    Args:
        environment: what the interpreter says of itself.
        results: one for each job; ``lost`` says why there is no answer.
        stand_ins: what was stood in for.
        processes: how many were started.
    """

    environment: Record = field(default_factory=dict)
    results: list[Record] = field(default_factory=list)
    stand_ins: list[str] = field(default_factory=list)
    processes: int = 0


class Runner:
    """Carries a plan out.

    Args:
        python: the interpreter.
        plan: what to ask.
        limits: how long it may take.
        stand_in: whether modules that are missing are stood in for.
        progress: is told how many classes are done, of how many.
    """

    def __init__(
        self, python: Path, plan: Plan, limits: Limits, *, stand_in: bool = True, progress: Progress | None = None
    ) -> None:
        self.python, self.plan, self.limits, self.stand_in = python, plan, limits, stand_in
        self.progress = progress or (lambda *_: None)
        self.answers = Answers(results=[{} for _ in plan.jobs])

    def run(self) -> Answers:
        """All answers.

        Raises:
            VerifyError: the interpreter cannot be started, or vLLM cannot be imported there.
        """
        with tempfile.TemporaryDirectory(prefix="vllm-contracts-") as scratch:
            self._all(range(len(self.plan.jobs)), Path(scratch))
            failed = [n for n, result in enumerate(self.answers.results) if result.get("import")]
            if failed and self.answers.stand_ins:  # a module that was half imported once may import in a fresh process
                before = {n: self.answers.results[n] for n in failed}
                self._all(failed, Path(scratch))
                for number, result in before.items():
                    if "lost" in self.answers.results[number]:
                        self.answers.results[number] = result
        return self.answers

    def _all(self, numbers: Sequence[int], scratch: Path) -> None:
        todo = list(numbers)
        while todo:
            done = self._batch(todo[: self.limits.batch], scratch)
            todo = [number for number in todo if number not in done]

    def _batch(self, numbers: Sequence[int], scratch: Path) -> set[int]:
        """Ask one process; returns the jobs that are settled, at least one."""
        settings = {**self.plan.settings, "stand_in": self.stand_in, "stand_ins": self.answers.stand_ins}
        plan = scratch / "plan.json"
        plan.write_text(json.dumps({**settings, "jobs": [self.plan.jobs[n] for n in numbers]}), "utf-8")
        process = Process([str(self.python), str(RUN), str(plan)], scratch)
        self.answers.processes += 1
        settled: set[int] = set()
        current: int | None = None
        ready = False
        try:
            while True:
                event = process.next(self.limits.seconds if ready else self.limits.start)
                kind = event["event"]
                self.answers.stand_ins += [n for n in event.get("stand_ins", ()) if n not in self.answers.stand_ins]
                if kind == "ready":
                    ready = True
                    self.answers.environment = {k: v for k, v in event.items() if k != "event"}
                elif kind == "start":
                    current = numbers[event["job"]]
                elif kind == "done":
                    self.answers.results[numbers[event["job"]]] = event["result"]
                    settled.add(numbers[event["job"]])
                    current = None
                    self.progress(sum(map(bool, self.answers.results)), len(self.plan.jobs))
                elif kind == "end":
                    return settled
                else:
                    self._lost(kind, event, ready, numbers, current, settled)
                    return settled
        finally:
            process.stop()

    def _lost(
        self, kind: str, event: Record, ready: bool, numbers: Sequence[int], current: int | None, settled: set[int]
    ) -> None:
        """Lay the loss of a process at the door of the class that it was busy with."""
        reason = event["error"]
        if not ready and not self.answers.environment:
            raise VerifyError(f"{self.python}: vLLM cannot be imported there: {reason}")
        if not ready:
            reason = f"a further process did not start: {reason}"
        if current is None:
            current = next(number for number in numbers if number not in settled)
        if kind == "silent":
            reason = f"no answer within {self.limits.seconds if ready else self.limits.start:g} seconds"
        self.answers.results[current] = {"lost": reason}
        settled.add(current)


class Process:
    """One interpreter, whose answers come as events.

    Args:
        command: what to start.
        scratch: a folder of its own, for what it writes.

    Raises:
        VerifyError: it cannot be started.
    """

    def __init__(self, command: Sequence[str], scratch: Path) -> None:
        homes = {"VLLM_CONFIG_ROOT": str(scratch), "VLLM_CACHE_ROOT": str(scratch)}
        if given := os.environ.get("PYTHONPATH"):  # relative entries mean the working directory of now
            homes["PYTHONPATH"] = os.pathsep.join(
                str(Path(part).absolute()) for part in given.split(os.pathsep) if part
            )
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed in stop()
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                cwd=scratch,
                env={**os.environ, **QUIET, **homes},
                start_new_session=True,
            )
        except OSError as error:
            self._errors.close()
            raise VerifyError(f"{command[0]}: cannot be run: {error.strerror or error}") from None
        assert self._process.stdout is not None
        self._events: queue.Queue[Record | None] = queue.Queue()
        self._reader = threading.Thread(target=self._read, args=(self._process.stdout,), daemon=True)
        self._reader.start()

    def _read(self, stream: BinaryIO) -> None:
        for line in stream:
            with contextlib.suppress(ValueError):
                self._events.put(json.loads(line))
        self._events.put(None)

    def next(self, seconds: float) -> Record:
        """The next event; ``silent`` if none comes in time, ``died`` if none can come any more.

        Args:
            seconds: how long to wait.
        """
        deadline = time.monotonic() + seconds
        try:
            event = self._events.get(timeout=seconds)
        except queue.Empty:
            return {"event": "silent", "error": f"no answer within {seconds:g} seconds"}
        if event is not None:
            return event
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(max(deadline - time.monotonic(), 1.0))
        return {"event": "died", "error": self._end()}

    def _end(self) -> str:
        code = self._process.poll()
        if code is None:
            return "its output ended and the process did not"
        said = self._said()
        if code >= 0:
            return f"the process ended with exit code {code}{said}"
        with contextlib.suppress(ValueError):
            return f"the process died of {signal.Signals(-code).name}{said}"
        return f"the process died of signal {-code}{said}"

    def _said(self) -> str:
        """What the process wrote last, or what Python's fault handler did."""
        self._errors.seek(0)
        lines = self._errors.read()[-20_000:].decode("utf-8", "replace").splitlines()
        fatal = [line for line in lines if line.startswith("Fatal Python error")]
        last = [line.strip() for line in lines if line.strip()]
        chosen = (fatal or last)[-1:]
        return f" ({chosen[0][:200]})" if chosen else ""

    def stop(self) -> None:
        """End the process and everything that it started."""
        with contextlib.suppress(OSError):
            if hasattr(os, "killpg"):
                os.killpg(self._process.pid, signal.SIGKILL)
            else:
                self._process.kill()
        self._process.wait()
        self._reader.join(5.0)
        self._errors.close()
