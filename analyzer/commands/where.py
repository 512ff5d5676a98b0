"""Options that say where things are, the tree and the cache: of their own, because ``explain`` needs no others."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from analyzer.commands.failure import one_line

F = TypeVar("F", bound=Callable[..., Any])

NAMING = (
    click.option(
        "--vllm",
        metavar="PATH|RELEASE|installed",
        help="PATH is a package outside vLLM: its models are judged, with this vLLM.",
    ),
    click.option("--package", metavar="NAME", help="What vLLM's package is called, in a fork that renamed it."),
)
cache_folder = click.option(
    "--cache-dir",
    metavar="FOLDER",
    type=click.Path(path_type=Path),
    help="Where results and releases are kept; vllm-contracts cache path says where by default.",
)


def cache_options(command: F) -> F:
    """``--no-cache`` and ``--cache-dir``, for commands that read a tree."""
    command = click.option("--no-cache", is_flag=True, help="Read everything anew, and keep nothing.")(command)
    return cache_folder(command)


def naming(command: F) -> F:
    """Options for which tree is meant, beside its path; the command gets them by their names."""
    for option in reversed(NAMING):
        command = option(command)
    return command


def cache_folder_of(cache_dir: Path | None) -> Path:
    """The folder of the cache: the one that is given, or the usual one."""
    if cache_dir is not None:
        return cache_dir
    from analyzer.folders import default_cache_dir

    return default_cache_dir()


def warn(message: str) -> None:
    """A warning in one line on standard error."""
    click.echo(f"warning: {one_line(message)}", err=True)
