"""The matrix for spreadsheets: one line for each cell, so that every column can be filtered."""

from __future__ import annotations

import csv
import io

from analyzer.matrix import Matrix

COLUMNS = (
    "architecture",
    "class",
    "variant",
    "role",
    "contract",
    "verdict",
    "satisfied",
    "class_satisfied",
    "declared",
    "path",
    "line",
    "reason",
    "findings",
)


def render(matrix: Matrix) -> str:
    """The matrix as CSV with a head line, lines ended as RFC 4180 says.

    Args:
        matrix: all of it, or a selection.
    """
    written = io.StringIO(newline="")
    lines = csv.writer(written)
    lines.writerow(COLUMNS)
    for row in matrix.rows:
        for name, cell in row.cells.items():
            status = cell.status
            answers = [_answer(a) for a in (status.satisfied, status.class_satisfied, status.declared)]
            codes = " ".join(sorted({finding.code for finding in cell.findings}))
            lines.writerow(
                [row.architecture, row.model.cls, row.variant, row.model.role, name, cell.verdict, *answers]
                + [cell.at.path, cell.at.line, cell.reason, codes]
            )
    return written.getvalue()


def _answer(answer: bool | None) -> str:
    return "" if answer is None else "true" if answer else "false"
