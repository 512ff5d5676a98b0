"""VC010 sibling-divergence."""

from __future__ import annotations

from collections.abc import Iterator

from analyzer import evidence, repair
from analyzer.audit import Audit
from analyzer.findings import Finding, Fix
from analyzer.models import Model, Status
from rules._rule import Case, Rule


class SiblingDivergence(Rule):
    """Platform variants of one architecture differ in whether they pass a contract's checker."""

    code = "VC010"
    name = "sibling-divergence"
    severity = "warning"
    what = "Platform variants of one architecture differ in support: one passes the checker, another does not."
    why = (
        "The same checkpoint and command line work on one platform and are refused on another, with "
        '"Model does not support EAGLE3 interface" for instance.'
    )
    how = "Declare and honour the contract in every variant that can, as VC001 and VC011 repair it."

    bad = (
        Case(
            name="one platform's variant supports the contract and the other was forgotten",
            architectures={"ZetaForCausalLM": "ZetaForCausalLM"},
            finds=(("VC010", "ZetaForCausalLM"),),
            source="""
                from vllm.platforms import current_platform

                if current_platform.is_rocm():
                    from vllm.models.zeta.amd.model import ZetaForCausalLM
                else:
                    from .beta import BetaForCausalLM

                    class ZetaForCausalLM(BetaForCausalLM):
                        pass
                """,
        ),
        Case(
            name="the forgotten variant could: its decoder captures",
            architectures={"ZetaForCausalLM": "ZetaForCausalLM"},
            finds=(("VC010", "ZetaForCausalLM"), ("VC011", "ZetaForCausalLM")),
            source="""
                from torch import nn

                from vllm.platforms import current_platform

                from .alpha import AlphaModel

                if current_platform.is_rocm():
                    from vllm.models.zeta.amd.model import ZetaForCausalLM
                else:

                    class ZetaForCausalLM(nn.Module):
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
            name="both variants support the contract, each in its own way",
            architectures={"ZetaForCausalLM": "ZetaForCausalLM"},
            source="""
                from vllm.platforms import current_platform

                from .alpha import AlphaForCausalLM

                if current_platform.is_rocm():
                    from vllm.models.zeta.amd.model import ZetaForCausalLM
                else:

                    class ZetaForCausalLM(AlphaForCausalLM):
                        pass
                """,
        ),
        Case(
            name="a wrapper around an architecture with platform variants, both of which support it",
            architectures={"TarragonForCausalLM": "TarragonForCausalLM"},
            source="""
                from torch import nn

                from vllm.models.zeta import ZetaForCausalLM

                from .interfaces import SupportsEagle3


                class TarragonForCausalLM(nn.Module, SupportsEagle3):
                    def __init__(self, *, vllm_config, prefix=""):
                        super().__init__()
                        self.language_model = ZetaForCausalLM(vllm_config=vllm_config, prefix=prefix)

                    def set_aux_hidden_state_layers(self, layers):
                        self.language_model.set_aux_hidden_state_layers(layers)

                    def get_eagle3_default_aux_hidden_state_layers(self):
                        return self.language_model.get_eagle3_default_aux_hidden_state_layers()

                    def forward(self, input_ids, positions, **kwargs):
                        return self.language_model(input_ids, positions, **kwargs)

                    def compute_logits(self, hidden_states):
                        return self.language_model.compute_logits(hidden_states)
                """,
        ),
    )

    def check(self, audit: Audit) -> Iterator[Finding]:
        by_architecture: dict[str, list[Model]] = {}
        for model in audit.serving:
            for architecture in model.architectures:
                by_architecture.setdefault(architecture, []).append(model)
        for contract in audit.delegated:
            lacking: dict[str, tuple[Model, Model, list[str]]] = {}
            for architecture, variants in by_architecture.items():
                passing = [m for m in variants if audit.status(m, contract).satisfied]
                for model in variants:
                    twin = next((p for p in passing if p.cls.name == model.cls.name and p is not model), None)
                    if twin is not None and audit.status(model, contract).satisfied is False:
                        lacking.setdefault(model.cls.key, (model, twin, []))[2].append(architecture)
            for model, twin, architectures in lacking.values():
                status = audit.status(model, contract)
                yield self.finding(
                    contract,
                    model.cls,
                    audit.position(model.cls),
                    f"{model.cls.name} in {model.cls.path} fails {contract.checker}, while its variant in "
                    f"{twin.cls.path} passes it",
                    architectures=sorted(architectures),
                    fix=_fix(audit, model, status),
                    chain=evidence.chain_links(audit, model, status, status.alternatives[0]),
                    gates=audit.gate_uses(contract),
                )


def _fix(audit: Audit, model: Model, status: Status) -> Fix:
    """As VC001 repairs a wrapper and VC011 a model: where the variant's decoder captures, it only has to say so."""
    if status.verdict != "undeclared":
        return Fix("none", f"{model.cls.name} of this platform does not capture; its variant does")
    if model.inner:
        return repair.declare(audit, audit.owner(model), [model], status)
    return repair.declare_model(audit, model, status)
