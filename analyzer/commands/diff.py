"""``vllm-contracts diff``: what changed between two trees."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from analyzer.commands import output
from analyzer.commands.failure import CLEAN, FINDINGS
from analyzer.commands.judging import judge, tree_with_settings
from analyzer.commands.options import Given
from analyzer.commands.said import Said, deliver, say
from analyzer.commands.tree import Tree, failing_in_one_line
from analyzer.commands.where import cache_options
from analyzer.nearest import did_you_mean
from analyzer.settings import RELEASE

if TYPE_CHECKING:
    from analyzer.changes import Changes
    from analyzer.records import Report
    from analyzer.settings import Settings

EXAMPLES = """
\b
Examples:
  vllm-contracts diff 0.20.2 0.22.1
  vllm-contracts diff 0.33.0 ~/src/vllm --contract SupportsEagle3
  vllm-contracts diff --exit-code 0.33.0 .    in CI: 1 if something got worse
  vllm-contracts diff 0.16.0 0.18.1 --format markdown -o changes.md

\b
Exit codes:
  0  compared, whatever differs
  1  with --exit-code: an architecture lost support, or there is a new error
  2  the run itself failed: one line on standard error says why
"""


@click.command(epilog=EXAMPLES, short_help="Tell what changed between two vLLM trees.")
@click.argument("old", metavar="OLD")
@click.argument("new", metavar="NEW")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "markdown"]),
    default="text",
    show_default=True,
    help="text for people, markdown for a pull request, json for programs.",
)
@click.option(
    "--output", "-o", "target", metavar="FILE", type=click.Path(path_type=Path), help="Write the report to a file."
)
@click.option("--contract", metavar="NAME", multiple=True, help="Only this contract, such as SupportsEagle3.")
@click.option(
    "--plugin",
    metavar="PATH",
    type=click.Path(path_type=Path),
    help="Compare what a package outside vLLM is like with OLD and with NEW.",
)
@click.option(
    "--vllm",
    metavar="PATH|RELEASE|installed",
    help="OLD and NEW are two states of a package outside vLLM, each with this vLLM.",
)
@click.option("--exit-code", is_flag=True, help="Exit with 1 if support was lost or there is a new error.")
@cache_options
@click.pass_context
def diff(
    context: click.Context,
    old: str,
    new: str,
    form: str,
    target: Path | None,
    contract: tuple[str, ...],
    plugin: Path | None,
    vllm: str | None,
    exit_code: bool,
    cache_dir: Path | None,
    no_cache: bool,
) -> None:
    """Tell what changed: contracts and who asks for them, which architectures gained or lost support and why,
    and which findings are new or gone.

    OLD and NEW are each a vLLM tree or the number of a release, which is fetched with pip once and then kept.
    Which findings count is what the settings of NEW say, for both; a baseline is left out of it.
    """
    if plugin is not None and vllm is not None:
        raise click.UsageError("give one of --plugin and --vllm")
    with failing_in_one_line():
        trees = []
        for word, hint in ((old, "OLD"), (new, "NEW")):  # both, before the work begins
            given = Given(vllm=vllm if plugin is None else word, cache_dir=cache_dir)
            if plugin is not None:
                trees.append(tree_with_settings(plugin, None, None, given, no_cache=no_cache))
            else:
                trees.append(named_tree(word, hint, given, no_cache=no_cache))
        (older, _), (newer, settings) = trees
        wanted = contract or settings.contracts
        seen = older.state.digest if older.state is not None else None
        depends_on = ("diff", older.checkout.root, older.checkout.version, seen, settings, wanted, form, exit_code)
        make = partial(_said, older, newer, settings, wanted, form, exit_code, to_file=target is not None)
        said = say(newer, (*depends_on, target is None), make)
    deliver(said, target)
    context.exit(said.code)


def _said(
    older: Tree,
    newer: Tree,
    settings: Settings,
    wanted: Sequence[str],
    form: str,
    exit_code: bool,
    *,
    to_file: bool,
) -> Said:
    from analyzer.changes import compare

    both = settings.override(contracts=())  # the older tree may lack one
    before, after = (judge(tree, both) for tree in (older, newer))
    for name in wanted:
        check_contract(name, before, after)
    changes = compare(before, after, wanted)
    code = FINDINGS if exit_code and changes.worse else CLEAN
    return Said((render(changes, form, to_file=to_file),), (), code)


def named_tree(word: str, parameter: str, given: Given, *, no_cache: bool = False) -> tuple[Tree, Settings]:
    """The tree of a folder or a release's number, and its settings; a folder of that name comes first.

    Args:
        word: as typed.
        parameter: its name, for the error.
        given: the other options.
        no_cache: the option of the same name.

    Raises:
        click.BadParameter: it is neither.
        CheckoutError, ReleaseError: it has no tree that can be used.
    """
    path = Path(word).expanduser()
    if path.exists() or given.vllm is not None:
        return tree_with_settings(path, None, None, given, no_cache=no_cache)
    number = RELEASE.fullmatch(word)
    if number is None:
        raise click.BadParameter(f"{word}: no such folder, and no release number such as 0.33.0", param_hint=parameter)
    return tree_with_settings(None, number[1], None, given, no_cache=no_cache)


def check_contract(name: str, *reports: Report) -> None:
    """Refuse a contract that no tree has.

    Raises:
        click.BadParameter: with what was probably meant.
    """
    known = {c.name for report in reports for c in report.contracts}
    if name not in known:
        which = "neither tree has" if len(reports) > 1 else "the tree does not have"
        hint = did_you_mean(name, known, "vllm-contracts explain --contract lists them")
        raise click.BadParameter(f"{which} a contract {name}{hint}", param_hint="--contract")


def render(changes: Changes, form: str, *, to_file: bool) -> str:
    """The comparison in one of the formats.

    Args:
        changes: of two trees.
        form: ``text``, ``json`` or ``markdown``.
        to_file: whether it goes to a file, which has no colours and no width of its own.
    """
    if form == "json":
        from analyzer.report import changes_json

        return changes_json.render(changes)
    if form == "markdown":
        from analyzer.report import changes_markdown

        return changes_markdown.render(changes)
    from analyzer.report import changes_text

    return changes_text.render(changes, output.console(to_file=to_file))
