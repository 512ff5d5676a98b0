"""Where objects stand: what an attribute held until it was set anew or deleted stands there no longer."""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.values import Instance, options

NOWHERE = "(nowhere)"  # no attribute can have this name


def settle(owner: Instance) -> None:
    """Give what attributes held, and what is inside of that, the path where it stands once ``__init__`` has run.

    Args:
        owner: the object that was built.
    """
    displaced, owner.displaced = owner.displaced, ()
    if not displaced:
        return
    standing = {id(part): trail for trail, part in _inside(owner, owner.trail, set())}
    for instance in displaced:
        for _, part in [((), instance), *_inside(instance, (), {id(owner)})]:
            if part.trail[: len(owner.trail)] == owner.trail:  # else it came from outside
                part.trail = standing.get(id(part)) or (*owner.trail, NOWHERE, *part.trail[len(owner.trail) :])


def is_nowhere(instance: Instance) -> bool:
    """Whether an object, or what it stands in, was taken away and put under no other name.

    Args:
        instance: reached through something that was kept of it, a bound method say.
    """
    return NOWHERE in instance.trail


def _inside(whole: Instance, trail: tuple[str, ...], seen: set[int]) -> Iterator[tuple[tuple[str, ...], Instance]]:
    """All objects inside one that are known so far, each at its first path (``named_modules`` of torch)."""
    seen.add(id(whole))
    for name, value in whole.attrs.items():
        for option in options(value):
            if isinstance(option, Instance) and id(option) not in seen:
                yield (*trail, name), option
                yield from _inside(option, (*trail, name), seen)
