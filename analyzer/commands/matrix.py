"""``vllm-contracts matrix``: every registered architecture against every contract."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from analyzer.commands.failure import CLEAN
from analyzer.commands.judging import tree_with_settings
from analyzer.commands.options import Given
from analyzer.commands.said import Said, deliver, say
from analyzer.commands.tree import failing_in_one_line
from analyzer.commands.where import cache_options, naming
from analyzer.nearest import did_you_mean

if TYPE_CHECKING:
    from analyzer.commands.tree import Tree
    from analyzer.matrix import Matrix
    from analyzer.report.places import LinkTemplate

VERDICTS = ("works", "broken", "undeclared", "unsupported", "config-dependent", "unknown", "not-asked")
LINKED = ("html", "markdown")
WIDE = 200
"""The width of a text table in a file."""

EXAMPLES = """
\b
Examples:
  vllm-contracts matrix --release 0.33.0
  vllm-contracts matrix --only broken --only undeclared ~/src/vllm
  vllm-contracts matrix --architecture 'Qwen*' --contract '*' ~/src/vllm
  vllm-contracts matrix --format html --output matrix.html ~/src/vllm
  vllm-contracts matrix --format markdown --links \\
      'https://github.com/vllm-project/vllm/blob/v0.33.0/{path}#L{line}' \\
      --release 0.33.0

\b
Verdicts:
  works             the whole chain holds
  broken            it passes the check and fails behind it
  undeclared        the inner model or decoder has it, the class does not say
  unsupported       it fails the check, and nothing in it has the contract
  config-dependent  the checkpoint's config.json decides
  unknown           could not be resolved; the reason is given
  not-asked         a draft head or pooling model: nothing asks it for this

\b
Exit codes:
  0  done, whatever the verdicts     2  the run itself failed
"""


@click.command(epilog=EXAMPLES, short_help="Show every model against the contracts.")
@click.argument("path", required=False, type=click.Path(path_type=Path))
@click.option("--release", metavar="X.Y.Z", help="Read a published release, fetched with pip and kept in a cache.")
@click.option(
    "--python",
    metavar="PATH",
    type=click.Path(path_type=Path),
    help="Read the vLLM installed for another interpreter.",
)
@naming
@click.option("--only", metavar="VERDICT", type=click.Choice(VERDICTS), multiple=True, help="Only these cells.")
@click.option("--architecture", metavar="GLOB", multiple=True, help="Only these architectures, such as 'Qwen*'.")
@click.option(
    "--contract",
    metavar="NAME",
    multiple=True,
    help="Only these contracts; '*' for all. text and markdown show those that wrappers hand on or findings name.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "csv", "markdown", "html"]),
    default="text",
    show_default=True,
    help="html is one file to search and filter; csv has a line for each cell.",
)
@click.option(
    "--output", "-o", "target", metavar="FILE", type=click.Path(path_type=Path), help="Write the matrix to a file."
)
@click.option("--links", metavar="URL", help="Make positions links: an address with {path} and {line} in it.")
@cache_options
@click.pass_context
def matrix(
    context: click.Context,
    path: Path | None,
    release: str | None,
    python: Path | None,
    vllm: str | None,
    package: str | None,
    only: tuple[str, ...],
    architecture: tuple[str, ...],
    contract: tuple[str, ...],
    form: str,
    target: Path | None,
    links: str | None,
    cache_dir: Path | None,
    no_cache: bool,
) -> None:
    """Show how every registered architecture stands to the contracts.

    PATH is a vLLM tree; without it (and without --release) the vLLM that is installed for this Python is
    read. An architecture has one row for each class that can serve it, such as one for each platform.
    """
    if sum(word is not None for word in (path, release, python if vllm is None else None)) > 1:
        raise click.UsageError("give one of PATH, --release and --python")
    template = _template(links, form)
    with failing_in_one_line():
        given = Given(vllm=vllm, package=package, cache_dir=cache_dir)
        tree, _ = tree_with_settings(path, release, python, given, no_cache=no_cache)
        make = partial(_said, tree, only, architecture, contract, form, template, to_file=target is not None)
        said = say(tree, ("matrix", only, architecture, contract, form, links, target is None), make)
    deliver(said, target)
    context.exit(said.code)


def _said(
    tree: Tree,
    only: tuple[str, ...],
    architecture: tuple[str, ...],
    contract: tuple[str, ...],
    form: str,
    template: LinkTemplate | None,
    *,
    to_file: bool,
) -> Said:
    from analyzer.matrix import build, leading, select

    report = tree.report()
    _known(contract, {column.name for column in report.contracts}, "contract")
    wanted = contract or (sorted(leading(report)) if form in ("text", "markdown") else ())
    whole = build(report, wanted)
    _known(architecture, {row.architecture for row in whole.rows}, "architecture")
    part = select(whole, only=only, architectures=architecture)
    hidden = len(report.contracts) - len(whole.contracts) if not contract else 0
    text = _render(part, form, template, hidden, to_file=to_file)
    lost = [(f"{d.path}:{d.line}" if d.line else d.path, d.message) for d in whole.diagnostics]
    return Said((text,), tuple(f"not read: {place}: {message}" for place, message in lost), CLEAN)


def _template(links: str | None, form: str) -> LinkTemplate | None:
    if links is None:
        return None
    if form not in LINKED:
        raise click.UsageError(f"--links goes with --format {' or '.join(LINKED)}")
    from analyzer.report.places import LinkTemplate

    try:
        return LinkTemplate(links)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--links") from None


def _known(patterns: Iterable[str], names: Iterable[str], what: str) -> None:
    """Refuse a pattern that nothing fits: it is a name with a slip more often than not."""
    from analyzer.matrix import matching

    names = set(names)
    for pattern in patterns:
        if not any(matching(name, (pattern,)) for name in names):
            hint = did_you_mean(pattern, names, "vllm-contracts matrix --contract '*' shows all")
            raise click.BadParameter(f"the tree has no {what} {pattern}{hint}", param_hint=f"--{what}")


def _render(part: Matrix, form: str, links: LinkTemplate | None, hidden: int, *, to_file: bool) -> str:
    if form == "json":
        from analyzer.report import matrix_json

        return matrix_json.render(part)
    if form == "csv":
        from analyzer.report import matrix_csv

        return matrix_csv.render(part)
    if form == "markdown":
        from analyzer.report import matrix_markdown

        return matrix_markdown.render(part, links)
    if form == "html":
        from analyzer.report import matrix_html

        return matrix_html.render(part, links)
    import io

    from rich.console import Console

    from analyzer.report import matrix_text

    file = io.TextIOWrapper(io.BytesIO(), "utf-8") if to_file else None
    console = Console(file=file, width=WIDE, color_system=None) if to_file else Console()
    return matrix_text.render(part, console, hidden)
