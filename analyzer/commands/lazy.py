"""A group whose commands are imported when they are asked for, so that none waits for the others."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click


class LazyGroup(click.Group):
    """A group of commands that are modules of this package.

    Args:
        summaries: what each command does, in one line, by its name; the module and the command in it have that name.
    """

    def __init__(self, *args: Any, summaries: Mapping[str, str], **options: Any) -> None:
        super().__init__(*args, **options)
        self.summaries = summaries

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of all commands, in the order in which they are told."""
        return [*self.summaries, *super().list_commands(ctx)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """A command by name, imported now."""
        if cmd_name not in self.summaries:
            return super().get_command(ctx, cmd_name)
        command = getattr(import_module(f"{__package__}.{cmd_name}"), cmd_name)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands on the help page."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl(list(self.summaries.items()))
