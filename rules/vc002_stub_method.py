"""VC002 stub-method."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from analyzer import construct, evidence, members, repair, takeover
from analyzer.audit import Audit
from analyzer.contracts import Contract, ContractMethod
from analyzer.facts import FunctionFacts
from analyzer.findings import Finding, Fix, Link
from analyzer.index import ClassInfo
from analyzer.models import Model, Status, is_delegated
from analyzer.owed import lacks
from rules._rule import Case, Rule


class StubMethod(Rule):
    """A class passes the check and a method that a gate calls resolves to a Protocol's stub.

    A Protocol that is inherited gives its bodies too: ``def f(self): ...`` is a method that returns None.
    """

    code = "VC002"
    name = "stub-method"
    severity = "error"
    what = "A class passes a contract's checker, and a method that the engine calls is still the Protocol's stub."
    why = (
        "The stub returns None and the engine goes on with it. Without layers the first forward dies with "
        "\"TypeError: argument of type 'NoneType' is not iterable\"; a setter that sets nothing leaves the runner with "
        "a tensor where it unpacks a pair."
    )
    how = "Define the method, usually by handing it on to the inner model."

    bad = (
        Case(
            name="the base without its methods gives the stubs, which return None",
            generation="0.16",
            architectures={"LimeForCausalLM": "LimeForCausalLM"},
            finds=(("VC002", "LimeForCausalLM"), ("VC002", "LimeForCausalLM")),
            source="""
                from torch import nn

                from .interfaces import SupportsEagle3
                from .utils import init_vllm_registered_model


                class LimeForCausalLM(nn.Module, SupportsEagle3):
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
            name="a Protocol before the mixin that has the methods hides them with its stubs",
            generation="0.16",
            architectures={"LimeForCausalLM": "LimeForCausalLM"},
            finds=(("VC002", "LimeForCausalLM"), ("VC002", "LimeForCausalLM")),
            source="""
                from torch import nn

                from .delta import DeltaForCausalLM
                from .interfaces import SupportsEagle3


                class LimeMixin:
                    def set_aux_hidden_state_layers(self, layers):
                        self.text_model.set_aux_hidden_state_layers(layers)

                    def get_eagle3_aux_hidden_state_layers(self):
                        return self.text_model.get_eagle3_aux_hidden_state_layers()


                class LimeForCausalLM(nn.Module, SupportsEagle3, LimeMixin):
                    def __init__(self, *, vllm_config, prefix=""):
                        super().__init__()
                        self.text_model = self._init_text_model(vllm_config, prefix)

                    def _init_text_model(self, vllm_config, prefix):
                        return DeltaForCausalLM(vllm_config=vllm_config, prefix=prefix)

                    def forward(self, input_ids, positions, **kwargs):
                        return self.text_model(input_ids, positions, **kwargs)

                    def compute_logits(self, hidden_states):
                        return self.text_model.compute_logits(hidden_states)
                """,
        ),
        Case(
            name="stubs before a forward that drops the states, where methods alone would only move the failure",
            generation="0.16",
            architectures={"LimeForCausalLM": "LimeForCausalLM"},
            finds=(("VC002", "LimeForCausalLM"), ("VC002", "LimeForCausalLM")),
            source="""
                from torch import nn

                from .alpha import AlphaForCausalLM
                from .interfaces import SupportsEagle3


                class LimeForCausalLM(nn.Module, SupportsEagle3):
                    def __init__(self, *, vllm_config, prefix=""):
                        super().__init__()
                        self.language_model = AlphaForCausalLM(vllm_config=vllm_config, prefix=prefix)

                    def forward(self, input_ids, positions, **kwargs):
                        output = self.language_model(input_ids, positions, **kwargs)
                        return output[0] if isinstance(output, tuple) else output

                    def compute_logits(self, hidden_states):
                        return self.language_model.compute_logits(hidden_states)
                """,
        ),
        Case(
            name="a model that can be cut into stages and never says what a stage starts from",
            architectures={"LimeForCausalLM": "LimeForCausalLM"},
            finds=(("VC002", "LimeForCausalLM"),),
            source="""
                from torch import nn

                from .beta import BetaModel
                from .interfaces import SupportsPP


                class LimeForCausalLM(nn.Module, SupportsPP):
                    def __init__(self, *, vllm_config, prefix=""):
                        super().__init__()
                        self.model = BetaModel(vllm_config=vllm_config, prefix=prefix)

                    def forward(self, input_ids, positions, intermediate_tensors=None):
                        return self.model(input_ids, positions, intermediate_tensors)

                    def compute_logits(self, hidden_states):
                        return hidden_states
                """,
        ),
        Case(
            name="a hybrid model whose class does not know the shapes of its caches",
            generation="0.20",
            architectures={"LimeForCausalLM": "LimeForCausalLM"},
            finds=(("VC002", "LimeForCausalLM"),),
            source="""
                from .beta import BetaForCausalLM
                from .interfaces import IsHybrid


                class LimeForCausalLM(BetaForCausalLM, IsHybrid):
                    pass
                """,
        ),
        Case(
            name="a wrapper that can be cut into stages and forgot to take one attribute over",
            generation="contracts",
            architectures={"LimeForCausalLM": "LimeForCausalLM"},
            finds=(("VC002", "LimeForCausalLM"),),
            source="""
                from torch import nn

                from .beta import BetaForCausalLM
                from .interfaces import SupportsPP
                from .utils import maybe_prefix


                class LimeForCausalLM(nn.Module, SupportsPP):
                    def __init__(self, *, vllm_config, prefix=""):
                        super().__init__()
                        self.config = vllm_config.model_config.hf_config
                        self.language_model = BetaForCausalLM(
                            vllm_config=vllm_config, prefix=maybe_prefix(prefix, "language_model")
                        )
                        self.scale = 1.0

                    def forward(self, input_ids, positions, intermediate_tensors=None):
                        return self.language_model(input_ids, positions, intermediate_tensors)

                    def compute_logits(self, hidden_states):
                        return self.language_model.compute_logits(hidden_states)
                """,
        ),
        Case(
            name="a hybrid wrapper with the shapes of the caches and not the way to copy them",
            generation="contracts",
            architectures={"LimeForCausalLM": "LimeForCausalLM"},
            finds=(("VC002", "LimeForCausalLM"),),
            source="""
                from .epsilon import EpsilonForCausalLM
                from .interfaces import HasInnerState, IsHybrid, MixtureOfExperts, SupportsLoRA, SupportsPP
                from .utils import init_vllm_registered_model

                from torch import nn


                class LimeForCausalLM(nn.Module, SupportsPP, SupportsLoRA, HasInnerState, IsHybrid, MixtureOfExperts):
                    def __init__(self, *, vllm_config, prefix=""):
                        super().__init__()
                        self.language_model = init_vllm_registered_model(
                            vllm_config, architectures=["EpsilonForCausalLM"]
                        )
                        self.make_empty_intermediate_tensors = self.language_model.make_empty_intermediate_tensors
                        self.num_moe_layers = self.language_model.num_moe_layers
                        self.expert_weights = self.language_model.expert_weights

                    @classmethod
                    def get_mamba_state_shape_from_config(cls, vllm_config):
                        return EpsilonForCausalLM.get_mamba_state_shape_from_config(vllm_config)

                    def forward(self, input_ids, positions, intermediate_tensors=None):
                        return self.language_model(input_ids, positions, intermediate_tensors)

                    def compute_logits(self, hidden_states):
                        return self.language_model.compute_logits(hidden_states)
                """,
        ),
    )
    good = (
        Case(
            name="the methods are handed on to the inner model",
            generation="0.16",
            architectures={"LimeForCausalLM": "LimeForCausalLM"},
            source="""
                from torch import nn

                from .interfaces import SupportsEagle3
                from .utils import init_vllm_registered_model


                class LimeForCausalLM(nn.Module, SupportsEagle3):
                    def __init__(self, *, vllm_config, prefix=""):
                        super().__init__()
                        self.language_model = init_vllm_registered_model(
                            vllm_config, architectures=["AlphaForCausalLM"]
                        )

                    def set_aux_hidden_state_layers(self, layers: tuple[int, ...]) -> None:
                        self.language_model.set_aux_hidden_state_layers(layers)

                    def get_eagle3_aux_hidden_state_layers(self) -> tuple[int, ...]:
                        return self.language_model.get_eagle3_aux_hidden_state_layers()

                    def forward(self, input_ids, positions, **kwargs):
                        return self.language_model(input_ids, positions, **kwargs)

                    def compute_logits(self, hidden_states):
                        return self.language_model.compute_logits(hidden_states)
                """,
        ),
        Case(
            name="the mixin stands before the Protocol and its methods win",
            generation="0.16",
            architectures={"LimeForCausalLM": "LimeForCausalLM"},
            source="""
                from torch import nn

                from .delta import DeltaForCausalLM
                from .interfaces import SupportsEagle3


                class LimeMixin:
                    def set_aux_hidden_state_layers(self, layers):
                        self.text_model.set_aux_hidden_state_layers(layers)

                    def get_eagle3_aux_hidden_state_layers(self):
                        return self.text_model.get_eagle3_aux_hidden_state_layers()


                class LimeForCausalLM(nn.Module, LimeMixin, SupportsEagle3):
                    def __init__(self, *, vllm_config, prefix=""):
                        super().__init__()
                        self.text_model = DeltaForCausalLM(vllm_config=vllm_config, prefix=prefix)

                    def forward(self, input_ids, positions, **kwargs):
                        return self.text_model(input_ids, positions, **kwargs)

                    def compute_logits(self, hidden_states):
                        return self.text_model.compute_logits(hidden_states)
                """,
        ),
        Case(
            name="the method is set on the object, which hides the stub of the class",
            architectures={"LimeForCausalLM": "LimeForCausalLM"},
            source="""
                from torch import nn

                from .beta import BetaModel
                from .interfaces import IsHybrid, SupportsPP
                from .utils import make_empty_intermediate_tensors_factory


                class LimeForCausalLM(nn.Module, SupportsPP, IsHybrid):
                    @classmethod
                    def get_mamba_state_shape_from_config(cls, vllm_config):
                        return ((1, 2), (3, 4))

                    def __init__(self, *, vllm_config, prefix=""):
                        super().__init__()
                        self.model = BetaModel(vllm_config=vllm_config, prefix=prefix)
                        self.make_empty_intermediate_tensors = make_empty_intermediate_tensors_factory(["x"], 4)

                    def forward(self, input_ids, positions, intermediate_tensors=None):
                        return self.model(input_ids, positions, intermediate_tensors)

                    def compute_logits(self, hidden_states):
                        return hidden_states
                """,
        ),
        Case(
            name="in the newer generations the base alone has working methods",
            generation="0.20",
            architectures={"LimeForCausalLM": "LimeForCausalLM"},
            source="""
                from torch import nn

                from .interfaces import SupportsEagle3
                from .utils import init_vllm_registered_model


                class LimeForCausalLM(nn.Module, SupportsEagle3):
                    def __init__(self, *, vllm_config, prefix=""):
                        super().__init__()
                        inner: nn.Module = init_vllm_registered_model(vllm_config, architectures=["AlphaForCausalLM"])
                        self.language_model = inner

                    def forward(self, input_ids, positions, **kwargs):
                        return self.language_model(input_ids, positions, **kwargs)

                    def compute_logits(self, hidden_states):
                        return self.language_model.compute_logits(hidden_states)
                """,
        ),
    )

    def check(self, audit: Audit) -> Iterator[Finding]:
        for contract in audit.contracts.values():
            judged = is_delegated(contract)  # then a chain tells what is effective, the class's own stubs too
            called = [m for m in contract.methods if judged or _is_faulty_stub(m)]
            called = [m for m in called if audit.callers(contract, m.name)]
            called = [m for m in called if not _is_optional(audit, contract, m)]
            passing = [
                m
                for m in audit.judged
                if not m.becomes and m.role not in ("draft", "pooling") and audit.status(m, contract).satisfied
            ]
            for method in called:
                empty = [
                    m
                    for m in passing
                    if _asked(audit, m, contract, method) and _effective_stub(audit, m, contract, method)
                ]
                for owner, models in audit.by_owner(empty, partial(_at_fault, audit, contract, method)):
                    yield self._report(audit, contract, owner, method, models)
            for name in contract.handling.attributes:
                if name in contract.members and contract.method(name) is None and audit.callers(contract, name):
                    yield from self._unset(audit, contract, name)

    def _unset(self, audit: Audit, contract: Contract, name: str) -> Iterator[Finding]:
        """A member that the Protocol only announces, so that there is nothing where nobody sets it."""
        lacking = [
            m
            for m in audit.judged
            if not m.becomes
            and m.role not in ("draft", "pooling")
            and contract.declared_by(m.cls)
            and audit.model_set.class_passes(m.cls, contract)
            and lacks(audit, m.cls, name)
        ]
        for owner, models in audit.by_owner(lacking, partial(_owes_it, audit, contract, name)):
            gates = audit.callers(contract, name)
            links = [gate.call_link() for gate in gates]
            yield self.finding(
                contract,
                owner,
                audit.position(owner),
                f"{owner.name} passes {contract.checker}, but nothing sets its {name}: calling it is an AttributeError",
                architectures=audit.architectures(models),
                fix=takeover.bind(audit, owner, models, (name,)),
                chain=(
                    *links,
                    Link("check", True, owner.path, owner.line, f"{owner.name} inherits {contract.name}"),
                    Link("attribute", False, owner.path, owner.line, f"objects of {owner.name} have no {name}"),
                ),
                gates=audit.call_uses(contract, name),
                builds_inner=audit.site_position(models[0].inner[0] if models[0].inner else None),
            )

    def _report(
        self, audit: Audit, contract: Contract, owner: ClassInfo, method: ContractMethod, models: list[Model]
    ) -> Finding:
        model = next((m for m in models if m.cls is owner), models[0])
        status = audit.status(model, contract)
        gates = audit.callers(contract, method.name)
        chain: tuple[Link, ...]
        if status.alternatives:
            chain = evidence.chain_links(audit, model, status, status.alternatives[0])
        else:
            chain = (
                *(gate.call_link() for gate in gates),
                Link("check", True, owner.path, owner.line, f"{owner.name} passes {contract.checker}"),
                Link(
                    "method",
                    False,
                    method.owner.path,
                    method.facts.line,
                    f"{method.owner.name}.{method.name} is a stub, and nothing in {owner.name} replaces it",
                ),
            )
        return self.finding(
            contract,
            owner,
            audit.position(owner),
            f"{owner.name} passes {contract.checker}, but its {method.name} is {_whose_stub(status, method)}: "
            "it does nothing and returns None",
            architectures=audit.architectures(models),
            fix=_fix(audit, owner, models, status, method),
            chain=chain,
            gates=audit.gate_uses(contract, (method.name,)),
            builds_inner=audit.site_position(model.inner[0] if model.inner else None),
        )


def _whose_stub(status: Status, method: ContractMethod) -> str:
    results = [m for a in status.alternatives for m in a.outer.methods if m.method is method]
    stub_of = results[0].stub_of if results else method.owner
    if stub_of is None or members.is_protocol(stub_of):
        return f"the stub of {method.owner.name}"
    return f"an empty one of {stub_of.name}"


def _is_optional(audit: Audit, contract: Contract, method: ContractMethod) -> bool:
    """Whether most classes that pass the check leave the method alone: a stub that nobody is expected to replace."""
    passing = [m for m in audit.models if m.role != "draft" and not m.becomes and audit.status(m, contract).satisfied]
    left = [m for m in passing if _effective_stub(audit, m, contract, method)]
    return len(passing) > 4 and len(left) > len(passing) / 2


def _asked(audit: Audit, model: Model, contract: Contract, method: ContractMethod) -> bool:
    """Whether the method is called on this model: it meets what the calls' conditions ask for beside the contract."""
    needs = {name for gate in audit.callers(contract, method.name) for name in gate.needs}
    return all(audit.status(model, audit.contracts[name]).satisfied is not False for name in needs)


def _is_faulty_stub(method: ContractMethod) -> bool:
    """A stub whose None is no answer: its declared result leaves no room for it."""
    if method.facts.stub != "returns-none":
        return False
    returns = method.facts.returns
    if returns is None or returns == ("const", None):
        return returns is not None
    text = repr(returns)
    return "'const', None" not in text and "Optional" not in text


def _effective_stub(audit: Audit, model: Model, contract: Contract, method: ContractMethod) -> bool:
    if is_delegated(contract):
        status = audit.status(model, contract)
        results = [m for a in status.alternatives for m in a.outer.methods if m.method is method]
        lacking = bool(model.inner) and not any(a.supported for a in status.alternatives)
        return bool(results) and not lacking and all(m.how == "stub" for m in results)
    member = members.class_member(model.cls, method.name)
    if member is None or not isinstance(member[1], FunctionFacts) or member[1].stub != "returns-none":
        return False
    if not members.is_protocol(member[0]):
        return False  # a stub of its own is somebody's decision
    on_instance = any(g.subject == "outer model" for g in audit.callers(contract, method.name))
    if on_instance:
        instance = audit.model_set.instance(model.cls)
        construct.prepare(audit.model_set.machine, instance)
        if method.name in instance.attrs or instance.missing_reason or members.unknown_base(model.cls):
            return False
    return True


def _at_fault(audit: Audit, contract: Contract, method: ContractMethod, model: Model) -> ClassInfo:
    """The class with an empty method of its own, else the one that brings the contract in."""
    for alternative in audit.status(model, contract).alternatives:
        for result in alternative.outer.methods:
            own = result.method is method and result.owner is not None and result.owner is result.stub_of
            if own and result.owner in model.cls.own_mro and not members.is_protocol(result.owner):
                return result.owner
    return _declaring(model.cls, contract)


def _owes_it(audit: Audit, contract: Contract, name: str, model: Model) -> ClassInfo:
    """The class that brings the contract in, unless it sets the member itself and an heir builds without it."""
    declaring = _declaring(model.cls, contract)
    return declaring if lacks(audit, declaring, name) else model.cls


def _declaring(cls: ClassInfo, contract: Contract) -> ClassInfo:
    """The class farthest up the linearisation that brings the contract in."""
    holders = [c for c in cls.own_mro if c.derives_from(contract.cls) and not members.is_protocol(c)]
    return holders[-1] if holders else cls


def _fix(audit: Audit, owner: ClassInfo, models: list[Model], status: Status, method: ContractMethod) -> Fix:
    if status.alternatives:
        return repair.delegate(audit, owner, models, status)
    handling, inner = status.contract.handling, models[0].inner
    if method.name in handling.attributes and inner:
        return takeover.bind(audit, owner, models, (method.name,))
    if method.facts.kind == "class" and len(inner) == 1:
        return takeover.class_methods(audit, owner, inner[0], status.contract, [method])
    return Fix("none", "what the method should give is for the class's author to say")
