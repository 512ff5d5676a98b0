"""Objects, for the interpreter: attribute access, construction, ``isinstance`` and Protocol checks.

The order of attribute access is Python's and torch's: a property of the class, then the instance's own
attributes, then the class's; a sub-module that was assigned is kept in ``_modules`` and found last, through
``nn.Module.__getattr__`` (torch.nn.Module, ``__setattr__`` and ``__getattr__``).
"""

from __future__ import annotations

from types import GeneratorType
from typing import TYPE_CHECKING

from analyzer import construct, evaluate, members
from analyzer.checkpoint import MISSING
from analyzer.facts import AttributeFacts, FunctionFacts
from analyzer.frames import Frame, Raised
from analyzer.index import ClassInfo
from analyzer.members import Member
from analyzer.values import (
    Arguments,
    BuiltinMethod,
    ChosenModel,
    ClassValue,
    Collection,
    ConfigView,
    Const,
    ExternalRef,
    ForwardResult,
    Function,
    Instance,
    ModuleValue,
    Opaque,
    Partial,
    PartOfChosen,
    Super,
    Table,
    Value,
    is_module,
    options,
    taint_of,
)

if TYPE_CHECKING:
    from analyzer.interpret import Machine

MADE = frozenset({f"torch.nn.{name}(…)" for name in ("Module", "ModuleDict", "ModuleList", "Sequential")})

# -- attribute access ------------------------------------------------------------------------------


def get(machine: Machine, owner: Value, name: str, frame: Frame, line: int) -> Value:
    """``owner.name`` of one value; :data:`analyzer.evaluate.UNBOUND` where it certainly is not there."""
    if isinstance(owner, Instance):
        return _of_instance(machine, owner, name, frame, line)
    if isinstance(owner, ClassValue):
        return _of_class(machine, owner, name)
    if isinstance(owner, Super):
        return _of_super(machine, owner, name)
    if isinstance(owner, ExternalRef):
        return ExternalRef(f"{owner.name}.{name}", owner.taint)
    if isinstance(owner, ModuleValue):
        if machine.index.in_model_roots(owner.name + "."):
            return evaluate.of_targets(machine, machine.index.imported(owner.name, name))
        return ExternalRef(f"{owner.name}.{name}")
    if isinstance(owner, (Const, Collection, Table)):
        return BuiltinMethod(owner, name) if _has_builtin(owner, name) else evaluate.UNBOUND
    if isinstance(owner, ChosenModel) and name in machine.model_members:
        return BuiltinMethod(owner, name)
    if isinstance(owner, (Opaque, ConfigView, ChosenModel)):
        text = f"{owner.text}.{name}" if owner.text else name
        known = _of_checkpoint(machine, text) if machine.checkpoint is not None else None
        if known is not None:
            return known
        kind = PartOfChosen if isinstance(owner, (ChosenModel, PartOfChosen)) else Opaque
        return kind(text, getattr(owner, "reason", ""), owner.taint)
    if isinstance(owner, ForwardResult):
        if not hasattr(tuple, name):
            machine.outcome.misused.append((frame.path, line, machine.undecided > 0))
        return Opaque(name, taint=owner.taint)
    if isinstance(owner, (Function, Partial)):
        return Opaque(name)
    return Opaque(name, taint=taint_of([owner]))


def found(machine: Machine, owner: Value, name: str, frame: Frame, line: int) -> Value:
    """As :func:`get`, for one of several objects: what its ``__getattr__`` raises says that it is not there."""
    try:
        return get(machine, owner, name, frame, line)
    except Raised as raised:
        if raised.kind == "AttributeError":
            return evaluate.UNBOUND
        raise


def delete(machine: Machine, owner: Instance, name: str, frame: Frame, line: int) -> None:
    """``del owner.name``; what the class has under that name comes to light again.

    Args:
        machine: the interpreter.
        owner: the object; where it is one of several, it is the one.
        name: of the attribute.
        frame, line: where.

    Raises:
        Raised: the object certainly has no such attribute of its own.
    """
    built = machine.is_built(owner)
    if built:
        construct.prepare(machine, owner)
    if name not in owner.attrs:
        reason = owner.missing_reason or members.unknown_base(owner.cls)
        if machine.strict and not reason and not members.external_attribute(owner.cls, name):
            raise machine.fail("AttributeError", f"{members.described(owner)} has no attribute {name!r}", frame, line)
        return
    if built and machine.undecided:
        owner.maybe = owner.maybe | {name}
        return
    owner.displace(name)
    del owner.attrs[name]
    if built:
        machine.forget(owner, name)
    else:
        owner.set_at.pop(name, None)


def is_child(owner: Instance, name: str) -> bool:
    """Whether an attribute is certainly a sub-module, in whose place ``nn.Module.__setattr__`` lets nothing else."""
    value = owner.attrs.get(name)
    if value is None or name in owner.maybe or not members.is_torch_module(owner.cls):
        return False
    made = isinstance(value, Opaque) and value.text in MADE
    return made or (
        is_module(value) and all(members.is_torch_module(o.cls) for o in options(value) if isinstance(o, Instance))
    )


def may_be_child(owner: Instance, name: str) -> bool:
    """Whether an attribute is perhaps a sub-module: something of a model that the configuration chooses."""
    return isinstance(owner.attrs.get(name), PartOfChosen) and members.is_torch_module(owner.cls)


def _of_checkpoint(machine: Machine, text: str) -> Value | None:
    """What the checkpoint's configuration says, where the text asks for something that it holds."""
    assert machine.checkpoint is not None
    keys = machine.checkpoint.keys_of(text)
    found = machine.checkpoint.at(keys) if keys else MISSING
    if isinstance(found, (str, int, float)) or found is None:
        return Const(found)
    if isinstance(found, list) and all(isinstance(item, (str, int, float)) for item in found):
        return Collection("list", [Const(item) for item in found])
    return None


_KINDS: dict[str, tuple[type, ...]] = {"list": (list, GeneratorType), "tuple": (tuple,), "set": (set, frozenset)}


def _has_builtin(owner: Const | Collection | Table, name: str) -> bool:
    """Whether a value of one of Python's own types has an attribute."""
    if isinstance(owner, Const):
        return hasattr(owner.value, name)
    if isinstance(owner, Table):
        return hasattr(dict, name)
    if owner.empty_global or owner.kind not in _KINDS:  # any kind of container
        return True
    return any(hasattr(kind, name) for kind in _KINDS[owner.kind])


def _of_instance(machine: Machine, owner: Instance, name: str, frame: Frame, line: int) -> Value:
    member = members.class_member(owner.cls, name)
    if member is not None and isinstance(member[1], FunctionFacts) and member[1].kind == "property":
        getter = Function(member[1], member[0].module, member[0], owner)
        try:
            return machine.enter(getter, Arguments(), line, frame)
        except Raised as raised:
            if raised.kind != "AttributeError" or not members.is_torch_module(owner.cls):
                raise
            member = None  # nn.Module.__getattr__ is asked then: it knows the sub-modules and nothing of the property
    construct.prepare(machine, owner)
    value = owner.attrs.get(name)
    child = value is not None and is_module(value) and members.is_torch_module(owner.cls)
    hook = members.getattr_hook(owner.cls)
    if value is not None and not (child and (member is not None or hook is not None)):
        return value
    if member is not None:
        return _bound(machine, member, owner)
    if members.external_attribute(owner.cls, name):
        return BuiltinMethod(owner, name)
    if hook is not None and hook[1].body is not None:
        return _forwarded(machine, hook[0], hook[1], owner, name, line, frame)
    reason = owner.missing_reason or members.unknown_base(owner.cls)
    return Opaque(name, reason) if reason else evaluate.UNBOUND


def _forwarded(
    machine: Machine, cls: ClassInfo, hook: FunctionFacts, owner: Instance, name: str, line: int, frame: Frame
) -> Value:
    """An attribute that the class's own ``__getattr__`` answers."""

    strict, machine.strict = machine.strict, True
    try:
        found = machine.enter(Function(hook, cls.module, cls, owner), Arguments((Const(name),)), line, frame)
    except Raised as raised:
        if raised.kind == "AttributeError" and not strict:
            return evaluate.UNBOUND
        raise
    finally:
        machine.strict = strict
    if isinstance(found, Opaque) and not found.reason:
        return Opaque(found.text, f"{cls.name}.__getattr__ asks something that is not known", found.taint)
    return found


def _bound(machine: Machine, member: Member, receiver: Value) -> Value:
    owner, facts = member
    if isinstance(facts, AttributeFacts):
        assert facts.value is not None
        value = _class_attribute(machine, owner, facts)
        if isinstance(value, Function) and value.receiver is None and isinstance(receiver, Instance):
            return Function(value.facts, value.module, value.owner or owner, receiver)
        return value
    if facts.kind == "class":
        cls = receiver.cls if isinstance(receiver, (Instance, ClassValue)) else owner
        return Function(facts, owner.module, owner, ClassValue(cls))
    if facts.kind == "static":
        return Function(facts, owner.module, owner)
    if facts.kind == "property" and not isinstance(receiver, Instance):
        return Const(property())  # a class is asked: it gives the descriptor itself
    return Function(facts, owner.module, owner, receiver if isinstance(receiver, Instance) else None)


def _class_attribute(machine: Machine, owner: ClassInfo, facts: AttributeFacts) -> Value:
    """The value of a class variable; names in it are the class body's own first, then the module's."""

    assert facts.value is not None
    key = (owner.key, facts.name)
    if key not in machine.globals:
        machine.globals[key] = Opaque(facts.name)
        env: dict[str, Value] = {
            name: Function(method, owner.module, owner) for name, method in owner.facts.methods.items()
        }
        with machine.aside():
            machine.globals[key] = machine.eval(facts.value, Frame(owner.module, None, owner, env))
    return machine.globals[key]


def _of_class(machine: Machine, owner: ClassValue, name: str) -> Value:
    member = members.class_member(owner.cls, name)
    if member is not None:
        return _bound(machine, member, owner)
    if name == "__name__":
        return Const(owner.cls.name)
    if name == "__mro__":
        return Collection("tuple", [ClassValue(cls) for cls in owner.cls.own_mro], complete=not owner.cls.unknown_bases)
    if members.external_attribute(owner.cls, name):
        return ExternalRef(f"torch.nn.Module.{name}")
    reason = members.unknown_base(owner.cls)
    return Opaque(name, reason) if reason else evaluate.UNBOUND


def _of_super(machine: Machine, owner: Super, name: str) -> Value:
    instance = owner.instance
    cls = instance.cls if isinstance(instance, (Instance, ClassValue)) else None
    if cls is None:
        return Opaque(name)
    answered = name in ("__call__", "__getattr__") and isinstance(instance, Instance)
    if answered and members.module_answers(cls, name, owner.after):
        return BuiltinMethod(instance, name)
    member = members.class_member(cls, name, owner.after)
    if member is not None:
        found = _bound(machine, member, instance)
        if isinstance(found, Function) and found.facts.kind == "property":
            return machine.enter(found, Arguments(), 0, None)
        return found
    if members.external_attribute(cls, name):
        return ExternalRef(f"torch.nn.Module.{name}")
    reason = members.unknown_base(cls)
    return Opaque(name, reason) if reason else evaluate.UNBOUND


def of_module(machine: Machine, owner: Value, name: Value | None, frame: Frame, line: int) -> Value:
    """What ``nn.Module.__getattr__`` gives: a sub-module, and nothing that the class has.

    Args:
        machine: the interpreter.
        owner: the module.
        name: what it is asked for.
        frame, line: where.

    Raises:
        Raised: there is no such sub-module, for certain.
    """
    if not isinstance(name, Const) or not isinstance(owner, Instance):
        return Opaque("__getattr__(…)", "a computed attribute name")
    construct.prepare(machine, owner)
    value = owner.attrs.get(str(name.value))
    if value is not None and not isinstance(value, (Const, Collection, Function)):
        return value
    reason = owner.missing_reason or members.unknown_base(owner.cls)
    if reason or not machine.strict:
        return Opaque(str(name.value), reason)
    raise machine.fail("AttributeError", f"{members.described(owner)} has no attribute {name.value!r}", frame, line)
