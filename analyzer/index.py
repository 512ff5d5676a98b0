"""Names across files: modules read on demand, imports followed, classes linearised.

Alternatives are kept apart: a name that platform branches bind differently resolves to all of them, the one of
an ordinary run last.  What cannot be resolved stays in the result with its reason.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from analyzer.checkout import Checkout
from analyzer.facts import Binding, ClassFacts, FunctionFacts, ModuleFacts
from analyzer.lower import Expr, render, walk
from analyzer.modules import Modules
from analyzer.mro import NoLinearisation, linearise
from analyzer.problems import Diagnostic


@dataclass(frozen=True)
class External:
    """Something outside the checkout, by its dotted name (``torch.nn.Module``)."""

    name: str


@dataclass(frozen=True)
class Missing:
    """A name that should be in the checkout and is not, or could not be followed."""

    reason: str


@dataclass(frozen=True)
class ModuleRef:
    """A module of the checkout."""

    name: str


@dataclass(frozen=True)
class FunctionRef:
    """A module-level function of the checkout."""

    module: str
    name: str


@dataclass(frozen=True)
class ValueRef:
    """A module-level variable: the expression that it was given, and the module to read it in."""

    module: str
    name: str
    line: int


@dataclass(eq=False)
class ClassInfo:
    """A class of the checkout with its place in the inheritance graph.

    ``mro`` holds :class:`ClassInfo`, :class:`External` and :class:`Missing` entries; ``problem`` is why Python
    would refuse the class, or empty; ``members`` is what was found under names so far.
    """

    module: ModuleFacts
    facts: ClassFacts
    bases: tuple[Target, ...] = ()
    mro: tuple[Target, ...] = ()
    problem: str = ""
    members: dict[str, object] = field(default_factory=dict, repr=False)
    _own: tuple[tuple[Target, ...], tuple[ClassInfo, ...]] | None = field(default=None, repr=False)

    @property
    def key(self) -> str:
        return f"{self.module.module}.{self.facts.qualname}"

    @property
    def name(self) -> str:
        return self.facts.name

    @property
    def path(self) -> str:
        return self.module.path

    @property
    def line(self) -> int:
        return self.facts.line

    @property
    def own_mro(self) -> tuple[ClassInfo, ...]:
        """The classes of the checkout in the linearisation."""
        if self._own is None or self._own[0] is not self.mro:
            self._own = (self.mro, tuple(c for c in self.mro if isinstance(c, ClassInfo)))
            self.members.clear()
        return self._own[1]

    @property
    def unknown_bases(self) -> tuple[str, ...]:
        return tuple(c.reason for c in self.mro if isinstance(c, Missing))

    def derives_from(self, other: ClassInfo) -> bool:
        return other in self.own_mro

    def find_method(self, name: str) -> tuple[ClassInfo, FunctionFacts] | None:
        """The method that attribute access on an instance would find, and the class that defines it."""
        for owner in self.own_mro:
            if name in owner.facts.methods:
                return owner, owner.facts.methods[name]
            if name in owner.facts.attributes and owner.facts.attributes[name].assigned:
                return None
        return None

    def __repr__(self) -> str:
        return f"<{self.key}>"


Target = ClassInfo | External | Missing | ModuleRef | FunctionRef | ValueRef

OBJECT = External("builtins.object")
GENERIC = External("typing.Generic")


class Index:
    """The checkout's names, read lazily; one per run.

    Args:
        checkout: the tree, and a plugin where one is audited.
    """

    def __init__(self, checkout: Checkout) -> None:
        self.checkout = checkout
        self.modules = Modules(checkout)
        self.module = self.modules.get
        self._problems: list[Diagnostic] = []
        self._classes: dict[tuple[str, int], ClassInfo] = {}
        self._by_key: dict[str, ClassInfo] = {}
        self._building: list[tuple[str, int]] = []
        self._roots = tuple(checkout.module_of_root(root) + "." for root in checkout.model_roots)

    @property
    def diagnostics(self) -> list[Diagnostic]:
        """What is wrong with the files that were read, and with the classes that were resolved."""
        return [*self.modules.diagnostics, *self._problems]

    def in_model_roots(self, module: str) -> bool:
        """Whether a module, its name with a dot behind it, is one of the model folders'.

        Only there are function bodies followed.
        """
        return module.startswith(self._roots)

    # -- names -------------------------------------------------------------------------------------

    def lookup(self, module: str, name: str, *, line: int | None = None, typing: bool = False) -> list[Target]:
        """Everything that a module-level name can be, the ordinary run's last; empty where it is not bound.

        Args:
            module: dotted name of the module of the checkout.
            name: the name in it.
            line: what it means where that line runs at import; at the end of the module unless given.
            typing: look among the names bound under ``TYPE_CHECKING`` too.
        """
        return self._lookup(module, name, line, typing, ())

    def _lookup(
        self, module: str, name: str, line: int | None, typing: bool, seen: tuple[tuple[str, str], ...]
    ) -> list[Target]:
        if (module, name) in seen and line is None:
            return [Missing(f"{module}.{name} is imported in a circle")]
        facts = self.module(module)
        if facts is None:
            return [Missing(f"module {module} could not be read")]
        bindings = facts.names.get(name) if line is None else facts.bindings_at(name, line)
        if bindings is None and (typing or "__getattr__" in facts.functions):
            # a lazy module (PEP 562): what its __getattr__ gives is what it tells type checkers
            bindings = facts.type_names.get(name)
        seen = (*seen, (module, name))
        if bindings is None:
            return self._star_lookup(facts, name, seen)
        found: list[Target] = []
        for binding in bindings:
            for target in self._bound(facts, name, binding, seen):
                if target not in found:
                    found.append(target)
        return found

    def _star_lookup(self, facts: ModuleFacts, name: str, seen: tuple[tuple[str, str], ...]) -> list[Target]:
        if facts.is_package and self.checkout.find_module(f"{facts.module}.{name}"):
            return [ModuleRef(f"{facts.module}.{name}")]
        for star in reversed(facts.stars):
            if self.checkout.find_module(star) and (found := self._lookup(star, name, None, False, seen)):
                return found
        if "__getattr__" in facts.functions and not name.startswith("__"):
            return self._lazy_lookup(facts, name, seen)
        return []

    def _lazy_lookup(self, facts: ModuleFacts, name: str, seen: tuple[tuple[str, str], ...]) -> list[Target]:
        """A name that a module-level ``__getattr__`` takes from the modules that it imports."""
        found: list[Target] = []
        for statement in walk(facts.functions["__getattr__"].body or ()):
            if statement[0] != "import":
                continue
            for _, module, attribute in statement[2]:
                for source in (f"{module}.{attribute}", module):
                    if self.checkout.find_module(source) and source != facts.module:
                        found += [t for t in self._lookup(source, name, None, False, seen) if t not in found]
        return found

    def _bound(
        self, facts: ModuleFacts, name: str, binding: Binding, seen: tuple[tuple[str, str], ...]
    ) -> list[Target]:
        if binding.kind == "class":
            assert isinstance(binding.target, int)
            return [self.class_at(facts, binding.target)]
        if binding.kind == "def":
            return [FunctionRef(facts.module, name)]
        if binding.kind == "value":
            return self._value(facts, name, binding, seen)
        assert isinstance(binding.target, tuple)
        module, attribute = binding.target
        return self.imported(module, attribute, seen)

    def _value(
        self, facts: ModuleFacts, name: str, binding: Binding, seen: tuple[tuple[str, str], ...]
    ) -> list[Target]:
        value = binding.target
        assert isinstance(value, tuple)
        if value[0] in ("name", "attr") and len(seen) < 20:  # an alias: A = B, A = module.B
            return self.resolve(facts, value, line=binding.line, seen=seen)
        return [ValueRef(facts.module, name, binding.line)]

    def imported(self, module: str, attribute: str | None, seen: tuple[tuple[str, str], ...] = ()) -> list[Target]:
        """What ``import module`` or ``from module import attribute`` gives."""
        if self.checkout.package_of(module) is None:
            return [External(module if attribute is None else f"{module}.{attribute}")]
        if attribute is None:
            return [ModuleRef(module)]
        if self.checkout.find_module(module) is None:
            return [Missing(f"the checkout has no module {module}")]
        found = self._lookup(module, attribute, None, False, seen)
        if found:
            return found
        if self.checkout.find_module(f"{module}.{attribute}"):
            return [ModuleRef(f"{module}.{attribute}")]
        return [Missing(f"{module} does not bind {attribute}")]

    def resolve(
        self,
        facts: ModuleFacts,
        expr: Expr,
        *,
        line: int | None = None,
        typing: bool = False,
        seen: tuple[tuple[str, str], ...] = (),
    ) -> list[Target]:
        """Everything that a name, a dotted name or a generic alias (``A[T]``) can be in a module."""
        if expr[0] == "sub":
            return self.resolve(facts, expr[1], line=line, typing=typing, seen=seen)
        if expr[0] == "name":
            found = self._lookup(facts.module, expr[1], line, typing, seen)
            return found or [External(f"builtins.{expr[1]}")]
        if expr[0] == "attr":
            out: list[Target] = []
            for target in self.resolve(facts, expr[1], line=line, typing=typing, seen=seen):
                out += self.member(target, expr[2])
            return out
        return [Missing(f"a base or name is computed: {render(expr)}")]

    def member(self, target: Target, name: str) -> list[Target]:
        """What ``target.name`` is, for a target that is a module, a class or external."""
        if isinstance(target, External):
            return [External(f"{target.name}.{name}")]
        if isinstance(target, ModuleRef):
            return self.imported(target.name, name)
        if isinstance(target, ClassInfo):
            for owner in target.own_mro:
                if name in owner.facts.nested:
                    return [self.class_at(owner.module, owner.facts.nested[name])]
        return [Missing(f"{name} of {target} is not known")]

    # -- classes -----------------------------------------------------------------------------------

    def class_at(self, module: ModuleFacts, index: int) -> ClassInfo:
        """The class at an index of a module's list, linearised on first use."""
        key = (module.module, index)
        known = self._classes.get(key)
        if known is not None:
            return known
        info = ClassInfo(module, module.classes[index])
        self._classes[key] = info
        self._by_key[info.key] = info
        self._building.append(key)
        try:
            self._linearise(info)
        finally:
            self._building.pop()
        return info

    def class_by_key(self, key: str) -> ClassInfo | None:
        """A class that has been met, by its dotted name."""
        return self._by_key.get(key)

    def classes(self, module: ModuleFacts) -> list[ClassInfo]:
        """All classes of a module, nested ones too."""
        return [self.class_at(module, index) for index in range(len(module.classes))]

    def _linearise(self, info: ClassInfo) -> None:
        info.mro = (info, OBJECT)  # what a cycle sees
        bases: list[Target] = []
        for expr in info.facts.bases:
            target = self._base(info, expr)
            if isinstance(target, ClassInfo) and not target.bases and self._unfinished(target):
                self._refuse(info, f"inherits from itself through {target.name}")
                return
            bases.append(target)
            if self._is_made(info, expr):
                bases.append(Missing(f"what {render(expr)} adds to the class that it is given is not followed"))
        info.bases = tuple(bases) or (OBJECT,)
        try:
            info.mro = linearise(info, info.bases, [linear(base) for base in info.bases])
        except NoLinearisation as error:
            self._refuse(info, str(error))

    def _unfinished(self, target: ClassInfo) -> bool:
        return any(self._classes.get(key) is target for key in self._building)

    def _refuse(self, info: ClassInfo, problem: str) -> None:
        info.problem = problem
        info.mro = (info, Missing(f"{info.key}: {problem}"), OBJECT)
        self._problems.append(Diagnostic(info.path, info.line, f"class {info.name}: {problem}"))

    def _is_made(self, info: ClassInfo, expr: Expr) -> bool:
        """Whether a base is what a function makes of a class: that has more than what is seen."""
        found = self.resolve(info.module, expr, line=info.line) if expr[0] != "call" else []
        return expr[0] == "call" or (bool(found) and self._made_from(found[-1]) is not None)

    def _made_from(self, target: Target) -> tuple[ModuleFacts, Expr] | None:
        """For a variable that holds ``f(B)``: the module that binds it, and ``B``."""
        if not isinstance(target, ValueRef) or (given := self.module(target.module)) is None:
            return None
        bound = given.names[target.name][-1].target
        return (given, bound[2][0]) if isinstance(bound, tuple) and bound[0] == "call" and bound[2] else None

    def _base(self, info: ClassInfo, expr: Expr) -> Target:
        if expr[0] == "call" and expr[2]:
            # ``class A(as_embedding_model(B))``: such a function makes a subclass of the class that it is given
            return self._base(info, expr[2][0])
        found = self.resolve(info.module, expr, line=info.line)
        if not found:
            return Missing(f"base {render(expr)} of {info.key} is not bound")
        target = found[-1]
        classes = [t for t in found if isinstance(t, ClassInfo)]
        if len(classes) > 1:
            names = " or ".join(t.key for t in classes)
            return Missing(f"base {render(expr)} of {info.key} is {names}, as the platform has it")
        made = self._made_from(target)
        if made is not None:
            return self._base(ClassInfo(made[0], info.facts), made[1])
        if isinstance(target, (ValueRef, FunctionRef, ModuleRef)):
            return Missing(f"base {render(expr)} of {info.key} is computed")
        return target


def linear(base: Target) -> tuple[Target, ...]:
    """The linearisation of a base; ``Protocol`` derives from ``Generic`` (CPython, ``typing.py``)."""
    if isinstance(base, ClassInfo):
        return base.mro
    if base == OBJECT:
        return (base,)
    if isinstance(base, External) and base.name.rpartition(".")[2] == "Protocol":
        return (base, GENERIC, OBJECT)
    return (base, OBJECT)
