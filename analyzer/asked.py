"""What a trace is asked about: an architecture, a class, or a checkpoint, resolved in one checkout."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from analyzer import engine
from analyzer.chains import MethodResult, configures
from analyzer.checkout import Checkout
from analyzer.checkpoint import MISSING, Checkpoint, Keys
from analyzer.findings import Link, Position
from analyzer.index import Index
from analyzer.models import Status
from analyzer.problems import InputError
from analyzer.records import AllowListRecord, ContractRecord, ModelRecord, NameGateRecord, Report, StatusRecord
from analyzer.scan import files_with
from analyzer.survey import model_record, status_record
from analyzer.trace import layers_link
from analyzer.values import Collection, Const, Value

DRAFT_KEYS: tuple[Keys, ...] = (
    ("eagle_aux_hidden_state_layer_ids",),
    ("eagle_config", "eagle_aux_hidden_state_layer_ids"),
    ("dflash_config", "target_layer_ids"),
    ("dspark_target_layer_ids",),
    ("target_layer_ids",),
    ("aux_hidden_state_layer_ids",),
)
"""Where a drafter's configuration keeps the layers that it wants: the first two of 0.11 and 0.33, the others of
0.20 (dflash), 0.33 (dspark) and of the speculators format, which vLLM turns into the first."""

_ONE_MORE = re.compile(rb"\+ 1 for \w+ in [^\n]*target_layer_ids")


@dataclass(frozen=True)
class Asked:
    """The models that serve what was asked for.

    Args:
        models: the usual one last.
        statuses: by class, where a checkpoint decides more than the report knows.
        extra: links that the checkpoint adds.
        facts: what the checkpoint decides, as (what, value).
    """

    models: tuple[ModelRecord, ...]
    statuses: dict[str, StatusRecord] = field(default_factory=dict)
    extra: tuple[Link, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()


def named(report: Report, name: str) -> Asked:
    """The models of an architecture or class.

    Args:
        report: of the checkout.
        name: a registered architecture; or a class, with or without its module.

    Raises:
        InputError: there is none; the nearest names are given.
    """
    serving = [m for m in report.models if name in m.architectures]
    found = serving or [m for m in report.models if name in (m.cls, m.name)]
    if not found:
        raise InputError(f"{_whose(report)} has no architecture or class {name}{_nearest(report, [name])}")
    made = {key for model in found for key in model.becomes}
    return Asked(tuple(m for m in report.models if m.cls in made) or tuple(found))


def _whose(report: Report) -> str:
    plugin = report.checkout.plugin
    return "this release" if plugin is None else f"{plugin.name}, whose own models are looked at,"


def _nearest(report: Report, names: Sequence[str]) -> str:
    known = {a for m in report.models for a in (*m.architectures, m.name)}
    spelled = {k.lower(): k for k in sorted(known)}
    near = [n for name in names for n in difflib.get_close_matches(name.lower(), list(spelled), n=3, cutoff=0.6)]
    return f"; nearest: {', '.join(dict.fromkeys(spelled[n] for n in near))}" if near else ""


# -- checkpoints -----------------------------------------------------------------------------------


def of_checkpoint(
    checkout: Checkout,
    report: Report,
    contract: ContractRecord,
    checkpoint: Checkpoint,
    draft: Sequence[int] | None = None,
) -> Asked:
    """The models that serve a checkpoint, with everything decided that its configuration decides.

    Args:
        checkout, report: the tree, and its audit.
        contract: which contract.
        checkpoint: the target's configuration.
        draft: the layers that the drafter wants; see :func:`drafted_layers`.

    Raises:
        InputError: the release knows none of the architectures.
    """
    architecture = _architecture(report, checkpoint)
    read = engine.read_model(checkout, [architecture], checkpoint, contract.name, contract.kept_in)
    keys = checkpoint.text_keys()
    lists = [
        _list_link(gate, checkpoint.model_type(keys)) for gate in report.allow_lists if gate.contract == contract.name
    ]
    models, statuses, extra = [], {}, []
    for model in read.models:
        if model.becomes:
            continue
        known = next((m for m in report.models if m.cls == model.cls.key), None) or model_record(read, model)
        models.append(known)
        status = model.statuses[contract.name]
        behind = [x for x in known.statuses[contract.name].consumers if x.link == "name-gate"]
        named = [_name_link(link, report.name_gates, checkpoint) for link in behind]
        statuses[known.cls] = replace(status_record(read, model, status), consumers=(*lists, *named))
        extra = _layers(contract, checkpoint, keys, status, draft)
    if not checkpoint.architectures():
        extra.insert(0, Link("architecture", None, "", 0, _UNNAMED.format(architecture)))
    if not models:
        raise InputError(f"{checkpoint.path}: no class of this release serves {architecture}")
    return Asked(tuple(models), statuses, tuple(extra), tuple(_facts(checkpoint, architecture, keys)))


_UNNAMED = (
    "the file names none; its model type is that of {}, and vLLM takes transformers' base class for the type, "
    "with which it pools unless it is told to generate"
)
"""Source: vLLM's ``get_config`` (transformers_utils/config.py) and ``_SUFFIX_TO_DEFAULTS`` (config/model.py), 0.33."""


def _architecture(report: Report, checkpoint: Checkpoint) -> str:
    """The architecture that vLLM would load: the first of the file's that the registry has.

    Source: ``_ModelRegistry.resolve_model_cls`` (vllm/model_executor/models/registry.py, 0.11 to 0.33).
    """
    named = checkpoint.architectures()
    known = {a for m in report.models for a in m.architectures}
    for name in named:
        if name in known:
            return name
    if not named:
        kind = checkpoint.model_type().replace("_", "").replace("-", "").lower()
        usual = (f"{kind}forcausallm", f"{kind}forconditionalgeneration")
        likely = [name for name in sorted(known) if kind and name.lower() in usual]
        if likely:
            return likely[0]
        shown = f'; its model type is "{checkpoint.model_type()}"' if kind else " and no model type"
        raise InputError(f"{checkpoint.path}: names no architecture{shown}{_nearest(report, [kind])}")
    own = "; it brings code of its own (auto_map), which vLLM would run through its Transformers backend"
    raise InputError(
        f"{checkpoint.path}: {_whose(report)} has no architecture {' or '.join(named)}{_nearest(report, named)}"
        f"{own if checkpoint.runs_own_code else ''}"
    )


def _facts(checkpoint: Checkpoint, architecture: str, keys: Keys) -> list[tuple[str, str]]:
    facts = [("architecture", architecture), ("model type", checkpoint.model_type() or "not given")]
    if keys:
        inside = ", ".join(checkpoint.architectures(keys)) or "no architecture"
        facts.append((".".join(keys), f"{inside}, model type {checkpoint.model_type(keys) or 'not given'}"))
    count = checkpoint.layers(keys)
    facts.append(("layers", str(count) if count is not None else "not given"))
    if isinstance(checkpoint.at(("quantization_config",)), dict):
        facts.append(("quantised", str(checkpoint.at(("quantization_config",)).get("quant_method", "yes"))))
    return facts


def aliases_of(checkout: Checkout) -> dict[str, str]:
    """Keys of a configuration that vLLM gives another name when it reads one.

    Source: ``_CONFIG_ATTRS_MAPPING`` (vllm/transformers_utils/config.py, 0.11 to 0.33), read from this checkout.
    """
    index = Index(checkout)
    module = f"{checkout.package.name}.transformers_utils.config"
    facts = index.module(module)
    bindings = facts.names.get("_CONFIG_ATTRS_MAPPING", []) if facts is not None else []
    found: dict[str, str] = {}
    for binding in bindings:
        if isinstance(binding.target, tuple) and binding.target[0] == "dict":
            for key, value in binding.target[1]:
                if key is not None and key[0] == value[0] == "const":
                    found[str(key[1])] = str(value[1])
    return found


# -- consumers -------------------------------------------------------------------------------------


def _list_link(gate: AllowListRecord, found: str) -> Link:
    """Whether an allow-list lets a known model type pass."""
    ok = any(item in found for item in gate.items) if found else None
    says = f'the model type is "{found}"' if found else "the file gives no model type"
    end = f', so "{gate.error}"' if ok is False and gate.error else ""
    detail = f"asks {gate.subject} for one of {', '.join(gate.items)}; {says}{end}"
    return Link("allow-list", ok, gate.at.path, gate.at.line, detail)


def _name_link(link: Link, gates: Sequence[NameGateRecord], checkpoint: Checkpoint) -> Link:
    """What the report says of a dispatch on the class's name, and whether the file has what the branch reads."""
    place = Position(link.path, link.line)
    reads = next((arm.reads for gate in gates for arm in gate.arms if arm.at == place), "")
    found = checkpoint.at(tuple(reads.split("."))) if reads else MISSING
    if found is MISSING:  # its class may have a default
        return replace(link, ok=link.ok or None, detail=f"{link.detail}; the file does not have it")
    return replace(link, ok=True, detail=f"{link.detail}; the file has it")


# -- layers ----------------------------------------------------------------------------------------


def _layers(
    contract: ContractRecord, checkpoint: Checkpoint, keys: Keys, status: Status, draft: Sequence[int] | None
) -> list[Link]:
    """The layers that would be asked for, against those that the checkpoint has."""
    count = checkpoint.layers(keys)
    getter = _getter(status)
    place = Link("layers", None, contract.at.path, contract.at.line, "")
    out = []
    if getter is not None and getter.facts is not None and getter.owner is not None:
        default = _whole_numbers(getter.gives)
        place = replace(place, path=getter.owner.path, line=getter.facts.line)
        if default:
            out.append(layers_link(default, count, "layers unless the drafter names others", place))
    if draft is not None:
        out.append(layers_link(draft, count, "layers that the drafter names", place))
        return out[-1:]
    return out


def _getter(status: Status) -> MethodResult | None:
    for alternative in status.alternatives:
        chain = alternative.outer if alternative.outer.satisfied else alternative.repaired
        for result in chain.methods:
            if not configures(result.method) and result.how == "works":
                return result
    return None


def _whole_numbers(value: Value | None) -> tuple[int, ...]:
    if not isinstance(value, Collection) or not value.complete:
        return ()
    numbers = [item.value for item in value.items if isinstance(item, Const)]
    whole = tuple(number for number in numbers if isinstance(number, int))
    return whole if len(whole) == len(value.items) else ()


def drafted_layers(draft: Checkpoint, checkout: Checkout) -> tuple[int, ...] | None:
    """The layers that a drafter's configuration asks for; None where it names none.

    Where this checkout's runner adds one to the target layers of some formats, so does this.

    Args:
        draft: its configuration.
        checkout: the tree.
    """
    for keys in DRAFT_KEYS:
        found = draft.at(keys)
        if isinstance(found, list) and found and all(type(index) is int for index in found):
            more = 1 if keys[-1] == "target_layer_ids" and _adds_one(checkout) else 0
            return tuple(index + more for index in found)
    return None


def _adds_one(checkout: Checkout) -> bool:
    for path in files_with(checkout.python_files(checkout.package / "v1"), [b"target_layer_ids"]):
        if _ONE_MORE.search(path.read_bytes()):
            return True
    return False
