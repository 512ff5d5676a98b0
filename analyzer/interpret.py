"""Run the bodies of methods on stand-in values: what would Python do, without importing anything.

The machine follows assignments, attribute access, calls between the checkout's model files, ``isinstance``,
``hasattr`` and ``getattr``.  Where a condition cannot be decided, both branches run and their effects are joined.
In *strict* mode (a contract's method, called as the runner calls it) an attribute that is certainly missing raises
``Raised``, as Python would; in lenient mode (``__init__``, ``forward``) it becomes an opaque value.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from analyzer import binding, calls, construct, evaluate, members, objects, statements
from analyzer.checkout import INTERFACES
from analyzer.checkpoint import Checkpoint
from analyzer.facts import ModuleFacts
from analyzer.frames import FALLS, LEAVES, LOOPS, Called, Frame, Outcome, Raised, Store
from analyzer.index import ClassInfo, Index
from analyzer.lower import Block, Expr
from analyzer.pins import Excluded, Pins, taken
from analyzer.registry import Registry
from analyzer.values import (
    CLEAN,
    Arguments,
    ChosenModel,
    Collection,
    Const,
    Function,
    Instance,
    OneOf,
    Opaque,
    Site,
    Table,
    Taint,
    Value,
    is_data,
    one_of,
    options,
    taint_of,
    tainted,
)

MAX_DEPTH = 30
MAX_STEPS = 60_000


class Machine:
    """The interpreter's state: one per audit, with what it has learnt of each class.

    Args:
        index: the checkout's names.
        registry: the checkout's architectures.
        checkpoint: decides what its configuration decides; None to leave that open.
    """

    def __init__(self, index: Index, registry: Registry, checkpoint: Checkpoint | None = None) -> None:
        self.checkpoint = checkpoint
        self.index = index
        self.registry = registry
        self.templates: dict[tuple[object, ...], Value | Raised] = {}
        self.globals: dict[tuple[str, str], Value] = {}
        self.names: dict[tuple[str, str], Value] = {}
        self.markers: dict[int, tuple[list[tuple[str, Expr | None]], list[Expr]]] = {}
        self.building: list[Instance] = []
        self.constructing: list[tuple[ClassInfo, Arguments]] = []  # the calls whose __new__ runs
        self.stack: list[tuple[object, ...]] = []
        self.strict = False
        self.undecided = 0
        self.control: Taint = CLEAN
        self.pins: Pins = {}
        self.wanted_built = 0
        self.watched: Instance | None = None
        self.watched_part = 1
        self.model_members = _model_members(index)
        self.outcome = Outcome()
        self.steps = 0

    # -- entry points ------------------------------------------------------------------------------

    def run(self, function: Value, arguments: Arguments, *, strict: bool = True) -> Outcome:
        """Call something and tell everything that happened.

        Args:
            function: usually a bound method.
            arguments: its arguments.
            strict: whether a missing attribute raises.
        """
        outer = (self.outcome, self.strict, self.undecided, self.control, self.steps)
        self.outcome, self.strict, self.undecided, self.control = Outcome(), strict, 0, CLEAN
        self.steps = 0
        try:
            value = calls.call(self, function, arguments, Frame(_NOWHERE, None, None, {}), 0)
            facts = function.facts if isinstance(function, Function) else None
            if not self.outcome.returns:
                path = function.module.path if isinstance(function, Function) else ""
                self.outcome.returns = [(v, path, facts.line if facts else 0) for v in options(value)]
        except Raised as raised:
            self.outcome.failure = raised
        except RecursionError:
            self.outcome.unknown.append("nested too deeply to be followed")
        finally:
            done = self.outcome
            self.outcome, self.strict, self.undecided, self.control, self.steps = outer
        return done

    def enter(self, function: Function, arguments: Arguments, line: int, caller: Frame | None) -> Value:
        """Interpret a function's body; opaque where it is too deep, too large or left out."""
        facts = function.facts
        told = tuple(a.value for a in arguments.positional if isinstance(a, Const))  # __getattr__ asks by name
        mark = (id(facts), id(function.receiver), told)
        if facts.body is None or mark in self.stack or len(self.stack) > MAX_DEPTH:
            why = "was not read" if facts.body is None else "calls itself or is too deep"
            self.outcome.unknown.append(f"{facts.name} ({function.module.path}:{facts.line}) {why}")
            if facts.body is None and function.receiver in self.building:
                assert isinstance(function.receiver, Instance)
                state = "is too long to be followed" if facts.too_long else "cannot be read"
                function.receiver.missing_reason = f"{facts.name} {state}"
            return Opaque(f"{facts.name}()", f"{facts.name} {why}", taint_of(arguments))
        if isinstance(function.receiver, Instance) and function.owner is not None and caller is not None:
            self.outcome.called.append(Called(function.receiver, function.owner, facts, caller.path, line))
        env = binding.bind(self, function, arguments)
        frame = Frame(function.module, facts, function.owner, env, function.receiver)
        self.stack.append(mark)
        try:
            ending = self.block(facts.body, frame)
        except Raised as raised:
            if not frame.returns:  # else another path left before
                raise
            self.outcome.possible_failures.append(raised)
            ending = LEAVES
        finally:
            self.stack.pop()
        if len(self.stack) == 0:
            self.outcome.returns = list(frame.returns)
            if ending == FALLS:
                self.outcome.returns.append((Const(None), frame.path, facts.line))
        if not frame.returns:
            return Const(None)
        values = [value for value, _, _ in frame.returns]
        return one_of(values) if ending != FALLS or len(values) > 1 else one_of([*values, Const(None)])

    # -- statements --------------------------------------------------------------------------------

    def block(self, body: Block, frame: Frame) -> int:
        """Run statements in order; returns how the block ends."""
        for statement in body:
            self.steps += 1
            if self.steps > MAX_STEPS:
                self.outcome.unknown.append("too long to be followed")
                return FALLS
            ending = statements.run(self, statement, frame)
            if ending != FALLS:
                return ending
        return FALLS

    def eval(self, expr: Expr, frame: Frame) -> Value:
        """The value of an expression; opaque where it is nested too deeply."""
        try:
            return evaluate.evaluate(self, expr, frame)
        except RecursionError:
            self.outcome.unknown.append(f"an expression in {frame.path} is nested too deeply to be followed")
            return Opaque("", "nested too deeply to be followed")

    @property
    def exhausted(self) -> bool:
        """Whether the run at hand was given up for its length."""
        return self.steps > MAX_STEPS

    def truth(self, value: Value) -> bool | None:
        return evaluate.truth(value)

    def fail(self, kind: str, detail: str, frame: Frame, line: int) -> Raised:
        return Raised(kind, detail, frame.path, line)

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Run something whose effects are not those of the method at hand (a lazily built object)."""
        kept = (self.outcome, self.strict, self.undecided, self.control, self.building, self.steps)
        self.outcome, self.strict, self.undecided, self.control, self.steps = Outcome(), False, 0, CLEAN, 0
        try:
            yield
        finally:
            self.outcome, self.strict, self.undecided, self.control, self.building, self.steps = kept

    @contextmanager
    def maybe(self, labels: Taint = CLEAN) -> Iterator[None]:
        """Mark what runs inside as depending on a condition that is not known."""
        control, self.control = self.control, self.control | labels
        self.undecided += 1
        try:
            yield
        finally:
            self.undecided -= 1
            self.control = control

    def fork(self, arms: list[Block], frame: Frame, labels: Taint) -> int:
        """Run alternative blocks on copies of the state and join what they leave."""
        env = frame.env
        attrs = [(instance, instance.attrs) for instance in self.building]
        left: list[tuple[int, dict[str, Value], list[dict[str, Value]], bool]] = []
        raised: list[Raised] = []
        for arm in arms:
            frame.env, built = dict(env), self.wanted_built
            for instance, before in attrs:
                instance.attrs = dict(before)
            try:
                with self.maybe(labels):
                    ending = self.block(arm, frame)
            except Raised as error:
                raised.append(error)
                continue
            except Excluded:
                continue
            left.append((ending, frame.env, [instance.attrs for instance, _ in attrs], self.wanted_built > built))
        left = taken(left)
        self.outcome.possible_failures += raised
        going = [state for state in left if state[0] == FALLS]
        looping = [state for state in left if state[0] == LOOPS]
        frame.env = _join([state[1] for state in going or looping]) if going or looping else env
        for position, (instance, before) in enumerate(attrs):
            states = [state[2][position] for state in left]
            instance.attrs = self._join_attrs(instance, states) if states else before
        if going:
            return FALLS
        if looping:
            return LOOPS
        if not left:
            raise raised[-1] if raised else Excluded
        return LEAVES

    def _join_attrs(self, instance: Instance, states: list[dict[str, Value]]) -> dict[str, Value]:
        for state in states[1:]:
            instance.maybe |= state.keys() ^ states[0].keys()
        return _join(states)

    def assign(self, target: Expr, value: Value, frame: Frame, line: int, column: int) -> None:
        """Bind a target of an assignment, a loop or a with statement."""
        op = target[0]
        if op == "name":
            frame.env[target[1]] = tainted(value, self.control) if self.control else value
        elif op == "attr":
            owner = self.eval(target[1], frame)
            for option in options(owner):
                if isinstance(option, Instance):
                    self.set_attribute(option, target[2], value, frame, line, column, isinstance(owner, OneOf))
                elif isinstance(option, Const) and option is owner and self.strict:
                    detail = f"{members.described(option)} has no attribute {target[2]!r}"
                    raise self.fail("AttributeError", detail, frame, line)
                elif isinstance(option, (Opaque, ChosenModel)) and self.strict:
                    self.outcome.unknown.append(f"{target[2]} is set on something unknown at {frame.path}:{line}")
        elif op in ("seq", "star"):
            self._unpack(target, value, frame, line, column)
        elif op == "sub":
            container = self.eval(target[1], frame)
            if isinstance(container, Collection):
                container.taint |= taint_of([value]) | self.control
            elif self.strict:
                self.outcome.unknown.append(f"an item is stored in a container at {frame.path}:{line}")

    def set_attribute(
        self,
        instance: Instance,
        name: str,
        value: Value,
        frame: Frame,
        line: int,
        column: int = 0,
        maybe: bool = False,
    ) -> None:
        """``instance.name = value``, noted among the effects of the run."""
        built = self.is_built(instance)
        if built:
            construct.prepare(self, instance)
            if self.strict and is_data(value):
                refused = self.fail("TypeError", f"cannot assign … as child module {name!r}", frame, line)
                if objects.is_child(instance, name):
                    raise refused
                if objects.may_be_child(instance, name):
                    self.outcome.possible_failures.append(refused)
        instance.place(name, value)
        if built:
            self.hand_over(instance)
        if name not in instance.set_at:
            instance.set_at[name] = Site(frame.path, line, column)
        self.outcome.stores.append(Store(instance, name, value, frame.path, line, maybe or self.undecided > 0))

    def delete(self, target: Expr, frame: Frame, line: int) -> None:
        """Unbind a target of ``del``.

        A name is kept: nothing asks for it any more.
        """
        if target[0] == "attr":
            for option in options(self.eval(target[1], frame)):
                if isinstance(option, Instance):
                    objects.delete(self, option, target[2], frame, line)
        elif target[0] == "sub":
            container = self.eval(target[1], frame)
            if isinstance(container, (Collection, Table)):
                container.complete = False
        elif target[0] == "seq":
            for part in target[2]:
                self.delete(part, frame, line)

    def is_built(self, instance: Instance) -> bool:
        """Whether an object is not one of those whose ``__init__`` is running."""
        return not any(instance is other for other in self.building)

    def hand_over(self, instance: Instance) -> None:
        """Let what is being built find out where something that an object in it held stands now."""
        displaced, instance.displaced = instance.displaced, ()
        if self.building and not self.undecided:
            self.building[0].displaced += displaced

    def forget(self, instance: Instance, name: str) -> None:
        """An attribute of an object is gone, and what was stored there in this run with it."""
        self.hand_over(instance)
        stores = self.outcome.stores
        stores[:] = [s for s in stores if s.instance is not instance or s.attribute != name]

    def _unpack(self, target: Expr, value: Value, frame: Frame, line: int, column: int) -> None:
        if target[0] == "star":
            self.assign(target[1], Opaque("*", taint=taint_of([value])), frame, line, column)
            return
        names = target[2]
        parts: list[Value]
        if isinstance(value, Collection) and len(value.items) == len(names) and value.complete:
            parts = value.items
        else:
            parts = [evaluate.item(value, index, len(names)) for index in range(len(names))]
        for name, part in zip(names, parts, strict=True):
            self.assign(name, part, frame, line, column)

    def global_value(self, module: str, name: str) -> Value:
        """The value of a module-level variable, evaluated once."""
        key = (module, name)
        if key not in self.globals:
            self.globals[key] = Opaque(name, f"{name} refers to itself")
            facts = self.index.module(module)
            bindings = [b for b in facts.names.get(name, []) if b.kind == "value"] if facts else []
            values: list[Value] = []
            for binding in bindings:
                assert facts is not None and isinstance(binding.target, tuple)
                if binding.target[0] == "call" and not binding.target[2] and _empty_container(binding.target):
                    values.append(Collection("list"))
                    continue
                values.append(self.eval(binding.target, Frame(facts, None, None, {})))
            self.globals[key] = one_of(values) if values else Opaque(name, f"{name} has no value")
            found = self.globals[key]
            if isinstance(found, Collection) and not found.items:
                found.empty_global = True
        return self.globals[key]

    def new_chosen(self, text: str, site: Site) -> Value:
        """A model that the configuration chooses, or one of the class that is pinned for that place."""
        pin = self.pins.get(site.key)
        self.wanted_built += pin is not None and pin.wanted
        return ChosenModel(text, site) if pin is None or pin.cls is None else construct.stand_in(self, pin.cls)


_NOWHERE = ModuleFacts("", "", False)


_CONTAINERS = (
    "dict",
    "set",
    "list",
    "OrderedDict",
    "defaultdict",
    "WeakKeyDictionary",
    "WeakValueDictionary",
    "WeakSet",
)


def _empty_container(call: Expr) -> bool:
    kind = call[1][1] if call[1][0] == "sub" else call[1]  # dict[Key, Value]()
    return kind[0] in ("name", "attr") and (kind[2] if kind[0] == "attr" else kind[1]) in _CONTAINERS


def _model_members(index: Index) -> frozenset[str]:
    """Methods that every registered model has: those of the Protocols in ``interfaces_base.py``."""
    places = (index.checkout.interfaces_path, index.checkout.package / INTERFACES)
    home = next((file for place in places if (file := place.with_name("interfaces_base.py")).is_file()), None)
    facts = index.module(index.checkout.module_name(home)) if home is not None else None
    return frozenset(name for cls in facts.classes for name in cls.methods) if facts else frozenset()


def _join(states: list[dict[str, Value]]) -> dict[str, Value]:
    if len(states) == 1:
        return states[0]
    out: dict[str, Value] = {}
    for state in states:
        for name, value in state.items():
            if name not in out:
                found = [s[name] for s in states if name in s]
                out[name] = value if all(other is value for other in found) else one_of(found)
    return out
