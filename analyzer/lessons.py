"""What it takes to teach a model that has no support: its decoder collects, its class declares, as others here do.

The loop has to be understood (:mod:`analyzer.loops`), and the checkout has to show how it is done
(:mod:`analyzer.conventions`).  A model whose loop is not understood gets no edit at all.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from analyzer import members
from analyzer.audit import Audit
from analyzer.chains import configures
from analyzer.consumers import likely_types, type_answer
from analyzer.contracts import Contract
from analyzer.conventions import Convention
from analyzer.findings import (
    AddBase,
    AddImport,
    AddListItem,
    AddMethods,
    AddStatement,
    AnnotateResult,
    CollectStates,
    Edit,
    Fix,
)
from analyzer.index import ClassInfo
from analyzer.inner import value_at
from analyzer.loops import Irregular, Loop, judge_loop
from analyzer.lower import Expr, render, walk
from analyzer.models import Model
from analyzer.repair import barred, base_position, own_methods
from analyzer.values import Instance, options

STATES, REMOTE = "aux_hidden_states", "remote_aux"
INDICES = ("idx", "layer_idx", "layer_index")


@dataclass(frozen=True)
class Lesson:
    """What there is to teach in one model.

    Args:
        decoders: the objects that hold the layers: several where platforms or branches differ.
        loops: of each of them what was judged.
    """

    decoders: tuple[Instance, ...]
    loops: tuple[Loop | Irregular, ...]

    @property
    def irregular(self) -> Irregular | None:
        """The first loop that is not understood."""
        return next((loop for loop in self.loops if isinstance(loop, Irregular)), None)


def lesson_of(audit: Audit, model: Model, contract: Contract) -> Lesson | None:
    """The decoder of a model without an inner one, judged; None where it has none that is known.

    Args:
        audit: what was read.
        model: the model.
        contract: one that configures decoders.
    """
    decoders = _decoders(audit, model, contract)
    if not decoders:
        return None
    machine = audit.model_set.machine
    return Lesson(decoders, tuple(judge_loop(machine, decoder) for decoder in decoders))


def _decoders(audit: Audit, model: Model, contract: Contract) -> tuple[Instance, ...]:
    """What stands where models of this checkout keep their decoders; else what has a loop over layers."""
    status = audit.status(model, contract)
    if not status.alternatives:
        return ()
    root, machine = status.alternatives[0].outer.root, audit.model_set.machine
    usual = value_at(machine, root, "model")
    attributes = [usual] if usual is not None else list(root.attrs.values())
    inside = [o for value in attributes for o in options(value) if isinstance(o, Instance)]
    inside = [o for o in inside if members.class_method(o.cls, "forward") is not None]
    if usual is None:
        inside = [o for o in inside if isinstance(judge_loop(machine, o), Loop)] or inside[:1]
    return tuple({o.cls: o for o in inside}.values())


def support(audit: Audit, model: Model, contract: Contract, convention: Convention | None) -> Fix:
    """The edits that give a model support, or the reason why there are none.

    Args:
        audit: what was read.
        model: one without an inner model and without the contract.
        contract: one that configures decoders.
        convention: that of the checkout, from :func:`analyzer.conventions.read_convention`.
    """
    lesson = lesson_of(audit, model, contract)
    if lesson is None:
        return Fix("none", f"{model.cls.name} builds no decoder that is known")
    if (odd := lesson.irregular) is not None:
        return Fix("none", f"{odd.path}:{odd.line}: {odd.reason}")
    if convention is None:
        return Fix("none", f"no decoder of this checkout shows how states are collected for {contract.name}")
    loops = list({loop.owner: loop for loop in lesson.loops if isinstance(loop, Loop)}.values())
    if reason := _unusual(audit, model, contract, lesson, convention):
        return Fix("none", reason)
    owner = declaring_class(audit, model, contract)
    edits: list[Edit] = []
    for loop, decoder in zip(loops, lesson.decoders, strict=False):
        made = _decoder_edits(audit, loop, decoder, convention)
        if isinstance(made, str):
            return Fix("none", made)
        edits += made
    declared = _declaration(audit, owner, contract, convention)
    if isinstance(declared, str):
        return Fix("none", declared)
    names = ", ".join(loop.owner.name for loop in loops)
    what = f"let {names} collect and return the states of its layers, and declare {contract.name} on {owner.name}"
    listed = tuple(_listed(audit, model, contract))
    if listed:
        what += f"; add {' and '.join(edit.item for edit in listed)} to the allow-list"
    states = dict.fromkeys(_state(loop) for loop in loops)
    why = (
        f"the state between two layers is taken to be {' or '.join(states)}, as the code behind the loop takes it; "
        "that a drafter is trained on the same only a run with real weights shows"
    )
    if convention.transport is not None and not all(_sends(loop, convention) for loop in loops):
        why += "; states of earlier pipeline stages stay there, as its loop does not run over one stage's layers alone"
    return Fix("unsafe", what, (*edits, *declared, *listed), why)


def _state(loop: Loop) -> str:
    return f"{loop.hidden} + {loop.residual}" if loop.residual else f"{loop.hidden} alone"


def _listed(audit: Audit, model: Model, contract: Contract) -> Iterator[AddListItem]:
    """The model's types for the lists that a configuration is held against."""
    for gate in audit.consumers.allow_lists:
        if gate.contract == contract.name and gate.items and not type_answer(audit, gate, model.cls, model.cls).ok:
            for name in likely_types(audit, model.cls):
                yield AddListItem(gate.path, gate.line, gate.items[0], name)


def _unusual(audit: Audit, model: Model, contract: Contract, lesson: Lesson, convention: Convention) -> str:
    """Why support could not be reached or would be lost behind a loop that is understood; empty if nothing is."""
    root = audit.status(model, contract).alternatives[0].outer.root
    for decoder in lesson.decoders:
        at = ".".join(("self", *decoder.trail))
        if decoder.trail != convention.place:
            return f"the decoder is {at}; consumers and other models of this checkout have it at self." + ".".join(
                convention.place
            )
        handing = audit.model_set.follower.hands_on(root, decoder, 1)
        if handing.ok is not True:
            path = handing.owner.path if handing.owner is not None else model.cls.path
            return f"{path}:{handing.line}: {handing.detail}"
    return barred(audit, contract, declaring_class(audit, model, contract))


def declaring_class(audit: Audit, model: Model, contract: Contract) -> ClassInfo:
    """The class that is to declare the contract: the one that builds the decoder, or the model's own.

    It is the model's own where another model inherits from the first and has a decoder with another loop.

    Args:
        audit: what was read.
        model: the model.
        contract: what it is to declare.
    """
    maker = members.class_method(model.cls, "__init__")
    if maker is None or maker[0] is model.cls:
        return model.cls
    mine = _forwards(audit, model, contract)
    for heir in audit.models:
        if heir.serves and heir.cls.derives_from(maker[0]) and _forwards(audit, heir, contract) != mine:
            return model.cls
    return maker[0]


def _forwards(audit: Audit, model: Model, contract: Contract) -> set[ClassInfo]:
    found = (members.class_method(d.cls, "forward") for d in _decoders(audit, model, contract))
    return {member[0] for member in found if member is not None}


# -- the class -------------------------------------------------------------------------------------


def _declaration(audit: Audit, owner: ClassInfo, contract: Contract, convention: Convention) -> tuple[Edit, ...] | str:
    position = base_position(audit, owner, contract.cls)
    if position is None:
        return f"adding {contract.name} to the bases of {owner.name} has no consistent order"
    edits: list[Edit] = [
        AddBase(owner.path, owner.facts.qualname, contract.name, position),
        AddImport(owner.path, contract.cls.module.module, contract.name),
    ]
    if any(configures(method) and method.default == "stub" for method in contract.methods):
        methods = own_methods(contract, convention.place, convention.attribute)
        made = tuple(source for name, source in methods if name not in owner.facts.methods)
        if made:
            edits.append(AddMethods(owner.path, owner.facts.qualname, made, ("compute_logits", "forward", "__init__")))
    return (*edits, *_annotation(owner))


def _annotation(owner: ClassInfo) -> Iterator[Edit]:
    """The result of ``forward`` is a pair too."""
    forward = owner.facts.methods.get("forward")
    returns = _widened(forward.returns) if forward is not None else ""
    if returns:
        yield AnnotateResult(owner.path, owner.facts.qualname, "forward", returns)


def _widened(returns: Expr | None) -> str:
    """An annotation with the pair of states and auxiliary states added, in its own style; empty to leave it alone."""
    source = render(returns)
    if returns is None or "…" in source or "tuple[" in source:
        return ""
    parts, tensor = list(_alternatives(returns)), _tensor(returns)
    if not tensor:
        return ""
    pair = f"tuple[{tensor}, list[{tensor}]]"
    if returns[0] == "sub":
        return f"{render(returns[1])}[{', '.join([*parts, pair])}]"
    return " | ".join([*parts, pair]) if len(parts) > 1 else ""


def _tensor(returns: Expr | None) -> str:
    """What an annotation calls a tensor; empty where it names none."""
    parts = _alternatives(returns) if returns is not None else ()
    return next((part for part in parts if part.rpartition(".")[2] == "Tensor"), "")


def _alternatives(returns: Expr) -> Iterator[str]:
    if returns[0] == "bin" and returns[1] == "BitOr":
        yield from _alternatives(returns[2])
        yield from _alternatives(returns[3])
    elif returns[0] == "sub" and render(returns[1]).endswith("Union") and returns[2][0] == "seq":
        yield from map(render, returns[2][2])
    else:
        yield render(returns)


# -- the decoder -----------------------------------------------------------------------------------


def _decoder_edits(audit: Audit, loop: Loop, decoder: Instance, convention: Convention) -> tuple[Edit, ...] | str:
    owner, mixin = loop.owner, convention.mixin
    taken = [name for name in (STATES, REMOTE) if name in loop.names]
    if taken:
        return f"{owner.path}:{loop.line}: forward uses the name {taken[0]} for something else"
    edits: list[Edit] = []
    if mixin is not None and not owner.derives_from(mixin):
        position = base_position(audit, owner, mixin)
        if position is None:
            return f"adding {mixin.name} to the bases of {owner.name} has no consistent order"
        edits.append(AddBase(owner.path, owner.facts.qualname, mixin.name, position))
        edits.append(AddImport(owner.path, mixin.module.module, mixin.name))
    if mixin is None:
        source = f"self.{convention.attribute} = {convention.empty}"
        makers = list(_makers(audit, owner, decoder))
        if not makers:
            return f"{owner.name} has no __init__ in the checkout"
        edits += (AddStatement(cls.path, cls.facts.qualname, "__init__", source) for cls in makers)
    sends = _sends(loop, convention)
    if sends and convention.transport is not None:
        edits.append(AddStatement(owner.path, owner.facts.qualname, "", f"{convention.transport.flag} = True"))
    edits.append(_collect(loop, convention, sends=sends))
    edits += _annotation(owner)
    return tuple(edits)


def _makers(audit: Audit, owner: ClassInfo, decoder: Instance) -> Iterator[ClassInfo]:
    """The classes whose ``__init__`` has to set the attribute, for the decoder and those that inherit its loop."""
    seen: set[ClassInfo] = set()
    for cls in (owner, decoder.cls, *_inheriting(audit, owner)):
        maker = members.class_method(cls, "__init__")
        if maker is not None and maker[0] not in seen and not (seen and _calls_super(maker[0])):
            yield maker[0]
        if maker is not None:
            seen.add(maker[0])


def _inheriting(audit: Audit, owner: ClassInfo) -> Iterator[ClassInfo]:
    for model in audit.serving:
        for status in model.statuses.values():
            for alternative in status.alternatives[:1]:
                found = value_at(audit.model_set.machine, alternative.outer.root, "model")
                for option in options(found) if found is not None else ():
                    if isinstance(option, Instance) and option.cls.derives_from(owner):
                        yield option.cls


def _calls_super(cls: ClassInfo) -> bool:
    body = cls.facts.methods["__init__"].body or ()
    return any(p[0] == "attr" and p[2] == "__init__" and p[1][:2] == ("call", ("name", "super")) for p in walk(body))


def _sends(loop: Loop, convention: Convention) -> bool:
    """Whether the states of earlier stages can be sent on as other decoders do."""
    whole = loop.stage and loop.given and loop.first and loop.start == "self.start_layer"
    return convention.transport is not None and bool(whole)


def _collect(loop: Loop, convention: Convention, *, sends: bool) -> CollectStates:
    counts = loop.index not in ("", "_")
    index = loop.index if counts else next(name for name in INDICES if name not in loop.names)
    current = index if loop.absolute or not counts else f"{loop.start} + {index}"
    transport = convention.transport if sends else None
    above: list[str] = []
    if transport is not None:
        tensor = _tensor(loop.facts.returns)
        typed = f"{STATES}: list[{tensor}]" if tensor else STATES
        above += [f"{REMOTE} = self.{transport.collect}({loop.given})", f"{typed} = []"]
        first = _adding(loop, convention, STATES, loop.start)
        above += [f"if {loop.first}:\n{_indented(first)}"] if convention.behind else []
    elif convention.behind and convention.mixin is not None:
        above += [f"{STATES} = {_adding(loop, convention, '[]', loop.start)}"]
    else:
        above += [f"{STATES} = []"]
        above += [_adding(loop, convention, STATES, loop.start)] if convention.behind else []
    step = _adding(loop, convention, STATES, f"{current} + 1" if convention.behind else current)
    result = render(loop.value) if loop.value[0] == "name" else loop.hidden
    below = [f"{STATES} = {REMOTE} + {STATES}"] if transport is not None else []
    below += [f"if len({STATES}) > 0:\n    return {result}, {STATES}"]
    return CollectStates(
        path=loop.owner.path,
        cls=loop.owner.facts.qualname,
        method=loop.facts.name,
        layers=loop.layers,
        index="" if counts else index,
        start=loop.start,
        above=tuple(above),
        first=() if convention.behind else (step,),
        last=(step,) if convention.behind else (),
        handed_on=f"**self.{transport.pack}({STATES})" if transport is not None else "",
        value="" if loop.value[0] == "name" else loop.hidden,
        below=tuple(below),
    )


def _adding(loop: Loop, convention: Convention, states: str, index: str) -> str:
    """The statement that adds the state at hand if its index is asked for."""
    given = {"list": states, "index": index, "hidden": loop.hidden, "residual": loop.residual or "None"}
    if convention.mixin is not None:
        return f"self.{convention.add}({', '.join(given[role] for role in convention.roles)})"
    state = loop.hidden
    if loop.residual:
        state = f"{loop.hidden} + {loop.residual} if {loop.residual} is not None else {loop.hidden}"
    return f"if {index} in self.{convention.attribute}:\n    {states}.append({state})"


def _indented(statement: str) -> str:
    return "\n".join(f"    {line}" for line in statement.splitlines())
