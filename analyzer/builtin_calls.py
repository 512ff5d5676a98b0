"""Python's own functions and methods, as far as models use them on values that are known."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from analyzer import construct, evaluate, members, objects, typechecks
from analyzer.index import ClassInfo, External
from analyzer.values import (
    Arguments,
    BuiltinMethod,
    ClassValue,
    Collection,
    Const,
    ExternalRef,
    ForwardResult,
    Function,
    Instance,
    Opaque,
    Partial,
    Sized,
    Table,
    Value,
    is_module,
    one_of,
    options,
    taint_of,
)

if TYPE_CHECKING:
    from analyzer.frames import Frame
    from analyzer.interpret import Machine

Builtin = Callable[[Any, Arguments, Any, int], Value | None]

_TYPES: dict[str, tuple[type, ...]] = {
    "str": (str,),
    "int": (int,),
    "float": (float,),
    "bool": (bool,),
    "bytes": (bytes,),
}
_PURE_STR = frozenset({"split", "startswith", "endswith", "lower", "upper", "replace", "strip", "removeprefix"})


def builtin(machine: Machine, name: str, arguments: Arguments, frame: Frame, line: int) -> Value | None:
    """The result of one of Python's builtins, or None where it is not modelled."""
    form = _BUILTINS.get(name)
    return form(machine, arguments, frame, line) if form is not None else None


def _isinstance(machine: Machine, arguments: Arguments, frame: Frame, line: int) -> Value | None:
    if len(arguments.positional) != 2:
        return None
    value, classes = arguments.positional
    decided = instance_of(machine, value, classes, frame, line)
    labels = taint_of([value])
    return Opaque("", taint=labels) if decided is None else Const(decided, labels)


def instance_of(machine: Machine, value: Value, classes: Value, frame: Frame, line: int) -> bool | None:
    """``isinstance(value, classes)``, three-valued."""
    if isinstance(classes, Collection):
        answers = [instance_of(machine, value, cls, frame, line) for cls in classes.items]
        if any(answers):
            return True
        return None if None in answers else False
    if isinstance(classes, ClassValue):
        return typechecks.is_instance(machine, value, classes.cls, frame, line)
    if isinstance(classes, ExternalRef):
        seen = {_of_external(option, classes) for option in options(value)}
        return seen.pop() if len(seen) == 1 else None
    return None


def _of_external(value: Value, cls: ExternalRef) -> bool | None:
    if cls.name == "builtins.type":
        if isinstance(value, ClassValue):
            return True
        return False if isinstance(value, (Instance, Const, Collection)) else None
    if isinstance(value, Instance):
        if any(isinstance(c, External) and c.name == cls.name for c in value.cls.mro):
            return True
        return None if members.unknown_base(value.cls) else False
    if isinstance(value, Collection):
        return value.kind == cls.last if cls.last in ("list", "tuple", "set") else None
    if isinstance(value, Const) and cls.last in _TYPES:
        return isinstance(value.value, _TYPES[cls.last])
    if isinstance(value, ForwardResult):  # with auxiliary states a decoder's result is a tuple
        return cls.name == "builtins.tuple"
    return None


def _hasattr(machine: Machine, arguments: Arguments, frame: Frame, line: int) -> Value | None:
    if len(arguments.positional) != 2 or not isinstance(arguments.positional[1], Const):
        return None
    value, name = arguments.positional
    assert isinstance(name, Const)
    found = typechecks.has(machine, value, str(name.value), frame, line)
    return Opaque("", taint=value.taint) if found is None else Const(found)


def _getattr(machine: Machine, arguments: Arguments, frame: Frame, line: int) -> Value | None:
    if len(arguments.positional) < 2:
        return None
    value, name = arguments.positional[:2]
    if not isinstance(name, Const):
        return Opaque("getattr(…)", "a computed attribute name", taint_of([value]))
    if len(arguments.positional) == 2:
        return evaluate.attribute(machine, value, str(name.value), frame, line)
    default = arguments.positional[2]
    out: list[Value] = []
    for option in options(value):
        present = typechecks.has(machine, option, str(name.value), frame, line)
        if present is not False:
            out.append(objects.get(machine, option, str(name.value), frame, line))
        if present is not True:
            out.append(default)
    return one_of(out)


def _setattr(machine: Machine, arguments: Arguments, frame: Frame, line: int) -> Value | None:
    if len(arguments.positional) == 3:
        target, name, value = arguments.positional
        for option in options(target):
            if isinstance(option, Instance) and isinstance(name, Const):
                several = option is not target
                machine.set_attribute(option, str(name.value), value, frame, line, maybe=several)
            elif isinstance(option, Instance):
                option.missing_reason = option.missing_reason or "setattr with a computed name"
            elif isinstance(option, Opaque) and machine.strict:
                machine.outcome.unknown.append(f"an attribute is set on something unknown at {frame.path}:{line}")
    return Const(None)


def _callable(machine: Machine, arguments: Arguments, frame: Frame, line: int) -> Value | None:
    seen: set[bool | None] = set()
    for option in options(arguments.positional[0]) if arguments.positional else ():
        if isinstance(option, (Function, ClassValue, BuiltinMethod, Partial)):
            seen.add(True)
        elif isinstance(option, (Const, Collection, Table)):
            seen.add(False)
        elif isinstance(option, Instance):
            seen.add(members.is_torch_module(option.cls) or None)
        else:
            seen.add(None)
    del machine, frame, line
    return Const(seen.pop()) if len(seen) == 1 and None not in seen else Opaque("callable(…)")


def _type(machine: Machine, arguments: Arguments, frame: Frame, line: int) -> Value | None:
    del machine, frame, line
    if len(arguments.positional) != 1:
        return Opaque("type(…)", "a class that type(…) makes")
    value = arguments.positional[0]
    return ClassValue(value.cls) if isinstance(value, Instance) else None


def _len(machine: Machine, arguments: Arguments, frame: Frame, line: int) -> Value | None:
    value = arguments.positional[0] if arguments.positional else None
    if isinstance(value, Collection) and value.complete:
        return Const(len(value.items), value.deep_taint)
    if isinstance(value, (Sized, Collection)) and value.length is not None:
        return Const(value.length, value.taint)
    if isinstance(value, Instance) and machine.strict and not _may_have_len(value):
        raise machine.fail("TypeError", f"object of type {value.cls.name!r} has no len()", frame, line)
    if isinstance(value, ForwardResult):  # hidden states and auxiliary states
        return Const(value.part + 1)
    return None


def _range(machine: Machine, arguments: Arguments, frame: Frame, line: int) -> Value | None:
    del machine, frame, line
    given = [a.value for a in arguments.positional if isinstance(a, Const) and isinstance(a.value, int)]
    if not given or len(given) != len(arguments.positional) or len(given) > 3 or given[2:] == [0]:
        return None
    return Sized("range(…)", len(range(*given)))


def _may_have_len(value: Instance) -> bool:
    """Whether an object can have a length: its own ``__len__``, or a base (``nn.ModuleList``) that is not seen."""
    if members.class_member(value.cls, "__len__") is not None:
        return True
    plain = (*members.MODULE_CLASSES, "builtins.object")
    return any(not isinstance(c, ClassInfo) and getattr(c, "name", "") not in plain for c in value.cls.mro)


def _sequence(kind: str) -> Builtin:
    def make(machine: Machine, arguments: Arguments, frame: Frame, line: int) -> Value | None:
        if not arguments.positional:
            return Collection(kind)
        value = arguments.positional[0]
        if isinstance(value, Const) and value.value is None and machine.strict:
            raise machine.fail("TypeError", "'NoneType' object is not iterable", frame, line)
        if isinstance(value, ForwardResult) and kind == "tuple":
            return value
        if isinstance(value, Collection):
            made = Collection(kind, value.items, complete=value.complete and kind != "set")
            made.taint = value.taint
            return made
        return None

    return make


def _enumerate(machine: Machine, arguments: Arguments, frame: Frame, line: int) -> Value | None:
    del machine, frame, line
    value = arguments.positional[0] if arguments.positional else None
    if isinstance(value, Collection) and value.complete:
        pairs = [Collection("tuple", [Const(i), item]) for i, item in enumerate(value.items)]
        return Collection("list", pairs)
    return None


def _dict(machine: Machine, arguments: Arguments, frame: Frame, line: int) -> Value | None:
    del machine, frame, line
    if arguments.positional:
        return arguments.positional[0] if isinstance(arguments.positional[0], Table) else None
    pairs: dict[object, Value] = {name: value for name, value in arguments.keywords.items()}  # noqa: C416
    return Table(pairs)


def _next(machine: Machine, arguments: Arguments, frame: Frame, line: int) -> Value | None:
    del machine, frame, line
    value = arguments.positional[0] if arguments.positional else None
    return value.items[0] if isinstance(value, Collection) and value.items else None


_BUILTINS: dict[str, Builtin] = {
    "isinstance": _isinstance,
    "hasattr": _hasattr,
    "getattr": _getattr,
    "setattr": _setattr,
    "callable": _callable,
    "type": _type,
    "len": _len,
    "range": _range,
    "list": _sequence("list"),
    "tuple": _sequence("tuple"),
    "set": _sequence("set"),
    "iter": _sequence("list"),
    "enumerate": _enumerate,
    "dict": _dict,
    "next": _next,
}


# -- methods of known objects ----------------------------------------------------------------------


def method(machine: Machine, callee: BuiltinMethod, arguments: Arguments) -> Value:
    """A method of a list, dict, string or ``nn.Module``."""
    receiver, name = callee.receiver, callee.name
    result: Value | None = None
    if isinstance(receiver, Collection):
        result = _of_collection(machine, receiver, name, arguments)
    elif isinstance(receiver, Table):
        result = _of_table(receiver, name, arguments)
    elif isinstance(receiver, Const):
        result = _of_constant(receiver, name, arguments)
    elif isinstance(receiver, Instance):
        result = _of_module(machine, receiver, name, arguments)
    if result is not None:
        return result
    return Opaque(f"{name}(…)", taint=taint_of([receiver, *arguments]))


def _of_collection(machine: Machine, receiver: Collection, name: str, arguments: Arguments) -> Value | None:
    if name in ("append", "extend", "insert", "add", "update"):
        receiver.taint |= taint_of(arguments) | machine.control
        if machine.undecided or name != "append":
            receiver.complete = False
        receiver.items += arguments.positional[-1:]
        return Const(None)
    if name == "copy":
        made = Collection(receiver.kind, receiver.items, complete=receiver.complete)
        made.taint = receiver.taint
        return made
    return None


def _of_table(receiver: Table, name: str, arguments: Arguments) -> Value | None:
    if name == "get" and arguments.positional:
        default = arguments.positional[1] if len(arguments.positional) > 1 else Const(None)
        key = arguments.positional[0]
        if isinstance(key, Const) and receiver.complete:
            return receiver.pairs.get(key.value, default)
        return one_of([*receiver.pairs.values(), default])
    if name == "values":
        return Collection("list", receiver.pairs.values(), complete=receiver.complete)
    if name == "keys":
        return Collection("list", [Const(k) for k in receiver.pairs], complete=receiver.complete)
    if name == "items":
        pairs = [Collection("tuple", [Const(k), v]) for k, v in receiver.pairs.items()]
        return Collection("list", pairs, complete=receiver.complete)
    return None


def _of_constant(receiver: Const, name: str, arguments: Arguments) -> Value | None:
    if not isinstance(receiver.value, str) or name not in _PURE_STR:
        return None
    if not all(isinstance(a, Const) for a in arguments):
        return None
    try:
        made = getattr(receiver.value, name)(*(a.value for a in arguments.positional if isinstance(a, Const)))
    except (TypeError, ValueError):
        return None
    if isinstance(made, list):
        return Collection("list", [Const(part) for part in made])
    return Const(made)


def _may_be_child(value: Value) -> bool:
    """Whether an attribute holds a sub-module: certainly, or as far as is known of it."""
    return is_module(value) or (isinstance(value, Opaque) and bool(value.reason))


def _of_module(machine: Machine, receiver: Instance, name: str, arguments: Arguments) -> Value | None:
    construct.prepare(machine, receiver)
    if name == "children":
        held = [[o for o in options(value) if _may_be_child(o)] for value in receiver.attrs.values()]
        return Collection("list", [one_of(child) for child in held if child])
    if name in ("register_buffer", "register_parameter", "add_module", "register_module"):
        first = arguments.get("name", 0)
        if isinstance(first, Const):
            value = arguments.get("module", 1) if "module" in name else None
            receiver.place(str(first.value), value or Opaque(str(first.value)))
        return Const(None)
    if name in ("to", "eval", "train", "half", "float", "cuda", "cpu", "requires_grad_", "apply"):
        return receiver
    return None
