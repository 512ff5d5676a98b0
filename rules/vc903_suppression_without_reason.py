"""VC903 suppression-without-reason."""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.findings import Finding
from analyzer.suppress import CommentUse
from rules._rule import Case, CommentRule


class SuppressionWithoutReason(CommentRule):
    """A comment suppresses findings and gives no reason, where the project's settings ask for one.

    With ``require-reason = true`` only.  The comment does suppress what it names: that it lacks a reason is the one
    thing that is reported.
    """

    code = "VC903"
    name = "suppression-without-reason"
    severity = "warning"
    what = "A suppression comment gives no reason, and the settings have require-reason."
    why = "Nobody can tell later whether the comment is still needed."
    how = "Write the reason behind the brackets: # vllm-contracts: ignore[VC001] why it may stay."

    bad = (
        Case(
            name="a finding is suppressed in silence",
            settings="require-reason = true",
            architectures={"YuzuForCausalLM": "YuzuForCausalLM"},
            finds=(("VC903", "YuzuForCausalLM"),),
            source="""
                from torch import nn

                from .utils import init_vllm_registered_model


                class YuzuForCausalLM(nn.Module):  # vllm-contracts: ignore[VC001]
                    def __init__(self, *, vllm_config, prefix=""):
                        super().__init__()
                        self.language_model = init_vllm_registered_model(
                            vllm_config, architectures=["AlphaForCausalLM"]
                        )

                    def forward(self, input_ids, positions, **kwargs):
                        return self.language_model(input_ids, positions, **kwargs)

                    def compute_logits(self, hidden_states):
                        return self.language_model.compute_logits(hidden_states)
                """,
        ),
        Case(
            name="another tool's comment is no reason",
            generation="0.16",
            settings="require-reason = true",
            architectures={"YuzuForCausalLM": "YuzuForCausalLM"},
            finds=(("VC903", "YuzuForCausalLM"),),
            source="""
                from torch import nn

                from .utils import init_vllm_registered_model


                class YuzuForCausalLM(nn.Module):  # vllm-contracts: ignore[VC001] - # noqa: N801
                    def __init__(self, *, vllm_config, prefix=""):
                        super().__init__()
                        self.language_model = init_vllm_registered_model(
                            vllm_config, architectures=["AlphaForCausalLM"]
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
            name="a reason is given where one is asked for",
            settings="require-reason = true",
            architectures={"YuzuForCausalLM": "YuzuForCausalLM"},
            source="""
                from torch import nn

                from .utils import init_vllm_registered_model


                class YuzuForCausalLM(nn.Module):  # vllm-contracts: ignore[VC001] see the model's card
                    def __init__(self, *, vllm_config, prefix=""):
                        super().__init__()
                        self.language_model = init_vllm_registered_model(
                            vllm_config, architectures=["AlphaForCausalLM"]
                        )

                    def forward(self, input_ids, positions, **kwargs):
                        return self.language_model(input_ids, positions, **kwargs)

                    def compute_logits(self, hidden_states):
                        return self.language_model.compute_logits(hidden_states)
                """,
        ),
        Case(
            name="no reason is asked for",
            architectures={"YuzuForCausalLM": "YuzuForCausalLM"},
            source="""
                from torch import nn

                from .utils import init_vllm_registered_model


                class YuzuForCausalLM(nn.Module):
                    def __init__(self, *, vllm_config, prefix=""):
                        super().__init__()
                        self.language_model = init_vllm_registered_model(
                            vllm_config, architectures=["AlphaForCausalLM"]
                        )  # vllm-contracts: ignore[VC001]

                    def forward(self, input_ids, positions, **kwargs):
                        return self.language_model(input_ids, positions, **kwargs)

                    def compute_logits(self, hidden_states):
                        return self.language_model.compute_logits(hidden_states)
                """,
        ),
    )

    def judge(self, use: CommentUse) -> Iterator[Finding]:
        if use.needs_reason and not use.problem and not use.reason:
            named = ", ".join((*use.used, *use.unused, *use.unknown))
            yield self.remark(use, f"this comment suppresses {named} and gives no reason", self.how)
