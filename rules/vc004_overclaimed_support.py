"""VC004 overclaimed-support."""

from __future__ import annotations

from collections.abc import Iterator

from analyzer import evidence
from analyzer.audit import Audit
from analyzer.findings import Finding, Fix
from analyzer.models import Status
from rules._rule import Rule


class OverclaimedSupport(Rule):
    """A wrapper passes the check, usually by inheritance, and its inner model does not support the contract at all."""

    code = "VC004"
    name = "overclaimed-support"
    severity = "error"
    what = "A wrapper passes a contract's checker, and its inner model does not support the contract."
    why = (
        "The engine believes the claim and fails behind it, or goes on without the auxiliary states and the drafter "
        "guesses blindly."
    )
    how = "Teach the inner model, or do not inherit the claim: no mechanical repair is offered."

    def check(self, audit: Audit) -> Iterator[Finding]:
        for contract in audit.delegated:
            claiming = [m for m in audit.serving if m.inner and _overclaims(audit.status(m, contract))]
            for owner, models in audit.by_owner(claiming):
                model = models[0]
                status = audit.status(model, contract)
                alternative = status.alternatives[0]
                names = " or ".join(dict.fromkeys(a.cls.name for a in status.alternatives if a.cls is not None))
                attribute = alternative.inner.attribute if alternative.inner is not None else ""
                yield self.finding(
                    contract,
                    owner,
                    audit.position(owner),
                    f"{owner.name} passes {contract.checker}, but its inner model self.{attribute}, {names}, "
                    f"does not support {contract.name}",
                    architectures=audit.architectures(models),
                    fix=Fix("none", f"{names} itself would have to support {contract.name} first"),
                    chain=evidence.chain_links(audit, model, status, alternative),
                    gates=audit.gate_uses(contract),
                    builds_inner=audit.site_position(alternative.inner),
                )


def _overclaims(status: Status) -> bool:
    alternatives = status.alternatives
    if not status.satisfied or not alternatives or status.config_decides:
        return False
    return all(a.supported is False and a.outer.ok is False for a in alternatives)
