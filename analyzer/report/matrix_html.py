"""The matrix as one HTML file that asks nothing of a network: the page, its style, its script and the data.

The page stands in ``matrix.html``, ``matrix.css`` and ``matrix.js`` beside this file.  The data is JSON in which every
text, link and cell stands once and is named by its number; the script builds the table from it.
"""

from __future__ import annotations

import html
import json
from collections.abc import Hashable
from importlib import resources
from typing import Any

import analyzer
from analyzer.findings import Finding, Link, Position
from analyzer.matrix import CELL_VERDICTS, Cell, Matrix, Row
from analyzer.records import ContractRecord
from analyzer.report.places import LinkTemplate

Record = dict[str, Any]
_OK = {True: 1, False: 0, None: -1}


def render(matrix: Matrix, links: LinkTemplate | None = None) -> str:
    """The matrix as a page.

    Args:
        matrix: all of it, or a selection.
        links: makes every position lead to its line.
    """
    page = _part("matrix.html")
    page = page.replace("{{title}}", html.escape(f"Contracts of {matrix.checkout.title}"))
    page = page.replace("{{tool}}", html.escape(f"vllm-contracts {analyzer.__version__}"))
    page = page.replace("/* {{style}} */", _part("matrix.css"))
    page = page.replace("/* {{script}} */", _part("matrix.js"))
    return page.replace("{{data}}", embed(_Data(links).collect(matrix)))


def embed(data: object) -> str:
    """JSON that may stand inside a ``script`` element whatever its texts hold."""
    text = json.dumps(data, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _part(name: str) -> str:
    return (resources.files(__package__) / name).read_text("utf-8")


class _Numbers:
    """Things that are named by their number; each is kept once."""

    def __init__(self) -> None:
        self.items: list[Any] = []
        self._known: dict[Hashable, int] = {}

    def number(self, key: Hashable, item: Any = None) -> int:
        """The number of a thing; ``item`` is how it is written, ``key`` itself unless given."""
        if key not in self._known:
            self._known[key] = len(self.items)
            self.items.append(key if item is None else item)
        return self._known[key]


class _Data:
    """The data of a page.

    Args:
        links: see :func:`render`.
    """

    def __init__(self, links: LinkTemplate | None) -> None:
        self.template = links
        self.texts, self.paths = _Numbers(), _Numbers()
        self.links, self.findings, self.cells = _Numbers(), _Numbers(), _Numbers()

    def collect(self, matrix: Matrix) -> Record:
        """All of a matrix."""
        contracts = [self._contract(contract, contract.name in matrix.leading) for contract in matrix.contracts]
        names = [contract.name for contract in matrix.contracts]
        rows = [self._row(row, names) for row in matrix.rows]
        problems = [
            f"{d.path}:{d.line}: {d.message}" if d.line else f"{d.path}: {d.message}" for d in matrix.diagnostics
        ]
        template = self.template
        return {
            "verdicts": CELL_VERDICTS,
            "contracts": contracts,
            "rows": rows,
            "cells": self.cells.items,
            "findings": self.findings.items,
            "links": self.links.items,
            "paths": self.paths.items,
            "hrefs": [template.file(path) for path in self.paths.items] if template is not None else None,
            "texts": self.texts.items,
            "problems": problems,
        }

    def _place(self, at: Position) -> tuple[int, int]:
        return self.paths.number(at.path), at.line

    def _contract(self, contract: ContractRecord, leading: bool) -> Record:
        return {
            "name": contract.name,
            "at": self._place(contract.at),
            "checker": contract.checker,
            "members": contract.members,
            "leading": leading,
            "uses": [(self.texts.number(f"{g.text} asks the {g.subject}"), *self._place(g.at)) for g in contract.gates],
        }

    def _row(self, row: Row, names: list[str]) -> Record:
        model = row.model
        cells = [self._cell(row.cells[name]) if name in row.cells else -1 for name in names]
        return {
            "architecture": row.architecture,
            "variant": row.variant,
            "class": model.cls,
            "role": model.role,
            "at": self._place(model.at),
            "cells": cells,
        }

    def _cell(self, cell: Cell) -> int:
        status = cell.status
        written = (
            CELL_VERDICTS.index(cell.verdict),
            self.texts.number(cell.reason),
            _OK[status.satisfied],
            _OK[status.class_satisfied],
            int(cell.remarked),
            tuple(self._finding(finding) for finding in cell.findings),
            tuple(
                (self.texts.number(chain.case), tuple(self._link(link) for link in chain.links))
                for chain in cell.chains
            ),
        )
        return self.cells.number(written)

    def _finding(self, finding: Finding) -> int:
        weight = finding.severity + ("" if finding.confidence == "certain" else f", {finding.confidence}")
        fix = finding.fix
        repair = f"no fix: {fix.summary}" if fix.safety == "none" else f"{fix.safety} fix: {fix.summary}"
        texts = (f"{finding.code} {finding.name}", weight, finding.message, repair)
        return self.findings.number((*map(self.texts.number, texts), *self._place(finding.at)))

    def _link(self, link: Link) -> int:
        return self.links.number(
            (
                self.texts.number(link.link),
                _OK[link.ok],
                self.texts.number(link.detail),
                self.paths.number(link.path),
                link.line,
            )
        )
