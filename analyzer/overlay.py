"""A checkout with other contents for some files: as an editor has them that has not saved yet, or as they would be."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from analyzer.checkout import Checkout
from analyzer.problems import InputError

_SETTINGS = "pyproject.toml"
"""What is read of a tree beside its package: the line length, by fixes."""


class OverlayError(InputError):
    """The tree cannot be laid out anew; one line for the user."""


@contextmanager
def overlay(checkout: Checkout, files: Mapping[str, bytes]) -> Iterator[Checkout]:
    """Lay a checkout out in a temporary folder: its folders anew, some files with other contents, the rest as links.

    Links to folders stay links, so that names in reports are as before.

    Args:
        checkout: the tree.
        files: contents by the name of the file in reports; it need not be there yet.

    Yields:
        The same checkout in another place, which is gone afterwards.

    Raises:
        OverlayError: the folder cannot be made or filled, for want of links for instance.
    """
    try:
        folder = tempfile.TemporaryDirectory(prefix="vllm-contracts-")
    except OSError as error:
        raise OverlayError(f"no temporary folder can be made: {error.strerror or error}") from None
    with folder as made:
        root = Path(made).resolve()
        try:
            _lay_out(checkout, root)
            for rel, data in files.items():
                file = root / rel
                file.parent.mkdir(parents=True, exist_ok=True)
                file.unlink(missing_ok=True)
                file.write_bytes(data)
        except OSError as error:
            raise OverlayError(f"{checkout.root}: cannot be laid out in {root}: {error.strerror or error}") from None
        yield checkout.moved(root)


def _lay_out(checkout: Checkout, target: Path) -> None:
    if (checkout.root / _SETTINGS).exists():
        (target / _SETTINGS).symlink_to(checkout.root / _SETTINGS)
    for package in checkout.judged_packages:
        _lay_out_package(package.path, target / checkout.rel(package.path))


def _lay_out_package(original: Path, package: Path) -> None:
    real = original.resolve()
    package.parent.mkdir(parents=True, exist_ok=True)
    if not real.is_dir():  # a module by itself
        package.symlink_to(real)
    for top, folders, files in os.walk(real):
        source, there = Path(top), package / Path(top).relative_to(real)
        there.mkdir()
        for folder in [name for name in folders if (source / name).is_symlink()]:
            leads = (source / folder).resolve()
            inside = leads == real or real in leads.parents
            (there / folder).symlink_to(package / leads.relative_to(real) if inside else leads)
        for name in files:
            if name.endswith(".py"):
                (there / name).symlink_to(source / name)
