"""VC004 overclaimed-support."""

from __future__ import annotations

from collections.abc import Iterator

from analyzer import evidence
from analyzer.audit import Audit
from analyzer.chains import Chain
from analyzer.findings import Finding, Fix
from analyzer.models import Status
from rules._rule import Case, Rule


class OverclaimedSupport(Rule):
    """A wrapper passes the check, usually by inheritance, and its inner model does not support the contract at all."""

    code = "VC004"
    name = "overclaimed-support"
    severity = "error"
    what = "A wrapper passes a contract's checker, and its inner model does not support the contract."
    why = (
        'The engine believes the claim and fails behind it, with "AssertionError: Model instance must inherit from '
        'EagleModelMixin" for instance, or goes on without the auxiliary states and the drafter guesses blindly.'
    )
    how = "Teach the inner model, or do not inherit the claim: no mechanical repair is offered."

    bad = (
        Case(
            name="the claim is inherited and the inner model is another one",
            architectures={"OliveForConditionalGeneration": "OliveForConditionalGeneration"},
            finds=(("VC004", "OliveForConditionalGeneration"),),
            source="""
                from torch import nn

                from .beta import BetaForCausalLM
                from .gamma import GammaForConditionalGeneration


                class OliveForConditionalGeneration(GammaForConditionalGeneration):
                    def __init__(self, *, vllm_config, prefix=""):
                        nn.Module.__init__(self)
                        self.language_model = BetaForCausalLM(vllm_config=vllm_config, prefix=prefix)
                        self.make_empty_intermediate_tensors = self.language_model.make_empty_intermediate_tensors
                """,
        ),
        Case(
            name="it delegates to methods that the inner model does not have",
            generation="0.16",
            architectures={"OliveForCausalLM": "OliveForCausalLM"},
            finds=(("VC004", "OliveForCausalLM"),),
            source="""
                from torch import nn

                from .interfaces import SupportsEagle3
                from .utils import init_vllm_registered_model


                class OliveForCausalLM(nn.Module, SupportsEagle3):
                    def __init__(self, *, vllm_config, prefix=""):
                        super().__init__()
                        self.language_model = init_vllm_registered_model(
                            vllm_config, architectures=["BetaForCausalLM"]
                        )

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
    )
    good = (
        Case(
            name="the subclass swaps one supporting model for another",
            architectures={"OliveForConditionalGeneration": "OliveForConditionalGeneration"},
            source="""
                from torch import nn

                from .gamma import GammaForConditionalGeneration
                from .utils import init_vllm_registered_model


                class OliveForConditionalGeneration(GammaForConditionalGeneration):
                    def __init__(self, *, vllm_config, prefix=""):
                        nn.Module.__init__(self)
                        self.config = config = vllm_config.model_config.hf_config
                        self.image_token = config.image_token_index
                        self.language_model = init_vllm_registered_model(
                            vllm_config, hf_config=config.text_config, architectures=["AlphaForCausalLM"]
                        )
                        self.make_empty_intermediate_tensors = self.language_model.make_empty_intermediate_tensors
                """,
        ),
        Case(
            name="the configuration chooses: the claim holds for some of the models and fails clearly for others",
            generation="0.16",
            architectures={"OliveForCausalLM": "OliveForCausalLM"},
            source="""
                from torch import nn

                from .interfaces import SupportsEagle3, supports_eagle3
                from .utils import init_vllm_registered_model


                class OliveForCausalLM(nn.Module, SupportsEagle3):
                    def __init__(self, *, vllm_config, prefix=""):
                        super().__init__()
                        self.language_model = init_vllm_registered_model(
                            vllm_config, hf_config=vllm_config.model_config.hf_config.text_config
                        )

                    def _require_eagle3(self):
                        if not supports_eagle3(self.language_model):
                            raise RuntimeError(f"{type(self.language_model).__name__} hands out no auxiliary states")

                    def set_aux_hidden_state_layers(self, layers):
                        self._require_eagle3()
                        self.language_model.set_aux_hidden_state_layers(layers)

                    def get_eagle3_aux_hidden_state_layers(self):
                        self._require_eagle3()
                        return self.language_model.get_eagle3_aux_hidden_state_layers()

                    def forward(self, input_ids, positions, **kwargs):
                        return self.language_model(input_ids, positions, **kwargs)

                    def compute_logits(self, hidden_states):
                        return self.language_model.compute_logits(hidden_states)
                """,
        ),
    )

    def check(self, audit: Audit) -> Iterator[Finding]:
        for contract in audit.delegated:
            claiming = [
                m for m in audit.serving if m.inner and not m.wraps_decoder and _overclaims(audit.status(m, contract))
            ]
            for owner, models in audit.by_owner(claiming):
                model = models[0]
                status = audit.status(model, contract)
                alternative = status.alternatives[0]
                names = " or ".join(dict.fromkeys(a.cls.name for a in status.alternatives if a.cls is not None))
                attribute = alternative.inner.attribute if alternative.inner is not None else ""
                yield self.finding(
                    contract,
                    owner,
                    audit.position(owner),
                    f"{owner.name} passes {contract.checker}, but its inner model self.{attribute}, {names}, "
                    f"does not support {contract.name}",
                    architectures=audit.architectures(models),
                    fix=Fix("none", f"{names} itself would have to support {contract.name} first"),
                    chain=evidence.chain_links(audit, model, status, alternative),
                    gates=audit.gate_uses(contract),
                    builds_inner=audit.site_position(alternative.inner),
                )


def _overclaims(status: Status) -> bool:
    alternatives = status.alternatives
    if not status.satisfied or not alternatives or status.config_decides:
        return False
    return all(a.supported is False and a.outer.ok is False and not _reaches(a.outer) for a in alternatives)


def _reaches(chain: Chain) -> bool:
    """Whether the inner model does its part, whatever its checker says: then it is the forward that fails."""
    return bool(chain.reaches and chain.capture is not None and chain.capture.ok)
