"""VC016 lost-stage-states."""

from __future__ import annotations

from collections.abc import Iterator

from analyzer import stages
from analyzer.audit import Audit
from analyzer.contracts import Contract
from analyzer.findings import Finding, Fix, Link
from rules._rule import Case, Rule


class LostStageStates(Rule):
    """A decoder inherits the claim that auxiliary states cross pipeline stages, and has a ``forward`` of its own.

    The claim was made by a class whose ``forward`` sends the states of its stage on and collects those of others. One
    that is written anew and does not do so passes the check, and the states of earlier stages are gone.
    """

    code = "VC016"
    name = "lost-stage-states"
    severity = "warning"
    what = "A decoder inherits the claim that its auxiliary states cross pipeline stages; its own forward loses them."
    why = (
        "The check is passed, and with EAGLE-3 over several pipeline stages the last one hands out its own states "
        "only: the drafter is given too few, or those of other layers than it was trained on."
    )
    how = "Carry the states along as the base's forward does, or set the flag to False."

    bad = (
        Case(
            name="a decoder with a loop of its own under a base that knows of stages",
            generation="contracts",
            architectures={"PeachForCausalLM": "PeachForCausalLM"},
            finds=(("VC016", "PeachModel"),),
            source="""
                from .alpha import AlphaForCausalLM, AlphaModel


                class PeachModel(AlphaModel):
                    def forward(self, input_ids, positions, intermediate_tensors=None, inputs_embeds=None):
                        hidden_states = self.embed_input_ids(input_ids) if inputs_embeds is None else inputs_embeds
                        residual = None
                        aux_hidden_states = self._maybe_add_hidden_state([], 0, hidden_states, residual)
                        for index, layer in enumerate(self.layers):
                            hidden_states, residual = layer(positions, hidden_states, residual)
                            self._maybe_add_hidden_state(aux_hidden_states, index + 1, hidden_states, residual)
                        if len(aux_hidden_states) > 0:
                            return hidden_states + residual, aux_hidden_states
                        return hidden_states + residual


                class PeachForCausalLM(AlphaForCausalLM):
                    def __init__(self, *, vllm_config, prefix=""):
                        super().__init__(vllm_config=vllm_config, prefix=prefix)
                        self.model = PeachModel(vllm_config=vllm_config, prefix=prefix)
                """,
        ),
        Case(
            name="a forward that collects what other stages sent and sends nothing on",
            generation="contracts",
            architectures={"PeachForCausalLM": "PeachForCausalLM"},
            finds=(("VC016", "PeachModel"),),
            source="""
                from .alpha import AlphaForCausalLM, AlphaModel


                class PeachModel(AlphaModel):
                    def forward(self, input_ids, positions, intermediate_tensors=None, inputs_embeds=None):
                        hidden_states = self.embed_input_ids(input_ids) if inputs_embeds is None else inputs_embeds
                        residual = None
                        aux_hidden_states = self.collect_remote_aux_hidden_states(intermediate_tensors)
                        self._maybe_add_hidden_state(aux_hidden_states, 0, hidden_states, residual)
                        for index, layer in enumerate(self.layers):
                            hidden_states, residual = layer(positions, hidden_states, residual)
                            self._maybe_add_hidden_state(aux_hidden_states, index + 1, hidden_states, residual)
                        if len(aux_hidden_states) > 0:
                            return hidden_states + residual, aux_hidden_states
                        return hidden_states + residual


                class PeachForCausalLM(AlphaForCausalLM):
                    def __init__(self, *, vllm_config, prefix=""):
                        super().__init__(vllm_config=vllm_config, prefix=prefix)
                        self.model = PeachModel(vllm_config=vllm_config, prefix=prefix)
                """,
        ),
    )
    good = (
        Case(
            name="a forward of its own that takes the claim back",
            generation="contracts",
            architectures={"PeachForCausalLM": "PeachForCausalLM"},
            source="""
                from .alpha import AlphaForCausalLM, AlphaModel


                class PeachModel(AlphaModel):
                    supports_aux_hidden_states_over_pp = False

                    def forward(self, input_ids, positions, intermediate_tensors=None, inputs_embeds=None):
                        hidden_states = self.embed_input_ids(input_ids) if inputs_embeds is None else inputs_embeds
                        residual = None
                        aux_hidden_states = self._maybe_add_hidden_state([], 0, hidden_states, residual)
                        for index, layer in enumerate(self.layers):
                            hidden_states, residual = layer(positions, hidden_states, residual)
                            self._maybe_add_hidden_state(aux_hidden_states, index + 1, hidden_states, residual)
                        if len(aux_hidden_states) > 0:
                            return hidden_states + residual, aux_hidden_states
                        return hidden_states + residual


                class PeachForCausalLM(AlphaForCausalLM):
                    def __init__(self, *, vllm_config, prefix=""):
                        super().__init__(vllm_config=vllm_config, prefix=prefix)
                        self.model = PeachModel(vllm_config=vllm_config, prefix=prefix)
                """,
        ),
        Case(
            name="a forward that does its own part and leaves the rest to the base",
            generation="contracts",
            architectures={"PeachForCausalLM": "PeachForCausalLM"},
            source="""
                from .alpha import AlphaForCausalLM, AlphaModel


                class PeachModel(AlphaModel):
                    def forward(self, input_ids, positions, intermediate_tensors=None, inputs_embeds=None):
                        return self.run(input_ids, positions, intermediate_tensors, inputs_embeds)

                    def run(self, *inputs):
                        return super().forward(*inputs)


                class PeachForCausalLM(AlphaForCausalLM):
                    def __init__(self, *, vllm_config, prefix=""):
                        super().__init__(vllm_config=vllm_config, prefix=prefix)
                        self.model = PeachModel(vllm_config=vllm_config, prefix=prefix)
                """,
        ),
        Case(
            name="a decoder that inherits the forward along with the claim",
            generation="contracts",
            architectures={"PeachForCausalLM": "PeachForCausalLM"},
            source="""
                from .alpha import AlphaForCausalLM, AlphaModel


                class PeachModel(AlphaModel):
                    def __init__(self, *, vllm_config, prefix=""):
                        super().__init__(vllm_config=vllm_config, prefix=prefix)
                        self.scale = 1.0


                class PeachForCausalLM(AlphaForCausalLM):
                    def __init__(self, *, vllm_config, prefix=""):
                        super().__init__(vllm_config=vllm_config, prefix=prefix)
                        self.model = PeachModel(vllm_config=vllm_config, prefix=prefix)
                """,
        ),
    )

    def check(self, audit: Audit) -> Iterator[Finding]:
        for contract in audit.delegated:
            if stages.askers(audit, contract):
                for decoder in stages.decoders(audit, contract):
                    if decoder.forgets:
                        yield self._report(audit, contract, decoder)

    def _report(self, audit: Audit, contract: Contract, decoder: stages.Decoder) -> Finding:
        says, forward, flag = decoder.says, decoder.forward, contract.handling.over_stages
        assert says is not None and forward is not None
        owner, facts = forward
        asking = stages.askers(audit, contract)
        missing = ", ".join(decoder.forgets)
        return self.finding(
            contract,
            owner,
            audit.method_position(owner, facts),
            f"{owner.name}.forward does not call {missing}, as that of {says.name} does, from which it inherits "
            f"{flag}: states of other pipeline stages are lost",
            architectures=audit.architectures(list(decoder.models)),
            fix=Fix("none", "where in its loop the states of other stages come in is for its author to say"),
            chain=(
                *stages.asking_links(asking),
                Link("stages", True, says.path, says.line, f"{says.name} says that states cross stages ({flag})"),
                Link("stages", False, owner.path, facts.line, f"{owner.name}.forward does not call {missing}"),
            ),
            gates=audit.gate_uses(contract, (flag,)),
        )
