"""Change the signature of a method and leave its body alone."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from analyzer.fix.folding import Function
from analyzer.fix.listing import line_limit, width
from analyzer.fix.source import Refused, Splice, splice
from analyzer.fix.tokens import tokens
from analyzer.fix.tree import Module, functions

_OPENING, _CLOSING = frozenset("([{"), frozenset(")]}")


def replace_signature(
    text: str, cls: str, method: str, parameters: Sequence[str], returns: str, line_length: int | None = None
) -> str:
    """Give a method other parameters; nothing changes if it has them already.

    Args:
        text: the source.
        cls: qualified name of the class.
        method: the name of the method.
        parameters: sources, one each.
        returns: the annotation of the result, or empty.
        line_length: to keep; by default what the formatter of such a file uses.

    Raises:
        Refused: there is no such class or method, or more than one, or comments stand inside the signature.
    """
    module = Module.of(text)
    node = _only(module.class_named(cls), method)
    if same_signature(node, parameters, returns):
        return text
    start, end = _span(module, node)
    if "#" in text[start:end]:
        raise Refused(f"the signature of {cls}.{method} has comments")
    line = module.line_at(start)
    newline, indent = module.newline(line), module.indent(line)
    result = f" -> {returns}" if returns else ""
    short = f"({', '.join(parameters)}){result}"
    rest = text[end:].partition("\n")[0].rstrip("\r")
    if width(text[module.line_start(line) : start] + short + rest) <= line_limit(module, line_length):
        return splice(text, [Splice(start, end, short)])
    rows = "".join(f"{indent}{module.indent_unit}{parameter},{newline}" for parameter in parameters)
    return splice(text, [Splice(start, end, f"({newline}{rows}{indent}){result}")])


def same_signature(node: Function, parameters: Sequence[str], returns: str) -> bool:
    """Whether a definition has these parameters and this result."""
    result = f" -> {returns}" if returns else ""
    try:
        wanted = ast.parse(f"def f({', '.join(parameters)}){result}: ...").body[0]
    except SyntaxError:
        raise Refused("the new signature cannot be read") from None
    assert isinstance(wanted, ast.FunctionDef)
    mine = ast.dump(node.args), ast.dump(node.returns) if node.returns else ""
    return mine == (ast.dump(wanted.args), ast.dump(wanted.returns) if wanted.returns else "")


def _only(cls: ast.ClassDef, method: str) -> Function:
    found = functions(cls, method)
    if len(found) != 1:
        raise Refused(f"class {cls.name} has {len(found) or 'no'} definitions of {method}")
    return found[0]


def _span(module: Module, node: Function) -> tuple[int, int]:
    """From the opening bracket to before the colon that begins the body."""
    depth, start = 0, -1
    for token in tokens(module.text, module.start(node)):
        if token.string in _OPENING:
            start = token.start if start < 0 and token.string == "(" else start
            depth += 1
        elif token.string in _CLOSING:
            depth -= 1
        elif token.string == ":" and depth == 0 and start >= 0:
            return start, token.start
    raise Refused(f"has a definition that cannot be read (line {node.lineno})")
