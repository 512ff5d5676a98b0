"""The matrix as text, CSV, Markdown, JSON and a page: golden outputs of the small checkout, and what must hold of each.

``UPDATE_GOLDEN=1 pytest tests/test_matrix_formats.py`` writes ``fixtures/golden/matrix`` anew: read the difference.
"""

from __future__ import annotations

import copy
import csv
import io
import json
import os
import re
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from rich.console import Console

import analyzer
from analyzer.checkout import open_checkout
from analyzer.engine import audit
from analyzer.matrix import Matrix, build, select
from analyzer.records import TreeRecord
from analyzer.report import matrix_csv, matrix_html, matrix_json, matrix_markdown, matrix_text
from analyzer.report.places import LinkTemplate
from rules import all_rules
from tests import releases
from tests.report_tree import make_tree

Record = dict[str, Any]
FIXTURES = Path(__file__).parent.parent / "fixtures"
GOLDEN = FIXTURES / "golden" / "matrix"
FIXTURE = FIXTURES / "gen_0_33"
SCHEMA: Record = json.loads((resources.files("analyzer.report") / "matrix_schema.json").read_text("utf-8"))
VALIDATOR = Draft202012Validator(SCHEMA)
LINKS = LinkTemplate("https://example.org/blob/v1/{path}#L{line}")


@pytest.fixture(scope="module")
def matrix(tmp_path_factory: pytest.TempPathFactory) -> Matrix:
    made = build(audit(open_checkout(make_tree(tmp_path_factory.mktemp("tree"))), all_rules()))
    return replace(made, checkout=TreeRecord(Path("/src/vllm"), made.checkout.version))


@pytest.fixture(scope="module")
def wide() -> Matrix:
    """Several contracts, roles and variants."""
    return build(audit(open_checkout(FIXTURE), all_rules()))


def text(matrix: Matrix, width: int, encoding: str = "utf-8", hidden: int = 0) -> str:
    file = io.TextIOWrapper(io.BytesIO(), encoding)
    return matrix_text.render(matrix, Console(file=file, width=width, color_system=None), hidden)


def golden(name: str, shown: str) -> None:
    path = GOLDEN / name
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text(shown, "utf-8")
    assert shown == path.read_text("utf-8")


# -- golden ----------------------------------------------------------------------------------------


def test_golden_csv(matrix: Matrix) -> None:
    golden("small.csv", matrix_csv.render(matrix))


def test_golden_markdown(matrix: Matrix) -> None:
    golden("small.md", matrix_markdown.render(matrix, LINKS))


def test_golden_json(matrix: Matrix, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(analyzer, "__version__", "1.2.3")
    golden("small.json", matrix_json.render(matrix))


def test_golden_text(matrix: Matrix) -> None:
    golden("small.txt", text(matrix, 80))


# -- JSON ------------------------------------------------------------------------------------------


def problems(record: Record) -> list[str]:
    return [f"{error.json_path}: {error.message}" for error in VALIDATOR.iter_errors(record)]


def test_the_schema_is_one() -> None:
    Draft202012Validator.check_schema(SCHEMA)


def test_the_matrix_is_what_the_schema_says(matrix: Matrix, wide: Matrix) -> None:
    for each in (matrix, wide, select(wide, only=["not-asked"]), select(wide, only=["broken"])):
        assert problems(json.loads(matrix_json.render(each))) == []


@pytest.mark.release
@pytest.mark.parametrize("version", ["0.16.0", "0.33.0"])
def test_the_matrix_of_a_release_is_what_the_schema_says(version: str) -> None:
    record = json.loads(matrix_json.render(build(releases.report(version))))
    assert problems(record) == []
    root = releases.checkout(version).root
    places = [x for row in record["rows"] for x in (row, *row["cells"].values())]
    assert all((root / path).is_file() for path in {place["path"] for place in places})


DAMAGES: dict[str, tuple[list[str | int], object]] = {
    "another schema": (["schema"], 2),
    "a verdict that there is not": (["rows", 0, "cells", "SupportsEagle3", "verdict"], "fine"),
    "an answer as a word": (["rows", 0, "cells", "SupportsEagle3", "satisfied"], "yes"),
    "a row without cells": (["rows", 0, "cells"], {}),
    "a role that there is not": (["rows", 0, "role"], "model"),
    "an absolute path": (["rows", 0, "path"], "/src/a.py"),
    "a class without its module": (["rows", 0, "class"], "PlainForCausalLM"),
    "a count of nothing": (["contracts", 0, "counts", "works"], 0),
    "a link that is neither": (["rows", 0, "cells", "SupportsEagle3", "chains", 0, "links", 0, "ok"], "yes"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_the_schema_refuses(matrix: Matrix, damage: str) -> None:
    record = json.loads(matrix_json.render(matrix))
    path, value = DAMAGES[damage]
    at: Any = record
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    assert len(problems(record)) == 1


@pytest.mark.parametrize("where", [[], ["contracts", 0], ["rows", 0], ["rows", 0, "cells", "SupportsEagle3"]])
def test_the_schema_requires_every_field(matrix: Matrix, where: list[str | int]) -> None:
    record = json.loads(matrix_json.render(matrix))
    sample: Any = record
    for key in where:
        sample = sample[key]
    for name in list(sample):
        damaged = copy.deepcopy(record)
        at: Any = damaged
        for key in where:
            at = at[key]
        del at[name]
        assert problems(damaged), f"{name} may be missing"


# -- CSV -------------------------------------------------------------------------------------------


def test_csv_has_a_line_for_each_cell(wide: Matrix) -> None:
    lines = list(csv.DictReader(io.StringIO(matrix_csv.render(wide))))
    assert len(lines) == sum(len(row.cells) for row in wide.rows)
    zeta = [x for x in lines if x["architecture"] == "ZetaForCausalLM" and x["contract"] == "SupportsEagle3"]
    assert [(x["variant"], x["verdict"], x["satisfied"]) for x in zeta] == [
        ("amd", "works", "true"),
        ("nvidia", "works", "true"),
    ]


# -- Markdown --------------------------------------------------------------------------------------


def test_markdown_without_links_has_none_and_escapes_what_has_a_meaning(wide: Matrix) -> None:
    shown = matrix_markdown.render(wide)
    assert "](" not in shown
    assert "| ZetaForCausalLM \\[amd\\] | ZetaForCausalLM | text |" in shown
    widths = {line.count(" | ") for line in shown.splitlines() if line.startswith("| ") and "ForCausalLM" in line}
    assert widths == {2 + len(wide.contracts)}


# -- links -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "line", "address"),
    [
        ("vllm/a.py", 7, "https://example.org/blob/v1/vllm/a.py#L7"),
        ("vllm/a b#c?.py", 7, "https://example.org/blob/v1/vllm/a%20b%23c%3F.py#L7"),
        ('vllm/"(x)<y>.py', 1, "https://example.org/blob/v1/vllm/%22%28x%29%3Cy%3E.py#L1"),
        ("vllm/{line}%.py", 9, "https://example.org/blob/v1/vllm/%7Bline%7D%25.py#L9"),
        ("vllm/ü.py", 2, "https://example.org/blob/v1/vllm/%C3%BC.py#L2"),
        ("vllm/\udcff.py", 2, "https://example.org/blob/v1/vllm/%FF.py#L2"),
    ],
)
def test_addresses(path: str, line: int, address: str) -> None:
    assert LINKS.line(path, line) == address


@pytest.mark.parametrize(
    ("template", "why"),
    [
        ("https://example.org/", "no {path}"),
        ("https://example.org/{file}", "no {path}"),
        ("https://example.org/{path}/{0.__class__}", "{0.__class__} is not known"),
        ("javascript:{path}", "javascript: is no address"),
        ("JavaScript:alert`{path}`", "JavaScript: is no address"),
        ("data:text/html,{path}", "data: is no address"),
        ('https://example.org/{path}"onclick=x', "characters that no address has"),
        ("https://example.org/{path} {line}", "characters that no address has"),
        ("\x1b]8;;{path}", "characters that no address has"),
    ],
)
def test_addresses_that_are_refused(template: str, why: str) -> None:
    with pytest.raises(ValueError, match=re.escape(why)):
        LinkTemplate(template)


# -- text ------------------------------------------------------------------------------------------


def test_words_where_they_fit_and_marks_where_they_do_not(wide: Matrix) -> None:
    eagle = build(audit(open_checkout(FIXTURE), all_rules()), ["SupportsEagle3", "SupportsPP"])
    assert "AlphaForCausalLM               text     works         works" in text(eagle, 120)
    narrow = text(wide, 80)
    assert "SupportsEagle3: works 6, unsupported 1, not-asked 2" in narrow
    assert "✓ works, · unsupported, - not-asked" in narrow
    assert max(map(len, narrow.splitlines()[1:])) <= 80


@pytest.mark.parametrize("width", [1, 60, 80, 100, 400])
def test_every_cell_is_shown_once_whatever_the_width(wide: Matrix, width: int) -> None:
    table = text(wide, width).split("\n\n")[1:]
    heads = [block.splitlines()[0] for block in table if block.startswith("architecture")]
    shown = [name for head in heads for name in head.split()[2:]]
    names = [contract.name for contract in wide.contracts]
    assert shown in (names, [str(number) for number in range(1, len(names) + 1)])


def test_ascii_where_the_stream_has_nothing_else(wide: Matrix) -> None:
    shown = text(wide, 80, "ascii")
    assert shown.isascii()
    assert "+ works, . unsupported, - not-asked" in shown


def test_what_is_hidden_is_said(matrix: Matrix) -> None:
    assert "contracts" not in text(matrix, 80).splitlines()[-1]
    assert text(matrix, 80, hidden=3).endswith("\n3 more contracts without findings: --contract '*' shows all\n")


def test_nothing_left_is_said(matrix: Matrix) -> None:
    nothing = select(matrix, only=["unknown"])
    assert text(nothing, 80).splitlines()[-1] == "no cell is left"
    assert matrix_markdown.render(nothing).splitlines()[-1] == "No cell is left."
    assert len(matrix_csv.render(nothing).splitlines()) == 1


@pytest.mark.release
def test_the_example_of_the_readme() -> None:
    whole = build(releases.report("0.33.0"), ["SupportsEagle3", "SupportsPP"])
    part = select(whole, architectures=["Kimi*"])
    readme = (Path(__file__).parent.parent / "README.md").read_text("utf-8")
    example = readme.partition("$ vllm-contracts matrix ")[2].partition("```")[0].partition("\n")[2]
    assert text(part, 100).split("\n\n", 1)[1] == example


# -- the page --------------------------------------------------------------------------------------


def data(page: str) -> Any:
    start = '<script type="application/json" id="data">'
    return json.loads(page.partition(start)[2].partition("</script>")[0])


def test_the_page_has_the_whole_matrix(wide: Matrix) -> None:
    record = data(matrix_html.render(wide, LINKS))
    shown = [
        [record["verdicts"][record["cells"][number][0]] for number in row["cells"] if number >= 0]
        for row in record["rows"]
    ]
    assert shown == [[cell.verdict for cell in row.cells.values()] for row in wide.rows]
    kinds = {record["texts"][link[0]] for link in record["links"]}
    assert {"gate", "check", "inner", "decoder", "capture", "forward"} <= kinds
    assert record["hrefs"] == [LINKS.file(path) for path in record["paths"]]
    assert data(matrix_html.render(wide))["hrefs"] is None


def test_every_text_link_and_cell_stands_once(wide: Matrix) -> None:
    record = data(matrix_html.render(wide))
    for kind in ("texts", "paths", "links", "findings", "cells"):
        written = [json.dumps(item) for item in record[kind]]
        assert len(written) == len(set(written)), kind


def test_no_place_is_left_open_and_nothing_comes_from_elsewhere(matrix: Matrix) -> None:
    page = matrix_html.render(matrix)
    assert "{{" not in page
    frame = page.partition('id="data">')[0] + page.partition('id="data">')[2].partition("</script>")[2]
    for mark in ("src=", "<link", "@import", "url(", "http:", "https:"):
        assert mark not in frame
    assert str(matrix.checkout.root) not in page


@pytest.mark.parametrize("text", ["</script><b>", "<!--<script>", "a & b \u2028 \U0001f600", "{{data}}", "'\"\\"])
def test_texts_cannot_end_the_data(text: str) -> None:
    embedded = matrix_html.embed({"text": text})
    assert not set("<>&") & set(embedded)
    assert embedded.isascii()
    assert json.loads(embedded) == {"text": text}


@pytest.mark.release
def test_the_page_of_a_release_is_of_a_size_to_be_sent() -> None:
    page = matrix_html.render(build(releases.report("0.33.0")), LINKS)
    assert len(page.encode()) < 5_000_000
