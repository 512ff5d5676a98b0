"""Append a string to a list, tuple or set that is written out in the source."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from analyzer.fix.folding import nodes
from analyzer.fix.listing import insert_item, line_limit
from analyzer.fix.source import Refused
from analyzer.fix.tokens import scan_brackets
from analyzer.fix.tree import Module, last_line

Literal = ast.List | ast.Tuple | ast.Set


def add_list_item(text: str, line: int, beside: str, item: str, line_length: int | None = None) -> str:
    """Append a string to a literal; nothing changes if it holds the string already.

    Args:
        text: the source.
        line: a line (from 1) of the literal; if none is there, the only one that holds ``beside``.
        beside: a string that the literal holds.
        item: the string to append, quoted as the last string before it.
        line_length: to keep; by default what the formatter of such a file uses.

    Raises:
        Refused: no such literal, or several, or one without brackets.
    """
    module = Module.of(text)
    node = _find(module, line, beside)
    if item in strings(node):
        return text
    if text[module.start(node)] not in "([{":
        raise Refused(f"the tuple of {beside!r} (line {node.lineno}) has no brackets")
    at = scan_brackets(text, module.start(node))
    if at.end != module.end(node):
        raise Refused(f"the tuple of {beside!r} (line {node.lineno}) has no brackets")
    new = _quoted(item, [module.source(entry) for entry in node.elts if _is_string(entry)])
    return insert_item(module, at, len(at.items), new, line_limit(module, line_length))


def strings(node: Literal) -> list[str]:
    """The strings that a literal holds."""
    return [e.value for e in node.elts if isinstance(e, ast.Constant) and isinstance(e.value, str)]


def literals_with(module: Module, beside: str, *, everywhere: bool = False) -> list[Literal]:
    """The list, tuple and set literals that hold a string, in order of the text.

    Args:
        module: the text.
        beside: the string.
        everywhere: whether to look for those too that write it with escapes or in parts, which is done in any case
            if no other is found: it takes ten times as long.
    """
    lines = [number for number, line in enumerate(module.lines, 1) if everywhere or beside in line]
    found = [node for node in nodes(module.tree, lines) if isinstance(node, Literal) and beside in strings(node)]
    if not found and not everywhere:
        return literals_with(module, beside, everywhere=True)
    return sorted(found, key=lambda node: (node.lineno, node.col_offset))


def _find(module: Module, line: int, beside: str) -> Literal:
    found = literals_with(module, beside)
    here = _on(line, found)
    if len(here) != 1:
        found = literals_with(module, beside, everywhere=True)
        here = _on(line, found)
    chosen = here or found
    if len(chosen) == 1:
        return chosen[0]
    if not chosen:
        raise Refused(f"no list, tuple or set holds {beside!r}")
    lines = ", ".join(str(node.lineno) for node in chosen)
    raise Refused(f"several lists, tuples or sets hold {beside!r} (lines {lines})")


def _on(line: int, among: Sequence[Literal]) -> list[Literal]:
    return [node for node in among if node.lineno <= line <= last_line(node)]


def _is_string(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _quoted(item: str, sources: Sequence[str]) -> str:
    quote = "'" if sources and sources[-1].endswith("'") else '"'
    escaped = item.encode("unicode_escape").decode() if not item.isprintable() else item.replace("\\", r"\\")
    return quote + escaped.replace(quote, "\\" + quote) + quote
