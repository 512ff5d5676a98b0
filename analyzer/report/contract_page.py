"""A contract as a checkout has it, as a page; and the list of a checkout's contracts."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import analyzer
from analyzer.changes.records import ContractChange
from analyzer.findings import Finding
from analyzer.records import VERDICTS, AllowListRecord, ContractRecord, NameGateRecord, Report, TreeRecord
from analyzer.report import changes_json
from analyzer.report.changes_outline import contract_blocks, gate_text, method_text, version
from analyzer.report.context import described
from analyzer.report.layout import plural
from analyzer.report.outline import Block, Heading, Item, Paragraph, Table, code, names
from analyzer.report.rule_page import SCHEMA, TOOL


@dataclass(frozen=True)
class Since:
    """What changed from an older tree; ``change`` is None where the contract is the same in both."""

    tree: TreeRecord
    change: ContractChange | None


@dataclass(frozen=True)
class ContractPage:
    """What there is to say of a contract.

    Args:
        tree: the checkout.
        contract: as it stands there.
        allow_lists, name_gates: consumers that dispatch on a model's type or class name.
        verdicts: how many models there are of each.
        left_over: findings on methods that are left from another generation of the contract; None where nothing
            looks for them, because the contract is only a check.
        since: what changed from an older tree, where one was named.
    """

    tree: TreeRecord
    contract: ContractRecord
    allow_lists: tuple[AllowListRecord, ...]
    name_gates: tuple[NameGateRecord, ...]
    verdicts: dict[str, int]
    left_over: tuple[Finding, ...] | None
    since: Since | None = None


def contract_page(
    report: Report, contract: ContractRecord, codes: Sequence[str], since: Since | None = None
) -> ContractPage:
    """Gather what a report says of one of its contracts.

    Args:
        report: of an audit with all rules.
        contract: one of its contracts.
        codes: the rules that report what is left from other generations.
        since: what changed from an older tree.
    """
    counts = Counter(m.statuses[contract.name].verdict for m in report.models if contract.name in m.statuses)
    left = tuple(f for f in report.findings if f.code in codes and f.contract == contract.name)
    return ContractPage(
        tree=report.checkout,
        contract=contract,
        allow_lists=tuple(a for a in report.allow_lists if a.contract == contract.name),
        name_gates=tuple(report.name_gates) if contract.delegated else (),
        verdicts={verdict: counts[verdict] for verdict in VERDICTS if counts[verdict]},
        left_over=left if contract.delegated else None,
        since=since,
    )


# -- for people ------------------------------------------------------------------------------------


def page_blocks(page: ContractPage) -> Iterator[Block]:
    """One contract as a page."""
    contract = page.contract
    yield Heading(f"{code(contract.name)} in vLLM {version(page.tree)}", 1)
    yield Item("defined", "", (str(contract.at),))
    yield Item(f"tested by {_tested(contract)}")
    yield Item(
        "a wrapper has to hand it on to its inner model"
        if contract.delegated
        else "no matter of the decoder: a wrapper answers for itself"
    )
    counts = ", ".join(f"{count} {verdict}" for verdict, count in page.verdicts.items())
    yield Item(f"models: {counts or 'none'}")
    yield Heading("Members")
    all_of = f", and one that has all of {names(contract.members)}" if contract.members else ""
    yield Paragraph(
        f"isinstance takes a class that inherits it{all_of}."
        if contract.check == "isinstance"
        else f"It names {names(contract.members) or 'nothing'}; the checker reads a flag."
    )
    if contract.methods:
        yield Heading("Methods")
        yield from (Item(method_text(m), "", (str(m.at),)) for m in contract.methods)
    yield from _consumers(page)
    yield from _generations(page)


def _tested(contract: ContractRecord) -> str:
    if contract.checker is None:
        return "isinstance: the checkout has no function for it"
    return f"{code(contract.checker)}, by {'isinstance' if contract.check == 'isinstance' else 'a flag'}"


def _consumers(page: ContractPage) -> Iterator[Block]:
    yield Heading("Who asks")
    if not page.contract.gates:
        yield Paragraph("Nothing outside the models.")
    for gate in sorted(page.contract.gates, key=lambda g: not g.checks):
        yield Item(gate_text(gate), "", (str(gate.at),))
    for allowed in page.allow_lists:
        error = f', else "{allowed.error}"' if allowed.error else ""
        text = f"allow-list: {code(allowed.subject)} has to hold one of {names(allowed.items)}{error}"
        yield Item(text, "", (str(allowed.at),))
    for dispatch in page.name_gates:
        arms = tuple(
            Item(f"{names(arm.names) or 'every other class'}: reads {code(arm.reads)}", "", (str(arm.at),))
            for arm in dispatch.arms
            if arm.reads
        )
        text = f"{code(dispatch.function)} compares the class's name with strings"
        yield Item(text, "", (str(dispatch.at),), arms)


def _generations(page: ContractPage) -> Iterator[Block]:
    if page.left_over is not None:
        yield Heading("Left from other generations")
        if not page.left_over:
            yield Paragraph("No class of this tree has a method under a name that the contract does not have.")
        yield from (Item(f"{f.code}: {f.message}", "", (str(f.at),)) for f in page.left_over)
    if page.since is None:
        return
    yield Heading(f"Since vLLM {version(page.since.tree)}")
    if page.since.change is None:
        yield Paragraph("The contract and who asks for it are the same.")
    else:
        yield from (block for block in contract_blocks(page.since.change) if not isinstance(block, Heading))


def list_blocks(report: Report) -> Iterator[Block]:
    """The contracts of a checkout as a table."""
    yield Heading(f"The contracts of vLLM {version(report.checkout)}", 1)
    rows = tuple((code(c.name), "; ".join(_brief(c))) for c in report.contracts)
    yield Table(("contract", "what it has"), rows)


def _brief(contract: ContractRecord) -> Iterator[str]:
    yield code(contract.checker) if contract.checker else "no checker"
    stubs = sum(method.default == "stub" for method in contract.methods)
    if contract.methods:
        yield f"{plural(len(contract.methods), 'method')}, {plural(stubs, 'stub')}"
    yield plural(len(contract.gates), "gate") if contract.gates else "no gates"
    if contract.delegated:
        yield "wrappers hand it on"


# -- for programs ----------------------------------------------------------------------------------


def to_json(report: Report, pages: Sequence[ContractPage]) -> str:
    """Contracts for programs, as ``explain_schema.json`` says.

    Args:
        report: of the tree.
        pages: one or all of its contracts.
    """
    record = {
        "schema": SCHEMA,
        "tool": {"name": TOOL, "version": analyzer.__version__},
        "checkout": described(report.checkout),
        "contracts": [_record(page) for page in pages],
    }
    return json.dumps(record, indent=1) + "\n"


def _record(page: ContractPage) -> dict[str, Any]:
    contract = page.contract
    left = page.left_over
    return {
        "name": contract.name,
        **changes_json.contract(contract),
        "methods": [changes_json.method(m) for m in contract.methods],
        "gates": [changes_json.gate(g) for g in contract.gates],
        "allow_lists": [changes_json.allow_list(a) for a in page.allow_lists],
        "name_gates": [_name_gate(gate) for gate in page.name_gates],
        "verdicts": page.verdicts,
        "left_over": [_left_over(f) for f in left] if left is not None else None,
        "since": _since(page.since) if page.since is not None else None,
    }


def _name_gate(gate: NameGateRecord) -> dict[str, Any]:
    arms = [{"names": list(a.names), "reads": a.reads, "path": a.at.path, "line": a.at.line} for a in gate.arms]
    return {"function": gate.function, "path": gate.at.path, "line": gate.at.line, "arms": arms}


def _left_over(finding: Finding) -> dict[str, Any]:
    return {
        "code": finding.code,
        "class": finding.cls,
        "message": finding.message,
        "path": finding.at.path,
        "line": finding.at.line,
    }


def _since(since: Since) -> dict[str, Any]:
    change = changes_json.contract_change(since.change) if since.change is not None else None
    return {"root": str(since.tree.root), "vllm_version": since.tree.version, "change": change}
