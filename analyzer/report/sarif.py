"""SARIF 2.1.0 (OASIS, errata 01), for code scanning and for editors.

Paths are relative references to ``%SRCROOT%``, which the reader resolves: the file has no absolute path and is
the same on every machine.
"""

from __future__ import annotations

import inspect
import json

import analyzer
from analyzer.findings import Diagnostic
from analyzer.fingerprint import fingerprints
from analyzer.records import Report
from analyzer.report.context import BARE, Context, RuleText, placed
from analyzer.report.sarif_result import BASE, LEVELS, VLLM_BASE, Record, location, message, result

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
TOOL = "vllm-contracts"


def render(report: Report, context: Context = BARE) -> str:
    """One run, in ASCII."""
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [_run(report, context)]}, indent=1) + "\n"


def _run(report: Report, context: Context) -> Record:
    prefix = context.prefix(report.checkout.root)
    version = analyzer.__version__
    rules = [_rule(rule) for rule in context.rules]
    keyed = zip(report.findings, fingerprints(report.findings), strict=True)
    return {
        "tool": {"driver": {"name": TOOL, "version": version, "semanticVersion": version, "rules": rules}},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": _bases(report),
        "invocations": [
            {
                "executionSuccessful": True,
                "toolExecutionNotifications": [_notification(d, prefix) for d in report.diagnostics],
            }
        ],
        "results": [result(finding, key, context, prefix) for finding, key in keyed],
        "properties": {
            "vllmVersion": report.checkout.version,
            "filesSeen": report.files_seen,
            "filesParsed": report.files_parsed,
        },
    }


def _bases(report: Report) -> Record:
    bases = {BASE: {"description": message("The root of the repository.")}}
    if report.checkout.plugin is not None:
        bases[VLLM_BASE] = {"description": message("The root of the vLLM tree that the plugin was held against.")}
    return bases


def _rule(rule: RuleText) -> Record:
    more = inspect.getdoc(type(rule)) or rule.what
    parts = {"": rule.what, "Why": rule.why, "How to repair": rule.how, "More": more}
    return {
        "id": rule.code,
        "name": rule.name,
        "shortDescription": {"text": rule.what},
        "fullDescription": {"text": more},
        "help": {
            "text": "\n\n".join(f"{head}: {text}" if head else text for head, text in parts.items()),
            "markdown": "\n\n".join(f"**{head}**\n\n{text}" if head else text for head, text in parts.items()),
        },
        "defaultConfiguration": {"level": LEVELS[rule.severity]},
        "properties": {"tags": ["vllm", "interface-contract"]},
    }


def _notification(lost: Diagnostic, prefix: str) -> Record:
    place = location(placed(prefix, lost.path), lost.line)
    return {"level": "warning", "message": message(lost.message), "locations": [place]}
