"""A trace for people, and for programs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from rich.console import Console
from rich.text import Text

from analyzer.findings import Link
from analyzer.report.layout import NARROWEST, WIDEST, Glyphs, clean, glyphs_for, plural, wrap
from analyzer.report.terminal import printed
from analyzer.trace import Path, Trace

SCHEMA = 1
_ANSWERS = {
    "works": ("works", "bold green"),
    "fails": ("fails", "bold red"),
    "depends": ("depends", "bold yellow"),
    "unknown": ("is not known", "bold yellow"),
}
_MARKS = {True: "green", False: "bold red", None: "yellow"}
SHOWN = 3
"""How many possibilities of an inner model are told in full."""


def render(trace: Trace, console: Console, *, everything: bool = False) -> str:
    """The trace as text.

    Args:
        trace: of one name.
        console: tells the width, the encoding and whether there are colours; nothing is printed on it.
        everything: tell each possibility in full.
    """
    width = max(NARROWEST, min(console.width, WIDEST))
    lines = _lines(trace, width, glyphs_for(console.encoding), len(trace.paths) if everything else SHOWN)
    return printed(lines, console)


def _lines(trace: Trace, width: int, glyphs: Glyphs, shown: int) -> Iterator[Text]:
    version = f"vLLM {trace.version}" if trace.version else "this vLLM"
    yield Text(clean(f"{trace.subject}: {trace.contract} on {version}"), "bold")
    yield from _answer(trace.answer, trace.why, width, "")
    if trace.facts:
        yield Text()
        widest = max(len(what) for what, _ in trace.facts)
        for what, value in trace.facts:
            yield Text.assemble("  ", (f"{what:<{widest}}  ", "dim"), clean(value))
    for path in _picked(trace.paths, shown):
        yield Text()
        yield from _path(path, width, glyphs, several=len(trace.paths) > 1)
    left = len(trace.paths) - len(_picked(trace.paths, shown))
    if left:
        yield Text()
        yield Text(f"  {plural(left, 'more possibility', 'more possibilities')}: --all tells them")
    if trace.notes:
        yield Text()
        yield Text("Findings on these classes", "bold")
        for note in trace.notes:
            yield from (Text(f"  {line}") for line in wrap(f"{note.code} {note.at}: {note.message}", width - 2))


def _picked(paths: tuple[Path, ...], shown: int) -> list[Path]:
    """Some of the paths, such that each kind of answer is among them if there is room."""
    first: dict[str, Path] = {}
    for path in paths:
        first.setdefault(path.answer, path)
    wanted = list(first.values())[:shown]
    for path in paths:
        if len(wanted) < shown and not any(path is known for known in wanted):
            wanted.append(path)
    return [path for path in paths if any(path is known for known in wanted)]


def _answer(answer: str, why: str, width: int, indent: str) -> Iterator[Text]:
    word, style = _ANSWERS[answer]
    lines = wrap(f"{word} {why}".rstrip(), width - len(indent))
    for number, line in enumerate(lines):
        shown = Text(indent + line)
        if not number:
            shown.stylize(style, len(indent), len(indent) + len(word))
        yield shown


def _path(path: Path, width: int, glyphs: Glyphs, *, several: bool) -> Iterator[Text]:
    if several:
        case = f", where {path.case}" if path.case else ""
        yield Text.assemble(("  " + clean(path.model.name), "bold"), clean(case))
        yield from _answer(path.answer, path.why, width, "  ")
    figures = len(str(len(path.links)))
    for number, link in enumerate(path.links, 1):
        yield from _link(link, f"  {number:>{figures}}  ", width, glyphs)


def _link(link: Link, head: str, width: int, glyphs: Glyphs) -> Iterator[Text]:
    mark = glyphs.mark(link.ok)
    margin = " " * (len(head) + len(mark) + 1)
    place = clean(f"{link.path}:{link.line}") if link.path else ""
    lines = wrap(f"{link.link}: {link.detail}", width - len(margin))
    for number, line in enumerate(lines):
        start = Text.assemble((head, "dim"), (f"{mark} ", _MARKS[link.ok])) if not number else Text(margin)
        body = Text(line)
        if not number:
            body.stylize("bold", 0, len(link.link) + 1)
        yield start + body
    if place:
        yield Text.assemble(margin, (place, "cyan"))


# -- for programs ----------------------------------------------------------------------------------


def to_dict(trace: Trace) -> dict[str, Any]:
    """The trace as plain data."""
    return {
        "schema": SCHEMA,
        "subject": trace.subject,
        "contract": trace.contract,
        "vllm_version": trace.version,
        "answer": trace.answer,
        "why": trace.why,
        "checkpoint": dict(trace.facts),
        "paths": [
            {
                "class": path.model.cls,
                "case": path.case,
                "answer": path.answer,
                "why": path.why,
                "links": [
                    {"link": x.link, "ok": x.ok, "path": x.path, "line": x.line, "detail": x.detail} for x in path.links
                ],
            }
            for path in trace.paths
        ],
        "findings": [
            {"code": f.code, "class": f.cls, "path": f.at.path, "line": f.at.line, "message": f.message}
            for f in trace.notes
        ],
    }


def render_json(trace: Trace) -> str:
    """The trace as JSON."""
    return json.dumps(to_dict(trace), indent=1) + "\n"
