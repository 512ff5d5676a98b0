"""The gates of a package, each run on the models of a tree."""

from __future__ import annotations

from collections.abc import Mapping

from analyzer.checkout import Checkout
from analyzer.contracts import Contract, read_contracts
from analyzer.drift.api import Api
from analyzer.drift.classes import Classes
from analyzer.drift.gates import GateSearch, OutsideGate
from analyzer.drift.package import Module, Package
from analyzer.drift.probes import Probes
from analyzer.drift.reader import Reader
from analyzer.drift.records import ConsumerRecord
from analyzer.drift.texts import Texts
from analyzer.drift.together import Together, TogetherIndex
from analyzer.engine import read_checkout
from analyzer.models import is_delegated

WORD = b"vllm"


def consumers(package: Package, checkout: Checkout, others: Mapping[str, str] | None = None) -> list[ConsumerRecord]:
    """Every gate of a package.

    Args:
        package: third-party code.
        checkout: the tree.
        others: members that contracts have in another tree and not in this one, with the contract's name.

    Raises:
        EngineError: the tree has no contracts.
    """
    index = TogetherIndex(checkout, package)
    reader, texts = Reader(index), Texts(checkout)
    classes = Classes(index, reader, texts, Api(index, reader, texts))
    search = GateSearch(classes, read_contracts(index, checkout), others or {})
    found: list[tuple[OutsideGate, Module]] = []
    for module in package.modules(WORD):
        scope = reader.scope(module.name)
        if scope is not None and not index.is_vllm(module.name):
            found += [(gate, module) for gate in search.read(module, scope)]
    if not found:
        return []
    together = Together(checkout.root, checkout.package, checkout.version, checkout.extra_model_roots, package)
    probes = Probes(read_checkout(together))
    records = [probes.run(gate, module) for gate, module in found]
    return sorted(records, key=lambda record: (record.at, record.contract, record.member))


def methods_of(contracts: Mapping[str, Contract]) -> dict[str, str]:
    """Methods of the contracts that configure the decoder, with the contract's name.

    Args:
        contracts: of a tree, by name.
    """
    return {m.name: c.name for c in contracts.values() if is_delegated(c) for m in c.methods}
