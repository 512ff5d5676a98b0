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
    """The matrix as CSV with a head line.

    Args:
        matrix: all of it, or a selection.
    """
    written = io.StringIO(newline="")
    lines = csv.writer(written, lineterminator="\n")
    lines.writerow(COLUMNS)
    for row in matrix.rows:
        for name, cell in row.cells.items():
            status = cell.status
            answers = [_answer(a) for a in (status.satisfied, status.class_satisfied, status.declared)]
            codes = " ".join(sorted({finding.code for finding in cell.findings}))
            model = (row.architecture, row.model.cls, row.variant, row.model.role)
            lines.writerow((*model, name, cell.verdict, *answers, cell.at.path, cell.at.line, cell.reason, codes))
    return written.getvalue()


def _answer(answer: bool | None) -> str:
    return "" if answer is None else "true" if answer else "false"
