"""What the tree has at module level: modules and names, each yes, no, or not known for a reason."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from functools import lru_cache

from analyzer.drift.reader import Reader
from analyzer.drift.scopes import Scope, own_nodes
from analyzer.drift.texts import Definition, Texts
from analyzer.drift.together import TogetherIndex
from analyzer.findings import Position
from analyzer.lower import dotted

ALWAYS = frozenset(
    [
        "__name__",
        "__doc__",
        "__file__",
        "__path__",
        "__spec__",
        "__loader__",
        "__package__",
        "__dict__",
        "__all__",
        "__builtins__",
        "__cached__",
        "__class__",
        "__annotations__",
    ]
)
DYNAMIC = re.compile(r"\bglobals\(\)|\bexec\(|\bvars\(\)|\blocals\(\)|sys\.modules\[")
MOST = 3
"""Places that are told of where a name went."""


@dataclass(frozen=True)
class Answer:
    """Whether something is there.

    Args:
        there: None where that is not known.
        reason: why not, or why it is not known.
        at: the place in the tree that shows it.
    """

    there: bool | None
    reason: str = ""
    at: Position | None = None


YES = Answer(True)


class Api:
    """Questions about the modules of a tree.

    Args:
        index: the names of both sides.
        reader, texts: whole files.
    """

    def __init__(self, index: TogetherIndex, reader: Reader, texts: Texts) -> None:
        self.index, self.reader, self.texts = index, reader, texts
        self.has_module = lru_cache(maxsize=None)(self._has_module)
        self.has_name = lru_cache(maxsize=None)(self._has_name)

    # -- modules -----------------------------------------------------------------------------------

    def _has_module(self, module: str) -> Answer:
        """Whether ``import module`` works."""
        checkout = self.index.checkout
        if checkout.find_module(module) is not None:
            return YES
        folder = checkout.root.joinpath(*module.split("."))
        if folder.is_dir() and any(folder.rglob("*.py")):
            return YES
        if (named := self.texts.imports(module)) is not None:
            return Answer(
                None,
                f"{module} is no source file of the tree, which imports it itself: compiled, or made by a build",
                named,
            )
        return Answer(False, f"vLLM has no module {module}")

    # -- names -------------------------------------------------------------------------------------

    def _has_name(self, module: str, name: str) -> Answer:
        """Whether ``from module import name`` works, for a module that is there."""
        return self._name(module, name, frozenset())

    def _name(self, module: str, name: str, seen: frozenset[str]) -> Answer:
        facts = self.index.module(module)
        if name in ALWAYS or (facts is not None and name in facts.names):
            return YES
        if self.has_module(f"{module}.{name}").there:
            return YES
        scope = self.reader.scope(module)
        if facts is None or scope is None:
            return Answer(None, f"{module} cannot be read")
        at = Position(facts.path, 1)
        if any(True for bound in scope.names.get(name, ()) if not self._for_typing(scope, bound.node)):
            return YES
        for star in scope.stars:
            if not self.index.is_vllm(star):
                return Answer(None, f"{module} imports everything of {star}, which is outside the tree", at)
            answer = YES if star in seen else self._name(star, name, seen | {module})
            if star not in seen and answer.there is not False:
                return answer
        source = ast.unparse(scope.node)
        if "__getattr__" in facts.functions and (lazy := self._lazily(scope, source, name)) is not False:
            return YES if lazy else Answer(None, f"{module} answers names through its own __getattr__", at)
        if DYNAMIC.search(source):
            return Answer(None, f"{module} makes names at run time", at)
        if self.has_module(f"{module}.{name}").there is None:
            return self.has_module(f"{module}.{name}")
        if name in scope.names:
            return Answer(False, f"{module} has {name} for type checkers only", at)
        return Answer(False, f"{module} does not have {name}", at)

    def _for_typing(self, scope: Scope, node: ast.AST) -> bool:
        """Whether a statement of a module stands under ``if TYPE_CHECKING``."""
        for part in own_nodes([scope.node]):
            if isinstance(part, ast.If) and (dotted(part.test) or "").rpartition(".")[2] == "TYPE_CHECKING":
                if any(inner is node for statement in part.body for inner in ast.walk(statement)):
                    return True
        return False

    def _lazily(self, scope: Scope, source: str, name: str) -> bool | None:
        """Whether a module's ``__getattr__`` knows a name: by the strings of the module, if it goes by them."""
        if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", source):
            return True
        hooks = [n for n in ast.walk(scope.node) if isinstance(n, ast.FunctionDef) and n.name == "__getattr__"]
        for hook in hooks:
            asked = hook.args.args[0].arg if hook.args.args else ""
            passes = any(
                isinstance(n, ast.Call)
                and (dotted(n.func) or "").rpartition(".")[2] in ("getattr", "import_module", "__import__")
                and any(isinstance(m, ast.Name) and m.id == asked for a in n.args for m in ast.walk(a))
                for n in ast.walk(hook)
            )
            refuses = any(isinstance(n, ast.Raise) and "AttributeError" in ast.unparse(n) for n in ast.walk(hook))
            if (passes and not _goes_by_table(hook, asked, scope)) or not refuses:
                return None
        return False

    # -- where it went -----------------------------------------------------------------------------

    def went(self, name: str, module: str) -> tuple[Definition, ...]:
        """Definitions of a name elsewhere in the tree, the likeliest first.

        Args:
            name: what is gone.
            module: where it was.
        """
        found = [d for d in self.texts.definitions(name) if d.module != module]
        solid = [d for d in found if d.is_class or name[:1].islower() or name.isupper()]
        parts = module.split(".")

        def distance(definition: Definition) -> tuple[int, int]:
            there = definition.module.split(".")
            common = next(
                (n for n, (a, b) in enumerate(zip(parts, there, strict=False)) if a != b), min(len(parts), len(there))
            )
            return (len(parts) - common, len(there) - common)

        return tuple(sorted(solid or found, key=distance)[:MOST])

    def moved_module(self, module: str) -> tuple[str, ...]:
        """Modules of the tree that have the same last name as one that is gone."""
        last = module.rpartition(".")[2]
        ends = (f"/{last}.py", f"/{last}/__init__.py")
        found = [self.texts.module_of(rel) for rel in self.texts.files if rel.endswith(ends)]
        return tuple(sorted(found, key=lambda name: (name.count("."), name))[:MOST])


def _goes_by_table(hook: ast.FunctionDef, asked: str, scope: Scope) -> bool:
    """Whether a ``__getattr__`` asks first whether the name is in a display of the module."""
    tables = [
        node.comparators[0]
        for node in ast.walk(hook)
        if isinstance(node, ast.Compare)
        and isinstance(node.left, ast.Name)
        and node.left.id == asked
        and isinstance(node.ops[0], (ast.In, ast.NotIn))
    ]
    displays = (ast.Dict, ast.List, ast.Set, ast.Tuple)
    values = [
        [bound.value for bound in scope.names.get(table.id, ())] if isinstance(table, ast.Name) else [table]
        for table in tables
    ]
    return bool(values) and all(found and all(isinstance(v, displays) for v in found) for found in values)
