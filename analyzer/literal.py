"""Values of what stands in source literally: constants, tables of them, and names that lead to classes.

For code that is about tables and names, such as a plugin's registrations: loops over literal tables run through, a
formatted string of known parts is known, and a name that branches bind differently has several values.  Anything
else is :class:`Unknown`, with its reason.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from analyzer.facts import ModuleFacts
from analyzer.index import ClassInfo, External, FunctionRef, Index, ModuleRef, Target, ValueRef
from analyzer.lower import Block, Expr, Stmt, render

MOST_VALUES = 64
"""Values of one expression that are kept: more come from loops that are not over literals."""

DEEPEST = 8
"""Calls of functions inside each other that are followed."""


@dataclass(frozen=True)
class Unknown:
    """Something that does not stand in the source literally."""

    reason: str


@dataclass(frozen=True)
class Given(Unknown):
    """A parameter of a function that is looked at by itself: its callers know."""


@dataclass(frozen=True)
class Table:
    """A dict, as pairs."""

    pairs: tuple[tuple[Value, Value], ...]


@dataclass(frozen=True)
class Member:
    """An attribute of something that is no module of the checkout: ``owner.name``."""

    owner: Target
    name: str


Value = Any
"""A constant, a tuple of values, a :class:`Table`, a target of the index, a :class:`Member` or :class:`Unknown`."""

Values = list[Value]
Environment = dict[str, Values]


@dataclass(frozen=True)
class Place:
    """Where code stands: its module, and the functions that are being run there, each once."""

    facts: ModuleFacts
    running: tuple[object, ...] = ()


@dataclass
class Reader:
    """Runs code over literal values.

    Args:
        index: the checkout's names.
        called: is told of every call: what is called, its arguments by place and by name, and where it stands.
        inside: whether a function of a module is to be followed.
    """

    index: Index
    called: Callable[[Values, Sequence[Values], dict[str, Values], int, Place], None]
    inside: Callable[[str], bool]
    _returned: list[Values] = field(default_factory=list)
    _variables: dict[ValueRef, Values] = field(default_factory=dict)

    # -- statements --------------------------------------------------------------------------------

    def run(self, body: Block, place: Place, env: Environment) -> None:
        """Run statements: of branches each, of loops over known items each round."""
        for statement in body:
            self._statement(statement, place, env)

    def _statement(self, statement: Stmt, place: Place, env: Environment) -> None:
        kind = statement[0]
        if kind == "assign":
            values = self.values(statement[3], place, env)
            for target in statement[2]:
                self._bind(target, values, env)
        elif kind in ("expr", "return"):
            values = self.values(statement[2], place, env) if statement[2] is not None else [None]
            if kind == "return" and self._returned:
                self._returned[-1] += values
        elif kind == "if":
            self.values(statement[2], place, env)
            self._branches([statement[3], statement[4]], place, env)
        elif kind == "for":
            self._loop(statement, place, env)
        elif kind == "while":
            self.run(statement[3], place, env)
        elif kind == "with":
            for context, _ in statement[2]:
                self.values(context, place, env)
            self.run(statement[3], place, env)
        elif kind == "try":
            self._branches([(*statement[2], *statement[4]), *(body for _, body in statement[3])], place, env)
            self.run(statement[5], place, env)
        elif kind == "import":
            for local, module, attribute in statement[2]:
                if local != "*":
                    targets = self.index.imported(module, attribute)
                    env[local] = [v for target in targets for v in self._of_target(target, place)]

    def _branches(self, bodies: Iterable[Block], place: Place, env: Environment) -> None:
        """Branches of which one is taken; what an earlier one binds comes last, as the ordinary run's."""
        made = []
        for body in bodies:
            branch = dict(env)
            self.run(body, place, branch)
            made.append(branch)
        for name in dict.fromkeys(itertools.chain(*made)):
            found = [branch[name] for branch in reversed(made) if name in branch]
            env[name] = _distinct(itertools.chain(*found))

    def _loop(self, statement: Stmt, place: Place, env: Environment) -> None:
        for given in self.values(statement[3], place, env):
            items = _items(given)
            for item in items if items is not None else [Unknown(f"an item of {render(statement[3])}")]:
                self._bind(statement[2], [item], env)
                self.run(statement[4], place, env)
        self.run(statement[5], place, env)

    def _bind(self, target: Expr, values: Values, env: Environment) -> None:
        if target[0] == "name":
            env[target[1]] = values
        elif target[0] == "seq":
            for position, part in enumerate(target[2]):
                parts = [v[position] for v in values if isinstance(v, tuple) and len(v) == len(target[2])]
                self._bind(part, parts or [Unknown(f"part of {render(target)}")], env)

    # -- expressions -------------------------------------------------------------------------------

    def values(self, expr: Expr, place: Place, env: Environment) -> Values:
        """Everything that an expression can be, the ordinary run's last."""
        form = getattr(self, f"_{expr[0]}", None)
        found = form(expr, place, env) if form is not None else self._parts(expr, place, env)
        return _distinct(found)[-MOST_VALUES:] or [Unknown(render(expr))]

    def _parts(self, expr: Expr, place: Place, env: Environment) -> Values:
        """Something without a value of its own: calls inside it are seen all the same."""
        for part in _inside(expr):
            self.values(part, place, env)
        return [Unknown(f"{render(expr)} is computed")]

    def _const(self, expr: Expr, _: Place, __: Environment) -> Values:
        return [expr[1]]

    def _name(self, expr: Expr, place: Place, env: Environment) -> Values:
        name = expr[1]
        if name in env:
            return env[name]
        if name == "__name__":
            return [place.facts.module]
        if name == "__package__":
            return [place.facts.package]
        found = self.index.lookup(place.facts.module, name) or [External(f"builtins.{name}")]
        return [v for target in found for v in self._of_target(target, place)]

    def _of_target(self, target: Target, place: Place) -> Values:
        """What a module-level variable holds; the variable itself where that is computed."""
        if not isinstance(target, ValueRef) or target in place.running:
            return [target]
        if target not in self._variables:
            facts = self.index.module(target.module)
            assert facts is not None  # it was found there
            bound = [b.target for b in facts.names[target.name] if b.kind == "value" and b.line == target.line]
            home = Place(facts, (*place.running, target))
            found = [v for value in bound if isinstance(value, tuple) for v in self.values(value, home, {})]
            self._variables[target] = [target if isinstance(value, Unknown) else value for value in found]
        return self._variables[target]

    def _attr(self, expr: Expr, place: Place, env: Environment) -> Values:
        return [v for owner in self.values(expr[1], place, env) for v in self._member(owner, expr[2], place)]

    def _member(self, owner: Value, name: str, place: Place) -> Values:
        if isinstance(owner, ModuleRef):
            if name == "__name__":
                return [owner.name]
            return [v for target in self.index.member(owner, name) for v in self._of_target(target, place)]
        if isinstance(owner, External):
            return [External(f"{owner.name}.{name}")]
        if isinstance(owner, ClassInfo) and name in ("__name__", "__qualname__", "__module__"):
            return [{"__name__": owner.name, "__qualname__": owner.facts.qualname}.get(name, owner.module.module)]
        return [Member(owner, name)]

    def _seq(self, expr: Expr, place: Place, env: Environment) -> Values:
        parts: list[Value] = []
        for part in expr[2]:
            if part[0] == "star":
                parts += _items(self.values(part[1], place, env)[-1]) or ()
            else:
                parts.append(self.values(part, place, env)[-1])
        return [tuple(parts)]

    def _dict(self, expr: Expr, place: Place, env: Environment) -> Values:
        pairs: list[tuple[Value, Value]] = []
        for key, value in expr[1]:
            given = self.values(value, place, env)[-1]
            if key is not None:
                pairs.append((self.values(key, place, env)[-1], given))
            elif isinstance(given, Table):
                pairs += given.pairs
        return [Table(tuple(pairs))]

    def _ifexp(self, expr: Expr, place: Place, env: Environment) -> Values:
        return [*self.values(expr[3], place, env), *self.values(expr[2], place, env)]

    def _bool(self, expr: Expr, place: Place, env: Environment) -> Values:
        return [value for part in reversed(expr[2]) for value in self.values(part, place, env)]

    def _format(self, expr: Expr, place: Place, env: Environment) -> Values:
        parts = [part[1][0] if part[0] == "other" and len(part[1]) == 1 else part for part in expr[1]]
        return self._joined([self.values(part, place, env) for part in parts], expr)

    def _bin(self, expr: Expr, place: Place, env: Environment) -> Values:
        both = [self.values(expr[2], place, env), self.values(expr[3], place, env)]
        return self._joined(both, expr) if expr[1] == "Add" else [Unknown(render(expr))]

    def _joined(self, parts: Sequence[Values], expr: Expr) -> Values:
        made: Values = []
        for chosen in itertools.islice(itertools.product(*parts), MOST_VALUES):
            unknown = next((one for one in chosen if not isinstance(one, str | int)), None)
            if unknown is None:
                made.append("".join(map(str, chosen)))
            else:
                made.append(unknown if isinstance(unknown, Unknown) else Unknown(f"{render(expr)} is computed"))
        return made

    def _sub(self, expr: Expr, place: Place, env: Environment) -> Values:
        found: Values = []
        for owner in self.values(expr[1], place, env):
            for key in self.values(expr[2], place, env):
                if isinstance(owner, tuple) and isinstance(key, int) and -len(owner) <= key < len(owner):
                    found.append(owner[key])
                elif isinstance(owner, Table):
                    found += [value for name, value in owner.pairs if name == key]
        return found

    def _comp(self, expr: Expr, place: Place, env: Environment) -> Values:
        made: list[Value] = []
        for item in _items(self.values(expr[3], place, env)[-1]) or ():
            inner = dict(env)
            self._bind(expr[2], [item], inner)
            made += self.values(expr[1], place, inner)
        return [tuple(made)]

    # -- calls -------------------------------------------------------------------------------------

    def _call(self, expr: Expr, place: Place, env: Environment) -> Values:
        _, func, args, keywords, line, _ = expr
        callees = self.values(func, place, env)
        positional = [self.values(part[1] if part[0] == "star" else part, place, env) for part in args]
        named = {name: self.values(value, place, env) for name, value in keywords if name is not None}
        self.called(callees, positional, named, line, place)
        found: Values = []
        for callee in callees:
            found += self._result(callee, positional, named, place)
        return found or [Unknown(f"{render(expr)} is computed")]

    def _result(self, callee: Value, positional: Sequence[Values], named: dict[str, Values], place: Place) -> Values:
        if isinstance(callee, FunctionRef):
            return self._followed(callee, positional, named, place)
        if isinstance(callee, Member):
            return _method(callee, positional)
        name = callee.name if isinstance(callee, External) else ""
        if name == "importlib.import_module" and positional:
            return [self._module(given, place) for given in positional[0]]
        if name == "builtins.getattr" and len(positional) > 1:
            return [
                value
                for owner in positional[0]
                for attribute in positional[1]
                if isinstance(attribute, str)
                for value in self._member(owner, attribute, place)
            ]
        if name == "builtins.dict" and not positional:
            return [Table(tuple((key, values[-1]) for key, values in named.items()))]
        if name in _COPIES and len(positional) == 1:
            return positional[0]
        return []

    def _module(self, given: Value, place: Place) -> Value:
        if not isinstance(given, str):
            return given if isinstance(given, Unknown) else Unknown("which module is imported is computed")
        dots = len(given) - len(given.lstrip("."))
        if dots:
            above = place.facts.package.split(".")
            given = ".".join([*above[: len(above) - dots + 1], given[dots:]])
        return self.index.imported(given, None)[0]

    def _followed(
        self, callee: FunctionRef, positional: Sequence[Values], named: dict[str, Values], place: Place
    ) -> Values:
        facts = self.index.module(callee.module)
        function = facts.functions.get(callee.name) if facts is not None else None
        if facts is None or function is None or not self.inside(callee.module):
            return []
        if callee in place.running or len(place.running) > DEEPEST or function.whole_body is None:
            return []
        env = dict(zip((p.name for p in function.parameters), positional, strict=False)) | named
        for parameter in function.parameters:
            if parameter.name not in env:
                default = parameter.default
                given = self.values(default, place, {}) if default is not None else [Unknown(parameter.name)]
                env[parameter.name] = given
        self._returned.append([])
        self.run(function.whole_body, Place(facts, (*place.running, callee)), env)
        return self._returned.pop()


_COPIES = ("builtins.dict", "builtins.list", "builtins.tuple", "builtins.sorted", "builtins.set", "builtins.frozenset")


def _method(callee: Member, positional: Sequence[Values]) -> Values:
    """What a method of a literal gives."""
    owner: Any = callee.owner
    if isinstance(owner, Table):
        if callee.name == "items":
            return [owner.pairs]
        if callee.name in ("keys", "values"):
            return [tuple(pair[callee.name == "values"] for pair in owner.pairs)]
        if callee.name == "get" and positional:
            return [value for key, value in owner.pairs if key in positional[0]]
        if callee.name == "copy":
            return [owner]
    if isinstance(owner, str) and callee.name == "join" and len(positional) == 1:
        rows = [row for row in positional[0] if isinstance(row, tuple) and all(isinstance(one, str) for one in row)]
        return [owner.join(row) for row in rows]
    if isinstance(owner, str) and callee.name == "format" and all(len(p) == 1 for p in positional):
        given = [p[0] for p in positional]
        if all(isinstance(one, str | int) for one in given):
            try:
                return [owner.format(*given)]
            except (IndexError, KeyError, ValueError):
                return []
    return []


def _items(value: Value) -> Sequence[Value] | None:
    """What a loop over a value goes through; None where that is not known."""
    if isinstance(value, tuple):
        return value
    return tuple(key for key, _ in value.pairs) if isinstance(value, Table) else None


def _distinct(values: Iterable[Value]) -> Values:
    """Each value once, where it stands last."""
    out: Values = []
    for value in values:
        out = [one for one in out if one is not value and (one != value or one.__class__ is not value.__class__)]
        out.append(value)
    return out


def _inside(expr: Expr) -> list[Expr]:
    """The expressions directly inside one."""
    out: list[Expr] = []
    todo: list[object] = list(expr[1:])
    while todo:
        part = todo.pop(0)
        if isinstance(part, tuple):
            if part and isinstance(part[0], str):
                out.append(part)
            else:
                todo[:0] = part
    return out
