"""What an expression of a model's source can stand for, without running it.

A value carries *taint*: labels of the data that flowed into it.  That is how the interpreter tells a result that
a wrapper hands on as it came from one that it changed, and whether auxiliary states reach a return.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from analyzer.facts import FunctionFacts, ModuleFacts

if TYPE_CHECKING:
    from analyzer.index import ClassInfo

Taint = frozenset[str]
CLEAN: Taint = frozenset()


class Value:
    """Base of all values; ``taint`` labels the data that flowed in."""

    taint: Taint = CLEAN


class Opaque(Value):
    """Anything not known more closely; ``text`` is how the source writes it, ``reason`` why it is not known."""

    def __init__(self, text: str, reason: str = "", taint: Taint = CLEAN) -> None:
        self.text, self.reason, self.taint = text, reason, taint

    def __repr__(self) -> str:
        return f"Opaque({self.text!r})"


class Sized(Opaque):
    """A sequence of unknown items and known length: the layers of a checkpoint, ``range(8)``."""

    def __init__(self, text: str, length: int) -> None:
        super().__init__(text)
        self.length = length


class Given(Opaque):
    """What a caller hands over: data of which no more is known, and certainly no module."""


class PartOfChosen(Opaque):
    """What stands in a model that the configuration chooses: a sub-module, or data."""


class Lambda(Opaque):
    """A function without a name: there for certain, and not followed when it is called."""


class Const(Value):
    """A literal."""

    def __init__(self, value: object, taint: Taint = CLEAN) -> None:
        self.value, self.taint = value, taint

    def __repr__(self) -> str:
        return f"Const({self.value!r})"


class Collection(Value):
    """A list, tuple or set whose items are known; ``items`` of a list may still grow."""

    def __init__(self, kind: str, items: Iterable[Value] = (), *, complete: bool = True, empty_global: bool = False):
        self.kind, self.items, self.complete = kind, list(items), complete
        self.length: int | None = None  # where the items are not known
        self.empty_global = empty_global

    @property
    def deep_taint(self) -> Taint:
        """The labels of the collection and of everything inside, which may be itself."""
        out, todo, seen = CLEAN, [self], {id(self)}
        while todo:
            collection = todo.pop()
            out |= collection.taint
            for item in collection.items:
                if not isinstance(item, Collection):
                    out |= item.taint
                elif id(item) not in seen:
                    seen.add(id(item))
                    todo.append(item)
        return out


class Table(Value):
    """A dict display; keys that are not constants make it incomplete."""

    def __init__(self, pairs: dict[object, Value], *, complete: bool = True) -> None:
        self.pairs, self.complete = pairs, complete
        self.taint = taint_of(pairs.values())


class ClassValue(Value):
    """A class of the checkout."""

    def __init__(self, cls: ClassInfo) -> None:
        self.cls = cls

    def __repr__(self) -> str:
        return f"ClassValue({self.cls.key})"


class ExternalRef(Value):
    """A function, class or module that is not followed, by its dotted name and the last part of that."""

    def __init__(self, name: str, taint: Taint = CLEAN) -> None:
        self.name, self.taint = name, taint
        self.last = name.rpartition(".")[2]

    def __repr__(self) -> str:
        return f"ExternalRef({self.name})"


class ModuleValue(Value):
    """A Python module of the checkout."""

    def __init__(self, name: str) -> None:
        self.name = name


class Function(Value):
    """A function; ``owner`` is the class that defines it, ``receiver`` what it is bound to."""

    def __init__(
        self,
        facts: FunctionFacts,
        module: ModuleFacts,
        owner: ClassInfo | None = None,
        receiver: Value | None = None,
    ) -> None:
        self.facts, self.module, self.owner, self.receiver = facts, module, owner, receiver


class BuiltinMethod(Value):
    """A method of a known collection or string: ``aux.append``, ``name.split``."""

    def __init__(self, receiver: Value, name: str) -> None:
        self.receiver, self.name = receiver, name


class Partial(Value):
    """``functools.partial`` of something."""

    def __init__(self, func: Value, args: tuple[Value, ...], keywords: dict[str, Value]) -> None:
        self.func, self.args, self.keywords = func, args, keywords


class Super(Value):
    """``super()``: the rest of ``instance``'s linearisation behind ``after``."""

    def __init__(self, after: ClassInfo, instance: Value) -> None:
        self.after, self.instance = after, instance


class ConfigView(Value):
    """A configuration object that was told which architectures to build (``with_hf_config``)."""

    def __init__(self, text: str, architectures: Value | None) -> None:
        self.text, self.architectures = text, architectures


class ChosenModel(Value):
    """An inner model that the checkpoint's configuration chooses; ``text`` is the configuration asked."""

    def __init__(self, text: str, site: Site) -> None:
        self.text, self.site = text, site

    def __repr__(self) -> str:
        return f"ChosenModel({self.text})"


class Site:
    """The call that built something: file, line and UTF-8 column offset."""

    __slots__ = ("column", "line", "path")

    def __init__(self, path: str, line: int, column: int) -> None:
        self.path, self.line, self.column = path, line, column

    @property
    def key(self) -> tuple[str, int, int]:
        return (self.path, self.line, self.column)


class Instance(Value):
    """An object of a class of the checkout; its attributes are found when first asked for.

    ``trail`` is the path of attributes from the outermost object, ``missing_reason`` why an attribute that is
    not in ``attrs`` may exist all the same, ``template`` the object whose attributes it starts with,
    ``registered`` whether vLLM's registry chose its class (and not a direct call of it), ``displaced`` what its
    attributes held until they were set anew or deleted, ``twins`` by identity what stands for the template and for
    the objects inside it.
    """

    def __init__(
        self,
        cls: ClassInfo,
        site: Site | None,
        arguments: Arguments,
        *,
        template: Instance | None = None,
        trail: tuple[str, ...] = (),
    ) -> None:
        self.cls, self.site, self.arguments, self.template, self.trail = cls, site, arguments, template, trail
        self.attrs: dict[str, Value] = {}
        self.set_at: dict[str, Site] = {}
        self.maybe: set[str] = set()
        self.ready = False
        self.missing_reason = ""
        self.registered: bool = template.registered if template is not None else False
        self.displaced: tuple[Instance, ...] = ()
        self.twins: dict[int, Instance] | None = None

    def place(self, name: str, value: Value) -> None:
        """Keep a value under a name; an object gets its trail from its first place, or from one that it was inside."""
        trail = (*self.trail, name)
        for option in options(value):
            if isinstance(option, Instance) and option is not self:
                if not option.trail or (option.trail[: len(trail)] == trail and option.trail != trail):
                    option.trail = trail
        if name in self.attrs:
            self.displace(name, options(value))
        self.attrs[name] = value

    def displace(self, name: str, kept: tuple[Value, ...] = ()) -> None:
        """Note that an attribute no longer holds what it does, but for what is ``kept``."""
        for option in options(self.attrs[name]):
            if isinstance(option, Instance) and not any(option is other for other in kept):
                self.displaced += (option,)

    def __repr__(self) -> str:
        return f"Instance({self.cls.name} at {'.'.join(self.trail) or 'root'})"


class ForwardResult(Value):
    """What ``forward`` of an object gave, as it came: a tuple whose item ``part`` holds the auxiliary states."""

    def __init__(self, instance: Instance, part: int) -> None:
        self.instance, self.part = instance, part
        self.taint = frozenset({"result"})

    def item(self, index: int) -> Value:
        """One item of the result, labelled as the auxiliary states or as the rest."""
        if index == self.part:
            states = Collection("list", [Opaque("auxiliary states", taint=self.taint | {"aux"})])
            states.taint = self.taint | {"aux"}
            return states
        return Opaque("hidden states", taint=self.taint)


class OneOf(Value):
    """Several possibilities: branches, platforms."""

    def __init__(self, options: tuple[Value, ...]) -> None:
        self.options = options
        self.taint = frozenset().union(*(o.taint for o in options))

    def __repr__(self) -> str:
        return f"OneOf{self.options!r}"


class Arguments:
    """The arguments of a call."""

    __slots__ = ("keywords", "positional")

    def __init__(self, positional: tuple[Value, ...] = (), keywords: dict[str, Value] | None = None) -> None:
        self.positional, self.keywords = positional, keywords or {}

    def __iter__(self) -> Iterator[Value]:
        yield from self.positional
        yield from self.keywords.values()

    def get(self, name: str, position: int | None = None) -> Value | None:
        """An argument by keyword, else by position."""
        if name in self.keywords:
            return self.keywords[name]
        if position is not None and position < len(self.positional):
            return self.positional[position]
        return None

    @property
    def key(self) -> tuple[Any, ...]:
        """What of the arguments can steer construction: classes, functions and constants."""
        return (
            tuple(_steering(v) for v in self.positional),
            tuple(sorted((k, s) for k, v in self.keywords.items() if (s := _steering(v)))),
        )


def _steering(value: Value) -> str:
    if isinstance(value, ClassValue):
        return value.cls.key
    if isinstance(value, Const) and not isinstance(value.value, str):
        return repr(value.value)
    if isinstance(value, Function):
        return f"{value.module.module}.{value.facts.name}:{value.facts.line}"
    if isinstance(value, Opaque) and value.text.startswith("vllm_config["):  # an inner model of a checkpoint
        return value.text
    if isinstance(value, ConfigView):
        return repr(value.architectures and options(value.architectures))
    return ""


def options(value: Value) -> tuple[Value, ...]:
    """The possibilities of a value: itself unless it is :class:`OneOf`."""
    return value.options if isinstance(value, OneOf) else (value,)


def one_of(values: Iterable[Value]) -> Value:
    """The join of several values, flattened, each once; equal constants count once."""
    given = values if isinstance(values, list) else list(values)
    if len(given) == 1:  # by far the most frequent case
        return given[0]
    out: list[Value] = []
    for value in given:
        for option in options(value):
            if not any(option is known or _same(option, known) for known in out):
                out.append(option)
    if not out:
        return Opaque("", "no value")
    return out[0] if len(out) == 1 else OneOf(tuple(out))


def _same(a: Value, b: Value) -> bool:
    if isinstance(a, Const) and isinstance(b, Const):
        return type(a.value) is type(b.value) and a.value == b.value and a.taint == b.taint
    if isinstance(a, ClassValue) and isinstance(b, ClassValue):
        return a.cls is b.cls
    if isinstance(a, Opaque) and isinstance(b, Opaque):
        return a.text == b.text and a.taint == b.taint
    if isinstance(a, ExternalRef) and isinstance(b, ExternalRef):
        return a.name == b.name
    if isinstance(a, Function) and isinstance(b, Function):
        return a.facts is b.facts and a.receiver is b.receiver
    return False


def taint_of(values: Iterable[Value]) -> Taint:
    """All labels of several values, those inside collections too."""
    out = CLEAN
    for value in values:
        out |= value.deep_taint if isinstance(value, Collection) else value.taint
    return out


def tainted(value: Value, labels: Taint) -> Value:
    """``value`` with more labels, as a new value where that matters."""
    if not labels or labels <= value.taint:
        return value
    if isinstance(value, Const):
        return Const(value.value, value.taint | labels)
    if isinstance(value, Collection):
        value.taint |= labels
        return value
    if isinstance(value, Opaque):
        return Opaque(value.text, value.reason, value.taint | labels)
    return value


def is_module(value: Value) -> bool:
    """Whether a value is certainly a sub-module (kept by torch in ``_modules``, not in ``__dict__``)."""
    return all(isinstance(option, (Instance, ChosenModel)) for option in options(value))


def is_data(value: Value) -> bool:
    """Whether a value is certainly something, and no sub-module."""
    given = isinstance(value, (Given, Collection, Table, Function))
    return given or (isinstance(value, Const) and value.value is not None)
