"""An audit as records: what is handed to renderers, comparisons and the cache."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from analyzer import evidence
from analyzer.audit import Audit
from analyzer.comments import MARKS
from analyzer.consumers import consumer_links
from analyzer.contracts import Contract
from analyzer.dispatch import NameGate
from analyzer.essence import Cut, PartlyRead
from analyzer.facts import LONGEST_HELPER
from analyzer.findings import Finding, Link, Position
from analyzer.index import ClassInfo
from analyzer.inner import Inner
from analyzer.members import is_protocol
from analyzer.models import WRAPPER_MARKS, Alternative, Model, Status, is_delegated
from analyzer.owed import Owed, owed, owed_links
from analyzer.records import (
    AllowListRecord,
    ArmRecord,
    ChainRecord,
    ContractRecord,
    GateRecord,
    InnerRecord,
    MethodRecord,
    ModelRecord,
    NameGateRecord,
    Report,
    SearchRecord,
    StatusRecord,
)
from analyzer.registrations import METHOD
from analyzer.suppress import checkout_comments
from analyzer.usage import CONFIG


def survey(audit: Audit, findings: Sequence[Finding]) -> Report:
    """The records of an audit.

    Args:
        audit: what was read.
        findings: of the rules, in any order.
    """
    checkout = audit.checkout
    owing = {(one.model.cls, name): one for name, c in audit.contracts.items() for one in owed(audit, c)}
    models = [model_record(audit, model, owing) for model in audit.judged]
    audit.diagnostics = sorted(
        {*audit.diagnostics, *audit.index.diagnostics}
    )  # bodies are read when they are asked for
    comments, commented = checkout_comments(checkout, findings)
    return Report(
        checkout=checkout.record(),
        files_seen=sum(len(checkout.python_files(root)) for root in checkout.judged_roots),
        files_parsed=sum(audit.index.modules.names.values()),
        contracts=[_contract(audit, contract) for contract in audit.contracts.values()],
        models=models,
        findings=sorted(findings, key=lambda f: f.sort_key),
        allow_lists=[
            AllowListRecord(a.contract, Position(a.path, a.line), a.items, a.subject, a.error)
            for a in audit.consumers.allow_lists
        ],
        name_gates=[_name_gate(gate) for gate in audit.consumers.name_gates],
        diagnostics=audit.diagnostics,
        comments=comments,
        searched=_searched(audit, commented),
    )


def _searched(audit: Audit, commented: Iterable[str]) -> SearchRecord:
    """Every search of the tree's bytes, and every file that was looked into."""
    called, callers = audit.usage.searched
    words = {*audit.consumers.words, *called, *(mark.decode() for mark in MARKS)}
    if audit.checkout.plugin is not None:
        words.add(METHOD)
    marks = sorted(mark.decode() for mark in WRAPPER_MARKS)
    lost = {problem.path for problem in audit.diagnostics}
    read = {*audit.index.modules.paths, *audit.consumers.read, *callers, *commented, *lost}
    return SearchRecord(tuple(sorted(words)), tuple(marks), tuple(sorted(read)))


def partly_read(audit: Audit, report: Report) -> PartlyRead:
    """The files of which only some functions were looked into.

    Args:
        audit: what was read; when its rules were applied, and its records made.
        report: that it gave.
    """
    checkout, words = audit.checkout, report.searched.words
    bodies: dict[str, tuple[list[Cut], str, bool]] = {}
    whole = {checkout.rel(checkout.registry_path), *(problem.path for problem in report.diagnostics)}
    for module in (
        audit.index.modules.facts if checkout.plugin is None else ()
    ):  # what it registers is looked for everywhere
        if module.path not in whole:
            cuts = [Cut(line, *rest) for line, rest in module.cut.items()]
            asked = "".join("1" if cut.line in module.asked else "0" for cut in cuts)
            bodies[module.path] = (cuts, asked, module.path in audit.usage.config_files)
    return PartlyRead(bodies, words, (*words, CONFIG), LONGEST_HELPER)


def _at(cls: ClassInfo) -> Position:
    return Position(cls.path, cls.facts.line, cls.facts.column)


def _contract(audit: Audit, contract: Contract) -> ContractRecord:
    checks = audit.checks(contract)
    return ContractRecord(
        name=contract.name,
        at=_at(contract.cls),
        members=tuple(contract.members),
        methods=tuple(
            MethodRecord(m.name, m.signature, m.default, Position(m.owner.path, m.facts.line, m.facts.column))
            for m in contract.methods
        ),
        checker=contract.checker,
        check=contract.check,
        delegated=is_delegated(contract),
        kept_in=tuple(sorted(audit.model_set.capture_attributes.get(contract.name, ()))),
        gates=tuple(
            GateRecord(g.member, Position(g.path, g.line), g.subject, g.text, g.error, g.function, g in checks)
            for g in audit.consumers.of(contract.name)
        ),
    )


def _name_gate(gate: NameGate) -> NameGateRecord:
    arms = [*gate.arms, *([gate.otherwise] if gate.otherwise is not None else [])]
    return NameGateRecord(
        Position(gate.path, gate.line),
        gate.function,
        tuple(ArmRecord(Position(gate.path, arm.line), arm.names, arm.reads) for arm in arms),
    )


# -- models ----------------------------------------------------------------------------------------


def model_record(audit: Audit, model: Model, owing: Mapping[tuple[ClassInfo, str], Owed] | None = None) -> ModelRecord:
    """One model with all its statuses.

    Args:
        audit: what was read.
        model: one of its models.
        owing: what wrappers owe, by their class and the contract's name.
    """
    owing = owing or {}
    return ModelRecord(
        cls=model.cls.key,
        at=_at(model.cls),
        architectures=model.architectures,
        role=model.role,
        serves=model.serves,
        inner=tuple(_inner(model, inner) for inner in model.inner),
        becomes=tuple(cls.key for cls in model.becomes),
        statuses={
            name: status_record(audit, model, status, owing.get((model.cls, name)))
            for name, status in model.statuses.items()
        },
    )


def _inner(model: Model, inner: Inner) -> InnerRecord:
    return InnerRecord(
        attribute=inner.attribute,
        cls=inner.cls.key if inner.cls is not None else None,
        resolution=inner.resolution,
        decoder=_decoder(model, inner),
        at=Position(inner.site.path, inner.site.line, inner.site.column + 1) if inner.site is not None else None,
        reason=inner.reason,
    )


def _decoder(model: Model, inner: Inner) -> str | None:
    """The class that holds the layers of one possible inner model; None where that is not known."""
    if inner.cls is None:
        return None
    for status in model.statuses.values():
        for alternative in status.alternatives:
            if alternative.inner is inner and (decoder := _holder(alternative)):
                return decoder
    return None


def _holder(alternative: Alternative) -> str | None:
    chains = (alternative.own, alternative.outer, alternative.repaired)
    return next((c.holder.cls.key for c in chains if c is not None and c.holder is not None), None)


def status_record(audit: Audit, model: Model, status: Status, owes: Owed | None = None) -> StatusRecord:
    """How one model stands to one contract, with its chains.

    Args:
        audit: what was read.
        model, status: which.
        owes: that it owes the contract.
    """
    if owes is not None:
        return StatusRecord(
            declared=status.declared,
            satisfied=status.satisfied,
            verdict="undeclared",
            reason=f"the inner model {'supports' if owes.passes else 'may support'} it, this class does not declare it",
            chains=(ChainRecord("", owed_links(audit, owes, gates=False)),),
            class_satisfied=audit.model_set.class_passes(model.cls, status.contract),
        )
    return StatusRecord(
        declared=status.declared,
        satisfied=status.satisfied,
        verdict="unknown" if status.satisfied is None else status.verdict,
        reason=status.reason,
        handed_on=bool(status.alternatives),
        chains=tuple(_chains(audit, model, status)),
        consumers=consumer_links(audit, model, status) if status.alternatives else (),
        class_satisfied=audit.model_set.class_passes(model.cls, status.contract),
        declared_by=_declarer(model.cls, status.contract) if status.declared else "",
    )


def _declarer(cls: ClassInfo, contract: Contract) -> str:
    """The first class of a linearisation that names the contract, or a Protocol that extends it, among its bases."""
    for owner in cls.own_mro:
        classes = [base for base in owner.bases if isinstance(base, ClassInfo)]
        if any(base is contract.cls or (is_protocol(base) and contract.declared_by(base)) for base in classes):
            return owner.key
    return ""


def _chains(audit: Audit, model: Model, status: Status) -> list[ChainRecord]:
    if not status.alternatives:
        if status.satisfied is False:  # nothing to tell that the status does not say
            return []
        return [ChainRecord("", evidence.plain_links(model, status))]
    return [ChainRecord(_case(a), _links(audit, model, status, a)) for a in status.alternatives]


def _links(audit: Audit, model: Model, status: Status, alternative: Alternative) -> tuple[Link, ...]:
    """The chain from the check on; of a class that fails it, as it would be if it declared the contract."""
    repaired = status.verdict == "undeclared"
    links = evidence.model_links(audit, model, status, alternative, repaired=repaired)
    if not any(link.link == "decoder" for link in links):
        chain = alternative.repaired if repaired else alternative.outer
        links = (*links, *evidence.unreached_links(audit, chain, alternative))
    if status.verdict != "unsupported":
        return links
    return (*links, *evidence.loop_links(audit, model, status))


def _case(alternative: Alternative) -> str:
    """Which inner model a chain is for; empty where the model has none."""
    if alternative.inner is None:
        return ""
    if alternative.cls is None:
        return "the inner model is not known"
    return f"self.{alternative.inner.attribute} is {alternative.cls.name}"
