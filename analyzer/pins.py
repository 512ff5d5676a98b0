"""One of several ways to build an inner model, chosen for a run of ``__init__``: the others are left out of it.

All that ``__init__`` does with the inner model then concerns the one that was chosen: what it deletes of it, what it
keeps of it under another name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

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
        wanted: whether a path that builds there is taken where another does not.
    """

    cls: ClassInfo | None
    others: frozenset[ClassInfo]
    wanted: bool = False


Pins = dict[tuple[str, int, int], Pin]


@contextmanager
def pinned(machine: Machine, pins: Pins) -> Iterator[None]:
    """Build as the pins have it; nothing of that is kept for other runs."""
    if not any(pin.cls or pin.others or pin.wanted for pin in pins.values()):
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
    pin = machine.pins.get(site.key) if machine.pins and site is not None else None
    if pin is not None:
        if cls in pin.others:
            raise Excluded
        machine.wanted_built += pin.wanted


def possible(machine: Machine, ways: list[Callable[[], Value]]) -> list[Value]:
    """What those of several ways give that are not left out.

    Raises:
        Excluded: all of them are.
    """
    left: list[tuple[Value, bool]] = []
    for way in ways:
        before = machine.wanted_built
        with suppress(Excluded):
            left.append((way(), machine.wanted_built > before))
    if ways and not left:
        raise Excluded
    return [value for value, _ in taken(left)]


State = TypeVar("State", bound=tuple[object, ...])


def taken(left: list[State]) -> list[State]:
    """Of what several paths leave, that of those which built what is wanted; all where none did.

    Args:
        left: by path; the last item says whether it built what is wanted.
    """
    return [state for state in left if state[-1]] or left
