"""The wrappers that are run: what their published checkpoints look like, in small."""

from __future__ import annotations

from dataclasses import dataclass, field

from scripts.e2e.checkpoints import HEAD, HEADS, HIDDEN, LAYERS, VOCAB, Config, Shapes, layer_shapes, text_config

PLACEHOLDER = VOCAB - 1  # the token that stands for an image or a sound
VISION = {
    "hidden_size": 64,
    "intermediate_size": 64,
    "num_attention_heads": 2,
    "num_hidden_layers": 2,
    "image_size": 336,
    "patch_size": 14,
}


@dataclass(frozen=True)
class Wrapper:
    """One multimodal class and a checkpoint for it."""

    name: str
    cls: str
    config: Config
    layer: Shapes
    decoder_prefix: str  # what its published weights put before those of the decoder
    head: str
    more: Shapes = field(default_factory=dict)
    # Entries that let the proposer find its image token where it does not know the class's name (VC012).
    placeholder: Config = field(default_factory=dict)
    # What some releases read of the published preprocessor_config.json even where no image is ever given.
    preprocessor: Config = field(default_factory=dict)

    @property
    def embeddings(self) -> str:
        """The published name of the target's embeddings."""
        return f"{self.decoder_prefix}embed_tokens.weight"


def _llava_next() -> Wrapper:
    return Wrapper(
        name="LLaVA-NeXT",
        cls="LlavaNextForConditionalGeneration",
        config={
            "model_type": "llava_next",
            "architectures": ["LlavaNextForConditionalGeneration"],
            "image_token_index": PLACEHOLDER,
            "image_grid_pinpoints": [[336, 336]],
            "vision_feature_layer": -2,
            "vision_feature_select_strategy": "default",
            "tie_word_embeddings": False,
            "vision_config": {"model_type": "clip_vision_model", "projection_dim": 64, **VISION},
            "text_config": text_config("llama", "LlamaForCausalLM"),
        },
        layer=layer_shapes(),
        decoder_prefix="language_model.model.",
        head="language_model.lm_head.weight",
        more={"image_newline": (HIDDEN,)},
    )


def _qwen2_vl() -> Wrapper:
    text = text_config("qwen2_vl", "Qwen2VLForConditionalGeneration")
    del text["head_dim"]  # its rope takes the sections' sum for half of it
    return Wrapper(
        name="Qwen2-VL",
        cls="Qwen2VLForConditionalGeneration",
        config={
            **text,
            "rope_theta": 10000.0,
            "rope_scaling": {"type": "mrope", "mrope_section": [4, 6, 6]},
            "image_token_id": PLACEHOLDER,
            "video_token_id": PLACEHOLDER - 1,
            "vision_start_token_id": PLACEHOLDER - 2,
            "vision_end_token_id": PLACEHOLDER - 3,
            "vision_config": {
                "model_type": "qwen2_vl",
                "depth": 2,
                "embed_dim": 64,
                "num_heads": 2,
                "hidden_size": HIDDEN,
            },
        },
        layer=layer_shapes(biases=True),
        decoder_prefix="model.",
        head="lm_head.weight",
        placeholder={"image_token_index": PLACEHOLDER},
        preprocessor={
            "do_rescale": True,
            "rescale_factor": 1 / 255,
            "do_normalize": True,
            "image_mean": [0.5, 0.5, 0.5],
            "image_std": [0.5, 0.5, 0.5],
        },
    )


def _kimi_vl() -> Wrapper:
    """The DeepSeek family, dense, with its attention unfolded (``VLLM_MLA_DISABLE``)."""
    rotary, rank = 32, 32
    layer = layer_shapes()
    for name in "kv":
        del layer[f"self_attn.{name}_proj.weight"]
    layer |= {
        "self_attn.q_proj.weight": (HEADS * (HEAD + rotary), HIDDEN),
        "self_attn.kv_a_proj_with_mqa.weight": (rank + rotary, HIDDEN),
        "self_attn.kv_a_layernorm.weight": (rank,),
        "self_attn.kv_b_proj.weight": (HEADS * 2 * HEAD, rank),
    }
    text = text_config("deepseek_v3", "DeepseekV3ForCausalLM", first_k_dense_replace=LAYERS, moe_layer_freq=1)
    return Wrapper(
        name="Kimi-VL",
        cls="KimiVLForConditionalGeneration",
        config={
            "model_type": "kimi_vl",
            "architectures": ["KimiVLForConditionalGeneration"],
            "media_placeholder_token_id": PLACEHOLDER,
            "tie_word_embeddings": False,
            "vision_config": {"model_type": "moonvit", **VISION},
            "text_config": {
                **{key: value for key, value in text.items() if key != "head_dim"},
                "num_key_value_heads": HEADS,
                "q_lora_rank": None,
                "kv_lora_rank": rank,
                "qk_nope_head_dim": HEAD,
                "qk_rope_head_dim": rotary,
                "v_head_dim": HEAD,
                "n_routed_experts": 4,  # used by no layer: the first eight are dense
            },
        },
        layer=layer,
        decoder_prefix="language_model.model.",
        head="language_model.lm_head.weight",
        placeholder={"image_token_index": PLACEHOLDER},
    )


def _glm_asr() -> Wrapper:
    return Wrapper(
        name="GLM-ASR",
        cls="GlmAsrForConditionalGeneration",
        config={
            "model_type": "glmasr",
            "architectures": ["GlmAsrForConditionalGeneration"],
            "audio_token_id": PLACEHOLDER,
            "tie_word_embeddings": False,
            "audio_config": {
                "model_type": "glmasr_encoder",
                "hidden_size": 64,
                "intermediate_size": 256,
                "num_attention_heads": 2,
                "num_hidden_layers": 2,
            },
            "text_config": text_config("llama", "LlamaForCausalLM"),
        },
        layer=layer_shapes(),
        decoder_prefix="language_model.model.",
        head="language_model.lm_head.weight",
        placeholder={"image_token_index": PLACEHOLDER},
    )


WRAPPERS = {wrapper.name: wrapper for wrapper in (_llava_next(), _qwen2_vl(), _kimi_vl(), _glm_asr())}
