"""From a package and one or two trees to a report."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, replace

from analyzer.checkout import Checkout
from analyzer.contracts import Contract, read_contracts
from analyzer.drift.api import Api
from analyzer.drift.became import consumer_with_new_names, use_with_new_name
from analyzer.drift.classes import Classes
from analyzer.drift.found import Found
from analyzer.drift.gates import GateSearch, OutsideGate
from analyzer.drift.guards import Conditions
from analyzer.drift.outside_stores import modules_of, stores_of
from analyzer.drift.overrides import Override, Overrides
from analyzer.drift.package import Module, Package, PackageError
from analyzer.drift.probes import Probes
from analyzer.drift.reader import Reader
from analyzer.drift.records import Before, ConsumerRecord, DriftReport, Evidence, UseRecord
from analyzer.drift.signatures import Signatures
from analyzer.drift.texts import Texts
from analyzer.drift.together import Together, TogetherIndex
from analyzer.drift.uses import Uses
from analyzer.engine import RECURSION, read_checkout
from analyzer.models import is_delegated
from analyzer.problems import Diagnostic
from analyzer.records import TreeRecord

WORD = b"vllm"
"""What a file holds that uses vLLM; others are not looked into."""


@dataclass
class Side:
    """A package held against one tree.

    Args:
        uses, consumers: what is not honoured, and the gates.
        found: the rest of what was found.
        overrides: methods that stand in place of the tree's.
        classes: how many classes derive from the tree's.
        looked: how many files were looked into.
        api: questions about the tree.
        contracts: of the tree.
    """

    uses: list[UseRecord]
    consumers: list[ConsumerRecord]
    found: Found
    overrides: list[Override]
    classes: int
    looked: int
    api: Api
    contracts: dict[str, Contract]
    diagnostics: list[Diagnostic]


def analyse(package: Package, checkout: Checkout, since: Checkout | None = None) -> DriftReport:
    """A package against a tree.

    Args:
        package: third-party code.
        checkout: the tree.
        since: an older tree, to tell what it honoured.

    Raises:
        PackageError: the package is vLLM itself, of another tree.
        EngineError: a tree has no contracts.
    """
    _refuse_vllm(package, checkout)
    sys.setrecursionlimit(max(sys.getrecursionlimit(), RECURSION))
    before = one_side(package, since, {}) if since is not None else None
    others = _gone(before.contracts, checkout, package) if before is not None else {}
    now = one_side(package, checkout, others)
    uses, consumers = now.uses, now.consumers
    if before is not None:
        uses = [use_with_new_name(replace(use, before=_before(use, before)), before.api, now.api) for use in uses]
        uses += _lost_overrides(before, now, package)
        consumers = [
            consumer_with_new_names(replace(one, before=_consumer_before(one, before)), before.api, now.api)
            for one in consumers
        ]
    return DriftReport(
        package=package.root,
        names=tuple(sorted(package.tops)),
        checkout=TreeRecord(checkout.root, checkout.version),
        since=TreeRecord(since.root, since.version) if since is not None else None,
        files=(len(package.files), now.looked),
        checked={**now.found.checked, "classes": now.classes, "gates": len(consumers)},
        uses=sorted(uses, key=lambda use: (use.at, use.kind, use.name)),
        guarded=sorted(now.found.guarded, key=lambda use: (use.at, use.name)),
        unresolved=sorted(now.found.unresolved, key=lambda use: (use.at, use.name)),
        consumers=consumers,
        diagnostics=sorted({*package.diagnostics, *now.diagnostics}),
    )


def _refuse_vllm(package: Package, checkout: Checkout) -> None:
    if checkout.package.name in package.tops and package.root.resolve() != checkout.root.resolve():
        raise PackageError(f"{package.root}: vLLM itself, of another tree; vllm-contracts diff compares two")


def one_side(package: Package, checkout: Checkout, others: dict[str, str]) -> Side:
    """A package against one tree.

    Args:
        package: third-party code.
        checkout: the tree.
        others: methods that contracts have in another tree and not in this one, with the contract's name.
    """
    index = TogetherIndex(checkout, package)
    reader, texts = Reader(index), Texts(checkout)
    api = Api(index, reader, texts)
    classes = Classes(index, reader, texts, api)
    classes.set_outside |= stores_of(package)
    classes.put_in_place |= modules_of(package)
    signatures, found = Signatures(classes), Found()
    uses = Uses(api, classes, signatures, Conditions(checkout.version), found)
    overrides = Overrides(classes, signatures)
    contracts = read_contracts(index, checkout)
    search = GateSearch(classes, contracts, others)
    gates: list[tuple[OutsideGate, Module]] = []
    diagnostics: list[Diagnostic] = []
    looked = 0
    for module in package.modules(WORD):
        looked += 1
        try:
            scope = reader.scope(module.name)
            if scope is None:
                continue
            uses.read(module, scope)
            found.broken += [(use, ()) for use in overrides.read(module)]
            if not index.is_vllm(module.name):
                gates += [(gate, module) for gate in search.read(scope)]
        except RecursionError:
            diagnostics.append(Diagnostic(module.rel, 0, "nested too deeply to be looked through"))
    return Side(
        uses=found.settle(_words(package)),
        consumers=_run(gates, checkout, package),
        found=found,
        overrides=overrides.found,
        classes=overrides.looked_at,
        looked=looked,
        api=api,
        contracts=contracts,
        diagnostics=[*diagnostics, *index.diagnostics],
    )


def _words(package: Package) -> frozenset[str]:
    """Every word of the files that are not looked into."""
    rest = [data for data in package.contents.values() if WORD not in data]
    return frozenset(word.decode() for data in rest for word in re.findall(rb"\w+", data) if word.isascii())


def _run(gates: list[tuple[OutsideGate, Module]], checkout: Checkout, package: Package) -> list[ConsumerRecord]:
    if not gates:
        return []
    probes = Probes(read_checkout(Together.of(checkout, package)))
    records = [probes.run(gate, module) for gate, module in gates]
    return sorted(records, key=lambda record: (record.at, record.contract, record.member))


# -- two trees ---------------------------------------------------------------------------------------


def _gone(older: dict[str, Contract], checkout: Checkout, package: Package) -> dict[str, str]:
    """Methods of contracts that configure the decoder, which the newer tree's contracts do not have any more."""
    newer = read_contracts(TogetherIndex(checkout, package), checkout)
    kept = {m.name for c in newer.values() for m in c.methods}
    return {
        m.name: c.name
        for c in older.values()
        if is_delegated(c) and c.name in newer
        for m in c.methods
        if m.name not in kept
    }


def _before(use: UseRecord, older: Side) -> Before:
    """What an older tree makes of a use that the newer one does not honour."""
    if any(_same(use, other) for other in older.uses):
        return "not-honoured"
    doubtful = [*older.found.unresolved, *older.found.guarded]
    if any((r.at, r.name) == (use.at, use.name) or (r.at == use.at and r.name.endswith("(…)")) for r in doubtful):
        return "not-known"
    return "honoured"


def _same(use: UseRecord, other: UseRecord) -> bool:
    if use.at != other.at or use.kind.partition("-")[0] != other.kind.partition("-")[0]:
        return False
    return use.name == other.name or use.name.rpartition(".")[2] == other.name.rpartition(".")[2]


def _consumer_before(consumer: ConsumerRecord, older: Side) -> Before:
    if not consumer.problems:
        return ""
    same = next((o for o in older.consumers if o.at == consumer.at and o.member == consumer.member), None)
    if same is None:
        return "not-known"
    if set(consumer.problems) <= set(same.problems):
        return "not-honoured"
    return "not-known" if same.unknown and not same.works else "honoured"


def _lost_overrides(older: Side, newer: Side, package: Package) -> list[UseRecord]:
    """Methods that stood in place of the older tree's, and that nothing in the newer one knows by name."""
    kept = {(o.cls, o.method) for o in newer.overrides}
    found = []
    for override in older.overrides:
        if (override.cls, override.method) in kept or newer.api.texts.mention([override.method]):
            continue
        called = f".{override.method}".encode()
        if any(called in data for data in package.contents.values()):
            continue
        name = f"{override.cls.rpartition('.')[2]}.{override.method}"
        text = f"{name} overrides nothing any more: vLLM has no {override.method}, so that nothing calls it"
        evidence = (Evidence(override.base_at, f"{override.base}, in the older tree"),)
        found.append(UseRecord("lost-override", override.at, name, text, evidence, (), "honoured"))
    return found
