"""What a call reaches: the signatures of the tree that it has to fit."""

from __future__ import annotations

import ast

from analyzer.drift.classes import Classes
from analyzer.drift.handing import Handing
from analyzer.drift.kinds import ClassKind, FunctionKind, Kind, SuperKind
from analyzer.drift.scopes import Scope
from analyzer.drift.signatures import Signature, Signatures, given_by, misfits
from analyzer.index import ClassInfo
from analyzer.lower import walk

NARROWS = (("name", "TypeIs"), ("name", "TypeGuard"))


class Callees:
    """Questions about calls.

    Args:
        classes, signatures: what the tree has.
    """

    def __init__(self, classes: Classes, signatures: Signatures) -> None:
        self.classes, self.signatures = classes, signatures
        self.index, self.kinds = classes.index, classes.evaluation
        self.handing = Handing(classes, signatures)

    def signature(self, node: ast.Call, scope: Scope) -> Signature | str | None:
        """How what is called is called; None where it is none of the tree's matter, or not known at all."""
        if isinstance(node.func, ast.Attribute) and node.func.attr == "__init__":
            owners = self.kinds.of(node.func.value, scope)
            if len(owners) == 1 and isinstance(owners[0], SuperKind) and self._inherits_init(owners[0].cls):
                return self.signatures.init_of(owners[0])
            return None
        callees = self.kinds.of(node.func, scope)
        if not callees or not all(self._is_callee(callee) for callee in callees):
            return None
        found = [self.signatures.of(way) for callee in callees for way in self._ways(callee, node, scope)]
        doubtful = next((s for s in found if isinstance(s, str)), None)
        if doubtful is not None:
            return doubtful
        given = given_by(node)
        return next((s for s in found if isinstance(s, Signature) and not misfits(s, given)), found[0])

    def _ways(self, callee: Kind, node: ast.Call, scope: Scope) -> list[Kind]:
        """A method, and those of heirs that may stand in its place."""
        if not isinstance(callee, FunctionKind) or callee.owner is None or callee.receiver is None:
            return [callee]
        owners = self.kinds.of(node.func.value, scope) if isinstance(node.func, ast.Attribute) else ()
        if any(isinstance(owner, SuperKind) for owner in owners):
            return [callee]
        name = callee.facts.name
        own = [heir for heir in self.classes.heirs(callee.receiver) if name in heir.facts.methods]
        return [callee, *(_overriding(callee, heir) for heir in own)]

    def is_checked(self, node: ast.expr, scope: Scope) -> bool:
        """Whether a function that narrows types (``TypeIs``) is asked of an expression somewhere in the file."""
        text = ast.unparse(node)
        for other in ast.walk(scope.top.node):
            if isinstance(other, ast.Call) and other.args and ast.unparse(other.args[0]) == text:
                for kind in self.kinds.of(other.func, scope.top):
                    returns = kind.facts.returns if isinstance(kind, FunctionKind) else None
                    if returns is not None and any(part in NARROWS for part in walk(returns)):
                        return True
        return False

    def fits_elsewhere(self, node: ast.Call, signature: Signature, scope: Scope) -> int:
        """The line of a call of the same in the same function that does fit: then this one is for other releases."""
        text = ast.unparse(node.func)
        for other in ast.walk(scope.function.node):
            if isinstance(other, ast.Call) and other is not node and ast.unparse(other.func) == text:
                if not misfits(signature, given_by(other)):
                    return other.lineno
        return 0

    def _is_callee(self, callee: Kind) -> bool:
        if isinstance(callee, ClassKind):
            return self.classes.is_ours(callee.cls)
        if isinstance(callee, FunctionKind):
            return self.index.is_vllm(callee.module.module)
        return False

    def _inherits_init(self, cls: ClassInfo) -> bool:
        """Whether ``super().__init__`` of a class is the tree's."""
        for base in cls.mro[1:]:
            if isinstance(base, ClassInfo) and (
                "__init__" in base.facts.methods or self.classes.decorators.flavour(base) is not None
            ):
                return self.classes.is_ours(base)
        return False


def _overriding(callee: FunctionKind, heir: ClassInfo) -> FunctionKind:
    """The method of a heir in place of the one that it overrides."""
    return FunctionKind(heir.facts.methods[callee.facts.name], heir.module, heir, callee.bound, heir)
