"""VC011 undeclared-model."""

from __future__ import annotations

from collections.abc import Iterator

from analyzer import evidence, repair
from analyzer.audit import Audit
from analyzer.chains import configures
from analyzer.contracts import Contract
from analyzer.findings import AddBase, AddImport, AddMethods, Edit, Finding, Fix
from analyzer.models import Model, Status
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
                if model.inner or status.satisfied is not False or status.verdict != "undeclared":
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
                    fix=_fix(audit, model, contract, status),
                    chain=evidence.chain_links(audit, model, status, status.alternatives[0], repaired=True),
                    gates=audit.gate_uses(contract),
                )


def _fix(audit: Audit, model: Model, contract: Contract, status: Status) -> Fix:
    cls, chain = model.cls, status.alternatives[0].repaired
    if chain.handing is not None and chain.handing.ok is False:
        return Fix("none", f"declaring it would only move the failure: {chain.handing.detail}")
    position = repair.base_position(audit, cls, contract)
    if position is None:
        return Fix("none", f"adding {contract.name} to the bases of {cls.name} has no consistent order")
    edits: list[Edit] = [
        AddBase(cls.path, cls.facts.qualname, contract.name, position),
        AddImport(cls.path, contract.cls.module.module, contract.name),
    ]
    what = f"add {contract.name} to the bases of {cls.name}"
    if chain.reaches is not True:
        made = _methods(model, contract, status)
        if not made:
            return Fix("none", f"the contract's default does not reach {chain.attribute}")
        edits.append(AddMethods(cls.path, cls.facts.qualname, made, ("compute_logits", "forward", "__init__")))
        what += " and its methods"
    why = "" if chain.handing is not None and chain.handing.ok else "forward could not be followed to the end"
    return Fix("unsafe" if why else "safe", what, tuple(edits), why)


def _methods(model: Model, contract: Contract, status: Status) -> tuple[str, ...]:
    """The methods as text models of the old generation write them: the layers are set on the decoder."""
    chain = status.alternatives[0].repaired
    if chain.holder is None or not chain.holder.trail:
        return ()
    decoder = ".".join(("self", *chain.holder.trail))
    sources = []
    for method in contract.methods:
        if configures(method):
            given = method.facts.parameters[1].name
            sources.append(f"def {method.name}{method.signature}:\n    {decoder}.{chain.attribute} = {given}\n")
        else:
            sources.append(
                f"def {method.name}{method.signature}:\n"
                f"    num_layers = len({decoder}.layers)\n"
                "    return (2, num_layers // 2, num_layers - 3)\n"
            )
    del model
    return tuple(sources)
