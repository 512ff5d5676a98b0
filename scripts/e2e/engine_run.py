"""One run of the engine, in the environment that has vLLM: ``python engine_run.py JOB.json RESULT.json``.

A job names a checkpoint, perhaps a drafter, and prompts as token ids.  The result holds the generated tokens, where
the auxiliary layers came to lie and how many drafts were accepted, or the error that ended it.  This file imports
nothing of the project: it runs where only vLLM is installed.
"""

from __future__ import annotations

import importlib
import json
import sys
import traceback
from pathlib import Path
from typing import Any


def main(job_file: str, result_file: str) -> None:
    """Run the job and write what came of it.

    Args:
        job_file: written by :mod:`scripts.e2e.runs`.
        result_file: to write.
    """
    job = json.loads(Path(job_file).read_text())
    try:
        result = generate(job)
    except Exception as error:
        result = {"error": type(error).__name__, "message": str(error), "raised_at": raised_at(error)}
        traceback.print_exc()
    Path(result_file).write_text(json.dumps(result))


def generate(job: dict[str, Any]) -> dict[str, Any]:
    """Start the engine and generate greedily.

    Args:
        job: checkpoint, drafter (or null), tokens to draft, prompts, tokens to generate, and whether the prompts
            come one by one.
    """
    import vllm

    speculation = {"method": "eagle3", "model": job["drafter"], "num_speculative_tokens": job["draft_tokens"]}
    llm = vllm.LLM(
        model=job["checkpoint"],
        speculative_config=speculation if job["drafter"] else None,
        dtype="float32",
        seed=0,
        max_model_len=256,
        max_num_seqs=4,
        max_num_batched_tokens=256,
        enforce_eager=True,
        skip_tokenizer_init=True,
        language_model_only=True,
        enable_prefix_caching=False,
        disable_log_stats=False,
    )
    sampling = vllm.SamplingParams(temperature=0.0, max_tokens=job["tokens"], ignore_eos=True, detokenize=False)
    prompts = [{"prompt_token_ids": p} for p in job["prompts"]]
    batches = [[prompt] for prompt in prompts] if job["single"] else [prompts]
    outputs = [output for batch in batches for output in llm.generate(batch, sampling, use_tqdm=False)]
    counts = {m.name: m.value for m in llm.get_metrics() if hasattr(m, "value")}
    return {
        "vllm": vllm.__file__,
        "tokens": [list(output.outputs[0].token_ids) for output in outputs],
        # By the module's own name: an engine core in a process of its own cannot find what is called __main__.
        "layers": llm.apply_model(importlib.import_module(Path(__file__).stem).auxiliary_layers)[0],
        "drafts": int(counts.get("vllm:spec_decode_num_draft_tokens", 0)),
        "accepted": int(counts.get("vllm:spec_decode_num_accepted_tokens", 0)),
    }


def auxiliary_layers(model: Any) -> dict[str, list[int]]:
    """Every module that has been told to collect states: its path and class, and the layers.

    Args:
        model: the target as the runner holds it.
    """
    return {
        f"{path} ({type(module).__name__})": list(module.aux_hidden_state_layers)
        for path, module in model.named_modules()
        if getattr(module, "aux_hidden_state_layers", None)
    }


def raised_at(error: BaseException) -> str:
    """The file and line in vLLM where an error was raised.

    Args:
        error: with its traceback.
    """
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "/vllm/" in f.filename.replace("\\", "/")]
    return f"vllm/{frames[-1].filename.rpartition('/vllm/')[2]}:{frames[-1].lineno}" if frames else ""


if __name__ == "__main__":
    main(*sys.argv[1:])
