"""The tree that a command works on: which one, and its report, from the cache where it is known already."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from analyzer.commands.failure import Failure
from analyzer.commands.progress import fetching, working
from analyzer.commands.where import cache_folder_of, warn
from analyzer.problems import InputError
from analyzer.timings import Stage, unmeasured

if TYPE_CHECKING:
    from analyzer.audit import Audit
    from analyzer.cache import Cache, Equal, State
    from analyzer.checkout import Checkout, Layout
    from analyzer.records import Report

Rests = Literal["report", "sources", "tree"]
"""What a result takes from the tree; see :meth:`Tree.known`."""


@contextmanager
def failing_in_one_line() -> Iterator[None]:
    """Turn the errors that the earlier stages have for users into one line."""
    try:
        yield
    except InputError as error:
        raise Failure(str(error)) from error


def open_tree(
    path: Path | None,
    release: str | None = None,
    python: Path | None = None,
    cache_dir: Path | None = None,
    layout: Layout | None = None,
) -> Checkout:
    """The tree that a command line names: a folder, a release, or what is installed.

    Args:
        path, release, python: the arguments of the same names.
        cache_dir: where releases are kept.
        layout: what the tree calls things, where not as vLLM does.

    Raises:
        CheckoutError, ReleaseError: there is none.
    """
    from analyzer.checkout import AS_VLLM, open_checkout

    layout = layout or AS_VLLM

    if release is not None:
        from analyzer.release import fetch_release

        with fetching(release) as progress:
            path = fetch_release(release, cache_dir=cache_folder_of(cache_dir), progress=progress)
    if path is None:
        from analyzer.installed import find_installed

        path = find_installed(python, layout.package)
    return open_checkout(path, layout)


def open_named(
    word: str, cache_dir: Path | None = None, python: Path | None = None, layout: Layout | None = None
) -> Checkout:
    """The vLLM tree that a word stands for: a folder, the number of a release, or ``installed``.

    Args:
        word: as typed; a folder of that name comes first.
        cache_dir: the option of the same name.
        python: whose vLLM ``installed`` is; this interpreter's unless given.
        layout: see :func:`open_tree`.

    Raises:
        InputError: there is none.
    """
    from analyzer.settings import INSTALLED, RELEASE

    path = Path(word).expanduser()
    if path.exists():
        return open_tree(path, layout=layout)
    if word == INSTALLED:
        return open_tree(None, None, python, layout=layout)
    number = RELEASE.fullmatch(word)
    if number is None:
        raise InputError(f"{word}: no such folder, no release number such as 0.33.0, and not {INSTALLED}")
    return open_tree(None, number[1], None, cache_dir, layout)


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

    def known(self, product: str, make: Callable[[], bytes], *, rests_on: Rests = "report") -> bytes:
        """A result that depends on nothing but the tree and ``product``; made where it is not known yet.

        Args:
            product: a name for it.
            make: makes it.
            rests_on: what it takes from the tree.  With ``report``, all is in the report, so that edits that the report
                does not depend on do not matter either; with ``sources``, it is there or in files that the report
                rests on; with ``tree``, anywhere.
        """
        if self.cache is None or self.state is None:
            return make()
        found = self.cache.load(self.state, product)
        if found is None and rests_on != "tree" and (equal := self.equal) is not None:
            if not equal.moves or (rests_on == "report" and not equal.lines_moved):
                found = self.cache.load(equal.state, product)
                if found is not None:
                    self.cache.store(self.state, product, found)
        if found is None:
            found = make()
            self.cache.store(self.state, product, found)
        return found

    @cached_property
    def equal(self) -> Equal | None:
        """An earlier state of the tree that differs in nothing that a report rests on."""
        return self.cache.equal(self.state) if self.cache is not None and self.state is not None else None

    def report(self, on_request: Sequence[str] = ()) -> Report:
        """The audit on all contracts with all rules that are applied by default.

        Args:
            on_request: codes of more rules to apply.

        Raises:
            EngineError: the tree cannot be audited.
        """
        from analyzer import codec
        from analyzer.records import Report

        if self.cache is None:
            return self._audit(on_request)[1]
        product = "-".join(("report", *on_request))
        fresh: list[Report] = []

        def make() -> bytes:
            if (moved := self._moved(product)) is not None:
                return moved
            read, report = self._audit(on_request)
            fresh.append(report)
            if self.cache is not None and self.state is not None:
                from analyzer.survey import partly_read

                self.cache.found(self.state, report.searched, partly_read(read, report))
            return codec.encode(report)

        data = self.known(product, make)
        if fresh:
            return fresh[0]
        try:
            report = codec.decode(data, Report)
        except codec.CodecError:  # its checksum is right: written by something that is not this tool
            return self._audit(on_request)[1]
        return replace(report, checkout=self.checkout.record())

    def _moved(self, product: str) -> bytes | None:
        """The report of an equal state with the lines where they are now; None where there is none."""
        from analyzer import codec

        if self.cache is None or self.equal is None or not self.equal.lines_moved:
            return None
        found = self.cache.load(self.equal.state, product)
        try:
            return codec.moved(found, {rel: moves.line for rel, moves in self.equal.moves.items()}) if found else None
        except codec.CodecError:
            return None

    def _audit(self, on_request: Sequence[str]) -> tuple[Audit, Report]:
        from analyzer import engine
        from rules import all_rules

        with working(f"reading vLLM {self.checkout.version or ''}"):
            made = engine.read_and_judge(self.checkout, all_rules(), on_request=on_request, stage=self.stage)
        gc.freeze()  # a command ends soon: nothing of this becomes garbage that is worth looking for, then or at exit
        return made


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
