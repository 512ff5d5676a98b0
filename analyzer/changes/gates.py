"""Which gates, allow-lists and name gates are the same in two trees, and how those differ that are not."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import TypeVar

from analyzer.changes.records import AllowListChange, GateChange, NameGateChange
from analyzer.records import AllowListRecord, GateRecord, NameGateRecord

T = TypeVar("T")
Key = Callable[[T], Hashable]

NO_NAMES: Mapping[str, str] = {}


def paired(
    old: Iterable[T], new: Iterable[T], keys: Sequence[Key[T]], old_keys: Sequence[Key[T]] = ()
) -> Iterator[tuple[T | None, T | None]]:
    """Pair the items of two lists: by the first key as far as it goes, what is left by the second, and so on.

    Args:
        old, new: the items, in order; equal keys are paired in order.
        keys: from the strictest to the loosest; an item with the key None is not paired by it.
        old_keys: the same for the old items, where they have to be read otherwise.

    Yields:
        The pairs in the order of ``new``, then the old items that have no partner.
    """
    olds, news = list(old), list(new)
    partner: dict[int, T] = {}
    for key, old_key in zip(keys, old_keys or keys, strict=True):
        waiting: dict[Hashable, list[T]] = {}
        for item in olds:
            waiting.setdefault(old_key(item), []).append(item)
        waiting.pop(None, None)
        for number, item in enumerate(news):
            same = waiting.get(key(item)) if number not in partner else None
            if same:
                partner[number] = same.pop(0)
        taken = {id(item) for item in partner.values()}
        olds = [item for item in olds if id(item) not in taken]
    yield from ((partner.get(number), item) for number, item in enumerate(news))
    yield from ((item, None) for item in olds)


def renamed_text(text: str, names: Mapping[str, str]) -> str:
    """A call as it would read under other names of the methods."""
    return re.sub(r"\w+", lambda word: names.get(word[0], word[0]), text)


def compare_gates(
    old: Iterable[GateRecord], new: Iterable[GateRecord], names: Mapping[str, str] = NO_NAMES
) -> tuple[GateChange, ...]:
    """The gates that are new, gone, moved, or ask otherwise.

    A gate is known again by its file, function, member and subject, and not by its line: what was moved by the
    same function in another file (of the same name, or with the same call), what asks another object by the same
    function, and what stands with the same call in another function of the file.

    Args:
        old, new: of one contract.
        names: methods that were renamed, new name by old.
    """
    keys, old_keys = _gate_keys(NO_NAMES), _gate_keys(names)
    changes = (_gate_change(one, other) for one, other in paired(old, new, keys, old_keys))
    return tuple(change for change in changes if change is not None)


def _gate_keys(names: Mapping[str, str]) -> list[Key[GateRecord]]:
    def asks(gate: GateRecord) -> tuple[str, str]:
        return names.get(gate.member, gate.member), gate.subject

    def call(gate: GateRecord) -> str:
        return renamed_text(gate.text, names)

    return [
        lambda g: (g.at.path, g.function, call(g), *asks(g)),
        lambda g: (g.at.path, g.function, *asks(g)),
        lambda g: (g.at.path, g.function, asks(g)[0]),
        lambda g: (PurePosixPath(g.at.path).name, g.function, *asks(g)),
        lambda g: (g.function, call(g), *asks(g)),
        lambda g: (g.at.path, call(g), *asks(g)),
    ]


def _gate_change(old: GateRecord | None, new: GateRecord | None) -> GateChange | None:
    if old is None or new is None:
        return GateChange(old, new, ("added",) if old is None else ("gone",))
    differs = {
        "moved": (old.at.path, old.function) != (new.at.path, new.function),
        "subject": old.subject != new.subject,
        "error": old.error != new.error,
    }
    kinds = tuple(kind for kind, applies in differs.items() if applies)
    return GateChange(old, new, kinds) if kinds else None


def compare_allow_lists(
    old: Iterable[AllowListRecord], new: Iterable[AllowListRecord], contract: str
) -> tuple[AllowListChange, ...]:
    """The allow-lists of a contract that are new, gone, or hold other items; one is known again by its file."""
    before, after = ([a for a in side if a.contract == contract] for side in (old, new))
    keys: list[Key[AllowListRecord]] = [lambda a: a.at.path, lambda a: a.contract]
    pairs = paired(before, after, keys)
    changes = (AllowListChange(one, other) for one, other in pairs)
    return tuple(c for c in changes if c.old is None or c.new is None or c.added or c.removed)


def compare_name_gates(old: Iterable[NameGateRecord], new: Iterable[NameGateRecord]) -> tuple[NameGateChange, ...]:
    """The dispatches on class names that are new, gone, or serve other names."""
    keys: list[Key[NameGateRecord]] = [lambda g: (g.at.path, g.function), lambda g: g.function]
    changes = []
    for one, other in paired(old, new, keys):
        before, after = _names(one), _names(other)
        added = tuple(name for name in after if name not in before)
        removed = tuple(name for name in before if name not in after)
        if one is None or other is None or added or removed:
            changes.append(NameGateChange(one, other, added, removed))
    return tuple(changes)


def _names(gate: NameGateRecord | None) -> list[str]:
    return [name for arm in gate.arms for name in arm.names] if gate is not None else []
