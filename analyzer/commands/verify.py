"""``vllm-contracts verify``: confirm by execution, in another interpreter, what the audit says."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from analyzer.commands import output
from analyzer.commands.failure import CLEAN, FINDINGS, Failure
from analyzer.commands.judging import tree_with_settings
from analyzer.commands.options import Given
from analyzer.commands.progress import counting, working
from analyzer.commands.tree import failing_in_one_line
from analyzer.commands.where import naming
from analyzer.nearest import did_you_mean

if TYPE_CHECKING:
    from analyzer.checkout import Checkout
    from analyzer.records import Report
    from analyzer.verify.outcomes import Verification
    from analyzer.verify.plan import Plan
    from analyzer.verify.process import Limits
    from analyzer.verify.repairs import Repair

EXAMPLES = """
\b
Examples:
  vllm-contracts verify --python ~/env/bin/python     what is installed there
  vllm-contracts verify ~/src/vllm --python ~/env/bin/python
  vllm-contracts verify --release 0.33.0 --python ~/env/bin/python --after-fix

\b
Exit codes:
  0  nothing that the audit says was contradicted; some may not be testable
  1  something was contradicted: both sides are shown
  2  the run itself failed: one line on standard error says why
"""


@click.command(epilog=EXAMPLES, short_help="Confirm the audit's verdicts by execution, without weights.")
@click.argument("path", required=False, type=click.Path(path_type=Path))
@click.option("--release", metavar="X.Y.Z", help="The sources of a published release, fetched with pip and kept.")
@naming
@click.option(
    "--python",
    metavar="PATH",
    type=click.Path(path_type=Path),
    help="The interpreter of an environment where vLLM's sources can be imported; this one unless given.",
)
@click.option("--after-fix", is_flag=True, help="Carry the safe fixes out on a copy, and verify that.")
@click.option("--unsafe-fixes", is_flag=True, help="With --after-fix: also the unsafe ones.")
@click.option("--class", "classes", metavar="NAME", multiple=True, help="Only this class, with or without its module.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option(
    "--output", "-o", "target", metavar="FILE", type=click.Path(path_type=Path), help="Write the report to a file."
)
@click.option(
    "--time-limit",
    metavar="SECONDS",
    type=click.FloatRange(min=0.1),
    default=60.0,
    show_default=True,
    help="For one class; one that takes longer is given up, and the others go on.",
)
@click.option(
    "--batch",
    metavar="N",
    type=click.IntRange(min=1),
    default=128,
    show_default=True,
    help="How many classes one process answers for.",
)
@click.option("--no-stand-ins", is_flag=True, help="Do not stand in for modules that are missing there.")
@click.pass_context
def verify(
    context: click.Context,
    path: Path | None,
    release: str | None,
    vllm: str | None,
    package: str | None,
    python: Path | None,
    after_fix: bool,
    unsafe_fixes: bool,
    classes: tuple[str, ...],
    form: str,
    target: Path | None,
    time_limit: float,
    batch: int,
    no_stand_ins: bool,
) -> None:
    """Confirm by execution what the audit says, in an environment where that vLLM can be imported.

    This runs vLLM's code, in processes of their own: its models are imported, asked by the checkers, built
    without weights, and their methods called as the engine calls them. No GPU is needed, and nothing is
    downloaded. PATH is a vLLM tree whose sources go first on that interpreter's path; without it the vLLM
    that is installed there is verified.
    """
    if path is not None and release is not None:
        raise click.UsageError("give one of PATH and --release")
    if unsafe_fixes and not after_fix:
        raise click.UsageError("--unsafe-fixes goes with --after-fix")
    from analyzer.verify.process import Limits

    limits = Limits(seconds=time_limit, start=max(300.0, time_limit), batch=batch)
    opened = _tree(path, release, Given(vllm=vllm, package=package), python, after_fix, unsafe_fixes)
    with failing_in_one_line(), _failing_to_execute(), opened as tree:
        checkout, sources, repairs = tree
        result = _verified(checkout, sources, repairs, python, classes, limits, stand_in=not no_stand_ins)
    text = _render(result, form)
    if target is None:
        output.write_out(text)
    else:
        output.write_file(target, text)
    context.exit(FINDINGS if result.contradicted else CLEAN)


@contextmanager
def _failing_to_execute() -> Iterator[None]:
    from analyzer.verify.process import VerifyError

    try:
        yield
    except VerifyError as error:
        raise Failure(str(error)) from error


Tree = tuple["Checkout", "Checkout", "list[Repair]"]


@contextmanager
def _tree(
    path: Path | None, release: str | None, given: Given, python: Path | None, after_fix: bool, unsafe: bool
) -> Iterator[Tree]:
    """The tree that is meant, the tree to execute (a fixed copy of it, or itself), and what was repaired."""
    named = path is not None or release is not None
    checkout = tree_with_settings(path, release, None if named else python, given, no_cache=True)[0].checkout
    if not after_fix:
        yield checkout, checkout, []
        return
    from analyzer import engine
    from analyzer.report.json import to_dict
    from analyzer.verify.repairs import copy_sources, repairs_of
    from rules import all_rules

    with working(f"reading vLLM {checkout.version or ''}"):
        report = engine.audit(checkout, all_rules())
    with tempfile.TemporaryDirectory(prefix="vllm-contracts-") as scratch:
        copied = ((package.path, checkout.rel(package.path)) for package in checkout.judged_packages)
        copy_sources(copied, Path(scratch))
        done = _carry_out(report, Path(scratch), ("safe", "unsafe") if unsafe else ("safe",))
        yield checkout, checkout.moved(Path(scratch)), repairs_of(to_dict(report), done)


def _carry_out(report: Report, root: Path, allowed: Sequence[str]) -> dict[int, str]:
    """Fix a copy; for each finding that was to be repaired, by number, why it was not, empty where it was."""
    from analyzer.fix import plan_fixes, write_plan

    wanted = {n: f.fix for n, f in enumerate(report.findings) if f.fix.edits and f.fix.safety in allowed}
    plan = plan_fixes(root, list(wanted.values()))
    refused = {id(fix): reason for fix, reason in plan.refused}
    problems = dict(write_plan(root, plan).refused)
    for fix in wanted.values():
        for edit in fix.edits:
            if edit.path in problems:
                refused.setdefault(id(fix), problems[edit.path])
    return {number: refused.get(id(fix), "") for number, fix in wanted.items()}


def _verified(
    checkout: Checkout,
    sources: Checkout,
    repairs: list[Repair],
    python: Path | None,
    classes: Sequence[str],
    limits: Limits,
    *,
    stand_in: bool,
) -> Verification:
    """Read, ask, and compare."""
    from analyzer import engine
    from analyzer.installed import executable
    from analyzer.report.context import described
    from analyzer.report.json import to_dict
    from analyzer.skeletons import skeletons
    from analyzer.verify.compare import compare
    from analyzer.verify.plan import Place, make_plan
    from analyzer.verify.process import Runner
    from rules import all_rules

    with working(f"reading vLLM {sources.version or ''}"):
        read, result = engine.read_and_judge(sources, all_rules())
        report = to_dict(result)
        built = [asdict(skeleton) for skeleton in skeletons(read)]
    plugin = sources.plugin
    place = Place(
        root=str(sources.package.parent),
        version=checkout.version or "",
        interfaces=sources.module_name(sources.interfaces_path),
        registry=sources.module_name(sources.registry_path),
        model_folders=tuple(map(sources.module_of_root, sources.model_roots)),
        compiled=(str(checkout.package),),
        beside=tuple(dict.fromkeys(str(package.home) for package in plugin.packages)) if plugin else (),
        entry_points=tuple((point.module, point.function) for point in plugin.entry_points) if plugin else (),
    )
    plan = make_plan(report, built, place, classes)
    _complain_about_unknown(classes, plan, report)
    interpreter = executable(python) if python is not None else Path(sys.executable)
    with counting("executing") as progress:
        answers = Runner(interpreter, plan, limits, stand_in=stand_in, progress=progress).run()
    found = compare(report, plan, answers, repairs)
    found.tree = {**described(checkout.record()), "after_fix": sources is not checkout}
    found.environment["interpreter"] = str(interpreter)
    return found


def _complain_about_unknown(classes: Sequence[str], plan: Plan, report: dict[str, object]) -> None:
    asked = {name for job in plan.jobs for name in (job["cls"], job["cls"].rpartition(".")[2])}
    for name in classes:
        if name not in asked:
            models = report["models"]
            assert isinstance(models, list)
            known = [m["class"].rpartition(".")[2] for m in models]
            hint = did_you_mean(name, known, "vllm-contracts audit --format json lists the models")
            raise click.BadParameter(f"the tree has no model {name}{hint}", param_hint="--class")


def _render(result: Verification, form: str) -> str:
    from analyzer.report import verification

    return verification.render_json(result) if form == "json" else verification.render(result)
