"""Which inner model a wrapper builds: where, at which attribute, and how certain that is."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

from analyzer import construct, members, pins
from analyzer.index import ClassInfo
from analyzer.interpret import Machine
from analyzer.lower import walk
from analyzer.values import (
    Arguments,
    ChosenModel,
    Function,
    Instance,
    OneOf,
    Opaque,
    Site,
    Value,
    options,
)

Resolution = Literal["static", "branch", "config", "unresolved"]

# vLLM's own mark of a model that generates: VllmModelForTextGeneration in interfaces_base.py has this method,
# pooling models and bare decoders have not.
GENERATES = "compute_logits"
DEEPEST = 2


@dataclass(frozen=True)
class Inner:
    """One possibility for the inner model.

    Args:
        attribute: dotted path from the wrapper to it.
        cls: its class; None where the configuration chooses it or it is not known.
        resolution: ``static`` (always this), ``branch`` (one of several that the source names), ``config`` (the
            checkpoint names any registered model), ``unresolved``.
        site: the call that builds it.
        reason: why it is not known, or which configuration chooses it.
    """

    attribute: str
    cls: ClassInfo | None
    resolution: Resolution
    site: Site | None
    reason: str = ""


def generates(cls: ClassInfo) -> bool:
    """Whether a class computes logits itself or by inheritance."""
    return members.class_member(cls, GENERATES) is not None


def value_at(machine: Machine, root: Instance, attribute: str) -> Value | None:
    """What stands at a dotted path of attributes, or None."""
    value: Value = root
    for name in attribute.split("."):
        if not isinstance(value, Instance):
            return None
        construct.prepare(machine, value)
        found = value.attrs.get(name)
        if found is None:
            return None
        value = found
    return value


def with_inner(machine: Machine, root: Instance, attribute: str, value: Value) -> None:
    """Put one possibility in the place of the inner model of ``root``, and of its aliases."""
    *path, last = attribute.split(".")
    owner: Value = root
    for name in path:
        assert isinstance(owner, Instance)
        construct.prepare(machine, owner)
        owner = owner.attrs[name]
    assert isinstance(owner, Instance)
    construct.prepare(machine, owner)
    before = owner.attrs.get(last)
    if isinstance(value, Instance):
        value.trail = tuple(attribute.split("."))
    for holder in {id(root): root, id(owner): owner}.values():
        for name, known in list(holder.attrs.items()):
            if before is not None and _are_the_same(known, before):
                holder.attrs[name] = value
    owner.attrs[last] = value


def _are_the_same(one: Value, other: Value) -> bool:
    """Whether two attributes hold the same object, or the same of several."""
    mine, theirs = options(one), options(other)
    return len(mine) == len(theirs) and all(a is b for a, b in zip(mine, theirs, strict=True))


def built_around(
    machine: Machine, cls: ClassInfo, several: Sequence[Inner], position: int, chosen: ClassInfo | None = None
) -> Instance:
    """A new object of a class, whose ``__init__`` ran with one of the possibilities for the inner model.

    Args:
        machine: the interpreter.
        cls: the class of the outer model.
        several: the possibilities.
        position: of the one among them.
        chosen: the class that the configuration chose, where it does.
    """
    inner = several[position]
    wanted = chosen or inner.cls
    root, built = _run_around(machine, cls, several, inner, chosen)
    found = options(built) if built is not None else ()
    if chosen is not None and not any(isinstance(o, Instance) and o.cls is chosen for o in found):
        found = (construct.stand_in(machine, chosen),)
    elif len(found) <= 1:
        return root
    with_inner(machine, root, inner.attribute, _choice(found, wanted, inner.site, position))
    return root


def _run_around(
    machine: Machine, cls: ClassInfo, several: Sequence[Inner], inner: Inner, chosen: ClassInfo | None
) -> tuple[Instance, Value | None]:
    """An object whose ``__init__`` built one of the possibilities and, if that can be, no other."""
    for beside_others in (False, True):  # another one may be built first, and left for this one
        with suppress(pins.Excluded):
            return _run_with(machine, cls, inner, _pins(several, inner, chosen, beside_others=beside_others))
    return _run_with(machine, cls, inner, {})


def _run_with(machine: Machine, cls: ClassInfo, inner: Inner, made: pins.Pins) -> tuple[Instance, Value | None]:
    """An object whose ``__init__`` ran under some pins, and what stands at the inner model's attribute."""
    with pins.pinned(machine, made):
        root = construct.stand_in(machine, cls)
        return root, value_at(machine, root, inner.attribute)


def _pins(several: Sequence[Inner], inner: Inner, chosen: ClassInfo | None, *, beside_others: bool) -> pins.Pins:
    """For each place where one of the possibilities is built, what is not built there.

    Args:
        several, inner, chosen: see :func:`built_around`.
        beside_others: let the others be built where they are, and take the paths that build this one.
    """
    made: pins.Pins = {}
    for key in {other.site.key for other in several if other.site is not None}:
        here = {i.cls for i in several if i.site is not None and i.site.key == key and i.cls is not None}
        if inner.site is not None and inner.site.key == key:
            made[key] = pins.Pin(chosen, frozenset(here - {inner.cls}), wanted=beside_others)
        elif not beside_others:
            made[key] = pins.Pin(None, frozenset(here))
    return made


def _choice(choices: Sequence[Value], cls: ClassInfo | None, site: Site | None, position: int) -> Value:
    """The one of several values at an attribute that a possibility for the inner model means."""
    made = [c for c in choices if isinstance(c, Instance) and c.cls is cls]
    made.sort(key=lambda c: c.site != site)
    unknown = [c for c in choices if not isinstance(c, Instance)] if cls is None else []
    return [*made, *unknown, choices[min(position, len(choices) - 1)]][0]


def find_inner(machine: Machine, cls: ClassInfo) -> tuple[Inner, ...]:
    """The inner model of a class, one entry for each possibility; empty where it builds none.

    Args:
        machine: the interpreter.
        cls: the class to look at.
    """
    root = construct.stand_in(machine, cls)
    found = _candidates(machine, root, (), 0)
    if not found:
        found = _announced(machine, root) or _asked_for_logits(root)
    if not found:
        return ()
    attribute = _primary(machine, root, found)
    return tuple(_entry(attribute, value, found[attribute]) for value in options(found[attribute]))


def _entry(attribute: str, value: Value, whole: Value) -> Inner:
    several = isinstance(whole, OneOf)
    if isinstance(value, Instance):
        return Inner(attribute, value.cls, "branch" if several else "static", value.site)
    if isinstance(value, ChosenModel):
        return Inner(attribute, None, "config", value.site, f"the checkpoint's {_shown(value.text)} chooses it")
    reason = value.reason if isinstance(value, Opaque) else ""
    return Inner(attribute, None, "unresolved", None, reason or "what is built here could not be followed")


def _shown(text: str) -> str:
    """The configuration's path as a reader of config.json knows it."""
    return text.replace("vllm_config.model_config.hf_config", "config").removesuffix("(…)") or "configuration"


def _candidates(machine: Machine, owner: Instance, path: tuple[str, ...], depth: int) -> dict[str, Value]:
    construct.prepare(machine, owner)
    found: dict[str, Value] = {}
    seen: set[int] = set()
    for name, value in owner.attrs.items():
        if _is_hidden(owner, name):
            continue
        picked: list[Value] = [option for option in options(value) if _is_inner(option, owner)]
        if not picked or any(id(option) in seen for option in picked):
            continue
        if any(isinstance(o, Instance) and o.trail and o.trail != (*owner.trail, name) for o in picked):
            continue  # an alias of something deeper
        seen |= {id(option) for option in picked}
        rest = [o for o in options(value) if o not in picked and _is_unknown(o)]
        found[".".join((*path, name))] = value if len(picked) == len(options(value)) else _only([*picked, *rest])
    if found or depth >= DEEPEST:
        return found
    for name, value in owner.attrs.items():
        for option in options(value):
            inside = isinstance(option, Instance) and machine.index.in_model_roots(option.cls.module.module + ".")
            if inside and isinstance(option, Instance) and members.is_torch_module(option.cls):
                found |= _candidates(machine, option, (*path, name), depth + 1)
    return found


def _is_hidden(owner: Instance, name: str) -> bool:
    """Whether a property of the class is found instead of what was set on the object."""
    member = members.class_method(owner.cls, name)
    return member is not None and member[1].kind == "property"


def _only(values: list[Value]) -> Value:
    return values[0] if len(values) == 1 else OneOf(tuple(values))


def _is_unknown(value: Value) -> bool:
    """Whether a value may be a model, as far as can be told."""
    return (
        bool(value.cls.unknown_bases)
        if isinstance(value, Instance)
        else isinstance(value, Opaque) and value.reason != ""
    )


def _is_inner(value: Value, owner: Instance) -> bool:
    if isinstance(value, Instance):
        return value.cls is not owner.cls and (value.registered or generates(value.cls))
    if isinstance(value, Opaque):
        return value.reason.startswith("architecture ")
    return isinstance(value, ChosenModel)


def _announced(machine: Machine, root: Instance) -> dict[str, Value]:
    """What ``get_language_model`` gives, where that is another object of the checkout."""
    member = members.class_member(root.cls, "get_language_model")
    if member is None or not hasattr(member[1], "body"):
        return {}
    given = _run(machine, root, "get_language_model")
    named = [o for o in options(given) if isinstance(o, (Instance, ChosenModel)) and o is not root]
    trails = {o.trail for o in named if isinstance(o, Instance)}
    if len(trails) == 1 and (trail := trails.pop()):
        unknown = [o for o in options(given) if o not in named and _is_unknown(o)]
        return {".".join(trail): _only([*named, *unknown])}
    return {}


def _asked_for_logits(root: Instance) -> dict[str, Value]:
    """An attribute that is not known and that ``compute_logits`` asks for the logits: an inner model all the same."""
    member = members.class_method(root.cls, GENERATES)
    for node in walk(member[1].body or ()) if member is not None else ():
        if node[0] == "call" and node[1][0] == "attr" and node[1][2] == GENERATES:
            asked = node[1][1]
            if asked[0] == "attr" and asked[1] == ("name", "self"):
                value = root.attrs.get(asked[2])
                if isinstance(value, Opaque):
                    return {asked[2]: value}
    return {}


def _run(machine: Machine, root: Instance, method: str) -> Value:
    member = members.class_member(root.cls, method)
    assert member is not None
    owner, facts = member
    outcome = machine.run(Function(facts, owner.module, owner, root), Arguments(), strict=False)  # type: ignore[arg-type]
    return outcome.value


def _primary(machine: Machine, root: Instance, found: dict[str, Value]) -> str:
    """The candidate that generation goes to: the one whose logits the wrapper returns."""
    if len(found) == 1:
        return next(iter(found))
    member = members.class_member(root.cls, GENERATES)
    if member is not None:
        owner, facts = member
        function = Function(facts, owner.module, owner, root)  # type: ignore[arg-type]
        outcome = machine.run(function, Arguments((Opaque("hidden_states"),)), strict=False)
        for called in outcome.called:
            for attribute, value in found.items():
                if any(called.instance is option for option in options(value)):
                    return attribute
    if members.class_member(root.cls, "get_language_model") is not None:
        given = options(_run(machine, root, "get_language_model"))
        for attribute, value in found.items():
            if any(option in given for option in options(value)):
                return attribute
    return next(iter(found))
