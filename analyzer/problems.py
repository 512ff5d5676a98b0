"""What is wrong with the input: as a whole, or with one file of it.  Apart from findings, which take longer to load."""

from __future__ import annotations

from dataclasses import dataclass, field


class InputError(Exception):
    """The run cannot go on with what it was given; the message is one line that says what to do."""


@dataclass(frozen=True, order=True)
class Diagnostic:
    """Something in the input that could not be used; the run goes on without it.

    ``line`` is 0 where no line is meant.
    """

    path: str
    line: int
    message: str = field(compare=True)
