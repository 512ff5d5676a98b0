"""The loop of a decoder over its layers: regular enough to collect states in, or what makes it irregular.

*Regular* is one loop over the decoder's own layers, each layer called once with the hidden states, and with the
residual where there is one; behind it the last stage's norm, one return, and at most one return of an earlier
pipeline stage.  Everything else is told with its line: a loop that is not understood is not to be rewritten.

What the state *is* follows from what becomes of it behind the loop.  Where the norm adds the residual to the hidden
states, the state between two layers is their sum; where it passes the residual by, the hidden states hold it already.
"""

from __future__ import annotations

from dataclasses import dataclass

from analyzer import construct, members
from analyzer.blocks import bound_by, changes, changes_in_place, is_key, is_own, mentions, names_in, of_kind
from analyzer.facts import FunctionFacts
from analyzer.heads import Head, head_of, layer_step
from analyzer.index import ClassInfo
from analyzer.interpret import Machine
from analyzer.lower import Block, Expr, Stmt, render, walk
from analyzer.norms import adds_residual
from analyzer.values import Instance

RESHAPING = frozenset(
    ["chunk", "expand", "repeat", "repeat_interleave", "reshape", "split", "stack", "unflatten", "unsqueeze", "view"]
)
"""Methods that make several streams of one: what goes through such a loop is no state as drafters know it."""


@dataclass(frozen=True)
class Loop:
    """A loop that is understood.

    Args:
        owner: the class whose ``forward`` it stands in.
        line: of its head.
        layers: the attribute that holds the layers.
        index: the name of the index that it counts already; empty where it counts none.
        absolute: whether that index counts all layers of the model, and not those of the stage.
        start: source of the index of the first layer that it runs over.
        hidden: the name of the hidden states.
        residual: the name of what has to be added to them for the whole state, where it is not None; empty where
            nothing has to be.
        first: source of the condition that this is the first stage; empty where the decoder asks for none.
        stage: whether there is a return of an earlier stage, and its tensors are written out as a dict.
        given: the parameter that holds what the stage before has handed on; empty where there is none.
        value: what the last return gives.
        names: every name that the method uses.
    """

    owner: ClassInfo
    facts: FunctionFacts
    line: int
    layers: str
    index: str
    absolute: bool
    start: str
    hidden: str
    residual: str
    first: str
    stage: bool
    given: str
    value: Expr
    names: frozenset[str]


@dataclass(frozen=True)
class Irregular:
    """Why a loop is not understood.

    Args:
        path, line: of what is not.
        reason: in words, without the place.
    """

    path: str
    line: int
    reason: str


class _Odd(Exception):
    """What makes a loop irregular, and its line."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(reason)
        self.line, self.reason = line, reason


def judge_loop(machine: Machine, decoder: Instance) -> Loop | Irregular:
    """Whether the loop of a decoder's ``forward`` is regular.

    Args:
        machine: the interpreter.
        decoder: the object that holds the layers.
    """
    member = members.class_method(decoder.cls, "forward")
    if member is None:
        return Irregular(decoder.cls.path, decoder.cls.line, f"{decoder.cls.name} has no forward in the checkout")
    owner, facts = member
    try:
        return _judge(machine, decoder, owner, facts)
    except _Odd as odd:
        return Irregular(owner.path, odd.line, odd.reason)


def _judge(machine: Machine, decoder: Instance, owner: ClassInfo, facts: FunctionFacts) -> Loop:
    body = facts.body
    if body is None:
        raise _Odd(facts.line, "forward cannot be read")
    if facts.is_async or facts.decorators or facts.kind != "instance":
        raise _Odd(facts.line, f"forward is wrapped by @{facts.decorators[0] if facts.decorators else 'async'}")
    if inside := next(of_kind(body, "def"), None):
        raise _Odd(inside[1], "a function or class is defined inside")
    place = _only_loop(body, facts)
    before, statement, behind = body[:place], body[place], body[place + 1 :]
    head = head_of(statement)
    assert head is not None
    if returned := next(of_kind(before, "return"), None):
        raise _Odd(returned[1], "it returns before the loop")
    hidden, other = _carried(statement, head)
    end = _ending(behind)
    for name in filter(None, (hidden, other)):
        if not any(name in bound_by(s) for s in before) and name not in {p.name for p in facts.parameters}:
            raise _Odd(statement[1], f"{name} has no value before the loop")
    _check_whole(before, statement, behind, hidden)
    residual = other if other and _is_added(machine, decoder, behind, hidden, other) else ""
    _check_behind(behind, hidden, other)
    stage = next((s for s in behind if s[0] == "if" and _is_stage(s)), None)
    first = next((s[2] for s in before if s[0] == "if" and mentions(s[2], "is_first_rank")), None)
    known = {p.name for p in facts.parameters}
    given = [n[1][1] for n in walk(before) if n[0] == "sub" and n[1][0] == "name" and is_key(n[2])]
    return Loop(
        owner=owner,
        facts=facts,
        line=statement[1],
        layers=head.layers,
        index=head.index,
        absolute=head.absolute,
        start=head.start,
        hidden=hidden,
        residual=residual,
        first=render(first) if first is not None and first[0] == "attr" else "",
        stage=stage is not None and _dict_of(stage[3][-1][2]) is not None,
        given=next((name for name in given if name in known), "") if stage is not None else "",
        value=end[2],
        names=frozenset({n[1] for n in walk(body) if n[0] == "name"} | known),
    )


# -- the loop itself -------------------------------------------------------------------------------


def _only_loop(body: Block, facts: FunctionFacts) -> int:
    """The place of the one loop over the layers among the statements of ``forward``."""
    everywhere = [s for s in walk(body) if s[0] == "for" and head_of(s) is not None]
    places = [i for i, s in enumerate(body) if s[0] == "for" and head_of(s) is not None]
    if not everywhere:
        handed = next((n for n in walk(body) if n[0] == "call" and is_own(n[1]) and n[1][2].endswith("layers")), None)
        if handed is not None:
            raise _Odd(handed[4], f"the loop is not in forward, which calls self.{handed[1][2]}")
        loops = list(of_kind(body, "for"))
        if loops:
            raise _Odd(loops[0][1], f"the loop runs over {render(loops[0][3])}, which is not understood")
        raise _Odd(facts.line, "forward has no loop over layers of its own")
    if len(everywhere) > 1:
        raise _Odd(everywhere[1][1], "a second loop runs over layers")
    if not places:
        raise _Odd(everywhere[0][1], "the loop stands inside a branch or a with statement")
    return places[0]


def _carried(statement: Stmt, head: Head) -> tuple[str, str]:
    """The names of the hidden states and of what else each layer hands to the next one."""
    body = statement[4]
    if statement[5]:
        raise _Odd(statement[5][0][1], "the loop has an else")
    for kind in ("return", "break", "continue"):
        if left := next(of_kind(body, kind), None):
            raise _Odd(left[1], f"{kind} inside the loop")
    called = [n for n in walk(body) if n[0] == "call" and n[1] == ("name", head.layer)]
    if len(called) != 1:
        line = called[1][4] if called else statement[1]
        raise _Odd(line, "the layer is called more than once" if called else "the layer is not called")
    step = layer_step(statement, head.layer)
    if step is None:
        raise _Odd(called[0][4], "what the layer gives is not kept in names at once, or only on a condition")
    target = body[step][2][0]
    parts = target[2] if target[0] == "seq" else (target,)
    if len(body[step][2]) > 1 or any(part[0] != "name" for part in parts):
        raise _Odd(body[step][1], f"the layer's result goes to {render(target)}, which are no plain names")
    names = [part[1] for part in parts]
    if len(names) > 2:
        raise _Odd(body[step][1], f"the layer gives {len(names)} things: {', '.join(names)}")
    given = {n[1] for a in (*called[0][2], *(v for _, v in called[0][3])) for n in walk(a) if n[0] == "name"}
    if lacking := [name for name in names if name not in given]:
        raise _Odd(body[step][1], f"the layer gives {lacking[0]}, which the next one does not get")
    _check_rest(body, step, names, head)
    return names[0], names[1] if len(names) == 2 else ""


def _check_rest(body: Block, step: int, names: list[str], head: Head) -> None:
    """Whether nothing beside the layer changes the state, and nothing else goes from layer to layer."""
    read: set[str] = set()
    assigned: dict[str, int] = {}
    for place, statement in enumerate(body):
        for part in walk(statement):
            if part[0] == "name":
                read.add(part[1])
        for name, line in changes(statement):
            if place != step and name in names:
                raise _Odd(line, f"{name} is changed beside the layer")
            assigned.setdefault(name, line)
        for name, line in changes_in_place(statement):
            if name in names:
                raise _Odd(line, f"{name} is changed in place")
    counters = {s[2][1] for s in of_kind(body, "augment") if s[2][0] == "name" and s[3][0] == "const"}
    first_read = _read_first(body)
    for name, line in assigned.items():
        if name in first_read and name not in {*names, *counters, head.index, head.layer}:
            raise _Odd(line, f"{name} too goes from layer to layer")


def _read_first(body: Block) -> set[str]:
    """Names that one pass through a loop's body may read before it binds them."""
    read: set[str] = set()
    _pass_through(body, set(), read)
    return read


def _pass_through(block: Block, bound: set[str], read: set[str]) -> set[str]:
    """The names that are bound behind a block for certain; adds to ``read`` what it may read unbound."""
    for statement in block:
        kind = statement[0]
        if kind == "if":
            read |= names_in(statement[2]) - bound
            bound = _pass_through(statement[3], set(bound), read) & _pass_through(statement[4], set(bound), read)
        elif kind == "assign":
            read |= names_in(statement[3]) - bound
            bound |= bound_by(statement)
        else:
            read |= names_in(statement) - bound
    return bound


# -- before and behind it --------------------------------------------------------------------------


def _ending(behind: Block) -> Stmt:
    """The one return at the end; beside it only an earlier stage may return."""
    if not behind or behind[-1][0] != "return" or behind[-1][2] is None:
        raise _Odd(behind[-1][1] if behind else 0, "forward does not end with the return of the states")
    for statement in behind[:-1]:
        if any(of_kind((statement,), "return")) and not _is_stage(statement):
            raise _Odd(next(of_kind((statement,), "return"))[1], "an early return behind the loop")
    if sum(map(_is_stage, behind)) > 1:
        raise _Odd(behind[-1][1], "several returns of an earlier stage")
    value = behind[-1][2]
    if value[0] in ("seq", "dict", "ifexp", "const"):
        raise _Odd(behind[-1][1], f"it returns {render(value)}, and not the states alone")
    return behind[-1]


def _is_stage(statement: Stmt) -> bool:
    """``if not ….is_last_rank: return IntermediateTensors(…)``; what stands in its else is of the last stage."""
    if statement[0] != "if" or not statement[3] or any(s[0] != "assert" for s in statement[3][:-1]):
        return False
    left = statement[3][-1]
    tests_last = statement[2][0] == "not" and mentions(statement[2], "is_last_rank")
    if any(of_kind(statement[4], "return")):
        return False
    return tests_last and left[0] == "return" and left[2] is not None and left[2][0] == "call"


def _of_last_stage(behind: Block) -> Block:
    """The statements that the last stage runs behind the loop."""
    return tuple(part for s in behind for part in (s[4] if _is_stage(s) else (s,)))


def _dict_of(call: Expr) -> Expr | None:
    """The dict that is written out as the first argument of a call."""
    given = call[2][0] if call[2] else next((v for _, v in call[3]), None)
    return given if given is not None and given[0] == "dict" else None


def _check_whole(before: Block, statement: Stmt, behind: Block, hidden: str) -> None:
    """Whether the hidden states are one tensor: no part of them is ever taken."""
    for part in walk((before, statement[4], behind)):
        if part[0] == "sub" and part[1] == ("name", hidden) and part[2][0] == "const":
            raise _Odd(statement[1], f"{hidden} is packed: {render(part)} is taken out of it")
    for kept in of_kind(before, "assign"):
        if ("name", hidden) not in kept[2]:
            continue
        if kept[3][0] == "seq":
            raise _Odd(kept[1], f"{hidden} is packed: it is {render(kept[3])}")
        called = {part[1][2] for part in walk(kept[3]) if part[0] == "call" and part[1][0] == "attr"}
        if shapes := sorted(called & RESHAPING):
            raise _Odd(kept[1], f"{hidden} gets another shape before the loop ({shapes[0]})")


def _is_added(machine: Machine, decoder: Instance, behind: Block, hidden: str, other: str) -> bool:
    """Whether the state behind the loop is the sum of both."""
    pair = [("name", hidden), ("name", other)]
    answers: list[bool] = []
    line = behind[-1][1]
    last = _of_last_stage(behind)
    for part in walk(last):
        if part[0] == "bin" and part[1] == "Add" and list(part[2:4]) in (pair, pair[::-1]):
            answers.append(True)
        elif part[0] == "call" and is_own(part[1]) and list(part[2][:2]) == pair:
            adds = _norm_adds(machine, decoder, part[1][2])
            if adds is None:
                raise _Odd(part[4], f"whether self.{part[1][2]} adds {other} is not known")
            answers.append(adds)
    if other not in names_in(last):
        return False  # the result is made of the hidden states alone, so they are the whole state
    if not answers:
        raise _Odd(line, f"what becomes of {other} behind the loop is not understood")
    if len(set(answers)) > 1:
        raise _Odd(line, f"{other} is added on some paths only")
    return answers[0]


def _norm_adds(machine: Machine, decoder: Instance, attribute: str) -> bool | None:
    construct.prepare(machine, decoder)
    found = decoder.attrs.get(attribute)
    return adds_residual(machine.index, found) if found is not None else None


def _check_behind(behind: Block, hidden: str, other: str) -> None:
    """Whether nothing but the sum and the norm makes the result of the state."""
    norms: set[str] = set()
    for kept in of_kind(_of_last_stage(behind), "assign"):
        if hidden not in {name for target in kept[2] for name in names_in(target)}:
            continue
        value = kept[3]
        added = value[0] == "bin" and value[1] == "Add" and names_in(value) == {hidden, other}
        normed = value[0] == "call" and is_own(value[1]) and names_in(value) <= {"self", hidden, other}
        if normed:
            norms.add(value[1][2])
        if (not added and not normed) or len(norms) > 1:
            raise _Odd(kept[1], f"behind the loop {hidden} is not only normed")
    for changed in of_kind(behind, "augment"):
        if hidden in names_in(changed[2]):
            raise _Odd(changed[1], f"behind the loop {hidden} is not only normed")
    if loop := next(of_kind(behind, "for"), None):
        raise _Odd(loop[1], "another loop behind the loop over the layers")
    value = behind[-1][2]
    if value[0] != "name" and not (value[0] == "call" and is_own(value[1]) and {value[1][2]} >= norms):
        raise _Odd(behind[-1][1], f"it returns {render(value)}, which is not only normed")
