"""The matrix for programs.  ``matrix_schema.json`` beside this file describes it; schema 1 may gain fields."""

from __future__ import annotations

import json
from typing import Any

import analyzer
from analyzer.findings import Finding, Link, Position
from analyzer.matrix import Cell, Matrix, Row
from analyzer.records import ChainRecord, ContractRecord, GateRecord
from analyzer.report.context import described

SCHEMA = 1
TOOL = "vllm-contracts"

Record = dict[str, Any]


def to_dict(matrix: Matrix) -> Record:
    """The matrix as plain data.

    Args:
        matrix: all of it, or a selection.
    """
    return {
        "schema": SCHEMA,
        "tool": {"name": TOOL, "version": analyzer.__version__},
        "checkout": described(matrix.checkout),
        "contracts": [_contract(contract, matrix) for contract in matrix.contracts],
        "rows": [_row(row) for row in matrix.rows],
        "diagnostics": [{"path": d.path, "line": d.line, "message": d.message} for d in matrix.diagnostics],
    }


def render(matrix: Matrix) -> str:
    """The matrix as JSON in ASCII, with one line for each contract, row and diagnostic.

    Args:
        matrix: all of it, or a selection.
    """
    parts = (f"{json.dumps(key)}: {_render_value(value)}" for key, value in to_dict(matrix).items())
    return "{" + ",\n ".join(parts) + "}\n"


def _render_value(value: object) -> str:
    if not isinstance(value, list) or not value:
        return json.dumps(value)
    return "[\n  " + ",\n  ".join(map(json.dumps, value)) + "\n ]"


def _place(at: Position) -> Record:
    return {"path": at.path, "line": at.line}


def _contract(contract: ContractRecord, matrix: Matrix) -> Record:
    return {
        "name": contract.name,
        **_place(contract.at),
        "checker": contract.checker,
        "check": contract.check,
        "delegated": contract.delegated,
        "gates": [_gate(gate) for gate in contract.gates],
        "counts": dict(sorted(matrix.counts(contract.name).items())),
    }


def _gate(gate: GateRecord) -> Record:
    return {
        **_place(gate.at),
        "member": gate.member,
        "subject": gate.subject,
        "text": gate.text,
        "error": gate.error,
        "checks": gate.checks,
    }


def _row(row: Row) -> Record:
    model = row.model
    return {
        "architecture": row.architecture,
        "class": model.cls,
        "variant": row.variant,
        "role": model.role,
        **_place(model.at),
        "becomes": list(model.becomes),
        "cells": {name: _cell(cell) for name, cell in row.cells.items()},
    }


def _cell(cell: Cell) -> Record:
    status = cell.status
    return {
        "verdict": cell.verdict,
        "reason": cell.reason,
        **_place(cell.at),
        "declared": status.declared,
        "satisfied": status.satisfied,
        "class_satisfied": status.class_satisfied,
        "findings": [_finding(finding) for finding in cell.findings],
        "chains": [_chain(chain) for chain in cell.chains],
    }


def _finding(finding: Finding) -> Record:
    return {
        "code": finding.code,
        "name": finding.name,
        "severity": finding.severity,
        "confidence": finding.confidence,
        "class": finding.cls,
        **_place(finding.at),
        "message": finding.message,
    }


def _chain(chain: ChainRecord) -> Record:
    return {"case": chain.case, "links": [_link(link) for link in chain.links]}


def _link(link: Link) -> Record:
    return {"link": link.link, "ok": link.ok, "path": link.path, "line": link.line, "detail": link.detail}
