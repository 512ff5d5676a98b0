"""``vllm-contracts watch``: report anew whenever the tree changes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from analyzer.commands.failure import Failure, one_line
from analyzer.commands.judging import judge, name_for, rules_of, tree_with_settings
from analyzer.commands.options import Given, judging, settings_for, with_model_roots
from analyzer.commands.output import silence_stdout
from analyzer.commands.tree import Tree, tree_of
from analyzer.commands.where import cache_folder
from analyzer.problems import InputError

if TYPE_CHECKING:
    from analyzer.findings import Finding
    from analyzer.records import Report
    from analyzer.settings import Settings

EXAMPLES = """
\b
Examples:
  vllm-contracts watch
  vllm-contracts watch ~/src/vllm --contract SupportsEagle3 --interval 0.5

Ctrl-C ends it, with exit code 130.
"""


@click.command(epilog=EXAMPLES, short_help="Report anew whenever the tree changes.")
@click.argument("path", required=False, default=Path(), type=click.Path(path_type=Path))
@click.option(
    "--interval",
    metavar="SECONDS",
    type=click.FloatRange(0.05, 3600),
    default=1.0,
    show_default=True,
    help="How long to wait between two looks at the tree.",
)
@judging
@cache_folder
def watch(path: Path, interval: float, given: Given) -> None:
    """Report what is broken in the tree PATH, and again whenever a Python file, the settings or the baseline change.

    PATH is the working directory unless given. A look at a tree that did not change reads no file. What stands in
    the way of a report (a folder that is gone while a branch is switched, a wrong setting) is told once, and the
    watch goes on.
    """
    told, before = "", None
    for outcome in _changes(path, given, interval):
        if isinstance(outcome, str):
            if outcome != told:
                click.echo(f"error: {one_line(outcome)}", err=True)
            told = outcome
            continue
        report, lines = outcome
        try:
            click.echo(lines, nl=False)
            click.echo(_summary(report, before), err=True)
        except BrokenPipeError:  # nobody reads on
            silence_stdout()
            return
        told, before = "", report


def _changes(path: Path, given: Given, interval: float) -> Iterator[tuple[Report, str] | str]:
    """A report with its lines for each state of the tree, or why there is none."""
    tree, _ = _opened(path, given)
    seen: object = None
    while True:
        try:
            tree, settings = _again(tree, given)
            now = _state(tree, settings)
            if now != seen:
                report = judge(tree, settings, baseline=settings.baseline)
                seen = now
                yield report, _concise(report, settings)
        except (InputError, Failure) as error:
            seen = None
            yield str(error)
        time.sleep(interval)


def _opened(path: Path, given: Given) -> tuple[Tree, Settings]:
    try:
        return tree_with_settings(path, None, None, given)
    except InputError as error:
        raise Failure(str(error)) from error


def _again(tree: Tree, given: Given) -> tuple[Tree, Settings]:
    """The same tree, whose files are to be looked for anew, and the settings as they are now."""
    settings = settings_for(tree.checkout.root, given)
    checkout = with_model_roots(replace(tree.checkout, extra_model_roots=()), settings)
    return tree_of(checkout, cache_dir=settings.cache_dir), settings


def _state(tree: Tree, settings: Settings) -> object:
    """Something that is the same as long as the report is."""
    return (tree.state.digest if tree.state is not None else "", name_for(settings))


def _concise(report: Report, settings: Settings) -> str:
    from analyzer.commands.reports import STDOUT, Wanted, render_reports

    ((_, text),) = render_reports(report, [Wanted("concise", STDOUT)], rules_of(settings))
    return text


def _summary(report: Report, before: Report | None) -> str:
    """How many findings there are, and what became of those of the last time."""
    from analyzer.report.layout import plural

    count = plural(len(report.findings), "finding")
    if before is None:
        return f"{count} in {report.checkout.root}"
    now, then = (set(map(_key, one.findings)) for one in (report, before))
    return f"{count}: {len(now - then)} new, {len(then - now)} gone"


def _key(finding: Finding) -> tuple[str, ...]:
    return finding.code, finding.contract, finding.cls, finding.message
