"""What stands between a use and its failure: handlers, tests of versions, imports for type checkers only."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, replace
from typing import Any, Literal

from analyzer.drift.scopes import Bound, Scope
from analyzer.lower import dotted

Error = Literal["ImportError", "AttributeError", "TypeError"]
ERRORS: tuple[Error, ...] = ("ImportError", "AttributeError", "TypeError")
EVERYTHING = frozenset({"Exception", "BaseException"})


@dataclass(frozen=True)
class Guard:
    """What protects a place.

    Args:
        caught: exceptions that a handler around takes, without raising again.
        typing: whether it runs for type checkers only.
        decided: why it may not run with this release; empty if it does.
    """

    caught: frozenset[str] = frozenset()
    typing: bool = False
    decided: str = ""

    def against(self, error: Error) -> str:
        """What keeps an exception from being seen; empty if nothing."""
        if self.typing:
            return "for type checkers only"
        if self.decided:
            return self.decided
        if error in self.caught:
            return f"behind a handler for {error}"
        return ""


def within(guard: Guard, node: ast.Try) -> Guard:
    """The guard of what stands in the body of a ``try``."""
    caught = set(guard.caught)
    for handler in node.handlers:
        if not _raises_again(handler):
            caught |= _catches(handler)
    return replace(guard, caught=frozenset(caught))


def suppressing(guard: Guard, node: ast.With | ast.AsyncWith) -> Guard:
    """The guard of what stands in the body of a ``with``: ``suppress`` of contextlib takes errors."""
    caught = set(guard.caught)
    for item in node.items:
        call = item.context_expr
        if isinstance(call, ast.Call) and (dotted(call.func) or "").rpartition(".")[2] in ("suppress", "raises"):
            caught |= _taken(call.args)
    return replace(guard, caught=frozenset(caught))


def _catches(handler: ast.ExceptHandler) -> set[str]:
    """Which of :data:`ERRORS` a handler takes."""
    if handler.type is None:
        return set(ERRORS)
    return _taken([handler.type])


def _taken(types: list[ast.expr]) -> set[str]:
    """Which of :data:`ERRORS` are among some classes of exceptions."""
    named = [name for one in types for name in (one.elts if isinstance(one, ast.Tuple) else [one])]
    names = {(dotted(name) or "*").rpartition(".")[2] for name in named}
    if names & EVERYTHING or "*" in names:
        return set(ERRORS)
    return names & set(ERRORS) | ({"ModuleNotFoundError"} if names & {"ModuleNotFoundError", "ImportError"} else set())


def _raises_again(handler: ast.ExceptHandler) -> bool:
    """Whether a handler does nothing but fail itself, in other words."""
    last = handler.body[-1]
    return isinstance(last, ast.Raise) and not any(
        isinstance(node, (ast.Import, ast.ImportFrom, ast.Return, ast.Continue, ast.Break))
        for statement in handler.body
        for node in ast.walk(statement)
    )


def ends(block: list[ast.stmt]) -> bool:
    """Whether nothing behind a block runs after it."""
    return bool(block) and isinstance(block[-1], (ast.Return, ast.Raise, ast.Continue, ast.Break))


# -- conditions ------------------------------------------------------------------------------------

_VERSION = re.compile(r"^v?(\d+(?:\.\d+)+)$")
_VERSIONED = re.compile(r"version", re.IGNORECASE)
DEEPEST = 3
"""Names that are followed to what they were given."""

_COMPARE = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}


def numbers(version: str | None) -> tuple[int, ...] | None:
    """A release number in parts; None for anything but a plain one."""
    match = _VERSION.match(version or "")
    return tuple(map(int, match[1].split("."))) if match else None


class Conditions:
    """Tests that go by versions or by what could be imported.

    Args:
        version: of the tree.
    """

    def __init__(self, version: str | None) -> None:
        self.text, self.version = version or "", numbers(version)

    def decide(self, test: ast.expr, scope: Scope) -> bool | None:
        """What a comparison of vLLM's version with a constant gives for this tree; None for any other test."""
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            inner = self.decide(test.operand, scope)
            return None if inner is None else not inner
        if isinstance(test, ast.Name):
            only = self._value(test, scope)
            return self.decide(only, scope) if only is not None else None
        if self.version is None or not isinstance(test, ast.Compare) or len(test.ops) != 1:
            return None
        sign = _COMPARE.get(type(test.ops[0]))
        left, right = self._is_ours(test.left, scope), _constant(test.comparators[0])
        parted = any(isinstance(node, ast.Subscript) for node in ast.walk(test.left))  # a part of the numbers
        if sign is None or not left or right is None or parted:
            return None
        given = test.comparators[0]
        if isinstance(given, ast.Constant) and isinstance(given.value, str):  # strings are compared as strings
            return _holds(sign, self.text, given.value)
        size = max(len(self.version), len(right))
        own, other = (part + (0,) * (size - len(part)) for part in (self.version, right))
        return _holds(sign, own, other)

    def _value(self, node: ast.Name, scope: Scope) -> ast.expr | None:
        found = scope.find(node.id)
        bounds = found[1] if found is not None else []
        return bounds[0].value if len(bounds) == 1 and bounds[0].how in ("value", "annotated") else None

    def _is_ours(self, node: ast.expr, scope: Scope, depth: int = 0) -> bool:
        """Whether an expression is vLLM's version: ``vllm.__version__``, ``Version(version("vllm"))``."""
        if depth > DEEPEST:
            return False
        text = ast.unparse(node)
        if re.search(r"vllm\.__version__|version\(['\"]vllm['\"]\)", text):
            return True
        names = [n for n in ast.walk(node) if isinstance(n, ast.Name)]
        for name in names:
            value = self._value(name, scope)
            if value is not None and value is not node and not isinstance(value, ast.Name):
                if self._is_ours(value, scope, depth + 1):
                    return True
            found = scope.find(name.id)
            for bound in found[1] if found is not None else ():
                if bound.imported == ("vllm", "__version__"):
                    return True
        return False

    def depends(self, test: ast.expr, scope: Scope) -> bool:
        """Whether a condition goes by a version, or by what could be imported or was found."""
        return self._depends(test, scope, 0)

    def _depends(self, test: ast.expr, scope: Scope, depth: int) -> bool:
        settings = _settings(test)
        for node in ast.walk(test):
            if node in settings:
                continue
            name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
            if isinstance(node, ast.keyword):
                name = node.arg or ""
            if name and _VERSIONED.search(name):
                return True
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and numbers(node.value) is not None:
                return True
            if name in ("hasattr", "find_spec", "signature", "parameters", "getattr", "callable"):
                return True
            if isinstance(node, ast.Name) and depth < DEEPEST:
                found = scope.find(node.id)
                if found is not None and any(self._is_flag(b, found[0], depth) for b in found[1]):
                    return True
        return False

    def _is_flag(self, bound: Bound, home: Scope, depth: int) -> bool:
        if bound.how == "import":
            return len(home.names.get(_name_of(bound, home), ())) > 1
        if bound.how == "function":
            return any(
                (isinstance(n, ast.Name) and _VERSIONED.search(n.id))
                or (isinstance(n, ast.Attribute) and _VERSIONED.search(n.attr))
                for n in ast.walk(bound.node)
            )
        if bound.value is None:
            return False
        if isinstance(bound.value, ast.Constant):  # set again where something failed
            name = _name_of(bound, home)
            return len(home.names.get(name, ())) > 1 and isinstance(bound.value.value, (bool, type(None)))
        return self._depends(bound.value, home, depth + 1)


def _settings(test: ast.expr) -> list[ast.AST]:
    """The ``getattr`` of ``getattr(config, "backend", None) == "name"``, which asks for a value."""
    return [
        side.func
        for node in ast.walk(test)
        if isinstance(node, ast.Compare) and len(node.comparators) == 1
        for side, other in ((node.left, node.comparators[0]), (node.comparators[0], node.left))
        if isinstance(side, ast.Call) and isinstance(other, ast.Constant) and isinstance(other.value, (str, int))
    ]


def _holds(sign: str, left: Any, right: Any) -> bool:
    """A comparison of two strings, or of two tuples of numbers."""
    if sign in ("==", "!="):
        return bool((left == right) is (sign == "=="))
    return bool({"<": left < right, "<=": left <= right, ">": left > right, ">=": left >= right}[sign])


def _name_of(bound: Bound, home: Scope) -> str:
    return next((name for name, bounds in home.names.items() if bound in bounds), "")


def _constant(node: ast.expr) -> tuple[int, ...] | None:
    """``"0.16.0"``, ``Version("0.16.0")`` or ``(0, 16)`` as numbers."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return numbers(node.value)
    if isinstance(node, ast.Call) and len(node.args) == 1 and not node.keywords:
        return _constant(node.args[0])
    if isinstance(node, ast.Tuple) and node.elts and all(isinstance(e, ast.Constant) for e in node.elts):
        values = [e.value for e in node.elts if isinstance(e, ast.Constant)]
        return tuple(v for v in values if isinstance(v, int)) if all(type(v) is int for v in values) else None
    return None
