"""Consumers that dispatch on a name: allow-lists of model types, and ``if`` chains over class names."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from analyzer.contracts import Contract
from analyzer.lower import dotted

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class AllowList:
    """A list of substrings that a configuration's ``model_type`` must contain before a contract may be used."""

    contract: str
    path: str
    line: int
    items: tuple[str, ...]
    subject: str
    error: str


@dataclass(frozen=True)
class NameArm:
    """One branch of a dispatch on class names: the names, and the attribute of the config that it reads."""

    names: tuple[str, ...]
    reads: str
    line: int


@dataclass(frozen=True)
class NameGate:
    """An ``if`` chain that compares the outer class's name with strings; ``otherwise`` is its last branch."""

    path: str
    line: int
    function: str
    arms: tuple[NameArm, ...]
    otherwise: NameArm | None

    @property
    def names(self) -> frozenset[str]:
        return frozenset(name for arm in self.arms for name in arm.names)


def own_nodes(function: FunctionNode) -> Iterator[ast.AST]:
    """Nodes of a function's body, without those of functions inside it."""
    todo: list[ast.AST] = list(reversed(function.body))
    while todo:
        node = todo.pop()
        yield node
        if not isinstance(node, (FunctionNode, ast.ClassDef)):
            todo.extend(ast.iter_child_nodes(node))


def message(call: ast.Call) -> str:
    return " ".join(
        part.value.strip()
        for argument in call.args
        for part in ast.walk(argument)
        if isinstance(part, ast.Constant) and isinstance(part.value, str)
    )


def allow_list(node: ast.If, function: FunctionNode, path: str, contracts: dict[str, Contract]) -> AllowList | None:
    """``if method == "x" and not any(item in config.model_type for item in allowed): raise``."""
    raised = next((s for s in node.body if isinstance(s, ast.Raise)), None)
    if raised is None:
        return None
    for part in ast.walk(node.test):
        if not isinstance(part, ast.GeneratorExp) or not isinstance(part.elt, ast.Compare):
            continue
        subject = part.elt.comparators[0]
        source = part.generators[0].iter
        if not (isinstance(subject, ast.Attribute) and subject.attr == "model_type" and isinstance(source, ast.Name)):
            continue
        literal = _list_named(function, source.id)
        contract = _contract_of(node.test, function, contracts)
        if literal is not None and contract is not None:
            items = tuple(e.value for e in literal.elts if isinstance(e, ast.Constant) and isinstance(e.value, str))
            error = message(raised.exc) if isinstance(raised.exc, ast.Call) else ""
            return AllowList(contract, path, literal.lineno, items, ast.unparse(subject), error)
    return None


def _list_named(function: FunctionNode, name: str) -> ast.List | ast.Tuple | ast.Set | None:
    for node in own_nodes(function):
        if isinstance(node, ast.Assign) and isinstance(node.value, (ast.List, ast.Tuple, ast.Set)):
            if any(isinstance(t, ast.Name) and t.id == name for t in node.targets):
                return node.value
    return None


def _contract_of(test: ast.expr, function: FunctionNode, contracts: dict[str, Contract]) -> str | None:
    """The contract whose flag is ``supports_`` and a string that the condition compares with."""
    strings = [n.value for n in ast.walk(test) if isinstance(n, ast.Constant) and isinstance(n.value, str)]
    for node in ast.walk(test):  # `self.method in SOME_NAME` and the like: look at what the function compares with
        if isinstance(node, ast.Name):
            literal = _list_named(function, node.id)
            strings += [e.value for e in literal.elts if isinstance(e, ast.Constant)] if literal else []  # type: ignore[misc]
    for contract in contracts.values():
        if any(f"supports_{text}" in contract.members for text in strings):
            return contract.name
    return None


def name_gate(node: ast.If, function: FunctionNode, path: str, names: frozenset[str]) -> NameGate | None:
    arms: list[NameArm] = []
    current: ast.If = node
    while True:
        found = _compared(current.test)
        if not found:
            return None
        arms.append(NameArm(found, _reads(current.body), current.lineno))
        if len(current.orelse) == 1 and isinstance(current.orelse[0], ast.If):
            current = current.orelse[0]
            continue
        break
    if not any(arm.reads for arm in arms) or not any(names & set(arm.names) for arm in arms):
        return None
    rest = current.orelse
    otherwise = NameArm((), _reads(rest), rest[0].lineno) if rest else None
    return NameGate(path, node.lineno, function.name, tuple(arms), otherwise)


def _compared(test: ast.expr) -> tuple[str, ...]:
    """The strings that a name is compared with: ``name == "A"``, ``name in ["A", "B"]``."""
    if not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return ()
    right = test.comparators[0]
    items = right.elts if isinstance(right, (ast.List, ast.Tuple, ast.Set)) else [right]
    return tuple(e.value for e in items if isinstance(e, ast.Constant) and isinstance(e.value, str))


def _reads(body: list[ast.stmt]) -> str:
    """The attribute of the target's config that a branch reads: what follows ``.config.`` on the right side."""
    for statement in body:
        if isinstance(statement, ast.Assign):
            text = dotted(statement.value) or ""
            if ".config." in text:
                return text.partition(".config.")[2]
    return ""


def last_line(gate: NameGate) -> int:
    arms = [*gate.arms, gate.otherwise] if gate.otherwise is not None else [*gate.arms]
    return max(arm.line for arm in arms)
