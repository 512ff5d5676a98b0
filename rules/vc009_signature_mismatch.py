"""VC009 signature-mismatch."""

from __future__ import annotations

import builtins
from collections.abc import Collection, Iterator
from dataclasses import replace

from analyzer import members
from analyzer.audit import Audit
from analyzer.contracts import Contract, ContractMethod
from analyzer.facts import FunctionFacts
from analyzer.findings import Finding, Fix, Link, ReplaceSignature
from analyzer.index import ClassInfo
from analyzer.lower import Expr, render, walk
from analyzer.models import Status
from rules._rule import Case, Rule

ANNOTATIONS = "its annotations differ from the contract's"
KINDS = ("positional_only", "positional_or_keyword", "var_positional", "keyword_only", "var_keyword")


class SignatureMismatch(Rule):
    """An override cannot be called as the contract's signature says."""

    code = "VC009"
    name = "signature-mismatch"
    severity = "error"
    what = "An override of a contract's method is incompatible with the contract's signature."
    why = (
        "The engine calls it as the contract has it and gets "
        '"TypeError: ... missing 1 required positional argument", or a coroutine where it expects a value.'
    )
    how = "Take the contract's parameters, under their names, and keep its kind (instance or class method)."

    bad = (
        Case(
            name="the setter wants an argument that no caller gives",
            architectures={"SageForCausalLM": "SageForCausalLM"},
            finds=(("VC009", "SageForCausalLM"),),
            source="""
                from .alpha import AlphaForCausalLM


                class SageForCausalLM(AlphaForCausalLM):
                    def set_aux_hidden_state_layers(self, layers: tuple[int, ...], offset: int) -> None:
                        self.model._set_aux_hidden_state_layers(tuple(layer + offset for layer in layers))
                """,
        ),
        Case(
            name="the getter is a property, and its value is called",
            generation="0.16",
            architectures={"SageAlphaForCausalLM": "SageAlphaForCausalLM"},
            finds=(("VC009", "SageAlphaForCausalLM"),),
            source="""
                from .alpha import AlphaForCausalLM


                class SageAlphaForCausalLM(AlphaForCausalLM):
                    @property
                    def get_eagle3_aux_hidden_state_layers(self):
                        return (1, 2, 3)
                """,
        ),
        Case(
            name="a keyword that the runner passes has another name here",
            generation="0.20",
            architectures={"SageForCausalLM": "SageForCausalLM"},
            finds=(("VC009", "SageForCausalLM"),),
            source="""
                from torch import nn

                from .beta import BetaModel
                from .interfaces import SupportsPP


                class SageForCausalLM(nn.Module, SupportsPP):
                    def __init__(self, *, vllm_config, prefix=""):
                        super().__init__()
                        self.model = BetaModel(vllm_config=vllm_config, prefix=prefix)

                    def make_empty_intermediate_tensors(self):
                        return {}

                    def forward(self, input_ids, positions, intermediate_tensors=None):
                        return self.model(input_ids, positions, intermediate_tensors)

                    def compute_logits(self, hidden_states):
                        return hidden_states
                """,
        ),
        Case(
            name="a prompt for transcription that cannot be given the language",
            generation="contracts",
            architectures={"OliveForCausalLM": "OliveForCausalLM"},
            finds=(("VC009", "OliveForCausalLM"),),
            source="""
                from .beta import BetaForCausalLM
                from .interfaces import SupportsTranscription


                class OliveForCausalLM(BetaForCausalLM, SupportsTranscription):
                    @classmethod
                    def get_generation_prompt(cls, audio):
                        return f"say what you hear: {audio}"
                """,
        ),
    )
    good = (
        Case(
            name="another name for a parameter that is given by place, and one more that is optional",
            architectures={"SageForCausalLM": "SageForCausalLM"},
            source="""
                from .alpha import AlphaForCausalLM


                class SageForCausalLM(AlphaForCausalLM):
                    def set_aux_hidden_state_layers(self, chosen, offset=0):
                        self.model._set_aux_hidden_state_layers(chosen)
                """,
        ),
        Case(
            name="whatever is given is handed on",
            generation="0.20",
            architectures={"SageForCausalLM": "SageForCausalLM"},
            source="""
                from torch import nn

                from .beta import BetaModel
                from .interfaces import SupportsPP


                class SageForCausalLM(nn.Module, SupportsPP):
                    def __init__(self, *, vllm_config, prefix=""):
                        super().__init__()
                        self.model = BetaModel(vllm_config=vllm_config, prefix=prefix)

                    def make_empty_intermediate_tensors(self, *args, **kwargs):
                        return self.model.make_empty_intermediate_tensors(*args, **kwargs)

                    def forward(self, input_ids, positions, intermediate_tensors=None):
                        return self.model(input_ids, positions, intermediate_tensors)

                    def compute_logits(self, hidden_states):
                        return hidden_states
                """,
        ),
    )

    def check(self, audit: Audit) -> Iterator[Finding]:
        for contract in audit.contracts.values():
            called = [m for m in contract.methods if audit.callers(contract, m.name)]
            seen: set[tuple[ClassInfo, str]] = set()
            for model in audit.judged:
                if model.becomes or model.role == "draft" or not audit.status(model, contract).satisfied:
                    continue
                for method in called:
                    member = members.class_method(model.cls, method.name)
                    if member is None:
                        continue
                    owner, facts = member
                    if members.is_protocol(owner) or (owner, method.name) in seen:
                        continue
                    seen.add((owner, method.name))
                    if facts.kind == "property" and not _refused(audit.status(model, contract), method):
                        continue  # what it gives is called, and may well take the call
                    passed = {name for gate in audit.callers(contract, method.name) for name in gate.keywords}
                    problem = incompatible(method.facts, facts, passed)
                    if not problem and contract in audit.delegated and _annotated_differently(method.facts, facts):
                        problem = ANNOTATIONS
                    if problem:
                        yield self._report(audit, contract, method, owner, facts, problem)

    def _report(
        self,
        audit: Audit,
        contract: Contract,
        method: ContractMethod,
        owner: ClassInfo,
        facts: FunctionFacts,
        problem: str,
    ) -> Finding:
        expected = Link("contract", True, method.owner.path, method.facts.line, f"{method.name}{method.signature}")
        actual = Link("method", False, owner.path, facts.line, f"{owner.name}.{facts.name}{facts.signature}: {problem}")
        return self.finding(
            contract,
            owner,
            audit.method_position(owner, facts),
            f"{owner.name}.{facts.name} is incompatible with {contract.name}: {problem}",
            severity="info" if problem == ANNOTATIONS else "error",
            architectures=audit.architectures(audit.deriving(owner)),
            fix=_fix(method.facts, owner, facts, problem),
            chain=(expected, actual),
            gates=audit.gate_uses(contract, (method.name,)),
        )


def _refused(status: Status, method: ContractMethod) -> bool:
    """Whether a chain shows that the method cannot be called as the contract says."""
    return any(m.method is method and m.how == "refuses" for a in status.alternatives for m in a.outer.methods)


def incompatible(contract: FunctionFacts, override: FunctionFacts, passed: Collection[str]) -> str:
    """Why a call that fits the contract does not fit an override; empty where it does.

    Args:
        contract: the contract's method.
        override: the class's.
        passed: keywords that the checkout's own calls pass; an optional parameter that no call passes may lack.
    """
    if contract.kind != override.kind:
        return f"it is of kind {override.kind}, the contract's of kind {contract.kind}"
    if contract.is_async != override.is_async and "Async" not in repr((contract.returns, override.returns)):
        return "one of the two is a coroutine"  # an async generator is called like a plain function
    takes_any = {p.kind for p in override.parameters}
    names = {p.name: p for p in override.parameters}
    expected = contract.parameters[0 if contract.kind == "static" else 1 :]
    for parameter in expected:
        if parameter.kind in ("var_positional", "var_keyword"):
            continue
        if not parameter.required and parameter.name not in passed:
            continue
        if parameter.name not in names and "var_keyword" not in takes_any:
            if parameter.kind == "keyword_only" or "var_positional" not in takes_any:
                if not _same_place(contract, override, parameter.name):
                    return f"it does not take {parameter.name}"
    known = {p.name for p in expected}
    for extra in override.parameters[0 if override.kind == "static" else 1 :]:
        if extra.required and extra.name not in known and not _stands_for(contract, override, extra.name):
            return f"it needs {extra.name}, which the contract does not give"
    return ""


def _positional(facts: FunctionFacts) -> list[str]:
    skip = 0 if facts.kind == "static" else 1
    return [p.name for p in facts.parameters[skip:] if p.kind.startswith("positional")]


def _same_place(contract: FunctionFacts, override: FunctionFacts, name: str) -> bool:
    """Whether the override has a parameter of another name where the contract has this one."""
    mine, theirs = _positional(contract), _positional(override)
    return name in mine and mine.index(name) < len(theirs)


def _stands_for(contract: FunctionFacts, override: FunctionFacts, name: str) -> bool:
    theirs, mine = _positional(override), _positional(contract)
    return name in theirs and theirs.index(name) < len(mine)


def _annotated_differently(contract: FunctionFacts, override: FunctionFacts) -> bool:
    """Whether both annotate a parameter or the result, and not alike; quotes do not count."""
    theirs = {p.name: p.annotation for p in contract.parameters}
    pairs = [(p.annotation, theirs.get(p.name)) for p in override.parameters]
    pairs.append((override.returns, contract.returns))
    return any(one is not None and two is not None and _plain(one) != _plain(two) for one, two in pairs)


def _plain(annotation: Expr) -> str:
    text = render(annotation).replace(" ", "").replace("'", "").replace('"', "")
    return text.replace("typing.", "").replace("Tuple[", "tuple[").replace("List[", "list[")


def _fix(contract: FunctionFacts, owner: ClassInfo, facts: FunctionFacts, problem: str) -> Fix:
    """The contract's parameters, with the optional ones that only the override has behind them."""
    if contract.kind != facts.kind or contract.is_async != facts.is_async:
        return Fix("none", "what kind of method it should be is the author's to say")
    names = {p.name for p in contract.parameters}
    extra = [p for p in facts.parameters if p.name not in names]
    own = {p.name: p for p in facts.parameters}
    taken = [p.annotation for p in contract.parameters if problem == ANNOTATIONS or p.name not in own]
    if problem == ANNOTATIONS:
        taken.append(contract.returns)
    if any(p.required or p.kind.startswith("positional") for p in extra) or not _known_names(taken):
        return Fix("none", "what the body should do with the contract's parameters is the author's to say")
    first = facts.parameters[:1] if facts.kind != "static" else ()
    wanted = contract.parameters[len(first) :]
    merged = [*first, *(p if problem == ANNOTATIONS else own.get(p.name, p) for p in wanted), *extra]
    merged.sort(key=lambda p: KINDS.index(p.kind))
    edit = ReplaceSignature(
        owner.path,
        owner.facts.qualname,
        facts.name,
        replace(facts, header=(tuple(merged), facts.returns)).parameter_sources,
        render(contract.returns if problem == ANNOTATIONS else facts.returns),
    )
    if problem == ANNOTATIONS:
        return Fix("safe", f"annotate {facts.name} as {owner.name}'s contract does", (edit,))
    return Fix("unsafe", f"give {facts.name} the contract's parameters", (edit,), "its body does not use them yet")


def _known_names(exprs: list[Expr | None]) -> bool:
    """Whether annotations hold builtins and quoted names only, so that they read alike everywhere."""
    names = {part[1] for expr in exprs if expr is not None for part in walk(expr) if part[:1] == ("name",)}
    return all(hasattr(builtins, name) for name in names)
