"""Turn syntax trees into plain tuples: what later stages need of a statement, and nothing else.

The result is made of tuples, strings, numbers and None only, so it can be kept in a cache file and read
without a parser.  An expression is ``(op, ...)``, a statement is ``(op, line, ...)``; the forms are listed
at :data:`EXPRESSIONS` and :data:`STATEMENTS`.  Anything without a form of its own becomes ``("other", parts)``,
which keeps its sub-expressions so that data can still be followed through it.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

Expr: TypeAlias = tuple[Any, ...]
Stmt: TypeAlias = tuple[Any, ...]
Block: TypeAlias = tuple[Stmt, ...]

EXPRESSIONS = """
("const", value)                       a literal
("name", id)
("attr", expr, name, line)
("call", func, args, keywords, line, column)   keywords: ((name or None for **), expr) pairs
("sub", expr, index)
("seq", kind, items)                   kind: "tuple", "list" or "set"
("dict", pairs)                        a key of None is **
("ifexp", test, then, else)
("bool", "and" or "or", items)
("not", expr)
("cmp", left, op, right)               op: the name of the ast class
("star", expr)
("walrus", name, expr)
("comp", element, target, iterable, conditions)   one generator; more become "other"
("bin", op, left, right)
("lambda", parts)                      what its body and defaults are made of
("format", parts)                      a formatted string: its constant parts, and the others as ("other", (value,))
("other", parts)
"""

STATEMENTS = """
("assign", line, targets, value, column)   an annotated assignment with a value is one too
("annotate", line, target, annotation)
("augment", line, target, value)
("delete", line, targets)
("expr", line, value)
("return", line, value or None)
("if", line, test, body, orelse)
("for", line, target, iterable, body, orelse)
("while", line, test, body, orelse)
("with", line, items, body)                items: (expr, target or None) pairs
("try", line, body, handlers, orelse, final)   handlers: (type or None, body) pairs
("raise", line, expr or None)
("assert", line, test, message or None)
("import", line, bindings)                 bindings: (local, module, attribute or None)
("def", line, name)
("break", line) ("continue", line)
"""


def dotted(node: ast.expr) -> str | None:
    """``a.b.c`` of a chain of attributes on a name, else None."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    parts.append(node.id)
    return ".".join(reversed(parts))


def lower(node: ast.expr | None) -> Expr | None:
    """The tuple form of an expression; None stays None."""
    return None if node is None else _expr(node)


def _expr(node: ast.expr) -> Expr:
    form = _FORMS.get(type(node))
    if form is not None:
        return form(node)
    return ("other", tuple(_expr(child) for child in _children(node)))


def _children(node: ast.AST) -> Iterable[ast.expr]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            yield child
        elif isinstance(child, (ast.comprehension, ast.keyword)):
            yield from _children(child)


def _many(nodes: Iterable[ast.expr]) -> tuple[Expr, ...]:
    return tuple(_expr(node) for node in nodes)


_LITERALS = (str, int, float, bool, bytes, type(None))


def _constant(node: ast.Constant) -> Expr:
    value = node.value
    if value is Ellipsis:
        return ("const", "...")
    return ("const", value if isinstance(value, _LITERALS) else repr(value))


def _call(node: ast.Call) -> Expr:
    keywords = tuple((keyword.arg, _expr(keyword.value)) for keyword in node.keywords)
    return ("call", _expr(node.func), _many(node.args), keywords, node.lineno, node.col_offset)


def _compare(node: ast.Compare) -> Expr:
    if len(node.ops) == 1:
        return ("cmp", _expr(node.left), type(node.ops[0]).__name__, _expr(node.comparators[0]))
    left, items = node.left, []
    for op, right in zip(node.ops, node.comparators, strict=True):
        items.append(("cmp", _expr(left), type(op).__name__, _expr(right)))
        left = right
    return ("bool", "and", tuple(items))


def _comprehension(node: ast.ListComp | ast.GeneratorExp | ast.SetComp) -> Expr:
    if len(node.generators) != 1:
        return ("other", tuple(_expr(child) for child in _children(node)))
    only = node.generators[0]
    return ("comp", _expr(node.elt), _expr(only.target), _expr(only.iter), _many(only.ifs))


def _unary(node: ast.UnaryOp) -> Expr:
    if isinstance(node.op, ast.Not):
        return ("not", _expr(node.operand))
    if isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
        value = node.operand.value
        if isinstance(value, (int, float)):
            return ("const", -value)
    return ("other", (_expr(node.operand),))


def _dict(node: ast.Dict) -> Expr:
    return (
        "dict",
        tuple((lower(key), _expr(value)) for key, value in zip(node.keys, node.values, strict=True)),
    )


_FORMS: dict[type[ast.expr], Callable[[Any], Expr]] = {
    ast.Constant: _constant,
    ast.Name: lambda n: ("name", n.id),
    ast.Attribute: lambda n: ("attr", _expr(n.value), n.attr, n.lineno),
    ast.Call: _call,
    ast.Subscript: lambda n: ("sub", _expr(n.value), _expr(n.slice)),
    ast.Tuple: lambda n: ("seq", "tuple", _many(n.elts)),
    ast.List: lambda n: ("seq", "list", _many(n.elts)),
    ast.Set: lambda n: ("seq", "set", _many(n.elts)),
    ast.Dict: _dict,
    ast.IfExp: lambda n: ("ifexp", _expr(n.test), _expr(n.body), _expr(n.orelse)),
    ast.BoolOp: lambda n: ("bool", "and" if isinstance(n.op, ast.And) else "or", _many(n.values)),
    ast.UnaryOp: _unary,
    ast.Compare: _compare,
    ast.Starred: lambda n: ("star", _expr(n.value)),
    ast.NamedExpr: lambda n: ("walrus", n.target.id, _expr(n.value)),
    ast.ListComp: _comprehension,
    ast.GeneratorExp: _comprehension,
    ast.SetComp: _comprehension,
    ast.Lambda: lambda n: ("lambda", tuple(_expr(child) for child in _children(n))),
    ast.BinOp: lambda n: ("bin", type(n.op).__name__, _expr(n.left), _expr(n.right)),
    ast.JoinedStr: lambda n: ("format", _many(n.values)),
}


def block(statements: Iterable[ast.stmt], package: str = "") -> Block:
    """The tuple form of a function's body; docstrings and ``pass`` are left out.

    Args:
        statements: the statements, in order.
        package: dotted name that relative imports inside the body start from.
    """
    out: list[Stmt] = []
    for statement in statements:
        form = _STATEMENTS.get(type(statement))
        if form is not None:
            lowered = form(statement, package)
            if lowered is not None:
                out.append(lowered)
    return tuple(out)


def imports(node: ast.Import | ast.ImportFrom, package: str) -> tuple[tuple[str, str, str | None], ...]:
    """(local name, module, attribute) for each name that an import statement binds.

    A relative import is made absolute against ``package``; ``import a.b`` binds ``a``; the local name of a
    star import is ``*``.
    """
    if isinstance(node, ast.Import):
        return tuple(
            (alias.asname, alias.name, None)
            if alias.asname
            else (alias.name.partition(".")[0], alias.name.partition(".")[0], None)
            for alias in node.names
        )
    module = node.module or ""
    if node.level:
        parts = package.split(".")
        base = parts[: len(parts) - node.level + 1]
        module = ".".join([*base, module] if module else base)
    return tuple((alias.asname or alias.name, module, alias.name) for alias in node.names)


def _expr_statement(node: ast.Expr, _package: str) -> Stmt | None:
    if isinstance(node.value, ast.Constant):
        return None
    return ("expr", node.lineno, _expr(node.value))


def _ann_assign(node: ast.AnnAssign, _package: str) -> Stmt:
    if node.value is None:
        return ("annotate", node.lineno, _expr(node.target), _expr(node.annotation))
    return ("assign", node.lineno, (_expr(node.target),), _expr(node.value), node.col_offset)


def _with(node: ast.With | ast.AsyncWith, package: str) -> Stmt:
    items = tuple((_expr(item.context_expr), lower(item.optional_vars)) for item in node.items)
    return ("with", node.lineno, items, block(node.body, package))


def _try(node: Any, package: str) -> Stmt:
    handlers = tuple((lower(h.type), block(h.body, package)) for h in node.handlers)
    return (
        "try",
        node.lineno,
        block(node.body, package),
        handlers,
        block(node.orelse, package),
        block(node.finalbody, package),
    )


def _captures(pattern: ast.pattern, subject: ast.expr) -> Block:
    """Names that a pattern binds: to something of the subject's data."""
    names = [n.name for n in ast.walk(pattern) if isinstance(n, (ast.MatchAs, ast.MatchStar)) and n.name]
    value = ("other", (_expr(subject),))
    return tuple(("assign", pattern.lineno, (("name", name),), value, pattern.col_offset) for name in names)


def _match(node: ast.Match, package: str) -> Stmt:
    arms: Block = ()
    for case in reversed(node.cases):
        body = (*_captures(case.pattern, node.subject), *block(case.body, package))
        arms = (("if", case.pattern.lineno, ("other", (_expr(node.subject),)), body, arms),)
    return arms[0]


_STATEMENTS: dict[type[ast.stmt], Callable[[Any, str], Stmt | None]] = {
    ast.Assign: lambda n, _: ("assign", n.lineno, _many(n.targets), _expr(n.value), n.col_offset),
    ast.AnnAssign: _ann_assign,
    ast.AugAssign: lambda n, _: ("augment", n.lineno, _expr(n.target), _expr(n.value)),
    ast.Delete: lambda n, _: ("delete", n.lineno, _many(n.targets)),
    ast.Expr: _expr_statement,
    ast.Return: lambda n, _: ("return", n.lineno, lower(n.value)),
    ast.If: lambda n, p: ("if", n.lineno, _expr(n.test), block(n.body, p), block(n.orelse, p)),
    ast.For: lambda n, p: (
        "for",
        n.lineno,
        _expr(n.target),
        _expr(n.iter),
        block(n.body, p),
        block(n.orelse, p),
    ),
    ast.While: lambda n, p: ("while", n.lineno, _expr(n.test), block(n.body, p), block(n.orelse, p)),
    ast.With: _with,
    ast.AsyncWith: _with,
    ast.Try: _try,
    ast.Match: _match,
    ast.Raise: lambda n, _: ("raise", n.lineno, lower(n.exc)),
    ast.Assert: lambda n, _: ("assert", n.lineno, _expr(n.test), lower(n.msg)),
    ast.Import: lambda n, p: ("import", n.lineno, imports(n, p)),
    ast.ImportFrom: lambda n, p: ("import", n.lineno, imports(n, p)),
    ast.FunctionDef: lambda n, _: ("def", n.lineno, n.name),
    ast.ClassDef: lambda n, _: ("def", n.lineno, n.name),
    ast.Break: lambda n, _: ("break", n.lineno),
    ast.Continue: lambda n, _: ("continue", n.lineno),
}
if hasattr(ast, "TryStar"):
    _STATEMENTS[ast.TryStar] = _try


def walk(node: tuple[Any, ...]) -> list[Expr]:
    """Every statement and expression inside lowered code, outermost first."""
    out: list[Expr] = []
    todo: list[object] = [node]
    while todo:
        part = todo.pop()
        if isinstance(part, tuple):
            if part and isinstance(part[0], str):
                out.append(part)
            todo.extend(reversed(part))
    return out


def render(expr: Expr | None) -> str:
    """Readable source of an expression, for messages and signatures; ``…`` where it has no short form."""
    if expr is None:
        return ""
    op = expr[0]
    if op == "const":
        return "..." if expr[1] == "..." else repr(expr[1])
    if op == "name":
        return str(expr[1])
    if op == "attr":
        return f"{render(expr[1])}.{expr[2]}"
    if op == "sub":
        index = expr[2]
        inner = ", ".join(map(render, index[2])) if index[:2] == ("seq", "tuple") else render(index)
        return f"{render(expr[1])}[{inner}]"
    if op == "seq":
        items = ", ".join(map(render, expr[2]))
        if expr[1] == "tuple":
            return f"({items},)" if len(expr[2]) == 1 else f"({items})"
        return f"[{items}]" if expr[1] == "list" else f"{{{items}}}"
    if op == "bin" and expr[1] == "BitOr":
        return f"{render(expr[2])} | {render(expr[3])}"
    if op == "call":
        arguments = [
            *map(render, expr[2]),
            *(f"{k}={render(v)}" if k else f"**{render(v)}" for k, v in expr[3]),
        ]
        return f"{render(expr[1])}({', '.join(arguments)})"
    return "…"
