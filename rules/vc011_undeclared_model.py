"""VC011 undeclared-model."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from analyzer import evidence, repair
from analyzer.audit import Audit
from analyzer.findings import Finding
from analyzer.index import ClassInfo
from analyzer.models import Model, Status
from rules._rule import Case, Rule


class UndeclaredModel(Rule):
    """A model's decoder collects and returns auxiliary states and the class does not declare the contract."""

    code = "VC011"
    name = "undeclared-model"
    severity = "warning"
    what = "A model without an inner one has a decoder that captures, and does not declare the contract."
    why = (
        'All the work is done and the runner still refuses the model ("Model does not support EAGLE3 interface"), '
        "because the class does not say so."
    )
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
            lacking = [m for m in audit.serving if _is_undeclared(audit.status(m, contract), m)]
            for owner, models in audit.by_owner(lacking, partial(_owner, audit)):
                status = audit.status(models[0], contract)
                found = next((a for a in status.alternatives if a.repaired.holder is not None), None)
                if found is None or found.repaired.holder is None:
                    continue  # supported by what is inside, and what holds the layers there is not known
                holder = found.repaired.holder
                yield self.finding(
                    contract,
                    owner,
                    audit.position(owner),
                    f"{owner.name} fails {contract.checker} although its decoder {holder.cls.name} collects and "
                    "returns the auxiliary states",
                    architectures=audit.architectures(models),
                    fix=repair.declare_model(audit, models[0], status),
                    chain=evidence.chain_links(audit, models[0], status, found, repaired=True),
                    gates=audit.gate_uses(contract),
                )


def _is_undeclared(status: Status, model: Model) -> bool:
    wraps_model = bool(model.inner) and not model.wraps_decoder
    return not wraps_model and status.satisfied is False and status.verdict == "undeclared"


def _owner(audit: Audit, model: Model) -> ClassInfo:
    return audit.owner(model) if model.wraps_decoder else model.cls
