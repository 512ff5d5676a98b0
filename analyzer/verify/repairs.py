"""A copy of a tree's sources to carry fixes out on, and what should come of them."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from analyzer.verify.plan import concerned

Record = dict[str, Any]

LEFT_OUT = shutil.ignore_patterns("__pycache__", "*.so", "*.pyd", "*.dylib", "*.dll", "*.pyc")
"""Compiled parts are taken from where the sources come from."""


@dataclass(frozen=True)
class Repair:
    """A finding whose fix was carried out on a copy.

    Args:
        finding: as the report has it.
        model: the class that its chain is about.
        refused: why the fix was not carried out, or empty.
    """

    finding: Record
    model: str
    refused: str = ""


def copy_sources(packages: Iterable[tuple[Path, str]], into: Path) -> None:
    """Copy packages without their compiled parts.

    Args:
        packages: the folder of each, or its file, and where it stands below ``into``.
        into: an existing folder.
    """
    for source, rel in packages:
        target = into / rel
        if source.is_dir():
            shutil.copytree(source, target, ignore=LEFT_OUT, symlinks=False)
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)


def repairs_of(report: Record, done: dict[int, str]) -> list[Repair]:
    """The findings that were to be repaired.

    Args:
        report: of the tree as it was, as plain data.
        done: by number of the finding, why it was not repaired, empty where it was.
    """
    findings = report["findings"]
    return [Repair(findings[n], concerned(report, findings[n]), why) for n, why in done.items()]
