"""VC020 unsupported-model."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from analyzer.audit import Audit
from analyzer.contracts import Contract
from analyzer.conventions import read_convention
from analyzer.findings import Finding, Fix, Link, Position
from analyzer.index import ClassInfo
from analyzer.lessons import declaring_class, lesson_of, support
from analyzer.loops import Irregular, Loop
from analyzer.models import Model
from rules._rule import Case, Rule


class UnsupportedModel(Rule):
    """A text model without the contract, and whether its decoder could be taught.

    The loop over the decoder's layers is judged. It is *regular* where it stands alone in `forward`, runs over
    `self.layers`, calls each layer once, carries hidden states and at most a residual in plain names, and is followed
    by nothing but one norm and one return, beside the return of an earlier pipeline stage. Otherwise the finding names
    the line that makes it irregular.

    What a state is follows from the last norm: where that adds the residual, the state is the sum of both, and where
    it passes the residual by, the hidden states are the whole state.
    """

    code = "VC020"
    name = "unsupported-model"
    severity = "info"
    default = False
    what = "A text model does not support the contract; its decoder's loop is judged."
    why = (
        "The runner refuses the model, and every wrapper of it. Where the loop is regular, the support that it lacks "
        "is the same few lines that other decoders of the checkout have."
    )
    how = (
        "Where the loop is regular, vllm-contracts fix --teach NAME writes them in the way of the checkout; an "
        "irregular one is for its author."
    )

    bad = (
        Case(
            name="the loop is regular",
            settings='select = ["VC020"]',
            architectures={"SorrelForCausalLM": "SorrelForCausalLM"},
            finds=(("VC020", "SorrelForCausalLM"),),
            source="""
                from torch import nn

                from .utils import make_layers


                class SorrelDecoderLayer(nn.Module):
                    def __init__(self, hidden_size, prefix=""):
                        super().__init__()
                        self.mlp = nn.Linear(hidden_size, hidden_size)

                    def forward(self, positions, hidden_states):
                        return hidden_states + self.mlp(hidden_states)


                class SorrelModel(nn.Module):
                    def __init__(self, *, vllm_config, prefix=""):
                        super().__init__()
                        config = vllm_config.model_config.hf_config
                        self.embed_tokens = nn.Embedding(config.vocab_size, config.hidden_size)
                        self.start_layer, self.end_layer, self.layers = make_layers(
                            config.num_hidden_layers,
                            lambda prefix: SorrelDecoderLayer(config.hidden_size, prefix=prefix),
                            prefix=f"{prefix}.layers",
                        )
                        self.norm = nn.Linear(config.hidden_size, config.hidden_size)

                    def embed_input_ids(self, input_ids):
                        return self.embed_tokens(input_ids)

                    def forward(self, input_ids, positions, intermediate_tensors=None, inputs_embeds=None):
                        hidden_states = self.embed_input_ids(input_ids) if inputs_embeds is None else inputs_embeds
                        for layer in self.layers[self.start_layer : self.end_layer]:
                            hidden_states = layer(positions, hidden_states)
                        return self.norm(hidden_states)


                class SorrelForCausalLM(nn.Module):
                    def __init__(self, *, vllm_config, prefix=""):
                        super().__init__()
                        self.model = SorrelModel(vllm_config=vllm_config, prefix=prefix)

                    def forward(self, input_ids, positions, **kwargs):
                        return self.model(input_ids, positions, **kwargs)

                    def compute_logits(self, hidden_states):
                        return hidden_states
                """,
        ),
        Case(
            name="each layer hands on more than its states, so the loop is irregular",
            generation="0.16",
            settings='select = ["unsupported-model"]',
            architectures={"SorrelForCausalLM": "SorrelForCausalLM"},
            finds=(("VC020", "SorrelForCausalLM"),),
            source="""
                from torch import nn


                class SorrelDecoderLayer(nn.Module):
                    def __init__(self, hidden_size):
                        super().__init__()
                        self.mlp = nn.Linear(hidden_size, hidden_size)

                    def forward(self, hidden_states, residual, shared):
                        return self.mlp(hidden_states), hidden_states + residual, shared


                class SorrelModel(nn.Module):
                    def __init__(self, *, vllm_config, prefix=""):
                        super().__init__()
                        config = vllm_config.model_config.hf_config
                        self.embed_tokens = nn.Embedding(config.vocab_size, config.hidden_size)
                        self.layers = nn.ModuleList(
                            [SorrelDecoderLayer(config.hidden_size) for _ in range(config.num_hidden_layers)]
                        )

                    def forward(self, input_ids, positions, intermediate_tensors=None, inputs_embeds=None):
                        hidden_states = self.embed_tokens(input_ids) if inputs_embeds is None else inputs_embeds
                        residual = shared = 0.0
                        for layer in self.layers:
                            hidden_states, residual, shared = layer(hidden_states, residual, shared)
                        return hidden_states + residual


                class SorrelForCausalLM(nn.Module):
                    def __init__(self, *, vllm_config, prefix=""):
                        super().__init__()
                        self.model = SorrelModel(vllm_config=vllm_config, prefix=prefix)

                    def forward(self, input_ids, positions, **kwargs):
                        return self.model(input_ids, positions, **kwargs)

                    def compute_logits(self, hidden_states):
                        return hidden_states
                """,
        ),
    )
    good = (
        Case(
            name="nobody asks for it",
            architectures={"SorrelForCausalLM": "SorrelForCausalLM"},
            source="""
                from torch import nn

                from .beta import BetaModel


                class SorrelForCausalLM(nn.Module):
                    def __init__(self, *, vllm_config, prefix=""):
                        super().__init__()
                        self.model = BetaModel(vllm_config=vllm_config, prefix=prefix)

                    def forward(self, input_ids, positions, **kwargs):
                        return self.model(input_ids, positions)

                    def compute_logits(self, hidden_states):
                        return hidden_states
                """,
        ),
        Case(
            name="the model supports it",
            settings='select = ["VC020"]',
            architectures={"SorrelForCausalLM": "SorrelForCausalLM"},
            source="""
                from .alpha import AlphaForCausalLM


                class SorrelForCausalLM(AlphaForCausalLM):
                    pass
                """,
        ),
    )

    def check(self, audit: Audit) -> Iterator[Finding]:
        for contract in audit.delegated:
            convention = read_convention(audit, contract)
            lacking = [m for m in audit.serving if m.role == "text" and _lacks(audit, m, contract)]
            owner_of = partial(_owner, audit, contract)
            for owner, models in audit.by_owner(lacking, owner_of):
                fix = support(audit, models[0], contract, convention)
                yield self._report(audit, contract, owner, models, fix)

    def _report(
        self,
        audit: Audit,
        contract: Contract,
        owner: ClassInfo,
        models: list[Model],
        taught: Fix,
    ) -> Finding:
        lesson = lesson_of(audit, models[0], contract)
        loop = (lesson.irregular or lesson.loops[0]) if lesson is not None else None
        lacks = f"{owner.name} does not support {contract.name}"
        at: Position | None = None
        if lesson is None or loop is None:
            message = f"{lacks}, and builds no decoder that is known"
        elif isinstance(loop, Irregular):
            at = Position(loop.path, loop.line)
            message = (
                f"{lacks}; the loop of its decoder {lesson.decoders[0].cls.name} is irregular: {loop.reason} ({at})"
            )
        else:
            at = Position(loop.owner.path, loop.line)
            message = f"{lacks}; the loop of its decoder {lesson.decoders[0].cls.name} ({at}) is regular"
        command = f"vllm-contracts fix --teach {models[0].cls.name} would {taught.summary}"
        fix = Fix("none", command if taught.edits else taught.summary)
        ok = isinstance(loop, Loop)
        chain = (Link("loop", ok, at.path, at.line, message.partition("; ")[2]),) if at is not None else ()
        return self.finding(
            contract,
            owner,
            audit.position(owner),
            message,
            architectures=audit.architectures(models),
            fix=fix,
            chain=chain,
            gates=audit.gate_uses(contract),
        )


def _lacks(audit: Audit, model: Model, contract: Contract) -> bool:
    return not model.inner and audit.status(model, contract).verdict == "unsupported"


def _owner(audit: Audit, contract: Contract, model: Model) -> ClassInfo:
    return declaring_class(audit, model, contract)
