"""Construction, for the interpreter: new objects, and their attributes found by running ``__init__``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from analyzer import members
from analyzer.facts import FunctionFacts
from analyzer.frames import Raised
from analyzer.index import ClassInfo
from analyzer.values import Arguments, ClassValue, Function, Instance, OneOf, Opaque, Site, Value, one_of, options

if TYPE_CHECKING:
    from analyzer.interpret import Machine


def instantiate(machine: Machine, cls: ClassInfo, arguments: Arguments, site: Site | None) -> Value:
    """A new object of a class; what its own ``__new__`` dispatches to where it has one."""
    key = (cls, *arguments.key)
    template = machine.templates.get(key)
    if template is None:
        machine.templates[key] = Opaque(cls.name, f"{cls.name} builds itself")
        template = machine.templates[key] = _construct(machine, cls, arguments, site)
    made: list[Value] = []
    for option in options(template):
        if isinstance(option, Instance):
            made.append(Instance(option.cls, site, arguments, template=option))
        else:
            made.append(option)
    return one_of(made)


def _construct(machine: Machine, cls: ClassInfo, arguments: Arguments, site: Site | None) -> Value:
    maker = members.class_member(cls, "__new__")
    if maker is not None and isinstance(maker[1], FunctionFacts):
        with machine.aside():
            machine.building = []
            machine.constructing.append((cls, arguments))
            function = Function(maker[1], maker[0].module, maker[0], ClassValue(cls))
            try:
                made = machine.enter(function, arguments, 0, None)
            finally:
                machine.constructing.pop()
        chosen = [o for o in options(made) if isinstance(o, Instance)]
        if chosen:
            return one_of(chosen)
    return Instance(cls, site, arguments)


def bare(machine: Machine, cls: ClassInfo, site: Site | None) -> Instance:
    """What ``object.__new__`` gives: ``type.__call__`` will hand ``__init__`` the arguments that ``__new__`` got."""
    asked, arguments = machine.constructing[-1] if machine.constructing else (None, Arguments())
    return Instance(cls, site, arguments if cls is asked else Arguments())


def prepare(machine: Machine, instance: Instance) -> None:
    """Find the attributes of an object by running its ``__init__``, once for each template."""
    if instance.ready:
        return
    instance.ready = True
    if instance.template is not None:
        _adopt(machine, instance, instance.template)
        return

    maker = members.class_member(instance.cls, "__init__")
    if maker is None or not isinstance(maker[1], FunctionFacts):
        return
    with machine.aside():
        machine.building = [instance]
        try:
            machine.enter(Function(maker[1], maker[0].module, maker[0], instance), instance.arguments, 0, None)
        except Raised as raised:
            instance.missing_reason = f"its __init__ stops at {raised.path}:{raised.line} ({raised.kind})"
        if machine.exhausted:
            instance.missing_reason = "its __init__ is too long to be followed"


def _adopt(machine: Machine, instance: Instance, template: Instance) -> None:
    prepare(machine, template)
    twins: dict[int, Instance] = {}
    depth = len(template.trail)

    def twin(value: Value) -> Value:
        if not isinstance(value, Instance):
            return value
        if id(value) not in twins:
            trail = (*instance.trail, *value.trail[depth:])
            made = Instance(value.cls, value.site, value.arguments, template=value, trail=trail)
            twins[id(value)] = made
        return twins[id(value)]

    for name, value in template.attrs.items():
        if isinstance(value, (Instance, OneOf)):
            instance.attrs[name] = one_of(twin(option) for option in options(value))
        else:
            instance.attrs[name] = _rebound(value, template, instance)
    instance.set_at, instance.maybe = template.set_at, template.maybe
    instance.missing_reason = template.missing_reason


def _rebound(value: Value, template: Instance, instance: Instance) -> Value:
    if isinstance(value, Function) and value.receiver is template:
        return Function(value.facts, value.module, value.owner, instance)
    return value
