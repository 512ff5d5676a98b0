"""Follow a contract from an outer model to the decoder, the way the runner would use it.

For a contract whose methods configure the decoder (``SupportsEagle3``: one method takes the layers, another gives
the default ones), the chain has these steps: the checker; the method that is effective, and the object on which
the layers finally land (the *holder*); whether the holder's effective ``forward`` reads what was stored and lets
it flow into its result; whether every ``forward`` between the outer model and the holder hands that result on.
Nothing of this is looked up by name: the methods are the contract's, the rest is followed through their bodies.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from analyzer import answers, calls, construct, evaluate, members, objects, places
from analyzer.contracts import Contract, ContractMethod
from analyzer.facts import FunctionFacts
from analyzer.frames import Frame, Outcome, Raised, Store
from analyzer.index import ClassInfo
from analyzer.interpret import Machine
from analyzer.values import (
    Arguments,
    ClassValue,
    Collection,
    Const,
    ForwardResult,
    Function,
    Given,
    Instance,
    Opaque,
    Value,
    options,
    taint_of,
)

LAYERS = "layers"  # label of the value given to a contract's method
HARMLESS = frozenset({"inference_mode", "no_grad", "override"})  # decorators that hand a result on
CAPTURE = "capture"  # label of what that method stored on the holder

How = Literal["works", "missing", "stub", "fails", "refuses", "no-effect", "unknown"]


@dataclass
class MethodResult:
    """What one method of the contract does on one object.

    ``how``: ``works``; ``missing`` (no such attribute); ``stub`` (the effective method, of the object or of the
    inner model that it delegates to, has no body); ``fails`` (raises ``failure``); ``refuses`` (cannot be called as
    the contract says); ``no-effect`` (runs, and stores nothing); ``unknown``.  ``gives`` is what it returns.
    """

    method: ContractMethod
    how: How
    owner: ClassInfo | None = None
    facts: FunctionFacts | None = None
    failure: Raised | None = None
    possible: Raised | None = None
    stores: list[Store] = field(default_factory=list)
    stub_of: ClassInfo | None = None
    stub_facts: FunctionFacts | None = None
    reason: str = ""
    gives: Value | None = None

    @property
    def from_contract(self) -> bool:
        """Whether the contract's own body is the effective one."""
        return self.owner is self.method.owner

    @property
    def ok(self) -> bool | None:
        return True if self.how == "works" else None if self.how == "unknown" else False


@dataclass
class Capture:
    """Whether a holder's ``forward`` collects what was asked for and returns it; ``ok`` None if not known.

    ``part`` is the item of the returned tuple that holds the auxiliary states.
    """

    ok: bool | None
    owner: ClassInfo | None
    line: int
    detail: str
    part: int = 1


@dataclass
class Handing:
    """Whether a ``forward`` hands the decoder's result on as it came; ``ok`` None if not known."""

    ok: bool | None
    owner: ClassInfo | None
    line: int
    detail: str


@dataclass
class Chain:
    """All steps for one object and one contract."""

    root: Instance
    contract: Contract
    satisfied: bool | None
    methods: list[MethodResult] = field(default_factory=list)
    holder: Instance | None = None
    attribute: str = ""
    capture: Capture | None = None
    handing: Handing | None = None

    @property
    def reaches(self) -> bool | None:
        """Whether every method of the contract does its work."""
        return _all([m.ok for m in self.methods])

    @property
    def ok(self) -> bool | None:
        """Whether the feature works, given that the check is passed."""
        parts = [self.reaches]
        if self.capture is not None:
            parts.append(self.capture.ok)
        if self.handing is not None:
            parts.append(self.handing.ok)
        return _all(parts)

    @property
    def lost(self) -> bool:
        """Whether the layers land where no ``forward`` reads them."""
        return self.capture is not None and self.capture.ok is False

    @property
    def broken(self) -> MethodResult | None:
        """The first method that can be called and certainly does not do its work."""
        return next((m for m in self.methods if m.ok is False and m.how != "refuses"), None)


def _all(parts: list[bool | None]) -> bool | None:
    if False in parts:
        return False
    return None if None in parts else True


def configures(method: ContractMethod) -> bool:
    """Whether a contract's method is given something to pass on (it has a parameter beside ``self``)."""
    return any(p.required for p in method.facts.parameters[1:])


class Follower:
    """Evaluates chains, remembering what it learnt of each class.

    Args:
        machine: the interpreter.
    """

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self._captures: dict[tuple[ClassInfo, str, tuple[object, ...]], Capture] = {}

    def follow(self, root: Instance, contract: Contract, *, pretend: bool = False) -> Chain:
        """The chain of one object.

        Args:
            root: the outer model.
            contract: what is asked of it.
            pretend: as if the contract's Protocol were the last of the class's bases: its defaults stand in for
                methods that the class does not have.
        """
        chain = Chain(root, contract, contract.satisfied_by(self.machine, root))
        asked = sorted(contract.methods, key=configures)  # the runner asks for the layers before it sets them
        results = {method.name: self.method(root, method, pretend=pretend) for method in asked}
        chain.methods = [results[method.name] for method in contract.methods]
        stores = [store for m in chain.methods for store in m.stores]
        if stores:
            read = (s for s in stores if not s.maybe and self.captures(s.instance, s.attribute).ok)
            store = next(read, stores[0])
            chain.holder, chain.attribute = store.instance, store.attribute
            chain.capture = self.captures(chain.holder, chain.attribute)
            chain.handing = self.hands_on(root, chain.holder, chain.capture.part)
        return chain

    # -- methods -----------------------------------------------------------------------------------

    def method(self, root: Instance, method: ContractMethod, *, pretend: bool) -> MethodResult:
        """Call one of the contract's methods on an object, as a gate does."""
        construct.prepare(self.machine, root)
        member = members.class_method(root.cls, method.name)
        if member is None and pretend and members.class_member(root.cls, method.name) is None:
            member = (method.owner, method.facts)
        if member is None or method.name in root.attrs:
            return self._found_on_object(root, method)
        owner, facts = member
        receiver = {"class": ClassValue(root.cls), "static": None}.get(facts.kind, root)
        return self._call(method, owner, Function(facts, owner.module, owner, receiver))

    def _call(self, method: ContractMethod, owner: ClassInfo, function: Function) -> MethodResult:
        """Call what stands under the method's name with what the contract gives."""
        facts = function.facts
        result = MethodResult(method, "unknown", owner, facts)
        asked = [p.name for p in method.facts.parameters[1:] if p.required]
        given = tuple(Given(name, taint=frozenset({LAYERS})) for name in asked)
        if facts.is_async:
            result.how, result.reason = "no-effect", "it is a coroutine, and nothing awaits it"
            return result
        result.reason = _refusal(facts, len(given))
        if result.reason:
            result.how = "refuses"
            return result
        if facts.stub == "returns-none":
            result.how, result.stub_of, result.stub_facts = "stub", owner, facts
            return result
        bound: Value = function
        if facts.kind == "property":
            bound = self.machine.run(bound, Arguments()).value
            if isinstance(bound, (Const, Collection)):
                result.how, result.reason = "refuses", "TypeError: it is a property whose value cannot be called"
                return result
        return self._judge(result, self.machine.run(bound, Arguments(given)), configures(method))

    def _found_on_object(self, root: Instance, method: ContractMethod) -> MethodResult:
        """What is set on the object under the method's name, or what its ``__getattr__`` gives."""
        frame = Frame(root.cls.module, None, None, {})
        try:
            with self.machine.aside():
                value = objects.get(self.machine, root, method.name, frame, root.cls.line)
        except Raised as raised:
            return MethodResult(method, "fails", failure=raised, reason=str(raised))
        if value is evaluate.UNBOUND:
            return MethodResult(method, "missing", reason=f"{root.cls.name} has no {method.name}")
        if isinstance(value, Function) and value.owner is not None:
            return self._call(method, value.owner, value)
        reason = root.missing_reason or members.unknown_base(root.cls)
        return MethodResult(method, "unknown", reason=reason or f"{method.name} is set on the object")

    def _judge(self, result: MethodResult, outcome: Outcome, configuring: bool) -> MethodResult:
        result.failure, result.gives = outcome.failure, outcome.value
        result.possible = next(iter(outcome.possible_failures), None)
        stub = next((c for c in outcome.called if c.function.stub == "returns-none"), None)
        if outcome.failure is not None:
            result.how = "fails"
            result.reason = f"{outcome.failure.kind}: {outcome.failure.detail}"
            return result
        stores = [s for s in outcome.stores if LAYERS in taint_of([s.value])]
        standing = [s for s in stores if not places.is_nowhere(s.instance)]
        if configuring and stores and not standing:
            store = stores[0]
            result.reason = f"{store.path}:{store.line} sets {store.attribute} on an object that was taken away before"
        elif configuring and standing:
            result.how, result.stores = "works", standing
            certain = (s for s in standing if not s.maybe)
            if outcome.unknown and not any(self.captures(s.instance, s.attribute).ok for s in certain):
                result.how, result.reason, result.stores = "unknown", outcome.unknown[0], []
        elif not configuring and any(answers.is_given(o) for v, _, _ in outcome.returns for o in options(v)):
            result.how = "works"
            if any(answers.is_none(o) for v, _, _ in outcome.returns for o in options(v)):
                result.how, result.reason = "unknown", "it returns None on some paths"
            elif any(answers.is_doubted(o) for v, _, _ in outcome.returns for o in options(v)):
                result.how, result.reason = "unknown", "what it gives on some paths could not be followed"
            elif result.possible is not None:
                result.how, result.reason = "unknown", f"it may raise {result.possible}"
        elif stub is not None:
            result.how, result.stub_of, result.stub_facts = "stub", stub.owner, stub.function
        elif outcome.unknown or answers.leaves_the_checkout(outcome, configuring):
            result.reason = outcome.unknown[0] if outcome.unknown else "the call leaves what could be followed"
        else:
            result.how = "no-effect"
            result.reason = "it stores nothing on any module" if configuring else answers.given_instead(outcome)
        return result

    # -- the decoder -------------------------------------------------------------------------------

    def captures(self, holder: Instance, attribute: str) -> Capture:
        """Whether the holder's effective ``forward`` collects and returns what ``attribute`` asks for."""
        key = (holder.cls, attribute, holder.arguments.key)
        if key not in self._captures:
            self._captures[key] = self._capture(holder, attribute)
        return self._captures[key]

    def _capture(self, holder: Instance, attribute: str) -> Capture:
        member = members.class_method(holder.cls, "forward")
        if member is None:
            return Capture(None, None, holder.cls.line, f"{holder.cls.name} has no forward in the checkout")
        owner, facts = member
        probe = Instance(holder.cls, holder.site, holder.arguments, template=holder, trail=holder.trail)
        construct.prepare(self.machine, probe)
        probe.attrs[attribute] = Opaque(attribute, taint=frozenset({CAPTURE}))
        self.machine.watched = None
        arguments = Arguments(tuple(Opaque(p.name) for p in facts.parameters[1:] if p.required))
        outcome = self.machine.run(Function(facts, owner.module, owner, probe), arguments, strict=False)
        returned = [(v, path, line) for v, path, line in outcome.returns if CAPTURE in taint_of(options(v))]
        where = f"{holder.cls.name}.forward"
        if returned:
            detail = f"{where} collects the auxiliary states and returns them"
            return Capture(True, owner, returned[0][2], detail, _captured_part([v for v, _, _ in returned]))
        if outcome.unknown or outcome.failure is not None:
            why = outcome.unknown[0] if outcome.unknown else str(outcome.failure)
            return Capture(None, owner, facts.line, f"{where} could not be followed: {why}")
        detail = f"{where} neither collects nor returns the auxiliary states ({attribute} never reaches its result)"
        return Capture(False, owner, facts.line, detail)

    # -- forward -----------------------------------------------------------------------------------

    def hands_on(self, root: Instance, holder: Instance, part: int) -> Handing:
        """Whether ``root.forward`` returns the holder's result, or item ``part`` of it, as it came."""
        if holder is root or not holder.trail:
            return Handing(True, None, root.cls.line, "the model is its own decoder")
        forward = self._forward(root)
        if forward is None or forward.owner is None:
            return Handing(None, None, root.cls.line, f"{root.cls.name} has no forward in the checkout")
        owner, facts = forward.owner, forward.facts
        wrapping = [name for name in facts.decorators if name.rpartition(".")[2] not in HARMLESS]
        if wrapping:
            return Handing(None, owner, facts.line, f"{owner.name}.{facts.name} is wrapped by @{wrapping[0]}")
        self.machine.watched, self.machine.watched_part = holder, part
        try:
            arguments = Arguments(tuple(Opaque(p.name) for p in facts.parameters[1:] if p.required))
            outcome = self.machine.run(forward, arguments, strict=False)
        finally:
            self.machine.watched = None
        return _handing(root, owner, facts, outcome)

    def _forward(self, root: Instance) -> Function | None:
        """The function that calling a model runs, where that is one of the checkout."""
        construct.prepare(self.machine, root)
        runs = calls.run_by_calling(self.machine, root)
        return runs if isinstance(runs, Function) else None


def _refusal(facts: FunctionFacts, given: int) -> str:
    """Why a method cannot be called with so many arguments by place; empty where it can."""
    if facts.kind == "property":
        return ""  # what it gives is called
    parameters = facts.parameters[0 if facts.kind == "static" else 1 :]
    by_place = [p for p in parameters if p.kind.startswith("positional")]
    lacking = [p.name for p in by_place[given:] if p.required]
    lacking += [p.name for p in parameters if p.kind == "keyword_only" and p.required]
    if lacking:
        return f"TypeError: it needs {', '.join(lacking)}, which the contract does not give"
    if given > len(by_place) and not any(p.kind == "var_positional" for p in parameters):
        return "TypeError: it takes fewer arguments than the contract gives"
    return ""


def _handing(root: Instance, owner: ClassInfo, facts: FunctionFacts, outcome: Outcome) -> Handing:
    kinds: dict[str, int] = {}
    for value, _, line in outcome.returns:
        for option in options(value):
            kinds.setdefault(_kind(option), line)
    where = f"{root.cls.name}.forward"
    if outcome.misused:
        path, line, depends = outcome.misused[0]
        detail = (
            f"{where} takes the decoder's result for a tensor, which it is not with auxiliary states ({path}:{line})"
        )
        return Handing(None if depends else False, owner, line, detail)
    if "as-is" in kinds and "changed" not in kinds:
        return Handing(True, owner, kinds["as-is"], f"{where} returns the decoder's result as it came")
    if "changed" in kinds and "as-is" not in kinds:
        return Handing(
            False,
            owner,
            kinds["changed"],
            f"{where} changes the decoder's result, so the auxiliary states are lost",
        )
    if "changed" in kinds:
        return Handing(None, owner, kinds["changed"], f"{where} changes the decoder's result on some paths")
    why = outcome.unknown[0] if outcome.unknown else "the decoder's result was not met on the way to a return"
    return Handing(None, owner, facts.line, f"{where} could not be followed: {why}")


def _captured_part(returned: list[Value]) -> int:
    """The last item that the states flowed into: the result before it may have been gathered together with them."""
    for value in (option for whole in returned for option in options(whole)):
        if isinstance(value, Collection):
            parts = [index for index, item in enumerate(value.items) if CAPTURE in taint_of([item])]
            if parts:
                return parts[-1]
    return 1


def _kind(value: Value) -> str:
    """How a returned value relates to the watched result."""
    if isinstance(value, ForwardResult):
        return "as-is"
    labels = taint_of([value])
    if "result" not in labels or evaluate.UNFOLLOWED in labels:
        return "unrelated"
    if isinstance(value, Collection) and value.kind == "tuple" and _is_put_together(value):
        return "as-is"
    return "changed"


def _is_put_together(value: Collection) -> bool:
    """Whether a tuple holds the auxiliary states as an item of their own, as the decoder's result does."""
    parts = [option for item in value.items for option in options(item)]
    return any("aux" in taint_of([p]) for p in parts) and not any(isinstance(p, ForwardResult) for p in parts)
