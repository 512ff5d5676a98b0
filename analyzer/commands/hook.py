"""``vllm-contracts hook``: what pre-commit runs, on changed files, judged with the whole checkout."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from analyzer.commands import brief, output
from analyzer.commands.concerning import concerns, inside
from analyzer.commands.failure import CLEAN, FINDINGS, Failure
from analyzer.commands.judging import counted, judge, name_for, tree_with_settings
from analyzer.commands.options import Given, judging
from analyzer.commands.tree import failing_in_one_line
from analyzer.commands.where import cache_options

if TYPE_CHECKING:
    from analyzer.checkout import Checkout
    from analyzer.commands.tree import Tree
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
    run are known and no file changed that matters, next to nothing is read. With --vllm, or that key in the
    settings, the repository is a package outside vLLM.
    """
    with failing_in_one_line():
        tree, settings = _tree(root, given, no_cache=no_cache)
        changed = inside(tree.checkout, files)
        if not changed:
            context.exit(CLEAN)
        named = partial(_named, tree.checkout)
        if fix:
            report = judge(tree, settings, baseline=settings.baseline)
            context.exit(FINDINGS if _fix(report, changed, settings.fail_on, named) else CLEAN)
        data = tree.known(
            f"hook-{name_for(settings)}",
            lambda: brief.encode(judge(tree, settings, baseline=settings.baseline), settings.fail_on),
        )
    told = [one for one in brief.decode(data) if not changed.isdisjoint(one.places)]
    output.write_out("".join(f"{line}\n" for one in told for line in one.lines(changed, named)))
    context.exit(FINDINGS if told else CLEAN)


def _tree(root: Path, given: Given, *, no_cache: bool) -> tuple[Tree, Settings]:
    from analyzer.checkout import CheckoutError

    try:
        return tree_with_settings(root, None, None, given, no_cache=no_cache)
    except CheckoutError as error:
        if given.vllm is not None:
            raise
        why = str(error).partition("; ")[0]
        raise Failure(
            f"{why}; the hook judges the vLLM tree of the repository, in its root or where --tree says "
            "(args: [--tree, FOLDER]), or a package outside vLLM (args: [--vllm, RELEASE])"
        ) from error


def _named(checkout: Checkout, rel: str) -> str:
    """A file as the user names it: from the working directory, which is the repository's root in a hook."""
    path = checkout.path(rel)
    with suppress(ValueError):
        return path.relative_to(Path.cwd()).as_posix()
    return path.as_posix()


def _fix(report: Report, changed: set[str], fail_on: str, named: Callable[[str], str]) -> bool:
    """Carry out the safe fixes; whether a file was changed, or should have been."""
    from analyzer.fix import plan_fixes, write_plan

    root = report.checkout.root
    findings = [finding for finding in counted(report.findings, fail_on) if concerns(finding, changed)]
    plan = plan_fixes(root, [f.fix for f in findings if f.fix.safety == "safe" and f.fix.edits])
    written = write_plan(root, plan)
    for path, reason in written.refused:
        click.echo(f"not written: {named(path)} {reason}", err=True)
    for path in written.paths:
        output.write_out(f"fixed {named(path)}; stage it after a look\n")
    return bool(written.paths or written.refused)
