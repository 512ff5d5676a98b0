"""The order of imports, as isort and ruff's rule I001 keep it with their default settings.

Read from https://docs.astral.sh/ruff/settings/#lintisort and seen by running ruff: sections for the future,
the standard library, third parties, the first party and relative imports; in a section ``import`` before
``from``; relative imports from the furthest package to the closest; names by kind (constants, classes, the
rest), then in natural order without regard to case.
"""

from __future__ import annotations

import ast
import re
import sys
from bisect import bisect_right
from collections.abc import Callable, Sequence

from analyzer.fix.bindings import absolute_module

Key = tuple[object, ...]
_DIGITS = re.compile(r"(\d+)")


def natural(name: str) -> Key:
    """A sort key in which numbers inside a name count as numbers."""
    parts = filter(None, _DIGITS.split(name))
    return tuple((0, int(part), "") if part.isdecimal() else (1, 0, part) for part in parts)


def member_key(name: str) -> Key:
    """The place of an imported name: the star, then constants, then classes, then variables."""
    constant = len(name) > 1 and name.isupper()
    kind = -1 if name == "*" else 0 if constant else 1 if name[:1].isupper() else 2
    return (kind, natural(name.lower()), natural(name))


MEMBER_ORDERS: tuple[Callable[[str], Key], ...] = (
    member_key,
    lambda name: (name,),
    lambda name: (name.lower(),),
)


def place_of(name: str, names: Sequence[str]) -> int:
    """Where a name goes in a list: in the order that the list is in, at the end if it is in none."""
    for key in MEMBER_ORDERS:
        keys = [key(existing) for existing in names]
        if keys == sorted(keys):
            return bisect_right(keys, key(name))
    return len(names)


def section(node: ast.Import | ast.ImportFrom, package: str) -> int:
    """The section of an import, from 0 (the future) to 4 (relative)."""
    if isinstance(node, ast.ImportFrom) and node.level:
        return 4
    name = absolute_module(node, package) if isinstance(node, ast.ImportFrom) else node.names[0].name
    top = name.partition(".")[0]
    if top == "__future__":
        return 0
    if top in sys.stdlib_module_names:
        return 1
    return 3 if top == package.partition(".")[0] else 2


def statement_key(node: ast.Import | ast.ImportFrom) -> Key:
    """The place of an import inside its section."""
    if isinstance(node, ast.Import):
        name, level = node.names[0].name, 0
    else:
        name, level = node.module or "", node.level
    member = member_key(node.names[0].name)
    return (isinstance(node, ast.ImportFrom), -level, natural(name.lower()), natural(name), member)
