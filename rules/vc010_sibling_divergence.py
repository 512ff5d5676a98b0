"""VC010 sibling-divergence."""

from __future__ import annotations

from collections.abc import Iterator

from analyzer import evidence
from analyzer.audit import Audit
from analyzer.findings import Finding, Fix
from analyzer.models import Model
from rules._rule import Rule


class SiblingDivergence(Rule):
    """Platform variants of one architecture differ in whether they pass a contract's checker."""

    code = "VC010"
    name = "sibling-divergence"
    severity = "warning"
    what = "Platform variants of one architecture differ in support: one passes the checker, another does not."
    why = "The same checkpoint and command line work on one platform and are refused on another."
    how = "Declare and honour the contract in every variant that can; see VC001 and VC011 for the repair."

    def check(self, audit: Audit) -> Iterator[Finding]:
        by_architecture: dict[str, list[Model]] = {}
        for model in audit.serving:
            for architecture in model.architectures:
                by_architecture.setdefault(architecture, []).append(model)
        for contract in audit.delegated:
            lacking: dict[str, tuple[Model, Model, list[str]]] = {}
            for architecture, variants in by_architecture.items():
                passing = [m for m in variants if audit.status(m, contract).satisfied]
                for model in variants:
                    twin = next((p for p in passing if p.cls.name == model.cls.name and p is not model), None)
                    if twin is not None and audit.status(model, contract).satisfied is False:
                        lacking.setdefault(model.cls.key, (model, twin, []))[2].append(architecture)
            for model, twin, architectures in lacking.values():
                status = audit.status(model, contract)
                yield self.finding(
                    contract,
                    model.cls,
                    audit.position(model.cls),
                    f"{model.cls.name} in {model.cls.path} fails {contract.checker}, while its variant in "
                    f"{twin.cls.path} passes it",
                    architectures=sorted(architectures),
                    fix=Fix("none", "see the finding of VC001 or VC011 for this class, where its decoder captures"),
                    chain=evidence.chain_links(audit, model, status, status.alternatives[0]),
                    gates=audit.gate_uses(contract),
                )
