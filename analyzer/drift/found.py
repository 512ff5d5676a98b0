"""What was found in a package so far, and what of it counts."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field

from analyzer.drift.records import ReasonRecord, UseRecord

Inside = tuple[str, ...]
"""What has to run for a place to be reached: the module (see :func:`module_key`), then the functions around it."""


def module_key(module: str) -> str:
    """How a module stands among the names of functions."""
    return f"module {module}"


@dataclass
class Found:
    """What was found in a package so far.

    Args:
        broken: uses that are not honoured, with what is around each.
        guarded: those behind a guard.
        unresolved: what could not be judged.
        checked: how many uses of each sort were looked at.
        named: for each name that is read and each module that is imported somewhere: whether a guard decides over
            the place, and what is around it.
    """

    broken: list[tuple[UseRecord, Inside]] = field(default_factory=list)
    guarded: list[ReasonRecord] = field(default_factory=list)
    unresolved: list[ReasonRecord] = field(default_factory=list)
    checked: Counter[str] = field(default_factory=Counter)
    named: dict[str, list[tuple[bool, Inside]]] = field(default_factory=dict)

    def settle(self, elsewhere: frozenset[str]) -> list[UseRecord]:
        """What stands in no function or module that is reached only where a guard decides; the rest is guarded.

        Args:
            elsewhere: words of files that were not looked into: nothing is known of who calls those.
        """
        optional: set[str] = set()
        while True:
            more = {
                name
                for name, places in self.named.items()
                if name not in optional
                and re.split(r"[ .]", name)[-1] not in elsewhere
                and all(decided or optional & set(inside) for decided, inside in places)
            }
            if not more:
                break
            optional |= more
        kept = []
        for use, inside in self.broken:
            around = next((name for name in inside if name in optional), "")
            if around:
                reason = f"{use.message}; {around} is reached only behind a guard"
                self.guarded.append(ReasonRecord(use.at, use.name, reason))
            else:
                kept.append(use)
        return kept
