"""VC008 config-gate."""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.audit import Audit
from analyzer.consumers import TypeAnswer, text_model, type_answer
from analyzer.contracts import Contract
from analyzer.dispatch import AllowList
from analyzer.findings import AddListItem, Finding, Fix, GateUse, Link
from analyzer.models import Model, Status
from rules._rule import Case, Rule


class ConfigGate(Rule):
    """A model type that the rest of the chain supports is refused by an allow-list of the configuration.

    Up to 0.20 vLLM refuses, before any model is loaded, a target whose text configuration's ``model_type`` holds
    none of the listed strings.  The model type is read from the checkout's own configuration class where it has
    one, else inferred from the names of the configuration class and of the file.
    """

    code = "VC008"
    name = "config-gate"
    severity = "warning"
    what = "An allow-list of model types refuses a model that the rest of the chain supports."
    why = (
        "The engine refuses the start although the model is ready: "
        '"ValueError: Eagle3 is only supported for [...] models. Got '
        'self.target_model_config.hf_text_config.model_type=...".'
    )
    how = "Add the model type to the list."

    bad = (
        Case(
            name="a text model that works in every other respect",
            generation="0.16",
            architectures={"EpsilonForCausalLM": "EpsilonForCausalLM"},
            finds=(("VC008", "EpsilonForCausalLM"),),
            source="""
                from vllm.transformers_utils.configs import EpsilonConfig

                from .alpha import AlphaForCausalLM


                class EpsilonForCausalLM(AlphaForCausalLM):
                    config_class = EpsilonConfig
                """,
        ),
        Case(
            name="the list asks for the text model's type, whatever the wrapper is called",
            generation="0.20",
            architectures={"EpsilonForCausalLM": "EpsilonForCausalLM", "RoseForCausalLM": "RoseForCausalLM"},
            finds=(("VC008", "EpsilonForCausalLM"), ("VC008", "RoseForCausalLM")),
            source="""
                from torch import nn

                from .alpha import AlphaForCausalLM
                from .interfaces import SupportsEagle3
                from .utils import init_vllm_registered_model


                class EpsilonForCausalLM(AlphaForCausalLM):
                    pass


                class RoseForCausalLM(nn.Module, SupportsEagle3):
                    def __init__(self, *, vllm_config, prefix=""):
                        super().__init__()
                        self.language_model = init_vllm_registered_model(
                            vllm_config, architectures=["EpsilonForCausalLM"]
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
            name="a listed string stands inside the model's type",
            generation="0.16",
            architectures={"AlphaPlusForCausalLM": "AlphaPlusForCausalLM"},
            source="""
                from .alpha import AlphaForCausalLM


                class AlphaPlusForCausalLM(AlphaForCausalLM):
                    pass
                """,
        ),
        Case(
            name="from 0.21 there is no such list",
            architectures={"EpsilonForCausalLM": "EpsilonForCausalLM"},
            source="""
                from vllm.transformers_utils.configs import EpsilonConfig

                from .alpha import AlphaForCausalLM


                class EpsilonForCausalLM(AlphaForCausalLM):
                    config_class = EpsilonConfig
                """,
        ),
    )

    def check(self, audit: Audit) -> Iterator[Finding]:
        for gate in audit.consumers.allow_lists:
            contract = audit.contracts[gate.contract]
            for model in audit.serving:
                status = audit.status(model, contract)
                text = text_model(model, status) if _ready(status) else None
                if text is None:
                    continue
                answer = type_answer(audit, gate, text, model.cls)
                if not answer.ok:
                    yield self._report(audit, contract, gate, model, answer)

    def _report(self, audit: Audit, contract: Contract, gate: AllowList, model: Model, answer: TypeAnswer) -> Finding:
        cls = model.cls
        listed = ", ".join(gate.items)
        return self.finding(
            contract,
            cls,
            audit.position(cls),
            f"{cls.name}: its model type, {answer.shown}, holds none of the strings that the "
            f"allow-list asks for ({listed}), although the rest of the chain supports {contract.name}",
            architectures=model.architectures,
            confidence="config-dependent",
            fix=_fix(gate, answer),
            chain=(
                Link("config", False, gate.path, gate.line, f"asks {gate.subject} for one of {listed}"),
                Link("check", True, cls.path, cls.line, f"{cls.name} passes {contract.checker}"),
            ),
            gates=(GateUse(gate.path, gate.line, "configuration"),),
        )


def _ready(status: Status) -> bool:
    """Whether a model works, or can be repaired, but for the list."""
    if status.verdict == "undeclared":  # it would work once its declaration is repaired
        return all((a.own or a.repaired).ok or a.repaired.capture for a in status.alternatives)
    return status.verdict == "works"


def _fix(gate: AllowList, answer: TypeAnswer) -> Fix:
    if not answer.certain or not gate.items:
        return Fix("none", "add the model type of the checkpoint's config.json to the allow-list")
    edit = AddListItem(gate.path, gate.line, gate.items[0], answer.model_type)
    why = "whether checkpoints of this class have this model type is not in the source"
    return Fix("unsafe", f'add "{answer.model_type}" to the allow-list', (edit,), why)
