"""Will it work for my model: the whole chain of one model, from the first gate to the decoder, and its answer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from analyzer.findings import Finding, Link
from analyzer.records import ChainRecord, ContractRecord, ModelRecord, Report, StatusRecord

Answer = Literal["works", "fails", "depends", "unknown"]

DECIDING = frozenset({"architecture", "allow-list", "check", "method", "capture", "forward", "name-gate", "layers"})
"""Links that end the story where they are broken; the others say how the chain goes."""


@dataclass(frozen=True)
class Path:
    """One possibility: a class that serves the model, with one inner model.

    Args:
        model: the outer class.
        case: which inner model; empty where there is one or none.
        links: in the order in which they are met.
        answer: how it ends.
        why: where it fails and with which error, or what it depends on.
    """

    model: ModelRecord
    case: str
    links: tuple[Link, ...]
    answer: Answer
    why: str


@dataclass(frozen=True)
class Trace:
    """What is asked, and the answer.

    Args:
        subject: what was named: an architecture, a class, a checkpoint.
        contract: which contract.
        version: of the checkout, None where it does not tell.
        paths: the possibilities, the most likely first.
        answer, why: of all of them together.
        notes: findings on the classes of the chain that do not decide.
        facts: what the checkpoint decides, as (what, value).
    """

    subject: str
    contract: str
    version: str | None
    paths: tuple[Path, ...]
    answer: Answer
    why: str
    notes: tuple[Finding, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()


def trace(
    report: Report,
    contract: ContractRecord,
    subject: str,
    models: Sequence[ModelRecord],
    *,
    statuses: dict[str, StatusRecord] | None = None,
    extra: Iterable[Link] = (),
    facts: Iterable[tuple[str, str]] = (),
) -> Trace:
    """The chain of some models that serve one name.

    Args:
        report: of the checkout.
        contract: one of its contracts.
        subject: what was named.
        models: those that serve it, the usual one last, as the registry gives platform variants.
        statuses: by class, where a checkpoint decides more than the report knows.
        extra: links that the checkpoint adds at the end.
        facts: what the checkpoint decides.
    """
    paths: list[Path] = []
    for model in reversed(models):
        status = (statuses or {}).get(model.cls) or model.statuses[contract.name]
        paths += _paths(model, contract, status, tuple(extra))
    answer, why = _together(paths)
    keys = {model.cls for model in models}
    names = {a for model in models for a in model.architectures}
    notes = [
        f
        for f in report.findings
        if f.contract == contract.name and (f.cls in keys or names & set(f.architectures)) and f.severity != "info"
    ]
    return Trace(subject, contract.name, report.checkout.version, tuple(paths), answer, why, tuple(notes), tuple(facts))


_NOT_ASKED = {
    "draft": "is a draft head: it proposes for a target, and nothing asks it",
    "pooling": "is a pooling model: it does not generate, and nothing asks it",
}


def _paths(model: ModelRecord, contract: ContractRecord, status: StatusRecord, extra: tuple[Link, ...]) -> list[Path]:
    if contract.delegated and model.role in _NOT_ASKED:
        why = f"{model.name} {_NOT_ASKED[model.role]}"
        return [Path(model, "", _failed(model, contract, status), "unknown", f": {why}")]
    chains = status.chains or (ChainRecord("", _failed(model, contract, status)),)
    gates = _gates(contract)
    before = [link for link in status.consumers if link.link == "allow-list"]
    behind = [link for link in status.consumers if link.link != "allow-list"]
    several = len(chains) > 1
    out = []
    for chain in chains:
        links = (*before, *gates, *chain.links, *behind, *extra)
        answer, why = _answer(contract, status, links)
        out.append(Path(model, chain.case if several else "", links, answer, why))
    return out


def _gates(contract: ContractRecord) -> list[Link]:
    return [
        Link("gate", True, gate.at.path, gate.at.line, f"asks the {gate.subject}: {gate.text}")
        for gate in contract.checks
    ]


def _failed(model: ModelRecord, contract: ContractRecord, status: StatusRecord) -> tuple[Link, ...]:
    """The one link of a contract that is only a check and is not passed."""
    asks = contract.checker or f"isinstance({contract.name})"
    says = {True: "passes", False: "fails", None: "may or may not pass"}[status.satisfied]
    detail = f"{model.name} {says} {asks}" + (f": {status.reason}" if status.reason else "")
    return (Link("check", status.satisfied, model.at.path, model.at.line, detail),)


def _answer(contract: ContractRecord, status: StatusRecord, links: Sequence[Link]) -> tuple[Answer, str]:
    """How a chain ends: at its first broken link, or with what is not known."""
    for number, link in enumerate(links, 1):
        if link.link in DECIDING and link.ok is False:
            return "fails", f"at link {number} ({link.link}): {_error(contract, link)}"
    if status.satisfied is False:  # an inner model decides whether the class should have declared it
        return "fails", f"at the check: {_runner_error(contract)}"
    unknown = [(n, x) for n, x in enumerate(links, 1) if x.ok is None and x.link in (*DECIDING, "inner", "inner-check")]
    if status.verdict == "config-dependent" or any(x.link == "inner" for _, x in unknown):
        where = [f"at link {n} ({x.link}): {x.detail}" for n, x in unknown]
        return "depends", f"on the checkpoint, {where[0]}" if where else status.reason
    if unknown:
        number, link = unknown[0]
        kind: Answer = "depends" if link.link in ("allow-list", "architecture", "name-gate") else "unknown"
        return kind, f"at link {number} ({link.link}): {link.detail}"
    return "works", ""


def _error(contract: ContractRecord, link: Link) -> str:
    return _runner_error(contract) if link.link == "check" else link.detail


def _runner_error(contract: ContractRecord) -> str:
    error = next((gate.error for gate in reversed(contract.checks) if gate.error), "")
    return f'the runner says "{error}"' if error else f"the class does not support {contract.name}"


def _together(paths: Sequence[Path]) -> tuple[Answer, str]:
    if not paths:
        return "unknown", "no class serves it"
    answers = {path.answer for path in paths}
    if len(answers) == 1:
        return paths[0].answer, paths[0].why
    if answers & {"works", "depends"}:
        told = ", ".join(f"{path.case or path.model.name}: {path.answer}" for path in paths[:4])
        return "depends", f"on which is built ({told}{', …' if len(paths) > 4 else ''})"
    return "unknown", next(path.why for path in paths if path.answer == "unknown")


# -- layers ----------------------------------------------------------------------------------------


def layers_link(layers: Sequence[int], count: int | None, whose: str, link: Link) -> Link:
    """Whether auxiliary layers exist in the decoder.

    Args:
        layers: the indices that are asked for.
        count: how many layers there are; None where that is not known.
        whose: where the indices come from, in words.
        link: whose place the new link has.
    """
    shown = f"{whose}: {', '.join(map(str, layers))}"
    if count is None:
        return replace(link, link="layers", ok=None, detail=f"{shown}; how many layers there are is not known")
    beyond = [index for index in layers if index < 0 or index > count]
    if beyond:
        wrong = ", ".join(map(str, beyond))
        return replace(link, link="layers", ok=False, detail=f"{shown}; of {count} layers there is no {wrong}")
    doubled = len(set(layers)) < len(layers)
    ok = None if count in layers else not doubled
    end = f"; {count} is the state behind the last layer, which not every decoder gives" if count in layers else ""
    twice = "; one of them is asked for twice, and collected once" if doubled else ""
    return replace(link, link="layers", ok=ok, detail=f"{shown}, of {count} layers{end}{twice}")
