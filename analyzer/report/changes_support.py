"""Who gained or lost support, and why: classes with one reason are told together."""

from __future__ import annotations

from collections.abc import Iterator

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
        for contract in dict.fromkeys(change.contract for change in found):
            yield Heading(code(contract), 3)
            yield from _groups([change for change in found if change.contract == contract], direction)


def _groups(found: list[SupportChange], direction: Direction) -> Iterator[Item]:
    groups: dict[tuple[object, ...], list[SupportChange]] = {}
    for change in found:
        key = (change.old_standing, change.new_standing, *(r.text for r in change.reasons))
        groups.setdefault(key, []).append(change)
    for group in groups.values():
        first = group[0]
        verdicts = f"{first.old_standing} -> {first.new_standing}"
        why = [_reason(number, group) for number in range(len(first.reasons))]
        text = f"{verdicts}: {why[0].text}"
        classes = _brief(group) if direction == "changed" else tuple(map(_class, group))
        yield Item(text, "", why[0].places, (*why[1:], *classes))


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
    return (Item(", ".join(dict.fromkeys(map(_name, group)))),)


def _name(change: SupportChange) -> str:
    """The class, and the architectures where they have other names."""
    name = change.new.name
    others = tuple(a for a in change.architectures if a != name)
    return code(name) + (f" (serves {names(others)})" if others else "")
