"""A second reading of an edited class, by libcst: every member that no edit declares is written as it was.

The edits are made on the text, and :mod:`analyzer.fix.verify` compares what Python's own parser sees, which knows
nothing of comments and layout.  libcst keeps both.  It takes ten times as long as ``ast`` on the same lines, and
0.2 s to be imported: so only the classes that a fix touches are read, and of those only what stands between the first
and the last member that is not the same to the last character before and after.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING

from analyzer.findings import (
    AddAssignment,
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
from analyzer.fix.method_source import parse_method
from analyzer.fix.source import Refused, common_ends
from analyzer.fix.tree import Module, first_line, last_line, texts_of

if TYPE_CHECKING:
    import libcst as cst


def witness(old: Module, new: Module, edits: Sequence[Edit]) -> None:
    """Check the members of edited top-level classes against what they were, to the last character.

    Blank lines and comments between members are left to :func:`analyzer.fix.verify.verify`: which member they
    belong to can change with an edit.  A class that libcst cannot give back byte for byte (form feeds, mixed
    newlines) is not read a second time.

    Args:
        old, new: the file before and after.
        edits: as carried out.

    Raises:
        Refused: a member that no edit declares is written differently.
    """
    for name in dict.fromkeys(cls for edit in edits if (cls := getattr(edit, "cls", ""))):
        one, two = old.class_named(name), new.class_named(name)
        if one not in old.tree.body or two not in new.tree.body:
            continue
        above, below = common_ends(_texts(old, one), _texts(new, two))
        if above + below == len(one.body) == len(two.body):
            continue
        before, after = _read(old, one, above, below), _read(new, two, above, below)
        if before is None or after is None or type(before.body) is not type(after.body):
            continue
        declared = {method for edit in edits for method in _methods(edit, name)}
        added = {edit.source for edit in edits if isinstance(edit, AddStatement) and edit.cls == name}
        if [m for m in _members(before, declared) if m not in added] != [
            m for m in _members(after, declared) if m not in added
        ]:
            raise Refused(f"the edit would change more of class {name} than it declares")


def _texts(module: Module, cls: ast.ClassDef) -> list[str]:
    """The members of a class as they are written; none if any shares a line with another, or with the header."""
    texts = texts_of(module, cls.body)
    if texts is None or any(len(module.indent(node.lineno)) != node.col_offset for node in cls.body):
        return []
    return [text.rstrip("\r\n") for text in texts]  # the end of a file may lack that of the last line


def _read(module: Module, node: ast.ClassDef, above: int, below: int) -> cst.ClassDef | None:
    """The libcst tree of a class; None where it does not round-trip.

    Args:
        module, node: the file and the class.
        above, below: how many members at its top and at its bottom need no second reading, and are left out.
    """
    import libcst as cst

    start, end = first_line(node) - 1, last_line(node)
    lines = module.lines[start:end]
    if above + below:
        first = first_line(node.body[0])
        left = node.body[above : len(node.body) - below]
        lines = lines[: first - 1 - start]
        lines += module.lines[first_line(left[0]) - 1 : last_line(left[-1])] if left else [_placeholder(module, first)]
    text = "".join(lines)
    try:
        parsed = cst.parse_module(text)
    except cst.ParserSyntaxError:
        return None
    only = parsed.body[0] if len(parsed.body) == 1 else None
    return only if isinstance(only, cst.ClassDef) and parsed.code == text else None


def _placeholder(module: Module, line: int) -> str:
    return f"{module.indent(line)}...{module.newline(line)}"


def _methods(edit: Edit, cls: str) -> set[str]:
    """Names of methods that an edit adds, changes or removes in a class."""
    if getattr(edit, "cls", "") != cls:
        return set()
    if isinstance(edit, AddMethods):
        return {parse_method(source).name for source in edit.methods}
    if isinstance(edit, ReplaceMethod):
        return {edit.method, parse_method(edit.source).name}
    if isinstance(edit, RenameMethod):
        return {edit.old, edit.new}
    one = RemoveMethod | ReplaceSignature | AddAssignment | AddStatement | AnnotateResult | CollectStates
    return {edit.method} if isinstance(edit, one) else set()


def _members(node: cst.ClassDef, declared: set[str]) -> list[str]:
    """The source of each method and simple statement that no edit concerns, without what stands around it."""
    import libcst as cst

    module = cst.Module([])
    found = []
    for member in node.body.body:
        if not isinstance(member, cst.FunctionDef | cst.SimpleStatementLine):
            continue  # a branch may hold the method that is edited
        if isinstance(member, cst.FunctionDef) and member.name.value in declared:
            continue
        if not _is_placeholder(member):
            found.append(_code_lines(module.code_for_node(member)))
    return found


def _is_placeholder(member: cst.FunctionDef | cst.SimpleStatementLine) -> bool:
    """``pass`` or ``...``, which the first method of a class replaces."""
    import libcst as cst

    if isinstance(member, cst.FunctionDef) or len(member.body) != 1:
        return False
    only = member.body[0]
    return isinstance(only, cst.Pass) or (isinstance(only, cst.Expr) and isinstance(only.value, cst.Ellipsis))


def _code_lines(source: str) -> str:
    """The lines of a member that hold code: libcst counts what follows it to its innermost block."""
    kept = (line for line in source.splitlines() if line.strip() and not line.lstrip().startswith("#"))
    return "\n".join(kept).strip()
