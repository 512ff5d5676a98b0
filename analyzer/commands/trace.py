"""``vllm-contracts trace``: will it work for my model?"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from analyzer.commands.failure import CLEAN, FINDINGS
from analyzer.commands.judging import tree_with_settings
from analyzer.commands.options import Given
from analyzer.commands.said import Said, deliver, say
from analyzer.commands.tree import Tree, failing_in_one_line
from analyzer.commands.where import cache_options, naming

if TYPE_CHECKING:
    from analyzer.trace import Trace

EXAMPLES = """
\b
Examples:
  vllm-contracts trace MyModelForCausalLM ~/src/vllm
  vllm-contracts trace ~/checkpoints/my-model ~/src/vllm
  vllm-contracts trace config.json --release 0.33.0 --draft drafter/config.json
  vllm-contracts trace MyModelForCausalLM ~/src/vllm --contract SupportsPP

\b
Exit codes:
  0  it works, or depends on the checkpoint
  1  it fails, or nothing is known
  2  the run itself failed: one line on standard error says why
"""

DEFAULT = "SupportsEagle3"


@click.command(epilog=EXAMPLES, short_help="Will it work for my model? The whole chain.")
@click.argument("name")
@click.argument("path", required=False, type=click.Path(path_type=Path))
@click.option("--release", metavar="X.Y.Z", help="A published release, fetched with pip and kept in a cache.")
@click.option("--python", metavar="PATH", type=click.Path(path_type=Path), help="The vLLM of another interpreter.")
@naming
@click.option("--contract", metavar="NAME", default=DEFAULT, show_default=True, help="What the model should support.")
@click.option(
    "--draft",
    metavar="CONFIG",
    type=click.Path(path_type=Path),
    help="A drafter's config.json, or its folder: its layers are checked against those of the checkpoint.",
)
@click.option("--all", "everything", is_flag=True, help="Tell every possible inner model in full.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("--output", "-o", "target", metavar="FILE", type=click.Path(path_type=Path), help="Write to a file.")
@cache_options
@click.pass_context
def trace(
    context: click.Context,
    name: str,
    path: Path | None,
    release: str | None,
    python: Path | None,
    vllm: str | None,
    package: str | None,
    contract: str,
    draft: Path | None,
    everything: bool,
    form: str,
    target: Path | None,
    cache_dir: Path | None,
    no_cache: bool,
) -> None:
    """Follow a contract from the gate that asks to the decoder that answers.

    NAME is a registered architecture, a model class, or a checkpoint: its config.json or the folder that holds it.
    PATH is a vLLM tree; without it the vLLM that is installed for this Python is asked. Nothing is imported, run
    or fetched for the checkpoint.
    """
    if sum(word is not None for word in (path, release, python if vllm is None else None)) > 1:
        raise click.UsageError("give one of PATH, --release and --python")
    with failing_in_one_line():
        given = Given(vllm=vllm, package=package, cache_dir=cache_dir)
        tree, _ = tree_with_settings(path, release, python, given, no_cache=no_cache)
        make = partial(_said, tree, name, contract, draft, form, everything, to_file=target is not None)
        files = [_file(Path(name))] if _is_path(name) else []
        files += [_file(draft)] if draft is not None else []
        depends_on = ("trace", name, contract, draft, form, everything, target is None)
        said = say(tree, depends_on, make, files, rests_on="tree")
    deliver(said, target)
    context.exit(said.code)


def _said(
    tree: Tree, name: str, contract: str, draft: Path | None, form: str, everything: bool, *, to_file: bool
) -> Said:
    found = _trace(tree, name, contract, draft)
    code = CLEAN if found.answer in ("works", "depends") else FINDINGS
    return Said((_render(found, form, everything=everything, to_file=to_file),), (), code)


def _file(path: Path) -> Path:
    """The file that :func:`analyzer.checkpoint.read_checkpoint` reads."""
    return path / "config.json" if path.is_dir() else path


def _trace(tree: Tree, name: str, contract: str, draft: Path | None) -> Trace:
    from analyzer import asked
    from analyzer.checkpoint import read_checkpoint
    from analyzer.engine import require_contracts
    from analyzer.problems import InputError
    from analyzer.trace import trace

    report = tree.report()
    require_contracts([c.name for c in report.contracts], [contract])
    record = report.contract(contract)
    assert record is not None
    if not _is_path(name):
        if draft is not None:
            raise InputError("--draft needs a checkpoint: its layers are checked against those of a config.json")
        found = asked.named(report, name)
        return trace(report, record, name, found.models)
    layers: Sequence[int] | None = None
    if draft is not None:
        layers = asked.drafted_layers(read_checkpoint(draft), tree.checkout)
        if layers is None:
            known = ", ".join(".".join(keys) for keys in asked.DRAFT_KEYS)
            raise InputError(f"{draft}: names no layers of the target (looked for {known})")
    checkpoint = read_checkpoint(Path(name), asked.aliases_of(tree.checkout))
    found = asked.of_checkpoint(tree.checkout, report, record, checkpoint, layers)
    return trace(report, record, name, found.models, statuses=found.statuses, extra=found.extra, facts=found.facts)


def _is_path(name: str) -> bool:
    """Whether a name is meant as a checkpoint: something that exists, or that looks like a path."""
    return Path(name).exists() or name.endswith(".json") or "/" in name or "\\" in name


def _render(found: Trace, form: str, *, everything: bool, to_file: bool) -> str:
    from analyzer.report import trace as report

    if form == "json":
        return report.render_json(found)
    import io

    from rich.console import Console

    from analyzer.report import layout

    file = io.TextIOWrapper(io.BytesIO(), "utf-8") if to_file else None
    console = Console(file=file, width=layout.WIDEST, color_system=None) if to_file else Console()
    return report.render(found, console, everything=everything)
