"""VC005 stale-method."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from analyzer import evidence, members, repair
from analyzer.audit import Audit
from analyzer.chains import MethodResult
from analyzer.contracts import Contract, ContractMethod
from analyzer.facts import FunctionFacts
from analyzer.findings import Edit, Finding, Fix, Link, Position, RemoveMethod, RenameMethod
from analyzer.index import ClassInfo
from analyzer.models import Alternative, Model
from rules._rule import Case, Rule


@dataclass(frozen=True)
class _Stale:
    cls: ClassInfo
    facts: FunctionFacts
    successor: ContractMethod


class StaleMethod(Rule):
    """A method is left under a name that the contract of this checkout does not have.

    It is told from a helper by three marks: its name differs from one of the contract's by a word or two, it has
    that method's parameters, and nothing in the checkout calls it but methods of the same name.
    """

    code = "VC005"
    name = "stale-method"
    severity = "warning"
    what = "A method has the name that another generation of the contract used; nothing calls it any more."
    why = (
        "The engine calls the new name: what was overridden here is ignored, and where conformance hung on the old "
        'name the class is refused with "Model does not support EAGLE3 interface".'
    )
    how = "Rename it to the contract's name, or remove it where that one is defined too."
    of_generations = True

    bad = (
        Case(
            name="the getter still has its name of vLLM 0.17 and nothing calls it",
            architectures={"PeachForCausalLM": "PeachForCausalLM"},
            finds=(("VC005", "PeachForCausalLM"),),
            source="""
                from .alpha import AlphaForCausalLM


                class PeachForCausalLM(AlphaForCausalLM):
                    def get_eagle3_aux_hidden_state_layers(self) -> tuple[int, ...]:
                        return (1, 3, 5)
                """,
        ),
        Case(
            name="a wrapper was moved to the new name and the old method left behind",
            generation="0.20",
            architectures={"PeachForCausalLM": "PeachForCausalLM"},
            finds=(("VC005", "PeachForCausalLM"),),
            source="""
                from torch import nn

                from .interfaces import SupportsEagle3
                from .utils import init_vllm_registered_model


                class PeachForCausalLM(nn.Module, SupportsEagle3):
                    def __init__(self, *, vllm_config, prefix=""):
                        super().__init__()
                        self.language_model = init_vllm_registered_model(
                            vllm_config, architectures=["DeltaForCausalLM"]
                        )

                    def set_aux_hidden_state_layers(self, layers):
                        self.language_model.set_aux_hidden_state_layers(layers)

                    def get_eagle3_aux_hidden_state_layers(self):
                        return self.language_model.get_eagle3_aux_hidden_state_layers()

                    def get_eagle3_default_aux_hidden_state_layers(self):
                        return self.language_model.get_eagle3_default_aux_hidden_state_layers()

                    def forward(self, input_ids, positions, **kwargs):
                        return self.language_model(input_ids, positions, **kwargs)

                    def compute_logits(self, hidden_states):
                        return self.language_model.compute_logits(hidden_states)
                """,
        ),
        Case(
            name="a delegation calls the inner model by the name of vLLM 0.17",
            architectures={"PlumForCausalLM": "PlumForCausalLM"},
            finds=(("VC003", "PlumForCausalLM"), ("VC005", "PlumForCausalLM")),
            source="""
                from torch import nn

                from .interfaces import SupportsEagle3
                from .utils import init_vllm_registered_model


                class PlumForCausalLM(nn.Module, SupportsEagle3):
                    def __init__(self, *, vllm_config, prefix=""):
                        super().__init__()
                        self.language_model = init_vllm_registered_model(
                            vllm_config, architectures=["AlphaForCausalLM"]
                        )

                    def get_eagle3_default_aux_hidden_state_layers(self) -> tuple[int, ...]:
                        return self.language_model.get_eagle3_aux_hidden_state_layers()

                    def forward(self, input_ids, positions, **kwargs):
                        return self.language_model(input_ids, positions, **kwargs)

                    def compute_logits(self, hidden_states):
                        return self.language_model.compute_logits(hidden_states)
                """,
        ),
        Case(
            name="a multimodal model that still embeds under the name of an older generation",
            generation="contracts",
            architectures={"MangoForConditionalGeneration": "MangoForConditionalGeneration"},
            finds=(("VC002", "MangoForConditionalGeneration"), ("VC005", "MangoForConditionalGeneration")),
            source="""
                from torch import nn

                from .beta import BetaForCausalLM
                from .interfaces import SupportsMultiModal, SupportsPP


                class MangoForConditionalGeneration(nn.Module, SupportsMultiModal, SupportsPP):
                    def __init__(self, *, vllm_config, prefix=""):
                        super().__init__()
                        self.config = vllm_config.model_config.hf_config
                        with self._mark_language_model(vllm_config):
                            self.language_model = BetaForCausalLM(vllm_config=vllm_config, prefix=prefix)
                        self.make_empty_intermediate_tensors = self.language_model.make_empty_intermediate_tensors

                    def get_multimodal_embeddings(self, **kwargs):
                        return list(kwargs.values())

                    def forward(self, input_ids, positions, intermediate_tensors=None, inputs_embeds=None):
                        return self.language_model(input_ids, positions, intermediate_tensors, inputs_embeds)

                    def compute_logits(self, hidden_states):
                        return self.language_model.compute_logits(hidden_states)
                """,
        ),
    )
    good = (
        Case(
            name="in its own generation the name is the contract's",
            generation="0.16",
            architectures={"PeachAlphaForCausalLM": "PeachAlphaForCausalLM"},
            source="""
                from .alpha import AlphaForCausalLM


                class PeachAlphaForCausalLM(AlphaForCausalLM):
                    def get_eagle3_aux_hidden_state_layers(self) -> tuple[int, ...]:
                        return (1, 3, 5)
                """,
        ),
        Case(
            name="a helper of a similar name that the class itself calls",
            architectures={"PeachForCausalLM": "PeachForCausalLM"},
            source="""
                from .alpha import AlphaForCausalLM


                class PeachForCausalLM(AlphaForCausalLM):
                    def get_eagle3_small_aux_hidden_state_layers(self) -> tuple[int, ...]:
                        return (1, 2, 3)

                    def get_eagle3_default_aux_hidden_state_layers(self) -> tuple[int, ...]:
                        if len(self.model.layers) < 16:
                            return self.get_eagle3_small_aux_hidden_state_layers()
                        return super().get_eagle3_default_aux_hidden_state_layers()
                """,
        ),
    )

    def check(self, audit: Audit) -> Iterator[Finding]:
        contracts = [c for c in audit.contracts.values() if c in audit.delegated or c.handling.former]
        classes = _classes(audit)
        candidates = {c.name: [s for cls in classes for s in _candidates(audit, cls, c)] for c in contracts}
        audit.usage.search_calls({s.facts.name for found in candidates.values() for s in found})
        for contract in contracts:
            for stale in candidates[contract.name]:
                if _is_dead(audit, stale.facts.name):
                    yield self._report(audit, contract, stale)
            for owner, models in audit.by_owner([m for m in audit.serving if _stale_call(audit, m, contract)]):
                yield self._report_call(audit, contract, owner, models)

    def _report(self, audit: Audit, contract: Contract, stale: _Stale) -> Finding:
        cls, facts, successor = stale.cls, stale.facts, stale.successor
        models = audit.deriving(cls)
        both = successor.name in cls.facts.methods
        detail = f"{contract.name} of this checkout has {successor.name}, not {facts.name}"
        return self.finding(
            contract,
            cls,
            audit.method_position(cls, facts),
            f"{cls.name}.{facts.name} is left from another generation of {contract.name}: "
            f"the engine calls {successor.name}",
            architectures=audit.architectures(models),
            fix=_fix(cls, facts, successor, both=both),
            chain=(
                Link("contract", True, successor.owner.path, successor.facts.line, detail),
                Link("method", False, cls.path, facts.line, f"nothing calls {cls.name}.{facts.name}"),
            ),
            gates=audit.gate_uses(contract, (successor.name,)),
        )

    def _report_call(self, audit: Audit, contract: Contract, owner: ClassInfo, models: list[Model]) -> Finding:
        """A delegation that calls the inner model by a name that it does not have."""
        found = _stale_call(audit, models[0], contract)
        assert found is not None
        called, alternative, result = found
        failure, inner = result.failure, alternative.inner
        assert failure is not None
        status = audit.status(models[0], contract)
        fix = Fix("none", "the inner model does not support the contract under its own names either")
        if inner is not None and alternative.own is not None and alternative.own.reaches:
            fix = repair.delegate(audit, owner, models, status)
        return self.finding(
            contract,
            owner,
            Position(failure.path, failure.line),
            f"{owner.name}.{result.method.name} calls {called}, which the inner model does not have: "
            f"{contract.name} of this checkout has {result.method.name}",
            severity="error",
            architectures=audit.architectures(models),
            fix=fix,
            chain=evidence.chain_links(audit, models[0], status, alternative),
            gates=audit.gate_uses(contract, (result.method.name,)),
            builds_inner=audit.site_position(inner),
        )


def _stale_call(audit: Audit, model: Model, contract: Contract) -> tuple[str, Alternative, MethodResult] | None:
    """The name that a model's effective method calls in vain, where it resembles one of the contract's."""
    status = audit.status(model, contract)
    kept = audit.model_set.capture_attributes.get(contract.name, set())  # where decoders keep the layers is no method
    for alternative in status.alternatives if status.satisfied else ():
        for result in alternative.outer.methods:
            failure = result.failure
            if failure is None or failure.kind != "AttributeError" or result.from_contract:
                continue
            missing = failure.detail.rpartition("no attribute ")[2].strip("'")
            if missing not in kept and any(_similar(missing, m.name) for m in contract.methods):
                return missing, alternative, result
    return None


def _classes(audit: Audit) -> list[ClassInfo]:
    """Classes of the models and of their inner models, with their bases; each once."""
    seen: dict[ClassInfo, None] = {}
    for model in audit.judged:
        for cls in (model.cls, *(i.cls for i in model.inner if i.cls is not None)):
            for owner in cls.own_mro:
                if not members.is_protocol(owner):
                    seen.setdefault(owner)
    return list(seen)


def _candidates(audit: Audit, cls: ClassInfo, contract: Contract) -> Iterator[_Stale]:
    known = audit.known_members
    former = dict(contract.handling.former)
    similar = contract in audit.delegated
    for name, facts in cls.facts.methods.items():
        if name in known or name.startswith("_"):
            continue
        if renamed := contract.method(former.get(name, "")):
            if _claims_somewhere(audit, cls, contract):
                yield _Stale(cls, facts, renamed)
            continue
        for method in contract.methods:
            alike = similar and _similar(name, method.name) and _same_shape(facts, method.facts)
            if alike and _concerned(audit, cls, contract):
                yield _Stale(cls, facts, method)
                break


def _similar(name: str, other: str) -> bool:
    """Whether two names share all words but one or two, and at least three quarters of them."""
    mine, theirs = name.split("_"), other.split("_")
    common = len(set(mine) & set(theirs))
    return name != other and common >= 3 and common >= 0.75 * max(len(set(mine)), len(set(theirs)))


def _same_shape(facts: FunctionFacts, other: FunctionFacts) -> bool:
    return facts.kind == other.kind and len(facts.parameters) == len(other.parameters)


def _concerned(audit: Audit, cls: ClassInfo, contract: Contract) -> bool:
    """Whether the class, or one that inherits it, claims the contract or has another of its methods."""
    if contract.declared_by(cls) or any(m.name in cls.facts.methods for m in contract.methods):
        return True
    return _claims_somewhere(audit, cls, contract)


def _claims_somewhere(audit: Audit, cls: ClassInfo, contract: Contract) -> bool:
    """Whether the class, or one that inherits it, claims the contract."""
    return contract.declared_by(cls) or any(contract.declared_by(m.cls) for m in audit.deriving(cls))


def _is_dead(audit: Audit, name: str) -> bool:
    """Whether every call of a name stands inside a method of that name."""
    return all(audit.is_inside(path, line, name) for path, line in audit.usage.calls(name))


def _fix(cls: ClassInfo, facts: FunctionFacts, successor: ContractMethod, *, both: bool) -> Fix:
    edit: Edit
    if both:
        edit = RemoveMethod(cls.path, cls.facts.qualname, facts.name)
        return Fix("safe", f"remove {facts.name}: {successor.name} is defined too", (edit,))
    edit = RenameMethod(cls.path, cls.facts.qualname, facts.name, successor.name)
    return Fix("safe", f"rename {facts.name} to {successor.name}", (edit,))
