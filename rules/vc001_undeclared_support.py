"""VC001 undeclared-support."""

from __future__ import annotations

from collections.abc import Iterator

from analyzer import evidence, repair
from analyzer.audit import Audit
from analyzer.contracts import Contract
from analyzer.findings import Confidence, Finding
from analyzer.index import ClassInfo
from analyzer.models import Model, Status
from rules._rule import Rule


class UndeclaredSupport(Rule):
    """The inner model passes a contract's checker and the wrapper around it fails it.

    The runner asks the outer model.  A wrapper that neither inherits the Protocol nor has its members is refused,
    whatever its inner model can do.
    """

    code = "VC001"
    name = "undeclared-support"
    severity = "error"
    what = "A wrapper fails a contract's checker although its inner model passes it."
    why = (
        "The runner asks the outer model, after it was loaded: the feature is refused with "
        '"Model does not support EAGLE3 interface", often half an hour into the start.'
    )
    how = (
        "Add the Protocol to the wrapper's bases. Where the contract's default does not reach the decoder, "
        "delegate its methods to the inner model's own; where the configuration chooses the inner model, "
        "ask it first and raise a clear error."
    )

    def check(self, audit: Audit) -> Iterator[Finding]:
        for contract in audit.delegated:
            lacking = [
                m
                for m in audit.serving
                if m.inner
                and audit.status(m, contract).satisfied is False
                and any(a.supported for a in audit.status(m, contract).alternatives)
            ]
            for owner, models in audit.by_owner(lacking):
                yield self._report(audit, contract, owner, models)

    def _report(self, audit: Audit, contract: Contract, owner: ClassInfo, models: list[Model]) -> Finding:
        model = models[0]
        status = audit.status(model, contract)
        alternative = next(a for a in status.alternatives if a.supported)
        confidence = _confidence(status)
        architectures = audit.architectures(models)
        return self.finding(
            contract,
            owner,
            audit.position(owner),
            _message(status, owner, contract),
            architectures=architectures,
            confidence=confidence,
            severity="error" if confidence == "certain" and architectures else "warning",
            fix=repair.declare(audit, owner, models, status),
            chain=evidence.chain_links(audit, model, status, alternative, repaired=True),
            gates=audit.gate_uses(contract),
            builds_inner=audit.site_position(alternative.inner),
        )


def _confidence(status: Status) -> Confidence:
    if any(a.inner is not None and a.inner.resolution == "unresolved" for a in status.alternatives):
        return "unresolved"
    if status.config_decides or not all(a.supported for a in status.alternatives):
        return "config-dependent"
    return "certain"


def _message(status: Status, owner: ClassInfo, contract: Contract) -> str:
    supported = [a for a in status.alternatives if a.supported]
    if status.config_decides:
        attribute = next(a.inner.attribute for a in supported if a.inner is not None)
        return (
            f"{owner.name} fails {contract.checker}, and the model that the configuration chooses for "
            f"self.{attribute} may support {contract.name}"
        )
    names = " or ".join(dict.fromkeys(a.cls.name for a in supported if a.cls is not None))
    attribute = next((a.inner.attribute for a in supported if a.inner is not None), "")
    return (
        f"{owner.name} fails {contract.checker} although its inner model self.{attribute}, "
        f"{names}, supports {contract.name}"
    )
