"""Which reports are written, and where: ``--format NAME``, ``--format NAME=FILE``, ``--output FILE``."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import click

from analyzer.commands import output
from analyzer.nearest import did_you_mean
from analyzer.report.formats import FORMATS

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from analyzer.findings import Fix
    from analyzer.records import Report
    from analyzer.report.context import Change, Context, Detail
    from rules._rule import Rule

_widest = max(map(len, FORMATS))
FORMATS_HELP = "\n\b\nFormats:\n" + "".join(f"  {name:<{_widest}}  {what}\n" for name, what in FORMATS.items())
"""For the end of a command's help."""

STDOUT = "-"
SUMMARY = "GITHUB_STEP_SUMMARY"
REPOSITORY = ("GITHUB_WORKSPACE", "CI_PROJECT_DIR", "BUILD_SOURCESDIRECTORY")
"""Where GitHub, GitLab and Azure say which folder the repository is in."""

_Command = TypeVar("_Command", bound=Callable[..., object])


class Wanted(NamedTuple):
    """A report that is asked for; ``place`` is a file, ``-`` for standard output, or empty where none is named."""

    form: str
    place: str = ""

    def __str__(self) -> str:
        return f"{self.form}={self.place}" if self.place else self.form


class FormatType(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.5
    """``NAME`` or ``NAME=FILE``."""

    name = "format"

    def convert(self, value: object, param: click.Parameter | None, context: click.Context | None) -> Wanted:
        if isinstance(value, Wanted):
            return value
        form, equals, place = str(value).partition("=")
        if form not in FORMATS:
            hint = did_you_mean(form, FORMATS, "see --help")
            self.fail(f"{form!r} is not one of {', '.join(FORMATS)}{hint}", param, context)
        if equals and not place:
            self.fail(f"{value!r} names no file", param, context)
        return Wanted(form, place)

    def shell_complete(self, _: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        return [CompletionItem(name, help=what) for name, what in FORMATS.items() if name.startswith(incomplete)]


def report_options(command: _Command) -> _Command:
    """Give a command ``--format`` and ``--output``."""
    formats = click.option(
        "--format",
        "forms",
        metavar="NAME[=FILE]",
        multiple=True,
        type=FormatType(),
        default=["text"],
        show_default=True,
        help="The report's format, and the file that it goes to. May be given several times.",
    )
    target = click.option(
        "--output",
        "-o",
        "target",
        metavar="FILE",
        type=click.Path(),
        help="The file for the format that names none; - is standard output.",
    )
    return formats(target(command))


def settle(forms: Sequence[Wanted], target: str | None) -> list[Wanted]:
    """The reports to write, each with its place, no two with the same.

    Args:
        forms: of ``--format``.
        target: of ``--output``.

    Raises:
        click.UsageError: two go to the same place, or ``--output`` is left without a format.
    """
    if target is not None and all(wanted.place for wanted in forms):
        raise click.UsageError(f"--output {target} is left without a format: every --format names its file")
    taken: dict[str, Wanted] = {}
    for wanted in dict.fromkeys(form._replace(place=form.place or target or STDOUT) for form in forms):
        key = wanted.place if wanted.place == STDOUT else os.path.realpath(wanted.place)
        if key in taken:
            where = "standard output" if key == STDOUT else wanted.place
            raise click.UsageError(
                f"{taken[key].form} and {wanted.form} would both go to {where}; "
                f"name a file for one of them: --format {wanted.form}=FILE"
            )
        taken[key] = wanted
    return list(taken.values())


def render_reports(
    report: Report,
    wanted: Sequence[Wanted],
    rules: Sequence[Rule],
    detail: Detail = "normal",
    sources: Path | None = None,
) -> list[tuple[str, str]]:
    """Reports as texts, each with its place.

    Where GitHub has a summary of the job, the ``github`` format adds to it.

    Args:
        report: of an audit.
        wanted: which, as :func:`settle` gives them.
        rules: those that were applied.
        detail: how much the text tells.
        sources: where the files are that fixes would change, if not in the report's tree.

    Raises:
        Failure: the summary cannot be written.
    """
    from analyzer.report import formats
    from analyzer.report.context import Context

    context = Context(rules, repository(), _changes_of(sources or report.checkout.root), detail=detail)
    texts: list[tuple[str, str]] = []
    for form, place in wanted:
        on_terminal = form == "text" and place == STDOUT
        texts.append((place, formats.render(report, form, _on_terminal(context) if on_terminal else context)))
    if summary := summary_file(wanted):
        _add_summary(summary, report, context)
    return texts


def summary_file(wanted: Sequence[Wanted]) -> Path | None:
    """The file of the job's summary, where one of the reports adds to it."""
    named = os.environ.get(SUMMARY)
    return Path(named) if named and any(one.form == "github" for one in wanted) else None


def repository() -> Path | None:
    """The repository's folder, where a CI names it; its paths start there, also if the checkout is a part of it."""
    named = next((value for name in REPOSITORY if (value := os.environ.get(name))), None)
    return Path(named) if named else None


def write_texts(texts: Sequence[tuple[str, str]]) -> None:
    """Write rendered reports: files first, so that a failure leaves standard output empty.

    Raises:
        Failure: one cannot be written.
    """
    for place, text in sorted(texts, key=lambda one: one[0] == STDOUT):
        if place == STDOUT:
            output.write_out(text)
        else:
            output.write_file(Path(place), text)


def _add_summary(file: Path, report: Report, context: Context) -> None:
    from analyzer.report import github

    taken = file.stat().st_size if file.exists() else 0
    output.append_file(file, github.summary(report, context, taken=taken))


def _on_terminal(context: Context) -> Context:
    from rich.console import Console

    return replace(context, console=Console())


def _changes_of(root: Path) -> Callable[[Fix], Iterable[Change]]:
    """What a fix would change by itself; nothing is written."""

    def changes(fix: Fix) -> Iterable[Change]:
        from analyzer.fix import plan_fixes

        return plan_fixes(root, [fix]).changes

    return changes
