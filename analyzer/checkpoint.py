"""A checkpoint's ``config.json``, read as vLLM's own code would ask for it.

Only what the file says is known: a key that it lacks may still have a default in the configuration class, which
stands in transformers and not in the checkout, so it counts as unknown and never as absent.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from analyzer.problems import InputError

CONFIG = "config.json"
LARGEST = 16_000_000
"""Bytes of a configuration file; real ones have some ten thousand."""

TEXT_CONFIGS = ("text_config", "llm_config", "language_config", "thinker_config", "decoder", "generator")
"""Where a configuration keeps that of its text model.

``text_config``, ``decoder`` and ``generator`` are those of transformers' ``PreTrainedConfig.get_text_config``;
``thinker_config`` is what the Omni families' own override gives; ``llm_config`` and ``language_config`` those of
InternVL, NVLM and DeepSeek-VL2, whose classes alias them.
"""

Keys = tuple[str, ...]
"""A path of keys in the file."""


class _Missing:
    """No such key in the file."""


MISSING = _Missing()
_SKIPPED = frozenset({"model_config", "hf_config"})
_TEXT = frozenset({"hf_text_config", "get_text_config(…)", "get_hf_text_config(…)"})


@dataclass(frozen=True)
class Checkpoint:
    """The configuration of a checkpoint.

    Args:
        values: the file's object.
        path: of the file, for messages.
    """

    values: Mapping[str, Any] = field(repr=False)
    path: str

    def at(self, keys: Keys) -> Any:
        """What stands under a path of keys; :data:`MISSING` where the file does not say."""
        found: Any = self.values
        for key in keys:
            if not isinstance(found, Mapping) or key not in found:
                return MISSING
            found = found[key]
        return found

    def keys_of(self, text: str) -> Keys | None:
        """The path that an expression of a model's source means, such as ``vllm_config.model_config.hf_config.x``.

        An inner model's ``vllm_config`` is written ``vllm_config[text_config]``.  None where it is no configuration.
        """
        first, *rest = text.split(".")
        base = first.removeprefix("vllm_config")
        if base == first or (base and not (base.startswith("[") and base.endswith("]"))):
            return None
        keys: Keys = tuple(key for key in base[1:-1].split("/") if key)
        if not rest or rest[0] not in (*_SKIPPED, *_TEXT):
            return keys if not rest else None
        for part in rest:
            if part in _TEXT:
                keys = self.text_keys(keys)
            elif part not in _SKIPPED:
                keys = (*keys, part)
        return keys

    def text_keys(self, keys: Keys = ()) -> Keys:
        """The path of the text model's own configuration, seen from the one at a path: that one where it has none."""
        for name in TEXT_CONFIGS:
            if isinstance(self.at((*keys, name)), Mapping):
                inside = (*keys, name)
                return self.text_keys(inside) if name == "thinker_config" else inside
        return keys

    def part(self, keys: Keys) -> Keys:
        """A path that the file has for the configuration of an inner model that the source asks for.

        Configuration classes give parts other names than the file does (``text_config`` for ``language_config``,
        Ultravox's ``wrapped_model_config``): what the file lacks is taken for its text model's part.
        """
        if self.at(keys) is not MISSING:
            return keys
        inside = self.text_keys(keys[:-1])
        return inside if inside != keys[:-1] else keys

    def architectures(self, keys: Keys = ()) -> tuple[str, ...]:
        """The architectures that the configuration at a path names."""
        named = self.at((*keys, "architectures"))
        return tuple(str(name) for name in named) if isinstance(named, list) else ()

    def model_type(self, keys: Keys = ()) -> str:
        """Its ``model_type``, or empty."""
        found = self.at((*keys, "model_type"))
        return found if isinstance(found, str) else ""

    def layers(self, keys: Keys = ()) -> int | None:
        """How many layers the configuration at a path says its decoder has; None where it does not."""
        for name in ("num_hidden_layers", "n_layer", "num_layers", "n_layers"):
            found = self.at((*keys, name))
            if isinstance(found, int) and not isinstance(found, bool):
                return found
        return None

    @property
    def runs_own_code(self) -> bool:
        """Whether the checkpoint brings Python code of its own (``auto_map``)."""
        return isinstance(self.at(("auto_map",)), Mapping)


def view(keys: Keys) -> str:
    """How the ``vllm_config`` of an inner model with its configuration at a path is written."""
    return f"vllm_config[{'/'.join(keys)}]" if keys else "vllm_config"


def read_checkpoint(path: Path, aliases: Mapping[str, str] | None = None) -> Checkpoint:
    """Read a ``config.json``, or that of a folder.

    Args:
        path: the file or the folder.
        aliases: keys that this release gives another name too, unless the file has that already.

    Raises:
        InputError: there is none, or it holds no JSON object.
    """
    file = path / CONFIG if path.is_dir() else path
    try:
        if file.stat().st_size > LARGEST:
            raise InputError(f"{file}: larger than {LARGEST // 1_000_000} MB, so no configuration of a checkpoint")
        values = json.loads(file.read_text("utf-8-sig"))
    except OSError as error:
        raise InputError(f"{file}: cannot be read: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{file}: no JSON: {' '.join(str(error).split())}") from None
    if not isinstance(values, dict):
        raise InputError(f"{file}: a configuration is a JSON object, this is {type(values).__name__}")
    for old, new in (aliases or {}).items():
        if old in values:
            values.setdefault(new, values[old])
    return Checkpoint(values, str(file))
