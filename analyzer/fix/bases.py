"""Add a base to a class."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from analyzer.fix.listing import insert_item, line_limit
from analyzer.fix.source import Refused
from analyzer.fix.tokens import scan_brackets, scan_header
from analyzer.fix.tree import Module


def add_base(text: str, cls: str, base: str, position: int, line_length: int | None = None) -> str:
    """Add a base; nothing changes if the class has it already.

    Args:
        text: the source.
        cls: qualified name of the class.
        base: the name that the new base has in this module.
        position: its index among the positional bases, keywords such as ``metaclass=`` not counted; past
            the end means after the last.
        line_length: to keep; by default what the formatter of such a file uses.

    Raises:
        Refused: there is no such class, or more than one.
    """
    module = Module.of(text)
    node = module.class_named(cls)
    if any(base_name(existing) == base for existing in node.bases):
        return text
    limit = line_limit(module, line_length)
    header = scan_header(text, module.start(node))
    if header.bases is not None:
        return _insert(module, node, header.bases, base, position, limit)
    module = Module.of(f"{text[: header.name_end]}(){text[header.name_end :]}")
    return _insert(module, node, header.name_end, base, position, limit)


def _insert(module: Module, node: ast.ClassDef, start: int, base: str, position: int, limit: int) -> str:
    at = scan_brackets(module.text, start)
    if len(at.items) != len(node.bases) + len(node.keywords):
        raise Refused(f"class {node.name} has a base list that cannot be read")
    entries: list[ast.expr | ast.keyword] = sorted(
        [*node.bases, *node.keywords], key=lambda entry: (entry.lineno, entry.col_offset)
    )
    index = _index(entries, position)
    return insert_item(module, at, index, base, limit, hug=True)


def _index(entries: Sequence[ast.expr | ast.keyword], position: int) -> int:
    """Where in a base list the positional entry of this position goes; Python wants it before all keywords."""
    places = [index for index, entry in enumerate(entries) if isinstance(entry, ast.expr)]
    after_last = places[-1] + 1 if places else 0
    index = places[max(position, 0)] if position < len(places) else after_last
    first_keyword = next((at for at, entry in enumerate(entries) if isinstance(entry, ast.keyword)), index)
    if any(first_keyword < place < index for place in places):
        raise Refused("the new base would have to stand behind bases that follow keywords")
    return min(index, first_keyword)


def base_name(node: ast.expr) -> str:
    """The last name of a base as it is written: ``Base`` for ``Base``, ``module.Base`` and ``Base[T]``."""
    while isinstance(node, ast.Subscript):
        node = node.value
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""
