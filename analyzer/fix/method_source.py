"""The sources of methods that are to be written: checked, renamed in, indented."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Mapping

from analyzer.fix.folding import Function
from analyzer.fix.source import Refused, Splice, splice
from analyzer.fix.tree import Module

_UNIT = "    "  # one step of indentation in the sources that rules write


def parse_method(source: str) -> Function:
    """The one function definition that a source holds.

    Raises:
        Refused: it does not parse, or holds anything else.
    """
    body = Module.of(_normal(source)).tree.body
    if len(body) != 1 or not isinstance(body[0], Function):
        raise Refused("the source of a new method is not one function definition")
    return body[0]


def render_method(source: str, indent: str, unit: str, newline: str) -> str:
    """A method as it stands in a class.

    Args:
        source: dedented, or at least evenly indented; comments may stand above it.
        indent: of the class body.
        unit: one step of indentation in the file.
        newline: how lines end there, the last one too.
    """
    lines = []
    for line in _normal(source).splitlines():
        code = line.lstrip(" ")
        steps, rest = divmod(len(line) - len(code), len(_UNIT))
        lines.append(f"{indent}{unit * steps}{' ' * rest}{code}" if code.strip() else code.strip())
    return "".join(line + newline for line in lines)


def rename_names(source: str, names: Mapping[str, str]) -> str:
    """Spell global names as the module does that imports them under an alias."""
    names = {name: local for name, local in names.items() if name != local}
    if not names:
        return source
    module = Module.of(_normal(source))
    used = [node for node in ast.walk(module.tree) if isinstance(node, ast.Name) and node.id in names]
    return splice(module.text, [Splice(module.start(n), module.end(n), names[n.id]) for n in used])


def same_method(one: Function, other: Function) -> bool:
    """Whether two definitions mean the same: how docstrings are indented does not count."""
    return _fingerprint(one) == _fingerprint(other)


def _fingerprint(node: Function) -> str:
    docstring = ast.get_docstring(node, clean=False)
    if docstring is None:
        return ast.dump(node)
    expression = node.body[0]
    assert isinstance(expression, ast.Expr) and isinstance(expression.value, ast.Constant)
    expression.value.value = inspect.cleandoc(docstring)
    dump = ast.dump(node)
    expression.value.value = docstring
    return dump


def _normal(source: str) -> str:
    return textwrap.dedent(source.replace("\r\n", "\n")).strip("\n") + "\n"
