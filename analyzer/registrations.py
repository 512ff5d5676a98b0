"""Architectures that code registers: calls of ``ModelRegistry.register_model`` in a plugin.

The functions that the plugin's entry points name are run over literal values, with the functions of its own that
they call; then every other place of its files where such a call stands.  Both forms count, ``"module:Class"`` and
the class itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from analyzer import lower
from analyzer.facts import FunctionFacts, ModuleFacts
from analyzer.index import ClassInfo, FunctionRef, Index, Missing, ValueRef
from analyzer.literal import Environment, Given, Member, Place, Reader, Unknown, Values
from analyzer.problems import Diagnostic
from analyzer.registry import CALL, Entry, Registry, use_of
from analyzer.scan import files_with
from analyzer.source import parse_outline, read_source

METHOD = "register_model"
"""``_ModelRegistry.register_model(model_arch, model_cls)`` (vllm/model_executor/models/registry.py)."""

_PARAMETERS = ("model_arch", "model_cls")


@dataclass
class Registrations:
    """What a plugin registers.

    Args:
        entries: in the order of the calls.
        problems: of the plugin's metadata, and calls whose arguments could not be followed.
    """

    entries: list[Entry] = field(default_factory=list)
    problems: list[Diagnostic] = field(default_factory=list)


def read_registrations(index: Index, registry: Registry) -> Registrations:
    """Find what the checkout's plugin registers.

    Args:
        index: the checkout's names.
        registry: vLLM's own tables.
    """
    return _Search(index, registry).run()


def add_registrations(registry: Registry, found: Registrations) -> None:
    """Let a registry have what a plugin registers; as in vLLM, the later one counts."""
    before = {name: rows[-1].use for name, rows in registry.entries.items()}
    for entry in found.entries:
        rows = registry.entries.setdefault(entry.architecture, [])
        use = before.get(entry.architecture) or use_of(registry.index, entry.module, entry.cls)
        rows.append(Entry(entry.architecture, entry.module, entry.cls, use, CALL, entry.line, entry.path))


class _Search:
    def __init__(self, index: Index, registry: Registry) -> None:
        self.index, self.registry, self.checkout = index, registry, index.checkout
        plugin = self.checkout.plugin
        self.found = Registrations(problems=list(plugin.problems if plugin is not None else ()))
        self.seen: dict[tuple[str, int], set[tuple[str, str]]] = {}
        self.lost: dict[tuple[str, int], str] = {}
        self.helpers: set[str] = set()
        self.reader = Reader(index, self._called, self._is_plugins)

    def run(self) -> Registrations:
        plugin = self.checkout.plugin
        for point in plugin.entry_points if plugin is not None else ():
            for target in self.index.lookup(point.module, point.function):
                if isinstance(target, FunctionRef) and (home := self.index.module(target.module)) is not None:
                    self._enter(home, home.functions[target.name])
        names, done = {METHOD}, set[str]()
        while names:
            for facts in self._modules(names):
                self._elsewhere(facts, names)
            done |= names
            names = self.helpers - done  # functions that register what they are given: whoever calls them decides
        for (path, line), reason in self.lost.items():
            if not self.seen.get((path, line)):
                self.found.problems.append(Diagnostic(path, line, f"what is registered here is not known: {reason}"))
        return self.found

    def _is_plugins(self, module: str) -> bool:
        package = self.checkout.package_of(module)
        return package is not None and package in self.checkout.packages[1:]

    def _modules(self, words: Iterable[str]) -> Iterator[ModuleFacts]:
        """The plugin's modules that hold any of some words."""
        files = [file for root in self.checkout.judged_roots for file in self.checkout.python_files(root)]
        for file in files_with(files, [word.encode() for word in words]):
            facts = self.index.module(self.checkout.module_name(file))
            if facts is not None:
                yield facts

    def _elsewhere(self, facts: ModuleFacts, names: set[str]) -> None:
        """Calls of some names that no entry point leads to: at module level, and in functions and methods."""
        self.reader.run(self._module_level(facts), Place(facts), {})
        for function in facts.all_functions:
            body = function.whole_body
            lines = [part[4] for part in lower.walk(body or ()) if part[0] == "call" and _last(part[1]) in names]
            if any((facts.path, line) not in self.seen for line in lines):
                self._enter(facts, function)

    def _enter(self, facts: ModuleFacts, function: FunctionFacts) -> None:
        env: Environment = {p.name: [Given(f"{p.name} is given by a caller")] for p in function.parameters}
        for parameter in function.parameters:
            if parameter.default is not None:
                env[parameter.name] = self.reader.values(parameter.default, Place(facts), {})
        self.reader.run(function.whole_body or (), Place(facts, (FunctionRef(facts.module, function.name),)), env)

    def _module_level(self, facts: ModuleFacts) -> lower.Block:
        path = self.checkout.find_module(facts.module)
        assert path is not None
        source = read_source(path, facts.path)
        parsed = parse_outline(source) if not isinstance(source, Diagnostic) else source
        return () if isinstance(parsed, Diagnostic) else lower.block(parsed[0].body, facts.package)

    # -- calls -------------------------------------------------------------------------------------

    def _called(
        self, callees: Values, positional: Sequence[Values], named: dict[str, Values], line: int, place: Place
    ) -> None:
        if not any(self._registers(callee) for callee in callees):
            return
        key = (place.facts.path, line)
        given = [*positional, *(named[name] for name in _PARAMETERS[len(positional) :] if name in named)]
        if len(given) != 2:
            self.lost[key] = f"{METHOD} takes an architecture and a class"
            return
        if any(isinstance(value, Given) for values in given for value in values):
            self.helpers.update(one.name for one in place.running[-1:] if isinstance(one, FunctionRef))
            return
        for architecture in given[0]:
            for cls in given[1]:
                self._register(key, architecture, cls)

    def _registers(self, callee: object) -> bool:
        """Whether something is the method of vLLM's registry: of an object that its module makes."""
        if not isinstance(callee, Member) or callee.name != METHOD:
            return False
        owner: object = callee.owner
        if isinstance(owner, ValueRef):
            return owner.module in self.registry.modules
        return isinstance(owner, Missing) and "ModelRegistry" in owner.reason

    def _register(self, key: tuple[str, int], architecture: object, cls: object) -> None:
        if not isinstance(architecture, str):
            self.lost[key] = _why(architecture, "the architecture is no literal")
            return
        home = _home(cls)
        if home is None:
            self.lost[key] = f"{architecture} is registered as {_why(cls, 'something that is no literal')}"
            return
        self.seen.setdefault(key, set())
        if (architecture, f"{home[0]}:{home[1]}") not in self.seen[key]:
            self.seen[key].add((architecture, f"{home[0]}:{home[1]}"))
            self.found.entries.append(Entry(architecture, *home, "other", CALL, key[1], key[0]))


def _home(cls: object) -> tuple[str, str] | None:
    """Module and name of a class that is registered, in either form."""
    if isinstance(cls, ClassInfo):
        return cls.module.module, cls.facts.qualname
    if isinstance(cls, str) and cls.count(":") == 1:
        module, _, name = cls.partition(":")
        return module, name
    return None


def _why(value: object, otherwise: str) -> str:
    if isinstance(value, Unknown | Missing):
        return value.reason
    return repr(value) if isinstance(value, str) else otherwise


def _last(func: lower.Expr) -> object:
    """The last name of what is called."""
    return func[2] if func[0] == "attr" else func[1] if func[0] == "name" else None
