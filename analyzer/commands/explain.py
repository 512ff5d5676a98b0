"""``vllm-contracts explain``: what the rules report, why it matters and what to do; and what a contract asks for."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from analyzer.commands import output
from analyzer.commands.said import say_of_tool
from analyzer.commands.where import cache_options, naming

if TYPE_CHECKING:
    from analyzer.commands.tree import Tree
    from analyzer.records import Report
    from analyzer.report.contract_page import Since
    from analyzer.report.outline import Block
    from analyzer.report.rule_page import Example, RulePage
    from rules._rule import Case, Rule

EXAMPLES = """
\b
Examples:
  vllm-contracts explain                     all rules
  vllm-contracts explain VC001               one, by code
  vllm-contracts explain undeclared-support  or by name
  vllm-contracts explain --contract          contracts of the installed vLLM
  vllm-contracts explain --contract SupportsEagle3 ~/src/vllm
  vllm-contracts explain --contract SupportsPP 0.18.1 --since 0.16.0
"""

ALL = ""
"""What ``--contract`` without a name stands for."""


@click.command(epilog=EXAMPLES, short_help="Explain a rule, or a contract of a tree.")
@click.argument("what", required=False, metavar="[CODE|NAME|PATH]")
@click.option(
    "--contract",
    metavar="[NAME]",
    is_flag=False,
    flag_value=ALL,
    help="Explain a contract as the tree has it, or list the tree's contracts.",
)
@click.option("--release", metavar="X.Y.Z", help="With --contract: of a published release.")
@naming
@click.option("--since", metavar="OLD", help="With --contract NAME: what changed since an older tree or release.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "markdown"]),
    default="text",
    show_default=True,
    help="text for people, markdown for documents, json for programs.",
)
@cache_options
def explain(
    what: str | None,
    contract: str | None,
    release: str | None,
    vllm: str | None,
    package: str | None,
    since: str | None,
    form: str,
    cache_dir: Path | None,
    no_cache: bool,
) -> None:
    """Explain a rule: what it reports, why it matters, how to repair it, with an example of each kind. Without a
    code or name, list all rules.

    With --contract, explain a contract as a tree has it: its members, its methods and whether the contract's own
    bodies do anything, who asks for it, and what is left from other generations. PATH is a vLLM tree or the
    number of a release; without it, the vLLM that is installed for this Python.
    """
    if contract is None:
        if release is not None or since is not None:
            raise click.UsageError("--release and --since go with --contract")
        if vllm is not None or package is not None:
            raise click.UsageError("--vllm and --package go with --contract")
        make = partial(_rules, what, form)
        output.write_out(say_of_tool(("explain", what, form), make, no_cache=no_cache, cache_dir=cache_dir))
        return
    if contract != ALL and not contract.isidentifier() and what is None:  # a path, and no name
        contract, what = ALL, contract
    if release is not None and what is not None:
        raise click.UsageError("give one of PATH and --release")
    if since is not None and contract == ALL:
        raise click.UsageError("--since goes with --contract NAME")
    from analyzer.commands.diff import named_tree
    from analyzer.commands.judging import tree_with_settings
    from analyzer.commands.options import Given
    from analyzer.commands.tree import failing_in_one_line

    with failing_in_one_line():
        given = Given(vllm=vllm, package=package, cache_dir=cache_dir)
        if what is not None:
            tree, _ = named_tree(what, "PATH", given, no_cache=no_cache)
        else:
            tree, _ = tree_with_settings(None, release, None, given, no_cache=no_cache)
        before = Given(cache_dir=cache_dir)
        older = named_tree(since, "--since", before, no_cache=no_cache)[0] if since is not None else None
        output.write_out(_contracts(tree, contract, older, form))


def _laid_out(blocks: Iterable[Block], form: str) -> str:
    if form == "markdown":
        from analyzer.report.outline import to_markdown

        return to_markdown(blocks)
    from analyzer.report.outline_text import to_text

    return to_text(blocks, output.console(to_file=False))


# -- rules -----------------------------------------------------------------------------------------


def _rules(what: str | None, form: str) -> str:
    """One rule, by its code or name, or the list of all."""
    from analyzer.commands.selection import find_code
    from analyzer.report import rule_page
    from rules import all_rules

    code = find_code(what) if what is not None else None
    pages = [page_of(rule) for rule in all_rules() if code in (None, rule.code)]
    if form == "json":
        return rule_page.to_json(pages)
    return _laid_out(rule_page.rule_blocks(pages[0]) if code else rule_page.list_blocks(pages), form)


def page_of(rule: Rule) -> RulePage:
    """What a rule says of itself."""
    from analyzer.report.rule_page import RulePage

    return RulePage(
        code=rule.code,
        name=rule.name,
        severity=rule.severity,
        what=rule.what,
        why=rule.why,
        how=rule.how,
        default=rule.default,
        more=(inspect.getdoc(type(rule)) or "").replace("``", "`"),
        bad=_example(rule.bad[0]) if rule.bad else None,
        good=_example(rule.good[0]) if rule.good else None,
    )


def _example(case: Case) -> Example:
    from analyzer.report.rule_page import Example

    return Example(case.name, case.source, case.generation, case.finds, case.settings)


# -- contracts -------------------------------------------------------------------------------------


def _contracts(tree: Tree, name: str, older: Tree | None, form: str) -> str:
    """One contract, or the list of all."""
    from analyzer.report import contract_page
    from rules import all_rules

    report = tree.report()
    if name != ALL:
        from analyzer.commands.diff import check_contract

        check_contract(name, report)
    wanted = [c for c in report.contracts if name in (ALL, c.name)]
    codes = [rule.code for rule in all_rules() if rule.of_generations]
    since = _since(older.report(), report, name) if older is not None else None
    pages = [contract_page.contract_page(report, contract, codes, since) for contract in wanted]
    if form == "json":
        return contract_page.to_json(report, pages)
    return _laid_out(contract_page.list_blocks(report) if name == ALL else contract_page.page_blocks(pages[0]), form)


def _since(old: Report, new: Report, name: str) -> Since:
    from analyzer.changes.contracts import compare_contracts
    from analyzer.report.contract_page import Since

    return Since(old.checkout, next(compare_contracts(old, new, [name]), None))
