"""What an expression stands for: a module, class, function or object of either side, as far as the source shows."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from analyzer import lower
from analyzer.drift.scopes import FUNCTIONS, Bound, Scope
from analyzer.facts import FunctionFacts, ModuleFacts
from analyzer.index import ClassInfo, FunctionRef, Missing, ModuleRef, Target, ValueRef
from analyzer.lower import Expr

if TYPE_CHECKING:
    from analyzer.drift.classes import Classes


@dataclass(frozen=True)
class ModuleKind:
    """A module of either side."""

    name: str


@dataclass(frozen=True)
class ClassKind:
    """A class."""

    cls: ClassInfo


@dataclass(frozen=True)
class ObjectKind:
    """An object of a class, or of one that derives from it."""

    cls: ClassInfo


@dataclass(frozen=True)
class SuperKind:
    """``super()`` in a method of a class."""

    cls: ClassInfo


@dataclass(frozen=True, eq=False)
class FunctionKind:
    """A function or method.

    Args:
        facts: its head.
        module: where it is defined.
        owner: the class that defines it.
        bound: whether its first parameter is given already.
        receiver: the class of the object that it is bound to.
    """

    facts: FunctionFacts
    module: ModuleFacts
    owner: ClassInfo | None = None
    bound: bool = False
    receiver: ClassInfo | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FunctionKind) and (self.facts is other.facts) and self.bound == other.bound

    def __hash__(self) -> int:
        return hash((id(self.facts), self.bound))


@dataclass(frozen=True)
class LostKind:
    """A name of the tree that is not there, which its import tells."""

    reason: str


Kind = ModuleKind | ClassKind | ObjectKind | SuperKind | FunctionKind | LostKind
Kinds = tuple[Kind, ...]
"""The possibilities; none where anything is possible."""

DEEPEST = 12
_OPTIONAL = ("Optional", "Final", "Annotated", "Required", "NotRequired", "ClassVar", "InitVar")
_CALLED_AWAY = frozenset({"contextmanager", "asynccontextmanager"})


class Evaluation:
    """The evaluation of expressions.

    Args:
        classes: what is known of classes; it asks back for the types of attributes.
    """

    def __init__(self, classes: Classes) -> None:
        self.classes = classes
        self.index, self.reader = classes.index, classes.reader
        self._known: dict[tuple[int, int], Kinds] = {}
        self._kept: list[ast.AST] = []
        self._depth = 0

    # -- expressions -------------------------------------------------------------------------------

    def of(self, node: ast.expr, scope: Scope) -> Kinds:
        """The possibilities of an expression in a scope."""
        key = (id(node), id(scope))
        if key not in self._known:
            if self._depth > DEEPEST:
                return ()
            self._known[key] = ()
            self._kept.append(node)
            self._depth += 1
            try:
                self._known[key] = self._of(node, scope)
            finally:
                self._depth -= 1
        return self._known[key]

    def _of(self, node: ast.expr, scope: Scope) -> Kinds:
        if isinstance(node, ast.Name):
            return () if self._narrowed(node, scope) else self.name(node.id, scope)
        if isinstance(node, ast.Attribute):
            return () if self._narrowed(node, scope) else self._attribute(node, scope)
        if isinstance(node, ast.Await):
            return self._called(node.value, scope, awaited=True) if isinstance(node.value, ast.Call) else ()
        if isinstance(node, ast.Call):
            return self._called(node, scope, awaited=False)
        if isinstance(node, ast.NamedExpr):
            return self.of(node.value, scope)
        if isinstance(node, ast.IfExp):
            return self._either([node.body, node.orelse], scope)
        if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or):
            return self._either(node.values, scope)
        return ()

    def _narrowed(self, node: ast.expr, scope: Scope) -> bool:
        """Whether a test somewhere in the function may have narrowed the type of an expression."""
        around: Scope | None = scope
        text = ast.unparse(node)
        while around is not None and around.parent is not None:
            if text in around.narrowed:
                return True
            around = around.parent
        return False

    def _either(self, nodes: list[ast.expr], scope: Scope) -> Kinds:
        out: list[Kind] = []
        for node in nodes:
            if isinstance(node, ast.Constant) and node.value is None:
                continue
            found = self.of(node, scope)
            if not found:
                return ()
            out += [kind for kind in found if kind not in out]
        return tuple(out)

    # -- names -------------------------------------------------------------------------------------

    def name(self, name: str, scope: Scope) -> Kinds:
        """The possibilities of a name."""
        found = scope.find(name)
        if found is None:
            return self._of_module(scope, name)
        home, bounds = found
        out: list[Kind] = []
        for bound in bounds:
            if _is_none(bound.value) and len(bounds) > 1:
                continue
            kinds = self._bound(name, bound, home)
            if not kinds:
                return ()
            out += [kind for kind in kinds if kind not in out]
        alternatives = [kind for kind in out if not isinstance(kind, LostKind)]
        return tuple(alternatives or out)

    def _of_module(self, scope: Scope, name: str) -> Kinds:
        """A name that nothing binds for certain: of a star import, or a builtin."""
        if not scope.top.stars:
            return ()
        return self.of_targets(self.index.lookup(scope.module, name, typing=True))

    def _bound(self, name: str, bound: Bound, home: Scope) -> Kinds:
        if bound.how == "import":
            assert bound.imported is not None
            return self.of_targets(self.index.imported(*bound.imported))
        if bound.how == "class":
            assert isinstance(bound.node, ast.ClassDef)
            cls = self.classes.at(home.module, bound.node.lineno, name)
            return (ClassKind(cls),) if cls is not None else ()
        if bound.how == "function":
            return self._defined(name, bound, home)
        if bound.how == "parameter":
            return self._parameter(bound, home)
        if bound.how == "annotated" and bound.annotation is not None:
            return self.annotation(bound.annotation, home)
        if bound.how == "value" and bound.value is not None:
            return self.of(bound.value, home)
        return ()

    def _defined(self, name: str, bound: Bound, home: Scope) -> Kinds:
        facts = self.index.module(home.module)
        function = facts.functions.get(name) if facts is not None and home.parent is None else None
        if facts is None or function is None or function.line != getattr(bound.node, "lineno", 0):
            return ()
        return (FunctionKind(function, facts),)

    def _parameter(self, bound: Bound, home: Scope) -> Kinds:
        around = home.parent
        if isinstance(home.node, FUNCTIONS) and around is not None and isinstance(around.node, ast.ClassDef):
            arguments = [*home.node.args.posonlyargs, *home.node.args.args]
            if arguments and arguments[0] is bound.node:
                return self._receiver(home.node, around)
        if bound.annotation is None:
            return ()
        return self.annotation(bound.annotation, around or home)

    def _receiver(self, function: ast.FunctionDef | ast.AsyncFunctionDef, around: Scope) -> Kinds:
        """What ``self`` or ``cls`` of a method is."""
        assert isinstance(around.node, ast.ClassDef)
        cls = self.classes.at(around.module, around.node.lineno, around.node.name)
        last = {(lower.dotted(d) or "").rpartition(".")[2] for d in function.decorator_list}
        if cls is None or "staticmethod" in last:
            return ()
        if "classmethod" in last or function.name in ("__new__", "__init_subclass__", "__class_getitem__"):
            return (ClassKind(cls),)
        known = last <= {"property", "cached_property", "abstractmethod", "override", "final", "setter", "overload"}
        return (ObjectKind(cls),) if known or all(self.classes.keeps_receiver(d) for d in last) else ()

    def of_targets(self, targets: list[Target]) -> Kinds:
        """What names of the index are; unknown if one of them is."""
        out: list[Kind] = []
        for target in targets:
            kind: Kind | None = None
            if isinstance(target, ModuleRef):
                kind = ModuleKind(target.name)
            elif isinstance(target, ClassInfo):
                kind = ClassKind(target)
            elif isinstance(target, FunctionRef):
                facts = self.index.module(target.module)
                kind = FunctionKind(facts.functions[target.name], facts) if facts is not None else None
            elif isinstance(target, ValueRef):
                found = self._value(target)
                if not found:
                    return ()
                out += [k for k in found if k not in out]
                continue
            elif isinstance(target, Missing):
                kind = LostKind(target.reason)
            if kind is None:
                return ()
            if kind not in out:
                out.append(kind)
        found_some = [k for k in out if not isinstance(k, LostKind)]
        return tuple(found_some or out)

    def _value(self, target: ValueRef) -> Kinds:
        """A module-level variable: by its annotation, or by what it is given."""
        scope = self.reader.scope(target.module)
        bounds = scope.names.get(target.name, []) if scope is not None else []
        if scope is None or len(bounds) != 1:
            return ()
        return self._bound(target.name, bounds[0], scope)

    # -- attributes and calls ----------------------------------------------------------------------

    def _attribute(self, node: ast.Attribute, scope: Scope) -> Kinds:
        out: list[Kind] = []
        owners = self.of(node.value, scope)
        for owner in owners:
            found = self.member(owner, node.attr)
            if not found:
                return ()
            out += [kind for kind in found if kind not in out]
        return tuple(out)

    def member(self, owner: Kind, name: str) -> Kinds:
        """``owner.name``."""
        if isinstance(owner, ModuleKind):
            return self.of_targets(self.index.imported(owner.name, name))
        if isinstance(owner, (ClassKind, ObjectKind, SuperKind)):
            return self.classes.kinds_of(owner, name)
        return ()

    def _called(self, node: ast.Call, scope: Scope, *, awaited: bool) -> Kinds:
        if isinstance(node.func, ast.Name) and node.func.id == "super" and not node.args:
            function: Scope | None = scope.function
            around = function.parent if function is not None else None
            if around is None or not isinstance(around.node, ast.ClassDef):
                return ()
            cls = self.classes.at(around.module, around.node.lineno, around.node.name)
            return (SuperKind(cls),) if cls is not None else ()
        out: list[Kind] = []
        for callee in self.of(node.func, scope):
            found = self._result(callee, awaited=awaited)
            if not found:
                return ()
            out += [kind for kind in found if kind not in out]
        return tuple(out)

    def _result(self, callee: Kind, *, awaited: bool) -> Kinds:
        if isinstance(callee, ClassKind) and not awaited:
            return (ObjectKind(callee.cls),) if self.classes.makes_itself(callee.cls) else ()
        if not isinstance(callee, FunctionKind) or callee.facts.is_async is not awaited:
            return ()
        facts = callee.facts
        if any(d.rpartition(".")[2] in _CALLED_AWAY for d in facts.decorators) or facts.returns is None:
            return ()
        if not all(self.classes.keeps_receiver(d.rpartition(".")[2]) for d in facts.decorators):
            return ()
        if facts.returns == ("name", "Self") and callee.receiver is not None:
            return (ObjectKind(callee.receiver),)
        return self.annotated(facts.returns, self._resolver(callee.module))

    # -- annotations -------------------------------------------------------------------------------

    def annotation(self, node: ast.expr, scope: Scope) -> Kinds:
        """An object of what an annotation names."""
        lowered = lower.lower(node)

        def resolve(expr: Expr) -> Kinds:
            parsed = ast.parse(lower.render(expr), mode="eval").body
            return self.of(parsed, scope)

        return self.annotated(lowered, resolve) if lowered is not None else ()

    def _resolver(self, facts: ModuleFacts) -> Callable[[Expr], Kinds]:
        return lambda expr: self.of_targets(self.index.resolve(facts, expr, typing=True))

    def in_module(self, expr: Expr, facts: ModuleFacts) -> Kinds:
        """An object of what an annotation in a module names."""
        return self.annotated(expr, self._resolver(facts))

    def annotated(self, expr: Expr, resolve: Callable[[Expr], Kinds]) -> Kinds:
        """An object of what a lowered annotation names; ``None`` beside something else is left out.

        Args:
            expr: the annotation.
            resolve: what a name in it is.
        """
        if expr[0] == "const" and isinstance(expr[1], str):
            try:
                parsed = lower.lower(ast.parse(expr[1], mode="eval").body)
            except (SyntaxError, ValueError, RecursionError):
                return ()
            return self.annotated(parsed, resolve) if parsed is not None and parsed != expr else ()
        if expr[0] == "bin" and expr[1] == "BitOr":
            return self._union([expr[2], expr[3]], resolve)
        if expr[0] == "sub":
            head = expr[1][2] if expr[1][0] == "attr" else expr[1][1] if expr[1][0] == "name" else ""
            inner = list(expr[2][2]) if expr[2][:2] == ("seq", "tuple") else [expr[2]]
            if head == "Union":
                return self._union(inner, resolve)
            if head in _OPTIONAL:
                return self.annotated(inner[0], resolve)
            if head in ("type", "Type"):
                found = self.annotated(inner[0], resolve)
                return tuple(ClassKind(k.cls) for k in found if isinstance(k, ObjectKind))
            return ()
        if expr[0] in ("name", "attr"):
            found = resolve(expr)
            if all(isinstance(kind, ClassKind) for kind in found):
                return tuple(
                    ObjectKind(k.cls) for k in found if isinstance(k, ClassKind) and self.classes.is_nominal(k.cls)
                )
        return ()

    def _union(self, parts: list[Expr], resolve: Callable[[Expr], Kinds]) -> Kinds:
        out: list[Kind] = []
        for part in parts:
            if part == ("const", None):
                continue
            found = self.annotated(part, resolve)
            if not found:
                return ()
            out += [kind for kind in found if kind not in out]
        return tuple(out)


def _is_none(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and node.value is None
