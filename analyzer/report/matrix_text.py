"""The matrix for a terminal: words where they fit, one mark for each cell where they do not.

What does not fit beside each other stands below each other: as many contracts at a time as the width holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.text import Text

from analyzer.matrix import CELL_VERDICTS, Cell, CellVerdict, Matrix, Row
from analyzer.report.layout import NARROWEST, UNICODE, clean, glyphs_for, plural, wrap
from analyzer.report.terminal import printed

_STYLES: dict[CellVerdict, str] = {
    "works": "green",
    "broken": "bold red",
    "undeclared": "yellow",
    "unsupported": "dim",
    "config-dependent": "cyan",
    "unknown": "magenta",
    "not-asked": "dim",
}
_UNICODE: dict[CellVerdict, str] = {
    "works": "✓",
    "broken": "✗",
    "undeclared": "!",
    "unsupported": "·",
    "config-dependent": "~",
    "unknown": "?",
    "not-asked": "-",
}
_ASCII: dict[CellVerdict, str] = {**_UNICODE, "works": "+", "broken": "X", "unsupported": "."}
_GAP = 2
_ROLE = len("pooling")


@dataclass(frozen=True)
class _Column:
    """A contract as a column: its head, its width, and what its cells show."""

    name: str
    head: str
    width: int
    marks: dict[CellVerdict, str]


def render(matrix: Matrix, console: Console, hidden: int = 0) -> str:
    """The matrix as text.

    Args:
        matrix: all of it, or a selection.
        console: tells the width, the encoding and whether there are colours; nothing is printed on it.
        hidden: how many contracts of the checkout are left out because none was asked for.
    """
    marks = _UNICODE if glyphs_for(console.encoding) is UNICODE else _ASCII
    return printed(_lines(matrix, max(NARROWEST, console.width), marks, hidden), console)


def _lines(matrix: Matrix, width: int, marks: dict[CellVerdict, str], hidden: int) -> Iterator[Text]:
    yield Text(clean(f"{matrix.checkout.title} in {matrix.checkout.root}"), "bold")
    yield Text()
    if not matrix.rows:
        yield Text("no cell is left")
        return
    first = max(len("architecture"), *(len(clean(row.label)) for row in matrix.rows))
    space = width - first - _GAP - _ROLE
    columns = _columns(matrix, space, marks)
    for block in _blocks(columns, space):
        yield from _table(matrix.rows, block, first)
        yield Text()
    yield from _legend(matrix, columns, width)
    if hidden:
        yield Text()
        left = f"{plural(hidden, 'more contract')} without findings: --contract '*' shows all"
        yield from (Text(line) for line in wrap(left, width))


# -- columns ---------------------------------------------------------------------------------------


def _columns(matrix: Matrix, space: int, marks: dict[CellVerdict, str]) -> list[_Column]:
    """Columns of words if all of them fit, else of marks under numbers that the legend explains."""
    words: dict[CellVerdict, str] = {verdict: verdict for verdict in CELL_VERDICTS}
    wide = [
        _Column(c.name, clean(c.name), max(len(clean(c.name)), *(len(v) + 1 for v in matrix.counts(c.name))), words)
        for c in matrix.contracts
    ]
    if sum(_GAP + column.width for column in wide) <= space or len(wide) == 1:
        return wide
    digits = len(str(len(wide)))
    return [_Column(c.name, str(number), max(digits, 2), marks) for number, c in enumerate(wide, 1)]


def _blocks(columns: Sequence[_Column], space: int) -> Iterator[list[_Column]]:
    block: list[_Column] = []
    for column in columns:
        if block and sum(_GAP + c.width for c in (*block, column)) > space:
            yield block
            block = []
        block.append(column)
    yield block


# -- rows ------------------------------------------------------------------------------------------


def _table(rows: Iterable[Row], columns: Sequence[_Column], first: int) -> Iterator[Text]:
    heads = "".join(" " * _GAP + f"{column.head:<{column.width}}" for column in columns)
    yield Text(f"{'architecture':<{first}}{'':<{_GAP}}{'role':<{_ROLE}}{heads}".rstrip(), "bold")
    for row in rows:
        if not any(column.name in row.cells for column in columns):
            continue
        line = Text.assemble(f"{clean(row.label):<{first + _GAP}}", (f"{row.model.role:<{_ROLE}}", "dim"))
        for column in columns:
            line.append(" " * _GAP)
            line.append_text(_cell(row.cells.get(column.name), column))
        line.rstrip()
        yield line


def _cell(cell: Cell | None, column: _Column) -> Text:
    if cell is None:
        return Text(" " * column.width)
    shown = column.marks[cell.verdict] + ("*" if cell.remarked else "")
    return Text(f"{shown:<{column.width}}", _STYLES[cell.verdict])


# -- legend ----------------------------------------------------------------------------------------


def _legend(matrix: Matrix, columns: Sequence[_Column], width: int) -> Iterator[Text]:
    """How often each verdict stands in a column, and what marks and numbers mean."""
    numbered = any(column.head != clean(column.name) for column in columns)
    for column in columns:
        counts = matrix.counts(column.name)
        told = ", ".join(f"{verdict} {counts[verdict]}" for verdict in CELL_VERDICTS if counts[verdict])
        lines = wrap(f"{clean(column.name)}: {told}", width - 4)
        yield Text.assemble((f"{column.head:>2}  " if numbered else "", "bold"), lines[0])
        yield from (Text(f"    {line}") for line in lines[1:])
    if numbered:
        marks = columns[0].marks
        present = {cell.verdict for row in matrix.rows for cell in row.cells.values()}
        yield Text()
        yield from (
            Text(line) for line in wrap(", ".join(f"{marks[v]} {v}" for v in CELL_VERDICTS if v in present), width)
        )
    if any(cell.remarked for row in matrix.rows for cell in row.cells.values()):
        yield from (Text(line) for line in wrap("* works, and vllm-contracts audit has a finding on it", width))
