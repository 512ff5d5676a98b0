"""VC006 dropped-aux-states."""

from __future__ import annotations

from collections.abc import Iterator

from analyzer import evidence
from analyzer.audit import Audit
from analyzer.findings import Finding, Fix, Position
from rules._rule import Rule


class DroppedAuxStates(Rule):
    """A class passes the check, its decoder collects, and its forward does not return the result as it came."""

    code = "VC006"
    name = "dropped-aux-states"
    severity = "error"
    what = "A model's forward unpacks, scales or wraps the decoder's result, so that the auxiliary states are lost."
    why = "With auxiliary states the decoder returns a tuple: forward fails on it, or silently loses them."
    how = "Return the inner result as it came, or take it apart and put it together again where it is a tuple."

    def check(self, audit: Audit) -> Iterator[Finding]:
        for contract in audit.delegated:
            dropping = [
                m
                for m in audit.serving
                if audit.status(m, contract).satisfied
                and all(
                    a.outer.handing is not None and a.outer.handing.ok is False
                    for a in audit.status(m, contract).alternatives
                )
            ]
            for owner, models in audit.by_owner(dropping):
                model = models[0]
                status = audit.status(model, contract)
                alternative = status.alternatives[0]
                handing = alternative.outer.handing
                assert handing is not None
                where = handing.owner or model.cls
                yield self.finding(
                    contract,
                    owner,
                    audit.position(owner),
                    f"{owner.name} passes {contract.checker}, but {handing.detail}",
                    architectures=audit.architectures(models),
                    fix=Fix("none", "what forward should do with the auxiliary states is the author's to say"),
                    chain=evidence.chain_links(audit, model, status, alternative),
                    gates=audit.gate_uses(contract),
                    builds_inner=audit.site_position(alternative.inner) or Position(where.path, handing.line),
                )
