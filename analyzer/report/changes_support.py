"""Who gained or lost support, and why: classes with one reason are told together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from analyzer.changes.records import Changes, Direction, Reason, SupportChange
from analyzer.report.outline import Block, Heading, Item, code, names, places

_HEADS: tuple[tuple[Direction, str], ...] = (
    ("lost", "Lost support"),
    ("gained", "Gained support"),
    ("changed", "Another verdict, no support gained or lost"),
)


def support_blocks(changes: Changes) -> Iterator[Block]:
    """A section for each direction, with an item for each contract and reason."""
    for direction, head in _HEADS:
        found = list(changes.of_direction(direction))
        if not found:
            continue
        yield Heading(head)
        contracts = {name: _groups([c for c in found if c.contract == name]) for name in _contracts(found)}
        if direction == "changed":
            yield from _merged(contracts)
            continue
        for name, groups in contracts.items():
            yield Heading(code(name), 3)
            yield from (_item(group, tuple(map(_class, group))) for group in groups)


def _contracts(found: list[SupportChange]) -> dict[str, None]:
    return dict.fromkeys(change.contract for change in found)


def _groups(found: list[SupportChange]) -> list[list[SupportChange]]:
    """The changes of one contract, those with the same standings and reasons together."""
    groups: dict[tuple[str, ...], list[SupportChange]] = {}
    for change in found:
        key = (change.old_standing, change.new_standing, *(r.text for r in change.reasons))
        groups.setdefault(key, []).append(change)
    return list(groups.values())


def _merged(contracts: dict[str, list[list[SupportChange]]]) -> Iterator[Item]:
    """Groups that are the same for several contracts are told once: mostly what is not known of any of them."""
    merged: dict[Item, list[str]] = {}
    for name, groups in contracts.items():
        for group in groups:
            item = _item(group, _brief(group))
            merged.setdefault(item, []).append(name)
    for item, found in merged.items():
        yield replace(item, text=f"{names(found)}: {item.text}")


def _item(group: list[SupportChange], classes: tuple[Item, ...]) -> Item:
    first = group[0]
    why = [_reason(number, group) for number in range(len(first.reasons))]
    text = f"{first.old_standing} -> {first.new_standing}: {why[0].text}"
    return Item(text, "", why[0].places, (*why[1:], *classes))


def _reason(number: int, group: list[SupportChange]) -> Item:
    """A reason with its place, unless that is the class itself, or differs within the group."""
    reason = group[0].reasons[number]
    shared = {_where(change, change.reasons[number]) for change in group}
    where = shared.pop() if len(shared) == 1 else ()
    return Item(reason.text, "", where)


def _where(change: SupportChange, reason: Reason) -> tuple[str, ...]:
    return () if reason.new == change.new.at else places(reason.old, reason.new)


def _class(change: SupportChange) -> Item:
    return Item(_name(change), "", places(change.old.at, change.new.at))


def _brief(group: list[SupportChange]) -> tuple[Item, ...]:
    """The architectures, by the class that serves them."""
    served: dict[str, list[str]] = {}
    for change in group:
        served.setdefault(change.new.name, []).extend(change.architectures)
    return (Item(", ".join(_served(cls, tuple(dict.fromkeys(found))) for cls, found in served.items())),)


def _served(cls: str, architectures: tuple[str, ...]) -> str:
    return names(architectures) + ("" if architectures == (cls,) else f" (class {code(cls)})")


def _name(change: SupportChange) -> str:
    """The class, and the architectures where they have other names."""
    name = change.new.name
    others = tuple(a for a in change.architectures if a != name)
    return code(name) + (f" (serves {names(others)})" if others else "")
