"""A comment for a pull or merge request: a table, then each finding with its chain folded away.

Findings are written in HTML, in which Markdown finds nothing to interpret, so a name from the checkout cannot
become a link, a picture or a heading.  A comment on GitHub may have 65,536 characters.
"""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Iterator

from analyzer.findings import SEVERITIES, Finding, Link
from analyzer.records import Report
from analyzer.report.context import BARE, Context, placed
from analyzer.report.layout import UNICODE, clean, plural

LONGEST = 65_536
_REST = 200
"""Kept free for the last line."""


def render(report: Report, context: Context = BARE) -> str:
    """A comment in Markdown, short enough for GitHub."""
    return page(report, context, LONGEST)


def page(report: Report, context: Context, longest: int) -> str:
    """The report in Markdown.

    Where not everything fits, the last findings go without their chains; then entries are left out and counted.

    Args:
        report: of an audit.
        context: tells where the repository is.
        longest: the most bytes that it may have; the table is there in any case.
    """
    text = "\n".join(_head(report)) + "\n"
    items = list(_items(report, context.prefix(report.checkout.root)))
    room = longest - len(text.encode()) - _REST
    later = sum(len(short.encode()) for _, short in items)
    for number, (whole, short) in enumerate(items):
        later -= len(short.encode())
        form = whole if len(whole.encode()) + later <= room else short
        room -= len(form.encode())
        if room < 0:
            return f"{text}\n{plural(len(items) - number, 'more entry', 'more entries')} would make this too long.\n"
        text += form
    return text


def _head(report: Report) -> Iterator[str]:
    found = plural(len(report.findings), "finding") if report.findings else "no findings"
    yield f"## vllm-contracts: {found}"
    yield ""
    yield f"<p>{_text(report.checkout.title)}, {_read(report)}</p>"
    if not report.findings:
        return
    yield ""
    yield f"| rule | {' | '.join(SEVERITIES)} | safe fixes | unsafe fixes |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: |"
    weights = Counter((f.code, f.severity) for f in report.findings)
    fixes = Counter((f.code, f.fix.safety) for f in report.findings)
    for code, name in sorted({(f.code, f.name) for f in report.findings}):
        numbers = [weights[code, severity] for severity in SEVERITIES] + [fixes[code, "safe"], fixes[code, "unsafe"]]
        yield f"| {code} {name} | {' | '.join(str(n or '') for n in numbers)} |"


def _read(report: Report) -> str:
    lost = f", {plural(len(report.diagnostics), 'problem')} with the input" if report.diagnostics else ""
    return f"{plural(report.files_seen, 'model file')} seen{lost}"


def _items(report: Report, prefix: str) -> Iterator[tuple[str, str]]:
    """Each entry, and a short form of it."""
    for finding in sorted(report.findings, key=lambda f: (SEVERITIES.index(f.severity), f.sort_key)):
        place = _code(placed(prefix, str(finding.at)))
        head = f"<b>{finding.code}</b> {finding.severity} in {place}: {_text(finding.message)}"
        body = "\n".join(_body(finding, prefix))
        yield f"\n<details><summary>{head}</summary>\n{body}\n</details>\n", f"\n<p>{head}</p>\n"
    for lost in report.diagnostics:
        place = placed(prefix, f"{lost.path}:{lost.line}" if lost.line else lost.path)
        entry = f"\n<p>Not read: {_code(place)} {_text(lost.message)}</p>\n"
        yield entry, entry


def _body(finding: Finding, prefix: str) -> Iterator[str]:
    if finding.chain:
        yield "<ul>"
        yield from (f"<li>{_link(link, prefix)}</li>" for link in finding.chain)
        yield "</ul>"
    fix = finding.fix
    label = "no fix" if fix.safety == "none" else f"{fix.safety} fix"
    unsafe = f"; why unsafe: {_text(fix.why_unsafe)}" if fix.why_unsafe else ""
    yield f"<p><b>{label}</b>: {_text(fix.summary)}{unsafe}</p>"


def _link(link: Link, prefix: str) -> str:
    place = f" {_code(placed(prefix, f'{link.path}:{link.line}'))}" if link.path else ""
    return f"{UNICODE.mark(link.ok)} <b>{_text(link.link)}</b>: {_text(link.detail)}{place}"


def _code(text: str) -> str:
    return f"<code>{_text(text)}</code>"


def _text(text: str) -> str:
    """Text as HTML in one line; an empty comment keeps ``@name`` and ``#1`` from notifying anybody."""
    return re.sub(r"([@#])(?=\w)", r"\1<!-- -->", html.escape(clean(text), quote=False))
