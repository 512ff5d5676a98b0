"""``vllm-contracts fix --teach``: show what would give a model support, and write it where that is asked for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from analyzer.commands import output
from analyzer.commands.failure import CLEAN, FINDINGS
from analyzer.commands.progress import working
from analyzer.commands.tree import failing_in_one_line

if TYPE_CHECKING:
    from analyzer.checkout import Checkout
    from analyzer.teach import Taught

WIDTH = 80
DEFAULT = "SupportsEagle3"


def teach_and_tell(
    checkout: Checkout,
    name: str,
    contract: str,
    *,
    write: bool,
    ask: bool,
    diff: bool,
    check: bool,
    break_hard_links: bool,
) -> int:
    """Teach a model, show the patch, and write it if the user says so; returns the exit code.

    Args:
        checkout: an opened tree.
        name: an architecture or a class.
        contract: what it is to support.
        write: whether to write after the patch was shown.
        ask: whether to ask before.
        diff: whether standard output is for the patch alone.
        check: whether it is a failure that something would change.
        break_hard_links: also write files that have other names.
    """
    from analyzer.fix import render_diff, write_plan
    from analyzer.teach import teach
    from rules import all_rules

    with failing_in_one_line(), working("reading, teaching and reading again"):
        taught = teach(checkout, all_rules(), name, contract)
    output.write_out(render_diff(taught.plan))
    written = False
    problems: list[str] = []
    if taught.plan.changes and ask:
        write = click.confirm("Write these changes?", err=True)
    if taught.plan.changes and write:
        result = write_plan(checkout.root, taught.plan, break_hard_links=break_hard_links)
        problems = [f"not written: {path}: {why}" for path, why in result.refused]
        written = not problems
    lines = [*_lines(taught, name, contract, written=written, asked=ask or write), *problems]
    click.echo("".join(f"{line}\n" for line in lines), err=diff or bool(taught.plan.changes), nl=False)
    if taught.refused or problems or (check and taught.plan.changes):
        return FINDINGS
    return CLEAN


def _lines(taught: Taught, name: str, contract: str, *, written: bool, asked: bool) -> Iterator[str]:
    """What was done, what it leads to, and what is left."""
    if taught.refused:
        yield from _wrapped(f"{name} is not taught {contract}: {taught.refused}")
        return
    yield "taught:" if written else "would teach:"
    for fix in taught.lessons:
        yield from _wrapped(fix.summary, "  ")
        yield from _wrapped(f"to be judged: {fix.why_unsafe}", "    ")
    for finding in taught.repairs:
        yield from _wrapped(f"{finding.code} {finding.at}: {finding.fix.summary}", "  ")
    if taught.trace is not None:
        why = f" {taught.trace.why}" if taught.trace.why else ""
        yield from _wrapped(f"{name} then {taught.trace.answer}{why}")
    if taught.left:
        yield f"left {len(taught.left)}:"
    for finding in taught.left:
        yield from _wrapped(f"{finding.code} {finding.at}: {finding.message}", "  ")
    if not written and taught.plan.changes and not asked:
        yield "nothing is written: --unsafe-fixes writes it, --interactive asks"


def _wrapped(text: str, indent: str = "") -> list[str]:
    from analyzer.report.layout import clean, wrap

    first, *rest = wrap(clean(text), WIDTH - len(indent) - 2)
    return [indent + first, *(f"{indent}  {line}" for line in rest)]
