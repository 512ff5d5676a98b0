"""Construction, for the interpreter: new objects, and their attributes found by running ``__init__``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from analyzer import members, pins, places
from analyzer.facts import FunctionFacts
from analyzer.frames import Raised
from analyzer.index import ClassInfo
from analyzer.values import (
    Arguments,
    BuiltinMethod,
    ClassValue,
    Function,
    Instance,
    Opaque,
    Site,
    Value,
    one_of,
    options,
)

if TYPE_CHECKING:
    from analyzer.interpret import Machine


def instantiate(machine: Machine, cls: ClassInfo, arguments: Arguments, site: Site | None) -> Value:
    """A new object of a class; what its own ``__new__`` dispatches to where it has one.

    Raises:
        Raised: its ``__new__`` ends with an error.
        Excluded: another class is chosen for this place.
    """
    pins.check(machine, cls, site)
    key = (cls, *arguments.key)
    template = machine.templates.get(key)
    if template is None:
        machine.templates[key] = Opaque(cls.name, f"{cls.name} builds itself")
        try:
            template = _construct(machine, cls, arguments, site)
        except Raised as raised:
            template = raised
        machine.templates[key] = template
    if isinstance(template, Raised):
        raise template
    made: list[Value] = []
    for option in options(template):
        if isinstance(option, Instance):
            made.append(Instance(option.cls, site, arguments, template=option))
        else:
            made.append(option)
    return one_of(made)


def stand_in(machine: Machine, cls: ClassInfo) -> Instance:
    """An object of exactly this class, whatever its ``__new__`` would make, built from outside."""
    instance = Instance(cls, None, Arguments())
    try:
        made = instantiate(machine, cls, Arguments(), None)
    except Raised as raised:
        instance.ready = True
        instance.missing_reason = f"its __new__ stops at {raised.path}:{raised.line} ({raised.kind})"
    else:
        if isinstance(made, Instance) and made.cls is cls:
            return made
    return instance


def dispatched(machine: Machine, cls: ClassInfo) -> tuple[ClassInfo, ...]:
    """The classes that a class's own ``__new__`` makes instead of itself."""
    try:
        made = options(instantiate(machine, cls, Arguments(), None))
    except Raised:
        return ()
    return tuple(option.cls for option in made if isinstance(option, Instance) and option.cls is not cls)


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
    places.settle(instance)


def _adopt(machine: Machine, instance: Instance, template: Instance) -> None:
    prepare(machine, template)
    if instance.twins is None:
        instance.twins = {id(template): instance}
    twins = _Twins(machine, template, instance, instance.twins)
    for name, value in template.attrs.items():
        instance.attrs[name] = one_of(twins.of(o) if isinstance(o, Instance) else o for o in options(value))
    for name, value in template.attrs.items():  # what is bound to them, when all of them are there
        if any(isinstance(option, (Function, BuiltinMethod)) for option in options(value)):
            instance.attrs[name] = one_of(twins.bound(o) for o in options(instance.attrs[name]))
    instance.set_at, instance.maybe = template.set_at, template.maybe
    instance.missing_reason = template.missing_reason


class _Twins:
    """The objects inside a new object that stand for those inside the one that it is made like.

    Those that are ``known`` are the whole tree's: what stands under two names, at whatever depth, is one object.
    """

    def __init__(self, machine: Machine, template: Instance, instance: Instance, known: dict[int, Instance]) -> None:
        self.machine, self.template, self.instance, self.known = machine, template, instance, known

    def of(self, value: Instance) -> Instance:
        """The twin of what stands below the template, or stood there once."""
        if id(value) not in self.known:
            made = Instance(value.cls, value.site, value.arguments, template=value, trail=self._trail(value))
            made.twins = self.known
            self.known[id(value)] = made
        return self.known[id(value)]

    def _trail(self, value: Instance) -> tuple[str, ...]:
        """Where the twin stands: below the new object, or elsewhere in the tree that this is a part of."""
        template, instance = self.template, self.instance
        if value.trail[: len(template.trail)] != template.trail:
            top = next(iter(self.known.values()))
            if top.template is not None:
                template, instance = top.template, top
        return (*instance.trail, *value.trail[len(template.trail) :])

    def bound(self, value: Value) -> Value:
        """A method of the template, or of something inside, as one of the new object's."""
        if isinstance(value, Function) and isinstance(value.receiver, Instance):
            return Function(value.facts, value.module, value.owner, self.anywhere(value.receiver))
        if isinstance(value, BuiltinMethod) and isinstance(value.receiver, Instance):
            return BuiltinMethod(self.anywhere(value.receiver), value.name)
        return value

    def anywhere(self, value: Instance) -> Instance:
        """The twin of an object at any depth; the object itself where it stands outside the template."""
        depth = len(self.template.trail)
        path = value.trail[depth:]
        if id(value) in self.known:
            return self.known[id(value)]
        if not path or value.trail[:depth] != self.template.trail:
            return value
        level = [self.instance]
        for name in path:
            found: list[Instance] = []
            for part in level:
                prepare(self.machine, part)
                inside = options(part.attrs[name]) if name in part.attrs else ()
                found += [option for option in inside if isinstance(option, Instance)]
            level = found
        return next((part for part in level if part.template is value), None) or self.of(value)
