"""Who asks: the places outside the models that test a contract, call its methods, or dispatch on a class's name.

Found by searching the checkout's bytes for the contracts' own names and reading only the files that hold them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, field

from analyzer.checkout import Checkout
from analyzer.contracts import Contract
from analyzer.dispatch import AllowList, FunctionNode, NameGate, allow_list, last_line, name_gate, own_nodes
from analyzer.findings import Diagnostic, Link
from analyzer.lower import dotted
from analyzer.outline import any_within
from analyzer.recorded import Records, read_records
from analyzer.scan import any_of, lines_with
from analyzer.source import is_file, parse, parse_outline, read_source
from analyzer.subjects import (
    Subject,
    Surroundings,
    attribute_asked,
    functions_of,
    guarded_nodes,
    is_parameter,
    returned_inner,
    subject_of,
)

NAMES = b"get_model_name"
"""In a file outside the models: it may dispatch on the names of classes."""


@dataclass(frozen=True)
class Gate:
    """A call of a contract's checker or of one of its methods, and the object that it is asked of.

    ``error`` is the message raised where the check fails, as far as it is constant; ``function`` the name of the
    function that it stands in; ``needs`` the other contracts that the conditions around it ask for; ``positional``
    and ``keywords`` what it passes.
    """

    contract: str
    member: str
    path: str
    line: int
    subject: Subject
    text: str
    error: str = ""
    function: str = ""
    needs: tuple[str, ...] = ()
    positional: int = 0
    keywords: tuple[str, ...] = ()

    def link(self, does: str = "", *, error: str = "") -> Link:
        """The gate as evidence.

        Args:
            does: what it does and to whom; asks its subject unless given.
            error: what it says where it is not passed, if that is to be told.
        """
        told = f', else "{error}"' if error else ""
        return Link("gate", True, self.path, self.line, f"{does or f'asks the {self.subject}'}: {self.text}{told}")

    def call_link(self) -> Link:
        """The call of a method as evidence."""
        return self.link(f"calls it on the {self.subject}")


@dataclass
class Consumers:
    """Everything found outside the models."""

    gates: list[Gate] = field(default_factory=list)
    allow_lists: list[AllowList] = field(default_factory=list)
    name_gates: list[NameGate] = field(default_factory=list)
    diagnostics: list[Diagnostic] = field(default_factory=list)
    words: tuple[str, ...] = ()  # what was searched for
    read: list[str] = field(default_factory=list)  # files that were looked into

    def of(self, contract: str) -> list[Gate]:
        """The gates of one contract, the checks first."""
        return [g for g in self.gates if g.contract == contract]


def find_consumers(checkout: Checkout, contracts: dict[str, Contract], class_names: Iterable[str]) -> Consumers:
    """Search a checkout's package.

    Args:
        checkout: the tree.
        contracts: by name.
        class_names: names of registered classes, for dispatch on them.
    """
    members = _members(contracts)
    found = Consumers()
    records = _registry_records(checkout, contracts, found)
    flags = {flag for c in contracts.values() if (flag := c.handling.over_stages)}
    probed = {f"{quote}{name}{quote}" for c in contracts.values() if (name := c.handling.packing) for quote in "\"'"}
    words = {name.encode() for name in (*members, *records.fields, *flags, *probed)}
    words |= {b".model_type\n", b".model_type for"}
    mentioned, with_names = any_of(words), any_of(words | {NAMES})
    names = frozenset(class_names)
    found.words = tuple(sorted(word.decode() for word in words | {NAMES}))
    interfaces = checkout.rel(checkout.interfaces_path)
    roots = tuple(checkout.rel(root) + "/" for root in checkout.model_roots)
    for path in checkout.python_files(checkout.package):
        rel = checkout.rel(path)
        if rel == interfaces:
            continue
        try:
            data = path.read_bytes()
        except OSError as error:
            found.diagnostics.append(Diagnostic(rel, 0, f"cannot be read: {error.strerror or error}"))
            continue
        in_models = rel.startswith(roots) and rel != records.path
        dispatches = not in_models and NAMES in data
        if in_models:
            if b"_cls." not in data or not _calls_from_outside(data, members):
                continue
        elif not dispatches and not mentioned.search(data):
            continue
        found.read.append(rel)
        lines = lines_with(data, with_names if dispatches else mentioned)
        source = read_source(path, rel)
        parsed = parse_outline(source, lines) if not isinstance(source, Diagnostic) else source
        if isinstance(parsed, Diagnostic):
            found.diagnostics.append(parsed)
            continue
        own = records.defined_in(data)
        reader = _Reader(rel, members, contracts, names, records, own, found, in_models)
        try:
            reader.read(parsed[0], lines)
        except RecursionError:
            found.diagnostics.append(Diagnostic(rel, 0, "nested too deeply to be searched for gates"))
    unread = set(records.fields.values()) - records.read
    found.gates = [g for g in found.gates if g.path != records.path or g.member not in unread]
    found.gates.sort(key=lambda g: (g.path, g.line, g.contract, g.member))
    return found


def _registry_records(checkout: Checkout, contracts: dict[str, Contract], found: Consumers) -> Records:
    """The fields of the checkout's registry; none where there is no registry, or it cannot be read."""
    path = checkout.registry_path
    if not is_file(path):
        return Records("")
    rel = checkout.rel(path)
    source = read_source(path, rel)
    tree = parse(source) if not isinstance(source, Diagnostic) else source
    if isinstance(tree, Diagnostic):
        return Records(rel)  # whoever reads the tables of architectures says so
    found.read.append(rel)
    return read_records(tree, rel, {c.checker for c in contracts.values() if c.checker is not None})


def _members(contracts: dict[str, Contract]) -> dict[str, tuple[str, ...]]:
    """Contracts by checker and by method name; a name that several contracts have belongs to each."""
    out: dict[str, list[str]] = {}
    for contract in contracts.values():
        names = [m.name for m in contract.methods if m.name != "forward" and not m.name.startswith("_")]
        names += [name for name in contract.handling.attributes if name in contract.members and name not in names]
        if contract.checker is not None:
            names.append(contract.checker)
        for name in names:
            out.setdefault(name, []).append(contract.name)
    return {name: tuple(owners) for name, owners in out.items()}


def _calls_from_outside(data: bytes, members: dict[str, tuple[str, ...]]) -> bool:
    """Whether a file of the model folders calls a contract's class method on a class that it was given."""
    return any(b"_cls." + name.encode() + b"(" in data for name in members)


@dataclass(frozen=True)
class _Reader:
    """Looks for gates in one file.

    Args:
        path: its name in reports.
        members: see :func:`_members`.
        contracts: by name.
        names: of registered classes.
        records: the fields in which the registry keeps answers.
        own: those for which this file has functions.
        found: what is found goes there.
        in_models: whether it stands among the models, where only what is asked of a class given is a gate.
        unwrapping: functions of the file that give the inner model of what they are given.
    """

    path: str
    members: dict[str, tuple[str, ...]]
    contracts: dict[str, Contract]
    names: frozenset[str]
    records: Records
    own: frozenset[str]
    found: Consumers
    in_models: bool
    unwrapping: set[str] = field(default_factory=set)

    def read(self, tree: ast.Module, lines: list[int]) -> None:
        """Look into the functions that stand on some lines."""
        self.unwrapping.update(f.name for f in functions_of(tree.body) if returned_inner(f))
        for function in functions_of(tree.body):
            if any_within(lines, function.lineno, function.end_lineno or function.lineno):
                self._read_function(function)

    def _read_function(self, function: FunctionNode) -> None:
        around = Surroundings(function)
        called: set[int] = set()  # attributes that are called are no fields
        for node, conditions in guarded_nodes(function):
            if isinstance(node, ast.Call):
                called.add(id(node.func))
                self._read_call(node, around, conditions)
            elif self.in_models:
                continue
            elif isinstance(node, ast.If):
                _read_if(node, function, self.path, self.contracts, self.names, self.found)
            elif isinstance(node, ast.Attribute) and id(node) not in called:
                self._read_field(node, around, conditions)

    def _read_call(self, node: ast.Call, around: Surroundings, conditions: tuple[ast.expr, ...]) -> None:
        asked = attribute_asked(node)
        for contract in self.contracts.values() if asked else ():
            if contract.handling.over_stages == asked:
                self._add(contract.name, asked, node, "inner model", around, conditions)
        self._read_probe(node, around, conditions)
        if isinstance(node.func, ast.Attribute):
            name, subject = node.func.attr, node.func.value
        elif isinstance(node.func, ast.Name) and node.args:
            name, subject = node.func.id, node.args[0]
        else:
            return
        is_method = isinstance(node.func, ast.Attribute)
        if self.in_models and not (is_method and (dotted(subject) or "").endswith("_cls")):
            return
        function = around.function
        for owner in self.members.get(name, ()):
            if (self.contracts[owner].checker == name) is is_method or function.name == name:
                continue
            kind = subject_of(subject, function, around.unwrapped | self._unwrapped(function), self.path)
            passed = tuple(k.arg for k in node.keywords if k.arg is not None)
            self._add(owner, name, node, kind, around, conditions, len(node.args), passed)

    def _read_probe(self, node: ast.Call, around: Surroundings, conditions: tuple[ast.expr, ...]) -> None:
        """A look for the mapping of fused layers on what the function was given."""
        asked = attribute_asked(node, by=("getattr", "hasattr")) if not self.in_models else ""
        for contract in self.contracts.values() if asked and is_parameter(node.args[0], around.function) else ():
            if contract.handling.packing == asked:
                subject = subject_of(node.args[0], around.function, around.unwrapped, self.path)
                self._add(contract.name, asked, node, subject, around, conditions)

    def _unwrapped(self, function: FunctionNode) -> frozenset[str]:
        """Local names that the function binds to what one of this file's unwrapping functions gives."""
        found = set()
        for node in own_nodes(function) if self.unwrapping else ():
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
                if (dotted(node.value.func) or "").rpartition(".")[2] in self.unwrapping:
                    found |= {t.id for t in node.targets if isinstance(t, ast.Name)}
        return frozenset(found)

    def _read_field(self, node: ast.Attribute, around: Surroundings, conditions: tuple[ast.expr, ...]) -> None:
        """An answer of the registry that is read: the class was asked for it."""
        checker = self.records.asked_by(node, around.function, self.own)
        for owner in self.members.get(checker, ()):
            self._add(owner, checker, node, "class", around, conditions)

    def _add(
        self,
        owner: str,
        member: str,
        node: ast.Call | ast.Attribute,
        subject: Subject,
        around: Surroundings,
        conditions: tuple[ast.expr, ...],
        positional: int = 0,
        keywords: tuple[str, ...] = (),
    ) -> None:
        self.found.gates.append(
            Gate(
                contract=owner,
                member=member,
                path=self.path,
                line=node.lineno,
                subject=subject,
                text=ast.unparse(node),
                error=around.errors.get(node.lineno, ""),
                function=around.function.name,
                needs=tuple(sorted(_needs(conditions, self.contracts) - {owner})),
                positional=positional,
                keywords=keywords,
            )
        )


def _needs(conditions: tuple[ast.expr, ...], contracts: dict[str, Contract]) -> frozenset[str]:
    """Contracts that conditions ask for: by their checker, or a flag such as ``self.uses_mrope``."""
    if not conditions:
        return frozenset()
    words = set()
    for condition in conditions:
        for node in ast.walk(condition):
            if isinstance(node, (ast.Name, ast.Attribute)):
                words.add(node.id if isinstance(node, ast.Name) else node.attr)
    flags = {word.replace("uses_", "supports_", 1) for word in words}
    return frozenset(c.name for c in contracts.values() if c.checker in words or flags & set(c.members))


def _read_if(
    node: ast.If,
    function: FunctionNode,
    path: str,
    contracts: dict[str, Contract],
    names: frozenset[str],
    found: Consumers,
) -> None:
    allow = allow_list(node, function, path, contracts)
    if allow is not None:
        found.allow_lists.append(allow)
    gate = name_gate(node, function, path, names)
    if gate is not None and not any(g.path == path and g.line <= gate.line <= last_line(g) for g in found.name_gates):
        found.name_gates.append(gate)
