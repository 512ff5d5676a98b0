"""VC013 unreachable-language-model."""

from __future__ import annotations

from collections.abc import Iterator

from analyzer import members
from analyzer.audit import Audit
from analyzer.chains import MethodResult
from analyzer.contracts import Contract, ContractMethod
from analyzer.findings import Finding, Fix, Link, Severity
from analyzer.lower import walk
from analyzer.models import Model
from rules._rule import Case, Rule


class UnreachableLanguageModel(Rule):
    """A multimodal model cannot tell its own language model.

    Consumers that need the inner model ask the outer one for it (``get_language_model``).  The contract's default looks
    for what was marked while it was built, then for a child that embeds tokens; where there is neither, it raises.
    """

    code = "VC013"
    name = "unreachable-language-model"
    severity = "error"
    what = "A model passes a contract's checker, and the method by which consumers find its language model raises."
    why = (
        "Speculative decoding shares the embeddings of the language model and asks the outer model for it; defaults of "
        'the contract do so for each request. Both end in "NotImplementedError: No language model found in …".'
    )
    how = "Build the language model inside the contract's marking context, or override the method to return it."

    bad = (
        Case(
            name="what was built is no language model by itself, and nothing is marked",
            generation="contracts",
            architectures={"LycheeForConditionalGeneration": "LycheeForConditionalGeneration"},
            finds=(("VC013", "LycheeForConditionalGeneration"),),
            source="""
                from torch import nn

                from .beta import BetaModel
                from .interfaces import SupportsMultiModal


                class LycheeModel(nn.Module):
                    def __init__(self, vllm_config):
                        super().__init__()
                        self.encoder = nn.Linear(4, 4)
                        self.decoder = BetaModel(vllm_config=vllm_config)

                    def forward(self, input_ids, positions):
                        return self.decoder(input_ids, positions)


                class LycheeForConditionalGeneration(nn.Module, SupportsMultiModal):
                    def __init__(self, *, vllm_config, prefix=""):
                        super().__init__()
                        self.config = vllm_config.model_config.hf_config
                        self.model = LycheeModel(vllm_config)

                    def embed_multimodal(self, **kwargs):
                        return [self.model.encoder(pixels) for pixels in kwargs.values()]

                    def forward(self, input_ids, positions, **kwargs):
                        return self.model(input_ids, positions)

                    def compute_logits(self, hidden_states):
                        return hidden_states
                """,
        ),
        Case(
            name="only the encoder was marked, and the decoder's class embeds no tokens",
            generation="contracts",
            architectures={"LycheeForCausalLM": "LycheeForCausalLM"},
            finds=(("VC013", "LycheeForCausalLM"),),
            source="""
                from torch import nn

                from .interfaces import SupportsMultiModal


                class LycheeDecoder(nn.Module):
                    def __init__(self, config):
                        super().__init__()
                        self.layers = nn.ModuleList([nn.Linear(4, 4)])

                    def forward(self, input_ids, positions):
                        return self.layers[0](input_ids)


                class LycheeForCausalLM(nn.Module, SupportsMultiModal):
                    def __init__(self, *, vllm_config, prefix=""):
                        super().__init__()
                        self.config = vllm_config.model_config.hf_config
                        with self._mark_tower_model(vllm_config, "image"):
                            self.vision_tower = nn.Linear(4, 4)
                        self.decoder = LycheeDecoder(self.config)

                    def embed_multimodal(self, **kwargs):
                        return [self.vision_tower(pixels) for pixels in kwargs.values()]

                    def embed_input_ids(self, input_ids, multimodal_embeddings=None):
                        return input_ids

                    def forward(self, input_ids, positions, **kwargs):
                        return self.decoder(input_ids, positions)

                    def compute_logits(self, hidden_states):
                        return hidden_states
                """,
        ),
    )
    good = (
        Case(
            name="the class says itself which part of it generates",
            generation="contracts",
            architectures={"LycheeForConditionalGeneration": "LycheeForConditionalGeneration"},
            source="""
                from torch import nn

                from .beta import BetaModel
                from .interfaces import SupportsMultiModal


                class LycheeModel(nn.Module):
                    def __init__(self, vllm_config):
                        super().__init__()
                        self.encoder = nn.Linear(4, 4)
                        self.decoder = BetaModel(vllm_config=vllm_config)


                class LycheeForConditionalGeneration(nn.Module, SupportsMultiModal):
                    def __init__(self, *, vllm_config, prefix=""):
                        super().__init__()
                        self.config = vllm_config.model_config.hf_config
                        self.model = LycheeModel(vllm_config)

                    def get_language_model(self):
                        return self.model.decoder

                    def embed_multimodal(self, **kwargs):
                        return [self.model.encoder(pixels) for pixels in kwargs.values()]

                    def forward(self, input_ids, positions, **kwargs):
                        return self.model.decoder(input_ids, positions)

                    def compute_logits(self, hidden_states):
                        return hidden_states
                """,
        ),
        Case(
            name="a child that embeds tokens is found without a mark",
            generation="contracts",
            architectures={"LycheeForCausalLM": "LycheeForCausalLM"},
            source="""
                from torch import nn

                from .beta import BetaModel
                from .interfaces import SupportsMultiModal


                class LycheeForCausalLM(nn.Module, SupportsMultiModal):
                    def __init__(self, *, vllm_config, prefix=""):
                        super().__init__()
                        self.config = vllm_config.model_config.hf_config
                        self.vision_tower = nn.Linear(4, 4)
                        self.decoder = BetaModel(vllm_config=vllm_config)

                    def embed_multimodal(self, **kwargs):
                        return [self.vision_tower(pixels) for pixels in kwargs.values()]

                    def forward(self, input_ids, positions, **kwargs):
                        return self.decoder(input_ids, positions)

                    def compute_logits(self, hidden_states):
                        return hidden_states
                """,
        ),
    )

    def check(self, audit: Audit) -> Iterator[Finding]:
        for contract in audit.contracts.values():
            method = contract.method(contract.handling.finds_inner)
            if method is None or not audit.callers(contract, method.name):
                continue
            failing: dict[Model, MethodResult] = {}
            for model in audit.serving:
                if audit.status(model, contract).satisfied:
                    instance = audit.model_set.instance(model.cls)
                    result = audit.model_set.follower.method(instance, method, pretend=False)
                    if result.how == "fails" and result.from_contract:
                        failing[model] = result
            for model, found in failing.items():
                yield self._report(audit, contract, model, found)

    def _report(self, audit: Audit, contract: Contract, model: Model, result: MethodResult) -> Finding:
        cls, failure, method = model.cls, result.failure, result.method
        assert failure is not None
        asking = [m for m in contract.methods if _asks(audit, model, contract, m, method)]
        also = f", and its default {asking[0].name} asks it" if asking else ""
        gates = audit.callers(contract, method.name)
        severity: Severity = "error" if asking else "warning"
        links = [gate.call_link() for gate in gates]
        return self.finding(
            contract,
            cls,
            audit.position(cls),
            f"{cls.name} passes {contract.checker}, but {method.name} finds no language model in it: "
            f"{failure.kind}{also}",
            architectures=audit.architectures([model]),
            severity=severity,
            fix=Fix("none", "which part of it is the language model is for its author to say"),
            chain=(
                *links,
                Link("check", True, cls.path, cls.line, f"{cls.name} passes {contract.checker}"),
                Link(
                    "language-model",
                    False,
                    failure.path,
                    failure.line,
                    f"{method.name} fails here with {result.reason}",
                ),
            ),
            gates=audit.call_uses(contract, method.name),
        )


def _asks(audit: Audit, model: Model, contract: Contract, other: ContractMethod, method: ContractMethod) -> bool:
    """Whether another of the contract's defaults is effective on a model, is called, and calls the method itself."""
    member = members.class_method(model.cls, other.name)
    if other is method or member is None or member[0] is not other.owner or not audit.callers(contract, other.name):
        return False
    return any(node[0] == "attr" and node[2] == method.name for node in walk(other.facts.body or ()))
