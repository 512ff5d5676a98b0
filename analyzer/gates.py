"""Who asks: the places outside the models that test a contract, call its methods, or dispatch on a class's name.

Found by searching the checkout's bytes for the contracts' own names and reading only the files that hold them.
"""

from __future__ import annotations

import ast
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from analyzer.checkout import Checkout
from analyzer.contracts import Contract
from analyzer.dispatch import AllowList, FunctionNode, NameGate, allow_list, last_line, message, name_gate, own_nodes
from analyzer.findings import Diagnostic
from analyzer.lower import dotted
from analyzer.source import parse_outline, read_source

NAMES = b"get_model_name"
"""In a file outside the models: it may dispatch on the names of classes."""

Subject = Literal["outer model", "inner model", "class", "unwrapped"]


@dataclass(frozen=True)
class Gate:
    """A call of a contract's checker or of one of its methods, and the object that it is asked of.

    ``error`` is the message raised where the check fails, as far as it is constant; ``function`` the name of the
    function that it stands in; ``needs`` the other contracts that the conditions around it ask for; ``positional``
    and ``keywords`` what it passes.
    """

    contract: str
    member: str
    path: str
    line: int
    subject: Subject
    text: str
    error: str = ""
    function: str = ""
    needs: tuple[str, ...] = ()
    positional: int = 0
    keywords: tuple[str, ...] = ()


@dataclass
class Consumers:
    """Everything found outside the models."""

    gates: list[Gate] = field(default_factory=list)
    allow_lists: list[AllowList] = field(default_factory=list)
    name_gates: list[NameGate] = field(default_factory=list)
    diagnostics: list[Diagnostic] = field(default_factory=list)
    words: tuple[str, ...] = ()  # what was searched for
    read: list[str] = field(default_factory=list)  # files that were looked into

    def of(self, contract: str) -> list[Gate]:
        """The gates of one contract, the checks first."""
        return [g for g in self.gates if g.contract == contract]


def find_consumers(checkout: Checkout, contracts: dict[str, Contract], class_names: Iterable[str]) -> Consumers:
    """Search a checkout's package.

    Args:
        checkout: the tree.
        contracts: by name.
        class_names: names of registered classes, for dispatch on them.
    """
    members = _members(contracts)
    words = {name.encode() for name in members} | {b".model_type\n", b".model_type for"}
    mentioned, with_names = _any_of(words), _any_of(words | {NAMES})
    names = frozenset(class_names)
    found = Consumers(words=tuple(sorted(word.decode() for word in words | {NAMES})))
    interfaces = checkout.rel(checkout.interfaces_path)
    roots = tuple(checkout.rel(root) + "/" for root in checkout.model_roots)
    for path in checkout.python_files(checkout.package):
        rel = checkout.rel(path)
        if rel == interfaces:
            continue
        try:
            data = path.read_bytes()
        except OSError as error:
            found.diagnostics.append(Diagnostic(rel, 0, f"cannot be read: {error.strerror or error}"))
            continue
        in_models = rel.startswith(roots)
        dispatches = not in_models and NAMES in data
        if in_models:
            if b"_cls." not in data or not _calls_from_outside(data, members):
                continue
        elif not dispatches and not mentioned.search(data):
            continue
        found.read.append(rel)
        lines = _lines_with(data, with_names if dispatches else mentioned)
        source = read_source(path, rel)
        parsed = parse_outline(source, lines) if not isinstance(source, Diagnostic) else source
        if isinstance(parsed, Diagnostic):
            found.diagnostics.append(parsed)
            continue
        try:
            _read(parsed[0], rel, lines, members, contracts, names, found, in_models=in_models)
        except RecursionError:
            found.diagnostics.append(Diagnostic(rel, 0, "nested too deeply to be searched for gates"))
    found.gates.sort(key=lambda g: (g.path, g.line, g.contract, g.member))
    return found


def _members(contracts: dict[str, Contract]) -> dict[str, tuple[str, ...]]:
    """Contracts by checker and by method name; a name that several contracts have belongs to each."""
    out: dict[str, list[str]] = {}
    for contract in contracts.values():
        names = [m.name for m in contract.methods if m.name != "forward" and not m.name.startswith("_")]
        if contract.checker is not None:
            names.append(contract.checker)
        for name in names:
            out.setdefault(name, []).append(contract.name)
    return {name: tuple(owners) for name, owners in out.items()}


def _any_of(words: Iterable[bytes]) -> re.Pattern[bytes]:
    """What matches wherever one of some words stands, at its first underscore.

    A pattern that starts with one certain character lets :mod:`re` jump from place to place: it takes a third of
    the time of searching for one word after the other.
    """
    parts = ((word, *word.partition(b"_")) for word in sorted(words))
    rests = [re.escape(rest) + b"(?<=" + re.escape(word) + b")" for word, _, underscore, rest in parts if underscore]
    plain = [re.escape(word) for word in sorted(words) if b"_" not in word]
    return re.compile(b"|".join([b"_(?:" + b"|".join(rests) + b")", *plain]))


def _lines_with(data: bytes, pattern: re.Pattern[bytes]) -> list[int]:
    """Lines on which a pattern matches: only functions around them are read."""
    lines: list[int] = []
    line, counted = 1, 0
    for match in pattern.finditer(data):
        line += data.count(b"\n", counted, match.start())
        counted = match.start()
        lines.append(line)
    return lines


def _calls_from_outside(data: bytes, members: dict[str, tuple[str, ...]]) -> bool:
    """Whether a file of the model folders calls a contract's class method on a class that it was given."""
    return any(b"_cls." + name.encode() + b"(" in data for name in members)


def _read(
    tree: ast.Module,
    path: str,
    lines: list[int],
    members: dict[str, tuple[str, ...]],
    contracts: dict[str, Contract],
    names: frozenset[str],
    found: Consumers,
    *,
    in_models: bool,
) -> None:
    for function in _functions(tree.body):
        position = bisect_left(lines, function.lineno)
        if position == len(lines) or lines[position] > (function.end_lineno or function.lineno):
            continue
        around = _Surroundings(function)
        for node, conditions in _guarded_nodes(function):
            if isinstance(node, ast.Call):
                _read_call(node, around, conditions, path, members, contracts, found, in_models)
            elif isinstance(node, ast.If) and not in_models:
                _read_if(node, function, path, contracts, names, found)


def _functions(body: list[ast.stmt]) -> Iterator[FunctionNode]:
    """Functions at module level, in classes and in branches, and those inside them."""
    for node in body:
        if isinstance(node, FunctionNode):
            yield node
        for name in ("body", "orelse", "finalbody"):
            inside = getattr(node, name, None)
            if isinstance(inside, list):
                yield from _functions(inside)


def _guarded_nodes(function: FunctionNode) -> Iterator[tuple[ast.AST, tuple[ast.expr, ...]]]:
    """Nodes of a function's body with the conditions of the ``if`` statements that they stand under."""
    todo: list[tuple[ast.AST, tuple[ast.expr, ...]]] = [(node, ()) for node in reversed(function.body)]
    while todo:
        node, conditions = todo.pop()
        yield node, conditions
        if isinstance(node, (FunctionNode, ast.ClassDef)):
            continue
        for name, value in ast.iter_fields(node):
            under = (*conditions, node.test) if isinstance(node, ast.If) and name == "body" else conditions
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    todo.append((child, under))


def _needs(conditions: tuple[ast.expr, ...], contracts: dict[str, Contract]) -> frozenset[str]:
    """Contracts that conditions ask for: by their checker, or a flag such as ``self.uses_mrope``."""
    if not conditions:
        return frozenset()
    words = set()
    for condition in conditions:
        for node in ast.walk(condition):
            if isinstance(node, (ast.Name, ast.Attribute)):
                words.add(node.id if isinstance(node, ast.Name) else node.attr)
    flags = {word.replace("uses_", "supports_", 1) for word in words}
    return frozenset(c.name for c in contracts.values() if c.checker in words or flags & set(c.members))


def _read_call(
    node: ast.Call,
    around: _Surroundings,
    conditions: tuple[ast.expr, ...],
    path: str,
    members: dict[str, tuple[str, ...]],
    contracts: dict[str, Contract],
    found: Consumers,
    in_models: bool,
) -> None:
    if isinstance(node.func, ast.Attribute):
        name, subject = node.func.attr, node.func.value
    elif isinstance(node.func, ast.Name) and node.args:
        name, subject = node.func.id, node.args[0]
    else:
        return
    is_method = isinstance(node.func, ast.Attribute)
    if in_models and not (is_method and (dotted(subject) or "").endswith("_cls")):
        return
    function = around.function
    for owner in members.get(name, ()):
        if (contracts[owner].checker == name) is is_method or function.name == name:
            continue
        kind = _subject(subject, function, around.unwrapped)
        text = ast.unparse(node)
        error = around.errors.get(node.lineno, "")
        others = tuple(sorted(_needs(conditions, contracts) - {owner}))
        passed = tuple(k.arg for k in node.keywords if k.arg is not None)
        found.gates.append(
            Gate(owner, name, path, node.lineno, kind, text, error, function.name, others, len(node.args), passed)
        )


def _subject(node: ast.expr, function: FunctionNode, unwrapped: frozenset[str]) -> Subject:
    text = ast.unparse(node)
    if "get_language_model" in text or text.endswith(".language_model"):
        return "inner model"
    root = text.partition(".")[0]
    if root in unwrapped:
        return "unwrapped"
    if text.endswith(("cls", "_class")) or text.startswith("type("):
        return "class"
    for argument in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs):
        if argument.arg == root and argument.annotation is not None:
            annotation = ast.unparse(argument.annotation)
            if annotation.startswith(("type[", "Type[")):
                return "class"
    return "outer model"


class _Surroundings:
    """What a gate needs to know of the function that it stands in, found out only where there is a gate."""

    def __init__(self, function: FunctionNode) -> None:
        self.function = function

    @cached_property
    def unwrapped(self) -> frozenset[str]:
        """Local names that the function binds to what ``get_language_model`` gives."""
        out = set()
        for node in own_nodes(self.function):
            if isinstance(node, ast.Assign) and "get_language_model" in ast.dump(node.value):
                out |= {t.id for t in node.targets if isinstance(t, ast.Name)}
        return frozenset(out)

    @cached_property
    def errors(self) -> dict[int, str]:
        """Messages raised under ``if not check(...)``, by the line of the check."""
        out: dict[int, str] = {}
        for node in own_nodes(self.function):
            if isinstance(node, ast.If):
                raised = next((s for s in node.body if isinstance(s, ast.Raise)), None)
                if raised is not None and isinstance(raised.exc, ast.Call):
                    for line in range(node.test.lineno, (node.test.end_lineno or node.test.lineno) + 1):
                        out[line] = f"{dotted(raised.exc.func) or 'error'}: {message(raised.exc)}"
        return out


def _read_if(
    node: ast.If,
    function: FunctionNode,
    path: str,
    contracts: dict[str, Contract],
    names: frozenset[str],
    found: Consumers,
) -> None:
    allow = allow_list(node, function, path, contracts)
    if allow is not None:
        found.allow_lists.append(allow)
    gate = name_gate(node, function, path, names)
    if gate is not None and not any(g.path == path and g.line <= gate.line <= last_line(g) for g in found.name_gates):
        found.name_gates.append(gate)
