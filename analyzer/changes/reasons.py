"""Why a verdict is another one: which link of the chain differs, told by the kinds of links and not by places."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from analyzer.changes.records import SUPPORTS, Reason, stopper
from analyzer.findings import Link, Position
from analyzer.records import ContractRecord, ModelRecord, StatusRecord

Side = tuple[ContractRecord, ModelRecord, StatusRecord]
"""A contract, a model, and how that stands to it, in one of the trees."""

_UNKNOWN, _FAILS, _SOME, _HOLDS = None, 0, 1, 2


def reasons(old: Side, new: Side, names: Mapping[str, str]) -> Iterator[Reason]:
    """What differs between two chains, from the check to the decoder; one reason at least.

    Args:
        old, new: the two sides.
        names: methods of the contract that were renamed, old name by new.
    """
    found = [*_class(old, new), *_check(old, new), *_inner(old, new), *_links(old, new, names), *_stopped(old, new)]
    yield from found
    unknown = new[2].verdict == "unknown" and not any(new[2].reason in r.text for r in found)
    if not found or (unknown and new[2].reason):
        yield _verdict(old, new)


def _class(old: Side, new: Side) -> Iterator[Reason]:
    if old[1].name != new[1].name:
        yield Reason("class", f"served by {new[1].name} now", old[1].at, new[1].at)


def _verdict(old: Side, new: Side) -> Reason:
    """For want of a link: what the analysis says of the new verdict."""
    status = new[2]
    text = status.reason or ("its chain could not be resolved before" if old[2].verdict == "unknown" else "")
    if not text and status.verdict == "unknown":
        text = "its chain cannot be resolved any more"
    if not text and old[2].reason:
        text = f"before, {old[2].reason}; that is not found any more"
    return Reason("verdict", text or "no single link of its chain tells why", old[1].at, new[1].at)


_CONSUMERS = {
    "allow-list": "the allow-list of model types",
    "name-gate": "the consumer that dispatches on its name",
}


def _stopped(old: Side, new: Side) -> Iterator[Reason]:
    """Whether a consumer stops the model, where that differs and the rest of its chain is in order."""
    before, after = (stopper(side[2]) if side[2].verdict in SUPPORTS else None for side in (old, new))
    if after is not None:
        text = f"stopped by {_CONSUMERS.get(after.link, after.link)}"
        yield Reason(after.link, text if before is not None else f"{text} now", None, _place(after))
    elif before is not None and new[2].verdict in SUPPORTS:
        text = f"not stopped by {_CONSUMERS.get(before.link, before.link)} any more"
        yield Reason(before.link, text, _place(before), None)


# -- the check -------------------------------------------------------------------------------------


def _check(old: Side, new: Side) -> Iterator[Reason]:
    before, after = old[2], new[2]
    if before.satisfied == after.satisfied:
        return
    contract = new[0]
    if after.satisfied is None:
        text = "whether it passes the check is not known any more"
        text += f": {after.reason}" if after.reason else ""
    elif after.satisfied:
        text = f"{_how(new)} now"
        if before.satisfied is None:
            text = f"{_how(new)}; before it was not known"
        elif not after.declared and set(old[0].members) != set(contract.members):
            text = f"has every member that {contract.name} asks for since {_asks(old[0], contract)}"
    else:
        text = _lost(old, new)
    yield Reason("check", text, old[1].at, new[1].at)


def _how(side: Side) -> str:
    """Through what a model that passes the check does so."""
    contract, model, status = side
    if not status.declared:
        return f"has every member of {contract.name}"
    if status.declared_by in ("", model.cls):
        return f"inherits {contract.name}"
    return f"inherits {contract.name} through {_short(status.declared_by)}"


def _lost(old: Side, new: Side) -> str:
    contract, before, after = old[0], old[2], new[2]
    if before.declared and not after.declared:
        through = "" if before.declared_by in ("", old[1].cls) else f" through {_short(before.declared_by)}"
        return f"does not inherit {contract.name}{through} any more"
    if not before.declared and set(new[0].members) - set(contract.members):
        return f"lacks a member of {contract.name} since {_asks(contract, new[0])}"
    if not before.declared:
        return f"does not have every member of {contract.name} any more"
    return f"fails {_checker(new[0])} now, although it inherits {contract.name}"


def _asks(old: ContractRecord, new: ContractRecord) -> str:
    """How what structural conformance needs differs."""
    more = ", ".join(sorted(set(new.members) - set(old.members)))
    less = ", ".join(sorted(set(old.members) - set(new.members)))
    parts = [f"it has {more}" if more else "", f"it has no {less}" if less else ""]
    return " and ".join(part for part in parts if part)


def _checker(contract: ContractRecord) -> str:
    return contract.checker or f"isinstance({contract.name})"


def _short(dotted: str) -> str:
    return dotted.rpartition(".")[2]


# -- the inner model -------------------------------------------------------------------------------


def _inner(old: Side, new: Side) -> Iterator[Reason]:
    """Another inner model, and whether it passes the check where that differs."""
    if not (old[2].handed_on and new[2].handed_on):
        return
    before, after = _built(old[1]), _built(new[1])
    one, other = _links_of(old, "inner"), _links_of(new, "inner")
    if before != after:
        text = f"builds {after or 'no inner model'} now, {before or 'none'} before"
        yield Reason("inner", text, _first(one, old[1]), _first(other, new[1]))
    was, now = _links_of(old, "inner-check"), _links_of(new, "inner-check")
    if was and now and _state(was) != _state(now):
        told = _told(now)
        whose = f"its inner model {after}" if after and ", " not in after else "what it may build"
        says = {_HOLDS: "passes", _SOME: "passes in some cases", _FAILS: "fails", _UNKNOWN: "may or may not pass"}
        text = f"{whose} {says[_state(now)]} {_checker(new[0])} now"
        yield Reason("inner-check", text, _place(_told(was)), _place(told))


def _built(model: ModelRecord) -> str:
    """The classes that a model may build, in words."""
    if any(i.resolution == "config" for i in model.inner):
        return "what the config chooses"
    names = dict.fromkeys(_short(i.cls) for i in model.inner if i.cls is not None)
    unknown = [i for i in model.inner if i.cls is None]
    return ", ".join([*names, *(["what could not be resolved"] if unknown else [])])


# -- the links behind ------------------------------------------------------------------------------


def _links(old: Side, new: Side, names: Mapping[str, str]) -> Iterator[Reason]:
    """Methods, decoder, capture and forward: those whose outcome differs.

    Where the check is passed now and was not, the methods were never reached before: only what fails now is told.
    Where it is failed, they tell nothing.
    """
    passed_before, passes_now = old[2].satisfied, new[2].satisfied
    if passed_before and not passes_now:
        return
    methods = [m.name for m in new[0].methods] if passes_now else []
    for kind in (*(f"method:{name}" for name in methods), "capture", "forward"):
        head, _, name = kind.partition(":")
        was, now = _links_of(old, f"{head}:{names.get(name, name)}"), _links_of(new, kind)
        if not now or _state(was) == _state(now) or (_state(now) == _HOLDS and not (was and _tells(head, old))):
            continue
        link = _told(now)
        text = _without_name(link.detail, new[1])
        if was and passed_before:
            text += f"; before, {_without_name(_told(was).detail, old[1])}"
        yield Reason(head, text, _place(_told(was)) if was else None, _place(link))


def _tells(kind: str, old: Side) -> bool:
    """Whether a link that holds now and did not hold before tells anything: a method does where it was reached."""
    return kind != "method" or old[2].satisfied is True


def _links_of(side: Side, kind: str) -> list[Link]:
    """The links of a kind in all chains of a side; ``method:NAME`` for those of one method."""
    kind, _, name = kind.partition(":")
    links = [link for chain in side[2].chains for link in chain.links if link.link == kind]
    if not name:
        return links
    return [link for link in links if re.search(rf"\b{re.escape(name)}\b", link.detail)]


def _state(links: list[Link]) -> int | None:
    """Whether all of some links hold, some, or none; None where that is not known."""
    if not links:
        return _UNKNOWN
    if all(link.ok for link in links):
        return _HOLDS
    if any(link.ok for link in links):
        return _SOME
    return _FAILS if any(link.ok is False for link in links) else _UNKNOWN


def _told(links: list[Link]) -> Link:
    """The link to tell of several: one that does not hold before one that does."""
    return next((link for link in links if link.ok is False), links[0])


def _without_name(detail: str, model: ModelRecord) -> str:
    """What a link says, without the name of the class that the reader is looking at."""
    return detail.replace(f"{model.name}.", "its ").replace(f"{model.name} ", "it ", 1)


def _place(link: Link) -> Position | None:
    return Position(link.path, link.line) if link.path else None


def _first(links: list[Link], model: ModelRecord) -> Position:
    return next((place for link in links if (place := _place(link)) is not None), model.at)
