"""``vllm-contracts audit``: read a tree, apply the rules, report."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from analyzer.commands.failure import CLEAN, FINDINGS
from analyzer.commands.judging import fails, judge, keep_baseline, rules_of, tree_with_settings
from analyzer.commands.options import Given, judging
from analyzer.commands.reports import (
    FORMATS_HELP,
    Wanted,
    render_reports,
    report_options,
    repository,
    settle,
    summary_file,
    write_texts,
)
from analyzer.commands.said import Said, say
from analyzer.commands.tree import Rests, failing_in_one_line
from analyzer.commands.unsaved import View, tree_around, unsaved
from analyzer.commands.where import cache_options
from analyzer.report.formats import FORMATS_OF_SOURCES
from analyzer.timings import Timings

if TYPE_CHECKING:
    from analyzer.commands.tree import Tree
    from analyzer.report.context import Detail
    from analyzer.settings import Settings

EXAMPLES = """
\b
Examples:
  vllm-contracts audit ~/src/vllm          a clone, or its vllm folder
  vllm-contracts audit                     the vLLM installed for this Python
  vllm-contracts audit --python ~/env/bin/python
  vllm-contracts audit --release 0.33.0    fetched with pip once, then kept
  vllm-contracts audit --format concise | grep VC001
  vllm-contracts audit --format json --output report.json
  vllm-contracts audit ~/src/vllm --baseline known.json --update-baseline
  vllm-contracts audit --format github --format sarif=report.sarif
  vllm-contracts audit --format concise --stdin-filename FILE < BUFFER

\b
Exit codes:
  0  no findings            1  findings (see --fail-on)
  2  the run itself failed: one line on standard error says why
"""


@click.command(epilog=EXAMPLES + FORMATS_HELP, short_help="Report broken contracts in a vLLM tree.")
@click.argument("path", required=False, type=click.Path(path_type=Path))
@click.option("--release", metavar="X.Y.Z", help="Audit a published release, fetched with pip and kept in a cache.")
@click.option(
    "--python",
    metavar="PATH",
    type=click.Path(path_type=Path),
    help="Audit the vLLM installed for another interpreter.",
)
@report_options
@judging
@click.option("--update-baseline", is_flag=True, help="Make the baseline of what is found now.")
@click.option("--statistics", "detail", flag_value="statistics", help="In text, only how often each rule is broken.")
@click.option("--quiet", "-q", "detail", flag_value="quiet", help="In text, findings and nothing about the tree.")
@click.option("--verbose", "-v", "detail", flag_value="verbose", help="In text, suppressed and known findings too.")
@click.option(
    "--stdin-filename",
    "typed",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Read FILE's contents from standard input, as editors give them, and report what has to do with it.",
)
@click.option("--timings", is_flag=True, help="Tell on standard error how long each stage took.")
@cache_options
@click.pass_context
def audit(
    context: click.Context,
    path: Path | None,
    release: str | None,
    python: Path | None,
    forms: tuple[Wanted, ...],
    target: str | None,
    given: Given,
    update_baseline: bool,
    detail: Detail | None,
    typed: Path | None,
    timings: bool,
    no_cache: bool,
) -> None:
    """Report which models cannot use a feature that their inner model has, and why.

    PATH is a vLLM tree; without it (and without --release) the vLLM that is installed for this Python is
    audited. Nothing of it is imported or run.
    """
    if sum(word is not None for word in (path, release, python if given.vllm is None else None)) > 1:
        raise click.UsageError("give one of PATH, --release and --python")
    wanted = settle(forms, target)
    if detail == "statistics" and all(one.form != "text" for one in wanted):
        raise click.UsageError("--statistics changes the text report, and no --format is text")
    if typed is not None and (release or python or update_baseline):
        raise click.UsageError("--stdin-filename goes with none of --release, --python and --update-baseline")
    watch = Timings()
    with failing_in_one_line():
        with watch.stage("settings and version"):
            path = tree_around(typed, given) if typed is not None and path is None else path
            tree, settings = tree_with_settings(path, release, python, given, no_cache=no_cache)
        if update_baseline and settings.baseline is None:
            raise click.UsageError("--update-baseline needs --baseline FILE, or a baseline in the settings")
        tree.stage = watch.stage
        with unsaved(tree, typed) as (tree, view):
            make = partial(_said, tree, settings, wanted, detail, view, update=update_baseline)
            if update_baseline or summary_file(wanted) is not None:  # it writes more than the reports
                said = make()
            else:
                known = [settings.baseline] if settings.baseline is not None else []
                rests_on: Rests = "sources" if any(one.form in FORMATS_OF_SOURCES for one in wanted) else "report"
                said = say(tree, (settings, wanted, detail, view, repository()), make, known, rests_on=rests_on)
    write_texts([(one.place, text) for one, text in zip(wanted, said.texts, strict=True)])
    for note in said.notes:
        click.echo(note, err=True)
    if timings:
        click.echo("\n".join(watch.lines()), err=True)
    context.exit(said.code)


def _said(
    tree: Tree,
    settings: Settings,
    wanted: Sequence[Wanted],
    detail: Detail | None,
    view: View | None = None,
    *,
    update: bool = False,
) -> Said:
    """The reports in the order of ``wanted``."""
    from analyzer.report.aside import stale

    report = judge(tree, settings, baseline=settings.baseline, update=update)
    if view is not None:
        report = view.of(report)
    if update:
        keep_baseline(report)
    with tree.stage("reports"):
        texts = render_reports(report, wanted, rules_of(settings), detail or "normal", tree.checkout.root)
    # What the other formats do not say: that the baseline could be smaller.
    note = stale(report) if detail != "quiet" and all(one.form != "text" for one in wanted) else ""
    code = FINDINGS if fails(report, settings.fail_on) else CLEAN
    return Said(tuple(text for _, text in texts), (f"note: {note}",) if note else (), code)
