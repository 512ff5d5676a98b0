"""VC017 single-stage-states."""

from __future__ import annotations

from collections.abc import Iterator

from analyzer import stages
from analyzer.audit import Audit
from analyzer.contracts import Contract
from analyzer.findings import Finding, Fix, Link
from rules._rule import Case, Rule

SELECTED = 'select = ["VC017"]\n'


class SingleStageStates(Rule):
    """A decoder hands out auxiliary states, and does not say that they cross the stages of a pipeline.

    That is no fault: a decoder has to carry the states of earlier stages along, and says so with a flag where it does.
    """

    code = "VC017"
    name = "single-stage-states"
    severity = "info"
    default = False
    what = "A decoder that hands out auxiliary states does not say that they cross pipeline stages."
    why = (
        "With EAGLE-3 and pipeline parallelism together the start ends in "
        '"ValueError: … does not support eagle3 with pipeline parallelism".'
    )
    how = "Let the decoder carry the states of earlier stages in its intermediate tensors, and set the flag."

    bad = (
        Case(
            name="a decoder whose base has no flag",
            generation="contracts",
            architectures={"DateForCausalLM": "DateForCausalLM"},
            settings=SELECTED,
            finds=(("VC017", "DateModel"),),
            source="""
                from .delta import DeltaForCausalLM, DeltaModel


                class DateModel(DeltaModel):
                    def __init__(self, *, vllm_config, prefix=""):
                        super().__init__(vllm_config=vllm_config, prefix=prefix)
                        self.scale = 1.0


                class DateForCausalLM(DeltaForCausalLM):
                    def __init__(self, *, vllm_config, prefix=""):
                        super().__init__(vllm_config=vllm_config, prefix=prefix)
                        self.model = DateModel(vllm_config=vllm_config, prefix=prefix)
                """,
        ),
        Case(
            name="a decoder that leaves the flag as the mixin has it",
            generation="contracts",
            architectures={"DateForCausalLM": "DateForCausalLM"},
            settings=SELECTED,
            finds=(("VC017", "DateModel"),),
            source="""
                from torch import nn

                from .alpha import AlphaForCausalLM, AlphaDecoderLayer
                from .interfaces import EagleModelMixin


                class DateModel(nn.Module, EagleModelMixin):
                    def __init__(self, hidden_size):
                        super().__init__()
                        self.start_layer = 0
                        self.layers = nn.ModuleList([AlphaDecoderLayer(hidden_size) for _ in range(8)])

                    def forward(self, input_ids, positions, intermediate_tensors=None, inputs_embeds=None):
                        hidden_states, residual = input_ids, None
                        aux_hidden_states = self._maybe_add_hidden_state([], 0, hidden_states, residual)
                        for index, layer in enumerate(self.layers):
                            hidden_states, residual = layer(positions, hidden_states, residual)
                            self._maybe_add_hidden_state(aux_hidden_states, index + 1, hidden_states, residual)
                        if len(aux_hidden_states) > 0:
                            return hidden_states + residual, aux_hidden_states
                        return hidden_states + residual


                class DateForCausalLM(AlphaForCausalLM):
                    def __init__(self, *, vllm_config, prefix=""):
                        super().__init__(vllm_config=vllm_config, prefix=prefix)
                        self.model = DateModel(self.config.hidden_size)
                """,
        ),
    )
    good = (
        Case(
            name="a decoder that says so",
            generation="contracts",
            architectures={"DateForCausalLM": "DateForCausalLM"},
            settings=SELECTED,
            source="""
                from .alpha import AlphaForCausalLM, AlphaModel


                class DateModel(AlphaModel):
                    supports_aux_hidden_states_over_pp = True


                class DateForCausalLM(AlphaForCausalLM):
                    def __init__(self, *, vllm_config, prefix=""):
                        super().__init__(vllm_config=vllm_config, prefix=prefix)
                        self.model = DateModel(vllm_config=vllm_config, prefix=prefix)
                """,
        ),
        Case(
            name="one that says itself that they do not is taken at its word",
            generation="contracts",
            architectures={"DateForCausalLM": "DateForCausalLM"},
            settings=SELECTED,
            source="""
                from .alpha import AlphaForCausalLM, AlphaModel


                class DateModel(AlphaModel):
                    supports_aux_hidden_states_over_pp = False


                class DateForCausalLM(AlphaForCausalLM):
                    def __init__(self, *, vllm_config, prefix=""):
                        super().__init__(vllm_config=vllm_config, prefix=prefix)
                        self.model = DateModel(vllm_config=vllm_config, prefix=prefix)
                """,
        ),
    )

    def check(self, audit: Audit) -> Iterator[Finding]:
        for contract in audit.delegated:
            if stages.askers(audit, contract):
                for decoder in stages.decoders(audit, contract):
                    if decoder.says is None and not decoder.denies:
                        yield self._report(audit, contract, decoder)

    def _report(self, audit: Audit, contract: Contract, decoder: stages.Decoder) -> Finding:
        cls, flag = decoder.cls, contract.handling.over_stages
        shown = list(dict.fromkeys(m.cls.name for m in decoder.models))
        names = ", ".join(shown[:3]) + (", …" if len(shown) > 3 else "")
        return self.finding(
            contract,
            cls,
            audit.position(cls),
            f"{cls.name}, the decoder of {names}, does not say that its auxiliary states cross pipeline stages",
            architectures=audit.architectures(list(decoder.models)),
            fix=Fix("none", "whether it carries the states of earlier stages along is for its author to say"),
            chain=(
                *stages.asking_links(stages.askers(audit, contract)),
                Link("stages", False, cls.path, cls.line, f"{cls.name} does not set {flag}"),
            ),
            gates=audit.gate_uses(contract, (flag,)),
        )
