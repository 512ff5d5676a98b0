"""What the names of a module are bound to, as far as adding an import has to know."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from analyzer.fix.folding import Function, parse, suites
from analyzer.fix.tree import Module

# At the start of a statement; lines of texts that begin with the word only cost time.
_GLOBAL = re.compile(r"(?:^|[;:])[ \t\f]*global\b", re.MULTILINE)

Context = Literal["module", "type-checking", "conditional"]


@dataclass(frozen=True)
class Binding:
    """One statement that binds a name at module level.

    Args:
        name: the local name; ``*`` for a star import.
        line: of the statement.
        context: ``module`` if it always runs, ``type-checking`` if it never does, else ``conditional``.
        module: for an import from a module, that module's absolute name.
        origin: for an import from a module, the name there.
    """

    name: str
    line: int
    context: Context
    module: str = ""
    origin: str = ""


def package_of(path: str) -> str:
    """The package that a file's relative imports start from.

    Args:
        path: relative to the checkout's root, with forward slashes; a leading ``src/`` is no package.
    """
    return ".".join(path.removeprefix("src/").split("/")[:-1])


def absolute_module(node: ast.ImportFrom, package: str) -> str:
    """The module that a ``from`` import names, made absolute as the import system does.

    The rule: https://docs.python.org/3/reference/import.html#package-relative-imports
    """
    if not node.level:
        return node.module or ""
    parts = package.split(".")
    kept = parts[: len(parts) - node.level + 1]
    return ".".join([*kept, node.module] if node.module else kept)


def bindings(module: Module, package: str) -> Iterator[Binding]:
    """All names that the module's own statements bind, and those that functions declare global."""
    yield from _block(module.tree.body, "module", package)
    for node in ast.walk(parse(module.text)) if _may_declare_globals(module.text) else ():
        if isinstance(node, ast.Global):
            for name in node.names:
                yield Binding(name, node.lineno, "conditional")


def _may_declare_globals(text: str) -> bool:
    return "global" in text and _GLOBAL.search(text) is not None


def _block(body: list[ast.stmt], context: Context, package: str) -> Iterator[Binding]:
    for node in body:
        if isinstance(node, ast.ImportFrom):
            source = absolute_module(node, package)
            for alias in node.names:
                yield Binding(alias.asname or alias.name, node.lineno, context, source, alias.name)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                yield Binding(alias.asname or alias.name.partition(".")[0], node.lineno, context)
        elif isinstance(node, ast.ClassDef | Function):
            yield Binding(node.name, node.lineno, context)
        else:
            yield from _targets(node, context)
        for block in suites(node):
            yield from _block(block, _context_of(node, block, context), package)


def _targets(node: ast.stmt, context: Context) -> Iterator[Binding]:
    pending: list[ast.AST] = [node]
    while pending:
        part = pending.pop()
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
            yield Binding(part.id, part.lineno, context)
        elif isinstance(part, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and part.name:
            yield Binding(part.name, part.lineno, context)
        elif isinstance(part, ast.MatchMapping) and part.rest:
            yield Binding(part.rest, part.lineno, context)
        pending += [child for child in ast.iter_child_nodes(part) if not isinstance(child, ast.stmt | ast.Lambda)]


def _context_of(node: ast.stmt, block: list[ast.stmt], outer: Context) -> Context:
    if outer == "type-checking":
        return outer
    if isinstance(node, ast.If) and is_type_checking(node.test) and block is node.body:
        return "type-checking"
    return outer if isinstance(node, ast.With | ast.AsyncWith) else "conditional"


def is_type_checking(test: ast.expr) -> bool:
    """Whether a condition is ``TYPE_CHECKING`` or ``typing.TYPE_CHECKING``."""
    if isinstance(test, ast.Attribute):
        return test.attr == "TYPE_CHECKING"
    return isinstance(test, ast.Name) and test.id == "TYPE_CHECKING"
