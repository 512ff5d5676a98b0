"""What a gate asks, and where it stands: the object, the conditions around it, the error where it fails."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cached_property
from typing import Literal

from analyzer.dispatch import FunctionNode, message, own_nodes
from analyzer.lower import dotted

Subject = Literal["outer model", "inner model", "draft model", "class", "unwrapped"]


def functions_of(body: list[ast.stmt]) -> Iterator[FunctionNode]:
    """Functions at module level, in classes and in branches, and those inside them."""
    for node in body:
        if isinstance(node, FunctionNode):
            yield node
        for name in ("body", "orelse", "finalbody"):
            inside = getattr(node, name, None)
            if isinstance(inside, list):
                yield from functions_of(inside)


def guarded_nodes(function: FunctionNode) -> Iterator[tuple[ast.AST, tuple[ast.expr, ...]]]:
    """Nodes of a function's body with the conditions of the ``if`` statements that they stand under."""
    todo: list[tuple[ast.AST, tuple[ast.expr, ...]]] = [(node, ()) for node in reversed(function.body)]
    while todo:
        node, conditions = todo.pop()
        yield node, conditions
        if isinstance(node, (FunctionNode, ast.ClassDef)):
            continue
        for name, value in ast.iter_fields(node):
            under = (*conditions, node.test) if isinstance(node, ast.If) and name == "body" else conditions
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    todo.append((child, under))


def attribute_asked(node: ast.Call, by: tuple[str, ...] = ("getattr",)) -> str:
    """The name in ``getattr(x, "name", …)``, or empty.

    Args:
        node: a call.
        by: the functions that may be called.
    """
    if isinstance(node.func, ast.Name) and node.func.id in by and len(node.args) > 1:
        name = node.args[1]
        return name.value if isinstance(name, ast.Constant) and isinstance(name.value, str) else ""
    return ""


def is_parameter(node: ast.expr, function: FunctionNode) -> bool:
    """Whether an expression is what a function was given."""
    arguments = (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)
    return isinstance(node, ast.Name) and any(argument.arg == node.id for argument in arguments)


def returned_inner(function: FunctionNode) -> frozenset[str]:
    """Names whose inner model a function returns: ``return model.get_language_model()``."""
    found = set()
    for node in own_nodes(function):
        if isinstance(node, ast.Return) and isinstance(node.value, ast.Call):
            if isinstance(node.value.func, ast.Attribute) and node.value.func.attr == "get_language_model":
                if isinstance(node.value.func.value, ast.Name):
                    found.add(node.value.func.value.id)
    return frozenset(found)


def subject_of(node: ast.expr, function: FunctionNode, unwrapped: frozenset[str], path: str) -> Subject:
    text = ast.unparse(node)
    if "get_language_model" in text or text.endswith(".language_model"):
        return "inner model"
    root = text.partition(".")[0]
    if root in unwrapped:
        return "unwrapped"
    if "draft" in text or (text == "self.model" and "/spec_decode/" in path):  # a proposer's own model
        return "draft model"
    if text.endswith(("cls", "_class")) or text.startswith("type("):
        return "class"
    for argument in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs):
        if argument.arg == root and argument.annotation is not None:
            annotation = ast.unparse(argument.annotation)
            if annotation.startswith(("type[", "Type[")):
                return "class"
    return "outer model"


class Surroundings:
    """What a gate needs to know of the function that it stands in, found out only where there is a gate."""

    def __init__(self, function: FunctionNode) -> None:
        self.function = function

    @cached_property
    def unwrapped(self) -> frozenset[str]:
        """Local names that the function binds to what ``get_language_model`` gives."""
        out = set(returned_inner(self.function))
        for node in own_nodes(self.function):
            if isinstance(node, ast.Assign) and "get_language_model" in ast.dump(node.value):
                out |= {t.id for t in node.targets if isinstance(t, ast.Name)}
        return frozenset(out)

    @cached_property
    def errors(self) -> dict[int, str]:
        """Messages raised under ``if not check(...)``, by the line of the check."""
        out: dict[int, str] = {}
        for node in own_nodes(self.function):
            if isinstance(node, ast.If):
                raised = next((s for s in node.body if isinstance(s, ast.Raise)), None)
                if raised is not None and isinstance(raised.exc, ast.Call):
                    for line in range(node.test.lineno, (node.test.end_lineno or node.test.lineno) + 1):
                        out[line] = f"{dotted(raised.exc.func) or 'error'}: {message(raised.exc)}"
        return out
