"""C3 linearisation, as Python does it (PEP 253; ``Objects/typeobject.c``, ``mro_implementation``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class NoLinearisation(Exception):
    """Python would raise TypeError: the bases have no consistent order, or one is named twice."""


def linearise(head: T, bases: Sequence[T], linearisations: Sequence[Sequence[T]]) -> tuple[T, ...]:
    """``head`` followed by the merge of its bases' linearisations and of the base list itself.

    Args:
        head: the class itself.
        bases: its bases, in order.
        linearisations: one for each base.

    Raises:
        NoLinearisation: as Python's "Cannot create a consistent method resolution order".
    """
    if len(set(bases)) != len(bases):
        raise NoLinearisation("duplicate base class")
    out = [head]
    rest = [list(sequence) for sequence in [*linearisations, bases] if sequence]
    while rest:
        for candidate in (sequence[0] for sequence in rest):
            if not any(candidate in sequence[1:] for sequence in rest):
                break
        else:
            raise NoLinearisation("no consistent order of the bases")
        out.append(candidate)
        rest = [s for s in ([x for x in sequence if x != candidate] for sequence in rest) if s]
    return tuple(out)
