"""The matrix as a Markdown table, for an issue or a page."""

from __future__ import annotations

import re
from collections.abc import Iterator

from analyzer.findings import Position
from analyzer.matrix import CELL_VERDICTS, Cell, Matrix, Row
from analyzer.report.layout import clean, plural
from analyzer.report.places import LinkTemplate

_MEANING = re.compile(r"([\\`*_{}\[\]<>|#~&])")


def render(matrix: Matrix, links: LinkTemplate | None = None) -> str:
    """The matrix as Markdown: the table, and how often each verdict stands in a column.

    Args:
        matrix: all of it, or a selection.
        links: makes a class lead to its definition, and a verdict to where it is decided.
    """
    return "".join(f"{line}\n" for line in _lines(matrix, links))


def _lines(matrix: Matrix, links: LinkTemplate | None) -> Iterator[str]:
    yield f"# Contracts of {_escape(matrix.checkout.title)}"
    yield ""
    if not matrix.rows:
        yield "No cell is left."
        return
    names = [contract.name for contract in matrix.contracts]
    yield _line(["architecture", "class", "role", *map(_escape, names)])
    yield _line(["---"] * (3 + len(names)))
    for row in matrix.rows:
        yield _line([_escape(row.label), _class(row, links), row.model.role, *_cells(row, names, links)])
    yield ""
    yield _line(["contract", *CELL_VERDICTS])
    yield _line(["---", *("---:" for _ in CELL_VERDICTS)])
    for name in names:
        counts = matrix.counts(name)
        yield _line([_escape(name), *(str(counts[verdict] or "") for verdict in CELL_VERDICTS)])
    yield ""
    yield f"{plural(len(matrix.rows), 'row')}. \\* works, and a finding says more."


def _cells(row: Row, names: list[str], links: LinkTemplate | None) -> Iterator[str]:
    for name in names:
        cell = row.cells.get(name)
        yield "" if cell is None else _cell(cell, links)


def _cell(cell: Cell, links: LinkTemplate | None) -> str:
    return _linked(cell.verdict, cell.at, links) + ("\\*" if cell.remarked else "")


def _class(row: Row, links: LinkTemplate | None) -> str:
    return _linked(_escape(row.model.name), row.model.at, links)


def _linked(shown: str, at: Position, links: LinkTemplate | None) -> str:
    return f"[{shown}]({links.line(at.path, at.line)})" if links is not None else shown


def _line(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _escape(text: str) -> str:
    return _MEANING.sub(r"\\\1", clean(text))
