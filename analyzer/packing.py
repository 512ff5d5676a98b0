"""Fused layers: what a model's loader packs into one layer, and whether any mapping that consumers find names it.

A checkpoint has the parts of a fused layer under names of their own, and so has its configuration of what is quantised.
Consumers learn from a mapping of the model which parts a layer is made of.  The loader knows as well: literal rows in
its body, ``(fused, part, shard)``, or an attribute of the class that maps each part to ``(fused, shard)``.  Where the
loader packs what no mapping names, consumers take the fused layer for one that the checkpoint does not speak of.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from analyzer import construct, members
from analyzer.audit import Audit
from analyzer.contracts import Contract
from analyzer.facts import AttributeFacts, ClassFacts, FunctionFacts, ModuleFacts
from analyzer.gates import Gate
from analyzer.index import ClassInfo
from analyzer.lower import Expr, walk
from analyzer.models import Model
from analyzer.owed import Mapping, mapping_of
from analyzer.values import Instance, options

_STRING = r"""["']([\w.]+)["']"""
_GAP = r"(?:\s|#[^\n]*\n)*"
_ROW = re.compile(rf"\({_GAP}{_STRING}\s*,{_GAP}{_STRING}\s*,{_GAP}[^(),]+,?{_GAP}\)")
"""A row as it stands in a source: enough to tell which layers it could be about, not more."""

_NAME = re.compile(r"[A-Z][A-Z0-9_]*[a-z]\w*")
_CALL = re.compile(r"\b([A-Z]\w*)\(")
NOTHING = ("const", None)
DEEPEST = 5
"""Files that a name is followed through, from one import to the next."""


@dataclass(frozen=True)
class Built:
    """Where a layer is built that is told how its weights are quantised.

    Args:
        cls: the name of the class that builds it.
        path, line: where.
    """

    cls: str
    path: str
    line: int


@dataclass(frozen=True)
class Fused:
    """A layer that a loader packs.

    Args:
        name: of the layer, the last part of it.
        parts: what a checkpoint has instead.
        owner: the class whose body says so.
        line: where.
        built: where such a layer is built.
    """

    name: str
    parts: tuple[str, ...]
    owner: ClassInfo
    line: int
    built: Built


@dataclass(frozen=True)
class Unnamed:
    """Fused layers of a model that no mapping names.

    Args:
        model: the model.
        fused: the layers.
        mapping: what the model has instead; None where it has none, or an empty one.
    """

    model: Model
    fused: tuple[Fused, ...]
    mapping: Mapping | None


def askers(audit: Audit, contract: Contract) -> list[Gate]:
    """Who looks for the mapping on the class, before the model is built, or refuses a model without one."""
    name = contract.handling.packing
    gates = [g for g in audit.consumers.of(contract.name) if name and g.member == name]
    return [g for g in gates if g.subject == "class" or g.error] if any(g.subject == "class" for g in gates) else []


def unnamed(audit: Audit, contract: Contract) -> Iterator[Unnamed]:
    """The models whose loaders pack layers that no mapping names.

    Looked at are the loaders of what generates: the model, and what hangs on it; of a wrapper its own, and what hangs
    on an inner model that is not registered.  One that is registered is looked at by itself, and towers are not.

    A layer that another heir's mapping names beside that of their common class was left out on purpose.

    Args:
        audit: what was read.
        contract: one whose entry names the mapping, the loader, and what tells a layer how it is quantised.
    """
    reader = _Reader(audit, contract)
    for model in audit.serving:
        found = reader.unnamed(model)
        if found is not None:
            yield found


@dataclass
class _Reader:
    """Looks at models, and remembers what it saw of classes that several have."""

    audit: Audit
    contract: Contract
    _mappings: dict[ClassInfo, set[str] | None] = field(default_factory=dict)
    _pairs: dict[int, list[tuple[str, str]]] = field(default_factory=dict)
    _layers: dict[tuple[ClassInfo, frozenset[str]], dict[str, Built]] = field(default_factory=dict)

    def unnamed(self, model: Model) -> Unnamed | None:
        inner = [i.cls for i in model.inner if i.cls is not None]
        inside = [] if model.inner else list(self._inside(model.cls))
        for cls in inner:
            inside += self._inside(cls) if cls.key not in self.audit.model_set.models else ()
        around = dict.fromkeys((model.cls, *inner, *inside))
        named = self._named(around)
        loading = dict.fromkeys((model.cls, *inside))
        suspects = {cls: found for cls in loading if (found := self._suspects(cls, named))} if named is not None else {}
        added = self._added(around) if suspects else None
        if added is None:
            return None
        fused: dict[str, Fused] = {}
        for cls, names in suspects.items():
            key = (cls, frozenset(names - added))
            if key not in self._layers:
                self._layers[key] = self._built(*key)
            built = self._layers[key]
            for one in self._packed(cls, built) if built else ():
                fused.setdefault(one.name, one)
        mapping = mapping_of(self.audit, model.cls, self.contract.handling.packing) if fused else None
        if mapping is not None and mapping.entries:
            told_apart = set().union(*(self._entries(m.cls) or () for m in self.audit.deriving(mapping.owner)))
            fused = {name: one for name, one in fused.items() if name not in told_apart}
        else:
            mapping = None
        return Unnamed(model, tuple(fused.values()), mapping) if fused else None

    def _inside(self, cls: ClassInfo) -> Iterator[ClassInfo]:
        """A class, and those of the modules on its object that are no models of their own."""
        machine = self.audit.model_set.machine
        todo = [self.audit.model_set.probe(cls)]
        seen = {cls}
        yield cls
        while todo:
            owner = todo.pop()
            owner = owner.template or owner  # what it is made like: that is only looked at
            construct.prepare(machine, owner)
            for value in owner.attrs.values():
                for option in options(value):
                    if isinstance(option, Instance) and option.cls not in seen and self._is_part(option.cls):
                        seen.add(option.cls)
                        todo.append(option)
                        yield option.cls

    def _is_part(self, cls: ClassInfo) -> bool:
        in_roots = self.audit.index.in_model_roots(cls.module.module + ".")
        return in_roots and members.is_torch_module(cls) and cls.key not in self.audit.model_set.models

    # -- what is named -----------------------------------------------------------------------------

    def _named(self, classes: Iterable[ClassInfo]) -> set[str] | None:
        """The fused layers that the classes' mappings name; None where one cannot be told."""
        found: set[str] = set()
        for cls in classes:
            if cls not in self._mappings:
                self._mappings[cls] = self._entries(cls)
            entries = self._mappings[cls]
            if entries is None:
                return None
            found |= entries
        return found

    def _entries(self, cls: ClassInfo) -> set[str] | None:
        member = members.class_member(cls, self.contract.handling.packing)
        if member is None or (isinstance(member[1], AttributeFacts) and member[1].value == NOTHING):
            return set()
        mapping = mapping_of(self.audit, cls, self.contract.handling.packing)
        return None if mapping is None else set(map(_last, mapping.entries))

    def _added(self, classes: Iterable[ClassInfo]) -> set[str] | None:
        """Those that functions of the classes and of their files add; None where that cannot be told."""
        found: set[str] = set()
        owners = dict.fromkeys(owner for cls in classes for owner in cls.own_mro if not members.is_protocol(owner))
        functions = [f for owner in owners for f in owner.facts.methods.values()]
        modules = {owner.module.module: owner.module for owner in owners}
        functions += [f for module in modules.values() for f in module.functions.values()]
        for function in functions:
            if function.text and self.contract.handling.packing not in function.text:
                continue
            for node in walk(function.whole_body or ()):
                if node[0] in ("assign", "augment", "expr") and self._writes(node):
                    strings = [part[1] for part in walk(node) if _is_string(part)]
                    if not strings:
                        return None
                    found.update(map(_last, strings))
        return found

    def _writes(self, statement: Expr) -> bool:
        """Whether a statement changes a mapping, or puts another in its place."""
        if statement[0] == "expr":  # ``mapping.update(...)``
            call = statement[2]
            return call[0] == "call" and call[1][0] == "attr" and self._is_mapping(call[1][1])
        targets = statement[2] if statement[0] == "assign" else (statement[2],)
        if any(target[0] == "sub" and self._is_mapping(target[1]) for target in targets):
            return True
        return any(map(self._is_mapping, targets)) and not self._is_mapping(statement[3])

    def _is_mapping(self, expr: Expr) -> bool:
        return bool(expr[0] == "attr" and expr[2] == self.contract.handling.packing)

    # -- what is packed ----------------------------------------------------------------------------

    def _suspects(self, cls: ClassInfo, named: set[str]) -> set[str]:
        """Layers that a class's loader may pack, as far as its source shows, and that are not named."""
        loader = members.class_method(cls, self.contract.handling.packed_by)
        rows = {pair for _, pairs in self._attributes(cls) for pair in pairs}
        if loader is not None and loader[1].text:
            rows.update(_ROW.findall(loader[1].text))
        elif loader is not None:
            rows.update((fused, part) for fused, part, _ in _rows(loader[1]))
        counted = Counter(_last(fused) for fused, _ in rows)
        return {name for name, parts in counted.items() if parts > 1} - named

    def _packed(self, cls: ClassInfo, built: dict[str, Built]) -> Iterator[Fused]:
        """Those of some layers that a class's loader packs of several parts."""
        loader = members.class_method(cls, self.contract.handling.packed_by)
        rows = [(*row, loader[0]) for row in _rows(loader[1])] if loader is not None else []
        for (owner, attribute), pairs in self._attributes(cls):
            rows += [(fused, part, attribute.line, owner) for fused, part in pairs]
        packed: dict[str, list[tuple[str, int, ClassInfo]]] = {}
        for fused, part, line, owner in rows:
            packed.setdefault(_last(fused), []).append((_last(part), line, owner))
        for name, found in packed.items():
            parts = tuple(dict.fromkeys(part for part, _, _ in found))
            if name in built and len(parts) > 1 and name not in parts:
                yield Fused(name, parts, found[0][2], found[0][1], built[name])

    def _attributes(self, cls: ClassInfo) -> Iterator[tuple[tuple[ClassInfo, AttributeFacts], list[tuple[str, str]]]]:
        """The effective attributes of a class that map parts to fused layers, with the pairs."""
        for owner in cls.own_mro:
            for name, attribute in owner.facts.attributes.items():
                if attribute.value is None or attribute.value[0] not in ("call", "bin", "dict"):
                    continue
                key = id(attribute)
                if key not in self._pairs:
                    self._pairs[key] = list(_mapped(attribute.value))
                if self._pairs[key] and members.class_member(cls, name) == (owner, attribute):
                    yield (owner, attribute), self._pairs[key]

    # -- what is built -----------------------------------------------------------------------------

    def _built(self, start: ClassInfo, names: frozenset[str]) -> dict[str, Built]:
        """Where a class, or one that its ``__init__`` names, builds layers of some names and says how to quantise."""
        built: dict[str, Built] = {}
        todo = [(start.module, start.facts)]
        seen = {id(start.facts)}
        while todo and names - built.keys():
            module, cls = todo.pop(0)
            init = cls.methods.get("__init__")
            for name, line in self._told(init, names) if init is not None else ():
                built.setdefault(name, Built(cls.name, module.path, line))
            alone = self._left_alone(init)
            for name in (name for name in _names(cls, init) if name not in alone):
                for home, named in self._classes(module, name):
                    if id(named) not in seen:
                        seen.add(id(named))
                        todo.append((home, named))
        return built

    def _told(self, init: FunctionFacts, names: frozenset[str]) -> Iterator[tuple[str, int]]:
        """Attributes that an ``__init__`` binds to layers, and tells how their weights are quantised.

        None where it takes that away from what it was given, be it for a while.
        """
        if init.text and not any(f"self.{name}" in init.text for name in names):
            return
        told = self.contract.handling.quantised_by
        bound = [node for node in walk(init.whole_body or ()) if node[0] == "assign" and len(node) == 5]
        if any(node[3] == NOTHING and any(t[0] == "attr" and t[2] == told for t in node[2]) for node in bound):
            return
        for _, line, targets, value, _ in bound:
            for target in targets:
                if target[0] == "attr" and target[1] == ("name", "self") and target[2] in names:
                    calls = [part for part in walk(value) if part[0] == "call" and len(part) == 6]
                    if any(key == told and given != NOTHING for call in calls for key, given in call[3]):
                        yield target[2], line

    def _left_alone(self, init: FunctionFacts | None) -> set[str]:
        """Classes that an ``__init__`` only calls to build what it says is not to be quantised.

        Told from its source, which has the functions inside it, too.
        """
        told = f"{self.contract.handling.quantised_by}=None"
        if init is None or told not in init.text:
            return set()
        never = re.compile(rf"\b{told}\s*(?:[,#]|$)")  # and not None on a condition
        calls = [(call[1], bool(never.search(_arguments(init.text, call.end())))) for call in _CALL.finditer(init.text)]
        return {name for name, alone in calls if alone} - {name for name, alone in calls if not alone}

    def _classes(self, module: ModuleFacts, name: str, depth: int = 0) -> Iterator[tuple[ModuleFacts, ClassFacts]]:
        """The classes of the model folders that a name of a file can be."""
        index = self.audit.index
        for binding in module.names.get(name, ()):
            if isinstance(binding.target, int):
                yield module, module.classes[binding.target]
            elif binding.kind == "import" and isinstance(binding.target, tuple) and depth < DEEPEST:
                home, attribute = binding.target
                facts = index.module(home) if attribute is not None and index.in_model_roots(f"{home}.") else None
                if facts is not None:
                    yield from self._classes(facts, attribute, depth + 1)


def _names(cls: ClassFacts, init: FunctionFacts | None) -> list[str]:
    """Names in the ``__init__`` of a class, in functions inside it and in defaults too, and those of its bases."""
    lowered: list[Expr] = list(cls.bases)
    found: list[str] = []
    if init is not None:
        lowered += [parameter.default for parameter in init.parameters if parameter.default is not None]
        found += _NAME.findall(init.text)
        lowered += [] if init.text else init.whole_body or ()
    return list(dict.fromkeys([*found, *(node[1] for expr in lowered for node in walk(expr) if node[0] == "name")]))


def _arguments(text: str, start: int) -> str:
    """The source of a call's arguments, which begin at a place."""
    depth = 1
    for place in range(start, len(text)):
        depth += (text[place] in "([{") - (text[place] in ")]}")
        if not depth:
            return text[start:place]
    return text[start:]


def _last(name: str) -> str:
    """The last part of a layer's name: rows write ``.qkv_proj``, ``attn.qkv_proj`` or ``qkv_proj.``."""
    return name.strip(".").rpartition(".")[2]


def _rows(loader: FunctionFacts) -> Iterator[tuple[str, str, int]]:
    """Fused layer, part and line of each row in the lists of a loader's body, and of those that it adds to them."""
    line = loader.line
    for node in walk(loader.whole_body or ()):
        if node[0] in ("assign", "augment", "expr") and isinstance(node[1], int):
            line = node[1]
        for item in _listed(node):
            if item[:2] == ("seq", "tuple") and len(item[2]) == 3 and all(map(_is_string, item[2][:2])):
                yield item[2][0][1], item[2][1][1], line


def _listed(node: Expr) -> tuple[Expr, ...]:
    """The items of a list, or what a call of ``append`` adds to one."""
    if node[:2] == ("seq", "list"):
        return tuple(node[2])
    if node[0] == "call" and len(node) == 6 and node[1][0] == "attr" and node[1][2] == "append":
        return tuple(node[2])
    return ()


def _mapped(value: Expr) -> Iterator[tuple[str, str]]:
    """Fused layer and part of each pair of a literal that maps parts to ``(fused, shard)``."""
    for node in walk(value):
        for key, given in node[1] if node[0] == "dict" and len(node) == 2 else ():
            if key is not None and _is_string(key) and given[:2] == ("seq", "tuple") and len(given[2]) == 2:
                if _is_string(given[2][0]):
                    yield given[2][0][1], key[1]


def _is_string(expr: Expr) -> bool:
    return expr[0] == "const" and isinstance(expr[1], str)
