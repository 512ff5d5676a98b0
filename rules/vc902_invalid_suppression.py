"""VC902 invalid-suppression."""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.comments import HOW
from analyzer.findings import Finding
from analyzer.suppress import CommentUse
from rules._rule import Case, CommentRule


class InvalidSuppression(CommentRule):
    """A comment is meant to suppress findings and does not say which in a way that can be read.

    It suppresses nothing, as far as it cannot be read.  That holds for a comment without a code too: it would hide
    every fault of the class, those of tomorrow included.
    """

    code = "VC902"
    name = "invalid-suppression"
    severity = "warning"
    what = "A suppression comment cannot be read: it has no code, an unknown one, or another form."
    why = "It suppresses nothing, although its author believes that it does."
    how = "Write # vllm-contracts: ignore[VC001] and the reason; several codes or names with commas between."

    bad = (
        Case(
            name="no rule is named, so that nothing is suppressed",
            architectures={"YuzuForCausalLM": "YuzuForCausalLM"},
            finds=(("VC001", "YuzuForCausalLM"), ("VC902", "YuzuForCausalLM")),
            source="""
                from torch import nn

                from .utils import init_vllm_registered_model


                class YuzuForCausalLM(nn.Module):  # vllm-contracts: ignore
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
            name="a rule is misspelled beside one that is not",
            architectures={"YuzuForCausalLM": "YuzuForCausalLM"},
            finds=(("VC902", "YuzuForCausalLM"),),
            source="""
                from torch import nn

                from .utils import init_vllm_registered_model


                class YuzuForCausalLM(nn.Module):  # vllm-contracts: ignore[VC001, VC01] not yet
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
            name="the bracket is not closed",
            architectures={"YuzuForCausalLM": "YuzuForCausalLM"},
            finds=(("VC001", "YuzuForCausalLM"), ("VC902", "YuzuForCausalLM")),
            source="""
                from torch import nn

                from .utils import init_vllm_registered_model


                # vllm-contracts: ignore[VC001 not yet
                class YuzuForCausalLM(nn.Module):
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
            name="a colon is missing, in the old generation",
            generation="0.16",
            architectures={"YuzuForCausalLM": "YuzuForCausalLM"},
            finds=(("VC001", "YuzuForCausalLM"), ("VC902", "YuzuForCausalLM")),
            source="""
                from torch import nn

                from .utils import init_vllm_registered_model


                # vllm-contracts ignore[VC001] not yet
                class YuzuForCausalLM(nn.Module):
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
            name="several codes and another tool's comment on one line",
            architectures={"YuzuForCausalLM": "YuzuForCausalLM"},
            source="""
                from torch import nn

                from .utils import init_vllm_registered_model


                class YuzuForCausalLM(nn.Module):  # noqa: N801  # vllm-contracts: ignore[VC001]: not yet  # mine
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
            name="prose that names the tool",
            architectures={"YuzuForCausalLM": "YuzuForCausalLM"},
            source="""
                from torch import nn

                from .interfaces import SupportsEagle3
                from .utils import init_vllm_registered_model


                # vllm-contracts explains what this wrapper has to hand on
                class YuzuForCausalLM(nn.Module, SupportsEagle3):
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

    def judge(self, use: CommentUse) -> Iterator[Finding]:
        if use.problem:
            yield self.remark(use, f"this comment suppresses nothing: it {use.problem}", HOW)
        for word in use.unknown:
            yield self.remark(
                use, f"this comment names {word}, which no rule is called", "vllm-contracts explain lists the rules"
            )
