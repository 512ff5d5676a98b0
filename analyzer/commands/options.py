"""Options that set what a file of settings may set too, shared by the commands."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, TypeVar

import click

from analyzer.commands.failure import Failure
from analyzer.commands.selection import codes_of, rule_names
from analyzer.commands.where import NAMING

if TYPE_CHECKING:
    from analyzer.checkout import Checkout, Layout
    from analyzer.settings import Settings

FAIL_ON = ("error", "warning", "info", "never")

Command = TypeVar("Command", bound=Callable[..., Any])


@dataclass(frozen=True)
class Given:
    """What the command line says; None or empty where it says nothing."""

    config: Path | None = None
    no_config: bool = False
    vllm: str | None = None
    package: str | None = None
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    contract: tuple[str, ...] = ()
    fail_on: str | None = None
    baseline: Path | None = None
    cache_dir: Path | None = None


_SELECTING = (
    *NAMING,
    click.option(
        "--config",
        metavar="FILE",
        type=click.Path(path_type=Path),
        help="Settings; else those of vllm-contracts.toml or pyproject.toml, in the tree or above it.",
    ),
    click.option("--no-config", is_flag=True, help="Settings of the command line alone."),
    click.option("--select", metavar="RULE", multiple=True, help="Only these rules: codes or names, commas between."),
    click.option("--ignore", metavar="RULE", multiple=True, help="Not these rules."),
    click.option("--contract", metavar="NAME", multiple=True, help="Only this contract, such as SupportsEagle3."),
)
_JUDGING = (
    click.option(
        "--fail-on",
        type=click.Choice(FAIL_ON),
        help="The least severity of a finding that makes the exit code 1.  [default: warning]",
    ),
    click.option(
        "--baseline", metavar="FILE", type=click.Path(path_type=Path), help="Findings in this file do not count."
    ),
)


def selecting(command: Command) -> Command:
    """Options for which findings there are; the command gets them as ``given``."""
    return _with(_SELECTING, command)


def judging(command: Command) -> Command:
    """The same, and options for what findings lead to."""
    return _with((*_SELECTING, *_JUDGING), command)


def _with(options: tuple[Callable[[Any], Any], ...], command: Command) -> Command:
    @functools.wraps(command)
    def gathered(*args: Any, **values: Any) -> Any:
        said = {name: values.pop(name) for name in Given.__dataclass_fields__ if name in values}
        return command(*args, given=Given(**said), **values)

    for option in reversed(options):
        gathered = option(gathered)
    return gathered  # type: ignore[return-value]


def settings_for(start: Path, given: Given) -> Settings:
    """What is in force: the command line, then the file, then the defaults.

    Args:
        start: where the search for a file begins.
        given: what the command line says.

    Raises:
        Failure: the file cannot be used.
        click.BadParameter: the command line names a rule that there is not, or leaves none.
    """
    from analyzer.settings import CACHE_VARIABLE, Settings, SettingsError, find_settings, load_settings

    if given.config is not None and given.no_config:
        raise click.UsageError("give one of --config and --no-config")
    rules = rule_names()
    try:
        if given.config is not None:
            settings = load_settings(given.config.absolute(), rules)
        else:
            settings = Settings() if given.no_config else find_settings(start.absolute(), rules)
    except SettingsError as error:
        raise Failure(*error.problems) from None
    if os.environ.get(CACHE_VARIABLE):
        chosen = Path(os.environ[CACHE_VARIABLE]).expanduser()
        settings = settings.override(f"environment, {CACHE_VARIABLE}", cache_dir=chosen)
    select, ignore = codes_of(given.select, "--select"), codes_of(given.ignore, "--ignore")
    settings = settings.override(
        select=select,
        # What the file ignores is said about its own selection, and would make another one surprising.
        ignore=() if ignore is None and select is not None else ignore,
        contracts=given.contract or None,
        fail_on=given.fail_on,
        vllm=given.vllm,
        package=given.package,
        baseline=given.baseline,
        cache_dir=given.cache_dir,
    )
    if not any(settings.wants(code) for code in rules.values()):
        raise Failure("every rule that is selected is ignored")
    return settings


def layout_of(settings: Settings) -> Layout:
    """What the tree calls things by the settings.

    Raises:
        Failure: a name is none, or a file is not in the package.
    """
    from analyzer.checkout import AS_VLLM, Layout

    package = AS_VLLM.package if settings.package is None else settings.package
    if not package.isidentifier():
        raise Failure(f"{_told(settings, 'package')}: {package} is no name of a package")
    interfaces = AS_VLLM.interfaces
    if settings.interfaces is not None:
        interfaces = _inside(package, settings.interfaces, _told(settings, "interfaces"))
    registries = (_inside(package, name, _told(settings, "registries")) for name in settings.registries)
    return Layout(package, interfaces, tuple(registries))


def _told(settings: Settings, key: str) -> str:
    from analyzer.settings import COMMAND_LINE

    origin = settings.origin(key)
    return f"--{key}" if origin == COMMAND_LINE else origin


def _inside(package: str, name: str, origin: str) -> PurePosixPath:
    """A file's place in the package, which it has to be in."""
    path = PurePosixPath(os.path.normpath(name).replace(os.sep, "/"))
    if path.parts[:1] != (package,) or path.suffix != ".py":
        raise Failure(f"{origin}: {name}: has to be a module of the package, such as {package}/models/registry.py")
    return path.relative_to(package)


def with_model_roots(checkout: Checkout, settings: Settings) -> Checkout:
    """The checkout with the folders of models that the settings name, relative to vLLM's root, and what they say of
    contracts.

    Raises:
        Failure: there is no such folder.
    """
    from analyzer.checkout import CheckoutError

    checkout = replace(checkout, contract_entries=settings.contract)
    try:
        return checkout.with_model_roots(settings.model_roots)
    except CheckoutError as error:
        raise Failure(f"{settings.origin('model-roots')}: {error}") from None
