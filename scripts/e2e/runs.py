"""Engine runs in processes of their own: a time limit each, and nothing of them is left running."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[2]
TIME_LIMIT = 1200.0
PROMPTS = [[5, 9, 77, 33], [200, 17], [301, 302, 303, 304, 305, 306]]
TOKENS = 40
# One thread is enough for models of this size, and does not wait for others on a busy machine.
SETTINGS = {
    "CUDA_VISIBLE_DEVICES": "",
    "HF_HUB_OFFLINE": "1",
    "OMP_NUM_THREADS": "1",
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
    "VLLM_MLA_DISABLE": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_LOGGING_LEVEL": "WARNING",
}


@dataclass(frozen=True)
class Outcome:
    """What one run of the engine came to."""

    tokens: list[list[int]] = field(default_factory=list)
    layers: dict[str, list[int]] = field(default_factory=dict)
    drafts: int = 0
    accepted: int = 0
    vllm: str = ""
    error: str = ""
    message: str = ""
    raised_at: str = ""

    @property
    def failure(self) -> str:
        """The error as Python prints it; empty for a run that generated."""
        return f"{self.error}: {self.message}" if self.error else ""


def run_engine(
    python: Path,
    overlay: Path,
    folder: Path,
    drafter: str,
    *,
    target: str = "target",
    draft_tokens: int = 1,
    single: bool = False,
    plugin: Path | None = None,
    processes: bool = False,
) -> Outcome:
    """Run the engine once.

    Args:
        python: of the environment.
        overlay: a folder whose ``vllm`` package comes before the environment's own.
        folder: with the checkpoints; the run's job, result and output are written there too.
        drafter: the name of a drafter in that folder, or empty for a run without speculation.
        target: the name of the target in that folder.
        draft_tokens: how many tokens to draft at a time.
        single: whether the prompts come one by one, and not together.
        plugin: a folder with an installed plugin, which vLLM finds by its entry point.
        processes: whether the engine's core runs in a process of its own, as it does by default.
    """
    parts = [target, drafter or ("single" if single else "alone"), overlay.name]
    parts += [plugin.name] if plugin is not None else []
    name = "-".join([*parts, "processes"] if processes else parts)
    job, result = folder / f"{name}.job.json", folder / f"{name}.result.json"
    result.unlink(missing_ok=True)
    wanted: dict[str, Any] = {
        "checkpoint": str(folder / target),
        "drafter": str(folder / drafter) if drafter else None,
        "draft_tokens": draft_tokens,
        "prompts": PROMPTS,
        "tokens": TOKENS,
        "single": single,
    }
    job.write_text(json.dumps(wanted))
    command = [str(python), str(Path(__file__).with_name("engine_run.py")), str(job), str(result)]
    with (folder / f"{name}.log").open("w") as log:
        # What vLLM notes of model classes is kept by the copy that it read, and not in the user's own cache.
        paths = [overlay] if plugin is None else [plugin, overlay]
        settings = {"PYTHONPATH": os.pathsep.join(map(str, paths)), "VLLM_CACHE_ROOT": str(overlay / "cache")}
        if processes:  # a function is sent there to look at the model
            settings |= {"VLLM_ENABLE_V1_MULTIPROCESSING": "1", "VLLM_ALLOW_INSECURE_SERIALIZATION": "1"}
        ended = contained(command, settings=settings, output=log)
    if not result.is_file():
        return Outcome(error="NoResult", message=ended)
    return Outcome(**json.loads(result.read_text()))


def contained(command: Sequence[str], *, settings: Mapping[str, str], output: Any, limit: float = TIME_LIMIT) -> str:
    """Run a command in a process group that does not outlive it; tell how it ended.

    Args:
        command: to run.
        settings: further environment variables.
        output: an open file for what it prints.
        limit: in seconds.
    """
    environment = {**os.environ, **SETTINGS, **settings}
    process = subprocess.Popen(command, env=environment, stdout=output, stderr=output, start_new_session=True)
    try:
        return f"exit code {process.wait(limit)}"
    except subprocess.TimeoutExpired:
        return f"stopped after {limit:.0f} seconds"
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
