"""The facts of a checkout's modules, each read when it is first asked for, or ahead of that in another process."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from analyzer.beside import Pending
from analyzer.checkout import Checkout
from analyzer.extract import extract
from analyzer.facts import ModuleFacts
from analyzer.findings import Diagnostic
from analyzer.source import parse_outline, read_source


class Read(NamedTuple):
    """What became of a module's file: its facts or None, and what is wrong with it, as far as it was looked into."""

    facts: ModuleFacts | None
    problems: list[Diagnostic]


def read_module(checkout: Checkout, name: str) -> Read:
    """Read a module.

    Args:
        checkout: the tree.
        name: dotted; of a module that the tree may not have.
    """
    problems: list[Diagnostic] = []
    path = checkout.find_module(name)
    if path is None:
        return Read(None, problems)
    source = read_source(path, checkout.rel(path))
    parsed = source if isinstance(source, Diagnostic) else parse_outline(source)
    if isinstance(parsed, Diagnostic):
        problems.append(parsed)
        return Read(None, problems)
    is_package = path.name == "__init__.py"
    try:
        facts = extract(*parsed, problems, module=name, path=checkout.rel(path), is_package=is_package)
    except RecursionError:
        problems.append(Diagnostic(checkout.rel(path), 0, "nested too deeply to be read"))
        return Read(None, problems)
    return Read(facts, problems)


def read_ahead(checkout: Checkout, names: Iterable[str]) -> dict[str, Read]:
    """Read modules so that they can be sent to another process: headers too, which are syntax trees until then.

    Args:
        checkout: the tree.
        names: of modules.
    """
    found = {name: read_module(checkout, name) for name in names}
    for facts, _ in found.values():
        for function in facts.all_functions if facts is not None else ():
            function.read_header()
    return found


class Modules:
    """The modules of one checkout.

    Args:
        checkout: the tree.
    """

    def __init__(self, checkout: Checkout) -> None:
        self.checkout = checkout
        self._reads: dict[str, Read] = {}
        self._noted: dict[str, bool] = {}
        self._problems: list[Diagnostic] = []
        self._elsewhere: frozenset[str] = frozenset()
        self._ahead: Pending[dict[str, Read]] | None = None

    def get(self, name: str) -> ModuleFacts | None:
        """Facts of a module, or None where the checkout has no such file or it cannot be read."""
        read = self._reads.get(name)
        if read is None:
            read = self._reads[name] = self._taken(name) or read_module(self.checkout, name)
        return read.facts

    def read_elsewhere(self, names: Iterable[str], ahead: Pending[dict[str, Read]]) -> None:
        """Take modules from what another process read, where that is done when they are asked for.

        Args:
            names: the modules.
            ahead: what :func:`read_ahead` gives there.
        """
        self._elsewhere, self._ahead = frozenset(names), ahead

    def _taken(self, name: str) -> Read | None:
        if name not in self._elsewhere or self._ahead is None or not self._ahead.is_done():
            return None
        return self._ahead().get(name)

    # -- what was read -----------------------------------------------------------------------------

    @property
    def facts(self) -> list[ModuleFacts]:
        """Those of every module that was read so far."""
        return [read.facts for read in self._reads.values() if read.facts is not None]

    @property
    def diagnostics(self) -> list[Diagnostic]:
        """What is wrong with their files."""
        return [*self._problems, *(problem for read in self._reads.values() for problem in read.problems)]

    @property
    def names(self) -> dict[str, bool]:
        """Every module that was looked for, and whether it could be read."""
        return self._noted | {name: read.facts is not None for name, read in self._reads.items()}

    @property
    def asked(self) -> dict[str, set[int]]:
        """The lines of the functions whose bodies were read, by module."""
        return {facts.module: facts.asked for facts in self.facts if facts.asked}

    @property
    def paths(self) -> set[str]:
        """The files of all modules that were looked for, those that could not be read too."""
        found = (self.checkout.find_module(name) for name in self.names)
        return {self.checkout.rel(path) for path in found if path is not None}

    def note(self, names: dict[str, bool], asked: dict[str, set[int]], diagnostics: list[Diagnostic]) -> None:
        """Take note of these properties of a copy of this, of another process."""
        self._noted.update(names)
        for name, lines in asked.items():
            if (read := self._reads.get(name)) is not None and read.facts is not None:
                read.facts.asked |= lines
        known = set(self.diagnostics)
        self._problems += [problem for problem in diagnostics if problem not in known]
