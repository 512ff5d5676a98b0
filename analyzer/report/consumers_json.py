"""Third-party code against a tree, for programs.  ``consumers_schema.json`` beside this file describes it."""

from __future__ import annotations

import json
from typing import Any

import analyzer
from analyzer.drift.records import ConsumerRecord, DriftReport, Evidence, ReasonRecord, UseRecord
from analyzer.findings import Position
from analyzer.records import TreeRecord

SCHEMA = 1
TOOL = "vllm-contracts"

Record = dict[str, Any]


def to_dict(report: DriftReport) -> Record:
    """The report as plain data.

    Args:
        report: to be told.
    """
    return {
        "schema": SCHEMA,
        "tool": {"name": TOOL, "version": analyzer.__version__},
        "package": {"root": str(report.package), "names": list(report.names)},
        "vllm": _tree(report.checkout),
        "since": _tree(report.since) if report.since is not None else None,
        "files": {"seen": report.files[0], "mention_vllm": report.files[1]},
        "checked": dict(sorted(report.checked.items())),
        "uses": [_use(use) for use in report.uses],
        "guarded": [_reason(row) for row in report.guarded],
        "not_judged": [_reason(row) for row in report.unresolved],
        "gates": [_consumer(consumer) for consumer in report.consumers],
        "diagnostics": [{"path": d.path, "line": d.line, "message": d.message} for d in report.diagnostics],
    }


def render(report: DriftReport) -> str:
    """The report as JSON in ASCII, indented.

    Args:
        report: to be told.
    """
    return json.dumps(to_dict(report), indent=2, ensure_ascii=True) + "\n"


def _tree(tree: TreeRecord) -> Record:
    return {"root": str(tree.root), "version": tree.version}


def _at(at: Position) -> Record:
    return {"path": at.path, "line": at.line, "column": at.column}


def _evidence(evidence: tuple[Evidence, ...]) -> list[Record]:
    return [{"at": _at(e.at), "text": e.text} for e in evidence]


def _use(use: UseRecord) -> Record:
    return {
        "kind": use.kind,
        "at": _at(use.at),
        "name": use.name,
        "message": use.message,
        "evidence": _evidence(use.evidence),
        "went": [place.partition(" ")[0] for place in use.went],
        "before": use.before or None,
    }


def _reason(row: ReasonRecord) -> Record:
    return {"at": _at(row.at), "name": row.name, "reason": row.reason}


def _consumer(consumer: ConsumerRecord) -> Record:
    return {
        "contract": consumer.contract,
        "member": consumer.member,
        "how": consumer.how,
        "subject": consumer.subject,
        "asks": consumer.asks,
        "at": _at(consumer.at),
        "function": consumer.function,
        "problems": list(consumer.problems),
        "notes": list(consumer.notes),
        "refused": consumer.refused,
        "works": list(consumer.works),
        "failing": [
            {
                "class": model.cls,
                "role": model.role,
                "step": model.step,
                "at": _at(model.at),
                "class_at": _at(model.class_at),
                "architectures": list(model.architectures),
            }
            for model in consumer.failing
        ],
        "unknown": [{"class": cls, "reason": reason} for cls, reason in consumer.unknown],
        "evidence": _evidence(consumer.evidence),
        "before": consumer.before or None,
    }
