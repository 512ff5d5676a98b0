"""Run the bodies of methods on stand-in values: what would Python do, without importing anything.

The machine follows assignments, attribute access, calls between the checkout's model files, ``isinstance``,
``hasattr`` and ``getattr``.  Where a condition cannot be decided, both branches run and their effects are joined.
In *strict* mode (a contract's method, called as the runner calls it) an attribute that is certainly missing raises
:class:`Raised`, as Python would; in lenient mode (``__init__``, ``forward``) it becomes an opaque value.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from analyzer import calls, evaluate, objects
from analyzer.facts import FunctionFacts, ModuleFacts
from analyzer.index import ClassInfo, Index
from analyzer.lower import Block, Expr, Stmt
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
    Taint,
    Value,
    one_of,
    options,
    taint_of,
    tainted,
)

MAX_DEPTH = 30
MAX_STEPS = 60_000


class Raised(Exception):
    """The interpreted code certainly raises.

    Args:
        kind: name of the exception's class.
        detail: its message, as far as it is known.
        path, line: where.
    """

    def __init__(self, kind: str, detail: str, path: str, line: int) -> None:
        super().__init__(f"{kind}: {detail}")
        self.kind, self.detail, self.path, self.line = kind, detail, path, line


@dataclass
class Store:
    """An attribute that was set on an object, ``maybe`` if under a condition that could not be decided."""

    instance: Instance
    attribute: str
    value: Value
    path: str
    line: int
    maybe: bool


@dataclass
class Called:
    """A method of an object that was entered: which class defines it, and where it was called."""

    instance: Instance
    owner: ClassInfo
    function: FunctionFacts
    path: str
    line: int


@dataclass
class Outcome:
    """What running a method gave."""

    returns: list[tuple[Value, str, int]] = field(default_factory=list)
    failure: Raised | None = None
    possible_failures: list[Raised] = field(default_factory=list)
    stores: list[Store] = field(default_factory=list)
    called: list[Called] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)

    @property
    def value(self) -> Value:
        return one_of([value for value, _, _ in self.returns]) if self.returns else Const(None)


@dataclass
class Frame:
    """One activation of a function."""

    module: ModuleFacts
    function: FunctionFacts | None
    owner: ClassInfo | None
    env: dict[str, Value]
    receiver: Value | None = None
    returns: list[tuple[Value, str, int]] = field(default_factory=list)

    @property
    def path(self) -> str:
        return self.module.path


FALLS, LEAVES, LOOPS = 0, 1, 2  # how a block ends: falls through, returns or raises, breaks or continues


class Machine:
    """The interpreter's state: one per audit, with what it has learnt of each class.

    Args:
        index: the checkout's names.
        registry: the checkout's architectures.
    """

    def __init__(self, index: Index, registry: Registry) -> None:
        self.index = index
        self.registry = registry
        self.templates: dict[tuple[object, ...], Value] = {}
        self.globals: dict[tuple[str, str], Value] = {}
        self.building: list[Instance] = []
        self.stack: list[tuple[int, int]] = []
        self.strict = False
        self.undecided = 0
        self.control: Taint = CLEAN
        self.pins: dict[tuple[str, int, int], Value] = {}
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
        mark = (id(facts), id(function.receiver))
        if facts.body is None or mark in self.stack or len(self.stack) > MAX_DEPTH:
            why = "was not read" if facts.body is None else "calls itself or is too deep"
            self.outcome.unknown.append(f"{facts.name} ({function.module.path}:{facts.line}) {why}")
            if facts.body is None and function.receiver in self.building:
                assert isinstance(function.receiver, Instance)
                function.receiver.missing_reason = f"{facts.name} is too long to be followed"
            return Opaque(f"{facts.name}()", f"{facts.name} {why}", taint_of(arguments))
        if isinstance(function.receiver, Instance) and function.owner is not None and caller is not None:
            self.outcome.called.append(Called(function.receiver, function.owner, facts, caller.path, line))
        env = bind(self, function, arguments)
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

    def block(self, statements: Block, frame: Frame) -> int:
        """Run statements in order; returns how the block ends."""
        for statement in statements:
            self.steps += 1
            if self.steps > MAX_STEPS:
                self.outcome.unknown.append("too long to be followed")
                return FALLS
            ending = _RUN[statement[0]](self, statement, frame)
            if ending != FALLS:
                return ending
        return FALLS

    def eval(self, expr: Expr, frame: Frame) -> Value:
        return evaluate.evaluate(self, expr, frame)

    def truth(self, value: Value) -> bool | None:
        return evaluate.truth(value)

    def fail(self, kind: str, detail: str, frame: Frame, line: int) -> Raised:
        return Raised(kind, detail, frame.path, line)

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Run something whose effects are not those of the method at hand (a lazily built object)."""
        kept = (self.outcome, self.strict, self.undecided, self.control, self.building)
        self.outcome, self.strict, self.undecided, self.control = Outcome(), False, 0, CLEAN
        try:
            yield
        finally:
            self.outcome, self.strict, self.undecided, self.control, self.building = kept

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
        left: list[tuple[int, dict[str, Value], list[dict[str, Value]]]] = []
        raised: list[Raised] = []
        for arm in arms:
            frame.env = dict(env)
            for instance, before in attrs:
                instance.attrs = dict(before)
            try:
                with self.maybe(labels):
                    ending = self.block(arm, frame)
            except Raised as error:
                raised.append(error)
                continue
            left.append((ending, frame.env, [instance.attrs for instance, _ in attrs]))
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
        if not left and raised:
            raise raised[-1]
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
        if not any(instance is b for b in self.building):
            objects.prepare(self, instance)
        for option in options(value):
            if isinstance(option, Instance) and not option.trail and option is not instance:
                option.trail = (*instance.trail, name)
        instance.attrs[name] = value
        if name not in instance.set_at:
            instance.set_at[name] = Site(frame.path, line, column)
        self.outcome.stores.append(Store(instance, name, value, frame.path, line, maybe or self.undecided > 0))

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
        """A model that the configuration chooses, or what a caller has pinned for that place."""
        return self.pins.get(site.key) or ChosenModel(text, site)


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
    """Methods that every registered model has: those of the Protocols in ``interfaces_base.py``, beside the contracts'."""
    home = index.checkout.interfaces_path.with_name("interfaces_base.py")
    facts = index.module(index.checkout.module_name(home)) if home.is_file() else None
    return frozenset(name for cls in facts.classes for name in cls.methods) if facts else frozenset()


def _join(states: list[dict[str, Value]]) -> dict[str, Value]:
    if len(states) == 1:
        return states[0]
    out: dict[str, Value] = {}
    for state in states:
        for name, value in state.items():
            if name not in out:
                out[name] = one_of(s[name] for s in states if name in s)
            del value
    return out


def bind(machine: Machine, function: Function, arguments: Arguments) -> dict[str, Value]:
    """Arguments to parameters; defaults are evaluated in the defining module."""
    facts = function.facts
    positional = list(arguments.positional)
    if function.receiver is not None and facts.kind != "static":
        positional.insert(0, function.receiver)
    env: dict[str, Value] = {}
    home = Frame(function.module, None, function.owner, {})
    used = set()
    for parameter in facts.parameters:
        name = parameter.name
        if parameter.kind == "var_positional":
            env[name] = Collection("tuple", positional, complete=True)
            positional = []
        elif parameter.kind == "var_keyword":
            rest = [v for k, v in arguments.keywords.items() if k not in used]
            env[name] = Opaque(f"**{name}", taint=taint_of(rest))
        elif parameter.kind != "keyword_only" and positional:
            env[name] = positional.pop(0)
        elif name in arguments.keywords:
            used.add(name)
            env[name] = arguments.keywords[name]
        elif parameter.default is not None:
            env[name] = machine.eval(parameter.default, home)
        else:
            env[name] = Opaque(name)
    return env


# -- statement forms -------------------------------------------------------------------------------


def _assign(machine: Machine, statement: Stmt, frame: Frame) -> int:
    _, line, targets, value, column = statement
    found = machine.eval(value, frame)
    for target in targets:
        machine.assign(target, found, frame, line, column)
    return FALLS


def _augment(machine: Machine, statement: Stmt, frame: Frame) -> int:
    _, line, target, value = statement
    added = machine.eval(value, frame)
    old = machine.eval(target, frame) if target[0] == "name" else Opaque("")
    labels = taint_of([added]) | machine.control
    if isinstance(old, Collection):
        old.taint |= labels
        old.complete = False
    else:
        machine.assign(target, Opaque("", taint=taint_of([old]) | labels), frame, line, 0)
    return FALLS


def _return(machine: Machine, statement: Stmt, frame: Frame) -> int:
    value = Const(None) if statement[2] is None else machine.eval(statement[2], frame)
    frame.returns.append((value, frame.path, statement[1]))
    return LEAVES


def _if(machine: Machine, statement: Stmt, frame: Frame) -> int:
    _, _, test, body, orelse = statement
    decided = machine.eval(test, frame)
    truth = machine.truth(decided)
    if truth is not None:
        return machine.block(body if truth else orelse, frame)
    return machine.fork([body, orelse], frame, taint_of([decided]))


def _for(machine: Machine, statement: Stmt, frame: Frame) -> int:
    _, line, target, iterable, body, orelse = statement
    sequence = machine.eval(iterable, frame)
    if isinstance(sequence, Collection) and sequence.complete and len(sequence.items) <= 16:
        for value in list(sequence.items):
            machine.assign(target, value, frame, line, 0)
            if machine.block(body, frame) == LEAVES:
                return LEAVES
        return machine.block(orelse, frame)
    element = evaluate.element(sequence)
    machine.assign(target, element, frame, line, 0)
    machine.fork([body, ()], frame, CLEAN)
    return machine.block(orelse, frame)


def _while(machine: Machine, statement: Stmt, frame: Frame) -> int:
    _, _, test, body, orelse = statement
    machine.eval(test, frame)
    machine.fork([body, ()], frame, CLEAN)
    return machine.block(orelse, frame)


def _with(machine: Machine, statement: Stmt, frame: Frame) -> int:
    _, line, items, body = statement
    marks = []
    for context, target in items:
        mark = calls.marker(machine, context, frame)
        if mark is not None:
            marks.append(mark)
        value = machine.eval(context, frame) if mark is None else Opaque("")
        if target is not None:
            machine.assign(target, evaluate.entered(value), frame, line, 0)
    ending = machine.block(body, frame)
    for mark in marks:
        calls.apply_marker(machine, mark)
    return ending


def _try(machine: Machine, statement: Stmt, frame: Frame) -> int:
    _, _, body, handlers, orelse, final = statement
    try:
        ending = machine.block(body, frame)
        if ending == FALLS:
            ending = machine.block(orelse, frame)
    except Raised as raised:
        handler = _handler(handlers, raised.kind)
        if handler is None:
            raise
        ending = machine.block(handler, frame)
    done = machine.block(final, frame)
    return ending if done == FALLS else done


def _handler(handlers: tuple[tuple[Expr | None, Block], ...], kind: str) -> Block | None:
    broad = {"Exception", "BaseException"}
    for caught, body in handlers:
        if caught is None:
            return body
        names = caught[2] if caught[0] == "seq" else (caught,)
        if any(name[0] == "name" and name[1] in {kind, *broad} for name in names):
            return body
    return None


def _raise(machine: Machine, statement: Stmt, frame: Frame) -> int:
    _, line, raised = statement
    kind, detail = evaluate.exception(machine, raised, frame)
    raise machine.fail(kind, detail, frame, line)


def _assert(machine: Machine, statement: Stmt, frame: Frame) -> int:
    _, line, test, message = statement
    holds = machine.truth(machine.eval(test, frame))
    if holds is False:
        detail = evaluate.text_of(machine, message, frame)
        if machine.strict:
            raise machine.fail("AssertionError", detail, frame, line)
    elif holds is None and machine.strict:
        machine.outcome.possible_failures.append(
            machine.fail("AssertionError", evaluate.text_of(machine, message, frame), frame, line)
        )
    return FALLS


def _import(_machine: Machine, statement: Stmt, frame: Frame) -> int:
    for local, module, attribute in statement[2]:
        frame.env[local] = evaluate.Imported(module, attribute)
    return FALLS


def _expr(machine: Machine, statement: Stmt, frame: Frame) -> int:
    machine.eval(statement[2], frame)
    return FALLS


def _local(_machine: Machine, statement: Stmt, frame: Frame) -> int:
    frame.env[statement[2]] = Opaque(statement[2], "defined inside a function")
    return FALLS


_RUN = {
    "assign": _assign,
    "annotate": lambda *_: FALLS,
    "augment": _augment,
    "expr": _expr,
    "return": _return,
    "if": _if,
    "for": _for,
    "while": _while,
    "with": _with,
    "try": _try,
    "raise": _raise,
    "assert": _assert,
    "import": _import,
    "def": _local,
    "break": lambda *_: LOOPS,
    "continue": lambda *_: LOOPS,
}
