"""What a report says of findings that do not count: those that comments suppress, and those of a baseline."""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.findings import Finding
from analyzer.records import Report
from analyzer.report.layout import clean, plural, wrap


def aside(report: Report, width: int, *, listed: bool = False) -> Iterator[str]:
    """Lines of text, none where every finding counts.

    Args:
        report: of an audit.
        width: where to break lines.
        listed: also name each of these findings.
    """
    suppressed, baseline = report.suppressed, report.baseline
    if suppressed:
        yield from _told(f"{plural(len(suppressed), 'finding')} more, suppressed by comments.", width)
        if listed:
            for s in suppressed:
                yield from _named(s.finding, f"{s.by}: {s.reason or 'no reason given'}", width)
    if baseline is None:
        return
    known = len(baseline.known)
    added = f", {baseline.added} of them now" if baseline.added else ""
    yield from _told(f"{plural(known, 'finding')} more, known from the baseline {baseline.file}{added}.", width)
    if listed:
        for finding in baseline.known:
            yield from _named(finding, finding.message, width)
    if baseline.stale:
        yield from _told(stale(report), width)
        for entry in baseline.stale:
            name = entry.cls.rpartition(".")[2]
            yield from _told(
                f"{entry.code} {entry.path} {name}{f', {entry.contract}' if entry.contract else ''}", width, 4
            )


def stale(report: Report) -> str:
    """One sentence on the entries of the baseline that nothing is like any more; empty where there are none."""
    if report.baseline is None or not report.baseline.stale:
        return ""
    count = len(report.baseline.stale)
    one = count == 1
    said = f"{plural(count, 'entry', 'entries')} of the baseline no longer"
    if report.baseline.updated:
        return f"{said} matched a finding and {'is' if one else 'are'} dropped."
    return f"{said} {'matches' if one else 'match'} a finding; --update-baseline drops {'it' if one else 'them'}."


def _named(finding: Finding, said: str, width: int) -> Iterator[str]:
    yield from _told(f"{finding.code} {finding.at} {finding.cls.rpartition('.')[2]}", width, 4)
    yield from _told(said, width, 6)


def _told(text: str, width: int, indent: int = 2) -> Iterator[str]:
    return (" " * indent + line for line in wrap(clean(text), width - indent))
