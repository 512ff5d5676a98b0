"""VC003 unreachable-decoder."""

from __future__ import annotations

from collections.abc import Iterator

from analyzer import evidence, repair
from analyzer.audit import Audit
from analyzer.contracts import Contract
from analyzer.findings import Finding, Fix
from analyzer.models import Alternative, Model, Status
from rules._rule import Rule


class UnreachableDecoder(Rule):
    """A class passes the check and its effective method cannot reach the decoder.

    The path is wrong, an attribute is missing, an assertion fails, or the layers land nowhere.
    """

    code = "VC003"
    name = "unreachable-decoder"
    severity = "error"
    what = "A class passes a contract's checker, and the effective method fails on its way to the decoder."
    why = "The check is passed and the start fails behind it, with an AttributeError or AssertionError of no help."
    how = "Delegate the methods explicitly to the inner model's own."

    def check(self, audit: Audit) -> Iterator[Finding]:
        for contract in audit.delegated:
            broken = [m for m in audit.serving if _unreachable(audit.status(m, contract))]
            for owner, models in audit.by_owner(broken):
                model = models[0]
                status = audit.status(model, contract)
                alternative = _first_broken(status)
                result = alternative.outer.broken
                assert result is not None
                yield self.finding(
                    contract,
                    owner,
                    audit.position(owner),
                    f"{owner.name} passes {contract.checker}, but {result.method.name} cannot reach the decoder: "
                    f"{result.reason}",
                    architectures=audit.architectures(models),
                    confidence="config-dependent" if status.config_decides else "certain",
                    fix=_fix(audit, contract, model, status, alternative),
                    chain=evidence.chain_links(audit, model, status, alternative),
                    gates=audit.gate_uses(contract),
                    builds_inner=audit.site_position(alternative.inner),
                )


def _unreachable(status: Status) -> bool:
    if not status.satisfied or not status.alternatives:
        return False
    if not all(_broken(a) for a in status.alternatives):
        return False  # for some of the models that the configuration can choose it works
    inner = [a for a in status.alternatives if a.inner is not None]
    return not inner or any(a.supported for a in inner)


def _broken(alternative: Alternative) -> bool:
    result = alternative.outer.broken
    return result is not None and result.how != "stub"


def _first_broken(status: Status) -> Alternative:
    return next(a for a in status.alternatives if _broken(a) and a.supported is not False)


def _fix(audit: Audit, contract: Contract, model: Model, status: Status, alternative: Alternative) -> Fix:
    inner, own = alternative.inner, alternative.own
    if inner is None or own is None:
        return Fix("none", "the class has no inner model to hand the methods on to")
    if own.ok is False:
        return Fix("none", f"{own.root.cls.name}'s own chain does not work either")
    owner = audit.owner(model)
    edits = repair.delegation(contract, owner, inner.attribute, guarded=status.config_decides)
    handing = repair.handed_on(audit, alternative)
    if handing is not None and handing.ok is False:
        return Fix("none", f"delegating would only move the failure: {handing.detail}")
    why = inner.reason if status.config_decides else ""
    if not why and (own.ok is None or handing is None or handing.ok is None):
        why = "part of the chain behind the methods could not be followed"
    return Fix("unsafe" if why else "safe", f"delegate {contract.name} to self.{inner.attribute}", edits, why)
