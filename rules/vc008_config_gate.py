"""VC008 config-gate."""

from __future__ import annotations

import re
from collections.abc import Iterator

from analyzer.audit import Audit
from analyzer.contracts import Contract
from analyzer.dispatch import AllowList
from analyzer.findings import AddListItem, Finding, Fix, GateUse, Link
from analyzer.index import ClassInfo
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
    why = "The engine refuses the start with a ValueError that names the list, although the model is ready."
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
                text = _text_model(model, status)
                if text is None:
                    continue
                given, guessed = model_types(audit, text, model.cls)
                if not any(_allowed(c, gate.items) for c in (*given, *guessed)):
                    yield self._report(audit, contract, gate, model, (*given, *guessed)[0], certain=bool(given))

    def _report(
        self, audit: Audit, contract: Contract, gate: AllowList, model: Model, model_type: str, *, certain: bool
    ) -> Finding:
        cls = model.cls
        listed = ", ".join(gate.items)
        return self.finding(
            contract,
            cls,
            audit.position(cls),
            f"{cls.name}: its model type, {_shown(model_type, certain)}, holds none of the strings that the "
            f"allow-list asks for ({listed}), although the rest of the chain supports {contract.name}",
            architectures=model.architectures,
            confidence="config-dependent",
            fix=_fix(gate, model_type, certain),
            chain=(
                Link("config", False, gate.path, gate.line, f"asks {gate.subject} for one of {listed}"),
                Link("check", True, cls.path, cls.line, f"{cls.name} passes {contract.checker}"),
            ),
            gates=(GateUse(gate.path, gate.line, "configuration"),),
        )


def _text_model(model: Model, status: Status) -> ClassInfo | None:
    """The class whose configuration is asked, for a model that works or can be repaired but for the list."""
    if status.verdict == "undeclared":  # it would work once its declaration is repaired
        if not all((a.own or a.repaired).ok or a.repaired.capture for a in status.alternatives):
            return None
    elif status.verdict != "works":
        return None
    if not model.inner:
        return model.cls if model.role == "text" else None
    classes = {a.cls for a in status.alternatives}
    return classes.pop() if len(classes) == 1 else None


def _shown(model_type: str, certain: bool) -> str:
    return f'"{model_type}"' if certain else f'guessed from names as "{model_type}"'


def _fix(gate: AllowList, model_type: str, certain: bool) -> Fix:
    if not certain or not gate.items:
        return Fix("none", "add the model type of the checkpoint's config.json to the allow-list")
    edit = AddListItem(gate.path, gate.line, gate.items[0], model_type)
    why = "whether checkpoints of this class have this model type is not in the source"
    return Fix("unsafe", f'add "{model_type}" to the allow-list', (edit,), why)


def model_types(audit: Audit, text: ClassInfo, outer: ClassInfo) -> tuple[list[str], list[str]]:
    """What the model type of a text model can be: read from configuration classes of the tree, and guessed.

    Guesses come from the names of other configuration classes and of the files.
    """
    given, guessed = [], []
    for name, target in audit.config_classes(text):
        declared = target.facts.attributes.get("model_type") if isinstance(target, ClassInfo) else None
        if declared is not None and declared.value is not None and declared.value[0] == "const":
            given.append(str(declared.value[1]))
        else:
            guessed.append(_snake(name.removesuffix("Config")))
    stems = [cls.path.rpartition("/")[2].removesuffix(".py") for cls in (text, outer)]
    return given, list(dict.fromkeys([*stems, *guessed]))


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def _allowed(model_type: str, items: tuple[str, ...]) -> bool:
    """Whether a listed string stands in the model type, or the inferred one is the beginning of a listed one."""
    plain = model_type.replace("_", "").replace("-", "")
    listed = [item.replace("_", "") for item in items]
    return any(item in plain or item.startswith(plain) for item in listed)
