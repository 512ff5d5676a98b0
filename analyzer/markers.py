"""``with self._mark_language_model(...)``: contexts that note the names of the children assigned inside them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from analyzer import binding, construct, evaluate
from analyzer.frames import Frame
from analyzer.lower import Block, Expr, walk
from analyzer.values import Arguments, ClassValue, Collection, Const, Function, Instance, Value, options

if TYPE_CHECKING:
    from analyzer.interpret import Machine


class Mark:
    """A context manager of the checkout that notes the names of the children assigned inside it."""

    def __init__(self, instance: Instance, attribute: str, targets: Value | None) -> None:
        self.instance, self.attribute, self.targets = instance, attribute, targets
        self.before = set(instance.attrs)


def marker(machine: Machine, context: Expr, frame: Frame) -> list[Mark] | None:
    """The marks that a ``with self.method(...)`` sets, where the method collects the children's names."""
    if context[0] != "call" or context[1][0] != "attr":
        return None
    callee = evaluate.evaluate(machine, context[1], frame)
    if not isinstance(callee, Function) or not isinstance(callee.receiver, Instance) or callee.facts.body is None:
        return None
    if not any(d.rpartition(".")[2] == "contextmanager" for d in callee.facts.decorators):
        return None

    named = {k: evaluate.evaluate(machine, v, frame) for k, v in context[3] if k}
    positional = tuple(evaluate.evaluate(machine, a, frame) for a in context[2])
    env = binding.bind(machine, callee, Arguments(positional, named))
    inner = Frame(callee.module, callee.facts, callee.owner, env, callee.receiver)
    known = machine.markers.get(id(callee.facts))
    if known is None:
        known = machine.markers[id(callee.facts)] = (_collected(callee.facts.body), _entered(callee.facts.body))
    collected, entered = known
    marks = []
    for attribute, given in collected:
        targets = env.get(given[1]) if given is not None and given[0] == "name" else None
        marks.append(Mark(callee.receiver, attribute, targets))
    for nested in entered:
        marks += marker(machine, nested, inner) or []
    return marks


def _entered(body: Block) -> list[Expr]:
    """The contexts of ``stack.enter_context(...)``."""
    return [
        node[2][0]
        for node in walk(body)
        if node[0] == "call" and node[1][0] == "attr" and node[1][2] == "enter_context" and node[2]
    ]


def _collected(body: Block) -> list[tuple[str, Expr | None]]:
    """``with collect_children(self, targets=targets) as names: ...`` and then ``self.attribute = names``."""
    collecting = {
        target[1]: context
        for statement in walk(body)
        if statement[0] == "with"
        for context, target in statement[2]
        if target is not None and target[0] == "name" and context[0] == "call"
    }
    found: list[tuple[str, Expr | None]] = []
    for statement in walk(body):
        if statement[0] != "assign" or statement[3][0] != "name" or statement[3][1] not in collecting:
            continue
        target = statement[2][0]
        if target[0] == "attr":
            found.append((target[2], dict(collecting[statement[3][1]][3]).get("targets")))
    return found


def apply_marker(machine: Machine, marks: list[Mark]) -> None:
    """Note the names of what was assigned since the marks were made."""
    for mark in marks:
        instance = mark.instance
        if mark.targets is None or (isinstance(mark.targets, Const) and mark.targets.value is None):
            names = [
                name
                for name, value in instance.attrs.items()
                if name not in mark.before and not isinstance(value, (Const, Collection))
            ]
        else:
            names = _descendants(machine, instance, mark.targets, (), 0)
        instance.attrs[mark.attribute] = Collection("list", [Const(name) for name in names])


def _descendants(
    machine: Machine, instance: Instance, targets: Value, prefix: tuple[str, ...], depth: int
) -> list[str]:
    wanted = [
        t.cls
        for option in options(targets)
        for t in (option.items if isinstance(option, Collection) else [option])
        if isinstance(t, ClassValue)
    ]
    out: list[str] = []
    construct.prepare(machine, instance)
    for name, value in list(instance.attrs.items()):
        for option in options(value):
            if isinstance(option, Instance) and option is not instance and depth < 4:
                if any(option.cls.derives_from(cls) for cls in wanted):
                    out.append(".".join((*prefix, name)))
                out += _descendants(machine, option, targets, (*prefix, name), depth + 1)
    return list(dict.fromkeys(out))
