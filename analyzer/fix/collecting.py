"""Let a decoder's loop collect the states of its layers: the loop, its head, the returns.

What is inserted is laid out anew; every line that is there stays, but for the head of the loop, the dict that an
earlier stage returns, and a last return whose value gets a name first.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from analyzer.findings import CollectStates
from analyzer.fix.comments import first_with_comments, take_deeper
from analyzer.fix.folding import Function
from analyzer.fix.layout import lay_out, one_line
from analyzer.fix.listing import insert_item, line_limit
from analyzer.fix.source import Refused, Splice, splice
from analyzer.fix.tokens import scan_brackets
from analyzer.fix.tree import Module, first_line, functions, last_line


def collect_states(text: str, edit: CollectStates, line_length: int | None = None) -> str:
    """Carry out the edit; nothing changes if the statements above the loop are there already.

    Args:
        text: the source.
        edit: what to do.
        line_length: to keep; by default what the formatter of such a file uses.

    Raises:
        Refused: the method is not as the edit takes it to be.
    """
    method = _method(Module.of(text), edit)
    loop = find_loop(method, edit.layers)
    if _stands_above(method.body, method.body.index(loop), edit.above):
        return text
    for step in (_return_states, _hand_on, _collect_last, _collect_first, _count, _prepare):  # from the bottom up
        text = step(text, edit, line_length)
    return text


def holds(cls: ast.ClassDef, edit: CollectStates) -> bool:
    """Whether everything that an edit declares is in its place."""
    method = only_function(cls, edit.method)
    loop = find_loop(method, edit.layers)
    body = method.body
    below = _parsed(edit.below)
    return (
        _stands_above(body, body.index(loop), edit.above)
        and _dumps(loop.body[_skipped(loop) :][: len(edit.first)]) == _dumps(_parsed(edit.first))
        and (not edit.last or _dumps(loop.body[-len(edit.last) :]) == _dumps(_parsed(edit.last)))
        and (not below or _dumps(body[-1 - len(below) : -1]) == _dumps(below))
        and (not edit.index or edit.index in _names(loop.target))
        and (not edit.handed_on or _is_handed_on(method, edit))
    )


def undo(cls: ast.ClassDef, edit: CollectStates) -> None:
    """Take everything that an edit declares out of a tree, and write its loop's head in one way."""
    for method in functions(cls, edit.method):
        loop = find_loop(method, edit.layers)
        _take_out(loop.body, edit.first)
        _take_out(loop.body, edit.last)
        if edit.index and _is_counted(loop):
            assert isinstance(loop.iter, ast.Call) and isinstance(loop.target, ast.Tuple)
            loop.target, loop.iter = loop.target.elts[1], loop.iter.args[0]
        _take_out(method.body, edit.above)
        _take_out(method.body, edit.below)
        if edit.value:
            _take_value_back(method.body, edit.value)
        entry = _entry(edit.handed_on)
        for stage in _stage_dicts(method) if entry else ():
            kept = [pair for pair in zip(stage.keys, stage.values, strict=True) if ast.dump(pair[1]) != entry]
            stage.keys, stage.values = [key for key, _ in kept], [value for _, value in kept]


# -- finding ---------------------------------------------------------------------------------------


def only_function(cls: ast.ClassDef, name: str) -> Function:
    """The one definition of a method.

    Raises:
        Refused: there is none, or more than one.
    """
    found = functions(cls, name)
    if len(found) != 1:
        raise Refused(f"class {cls.name} has {len(found) or 'no'} definitions of {name}")
    return found[0]


def find_loop(method: Function, layers: str) -> ast.For:
    """The one loop over layers, directly in a method's body.

    Raises:
        Refused: there is none, or more than one.
    """
    found = [node for node in method.body if isinstance(node, ast.For) and _runs_over(node, layers)]
    if len(found) != 1:
        raise Refused(f"{method.name} has {len(found) or 'no'} loops over self.{layers}")
    return found[0]


def _runs_over(loop: ast.For, layers: str) -> bool:
    inside = [loop.iter, *loop.body[: _skipped(loop)]]
    return any(_is_own(part, layers) for node in inside for part in ast.walk(node))


def _is_own(node: ast.AST, name: str) -> bool:
    return (
        isinstance(node, ast.Attribute)
        and node.attr == name
        and isinstance(node.value, ast.Name)
        and node.value.id == "self"
    )


def _skipped(loop: ast.For) -> int:
    """How many statements only take the layer out of the list, where the loop runs over indices."""
    over_indices = isinstance(loop.iter, ast.Call) and isinstance(loop.iter.func, ast.Name)
    return int(over_indices and loop.iter.func.id == "range")  # type: ignore[attr-defined]


def _is_counted(loop: ast.For) -> bool:
    call = loop.iter
    counts = isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "enumerate"
    return counts and isinstance(loop.target, ast.Tuple) and len(loop.target.elts) == 2


def _stage_dicts(method: Function) -> list[ast.Dict]:
    """The dicts that are returned on a condition, as the argument of a call."""
    found = []
    for node in method.body:
        left = node.body[-1] if isinstance(node, ast.If) else None
        call = left.value if isinstance(left, ast.Return) else None
        if isinstance(call, ast.Call):
            given = [*call.args, *(keyword.value for keyword in call.keywords)]
            found += [value for value in given[:1] if isinstance(value, ast.Dict)]
    return found


def _is_handed_on(method: Function, edit: CollectStates) -> bool:
    entry = _entry(edit.handed_on)
    return any(ast.dump(value) == entry for stage in _stage_dicts(method) for value in stage.values)


def _entry(source: str) -> str:
    """The dump of the value of ``**value``."""
    return ast.dump(ast.parse(source.removeprefix("**"), mode="eval").body) if source else ""


def _method(module: Module, edit: CollectStates) -> Function:
    return only_function(module.class_named(edit.cls), edit.method)


# -- comparing -------------------------------------------------------------------------------------


def _parsed(statements: Sequence[str]) -> list[ast.stmt]:
    return [node for statement in statements for node in ast.parse(statement).body]


def _dumps(nodes: Sequence[ast.stmt]) -> list[str]:
    return [ast.dump(node) for node in nodes]


def _names(node: ast.expr) -> set[str]:
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


def _stands_above(body: list[ast.stmt], place: int, statements: Sequence[str]) -> bool:
    wanted = _dumps(_parsed(statements))
    return _dumps(body[max(0, place - len(wanted)) : place]) == wanted


def _take_out(block: list[ast.stmt], statements: Sequence[str]) -> None:
    """Remove a run of statements from a block, if it stands there."""
    wanted = _dumps(_parsed(statements))
    dumps = _dumps(block)
    for place in range(len(dumps) - len(wanted), -1, -1):
        if wanted and dumps[place : place + len(wanted)] == wanted:
            del block[place : place + len(wanted)]
            return


def _take_value_back(body: list[ast.stmt], name: str) -> None:
    """``name = value; return name`` as ``return value``."""
    named, last = body[-2], body[-1]
    if isinstance(last, ast.Return) and isinstance(last.value, ast.Name) and last.value.id == name:
        if isinstance(named, ast.Assign) and _dumps([named]) == _dumps([ast.Assign([_stored(name)], named.value)]):
            last.value = named.value
            del body[-2]


def _stored(name: str) -> ast.Name:
    return ast.Name(name, ast.Store())


# -- the steps, each on the text as the one before has left it ------------------------------------------


def _insert(text: str, line: int, statements: Sequence[str], indent: str, line_length: int | None) -> str:
    """Insert statements above a line."""
    module = Module.of(text)
    limit, newline = line_limit(module, line_length), module.newline(line)
    rows = [row for statement in statements for row in lay_out(statement, indent, module.indent_unit, limit)]
    at = module.line_start(line)
    before = text[:at] if text[:at].endswith("\n") else text[:at] + newline
    return before + "".join(row + newline for row in rows) + text[at:]


def _return_states(text: str, edit: CollectStates, line_length: int | None) -> str:
    module = Module.of(text)
    last = _method(module, edit).body[-1]
    if not isinstance(last, ast.Return) or last.value is None:
        raise Refused(f"{edit.method} does not end with a return")
    indent = module.indent(last.lineno)
    if not edit.value:
        return _insert(text, last.lineno, edit.below, indent, line_length)
    newline = module.newline(last_line(last))
    start, end = module.start(last), module.line_start(last_line(last) + 1)
    named = f"{indent}{edit.value} = {text[module.start(last.value) : end]}"
    named += "" if named.endswith("\n") else newline
    text = splice(text, [Splice(module.line_start(last.lineno), end, f"{named}{indent}return {edit.value}{newline}")])
    if text[start - len(indent) : start] != indent:
        raise Refused(f"the last return of {edit.method} does not stand on a line of its own")
    return _insert(text, last_line(last) + 1, edit.below, indent, line_length)


def _hand_on(text: str, edit: CollectStates, line_length: int | None) -> str:
    if not edit.handed_on:
        return text
    module = Module.of(text)
    stages = _stage_dicts(_method(module, edit))
    if len(stages) != 1:
        raise Refused(f"{edit.method} has {len(stages) or 'no'} returns of an earlier stage")
    limit, line = line_limit(module, line_length), stages[0].lineno
    at = scan_brackets(text, module.start(stages[0]))
    if "\n" in text[at.start : at.end] or module.lines[line - 1].lstrip().startswith(("{", "dict")):
        return insert_item(module, at, len(at.items), edit.handed_on, limit)
    begin, end = module.line_start(line), module.line_start(line + 1)
    statement = f"{text[begin : at.end - 1]}, {edit.handed_on}{text[at.end - 1 : end]}".strip()
    newline, indent = module.newline(line), module.indent(line)
    rows = "".join(row + newline for row in lay_out(statement, indent, module.indent_unit, limit))
    return splice(text, [Splice(begin, end, rows)])


def _collect_last(text: str, edit: CollectStates, line_length: int | None) -> str:
    if not edit.last:
        return text
    module = Module.of(text)
    loop = find_loop(_method(module, edit), edit.layers)
    indent = module.indent(first_line(loop.body[0]))
    line = take_deeper(module, last_line(loop.body[-1]), len(indent.expandtabs(8)))
    return _insert(text, line + 1, edit.last, indent, line_length)


def _collect_first(text: str, edit: CollectStates, line_length: int | None) -> str:
    if not edit.first:
        return text
    module = Module.of(text)
    loop = find_loop(_method(module, edit), edit.layers)
    first = loop.body[_skipped(loop)]
    return _insert(text, first_with_comments(module, first), edit.first, module.indent(first_line(first)), line_length)


def _count(text: str, edit: CollectStates, line_length: int | None) -> str:
    """Write the head of the loop such that it counts."""
    module = Module.of(text)
    loop = find_loop(_method(module, edit), edit.layers)
    head_end = module.text.find(":", module.end(loop.iter), module.start(loop.body[0]))
    if loop.body[0].lineno == last_line(loop.iter):
        raise Refused(f"the loop in line {loop.lineno} stands on one line")
    if not edit.index:
        return text
    layer: ast.expr = loop.target
    over: ast.expr = loop.iter
    if _is_counted(loop):
        assert isinstance(loop.iter, ast.Call) and isinstance(loop.target, ast.Tuple)
        layer, over = loop.target.elts[1], loop.iter.args[0]
    source = one_line(module, module.start(over), module.end(over))
    start = f", start={edit.start}" if edit.start != "0" else ""
    head = f"for {edit.index}, {module.source(layer)} in enumerate({source}{start}):"
    indent = module.indent(loop.lineno)
    rows = lay_out(head, indent, module.indent_unit, line_limit(module, line_length))
    new = module.newline(loop.lineno).join(rows).removeprefix(indent)
    return splice(text, [Splice(module.start(loop), head_end + 1, new)])


def _prepare(text: str, edit: CollectStates, line_length: int | None) -> str:
    module = Module.of(text)
    loop = find_loop(_method(module, edit), edit.layers)
    return _insert(text, first_with_comments(module, loop), edit.above, module.indent(loop.lineno), line_length)
