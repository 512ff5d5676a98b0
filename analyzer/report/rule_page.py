"""What a rule reports, why it matters and what to do, as a page; and the list of all rules."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import analyzer
from analyzer.findings import Severity
from analyzer.report.outline import Block, Code, Heading, Paragraph, Table

SCHEMA = 1
TOOL = "vllm-contracts"


@dataclass(frozen=True)
class Example:
    """One of a rule's own cases.

    Args:
        name: what it shows.
        source: a model file.
        generation: the release whose shape of the contract it was written for.
        finds: (code, class) pairs that the audit reports.
        settings: the project's file of settings, where the case needs one.
    """

    name: str
    source: str
    generation: str
    finds: tuple[tuple[str, str], ...] = ()
    settings: str = ""


@dataclass(frozen=True)
class RulePage:
    """What there is to say of a rule.

    ``more`` is the detail, ``bad`` and ``good`` its first cases; without ``default`` it is applied on request.
    """

    code: str
    name: str
    severity: Severity
    what: str
    why: str
    how: str
    more: str
    bad: Example | None
    good: Example | None
    default: bool = True


def rule_blocks(rule: RulePage) -> Iterator[Block]:
    """One rule as a page."""
    yield Heading(f"{rule.code} {rule.name}", 1)
    yield Paragraph(rule.what)
    request = "" if rule.default else f" Off by default: `--select {rule.code}` asks for it."
    yield Paragraph(f"Severity: {rule.severity}.{request}")
    for head, text in (("Why it matters", rule.why), ("How to repair it", rule.how), ("More", rule.more)):
        if text:
            yield Heading(head)
            yield from (Paragraph(" ".join(part.split())) for part in text.split("\n\n"))
    for head, example in (("Reported", rule.bad), ("Not reported", rule.good)):
        if example is not None:
            yield Heading(head)
            yield Paragraph(f"{_sentence(example.name)}, in a tree shaped as vLLM {example.generation}:")
            yield Code(example.source)
            if example.settings:
                yield Paragraph("With these settings:")
                yield Code(example.settings, "toml")


def _sentence(name: str) -> str:
    return name[:1].upper() + name[1:]


def list_blocks(rules: Sequence[RulePage], links: str = "") -> Iterator[Block]:
    """All rules as a table.

    Args:
        rules: by code.
        links: where a rule's page lies, with ``{}`` for its code; no links if empty.
    """
    rows = tuple((rule.code, rule.name, _weight(rule), rule.what) for rule in rules)
    targets = tuple(links.format(rule.code) for rule in rules) if links else ()
    yield Table(("code", "name", "severity", "what it reports"), rows, targets)


def _weight(rule: RulePage) -> str:
    return rule.severity if rule.default else f"{rule.severity}, on request"


def to_json(rules: Sequence[RulePage]) -> str:
    """The rules for programs, as ``explain_schema.json`` says.

    Args:
        rules: one or all.
    """
    record = {
        "schema": SCHEMA,
        "tool": {"name": TOOL, "version": analyzer.__version__},
        "rules": [_record(rule) for rule in rules],
    }
    return json.dumps(record, indent=1) + "\n"


def _record(rule: RulePage) -> dict[str, Any]:
    return {
        "code": rule.code,
        "name": rule.name,
        "severity": rule.severity,
        "default": rule.default,
        "what": rule.what,
        "why": rule.why,
        "how": rule.how,
        "more": rule.more,
        "bad": _example(rule.bad),
        "good": _example(rule.good),
    }


def _example(example: Example | None) -> dict[str, Any] | None:
    if example is None:
        return None
    return {
        "name": example.name,
        "source": textwrap.dedent(example.source).strip("\n") + "\n",
        "generation": example.generation,
        "finds": [{"code": found, "class": cls} for found, cls in example.finds],
        "settings": example.settings,
    }
