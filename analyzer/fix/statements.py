"""Add a simple statement to a class or a method, and widen the annotation of a result."""

from __future__ import annotations

import ast

from analyzer.findings import AddStatement, AnnotateResult
from analyzer.fix.collecting import only_function
from analyzer.fix.comments import first_with_comments
from analyzer.fix.folding import Function
from analyzer.fix.layout import lay_out
from analyzer.fix.listing import line_limit, width
from analyzer.fix.source import Refused, Splice, splice
from analyzer.fix.tree import Module, last_line


def write_statement(text: str, edit: AddStatement, line_length: int | None = None) -> str:
    """Add the statement; nothing changes if it stands there already.

    Args:
        text: the source.
        edit: what to do.
        line_length: to keep; by default what the formatter of such a file uses.

    Raises:
        Refused: there is no such class or method, or more than one, or the method ends with a return.
    """
    module = Module.of(text)
    cls = module.class_named(edit.cls)
    if has_statement(cls, edit):
        return text
    block: ast.ClassDef | Function = only_function(cls, edit.method) if edit.method else cls
    if block.body[0].lineno == block.lineno:
        raise Refused(f"{block.name} (line {block.lineno}) has no block")
    if edit.method:
        return _add_below(module, block, edit.source, line_length)
    return _add_on_top(module, cls, edit.source, line_length)


def has_statement(cls: ast.ClassDef, edit: AddStatement) -> bool:
    """Whether the statement stands directly in the class, or the method."""
    wanted = ast.dump(ast.parse(edit.source).body[0])
    body = only_function(cls, edit.method).body if edit.method else cls.body
    return any(ast.dump(node) == wanted for node in body)


def drop_statement(cls: ast.ClassDef, edit: AddStatement) -> None:
    """Take the statement out of a tree."""
    wanted = ast.dump(ast.parse(edit.source).body[0])
    body = only_function(cls, edit.method).body if edit.method else cls.body
    body[:] = [node for node in body if ast.dump(node) != wanted]


def _rows(module: Module, line: int, source: str, line_length: int | None) -> str:
    newline = module.newline(line)
    rows = lay_out(source, module.indent(line), module.indent_unit, line_limit(module, line_length))
    return "".join(row + newline for row in rows)


def _add_below(module: Module, method: ast.ClassDef | Function, source: str, line_length: int | None) -> str:
    last = method.body[-1]
    if isinstance(last, ast.Raise) or (isinstance(last, ast.Return) and last.value is not None):
        raise Refused(f"{method.name} ends with a value or an error (line {last.lineno})")
    if isinstance(last, ast.Return):  # nothing is given: the statement goes above it
        begin = module.line_start(last.lineno)
        return splice(module.text, [Splice(begin, begin, _rows(module, last.lineno, source, line_length))])
    newline = module.newline(last_line(last))
    rows = _rows(module, method.body[0].lineno, source, line_length)
    end = module.line_start(last_line(last) + 1)
    if not module.text[:end].endswith("\n"):
        return module.text[:end] + newline + rows.removesuffix(newline)
    return module.text[:end] + rows + module.text[end:]


def _add_on_top(module: Module, cls: ast.ClassDef, source: str, line_length: int | None) -> str:
    """Above the first statement behind the docstring, with a blank line towards definitions."""
    rest = cls.body[1:] if ast.get_docstring(cls, clean=False) is not None else cls.body
    if not rest:
        raise Refused(f"class {cls.name} has nothing but a docstring")
    line = first_with_comments(module, rest[0])
    rows = _rows(module, rest[0].lineno, source, line_length)
    if isinstance(rest[0], ast.ClassDef | Function) or line < rest[0].lineno:
        rows += module.newline(line)
    return splice(module.text, [Splice(module.line_start(line), module.line_start(line), rows)])


def annotate_result(text: str, edit: AnnotateResult, line_length: int | None = None) -> str:
    """Change the annotation; nothing changes if it is as wanted.

    Args:
        text: the source.
        edit: what to do.
        line_length: to keep; by default what the formatter of such a file uses.

    Raises:
        Refused: there is no such method or more than one, or its result has no annotation.
    """
    module = Module.of(text)
    method = only_function(module.class_named(edit.cls), edit.method)
    if has_annotation(method, edit):
        return text
    if method.returns is None:
        raise Refused(f"the result of {edit.method} has no annotation")
    start, end = module.start(method.returns), module.end(method.returns)
    line = module.line_at(start)
    begin = module.line_start(line)
    head = text[begin:start]
    if "#" in text[start:end] or text[end : end + 1] != ":":
        raise Refused(f"the annotation in line {line} is not written plainly")
    limit, indent = line_limit(module, line_length), module.indent(line)
    plain = head + edit.returns + ":"
    opened = edit.returns if edit.returns.endswith("]") and "|" not in edit.returns else f"({edit.returns})"
    inner = opened.index("[" if opened is edit.returns else "(") + 1
    rows = [head + opened[:inner], f"{indent}{module.indent_unit}{opened[inner:-1]}", f"{indent}{opened[-1]}:"]
    if width(plain) <= limit:
        rows = [plain]
    return splice(text, [Splice(begin, end + 1, module.newline(line).join(rows))])


def has_annotation(method: Function, edit: AnnotateResult) -> bool:
    """Whether the result is annotated as wanted."""
    wanted = ast.dump(ast.parse(edit.returns, mode="eval").body)
    return method.returns is not None and ast.dump(method.returns) == wanted
