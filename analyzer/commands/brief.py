"""What the hook may say of a tree's findings, in a form that is read without the engine."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from analyzer.findings import Finding
    from analyzer.records import Report

SHOWN = 5
"""Wrappers that are named where the model inside them is at fault."""

Note = tuple[str, str]
"""A file, and what is said of it behind its name."""


class Brief(NamedTuple):
    """A finding, or a file that could not be read.

    Args:
        head: where it is and what it is.
        places: all files that it has to do with.
        links: what it stands on, told where the finding itself is in no changed file.
        around: who is built around its class, told where it is.
        fix: the last line; empty for a file.
    """

    head: Note
    places: list[str]
    links: list[Note]
    around: list[Note]
    fix: str

    def lines(self, changed: set[str], named: Callable[[str], str]) -> Iterator[str]:
        """The brief in lines, as compilers do.

        Args:
            changed: the files that are committed.
            named: a file as the user names it.
        """
        path, what = self.head
        yield f"{named(path)}{what}"
        behind = self.around if path in changed else [link for link in self.links if link[0] in changed]
        for file, said in behind[:SHOWN]:
            yield f"  {named(file)}{said}"
        if len(behind) > SHOWN:
            yield f"  and {len(behind) - SHOWN} more"
        if self.fix:
            yield f"  {self.fix}"


def encode(report: Report, fail_on: str) -> bytes:
    """What a report has to say to a hook: the findings that count, and the files that could not be read."""
    from analyzer.commands.judging import counted

    briefs = [
        Brief((lost.path, f":{lost.line or 1}:1: not judged: {lost.message}"), [lost.path], [], [], "")
        for lost in report.diagnostics
        if fail_on != "never"
    ]
    briefs += [_brief(report, finding) for finding in counted(report.findings, fail_on)]
    return json.dumps(briefs, separators=(",", ":")).encode()


def decode(data: bytes) -> list[Brief]:
    """What :func:`encode` made."""
    return [Brief(*row) for row in json.loads(data)]


def _brief(report: Report, finding: Finding) -> Brief:
    from analyzer.commands.concerning import links_in, places, wrappers_of

    at, files = finding.at, places(finding)
    around = wrappers_of(report, finding) if finding.severity != "info" else []
    kinds = {"safe": "fix", "unsafe": "unsafe fix", "none": "no fix"}
    return Brief(
        (at.path, f":{at.line}:{at.column}: {finding.code} {finding.message}"),
        sorted(files),
        [(link.path, f":{link.line}: {link.link}: {link.detail}") for link in links_in(finding, files)],
        [(model.at.path, f":{model.at.line}: {model.name} is built around it") for model in around],
        f"{kinds[finding.fix.safety]}: {finding.fix.summary}",
    )
