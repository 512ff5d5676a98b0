"""Expressions, for the interpreter: names, attributes, comparisons, and what is known of truth."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from analyzer import calls, compare, members, objects, pins
from analyzer.facts import Binding
from analyzer.index import ClassInfo, External, FunctionRef, Missing, ModuleRef, Target, ValueRef
from analyzer.lower import Expr, render
from analyzer.values import (
    CLEAN,
    ChosenModel,
    ClassValue,
    Collection,
    Const,
    ExternalRef,
    ForwardResult,
    Function,
    Instance,
    Lambda,
    ModuleValue,
    OneOf,
    Opaque,
    Sized,
    Table,
    Taint,
    Value,
    one_of,
    options,
    taint_of,
)

if TYPE_CHECKING:
    from analyzer.frames import Frame
    from analyzer.interpret import Machine


class Imported(Value):
    """A name bound by an import inside a function: followed only when it is used."""

    def __init__(self, module: str, attribute: str | None) -> None:
        self.module, self.attribute = module, attribute


UNFOLLOWED = "unfollowed"  # label of data that went through something that is not followed


class Unbound(Value):
    """No such attribute, for certain."""


UNBOUND = Unbound()


def evaluate(machine: Machine, expr: Expr, frame: Frame) -> Value:
    """The value of an expression in a frame."""
    return _FORMS[expr[0]](machine, expr, frame)


def truth(value: Value) -> bool | None:
    """Whether a value counts as true; None where that is not known."""
    if isinstance(value, Const):
        return bool(value.value)
    if isinstance(value, Collection):
        if value.items:
            return True
        return False if value.complete and not value.taint else None
    if isinstance(value, (Instance, ClassValue, Function, ModuleValue, ChosenModel)):
        return True
    if isinstance(value, OneOf):
        seen = {truth(option) for option in value.options}
        return seen.pop() if len(seen) == 1 else None
    return None


def _name(machine: Machine, expr: Expr, frame: Frame) -> Value:
    name = expr[1]
    found = frame.env.get(name)
    if found is None:
        return module_name(machine, frame.module.module, name)
    if isinstance(found, Imported):
        found = _imported(machine, found)
        frame.env[name] = found
    return found


def module_name(machine: Machine, module: str, name: str) -> Value:
    """A module-level name or a builtin.

    Imports from outside the model folders are not followed: their functions are never interpreted, and reading
    their files would cost most of an audit.
    """
    known = machine.names.get((module, name))
    if known is not None:
        return known
    facts = machine.index.module(module)
    bindings = facts.names.get(name) if facts is not None else None
    if not bindings:
        found = machine.index.lookup(module, name) if facts is not None and facts.stars else []
        value = of_targets(machine, found) if found else ExternalRef(f"builtins.{name}")
    else:
        value = _bound(machine, module, name, bindings)
    if isinstance(value, (ClassValue, ExternalRef, Function)):  # they never change, and do not depend on how far we are
        machine.names[module, name] = value
    return value


def _bound(machine: Machine, module: str, name: str, bindings: list[Binding]) -> Value:
    values: list[Value] = []
    for binding in bindings:
        if binding.kind == "import":
            assert isinstance(binding.target, tuple)
            values.append(_imported(machine, Imported(*binding.target)))
        elif binding.kind == "value":
            values.append(machine.global_value(module, name))
        else:
            values.append(of_targets(machine, machine.index.lookup(module, name)))
    return one_of(values)


def _imported(machine: Machine, name: Imported) -> Value:
    inside = machine.index.in_model_roots(name.module + ".")
    if not inside:
        return ExternalRef(name.module if name.attribute is None else f"{name.module}.{name.attribute}")
    return of_targets(machine, machine.index.imported(name.module, name.attribute))


def of_targets(machine: Machine, targets: list[Target]) -> Value:
    """The value of what a name resolves to; several alternatives become :class:`OneOf`."""
    return one_of(of_target(machine, target) for target in targets)


def of_target(machine: Machine, target: Target) -> Value:
    """The value of one resolved name."""
    if isinstance(target, ClassInfo):
        return ClassValue(target)
    if isinstance(target, External):
        return ExternalRef(target.name)
    if isinstance(target, ModuleRef):
        return ModuleValue(target.name)
    if isinstance(target, FunctionRef):
        facts = machine.index.module(target.module)
        assert facts is not None
        return Function(facts.functions[target.name], facts)
    if isinstance(target, ValueRef):
        return machine.global_value(target.module, target.name)
    assert isinstance(target, Missing)
    return Opaque("", target.reason)


def _attr(machine: Machine, expr: Expr, frame: Frame) -> Value:
    _, base, name, line = expr
    owner = evaluate(machine, base, frame)
    return attribute(machine, owner, name, frame, line)


def attribute(machine: Machine, owner: Value, name: str, frame: Frame, line: int) -> Value:
    """``owner.name``; raises where it certainly does not exist and the machine is strict."""
    if not isinstance(owner, OneOf):
        only = objects.get(machine, owner, name, frame, line)
        if only is not UNBOUND:
            return only
    found: list[Value] = []
    missing: list[Value] = []
    for option in options(owner):
        value = objects.found(machine, option, name, frame, line)
        (missing if value is UNBOUND else found).append(option if value is UNBOUND else value)
    if not found:
        detail = f"{members.described(missing[0])} has no attribute {name!r}"
        if machine.strict:
            raise machine.fail("AttributeError", detail, frame, line)
        return Opaque(name, detail, owner.taint)
    if missing and machine.strict:
        detail = f"{members.described(missing[0])} has no attribute {name!r}"
        machine.outcome.possible_failures.append(machine.fail("AttributeError", detail, frame, line))
    return one_of(found)


def item(value: Value, index: int, count: int) -> Value:
    """One of ``count`` parts that a value is unpacked into."""
    if isinstance(value, OneOf):
        return one_of(item(option, index, count) for option in value.options)
    if isinstance(value, Collection) and value.complete and index < len(value.items):
        return value.items[index]
    if isinstance(value, ForwardResult):
        return value.item(index)
    return Opaque("", taint=taint_of([value]))


def element(value: Value) -> Value:
    """An element of a sequence of unknown length."""
    if isinstance(value, Collection) and value.items:
        return one_of(value.items)
    return Opaque("item", taint=taint_of([value]))


def entered(value: Value) -> Value:
    """What a context manager gives to its ``as`` name: not known, but of the same data."""
    return Opaque("", taint=taint_of([value]))


def exception(machine: Machine, raised: Expr | None, frame: Frame) -> tuple[str, str]:
    """Class name and message of a ``raise``."""
    if raised is None:
        return "Exception", ""
    if raised[0] == "call":
        text = text_of(machine, raised[2][0], frame) if raised[2] else ""
        return render(raised[1]).rpartition(".")[2], text
    return render(raised).rpartition(".")[2], ""


def text_of(machine: Machine, expr: Expr | None, frame: Frame) -> str:
    """A message's text where it is constant; the constant parts of a formatted one."""
    if expr is None:
        return ""
    if expr[0] == "const":
        return str(expr[1])
    if expr[0] in ("other", "format"):
        return "".join(text_of(machine, part, frame) or "…" for part in expr[1])
    return ""


# -- forms -----------------------------------------------------------------------------------------


def _const(_machine: Machine, expr: Expr, _frame: Frame) -> Value:
    return Const(expr[1])


def _call(machine: Machine, expr: Expr, frame: Frame) -> Value:
    return calls.call_expression(machine, expr, frame)


def _sub(machine: Machine, expr: Expr, frame: Frame) -> Value:
    base = evaluate(machine, expr[1], frame)
    index = evaluate(machine, expr[2], frame)
    if isinstance(base, (ClassValue, ExternalRef)):
        return base
    return subscript(base, index)


def subscript(base: Value, index: Value) -> Value:
    """``base[index]``: exact on known collections and tables, else something of the same data."""
    if isinstance(base, OneOf):
        return one_of(subscript(option, index) for option in base.options)
    if isinstance(base, Collection) and isinstance(index, Const) and isinstance(index.value, int):
        if base.complete and -len(base.items) <= index.value < len(base.items):
            return base.items[index.value]
        if base.items:  # one of these, or one that is not known
            return one_of([*base.items, Opaque("", taint=taint_of([base, index]))])
    elif isinstance(base, Table):
        if isinstance(index, Const) and index.value in base.pairs:
            return base.pairs[index.value]
        if base.pairs:
            return one_of(base.pairs.values())
    elif isinstance(base, ForwardResult):
        return item(base, index.value if isinstance(index, Const) and isinstance(index.value, int) else 0, 2)
    return Opaque(f"{_text(base)}[…]", getattr(base, "reason", ""), taint_of([base, index]))


def _text(value: Value) -> str:
    return value.text if isinstance(value, (Opaque, ChosenModel)) else ""


def _seq(machine: Machine, expr: Expr, frame: Frame) -> Value:
    made = Collection(expr[1])
    for part in expr[2]:
        value = evaluate(machine, part[1] if part[0] == "star" else part, frame)
        if part[0] != "star":
            made.items.append(value)
        elif isinstance(value, Collection):
            made.items += value.items
            made.complete = made.complete and value.complete
            made.taint |= value.taint
        elif isinstance(value, ForwardResult):
            made.items += [value.item(index) for index in range(value.part + 1)]
        else:
            made.items.append(value)
            made.complete = False
    return made


def _dict(machine: Machine, expr: Expr, frame: Frame) -> Value:
    pairs: dict[object, Value] = {}
    complete = True
    for key, value in expr[1]:
        found = evaluate(machine, value, frame)
        if key is None and isinstance(found, Table):  # {**table}
            pairs.update(found.pairs)
            complete = complete and found.complete
            continue
        name = evaluate(machine, key, frame) if key is not None else None
        if isinstance(name, Const):
            pairs[name.value] = found
        elif isinstance(name, Collection) and all(isinstance(i, Const) for i in name.items):
            pairs[tuple(i.value for i in name.items if isinstance(i, Const))] = found
        else:
            complete = False
            pairs[object()] = found
    return Table(pairs, complete=complete)


def _ifexp(machine: Machine, expr: Expr, frame: Frame) -> Value:
    test = evaluate(machine, expr[1], frame)
    decided = truth(test)
    if decided is not None:
        return evaluate(machine, expr[2] if decided else expr[3], frame)
    with machine.maybe():
        return one_of(pins.possible(machine, [partial(evaluate, machine, arm, frame) for arm in expr[2:4]]))


def _bool(machine: Machine, expr: Expr, frame: Frame) -> Value:
    _, op, items = expr
    unknown: list[Value] = []
    for part in items:
        value = evaluate(machine, part, frame)
        known = truth(value)
        if known is (op == "or"):
            return value if not unknown else _either(op, unknown, value)
        if known is None:
            unknown.append(value)
    if not unknown:
        return value
    return one_of([*unknown, value]) if op == "or" else Opaque("", taint=taint_of(unknown))


def _either(op: str, unknown: list[Value], last: Value) -> Value:
    if op == "and":  # something false follows: false whatever the unknown ones are
        return Const(False, taint_of(unknown))
    return one_of([*unknown, last])


def _not(machine: Machine, expr: Expr, frame: Frame) -> Value:
    value = evaluate(machine, expr[1], frame)
    known = truth(value)
    return Opaque("", taint=taint_of([value])) if known is None else Const(not known, taint_of([value]))


def _cmp(machine: Machine, expr: Expr, frame: Frame) -> Value:
    _, left, op, right = expr
    return compare.compare(op, evaluate(machine, left, frame), evaluate(machine, right, frame))


def _walrus(machine: Machine, expr: Expr, frame: Frame) -> Value:
    value = evaluate(machine, expr[2], frame)
    frame.env[expr[1]] = value
    return value


def _comp(machine: Machine, expr: Expr, frame: Frame) -> Value:
    _, part, target, iterable, conditions = expr
    sequence = evaluate(machine, iterable, frame)
    env = frame.env
    frame.env = dict(env)
    try:
        if isinstance(sequence, Collection) and sequence.complete and not conditions and len(sequence.items) <= 32:
            out = []
            for value in sequence.items:
                machine.assign(target, value, frame, 0, 0)
                out.append(evaluate(machine, part, frame))
            return Collection("list", out)
        machine.assign(target, element(sequence), frame, 0, 0)
        tests = [evaluate(machine, condition, frame) for condition in conditions]
        made = evaluate(machine, part, frame)
        result = Collection("list", [made] if not isinstance(made, Opaque) else [], complete=False)
        result.taint = taint_of([sequence, made, *tests])
        if isinstance(sequence, Sized) and not conditions:
            result.length = sequence.length
        return result
    finally:
        frame.env = env


def _bin(machine: Machine, expr: Expr, frame: Frame) -> Value:
    _, op, left, right = expr
    one, two = evaluate(machine, left, frame), evaluate(machine, right, frame)
    if op == "BitOr" and isinstance(one, (ClassValue, ExternalRef)) and isinstance(two, (ClassValue, ExternalRef)):
        return Collection("tuple", [one, two])
    reason = next((side.reason for side in (one, two) if isinstance(side, Opaque) and side.reason), "")
    return compare.calculate(op, one, two) or Opaque("", reason, taint_of([one, two]))


def _star(machine: Machine, expr: Expr, frame: Frame) -> Value:
    return evaluate(machine, expr[1], frame)


def _other(machine: Machine, expr: Expr, frame: Frame) -> Value:
    labels: Taint = CLEAN
    for part in expr[1]:
        labels |= _quiet(machine, part, frame)
    return Opaque("", taint=labels)


def _lambda(machine: Machine, expr: Expr, frame: Frame) -> Value:
    labels = _other(machine, expr, frame).taint
    return Lambda("lambda", taint=labels | {UNFOLLOWED} if labels else labels)


def _quiet(machine: Machine, part: Expr, frame: Frame) -> Taint:
    """Labels of a part of something that has no form of its own (a formatted string, a lambda)."""
    strict, machine.strict = machine.strict, False
    try:
        return taint_of([evaluate(machine, part, frame)])
    finally:
        machine.strict = strict


_FORMS: dict[str, Callable[[Any, Expr, Any], Value]] = {
    "const": _const,
    "name": _name,
    "attr": _attr,
    "call": _call,
    "sub": _sub,
    "seq": _seq,
    "dict": _dict,
    "ifexp": _ifexp,
    "bool": _bool,
    "not": _not,
    "cmp": _cmp,
    "star": _star,
    "walrus": _walrus,
    "comp": _comp,
    "bin": _bin,
    "lambda": _lambda,
    "format": _other,
    "other": _other,
}
