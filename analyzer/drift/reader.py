"""Whole syntax trees of both sides, read when something asks for more than a file's facts hold."""

from __future__ import annotations

import ast
import re
from functools import lru_cache

from analyzer.drift.scopes import FUNCTIONS, Function, Scope, module_scope
from analyzer.drift.together import TogetherIndex
from analyzer.index import ClassInfo
from analyzer.problems import Diagnostic
from analyzer.source import Source, parse, read_source


class Reader:
    """Trees and scopes, each made once.

    Args:
        index: the names of both sides.
    """

    def __init__(self, index: TogetherIndex) -> None:
        self.index = index
        self.scope = lru_cache(maxsize=None)(self._scope)
        self.lines = lru_cache(maxsize=None)(self._lines)
        self.calls = lru_cache(maxsize=None)(self._calls)
        self.class_nodes = lru_cache(maxsize=None)(self._class_nodes)
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
        return self.class_nodes(cls.module.module).get((cls.facts.line, cls.name))

    def _class_nodes(self, module: str) -> dict[tuple[int, str], ast.ClassDef]:
        tree = self.tree(module)
        todo: list[ast.AST] = [tree] if tree is not None else []
        found: dict[tuple[int, str], ast.ClassDef] = {}
        while todo:  # classes stand in modules, in classes and in branches of both
            node = todo.pop()
            if isinstance(node, ast.ClassDef):
                found[node.lineno, node.name] = node
            if not isinstance(node, (*FUNCTIONS, ast.expr)):
                todo.extend(ast.iter_child_nodes(node))
        return found

    def defines_once(self, cls: ClassInfo, name: str) -> bool:
        """Whether a class has one ``def`` of a name, overloads and setters aside."""
        if cls.module.module in self.index.outside.files:
            module = self.index.outside.module(cls.module.module)
            lines = module.source.lines if module is not None else []
        else:
            lines = self.lines(cls.module.module)
        defined = re.compile(rf"\s*(?:async\s+)?def\s+{re.escape(name)}\b")
        count = 0
        for number in range(cls.facts.line - 1, min(cls.facts.end_line, len(lines))):
            if defined.match(lines[number]):
                before = lines[number - 1].strip()
                count += not (before.startswith("@") and before.endswith(("overload", ".setter", ".deleter")))
        return count == 1

    def _calls(self, module: str) -> dict[str, list[ast.Call]]:
        """Calls of attributes in a module, by the attribute's name."""
        tree = self.tree(module)
        out: dict[str, list[ast.Call]] = {}
        for node in ast.walk(tree) if tree is not None else ():
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                out.setdefault(node.func.attr, []).append(node)
        return out

    def _lines(self, module: str) -> list[str]:
        path = self.index.checkout.find_module(module)
        source = read_source(path, "") if path is not None else None
        return source.lines if isinstance(source, Source) else []

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
