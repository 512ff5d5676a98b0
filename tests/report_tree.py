"""A small checkout for tests of reports and of the command line: one fault of each weight, and a sound wrapper."""

from __future__ import annotations

from pathlib import Path

FILES = {
    "vllm/__init__.py": "",
    "vllm/_version.py": "__version__ = version = '0.33.0'\n",
    "vllm/model_executor/__init__.py": "",
    "vllm/model_executor/models/__init__.py": "",
    "vllm/model_executor/models/interfaces.py": """\
from typing import ClassVar, Literal, Protocol, TypeIs, runtime_checkable


class EagleModelMixin:
    aux_hidden_state_layers: tuple[int, ...] = ()


@runtime_checkable
class SupportsEagle3(Protocol):
    supports_eagle3: ClassVar[Literal[True]] = True

    def set_aux_hidden_state_layers(self, layers: tuple[int, ...]) -> None:
        holder = getattr(self, "language_model", self)
        holder = getattr(holder, "model", holder)
        assert isinstance(holder, EagleModelMixin), "must inherit from EagleModelMixin"
        holder.aux_hidden_state_layers = layers

    def get_eagle3_default_aux_hidden_state_layers(self) -> tuple[int, ...]:
        return (2, 4, 5)


def supports_eagle3(model: object) -> TypeIs[SupportsEagle3]:
    return isinstance(model, SupportsEagle3)
""",
    "vllm/model_executor/models/registry.py": """\
_TEXT_GENERATION_MODELS = {
    "PlainForCausalLM": ("plain", "PlainForCausalLM"),
    "PlainTextForCausalLM": ("plain", "PlainForCausalLM"),
    "BareForCausalLM": ("plain", "BareForCausalLM"),
}
_MULTIMODAL_MODELS = {
    "LackingVL": ("wrappers", "LackingVL"),
    "SoundVL": ("wrappers", "SoundVL"),
    "BoastfulVL": ("wrappers", "BoastfulVL"),
    "ChosenVL": ("wrappers", "ChosenVL"),
}
_VLLM_MODELS = {**_TEXT_GENERATION_MODELS, **_MULTIMODAL_MODELS}
""",
    "vllm/model_executor/models/utils.py": '''\
def init_vllm_registered_model(vllm_config, *, prefix="", hf_config=None, architectures=None):
    """Build the registered model of an architecture."""
''',
    "vllm/model_executor/models/plain.py": """\
from torch import nn

from .interfaces import EagleModelMixin, SupportsEagle3


class PlainModel(nn.Module, EagleModelMixin):
    def __init__(self, *, vllm_config, prefix=""):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(2, 2) for _ in range(8)])

    def forward(self, input_ids, positions, intermediate_tensors=None, inputs_embeds=None):
        hidden_states = inputs_embeds
        aux_hidden_states = []
        for index, layer in enumerate(self.layers):
            if index in self.aux_hidden_state_layers:
                aux_hidden_states.append(hidden_states)
            hidden_states = layer(hidden_states)
        if len(aux_hidden_states) > 0:
            return hidden_states, aux_hidden_states
        return hidden_states


class PlainForCausalLM(nn.Module, SupportsEagle3):
    def __init__(self, *, vllm_config, prefix=""):
        super().__init__()
        self.model = PlainModel(vllm_config=vllm_config)

    def forward(self, input_ids, positions, intermediate_tensors=None, inputs_embeds=None):
        return self.model(input_ids, positions, intermediate_tensors, inputs_embeds)

    def compute_logits(self, hidden_states):
        return hidden_states


class BareModel(nn.Module):
    def __init__(self, *, vllm_config, prefix=""):
        super().__init__()

    def forward(self, input_ids, positions, intermediate_tensors=None, inputs_embeds=None):
        return inputs_embeds


class BareForCausalLM(nn.Module):
    def __init__(self, *, vllm_config, prefix=""):
        super().__init__()
        self.model = BareModel(vllm_config=vllm_config)

    def forward(self, input_ids, positions, intermediate_tensors=None, inputs_embeds=None):
        return self.model(input_ids, positions, intermediate_tensors, inputs_embeds)

    def compute_logits(self, hidden_states):
        return hidden_states
""",
    "vllm/model_executor/models/wrappers.py": """\
from torch import nn

from .interfaces import SupportsEagle3
from .utils import init_vllm_registered_model


class _Wrapper(nn.Module):
    def forward(self, input_ids, positions, intermediate_tensors=None, inputs_embeds=None):
        return self.language_model.model(input_ids, positions, intermediate_tensors, inputs_embeds)

    def compute_logits(self, hidden_states):
        return self.language_model.compute_logits(hidden_states)


class LackingVL(_Wrapper):
    def __init__(self, *, vllm_config, prefix=""):
        super().__init__()
        self.language_model = init_vllm_registered_model(
            vllm_config=vllm_config, architectures=["PlainForCausalLM"]
        )


class SoundVL(_Wrapper, SupportsEagle3):
    def __init__(self, *, vllm_config, prefix=""):
        super().__init__()
        self.language_model = init_vllm_registered_model(
            vllm_config=vllm_config, architectures=["PlainForCausalLM"]
        )


class BoastfulVL(_Wrapper, SupportsEagle3):
    def __init__(self, *, vllm_config, prefix=""):
        super().__init__()
        self.language_model = init_vllm_registered_model(
            vllm_config=vllm_config, architectures=["BareForCausalLM"]
        )


class ChosenVL(_Wrapper):
    def __init__(self, *, vllm_config, prefix=""):
        super().__init__()
        config = vllm_config.model_config.hf_config
        self.language_model = init_vllm_registered_model(vllm_config=vllm_config, hf_config=config.text_config)
""",
    "vllm/v1/__init__.py": "",
    "vllm/v1/runner.py": """\
from vllm.model_executor.models.interfaces import supports_eagle3


class Runner:
    def load_model(self):
        if not supports_eagle3(self.get_model()):
            raise RuntimeError("Model does not support EAGLE3 interface [aux_hidden_states]")
        layers = self.get_model().get_eagle3_default_aux_hidden_state_layers()
        self.get_model().set_aux_hidden_state_layers(layers)
""",
}

WRAPPERS = "vllm/model_executor/models/wrappers.py"


def make_tree(root: Path, **changes: str | None) -> Path:
    """Write the checkout.

    Args:
        root: where; the folder is made.
        changes: other contents for the file whose name (without folder and suffix) is given; None leaves it out.
    """
    for name, text in FILES.items():
        path = root / name
        changed = changes.get(path.stem, text)
        if changed is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(changed, "utf-8")
    return root
