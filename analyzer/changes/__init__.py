"""What differs between the reports of two trees: contracts, gates, support of architectures, and findings."""

from __future__ import annotations

from collections.abc import Sequence

from analyzer.changes.contracts import compare_contract, compare_contracts
from analyzer.changes.findings import compare_findings
from analyzer.changes.gates import compare_name_gates
from analyzer.changes.models import compare_architectures, compare_support, pair_models
from analyzer.changes.records import Changes
from analyzer.records import Report

__all__ = ["Changes", "compare", "compare_contract"]


def compare(old: Report, new: Report, wanted: Sequence[str] = ()) -> Changes:
    """Everything that differs between two reports.

    Args:
        old, new: of audits with the same rules.
        wanted: names of contracts, each of which one of the trees has; all unless given.
    """
    names = dict.fromkeys(c.name for c in (*new.contracts, *old.contracts))
    contracts = [name for name in names if not wanted or name in wanted]
    pairs = pair_models(old, new)
    findings, unchanged = compare_findings(old, new, wanted)
    handed_on = any(c.delegated for report in (old, new) for c in report.contracts if c.name in contracts)
    return Changes(
        old=old.checkout,
        new=new.checkout,
        contracts=tuple(compare_contracts(old, new, wanted)),
        name_gates=compare_name_gates(old.name_gates, new.name_gates) if handed_on else (),
        support=tuple(compare_support(old, new, pairs, contracts)),
        architectures=tuple(compare_architectures(pairs, contracts)),
        findings=findings,
        unchanged_findings=unchanged,
        old_diagnostics=tuple(old.diagnostics),
        new_diagnostics=tuple(new.diagnostics),
    )
