"""What a for statement runs over: the layers of the object itself, in any of the forms that decoders have."""

from __future__ import annotations

from dataclasses import dataclass

from analyzer.blocks import calls, is_own
from analyzer.lower import Expr, Stmt, render


@dataclass(frozen=True)
class Head:
    """The head of a loop over layers.

    Args:
        layers: the attribute that holds them.
        layer: the name of one.
        index: the name of the index that the loop counts; empty where it counts none.
        absolute: whether that index counts all layers of the model, and not those of a stage.
        start: source of the index of the first layer that the loop runs over.
    """

    layers: str
    layer: str
    index: str
    absolute: bool
    start: str


def head_of(statement: Stmt) -> Head | None:
    """What a for statement runs over, where that is the layers of the object itself; else None."""
    _, _, target, iterable, body, _ = statement
    if calls(iterable, "enumerate") and target[0] == "seq" and len(target[2]) == 2:
        index, layer = target[2]
        found = _layers(iterable[2][0]) if iterable[2] else None
        if found is None or index[0] != "name" or layer[0] != "name":
            return None
        given = dict(iterable[3]).get("start") or (iterable[2][1] if len(iterable[2]) > 1 else ("const", 0))
        return Head(found[0], layer[1], index[1], render(given) == found[1], found[1])
    if calls(iterable, "range") and target[0] == "name" and len(iterable[2]) in (1, 2):
        taken = body[0] if body else None
        if taken is None or taken[0] != "assign" or taken[2][0][0] != "name" or taken[3][0] != "sub":
            return None
        if not is_own(taken[3][1]) or taken[3][2] != target:
            return None
        start = iterable[2][0] if len(iterable[2]) == 2 else ("const", 0)
        return Head(taken[3][1][2], taken[2][0][1], target[1], True, render(start)) if _is_start(start) else None
    found = _layers(iterable)
    return Head(found[0], target[1], "", False, found[1]) if found and target[0] == "name" else None


def _layers(expr: Expr) -> tuple[str, str] | None:
    """The attribute that is run over, and the source of the index that it begins with."""
    if is_own(expr):
        return expr[2], "0"
    start: Expr = ("const", 0)
    if expr[0] == "sub" and expr[2][0] == "other" and len(expr[2][1]) == 2:  # a slice from one index to another
        expr, start = expr[1], expr[2][1][0]
    elif calls(expr, "islice") and len(expr[2]) in (2, 3) and not expr[3]:
        start = expr[2][1] if len(expr[2]) == 3 else start
        expr = expr[2][0]
    else:
        return None
    return (expr[2], render(start)) if is_own(expr) and _is_start(start) else None


def _is_start(expr: Expr) -> bool:
    return expr == ("const", 0) or is_own(expr)


def layer_step(statement: Stmt, layer: str) -> int | None:
    """The place of the statement that calls the layer, directly in a loop's body; None where there is none."""
    found = [i for i, s in enumerate(statement[4]) if s[0] == "assign" and s[3][:2] == ("call", ("name", layer))]
    return found[0] if len(found) == 1 else None
