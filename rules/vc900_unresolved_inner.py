"""VC900 unresolved-inner."""

from __future__ import annotations

from collections.abc import Iterator

from analyzer import evidence
from analyzer.audit import Audit
from analyzer.findings import Finding, Fix
from rules._rule import Case, Rule


class UnresolvedInner(Rule):
    """What a wrapper builds as its inner model could not be determined from the source."""

    code = "VC900"
    name = "unresolved-inner"
    severity = "info"
    what = "The inner model of a wrapper could not be determined; the finding says why."
    why = "Nothing can be said of this wrapper's support: silence here would be a guess."
    how = "Build the inner model in a way that names it, or look at the chain by hand."

    bad = (
        Case(
            name="the architecture is not in this checkout's registry",
            architectures={"YuzuForCausalLM": "YuzuForCausalLM"},
            finds=(("VC900", "YuzuForCausalLM"),),
            source="""
                from torch import nn

                from .utils import init_vllm_registered_model


                class YuzuForCausalLM(nn.Module):
                    def __init__(self, *, vllm_config, prefix=""):
                        super().__init__()
                        self.language_model = init_vllm_registered_model(
                            vllm_config, architectures=["NowhereForCausalLM"]
                        )

                    def forward(self, input_ids, positions, **kwargs):
                        return self.language_model(input_ids, positions, **kwargs)

                    def compute_logits(self, hidden_states):
                        return self.language_model.compute_logits(hidden_states)
                """,
        ),
        Case(
            name="one branch builds what nobody has, in the old generation",
            generation="0.16",
            architectures={"YuzuForCausalLM": "YuzuForCausalLM"},
            finds=(("VC001", "YuzuForCausalLM"), ("VC900", "YuzuForCausalLM")),
            source="""
                from torch import nn

                from .utils import init_vllm_registered_model


                class YuzuForCausalLM(nn.Module):
                    def __init__(self, *, vllm_config, prefix=""):
                        super().__init__()
                        old = vllm_config.model_config.hf_config.model_type == "beta"
                        self.language_model = init_vllm_registered_model(
                            vllm_config, architectures=["NowhereForCausalLM"] if old else ["AlphaForCausalLM"]
                        )

                    def forward(self, input_ids, positions, **kwargs):
                        return self.language_model(input_ids, positions, **kwargs)

                    def compute_logits(self, hidden_states):
                        return self.language_model.compute_logits(hidden_states)
                """,
        ),
    )
    good = (
        Case(
            name="a constant of the module names the architecture",
            architectures={"YuzuForCausalLM": "YuzuForCausalLM"},
            source="""
                from torch import nn

                from .interfaces import SupportsEagle3
                from .utils import init_vllm_registered_model

                _INNER = "AlphaForCausalLM"


                class YuzuForCausalLM(nn.Module, SupportsEagle3):
                    def __init__(self, *, vllm_config, prefix=""):
                        super().__init__()
                        self.language_model = init_vllm_registered_model(vllm_config, architectures=[_INNER])

                    def forward(self, input_ids, positions, **kwargs):
                        return self.language_model(input_ids, positions, **kwargs)

                    def compute_logits(self, hidden_states):
                        return self.language_model.compute_logits(hidden_states)
                """,
        ),
        Case(
            name="a lazy module gives the class",
            architectures={"YuzuForCausalLM": "YuzuForCausalLM"},
            source="""
                from torch import nn

                from vllm.models.theta import ThetaForCausalLM

                from .interfaces import SupportsEagle3


                class YuzuForCausalLM(nn.Module, SupportsEagle3):
                    def __init__(self, *, vllm_config, prefix=""):
                        super().__init__()
                        self.language_model = ThetaForCausalLM(vllm_config=vllm_config, prefix=prefix)

                    def forward(self, input_ids, positions, **kwargs):
                        return self.language_model(input_ids, positions, **kwargs)

                    def compute_logits(self, hidden_states):
                        return self.language_model.compute_logits(hidden_states)
                """,
        ),
    )

    def check(self, audit: Audit) -> Iterator[Finding]:
        for contract in audit.delegated:
            for model in audit.serving:
                unresolved = [i for i in model.inner if i.resolution == "unresolved"]
                if not unresolved:
                    continue
                status = audit.status(model, contract)
                alternative = next(a for a in status.alternatives if a.inner in unresolved)
                yield self.finding(
                    contract,
                    model.cls,
                    audit.position(model.cls),
                    f"what {model.cls.name} builds as self.{unresolved[0].attribute} could not be determined: "
                    f"{unresolved[0].reason}",
                    architectures=model.architectures,
                    confidence="unresolved",
                    fix=Fix("none", "nothing is known to repair"),
                    chain=evidence.chain_links(audit, model, status, alternative),
                    gates=audit.gate_uses(contract),
                    builds_inner=audit.site_position(alternative.inner),
                )
