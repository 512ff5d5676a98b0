"""``vllm-contracts cache``: where results of earlier runs are, and how to be rid of them."""

from __future__ import annotations

from pathlib import Path

import click

from analyzer.commands import output
from analyzer.commands.failure import Failure

_FOLDER = click.option("--cache-dir", metavar="FOLDER", type=click.Path(path_type=Path), help="Another cache.")


@click.group(short_help="Show or clear what earlier runs left.")
def cache() -> None:
    """Results and fetched releases of earlier runs.

    Results are kept by what a tree holds, at most a quarter of a gigabyte of them; removing them costs time, and
    nothing else. VLLM_CONTRACTS_CACHE names another folder.
    """


@cache.command(short_help="Print the folder.")
@_FOLDER
def path(cache_dir: Path | None) -> None:
    """Print the folder of the cache."""
    output.write_out(f"{_folder(cache_dir)}\n")


@cache.command(short_help="Remove the results.")
@_FOLDER
def clear(cache_dir: Path | None) -> None:
    """Remove all results; fetched releases stay."""
    from analyzer.store import clear as remove

    folder = _folder(cache_dir)
    try:
        size = remove(folder)
    except OSError as error:
        raise Failure(f"{folder}: cannot be cleared: {error.strerror or error}") from None
    output.write_out(f"removed {size / 1e6:.1f} MB of results from {folder}\n")


def _folder(cache_dir: Path | None) -> Path:
    from analyzer.folders import default_cache_dir

    return cache_dir if cache_dir is not None else default_cache_dir()
