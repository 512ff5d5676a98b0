"""Every use of vLLM's API in one file, held against the tree."""

from __future__ import annotations

import ast
from dataclasses import replace

from analyzer import lower
from analyzer.drift.api import Answer, Api
from analyzer.drift.callees import Callees
from analyzer.drift.classes import Classes
from analyzer.drift.found import Found, Inside, module_key
from analyzer.drift.guards import Conditions, Error, Guard, ends, suppressing, within
from analyzer.drift.kinds import ClassKind, Kind, ModuleKind, ObjectKind, SuperKind
from analyzer.drift.package import Module
from analyzer.drift.records import Evidence, ReasonRecord, UseKind, UseRecord
from analyzer.drift.scopes import FUNCTIONS, MAKES_SCOPE, Scope, inner_parts, outer_parts
from analyzer.drift.signatures import Signatures, given_by, misfits
from analyzer.findings import Position

FREE = Guard()


class Uses:
    """The search through one file.

    Args:
        api, classes, signatures: what the tree has.
        conditions: how tests of versions come out.
        found: where results go.
    """

    def __init__(
        self, api: Api, classes: Classes, signatures: Signatures, conditions: Conditions, found: Found
    ) -> None:
        self.api, self.classes, self.callees = api, classes, Callees(classes, signatures)
        self.conditions, self.found = conditions, found
        self.index = api.index
        self.kinds = classes.evaluation
        self._module: Module | None = None
        self._inside: Inside = ()
        self._whole: set[str] = set()

    def read(self, module: Module, scope: Scope) -> None:
        """Look through a file.

        Args:
            module: the file.
            scope: its scope.
        """
        self._module, self._inside = module, (module_key(module.name),)
        self._whole = {a.name for n in ast.walk(module.tree) if isinstance(n, ast.Import) for a in n.names}
        self._block(module.tree.body, scope, FREE)

    def _at(self, node: ast.AST) -> Position:
        assert self._module is not None
        return Position(self._module.rel, getattr(node, "lineno", 1), self._module.column(node))

    # -- statements --------------------------------------------------------------------------------

    def _block(self, statements: list[ast.stmt], scope: Scope, guard: Guard) -> None:
        for statement in statements:
            guard = self._statement(statement, scope, guard)

    def _statement(self, node: ast.stmt, scope: Scope, guard: Guard) -> Guard:
        """One statement; returns what guards those behind it."""
        if isinstance(node, ast.If):
            return self._if(node, scope, guard)
        if isinstance(node, ast.Try) or type(node).__name__ == "TryStar":
            self._try(node, scope, guard)  # type: ignore[arg-type]
            return guard
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            self._import(node, scope, guard)
            return guard
        if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            self._definition(node, scope, guard)
            return guard
        if isinstance(node, (ast.With, ast.AsyncWith)):
            for item in node.items:
                self._expression(item, scope, guard)
            self._block(node.body, scope, suppressing(guard, node))
            return guard
        for part in ast.iter_child_nodes(node):
            if isinstance(part, ast.stmt):
                self._statement(part, scope, guard)
            else:
                self._expression(part, scope, guard)
        if isinstance(node, ast.Assert) and self.conditions.depends(node.test, scope):
            return self._decided(node.test, guard)
        return guard

    def _decided(self, test: ast.expr, guard: Guard) -> Guard:
        return replace(guard, decided=guard.decided or f"depends on {ast.unparse(test)[:80]}")

    def _if(self, node: ast.If, scope: Scope, guard: Guard) -> Guard:
        self._expression(node.test, scope, guard)
        typing = _type_checking(node.test)
        taken = self.conditions.decide(node.test, scope)
        first = second = behind = guard
        if typing is not None:
            first, second = (replace(guard, typing=True), guard) if typing else (guard, replace(guard, typing=True))
        elif taken is not None:
            never = f"not run with this release: {ast.unparse(node.test)[:80]}"
            first = guard if taken else replace(guard, decided=never)
            second = replace(guard, decided=never) if taken else guard
            if ends(node.body if taken else node.orelse):
                behind = replace(guard, decided=never)
        elif self.conditions.depends(node.test, scope):
            first = second = self._decided(node.test, guard)
            if ends(node.body) or ends(node.orelse):
                behind = first
        self._block(node.body, scope, first)
        self._block(node.orelse, scope, second)
        return behind

    def _try(self, node: ast.Try, scope: Scope, guard: Guard) -> None:
        inner = within(guard, node)
        before = len(self.found.guarded) + len(self.found.broken)
        self._block(node.body, scope, inner)
        failed = len(self.found.guarded) + len(self.found.broken) > before
        # A handler runs where the body failed: what it uses is the other way, which counts only if the first is none.
        other = guard if failed else replace(guard, decided=guard.decided or "only where something before it fails")
        for handler in node.handlers:
            self._block(handler.body, scope, other)
        depends = inner.caught != guard.caught and any(isinstance(s, (ast.Import, ast.ImportFrom)) for s in node.body)
        late = replace(guard, decided=guard.decided or "only where something before it works") if depends else guard
        self._block(node.orelse, scope, late)
        self._block(node.finalbody, scope, guard)

    def _definition(
        self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, scope: Scope, guard: Guard
    ) -> None:
        for part in outer_parts(node):
            self._expression(part, scope, guard)
        inner = scope.children[node]
        kept = guard if isinstance(node, ast.ClassDef) else replace(guard, caught=frozenset())
        around = self._inside
        if not isinstance(node, ast.ClassDef):
            self._inside = (*around, node.name)
        self._block(node.body, inner, kept)
        self._inside = around

    # -- imports -----------------------------------------------------------------------------------

    def _import(self, node: ast.Import | ast.ImportFrom, scope: Scope, guard: Guard) -> None:
        if isinstance(node, ast.Import):
            for alias in node.names:
                self._runs(alias.name, guard)
                if self.index.is_vllm(alias.name):
                    self._module_use(alias.name, None, node, guard)
            return
        for _, module, attribute in lower.imports(node, scope.package):
            self._runs(f"{module}.{attribute}", guard)
            if self.index.is_vllm(module):
                self._module_use(module, attribute, node, guard)

    def _runs(self, module: str, guard: Guard) -> None:
        """Note an import of one of the package's own modules, and of those around it."""
        parts = module.split(".")
        for size in range(1, len(parts) + 1):
            name = ".".join(parts[:size])
            if name in self.index.outside.files and module_key(name) not in self._inside:
                self._named(module_key(name), guard)

    def _module_use(self, module: str, name: str | None, node: ast.AST, guard: Guard) -> None:
        self.found.checked["imports"] += 1
        answer = self._nearest(module)
        whole = module if name in (None, "*") else f"{module}.{name}"
        if answer.there is False:
            gone = ast.literal_eval(repr(answer.reason.rpartition(" ")[2]))
            went = self._went(name, module) if name not in (None, "*") else self.api.moved_module(gone)
            error = "ModuleNotFoundError" if "ModuleNotFoundError" in guard.caught else "ImportError"
            self._broken("missing-module", node, whole, answer, guard, error, went)  # type: ignore[arg-type]
        elif name not in (None, "*") and answer.there:
            assert name is not None
            named = self.api.has_name(module, name)
            if named.there is False:
                self._broken("missing-name", node, whole, named, guard, "ImportError", self._went(name, module))
            elif named.there is None:
                self._unknown(node, whole, named.reason)
        elif answer.there is None:
            self._unknown(node, whole, answer.reason)

    def _nearest(self, module: str) -> Answer:
        """Whether a module is there, or the first of its parents that is not."""
        parts = module.split(".")
        for size in range(1, len(parts) + 1):
            name = ".".join(parts[:size])
            answer = self.api.has_module(name)
            if answer.there is False and name in self.classes.put_in_place:
                return Answer(None, f"the package puts a module {name} in place itself")
            if answer.there is not True:
                return answer
        return answer

    def _went(self, name: str | None, module: str) -> tuple[str, ...]:
        return tuple(f"{d.module}.{name} ({d.at})" for d in self.api.went(name, module)) if name else ()

    # -- expressions -------------------------------------------------------------------------------

    def _expression(self, node: ast.AST, scope: Scope, guard: Guard) -> None:
        if isinstance(node, MAKES_SCOPE):
            for part in outer_parts(node):
                self._expression(part, scope, guard)
            for part in inner_parts(node):
                self._expression(part, scope.children.get(node, scope), guard)
            return
        if isinstance(node, ast.IfExp) and self.conditions.depends(node.test, scope):
            guard = self._decided(node.test, guard)
        elif isinstance(node, ast.BoolOp) and any(self.conditions.depends(v, scope) for v in node.values[:-1]):
            guard = self._decided(node, guard)
        if isinstance(node, ast.Call):
            self._call(node, scope, guard)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
            self._member(node, scope, guard)
            self._named(node.attr, guard)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            self._named(node.id, guard)
        for part in ast.iter_child_nodes(node):
            if isinstance(part, ast.stmt):
                self._statement(part, scope, guard)
            else:
                self._expression(part, scope, guard)

    def _named(self, name: str, guard: Guard) -> None:
        self.found.named.setdefault(name, []).append((bool(guard.decided), self._inside))

    def _member(self, node: ast.Attribute, scope: Scope, guard: Guard) -> None:
        owners = self.kinds.of(node.value, scope)
        if not owners or not any(self._concerns(owner) for owner in owners):
            return
        self.found.checked["members"] += 1
        answers = [self._has(owner, node.attr) for owner in owners]
        if any(answer.there for answer in answers):
            return
        text = ast.unparse(node)
        doubtful = next((a for a in answers if a.there is None), None)
        if doubtful is not None:
            self._unknown(node, text, doubtful.reason)
            return
        if self.callees.is_checked(node.value, scope):
            self._unknown(node, text, "a check narrows what is known of it")
            return
        if self._probed(node.attr, scope):
            guard = replace(guard, decided=guard.decided or f"{node.attr} is asked for before")
        owner = owners[0]
        named = f"{_named(owner)}.{node.attr}"
        if isinstance(owner, ModuleKind):
            if named in self._whole:  # the import itself fails before
                return
            self._broken(
                "missing-name", node, named, answers[0], guard, "AttributeError", self._went(node.attr, owner.name)
            )
        else:
            self._broken("missing-member", node, named, answers[0], guard, "AttributeError", ())

    def _concerns(self, owner: Kind) -> bool:
        """Whether what an object has is the tree's matter."""
        if isinstance(owner, ModuleKind):
            return self.index.is_vllm(owner.name)
        if isinstance(owner, (ClassKind, ObjectKind, SuperKind)):
            return any(self.classes.is_ours(cls) for cls in owner.cls.own_mro)
        return False

    def _has(self, owner: Kind, name: str) -> Answer:
        if isinstance(owner, ModuleKind):
            if not self.index.is_vllm(owner.name):
                return Answer(True)
            answer = self.api.has_name(owner.name, name)
            if answer.there is False and name in self.classes.set_outside:
                return Answer(None, f"the package sets an attribute {name} itself")
            return answer
        if isinstance(owner, (ClassKind, ObjectKind, SuperKind)):
            return self.classes.has(owner, name) if self._concerns(owner) else Answer(True)
        return Answer(None, "what is asked is not known")

    def _probed(self, name: str, scope: Scope) -> bool:
        """Whether something in the function, or in the module, asks whether there is such an attribute or parameter."""
        around: Scope | None = scope
        while around is not None:
            if name in around.probed:
                return True
            around = around.parent
        return False

    # -- calls -------------------------------------------------------------------------------------

    def _call(self, node: ast.Call, scope: Scope, guard: Guard) -> None:
        name = (lower.dotted(node.func) or "").rpartition(".")[2]
        if name == "import_module" and len(node.args) == 1:
            said = node.args[0]
            if isinstance(said, ast.Constant) and isinstance(said.value, str) and self.index.is_vllm(said.value):
                self._module_use(said.value, None, node, guard)
            return
        signature = self.callees.signature(node, scope)
        if signature is None:
            return
        self.found.checked["calls"] += 1
        if isinstance(signature, str):
            self._unknown(node, f"{ast.unparse(node.func)}(…)", signature)
            return
        given = given_by(node)
        wrongs = misfits(signature, given) or list(self.callees.handing.misfits(signature, given))
        if wrongs and (line := self.callees.fits_elsewhere(node, signature, scope)):
            guard = replace(guard, decided=guard.decided or f"line {line} calls it in the other way")
        for wrong in wrongs:
            held = guard
            if wrong.name and self._probed(wrong.name, scope):
                held = replace(guard, decided=guard.decided or f"{wrong.name} is asked for before")
            shown = f"{signature.name}({wrong.name or '…'})"
            answer = Answer(False, wrong.text, wrong.at)
            self._broken(wrong.kind, node, shown, answer, held, "TypeError", ())  # type: ignore[arg-type]

    # -- results -----------------------------------------------------------------------------------

    def _broken(
        self, kind: UseKind, node: ast.AST, name: str, answer: Answer, guard: Guard, error: Error, went: tuple[str, ...]
    ) -> None:
        protected = guard.against(error)
        if protected:
            self.found.guarded.append(ReasonRecord(self._at(node), name, f"{answer.reason}; {protected}"))
            return
        evidence = (Evidence(answer.at, answer.reason),) if answer.at is not None else ()
        use = UseRecord(kind, self._at(node), name, answer.reason, evidence, went)
        self.found.broken.append((use, self._inside))

    def _unknown(self, node: ast.AST, name: str, reason: str) -> None:
        self.found.unresolved.append(ReasonRecord(self._at(node), name, reason))


def _named(owner: Kind) -> str:
    if isinstance(owner, ModuleKind):
        return owner.name
    if isinstance(owner, SuperKind):
        return "super()"
    return owner.cls.name if isinstance(owner, (ClassKind, ObjectKind)) else "?"


def _type_checking(test: ast.expr) -> bool | None:
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = _type_checking(test.operand)
        return None if inner is None else not inner
    return True if (lower.dotted(test) or "").rpartition(".")[2] == "TYPE_CHECKING" else None
