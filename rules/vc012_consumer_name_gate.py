"""VC012 consumer-name-gate."""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.audit import Audit
from analyzer.consumers import is_multimodal, name_answer
from analyzer.contracts import Contract
from analyzer.dispatch import NameArm, NameGate
from analyzer.findings import AddListItem, Finding, Fix, GateUse, Link
from analyzer.models import Model
from rules._rule import Case, Rule


class ConsumerNameGate(Rule):
    """A consumer dispatches on the outer class's name, and this class falls through to a branch that fails it.

    vLLM's proposer finds the image token of a multimodal target by lists of class names; every other class falls
    through to ``config.image_token_index``.  That branch is part of the first model runner only.
    """

    code = "VC012"
    name = "consumer-name-gate"
    severity = "warning"
    what = "A consumer chooses by the class's name which config attribute to read, and does not name this class."
    why = (
        "After the target was loaded the drafter's set-up dies on the target's config: "
        "\"AttributeError: ... object has no attribute 'image_token_index'\"."
    )
    how = "Add the class's name to the branch that reads the attribute its config has."

    bad = (
        Case(
            name="its config has image_token_id and the proposer reads image_token_index",
            architectures={"VerbenaForConditionalGeneration": "VerbenaForConditionalGeneration"},
            finds=(("VC012", "VerbenaForConditionalGeneration"),),
            source="""
                from .gamma import GammaForConditionalGeneration


                class VerbenaForConditionalGeneration(GammaForConditionalGeneration):
                    def is_image(self, token):
                        return token == self.config.image_token_id
                """,
        ),
        Case(
            name="nothing in its file shows which attribute its config has",
            generation="0.16",
            architectures={"VerbenaForConditionalGeneration": "VerbenaForConditionalGeneration"},
            finds=(("VC012", "VerbenaForConditionalGeneration"),),
            source="""
                from torch import nn

                from .alpha import AlphaForCausalLM
                from .interfaces import SupportsEagle3, SupportsMultiModal


                class VerbenaForConditionalGeneration(nn.Module, SupportsMultiModal, SupportsEagle3):
                    def __init__(self, *, vllm_config, prefix=""):
                        super().__init__()
                        self.config = vllm_config.model_config.hf_config
                        self.language_model = AlphaForCausalLM(vllm_config=vllm_config, prefix=prefix)

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
            name="the proposer names the class in the branch that reads what its config has",
            architectures={"GammaPlusForConditionalGeneration": "GammaPlusForConditionalGeneration"},
            source="""
                from .gamma import GammaForConditionalGeneration


                class GammaPlusForConditionalGeneration(GammaForConditionalGeneration):
                    def is_image(self, token):
                        return token == self.config.image_token_id
                """,
        ),
        Case(
            name="the last branch reads what its config has",
            generation="0.20",
            architectures={"VerbenaForConditionalGeneration": "VerbenaForConditionalGeneration"},
            source="""
                from .gamma import GammaForConditionalGeneration


                class VerbenaForConditionalGeneration(GammaForConditionalGeneration):
                    def is_image(self, token):
                        return token == self.config.image_token_index
                """,
        ),
    )

    def check(self, audit: Audit) -> Iterator[Finding]:
        for gate in audit.consumers.name_gates:
            for contract in audit.delegated:
                for model in audit.serving:
                    if _concerned(audit, model, contract):
                        answer = name_answer(audit, gate, model)
                        if answer is not None and not answer.named and not answer.serves:
                            yield self._report(audit, contract, gate, model, answer.fitting)

    def _report(self, audit: Audit, contract: Contract, gate: NameGate, model: Model, arm: NameArm | None) -> Finding:
        cls = model.cls
        assert gate.otherwise is not None
        wanted = gate.otherwise.reads
        shows = f"reads config.{arm.reads} itself" if arm is not None else "shows none of the attributes"
        fix = Fix("none", f"no branch fits: which token {cls.name} has is for its author to say")
        if arm is not None:
            fix = Fix(
                "unsafe",
                f"add {cls.name} to the branch that reads config.{arm.reads}",
                (AddListItem(gate.path, arm.line, arm.names[0], cls.name),),
                "whether the config has this attribute was only inferred from the model's own file",
            )
        return self.finding(
            contract,
            cls,
            audit.position(cls),
            f"{cls.name} is not named in {gate.function} ({gate.path}:{gate.line}) and falls through to "
            f"config.{wanted}, which its own file never reads; it {shows}",
            architectures=model.architectures,
            confidence="certain" if arm is not None else "unresolved",
            severity="warning" if arm is not None else "info",
            fix=fix,
            chain=(
                Link(
                    "name-gate",
                    True,
                    gate.path,
                    gate.line,
                    f"{gate.function} compares the outer class's name",
                ),
                Link("branch", False, gate.path, gate.otherwise.line, f"every other class: config.{wanted}"),
                Link("config", None, cls.path, cls.line, f"{cls.name} {shows}"),
            ),
            gates=(GateUse(gate.path, gate.line, "outer model"),),
        )


def _concerned(audit: Audit, model: Model, contract: Contract) -> bool:
    """A multimodal model that passes the check, or would after the repair of its declaration."""
    verdict = audit.status(model, contract).verdict
    return is_multimodal(model) and verdict in ("works", "undeclared", "config-dependent")
