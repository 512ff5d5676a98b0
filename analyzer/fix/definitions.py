"""Change methods that a class has: replace, rename, remove."""

from __future__ import annotations

import ast

from analyzer.fix.comments import columns, first_with_comments, take_deeper
from analyzer.fix.folding import Function, suites
from analyzer.fix.method_source import parse_method, render_method
from analyzer.fix.source import Refused, Splice, splice
from analyzer.fix.tokens import tokens
from analyzer.fix.tree import Module, first_line, functions, last_line, scope


def replace_method(text: str, cls: str, method: str, source: str) -> str:
    """Replace a whole definition, decorators included; comments above it stay.

    Args:
        text: the source.
        cls: qualified name of the class.
        method: the name of the definition to replace.
        source: the new one, dedented; it may have another name that the class does not have yet.

    Raises:
        Refused: there is no such class or method, or more than one.
    """
    module = Module.of(text)
    node = module.class_named(cls)
    new_name = parse_method(source).name
    done = functions(node, new_name) and not functions(node, method)
    old = only(node, new_name if done else method)
    first, last = first_line(old), last_line(old)
    newline, indent = module.newline(last), module.indent(first)
    new = render_method(source, indent, module.indent_unit, newline).removesuffix(newline)
    start, end = module.line_start(first), module.end(old)
    if text[start:end] == new:
        return text
    if old.name != method:
        raise Refused(f"class {cls} has no method {method}")
    if new_name != method and functions(node, new_name):
        raise Refused(f"class {cls} has a method {new_name} already")
    return splice(text, [Splice(start, end, new)])


def rename_method(text: str, cls: str, old: str, new: str) -> str:
    """Rename a definition and the calls ``x.old(...)`` in its own body.

    Args:
        text: the source.
        cls: qualified name of the class.
        old: the name that it has.
        new: the name that it gets; if the class has it, and the old one no longer, nothing changes.

    Raises:
        Refused: there is no such class or method, or more than one, or the new name is there too.
    """
    module = Module.of(text)
    node = module.class_named(cls)
    if old == new or (functions(node, new) and not functions(node, old)):
        return text
    method = only(node, old)
    if functions(node, new):
        raise Refused(f"class {cls} has a method {new} already")
    ends = [_name_end(module, method)]
    ends += [
        module.end(call.func)
        for call in ast.walk(method)
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == old
    ]
    splices = [Splice(end - len(old), end, new) for end in set(ends)]
    if any(text[cut.start : cut.end] != old for cut in splices):
        raise Refused(f"class {cls} spells {old} in other characters")
    return splice(text, splices)


def _name_end(module: Module, method: Function) -> int:
    for token in tokens(module.text, module.start(method)):
        if token.string not in ("async", "def"):
            return token.end
    raise Refused(f"has a definition that cannot be read (line {method.lineno})")


def remove_method(text: str, cls: str, method: str) -> str:
    """Remove a definition with its decorators and the comments directly above it.

    Nothing changes if the class has no such method.  A block that would be empty gets a ``pass``.

    Raises:
        Refused: there is no such class or more than one, or the method has several definitions.
    """
    module = Module.of(text)
    node = module.class_named(cls)
    if not functions(node, method):
        return text
    definition = only(node, method)
    first = first_with_comments(module, definition)
    last = take_deeper(module, last_line(definition), columns(module.indent(first)) + 1)
    block = _block_of(node.body, definition)
    if len(block) > 1:
        return _cut(module, first, last, ends_block=block[-1] is definition)
    placeholder = f"{module.indent(first)}pass"
    end = module.line_start(last + 1)
    newline = module.newline(last) if text[:end].endswith("\n") else ""
    return splice(text, [Splice(module.line_start(first), end, placeholder + newline)])


def _cut(module: Module, first: int, last: int, *, ends_block: bool) -> str:
    """Drop lines with the blank lines below them, or above them at the end of a block."""
    if ends_block:
        while not module.lines[first - 2].strip():
            first -= 1
    else:
        while not module.lines[last].strip():
            last += 1
    before = module.text[: module.line_start(first)]
    after = module.text[module.line_start(last + 1) :]
    if not after and not module.text.endswith("\n"):
        return before.removesuffix(module.newline(first - 1))
    return before + after


def _block_of(body: list[ast.stmt], wanted: ast.stmt) -> list[ast.stmt]:
    """The block that a statement of this scope stands in."""
    for node in body:
        for block in suites(node):
            if wanted in scope(block):
                return _block_of(block, wanted)
    return body


def only(cls: ast.ClassDef, name: str) -> Function:
    """The one definition of a method.

    Raises:
        Refused: there is none, or more than one.
    """
    found = functions(cls, name)
    if len(found) == 1:
        return found[0]
    count = f"{len(found)} definitions of" if found else "no method"
    raise Refused(f"class {cls.name} has {count} {name}")
