"""The report for programs.  ``schema.json`` beside this file describes it; new fields may be added to schema 1."""

from __future__ import annotations

import json
from typing import Any

import analyzer
from analyzer.findings import Finding
from analyzer.records import (
    BaselineRecord,
    ContractRecord,
    InnerRecord,
    ModelRecord,
    Report,
    StatusRecord,
    SuppressedRecord,
)
from analyzer.report.context import BARE, Context, described

SCHEMA = 1
TOOL = "vllm-contracts"

Record = dict[str, Any]


def to_dict(report: Report) -> Record:
    """The report as plain data.

    Args:
        report: of an audit.
    """
    checkout = report.checkout
    return {
        "schema": SCHEMA,
        "tool": {"name": TOOL, "version": analyzer.__version__},
        "checkout": {
            **described(checkout),
            "files_seen": report.files_seen,
            "files_parsed": report.files_parsed,
        },
        "contracts": [_contract(contract) for contract in report.contracts],
        "models": [_model(model) for model in report.models],
        "findings": [_finding(finding) for finding in report.findings],
        "diagnostics": [{"path": d.path, "line": d.line, "message": d.message} for d in report.diagnostics],
        "suppressed": [_suppressed(suppressed) for suppressed in report.suppressed],
        "baseline": _baseline(report.baseline) if report.baseline is not None else None,
    }


def render(report: Report, _: Context = BARE) -> str:
    """The report as JSON in ASCII, with one line for each contract, model, finding and diagnostic.

    So it can be searched and compared line by line, and takes a fraction of the time of an indented one.

    Args:
        report: of an audit.
    """
    parts = (f"{json.dumps(key)}: {_render_value(value)}" for key, value in to_dict(report).items())
    return "{" + ",\n ".join(parts) + "}\n"


def _render_value(value: object) -> str:
    if not isinstance(value, list) or not value:
        return json.dumps(value)
    return "[\n  " + ",\n  ".join(map(json.dumps, value)) + "\n ]"


def _contract(contract: ContractRecord) -> Record:
    return {
        "name": contract.name,
        "checker": contract.checker,
        "check": contract.check,
        "members": list(contract.members),
        "methods": [{"name": m.name, "signature": m.signature, "default": m.default} for m in contract.methods],
    }


# -- models ----------------------------------------------------------------------------------------


def _model(model: ModelRecord) -> Record:
    return {
        "class": model.cls,
        "path": model.at.path,
        "line": model.at.line,
        "architectures": list(model.architectures),
        "role": model.role,
        "inner": [_inner(inner) for inner in model.inner],
        "contracts": {name: _status(status) for name, status in model.statuses.items()},
    }


def _inner(inner: InnerRecord) -> Record:
    record: Record = {
        "attribute": inner.attribute,
        "class": inner.cls,
        "resolution": inner.resolution,
        "decoder": inner.decoder,
        "path": inner.at.path if inner.at is not None else "",
        "line": inner.at.line if inner.at is not None else 0,
    }
    return {**record, "reason": inner.reason} if inner.reason else record


def _status(status: StatusRecord) -> Record:
    record: Record = {
        "declared": status.declared,
        "satisfied": status.satisfied is True,
        "verdict": status.verdict,
    }
    if status.class_satisfied is not None and status.class_satisfied is not record["satisfied"]:
        record["class_satisfied"] = status.class_satisfied
    return {**record, "reason": status.reason} if status.reason else record


# -- findings --------------------------------------------------------------------------------------


def _finding(finding: Finding) -> Record:
    fix, builds = finding.fix, finding.builds_inner
    return {
        "code": finding.code,
        "name": finding.name,
        "contract": finding.contract,
        "severity": finding.severity,
        "confidence": finding.confidence,
        "class": finding.cls,
        "architectures": list(finding.architectures),
        "path": finding.at.path,
        "line": finding.at.line,
        "column": finding.at.column,
        "message": finding.message,
        "fix": fix.safety,
        "fix_summary": fix.summary,
        "fix_why_unsafe": fix.why_unsafe,
        "builds_inner": {"path": builds.path, "line": builds.line, "column": builds.column} if builds else None,
        "chain": [
            {"link": x.link, "ok": x.ok, "path": x.path, "line": x.line, "detail": x.detail} for x in finding.chain
        ],
        "gates": [{"path": g.path, "line": g.line, "subject": g.subject} for g in finding.gates],
    }


def _suppressed(suppressed: SuppressedRecord) -> Record:
    by = suppressed.by
    comment = {"path": by.path, "line": by.line, "column": by.column, "reason": suppressed.reason}
    return {**_finding(suppressed.finding), "suppressed_by": comment}


def _baseline(compared: BaselineRecord) -> Record:
    return {
        "file": str(compared.file),
        "findings": [_finding(finding) for finding in compared.known],
        "stale": [
            {"code": e.code, "class": e.cls, "contract": e.contract, "path": e.path, "fingerprint": e.fingerprint}
            for e in compared.stale
        ],
    }
