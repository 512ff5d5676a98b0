"""Add a statement to a method, behind the one that sets the attribute which it needs."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from analyzer.fix.definitions import only
from analyzer.fix.folding import Function
from analyzer.fix.listing import line_limit
from analyzer.fix.source import Refused, Splice, splice
from analyzer.fix.tree import Module, last_line


def add_statement(
    text: str, cls: str, method: str, after: str, target: str, value: str, line_length: int | None = None
) -> str:
    """Add ``self.target = value`` to a method; nothing changes where that stands there already.

    Args:
        text: the source.
        cls: qualified name of the class.
        method: the name of the method.
        after: the attribute of ``self`` behind whose last assignment the statement goes, outside of the block in
            which that stands.
        target: the attribute that is set.
        value: an expression.
        line_length: to keep; by default what the formatter of such a file uses.

    Raises:
        Refused: there is no such class or method, or more than one; the attribute is not set there, or in a branch
            only; or the other one is set already.
    """
    module = Module.of(text)
    definition = only(module.class_named(cls), method)
    wanted = parse_assignment(target, value)
    if any(ast.dump(node) == wanted for node in definition.body):
        return text
    if _sets(definition, target):
        raise Refused(f"{method} sets self.{target} already")
    anchor = _anchor(definition, after)
    newline, indent = module.newline(last_line(anchor)), module.indent(anchor.lineno)
    lines = [f"self.{target} = {value}"]
    if len(indent + lines[0]) > line_limit(module, line_length):
        lines = [f"self.{target} = (", f"{module.indent_unit}{value}", ")"]
    end = module.line_start(last_line(anchor) + 1)
    opening = "" if text[:end].endswith("\n") else newline
    return splice(text, [Splice(end, end, opening + "".join(f"{indent}{line}{newline}" for line in lines))])


def parse_assignment(target: str, value: str) -> str:
    """What the tree of the statement is, as a string that can be compared."""
    return ast.dump(ast.parse(f"self.{target} = ({value})").body[0])


def drop_assignment(method: Function, target: str, value: str) -> None:
    """Take the statement out of a method's tree."""
    wanted = parse_assignment(target, value)
    method.body = [node for node in method.body if ast.dump(node) != wanted]


def _anchor(method: Function, attribute: str) -> ast.stmt:
    found = [node for node in method.body if _sets(node, attribute)]
    if not found:
        raise Refused(f"{method.name} does not set self.{attribute}")
    if not isinstance(found[-1], ast.Assign | ast.AnnAssign | ast.With):
        raise Refused(f"{method.name} sets self.{attribute} in a branch (line {found[-1].lineno})")
    if any(isinstance(node, ast.If | ast.Try | ast.For | ast.While) for node in ast.walk(found[-1])):
        raise Refused(f"{method.name} sets self.{attribute} in a branch (line {found[-1].lineno})")
    return found[-1]


def _sets(node: ast.AST, attribute: str) -> bool:
    return attribute in _attributes_set(node)


def _attributes_set(node: ast.AST) -> Iterator[str]:
    for part in ast.walk(node):
        if isinstance(part, ast.Attribute) and isinstance(part.ctx, ast.Store) and isinstance(part.value, ast.Name):
            if part.value.id == "self":
                yield part.attr
