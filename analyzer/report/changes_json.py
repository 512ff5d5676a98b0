"""A comparison of two trees for programs.  ``changes_schema.json`` beside this file describes it."""

from __future__ import annotations

import json
from typing import Any

import analyzer
from analyzer.changes.records import (
    AllowListChange,
    ArchitectureChange,
    Changes,
    ContractChange,
    FindingChange,
    GateChange,
    MethodChange,
    NameGateChange,
    SupportChange,
    stopper,
)
from analyzer.findings import Diagnostic, Finding, Position
from analyzer.records import (
    AllowListRecord,
    ContractRecord,
    GateRecord,
    MethodRecord,
    ModelRecord,
    StatusRecord,
    TreeRecord,
)
from analyzer.report.context import described

SCHEMA = 1
TOOL = "vllm-contracts"

Record = dict[str, Any]


def to_dict(changes: Changes) -> Record:
    """The comparison as plain data.

    Args:
        changes: of two reports.
    """
    return {
        "schema": SCHEMA,
        "tool": {"name": TOOL, "version": analyzer.__version__},
        "old": _tree(changes.old, changes.old_diagnostics),
        "new": _tree(changes.new, changes.new_diagnostics),
        "worse": changes.worse,
        "contracts": [contract_change(change) for change in changes.contracts],
        "name_gates": [_name_gate(change) for change in changes.name_gates],
        "support": [_support(change) for change in changes.support],
        "architectures": [_architecture(change) for change in changes.architectures],
        "findings": [_finding_change(change) for change in changes.findings],
        "unchanged_findings": changes.unchanged_findings,
    }


def render(changes: Changes) -> str:
    """The comparison as JSON in ASCII, indented.

    Args:
        changes: of two reports.
    """
    return json.dumps(to_dict(changes), indent=1) + "\n"


def _tree(tree: TreeRecord, diagnostics: tuple[Diagnostic, ...]) -> Record:
    return {
        **described(tree),
        "diagnostics": [{"path": d.path, "line": d.line, "message": d.message} for d in diagnostics],
    }


def _at(at: Position | None) -> Record | None:
    return {"path": at.path, "line": at.line} if at is not None else None


# -- contracts -------------------------------------------------------------------------------------


def contract_change(change: ContractChange) -> Record:
    """How a contract differs."""
    return {
        "name": change.name,
        "old": contract(change.old) if change.old is not None else None,
        "new": contract(change.new) if change.new is not None else None,
        "members_added": list(change.members_added),
        "members_removed": list(change.members_removed),
        "methods": [_method_change(m) for m in change.methods],
        "gates": [_gate_change(g) for g in change.gates],
        "allow_lists": [_allow_list_change(a) for a in change.allow_lists],
    }


def contract(record: ContractRecord) -> Record:
    """A contract, its methods and gates left out."""
    return {
        "path": record.at.path,
        "line": record.at.line,
        "checker": record.checker,
        "check": record.check,
        "members": list(record.members),
        "delegated": record.delegated,
    }


def _method_change(change: MethodChange) -> Record:
    return {
        "kinds": list(change.kinds),
        "evidence": list(change.evidence),
        "old": method(change.old) if change.old is not None else None,
        "new": method(change.new) if change.new is not None else None,
    }


def method(record: MethodRecord) -> Record:
    """A method of a contract."""
    return {
        "name": record.name,
        "signature": record.signature,
        "default": record.default,
        "path": record.at.path,
        "line": record.at.line,
    }


def _gate_change(change: GateChange) -> Record:
    return {
        "kinds": list(change.kinds),
        "old": gate(change.old) if change.old is not None else None,
        "new": gate(change.new) if change.new is not None else None,
    }


def gate(record: GateRecord) -> Record:
    """A place that asks for a contract."""
    return {
        "member": record.member,
        "subject": record.subject,
        "text": record.text,
        "error": record.error,
        "function": record.function,
        "checks": record.checks,
        "path": record.at.path,
        "line": record.at.line,
    }


def _allow_list_change(change: AllowListChange) -> Record:
    return {
        "added": list(change.added),
        "removed": list(change.removed),
        "old": allow_list(change.old) if change.old is not None else None,
        "new": allow_list(change.new) if change.new is not None else None,
    }


def allow_list(record: AllowListRecord) -> Record:
    """A list of model types that a contract is refused without."""
    return {
        "subject": record.subject,
        "items": list(record.items),
        "error": record.error,
        "path": record.at.path,
        "line": record.at.line,
    }


def _name_gate(change: NameGateChange) -> Record:
    old, new = change.old, change.new
    record = new or old
    assert record is not None
    return {
        "function": record.function,
        "added": list(change.added),
        "removed": list(change.removed),
        "old": _at(old.at if old is not None else None),
        "new": _at(new.at if new is not None else None),
    }


# -- architectures ---------------------------------------------------------------------------------


def _model(model: ModelRecord) -> Record:
    return {"class": model.cls, "role": model.role, "path": model.at.path, "line": model.at.line}


def _support(change: SupportChange) -> Record:
    return {
        "contract": change.contract,
        "architectures": list(change.architectures),
        "direction": change.direction,
        "old": {**_model(change.old), **_standing(change.old_status)},
        "new": {**_model(change.new), **_standing(change.new_status)},
        "reasons": [{"link": r.link, "text": r.text, "old": _at(r.old), "new": _at(r.new)} for r in change.reasons],
    }


def _standing(status: StatusRecord) -> Record:
    return {"verdict": status.verdict, "stopped": stopper(status) is not None}


def _architecture(change: ArchitectureChange) -> Record:
    return {
        "architectures": list(change.architectures),
        "old": _model(change.old) if change.old is not None else None,
        "new": _model(change.new) if change.new is not None else None,
        "verdicts": dict(change.verdicts),
    }


# -- findings --------------------------------------------------------------------------------------


def _finding_change(change: FindingChange) -> Record:
    finding = change.finding
    return {
        "code": finding.code,
        "name": finding.name,
        "contract": finding.contract,
        "class": finding.cls,
        "architectures": list(finding.architectures),
        "message": finding.message,
        "note": change.note,
        "old": _weight(change.old),
        "new": _weight(change.new),
    }


def _weight(finding: Finding | None) -> Record | None:
    if finding is None:
        return None
    return {
        "severity": finding.severity,
        "confidence": finding.confidence,
        "fix": finding.fix.safety,
        "path": finding.at.path,
        "line": finding.at.line,
    }
