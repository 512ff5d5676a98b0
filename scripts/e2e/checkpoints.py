"""Tiny checkpoints with random weights: a wrapper's under its published names, and drafters to go with it.

The target's next token is mostly a fixed walk through the vocabulary, disturbed by its random layers: the row of
``lm_head`` for token ``walk[i]`` is the embedding of token ``i``.  So whoever sees the hidden states of the target
can tell the token after the next, and whoever does not cannot.  The *sighted* drafter reads nothing but the auxiliary
states; the *blind* one is the same with that one input cut; the *random* one is a drafter as training starts.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

HIDDEN, HEADS, KV_HEADS, HEAD, MLP, VOCAB = 128, 4, 2, 32, 256, 512
LAYERS = 8  # so that the default layers 2, 4 and 5 differ
DRAFTERS = ("random", "sighted", "blind")
# How far the layers move the states, as the deviation of what they add to them: enough to disturb the walk at times.
DISTURBANCE = 0.1

Shapes = dict[str, tuple[int, ...]]
Config = dict[str, Any]


def text_config(model_type: str, architecture: str, **more: Any) -> Config:
    """The configuration of an inner language model.

    Args:
        model_type: as in its ``config.json``.
        architecture: of the text model.
        more: further entries.
    """
    return {
        "model_type": model_type,
        "architectures": [architecture],
        "hidden_size": HIDDEN,
        "intermediate_size": MLP,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "num_key_value_heads": KV_HEADS,
        "head_dim": HEAD,
        "vocab_size": VOCAB,
        "max_position_embeddings": 512,
        "rms_norm_eps": 1e-6,
        "hidden_act": "silu",
        "tie_word_embeddings": False,
        **more,
    }


def layer_shapes(*, biases: bool = False, head_norms: bool = False) -> Shapes:
    """The weights of one Llama-like decoder layer.

    Args:
        biases: whether queries, keys and values have biases (Qwen2).
        head_norms: whether queries and keys are normalised (Qwen3).
    """
    q, kv = HEADS * HEAD, KV_HEADS * HEAD
    shapes: Shapes = {
        "input_layernorm.weight": (HIDDEN,),
        "self_attn.q_proj.weight": (q, HIDDEN),
        "self_attn.k_proj.weight": (kv, HIDDEN),
        "self_attn.v_proj.weight": (kv, HIDDEN),
        "self_attn.o_proj.weight": (HIDDEN, q),
        "post_attention_layernorm.weight": (HIDDEN,),
        "mlp.gate_proj.weight": (MLP, HIDDEN),
        "mlp.up_proj.weight": (MLP, HIDDEN),
        "mlp.down_proj.weight": (HIDDEN, MLP),
    }
    if biases:
        shapes |= {f"self_attn.{n}_proj.bias": (size,) for n, size in (("q", q), ("k", kv), ("v", kv))}
    if head_norms:
        shapes |= {f"self_attn.{n}_norm.weight": (HEAD,) for n in "qk"}
    return shapes


def decoder_shapes(layer: Shapes) -> Shapes:
    """The weights of a text model without its head, named as inside its decoder.

    Args:
        layer: the weights of one layer.
    """
    layers = {f"layers.{n}.{name}": shape for n in range(LAYERS) for name, shape in layer.items()}
    return {"embed_tokens.weight": (VOCAB, HIDDEN), **layers, "norm.weight": (HIDDEN,)}


def drafter_config() -> Config:
    """The configuration of a one-layer EAGLE-3 drafter on Llama's layer."""
    return {**text_config("llama", "LlamaForCausalLMEagle3"), "num_hidden_layers": 1, "draft_vocab_size": VOCAB}


def drafter_shapes() -> Shapes:
    """The weights of the drafter; it shares the target's embeddings and has a head of its own."""
    layer = {f"midlayer.{name}": shape for name, shape in layer_shapes().items()}
    for name in "qkv":  # the layer reads embeddings and states side by side
        weight = f"midlayer.self_attn.{name}_proj.weight"
        layer[weight] = (layer[weight][0], 2 * HIDDEN)
    return {
        "fc.weight": (HIDDEN, 3 * HIDDEN),
        "midlayer.hidden_norm.weight": (HIDDEN,),
        **layer,
        "norm.weight": (HIDDEN,),
        "lm_head.weight": (VOCAB, HIDDEN),
    }


def token_walk() -> list[int]:
    """A permutation of the vocabulary that is one cycle through all tokens but 0, which stays where it is."""
    order = list(range(1, VOCAB))
    random.Random(7).shuffle(order)
    walk = [0] * VOCAB
    for here, there in zip(order, order[1:] + order[:1], strict=True):
        walk[here] = there
    return walk


def write(folder: Path, config: Config, weights: dict[str, Any], preprocessor: Config | None = None) -> None:
    """Write a checkpoint as it is published: ``config.json`` and one safetensors file.

    Args:
        folder: to create.
        config: of the checkpoint.
        weights: tensors by name.
        preprocessor: for ``preprocessor_config.json``, if there is one.
    """
    from safetensors.torch import save_file

    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config, indent=2))
    if preprocessor:
        (folder / "preprocessor_config.json").write_text(json.dumps(preprocessor, indent=2))
    save_file({n: w.contiguous() for n, w in weights.items()}, folder / "model.safetensors", metadata={"format": "pt"})


def target_weights(decoder: Shapes, decoder_prefix: str, head: str) -> dict[str, Any]:
    """Random weights of a target, by their published names.

    Args:
        decoder: the shapes inside the decoder.
        decoder_prefix: what the checkpoint puts before them.
        head: the checkpoint's name for the head's weight.
    """
    import torch

    torch.manual_seed(1)
    weights = {name: random_weight(name, shape) for name, shape in decoder.items()}
    embeddings = torch.randn(VOCAB, HIDDEN)
    weights["embed_tokens.weight"] = embeddings
    rows = torch.empty_like(embeddings)
    rows[torch.tensor(token_walk())] = embeddings
    return {**{decoder_prefix + name: weight for name, weight in weights.items()}, head: rows}


def drafter_weights(kind: str, target: dict[str, Any], embeddings: str) -> dict[str, Any]:
    """Weights of a drafter.

    Args:
        kind: one of :data:`DRAFTERS`.
        target: the target's weights.
        embeddings: the target's name for its embeddings.
    """
    import torch

    torch.manual_seed(2)
    weights = {name: random_weight(name, shape) for name, shape in drafter_shapes().items()}
    if kind == "random":
        return weights
    walk = torch.tensor(token_walk())
    weights["lm_head.weight"][walk[walk]] = target[embeddings]  # the states belong to the token before the last
    weights["midlayer.self_attn.o_proj.weight"].zero_()
    weights["midlayer.mlp.down_proj.weight"].zero_()
    states = torch.eye(HIDDEN).repeat(1, 3) / 3
    weights["fc.weight"] = states if kind == "sighted" else torch.zeros_like(states)
    return weights


def random_weight(name: str, shape: tuple[int, ...]) -> Any:
    """A weight as training might start with; norms are ones.

    Args:
        name: in the checkpoint.
        shape: of the tensor.
    """
    import torch

    if "norm" in name:
        return torch.ones(shape)
    adds_to_the_states = name.endswith(("o_proj.weight", "down_proj.weight"))
    return torch.randn(shape) * (DISTURBANCE if adds_to_the_states else shape[-1] ** -0.5)
