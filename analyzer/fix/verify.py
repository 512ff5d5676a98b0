"""Check an edited file against what was declared, before anything is written."""

from __future__ import annotations

import ast
import tokenize
import warnings
from collections.abc import Iterable, Sequence

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
from analyzer.fix.assignments import drop_assignment, parse_assignment
from analyzer.fix.bases import base_name
from analyzer.fix.bindings import absolute_module, bindings, package_of
from analyzer.fix.collecting import holds, only_function, undo
from analyzer.fix.comments import columns, first_with_comments, take_deeper
from analyzer.fix.folding import Function, suites
from analyzer.fix.literals import literals_with, strings
from analyzer.fix.method_source import parse_method, same_method
from analyzer.fix.methods import is_placeholder
from analyzer.fix.signatures import same_signature
from analyzer.fix.source import Refused, Source
from analyzer.fix.statements import drop_statement, has_annotation, has_statement
from analyzer.fix.tokens import tokens
from analyzer.fix.tree import Module, classes, first_line, functions, last_line, scope, texts_of
from analyzer.fix.witness import witness


def verify(path: str, before: Source, after: Source, edits: Sequence[Edit]) -> None:
    """Check that a file compiles, has what the edits declare, and is otherwise what it was.

    Args:
        path: of the file, relative to the checkout's root.
        before: the file as it was.
        after: the file as it would be.
        edits: as carried out, with local names.

    Raises:
        Refused: a check fails; the message says which.
    """
    _check_compiles(path, after)
    old, new = Module.of(before.text), Module.of(after.text)
    for edit in edits:
        if not _holds(edit, new):
            raise Refused(f"the result is not what {type(edit).__name__} declares")
    _check_comments(old, new, edits)
    if ast.get_docstring(old.tree, clean=False) != ast.get_docstring(new.tree, clean=False):
        raise Refused("the edited file has lost its docstring")
    try:
        same = _same_outside(old, new, edits)
    except RecursionError:
        raise Refused("is nested too deeply to compare") from None
    if not same:
        raise Refused("the edit would change code that it does not declare")
    witness(old, new, edits)


def _check_compiles(path: str, after: Source) -> None:
    data = after.encode()
    if Source.decode(data) != after:
        raise Refused("the edited file would be read in another encoding")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(data, path, "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise Refused(f"the edited file does not compile: {error}") from None


# -- what was declared is there


def _holds(edit: Edit, module: Module) -> bool:
    if isinstance(edit, AddImport):
        bound = bindings(module, package_of(edit.path))
        return any(b.module == edit.module and b.origin == edit.name and b.context == "module" for b in bound)
    if isinstance(edit, AddListItem):
        return any(edit.item in strings(node) for node in literals_with(module, edit.beside))
    cls = module.class_named(edit.cls)
    if isinstance(edit, AddBase):
        return [base_name(base) for base in cls.bases].count(edit.base) == 1
    if isinstance(edit, AddMethods):
        return all(_has_method(cls, source) for source in edit.methods)
    if isinstance(edit, AddAssignment):
        wanted = parse_assignment(edit.target, edit.value)
        return any(ast.dump(node) == wanted for method in functions(cls, edit.method) for node in method.body)
    if isinstance(edit, ReplaceMethod):
        return _has_method(cls, edit.source)
    if isinstance(edit, ReplaceSignature):
        found = functions(cls, edit.method)
        return [same_signature(node, edit.parameters, edit.returns) for node in found] == [True]
    if isinstance(edit, AddStatement):
        return has_statement(cls, edit)
    if isinstance(edit, AnnotateResult):
        return has_annotation(only_function(cls, edit.method), edit)
    if isinstance(edit, CollectStates):
        return holds(cls, edit)
    if isinstance(edit, RenameMethod):
        return bool(functions(cls, edit.new)) and not functions(cls, edit.old)
    return not functions(cls, edit.method)


def _has_method(cls: ast.ClassDef, source: str) -> bool:
    method = parse_method(source)
    return [same_method(found, method) for found in functions(cls, method.name)] == [True]


# -- every comment is there


def _check_comments(old: Module, new: Module, edits: Iterable[Edit]) -> None:
    if _missing((line for line in old.lines if "#" in line), new.lines) is None:
        return  # the quick way: no line with a comment has changed
    dropped = _dropped_lines(old, edits)
    kept = (comment for line, comment in _comments(old) if line not in dropped)
    lost = _missing(kept, [comment for _, comment in _comments(new)])
    if lost is not None:
        raise Refused(f"the edit would lose or move the comment {lost!r}")


def _missing(wanted: Iterable[str], strings: Iterable[str]) -> str | None:
    """The first of the wanted strings that does not follow in the others, in order."""
    rest = iter(strings)
    return next((string for string in wanted if string not in rest), None)


def _comments(module: Module) -> list[tuple[int, str]]:
    found = (token for token in tokens(module.text, 0) if token.type == tokenize.COMMENT)
    return [(module.line_at(token.start), token.string.rstrip()) for token in found]


def _dropped_lines(module: Module, edits: Iterable[Edit]) -> set[int]:
    """The lines of the definitions that are replaced, and of those removed with their comments."""
    lines: set[int] = set()
    for edit in edits:
        if isinstance(edit, ReplaceMethod | RemoveMethod):
            for node in functions(module.class_named(edit.cls), edit.method):
                first, last = first_line(node), last_line(node)
                if isinstance(edit, RemoveMethod):
                    last = take_deeper(module, last, columns(module.indent(first)) + 1)
                    first = first_with_comments(module, node)
                lines.update(range(first, last + 1))
    return lines


# -- all else is what it was


def _same_outside(old: Module, new: Module, edits: Sequence[Edit]) -> bool:
    """Whether two texts have equal trees when everything that the edits declare is taken out of both."""
    return _same_trees(*_without_common(old, new), edits) or _same_trees(old.text, new.text, edits)


def _without_common(old: Module, new: Module) -> tuple[str, str]:
    """The texts with a name in place of each top-level statement that is written alike in both: most of a file."""
    mark = "_"
    while mark in old.text or mark in new.text:
        mark += "_"
    ones, twos = _statements(old), _statements(new)
    common = {text: f"{mark}{number}\n" for number, text in enumerate({*ones} & {*twos})}
    one, two = ("".join(common.get(text, text) for text in texts) for texts in (ones, twos))
    return one, two


def _statements(module: Module) -> list[str]:
    """The lines of each top-level statement; the whole text where statements share a line."""
    texts = texts_of(module, module.tree.body)
    return [module.text] if texts is None else texts


def _same_trees(before: str, after: str, edits: Iterable[Edit]) -> bool:
    old, new = Module(before), Module(after)  # not the shared ones: these trees are used up
    for edit in edits:
        _drop(old, edit)
        _drop(new, edit)
    if len(old.tree.body) != len(new.tree.body):
        return False
    pairs = zip(old.tree.body, new.tree.body, strict=True)
    return all(_alike(old, one, new, two) for one, two in pairs)


def _alike(old: Module, one: ast.stmt, new: Module, two: ast.stmt) -> bool:
    """Whether two statements are equal; what is written alike in classes is not looked into.  Uses the trees up."""
    if _lines(old, one) == _lines(new, two):
        return True
    if isinstance(one, ast.ClassDef) and isinstance(two, ast.ClassDef):
        inside, other = one.body, two.body
        one.body, two.body = [], []
        pairs = zip(inside, other, strict=False)
        if len(inside) != len(other) or not all(_alike(old, a, new, b) for a, b in pairs):
            return False
    return ast.dump(one) == ast.dump(two)


def _lines(module: Module, node: ast.stmt) -> list[str]:
    return module.lines[first_line(node) - 1 : last_line(node)]


def _drop(module: Module, edit: Edit) -> None:
    if isinstance(edit, AddImport):
        _drop_import(module.tree, edit)
    elif isinstance(edit, AddListItem):
        for literal in literals_with(module, edit.beside):
            literal.elts = [entry for entry in literal.elts if not _is_string(entry, edit.item)]
    else:
        for name, cls in classes(module.tree.body):
            if name == edit.cls:
                _drop_from_class(cls, edit)


def _is_string(node: ast.expr, value: str) -> bool:
    return isinstance(node, ast.Constant) and node.value == value


def _drop_import(tree: ast.Module, edit: AddImport) -> None:
    package = package_of(edit.path)
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and absolute_module(node, package) == edit.module:
            node.names = [alias for alias in node.names if alias.name != edit.name or alias.asname]
    tree.body = [node for node in tree.body if not isinstance(node, ast.ImportFrom) or node.names]


def _drop_from_class(cls: ast.ClassDef, edit: Edit) -> None:
    if isinstance(edit, AddBase):
        cls.bases = [base for base in cls.bases if base_name(base) != edit.base]
    elif isinstance(edit, RenameMethod):
        for method in [*functions(cls, edit.old), *functions(cls, edit.new)]:
            _rename(method, edit)
    elif isinstance(edit, AddMethods):
        _drop_functions(cls, {parse_method(source).name for source in edit.methods})
    elif isinstance(edit, ReplaceMethod):
        _drop_functions(cls, {edit.method, parse_method(edit.source).name})
    elif isinstance(edit, ReplaceSignature):
        for method in functions(cls, edit.method):
            method.args, method.returns = ast.arguments([], [], None, [], [], None, []), None
    elif isinstance(edit, RemoveMethod):
        _drop_functions(cls, {edit.method})
    elif isinstance(edit, AddAssignment):
        for method in functions(cls, edit.method):
            drop_assignment(method, edit.target, edit.value)
    elif isinstance(edit, AddStatement):
        drop_statement(cls, edit)
    elif isinstance(edit, AnnotateResult):
        for method in functions(cls, edit.method):
            method.returns = None
    elif isinstance(edit, CollectStates):
        undo(cls, edit)


def _rename(method: Function, edit: RenameMethod) -> None:
    method.name = edit.new
    for node in ast.walk(method):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == edit.old:
            node.func.attr = edit.new


def _drop_functions(cls: ast.ClassDef, names: set[str]) -> None:
    """Drop methods, and the placeholders that come or go with the last statement of a block."""
    blocks = [cls.body]
    for node in scope(cls.body):
        blocks += suites(node)
    for block in blocks:
        block[:] = [
            node
            for node in block
            if not is_placeholder(node) and not (isinstance(node, Function) and node.name in names)
        ]
