"""VC001 undeclared-support."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from analyzer import evidence, repair, takeover
from analyzer.audit import Audit
from analyzer.contracts import Contract
from analyzer.findings import Confidence, Finding
from analyzer.index import ClassInfo
from analyzer.models import Model, Status
from analyzer.owed import Owed, owed, owed_links
from rules._rule import Case, Rule


class UndeclaredSupport(Rule):
    """The inner model passes a contract's checker and the wrapper around it fails it.

    The runner asks the outer model.  A wrapper that neither inherits the Protocol nor has its members is refused,
    whatever its inner model can do.
    """

    code = "VC001"
    name = "undeclared-support"
    severity = "error"
    what = "A wrapper fails a contract's checker although its inner model passes it."
    why = (
        "The runner asks the outer model, after it was loaded: the feature is refused with "
        '"Model does not support EAGLE3 interface", often half an hour into the start. Pipeline parallelism, LoRA and '
        "the caches of hybrid models are asked of the outer class, too."
    )
    how = (
        "Add the Protocol to the wrapper's bases. Where the contract's default does not reach the decoder, "
        "delegate its methods to the inner model's own; where the configuration chooses the inner model, "
        "ask it first and raise a clear error."
    )

    bad = (
        Case(
            name="a wrapper that builds a supporting model and does not say so",
            architectures={"KiwiForConditionalGeneration": "KiwiForConditionalGeneration"},
            finds=(("VC001", "KiwiForConditionalGeneration"),),
            source="""
                from torch import nn

                from .interfaces import SupportsMultiModal
                from .utils import init_vllm_registered_model


                class KiwiForConditionalGeneration(nn.Module, SupportsMultiModal):
                    def __init__(self, *, vllm_config, prefix=""):
                        super().__init__()
                        self.config = config = vllm_config.model_config.hf_config
                        self.image_token = config.image_token_index
                        with self._mark_language_model(vllm_config):
                            self.language_model = init_vllm_registered_model(
                                vllm_config=vllm_config,
                                hf_config=config.text_config,
                                architectures=["AlphaForCausalLM"],
                            )

                    def forward(self, input_ids, positions, **kwargs):
                        return self.language_model(input_ids, positions, **kwargs)

                    def compute_logits(self, hidden_states):
                        return self.language_model.compute_logits(hidden_states)
                """,
        ),
        Case(
            name="in the old generation the two methods are missing as well",
            generation="0.16",
            architectures={"KiwiForConditionalGeneration": "KiwiForConditionalGeneration"},
            finds=(("VC001", "KiwiForConditionalGeneration"),),
            source="""
                from torch import nn

                from vllm.model_executor.models.interfaces import SupportsMultiModal, SupportsPP
                from vllm.model_executor.models.utils import init_vllm_registered_model, maybe_prefix


                class KiwiForConditionalGeneration(nn.Module, SupportsMultiModal, SupportsPP):
                    def __init__(self, *, vllm_config, prefix: str = "") -> None:
                        super().__init__()
                        self.config = config = vllm_config.model_config.hf_config
                        self.image_token = getattr(config, "image_token_index")
                        self.language_model: nn.Module = init_vllm_registered_model(
                            vllm_config, prefix=maybe_prefix(prefix, "lm"), architectures=["AlphaForCausalLM"]
                        )
                        self.make_empty_intermediate_tensors = self.language_model.make_empty_intermediate_tensors

                    def get_language_model(self) -> nn.Module:
                        return self.language_model

                    def forward(self, input_ids, positions, intermediate_tensors=None, inputs_embeds=None):
                        hidden_states = self.language_model.model(
                            input_ids, positions, intermediate_tensors, inputs_embeds=inputs_embeds
                        )
                        return hidden_states

                    def compute_logits(self, hidden_states):
                        return self.language_model.compute_logits(hidden_states)
                """,
        ),
        Case(
            name="the checkpoint's configuration chooses the inner model",
            architectures={"KiwiForConditionalGeneration": "KiwiForConditionalGeneration"},
            finds=(("VC001", "KiwiForConditionalGeneration"),),
            source="""
                from torch import nn

                from .interfaces import SupportsMultiModal
                from .utils import init_vllm_registered_model


                class KiwiForConditionalGeneration(nn.Module, SupportsMultiModal):
                    def __init__(self, *, vllm_config, prefix=""):
                        super().__init__()
                        self.config = config = vllm_config.model_config.hf_config
                        self.image_token = config.image_token_index
                        self.language_model = init_vllm_registered_model(vllm_config, hf_config=config.text_config)

                    def forward(self, input_ids, positions, **kwargs):
                        return self.language_model(input_ids, positions, **kwargs)

                    def compute_logits(self, hidden_states):
                        return self.language_model.compute_logits(hidden_states)
                """,
        ),
        Case(
            name="the architectures are read from the configuration, in the old generation",
            generation="0.16",
            architectures={"KiwiForCausalLM": "KiwiForCausalLM"},
            finds=(("VC001", "KiwiForCausalLM"),),
            source="""
                from torch import nn

                from vllm.model_executor.models.utils import init_vllm_registered_model


                class KiwiForCausalLM(nn.Module):
                    def __init__(self, *, vllm_config, prefix=""):
                        super().__init__()
                        text_config = vllm_config.model_config.hf_config.text_config
                        self.language_model = init_vllm_registered_model(
                            vllm_config=vllm_config.with_hf_config(text_config, architectures=text_config.architectures)
                        )

                    def forward(self, input_ids, positions, **kwargs):
                        return self.language_model(input_ids, positions, **kwargs)

                    def compute_logits(self, hidden_states):
                        return self.language_model.compute_logits(hidden_states)
                """,
        ),
        Case(
            name="a decoder that keeps a plain attribute needs explicit delegation, not the bare base",
            generation="0.20",
            architectures={"KiwiForConditionalGeneration": "KiwiForConditionalGeneration"},
            finds=(("VC001", "KiwiForConditionalGeneration"),),
            source="""
                from torch import nn

                from .delta import DeltaForCausalLM
                from .interfaces import SupportsMultiModal


                class KiwiForConditionalGeneration(nn.Module, SupportsMultiModal):
                    def __init__(self, *, vllm_config, prefix=""):
                        super().__init__()
                        self.config = config = vllm_config.model_config.hf_config
                        self.image_token = config.image_token_index
                        inner_config = vllm_config.with_hf_config(config.text_config)
                        with self._mark_language_model(vllm_config):
                            self.language_model = DeltaForCausalLM(vllm_config=inner_config, prefix=prefix)

                    def forward(self, input_ids, positions, **kwargs):
                        return self.language_model(input_ids, positions, **kwargs)

                    def compute_logits(self, hidden_states):
                        return self.language_model.compute_logits(hidden_states)
                """,
        ),
        Case(
            name="each branch builds another model and only one of them supports the contract",
            architectures={"KiwiForCausalLM": "KiwiForCausalLM"},
            finds=(("VC001", "KiwiForCausalLM"),),
            source="""
                from torch import nn

                from .utils import init_vllm_registered_model


                class KiwiForCausalLM(nn.Module):
                    def __init__(self, *, vllm_config, prefix=""):
                        super().__init__()
                        text_config = vllm_config.model_config.hf_config.text_config
                        if text_config.model_type == "beta":
                            architectures = ["BetaForCausalLM"]
                        else:
                            architectures = ["AlphaForCausalLM"]
                        self.language_model = init_vllm_registered_model(
                            vllm_config, hf_config=text_config, architectures=architectures
                        )

                    def forward(self, input_ids, positions, **kwargs):
                        return self.language_model(input_ids, positions, **kwargs)

                    def compute_logits(self, hidden_states):
                        return self.language_model.compute_logits(hidden_states)
                """,
        ),
        Case(
            name="the default does not look where this wrapper keeps its model",
            architectures={"KiwiForCausalLM": "KiwiForCausalLM"},
            finds=(("VC001", "KiwiForCausalLM"),),
            source="""
                from torch import nn

                from vllm.model_executor.model_loader.utils import initialize_model
                from vllm.model_executor.models.alpha import AlphaForCausalLM


                class KiwiForCausalLM(nn.Module):
                    def __init__(self, *, vllm_config, prefix=""):
                        super().__init__()
                        self.llm = initialize_model(vllm_config=vllm_config, model_class=AlphaForCausalLM)

                    def forward(self, input_ids, positions, **kwargs):
                        output = self.llm(input_ids, positions, **kwargs)
                        return output

                    def compute_logits(self, hidden_states):
                        return self.llm.compute_logits(hidden_states)
                """,
        ),
        Case(
            name="a class that dispatches in its own __new__ is judged by what it becomes, once for both",
            architectures={"KiwiForCausalLM": "KiwiForCausalLM"},
            finds=(("VC001", "KiwiBase"),),
            source="""
                from torch import nn

                from .utils import init_vllm_registered_model


                class KiwiBase(nn.Module):
                    architecture = "AlphaForCausalLM"

                    def __init__(self, *, vllm_config, prefix=""):
                        super().__init__()
                        self.language_model = init_vllm_registered_model(
                            vllm_config, architectures=[self.architecture]
                        )

                    def forward(self, input_ids, positions, **kwargs):
                        return self.language_model(input_ids, positions, **kwargs)

                    def compute_logits(self, hidden_states):
                        return self.language_model.compute_logits(hidden_states)


                class KiwiDense(KiwiBase):
                    pass


                class KiwiSparse(KiwiBase):
                    architecture = "DeltaForCausalLM"


                class KiwiForCausalLM(KiwiBase):
                    def __new__(cls, *, vllm_config, prefix=""):
                        sparse = vllm_config.model_config.hf_config.model_type == "delta"
                        chosen = KiwiSparse if sparse else KiwiDense
                        return chosen(vllm_config=vllm_config, prefix=prefix)
                """,
        ),
        Case(
            name="a wrapper that takes the tensors of earlier stages, and does not say so",
            generation="contracts",
            architectures={"KiwiForCausalLM": "KiwiForCausalLM"},
            finds=(("VC001", "KiwiForCausalLM"),),
            source="""
                from torch import nn

                from .beta import BetaForCausalLM
                from .utils import maybe_prefix


                class KiwiForCausalLM(nn.Module):
                    def __init__(self, *, vllm_config, prefix=""):
                        super().__init__()
                        self.config = vllm_config.model_config.hf_config
                        self.language_model = BetaForCausalLM(
                            vllm_config=vllm_config, prefix=maybe_prefix(prefix, "language_model")
                        )

                    def forward(self, input_ids, positions, intermediate_tensors=None, inputs_embeds=None):
                        return self.language_model(input_ids, positions, intermediate_tensors, inputs_embeds)

                    def compute_logits(self, hidden_states):
                        return self.language_model.compute_logits(hidden_states)
                """,
        ),
        Case(
            name="adapters, state, a hybrid's caches and experts that a wrapper keeps to itself",
            generation="contracts",
            architectures={"KiwiForConditionalGeneration": "KiwiForConditionalGeneration"},
            finds=(("VC001", "KiwiForConditionalGeneration"),) * 4,
            source="""
                from torch import nn

                from .interfaces import SupportsMultiModal, SupportsPP
                from .utils import init_vllm_registered_model


                class KiwiForConditionalGeneration(nn.Module, SupportsMultiModal, SupportsPP):
                    def __init__(self, *, vllm_config, prefix=""):
                        super().__init__()
                        self.config = vllm_config.model_config.hf_config
                        with self._mark_language_model(vllm_config):
                            self.language_model = init_vllm_registered_model(
                                vllm_config, architectures=["EpsilonForCausalLM"]
                            )
                        self.make_empty_intermediate_tensors = self.language_model.make_empty_intermediate_tensors

                    def embed_multimodal(self, **kwargs):
                        return list(kwargs.values())

                    def forward(self, input_ids, positions, intermediate_tensors=None, inputs_embeds=None):
                        return self.language_model(input_ids, positions, intermediate_tensors, inputs_embeds)

                    def compute_logits(self, hidden_states):
                        return self.language_model.compute_logits(hidden_states)
                """,
        ),
        Case(
            name="the class that builds the inner model builds one without support itself, and an heir another",
            architectures={
                "KiwiPlainForCausalLM": "KiwiPlainForCausalLM",
                "KiwiForCausalLM": "KiwiForCausalLM",
            },
            generation="0.33",
            finds=(("VC001", "KiwiForCausalLM"),),
            source="""
                from torch import nn

                from .utils import init_vllm_registered_model


                class KiwiPlainForCausalLM(nn.Module):
                    architecture = "BetaForCausalLM"

                    def __init__(self, *, vllm_config, prefix=""):
                        super().__init__()
                        self.language_model = init_vllm_registered_model(
                            vllm_config, architectures=[self.architecture]
                        )

                    def forward(self, input_ids, positions, **kwargs):
                        return self.language_model(input_ids, positions, **kwargs)

                    def compute_logits(self, hidden_states):
                        return self.language_model.compute_logits(hidden_states)


                class KiwiForCausalLM(KiwiPlainForCausalLM):
                    architecture = "AlphaForCausalLM"
                """,
        ),
    )
    good = (
        Case(
            name="the same wrapper with the base",
            architectures={"KiwiForConditionalGeneration": "KiwiForConditionalGeneration"},
            source="""
                from torch import nn

                from .interfaces import SupportsEagle3, SupportsMultiModal
                from .utils import init_vllm_registered_model


                class KiwiForConditionalGeneration(nn.Module, SupportsMultiModal, SupportsEagle3):
                    def __init__(self, *, vllm_config, prefix=""):
                        super().__init__()
                        self.config = config = vllm_config.model_config.hf_config
                        self.image_token = config.image_token_index
                        with self._mark_language_model(vllm_config):
                            self.language_model = init_vllm_registered_model(
                                vllm_config=vllm_config,
                                hf_config=config.text_config,
                                architectures=["AlphaForCausalLM"],
                            )

                    def forward(self, input_ids, positions, **kwargs):
                        return self.language_model(input_ids, positions, **kwargs)

                    def compute_logits(self, hidden_states):
                        return self.language_model.compute_logits(hidden_states)
                """,
        ),
        Case(
            name="the inner model does not support the contract either",
            architectures={"KiwiForConditionalGeneration": "KiwiForConditionalGeneration"},
            source="""
                from torch import nn

                from .beta import BetaForCausalLM
                from .interfaces import SupportsMultiModal


                class KiwiForConditionalGeneration(nn.Module, SupportsMultiModal):
                    def __init__(self, *, vllm_config, prefix=""):
                        super().__init__()
                        self.language_model = BetaForCausalLM(vllm_config=vllm_config, prefix=prefix)

                    def forward(self, input_ids, positions, **kwargs):
                        return self.language_model(input_ids, positions, **kwargs)

                    def compute_logits(self, hidden_states):
                        return self.language_model.compute_logits(hidden_states)
                """,
        ),
        Case(
            name="a wrapper that inherits nothing and has every member passes the check all the same",
            generation="0.16",
            architectures={"KiwiForCausalLM": "KiwiForCausalLM"},
            source="""
                from torch import nn

                from .utils import init_vllm_registered_model


                class KiwiForCausalLM(nn.Module):
                    supports_eagle3 = True
                    has_own_lm_head = False
                    has_own_embed_tokens = False

                    def __init__(self, *, vllm_config, prefix=""):
                        super().__init__()
                        architectures = ["AlphaForCausalLM"]
                        self.language_model = init_vllm_registered_model(vllm_config, architectures=architectures)

                    def set_aux_hidden_state_layers(self, layers):
                        self.language_model.set_aux_hidden_state_layers(layers)

                    def get_eagle3_aux_hidden_state_layers(self):
                        return self.language_model.get_eagle3_aux_hidden_state_layers()

                    def forward(self, input_ids, positions, **kwargs):
                        return self.language_model(input_ids, positions, **kwargs)

                    def compute_logits(self, hidden_states):
                        return self.language_model.compute_logits(hidden_states)
                """,
        ),
        Case(
            name="a pooling model never speculates, whatever it is built around",
            architectures={"KiwiModel": "KiwiModel"},
            source="""
                from torch import nn

                from .alpha import AlphaForCausalLM


                class KiwiModel(nn.Module):
                    def __init__(self, *, vllm_config, prefix=""):
                        super().__init__()
                        self.language_model = AlphaForCausalLM(vllm_config=vllm_config, prefix=prefix)

                    def forward(self, input_ids, positions, **kwargs):
                        return self.language_model(input_ids, positions, **kwargs)

                    def compute_logits(self, hidden_states):
                        return self.language_model.compute_logits(hidden_states)
                """,
        ),
        Case(
            name="a draft head is built around a model and is no target",
            generation="0.20",
            architectures={"Eagle3KiwiForCausalLM": "Eagle3KiwiForCausalLM"},
            source="""
                from torch import nn

                from .alpha import AlphaForCausalLM


                class Eagle3KiwiForCausalLM(nn.Module):
                    def __init__(self, *, vllm_config, prefix=""):
                        super().__init__()
                        self.model = AlphaForCausalLM(vllm_config=vllm_config, prefix=prefix)

                    def forward(self, input_ids, positions, hidden_states):
                        return self.model(input_ids, positions, inputs_embeds=hidden_states)

                    def compute_logits(self, hidden_states):
                        return self.model.compute_logits(hidden_states)
                """,
        ),
    )

    def check(self, audit: Audit) -> Iterator[Finding]:
        for contract in audit.delegated:
            lacking = [
                m
                for m in audit.serving
                if m.inner
                and audit.status(m, contract).satisfied is False
                and any(a.supported for a in audit.status(m, contract).alternatives)
            ]
            for owner, models in audit.by_owner(lacking, partial(_at_fault, audit, contract)):
                yield self._report(audit, contract, owner, models)
        for contract in audit.contracts.values():
            owing = {one.model.cls: one for one in owed(audit, contract)}
            for owner, models in audit.by_owner([one.model for one in owing.values()]):
                yield self._report_owed(audit, owner, [owing[m.cls] for m in models])

    def _report_owed(self, audit: Audit, owner: ClassInfo, owing: list[Owed]) -> Finding:
        """A contract that is no matter of the decoder."""
        one = owing[0]
        contract, inner = one.contract, one.inner
        severity = contract.handling.undeclared
        certain = all(each.certain for each in owing)
        may = "supports" if one.passes else "may support"
        name = inner.cls.name if inner.cls is not None else ""
        return self.finding(
            contract,
            owner,
            audit.position(owner),
            f"{owner.name} fails {contract.checker} although its inner model self.{inner.attribute}, {name}, "
            f"{may} {contract.name}: {contract.handling.consequence}",
            architectures=audit.architectures([each.model for each in owing]),
            confidence="certain" if certain else "config-dependent",
            severity=severity if certain or severity != "error" else "warning",
            fix=takeover.take_over(audit, owner, owing),
            chain=owed_links(audit, one),
            gates=audit.check_uses(contract),
            builds_inner=audit.site_position(inner),
        )

    def _report(self, audit: Audit, contract: Contract, owner: ClassInfo, models: list[Model]) -> Finding:
        model = models[0]
        status = audit.status(model, contract)
        alternative = next(a for a in status.alternatives if a.supported)
        confidence = _confidence(status)
        architectures = audit.architectures(models)
        return self.finding(
            contract,
            owner,
            audit.position(owner),
            _message(status, owner, contract),
            architectures=architectures,
            confidence=confidence,
            severity="error" if confidence == "certain" and architectures else "warning",
            fix=repair.declare(audit, owner, models, status),
            chain=evidence.chain_links(audit, model, status, alternative, repaired=True),
            gates=audit.gate_uses(contract),
            builds_inner=audit.site_position(alternative.inner),
        )


def _at_fault(audit: Audit, contract: Contract, model: Model) -> ClassInfo:
    """The class that builds the inner model; the model's own where that is declared already and the class denies it,
    where only the model denies it, or where the other one is served too, and passes itself or is built around
    something else, that has no support."""
    owner = audit.owner(model)
    if contract.declared_by(model.cls) or _serves_without(audit, owner, contract):
        return model.cls
    denies = contract.check == "flag" and audit.denied(model.cls, contract) and not audit.denied(owner, contract)
    return model.cls if denies else owner


def _serves_without(audit: Audit, cls: ClassInfo, contract: Contract) -> bool:
    """Whether a class is a model itself that passes the check, or whose own inner models all lack a contract."""
    model = audit.model_set.models.get(cls.key)
    if model is None or not model.serves or not model.inner:
        return False
    status = audit.status(model, contract)
    return bool(status.satisfied) or not any(a.supported for a in status.alternatives)


def _confidence(status: Status) -> Confidence:
    if any(a.inner is not None and a.inner.resolution == "unresolved" for a in status.alternatives):
        return "unresolved"
    if status.config_decides or not all(a.supported for a in status.alternatives):
        return "config-dependent"
    return "certain"


def _message(status: Status, owner: ClassInfo, contract: Contract) -> str:
    supported = [a for a in status.alternatives if a.supported]
    if status.config_decides:
        attribute = next(a.inner.attribute for a in supported if a.inner is not None)
        return (
            f"{owner.name} fails {contract.checker}, and the model that the configuration chooses for "
            f"self.{attribute} may support {contract.name}"
        )
    names = " or ".join(dict.fromkeys(a.cls.name for a in supported if a.cls is not None))
    attribute = next((a.inner.attribute for a in supported if a.inner is not None), "")
    return (
        f"{owner.name} fails {contract.checker} although its inner model self.{attribute}, "
        f"{names}, supports {contract.name}"
    )
