"""Attributes that third-party code sets on objects that are not its own: it may make itself what it uses."""

from __future__ import annotations

import ast

from analyzer.drift.package import Package
from analyzer.lower import dotted


def stores_of(package: Package) -> set[str]:
    """Names of attributes that anything in a package sets on something other than ``self``, or has set by name.

    Args:
        package: the code.
    """
    found: set[str] = set()
    for module in package.modules(b"vllm"):
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                if not (isinstance(node.value, ast.Name) and node.value.id == "self"):
                    found.add(node.attr)
            elif isinstance(node, ast.Call) and len(node.args) > 2:  # setattr(x, "name", …), extend_enum(X, "NAME", …)
                name = node.args[1]
                if isinstance(name, ast.Constant) and isinstance(name.value, str):
                    found.add(name.value)
    return found


def modules_of(package: Package) -> set[str]:
    """Dotted names under which a package puts modules into ``sys.modules``.

    Args:
        package: the code.
    """
    found: set[str] = set()
    for module in package.modules(b"sys.modules"):
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
                place, key = node.value, node.slice
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
                place, key = node.func.value, node.args[0]  # sys.modules.setdefault("vllm.name", ...)
            else:
                continue
            if dotted(place) == "sys.modules" and isinstance(key, ast.Constant) and isinstance(key.value, str):
                found.add(key.value)
    return found
