"""Keyword arguments that a function takes as ``**more`` and only hands on: what they are handed to has to take them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache

from analyzer.drift.classes import Classes
from analyzer.drift.scopes import Function, Scope
from analyzer.drift.signatures import Given, Misfit, Signature, Signatures
from analyzer.findings import Position

KEYED = ("pop", "get", "setdefault")


class Handing:
    """Questions about ``**more``.

    Args:
        classes, signatures: what the tree has.
    """

    def __init__(self, classes: Classes, signatures: Signatures) -> None:
        self.classes, self.signatures = classes, signatures
        self.target = lru_cache(maxsize=None)(self._target)

    def misfits(self, signature: Signature, given: Given) -> Iterator[Misfit]:
        """Arguments of a call that its callee hands on to something that does not take them.

        Args:
            signature: of the callee.
            given: the arguments.
        """
        own = {p.name for p in signature.parameters if p.kind in ("positional_or_keyword", "keyword_only")}
        rest = [name for name in given.keywords if name not in own]
        if not rest or not signature.has("var_keyword"):
            return
        found = self.target(signature.at)
        if found is None:
            return
        inner, asked_for = found
        taken = {p.name for p in inner.parameters if p.kind in ("positional_or_keyword", "keyword_only")}
        for name in rest:
            if name not in taken and name not in asked_for:
                text = f"{signature.name} hands {name} on to {inner.name}, which does not take it"
                yield Misfit("unknown-argument", name, text, inner.at)

    def _target(self, at: Position) -> tuple[Signature, frozenset[str]] | None:
        """What the function at a place hands its ``**more`` on to, and the names that it asks for itself.

        None where it does anything else with them, or hands them on to something that is not known.
        """
        texts = self.classes.texts
        found = self.classes.reader.function(texts.module_of(at.path), at.line) if at.path in texts.files else None
        more = found[0].args.kwarg if found is not None else None
        if found is None or more is None:
            return None
        calls, asked_for = self._uses(found[0], more.arg) or ([], set())
        inner = self._taker(calls[0], found[1]) if len(calls) == 1 else None
        return (inner, frozenset(asked_for)) if inner is not None else None

    def _taker(self, call: ast.Call, scope: Scope) -> Signature | None:
        callees = self.classes.evaluation.of(call.func, scope)
        inner = self.signatures.of(callees[0]) if len(callees) == 1 else "not known"
        return None if isinstance(inner, str) or inner.has("var_keyword") or inner.swallows else inner

    def _uses(self, function: Function, name: str) -> tuple[list[ast.Call], set[str]] | None:
        """The calls that get ``**name``, and the keys that the function asks it for; None for any other use."""
        calls: list[ast.Call] = []
        keys: set[str] = set()
        known = 0
        for node in ast.walk(function):
            key: ast.expr | None = None
            if isinstance(node, ast.Call) and any(k.arg is None and _is(k.value, name) for k in node.keywords):
                calls.append(node)
                known += 1
            if isinstance(node, ast.Subscript) and _is(node.value, name):
                key = node.slice
            elif isinstance(node, ast.Compare) and len(node.ops) == 1 and _is(node.comparators[0], name):
                key = node.left if isinstance(node.ops[0], (ast.In, ast.NotIn)) else None
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and _is(node.func.value, name):
                key = node.args[0] if node.func.attr in KEYED and node.args else None
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                keys.add(key.value)
                known += 1
        return (calls, keys) if known == sum(_is(node, name) for node in ast.walk(function)) else None


def _is(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name
