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
        model, contract: whose cell it is.
        gates: what asks for the contract; nothing, where it is not asked.
        findings: those on this class and contract.
    """

    verdict: CellVerdict
    reason: str
    at: Position
    model: ModelRecord
    contract: ContractRecord
    gates: tuple[Link, ...]
    findings: tuple[Finding, ...] = ()

    @property
    def status(self) -> StatusRecord:
        """What the analysis says."""
        return self.model.statuses[self.contract.name]

    @property
    def chains(self) -> tuple[ChainRecord, ...]:
        """From the first allow-list or gate to the decoder, one chain for each possibility of the inner model."""
        consumers = self.status.consumers
        before = [link for link in consumers if link.link == "allow-list"]
        behind = [link for link in consumers if link.link != "allow-list"]
        own = self.status.chains or (ChainRecord("", (self._check(),)),)
        return tuple(ChainRecord(c.case, (*before, *self.gates, *c.links, *behind)) for c in own)

    def _check(self) -> Link:
        answer, at = self.status.satisfied, self.model.at
        return Link("check", answer, at.path, at.line, _says(self.model, self.contract, answer))

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

    def counts(self, contract: str) -> Counter[CellVerdict]:
        """How often each verdict stands in a column."""
        return Counter(row.cells[contract].verdict for row in self.rows if contract in row.cells)


def build(report: Report, contracts: Sequence[str] = ()) -> Matrix:
    """The matrix of an audit.

    Args:
        report: with the findings of all rules.
        contracts: patterns as of a shell for the columns, in upper or lower case; all unless given.
    """
    serving: dict[str, list[ModelRecord]] = {}
    for model in report.models:
        for architecture in model.architectures:
            serving.setdefault(architecture, []).append(model)
    named: dict[tuple[str, str], list[Finding]] = {}
    for finding in report.findings:
        for architecture in finding.architectures:
            named.setdefault((architecture, finding.contract), []).append(finding)
    columns = [c for c in report.contracts if not contracts or matching(c.name, contracts)]
    asked = [(contract, gate_links(contract)) for contract in columns]
    rows: list[Row] = []
    for architecture, models in sorted(serving.items(), key=lambda item: (item[0].lower(), item[0])):
        rows += _rows(architecture, sorted(models, key=lambda m: m.cls), asked, named)
    return Matrix(report.checkout, tuple(columns), leading(report), tuple(rows), tuple(report.diagnostics))


def leading(report: Report) -> frozenset[str]:
    """The contracts that say most: those that wrappers have to hand on, and those with findings; all if there are none.

    What no function tests is left out: nothing is refused for not inheriting it.

    Args:
        report: with the findings of all rules.
    """
    remarkable = {f.contract for f in report.findings}
    names = {c.name for c in report.contracts if c.delegated or (c.name in remarkable and c.checker is not None)}
    return frozenset(names or (c.name for c in report.contracts))


def select(matrix: Matrix, *, only: Sequence[str] = (), architectures: Sequence[str] = ()) -> Matrix:
    """Part of a matrix; rows and columns that nothing is left of go with it.

    Args:
        matrix: all of it.
        only: the verdicts of the cells that stay; all unless given.
        architectures: patterns as for :func:`build`; all unless given.
    """
    rows = []
    for row in matrix.rows:
        if architectures and not matching(row.architecture, architectures):
            continue
        cells = {name: cell for name, cell in row.cells.items() if not only or cell.verdict in only}
        if cells:
            rows.append(replace(row, cells=cells))
    left = {name for row in rows for name in row.cells}
    return replace(matrix, contracts=tuple(c for c in matrix.contracts if c.name in left), rows=tuple(rows))


def matching(name: str, patterns: Iterable[str]) -> bool:
    """Whether a name fits one of some patterns, whatever the case."""
    return any(fnmatchcase(name.lower(), pattern.lower()) for pattern in patterns)


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


# -- rows ------------------------------------------------------------------------------------------

_Asked = tuple[ContractRecord, tuple[Link, ...]]


def _rows(
    architecture: str,
    models: Sequence[ModelRecord],
    contracts: Sequence[_Asked],
    named: dict[tuple[str, str], list[Finding]],
) -> list[Row]:
    """The rows of one architecture."""
    cells: dict[str, dict[str, Cell]] = {model.cls: {} for model in models}
    built_first = sorted(models, key=lambda m: bool(m.becomes))
    for asked in contracts:
        name = asked[0].name
        about = named.get((architecture, name), [])
        for model in built_first:
            concerning = tuple(f for f in about if _concerns(f, model, models))
            made = [cells[cls][name] for cls in model.becomes if cls in cells]
            cells[model.cls][name] = _becoming(model, asked, concerning, made) or _cell(model, asked, concerning)
    variants = _variants([model.cls for model in models])
    return [
        Row(architecture, model, variant, cells[model.cls]) for model, variant in zip(models, variants, strict=True)
    ]


def _becoming(model: ModelRecord, asked: _Asked, findings: tuple[Finding, ...], made: Sequence[Cell]) -> Cell | None:
    """The cell of a class that makes others instead of itself, from theirs; None for every other class."""
    if not made:
        return None
    verdicts = {cell.verdict for cell in made}
    verdict: CellVerdict = verdicts.pop() if len(verdicts) == 1 else "config-dependent"
    return Cell(verdict, model.statuses[asked[0].name].reason, model.at, model, asked[0], (), findings)


def _cell(model: ModelRecord, asked: _Asked, findings: tuple[Finding, ...]) -> Cell:
    contract, gates = asked
    if contract.delegated and not model.serves:
        why = f"{contract.name} is not asked of {_KINDS.get(model.role, 'a model that does not generate')}"
        return Cell(NOT_ASKED, why, model.at, model, contract, (), findings)
    status = model.statuses[contract.name]
    certain = [f for f in findings if f.severity == "error" and f.confidence == "certain"]
    if certain and status.verdict in ("works", "broken"):
        why = f"{certain[0].code}: {certain[0].message}"
        return Cell("broken", why, certain[0].at, model, contract, gates, findings)
    link = _deciding(status)
    at = Position(link.path, link.line) if link is not None else model.at
    why = status.reason or (link.detail if link is not None else "")
    if not why and status.verdict != "works":
        why = _says(model, contract, status.satisfied)
    return Cell(status.verdict, why, at, model, contract, gates, findings)


_KINDS = {"draft": "a draft head", "pooling": "a pooling model"}
_ANSWERS = {True: "passes", False: "fails", None: "may or may not pass"}


def _says(model: ModelRecord, contract: ContractRecord, answer: bool | None) -> str:
    """What the checker answers, in words."""
    return f"{model.name} {_ANSWERS[answer]} {contract.checker or f'isinstance({contract.name})'}"


def _deciding(status: StatusRecord) -> Link | None:
    """The link that decides a status: the first that is broken, else the first that is not known.

    None for what works: it may have links that are not known, such as a stub that is never called.
    """
    if status.verdict == "works":
        return None
    links = [link for chain in status.chains for link in chain.links if link.path]
    return next((x for answer in (False, None) for x in links if x.ok is answer), None)


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
