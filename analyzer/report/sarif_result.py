"""One finding as a result of SARIF: place, fingerprint, chain as a code flow, and the fix.

The fingerprint has a key of our own, because GitHub's upload computes ``primaryLocationLineHash`` itself and
warns of any other value.  Only safe fixes are told: readers apply them without showing what has to be judged.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from analyzer.findings import Finding, Fix, Link
from analyzer.packages import VLLM
from analyzer.report.context import Context, placed
from analyzer.report.layout import clean
from analyzer.report.replacements import Replacement, replacements

BASE, VLLM_BASE = "%SRCROOT%", "VLLM"
FINGERPRINT = "vllmContracts/v1"
LEVELS = {"error": "error", "warning": "warning", "info": "note"}

Record = dict[str, Any]

_VERDICTS = {True: "holds", False: "broken", None: "unknown"}


def result(finding: Finding, key: str, context: Context, prefix: str) -> Record:
    """A result.

    Args:
        finding: of the report.
        key: its fingerprint, which no other result of the run has.
        context: has the rules, and what fixes change.
        prefix: what goes before its paths.
    """
    at, builds = finding.at, finding.builds_inner
    known = [rule.code for rule in context.rules]
    cls = {"name": clean(finding.cls.rpartition(".")[2]), "fullyQualifiedName": clean(finding.cls), "kind": "type"}
    record: Record = {
        "ruleId": finding.code,
        **({"ruleIndex": known.index(finding.code)} if finding.code in known else {}),
        "level": LEVELS[finding.severity],
        "message": message(finding.message.rstrip(".") + "."),
        "locations": [{**location(placed(prefix, at.path), at.line, at.column), "logicalLocations": [cls]}],
        "partialFingerprints": {FINGERPRINT: key},
        "properties": {
            "contract": clean(finding.contract),
            "confidence": finding.confidence,
            "architectures": [clean(name) for name in finding.architectures],
            "fix": finding.fix.safety,
            "fixSummary": clean(finding.fix.summary),
        },
    }
    if builds is not None:
        place = location(placed(prefix, builds.path), builds.line, builds.column)
        record["relatedLocations"] = [{"id": 0, **place, "message": message("This builds the inner model.")}]
    if finding.chain:
        steps = [_step(link, finding, prefix) for link in finding.chain]
        record["codeFlows"] = [{"threadFlows": [{"locations": steps}]}]
    if changes := _changes(finding.fix, context, prefix):
        record["fixes"] = [{"description": message(finding.fix.summary), "artifactChanges": changes}]
    return record


def _step(link: Link, finding: Finding, prefix: str) -> Record:
    """A link of the chain; one without a place of its own is shown at the class."""
    place = location(placed(prefix, link.path or finding.at.path), link.line if link.path else finding.at.line)
    return {
        "location": {**place, "message": message(f"{link.link}: {link.detail}")},
        "importance": "important" if link.ok else "essential",
        "properties": {"verdict": _VERDICTS[link.ok]},
    }


def location(path: str, line: int, column: int = 0) -> Record:
    """A place in a file; the file itself where the line is 0."""
    region = {"startLine": line, **({"startColumn": column} if column else {})}
    return {"physicalLocation": {"artifactLocation": _artifact(path), **({"region": region} if line else {})}}


def _artifact(path: str) -> Record:
    base = VLLM_BASE if path.startswith(VLLM) else BASE
    return {"uri": quote(path.removeprefix(VLLM).encode("utf-8", "surrogateescape")), "uriBaseId": base}


def message(text: str) -> Record:
    """Text from a checkout."""
    return {"text": clean(text)}


def _changes(fix: Fix, context: Context, prefix: str) -> list[Record]:
    """What the fix does to each file; nothing if one of them is not in UTF-8, for it is done whole or not at all."""
    if fix.safety != "safe":
        return []
    try:
        texts = [(c.path, c.before.decode("utf-8-sig"), c.after.decode("utf-8-sig")) for c in context.changes(fix)]
    except UnicodeDecodeError:
        return []
    return [
        {
            "artifactLocation": _artifact(prefix + path),
            "replacements": [_replacement(done) for done in replacements(before, after)],
        }
        for path, before, after in texts
    ]


def _replacement(done: Replacement) -> Record:
    ends = {"endLine": done.end_line, "endColumn": done.end_column}
    region = {"startLine": done.line, "startColumn": done.column, **ends}
    return {"deletedRegion": region, "insertedContent": {"text": done.text}}
