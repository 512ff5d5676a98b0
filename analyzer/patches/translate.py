"""The edits of a fix as statements that change a class at run time."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from analyzer.findings import (
    AddAssignment,
    AddBase,
    AddImport,
    AddListItem,
    AddMethods,
    Edit,
    Fix,
    RemoveMethod,
    RenameMethod,
    ReplaceMethod,
    ReplaceSignature,
)
from analyzer.fix.method_source import parse_method
from analyzer.fix.source import Refused
from analyzer.fix.tree import Module, functions


class Untranslatable(Exception):
    """A fix that can only be made in the source; the message says why."""


@dataclass(frozen=True)
class Statements:
    """What one fix does to one class.

    Args:
        path: of the class's file, relative to the checkout's root.
        cls: its qualified name there.
        imports: modules and names that are imported when the class is patched.
        lines: the statements, which call the class ``cls``.
        helpers: functions of the hook that they call.
    """

    path: str
    cls: str
    imports: tuple[tuple[str, str], ...]
    lines: tuple[str, ...]
    helpers: frozenset[str]


def translate(fix: Fix, text: str, interfaces: str) -> Statements:
    """The statements for a fix.

    Args:
        fix: with edits.
        text: the source of the file that it is about.
        interfaces: the module of the contracts, which is imported with any model.

    Raises:
        Untranslatable: part of it can only be made in the source.
    """
    places = {(edit.path, edit.cls) for edit in fix.edits if not isinstance(edit, AddImport | AddListItem)}
    if any(isinstance(edit, AddListItem) for edit in fix.edits):
        raise Untranslatable("it adds to a list inside a function, which only the source holds")
    if len(places) != 1:
        raise Untranslatable("it is about several classes")
    path, cls = places.pop()
    imported = {edit.name: edit.module for edit in fix.edits if isinstance(edit, AddImport)}
    writer = _Writer(Module.of(text), cls, imported, interfaces)
    for edit in sorted(fix.edits, key=lambda edit: not isinstance(edit, AddBase)):
        writer.write(edit)
    early = {name: module for name, module in imported.items() if module == interfaces or name in writer.bases}
    used = tuple(sorted((module, name) for name, module in early.items()))
    return Statements(path, cls, used, tuple(writer.lines), frozenset(writer.helpers))


class _Writer:
    """Collects the statements for edits of one class."""

    def __init__(self, module: Module, cls: str, imported: dict[str, str], interfaces: str) -> None:
        self._module, self._cls, self._imported, self._interfaces = module, cls, imported, interfaces
        self.lines: list[str] = []
        self.helpers: set[str] = set()
        self.bases: set[str] = set()

    def write(self, edit: Edit) -> None:
        if isinstance(edit, AddBase):
            self.bases.add(edit.base)
            self._call("add_base", f"cls, {edit.base}, {edit.position}")
        elif isinstance(edit, AddMethods):
            self._add(edit.methods)
        elif isinstance(edit, ReplaceMethod):
            if parse_method(edit.source).name != edit.method:
                self._call("remove_method", f'cls, "{edit.method}"')
            self._add([edit.source])
        elif isinstance(edit, RenameMethod):
            self._rename(edit)
        elif isinstance(edit, RemoveMethod):
            self._call("remove_method", f'cls, "{edit.method}"')
        elif isinstance(edit, AddAssignment):
            self._assign(edit)
        elif isinstance(edit, ReplaceSignature):
            raise Untranslatable("it changes the parameters of a method whose body stays")
        elif not isinstance(edit, AddImport):
            raise Untranslatable("it can only be made in the source")

    def _call(self, helper: str, arguments: str) -> None:
        self.helpers.add(helper)
        self.lines.append(f"{helper}({arguments})")

    def _add(self, sources: Sequence[str]) -> None:
        for source in sources:
            method = parse_method(source)
            self.lines += ["", *self._with_imports(source, method).rstrip().splitlines(), ""]
            self._call("add_method", f"cls, {method.name}")

    def _with_imports(self, source: str, method: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
        """A method that imports other models' classes when it is called, and not before."""
        names = {node.id for node in ast.walk(method) if isinstance(node, ast.Name)}
        late = [(self._imported[n], n) for n in sorted(names & self._imported.keys())]
        wanted = [(module, name) for module, name in late if module != self._interfaces]
        if not wanted:
            return source
        lines = source.splitlines()
        at = method.body[0].lineno - 1
        indent = lines[at][: len(lines[at]) - len(lines[at].lstrip())]
        added = [f"{indent}from {module} import {name}" for module, name in wanted]
        return "\n".join([*lines[:at], *added, "", *lines[at:]])

    def _rename(self, edit: RenameMethod) -> None:
        for method in functions(self._class(), edit.old):
            calls = (node for node in ast.walk(method) if isinstance(node, ast.Attribute))
            if any(node.attr == edit.old for node in calls):
                raise Untranslatable(f"{edit.old} calls itself by that name")
        self._call("rename_method", f'cls, "{edit.old}", "{edit.new}"')

    def _assign(self, edit: AddAssignment) -> None:
        if not functions(self._class(), edit.method):
            raise Untranslatable(f"{self._cls} has no {edit.method} of its own")
        name = f"set_{edit.target}"
        self.lines += ["", f"def {name}(self):", f"    self.{edit.target} = {edit.value}", ""]
        self._call("after_method", f'cls, "{edit.method}", {name}')

    def _class(self) -> ast.ClassDef:
        try:
            return self._module.class_named(self._cls)
        except Refused as reason:
            raise Untranslatable(str(reason)) from None
