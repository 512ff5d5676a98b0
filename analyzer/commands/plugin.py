"""``vllm-contracts plugin``: the repairs as a package that vLLM loads, for an installation that nobody may edit."""

from __future__ import annotations

import re
from pathlib import Path

import click

from analyzer.commands import output
from analyzer.commands.failure import CLEAN, FINDINGS, Failure
from analyzer.commands.judging import judge, tree_with_settings
from analyzer.commands.options import Given, selecting
from analyzer.commands.tree import failing_in_one_line
from analyzer.commands.where import cache_options

EXAMPLES = """
\b
Examples:
  vllm-contracts plugin -o ./repairs                    for the vLLM installed for this Python
  vllm-contracts plugin --release 0.32.0 -o ./repairs && pip install ./repairs
  vllm-contracts plugin --unsafe-fixes --class MyModel -o ./repairs

\b
Exit codes:
  0  the package was written
  1  there is nothing to repair, or nothing that can be repaired at import time
  2  the run itself failed: one line on standard error says why
"""

_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")


@click.command(epilog=EXAMPLES, short_help="Write a plugin that repairs an installed vLLM.")
@click.argument("path", required=False, type=click.Path(path_type=Path))
@click.option("--release", metavar="X.Y.Z", help="For a published release instead.")
@click.option("--python", metavar="PATH", type=click.Path(path_type=Path), help="For what is installed there.")
@click.option(
    "--output",
    "-o",
    "folder",
    required=True,
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="A folder that is new or empty.",
)
@click.option("--name", default="vllm-contracts-repairs", show_default=True, help="Of the package.")
@click.option("--unsafe-fixes", is_flag=True, help="Also fixes that depend on the checkpoint or on judgement.")
@selecting
@click.option("--class", "classes", metavar="NAME", multiple=True, help="Only this class, with or without its module.")
@cache_options
@click.pass_context
def plugin(
    context: click.Context,
    path: Path | None,
    release: str | None,
    python: Path | None,
    folder: Path,
    name: str,
    unsafe_fixes: bool,
    given: Given,
    classes: tuple[str, ...],
    no_cache: bool,
) -> None:
    """Write a small package that applies the repairs when vLLM imports the classes.

    Nothing of vLLM's files is edited. The package has an entry point that vLLM calls in each of its processes;
    a class is changed when its module is first imported, and only if version and source are those that were
    analysed.
    """
    if not _NAME.fullmatch(name):
        raise click.BadParameter(f"{name} is no name for a package", param_hint="--name")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise Failure(f"{folder}: there is something already; name a folder that is new or empty")
    from analyzer.commands.fix import of_classes
    from analyzer.patches import make_package

    with failing_in_one_line():
        report = judge(*tree_with_settings(path, release, python, given, no_cache=no_cache))
    version = report.checkout.version
    if version is None:
        raise Failure(f"{report.checkout.root}: does not tell its version, which the package has to check")
    allowed = ("safe", "unsafe") if unsafe_fixes else ("safe",)
    wanted = [f for f in of_classes(report, classes) if f.fix.edits and f.fix.safety in allowed]
    made = make_package(report.checkout.root, version, wanted, name)
    if made.patched:
        try:
            for rel, text in made.files.items():
                (folder / rel).parent.mkdir(parents=True, exist_ok=True)
                (folder / rel).write_text(text, "utf-8")
        except OSError as error:
            raise Failure(f"{folder}: cannot be written: {error.strerror or error}") from error
    lines = [f"{folder}: repairs {len(made.patched)} of {len(wanted)} for vLLM {version}"] if made.patched else []
    lines += [f"  not at import time: {f.code} {f.cls.rpartition('.')[2]}: {reason}" for f, reason in made.left]
    output.write_out("".join(f"{line}\n" for line in lines or ["nothing to repair"]))
    context.exit(CLEAN if made.patched else FINDINGS)
