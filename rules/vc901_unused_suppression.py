"""VC901 unused-suppression."""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.findings import Finding
from analyzer.suppress import CommentUse
from rules._rule import Case, CommentRule


class UnusedSuppression(CommentRule):
    """A comment that suppresses findings names a rule that finds nothing there.

    A comment speaks for the statement that it stands in, on any of its lines, or directly above; on the head of a
    class also for the methods of that class.  It is judged by what all rules find on all contracts: neither
    ``--select`` and ``--ignore`` nor ``--contract`` make it unused.
    """

    code = "VC901"
    name = "unused-suppression"
    severity = "warning"
    what = "A suppression comment names a rule that finds nothing where the comment stands."
    why = "The cause is gone, or the comment is in the wrong place: left alone, it hides the next fault of that kind."
    how = "Remove the comment, or the code from its brackets; or move it to the head of the class with the finding."

    bad = (
        Case(
            name="nothing is left to suppress on a class that is in order",
            architectures={"YuzuForCausalLM": "YuzuForCausalLM"},
            finds=(("VC901", "YuzuForCausalLM"),),
            source="""
                from torch import nn

                from .interfaces import SupportsEagle3
                from .utils import init_vllm_registered_model


                class YuzuForCausalLM(nn.Module, SupportsEagle3):  # vllm-contracts: ignore[VC001] not yet
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
            name="one of two codes has no finding, in the old generation",
            generation="0.16",
            architectures={"YuzuForCausalLM": "YuzuForCausalLM"},
            finds=(("VC901", "YuzuForCausalLM"),),
            source="""
                from torch import nn

                from .utils import init_vllm_registered_model


                # vllm-contracts: ignore[VC001, VC004] its checkpoints are never served with EAGLE-3
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
            name="a blank line parts the comment from its class",
            architectures={"YuzuForCausalLM": "YuzuForCausalLM"},
            finds=(("VC001", "YuzuForCausalLM"), ("VC901", "yuzu")),
            source="""
                from torch import nn

                from .utils import init_vllm_registered_model


                # vllm-contracts: ignore[VC001] not yet

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
            name="a finding is suppressed on the line above its class",
            architectures={"YuzuForCausalLM": "YuzuForCausalLM"},
            source="""
                from torch import nn

                from .utils import init_vllm_registered_model


                # vllm-contracts: ignore[VC001] its checkpoints are never served with EAGLE-3
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
            name="a finding is suppressed by name inside the statement that builds the inner model",
            architectures={"YuzuForCausalLM": "YuzuForCausalLM"},
            source="""
                from torch import nn

                from .utils import init_vllm_registered_model


                class YuzuForCausalLM(nn.Module):
                    def __init__(self, *, vllm_config, prefix=""):
                        super().__init__()
                        self.language_model = init_vllm_registered_model(
                            vllm_config,  # vllm-contracts: ignore[undeclared-support] not yet
                            architectures=["AlphaForCausalLM"],
                        )

                    def forward(self, input_ids, positions, **kwargs):
                        return self.language_model(input_ids, positions, **kwargs)

                    def compute_logits(self, hidden_states):
                        return self.language_model.compute_logits(hidden_states)
                """,
        ),
        Case(
            name="what looks like a comment stands in a string",
            architectures={"YuzuForCausalLM": "YuzuForCausalLM"},
            source="""
                from torch import nn

                from .interfaces import SupportsEagle3
                from .utils import init_vllm_registered_model


                class YuzuForCausalLM(nn.Module, SupportsEagle3):
                    EXAMPLE = "# vllm-contracts: ignore[VC001] not yet"

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
        idle = ", ".join(use.unused)
        if idle and use.used:
            found = ", ".join(use.used)
            said = f"{idle} in this comment suppresses nothing: only {found} is found here"
            yield self.remark(use, said, f"remove {idle}")
        elif idle:
            yield self.remark(use, f"this comment suppresses nothing: {idle} is not found here", "remove the comment")
