"""VC003 unreachable-decoder."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from analyzer import evidence, members, repair
from analyzer.audit import Audit
from analyzer.chains import MethodResult
from analyzer.contracts import Contract
from analyzer.findings import Finding
from analyzer.index import ClassInfo
from analyzer.models import Alternative, Model, Status
from rules._rule import Case, Rule


class UnreachableDecoder(Rule):
    """A class passes the check and its effective method cannot reach the decoder.

    The path is wrong, an attribute is missing, an assertion fails, or the layers land nowhere.
    """

    code = "VC003"
    name = "unreachable-decoder"
    severity = "error"
    what = "A class passes a contract's checker, and the effective method fails on its way to the decoder."
    why = (
        "The check is passed and the start fails behind it, with an AttributeError, or with "
        '"AssertionError: Model instance must inherit from EagleModelMixin to set auxiliary layers".'
    )
    how = "Delegate the methods explicitly to the inner model's own."

    bad = (
        Case(
            name="a subclass of a declaring wrapper swaps the inner model for one without the mixin",
            generation="0.20",
            architectures={"MangoForConditionalGeneration": "MangoForConditionalGeneration"},
            finds=(("VC003", "MangoForConditionalGeneration"),),
            source="""
                from torch import nn

                from .delta import DeltaForCausalLM
                from .gamma import GammaForConditionalGeneration


                class MangoForConditionalGeneration(GammaForConditionalGeneration):
                    def __init__(self, *, vllm_config, prefix=""):
                        nn.Module.__init__(self)
                        self.config = config = vllm_config.model_config.hf_config
                        self.image_token = config.image_token_index
                        with self._mark_language_model(vllm_config):
                            self.language_model = DeltaForCausalLM(vllm_config=vllm_config, prefix=prefix)

                    def make_empty_intermediate_tensors(self, batch_size, dtype, device):
                        return {}
                """,
        ),
        Case(
            name="the default looks at language_model and the model is called llm",
            architectures={"MangoForCausalLM": "MangoForCausalLM"},
            finds=(("VC003", "MangoForCausalLM"),),
            source="""
                from torch import nn

                from .alpha import AlphaForCausalLM
                from .interfaces import SupportsEagle3


                class MangoForCausalLM(nn.Module, SupportsEagle3):
                    def __init__(self, *, vllm_config, prefix=""):
                        super().__init__()
                        self.llm = AlphaForCausalLM(vllm_config=vllm_config, prefix=prefix)

                    def forward(self, input_ids, positions, **kwargs):
                        return self.llm(input_ids, positions, **kwargs)

                    def compute_logits(self, hidden_states):
                        return self.llm.compute_logits(hidden_states)
                """,
        ),
        Case(
            name="the methods write past the inner model's own and miss its decoder",
            generation="0.16",
            architectures={
                "MangoAlphaForCausalLM": "MangoAlphaForCausalLM",
                "MangoForCausalLM": "MangoForCausalLM",
            },
            finds=(("VC003", "MangoForCausalLM"),),
            source="""
                from torch import nn

                from .alpha import AlphaModel
                from .interfaces import SupportsEagle3
                from .utils import init_vllm_registered_model


                class MangoForCausalLM(nn.Module, SupportsEagle3):
                    def __init__(self, *, vllm_config, prefix=""):
                        super().__init__()
                        self.language_model = init_vllm_registered_model(
                            vllm_config, architectures=["MangoAlphaForCausalLM"]
                        )

                    def set_aux_hidden_state_layers(self, layers):
                        self.language_model.model.aux_hidden_state_layers = layers

                    def get_eagle3_aux_hidden_state_layers(self):
                        num_layers = len(self.language_model.model.layers)
                        return (2, num_layers // 2, num_layers - 3)

                    def forward(self, input_ids, positions, **kwargs):
                        return self.language_model(input_ids, positions, **kwargs)

                    def compute_logits(self, hidden_states):
                        return self.language_model.compute_logits(hidden_states)


                class MangoAlphaForCausalLM(nn.Module, SupportsEagle3):
                    def __init__(self, *, vllm_config, prefix=""):
                        super().__init__()
                        self.transformer = AlphaModel(vllm_config=vllm_config, prefix=prefix)

                    def set_aux_hidden_state_layers(self, layers):
                        self.transformer.aux_hidden_state_layers = layers

                    def get_eagle3_aux_hidden_state_layers(self):
                        return (1, 2, 3)

                    def forward(self, input_ids, positions, **kwargs):
                        return self.transformer(input_ids, positions, **kwargs)

                    def compute_logits(self, hidden_states):
                        return hidden_states
                """,
        ),
        Case(
            name="up to 0.26 the default needs a decoder at model, and this model is its own",
            generation="0.20",
            architectures={"MangoAlphaForCausalLM": "MangoAlphaForCausalLM"},
            finds=(("VC003", "MangoAlphaForCausalLM"),),
            source="""
                from .alpha import AlphaModel
                from .interfaces import SupportsEagle3


                class MangoAlphaForCausalLM(AlphaModel, SupportsEagle3):
                    def compute_logits(self, hidden_states):
                        return hidden_states
                """,
        ),
        Case(
            name="an inherited method serves one heir and fails in another, whose fault it is",
            architectures={"MangoForCausalLM": "MangoForCausalLM", "MangoLightForCausalLM": "MangoLightForCausalLM"},
            finds=(("VC003", "MangoLightForCausalLM"),),
            source="""
                from torch import nn

                from .delta import DeltaForCausalLM
                from .interfaces import SupportsEagle3


                class MangoBase(nn.Module, SupportsEagle3):
                    def set_aux_hidden_state_layers(self, layers):
                        self.text_model.set_aux_hidden_state_layers(layers)

                    def get_eagle3_default_aux_hidden_state_layers(self):
                        return self.text_model.get_eagle3_default_aux_hidden_state_layers()


                class MangoForCausalLM(MangoBase):
                    def __init__(self, *, vllm_config, prefix=""):
                        super().__init__()
                        self.text_model = DeltaForCausalLM(vllm_config=vllm_config, prefix=prefix)

                    def forward(self, input_ids, positions, **kwargs):
                        return self.text_model(input_ids, positions, **kwargs)

                    def compute_logits(self, hidden_states):
                        return self.text_model.compute_logits(hidden_states)


                class MangoLightForCausalLM(MangoBase):
                    def __init__(self, *, vllm_config, prefix=""):
                        super().__init__()
                        self.llm = DeltaForCausalLM(vllm_config=vllm_config, prefix=prefix)

                    def forward(self, input_ids, positions, **kwargs):
                        return self.llm(input_ids, positions, **kwargs)

                    def compute_logits(self, hidden_states):
                        return self.llm.compute_logits(hidden_states)
                """,
        ),
        Case(
            name="a method that fails before a decoder that never reads the layers, which delegating does not mend",
            generation="0.20",
            architectures={
                "MangoDeltaForCausalLM": "MangoDeltaForCausalLM",
                "MangoForCausalLM": "MangoForCausalLM",
            },
            finds=(("VC003", "MangoForCausalLM"), ("VC007", "MangoDeltaForCausalLM")),
            source="""
                from torch import nn

                from .delta import DeltaForCausalLM, DeltaModel
                from .interfaces import SupportsEagle3


                class MangoForCausalLM(nn.Module, SupportsEagle3):
                    def __init__(self, *, vllm_config, prefix=""):
                        super().__init__()
                        self.language_model = MangoDeltaForCausalLM(vllm_config=vllm_config, prefix=prefix)

                    def forward(self, input_ids, positions, **kwargs):
                        return self.language_model(input_ids, positions, **kwargs)

                    def compute_logits(self, hidden_states):
                        return self.language_model.compute_logits(hidden_states)


                class MangoModel(DeltaModel):
                    def forward(self, input_ids, positions, intermediate_tensors=None, inputs_embeds=None):
                        hidden_states = self.embed_input_ids(input_ids) if inputs_embeds is None else inputs_embeds
                        for layer in self.layers:
                            hidden_states = layer(hidden_states)
                        return hidden_states


                class MangoDeltaForCausalLM(DeltaForCausalLM):
                    model_cls = MangoModel
                """,
        ),
    )
    good = (
        Case(
            name="the subclass delegates to the inner model's own methods",
            generation="0.20",
            architectures={"MangoForConditionalGeneration": "MangoForConditionalGeneration"},
            source="""
                from torch import nn

                from .delta import DeltaForCausalLM
                from .gamma import GammaForConditionalGeneration


                class MangoForConditionalGeneration(GammaForConditionalGeneration):
                    def __init__(self, *, vllm_config, prefix=""):
                        nn.Module.__init__(self)
                        self.config = config = vllm_config.model_config.hf_config
                        self.image_token = config.image_token_index
                        with self._mark_language_model(vllm_config):
                            self.language_model = DeltaForCausalLM(vllm_config=vllm_config, prefix=prefix)

                    def set_aux_hidden_state_layers(self, layers):
                        self.language_model.set_aux_hidden_state_layers(layers)

                    def get_eagle3_default_aux_hidden_state_layers(self):
                        return self.language_model.get_eagle3_default_aux_hidden_state_layers()

                    def make_empty_intermediate_tensors(self, batch_size, dtype, device):
                        return {}
                """,
        ),
        Case(
            name="a property leads the default to a model of another name",
            architectures={"MangoForCausalLM": "MangoForCausalLM"},
            source="""
                from torch import nn

                from .alpha import AlphaForCausalLM
                from .interfaces import SupportsEagle3


                class MangoForCausalLM(nn.Module, SupportsEagle3):
                    def __init__(self, *, vllm_config, prefix=""):
                        super().__init__()
                        self.thinker = AlphaForCausalLM(vllm_config=vllm_config, prefix=prefix)

                    @property
                    def language_model(self):
                        return self.thinker

                    def forward(self, input_ids, positions, **kwargs):
                        return self.thinker(input_ids, positions, **kwargs)

                    def compute_logits(self, hidden_states):
                        return self.thinker.compute_logits(hidden_states)
                """,
        ),
        Case(
            name="an overridden get_language_model leads it to a nested decoder",
            architectures={"MangoForConditionalGeneration": "MangoForConditionalGeneration"},
            source="""
                from torch import nn

                from .alpha import AlphaModel
                from .interfaces import SupportsEagle3, SupportsMultiModal


                class MangoModel(nn.Module):
                    def __init__(self, *, vllm_config, prefix=""):
                        super().__init__()
                        self.encoder = nn.Identity()
                        self.decoder = AlphaModel(vllm_config=vllm_config, prefix=prefix)

                    def forward(self, input_ids, positions, inputs_embeds=None):
                        return self.decoder(input_ids, positions, inputs_embeds=inputs_embeds)


                class MangoForConditionalGeneration(nn.Module, SupportsMultiModal, SupportsEagle3):
                    def __init__(self, *, vllm_config, prefix=""):
                        super().__init__()
                        self.config = config = vllm_config.model_config.hf_config
                        self.image_token = config.image_token_index
                        self.model = MangoModel(vllm_config=vllm_config, prefix=prefix)

                    def get_language_model(self):
                        return self.model.decoder

                    def forward(self, input_ids, positions, intermediate_tensors=None):
                        return self.model(input_ids, positions)

                    def compute_logits(self, hidden_states):
                        return hidden_states
                """,
        ),
        Case(
            name="from 0.28 a model may be its own decoder",
            architectures={"MangoAlphaForCausalLM": "MangoAlphaForCausalLM"},
            source="""
                from .alpha import AlphaModel
                from .interfaces import SupportsEagle3


                class MangoAlphaForCausalLM(AlphaModel, SupportsEagle3):
                    def compute_logits(self, hidden_states):
                        return hidden_states
                """,
        ),
    )

    def check(self, audit: Audit) -> Iterator[Finding]:
        for contract in audit.delegated:
            broken = [m for m in audit.serving if _unreachable(m, audit.status(m, contract))]
            for owner, models in audit.by_owner(broken, partial(_at_fault, audit, contract)):
                model = models[0]
                status = audit.status(model, contract)
                alternative = _first_broken(status)
                result, why = _fault(alternative)
                yield self.finding(
                    contract,
                    owner,
                    audit.position(owner),
                    f"{owner.name} passes {contract.checker}, but {result.method.name} cannot reach the decoder: {why}",
                    architectures=audit.architectures(models),
                    confidence="config-dependent" if status.config_decides else "certain",
                    fix=repair.delegate(audit, owner, models, status),
                    chain=evidence.chain_links(audit, model, status, alternative),
                    gates=audit.gate_uses(contract),
                    builds_inner=audit.site_position(alternative.inner),
                )


def _unreachable(model: Model, status: Status) -> bool:
    if not status.satisfied or not status.alternatives:
        return False
    if not all(_broken(a) for a in status.alternatives):
        return False  # for some of the models that the configuration can choose it works
    return not model.inner or model.wraps_decoder or any(a.supported is not False for a in status.alternatives)


def _broken(alternative: Alternative) -> bool:
    result = alternative.outer.broken
    return (result is not None and result.how != "stub") or _astray(alternative)


def _astray(alternative: Alternative) -> bool:
    """Whether the layers are stored where no forward reads them, while the inner model's own method does right."""
    outer, own = alternative.outer, alternative.own
    return outer.lost and own is not None and own.capture is not None and own.capture.ok is True


def _first_broken(status: Status) -> Alternative:
    broken = [a for a in status.alternatives if _broken(a)]
    return next((a for a in broken if a.supported is not False), broken[0])


def _fault(alternative: Alternative) -> tuple[MethodResult, str]:
    """The method that is broken, and why."""
    outer = alternative.outer
    if outer.broken is not None:
        return outer.broken, outer.broken.reason
    result = next(m for m in outer.methods if m.stores)
    store = result.stores[0]
    return result, f"it sets {store.attribute} on {store.instance.cls.name}, whose forward never reads that"


def _at_fault(audit: Audit, contract: Contract, model: Model) -> ClassInfo:
    """The class that defines the failing method, unless it serves another heir; else the builder."""
    result, _ = _fault(_first_broken(audit.status(model, contract)))
    definer = result.owner
    if definer is None or result.from_contract or members.is_protocol(definer) or not model.cls.derives_from(definer):
        return audit.owner(model)
    heirs = [m for m in audit.deriving(definer) if m.serves and audit.status(m, contract).satisfied]
    serves_another = any(a.outer.ok is not False for m in heirs for a in audit.status(m, contract).alternatives)
    return audit.owner(model) if serves_another else definer
