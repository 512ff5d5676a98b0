"""One file's syntax tree -> its :class:`~analyzer.facts.ModuleFacts`.

Only module level and class bodies are walked; the body of a function is read when it is first asked for.  The
standard library's ``ast`` does the reading: it is the parser of the interpreter itself, gives exact positions, and
costs a twelfth of a libcst parse; libcst is kept for what it is made for, the rewriting of the files that get a fix.
"""

from __future__ import annotations

import ast
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from functools import partial

from analyzer import lower
from analyzer.facts import (
    AttributeFacts,
    Binding,
    ClassFacts,
    Contents,
    FunctionFacts,
    Header,
    ModuleFacts,
    Parameter,
    Stub,
)
from analyzer.findings import Diagnostic
from analyzer.outline import Body
from analyzer.source import parse_body


def extract(
    tree: ast.Module,
    bodies: Mapping[int, Body],
    problems: list[Diagnostic],
    *,
    module: str,
    path: str,
    is_package: bool,
) -> ModuleFacts:
    """The facts of one parsed file.

    Args:
        tree, bodies: what :func:`analyzer.source.parse_outline` gave.
        problems: where to tell of bodies that cannot be read, once they are asked for.
        module: its dotted name.
        path: relative to the checkout's root.
        is_package: True for an ``__init__.py``.
    """
    facts = ModuleFacts(module, path, is_package, cut={line: (b.line, b.end_line) for line, b in bodies.items()})
    _Extractor(facts, bodies, problems).run(tree)
    return facts


Names = dict[str, list[Binding]]


class _Extractor:
    def __init__(self, facts: ModuleFacts, bodies: Mapping[int, Body], problems: list[Diagnostic]) -> None:
        self.facts, self.bodies, self.problems = facts, bodies, problems
        self.cut = list(bodies)  # lines, in order

    def run(self, tree: ast.Module) -> None:
        self.block(tree.body, self.facts.names, "")

    def block(self, statements: list[ast.stmt], names: Names, arm: str) -> None:
        """Bind what ``statements`` bind, as they would run one after another."""
        for node in statements:
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                self._import(node, names, arm)
            elif isinstance(node, ast.ClassDef):
                index = self._class(node, "")
                self._bind(names, node.name, Binding("class", index, node.lineno, arm))
            elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                function = self._function(node)
                if not any(d.rpartition(".")[2] == "overload" for d in function.decorators):
                    self.facts.functions[node.name] = function
                    self._bind(names, node.name, Binding("def", node.name, node.lineno, arm))
            elif isinstance(node, ast.Assign):
                for target, given in _assigned(node):
                    if isinstance(target, ast.Name):
                        self._bind(names, target.id, Binding("value", lower.lower(given), node.lineno, arm))
                    elif isinstance(target, ast.Attribute):
                        self._set_on_class(names, target.value, target.attr, node, given)
            elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
                if (done := _setattr(node.value)) is not None:
                    self._set_on_class(names, *done[:2], node, done[2])
            elif isinstance(node, ast.AnnAssign):
                if isinstance(node.target, ast.Name) and node.value is not None:
                    value = lower.lower(node.value)
                    self._bind(names, node.target.id, Binding("value", value, node.lineno, arm))
            elif isinstance(node, ast.If):
                self._if(node, names, arm)
            elif isinstance(node, ast.Try) or type(node).__name__ == "TryStar":
                self._try(node, names, arm)
            elif isinstance(node, (ast.With, ast.For, ast.While)):
                self.block(node.body, names, arm)

    def _bind(self, names: Names, name: str, binding: Binding) -> None:
        if name in names:
            self.facts.shadowed.setdefault(name, []).append((binding.line, names[name]))
        names[name] = [binding]

    def _import(self, node: ast.Import | ast.ImportFrom, names: Names, arm: str) -> None:
        for local, module, attribute in lower.imports(node, self.facts.package):
            if local == "*":
                self.facts.stars.append(module)
            else:
                self._bind(names, local, Binding("import", (module, attribute), node.lineno, arm))

    def _if(self, node: ast.If, names: Names, arm: str) -> None:
        static = _type_checking(node.test)
        if static is not None:
            typed, run = (node.body, node.orelse) if static else (node.orelse, node.body)
            self.block(typed, self.facts.type_names, arm)
            self.block(run, names, arm)
            return
        label = ast.unparse(node.test)
        first, second = dict(names), dict(names)
        self.block(node.body, first, label)
        self.block(node.orelse, second, f"not ({label})")
        _merge(names, first, second)

    def _try(self, node: ast.stmt, names: Names, arm: str) -> None:
        assert isinstance(node, ast.Try) or type(node).__name__ == "TryStar"
        before = dict(names)
        self.block([*node.body, *node.orelse], names, arm)  # type: ignore[attr-defined]
        for handler in node.handlers:  # type: ignore[attr-defined]
            fallback = dict(before)
            self.block(handler.body, fallback, f"except {ast.unparse(handler.type) if handler.type else ''}")
            for name, bindings in fallback.items():
                if bindings is not before.get(name):
                    # what the try body bound is the ordinary run: it stays last
                    names[name] = [*bindings, *(b for b in names.get(name, []) if b not in bindings)]
        self.block(node.finalbody, names, arm)  # type: ignore[attr-defined]

    # -- classes -----------------------------------------------------------------------------------

    def _class(self, node: ast.ClassDef, outer: str) -> int:
        qualname = f"{outer}.{node.name}" if outer else node.name
        facts = ClassFacts(
            name=node.name,
            qualname=qualname,
            line=node.lineno,
            column=node.col_offset + 1,
            header_end=max([node.lineno, *(base.end_lineno or 0 for base in [*node.bases, *_values(node)])]),
            end_line=self._end_line(node),
            bases=tuple(e for e in map(lower.lower, node.bases) if e is not None),
            decorators=tuple(e for e in map(lower.lower, node.decorator_list) if e is not None),
            has_metaclass=any(keyword.arg == "metaclass" for keyword in node.keywords),
        )
        index = len(self.facts.classes)
        self.facts.classes.append(facts)
        self._class_body(node.body, facts)
        return index

    def _class_body(self, statements: list[ast.stmt], facts: ClassFacts) -> None:
        for node in statements:
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                self._method(node, facts)
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                self._attribute(facts, node.target.id, node, node.value, node.annotation)
            elif isinstance(node, ast.Assign):
                for target, value in _assigned(node):
                    if isinstance(target, ast.Name):
                        self._attribute(facts, target.id, node, value, None)
            elif isinstance(node, ast.ClassDef):
                facts.nested[node.name] = self._class(node, facts.qualname)
            elif isinstance(node, ast.If):
                static = _type_checking(node.test)
                if static is not True:
                    self._class_body(node.body, facts)
                if static is not False:
                    self._class_body(node.orelse, facts)
            elif isinstance(node, (ast.Try, ast.With)):
                self._class_body(node.body, facts)

    def _set_on_class(self, names: Names, owner: ast.expr, name: str, node: ast.stmt, value: ast.expr) -> None:
        """``Class.name = value`` at module level, of a class of this file."""
        bindings = names.get(owner.id, []) if isinstance(owner, ast.Name) else []
        if len(bindings) == 1 and bindings[0].kind == "class":
            assert isinstance(bindings[0].target, int)
            self._attribute(self.facts.classes[bindings[0].target], name, node, value, None)

    def _method(self, node: ast.FunctionDef | ast.AsyncFunctionDef, facts: ClassFacts) -> None:
        function = self._function(node)
        last = {decorator.rpartition(".")[2] for decorator in function.decorators}
        if "overload" in last or last & {"setter", "deleter"}:
            return
        facts.methods[node.name] = function
        facts.attributes.pop(node.name, None)

    def _attribute(
        self,
        facts: ClassFacts,
        name: str,
        node: ast.stmt,
        value: ast.expr | None,
        annotation: ast.expr | None,
    ) -> None:
        previous = facts.attributes.get(name)
        if value is None and (previous is not None or name in facts.methods):
            return
        if value is not None:
            facts.methods.pop(name, None)
        facts.attributes[name] = AttributeFacts(
            name, node.lineno, value is not None, lower.lower(value), lower.lower(annotation)
        )

    # -- functions ---------------------------------------------------------------------------------

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> FunctionFacts:
        is_async = isinstance(node, ast.AsyncFunctionDef)
        cut = self.bodies.get(node.lineno)
        contents: Contents | partial[Contents] = (
            _contents(node.body, self.facts.package)
            if cut is None
            else partial(_read, cut, node.lineno, self.facts, is_async, self.problems)
        )
        return FunctionFacts(
            name=node.name,
            line=node.lineno,
            column=node.col_offset + 1,
            end_line=self._end_line(node),
            header=partial(_header, node.args, node.returns, self.facts.path, node.lineno, self.problems),
            decorators=tuple(_decorator(d) for d in node.decorator_list),
            contents=contents,
            is_async=is_async,
            source=partial(_source, cut, node.lineno, self.facts) if cut is not None else None,
        )

    def _end_line(self, node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> int:
        """The last line of a definition, whose last body may be cut out."""
        end = node.end_lineno or node.lineno
        last = bisect_right(self.cut, end) - 1
        return max(end, self.bodies[self.cut[last]].end_line) if last >= 0 and self.cut[last] >= node.lineno else end


def _header(
    arguments: ast.arguments, returns: ast.expr | None, path: str, line: int, problems: list[Diagnostic]
) -> Header:
    try:
        return _parameters(arguments), lower.lower(returns)
    except RecursionError:
        problems.append(Diagnostic(path, line, "nested too deeply to be read"))
    return (), None


def _contents(body: list[ast.stmt], package: str) -> Contents:
    return _stub(body), lower.block(body, package)


def _source(cut: Body, line: int, facts: ModuleFacts) -> str:
    """The text of a body that was cut out: whoever looks at it has looked into the function."""
    facts.asked.add(line)
    return cut.text


def _read(cut: Body, line: int, facts: ModuleFacts, is_async: bool, problems: list[Diagnostic]) -> Contents:
    """The contents of a function whose body was cut out of its file."""
    facts.asked.add(line)
    body = parse_body(cut, facts.path, is_async=is_async)
    if not isinstance(body, Diagnostic):
        try:
            return _contents(body, facts.package)
        except RecursionError:
            body = Diagnostic(facts.path, cut.line, "nested too deeply to be read")
    problems.append(body)
    return "", None


def _values(node: ast.ClassDef) -> list[ast.expr]:
    return [keyword.value for keyword in node.keywords]


def _assigned(node: ast.Assign) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Each target of an assignment with its value; the items of tuples one by one."""
    for target in node.targets:
        if not isinstance(target, ast.Tuple | ast.List):
            yield target, node.value
            continue
        items = node.value.elts if isinstance(node.value, ast.Tuple | ast.List) else []
        plain = len(items) == len(target.elts) and not any(isinstance(i, ast.Starred) for i in (*items, *target.elts))
        for index, part in enumerate(target.elts):
            yield part, items[index] if plain else ast.Subscript(node.value, ast.Constant(index), ast.Load())


def _setattr(call: ast.Call) -> tuple[ast.expr, str, ast.expr] | None:
    """Owner, name and value of ``setattr(owner, "name", value)``."""
    if isinstance(call.func, ast.Name) and call.func.id == "setattr" and len(call.args) == 3:
        owner, name, value = call.args
        if isinstance(name, ast.Constant) and isinstance(name.value, str):
            return owner, name.value, value
    return None


def _decorator(node: ast.expr) -> str:
    target = node.func if isinstance(node, ast.Call) else node
    return lower.dotted(target) or ""


def _type_checking(test: ast.expr) -> bool | None:
    """True for ``TYPE_CHECKING``, False for ``not TYPE_CHECKING``, None for any other condition."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = _type_checking(test.operand)
        return None if inner is None else not inner
    name = lower.dotted(test)
    return True if name is not None and name.rpartition(".")[2] == "TYPE_CHECKING" else None


def _merge(names: Names, first: Names, second: Names) -> None:
    """What a name can be after two branches: the alternatives of both, each once, the second's last."""
    for name in {**first, **second}:
        one, two = first.get(name, []), second.get(name, [])
        names[name] = two if one is two else [*(b for b in one if b not in two), *two]


def _parameters(arguments: ast.arguments) -> tuple[Parameter, ...]:
    out: list[Parameter] = []
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults: list[ast.expr | None] = [None] * (len(positional) - len(arguments.defaults))
    defaults += arguments.defaults
    for index, (argument, default) in enumerate(zip(positional, defaults, strict=True)):
        kind = "positional_only" if index < len(arguments.posonlyargs) else "positional_or_keyword"
        out.append(Parameter(argument.arg, kind, lower.lower(argument.annotation), lower.lower(default)))
    if arguments.vararg:
        out.append(Parameter(arguments.vararg.arg, "var_positional", lower.lower(arguments.vararg.annotation)))
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        out.append(Parameter(argument.arg, "keyword_only", lower.lower(argument.annotation), lower.lower(default)))
    if arguments.kwarg:
        out.append(Parameter(arguments.kwarg.arg, "var_keyword", lower.lower(arguments.kwarg.annotation)))
    return tuple(out)


def _stub(body: list[ast.stmt]) -> Stub:
    rest = [node for node in body if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))]
    rest = [node for node in rest if not isinstance(node, ast.Pass)]
    if not rest:
        return "returns-none"
    if len(rest) == 1 and isinstance(rest[0], ast.Raise) and rest[0].exc is not None:
        raised = rest[0].exc.func if isinstance(rest[0].exc, ast.Call) else rest[0].exc
        if lower.dotted(raised) == "NotImplementedError":
            return "raises"
    return ""
