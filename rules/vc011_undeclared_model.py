"""VC011 undeclared-model."""

from __future__ import annotations

from collections.abc import Iterator

from analyzer import evidence, repair
from analyzer.audit import Audit
from analyzer.findings import Finding
from rules._rule import Case, Rule


class UndeclaredModel(Rule):
    """A model's decoder collects and returns auxiliary states and the class does not declare the contract."""

    code = "VC011"
    name = "undeclared-model"
    severity = "warning"
    what = "A model without an inner one has a decoder that captures, and does not declare the contract."
    why = "All the work is done and the runner still refuses the model, because the class does not say so."
    how = "Add the Protocol to the bases; in older generations also its two methods."

    bad = (
        Case(
            name="the decoder does all the work and the class does not say so",
            architectures={"ThymeForCausalLM": "ThymeForCausalLM"},
            finds=(("VC011", "ThymeForCausalLM"),),
            source="""
                from torch import nn

                from .alpha import AlphaModel


                class ThymeForCausalLM(nn.Module):
                    def __init__(self, *, vllm_config, prefix=""):
                        super().__init__()
                        self.model = AlphaModel(vllm_config=vllm_config, prefix=prefix)

                    def forward(self, input_ids, positions, **kwargs):
                        return self.model(input_ids, positions, **kwargs)

                    def compute_logits(self, hidden_states):
                        return hidden_states
                """,
        ),
        Case(
            name="in the old generation the two methods are missing with the base",
            generation="0.16",
            architectures={"ThymeAlphaForCausalLM": "ThymeAlphaForCausalLM"},
            finds=(("VC011", "ThymeAlphaForCausalLM"),),
            source="""
                from torch import nn

                from .alpha import AlphaModel


                class ThymeAlphaForCausalLM(nn.Module):
                    def __init__(self, *, vllm_config, prefix=""):
                        super().__init__()
                        self.model = AlphaModel(vllm_config=vllm_config, prefix=prefix)

                    def forward(self, input_ids, positions, **kwargs):
                        return self.model(input_ids, positions, **kwargs)

                    def compute_logits(self, hidden_states):
                        return hidden_states
                """,
        ),
    )
    good = (
        Case(
            name="the class says so",
            architectures={"ThymeForCausalLM": "ThymeForCausalLM"},
            source="""
                from torch import nn

                from .alpha import AlphaModel
                from .interfaces import SupportsEagle3


                class ThymeForCausalLM(nn.Module, SupportsEagle3):
                    def __init__(self, *, vllm_config, prefix=""):
                        super().__init__()
                        self.model = AlphaModel(vllm_config=vllm_config, prefix=prefix)

                    def forward(self, input_ids, positions, **kwargs):
                        return self.model(input_ids, positions, **kwargs)

                    def compute_logits(self, hidden_states):
                        return hidden_states
                """,
        ),
        Case(
            name="the decoder collects nothing, so there is nothing to declare",
            generation="0.20",
            architectures={"ThymeForCausalLM": "ThymeForCausalLM"},
            source="""
                from torch import nn

                from .beta import BetaModel


                class ThymeForCausalLM(nn.Module):
                    def __init__(self, *, vllm_config, prefix=""):
                        super().__init__()
                        self.model = BetaModel(vllm_config=vllm_config, prefix=prefix)

                    def forward(self, input_ids, positions, **kwargs):
                        return self.model(input_ids, positions)

                    def compute_logits(self, hidden_states):
                        return hidden_states
                """,
        ),
    )

    def check(self, audit: Audit) -> Iterator[Finding]:
        for contract in audit.delegated:
            for model in audit.serving:
                status = audit.status(model, contract)
                if (
                    (model.inner and not model.wraps_decoder)
                    or status.satisfied is not False
                    or status.verdict != "undeclared"
                ):
                    continue
                holder = status.alternatives[0].repaired.holder
                assert holder is not None
                yield self.finding(
                    contract,
                    model.cls,
                    audit.position(model.cls),
                    f"{model.cls.name} fails {contract.checker} although its decoder {holder.cls.name} collects and "
                    "returns the auxiliary states",
                    architectures=model.architectures,
                    fix=repair.declare_model(audit, model, status),
                    chain=evidence.chain_links(audit, model, status, status.alternatives[0], repaired=True),
                    gates=audit.gate_uses(contract),
                )
