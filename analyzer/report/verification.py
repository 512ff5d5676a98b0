"""What came of a verification: for people, and as JSON (``verification.schema.json`` beside this file)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Any

import analyzer
from analyzer.report.json import TOOL
from analyzer.report.layout import clean, plural, wrap
from analyzer.verify.outcomes import Comparison, FindingOutcome, ModelOutcome, Verification

SCHEMA = 1
WIDTH = 100
OUTCOMES = ("confirmed", "contradicted", "not testable")
KINDS = {
    "check": "checkers, asked with the class and with a skeleton",
    "inner-check": "checkers, asked with the inner model",
    "method": "the contract's methods",
    "capture": "the decoder's forward returns the states",
    "forward": "the model's forward hands them on",
}
REASONS = 12
"""How many reasons are listed, the most frequent first."""


def to_dict(result: Verification) -> dict[str, Any]:
    """The result as plain data."""
    return {
        "schema": SCHEMA,
        "tool": {"name": TOOL, "version": analyzer.__version__},
        "tree": result.tree,
        "environment": result.environment,
        "stand_ins": result.stand_ins,
        "models": [asdict(model) for model in result.models],
        "findings": [asdict(finding) for finding in result.findings],
        "repairs": [asdict(finding) for finding in result.repairs],
        "served": result.served,
        "uncovered": result.uncovered,
    }


def render_json(result: Verification) -> str:
    """The result as JSON in ASCII."""
    return json.dumps(to_dict(result), indent=1) + "\n"


def render(result: Verification) -> str:
    """The result for people: what was contradicted in full, everything else in numbers."""
    return "".join(f"{line.rstrip()}\n" for line in _lines(result))


def _title(tree: dict[str, Any]) -> str:
    vllm, plugin = f"vLLM {tree['vllm_version'] or 'of an unknown version'}", tree.get("plugin")
    return f"{plugin['name']} {plugin['version'] or ''} with {vllm}" if plugin else vllm


def _lines(result: Verification) -> Iterator[str]:
    tree, there = result.tree, result.environment
    fixed = ", as a fixed copy" if tree["after_fix"] else ""
    yield clean(f"{_title(tree)} in {tree['root']}{fixed}")
    yield clean(f"executed by {there['interpreter']}: Python {there['python']}, torch {there['torch']}")
    for point, error in there.get("failed_entry_points", {}).items():
        yield from _wrapped(f"the entry point {point} failed, so that it registered nothing: {error}")
    if result.stand_ins:
        yield from _wrapped(f"stood in for what is missing there: {', '.join(map(_stand_in, result.stand_ins))}")
    yield ""
    yield from _contradicted(result)
    yield f"{'':52}{''.join(f'{outcome:>14}' for outcome in OUTCOMES)}"
    comparisons = list(result.comparisons)
    for kind, words in KINDS.items():
        yield _row(words, (c.outcome for c in comparisons if c.kind == kind))
    yield _row("classes", (model.outcome for model in result.models))
    yield from _by_code("findings", result.findings)
    yield from _by_code("repairs", result.repairs)
    yield ""
    yield from _untested(result)


def _stand_in(name: str) -> str:
    if name.startswith("op:"):
        return f"torch.ops.{name[3:].replace('::', '.')}"
    return f"{name[1:]} (fails)" if name.startswith("!") else name.replace(":", ".")


def _row(words: str, outcomes: Iterable[str]) -> str:
    counts = Counter(outcomes)
    return f"{words:<52}{''.join(f'{counts[outcome]:>14}' for outcome in OUTCOMES)}"


def _by_code(head: str, findings: list[FindingOutcome]) -> Iterator[str]:
    if findings:
        yield _row(head, (finding.outcome for finding in findings))
    for code in sorted({finding.code for finding in findings}):
        yield _row(f"  {code}", (finding.outcome for finding in findings if finding.code == code))


def _wrapped(text: str, indent: str = "") -> Iterator[str]:
    lines = wrap(text, WIDTH - len(indent) - 2)
    yield f"{indent}{lines[0]}"
    yield from (f"{indent}  {line}" for line in lines[1:])


# -- contradictions --------------------------------------------------------------------------------


def _contradicted(result: Verification) -> Iterator[str]:
    for model in result.models:
        wrong = [c for c in model.comparisons if c.outcome == "contradicted"]
        if wrong:
            yield clean(f"contradicted: {model.cls}")
            for one in wrong:
                yield from _both_sides(one)
            yield ""
    for finding in (*result.findings, *result.repairs):
        if finding.outcome == "contradicted":
            yield from _wrapped(f"contradicted: {finding.code} {finding.path}:{finding.line} {finding.message}")
            yield ""


def _both_sides(one: Comparison) -> Iterator[str]:
    inside = f", with {one.inner} inside" if one.inner else ""
    yield from _wrapped(f"{one.contract}, {one.subject}{inside}", "  ")
    yield from _wrapped(f"the analysis: {one.static}", "    ")
    yield from _wrapped(f"execution:    {one.happened}", "    ")


# -- what could not be tested ----------------------------------------------------------------------


def _untested(result: Verification) -> Iterator[str]:
    yield from _reasons("statements", (c.reason for c in result.comparisons if c.outcome == "not testable"))
    yield from _reasons("findings", (f.reason for f in result.findings if f.outcome == "not testable"))
    yield from _reasons("repairs", (f.reason for f in result.repairs if f.outcome == "not testable"))
    lost = [model for model in result.models if model.reason]
    if lost:
        yield f"{plural(len(lost), 'class', 'classes')} without an answer:"
        for model in lost:
            yield from _wrapped(_without_answer(model), "  ")
    missing = sorted(architecture for architecture, cls in result.served.items() if not cls)
    if missing:
        yield from _wrapped(f"architectures that cannot be imported there: {', '.join(missing)}")
    if result.uncovered:
        yield from _wrapped(f"architectures that the analysis does not know: {', '.join(result.uncovered)}")


def _without_answer(model: ModelOutcome) -> str:
    return f"{model.cls}: {model.reason}"


def _reasons(what: str, reasons: Iterable[str]) -> Iterator[str]:
    counts = Counter(reasons)
    if not counts:
        return
    yield f"{what} not testable:"
    for reason, count in counts.most_common(REASONS):
        first, *rest = list(_wrapped(reason, "        "))
        yield f"{count:>6}  {first.strip()}"
        yield from rest
    if len(counts) > REASONS:
        yield f"{sum(counts.values()) - sum(n for _, n in counts.most_common(REASONS)):>6}  of other reasons"
