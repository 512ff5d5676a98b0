"""Add methods to a class, next to their kin."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Sequence

from analyzer.fix.comments import first_with_comments, last_with_comments
from analyzer.fix.folding import Function
from analyzer.fix.method_source import parse_method, render_method, same_method
from analyzer.fix.source import Refused
from analyzer.fix.tokens import scan_header
from analyzer.fix.tree import Module, classes, first_line, functions, last_line, scope


def add_methods(text: str, cls: str, methods: Sequence[str], after: Sequence[str] = ()) -> str:
    """Add methods to a class; those that it has already, word for word, are left out.

    Args:
        text: the source.
        cls: qualified name of the class.
        methods: dedented sources, one definition each.
        after: names of methods in order of preference: the new ones go below the last definition of the first
            that the class has, with the comments that belong to it; else to the end of the class.

    Raises:
        Refused: there is no such class or more than one, or it has another attribute of such a name.
    """
    module = Module.of(text)
    node = module.class_named(cls)
    missing = [source for source in methods if not _is_there(node, parse_method(source))]
    if not missing:
        return text
    if _on_header_line(module, node):
        return _open_body(module, node, missing)
    if is_placeholder(node.body[-1]) and all(map(is_placeholder, node.body[_docstring(node) :])):
        return _replace_placeholder(module, node, missing)
    places = (_last_definition(node, name) for name in after)
    anchor = next((place for place in places if place is not None), len(node.body) - 1)
    return _insert_below(module, node, anchor, missing)


def _is_there(cls: ast.ClassDef, method: Function) -> bool:
    existing = functions(cls, method.name)
    if len(existing) == 1 and same_method(existing[0], method):
        return True
    if existing:
        raise Refused(f"class {cls.name} has another {method.name} (line {existing[0].lineno})")
    for node in scope(cls.body):
        if isinstance(node, ast.Assign | ast.AnnAssign) and method.name in _assigned(node):
            raise Refused(f"class {cls.name} assigns {method.name} (line {node.lineno})")
    return False


def _assigned(node: ast.stmt) -> set[str]:
    names = (part for part in ast.walk(node) if isinstance(part, ast.Name))
    return {name.id for name in names if isinstance(name.ctx, ast.Store)}


def _last_definition(cls: ast.ClassDef, name: str) -> int | None:
    places = [
        index
        for index, node in enumerate(cls.body)
        if any(isinstance(part, Function) and part.name == name for part in scope([node]))
    ]
    return places[-1] if places else None


def _docstring(cls: ast.ClassDef) -> int:
    """How many statements the docstring takes."""
    return 0 if ast.get_docstring(cls, clean=False) is None else 1


def is_placeholder(node: ast.stmt) -> bool:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return node.value.value is Ellipsis
    return isinstance(node, ast.Pass)


def _on_header_line(module: Module, cls: ast.ClassDef) -> bool:
    colon = scan_header(module.text, module.start(cls)).colon
    return "\n" not in module.text[colon : module.start(cls.body[0])]


def _render(module: Module, line: int, indent: str, methods: Sequence[str]) -> str:
    """The methods as lines, with blank lines between them."""
    newline = module.newline(line)
    rendered = [render_method(source, indent, module.indent_unit, newline) for source in methods]
    return (newline * gap(module)).join(rendered)


def _open_body(module: Module, cls: ast.ClassDef, methods: Sequence[str]) -> str:
    """Turn ``class A: pass`` into a class with a block."""
    text = module.text
    colon = scan_header(text, module.start(cls)).colon + 1
    line = last_line(cls.body[-1])
    newline, indent = module.newline(line), module.indent(cls.lineno) + module.indent_unit
    end = module.line_start(line + 1)
    if all(map(is_placeholder, cls.body)):
        comment = text[module.end(cls.body[-1]) : end].strip(" \t\r\n;")
        block = f"  {comment}{newline}" if comment else newline
    else:
        block = f"{newline}{indent}{text[colon:end].strip()}{newline}{newline * gap(module)}"
    return _put(module, colon, end, block + _render(module, line, indent, methods), newline)


def _replace_placeholder(module: Module, cls: ast.ClassDef, methods: Sequence[str]) -> str:
    """Put the methods in the place of the ``pass`` or ``...`` that is all that the class has."""
    first = cls.body[_docstring(cls)]
    start, line = first_line(first), last_line(cls.body[-1])
    newline, indent = module.newline(line), module.indent(start)
    end = module.line_start(line + 1)
    block = _render(module, line, indent, methods)
    if comment := module.text[module.end(cls.body[-1]) : end].strip(" \t\r\n;"):
        block = f"{indent}{comment}{newline}{newline * gap(module)}{block}"
    elif _docstring(cls) and module.lines[start - 2].strip():
        block = newline * gap(module) + block
    return _put(module, module.line_start(start), end, block, newline)


def _insert_below(module: Module, cls: ast.ClassDef, anchor: int, methods: Sequence[str]) -> str:
    """Add the methods below a statement of the class body."""
    ends_class = anchor == len(cls.body) - 1
    indent = module.indent(first_line(cls.body[0]))
    line = last_with_comments(module, cls.body[anchor], indent, ends_class=ends_class)
    newline = module.newline(line)
    blank = newline * gap(module)
    block = blank + _render(module, line, indent, methods)
    if not ends_class and module.lines[line].strip():
        block += blank
    if not module.lines[line - 1].endswith("\n"):
        block = newline + block
    end = module.line_start(line + 1)
    return _put(module, end, end, block, newline)


def _put(module: Module, start: int, end: int, lines: str, newline: str) -> str:
    """Replace a span up to the end of a line by whole lines; a text without a final newline stays so."""
    if not module.text[:end].endswith("\n"):
        lines = lines.removesuffix(newline)
    return module.text[:start] + lines + module.text[end:]


def gap(module: Module) -> int:
    """How many blank lines the file has between methods: most often, at least one."""
    gaps: Counter[int] = Counter()
    for _, cls in classes(module.tree.body):
        for above, below in zip(cls.body, cls.body[1:]):  # noqa: B905
            if isinstance(above, Function) and isinstance(below, Function):
                first = line = first_with_comments(module, below)
                while not module.lines[line - 2].strip():
                    line -= 1
                gaps[first - line] += 1
    return min(2, max(1, gaps.most_common(1)[0][0])) if gaps else 1
