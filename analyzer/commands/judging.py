"""The report of a tree as its settings have it: which findings count, and what a baseline knows of them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from analyzer.commands.options import Given, settings_for, with_model_roots
from analyzer.commands.selection import rule_names
from analyzer.commands.tree import Tree, open_tree, tree_of

if TYPE_CHECKING:
    from analyzer.findings import Finding
    from analyzer.records import Report
    from analyzer.settings import Settings
    from rules._rule import Rule


def tree_with_settings(
    path: Path | None, release: str | None, python: Path | None, given: Given, *, no_cache: bool = False
) -> tuple[Tree, Settings]:
    """The tree that a command line names (a folder, a release, or what is installed), and the settings for it.

    The settings of a folder are looked for from there upwards; a release and an installed package are nobody's
    project, so there the working directory is where the search begins.

    Raises:
        CheckoutError, ReleaseError: there is no such tree.
        Failure: the settings cannot be used.
    """
    if path is not None:
        checkout = open_tree(path)
        settings = settings_for(checkout.root, given)
    else:
        settings = settings_for(Path.cwd(), given)
        checkout = open_tree(None, release, python, settings.cache_dir)
    checkout = with_model_roots(checkout, settings)
    return tree_of(checkout, no_cache=no_cache, cache_dir=settings.cache_dir), settings


def judge(tree: Tree, settings: Settings, *, baseline: Path | None = None, update: bool = False) -> Report:
    """The report with the findings that count by the settings.

    Args:
        tree: what is audited.
        settings: what is in force.
        baseline: the file of known findings.
        update: take everything that is found for known; see :func:`keep_baseline`.

    Raises:
        EngineError: the tree cannot be audited, or the settings name a contract that it does not have.
        BaselineError: the baseline cannot be used.
    """
    from analyzer.sift import sift
    from rules import all_rules, on_request
    from rules._rule import CommentRule

    comment_rules = [rule for rule in all_rules() if isinstance(rule, CommentRule)]
    asked = [code for code in on_request() if code in settings.select]
    silent = set(on_request()) - set(asked)
    report = tree.report(asked)
    return sift(report, settings, rule_names(), comment_rules, silent=silent, baseline=baseline, update=update)


def name_for(settings: Settings, *more: object) -> str:
    """A name for something that depends on the settings, their baseline and some values; for :meth:`Tree.known`."""
    known = b""
    if settings.baseline is not None:
        with suppress(OSError):  # the run will say so
            known = settings.baseline.read_bytes()
    digest = hashlib.blake2b(repr((settings, more)).encode("utf-8", "surrogateescape"), digest_size=12)
    digest.update(known)
    return digest.hexdigest()


def rules_of(settings: Settings) -> list[Rule]:
    """The rules whose findings are reported."""
    from rules import all_rules

    applied = (rule for rule in all_rules() if rule.default or rule.code in settings.select)
    return [rule for rule in applied if settings.wants(rule.code)]


def keep_baseline(report: Report) -> None:
    """Write the baseline as the report says that it should be.

    Raises:
        BaselineError: it cannot be written.
    """
    from analyzer.baseline import write_baseline

    if report.baseline is not None:
        write_baseline(report.baseline.file, report.baseline.entries)


def fails(report: Report, fail_on: str) -> bool:
    """Whether a finding is as severe as ``fail-on`` says, or more."""
    return bool(counted(report.findings, fail_on))


def counted(findings: Iterable[Finding], fail_on: str) -> list[Finding]:
    """The findings that are as severe as ``fail-on`` says, or more."""
    from analyzer.findings import SEVERITIES

    severities = () if fail_on == "never" else SEVERITIES[: SEVERITIES.index(fail_on) + 1]
    return [finding for finding in findings if finding.severity in severities]
