"""Gates in third-party code: who asks for a contract there, and of which object."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from analyzer import lower
from analyzer.contracts import Contract
from analyzer.drift.classes import Classes
from analyzer.drift.kinds import ClassKind, FunctionKind
from analyzer.drift.scopes import FUNCTIONS, Function, Scope

NEAR = 0.8
"""How alike the name of a method is that another generation of a contract had (``difflib`` ratio)."""

UNWRAPS = ("get_language_model", "language_model")
"""How code reaches the inner model: by the method of the wrappers' own Protocol, or by the attribute most have."""


@dataclass(frozen=True)
class OutsideGate:
    """A place that asks for a contract.

    Args:
        contract: that it asks for.
        member: the checker, method or member.
        how: ``checker``, ``isinstance``, ``probe`` or ``method``.
        node: the expression.
        subject: the object that is asked.
        root: the outermost model that the function has: where the subject comes from.
        inner: whether the subject is what was unwrapped from the root.
        function: around it.
        known: whether the tree's contract has the member; not for one of another generation.
    """

    contract: str
    member: str
    how: str
    node: ast.expr
    subject: ast.expr
    root: ast.expr
    inner: bool
    function: Function
    known: bool = True


class GateSearch:
    """The search for gates.

    Args:
        classes: what is known of both sides.
        contracts: the tree's, by name.
        others: members that contracts have in another tree and not in this one, with the contract's name.
    """

    def __init__(self, classes: Classes, contracts: Mapping[str, Contract], others: Mapping[str, str]) -> None:
        self.classes, self.contracts, self.others = classes, contracts, others
        self.checkers = {c.checker: c for c in contracts.values() if c.checker is not None}
        self.methods: dict[str, Contract] = {}
        for contract in contracts.values():
            for method in contract.methods:
                if contract.checker is not None and method.name not in ("forward", "__call__"):
                    self.methods.setdefault(method.name, contract)

    def read(self, scope: Scope) -> Iterator[OutsideGate]:
        """The gates of a file.

        Args:
            scope: that of the module.
        """
        for function, inner in _functions(scope):
            for node in ast.walk(function):
                if isinstance(node, FUNCTIONS) and node is not function:
                    continue
                if isinstance(node, ast.Call) and inner.children.get(node) is None:
                    yield from self._call(node, function, inner)

    def _call(self, node: ast.Call, function: Function, scope: Scope) -> Iterator[OutsideGate]:
        name = (lower.dotted(node.func) or "").rpartition(".")[2]
        if name in self.checkers and node.args:
            contract = self.checkers[name]
            found = self.classes.evaluation.of(node.func, scope)
            ours = [k for k in found if isinstance(k, FunctionKind) and k.module is contract.home]
            if found and not ours and not self._is_home(found, contract):
                return
            if found:
                yield self._gate(contract.name, name, "checker", node, node.args[0], function, scope)
        elif isinstance(node.func, ast.Name) and name == "isinstance" and len(node.args) == 2:
            asked = node.args[1].elts if isinstance(node.args[1], ast.Tuple) else [node.args[1]]
            for cls in asked:
                for kind in self.classes.evaluation.of(cls, scope):
                    contract_ = self.contracts.get(kind.cls.name) if isinstance(kind, ClassKind) else None
                    if contract_ is not None and isinstance(kind, ClassKind) and kind.cls.key == contract_.cls.key:
                        yield self._gate(
                            contract_.name, contract_.name, "isinstance", node, node.args[0], function, scope
                        )
        elif isinstance(node.func, ast.Name) and name in ("hasattr", "getattr") and len(node.args) > 1:
            member = node.args[1]
            if isinstance(member, ast.Constant) and isinstance(member.value, str):
                yield from self._member(member.value, "probe", node, node.args[0], function, scope)
        elif isinstance(node.func, ast.Attribute):
            yield from self._member(node.func.attr, "method", node, node.func.value, function, scope)

    def _is_home(self, found: tuple[object, ...], contract: Contract) -> bool:
        home = contract.home.module if contract.home is not None else ""
        return any(isinstance(k, FunctionKind) and k.module.module == home for k in found)

    def _member(
        self, name: str, how: str, node: ast.Call, subject: ast.expr, function: Function, scope: Scope
    ) -> Iterator[OutsideGate]:
        text = ast.unparse(subject)
        if text in ("self", "cls", "super()") or name == function.name:
            return
        if name in self.methods and name.count("_") > 1 and self.methods[name].name in self._delegating():
            yield self._gate(self.methods[name].name, name, how, node, subject, function, scope)
            return
        contract = self.others.get(name) or self._near(name)
        if contract and name not in self.methods and not self._defined(name):
            yield self._gate(contract, name, how, node, subject, function, scope, known=False)

    def _delegating(self) -> frozenset[str]:
        """Contracts that configure the decoder: those whose methods somebody other than the runner may call."""
        from analyzer.models import is_delegated

        return frozenset(c.name for c in self.contracts.values() if is_delegated(c))

    def _near(self, name: str) -> str:
        """The contract that has a method of nearly this name."""
        if name.count("_") < 3:
            return ""
        delegating = self._delegating()
        for known, contract in self.methods.items():
            alike = difflib.SequenceMatcher(None, known, name).ratio() if contract.name in delegating else 0
            if known != name and alike > NEAR:
                return contract.name
        return ""

    def _defined(self, name: str) -> bool:
        """Whether either side defines a method of this name."""
        word = f"def {name}(".encode()
        return bool(self.classes.texts.methods(name)) or any(
            word in data for data in self.classes.index.outside.contents.values()
        )

    def _gate(
        self,
        contract: str,
        member: str,
        how: str,
        node: ast.Call,
        subject: ast.expr,
        function: Function,
        scope: Scope,
        *,
        known: bool = True,
    ) -> OutsideGate:
        root, inner = origin(subject, scope)
        return OutsideGate(contract, member, how, node, subject, root, inner, function, known)


def origin(subject: ast.expr, scope: Scope) -> tuple[ast.expr, bool]:
    """Where an object comes from: the expression that gives the outermost model, and whether it was unwrapped.

    Args:
        subject: the object that is asked.
        scope: the function.
    """
    inner = False
    node = subject
    for _ in range(8):
        if isinstance(node, ast.Name):
            bounds = scope.names.get(node.id, [])
            first = min(bounds, key=lambda b: getattr(b.node, "lineno", 0), default=None)
            if first is None or first.how not in ("value", "annotated") or first.value is None:
                break
            node = first.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in UNWRAPS:
            node, inner = node.func.value, True
        elif isinstance(node, ast.Attribute) and node.attr in UNWRAPS:
            node, inner = node.value, True
        else:
            break
    return node, inner


def _functions(scope: Scope) -> Iterator[tuple[Function, Scope]]:
    todo = [scope]
    while todo:
        one = todo.pop()
        if isinstance(one.node, FUNCTIONS):
            yield one.node, one
        todo.extend(one.children.values())
