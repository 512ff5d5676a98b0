"""Chains as evidence: every step from the gate to the decoder with its verdict, place and reason in plain words."""

from __future__ import annotations

from dataclasses import replace

from analyzer import members, repair
from analyzer.audit import Audit
from analyzer.chains import Chain, MethodResult
from analyzer.contracts import Contract
from analyzer.findings import Link
from analyzer.inner import value_at
from analyzer.lessons import lesson_of
from analyzer.loops import Irregular
from analyzer.models import Alternative, Model, Status
from analyzer.values import Instance, options


def chain_links(
    audit: Audit, model: Model, status: Status, alternative: Alternative, *, repaired: bool = False
) -> tuple[Link, ...]:
    """All links for one possibility of the inner model.

    Args:
        audit: what was read.
        model, status, alternative: which chain.
        repaired: show the steps behind the check as they would be if the class declared the contract.
    """
    return (
        *gate_links(audit, status.contract),
        *model_links(audit, model, status, alternative, repaired=repaired),
    )


def model_links(
    audit: Audit, model: Model, status: Status, alternative: Alternative, *, repaired: bool = False
) -> tuple[Link, ...]:
    """The links of :func:`chain_links` from the check on."""
    chain = alternative.repaired if repaired else alternative.outer
    return (
        check_link(model, status, alternative),
        *inner_links(alternative, status.contract),
        *(method_link(result, once_declared=chain is not alternative.outer) for result in chain.methods),
        *decoder_links(audit, chain, alternative),
    )


def gate_links(audit: Audit, contract: Contract) -> list[Link]:
    """The checks outside the models."""
    return [gate.link(error=gate.error) for gate in audit.checks(contract)]


def plain_links(model: Model, status: Status) -> tuple[Link, ...]:
    """The links for a contract that nothing has to hand on: the check, and which methods are effective."""
    links = [check_link(model, status, None)]
    for method in status.contract.methods if status.satisfied else ():
        found = members.class_method(model.cls, method.name)
        if found is None:
            continue
        owner, facts = found
        from_contract = owner is method.owner
        where = f"{owner.name}.{method.name}" + (" (the contract's own)" if from_contract else "")
        does = "has no body: it gives None" if facts.stub else "is effective"
        links.append(Link("method", None if facts.stub else True, owner.path, facts.line, f"{where} {does}"))
    return tuple(links)


def check_link(model: Model, status: Status, alternative: Alternative | None) -> Link:
    """Whether the class passes the checker, and why."""
    cls, contract = model.cls, status.contract
    checker = contract.checker or f"isinstance({contract.name})"
    if status.satisfied:
        how = f"inherits {contract.name}" if status.declared else "has every member that the Protocol names"
        return Link("check", True, cls.path, cls.line, f"{cls.name} passes {checker}: it {how}")
    if status.satisfied is None:
        return Link("check", None, cls.path, cls.line, f"whether {cls.name} passes {checker} is not known")
    lacking = [m.method.name for m in alternative.outer.methods if m.how == "missing"] if alternative else []
    names = ", ".join(lacking) if lacking else "members of the Protocol"
    detail = f"{cls.name} fails {checker}: it does not inherit {contract.name} and lacks {names}"
    return Link("check", False, cls.path, cls.line, detail)


def inner_links(alternative: Alternative, contract: Contract) -> list[Link]:
    """What the inner model is, and whether it passes the checker itself."""
    inner, cls = alternative.inner, alternative.cls
    if inner is None:
        return []
    path, line = (inner.site.path, inner.site.line) if inner.site is not None else ("", 0)
    where = f"self.{inner.attribute}"
    if inner.resolution == "config":
        shown = f"{where}: {inner.reason}"
        if cls is not None:
            shown += f"; shown here with {cls.name}"
            if alternative.stands_for > 1:
                shown += f" (as {alternative.stands_for - 1} others)"
        links = [Link("inner", None, path, line, shown)]
    elif cls is None:
        return [Link("inner", None, path, line, f"{where}: {inner.reason}")]
    else:
        either = " (one of several)" if inner.resolution == "branch" else ""
        links = [Link("inner", True, path, line, f"{where} is built as {cls.name}{either}")]
    if cls is not None:
        says = {True: "passes", False: "fails", None: "may or may not pass"}[alternative.supported]
        links.append(
            Link(
                "inner-check",
                alternative.supported,
                cls.path,
                cls.line,
                f"{cls.name} {says} {contract.checker}",
            )
        )
    return links


def method_link(result: MethodResult, *, once_declared: bool = False) -> Link:
    """What one method of the contract does on the object, or would do if the class declared the contract."""
    link = _method_link(result)
    if once_declared and result.owner is result.method.owner:
        return replace(link, detail=f"once declared, {link.detail}")
    return link


def unreached_links(audit: Audit, chain: Chain, alternative: Alternative) -> list[Link]:
    """The decoder of a model that no method of the contract reaches, where it stands in its usual place."""
    at = alternative.inner.attribute if alternative.inner is not None else ""
    attributes = sorted(audit.model_set.capture_attributes.get(chain.contract.name, ()))
    for place in (f"{at}.model" if at else "model", at):
        decoder = value_at(audit.model_set.machine, chain.root, place) if place and attributes else None
        for option in options(decoder) if decoder is not None else ():
            if isinstance(option, Instance) and members.class_method(option.cls, "forward") is not None:
                capture = audit.model_set.follower.captures(option, attributes[0])
                cls, owner = option.cls, capture.owner or option.cls
                where = f"the decoder is self.{place} ({cls.name})"
                return [
                    Link("decoder", True, cls.path, cls.line, where),
                    Link("capture", capture.ok, owner.path, capture.line, capture.detail),
                ]
    return []


def loop_links(audit: Audit, model: Model, status: Status) -> list[Link]:
    """Whether support could be written for a model that lacks it, or for the one inside: its loop, judged.

    Args:
        audit: what was read.
        model, status: which chain.
    """
    links = []
    inside = [a.cls for a in status.alternatives if a.inner is not None and a.cls is not None]
    names = list(dict.fromkeys(cls.key for cls in inside)) if model.inner else [model.cls.key]
    for pupil in (audit.model_set.models[key] for key in names if key in audit.model_set.models):
        if pupil.inner or audit.status(pupil, status.contract).verdict != "unsupported":
            continue
        lesson = lesson_of(audit, pupil, status.contract)
        for loop in lesson.loops if lesson is not None else ():
            if isinstance(loop, Irregular):
                detail = f"support cannot be written for it by machine: {loop.reason}"
                links.append(Link("loop", False, loop.path, loop.line, detail))
            else:
                detail = f"its loop is regular: vllm-contracts fix --teach {pupil.cls.name} may write the support"
                links.append(Link("loop", None, loop.owner.path, loop.line, detail))
    return links


def _method_link(result: MethodResult) -> Link:
    name = result.method.name
    owner, facts = result.owner, result.facts
    if owner is None or facts is None:
        at = result.method.owner
        return Link("method", result.ok, at.path, result.method.facts.line, result.reason or f"{name} is missing")
    where = f"{owner.name}.{name}"
    if result.how == "works":
        target = ""
        if result.stores:
            store = result.stores[0]
            target = f" and sets {store.attribute} on {_place(store.instance.trail)} ({store.instance.cls.name})"
        default = " (the contract's default)" if result.from_contract else ""
        return Link("method", True, owner.path, facts.line, f"{where}{default} runs{target}")
    if result.how == "stub":
        stub = result.stub_of or owner
        line = (result.stub_facts or facts).line
        through = "" if stub is owner else f"{where} ends in "
        return Link("method", False, stub.path, line, f"{through}{stub.name}.{name} is a stub: it returns None")
    if result.how == "fails" and result.failure is not None:
        failure = result.failure
        return Link("method", False, failure.path, failure.line, f"{where} fails here with {result.reason}")
    return Link("method", result.ok, owner.path, facts.line, f"{where}: {result.reason}")


def _place(trail: tuple[str, ...]) -> str:
    return ".".join(("self", *trail))


def decoder_links(audit: Audit, chain: Chain, alternative: Alternative) -> list[Link]:
    """The decoder, whether it collects, and whether the result comes back as it was.

    Where the chain does not reach it, the decoder is the one that the inner model's own methods reach.
    """
    holder, capture, handing = chain.holder, chain.capture, chain.handing
    inner, own = alternative.inner, alternative.own
    trail = holder.trail if holder is not None else ()
    if holder is None and own is not None and own.holder is not None and inner is not None:
        holder, capture = own.holder, own.capture
        trail = (*inner.attribute.split("."), *own.holder.trail)
        handing = repair.handed_on(audit, alternative)
    if holder is None:
        return []
    cls = holder.cls
    links = [Link("decoder", True, cls.path, cls.line, f"the decoder is {_place(trail)} ({cls.name})")]
    if capture is not None:
        owner = capture.owner or cls
        links.append(Link("capture", capture.ok, owner.path, capture.line, capture.detail))
    if handing is not None:
        owner = handing.owner or chain.root.cls
        links.append(Link("forward", handing.ok, owner.path, handing.line, handing.detail))
    return links
