"""``vllm-contracts explain``: what the rules report, why it matters and what to do."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from analyzer.commands import output
from analyzer.commands.selection import find_rule

if TYPE_CHECKING:
    from rules._rule import Case, Rule

WIDTH = 80


@click.command(short_help="List the rules, or explain one.")
@click.argument("rule", required=False, metavar="[CODE|NAME]")
def explain(rule: str | None) -> None:
    """List the rules, or explain one: what it reports, why, how to repair it.

    \b
    Examples:
      vllm-contracts explain
      vllm-contracts explain VC001
      vllm-contracts explain undeclared-support
    """
    lines = _table() if rule is None else _explanation(find_rule(rule))
    output.write_out("".join(f"{line}\n" for line in lines))


def _table() -> Iterator[str]:
    from rules import all_rules

    rules = all_rules()
    widest = max((len(rule.name) for rule in rules), default=0)
    for rule in rules:
        head = f"{rule.code}  {rule.name:<{widest}}  {rule.severity:<7}  "
        yield from textwrap.wrap(rule.what, WIDTH, initial_indent=head, subsequent_indent=" " * len(head))


def _explanation(rule: Rule) -> Iterator[str]:
    yield f"{rule.code} {rule.name} ({rule.severity})"
    yield ""
    yield from _paragraphs(rule.what)
    for label, text in (("Why", rule.why), ("How to repair", rule.how), ("More", inspect.getdoc(type(rule)) or "")):
        yield from ("", label)
        yield from _paragraphs(text, "  ")
    for label, cases in (("Reported", rule.bad), ("Not reported", rule.good)):
        if cases:
            yield from _case(label, cases[0])


def _paragraphs(text: str, indent: str = "") -> Iterator[str]:
    for number, paragraph in enumerate(text.split("\n\n")):
        if number:
            yield ""
        yield from textwrap.wrap(paragraph, WIDTH, initial_indent=indent, subsequent_indent=indent)


def _case(label: str, case: Case) -> Iterator[str]:
    yield ""
    yield from textwrap.wrap(f"{label}: {case.name}", WIDTH)
    if case.settings:
        yield f"    # vllm-contracts.toml: {case.settings}"
    yield from textwrap.indent(textwrap.dedent(case.source).strip("\n"), "    ").split("\n")
