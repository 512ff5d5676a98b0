"""What decorators do to what they decorate: known ones of Python and torch, and those of the tree that hand it on."""

from __future__ import annotations

import ast
from functools import lru_cache

from analyzer.drift.reader import Reader
from analyzer.drift.scopes import FUNCTIONS
from analyzer.drift.together import TogetherIndex
from analyzer.index import ClassInfo, External, FunctionRef, Target
from analyzer.lower import Expr, dotted, walk

TRANSPARENT = frozenset(
    [
        "abstractmethod",
        "override",
        "final",
        "staticmethod",
        "classmethod",
        "property",
        "cached_property",
        "overload",
        "lru_cache",
        "cache",
        "contextmanager",
        "asynccontextmanager",
        "wraps",
        "setter",
        "no_type_check",
        "inference_mode",
        "no_grad",
        "deprecated",
    ]
)
"""Decorators by which a function takes and gives the same: of abc, contextlib, functools, typing and torch."""

PLAIN_CLASS = frozenset({"final", "runtime_checkable", "total_ordering", "unique", "deprecated"})
DATACLASSES = frozenset({"dataclasses.dataclass", "pydantic.dataclasses.dataclass"})
MARK = "dataclass_transform"
"""How PEP 681 marks a function that makes dataclasses."""


class Decorators:
    """Questions about decorators.

    Args:
        index, reader: the names and files of both sides.
    """

    def __init__(self, index: TogetherIndex, reader: Reader) -> None:
        self.index, self.reader = index, reader
        self.of_class = lru_cache(maxsize=None)(self._of_class)
        self.hands_on = lru_cache(maxsize=None)(self._hands_on)
        self.flavour = lru_cache(maxsize=None)(self._flavour)

    def is_known(self, decorator: str) -> bool:
        """Whether a function under a decorator takes and gives what it does without."""
        return decorator.rpartition(".")[2] in TRANSPARENT

    def targets(self, cls: ClassInfo, decorator: Expr) -> list[Target]:
        """What a decorator of a class, called or not, resolves to."""
        while decorator[0] == "call":
            decorator = decorator[1]
        if decorator[0] not in ("name", "attr"):
            return []
        return self.index.resolve(cls.module, decorator, line=cls.line)

    def _of_class(self, cls: ClassInfo) -> str:
        """Why a class's decorators may make it another class; empty where they do not."""
        for decorator in cls.facts.decorators:
            called = decorator
            while called[0] == "call":
                called = called[1]
            last = called[-2] if called[0] == "attr" else called[1] if called[0] == "name" else ""
            if last in PLAIN_CLASS:
                continue
            targets = self.targets(cls, decorator)
            known = targets and all(self._makes_dataclass(t) or self._returns_it(t) for t in targets)
            if not known:
                return f"what the decorator {last or 'of the class'} makes of {cls.name} is not followed"
        return ""

    def _makes_dataclass(self, target: Target) -> bool:
        if isinstance(target, External):
            return target.name in DATACLASSES
        if isinstance(target, FunctionRef):
            facts = self.index.module(target.module)
            return facts is not None and any(
                d.rpartition(".")[2] == MARK for d in facts.functions[target.name].decorators
            )
        return False

    def _returns_it(self, target: Target) -> bool:
        """Whether a class decorator of the tree gives back the class that it was given, whatever it notes of it."""
        return isinstance(target, FunctionRef) and self.hands_on(target.module, target.name)

    def _hands_on(self, module: str, name: str) -> bool:
        facts = self.index.module(module)
        found = self.reader.function(module, facts.functions[name].line) if facts is not None else None
        if found is None:
            return False
        function = found[0]
        inner = {node.name for node in ast.walk(function) if isinstance(node, FUNCTIONS) and node is not function}
        given = {a.arg for node in ast.walk(function) if isinstance(node, FUNCTIONS) for a in node.args.args}
        returned = [node.value for node in ast.walk(function) if isinstance(node, ast.Return)]
        sets = any(
            isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store) and n.attr == "__init__"
            for n in ast.walk(function)
        )
        return (
            bool(returned)
            and not sets
            and all(isinstance(value, ast.Name) and (value.id in given or value.id in inner) for value in returned)
        )

    def _flavour(self, cls: ClassInfo) -> tuple[str, dict[str, Expr]] | None:
        """Whether a class is made a dataclass, and how.

        Returns:
            ``dataclass``, ``pydantic`` (unknown arguments are ignored) or ``strict`` (they are refused), with the
            keywords of the decorator; None where no decorator makes it one.
        """
        for decorator in cls.facts.decorators:
            keywords = {k: v for k, v in decorator[3] if k} if decorator[0] == "call" else {}
            for target in self.targets(cls, decorator):
                if isinstance(target, External) and target.name in DATACLASSES:
                    if target.name == "dataclasses.dataclass":
                        return "dataclass", keywords
                    return ("strict" if _forbids(keywords.get("config")) else "pydantic"), keywords
                if isinstance(target, FunctionRef) and self._makes_dataclass(target):
                    return self._own_flavour(target), keywords
        return None

    def _own_flavour(self, target: FunctionRef) -> str:
        """What a function of the tree that makes dataclasses makes: by what it imports and says of extra fields."""
        facts = self.index.module(target.module)
        found = self.reader.function(target.module, facts.functions[target.name].line) if facts is not None else None
        text = ast.unparse(found[0]) if found is not None else ""
        made = self.index.lookup(target.module, "dataclass")
        if any(isinstance(t, External) and t.name.startswith("pydantic") for t in made) or "pydantic" in text:
            return "strict" if "extra='forbid'" in text else "pydantic"
        return "dataclass"


def _forbids(config: Expr | None) -> bool:
    """Whether a pydantic configuration refuses fields that it does not know."""
    if config is None:
        return False
    for part in walk(config):
        if part[0] == "call" and (dotted_name(part[1]) or "").endswith("ConfigDict"):
            return ("extra", ("const", "forbid")) in part[3]
    return False


def dotted_name(expr: Expr) -> str:
    """``a.b`` of a lowered name or chain of attributes, else empty."""
    if expr[0] == "name":
        return str(expr[1])
    if expr[0] == "attr":
        head = dotted_name(expr[1])
        return f"{head}.{expr[2]}" if head else ""
    return ""


__all__ = ["Decorators", "dotted", "dotted_name"]
