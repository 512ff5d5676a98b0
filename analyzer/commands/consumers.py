"""``vllm-contracts consumers``: third-party code against a vLLM release."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from analyzer.commands import output
from analyzer.commands.failure import CLEAN, FINDINGS
from analyzer.commands.progress import working
from analyzer.commands.tree import failing_in_one_line, open_named
from analyzer.commands.where import cache_folder

if TYPE_CHECKING:
    from analyzer.drift.records import DriftReport

EXAMPLES = """
\b
Examples:
  vllm-contracts consumers ~/src/my-trainer --vllm 0.33.0
  vllm-contracts consumers . --vllm 0.16.0 --since 0.15.1   what did 0.16 break?
  vllm-contracts consumers .venv/lib/python3.12/site-packages/trl
  vllm-contracts consumers . --vllm ~/src/vllm --format concise

\b
Exit codes:
  0  everything that could be judged is honoured
  1  something is not
  2  the run itself failed: one line on standard error says why
"""


@click.command(epilog=EXAMPLES, short_help="Hold code that uses vLLM against a release.")
@click.argument("package_dir", type=click.Path(path_type=Path))
@click.option(
    "--vllm",
    "word",
    metavar="PATH|RELEASE|installed",
    default="installed",
    show_default=True,
    help="The vLLM that the code is to run with.",
)
@click.option("--since", metavar="PATH|RELEASE", help="Tell what of it this older vLLM honours.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "concise", "json"]),
    default="text",
    show_default=True,
    help="text for people, concise as compilers do, json for programs.",
)
@click.option(
    "--output", "-o", "target", metavar="FILE", type=click.Path(path_type=Path), help="Write the report to a file."
)
@click.option("--verbose", "-v", is_flag=True, help="List what is guarded, what was not judged, and every model.")
@cache_folder
@click.pass_context
def consumers(
    context: click.Context,
    package_dir: Path,
    word: str,
    since: str | None,
    form: str,
    target: Path | None,
    verbose: bool,
    cache_dir: Path | None,
) -> None:
    """Tell which uses of vLLM's Python API a release does not honour, and for which of its models code that asks for a
    contract cannot work.

    PACKAGE_DIR is a package, an unpacked wheel or a project; nothing of it is imported or run. Names that are gone
    are told with where they went, calls with the parameter that they miss, and what stands behind a guard (a
    handler, a test of versions) is counted apart.
    """
    with failing_in_one_line():
        report = _report(package_dir, word, since, cache_dir)
    text = _render(report, form, verbose=verbose, to_file=target is not None)
    if target is None:
        output.write_out(text)
    else:
        output.write_file(target, text)
    if form == "concise":
        for lost in report.diagnostics:
            click.echo(f"not read: {lost.path}: {lost.message}", err=True)
    context.exit(FINDINGS if report.failing else CLEAN)


def _report(package_dir: Path, word: str, since: str | None, cache_dir: Path | None) -> DriftReport:
    from analyzer.drift.package import open_package
    from analyzer.drift.read import analyse

    package = open_package(package_dir)
    checkout = open_named(word, cache_dir)
    older = open_named(since, cache_dir) if since is not None else None
    with working(f"reading {package_dir.name or package_dir} and vLLM {checkout.version or ''}"):
        return analyse(package, checkout, older)


def _render(report: DriftReport, form: str, *, verbose: bool, to_file: bool) -> str:
    if form == "json":
        from analyzer.report import consumers_json

        return consumers_json.render(report)
    if form == "concise":
        from analyzer.report import consumers_concise

        return consumers_concise.render(report)
    from analyzer.report import consumers_text

    return consumers_text.render(report, output.console(to_file=to_file), verbose=verbose)
