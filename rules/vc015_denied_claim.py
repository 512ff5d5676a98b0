"""VC015 denied-claim."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from analyzer import members
from analyzer.audit import Audit
from analyzer.contracts import Contract
from analyzer.findings import Finding, Fix, Link
from analyzer.index import ClassInfo
from analyzer.models import Model
from analyzer.owed import missing_members, untaken
from rules._rule import Case, Rule


class DeniedClaim(Rule):
    """A class inherits a contract's Protocol, and the contract's own checker says no all the same.

    Some checkers ask for more than the base: that ``forward`` takes a keyword, that a number is above zero.
    """

    code = "VC015"
    name = "denied-claim"
    severity = "warning"
    what = "A class inherits a contract's Protocol, and the checker denies it: a member or a parameter is missing."
    why = "The class says that it can do it, and the engine refuses it, or passes it over without a word."
    how = "Give the class what the checker asks for, or take the base away."

    bad = (
        Case(
            name="a model that declares pipeline stages and whose forward takes nothing from the stage before",
            generation="contracts",
            architectures={"FigForCausalLM": "FigForCausalLM"},
            finds=(("VC015", "FigForCausalLM"),),
            source="""
                from torch import nn

                from .beta import BetaModel
                from .interfaces import SupportsPP


                class FigForCausalLM(nn.Module, SupportsPP):
                    def __init__(self, *, vllm_config, prefix=""):
                        super().__init__()
                        self.model = BetaModel(vllm_config=vllm_config, prefix=prefix)
                        self.make_empty_intermediate_tensors = self.model.make_empty_intermediate_tensors

                    def forward(self, input_ids, positions, inputs_embeds=None):
                        return self.model(input_ids, positions, None, inputs_embeds)

                    def compute_logits(self, hidden_states):
                        return hidden_states
                """,
        ),
        Case(
            name="a model that declares experts and never counts them",
            generation="contracts",
            architectures={"FigForCausalLM": "FigForCausalLM"},
            finds=(("VC015", "FigForCausalLM"),),
            source="""
                from .beta import BetaForCausalLM
                from .interfaces import MixtureOfExperts


                class FigForCausalLM(BetaForCausalLM, MixtureOfExperts):
                    pass
                """,
        ),
    )
    good = (
        Case(
            name="forward takes keywords of any name",
            generation="contracts",
            architectures={"FigForCausalLM": "FigForCausalLM"},
            source="""
                from torch import nn

                from .beta import BetaModel
                from .interfaces import SupportsPP


                class FigForCausalLM(nn.Module, SupportsPP):
                    def __init__(self, *, vllm_config, prefix=""):
                        super().__init__()
                        self.model = BetaModel(vllm_config=vllm_config, prefix=prefix)
                        self.make_empty_intermediate_tensors = self.model.make_empty_intermediate_tensors

                    def forward(self, input_ids, positions, **kwargs):
                        return self.model(input_ids, positions, **kwargs)

                    def compute_logits(self, hidden_states):
                        return hidden_states
                """,
        ),
        Case(
            name="a class that says itself that it does not is taken at its word",
            generation="contracts",
            architectures={"FigForCausalLM": "FigForCausalLM"},
            source="""
                from .epsilon import EpsilonForCausalLM


                class FigForCausalLM(EpsilonForCausalLM):
                    supports_lora = False
                """,
        ),
    )

    def check(self, audit: Audit) -> Iterator[Finding]:
        for contract in audit.contracts.values():
            if not audit.checks(contract):
                continue
            denied = [m for m in audit.serving if audit.status(m, contract).declared and _is_denied(audit, m, contract)]
            for owner, models in audit.by_owner(denied, partial(_claimant, audit, contract)):
                yield self._report(audit, contract, owner, models)

    def _report(self, audit: Audit, contract: Contract, owner: ClassInfo, models: list[Model]) -> Finding:
        lacking = missing_members(audit, models[0].cls, contract)
        refused = untaken(contract, models[0].cls)
        if refused is not None:
            keyword, method = refused
            why = f"its {method.name} does not take {keyword}"
        elif lacking:
            why = f"nothing sets {', '.join(lacking[:4])}{', …' if len(lacking) > 4 else ''}"
        else:
            why = "it asks for more than the base"
        facts = contract.checker_facts
        line = facts.line if facts is not None else contract.cls.line
        gates = [gate.link() for gate in audit.checks(contract)]
        return self.finding(
            contract,
            owner,
            audit.position(owner),
            f"{owner.name} inherits {contract.name}, and {contract.checker} denies it: {why}",
            architectures=audit.architectures(models),
            fix=Fix("none", "whether the claim or the class is wrong is for its author to say"),
            chain=(
                *gates,
                Link("contract", True, contract.path, line, f"{contract.checker} asks for more than the base"),
                Link("check", False, owner.path, owner.line, f"{owner.name}: {why}"),
            ),
            gates=audit.check_uses(contract),
        )


def _is_denied(audit: Audit, model: Model, contract: Contract) -> bool:
    return audit.status(model, contract).satisfied is False and not audit.denied(model.cls, contract)


def _claimant(audit: Audit, contract: Contract, model: Model) -> ClassInfo:
    """The class farthest up that claims the contract and is denied it as well."""
    claiming = [c for c in model.cls.own_mro if contract.declared_by(c) and not members.is_protocol(c)]
    for cls in reversed(claiming):
        if contract.satisfied_by(audit.model_set.machine, audit.model_set.probe(cls)) is False:
            return cls
    return model.cls
