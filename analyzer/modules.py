"""The facts of a checkout's modules, each read when it is first asked for."""

from __future__ import annotations

from typing import NamedTuple

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
    rel = checkout.rel(path)
    source = read_source(path, rel)
    parsed = source if isinstance(source, Diagnostic) else parse_outline(source)
    if isinstance(parsed, Diagnostic):
        problems.append(parsed)
        return Read(None, problems)
    is_package = path.name == "__init__.py"
    try:
        facts = extract(*parsed, problems, module=name, path=rel, is_package=is_package)
    except RecursionError:
        problems.append(Diagnostic(rel, 0, "nested too deeply to be read"))
        return Read(None, problems)
    return Read(facts, problems)


class Modules:
    """The modules of one checkout.

    Args:
        checkout: the tree.
    """

    def __init__(self, checkout: Checkout) -> None:
        self.checkout = checkout
        self._reads: dict[str, Read] = {}

    def get(self, name: str) -> ModuleFacts | None:
        """Facts of a module, or None where the checkout has no such file or it cannot be read."""
        read = self._reads.get(name)
        if read is None:
            read = self._reads[name] = read_module(self.checkout, name)
        return read.facts

    # -- what was read -----------------------------------------------------------------------------

    @property
    def facts(self) -> list[ModuleFacts]:
        """Those of every module that was read so far."""
        return [read.facts for read in self._reads.values() if read.facts is not None]

    @property
    def diagnostics(self) -> list[Diagnostic]:
        """What is wrong with their files."""
        return [problem for read in self._reads.values() for problem in read.problems]

    @property
    def names(self) -> dict[str, bool]:
        """Every module that was looked for, and whether it could be read."""
        return {name: read.facts is not None for name, read in self._reads.items()}

    @property
    def paths(self) -> set[str]:
        """The files of all modules that were looked for, those that could not be read too."""
        found = (self.checkout.find_module(name) for name in self.names)
        return {self.checkout.rel(path) for path in found if path is not None}
