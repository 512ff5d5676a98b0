"""The report for people: every finding with its chain as a tree, then what the checkout is like as a whole."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator

from rich.console import Console
from rich.text import Text

from analyzer.findings import SEVERITIES, Finding, Link
from analyzer.records import Report
from analyzer.report import statistics
from analyzer.report.aside import aside
from analyzer.report.context import BARE, Context, Detail
from analyzer.report.layout import NARROWEST, WIDEST, Glyphs, clean, glyphs_for, plural, wrap
from analyzer.report.summary import summary
from analyzer.report.terminal import printed

_SEVERITY_STYLES = {"error": "bold red", "warning": "yellow", "info": "blue"}
_FIX_STYLES = {"safe": "green", "unsafe": "yellow", "none": "dim"}
_MARK_STYLES = {True: "green", False: "bold red", None: "yellow"}
_PLACE = re.compile(r"[\w./-]+\.py:\d+")
_INDENT = "  "


def render(report: Report, context: Context = BARE) -> str:
    """The report as text.

    Args:
        report: of an audit.
        context: its console tells the width, the encoding and whether there are colours; nothing is printed on
            it.  Without one the text is for a file: it has no colours and the full width.  Its detail says how
            much is told.
    """
    if context.detail == "statistics":
        return statistics.render(report)
    console = context.console or Console(file=_utf8(), width=WIDEST, color_system=None)
    width = max(NARROWEST, min(console.width, WIDEST))
    return printed(_lines(report, width, glyphs_for(console.encoding), context.detail), console)


def _utf8() -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(), "utf-8")


def _lines(report: Report, width: int, glyphs: Glyphs, detail: Detail) -> Iterator[Text]:
    checkout = report.checkout
    if detail != "quiet":
        yield Text(clean(f"{checkout.title} in {checkout.root}"), "bold")
        yield Text()
    for finding in sorted(report.findings, key=lambda f: (SEVERITIES.index(f.severity), f.sort_key)):
        yield from _finding(finding, width, glyphs)
        yield Text()
    if detail == "quiet":
        return
    yield from _gates(report.findings, width)
    yield from _diagnostics(report, width)
    yield from (Text.assemble(*parts) for parts in summary(report, width))
    yield from map(Text, aside(report, width, listed=detail == "verbose"))


# -- one finding -----------------------------------------------------------------------------------


def _finding(finding: Finding, width: int, glyphs: Glyphs) -> Iterator[Text]:
    yield from _head(finding, width)
    yield Text.assemble(_INDENT, (clean(str(finding.at)), "cyan"))
    if finding.contract:  # a comment serves nothing
        yield from _served(finding, width)
    yield Text()
    yield from _paragraph(finding.message.rstrip(".") + ".", width)
    yield from _chain(finding.chain, width, glyphs)
    yield from _fix(finding, width)


def _head(finding: Finding, width: int) -> Iterator[Text]:
    certainty = "" if finding.confidence == "certain" else f", {finding.confidence}"
    rule = Text(f"{finding.code} {finding.name}", "bold")
    weight = Text.assemble(
        _INDENT,
        (finding.severity, _SEVERITY_STYLES[finding.severity]),
        certainty + (f", {clean(finding.contract)}" if finding.contract else ""),
    )
    yield from [rule + weight] if len(rule) + len(weight) <= width else [rule, weight]


def _served(finding: Finding, width: int) -> Iterator[Text]:
    """The class and the architectures that it serves."""
    name = finding.cls.rpartition(".")[2]
    serves = f"serving {', '.join(finding.architectures)}" if finding.architectures else "not registered"
    if finding.architectures == (name,):
        serves = "registered under that name"
    lines = list(_paragraph(f"{name}, {serves}", width))
    lines[0].stylize("bold", len(_INDENT), len(_INDENT) + len(clean(name)))
    yield from lines


def _paragraph(text: str, width: int) -> Iterator[Text]:
    for line in wrap(text, width - len(_INDENT)):
        shown = Text(_INDENT + line)
        shown.highlight_regex(_PLACE, "cyan")
        yield shown


def _chain(chain: tuple[Link, ...], width: int, glyphs: Glyphs) -> Iterator[Text]:
    for link in chain:
        last = link is chain[-1]
        fork, pipe = (glyphs.end, "   ") if last else (glyphs.fork, glyphs.pipe)
        mark = glyphs.mark(link.ok)
        margin = _INDENT + pipe + " " * (len(mark) + 1)
        for number, line in enumerate(_link(link, width - len(margin))):
            head = [(_INDENT + fork, "dim"), (f"{mark} ", _MARK_STYLES[link.ok])] if not number else [(margin, "dim")]
            yield Text.assemble(*head, line)


def _link(link: Link, width: int) -> list[Text]:
    """What a link says, and where: behind its last line if it fits there.

    A gate is told by its place alone, because many findings share it: :func:`_gates` says what it asks.
    """
    place = Text(clean(f"{link.path}:{link.line}" if link.path else ""), "cyan")
    label = f"{link.link}:"
    if link.link == "gate":
        return [Text.assemble((label, "bold"), " ", place)]
    lines = [Text(line) for line in wrap(f"{label} {link.detail}", width)]
    lines[0].stylize("bold", 0, len(label))
    if not place:
        return lines
    if len(lines[-1]) + 2 + len(place) <= width:
        lines[-1].append("  ").append_text(place)
        return lines
    return [*lines, place]


def _fix(finding: Finding, width: int) -> Iterator[Text]:
    fix = finding.fix
    said = [("no fix:" if fix.safety == "none" else f"{fix.safety} fix:", fix.summary)]
    if fix.why_unsafe:
        said.append(("why unsafe:", fix.why_unsafe))
    for label, text in said:
        lines = list(_paragraph(f"{label} {text}", width))
        lines[0].stylize(_FIX_STYLES[fix.safety], len(_INDENT), len(_INDENT) + len(label))
        yield from lines


# -- what findings share ---------------------------------------------------------------------------


def _gates(findings: Iterable[Finding], width: int) -> Iterator[Text]:
    """What the gates ask that the chains above name by their place."""
    gates = {(x.path, x.line): x.detail for f in findings for x in f.chain if x.link == "gate"}
    if not gates:
        return
    yield Text("Gates", "bold")
    for (path, line), detail in sorted(gates.items()):
        yield Text.assemble(_INDENT, (clean(f"{path}:{line}"), "cyan"))
        yield from (Text(_INDENT * 2 + text) for text in wrap(detail, width - 2 * len(_INDENT)))
    yield Text()


def _diagnostics(report: Report, width: int) -> Iterator[Text]:
    if not report.diagnostics:
        return
    yield Text(f"Not read: {plural(len(report.diagnostics), 'problem')} with the input", "bold")
    for problem in report.diagnostics:
        place = f"{problem.path}:{problem.line}" if problem.line else problem.path
        yield Text.assemble(_INDENT, (clean(place), "cyan"))
        yield from (Text(_INDENT * 2 + text) for text in wrap(problem.message, width - 2 * len(_INDENT)))
    yield Text()
