"""What a model is made of and what each step of a contract should do on it: plain data for an execution elsewhere.

A *skeleton* is a model without weights and without its constructor having run: the classes of its sub-modules, by
attribute, and nothing else.  Each is one possibility for the inner model, with what the analysis says of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from analyzer import construct, repair
from analyzer.audit import Audit
from analyzer.chains import Chain, MethodResult, configures
from analyzer.models import Alternative, Model, Status
from analyzer.values import Collection, Const, Instance, options

DEEPEST = 3
"""Levels of sub-modules: a wrapper, its inner model, the decoder inside, and one more for those that nest."""


@dataclass(frozen=True)
class Module:
    """One object: its class, and its sub-modules as indices into the skeleton's list.

    Args:
        cls: dotted name.
        parts: attribute to index.
        layers: whether it has a list of layers, which the execution fills with layers of its own.
    """

    cls: str
    parts: dict[str, int] = field(default_factory=dict)
    layers: bool = False


@dataclass(frozen=True)
class Call:
    """What one method of a contract should do.

    Args:
        name: of the method.
        configures: whether it is given the layers; else it gives them.
        how: see :class:`analyzer.chains.MethodResult`.
        raises: the class of exception that it should raise, or empty.
        reason: why it does not work.
        lands: path and attribute where the layers should land; empty if nowhere.
    """

    name: str
    configures: bool
    how: str
    raises: str = ""
    reason: str = ""
    lands: tuple[str, str] | tuple[()] = ()


@dataclass(frozen=True)
class Steps:
    """The steps behind the check.

    Args:
        declared: as if the class declared the contract, which it does not.
        calls: of the contract's methods.
        decoder: path of the module that should collect, and the attribute that tells it which layers; else empty.
        part: the item of its result that holds the states.
        capture: whether its ``forward`` collects and returns the states; None where that is not known.
        forward: whether the outer ``forward`` hands the decoder's result on as it came; None likewise.
    """

    declared: bool
    calls: tuple[Call, ...]
    decoder: tuple[str, str] | tuple[()] = ()
    part: int = 1
    capture: bool | None = None
    forward: bool | None = None


@dataclass(frozen=True)
class Skeleton:
    """One model with one possibility for its inner model, and one contract.

    Args:
        cls: of the model.
        contract: name of the contract.
        modules: the objects; the first is the model.
        satisfied: what the checker says of the model; None where that is not known.
        inner: path of the inner model, or empty.
        inner_cls: its class, or empty.
        inner_satisfied: what the checker says of the inner model.
        marked: paths that the constructor marks as those of the language model.
        steps: those of the class as it stands, then those of the class as if it declared the contract.
    """

    cls: str
    contract: str
    modules: tuple[Module, ...]
    satisfied: bool | None
    inner: str = ""
    inner_cls: str = ""
    inner_satisfied: bool | None = None
    marked: tuple[str, ...] = ()
    steps: tuple[Steps, ...] = ()


def skeletons(audit: Audit) -> Iterator[Skeleton]:
    """A skeleton for every possibility of every model that has to hand a contract on.

    Args:
        audit: what was read.
    """
    for contract in audit.delegated:
        for model in audit.serving:
            status = audit.status(model, contract)
            for alternative in status.alternatives:
                if alternative.inner is None or alternative.cls is not None:
                    yield _skeleton(audit, model, status, alternative)


def _skeleton(audit: Audit, model: Model, status: Status, alternative: Alternative) -> Skeleton:
    root, inner = alternative.outer.root, alternative.inner
    chains = [(alternative.outer, False)]
    if alternative.repaired is not alternative.outer and alternative.outer.satisfied is False:
        chains.append((alternative.repaired, True))
    return Skeleton(
        cls=model.cls.key,
        contract=status.contract.name,
        modules=tuple(_modules(audit, root)),
        satisfied=alternative.outer.satisfied,
        inner=inner.attribute if inner is not None else "",
        inner_cls=alternative.cls.key if alternative.cls is not None and inner is not None else "",
        inner_satisfied=alternative.supported,
        marked=tuple(_marked(root)),
        steps=tuple(_steps(audit, chain, alternative, declared) for chain, declared in chains),
    )


def _modules(audit: Audit, root: Instance) -> list[Module]:
    """The objects of the model folders inside a model; one that stands under two names is one object."""
    places: dict[int, int] = {}
    found: list[Module] = []

    def add(instance: Instance, depth: int) -> int:
        if id(instance) in places:
            return places[id(instance)]
        construct.prepare(audit.model_set.machine, instance)
        own = places[id(instance)] = len(found)
        parts: dict[str, int] = {}
        found.append(Module(instance.cls.key, parts, "layers" in instance.attrs))
        for name, value in instance.attrs.items():
            every = list(options(value))
            made = [option for option in every if isinstance(option, Instance)]
            alike = len(made) == len(every) and len({option.cls for option in made}) == 1  # each branch builds the same
            if alike and depth < DEEPEST and audit.index.in_model_roots(made[0].cls.module.module + "."):
                parts[name] = add(made[0], depth + 1)
        return own

    add(root, 0)
    return found


def _marked(root: Instance) -> Iterator[str]:
    """What ``_mark_language_model`` of vLLM 0.15 and later notes while ``__init__`` runs."""
    marked = root.attrs.get("_language_model_names")
    for item in marked.items if isinstance(marked, Collection) else ():
        if isinstance(item, Const):
            yield str(item.value)


def _steps(audit: Audit, chain: Chain, alternative: Alternative, declared: bool) -> Steps:
    calls = tuple(_call(result) for result in chain.methods)
    holder, attribute, capture, handing = chain.holder, chain.attribute, chain.capture, chain.handing
    own, inner = alternative.own, alternative.inner
    trail = holder.trail if holder is not None else ()
    if holder is None and own is not None and own.holder is not None and inner is not None:
        holder, attribute, capture = own.holder, own.attribute, own.capture
        trail = (*inner.attribute.split("."), *own.holder.trail)
        handing = repair.handed_on(audit, alternative)
    if holder is None:
        return Steps(declared, calls)
    return Steps(
        declared,
        calls,
        (".".join(trail), attribute),
        capture.part if capture is not None else 1,
        capture.ok if capture is not None else None,
        handing.ok if handing is not None else None,
    )


def _call(result: MethodResult) -> Call:
    store = result.stores[0] if result.how == "works" and result.stores else None
    return Call(
        result.method.name,
        configures(result.method),
        result.how,
        result.failure.kind if result.failure is not None else "",
        result.reason,
        (".".join(store.instance.trail), store.attribute) if store is not None else (),
    )
