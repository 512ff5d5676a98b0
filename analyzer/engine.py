"""The pipeline: open a checkout, read it, apply rules, and hand back one report."""

from __future__ import annotations

import gc
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import partial
from typing import Protocol

from analyzer.audit import Audit
from analyzer.beside import beside
from analyzer.checkout import Checkout
from analyzer.checkpoint import Checkpoint
from analyzer.collection import without_collection
from analyzer.contracts import Contract, read_contracts
from analyzer.findings import Finding
from analyzer.gates import Consumers, find_consumers
from analyzer.index import Index
from analyzer.interpret import Machine
from analyzer.models import WRAPPER_MARKS, ModelSet
from analyzer.nearest import did_you_mean
from analyzer.problems import InputError
from analyzer.records import Report
from analyzer.registrations import METHOD, Registrations, add_registrations, read_registrations
from analyzer.registry import Registry, read_registry
from analyzer.scan import files_with
from analyzer.survey import survey
from analyzer.timings import Stage, unmeasured

# The interpreter follows nested calls: deeper than Python's default allows, far below what a stack can hold.
RECURSION = 5_000
LARGE = 500
"""Python files of a package above which a second process takes less time than it costs."""


class Checks(Protocol):
    """What the engine needs of a rule; one that says ``default = False`` is applied where its ``code`` is asked for."""

    def check(self, audit: Audit, /) -> Iterator[Finding]:
        """The findings of this rule."""
        ...


class EngineError(InputError):
    """The checkout cannot be audited at all; one line for the user."""


def read_checkout(checkout: Checkout, wanted: Sequence[str] = (), stage: Stage = unmeasured) -> Audit:
    """Everything before rules.

    Args:
        checkout: an opened tree.
        wanted: names of contracts that the tree has to have.
        stage: what each part is run under.

    Raises:
        EngineError: the interfaces module cannot be read, or has no contract of a wanted name.
    """
    with stage("contracts and registry"):
        index, contracts = _contracts(checkout, wanted)
        registry, registered = _registry(index)
        machine = Machine(index, registry)
    with stage("search for wrappers"):
        files = [path for root in checkout.judged_roots for path in checkout.python_files(root)]
        modules = [checkout.module_name(path) for path in files_with(files, WRAPPER_MARKS)]
        names = frozenset(entry.cls for rows in registry.entries.values() for entry in rows)
        large = len(checkout.python_files()) > LARGE
    with beside(partial(find_consumers, checkout, contracts, names), pays=large) as found_beside:
        with stage("models"):
            model_set = ModelSet(index, registry, machine, contracts, modules)
        with stage("consumers"):
            consumers = found_beside()
    diagnostics = {*index.diagnostics, *registry.problems(), *consumers.diagnostics, *checkout.walk_diagnostics}
    diagnostics.update(registered.problems)
    read = Audit(checkout, index, registry, contracts, consumers, model_set, sorted(diagnostics))
    if checkout.plugin is not None and not registered.entries and not read.judged:
        looked = f"{METHOD} in {len(files)} files"
        raise EngineError(f"{checkout.root}: {checkout.plugin.name} registers no model with vLLM (looked for {looked})")
    return read


def _registry(index: Index) -> tuple[Registry, Registrations]:
    """vLLM's tables with what a plugin registers, and that by itself."""
    registry = read_registry(index)
    registered = read_registrations(index, registry) if index.checkout.plugin is not None else Registrations()
    add_registrations(registry, registered)
    return registry, registered


def _contracts(checkout: Checkout, wanted: Sequence[str]) -> tuple[Index, dict[str, Contract]]:
    sys.setrecursionlimit(max(sys.getrecursionlimit(), RECURSION))
    index = Index(checkout)
    contracts = read_contracts(index, checkout)
    if not contracts:
        why = index.diagnostics[0].message if index.diagnostics else "it defines no Protocol"
        raise EngineError(f"{checkout.rel(checkout.interfaces_path)} cannot be used: {why}")
    require_contracts(contracts, wanted)
    return index, contracts


def read_model(
    checkout: Checkout,
    architectures: Sequence[str],
    checkpoint: Checkpoint | None,
    contract: str,
    kept_in: Sequence[str],
) -> Audit:
    """Some models on one contract, with what a checkpoint's configuration decides.

    Args:
        checkout: an opened tree.
        architectures: registered names; nothing else is looked at.
        checkpoint: the configuration; None to leave open what it decides.
        contract: the name of one of the tree's contracts.
        kept_in: see :class:`analyzer.records.ContractRecord`: what a whole run found.

    Returns:
        An audit without consumers: those do not depend on the checkpoint.

    Raises:
        EngineError: the interfaces module cannot be read, or has no such contract.
    """
    index, contracts = _contracts(checkout, [contract])
    registry, _ = _registry(index)
    machine = Machine(index, registry, checkpoint)
    wanted = {contract: contracts[contract]}
    known = {contract: set(kept_in)}
    model_set = ModelSet(index, registry, machine, wanted, (), only=architectures, capture_attributes=known)
    return Audit(checkout, index, registry, wanted, Consumers(), model_set, sorted(set(index.diagnostics)))


def require_contracts(contracts: Collection[str], wanted: Sequence[str]) -> None:
    """Refuse names that no contract of the checkout has.

    Args:
        contracts: the names that there are.
        wanted: those that somebody asks for.

    Raises:
        EngineError: for the first that there is not, with the nearest.
    """
    for name in wanted:
        if name not in contracts:
            hint = did_you_mean(name, contracts, f"it has {', '.join(sorted(contracts))}")
            raise EngineError(f"this checkout has no contract {name}{hint}")


def audit(
    checkout: Checkout,
    rules: Iterable[Checks],
    *,
    contracts: Sequence[str] = (),
    on_request: Collection[str] = (),
    stage: Stage = unmeasured,
) -> Report:
    """Audit a checkout.

    Args:
        checkout: an opened tree.
        rules: which rules to apply.
        contracts: names of contracts to report on; all unless given.
        on_request: codes of rules to apply that are not applied by default.
        stage: what each part is run under.

    Raises:
        EngineError: the tree cannot be audited, or a contract's name is not one of the tree's.
    """
    return read_and_judge(checkout, rules, contracts=contracts, on_request=on_request, stage=stage)[1]


def read_and_judge(
    checkout: Checkout,
    rules: Iterable[Checks],
    *,
    contracts: Sequence[str] = (),
    on_request: Collection[str] = (),
    stage: Stage = unmeasured,
) -> tuple[Audit, Report]:
    """As :func:`audit`, with what was read beside the report."""
    with without_collection():  # hundreds of thousands of small tuples would make it run all the time
        read = read_checkout(checkout, contracts, stage)
        report = judge(read, rules, contracts, stage, on_request)
        gc.freeze()  # what was read stays: one look through all of it takes a tenth of a run
    gc.unfreeze()
    return read, report


def judge(
    read: Audit,
    rules: Iterable[Checks],
    contracts: Sequence[str] = (),
    stage: Stage = unmeasured,
    on_request: Collection[str] = (),
) -> Report:
    """Apply rules to what was read.

    Args:
        read: a checkout.
        rules, contracts, stage, on_request: as for :func:`audit`.
    """
    with stage("rules"):
        applied = [rule for rule in rules if getattr(rule, "default", True) or getattr(rule, "code", "") in on_request]
        found = [f for rule in applied for f in rule.check(read) if not contracts or f.contract in contracts]
        findings = read.judged_findings(found)
    with stage("survey of the models"):
        return survey(read, findings)
