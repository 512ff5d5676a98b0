"""``vllm-contracts hook``: what pre-commit runs, on changed files, judged with the whole checkout."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from analyzer.commands import output
from analyzer.commands.concerning import concerns, inside, links_in, wrappers_of
from analyzer.commands.failure import CLEAN, FINDINGS, Failure
from analyzer.commands.judging import counted, judge, tree_with_settings
from analyzer.commands.options import Given, judging
from analyzer.commands.tree import cache_options, failing_in_one_line

if TYPE_CHECKING:
    from analyzer.commands.tree import Tree
    from analyzer.findings import Finding
    from analyzer.records import Report
    from analyzer.settings import Settings

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
SHOWN = 5
"""Wrappers that are named where the model inside them is at fault."""


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
        tree, settings = _tree(root, given, no_cache=no_cache)
        changed = inside(tree.checkout, files)
        if not changed:
            context.exit(CLEAN)
        report = judge(tree, settings, baseline=settings.baseline)
    findings = [f for f in counted(report.findings, settings.fail_on) if concerns(f, changed)]
    named = partial(_named, tree.checkout.root)
    if fix:
        context.exit(FINDINGS if _fix(report, findings, named) else CLEAN)
    unread = [lost for lost in report.diagnostics if lost.path in changed]
    lines = [f"{named(lost.path)}:{lost.line or 1}:1: not judged: {lost.message}\n" for lost in unread]
    lines += [line for finding in findings for line in _lines(report, finding, changed, named)]
    output.write_out("".join(lines))
    context.exit(FINDINGS if lines else CLEAN)


def _tree(root: Path, given: Given, *, no_cache: bool) -> tuple[Tree, Settings]:
    from analyzer.checkout import CheckoutError

    try:
        return tree_with_settings(root, None, None, given, no_cache=no_cache)
    except CheckoutError as error:
        why = str(error).partition("; ")[0]
        raise Failure(
            f"{why}; the hook judges the vLLM tree of the repository, in its root or where --tree says "
            "(args: [--tree, FOLDER])"
        ) from error


def _named(root: Path, rel: str) -> str:
    """A file as the user names it: from the working directory, which is the repository's root in a hook."""
    path = root / rel
    with suppress(ValueError):
        return path.relative_to(Path.cwd()).as_posix()
    return path.as_posix()


def _lines(report: Report, finding: Finding, changed: set[str], named: Callable[[str], str]) -> Iterable[str]:
    """The finding on one line, as compilers do; then what connects it with changed files, and the fix."""
    at, fix = finding.at, finding.fix
    yield f"{named(at.path)}:{at.line}:{at.column}: {finding.code} {finding.message}\n"
    if at.path not in changed:
        for link in links_in(finding, changed):
            yield f"  {named(link.path)}:{link.line}: {link.link}: {link.detail}\n"
    elif finding.severity != "info":
        behind = wrappers_of(report, finding)
        for model in behind[:SHOWN]:
            yield f"  {named(model.at.path)}:{model.at.line}: {model.name} is built around it\n"
        if len(behind) > SHOWN:
            yield f"  and {len(behind) - SHOWN} more are\n"
    kinds = {"safe": "fix", "unsafe": "unsafe fix", "none": "no fix"}
    yield f"  {kinds[fix.safety]}: {fix.summary}\n"


def _fix(report: Report, findings: Sequence[Finding], named: Callable[[str], str]) -> bool:
    """Carry out the safe fixes; whether a file was changed, or should have been."""
    from analyzer.fix import plan_fixes, write_plan

    root = report.checkout.root
    plan = plan_fixes(root, [f.fix for f in findings if f.fix.safety == "safe" and f.fix.edits])
    written = write_plan(root, plan)
    for path, reason in written.refused:
        click.echo(f"not written: {named(path)} {reason}", err=True)
    for path in written.paths:
        output.write_out(f"fixed {named(path)}; stage it after a look\n")
    return bool(written.paths or written.refused)
