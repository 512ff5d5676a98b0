"""``hasattr`` and ``isinstance``, for the interpreter, Protocols included."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING

from analyzer import evaluate, members, objects
from analyzer.facts import AttributeFacts, FunctionFacts
from analyzer.frames import Frame
from analyzer.index import ClassInfo, External
from analyzer.values import (
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
    PartOfChosen,
    Table,
    Value,
    options,
)

if TYPE_CHECKING:
    from analyzer.interpret import Machine


def has(machine: Machine, value: Value, name: str, frame: Frame, line: int) -> bool | None:
    """``hasattr``; None where it depends on what is not known."""

    seen: set[bool | None] = set()
    for option in options(value):
        failures = machine.outcome.possible_failures
        before = len(failures)
        found = objects.found(machine, option, name, frame, line)
        if found is evaluate.UNBOUND:
            seen.add(False)
        elif any(failure.kind == "AttributeError" for failure in failures[before:]):
            seen.add(None)  # its __getattr__ gives it for some of the objects that it may ask
            del failures[before:]
        elif isinstance(option, Instance) and name in option.maybe and members.class_member(option.cls, name) is None:
            seen.add(None)
        elif isinstance(option, (Instance, ClassValue)):
            seen.add(None if name not in _own(option) and _is_doubted(option.cls, name, found) else True)
        elif isinstance(option, ChosenModel) and name in machine.model_members:
            seen.add(True)
        elif isinstance(option, (Opaque, ConfigView)):
            seen.add(None if isinstance(found, Opaque) else True)  # a checkpoint's configuration has it
        else:
            seen.add(True if isinstance(option, (Collection, ModuleValue)) else None)
    return seen.pop() if len(seen) == 1 else None


def _own(value: Value) -> dict[str, Value]:
    return value.attrs if isinstance(value, Instance) else {}


def _is_doubted(cls: ClassInfo, name: str, found: Value) -> bool:
    """Whether what was found may not be there: something unknown, or one that ``__getattr__`` may have asked."""
    several = () if members.class_member(cls, name) is not None else options(found)
    return any(isinstance(option, Opaque) and option.reason for option in (found, *several))


def is_instance(machine: Machine, value: Value, cls: ClassInfo, frame: Frame, line: int) -> bool | None:
    """``isinstance(value, cls)`` as CPython 3.11 answers it, Protocols included."""
    seen: set[bool | None] = set()
    for option in options(value):
        if isinstance(option, Instance) and option.cls.derives_from(cls):
            seen.add(True)
        elif isinstance(option, (Instance, ClassValue)) and members.is_protocol(cls):
            seen.add(_conforms(machine, option, cls, frame, line))
        elif isinstance(option, Instance):
            seen.add(None if any(not isinstance(c, (ClassInfo, External)) for c in option.cls.mro) else False)
        elif isinstance(option, (Const, Collection, Table, ClassValue, Function, ModuleValue, ForwardResult)):
            seen.add(False)
        else:
            seen.add(None)
    return seen.pop() if len(seen) == 1 else None


def _conforms(machine: Machine, value: Value, cls: ClassInfo, frame: Frame, line: int) -> bool | None:
    names = members.protocol_members(cls)
    if isinstance(value, Instance) and _defines(value.cls, names):
        if all(_is_callable(machine, cls, name, frame, line) for name in names):
            return True  # without data members the class alone is asked
    answer: bool | None = True
    for name in names:
        present = has(machine, value, name, frame, line)
        none = present and _is_none(objects.get(machine, value, name, frame, line))
        if none is not False:
            blocks = _is_callable(machine, cls, name, frame, line)
            if blocks and none:
                return False  # all methods can be blocked by None
            if blocks is not False:
                answer = None
        if present is False:
            return False
        if present is None:
            answer = None
    return answer


def _defines(cls: ClassInfo, names: tuple[str, ...]) -> bool:
    """Whether a class gives a value other than None to each name, as ``issubclass`` with a Protocol asks."""
    for name in names:
        member = members.class_member(cls, name)
        if member is None:
            if not members.external_attribute(cls, name):
                return False
        elif isinstance(member[1], AttributeFacts) and member[1].value == ("const", None):
            return False
    return True


def _is_none(value: Value) -> bool | None:
    """Whether a value is None; not known of what a chosen model has under a name."""
    return None if isinstance(value, PartOfChosen) else isinstance(value, Const) and value.value is None


def _is_callable(machine: Machine, cls: ClassInfo, name: str, frame: Frame, line: int) -> bool | None:
    """Whether a Protocol's member has a value that can be called; None where that is not known."""
    member = members.class_member(cls, name)
    if member is None:
        return False
    if isinstance(member[1], FunctionFacts):
        return member[1].kind != "property"
    value = objects.get(machine, ClassValue(cls), name, frame, line)
    if isinstance(value, (Function, ClassValue)):
        return True
    if isinstance(value, ExternalRef) and value.name.startswith("builtins."):
        return callable(getattr(builtins, value.last, None))
    return False if isinstance(value, (Const, Collection, Table)) else None
