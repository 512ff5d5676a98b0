"""One run of the engine that looks at the states: ``python states_run.py JOB.json RESULT.json``.

A job names a checkpoint, perhaps a drafter, and whether the state between two layers is a sum.  The result holds the
generated tokens, how many states were compared with those that hooks on the layers saw, how many of them were the same
to the last bit, and how far those of the prompts are from what transformers' own model of the checkpoint gives.  This
file imports nothing of the project: it runs where only vLLM is installed.
"""

from __future__ import annotations

import json
import sys
import traceback
from pathlib import Path
from typing import Any

ASKED = (0, 1, 2, 4, 5, 7, 8)


def main(job_file: str, result_file: str) -> None:
    """Run the job and write what came of it.

    Args:
        job_file: written by :mod:`scripts.e2e.teach`.
        result_file: to write.
    """
    job = json.loads(Path(job_file).read_text())
    try:
        result = generate(job)
    except Exception as error:
        result = {"error": f"{type(error).__name__}: {error}"}
        traceback.print_exc()
    Path(result_file).write_text(json.dumps(result))


def generate(job: dict[str, Any]) -> dict[str, Any]:
    """Start the engine, watch the decoder, and generate greedily.

    Args:
        job: checkpoint, drafter (or null), tokens to draft, prompts, tokens to generate, ``adds``, ``watch``.
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
        enable_prefix_caching=False,
        disable_log_stats=False,
    )
    watch = Watch(adds=job["adds"])
    if job["drafter"] and job["watch"]:
        llm.apply_model(watch.install)
    sampling = vllm.SamplingParams(temperature=0.0, max_tokens=job["tokens"], ignore_eos=True, detokenize=False)
    outputs = llm.generate([{"prompt_token_ids": p} for p in job["prompts"]], sampling, use_tqdm=False)
    counts = {m.name: m.value for m in llm.get_metrics() if hasattr(m, "value")}
    return {
        "vllm": vllm.__file__,
        "tokens": [list(output.outputs[0].token_ids) for output in outputs],
        "drafts": int(counts.get("vllm:spec_decode_num_draft_tokens", 0)),
        "accepted": int(counts.get("vllm:spec_decode_num_accepted_tokens", 0)),
        "layers": watch.layers,
        "compared": watch.compared,
        "same": watch.same,
        "farthest": watch.distance(job["checkpoint"], job["prompts"]) if watch.first else None,
    }


class Watch:
    """Compares the states that a decoder hands out with those that hooks on its layers see.

    Args:
        adds: whether a layer's state is the sum of the two things that it gives.
    """

    def __init__(self, *, adds: bool) -> None:
        self.adds = adds
        self.seen: dict[int, Any] = {}
        self.compared = self.same = 0
        self.first: list[Any] = []
        self.layers: list[int] = []

    def install(self, model: Any) -> None:
        """Hook the layers, and take down what ``forward`` of the decoder returns.

        Args:
            model: the target as the runner holds it.
        """
        decoder = model.model
        decoder.layers[0].register_forward_pre_hook(self.before, with_kwargs=True)
        for number, layer in enumerate(decoder.layers):
            layer.register_forward_hook(lambda _, __, result, at=number + 1: self.behind(at, result))
        forward = decoder.forward
        self.layers = list(decoder.aux_hidden_state_layers)
        model.set_aux_hidden_state_layers(ASKED)

        def watched(*args: Any, **keywords: Any) -> Any:
            hidden, states = forward(*args, **keywords)
            self.compare(states)
            kept = [states[ASKED.index(layer)] for layer in self.layers]
            return hidden, kept

        decoder.forward = watched

    def before(self, _: Any, args: Any, keywords: dict[str, Any]) -> None:
        """The state before the first layer, which gets no residual; the hidden states are the first floats."""
        import torch

        given = [value for value in (*args, *keywords.values()) if isinstance(value, torch.Tensor)]
        self.seen[0] = next(value for value in given if value.is_floating_point()).clone()

    def behind(self, at: int, result: Any) -> None:
        """The state behind a layer, before anything can change it in place."""
        if isinstance(result, tuple):
            self.seen[at] = result[0] + result[1] if self.adds else result[0].clone()
        else:
            self.seen[at] = result.clone()

    def compare(self, states: list[Any]) -> None:
        """Hold what was handed out against what was seen.

        Args:
            states: of the layers that were asked for, in order.
        """
        import torch

        assert len(states) == len(ASKED), (len(states), ASKED)
        self.compared += len(states)
        self.same += sum(torch.equal(state, self.seen[at]) for at, state in zip(ASKED, states, strict=True))
        if not self.first:
            self.first = [state.clone() for state in states]

    def distance(self, checkpoint: str, prompts: list[list[int]]) -> float:
        """How far the states of the prompts are at most from those of transformers' model of the same checkpoint.

        Args:
            checkpoint: its folder.
            prompts: that the first step has seen, one behind the other.
        """
        import torch
        from transformers import AutoModelForCausalLM

        model = AutoModelForCausalLM.from_pretrained(checkpoint, dtype=torch.float32).eval()
        with torch.no_grad():
            runs = [model(torch.tensor([prompt]), output_hidden_states=True).hidden_states for prompt in prompts]
        last = len(runs[0]) - 1  # that one is normed there
        farthest = 0.0
        for at, state in zip(ASKED, self.first, strict=True):
            if at < last:
                theirs = torch.cat([run[at][0] for run in runs])
                farthest = max(farthest, float((state[: len(theirs)] - theirs).abs().max() / theirs.abs().max()))
        return farthest


if __name__ == "__main__":
    main(*sys.argv[1:])
