"""What a comparison of two trees says, as a page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from analyzer.changes.records import (
    AllowListChange,
    ArchitectureChange,
    Changes,
    ContractChange,
    FindingChange,
    GateChange,
    MethodChange,
    NameGateChange,
)
from analyzer.findings import Diagnostic, Finding
from analyzer.records import ContractRecord, GateRecord, MethodRecord, ModelRecord, TreeRecord
from analyzer.report.changes_support import support_blocks
from analyzer.report.layout import plural
from analyzer.report.outline import Block, Heading, Item, Paragraph, code, names, places


def title(changes: Changes) -> list[Block]:
    """The page's head: the versions and where the trees lie."""
    old, new = changes.old, changes.new
    return [
        Heading(f"From {_whole(old)} to {_whole(new) if new.plugin is not None else version(new)}", 1),
        Item(f"old: {_folder(old)}"),
        Item(f"new: {_folder(new)}"),
    ]


def _whole(tree: TreeRecord) -> str:
    plugin = tree.plugin
    about = [] if plugin is None else [plugin.name, *([code(plugin.version)] if plugin.version else []), "with"]
    return " ".join([*about, "vLLM", version(tree)])


def _folder(tree: TreeRecord) -> str:
    beside = "" if tree.plugin is None else f", with the vLLM in {code(str(tree.plugin.vllm))}"
    return f"{code(str(tree.root))}{beside}"


def version(tree: TreeRecord) -> str:
    return code(tree.version) if tree.version else "(version unknown)"


def body(changes: Changes) -> Iterator[Block]:
    """Everything between the head and the summary; nothing where nothing differs."""
    if changes.contracts:
        yield Heading("Contracts")
        for contract in changes.contracts:
            yield from contract_blocks(contract)
    if changes.name_gates:
        yield Heading("Consumers that dispatch on class names")
        yield from map(_name_gate, changes.name_gates)
    yield from support_blocks(changes)
    yield from _architectures(changes)
    yield from _findings(changes)
    for side, diagnostics in (("old", changes.old_diagnostics), ("new", changes.new_diagnostics)):
        if diagnostics:
            yield Heading(f"Not read in the {side} tree, and not compared")
            yield from map(_diagnostic, diagnostics)


def summary(changes: Changes) -> list[Block]:
    """The page in a few lines."""
    if not changes.differs:
        same = plural(changes.unchanged_findings, "finding")
        return [Heading("Summary"), Paragraph(f"Nothing differs; {same} in both.")]
    directions = Counter(s.direction for s in changes.support)
    seen = Counter("gone" if c.new is None else "new" if c.old is None else "changed" for c in changes.contracts)
    errors = sum(f.finding.severity == "error" for f in changes.new_findings)
    return [
        Heading("Summary"),
        Item(f"contracts: {seen['changed']} changed, {seen['new']} new, {seen['gone']} gone"),
        Item(
            f"support: {directions['gained']} gained, {directions['lost']} lost, "
            f"{directions['changed']} changed otherwise (one class and contract each)"
        ),
        Item(
            f"architectures: {_count(changes.added)} new, {_count(changes.removed)} gone, "
            f"{_count(changes.moved)} with another class or file"
        ),
        Item(
            f"findings: {len(changes.new_findings)} new ({plural(errors, 'error')}), "
            f"{len(changes.gone_findings)} gone, {len(changes.changed_findings)} of other weight, "
            f"{changes.unchanged_findings} unchanged"
        ),
    ]


def _count(changes: tuple[ArchitectureChange, ...]) -> int:
    return sum(len(change.architectures) for change in changes)


# -- contracts -------------------------------------------------------------------------------------


def contract_blocks(change: ContractChange) -> Iterator[Block]:
    """One contract that differs."""
    yield Heading(code(change.name), 3)
    old, new = change.old, change.new
    if old is None or new is None:
        yield from _one_sided(change)
    else:
        yield from _checker(change, old, new)
    for mark, members in (("+", change.members_added), ("-", change.members_removed)):
        if members:
            yield Item(f"{'member' if len(members) == 1 else 'members'} {names(members)}", mark)  # type: ignore[arg-type]
    yield from map(_method, change.methods)
    yield from map(_gate, change.gates)
    yield from map(_allow_list, change.allow_lists)


def _one_sided(change: ContractChange) -> Iterator[Block]:
    old, new = change.old, change.new
    record = new or old
    if record is None:
        return
    yield Item("the contract", "+" if old is None else "-", (str(record.at),))
    if new is None:
        return
    yield Item(f"tested by {_tested(new)}; members {names(new.members) or 'none'}")
    yield from (Item(method_text(m), "", (str(m.at),)) for m in new.methods)
    yield from (Item(gate_text(g), "", (str(g.at),)) for g in new.gates)


def _tested(contract: ContractRecord) -> str:
    how = "isinstance" if contract.check == "isinstance" else "a flag"
    return f"{code(contract.checker)} ({how})" if contract.checker else "nothing of its own"


def _checker(change: ContractChange, old: ContractRecord, new: ContractRecord) -> Iterator[Block]:
    if change.checker_changed:
        yield Item(f"tested by {_tested(new)} now, by {_tested(old)} before", "~", places(old.at, new.at))
    if change.handed_on_changed:
        now = "has to hand it on now" if new.delegated else "does not have to hand it on any more"
        yield Item(f"a wrapper {now}", "~", places(old.at, new.at))


def method_text(method: MethodRecord) -> str:
    """A method with its signature and what its own body does."""
    return f"method {code(method.name + method.signature)}, {default_text(method)}"


def default_text(method: MethodRecord) -> str:
    return "a stub" if method.default == "stub" else "a working default"


def _method(change: MethodChange) -> Item:
    old, new = change.old, change.new
    if old is None or new is None:
        record = new or old
        assert record is not None
        return Item(method_text(record), "+" if old is None else "-", places(None, record.at))
    kinds = change.kinds
    parts = []
    if "renamed" in kinds:
        parts.append(f"renamed from {code(old.name)} ({', '.join(change.evidence)})")
    if "default" in kinds:
        parts.append(f"{default_text(new)} now, {default_text(old)} before")
    children: tuple[Item, ...] = ()
    if "signature" in kinds:
        parts.append("another signature")
        children = (Item(code(old.name + old.signature), "-"), Item(code(new.name + new.signature), "+"))
    return Item(f"method {code(new.name)}: {'; '.join(parts)}", "~", places(old.at, new.at), children)


def gate_text(gate: GateRecord) -> str:
    """Who asks whom, what, and with which error."""
    error = f', else "{gate.error}"' if gate.error else ""
    where = f"{code(gate.function)} asks" if gate.function else "asks"
    return f"gate: {where} the {gate.subject}: {code(gate.text)}{error}"


def _gate(change: GateChange) -> Item:
    old, new = change.old, change.new
    if old is None or new is None:
        record = new or old
        assert record is not None
        return Item(gate_text(record), "+" if old is None else "-", (str(record.at),))
    parts = []
    if "moved" in change.kinds:
        parts.append(f"moved from {code(old.function)}" if old.function != new.function else "moved to another file")
    if "subject" in change.kinds:
        parts.append(f"asked the {old.subject} before")
    if "error" in change.kinds:
        parts.append(f'raised "{old.error}" before' if old.error else "raised no error before")
    return Item(f"{gate_text(new)}; {'; '.join(parts)}", "~", places(old.at, new.at))


def _allow_list(change: AllowListChange) -> Item:
    old, new = change.old, change.new
    if old is None or new is None:
        record = new or old
        assert record is not None
        what = f"allow-list of {code(record.subject)}: {names(record.items)}"
        error = f'refuses the others with "{record.error}"' if record.error else "refuses the others"
        if new is None:
            error = f'what refused the others with "{record.error}" is no more' if record.error else ""
        return Item(what, "+" if old is None else "-", (str(record.at),), (Item(error),) if error else ())
    children = tuple(
        Item(names(items), mark)  # type: ignore[arg-type]
        for mark, items in (("+", change.added), ("-", change.removed))
        if items
    )
    return Item(f"allow-list of {code(new.subject)}", "~", places(old.at, new.at), children)


def _name_gate(change: NameGateChange) -> Item:
    old, new = change.old, change.new
    record = new or old
    assert record is not None
    mark = "~" if old is not None and new is not None else "+" if old is None else "-"
    children = tuple(
        Item(names(found), sign)  # type: ignore[arg-type]
        for sign, found in (("+", change.added), ("-", change.removed))
        if found
    )
    where = places(old.at if old else None, new.at if new else None)
    return Item(f"{code(record.function)} compares the class's name", mark, where, children)  # type: ignore[arg-type]


# -- architectures ---------------------------------------------------------------------------------


def _architectures(changes: Changes) -> Iterator[Block]:
    if changes.added:
        yield Heading("New architectures")
        yield from (_architecture(change) for change in changes.added)
    if changes.removed:
        yield Heading("Architectures that are gone")
        yield from (_architecture(change) for change in changes.removed)
    if changes.moved:
        yield Heading("Architectures with another class or file")
        yield from (_moved(change) for change in changes.moved)


def _architecture(change: ArchitectureChange) -> Item:
    model = change.new or change.old
    assert model is not None
    served = _served(change.architectures, model)
    by_verdict: dict[str, list[str]] = {}
    for name, verdict in change.verdicts.items():
        by_verdict.setdefault(verdict, []).append(name)
    had = "" if change.new is not None else "was "
    children = tuple(Item(f"{had}{verdict}: {names(found)}") for verdict, found in by_verdict.items())
    return Item(served, "+" if change.old is None else "-", (str(model.at),), children)


def _served(architectures: tuple[str, ...], model: ModelRecord) -> str:
    same = architectures == (model.name,)
    return names(architectures) + ("" if same else f" (class {code(model.name)})")


def _moved(change: ArchitectureChange) -> Item:
    old, new = change.old, change.new
    assert old is not None and new is not None
    text = f"{names(change.architectures)}: "
    if old.name == new.name:
        text += "in another file" if change.architectures == (new.name,) else f"{code(new.name)}, in another file"
    else:
        text += f"{code(new.name)}, before {code(old.name)}"
    return Item(text, "~", places(old.at, new.at))


# -- findings --------------------------------------------------------------------------------------


def _findings(changes: Changes) -> Iterator[Block]:
    if changes.new_findings:
        yield Heading("New findings")
        yield from map(_finding, changes.new_findings)
    if changes.gone_findings:
        yield Heading("Findings that are gone")
        yield from _gone(changes.gone_findings)
    if changes.changed_findings:
        yield Heading("Findings of other weight")
        yield from map(_finding, changes.changed_findings)


def _gone(findings: tuple[FindingChange, ...]) -> Iterator[Item]:
    """What is gone is told by its class alone, under its rule."""
    groups: dict[str, list[Item]] = {}
    for finding, note in ((change.finding, change.note) for change in findings):
        head = _rule(finding)
        name = code(finding.cls.rpartition(".")[2]) + (f" ({note})" if note else "")
        groups.setdefault(head, []).append(Item(name, "", (str(finding.at),)))
    yield from (Item(head, "-", (), tuple(items)) for head, items in groups.items())


def _rule(finding: Finding) -> str:
    contract = f", {code(finding.contract)}" if finding.contract else ""  # findings on comments have none
    return f"{finding.code} {finding.name} ({finding.severity}{contract})"


def _finding(change: FindingChange) -> Item:
    """A finding that is new or weighs otherwise."""
    finding, old, new = change.finding, change.old, change.new
    mark = "~" if old is not None and new is not None else "+"
    text = f"{_rule(finding)}: {finding.message}"
    if old is not None and new is not None:
        before, now = (f"{f.severity}, {f.confidence}, fix: {f.fix.safety}" for f in (old, new))
        text += f" ({now}; before: {before})"
    if change.note:
        text += f" ({change.note})"
    where = places(old.at if old else None, new.at if new else None)
    return Item(text, mark, where)  # type: ignore[arg-type]


def _diagnostic(problem: Diagnostic) -> Item:
    where = f"{problem.path}:{problem.line}" if problem.line else problem.path
    return Item(problem.message, "", (where,))
