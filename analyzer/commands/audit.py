"""``vllm-contracts audit``: read a tree, apply the rules, report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from analyzer.commands.failure import CLEAN, FINDINGS
from analyzer.commands.reports import FORMATS_HELP, Wanted, report_options, settle, write_reports
from analyzer.commands.selection import select_rules
from analyzer.commands.tree import cache_options, failing_in_one_line, open_tree, run_audit, tree_of

if TYPE_CHECKING:
    from analyzer.records import Report

EXAMPLES = """
\b
Examples:
  vllm-contracts audit ~/src/vllm          a clone, or its vllm folder
  vllm-contracts audit                     the vLLM installed for this Python
  vllm-contracts audit --python ~/env/bin/python
  vllm-contracts audit --release 0.33.0    fetched with pip once, then kept
  vllm-contracts audit --format concise | grep VC001
  vllm-contracts audit --format json --output report.json
  vllm-contracts audit --format github --format sarif=report.sarif

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
@click.option("--select", metavar="RULE", multiple=True, help="Only these rules: codes or names, commas between.")
@click.option("--ignore", metavar="RULE", multiple=True, help="Not these rules.")
@click.option("--contract", metavar="NAME", multiple=True, help="Only this contract, such as SupportsEagle3.")
@click.option(
    "--fail-on",
    type=click.Choice(["error", "warning", "info", "never"]),
    default="warning",
    show_default=True,
    help="The least severity of a finding that makes the exit code 1.",
)
@cache_options
@click.pass_context
def audit(
    context: click.Context,
    path: Path | None,
    release: str | None,
    python: Path | None,
    forms: tuple[Wanted, ...],
    target: str | None,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    contract: tuple[str, ...],
    fail_on: str,
    cache_dir: Path | None,
    no_cache: bool,
) -> None:
    """Report which models cannot use a feature that their inner model has, and why.

    PATH is a vLLM tree; without it (and without --release) the vLLM that is installed for this Python is
    audited. Nothing of it is imported or run.
    """
    if sum(given is not None for given in (path, release, python)) > 1:
        raise click.UsageError("give one of PATH, --release and --python")
    wanted = settle(forms, target)
    rules = select_rules(select, ignore)
    with failing_in_one_line():
        tree = tree_of(open_tree(path, release, python, cache_dir), no_cache=no_cache, cache_dir=cache_dir)
        report = run_audit(tree, rules, contract)
    write_reports(report, wanted, rules)
    context.exit(FINDINGS if _fails(report, fail_on) else CLEAN)


def _fails(report: Report, fail_on: str) -> bool:
    from analyzer.findings import SEVERITIES

    counted = [] if fail_on == "never" else SEVERITIES[: SEVERITIES.index(fail_on) + 1]
    return any(finding.severity in counted for finding in report.findings)
