"""VC007 uncaptured-states."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from analyzer import evidence
from analyzer.audit import Audit
from analyzer.chains import Chain
from analyzer.contracts import Contract
from analyzer.findings import Finding, Fix
from analyzer.models import Alternative, Model
from rules._rule import Rule


@dataclass
class _Claim:
    """A class whose claim ends at a decoder that does not capture."""

    chain: Chain
    model: Model
    alternative: Alternative


class UncapturedStates(Rule):
    """A class claims support and its decoder's effective forward neither collects nor returns the states.

    It happens where a subclass of a capturing decoder overrides ``forward`` and leaves the collecting out.
    """

    code = "VC007"
    name = "uncaptured-states"
    severity = "error"
    what = "A class claims support, and its decoder's effective forward neither collects nor returns the states."
    why = "The interface is complete and the feature is broken: the runner gets no auxiliary states to give on."
    how = "Collect in the overriding forward as the inherited one does; no mechanical repair is offered here."

    def check(self, audit: Audit) -> Iterator[Finding]:
        for contract in audit.delegated:
            claims: dict[str, list[_Claim]] = {}
            for model in audit.serving:
                for claim in _claims(audit, model, contract):
                    claims.setdefault(claim.chain.root.cls.key, []).append(claim)
            for found in claims.values():
                yield self._report(audit, contract, found)

    def _report(self, audit: Audit, contract: Contract, claims: list[_Claim]) -> Finding:
        first = claims[0]
        cls, holder, capture = first.chain.root.cls, first.chain.holder, first.chain.capture
        assert holder is not None and capture is not None
        status = audit.status(first.model, contract)
        return self.finding(
            contract,
            cls,
            audit.position(cls),
            f"{cls.name} claims {contract.name}, but {capture.detail}",
            architectures=audit.architectures([c.model for c in claims]),
            fix=Fix("none", f"{holder.cls.name} would have to collect and return the states first"),
            chain=evidence.chain_links(audit, first.model, status, first.alternative),
            gates=audit.gate_uses(contract),
            builds_inner=audit.site_position(first.alternative.inner),
        )


def _claims(audit: Audit, model: Model, contract: Contract) -> Iterator[_Claim]:
    """The claims that a model's chains meet: its inner model's own, else its own."""
    for alternative in audit.status(model, contract).alternatives:
        own = alternative.own
        if own is not None and own.satisfied:
            if _uncaptured(own):
                yield _Claim(own, model, alternative)
        elif alternative.outer.satisfied and _uncaptured(alternative.outer):
            yield _Claim(alternative.outer, model, alternative)


def _uncaptured(chain: Chain) -> bool:
    return chain.capture is not None and chain.capture.ok is False
