"""What is wrong with the input as a whole, as one line for the user."""

from __future__ import annotations


class InputError(Exception):
    """The run cannot go on with what it was given; the message is one line that says what to do."""
