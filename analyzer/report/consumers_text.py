"""Third-party code against a tree, for people: what it uses that is not there, and which models its gates serve."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rich.console import Console

from analyzer.drift.records import ConsumerRecord, DriftReport, FailingModel, ReasonRecord, UseRecord
from analyzer.report.layout import plural
from analyzer.report.outline import Block, Heading, Item, Paragraph, code
from analyzer.report.outline_text import to_text

SHOWN = 6
"""Models that are named where no more is asked for."""


def render(report: DriftReport, console: Console, *, verbose: bool = False) -> str:
    """The report as text.

    Args:
        report: to be told.
        console: tells the width, the encoding and whether there are colours; nothing is printed on it.
        verbose: whether to list what stands behind guards, what was not judged, and every model.
    """
    return to_text(list(_blocks(report, verbose)), console)


def _blocks(report: DriftReport, verbose: bool) -> Iterator[Block]:
    since = f", and {_tree(report, older=True)} before it" if report.since is not None else ""
    yield Heading(f"{', '.join(report.names)} with {_tree(report)}{since}", 1)
    if report.uses:
        yield Heading("Not honoured")
        yield from (_use(use, report) for use in report.uses)
    shown = [c for c in report.consumers if c.problems or verbose]
    if shown:
        yield Heading("Gates")
        yield from (_consumer(consumer, report, verbose) for consumer in shown)
    if verbose:
        yield from _reasons("Not honoured, behind a guard", report.guarded)
        yield from _reasons("Not judged", report.unresolved)
    if report.diagnostics:
        yield Heading("Not read")
        yield from (Item(d.message, places=(f"{d.path}:{d.line}" if d.line else d.path,)) for d in report.diagnostics)
    yield Heading("Summary")
    yield from map(Paragraph, _summary(report, verbose))


def _tree(report: DriftReport, *, older: bool = False) -> str:
    tree = report.since if older and report.since is not None else report.checkout
    return f"vLLM {tree.version or f'in {tree.root}'}"


def _use(use: UseRecord, report: DriftReport) -> Item:
    children = [Item(e.text, places=(str(e.at),)) for e in use.evidence if e.text != use.message]
    said = [str(e.at) for e in use.evidence if e.text == use.message]
    children += [Item(f"it is in {place}") for place in use.went]
    if before := _before(use.before, report):
        children.append(Item(before))
    return Item(f"{use.kind}: {use.message}", places=(str(use.at), *said), children=tuple(children))


def _before(before: str, report: DriftReport) -> str:
    if not before or report.since is None:
        return ""
    old = _tree(report, older=True)
    return {
        "honoured": f"{old} honours it",
        "not-honoured": f"{old} does not honour it either",
        "not-known": f"whether {old} honours it could not be told",
    }[before]


def _consumer(consumer: ConsumerRecord, report: DriftReport, verbose: bool) -> Item:
    head = f"{', '.join(consumer.problems) or 'gate'}: {code(consumer.function)} asks {code(consumer.subject)}, the"
    head += f" {consumer.asks}, by {code(consumer.member)} ({consumer.contract})"
    children = [Item(note) for note in consumer.notes]
    children += _failing(consumer.failing, verbose)
    if consumer.how in ("checker", "isinstance"):
        counts = f"{plural(consumer.refused, 'model')} refused by the check, {len(consumer.works)} get through"
        children.append(Item(counts))
    if consumer.unknown:
        children.append(Item(f"{plural(len(consumer.unknown), 'model')} could not be followed"))
        if verbose:
            children[-1] = Item(
                children[-1].text, children=tuple(Item(f"{cls}: {reason}") for cls, reason in consumer.unknown)
            )
    evidence = consumer.evidence if verbose else consumer.evidence[:2]
    children += [Item(e.text, places=(str(e.at),)) for e in evidence]
    if before := _before(consumer.before, report):
        children.append(Item(before))
    return Item(head, places=(str(consumer.at),), children=tuple(children))


def _failing(failing: Iterable[FailingModel], verbose: bool) -> Iterator[Item]:
    """Models by what fails and where, the class that lacks it left out."""
    groups: dict[tuple[str, str], list[FailingModel]] = {}
    for model in failing:
        _, named, rest = model.step.partition(" object ")
        groups.setdefault((str(model.at), rest if named else model.step), []).append(model)
    for (at, step), models in groups.items():
        shown = models if verbose else models[:SHOWN]
        items = [Item(f"{m.cls.rpartition('.')[2]} ({m.role}): {m.step}", places=(str(m.class_at),)) for m in shown]
        if len(models) > len(shown):
            items.append(Item(f"and {len(models) - len(shown)} more, with --verbose"))
        yield Item(f"{plural(len(models), 'model')}: {step}", places=(at,), children=tuple(items))


def _reasons(title: str, rows: list[ReasonRecord]) -> Iterator[Block]:
    if rows:
        yield Heading(title)
        yield from (Item(f"{code(row.name)}: {row.reason}", places=(str(row.at),)) for row in rows)


def _summary(report: DriftReport, verbose: bool) -> Iterator[str]:
    seen, looked = report.files
    counted = ", ".join(f"{count} {name}" for name, count in sorted(report.checked.items()))
    yield f"{plural(seen, 'Python file')}, of which {looked} mention vLLM; looked at: {counted or 'nothing'}."
    gates = sum(bool(c.problems) for c in report.consumers)
    yield (
        f"{plural(len(report.uses), 'use')} not honoured, {plural(gates, 'gate')} with problems; "
        f"{len(report.guarded)} not honoured and behind a guard, {len(report.unresolved)} not judged"
        + ("." if verbose or not (report.guarded or report.unresolved) else "; --verbose lists them.")
    )
    if report.since is not None and report.uses:
        broke = sum(use.before == "honoured" for use in report.uses)
        yield f"{broke} of the uses are honoured by {_tree(report, older=True)}: what came after it broke them."
