"""VC018 missing-mapping."""

from __future__ import annotations

import json
from collections.abc import Iterator

from analyzer import members, packing
from analyzer.audit import Audit
from analyzer.contracts import Contract
from analyzer.findings import Finding, Fix, GateUse, Link
from analyzer.index import ClassInfo
from analyzer.models import Model
from analyzer.packing import Fused, Unnamed
from rules._rule import Case, Rule

LAYERS = """
                from torch import nn

                from vllm.model_executor.layers.linear import MergedLinear
                from .beta import BetaForCausalLM, BetaModel
                from .utils import make_layers, maybe_prefix


                class SorbMLP(nn.Module):
                    def __init__(self, hidden_size, quant_config=None, prefix=""):
                        super().__init__()
                        self.gate_up_proj = MergedLinear(
                            hidden_size, hidden_size, quant_config=quant_config, prefix=f"{prefix}.gate_up_proj"
                        )

                    def forward(self, hidden_states):
                        return self.gate_up_proj(hidden_states)


                class SorbModel(BetaModel):
                    def __init__(self, *, vllm_config, prefix=""):
                        super().__init__(vllm_config=vllm_config, prefix=prefix)

                        def make(prefix):
                            return SorbMLP(4, vllm_config.quant_config, f"{prefix}.mlp")

                        _, _, self.layers = make_layers(8, make, f"{prefix}.layers")

                    def load_weights(self, weights):
                        stacked_params_mapping = [
                            # (param_name, shard_name, shard_id)
                            (".gate_up_proj", ".gate_proj", 0),
                            (".gate_up_proj", ".up_proj", 1),
                        ]
                        parameters, loaded = dict(self.named_parameters()), set()
                        for name, weight in weights:
                            for fused, part, shard in stacked_params_mapping:
                                if part in name:
                                    name = name.replace(part, fused)
                                    parameters[name].weight_loader(parameters[name], weight, shard)
                                    break
                            loaded.add(name)
                        return loaded

"""
"""The beginning of several cases: a decoder whose loader packs the two parts of each of its layers."""


class MissingMapping(Rule):
    """A loader packs parts of a checkpoint into a fused layer, and no mapping of the model says so.

    What is quantised in a checkpoint is told of its own layers, and adapters are made for them. Which of them a model
    has fused is looked up in a mapping that the class has: the engine hands that to the quantisation before the model
    is built. A decoder that inherits SupportsQuant hands its own on. Towers of a wrapper are not looked at.
    """

    code = "VC018"
    name = "missing-mapping"
    severity = "info"
    what = (
        "A loader packs parts into a fused layer that is quantised like others, and no mapping of the model names it."
    )
    why = (
        "Where a checkpoint leaves the parts unquantised, the fused layer is quantised all the same, and loading ends "
        "in an error or in wrong weights. Adapters of the parts are refused."
    )
    how = "Name the fused layers in the mapping of the registered class, or let the decoder inherit SupportsQuant."

    bad = (
        Case(
            name="a text model without a mapping, whose decoder packs",
            generation="contracts",
            architectures={"SorbForCausalLM": "SorbForCausalLM"},
            finds=(("VC018", "SorbForCausalLM"),),
            source=LAYERS
            + """
                class SorbForCausalLM(BetaForCausalLM):
                    def __init__(self, *, vllm_config, prefix=""):
                        super().__init__(vllm_config=vllm_config, prefix=prefix)
                        self.model = SorbModel(vllm_config=vllm_config, prefix=maybe_prefix(prefix, "model"))
                """,
        ),
        Case(
            name="a model that takes adapters and leaves one fused layer out of its mapping",
            generation="contracts",
            architectures={"SorbForCausalLM": "SorbForCausalLM"},
            finds=(("VC018", "SorbForCausalLM"),),
            source=LAYERS
            + """
                from .interfaces import SupportsLoRA


                class SorbForCausalLM(BetaForCausalLM, SupportsLoRA):
                    packed_modules_mapping = {"qkv_proj": ["q_proj", "k_proj", "v_proj"]}

                    def __init__(self, *, vllm_config, prefix=""):
                        super().__init__(vllm_config=vllm_config, prefix=prefix)
                        self.model = SorbModel(vllm_config=vllm_config, prefix=maybe_prefix(prefix, "model"))
                """,
        ),
        Case(
            name="a mapping of weights says what is packed, and nothing tells what quantises",
            generation="contracts",
            architectures={"SorbForCausalLM": "SorbForCausalLM"},
            finds=(("VC018", "SorbForCausalLM"),),
            source="""
                from torch import nn

                from vllm.model_executor.layers.linear import MergedLinear
                from .beta import BetaForCausalLM, BetaModel
                from .utils import maybe_prefix
                from .weights import WeightsMapper


                class SorbAttention(nn.Module):
                    def __init__(self, hidden_size, quant_config=None, prefix=""):
                        super().__init__()
                        self.qkv_proj = MergedLinear(
                            hidden_size, hidden_size, quant_config=quant_config, prefix=f"{prefix}.qkv_proj"
                        )

                    def forward(self, hidden_states):
                        return self.qkv_proj(hidden_states)


                class SorbModel(BetaModel):
                    def __init__(self, *, vllm_config, prefix=""):
                        super().__init__(vllm_config=vllm_config, prefix=prefix)
                        self.layers = nn.ModuleList(
                            [SorbAttention(4, vllm_config.quant_config, f"{prefix}.layers.{i}") for i in range(8)]
                        )


                class SorbForCausalLM(BetaForCausalLM):
                    hf_to_vllm_mapper = WeightsMapper(
                        orig_to_new_stacked={
                            ".q_proj": (".qkv_proj", "q"),
                            ".k_proj": (".qkv_proj", "k"),
                            ".v_proj": (".qkv_proj", "v"),
                        }
                    )

                    def __init__(self, *, vllm_config, prefix=""):
                        super().__init__(vllm_config=vllm_config, prefix=prefix)
                        self.model = SorbModel(vllm_config=vllm_config, prefix=maybe_prefix(prefix, "model"))
                """,
        ),
        Case(
            name="a wrapper builds a decoder that packs, and neither has a mapping",
            generation="contracts",
            architectures={"SorbForConditionalGeneration": "SorbForConditionalGeneration"},
            finds=(("VC018", "SorbForConditionalGeneration"),),
            source=LAYERS
            + """
                from .interfaces import SupportsPP


                class SorbLanguageModel(BetaForCausalLM):
                    def __init__(self, *, vllm_config, prefix=""):
                        super().__init__(vllm_config=vllm_config, prefix=prefix)
                        self.model = SorbModel(vllm_config=vllm_config, prefix=maybe_prefix(prefix, "model"))


                class SorbForConditionalGeneration(nn.Module, SupportsPP):
                    def __init__(self, *, vllm_config, prefix=""):
                        super().__init__()
                        self.language_model = SorbLanguageModel(vllm_config=vllm_config, prefix=prefix)
                        self.make_empty_intermediate_tensors = self.language_model.make_empty_intermediate_tensors

                    def forward(self, input_ids, positions, intermediate_tensors=None):
                        return self.language_model(input_ids, positions, intermediate_tensors)

                    def compute_logits(self, hidden_states):
                        return self.language_model.compute_logits(hidden_states)
                """,
        ),
    )
    good = (
        Case(
            name="the registered class names the fused layers of its decoder",
            generation="contracts",
            architectures={"SorbForCausalLM": "SorbForCausalLM"},
            source=LAYERS
            + """
                class SorbForCausalLM(BetaForCausalLM):
                    packed_modules_mapping = {"gate_up_proj": ["gate_proj", "up_proj"]}

                    def __init__(self, *, vllm_config, prefix=""):
                        super().__init__(vllm_config=vllm_config, prefix=prefix)
                        self.model = SorbModel(vllm_config=vllm_config, prefix=maybe_prefix(prefix, "model"))
                """,
        ),
        Case(
            name="a decoder that inherits SupportsQuant hands its own mapping on",
            generation="contracts",
            architectures={"SorbForCausalLM": "SorbForCausalLM"},
            source=LAYERS
            + """
                from .interfaces import SupportsQuant


                class SorbQuantModel(SorbModel, SupportsQuant):
                    packed_modules_mapping = {"gate_up_proj": ["gate_proj", "up_proj"]}


                class SorbForCausalLM(BetaForCausalLM):
                    def __init__(self, *, vllm_config, prefix=""):
                        super().__init__(vllm_config=vllm_config, prefix=prefix)
                        self.model = SorbQuantModel(vllm_config=vllm_config, prefix=maybe_prefix(prefix, "model"))
                """,
        ),
        Case(
            name="a constructor adds to the mapping before it builds the layers",
            generation="contracts",
            architectures={"SorbForCausalLM": "SorbForCausalLM"},
            source=LAYERS
            + """
                class SorbForCausalLM(BetaForCausalLM):
                    packed_modules_mapping = {"qkv_proj": ["q_proj", "k_proj", "v_proj"]}

                    def __init__(self, *, vllm_config, prefix=""):
                        super().__init__(vllm_config=vllm_config, prefix=prefix)
                        self.packed_modules_mapping["gate_up_proj"] = ["gate_proj", "up_proj"]
                        self.model = SorbModel(vllm_config=vllm_config, prefix=maybe_prefix(prefix, "model"))
                """,
        ),
        Case(
            name="what is never quantised needs no mapping",
            generation="contracts",
            architectures={"SorbForCausalLM": "SorbForCausalLM"},
            source=LAYERS.replace(
                'SorbMLP(4, vllm_config.quant_config, f"{prefix}.mlp")',
                'SorbMLP(4, quant_config=None, prefix=f"{prefix}.mlp")',
            )
            + """
                class SorbForCausalLM(BetaForCausalLM):
                    def __init__(self, *, vllm_config, prefix=""):
                        super().__init__(vllm_config=vllm_config, prefix=prefix)
                        self.model = SorbModel(vllm_config=vllm_config, prefix=maybe_prefix(prefix, "model"))
                """,
        ),
        Case(
            name="rows for layers that the model does not have are left over and do nothing",
            generation="contracts",
            architectures={"SorbForCausalLM": "SorbForCausalLM"},
            source="""
                from .beta import BetaForCausalLM


                class SorbForCausalLM(BetaForCausalLM):
                    def load_weights(self, weights):
                        stacked_params_mapping = [
                            ("gate_up_proj", "gate_proj", 0),
                            ("gate_up_proj", "up_proj", 1),
                        ]
                        parts = [part for _, part, _ in stacked_params_mapping]
                        return {name for name, _ in weights if not any(part in name for part in parts)}
                """,
        ),
        Case(
            name="a wrapper without a mapping whose inner model is registered and has one",
            generation="contracts",
            architectures={
                "SorbForConditionalGeneration": "SorbForConditionalGeneration",
                "SorbForCausalLM": "SorbForCausalLM",
            },
            source=LAYERS
            + """
                from .interfaces import SupportsPP
                from .utils import init_vllm_registered_model


                class SorbForCausalLM(BetaForCausalLM):
                    packed_modules_mapping = {"gate_up_proj": ["gate_proj", "up_proj"]}

                    def __init__(self, *, vllm_config, prefix=""):
                        super().__init__(vllm_config=vllm_config, prefix=prefix)
                        self.model = SorbModel(vllm_config=vllm_config, prefix=maybe_prefix(prefix, "model"))


                class SorbForConditionalGeneration(nn.Module, SupportsPP):
                    def __init__(self, *, vllm_config, prefix=""):
                        super().__init__()
                        self.language_model = init_vllm_registered_model(
                            vllm_config=vllm_config, prefix=prefix, architectures=["SorbForCausalLM"]
                        )
                        self.make_empty_intermediate_tensors = self.language_model.make_empty_intermediate_tensors

                    def forward(self, input_ids, positions, intermediate_tensors=None):
                        return self.language_model(input_ids, positions, intermediate_tensors)

                    def compute_logits(self, hidden_states):
                        return self.language_model.compute_logits(hidden_states)
                """,
        ),
    )

    def check(self, audit: Audit) -> Iterator[Finding]:
        for contract in audit.contracts.values():
            if not packing.askers(audit, contract):
                continue
            groups: dict[tuple[ClassInfo, tuple[str, ...]], list[Unnamed]] = {}
            for one in packing.unnamed(audit, contract):
                key = (audit.at_home(_owner(one), one.model), tuple(fused.name for fused in one.fused))
                groups.setdefault(key, []).append(one)
            for (owner, _), group in groups.items():
                yield self._report(audit, contract, owner, group)

    def _report(self, audit: Audit, contract: Contract, owner: ClassInfo, group: list[Unnamed]) -> Finding:
        first, attribute = group[0], contract.handling.packing
        models = [one.model for one in group]
        gates = packing.askers(audit, contract)
        claimed = _claimed(audit, attribute, models)
        asked = {use for other in claimed for use in audit.check_uses(other)}
        asked |= set(audit.gate_uses(contract, (attribute,))) if claimed else set()
        holder = first.mapping.owner.name if first.mapping is not None else owner.name
        lacks = f"{attribute} of {holder} does not name" if first.mapping is not None else f"no {attribute} names"
        packed = "; ".join(
            f"{fused.name}, into which {fused.owner.name} packs {_and(fused.parts)}" for fused in first.fused
        )
        entries = json.dumps({fused.name: fused.parts for fused in first.fused})
        also = (
            f"; {_and(tuple(c.name for c in claimed))} is claimed, and what asks for it looks there, too"
            if claimed
            else ""
        )
        return self.finding(
            contract,
            owner,
            audit.position(owner),
            f"{lacks} {packed}: {contract.handling.consequence}{also}",
            architectures=audit.architectures(models),
            confidence="config-dependent",
            severity="warning" if claimed else None,
            fix=Fix("none", f"name them where the class is asked, as in {entries}"),
            chain=(
                *(gate.link() for gate in gates),
                Link(
                    "mapping",
                    False,
                    owner.path,
                    _line(first, owner),
                    f"{lacks} {_and(tuple(f.name for f in first.fused))}",
                ),
                *(link for fused in first.fused for link in _links(fused)),
            ),
            gates=tuple(sorted({*(GateUse(g.path, g.line, g.subject) for g in gates), *asked})),
        )


def _owner(one: Unnamed) -> ClassInfo:
    """The class to name: the one with the mapping, else the one whose constructor builds the model."""
    if one.mapping is not None:
        return one.mapping.owner
    maker = members.class_method(one.model.cls, "__init__")
    return maker[0] if maker is not None and not members.is_protocol(maker[0]) else one.model.cls


def _line(one: Unnamed, owner: ClassInfo) -> int:
    return one.mapping.line if one.mapping is not None and one.mapping.owner is owner else owner.line


def _claimed(audit: Audit, attribute: str, models: list[Model]) -> list[Contract]:
    """Contracts that all of some models pass and for which the same mapping is read."""
    readers = [c for c in audit.contracts.values() if attribute in c.handling.mappings and audit.checks(c)]
    return [c for c in readers if all(audit.status(model, c).satisfied for model in models)]


def _links(fused: Fused) -> Iterator[Link]:
    owner, built = fused.owner, fused.built
    yield Link("packed", True, owner.path, fused.line, f"{owner.name} packs {_and(fused.parts)} into {fused.name}")
    yield Link(
        "built", True, built.path, built.line, f"{built.cls} builds {fused.name}, and tells it how it is quantised"
    )


def _and(names: tuple[str, ...]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
