"""Attributes that third-party code sets on objects that are not its own: it may make itself what it uses."""

from __future__ import annotations

import ast

from analyzer.drift.package import Package


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
