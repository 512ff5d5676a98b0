"""A syntax tree of which the bodies of functions are parsed when somebody reads them, and not before.

A fix asks for a few bodies of a file and for nothing of the others, and a file is parsed several times on the way:
as it is, after each edit, and to verify.  On the 64 files that fixes of vLLM 0.33.0 touch, parsing all lines takes
0.32 s each time, and parsing what stands outside of bodies (:mod:`analyzer.outline`) 0.11 s.  Nobody needs to know:
a body that was left out is there as soon as its function's ``body`` is read, by :func:`ast.dump` and :func:`ast.walk`
too, with the positions that it has in the file.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator, Sequence
from typing import cast

from analyzer.fix.source import Refused
from analyzer.outline import Body, any_within, outline

Function = ast.FunctionDef | ast.AsyncFunctionDef
# Definitions, which are scopes of their own, and the most frequent of simple statements.
_WITHOUT_SUITES = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef, ast.Assign, ast.AnnAssign, ast.Expr)
_LEAVES = frozenset({ast.Name, ast.Constant, ast.Load, ast.Store, ast.Del, ast.alias})


def parse(text: str) -> ast.Module:
    """Parse a source text quietly.

    Raises:
        Refused: the running Python cannot parse it.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise Refused(f"does not parse: {error}") from None


def parse_folded(text: str, lines: Sequence[str]) -> ast.Module:
    """The same tree, whose reading raises what an error inside a body would have raised here.

    Args:
        text: the source.
        lines: those of the text, with their ends.

    Raises:
        Refused: the running Python cannot parse what stands outside of bodies.
    """
    cut = outline(text)
    if cut is None or not cut.bodies:
        return parse(text)
    try:
        tree = parse(cut.text)
    except Refused:
        return parse(text)  # which says where in the whole text
    bodies = dict(cut.bodies)
    _fold(tree.body, bodies, lines)
    return parse(text) if bodies else tree  # what is left belongs to no function: cut in the wrong place


def suites(node: ast.stmt) -> list[list[ast.stmt]]:
    """The blocks of a compound statement that belong to the scope around it."""
    if isinstance(node, _WITHOUT_SUITES):
        return []
    blocks = [block for name in ("body", "orelse", "finalbody") if (block := getattr(node, name, None))]
    return blocks + [part.body for part in [*getattr(node, "handlers", ()), *getattr(node, "cases", ())]]


def nodes(tree: ast.Module, lines: Sequence[int]) -> Iterator[ast.AST]:
    """The nodes of statements that stand on some lines, in no order; names and constants are left out.

    Args:
        tree: a whole one.
        lines: sorted, from 1.
    """
    pending: list[ast.AST] = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.stmt) and not _stands_on(node, lines):
            continue
        yield node
        if isinstance(node, _Folded):
            _ = node.body
        for value in vars(node).values():
            if isinstance(value, list):
                pending += [part for part in value if isinstance(part, ast.AST) and type(part) not in _LEAVES]
            elif isinstance(value, ast.AST) and type(value) not in _LEAVES:
                pending.append(value)


def _stands_on(node: ast.stmt, lines: Sequence[int]) -> bool:
    first = min([node.lineno, *(decorator.lineno for decorator in getattr(node, "decorator_list", ()))])
    return any_within(lines, first, node.end_lineno or node.lineno)


def _fold(block: list[ast.stmt], bodies: dict[int, Body], lines: Sequence[str]) -> bool:
    """Give the functions of a block their bodies, and them and what they end their true ends.

    Returns:
        Whether that moved the end of the block.
    """
    moved = False
    for place, node in enumerate(block):
        moved = False
        if isinstance(node, Function):
            if (body := bodies.pop(node.lineno, None)) is not None:
                block[place] = _folded(node, body, lines)
                moved = True
            continue
        owners = {id(handler.body): handler for handler in getattr(node, "handlers", ())}
        for part in [node.body] if isinstance(node, ast.ClassDef) else suites(node):
            if _fold(part, bodies, lines):
                if (handler := owners.get(id(part))) is not None:
                    _end_with(handler, part[-1])
                if (part[-1].end_lineno or 0) > (node.end_lineno or 0):
                    _end_with(node, part[-1])
                    moved = True
    return moved


def _end_with(node: ast.stmt | ast.ExceptHandler, last: ast.stmt) -> None:
    node.end_lineno, node.end_col_offset = last.end_lineno, last.end_col_offset


def _folded(node: Function, body: Body, lines: Sequence[str]) -> Function:
    """The same function with a body that is read later."""
    cls = FunctionDef if isinstance(node, ast.FunctionDef) else AsyncFunctionDef
    new = cls(**vars(node))
    vars(new).update(body=None, folded=body)
    last = lines[body.end_line - 1].rstrip(" \n")
    if "#" in last:  # which may begin a comment, and that is no part of a function
        _end_with(new, new._parsed())
    else:
        new.end_lineno, new.end_col_offset = body.end_line, len(last.encode())
    return new


class _Folded:
    """A function of the tree; ``folded`` is where to read its body, until that is read or replaced."""

    folded: Body

    def _parsed(self) -> ast.FunctionDef:
        head = "async def f():" if isinstance(self, ast.AsyncFunctionDef) else "def f():"
        tree = parse("\n" * (self.folded.line - 1) + head + self.folded.text)
        function = cast(ast.FunctionDef, tree.body[0])
        self._set(function.body)
        return function

    def _get(self) -> list[ast.stmt]:
        known: list[ast.stmt] | None = vars(self)["body"]
        return self._parsed().body if known is None else known

    def _set(self, statements: list[ast.stmt]) -> None:
        vars(self)["body"] = statements

    body = property(_get, _set, doc="The statements, on the lines and columns where they stand in the text.")


class FunctionDef(_Folded, ast.FunctionDef):
    """Named as what it stands for: :func:`ast.dump` and visitors go by the name."""


class AsyncFunctionDef(_Folded, ast.AsyncFunctionDef):
    """The same for coroutines."""
