"""Everything that a class can have, as its whole statement shows: what its body binds and what its methods set."""

from __future__ import annotations

import ast
from collections import Counter
from dataclasses import dataclass, field

from analyzer.drift.scopes import FUNCTIONS, Scope
from analyzer.lower import dotted


@dataclass
class Body:
    """A class statement, looked through.

    Args:
        bound: names that the body binds, at any depth of its branches, and how often by a ``def``.
        stored: attributes that methods set on their first parameter, with each annotation and value.
        loose: other attributes that anything inside sets, on whatever object, or names in a string.
        open: why it may have more than that; empty if not.
    """

    bound: Counter[str] = field(default_factory=Counter)
    stored: dict[str, list[tuple[ast.expr | None, ast.expr | None, Scope | None]]] = field(default_factory=dict)
    loose: set[str] = field(default_factory=set)
    open: str = ""


def read_body(node: ast.ClassDef, scope: Scope | None) -> Body:
    """Look through a class.

    Args:
        node: its statement.
        scope: that of its body.
    """
    body = Body()
    _names(node.body, body)
    for statement in ast.walk(node):
        if isinstance(statement, FUNCTIONS):
            _stores(statement, body, scope.children.get(statement) if scope is not None else None)
        elif isinstance(statement, ast.Call):
            _call(statement, body, node.name)
        elif isinstance(statement, ast.Attribute) and isinstance(statement.ctx, ast.Store):
            body.loose.add(statement.attr)
        elif isinstance(statement, ast.Attribute) and statement.attr == "__dict__":
            if isinstance(statement.value, ast.Name) and statement.value.id in ("self", "cls"):
                body.open = body.open or f"{node.name} reaches into its own __dict__"
    if {"__getattr__", "__getattribute__"} & body.bound.keys():
        body.open = f"{node.name} answers attributes itself"
    return body


def _names(statements: list[ast.stmt], body: Body) -> None:
    for node in statements:
        if isinstance(node, FUNCTIONS):
            last = {(dotted(d) or "").rpartition(".")[2] for d in node.decorator_list}
            body.bound[node.name] += 0 if last & {"overload", "setter", "deleter", "getter"} else 1
            continue
        if isinstance(node, ast.ClassDef):
            body.bound[node.name] += 1
            continue
        for inner in ast.walk(node):
            if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
                body.bound[inner.id] += 0
            elif isinstance(inner, (ast.Import, ast.ImportFrom)):
                for alias in inner.names:
                    body.bound[alias.asname or alias.name.partition(".")[0]] += 0
        for name in ("body", "orelse", "finalbody"):
            _names(
                [s for s in getattr(node, name, []) if isinstance(s, (*FUNCTIONS, ast.ClassDef, ast.If, ast.Try))], body
            )
        for handler in getattr(node, "handlers", []):
            _names(handler.body, body)


def _stores(function: ast.FunctionDef | ast.AsyncFunctionDef, body: Body, scope: Scope | None) -> None:
    arguments = [*function.args.posonlyargs, *function.args.args]
    first = arguments[0].arg if arguments else ""
    for node in ast.walk(function):
        targets: list[ast.expr] = []
        value: ast.expr | None = None
        annotation: ast.expr | None = None
        if isinstance(node, ast.Assign):
            targets, value = node.targets, node.value
        elif isinstance(node, ast.AnnAssign):
            targets, value, annotation = [node.target], node.value, node.annotation
        for target in targets:
            if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id == first:
                body.stored.setdefault(target.attr, []).append((annotation, value, scope))


def _call(node: ast.Call, body: Body, name: str) -> None:
    called = (dotted(node.func) or "").rpartition(".")[2]
    if called in ("setattr", "__setattr__", "register_buffer", "register_parameter", "add_module", "register_module"):
        said = [a.value for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
        body.loose.update(said)
        owner = node.args[0] if called == "setattr" and node.args else None
        if not said and (owner is None or (isinstance(owner, ast.Name) and owner.id in ("self", "cls"))):
            body.open = body.open or f"{name} sets attributes by names that are not constant"
    elif called == "vars" and node.args and isinstance(node.args[0], ast.Name) and node.args[0].id == "self":
        body.open = body.open or f"{name} reaches into its own __dict__"
