"""The checkout's models: what each is, what it is built around, and how it stands to each contract."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from analyzer import construct, members
from analyzer.chains import Chain, Follower, configures
from analyzer.contracts import Contract
from analyzer.index import ClassInfo, Index
from analyzer.inner import Inner, built_around, find_inner, generates, value_at
from analyzer.interpret import Machine
from analyzer.records import Role, Verdict
from analyzer.registry import Entry, Registry
from analyzer.values import ClassValue, Instance, options

# A file of the model folders that holds none of these cannot define a wrapper that is not registered.
WRAPPER_MARKS = (
    b"init_vllm_registered_model",
    b"initialize_model(",
    b"_mark_language_model",
    b"get_language_model",
)


@dataclass
class Alternative:
    """One possibility for the inner model, and the contract's chains with it in place.

    Args:
        inner: where it stands and how it is chosen; None for a model without an inner one.
        cls: its class; None where it could not be determined.
        outer: the chain from the model itself, as it stands.
        repaired: the same as if the model declared the contract: the contract's defaults stand in.
        own: the inner model's own chain, as if it were served alone; None where there is none.
        stands_for: for a model that the configuration chooses, how many registered classes behave like ``cls``.
    """

    inner: Inner | None
    cls: ClassInfo | None
    outer: Chain
    repaired: Chain
    own: Chain | None = None
    stands_for: int = 1

    @property
    def supported(self) -> bool | None:
        """Whether the inner model passes the checker itself."""
        return self.own.satisfied if self.own is not None else None


@dataclass
class Status:
    """How one model stands to one contract.  ``alternatives`` is empty for contracts that are only a flag."""

    contract: Contract
    declared: bool
    satisfied: bool | None
    verdict: Verdict
    alternatives: list[Alternative] = field(default_factory=list)
    reason: str = ""

    @property
    def config_decides(self) -> bool:
        """Whether the checkpoint's configuration chooses the inner model freely."""
        return any(a.inner is not None and a.inner.resolution == "config" for a in self.alternatives)


@dataclass(eq=False)
class Model:
    """A registered class, or a wrapper that is not registered.

    ``becomes`` holds the classes that its own ``__new__`` makes instead of itself: they are what counts.
    """

    cls: ClassInfo
    entries: tuple[Entry, ...]
    role: Role
    inner: tuple[Inner, ...]
    statuses: dict[str, Status] = field(default_factory=dict)
    becomes: tuple[ClassInfo, ...] = ()

    @property
    def architectures(self) -> tuple[str, ...]:
        return tuple(sorted({e.architecture for e in self.entries}))

    @property
    def wraps_decoder(self) -> bool:
        """Whether what it is built around are bare decoders, which no checker is meant for."""
        return bool(self.inner) and all(i.cls is not None and not generates(i.cls) for i in self.inner)

    @property
    def serves(self) -> bool:
        """Whether it generates for a user: not a draft head, not a pooling model."""
        return self.role in ("wrapper", "text", "other") and generates(self.cls) and not self.becomes


def is_delegated(contract: Contract) -> bool:
    """Whether a contract configures the decoder, so that a wrapper has to hand it on.

    Where no entry says so, that is read from the contract itself: it has a method that is given something and returns
    nothing, beside a checker.
    """
    if contract.handling.hands_on is not None:
        return contract.handling.hands_on == "decoder" and contract.checker is not None
    setters = [m for m in contract.methods if configures(m) and m.facts.kind == "instance" and not m.facts.is_async]
    return (
        contract.checker is not None
        and any(
            m.facts.returns == ("const", None) and len(m.facts.parameters) == 2 and m.name.startswith("set_")
            for m in setters
        )
        and len(contract.methods) <= 3
    )


class ModelSet:
    """All models of a checkout, evaluated against its contracts.

    Args:
        index, registry, machine: the earlier stages.
        contracts: by name.
        wrapper_modules: modules of the model folders that may define wrappers that are not registered.
        only: architectures, to look at no other model; ``capture_attributes`` are then those that a whole run found.
    """

    def __init__(
        self,
        index: Index,
        registry: Registry,
        machine: Machine,
        contracts: dict[str, Contract],
        wrapper_modules: Sequence[str],
        *,
        only: Sequence[str] | None = None,
        capture_attributes: dict[str, set[str]] | None = None,
    ) -> None:
        self.index, self.registry, self.machine, self.contracts = index, registry, machine, contracts
        self.follower = Follower(machine)
        self.models: dict[str, Model] = {}
        self.supporters: dict[str, list[tuple[ClassInfo, int]]] = {}
        self.capture_attributes = capture_attributes or {}
        self._own: dict[tuple[ClassInfo, str], Chain] = {}
        self._probes: dict[ClassInfo, Instance] = {}  # objects that are only looked at, never changed
        self._collect(registry.architectures_of(only), wrapper_modules)
        for contract in contracts.values():
            self._evaluate(contract)

    # -- which classes -----------------------------------------------------------------------------

    def _collect(self, registered: dict[str, list[Entry]], wrapper_modules: Sequence[str]) -> None:
        for key, entries in registered.items():
            cls = self.index.class_by_key(key)
            assert cls is not None
            becomes = construct.dispatched(self.machine, cls)
            self._add(cls, tuple(entries), becomes)
            for made in becomes:
                known = self.models.get(made.key)
                self._add(made, (*(known.entries if known else ()), *entries))
        for module in wrapper_modules:
            facts = self.index.module(module)
            for cls in self.index.classes(facts) if facts is not None else ():
                if cls.key not in self.models and members.is_torch_module(cls) and generates(cls):
                    inner = find_inner(self.machine, cls)
                    if inner:
                        self.models[cls.key] = Model(cls, (), "wrapper", inner)

    def _add(self, cls: ClassInfo, entries: tuple[Entry, ...], becomes: tuple[ClassInfo, ...] = ()) -> None:
        if becomes:
            self.models[cls.key] = Model(cls, entries, "other", (), becomes=becomes)
            return
        uses = {entry.use for entry in entries}
        if uses <= {"draft"}:
            self.models[cls.key] = Model(cls, entries, "draft", ())
            return
        if uses <= {"draft", "pooling"} or not generates(cls):
            self.models[cls.key] = Model(cls, entries, "pooling", ())
            return
        inner = find_inner(self.machine, cls)
        text: Role = "text" if uses & {"text"} else "other"
        self.models[cls.key] = Model(cls, entries, "wrapper" if inner else text, inner)

    # -- contracts ---------------------------------------------------------------------------------

    def _evaluate(self, contract: Contract) -> None:
        delegated = is_delegated(contract)
        models = [m for m in self.models.values() if not m.becomes]
        dispatching = [m for m in self.models.values() if m.becomes]
        if not delegated:
            for model in models:
                model.statuses[contract.name] = self._plain(model, contract)
            for model in dispatching:
                model.statuses[contract.name] = self._dispatching(model, contract)
            return
        for model in models:
            if not model.serves:
                model.statuses[contract.name] = self._plain(model, contract)
            elif not model.inner:
                model.statuses[contract.name] = self._status(model, contract)
        self._learn(contract)
        for model in models:
            if not model.serves:
                continue
            if not model.inner:
                self._reconsider(model.statuses[contract.name], model)
            else:
                model.statuses[contract.name] = self._status(model, contract)
                if model.wraps_decoder:
                    self._reconsider(model.statuses[contract.name], model)
        for model in dispatching:
            model.statuses[contract.name] = self._dispatching(model, contract)

    def _dispatching(self, model: Model, contract: Contract) -> Status:
        """A class that is never built itself: the class is asked, and the verdict is that of what it becomes."""
        satisfied = contract.satisfied_by(self.machine, ClassValue(model.cls))
        built = self._built(model, set())
        verdicts: set[Verdict] = {made.statuses[contract.name].verdict for made in built} or {"unknown"}
        verdict = verdicts.pop() if len(verdicts) == 1 else "config-dependent"
        names = ", ".join(cls.name for cls in model.becomes)
        return Status(contract, contract.declared_by(model.cls), satisfied, verdict, reason=f"becomes one of {names}")

    def _built(self, model: Model, seen: set[str]) -> list[Model]:
        """The models that a class is built as in the end; none where classes make each other in a circle."""
        if not model.becomes:
            return [model]
        seen.add(model.cls.key)
        made = [self.models[cls.key] for cls in model.becomes if cls.key not in seen]
        return [built for one in made for built in self._built(one, seen)]

    def _plain(self, model: Model, contract: Contract) -> Status:
        probe = self.probe(model.cls)
        satisfied = contract.satisfied_by(self.machine, probe)
        declared = contract.declared_by(model.cls)
        verdict: Verdict = "unknown" if satisfied is None else "works" if satisfied else "unsupported"
        reason = ""
        if satisfied is None:
            unknown = probe.missing_reason or members.unknown_base(model.cls)
            reason = unknown or "the check depends on the object's own state"
        return Status(contract, declared, satisfied, verdict, reason=reason)

    def probe(self, cls: ClassInfo) -> Instance:
        """An object of exactly this class to look at, and never to change: always the same one."""
        if cls not in self._probes:
            self._probes[cls] = self.instance(cls)
        return self._probes[cls]

    def class_passes(self, cls: ClassInfo, contract: Contract) -> bool | None:
        """What the checker says of the class itself, which the registry asks."""
        return contract.satisfied_by(self.machine, ClassValue(cls))

    def instance(self, cls: ClassInfo) -> Instance:
        """A new object of exactly this class (whatever its ``__new__`` would make)."""
        return construct.stand_in(self.machine, cls)

    def _status(self, model: Model, contract: Contract) -> Status:
        alternatives = self._alternatives(model, contract)
        answers = {a.outer.satisfied for a in alternatives}
        if any(i.resolution == "config" for i in model.inner):  # with any model there, not only with those that serve
            answers.add(contract.satisfied_by(self.machine, self.instance(model.cls)))
        satisfied = answers.pop() if len(answers) == 1 else None
        status = Status(contract, contract.declared_by(model.cls), satisfied, "unknown", alternatives)
        status.verdict, status.reason = _verdict(model, status)
        return status

    def _alternatives(self, model: Model, contract: Contract) -> list[Alternative]:
        if not model.inner:
            return [self._alternative(self.instance(model.cls), contract, None)]
        out: list[Alternative] = []
        for position, inner in enumerate(model.inner):
            if inner.resolution == "config":
                out += self._chosen(model, position, contract)
                continue
            root = built_around(self.machine, model.cls, model.inner, position)
            out.append(self._alternative(root, contract, inner))
        return out

    def _chosen(self, model: Model, position: int, contract: Contract) -> list[Alternative]:
        """A model that the configuration chooses: with each kind of registered model that supports the contract."""
        inner, out = model.inner[position], []
        for cls, count in self.supporters.get(contract.name, []):
            root = built_around(self.machine, model.cls, model.inner, position, cls)
            made = self._alternative(root, contract, inner, cls)
            made.stands_for = count
            out.append(made)
        if not out:
            root = self.instance(model.cls)
            out.append(self._alternative(root, contract, inner))
        return out

    def _alternative(
        self, root: Instance, contract: Contract, inner: Inner | None, cls: ClassInfo | None = None
    ) -> Alternative:
        outer = self.follower.follow(root, contract)
        repaired = outer if contract.declared_by(root.cls) else self.follower.follow(root, contract, pretend=True)
        cls = cls or (inner.cls if inner is not None else None)
        own = self.own_chain(cls, contract) if cls is not None else None
        return Alternative(inner, cls, outer, repaired, own)

    def own_chain(self, cls: ClassInfo, contract: Contract) -> Chain:
        """The chain of a class served alone."""
        key = (cls, contract.name)
        if key not in self._own:
            self._own[key] = self.follower.follow(self.instance(cls), contract)
        return self._own[key]

    def _learn(self, contract: Contract) -> None:
        """What the supporting text models have in common: kinds of them, and where they keep the layers."""
        kinds: dict[tuple[object, ...], list[ClassInfo]] = {}
        attributes: set[str] = set()
        for model in self.models.values():
            status = model.statuses.get(contract.name)
            if model.role != "text" or status is None or not status.satisfied:
                continue
            chain = status.alternatives[0].outer
            if chain.holder is None or chain.ok is False:
                continue
            attributes.add(chain.attribute)
            owners = tuple(m.from_contract for m in chain.methods)
            kinds.setdefault((owners, chain.holder.trail, chain.attribute), []).append(model.cls)
        self.supporters[contract.name] = [(classes[0], len(classes)) for classes in kinds.values()]
        self.capture_attributes.setdefault(contract.name, attributes)

    def _reconsider(self, status: Status, model: Model) -> None:
        """A model that does not declare the contract although its decoder captures."""
        if status.satisfied is not False or not model.serves:
            return
        if self.captured_by_itself(status) is not None:
            status.verdict, status.reason = (
                "undeclared",
                "its decoder captures, the class does not declare it",
            )

    def captured_by_itself(self, status: Status) -> Chain | None:
        """The chain of an undeclared model whose own decoder collects and returns the states, else None."""
        alternative = status.alternatives[0]
        if alternative.repaired is alternative.outer:  # what is learnt here is no part of what the class does
            alternative.repaired = replace(alternative.outer)
        repaired = alternative.repaired
        if repaired.holder is not None and repaired.capture is not None and repaired.capture.ok:
            return repaired
        root = repaired.root
        places = ["model", *([alternative.inner.attribute] if alternative.inner is not None else [])]
        decoders = [value for place in places if (value := value_at(self.machine, root, place)) is not None]
        for option in (o for decoder in decoders for o in options(decoder)):
            if isinstance(option, Instance) and (found := self._keeps(option, status.contract)):
                repaired.holder, repaired.attribute = option, found
                repaired.capture = self.follower.captures(option, found)
                if repaired.capture.ok:
                    repaired.handing = self.follower.hands_on(root, option, repaired.capture.part)
                    return repaired
        return None

    def _keeps(self, decoder: Instance, contract: Contract) -> str:
        """The attribute of a decoder under which others of this checkout keep the layers, or empty."""
        construct.prepare(self.machine, decoder)
        for name in sorted(self.capture_attributes.get(contract.name, ())):
            if name in decoder.attrs:
                return name
        return ""


def _verdict(model: Model, status: Status) -> tuple[Verdict, str]:
    alternatives = status.alternatives
    unresolved = [a for a in alternatives if a.inner is not None and a.inner.resolution == "unresolved"]
    if status.satisfied is None:
        root = alternatives[0].outer.root
        reason = root.missing_reason or members.unknown_base(root.cls)
        if len(alternatives) > 1 and not reason:
            reason = "which inner model is built decides over the check"
        return "unknown", reason or "the check depends on what is not known"
    if status.satisfied:
        return _claimed(status, unresolved)
    supported = [a.supported for a in alternatives]
    if any(supported):
        may = "may support it" if status.config_decides else "supports it"
        return "undeclared", f"the inner model {may}, this class does not declare it"
    if unresolved:
        return "unknown", unresolved[0].inner.reason if unresolved[0].inner else ""
    if model.inner and None in supported:
        return "unknown", "whether the inner model supports it is not known"
    return "unsupported", ""


def _claimed(status: Status, unresolved: Iterable[Alternative]) -> tuple[Verdict, str]:
    results = [a.outer.ok for a in status.alternatives]
    if all(r is False for r in results):
        return "broken", ""
    if status.config_decides or (False in results and True in results):
        return "config-dependent", "the checkpoint's configuration chooses the inner model"
    if all(results):
        return "works", ""
    for alternative in unresolved:
        return "unknown", alternative.inner.reason if alternative.inner else ""
    return "unknown", _first_reason(status.alternatives)


def _first_reason(alternatives: Sequence[Alternative]) -> str:
    for alternative in alternatives:
        for method in alternative.outer.methods:
            if method.ok is None:
                return method.reason
        for part in (alternative.outer.capture, alternative.outer.handing):
            if part is not None and part.ok is None:
                return part.detail
    return "part of the chain could not be followed"
