"""The matrix: every registered architecture against every contract, from the records of an audit.

Draft heads and pooling models are never the target of speculative decoding, so a contract that configures the
decoder is not asked of them: their cells say ``not-asked``, whatever the checker would return.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Literal, get_args

from analyzer.findings import Diagnostic, Finding, Link, Position
from analyzer.records import ChainRecord, ContractRecord, ModelRecord, Report, StatusRecord, TreeRecord, Verdict

NotAsked = Literal["not-asked"]
CellVerdict = Verdict | NotAsked

NOT_ASKED: NotAsked = "not-asked"
CELL_VERDICTS: tuple[CellVerdict, ...] = (*get_args(Verdict), NOT_ASKED)


@dataclass(frozen=True)
class Cell:
    """How a class that serves an architecture stands to a contract.

    Args:
        verdict: the status's, unless a finding that is certain says otherwise.
        reason: why, in plain words; empty for most that works.
        at: where it is decided: a finding, or the first link that does not hold, else the class.
        status: what the analysis says.
        chains: from the first gate to the decoder, one for each possibility of the inner model.
        findings: those on this class and contract.
    """

    verdict: CellVerdict
    reason: str
    at: Position
    status: StatusRecord
    chains: tuple[ChainRecord, ...]
    findings: tuple[Finding, ...] = ()

    @property
    def remarked(self) -> bool:
        """Whether it works and there is more to know than that."""
        return self.verdict == "works" and any(f.severity != "info" for f in self.findings)


@dataclass(frozen=True)
class Row:
    """An architecture and one class that serves it.

    Args:
        architecture: the registered name.
        model: the class.
        variant: what tells it from the other classes of this architecture, such as a platform; empty if it is alone.
        cells: by name of contract; those that a selection leaves out are missing.
    """

    architecture: str
    model: ModelRecord
    variant: str
    cells: dict[str, Cell]

    @property
    def label(self) -> str:
        """The architecture, with the variant if there is one."""
        return f"{self.architecture} [{self.variant}]" if self.variant else self.architecture


@dataclass(frozen=True)
class Matrix:
    """The matrix of a checkout.

    Args:
        checkout: the tree.
        contracts: the columns, in source order.
        leading: names of the contracts that say most: those that wrappers have to hand on, and those with findings.
        rows: by architecture, then by class.
        diagnostics: input that could not be used.
    """

    checkout: TreeRecord
    contracts: tuple[ContractRecord, ...]
    leading: frozenset[str]
    rows: tuple[Row, ...]
    diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def version(self) -> str:
        """The version of vLLM, in words that follow its name."""
        return self.checkout.version or "of an unknown version"

    def counts(self, contract: str) -> Counter[CellVerdict]:
        """How often each verdict stands in a column."""
        return Counter(row.cells[contract].verdict for row in self.rows if contract in row.cells)


def build(report: Report) -> Matrix:
    """The matrix of an audit.

    Args:
        report: with the findings of all rules.
    """
    serving: dict[str, list[ModelRecord]] = {}
    for model in report.models:
        for architecture in model.architectures:
            serving.setdefault(architecture, []).append(model)
    named: dict[tuple[str, str], list[Finding]] = {}
    for finding in report.findings:
        for architecture in finding.architectures:
            named.setdefault((architecture, finding.contract), []).append(finding)
    rows: list[Row] = []
    for architecture, models in sorted(serving.items(), key=lambda item: (item[0].lower(), item[0])):
        rows += _rows(architecture, sorted(models, key=lambda m: m.cls), report.contracts, named)
    remarkable = {f.contract for f in report.findings}
    leading = {c.name for c in report.contracts if c.delegated or c.name in remarkable}
    return Matrix(
        report.checkout,
        tuple(report.contracts),
        frozenset(leading or {c.name for c in report.contracts}),
        tuple(rows),
        tuple(report.diagnostics),
    )


def select(
    matrix: Matrix, *, only: Sequence[str] = (), architectures: Sequence[str] = (), contracts: Sequence[str] = ()
) -> Matrix:
    """Part of a matrix; rows and columns that nothing is left of go with it.

    Args:
        matrix: all of it.
        only: the verdicts of the cells that stay; all unless given.
        architectures, contracts: patterns as of a shell, in upper or lower case; all unless given.
    """
    columns = tuple(c for c in matrix.contracts if not contracts or matching(c.name, contracts))
    names = {c.name for c in columns}
    rows = []
    for row in matrix.rows:
        if architectures and not matching(row.architecture, architectures):
            continue
        cells = {n: c for n, c in row.cells.items() if n in names and (not only or c.verdict in only)}
        if cells:
            rows.append(replace(row, cells=cells))
    left = {name for row in rows for name in row.cells}
    return replace(matrix, contracts=tuple(c for c in columns if c.name in left), rows=tuple(rows))


def matching(name: str, patterns: Iterable[str]) -> bool:
    """Whether a name fits one of some patterns, whatever the case."""
    return any(fnmatchcase(name.lower(), pattern.lower()) for pattern in patterns)


# -- rows ------------------------------------------------------------------------------------------


def _rows(
    architecture: str,
    models: Sequence[ModelRecord],
    contracts: Iterable[ContractRecord],
    named: dict[tuple[str, str], list[Finding]],
) -> list[Row]:
    """The rows of one architecture."""
    cells: dict[str, dict[str, Cell]] = {model.cls: {} for model in models}
    for contract in contracts:
        about = named.get((architecture, contract.name), [])
        for model in sorted(models, key=lambda m: bool(m.becomes)):
            concerning = tuple(f for f in about if _concerns(f, model, models))
            made = [cells[cls][contract.name] for cls in model.becomes if cls in cells]
            cells[model.cls][contract.name] = _cell(model, contract, concerning, made)
    variants = _variants([model.cls for model in models])
    return [
        Row(architecture, model, variant, cells[model.cls]) for model, variant in zip(models, variants, strict=True)
    ]


def _cell(
    model: ModelRecord, contract: ContractRecord, findings: tuple[Finding, ...], made: Sequence[Cell] = ()
) -> Cell:
    """One cell; ``made`` are those of the classes that a class makes instead of itself."""
    status = model.statuses[contract.name]
    if made:
        verdicts = {cell.verdict for cell in made}
        verdict: CellVerdict = verdicts.pop() if len(verdicts) == 1 else "config-dependent"
        return Cell(verdict, status.reason, model.at, status, status.chains, findings)
    if contract.delegated and not model.serves:
        return Cell(
            NOT_ASKED,
            f"{contract.name} is not asked of {_kind(model)}",
            model.at,
            status,
            status.chains,
            findings,
        )
    chains = _chains(model, contract, status)
    certain = [f for f in findings if f.severity == "error" and f.confidence == "certain"]
    if certain and status.verdict in ("works", "broken"):
        return Cell("broken", f"{certain[0].code}: {certain[0].message}", certain[0].at, status, chains, findings)
    link = _deciding(model, contract, status)
    at = Position(link.path, link.line) if link is not None else model.at
    reason = status.reason or (link.detail if link is not None else "")
    return Cell(status.verdict, reason, at, status, chains, findings)


def _kind(model: ModelRecord) -> str:
    return {"draft": "a draft head", "pooling": "a pooling model"}.get(model.role, "a model that does not generate")


# -- chains ----------------------------------------------------------------------------------------


def _chains(model: ModelRecord, contract: ContractRecord, status: StatusRecord) -> tuple[ChainRecord, ...]:
    """The chains of a status with what stands before and behind them: allow-lists, gates, name gates."""
    before = [link for link in status.consumers if link.link == "allow-list"]
    behind = [link for link in status.consumers if link.link != "allow-list"]
    gates = gate_links(contract)
    return tuple(
        ChainRecord(chain.case, (*before, *gates, *chain.links, *behind)) for chain in _own(model, contract, status)
    )


def gate_links(contract: ContractRecord) -> tuple[Link, ...]:
    """The checks outside the models that ask for a contract."""
    return tuple(
        Link(
            "gate",
            True,
            gate.at.path,
            gate.at.line,
            f"asks the {gate.subject}: {gate.text}" + (f', else "{gate.error}"' if gate.error else ""),
        )
        for gate in contract.checks
    )


def _own(model: ModelRecord, contract: ContractRecord, status: StatusRecord) -> tuple[ChainRecord, ...]:
    """The chains from the check on; where a status has none, the check alone."""
    if status.chains:
        return status.chains
    says = {True: "passes", False: "fails", None: "may or may not pass"}[status.satisfied]
    checker = contract.checker or f"isinstance({contract.name})"
    check = Link("check", status.satisfied, model.at.path, model.at.line, f"{model.name} {says} {checker}")
    return (ChainRecord("", (check,)),)


def _deciding(model: ModelRecord, contract: ContractRecord, status: StatusRecord) -> Link | None:
    """The link that decides a status: the first that is broken, else the first that is not known.

    None for what works: it may have links that are not known, such as a stub that is never called.
    """
    links = [link for chain in _own(model, contract, status) for link in chain.links if link.path]
    for answer in (False, None) if status.verdict != "works" else ():
        for link in links:
            if link.ok is answer:
                return link
    return None


# -- which finding concerns which class ------------------------------------------------------------


def _concerns(finding: Finding, model: ModelRecord, models: Sequence[ModelRecord]) -> bool:
    """Whether a finding that names an architecture is about one of the classes that serve it.

    A finding may stand at the class, at one that it inherits from, or at its decoder.
    """
    if finding.cls == model.cls or finding.cls in model.becomes or len(models) == 1:
        return True
    if any(finding.cls == other.cls for other in models):
        return False
    touched = {other.cls for other in models if _touches(finding, other)}
    return not touched or model.cls in touched or not touched.isdisjoint(model.becomes)


def _touches(finding: Finding, model: ModelRecord) -> bool:
    """Whether a model's chains pass through the place of a finding."""
    status = model.statuses[finding.contract]
    places = {(link.path, link.line) for chain in status.chains for link in chain.links}
    places |= {(inner.at.path, inner.at.line) for inner in model.inner if inner.at is not None}
    built = finding.builds_inner
    return (finding.at.path, finding.at.line) in places or (built is not None and (built.path, built.line) in places)


# -- what tells variants apart ---------------------------------------------------------------------


def _variants(classes: Sequence[str]) -> list[str]:
    """What only one of several dotted names has: ``a.amd.model.X`` and ``a.nvidia.model.X`` are ``amd`` and ``nvidia``.

    The class's name where the modules do not differ, and the whole where no part of it is its own.
    """
    if len(classes) == 1:
        return [""]
    modules = [cls.split(".") for cls in classes]
    names = [words.pop() for words in modules]
    shown = []
    for own, name, cls in zip(modules, names, classes, strict=True):
        apart = [word for word in own if sum(word in words for words in modules) == 1]
        shown.append(".".join(apart) or (name if names.count(name) == 1 else cls))
    return shown
