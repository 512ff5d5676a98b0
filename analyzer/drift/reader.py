"""Whole syntax trees of both sides, read when something asks for more than a file's facts hold."""

from __future__ import annotations

import ast
from functools import lru_cache

from analyzer.drift.scopes import FUNCTIONS, Function, Scope, module_scope
from analyzer.drift.together import TogetherIndex
from analyzer.index import ClassInfo
from analyzer.problems import Diagnostic
from analyzer.source import parse, read_source


class Reader:
    """Trees and scopes, each made once.

    Args:
        index: the names of both sides.
    """

    def __init__(self, index: TogetherIndex) -> None:
        self.index = index
        self.scope = lru_cache(maxsize=None)(self._scope)
        self.class_node = lru_cache(maxsize=None)(self._class_node)

    def tree(self, module: str) -> ast.Module | None:
        """The syntax tree of a module of either side; None where it cannot be read."""
        scope = self.scope(module)
        return scope.node if scope is not None and isinstance(scope.node, ast.Module) else None

    def _scope(self, module: str) -> Scope | None:
        outside = self.index.outside.module(module)
        if outside is not None:
            return module_scope(outside.tree, module, outside.is_package)
        path = self.index.checkout.find_module(module)
        if path is None:
            return None
        source = read_source(path, self.index.checkout.rel(path))
        tree = parse(source) if not isinstance(source, Diagnostic) else source
        return None if isinstance(tree, Diagnostic) else module_scope(tree, module, path.name == "__init__.py")

    def _class_node(self, cls: ClassInfo) -> ast.ClassDef | None:
        """The class statement of a class."""
        tree = self.tree(cls.module.module)
        for node in ast.walk(tree) if tree is not None else ():
            if isinstance(node, ast.ClassDef) and node.lineno == cls.facts.line and node.name == cls.name:
                return node
        return None

    def class_scope(self, cls: ClassInfo) -> Scope | None:
        """The scope of a class's body."""
        node, top = self.class_node(cls), self.scope(cls.module.module)
        return _inside(top, node) if node is not None and top is not None else None

    def function(self, module: str, line: int) -> tuple[Function, Scope] | None:
        """The function whose ``def`` stands on a line, and its scope."""
        top = self.scope(module)
        for node in ast.walk(top.node) if top is not None else ():
            if isinstance(node, FUNCTIONS) and node.lineno == line:
                scope = _inside(top, node) if top is not None else None
                return (node, scope) if scope is not None else None
        return None


def _inside(scope: Scope, node: ast.AST) -> Scope | None:
    todo = [scope]
    while todo:
        one = todo.pop()
        if one.node is node:
            return one
        todo.extend(one.children.values())
    return None
