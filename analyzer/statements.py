"""Statements, for the interpreter: one function a form, each telling how the block goes on."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from analyzer import evaluate, markers
from analyzer.frames import FALLS, LEAVES, LOOPS, Frame, Raised
from analyzer.lower import Block, Expr, Stmt
from analyzer.values import CLEAN, Collection, Const, Opaque, taint_of

if TYPE_CHECKING:
    from analyzer.interpret import Machine


def run(machine: Machine, statement: Stmt, frame: Frame) -> int:
    """Run one statement; returns :data:`FALLS`, :data:`LEAVES` or :data:`LOOPS`."""
    return _RUN[statement[0]](machine, statement, frame)


def _assign(machine: Machine, statement: Stmt, frame: Frame) -> int:
    _, line, targets, value, column = statement
    found = machine.eval(value, frame)
    for target in targets:
        machine.assign(target, found, frame, line, column)
    return FALLS


def _augment(machine: Machine, statement: Stmt, frame: Frame) -> int:
    _, line, target, value = statement
    added = machine.eval(value, frame)
    old = machine.eval(target, frame) if target[0] == "name" else Opaque("")
    labels = taint_of([added]) | machine.control
    if isinstance(old, Collection):
        old.taint |= labels
        old.complete = False
    else:
        machine.assign(target, Opaque("", taint=taint_of([old]) | labels), frame, line, 0)
    return FALLS


def _delete(machine: Machine, statement: Stmt, frame: Frame) -> int:
    _, line, targets = statement
    for target in targets:
        machine.delete(target, frame, line)
    return FALLS


def _return(machine: Machine, statement: Stmt, frame: Frame) -> int:
    value = Const(None) if statement[2] is None else machine.eval(statement[2], frame)
    frame.returns.append((value, frame.path, statement[1]))
    return LEAVES


def _if(machine: Machine, statement: Stmt, frame: Frame) -> int:
    _, _, test, body, orelse = statement
    decided = machine.eval(test, frame)
    truth = machine.truth(decided)
    if truth is not None:
        return machine.block(body if truth else orelse, frame)
    return machine.fork([body, orelse], frame, taint_of([decided]))


def _for(machine: Machine, statement: Stmt, frame: Frame) -> int:
    _, line, target, iterable, body, orelse = statement
    sequence = machine.eval(iterable, frame)
    if isinstance(sequence, Collection) and sequence.complete and len(sequence.items) <= 16:
        for value in list(sequence.items):
            machine.assign(target, value, frame, line, 0)
            if machine.block(body, frame) == LEAVES:
                return LEAVES
        return machine.block(orelse, frame)
    if machine.strict and not isinstance(sequence, Collection):
        machine.outcome.unknown.append(f"the loop at {frame.path}:{line} runs over what is not known")
    element = evaluate.element(sequence)
    machine.assign(target, element, frame, line, 0)
    machine.fork([body, ()], frame, CLEAN)
    return machine.block(orelse, frame)


def _while(machine: Machine, statement: Stmt, frame: Frame) -> int:
    _, _, test, body, orelse = statement
    machine.eval(test, frame)
    machine.fork([body, ()], frame, CLEAN)
    return machine.block(orelse, frame)


def _with(machine: Machine, statement: Stmt, frame: Frame) -> int:
    _, line, items, body = statement
    marks = []
    for context, target in items:
        mark = markers.marker(machine, context, frame)
        if mark is not None:
            marks.append(mark)
        value = machine.eval(context, frame) if mark is None else Opaque("")
        if target is not None:
            machine.assign(target, evaluate.entered(value), frame, line, 0)
    ending = machine.block(body, frame)
    for mark in marks:
        markers.apply_marker(machine, mark)
    return ending


def _try(machine: Machine, statement: Stmt, frame: Frame) -> int:
    _, _, body, handlers, orelse, final = statement
    try:
        ending = machine.block(body, frame)
        if ending == FALLS:
            ending = machine.block(orelse, frame)
    except Raised as raised:
        handler = _handler(handlers, raised.kind)
        if handler is None:
            raise
        outer, frame.handling = frame.handling, raised
        ending = machine.block(handler, frame)
        frame.handling = outer
    done = machine.block(final, frame)
    return ending if done == FALLS else done


def _handler(handlers: tuple[tuple[Expr | None, Block], ...], kind: str) -> Block | None:
    broad = {"Exception", "BaseException"}
    for caught, body in handlers:
        if caught is None:
            return body
        names = caught[2] if caught[0] == "seq" else (caught,)
        if any(name[0] == "name" and name[1] in {kind, *broad} for name in names):
            return body
    return None


def _raise(machine: Machine, statement: Stmt, frame: Frame) -> int:
    _, line, raised = statement
    if raised is None and frame.handling is not None:
        raise frame.handling
    kind, detail = evaluate.exception(machine, raised, frame)
    raise machine.fail(kind, detail, frame, line)


def _assert(machine: Machine, statement: Stmt, frame: Frame) -> int:
    _, line, test, message = statement
    value = machine.eval(test, frame)
    holds = machine.truth(value)
    if holds is False:
        detail = evaluate.text_of(machine, message, frame)
        if machine.strict:
            raise machine.fail("AssertionError", detail, frame, line)
        if "result" in taint_of([value]):
            machine.outcome.misused.append((frame.path, line, machine.undecided > 0))
    elif holds is None and machine.strict:
        machine.outcome.possible_failures.append(
            machine.fail("AssertionError", evaluate.text_of(machine, message, frame), frame, line)
        )
    return FALLS


def _import(_machine: Machine, statement: Stmt, frame: Frame) -> int:
    for local, module, attribute in statement[2]:
        frame.env[local] = evaluate.Imported(module, attribute)
    return FALLS


def _expr(machine: Machine, statement: Stmt, frame: Frame) -> int:
    machine.eval(statement[2], frame)
    return FALLS


def _local(_machine: Machine, statement: Stmt, frame: Frame) -> int:
    frame.env[statement[2]] = Opaque(statement[2], "defined inside a function")
    return FALLS


_RUN: dict[str, Callable[[Any, Stmt, Frame], int]] = {
    "assign": _assign,
    "annotate": lambda *_: FALLS,
    "augment": _augment,
    "delete": _delete,
    "expr": _expr,
    "return": _return,
    "if": _if,
    "for": _for,
    "while": _while,
    "with": _with,
    "try": _try,
    "raise": _raise,
    "assert": _assert,
    "import": _import,
    "def": _local,
    "break": lambda *_: LOOPS,
    "continue": lambda *_: LOOPS,
}
