"""Make a name importable at run time: join an import that is there, or add one in its place."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from analyzer.fix.bindings import Binding, absolute_module, bindings, package_of
from analyzer.fix.import_order import place_of
from analyzer.fix.listing import insert_item, line_limit
from analyzer.fix.new_import import insert_import
from analyzer.fix.source import Refused
from analyzer.fix.tokens import Listing, scan_bare, scan_brackets, tokens
from analyzer.fix.tree import Module, classes


def ensure_import(
    text: str,
    path: str,
    module: str,
    name: str,
    line_length: int | None = None,
    needed_by: Sequence[str] = (),
) -> tuple[str, str]:
    """Make ``name`` from ``module`` available when the file's classes are created.

    Args:
        text: the source.
        path: of the file, relative to the checkout's root; relative imports start from it.
        module: dotted and absolute.
        name: what to import.
        line_length: to keep; by default what the formatter of such a file uses.
        needed_by: classes (qualified names) whose bases use the name: it must be bound above them.

    Returns:
        The new text and the local name, which differs from ``name`` where the file imports it under an alias.

    Raises:
        Refused: something else in the module has the name, or might have it after a star import.
    """
    parsed = Module.of(text)
    package = package_of(path)
    bound = list(bindings(parsed, package))
    before = _first_use(parsed, needed_by)
    for binding in bound:
        if _is_wanted(binding, module, name) and binding.context == "module" and binding.line < before:
            return text, binding.name
    _refuse_if_taken(bound, module, name)
    limit = line_limit(parsed, line_length)
    for node in _joinable(parsed, package, module):
        if node.lineno < before:
            return _join(parsed, node, name, limit), name
    return insert_import(parsed, package, module, name, limit), name


def _first_use(module: Module, needed_by: Sequence[str]) -> int:
    lines = [node.lineno for name, node in classes(module.tree.body) if name in needed_by]
    return min(lines, default=len(module.lines) + 1)


def _is_wanted(binding: Binding, module: str, name: str) -> bool:
    return binding.module == module and binding.origin == name


def _refuse_if_taken(bound: Sequence[Binding], module: str, name: str) -> None:
    for binding in bound:
        if binding.name == "*" and binding.module != module and binding.context != "type-checking":
            raise Refused(f"the star import from {binding.module} (line {binding.line}) may bind the name {name} too")
        if binding.name != name:
            continue
        if not _is_wanted(binding, module, name):
            raise Refused(f"the name {name} is taken (line {binding.line})")
        if binding.context == "conditional":
            raise Refused(f"{name} is imported on a condition only (line {binding.line})")


def _joinable(module: Module, package: str, target: str) -> Iterator[ast.ImportFrom]:
    """The imports from the target that always run; one of aliases alone stays alone, as isort has it."""
    for node in module.tree.body:
        if isinstance(node, ast.ImportFrom) and absolute_module(node, package) == target:
            names = [alias for alias in node.names if alias.name != "*" and not alias.asname]
            if names:
                yield node


def _join(module: Module, node: ast.ImportFrom, name: str, limit: int) -> str:
    at = _names_of(module, node)
    index = place_of(name, [alias.name for alias in node.names])
    return insert_item(module, at, index, name, limit)


def _names_of(module: Module, node: ast.ImportFrom) -> Listing:
    found = False
    for token in tokens(module.text, module.start(node)):
        if found and token.string == "(":
            return scan_brackets(module.text, token.start)
        if found:
            return scan_bare(module.text, token.start, module.end(node))
        found = token.string == "import"
    raise Refused(f"has an import that cannot be read (line {node.lineno})")
