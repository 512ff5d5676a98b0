"""Text models to teach, in small, and their checkpoints; run in the environment that has torch:

PYTHONPATH=repository python -m scripts.e2e.pupils NAME FOLDER
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from scripts.e2e.checkpoints import (
    DRAFTERS,
    HIDDEN,
    LAYERS,
    Config,
    Shapes,
    decoder_shapes,
    drafter_config,
    drafter_weights,
    layer_shapes,
    target_weights,
    text_config,
    write,
)


@dataclass(frozen=True)
class Pupil:
    """A text model that has no support in the release.

    Args:
        name: as people say it.
        cls: its class, which is its architecture too.
        config: of its checkpoint.
        layer: the weights of one layer.
        adds: whether the state between two layers is the sum of what goes from one to the other.
        tied: whether its head is its embeddings.
        refused_by: releases that do not load such a checkpoint at all.
    """

    name: str
    cls: str
    config: Config
    layer: Shapes
    adds: bool
    tied: bool = False
    refused_by: tuple[str, ...] = ()

    @property
    def drafters(self) -> tuple[str, ...]:
        """The drafters that tell anything of it: those that know the head need one of its own."""
        return ("random",) if self.tied else DRAFTERS


def _gemma(*, tied: bool) -> Pupil:
    """The residual goes from layer to layer, and the last norm adds it; older releases want the head tied."""
    config = text_config("gemma", "GemmaForCausalLM", hidden_act="gelu_pytorch_tanh", tie_word_embeddings=tied)
    name = "Gemma, tied" if tied else "Gemma"
    refused_by = () if tied else ("0.28.0",)
    return Pupil(name, "GemmaForCausalLM", config, layer_shapes(), adds=True, tied=tied, refused_by=refused_by)


def _exaone4() -> Pupil:
    """The hidden states are the whole state, and what is handed on beside them is used by nobody."""
    layer = layer_shapes(head_norms=True)
    del layer["input_layernorm.weight"]
    layer["post_feedforward_layernorm.weight"] = (HIDDEN,)
    config = text_config("exaone4", "Exaone4ForCausalLM", layer_types=["full_attention"] * LAYERS, sliding_window=None)
    return Pupil("EXAONE 4", "Exaone4ForCausalLM", config, layer, adds=False)


def _cohere() -> Pupil:
    """A residual that is in the hidden states already, and a norm that passes it by."""
    layer = layer_shapes()
    del layer["post_attention_layernorm.weight"]
    config = text_config("cohere", "CohereForCausalLM", layer_norm_eps=1e-5, logit_scale=1.0, use_qk_norm=False)
    for key in ("head_dim", "rms_norm_eps"):
        del config[key]
    return Pupil("Command R", "CohereForCausalLM", {**config, "tie_word_embeddings": True}, layer, False, tied=True)


PUPILS = {pupil.name: pupil for pupil in (_gemma(tied=False), _gemma(tied=True), _exaone4(), _cohere())}


def main(name: str, folder: Path) -> None:
    """Write ``target`` and its drafters.

    Args:
        name: of the pupil.
        folder: to create.
    """
    pupil = PUPILS[name]
    weights = target_weights(decoder_shapes(pupil.layer), "model.", "lm_head.weight")
    if pupil.tied:
        del weights["lm_head.weight"]
    write(folder / "target", pupil.config, weights)
    for kind in pupil.drafters:
        write(folder / kind, drafter_config(), drafter_weights(kind, weights, "model.embed_tokens.weight"))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
