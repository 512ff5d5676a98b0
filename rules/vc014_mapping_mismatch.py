"""VC014 mapping-mismatch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from analyzer.audit import Audit
from analyzer.contracts import Contract
from analyzer.findings import Finding, Fix, Link
from analyzer.index import ClassInfo
from analyzer.inner import Inner
from analyzer.models import Model
from analyzer.owed import Mapping, mapping_of, passes
from rules._rule import Case, Rule


@dataclass(frozen=True)
class _Mismatch:
    """Where the mapping of a wrapper and that of its inner model part."""

    inner: Inner
    outer: Mapping
    own: Mapping
    missing: tuple[str, ...]
    differing: tuple[str, ...]


class MappingMismatch(Rule):
    """A wrapper describes the fused layers of its inner model otherwise than the inner model does.

    A mapping that the outer class has is taken for the whole of it: what it leaves out is looked for nowhere else.
    """

    code = "VC014"
    name = "mapping-mismatch"
    severity = "warning"
    what = "The wrapper's mapping of fused layers lacks entries of its inner model's, or contradicts them."
    why = (
        "Adapters and quantised checkpoints name the parts of a fused layer. Where the outer model's mapping does not, "
        "an adapter is refused or passed over, and a layer that should be left alone is quantised."
    )
    how = "Give the wrapper's mapping the entries of its inner model's, or leave it out where nothing is to be added."

    bad = (
        Case(
            name="a mapping for the tower that leaves the language model's fused layers out",
            generation="contracts",
            architectures={"QuinceForCausalLM": "QuinceForCausalLM"},
            finds=(("VC014", "QuinceForCausalLM"),),
            source="""
                from torch import nn

                from .epsilon import EpsilonForCausalLM
                from .interfaces import HasInnerState, IsHybrid, MixtureOfExperts, SupportsLoRA, SupportsPP


                class QuinceForCausalLM(nn.Module, SupportsLoRA, SupportsPP, HasInnerState, IsHybrid, MixtureOfExperts):
                    packed_modules_mapping = {"qkv": ["q", "k", "v"]}

                    def __init__(self, *, vllm_config, prefix=""):
                        super().__init__()
                        self.language_model = EpsilonForCausalLM(vllm_config=vllm_config, prefix=prefix)
                        self.make_empty_intermediate_tensors = self.language_model.make_empty_intermediate_tensors
                        self.num_moe_layers = self.language_model.num_moe_layers
                        self.expert_weights = self.language_model.expert_weights

                    @classmethod
                    def get_mamba_state_shape_from_config(cls, vllm_config):
                        return EpsilonForCausalLM.get_mamba_state_shape_from_config(vllm_config)

                    @classmethod
                    def get_mamba_state_copy_func(cls):
                        return EpsilonForCausalLM.get_mamba_state_copy_func()

                    def forward(self, input_ids, positions, intermediate_tensors=None):
                        return self.language_model(input_ids, positions, intermediate_tensors)

                    def compute_logits(self, hidden_states):
                        return self.language_model.compute_logits(hidden_states)
                """,
        ),
        Case(
            name="a mapping that gives a fused layer other parts than the inner model does",
            generation="contracts",
            architectures={"QuinceForCausalLM": "QuinceForCausalLM"},
            finds=(("VC014", "QuinceForCausalLM"),),
            source="""
                from .epsilon import EpsilonForCausalLM


                class QuinceForCausalLM(EpsilonForCausalLM):
                    packed_modules_mapping = EpsilonForCausalLM.packed_modules_mapping | {"qkv_proj": ["qkv_proj"]}

                    def __init__(self, *, vllm_config, prefix=""):
                        super().__init__(vllm_config=vllm_config, prefix=prefix)
                        self.language_model = EpsilonForCausalLM(vllm_config=vllm_config, prefix=prefix)

                    def forward(self, input_ids, positions, intermediate_tensors=None):
                        return self.language_model(input_ids, positions, intermediate_tensors)
                """,
        ),
    )
    good = (
        Case(
            name="a wrapper without a mapping leaves it to its inner model",
            generation="contracts",
            architectures={"QuinceForCausalLM": "QuinceForCausalLM"},
            source="""
                from torch import nn

                from .epsilon import EpsilonForCausalLM
                from .interfaces import HasInnerState, IsHybrid, MixtureOfExperts, SupportsLoRA, SupportsPP


                class QuinceForCausalLM(nn.Module, SupportsLoRA, SupportsPP, HasInnerState, IsHybrid, MixtureOfExperts):
                    def __init__(self, *, vllm_config, prefix=""):
                        super().__init__()
                        self.language_model = EpsilonForCausalLM(vllm_config=vllm_config, prefix=prefix)
                        self.make_empty_intermediate_tensors = self.language_model.make_empty_intermediate_tensors
                        self.num_moe_layers = self.language_model.num_moe_layers
                        self.expert_weights = self.language_model.expert_weights

                    @classmethod
                    def get_mamba_state_shape_from_config(cls, vllm_config):
                        return EpsilonForCausalLM.get_mamba_state_shape_from_config(vllm_config)

                    @classmethod
                    def get_mamba_state_copy_func(cls):
                        return EpsilonForCausalLM.get_mamba_state_copy_func()

                    def forward(self, input_ids, positions, intermediate_tensors=None):
                        return self.language_model(input_ids, positions, intermediate_tensors)

                    def compute_logits(self, hidden_states):
                        return self.language_model.compute_logits(hidden_states)
                """,
        ),
        Case(
            name="a mapping that takes the inner model's over and adds to it",
            generation="contracts",
            architectures={"QuinceForCausalLM": "QuinceForCausalLM"},
            source="""
                from .epsilon import EpsilonForCausalLM


                class QuinceForCausalLM(EpsilonForCausalLM):
                    packed_modules_mapping = {**EpsilonForCausalLM.packed_modules_mapping, "qkv": ["q", "k", "v"]}

                    def __init__(self, *, vllm_config, prefix=""):
                        super().__init__(vllm_config=vllm_config, prefix=prefix)
                        self.language_model = EpsilonForCausalLM(vllm_config=vllm_config, prefix=prefix)

                    def forward(self, input_ids, positions, intermediate_tensors=None):
                        return self.language_model(input_ids, positions, intermediate_tensors)
                """,
        ),
        Case(
            name="an entry for the end of a layer's name serves the layer",
            generation="contracts",
            architectures={"QuinceForCausalLM": "QuinceForCausalLM"},
            source="""
                from .epsilon import EpsilonForCausalLM


                class QuinceDecoder(EpsilonForCausalLM):
                    packed_modules_mapping = {"mixer.qkv": ["mixer.q", "mixer.k", "mixer.v"]}


                class QuinceForCausalLM(EpsilonForCausalLM):
                    packed_modules_mapping = {"qkv": ["q", "k", "v"]}

                    def __init__(self, *, vllm_config, prefix=""):
                        super().__init__(vllm_config=vllm_config, prefix=prefix)
                        self.language_model = QuinceDecoder(vllm_config=vllm_config, prefix=prefix)

                    def forward(self, input_ids, positions, intermediate_tensors=None):
                        return self.language_model(input_ids, positions, intermediate_tensors)
                """,
        ),
    )

    def check(self, audit: Audit) -> Iterator[Finding]:
        for contract in audit.contracts.values():
            for attribute in contract.handling.mappings:
                groups: dict[tuple[ClassInfo, tuple[str, ...], tuple[str, ...]], list[tuple[Model, _Mismatch]]] = {}
                for model in audit.serving:
                    found = _mismatch(audit, model, contract, attribute)
                    if found is not None:
                        key = (audit.at_home(found.outer.owner, model), found.missing, found.differing)
                        groups.setdefault(key, []).append((model, found))
                for (owner, _, _), pairs in groups.items():
                    yield self._report(audit, contract, attribute, owner, [m for m, _ in pairs], pairs[0][1])

    def _report(
        self,
        audit: Audit,
        contract: Contract,
        attribute: str,
        owner: ClassInfo,
        models: list[Model],
        found: _Mismatch,
    ) -> Finding:
        cls, holder = found.inner.cls, found.outer.owner
        assert cls is not None
        parts = []
        if found.missing:
            parts.append(f"lacks {', '.join(found.missing)}")
        if found.differing:
            parts.append(f"has other parts for {', '.join(found.differing)}")
        what = " and ".join(parts)
        inner = f"its inner model self.{found.inner.attribute}, {cls.name}"
        entries = ", ".join(
            f'"{key}": {found.own.entries[key]!r}'.replace("'", '"') for key in (*found.missing, *found.differing)
        )
        return self.finding(
            contract,
            owner,
            audit.position(owner),
            f"{attribute} of {owner.name} {what}, against that of {inner}",
            architectures=audit.architectures(models),
            severity="warning" if found.missing else "info",  # other parts can be those of the checkpoint at hand
            fix=Fix("none", f"{cls.name} has {entries}"),
            chain=(
                Link("mapping", False, holder.path, found.outer.line, f"{holder.name}.{attribute} {what}"),
                Link("mapping", True, found.own.owner.path, found.own.line, f"{found.own.owner.name} has {entries}"),
            ),
            gates=audit.check_uses(contract),
            builds_inner=audit.site_position(found.inner),
        )


def _mismatch(audit: Audit, model: Model, contract: Contract, attribute: str) -> _Mismatch | None:
    """Where a wrapper's mapping parts from that of every inner model that it can have; None where it does not.

    Both have to support the contract: what has no adapters has no use for the mapping.
    """
    outer = mapping_of(audit, model.cls, attribute) if audit.status(model, contract).satisfied else None
    if outer is None or not outer.entries or not model.inner:
        return None
    found = []
    for inner in model.inner:
        own = mapping_of(audit, inner.cls, attribute) if inner.cls and passes(audit, inner, contract) else None
        if own is None:
            return None
        serving = {key: _serving(key, outer.entries) for key in own.entries}
        missing = tuple(key for key, entry in serving.items() if not entry)
        differing = tuple(
            key
            for key, entry in serving.items()
            if entry and outer.entries[entry] != _below(own.entries[key], key.removesuffix(entry))
        )
        if not missing and not differing:
            return None
        found.append(_Mismatch(inner, outer, own, missing, differing))
    return found[0]


def _serving(layer: str, entries: dict[str, object]) -> str:
    """The entry that consumers find for a layer: they look for the end of its dotted name; empty if there is none."""
    parts = layer.split(".")
    endings = (".".join(parts[start:]) for start in range(len(parts)))
    return next((ending for ending in endings if ending in entries), "")


def _below(parts: object, prefix: str) -> object:
    """The parts of a fused layer, by the names that they have below a prefix."""
    if not isinstance(parts, list):
        return parts
    return [part.removeprefix(prefix) if isinstance(part, str) else part for part in parts]
