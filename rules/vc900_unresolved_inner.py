"""VC900 unresolved-inner."""

from __future__ import annotations

from collections.abc import Iterator

from analyzer import evidence
from analyzer.audit import Audit
from analyzer.findings import Finding, Fix
from rules._rule import Rule


class UnresolvedInner(Rule):
    """What a wrapper builds as its inner model could not be determined from the source."""

    code = "VC900"
    name = "unresolved-inner"
    severity = "info"
    what = "The inner model of a wrapper could not be determined; the finding says why."
    why = "Nothing can be said of this wrapper's support: silence here would be a guess."
    how = "Build the inner model in a way that names it, or look at the chain by hand."

    def check(self, audit: Audit) -> Iterator[Finding]:
        for contract in audit.delegated:
            for model in audit.serving:
                unresolved = [i for i in model.inner if i.resolution == "unresolved"]
                if not unresolved:
                    continue
                status = audit.status(model, contract)
                alternative = next(a for a in status.alternatives if a.inner in unresolved)
                yield self.finding(
                    contract,
                    model.cls,
                    audit.position(model.cls),
                    f"what {model.cls.name} builds as self.{unresolved[0].attribute} could not be determined: "
                    f"{unresolved[0].reason}",
                    architectures=model.architectures,
                    confidence="unresolved",
                    fix=Fix("none", "nothing is known to repair"),
                    chain=evidence.chain_links(audit, model, status, alternative),
                    gates=audit.gate_uses(contract),
                    builds_inner=audit.site_position(alternative.inner),
                )
