"""Everything that rules may ask: the checkout's contracts, models and consumers, and what follows from them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

from analyzer import construct, members
from analyzer.checkout import Checkout
from analyzer.contracts import Contract
from analyzer.facts import AttributeFacts, FunctionFacts
from analyzer.findings import Diagnostic, Finding, Fix, GateUse, Position
from analyzer.gates import Consumers, Gate
from analyzer.index import ClassInfo, Index, Target
from analyzer.inner import Inner
from analyzer.models import Model, ModelSet, Status, is_delegated
from analyzer.registry import CALL, Registry
from analyzer.usage import Usage
from analyzer.values import Const


@dataclass
class Audit:
    """The result of reading a checkout, before any rule.

    Args:
        checkout, index, registry, contracts, consumers: what the earlier stages found.
        model_set: the evaluated models.
    """

    checkout: Checkout
    index: Index
    registry: Registry
    contracts: dict[str, Contract]
    consumers: Consumers
    model_set: ModelSet
    diagnostics: list[Diagnostic] = field(default_factory=list)

    @cached_property
    def models(self) -> list[Model]:
        """All models, in a fixed order."""
        return sorted(self.model_set.models.values(), key=lambda m: (m.cls.path, m.cls.line, m.cls.key))

    @cached_property
    def judged(self) -> list[Model]:
        """The models that findings can be on: all, or a plugin's and those that are built around one of its classes."""
        return [model for model in self.models if self._is_judged(model)]

    def _is_judged(self, model: Model) -> bool:
        if self.checkout.plugin is None or self.is_ours(model.cls):
            return True
        if any(entry.table == CALL for entry in model.entries):  # a class of vLLM's that the plugin registers
            return True
        return any(inner.cls is not None and self.is_ours(inner.cls) for inner in model.inner)

    def is_ours(self, cls: ClassInfo) -> bool:
        """Whether a class is of what is audited: any class, or one of the plugin's."""
        return self.checkout.is_judged(cls.path)

    @property
    def serving(self) -> Iterator[Model]:
        """Models that generate for a user, of those that are judged."""
        return (m for m in self.judged if m.serves)

    @cached_property
    def delegated(self) -> list[Contract]:
        """Contracts that a wrapper has to hand on to its inner model, and that something outside asks for."""
        return [c for c in self.contracts.values() if is_delegated(c) and self.checks(c)]

    def checks(self, contract: Contract) -> list[Gate]:
        """Gates that test a contract on an object that may be a wrapper."""
        gates = self.consumers.of(contract.name)
        return [g for g in gates if g.member == contract.checker and g.subject in ("outer model", "class")]

    def callers(self, contract: Contract, method: str) -> list[Gate]:
        """Gates that call one method of a contract on the outer model or its class."""
        gates = self.consumers.of(contract.name)
        return [g for g in gates if g.member == method and g.subject in ("outer model", "class")]

    def gate_uses(self, contract: Contract, members: tuple[str, ...] | None = None) -> tuple[GateUse, ...]:
        """Gates as a finding cites them: all of a contract, or those of some members."""
        gates = self.consumers.of(contract.name)
        if members is None:
            return self._as_uses(gates)
        return self._as_uses(g for g in gates if g.member in members)

    def check_uses(self, contract: Contract) -> tuple[GateUse, ...]:
        """The checks that a wrapper has to pass, as a finding cites them."""
        return self._as_uses(self.checks(contract))

    def call_uses(self, contract: Contract, method: str) -> tuple[GateUse, ...]:
        """The calls of a method on the outer model or its class, as a finding cites them."""
        return self._as_uses(self.callers(contract, method))

    @staticmethod
    def _as_uses(gates: Iterable[Gate]) -> tuple[GateUse, ...]:
        return tuple(sorted({GateUse(g.path, g.line, g.subject) for g in gates}))

    def denied(self, cls: ClassInfo, contract: Contract) -> str:
        """The member of a contract that a class says it does not have (``supports_lora = False``); empty if none."""
        instance = self.model_set.probe(cls)
        construct.prepare(self.model_set.machine, instance)
        for name in contract.members:
            said = instance.attrs.get(name)
            member = members.class_member(cls, name)
            if isinstance(said, Const) and not said.value:
                return name
            if said is None and member is not None and isinstance(member[1], AttributeFacts):
                if member[0] is not contract.cls and member[1].value in (("const", False), ("const", None)):
                    return name
        return ""

    def runner_error(self, contract: Contract) -> str:
        """The error that users see where the check fails."""
        return next((g.error for g in reversed(self.checks(contract)) if g.error), "")

    @cached_property
    def usage(self) -> Usage:
        """Searches of the checkout's bytes."""
        return Usage(self.checkout)

    @cached_property
    def known_members(self) -> frozenset[str]:
        """Names that some contract or base interface of this checkout has."""
        names = {m for c in self.contracts.values() for m in (*c.members, *(x.name for x in c.methods))}
        return frozenset(names | self.model_set.machine.model_members)

    def is_inside(self, path: str, line: int, method: str) -> bool:
        """Whether a line stands inside a method or function of a name."""
        facts = self.index.module(self.checkout.module_name(self.checkout.path(path)))
        if facts is None:
            return False
        return any(f.name == method and f.line <= line <= f.end_line for f in facts.all_functions)

    def config_classes(self, cls: ClassInfo) -> list[tuple[str, Target]]:
        """Model configuration classes that a class's file imports: from transformers or the checkout's own."""
        homes = ("transformers", f"{self.checkout.package.name}.transformers_utils")
        found = []
        for name, bindings in {**cls.module.type_names, **cls.module.names}.items():
            for binding in bindings:
                if name.endswith("Config") and binding.kind == "import" and isinstance(binding.target, tuple):
                    if str(binding.target[0]).startswith(homes) and name not in (
                        "PretrainedConfig",
                        "PreTrainedConfig",
                    ):
                        targets = self.index.lookup(cls.module.module, name, typing=True)
                        found += [(name, target) for target in targets[-1:]]
        return found

    # -- findings ----------------------------------------------------------------------------------

    def judged_findings(self, findings: Iterable[Finding]) -> list[Finding]:
        """Those of what is audited: beside a plugin, none that vLLM has without it, and no repairs of vLLM's files."""
        if self.checkout.plugin is None:
            return list(findings)
        return [self._repaired_here(finding) for finding in findings if self._concerns_us(finding)]

    def _concerns_us(self, finding: Finding) -> bool:
        stands_on = (link.path for link in finding.chain if link.link != "gate" and link.path)
        return any(map(self.checkout.is_judged, (finding.at.path, *stands_on)))

    def _repaired_here(self, finding: Finding) -> Finding:
        if all(self.checkout.is_judged(edit.path) for edit in finding.fix.edits):
            return finding
        return replace(finding, fix=Fix("none", f"the repair would be in vLLM itself: {finding.fix.summary}"))

    # -- classes -----------------------------------------------------------------------------------

    def position(self, cls: ClassInfo) -> Position:
        return Position(cls.path, cls.facts.line, cls.facts.column)

    def method_position(self, cls: ClassInfo, method: FunctionFacts) -> Position:
        return Position(cls.path, method.line, method.column)

    def site_position(self, inner: Inner | None) -> Position | None:
        """Where the inner model is built."""
        if inner is None or inner.site is None:
            return None
        return Position(inner.site.path, inner.site.line, inner.site.column + 1)

    def owner(self, model: Model) -> ClassInfo:
        """The class of the linearisation whose body builds the inner model; the model's own where none does."""
        return self.at_home(self._builder(model), model)

    def at_home(self, owner: ClassInfo, model: Model) -> ClassInfo:
        """The class to name for a fault: of vLLM's classes, the plugin's first heir among a model's bases."""
        if self.is_ours(owner):
            return owner
        return next((c for c in reversed(model.cls.own_mro) if self.is_ours(c) and c.derives_from(owner)), owner)

    def _builder(self, model: Model) -> ClassInfo:
        site = next((i.site for i in model.inner if i.site is not None), None)
        if site is not None:
            for cls in model.cls.own_mro:
                if cls.path == site.path and cls.facts.line <= site.line <= cls.facts.end_line:
                    return cls
            maker = members.class_method(model.cls, "__init__")  # built deeper in: the class that builds that
            if maker is not None and not members.is_protocol(maker[0]):
                return maker[0]
        return model.cls

    @cached_property
    def _by_class(self) -> dict[ClassInfo, list[Model]]:
        """For each class of a linearisation, the models that have it there."""
        found: dict[ClassInfo, list[Model]] = {}
        for model in self.models:
            for cls in model.cls.own_mro:
                found.setdefault(cls, []).append(model)
        return found

    def deriving(self, cls: ClassInfo) -> list[Model]:
        """Models that are a class or inherit from it."""
        return self._by_class.get(cls, [])

    def heirs(self, cls: ClassInfo) -> list[Model]:
        """Models that inherit from a class, itself left out."""
        return [m for m in self.deriving(cls) if m.cls is not cls]

    def architectures(self, models: list[Model]) -> tuple[str, ...]:
        """Architectures that several models serve."""
        return tuple(sorted({name for m in models for name in m.architectures}))

    def status(self, model: Model, contract: Contract) -> Status:
        return model.statuses[contract.name]

    def by_owner(
        self, models: list[Model], owner_of: Callable[[Model], ClassInfo] | None = None
    ) -> Iterator[tuple[ClassInfo, list[Model]]]:
        """Models grouped by the class whose fault it is: one fault, one finding.

        Args:
            models: the models that have the fault.
            owner_of: the class to name for one; the class that builds its inner model unless given.
        """
        groups: dict[ClassInfo, list[Model]] = {}
        for model in models:
            named = self.at_home((owner_of or self.owner)(model), model)
            groups.setdefault(self.at_fault(named, model, partial(self._works_alone, models)), []).append(model)
        for owner, group in groups.items():
            group.sort(key=lambda m: (m.cls is not owner, m.cls.path, m.cls.line))
            yield owner, group

    def at_fault(self, owner: ClassInfo, model: Model, is_sound: Callable[[ClassInfo], bool]) -> ClassInfo:
        """``owner``, or where that is sound the first heir of it that is not, among a model's bases and itself.

        What a class does where it stands, an heir can undo: by what it builds, by a method that it overrides.

        Args:
            owner: the class that a fault seems to be of.
            model: one that has the fault.
            is_sound: whether a class is not to blame.
        """
        heirs = (cls for cls in reversed(model.cls.own_mro) if cls.derives_from(owner))
        return next((cls for cls in heirs if not is_sound(cls)), owner)

    def _works_alone(self, faulty: list[Model], cls: ClassInfo) -> bool:
        """Whether a class is a model itself, and none of those that have a fault."""
        model = self.model_set.models.get(cls.key)
        return model is not None and model.serves and self._is_judged(model) and model not in faulty
