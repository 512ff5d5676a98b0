"""Repairs of what a wrapper takes over from its inner model: attributes, class methods, declarations."""

from __future__ import annotations

from collections.abc import Sequence

from analyzer import members, repair
from analyzer.audit import Audit
from analyzer.contracts import Contract, ContractMethod
from analyzer.facts import FunctionFacts
from analyzer.findings import AddAssignment, AddBase, AddImport, AddMethods, Edit, Fix
from analyzer.index import ClassInfo
from analyzer.inner import Inner
from analyzer.lower import walk
from analyzer.models import Model
from analyzer.owed import Owed, lacks, untaken


def take_over(audit: Audit, owner: ClassInfo, owing: Sequence[Owed]) -> Fix:
    """The repair of a wrapper that does not declare what its inner model supports.

    Args:
        audit: what was read.
        owner: the class that gets the base.
        owing: what it and those that inherit from it owe, of one contract.
    """
    first = owing[0]
    contract, inner = first.contract, first.inner
    if contract.handling.advice:
        return Fix("none", contract.handling.advice)
    if denied := audit.denied(owner, contract):
        return Fix("none", f"{owner.name} denies {denied}: whether that is meant is for its author")
    position = repair.base_position(audit, owner, contract.cls)
    if position is None:
        return Fix("none", f"adding {contract.name} to the bases of {owner.name} has no consistent order")
    edits: list[Edit] = [
        AddBase(owner.path, owner.facts.qualname, contract.name, position),
        AddImport(owner.path, contract.cls.module.module, contract.name),
    ]
    what = f"add {contract.name} to the bases of {owner.name}"
    why = "" if all(one.certain for one in owing) else "which inner model is built decides whether it supports it"
    if contract.handling.hands_on == "attributes":
        models = [one.model for one in owing]
        bound = bind(audit, owner, models, contract.handling.attributes)
        if bound.safety == "none":
            return bound
        if refused := untaken(contract, owner):
            return Fix("none", f"its {refused[1].name} does not take {refused[0]}")
        edits += bound.edits
        what += f" and {bound.summary}"
        why = why or bound.why_unsafe or _unused(contract, owner)
    elif contract.handling.hands_on == "class-methods":
        made = class_methods(audit, owner, inner, contract, contract.methods)
        if made.safety == "none":
            return made
        edits += made.edits
        what += f" and {made.summary}"
    return Fix("unsafe" if why else "safe", what, tuple(edits), why)


def bind(audit: Audit, owner: ClassInfo, models: Sequence[Model], names: Sequence[str]) -> Fix:
    """Let a wrapper's ``__init__`` take attributes of its inner model over, as vLLM's own wrappers do.

    Args:
        audit: what was read.
        owner: the class that gets the statements.
        models: the models that it repairs.
        names: the attributes.
    """
    inner = {i.attribute: i for m in models for i in m.inner}
    if len(inner) != 1:
        return Fix("none", "no inner model to take it from was found" if not inner else "it has several inner models")
    attribute, one = next(iter(inner.items()))
    init = owner.facts.methods.get("__init__")
    site = one.site
    if init is None or site is None or site.path != owner.path or not init.line <= site.line <= init.end_line:
        return Fix("none", f"self.{attribute} is not built in {owner.name}.__init__")
    classes = [i.cls for m in models for i in m.inner if i.cls is not None]
    if absent := [(cls, name) for cls in classes for name in names if lacks(audit, cls, name)]:
        return Fix("none", f"{absent[0][0].name} has no {absent[0][1]} either")
    edits = tuple(
        AddAssignment(
            owner.path,
            owner.facts.qualname,
            "__init__",
            attribute.partition(".")[0],
            name,
            f"self.{attribute}.{name}",
        )
        for name in names
        if not _own(owner, name)
    )
    if len(edits) < len(names):
        return Fix("none", f"{owner.name} has a {names[0]} of its own")
    unknown = any(i.cls is None for m in models for i in m.inner)
    why = f"whether every model that the configuration chooses has {names[0]} is not known" if unknown else ""
    what = f"set {', '.join(names)} from self.{attribute}"
    return Fix("unsafe" if why else "safe", what, edits, why)


def class_methods(
    audit: Audit, owner: ClassInfo, inner: Inner, contract: Contract, methods: Sequence[ContractMethod]
) -> Fix:
    """Let class methods of a wrapper ask the inner model's class.

    Args:
        audit: what was read.
        owner: the class that gets the methods.
        inner: the inner model.
        contract: whose methods they are.
        methods: those that have to be there.
    """
    wanted = [m for m in methods if m.facts.kind == "class" and m.default == "stub" and not _own(owner, m.name)]
    if not wanted:
        return Fix("safe", "nothing else is needed")
    if inner.cls is None or inner.resolution != "static":
        return Fix("none", "the configuration chooses the inner model: the class cannot ask it")
    given = [m for m in wanted if len(m.facts.parameters) > 1]
    if given:
        return Fix(
            "none", f"which part of the configuration {inner.cls.name}.{given[0].name} is to be given is not known"
        )
    if absent := [m.name for m in wanted if lacks(audit, inner.cls, m.name)]:
        return Fix("none", f"{inner.cls.name} has no {absent[0]} either")
    name = inner.cls.name
    sources = tuple(f"@classmethod\ndef {m.name}(cls):\n    return {name}.{m.name}()\n" for m in wanted)
    kin = (*(m.name for m in contract.methods), "__init__")
    edits = (
        AddImport(owner.path, inner.cls.module.module, name),
        AddMethods(owner.path, owner.facts.qualname, sources, kin),
    )
    return Fix("safe", f"let {', '.join(m.name for m in wanted)} ask {name}", edits)


def _own(cls: ClassInfo, name: str) -> bool:
    """Whether a class's own body has a member of a name."""
    return name in cls.facts.methods or name in cls.facts.attributes


def _unused(contract: Contract, cls: ClassInfo) -> str:
    """A keyword that the class's method takes and never looks at; empty if there is none."""
    for method in contract.methods:
        member = members.class_method(cls, method.name)
        if member is None or members.is_protocol(member[0]):
            continue
        for parameter in method.facts.parameters:
            if parameter.kind == "keyword_only" and not _mentions(member[1], parameter.name):
                return f"its {method.name} does not hand {parameter.name} on by that name"
    return ""


def _mentions(facts: FunctionFacts, name: str) -> bool:
    return any(node == ("name", name) for node in walk(facts.body or ()))
