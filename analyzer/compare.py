"""Comparisons of values, and arithmetic on whole numbers: decided where both sides are known."""

from __future__ import annotations

from collections.abc import Callable
from operator import add, floordiv, mul, sub
from typing import Any

from analyzer.values import (
    ChosenModel,
    ClassValue,
    Collection,
    Const,
    ExternalRef,
    Function,
    Instance,
    OneOf,
    Opaque,
    Table,
    Value,
    taint_of,
)


def compare(op: str, left: Value, right: Value) -> Value:
    """A comparison, decided where both sides are known."""
    labels = taint_of([left, right])
    decided: bool | None = None
    if op in ("Is", "IsNot"):
        decided = _identical(left, right)
        if decided is not None and op == "IsNot":
            decided = not decided
    elif op in ("Eq", "NotEq") and isinstance(left, Const) and isinstance(right, Const):
        decided = (left.value == right.value) is (op == "Eq")
    elif op in ("In", "NotIn") and isinstance(right, Collection | ExternalRef | Opaque | Table):
        decided = _contains(right, left)
        if decided is not None and op == "NotIn":
            decided = not decided
    elif op in ("Gt", "Lt", "GtE", "LtE") and isinstance(left, Const) and isinstance(right, Const):
        decided = _ordered(op, left.value, right.value)
    return Opaque("", taint=labels) if decided is None else Const(decided, labels)


def _ordered(op: str, left: Any, right: Any) -> bool | None:
    try:
        return bool({"Gt": left > right, "Lt": left < right, "GtE": left >= right, "LtE": left <= right}[op])
    except TypeError:
        return None


def _identical(left: Value, right: Value) -> bool | None:
    for one, other in ((left, right), (right, left)):
        if isinstance(other, Const) and other.value is None:
            if isinstance(one, Const):
                return one.value is None
            if isinstance(one, Instance | ClassValue | Function | Collection | Table | ChosenModel):
                return False
            if isinstance(one, OneOf):
                seen = {_identical(option, other) for option in one.options}
                return seen.pop() if len(seen) == 1 else None
            return None
    if left is right and isinstance(left, Instance):
        return True
    if isinstance(left, Instance) and isinstance(right, Instance):
        return left.trail == right.trail and left.cls is right.cls
    if isinstance(left, ClassValue) and isinstance(right, ClassValue):
        return left.cls is right.cls
    return None


def _contains(container: Value, wanted: Value) -> bool | None:
    if isinstance(container, Collection):
        if container.empty_global:  # a cache at module level: empty on the first call
            return False
        if isinstance(wanted, ClassValue) and all(isinstance(i, ClassValue) for i in container.items):
            found = any(isinstance(i, ClassValue) and i.cls is wanted.cls for i in container.items)
            return found or (False if container.complete else None)
        if container.complete and not container.taint and isinstance(wanted, Const):
            constants = [i for i in container.items if isinstance(i, Const)]
            if any(i.value == wanted.value for i in constants):
                return True
            return False if len(constants) == len(container.items) else None
    if isinstance(container, Table) and container.complete and isinstance(wanted, Const):
        return wanted.value in container.pairs
    return None


_ARITHMETIC: dict[str, Callable[[int, int], int]] = {"Add": add, "Sub": sub, "Mult": mul, "FloorDiv": floordiv}


def calculate(op: str, left: Value, right: Value) -> Value | None:
    """The result of an operation on whole numbers, or of two collections or tables put together; None for others."""
    if op == "Add" and isinstance(left, Collection) and isinstance(right, Collection):
        both = Collection(left.kind, [*left.items, *right.items], complete=left.complete and right.complete)
        both.taint = left.taint | right.taint
        return both
    if op == "BitOr" and isinstance(left, Table) and isinstance(right, Table):
        return Table({**left.pairs, **right.pairs}, complete=left.complete and right.complete)
    if not isinstance(left, Const) or not isinstance(right, Const) or op not in _ARITHMETIC:
        return None
    one, two = left.value, right.value
    if type(one) is not int or type(two) is not int or (op == "FloorDiv" and two == 0):
        return None
    return Const(_ARITHMETIC[op](one, two), left.taint | right.taint)
