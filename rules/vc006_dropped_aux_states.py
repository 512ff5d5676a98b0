"""VC006 dropped-aux-states."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from analyzer import evidence
from analyzer.audit import Audit
from analyzer.contracts import Contract
from analyzer.findings import Finding, Fix, Position
from analyzer.index import ClassInfo
from analyzer.models import Alternative, Model, Status
from rules._rule import Case, Rule


class DroppedAuxStates(Rule):
    """A class passes the check, its decoder collects, and its forward does not return the result as it came."""

    code = "VC006"
    name = "dropped-aux-states"
    severity = "error"
    what = "A model's forward unpacks, scales or wraps the decoder's result, so that the auxiliary states are lost."
    why = (
        "With auxiliary states the decoder returns a tuple: forward fails on it (\"TypeError: can't multiply sequence "
        "by non-int of type 'float'\" for instance), or silently loses them."
    )
    how = "Return the inner result as it came, or take it apart and put it together again where it is a tuple."

    bad = (
        Case(
            name="forward scales the result, which with auxiliary states is a tuple",
            architectures={"PlumForCausalLM": "PlumForCausalLM"},
            finds=(("VC006", "PlumForCausalLM"),),
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

                    def forward(self, input_ids, positions, **kwargs):
                        hidden_states = self.language_model(input_ids, positions, **kwargs)
                        return hidden_states * 0.5

                    def compute_logits(self, hidden_states):
                        return self.language_model.compute_logits(hidden_states)
                """,
        ),
        Case(
            name="forward takes the hidden states out and leaves the rest behind",
            generation="0.16",
            architectures={"PlumForCausalLM": "PlumForCausalLM"},
            finds=(("VC006", "PlumForCausalLM"),),
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

                    def set_aux_hidden_state_layers(self, layers):
                        self.language_model.set_aux_hidden_state_layers(layers)

                    def get_eagle3_aux_hidden_state_layers(self):
                        return self.language_model.get_eagle3_aux_hidden_state_layers()

                    def forward(self, input_ids, positions, **kwargs):
                        output = self.language_model(input_ids, positions, **kwargs)
                        if isinstance(output, tuple):
                            output, _ = output
                        return output

                    def compute_logits(self, hidden_states):
                        return self.language_model.compute_logits(hidden_states)
                """,
        ),
        Case(
            name="forward of a text model adds something to what its decoder gave",
            generation="0.20",
            architectures={"PlumAlphaForCausalLM": "PlumAlphaForCausalLM"},
            finds=(("VC006", "PlumAlphaForCausalLM"),),
            source="""
                from .alpha import AlphaForCausalLM


                class PlumAlphaForCausalLM(AlphaForCausalLM):
                    def forward(self, input_ids, positions, intermediate_tensors=None, inputs_embeds=None):
                        hidden_states = super().forward(input_ids, positions, intermediate_tensors, inputs_embeds)
                        return hidden_states + 1.0
                """,
        ),
        Case(
            name="the decoder gathers result and states together, and forward leaves the states behind",
            architectures={"PlumForCausalLM": "PlumForCausalLM"},
            finds=(("VC006", "PlumForCausalLM"),),
            source="""
                from torch import nn

                from .alpha import AlphaForCausalLM, AlphaModel
                from .interfaces import SupportsEagle3


                def gather(states):
                    return list(states)


                class PlumModel(AlphaModel):
                    def forward(self, input_ids, positions, **kwargs):
                        hidden_states, residual = self.embed_input_ids(input_ids), None
                        aux_hidden_states = self._maybe_add_hidden_state([], 0, hidden_states, residual)
                        for index, layer in enumerate(self.layers):
                            hidden_states, residual = layer(positions, hidden_states, residual)
                            self._maybe_add_hidden_state(aux_hidden_states, index + 1, hidden_states, residual)
                        if aux_hidden_states:
                            hidden_states, *aux_hidden_states = gather([hidden_states, *aux_hidden_states])
                            return hidden_states, aux_hidden_states
                        return hidden_states


                class PlumTextForCausalLM(AlphaForCausalLM):
                    def _init_model(self, vllm_config, prefix=""):
                        return PlumModel(vllm_config=vllm_config, prefix=prefix)


                class PlumForCausalLM(nn.Module, SupportsEagle3):
                    def __init__(self, *, vllm_config, prefix=""):
                        super().__init__()
                        self.language_model = PlumTextForCausalLM(vllm_config=vllm_config, prefix=prefix)

                    def forward(self, input_ids, positions, **kwargs):
                        hidden_states, _ = self.language_model(input_ids, positions, **kwargs)
                        return hidden_states, []

                    def compute_logits(self, hidden_states):
                        return self.language_model.compute_logits(hidden_states)
                """,
        ),
    )
    good = (
        Case(
            name="forward takes the tuple apart and puts it together again",
            architectures={"PlumForConditionalGeneration": "PlumForConditionalGeneration"},
            source="""
                from .gamma import GammaForConditionalGeneration


                class PlumForConditionalGeneration(GammaForConditionalGeneration):
                    def __init__(self, *, vllm_config, prefix=""):
                        super().__init__(vllm_config=vllm_config, prefix=prefix)
                        self.scale = self.config.image_token_index

                    def forward(self, input_ids, positions, intermediate_tensors=None):
                        output = self.language_model(input_ids, positions, intermediate_tensors)
                        if isinstance(output, tuple):
                            hidden_states, aux_hidden_states = output
                            return hidden_states * 0.5, aux_hidden_states
                        return output * 0.5
                """,
        ),
        Case(
            name="forward passes through a helper and hands the result on as it came",
            generation="0.20",
            architectures={"PlumForCausalLM": "PlumForCausalLM"},
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

                    def _run(self, embeds, **kwargs):
                        decoder = self.language_model.model
                        return decoder(None, inputs_embeds=embeds, **kwargs)

                    def forward(self, input_ids, positions, intermediate_tensors=None):
                        embeds = self.language_model.embed_input_ids(input_ids)
                        model_output = self._run(embeds * 2.0, positions=positions)
                        return model_output

                    def compute_logits(self, hidden_states):
                        return self.language_model.compute_logits(hidden_states)
                """,
        ),
    )

    def check(self, audit: Audit) -> Iterator[Finding]:
        for contract in audit.delegated:
            dropping = [m for m in audit.serving if _drops(audit.status(m, contract))]
            for owner, models in audit.by_owner(dropping, partial(_whose_forward, audit, contract)):
                model = models[0]
                status = audit.status(model, contract)
                alternative = _reaching(status)[0]
                handing = alternative.outer.handing
                assert handing is not None
                where = handing.owner or model.cls
                yield self.finding(
                    contract,
                    owner,
                    audit.position(owner),
                    f"{owner.name} passes {contract.checker}, but {handing.detail}",
                    architectures=audit.architectures(models),
                    fix=Fix("none", "what forward should do with the auxiliary states is the author's to say"),
                    chain=evidence.chain_links(audit, model, status, alternative),
                    gates=audit.gate_uses(contract),
                    builds_inner=audit.site_position(alternative.inner) or Position(where.path, handing.line),
                )


def _reaching(status: Status) -> list[Alternative]:
    """The possibilities with which the methods do not fail already."""
    return [a for a in status.alternatives if a.outer.reaches is not False]


def _drops(status: Status) -> bool:
    reaching = _reaching(status)
    lost = all(a.outer.handing is not None and a.outer.handing.ok is False for a in reaching)
    return bool(status.satisfied and reaching) and lost


def _whose_forward(audit: Audit, contract: Contract, model: Model) -> ClassInfo:
    """The class at fault: the one that defines the forward, or the first heir with which every model drops them.

    A forward that is right where it stands can drop the states through a method that an heir overrides.
    """
    handing = _reaching(audit.status(model, contract))[0].outer.handing
    owner = handing.owner if handing is not None and handing.owner is not None else model.cls
    return audit.at_fault(owner, model, partial(_hands_on_with_some, audit, contract))


def _hands_on_with_some(audit: Audit, contract: Contract, cls: ClassInfo) -> bool:
    statuses = [audit.status(model, contract) for model in audit.deriving(cls)]
    return any(status.satisfied and not _drops(status) for status in statuses)
