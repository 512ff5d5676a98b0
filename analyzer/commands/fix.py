"""``vllm-contracts fix``: carry out the repairs of an audit, and say what was left and why."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from analyzer.commands import output
from analyzer.commands.failure import CLEAN, FINDINGS
from analyzer.commands.judging import judge, tree_with_settings
from analyzer.commands.options import Given, selecting
from analyzer.commands.tree import failing_in_one_line
from analyzer.commands.where import cache_options
from analyzer.nearest import did_you_mean

if TYPE_CHECKING:
    from analyzer.findings import Finding
    from analyzer.fix import Plan
    from analyzer.records import Report

EXAMPLES = """
\b
Examples:
  vllm-contracts fix --diff ~/src/vllm | less
  vllm-contracts fix ~/src/vllm
  vllm-contracts fix --unsafe-fixes --interactive ~/src/vllm
  vllm-contracts fix --check --select VC001 ~/src/vllm
  vllm-contracts fix --teach MyModelForCausalLM ~/src/vllm

\b
Exit codes:
  0  every fix that was asked for is in place; others may be left
  1  a fix could not be carried out; with --check: something would change
  2  the run itself failed: one line on standard error says why
"""

WIDTH = 80


@click.command(epilog=EXAMPLES, short_help="Repair what the audit finds.")
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--unsafe-fixes", is_flag=True, help="Also fixes that depend on the checkpoint or on judgement.")
@click.option("--diff", is_flag=True, help="Print a patch for git apply or patch -p1; write nothing.")
@click.option("--check", is_flag=True, help="Write nothing; exit with 1 if something would change.")
@click.option("--interactive", "-i", is_flag=True, help="Show each fix and ask: yes, no, all the rest, quit.")
@selecting
@click.option("--class", "classes", metavar="NAME", multiple=True, help="Only this class, with or without its module.")
@click.option(
    "--teach",
    metavar="NAME",
    help="Give a model support that it lacks: show a patch for this class or architecture, and for its wrappers.",
)
@click.option("--break-hard-links", is_flag=True, help="Also write files that have other names.")
@cache_options
@click.pass_context
def fix(
    context: click.Context,
    path: Path,
    unsafe_fixes: bool,
    diff: bool,
    check: bool,
    interactive: bool,
    given: Given,
    classes: tuple[str, ...],
    teach: str | None,
    break_hard_links: bool,
    no_cache: bool,
) -> None:
    """Repair what the audit of a tree finds: the safe fixes, or with --unsafe-fixes all.

    Each file is changed as little as possible, checked, and replaced in one step; a file that cannot be
    changed with certainty is left as it is. Findings that a comment suppresses are left alone; those of a
    baseline are repaired too.

    With --teach nothing is repaired but what has to do with one model that lacks support: where its decoder's loop is
    regular, support is written as other decoders of the tree have it, and its wrappers are repaired. That is never
    safe: the patch is shown, and written with --unsafe-fixes or on your word.
    """
    if interactive and (diff or check):
        raise click.UsageError("--interactive writes what you agree to; it goes with neither --diff nor --check")
    if teach is not None and (classes or given.select or given.ignore or len(given.contract) > 1):
        raise click.UsageError("--teach is for one model and one contract; it goes with none of --class, --select, ...")
    with failing_in_one_line():
        tree, settings = tree_with_settings(path, None, None, given, no_cache=no_cache)
    if teach is not None:
        from analyzer.commands.teach import DEFAULT, teach_and_tell

        code = teach_and_tell(
            tree.checkout,
            teach,
            given.contract[0] if given.contract else DEFAULT,
            write=unsafe_fixes and not (diff or check),
            ask=interactive,
            diff=diff,
            check=check,
            break_hard_links=break_hard_links,
        )
        context.exit(code)
    with failing_in_one_line():
        report = judge(tree, settings)
    findings = of_classes(report, classes)
    allowed = ("safe", "unsafe") if unsafe_fixes else ("safe",)
    wanted = [f for f in findings if f.fix.edits and f.fix.safety in allowed]
    if interactive:
        wanted = _choose(report.checkout.root, wanted)
    from analyzer.fix import plan_fixes, render_diff

    plan = plan_fixes(report.checkout.root, [f.fix for f in wanted])
    if diff:
        output.write_out(render_diff(plan))
    root = report.checkout.root
    refused = _refusals(plan) if diff or check else _write(root, plan, break_hard_links=break_hard_links)
    _tell(findings, plan, refused, dry=diff or check, to_stderr=diff)
    for lost in report.diagnostics:
        click.echo(f"not read: {lost.path}{f':{lost.line}' if lost.line else ''}: {lost.message}", err=True)
    failed = bool(refused) or (check and bool(plan.changes))
    context.exit(FINDINGS if failed else CLEAN)


def of_classes(report: Report, classes: Sequence[str]) -> list[Finding]:
    """The findings on some classes; all unless any are named."""
    known = {name for f in report.findings for name in _names(f.cls)}
    known |= {name for m in report.models for name in _names(m.cls)}
    for name in classes:
        if name not in known:
            hint = did_you_mean(name, known, "vllm-contracts audit --format json lists the models")
            raise click.BadParameter(f"the tree has no model {name}{hint}", param_hint="--class")
    return [f for f in report.findings if not classes or not _names(f.cls).isdisjoint(classes)]


def _names(key: str) -> set[str]:
    return {key, key.rpartition(".")[2]}


def _refusals(plan: Plan) -> dict[int, str]:
    """Why fixes are not carried out, by their identity: equal ones may belong to several findings."""
    return {id(fix): reason for fix, reason in plan.refused}


def _write(root: Path, plan: Plan, *, break_hard_links: bool) -> dict[int, str]:
    """Write the files; the fixes that are not in place afterwards, by identity, each with the reason."""
    from analyzer.fix import write_plan

    problems = dict(write_plan(root, plan, break_hard_links=break_hard_links).refused)
    refused = _refusals(plan)
    for fix in plan.applied:
        paths = [edit.path for edit in fix.edits if edit.path in problems]
        if paths:
            refused[id(fix)] = f"{paths[0]} {problems[paths[0]]}"
    return refused


# -- asking ----------------------------------------------------------------------------------------


def _choose(root: Path, findings: Sequence[Finding]) -> list[Finding]:
    """The findings that the user wants repaired, asked one by one."""
    from analyzer.fix import plan_fixes, render_diff

    chosen: list[Finding] = []
    for number, finding in enumerate(findings):
        plan = plan_fixes(root, [finding.fix])
        if not plan.changes:
            chosen.append(finding)  # nothing to decide; the end of the run says why
            continue
        click.echo(f"\n{number + 1} of {len(findings)}: {finding.code} {finding.message}")
        if finding.fix.why_unsafe:
            click.secho(f"unsafe: {finding.fix.why_unsafe}", fg="yellow")
        _show(render_diff(plan))
        answer = click.prompt("Apply (yes, no, all the rest, quit)", type=click.Choice(["y", "n", "a", "q"]))
        if answer == "a":
            return [*chosen, *findings[number:]]
        if answer == "q":
            break
        if answer == "y":
            chosen.append(finding)
    return chosen


def _show(diff: bytes) -> None:
    from analyzer.report.layout import clean

    for line in diff.decode("utf-8", "replace").splitlines():
        colour = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1])
        click.secho("\t".join(map(clean, line.split("\t"))), fg=colour)


# -- telling ---------------------------------------------------------------------------------------


def _tell(findings: Sequence[Finding], plan: Plan, refused: dict[int, str], *, dry: bool, to_stderr: bool) -> None:
    """What was fixed, what was left and why."""
    done = {id(fix) for fix in (*plan.applied, *plan.unchanged)} - set(refused)
    fixed = [f for f in findings if id(f.fix) in done]
    left = [f for f in findings if id(f.fix) not in done and f.severity != "info"]
    lines = _listing(f"{'would fix' if dry else 'fixed'} {len(fixed)}", ((f, f.fix.summary) for f in fixed))
    lines += _listing(f"left {len(left)}", ((f, _why_left(f, refused)) for f in left))
    remarks = len(findings) - len(fixed) - len(left)
    if remarks:
        lines.append(f"{remarks} more for information only; vllm-contracts audit shows them")
    text = "".join(f"{line}\n" for line in lines)
    if to_stderr:
        click.echo(text, err=True, nl=False)
    else:
        output.write_out(text)


def _listing(head: str, items: Iterable[tuple[Finding, str]]) -> list[str]:
    from analyzer.report.layout import clean, wrap

    lines = []
    for finding, text in items:
        lines.append(f"  {finding.code} {clean(str(finding.at))}")
        lines += [f"    {line}" for line in wrap(text, WIDTH - 4)]
    return [f"{head}:" if lines else head, *lines]


def _why_left(finding: Finding, refused: dict[int, str]) -> str:
    fix = finding.fix
    if id(fix) in refused:
        return f"not carried out: {refused[id(fix)]}"
    if fix.safety == "none":
        return f"no fix: {fix.summary}"
    if fix.safety == "unsafe":
        return f"unsafe, --unsafe-fixes would {fix.summary}: {fix.why_unsafe}"
    return f"not chosen: {fix.summary}"
