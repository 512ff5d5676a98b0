"""``vllm-contracts hook``: what pre-commit runs, on changed files, judged with the whole checkout."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from analyzer.commands import output
from analyzer.commands.failure import CLEAN, FINDINGS
from analyzer.commands.judging import judge, tree_with_settings
from analyzer.commands.options import Given, judging
from analyzer.commands.tree import cache_options, failing_in_one_line

if TYPE_CHECKING:
    from analyzer.checkout import Checkout
    from analyzer.findings import Finding
    from analyzer.records import Report

EXAMPLES = """
\b
In .pre-commit-config.yaml:
  - repo: https://github.com/OWNER/vllm-contracts
    rev: vX.Y.Z
    hooks:
      - id: vllm-contracts-fix
      - id: vllm-contracts

\b
Exit codes:
  0  nothing to say         1  findings (see --fail-on); with --fix: files were changed
  2  the run itself failed: one line on standard error says why
"""

SAME_FOR_ALL = frozenset({"gate"})
"""Links that stand in every chain: a change there concerns no single finding."""


@click.command(epilog=EXAMPLES, short_help="Judge changed files, for pre-commit.")
@click.argument("files", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--tree",
    "root",
    metavar="PATH",
    type=click.Path(path_type=Path),
    default=Path(),
    help="The checkout; the working directory unless given.",
)
@click.option("--fix", is_flag=True, help="Carry out the safe fixes of what would be reported.")
@judging
@cache_options
@click.pass_context
def hook(context: click.Context, files: tuple[Path, ...], root: Path, fix: bool, given: Given, no_cache: bool) -> None:
    """Report the findings that changed FILES have to do with.

    All of the checkout is judged, so that a change of an inner model that breaks a wrapper in another file is
    reported too: a finding counts if it is in one of FILES, or a link of its chain is. Where results of an earlier
    run are known and no file changed that matters, next to nothing is read.
    """
    with failing_in_one_line():
        tree, settings = tree_with_settings(root, None, None, given, no_cache=no_cache)
        changed = _inside(tree.checkout, files)
        if not changed:
            context.exit(CLEAN)
        report = judge(tree, settings, baseline=settings.baseline)
    findings = [f for f in report.findings if not changed.isdisjoint(places(f))]
    for lost in report.diagnostics:
        if lost.path in changed:
            click.echo(f"not read: {lost.path}{f':{lost.line}' if lost.line else ''}: {lost.message}", err=True)
    if fix:
        context.exit(FINDINGS if _fix(report, findings) else CLEAN)
    counted = _counted(findings, settings.fail_on)
    output.write_out("".join(line for finding in counted for line in _lines(finding, changed)))
    context.exit(FINDINGS if counted else CLEAN)


def _inside(checkout: Checkout, files: Iterable[Path]) -> set[str]:
    """The files of the checkout's package among some, relative to its root."""
    found = set()
    for file in files:
        try:
            rel = checkout.rel(file)
        except ValueError:  # elsewhere in the repository
            continue
        if rel.startswith(f"{checkout.package.name}/"):
            found.add(rel)
    return found


def places(finding: Finding) -> set[str]:
    """The files that a finding has to do with."""
    found = {finding.at.path, *(x.path for x in finding.chain if x.link not in SAME_FOR_ALL)}
    found.update(edit.path for edit in finding.fix.edits)
    return found | ({finding.builds_inner.path} if finding.builds_inner is not None else set())


def _counted(findings: Iterable[Finding], fail_on: str) -> list[Finding]:
    from analyzer.findings import SEVERITIES

    counted = () if fail_on == "never" else SEVERITIES[: SEVERITIES.index(fail_on) + 1]
    return [f for f in findings if f.severity in counted]


def _lines(finding: Finding, changed: set[str]) -> Iterable[str]:
    """The finding on one line, as compilers do; then the links in changed files that it stands on, and the fix."""
    at, fix = finding.at, finding.fix
    yield f"{at.path}:{at.line}:{at.column}: {finding.code} {finding.message}\n"
    if at.path not in changed:
        for link in finding.chain:
            if link.path in changed and link.link not in SAME_FOR_ALL:
                yield f"  {link.path}:{link.line}: {link.link}: {link.detail}\n"
    kinds = {"safe": "fix", "unsafe": "unsafe fix", "none": "no fix"}
    yield f"  {kinds[fix.safety]}: {fix.summary}\n"


def _fix(report: Report, findings: Sequence[Finding]) -> bool:
    """Carry out the safe fixes; whether a file was changed."""
    from analyzer.fix import plan_fixes, write_plan

    root = report.checkout.root
    plan = plan_fixes(root, [f.fix for f in findings if f.fix.safety == "safe" and f.fix.edits])
    written = write_plan(root, plan)
    for path, reason in written.refused:
        click.echo(f"not written: {path} {reason}", err=True)
    for path in written.paths:
        output.write_out(f"fixed {path}\n")
    return bool(written.paths)
