"""VC007 uncaptured-states."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from analyzer import evidence
from analyzer.audit import Audit
from analyzer.chains import Chain
from analyzer.contracts import Contract
from analyzer.findings import Finding, Fix
from analyzer.models import Alternative, Model
from rules._rule import Case, Rule


@dataclass
class _Claim:
    """A class whose claim ends at a decoder that does not capture."""

    chain: Chain
    model: Model
    alternative: Alternative


class UncapturedStates(Rule):
    """A class claims support and its decoder's effective forward neither collects nor returns the states.

    It happens where a subclass of a capturing decoder overrides ``forward`` and leaves the collecting out.
    """

    code = "VC007"
    name = "uncaptured-states"
    severity = "error"
    what = "A class claims support, and its decoder's effective forward neither collects nor returns the states."
    why = (
        "The interface is complete and the feature is broken: where the runner unpacks hidden states and auxiliary "
        'states it finds a tensor, and says "ValueError: too many values to unpack (expected 2)".'
    )
    how = "Collect in the overriding forward as the inherited one does; no mechanical repair is offered here."

    bad = (
        Case(
            name="the decoder overrides forward and leaves the collecting out",
            architectures={"QuinceForCausalLM": "QuinceForCausalLM"},
            finds=(("VC007", "QuinceForCausalLM"),),
            source="""
                from .alpha import AlphaForCausalLM, AlphaModel


                class QuinceModel(AlphaModel):
                    def forward(self, input_ids, positions, intermediate_tensors=None, inputs_embeds=None):
                        hidden_states = self.embed_input_ids(input_ids) if inputs_embeds is None else inputs_embeds
                        residual = None
                        for layer in self.layers:
                            hidden_states, residual = layer(positions, hidden_states, residual)
                        return hidden_states + residual


                class QuinceForCausalLM(AlphaForCausalLM):
                    def _init_model(self, vllm_config, prefix=""):
                        return QuinceModel(vllm_config=vllm_config, prefix=prefix)
                """,
        ),
        Case(
            name="the states are collected and never returned, and a wrapper claims them too",
            generation="0.16",
            architectures={
                "QuinceDeltaForCausalLM": "QuinceDeltaForCausalLM",
                "QuinceForCausalLM": "QuinceForCausalLM",
            },
            finds=(("VC007", "QuinceDeltaForCausalLM"),),
            source="""
                from torch import nn

                from .delta import DeltaForCausalLM, DeltaModel
                from .interfaces import SupportsEagle3


                class QuinceModel(DeltaModel):
                    def forward(self, input_ids, positions, intermediate_tensors=None, inputs_embeds=None):
                        hidden_states = self.embed_input_ids(input_ids) if inputs_embeds is None else inputs_embeds
                        aux_hidden_states = []
                        for index, layer in enumerate(self.layers):
                            if index in self.aux_hidden_state_layers:
                                aux_hidden_states.append(hidden_states)
                            hidden_states = layer(hidden_states)
                        return hidden_states


                class QuinceDeltaForCausalLM(DeltaForCausalLM):
                    model_cls = QuinceModel


                class QuinceForCausalLM(nn.Module, SupportsEagle3):
                    def __init__(self, *, vllm_config, prefix=""):
                        super().__init__()
                        self.language_model = QuinceDeltaForCausalLM(vllm_config=vllm_config, prefix=prefix)

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
        Case(
            name="a wrapper of such a model is not repaired: that would only move the failure",
            generation="0.20",
            architectures={
                "QuinceAlphaForCausalLM": "QuinceAlphaForCausalLM",
                "QuinceForCausalLM": "QuinceForCausalLM",
            },
            finds=(("VC001", "QuinceForCausalLM"), ("VC007", "QuinceAlphaForCausalLM")),
            source="""
                from torch import nn

                from .alpha import AlphaForCausalLM, AlphaModel


                class QuinceModel(AlphaModel):
                    def forward(self, input_ids, positions, intermediate_tensors=None, inputs_embeds=None):
                        return self.embed_input_ids(input_ids)


                class QuinceAlphaForCausalLM(AlphaForCausalLM):
                    def _init_model(self, vllm_config, prefix=""):
                        return QuinceModel(vllm_config=vllm_config, prefix=prefix)


                class QuinceForCausalLM(nn.Module):
                    def __init__(self, *, vllm_config, prefix=""):
                        super().__init__()
                        self.language_model = QuinceAlphaForCausalLM(vllm_config=vllm_config, prefix=prefix)

                    def forward(self, input_ids, positions, **kwargs):
                        return self.language_model(input_ids, positions, **kwargs)

                    def compute_logits(self, hidden_states):
                        return self.language_model.compute_logits(hidden_states)
                """,
        ),
    )
    good = (
        Case(
            name="the overriding forward adds to the inherited one and keeps its result",
            architectures={"QuinceForCausalLM": "QuinceForCausalLM"},
            source="""
                from .alpha import AlphaForCausalLM, AlphaModel


                class QuinceModel(AlphaModel):
                    def forward(self, input_ids, positions, intermediate_tensors=None, inputs_embeds=None):
                        if inputs_embeds is None:
                            inputs_embeds = self.embed_input_ids(input_ids) * 2.0
                        return super().forward(input_ids, positions, intermediate_tensors, inputs_embeds)


                class QuinceForCausalLM(AlphaForCausalLM):
                    def _init_model(self, vllm_config, prefix=""):
                        return QuinceModel(vllm_config=vllm_config, prefix=prefix)
                """,
        ),
        Case(
            name="the states are gathered in a dict and handed out in the order that was asked for",
            generation="0.16",
            architectures={"QuinceDeltaForCausalLM": "QuinceDeltaForCausalLM"},
            source="""
                from .delta import DeltaForCausalLM, DeltaModel


                class QuinceModel(DeltaModel):
                    def forward(self, input_ids, positions, intermediate_tensors=None, inputs_embeds=None):
                        hidden_states = self.embed_input_ids(input_ids) if inputs_embeds is None else inputs_embeds
                        captured = {}
                        for index, layer in enumerate(self.layers):
                            captured[index] = hidden_states
                            hidden_states = layer(hidden_states)
                        if not self.aux_hidden_state_layers:
                            return hidden_states
                        return hidden_states, [captured[index] for index in self.aux_hidden_state_layers]


                class QuinceDeltaForCausalLM(DeltaForCausalLM):
                    model_cls = QuinceModel
                """,
        ),
    )

    def check(self, audit: Audit) -> Iterator[Finding]:
        for contract in audit.delegated:
            claims: dict[str, list[_Claim]] = {}
            for model in audit.serving:
                for claim in _claims(audit, model, contract):
                    claims.setdefault(claim.chain.root.cls.key, []).append(claim)
            for found in claims.values():
                yield self._report(audit, contract, found)

    def _report(self, audit: Audit, contract: Contract, claims: list[_Claim]) -> Finding:
        first = claims[0]
        cls, holder, capture = first.chain.root.cls, first.chain.holder, first.chain.capture
        assert holder is not None and capture is not None
        status = audit.status(first.model, contract)
        return self.finding(
            contract,
            cls,
            audit.position(cls),
            f"{cls.name} claims {contract.name}, but {capture.detail}",
            architectures=audit.architectures([c.model for c in claims]),
            fix=Fix("none", f"{holder.cls.name} would have to collect and return the states first"),
            chain=evidence.chain_links(audit, first.model, status, first.alternative),
            gates=audit.gate_uses(contract),
            builds_inner=audit.site_position(first.alternative.inner),
        )


def _claims(audit: Audit, model: Model, contract: Contract) -> Iterator[_Claim]:
    """The claims that a model's chains meet: its inner model's own where that leads to a decoder, else its own."""
    alternatives = audit.status(model, contract).alternatives
    for alternative in alternatives:
        own = alternative.own
        if own is not None and own.satisfied and own.capture is not None:
            if own.lost:
                yield _Claim(own, model, alternative)
        elif alternative.outer.satisfied and all(a.outer.lost or a.outer.ok is False for a in alternatives):
            if alternative.outer.lost:
                yield _Claim(alternative.outer, model, alternative)
