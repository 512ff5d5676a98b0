"""``vllm-contracts config``: the settings in force, and where each comes from."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from analyzer.commands import output
from analyzer.commands.options import Given, judging, settings_for
from analyzer.commands.where import cache_folder

if TYPE_CHECKING:
    from analyzer.settings import Settings


@click.command(short_help="Show the settings in force, and where each comes from.")
@click.argument("path", required=False, type=click.Path(path_type=Path))
@judging
@cache_folder
def config(path: Path | None, given: Given) -> None:
    """Show the settings in force for a vLLM tree, and where each comes from.

    PATH is the tree; without it, what holds in this folder is shown. Options are those of audit.

    Settings stand in vllm-contracts.toml, or in pyproject.toml below [tool.vllm-contracts]. The folder of the
    tree is looked at first, then each folder above it, up to the root of the repository; the nearest file
    counts, alone. The command line wins over it.

    \b
    Examples:
      vllm-contracts config
      vllm-contracts config ~/src/vllm --select VC001
    """
    settings = settings_for(_start(path), given)
    output.write_out("".join(f"{line}\n" for line in _lines(settings)))


def _start(path: Path | None) -> Path:
    """Where an audit of the same path would look first."""
    from analyzer.checkout import CheckoutError, open_checkout

    if path is None:
        return Path.cwd()
    try:
        return open_checkout(path).root
    except CheckoutError:
        return path


def _lines(settings: Settings) -> Iterator[str]:
    from analyzer.report.layout import clean

    yield f"# {clean(str(settings.file)) if settings.file is not None else 'no file of settings'}"
    shown = {key: _shown(key, value) for key, value in settings.items()}
    widest = max(len(key) + len(value) for key, value in shown.items()) + len(" = ")
    for key, value in shown.items():
        yield f"{clean(f'{key} = {value}'):<{min(widest, 60)}}  # {clean(settings.origin(key))}"


def _shown(key: str, value: Any) -> str:
    """A value as a file would have it, or in brackets what the lack of one means."""
    if key == "per-path-ignores":
        shown = ", ".join(f"{json.dumps(glob)} = {json.dumps(codes)}" for glob, codes in value)
        return f"{{ {shown} }}" if shown else "{}"
    if key == "contract":
        return f"{{ {', '.join(name for name, _ in value)} }}" if value else "{}"
    if key == "cache-dir" and value is None:
        from analyzer.folders import default_cache_dir

        value = default_cache_dir()
    if key in ("select", "contracts") and not value:
        return "(all)"
    return "(none)" if value is None else json.dumps(str(value) if isinstance(value, Path) else value)
