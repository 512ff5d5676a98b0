"""Carry out edits on the text of one file.

Everything here is a function from text to text.  An edit that is in place already changes nothing, so
applying edits twice is the same as applying them once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from difflib import SequenceMatcher

from analyzer.findings import (
    AddAssignment,
    AddBase,
    AddImport,
    AddListItem,
    AddMethods,
    AddStatement,
    AnnotateResult,
    CollectStates,
    Edit,
    RemoveMethod,
    RenameMethod,
    ReplaceMethod,
    ReplaceSignature,
)
from analyzer.fix.assignments import add_statement
from analyzer.fix.bases import add_base
from analyzer.fix.collecting import collect_states
from analyzer.fix.definitions import remove_method, rename_method, replace_method
from analyzer.fix.imports import ensure_import
from analyzer.fix.literals import add_list_item
from analyzer.fix.method_source import rename_names
from analyzer.fix.methods import add_methods
from analyzer.fix.signatures import replace_signature
from analyzer.fix.source import common_ends
from analyzer.fix.statements import annotate_result, write_statement


def apply_edits(text: str, edits: Sequence[Edit], line_length: int | None = None) -> tuple[str, tuple[Edit, ...]]:
    """Carry out the edits of one file, together or not at all.

    Appending to literals comes first, from the bottom up, because those edits name lines of the text as it is
    given; then imports, because they settle the local names that bases and methods use; bases come last,
    because methods can shorten the header's line (``class A: ...``).

    Args:
        text: the source.
        edits: all of the same path.
        line_length: the line length to keep; by default what the formatter of such a file uses.

    Returns:
        The new text, and the edits as they were carried out: with local names, and with the lines of
        the new text.

    Raises:
        Refused: one of the edits does not fit the text.
    """
    original = text
    items = [edit for edit in edits if isinstance(edit, AddListItem)]
    for item in sorted(items, key=lambda edit: -edit.line):
        text = add_list_item(text, item.line, item.beside, item.item, line_length)
    names: dict[str, str] = {}
    imports = [edit for edit in edits if isinstance(edit, AddImport)]
    imported = text
    for wanted in imports:
        users = [edit.cls for edit in edits if isinstance(edit, AddBase) and edit.base == wanted.name]
        imported, names[wanted.name] = ensure_import(
            imported, wanted.path, wanted.module, wanted.name, line_length, users
        )
    on_classes = [edit for edit in edits if not isinstance(edit, AddListItem | AddImport)]
    localised = [with_local_names(edit, names) for edit in sorted(on_classes, key=lambda e: isinstance(e, AddBase))]
    changed = text
    for edit in localised:
        changed = _apply_to_class(changed, edit, line_length)
    merged = _merged(text, imported, changed)
    if merged is None:
        merged = imported
        for edit in localised:
            merged = _apply_to_class(merged, edit, line_length)
    moved = (replace(item, line=moved_line(item.line, original, merged)) for item in items)
    return merged, (*moved, *imports, *localised)


def _merged(text: str, imported: str, changed: str) -> str | None:
    """A text with two changes, the one above the other; None where they are not.

    What is done to classes does not depend on the lines of imports, and the text as it was is parsed already.
    """
    if imported == text:
        return changed
    lines, above, below = text.split("\n"), imported.split("\n"), changed.split("\n")
    untouched = common_ends(lines, above)[1]
    if common_ends(lines, below)[0] < len(lines) - untouched:
        return None
    return "\n".join([*above[: len(above) - untouched], *below[len(lines) - untouched :]])


def moved_line(line: int, before: str, after: str) -> int:
    """Where a line (from 1) of a text is after edits; a changed line, where its replacement is."""
    old, new = before.split("\n"), after.split("\n")
    head, tail = common_ends(old, new)
    if line <= head:
        return line
    if line > len(old) - tail:
        return line + len(new) - len(old)
    matcher = SequenceMatcher(None, old[head : len(old) - tail], new[head : len(new) - tail], autojunk=False)
    for _, start, end, new_start, new_end in matcher.get_opcodes():
        if start < line - head <= end:
            return head + min(new_start + line - head - start, max(new_start + 1, new_end))
    return line


def with_local_names(edit: Edit, names: Mapping[str, str]) -> Edit:
    """The edit as it reads in a module that imports some names under aliases."""
    if isinstance(edit, AddBase):
        return replace(edit, base=names.get(edit.base, edit.base))
    if isinstance(edit, AddMethods):
        return replace(edit, methods=tuple(rename_names(source, names) for source in edit.methods))
    if isinstance(edit, ReplaceMethod):
        return replace(edit, source=rename_names(edit.source, names))
    return edit


def _apply_to_class(text: str, edit: Edit, line_length: int | None) -> str:
    if isinstance(edit, AddBase):
        return add_base(text, edit.cls, edit.base, edit.position, line_length)
    if isinstance(edit, AddMethods):
        return add_methods(text, edit.cls, edit.methods, edit.after)
    if isinstance(edit, AddAssignment):
        return add_statement(text, edit.cls, edit.method, edit.after, edit.target, edit.value, line_length)
    if isinstance(edit, ReplaceMethod):
        return replace_method(text, edit.cls, edit.method, edit.source)
    if isinstance(edit, ReplaceSignature):
        return replace_signature(text, edit.cls, edit.method, edit.parameters, edit.returns, line_length)
    if isinstance(edit, RenameMethod):
        return rename_method(text, edit.cls, edit.old, edit.new)
    if isinstance(edit, RemoveMethod):
        return remove_method(text, edit.cls, edit.method)
    if isinstance(edit, AddStatement):
        return write_statement(text, edit, line_length)
    if isinstance(edit, AnnotateResult):
        return annotate_result(text, edit, line_length)
    if isinstance(edit, CollectStates):
        return collect_states(text, edit, line_length)
    raise TypeError(f"not an edit of a class: {edit!r}")
