"""One of several ways to build an inner model, chosen for a run of ``__init__``: the others are left out of it.

All that ``__init__`` does with the inner model then concerns the one that was chosen: what it deletes of it, what it
keeps of it under another name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from analyzer.index import ClassInfo
from analyzer.values import Site, Value

if TYPE_CHECKING:
    from analyzer.interpret import Machine


class Excluded(Exception):
    """What runs belongs to a way that was not chosen."""


@dataclass(frozen=True)
class Pin:
    """What is built at one place.

    Args:
        cls: the class of what the configuration chooses there; None to leave it open.
        others: classes of which nothing is built there.
    """

    cls: ClassInfo | None
    others: frozenset[ClassInfo]


Pins = dict[tuple[str, int, int], Pin]


@contextmanager
def pinned(machine: Machine, pins: Pins) -> Iterator[None]:
    """Build as the pins have it; nothing of that is kept for other runs."""
    if not any(pin.cls or pin.others for pin in pins.values()):
        yield
        return
    templates, machine.templates, machine.pins = machine.templates, {}, pins
    try:
        yield
    finally:
        machine.templates, machine.pins = templates, {}


def check(machine: Machine, cls: ClassInfo, site: Site | None) -> None:
    """Stop where an object of a class is built that is not the one chosen.

    Raises:
        Excluded: it is not.
    """
    if machine.pins and site is not None:
        pin = machine.pins.get(site.key)
        if pin is not None and cls in pin.others:
            raise Excluded


def possible(ways: list[Callable[[], Value]]) -> list[Value]:
    """What those of several ways give that are not left out.

    Raises:
        Excluded: all of them are.
    """
    given = [_tried(way) for way in ways]
    left = [value for value in given if value is not None]
    if given and not left:
        raise Excluded
    return left


def _tried(way: Callable[[], Value]) -> Value | None:
    try:
        return way()
    except Excluded:
        return None
