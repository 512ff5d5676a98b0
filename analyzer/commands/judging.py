"""The report of a tree as its settings have it: which findings count, and what a baseline knows of them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from analyzer.commands.failure import Failure
from analyzer.commands.options import Given, layout_of, settings_for, with_model_roots
from analyzer.commands.selection import rule_names
from analyzer.commands.tree import Tree, open_named, open_tree, tree_of
from analyzer.problems import InputError

if TYPE_CHECKING:
    from analyzer.checkout import Checkout
    from analyzer.findings import Finding
    from analyzer.records import Report
    from analyzer.settings import Settings
    from rules._rule import Rule


def tree_with_settings(
    path: Path | None, release: str | None, python: Path | None, given: Given, *, no_cache: bool = False
) -> tuple[Tree, Settings]:
    """The tree that a command line names (a folder, a release, or what is installed), and the settings for it.

    The settings of a folder are looked for from there upwards; a release and an installed package are nobody's
    project, so there the working directory is where the search begins.  Where the options or the settings name a vLLM
    tree, the folder is a plugin that is held against it; without a folder, that of the settings or the working
    directory.

    Raises:
        CheckoutError, ReleaseError: there is no such tree.
        Failure: the settings cannot be used.
    """
    checkout, settings = _opened(path, release, python, given)
    return tree_of(checkout, no_cache=no_cache, cache_dir=settings.cache_dir), settings


def _opened(path: Path | None, release: str | None, python: Path | None, given: Given) -> tuple[Checkout, Settings]:
    if given.vllm is not None and release is not None:
        raise click.UsageError("give one of --vllm and --release")
    if path is not None and given.vllm is None:
        return _of_folder(path, given)
    settings = settings_for(path or Path.cwd(), given)
    if settings.vllm is None or release is not None or (python is not None and given.vllm is None):
        checkout = open_tree(None, release, python, settings.cache_dir, layout_of(settings))
        return with_model_roots(checkout, settings), settings
    folder = path or (settings.file.parent if settings.file is not None and given.vllm is None else Path.cwd())
    return _plugin(folder, settings, python), settings


def _of_folder(path: Path, given: Given) -> tuple[Checkout, Settings]:
    """A vLLM tree, or what the settings of the folder say that it is: a fork with other names, or a plugin."""
    from analyzer.checkout import CheckoutError
    from analyzer.settings import Settings

    if given.package is None:
        try:
            checkout = open_tree(path)
        except CheckoutError:
            settings = settings_for(path, given) if path.is_dir() else Settings()
            if settings.vllm is None and settings.package is None and settings.interfaces is None:
                raise
        else:
            settings = settings_for(checkout.root, given)
            if layout_of(settings) != checkout.layout:
                checkout = open_tree(checkout.root, layout=layout_of(settings))
            return with_model_roots(checkout, settings), settings
    else:
        settings = settings_for(path, given)
    if settings.vllm is not None:
        return _plugin(path, settings, None), settings
    return with_model_roots(open_tree(path, layout=layout_of(settings)), settings), settings


def _plugin(folder: Path, settings: Settings, python: Path | None) -> Checkout:
    from analyzer.plugin import open_plugin
    from analyzer.settings import COMMAND_LINE

    assert settings.vllm is not None
    origin = settings.origin("vllm")
    try:
        vllm = open_named(settings.vllm, settings.cache_dir, python, layout_of(settings))
    except InputError as error:
        raise Failure(f"{'--vllm' if origin == COMMAND_LINE else origin}: {error}") from error
    return open_plugin(folder, with_model_roots(vllm, settings))


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
