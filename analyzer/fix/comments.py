"""Which comment lines belong to which definition."""

from __future__ import annotations

import ast

from analyzer.fix.tree import Module, first_line, last_line


def is_comment(module: Module, line: int) -> bool:
    """Whether a line (from 1) holds a comment and nothing else."""
    return module.lines[line - 1].lstrip().startswith("#")


def columns(indent: str) -> int:
    """How far some white space indents; tabs stop every eight columns, as in the language reference."""
    return len(indent.replace("\f", "").expandtabs(8))


def take_deeper(module: Module, line: int, least: int) -> int:
    """The last comment line below ``line``, if all between are blank or comments indented by ``least``."""
    for at in range(line + 1, len(module.lines) + 1):
        if not module.lines[at - 1].strip():
            continue
        if not is_comment(module, at) or columns(module.indent(at)) < least:
            break
        line = at
    return line


def first_with_comments(module: Module, node: ast.stmt) -> int:
    """The first line of a definition and of the comments directly above it."""
    line = first_line(node)
    indent = module.indent(line)
    while line > 1 and is_comment(module, line - 1) and module.indent(line - 1) == indent:
        line -= 1
    return line


def last_with_comments(module: Module, node: ast.stmt, indent: str, *, ends_class: bool) -> int:
    """The last line of a statement of a class body and of the comments that belong to it.

    Those are the comments that are indented deeper than the class body; comments at the class body's own
    indentation directly below the statement, if nothing stands directly below them; and all comments of the
    class after its last statement.
    """
    least = columns(indent) + (0 if ends_class else 1)
    line = take_deeper(module, last_line(node), least)
    if ends_class:
        return line
    end = line
    while end < len(module.lines) and is_comment(module, end + 1) and module.indent(end + 1) == indent:
        end += 1
    return line if end < len(module.lines) and module.lines[end].strip() else end
