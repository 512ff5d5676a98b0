"""Scopes of Python code: which names they bind, and by what (the language reference, "Naming and binding")."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal

from analyzer import lower

Function = ast.FunctionDef | ast.AsyncFunctionDef
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
MAKES_SCOPE = (*FUNCTIONS, ast.ClassDef, ast.Lambda, *COMPREHENSIONS)

How = Literal["import", "value", "annotated", "parameter", "function", "class", "other"]


@dataclass(frozen=True)
class Bound:
    """One thing that binds a name.

    Args:
        how: an import, an assignment, an annotation, a parameter, a definition, or something that is not followed.
        node: the statement, the parameter or the expression.
        imported: module and attribute of an import.
        value: what is assigned, where that is one expression.
        annotation: of a variable or parameter.
    """

    how: How
    node: ast.AST
    imported: tuple[str, str | None] | None = None
    value: ast.expr | None = None
    annotation: ast.expr | None = None


@dataclass(eq=False)
class Scope:
    """A module, class, function, lambda or comprehension.

    Args:
        node: what makes it.
        module: dotted name of its module.
        package: what relative imports start from.
        parent: the scope around it.
        names: everything that it binds.
        narrowed: sources of expressions whose type a test narrows somewhere in it.
        probed: strings by which something in it asks for attributes or parameters.
    """

    node: ast.AST
    module: str
    package: str
    parent: Scope | None = None
    names: dict[str, list[Bound]] = field(default_factory=dict)
    elsewhere: dict[str, Literal["global", "nonlocal"]] = field(default_factory=dict)
    stars: list[str] = field(default_factory=list)
    narrowed: set[str] = field(default_factory=set)
    probed: set[str] = field(default_factory=set)
    children: dict[ast.AST, Scope] = field(default_factory=dict)

    @property
    def top(self) -> Scope:
        """The module's scope."""
        scope = self
        while scope.parent is not None:
            scope = scope.parent
        return scope

    @property
    def function(self) -> Scope:
        """The function around, or the module."""
        scope = self
        while scope.parent is not None and not isinstance(scope.node, FUNCTIONS):
            scope = scope.parent
        return scope

    def find(self, name: str) -> tuple[Scope, list[Bound]] | None:
        """The scope in which a name is looked up from here, and what binds it there."""
        scope: Scope | None = self
        while scope is not None:
            if scope.elsewhere.get(name) == "global":
                scope = scope.top
            elif scope.elsewhere.get(name) == "nonlocal":
                scope = scope.parent
                continue
            if name in scope.names and (scope is self or not isinstance(scope.node, ast.ClassDef)):
                return scope, scope.names[name]
            scope = scope.parent
        return None


def module_scope(tree: ast.Module, module: str, is_package: bool) -> Scope:
    """The scope of a module, with all scopes inside it.

    Args:
        tree: its syntax tree.
        module: its dotted name.
        is_package: whether it is an ``__init__.py``.
    """
    top = Scope(tree, module, module if is_package else module.rpartition(".")[0])
    _fill(top, tree.body)
    return top


def _fill(scope: Scope, nodes: Iterable[ast.AST]) -> None:
    for node in own_nodes(nodes):
        _bind(scope, node)
        _narrow(scope, node)
        if isinstance(node, MAKES_SCOPE):
            inner = Scope(node, scope.module, scope.package, scope)
            scope.children[node] = inner
            _enter(inner, node)


def own_nodes(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """Every node that belongs to a scope: bodies of inner ones left out, their decorators and defaults not."""
    todo = list(nodes)[::-1]
    while todo:
        node = todo.pop()
        yield node
        todo.extend(reversed(list(outer_parts(node) if isinstance(node, MAKES_SCOPE) else ast.iter_child_nodes(node))))


def outer_parts(node: ast.AST) -> Iterator[ast.AST]:
    """What of a definition is evaluated in the scope around it."""
    if isinstance(node, FUNCTIONS):
        yield from (*node.decorator_list, *node.args.defaults, *(d for d in node.args.kw_defaults if d is not None))
    elif isinstance(node, ast.Lambda):
        yield from (*node.args.defaults, *(d for d in node.args.kw_defaults if d is not None))
    elif isinstance(node, ast.ClassDef):
        yield from (*node.decorator_list, *node.bases, *(k.value for k in node.keywords))
    elif isinstance(node, COMPREHENSIONS):
        yield node.generators[0].iter


def inner_parts(node: ast.AST) -> list[ast.AST]:
    """What of a definition is evaluated in its own scope."""
    if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
        return list(node.body)
    if isinstance(node, ast.Lambda):
        return [node.body]
    assert isinstance(node, COMPREHENSIONS)
    out: list[ast.AST] = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
    for number, generator in enumerate(node.generators):
        out += [generator.target, *generator.ifs, *([generator.iter] if number else [])]
    return out


def _enter(scope: Scope, node: ast.AST) -> None:
    if isinstance(node, (*FUNCTIONS, ast.Lambda)):
        arguments = node.args
        for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
            _add(scope, argument.arg, Bound("parameter", argument, annotation=argument.annotation))
        for star in (arguments.vararg, arguments.kwarg):
            if star is not None:
                _add(scope, star.arg, Bound("other", star))
    _fill(scope, inner_parts(node))


def _add(scope: Scope, name: str, bound: Bound) -> None:
    if scope.elsewhere.get(name) == "global":
        scope = scope.top
    scope.names.setdefault(name, []).append(bound)


def _bind(scope: Scope, node: ast.AST) -> None:
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        for local, module, attribute in lower.imports(node, scope.package):
            if local == "*":
                scope.stars.append(module)
            else:
                _add(scope, local, Bound("import", node, imported=(module, attribute)))
    elif isinstance(node, ast.Assign):
        for target in node.targets:
            _target(scope, target, node.value)
    elif isinstance(node, ast.AnnAssign):
        if isinstance(node.target, ast.Name):
            _add(scope, node.target.id, Bound("annotated", node, value=node.value, annotation=node.annotation))
    elif isinstance(node, (ast.AugAssign, ast.For, ast.AsyncFor, ast.comprehension)):
        _target(scope, node.target, None)
    elif isinstance(node, ast.withitem):
        if node.optional_vars is not None:
            _target(scope, node.optional_vars, None)
    elif isinstance(node, ast.NamedExpr):
        home = scope
        while isinstance(home.node, COMPREHENSIONS) and home.parent is not None:
            home = home.parent
        _add(home, node.target.id, Bound("value", node, value=node.value))
    elif isinstance(node, FUNCTIONS):
        _add(scope, node.name, Bound("function", node))
    elif isinstance(node, ast.ClassDef):
        _add(scope, node.name, Bound("class", node))
    elif (isinstance(node, ast.ExceptHandler) and node.name) or (
        isinstance(node, (ast.MatchAs, ast.MatchStar)) and node.name
    ):
        _add(scope, node.name, Bound("other", node))
    elif isinstance(node, ast.MatchMapping) and node.rest:
        _add(scope, node.rest, Bound("other", node))
    elif isinstance(node, (ast.Global, ast.Nonlocal)):
        for name in node.names:
            scope.elsewhere[name] = "global" if isinstance(node, ast.Global) else "nonlocal"
    if isinstance(scope.node, COMPREHENSIONS) and isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        scope.names.setdefault(node.id, []).append(Bound("other", node))


def _target(scope: Scope, target: ast.expr, value: ast.expr | None) -> None:
    if isinstance(target, ast.Name):
        _add(scope, target.id, Bound("value", target, value=value) if value is not None else Bound("other", target))
    elif isinstance(target, (ast.Tuple, ast.List)):
        items = value.elts if isinstance(value, (ast.Tuple, ast.List)) else []
        plain = len(items) == len(target.elts) and not any(isinstance(i, ast.Starred) for i in (*items, *target.elts))
        for number, part in enumerate(target.elts):
            _target(scope, part, items[number] if plain else None)
    elif isinstance(target, ast.Starred):
        _target(scope, target.value, None)


_TESTS = frozenset({"isinstance", "issubclass", "type", "cast", "hasattr", "callable", "getattr"})
_ASKS = frozenset({"hasattr", "getattr", "setattr", "delattr", "patch", "signature"})


def _narrow(scope: Scope, node: ast.AST) -> None:
    """Note what tests narrow: behind ``isinstance(x, C)`` the declared class of ``x`` is not all that is known."""
    function = scope.function
    if isinstance(node, ast.Call) and node.args:
        name = (lower.dotted(node.func) or "").rpartition(".")[2]
        if name in _TESTS:
            function.narrowed.add(ast.unparse(node.args[1] if name == "cast" and len(node.args) > 1 else node.args[0]))
        if name in _ASKS:
            function.probed |= {a.value for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str)}
    elif isinstance(node, ast.Compare):
        for part in (node.left, *node.comparators):
            if isinstance(part, ast.Constant) and isinstance(part.value, str):
                function.probed.add(part.value)
            elif isinstance(part, ast.Attribute) and part.attr == "__class__":
                function.narrowed.add(ast.unparse(part.value))
    elif isinstance(node, ast.Match):
        function.narrowed.add(ast.unparse(node.subject))
