"""The tree that a command works on: which one, and its report, from the cache where it is known already."""

from __future__ import annotations

import gc
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from analyzer.commands.failure import Failure, one_line
from analyzer.commands.progress import fetching, working
from analyzer.problems import InputError
from analyzer.timings import Stage, unmeasured

if TYPE_CHECKING:
    from analyzer.cache import Cache, State
    from analyzer.checkout import Checkout
    from analyzer.records import Report

F = TypeVar("F", bound=Callable[..., Any])


cache_folder = click.option(
    "--cache-dir",
    metavar="FOLDER",
    type=click.Path(path_type=Path),
    help="Where results and releases are kept; vllm-contracts cache path says where by default.",
)


def cache_options(command: F) -> F:
    """``--no-cache`` and ``--cache-dir``, for commands that read a tree."""
    command = click.option("--no-cache", is_flag=True, help="Read everything anew, and keep nothing.")(command)
    return cache_folder(command)


@contextmanager
def failing_in_one_line() -> Iterator[None]:
    """Turn the errors that the earlier stages have for users into one line."""
    try:
        yield
    except InputError as error:
        raise Failure(str(error)) from error


def open_tree(
    path: Path | None, release: str | None = None, python: Path | None = None, cache_dir: Path | None = None
) -> Checkout:
    """The tree that a command line names: a folder, a release, or what is installed.

    Raises:
        CheckoutError, ReleaseError: there is none.
    """
    from analyzer.checkout import open_checkout

    if release is not None:
        from analyzer.release import fetch_release

        with fetching(release) as progress:
            path = fetch_release(release, cache_dir=cache_folder_of(cache_dir), progress=progress)
    if path is None:
        from analyzer.installed import find_installed

        path = find_installed(python)
    return open_checkout(path)


INSTALLED = "installed"
RELEASE = re.compile(r"v?(\d+\.\d+(\.\d+)*([a-z]+\d+)?(\.post\d+)?)")


def open_named(word: str, cache_dir: Path | None = None, python: Path | None = None) -> Checkout:
    """The vLLM tree that a word stands for: a folder, the number of a release, or ``installed``.

    Args:
        word: as typed; a folder of that name comes first.
        cache_dir: the option of the same name.
        python: whose vLLM ``installed`` is; this interpreter's unless given.

    Raises:
        InputError: there is none.
    """
    path = Path(word).expanduser()
    if path.exists():
        return open_tree(path)
    if word == INSTALLED:
        return open_tree(None, None, python)
    number = RELEASE.fullmatch(word)
    if number is None:
        raise InputError(f"{word}: no such folder, no release number such as 0.33.0, and not {INSTALLED}")
    return open_tree(None, number[1], None, cache_dir)


def cache_folder_of(cache_dir: Path | None) -> Path:
    """The folder of the cache: the one that is given, or the usual one."""
    if cache_dir is not None:
        return cache_dir
    from analyzer.folders import default_cache_dir

    return default_cache_dir()


@dataclass
class Tree:
    """A checkout and what is known of it.

    Args:
        checkout: an opened tree.
        cache: its results; None to do without.
        stage: what each part of an audit is run under.
    """

    checkout: Checkout
    cache: Cache | None
    stage: Stage = unmeasured

    @cached_property
    def state(self) -> State | None:
        """What the tree holds; None without a cache."""
        if self.cache is None:
            return None
        with self.stage("search for changes"):
            return self.cache.state()

    def known(self, product: str, make: Callable[[], bytes], *, of_report: bool = True) -> bytes:
        """A result that depends on nothing but the tree and ``product``; made where it is not known yet.

        Args:
            product: a name for it.
            make: makes it.
            of_report: whether all that it takes from the tree is in the report, so that edits that the report does
                not depend on do not matter either.
        """
        if self.cache is None or self.state is None:
            return make()
        found = self.cache.load(self.state, product)
        if found is None and of_report and (equal := self.cache.equal(self.state)) is not self.state:
            found = self.cache.load(equal, product)
            if found is not None:
                self.cache.store(self.state, product, found)
        if found is None:
            found = make()
            self.cache.store(self.state, product, found)
        return found

    def report(self) -> Report:
        """The audit with all rules on all contracts.

        Raises:
            EngineError: the tree cannot be audited.
        """
        from analyzer import codec
        from analyzer.records import Report, TreeRecord

        fresh: list[Report] = []

        def make() -> bytes:
            fresh.append(self._audit())
            if self.cache is not None and self.state is not None:
                self.cache.found(self.state, fresh[0].searched.words, fresh[0].searched.read)
            return codec.encode(fresh[0])

        if self.cache is None:
            return self._audit()
        data = self.known("report", make)
        if fresh:
            return fresh[0]
        try:
            report = codec.decode(data, Report)
        except codec.CodecError:  # its checksum is right: written by something that is not this tool
            return self._audit()
        return replace(report, checkout=TreeRecord(self.checkout.root, self.checkout.version))

    def _audit(self) -> Report:
        from analyzer import engine
        from rules import all_rules

        with working(f"reading vLLM {self.checkout.version or ''}"):
            report = engine.audit(self.checkout, all_rules(), stage=self.stage)
        gc.freeze()  # a command ends soon: nothing of this becomes garbage that is worth looking for, then or at exit
        return report


def tree_of(checkout: Checkout, *, no_cache: bool = False, cache_dir: Path | None = None) -> Tree:
    """A checkout with its part of the cache.

    Args:
        checkout: an opened tree.
        no_cache, cache_dir: the options of the same names.
    """
    if no_cache:
        return Tree(checkout, None)
    from analyzer.cache import Cache

    return Tree(checkout, Cache(cache_folder_of(cache_dir), checkout, warn))


def warn(message: str) -> None:
    """A warning in one line on standard error."""
    click.echo(f"warning: {one_line(message)}", err=True)
