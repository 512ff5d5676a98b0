"""A second reading of an edited class, by libcst: every member that no edit declares is written as it was.

The edits are made on the text, and :mod:`analyzer.fix.verify` compares what Python's own parser sees, which knows
nothing of comments and layout.  libcst keeps both.  Only the classes that a fix touches are read, not their whole
files, and of methods that are the same to the last character before and after only the headers: libcst takes about
ten times as long as ``ast`` on the same lines.
"""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

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
from analyzer.fix.source import Refused
from analyzer.fix.tree import Function, Module, first_line, last_line


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
        same = {text for text, _ in _methods_of(old, name)} & {text for text, _ in _methods_of(new, name)}
        before, after = _class(old, name, same), _class(new, name, same)
        if before is None or after is None or type(before.body) is not type(after.body):
            continue
        declared = {method for edit in edits for method in _methods(edit, name)}
        added = {edit.source for edit in edits if isinstance(edit, AddStatement) and edit.cls == name}
        if [m for m in _members(before, declared) if m not in added] != [
            m for m in _members(after, declared) if m not in added
        ]:
            raise Refused(f"the edit would change more of class {name} than it declares")


def _methods_of(module: Module, name: str) -> list[tuple[str, Function]]:
    """The methods that stand directly in a class, each with its text."""
    direct = (node for node in module.class_named(name).body if isinstance(node, Function))
    # without the last line's end, which the end of a file may lack
    return [("".join(module.lines[first_line(node) - 1 : last_line(node)]).rstrip("\r\n"), node) for node in direct]


def _class(module: Module, name: str, same: set[str]) -> cst.ClassDef | None:
    """The libcst tree of a class at module level; None where it stands elsewhere or does not round-trip.

    Args:
        module: the file.
        name: of the class.
        same: texts of methods that need no second reading: their bodies are left out.
    """
    node = module.class_named(name)
    if node not in module.tree.body:
        return None
    first = first_line(node)
    lines = module.lines[first - 1 : last_line(node)]
    for text, method in reversed(_methods_of(module, name)):
        begin = first_line(method.body[0])
        if text in same and begin > _header_end(method):
            lines[begin - first : last_line(method) - first + 1] = [f"{module.indent(begin)}...{module.newline(begin)}"]
    text = "".join(lines)
    try:
        parsed = cst.parse_module(text)
    except cst.ParserSyntaxError:
        return None
    only = parsed.body[0] if len(parsed.body) == 1 else None
    return only if isinstance(only, cst.ClassDef) and parsed.code == text else None


def _header_end(method: Function) -> int:
    """The last line of a method's header, as far as its parts tell."""
    arguments = method.args
    named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
    parts = [*named, *arguments.defaults, *arguments.kw_defaults, method.returns]
    return max([method.lineno, *(part.end_lineno or 0 for part in parts if part is not None)])


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
    if isinstance(member, cst.FunctionDef) or len(member.body) != 1:
        return False
    only = member.body[0]
    return isinstance(only, cst.Pass) or (isinstance(only, cst.Expr) and isinstance(only.value, cst.Ellipsis))


def _code_lines(source: str) -> str:
    """The lines of a member that hold code: libcst counts what follows it to its innermost block."""
    kept = (line for line in source.splitlines() if line.strip() and not line.lstrip().startswith("#"))
    return "\n".join(kept).strip()
