"""Add an import statement where isort would have it."""

from __future__ import annotations

import ast
from bisect import bisect_right

from analyzer.fix.bindings import absolute_module
from analyzer.fix.folding import Function, parse
from analyzer.fix.import_order import section, statement_key
from analyzer.fix.listing import width
from analyzer.fix.tree import Module, first_line, last_line

Import = ast.Import | ast.ImportFrom


def insert_import(module: Module, package: str, target: str, name: str, limit: int) -> str:
    """Add ``from target import name``, relative or absolute as the file imports its siblings.

    It goes among the imports at the module's own level and above every definition: into its section in order,
    else as a section of its own; in a file without imports below the docstring.
    """
    imports = _leading_imports(module)
    spelled = _spelling(imports, package, target)
    node = parse(f"from {spelled} import {name}").body[0]
    assert isinstance(node, ast.ImportFrom)
    line, before, after = _place(module, imports, node, package)
    newline = module.newline(line or 1)
    statement = f"from {spelled} import {name}"
    if width(statement) > limit:
        statement = f"from {spelled} import ({newline}{module.indent_unit}{name},{newline})"
    return _insert_lines(module, line, newline * before + statement + newline * (1 + after))


def _leading_imports(module: Module) -> list[Import]:
    """The imports that always run, up to the first definition."""
    found: list[Import] = []
    for node in module.tree.body:
        if isinstance(node, ast.ClassDef | Function):
            break
        if isinstance(node, Import):
            found.append(node)
    return found


def _spelling(imports: list[Import], package: str, target: str) -> str:
    """The target as the file writes it: relative if most imports from the target's package are."""
    parent = target.rpartition(".")[0]
    votes: list[bool] = []
    relative_used = False
    for node in imports:
        if isinstance(node, ast.ImportFrom):
            relative_used = relative_used or bool(node.level)
            absolute = absolute_module(node, package)
            if parent in (absolute, absolute.rpartition(".")[0]):
                votes.append(bool(node.level))
    relative = 2 * sum(votes) >= len(votes) if votes else relative_used and parent == package
    return _relative(package, target) if relative else target


def _relative(package: str, target: str) -> str:
    here, there = package.split("."), target.split(".")
    shared = 0
    while shared < min(len(here), len(there) - 1) and here[shared] == there[shared]:
        shared += 1
    return "." * (len(here) - shared + 1) + ".".join(there[shared:]) if shared else target


def _place(module: Module, imports: list[Import], node: ast.ImportFrom, package: str) -> tuple[int, int, int]:
    """The line to insert after, and how many blank lines to add before and after."""
    mine = section(node, package)
    peers = [other for other in imports if section(other, package) == mine]
    if peers:
        keys = [statement_key(other) for other in peers]
        index = bisect_right(keys, statement_key(node)) if keys == sorted(keys) else len(peers)
        return (last_line(peers[index - 1]), 0, 0) if index else (_line_above(module, peers[0]), 0, 0)
    lower = [other for other in imports if section(other, package) < mine]
    if lower and section(lower[-1], package):
        return last_line(lower[-1]), 1, 0
    if higher := [other for other in imports if section(other, package) > mine]:
        return _line_above(module, higher[0]), 0, 1
    return _below_docstring(module)


def _line_above(module: Module, node: ast.stmt) -> int:
    """The line above a statement and its comments, unless these begin the file."""
    line = first_line(node) - 1
    while line and module.lines[line - 1].startswith("#"):
        line -= 1
    return line or first_line(node) - 1


def _below_docstring(module: Module) -> tuple[int, int, int]:
    """Below the docstring and ``__future__`` imports, else below the comments that begin the file."""
    body = module.tree.body
    head = 0
    if body and ast.get_docstring(module.tree, clean=False) is not None:
        head = 1
    while head < len(body) and _is_future(body[head]):
        head += 1
    line = last_line(body[head - 1]) if head else _opening_comments(module)
    following = next((at for at in range(line, len(module.lines)) if module.lines[at].strip()), None)
    if following is None:
        return line, int(line > 0), 0
    definition = head < len(body) and isinstance(body[head], ast.ClassDef | Function)
    return line, int(line > 0), max(0, (2 if definition else 1) - (following - line))


def _is_future(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"


def _opening_comments(module: Module) -> int:
    line = 0
    while line < len(module.lines) and module.lines[line].startswith("#"):
        line += 1
    return line


def _insert_lines(module: Module, line: int, lines: str) -> str:
    """Insert whole lines below a line; a text without a final newline stays so."""
    start = module.line_start(line + 1)
    before, after = module.text[:start], module.text[start:]
    if before and not before.endswith("\n"):
        newline = module.newline(line)
        return before + newline + lines.removesuffix(newline)
    return before + lines + after
