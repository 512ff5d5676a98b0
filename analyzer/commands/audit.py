"""``vllm-contracts audit``: read a tree, apply the rules, report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from analyzer.commands import output
from analyzer.commands.failure import CLEAN, FINDINGS
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

\b
Exit codes:
  0  no findings            1  findings (see --fail-on)
  2  the run itself failed: one line on standard error says why
"""


@click.command(epilog=EXAMPLES, short_help="Report broken contracts in a vLLM tree.")
@click.argument("path", required=False, type=click.Path(path_type=Path))
@click.option("--release", metavar="X.Y.Z", help="Audit a published release, fetched with pip and kept in a cache.")
@click.option(
    "--python",
    metavar="PATH",
    type=click.Path(path_type=Path),
    help="Audit the vLLM installed for another interpreter.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "concise"]),
    default="text",
    show_default=True,
    help="text for people, concise for editors (path:line:column: CODE message), json for programs.",
)
@click.option(
    "--output", "-o", "target", metavar="FILE", type=click.Path(path_type=Path), help="Write the report to a file."
)
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
    form: str,
    target: Path | None,
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
    rules = select_rules(select, ignore)
    with failing_in_one_line():
        tree = tree_of(open_tree(path, release, python, cache_dir), no_cache=no_cache, cache_dir=cache_dir)
        report = run_audit(tree, rules, contract)
        text = render(report, form, to_file=target is not None)
    _deliver(text, target)
    context.exit(FINDINGS if _fails(report, fail_on) else CLEAN)


def render(report: Report, form: str, *, to_file: bool) -> str:
    """The report in one of the formats.

    Args:
        report: of an audit.
        form: ``text``, ``json`` or ``concise``.
        to_file: whether it goes to a file, which has no colours and no width of its own.
    """
    if form == "json":
        from analyzer.report import json

        return json.render(report)
    if form == "concise":
        from analyzer.report import concise

        return concise.render(report)
    import io

    from rich.console import Console

    from analyzer.report import layout, text

    file = io.TextIOWrapper(io.BytesIO(), "utf-8") if to_file else None
    console = Console(file=file, width=layout.WIDEST, color_system=None) if to_file else Console()
    return text.render(report, console)


def _deliver(text: str, path: Path | None) -> None:
    if path is None:
        output.write_out(text)
    else:
        output.write_file(path, text)


def _fails(report: Report, fail_on: str) -> bool:
    from analyzer.findings import SEVERITIES

    counted = [] if fail_on == "never" else SEVERITIES[: SEVERITIES.index(fail_on) + 1]
    return any(finding.severity in counted for finding in report.findings)
