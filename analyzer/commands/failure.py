"""How a run ends: its exit codes, and the one line that says why it failed."""

from __future__ import annotations

import click

CLEAN, FINDINGS, FAILED, INTERRUPTED = 0, 1, 2, 130


class Failure(click.ClickException):
    """The run itself failed.

    Args:
        messages: one line each that says what to do; usually there is one.
    """

    exit_code = FAILED

    def __init__(self, *messages: str) -> None:
        super().__init__(messages[0])
        self.messages = messages


def one_line(message: str) -> str:
    """A message as one line in printable characters."""
    words = " ".join(message.split())
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in words)
