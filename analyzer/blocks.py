"""Questions about lowered code: what stands in a block at any depth, what it binds, what it calls."""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.lower import Block, Expr, Stmt, walk

SELF: Expr = ("name", "self")


def of_kind(block: Block, kind: str) -> Iterator[Stmt]:
    """The statements of a kind at any depth; those of expressions have the same form and other names."""
    for statement in block:
        if statement[0] == kind:
            yield statement
        for part in blocks_of(statement):
            yield from of_kind(part, kind)


def blocks_of(statement: Stmt) -> Iterator[Block]:
    """The blocks directly inside a statement."""
    kind = statement[0]
    if kind in ("if", "while"):
        yield from (statement[3], statement[4])
    elif kind == "for":
        yield from (statement[4], statement[5])
    elif kind == "with":
        yield statement[3]
    elif kind == "try":
        yield statement[2]
        yield from (body for _, body in statement[3])
        yield from statement[4:6]


def changes(statement: Stmt) -> Iterator[tuple[str, int]]:
    """Names that a statement binds anew at any depth, each with the line."""
    for kind, place in (("assign", 2), ("augment", 2), ("for", 2)):
        for found in of_kind((statement,), kind):
            targets = found[place] if kind == "assign" else (found[place],)
            for target in targets:
                for part in target[2] if target[0] == "seq" else (target,):
                    if part[0] == "name":
                        yield part[1], found[1]
                    elif part[0] == "sub" and part[1][0] == "name":
                        yield part[1][1], found[1]


def changes_in_place(statement: Stmt) -> Iterator[tuple[str, int]]:
    """Names on which a method that ends in an underscore is called, as torch names what works in place."""
    for part in walk(statement):
        if part[0] == "call" and part[1][0] == "attr" and part[1][1][0] == "name" and part[1][2].endswith("_"):
            yield part[1][1][1], part[4]


def bound_by(statement: Stmt) -> set[str]:
    """Names that a statement binds at any depth."""
    return {name for name, _ in changes(statement)}


def names_in(node: Expr | Block) -> set[str]:
    """Names that stand in lowered code."""
    return {part[1] for part in walk(node) if part[0] == "name"}


def calls(expr: Expr, function: str) -> bool:
    """Whether an expression calls a function of a name, with or without its module."""
    if expr[0] != "call":
        return False
    called: Expr = expr[1]
    return called == ("name", function) or (called[0] == "attr" and called[2] == function)


def is_own(expr: Expr) -> bool:
    """Whether an expression is an attribute of ``self``."""
    return bool(expr[0] == "attr" and expr[1] == SELF)


def mentions(expr: Expr, attribute: str) -> bool:
    """Whether an attribute of a name stands anywhere in an expression."""
    return any(part[0] == "attr" and part[2] == attribute for part in walk(expr))


def is_key(expr: Expr) -> bool:
    """Whether an expression is a literal string."""
    return expr[0] == "const" and isinstance(expr[1], str)
