"""The pipeline: open a checkout, read it, apply rules, and hand back one report."""

from __future__ import annotations

import difflib
import gc
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from analyzer.audit import Audit
from analyzer.checkout import Checkout
from analyzer.contracts import Contract, read_contracts
from analyzer.findings import Diagnostic, Finding
from analyzer.gates import find_consumers
from analyzer.index import Index
from analyzer.interpret import Machine
from analyzer.models import WRAPPER_MARKS, Model, ModelSet
from analyzer.registry import read_registry
from analyzer.scan import files_with

# The interpreter follows nested calls: deeper than Python's default allows, far below what a stack can hold.
RECURSION = 5_000


class Checks(Protocol):
    """What the engine needs of a rule."""

    def check(self, audit: Audit) -> Iterator[Finding]:
        """The findings of this rule."""
        ...


@dataclass
class Report:
    """The result of an audit: what renderers and fixers get.

    Args:
        checkout: the tree.
        files_seen: Python files of the model folders.
        files_parsed: files that were parsed.
        contracts, models: what was read.
        findings: sorted by place.
        diagnostics: input that could not be used.
    """

    checkout: Checkout
    files_seen: int
    files_parsed: int
    contracts: list[Contract]
    models: list[Model]
    findings: list[Finding]
    diagnostics: list[Diagnostic] = field(default_factory=list)

    @property
    def failing(self) -> bool:
        """Whether the run counts as having findings: information alone never does."""
        return any(f.severity != "info" for f in self.findings)


class EngineError(Exception):
    """The checkout cannot be audited at all; one line for the user."""


def read_checkout(checkout: Checkout, wanted: Sequence[str] = ()) -> Audit:
    """Everything before rules.

    Args:
        checkout: an opened tree.
        wanted: names of contracts that the tree has to have.

    Raises:
        EngineError: the interfaces module cannot be read, or has no contract of a wanted name.
    """
    sys.setrecursionlimit(max(sys.getrecursionlimit(), RECURSION))
    index = Index(checkout)
    contracts = read_contracts(index, checkout)
    if not contracts:
        why = index.diagnostics[0].message if index.diagnostics else "it defines no Protocol"
        raise EngineError(f"{checkout.rel(checkout.interfaces_path)} cannot be used: {why}")
    for name in wanted:
        if name not in contracts:
            near = difflib.get_close_matches(name.lower(), [c.lower() for c in contracts], n=1)
            meant = next((f"; did you mean {c}?" for c in contracts if c.lower() in near), "")
            known = f"; it has {', '.join(sorted(contracts))}"
            raise EngineError(f"this checkout has no contract {name}{meant or known}")
    registry = read_registry(index)
    machine = Machine(index, registry)
    files = [path for root in checkout.model_roots for path in checkout.python_files(root)]
    modules = [checkout.module_name(path) for path in files_with(files, WRAPPER_MARKS)]
    model_set = ModelSet(index, registry, machine, contracts, modules)
    names = (entry.cls for rows in registry.entries.values() for entry in rows)
    consumers = find_consumers(checkout, contracts, names)
    diagnostics = {*index.diagnostics, *registry.problems(), *consumers.diagnostics, *checkout.walk_diagnostics}
    return Audit(checkout, index, registry, contracts, consumers, model_set, sorted(diagnostics))


def _without_collection(checkout: Checkout, wanted: Sequence[str]) -> Audit:
    """Read with the garbage collector off: hundreds of thousands of small tuples would make it run all the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        return read_checkout(checkout, wanted)
    finally:
        if was_on:
            gc.enable()


def audit(
    checkout: Checkout,
    rules: Iterable[Checks],
    *,
    contracts: Sequence[str] = (),
) -> Report:
    """Audit a checkout.

    Args:
        checkout: an opened tree.
        rules: which rules to apply.
        contracts: names of contracts to report on; all unless given.

    Raises:
        EngineError: the tree cannot be audited, or a contract's name is not one of the tree's.
    """
    return read_and_judge(checkout, rules, contracts=contracts)[1]


def read_and_judge(
    checkout: Checkout, rules: Iterable[Checks], *, contracts: Sequence[str] = ()
) -> tuple[Audit, Report]:
    """As :func:`audit`, with what was read beside the report."""
    read = _without_collection(checkout, contracts)
    return read, judge(read, rules, contracts)


def judge(read: Audit, rules: Iterable[Checks], contracts: Sequence[str] = ()) -> Report:
    """Apply rules to what was read.

    Args:
        read: a checkout.
        rules, contracts: as for :func:`audit`.
    """
    findings = [f for rule in rules for f in rule.check(read) if not contracts or f.contract in contracts]
    return Report(
        checkout=read.checkout,
        files_seen=sum(len(read.checkout.python_files(root)) for root in read.checkout.model_roots),
        files_parsed=read.index.files_parsed,
        contracts=list(read.contracts.values()),
        models=read.models,
        findings=sorted(findings, key=lambda f: f.sort_key),
        diagnostics=read.diagnostics,
    )
