"""A comment in Markdown: nothing from a checkout is interpreted, and it is never too long."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from analyzer.records import Report
from analyzer.report import markdown
from analyzer.report.context import Context
from tests.report_samples import FINDING, HOSTILE_FINDING, LOST, made_report

TAGS = {"h2", "p", "table", "thead", "tbody", "tr", "th", "td", "details", "summary", "b", "code", "ul", "li"}


class Page(HTMLParser):
    """The elements and the text of a page; a mention is text that begins where a text node has an ``@``."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []
        self.text: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, _: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def page(report: Report) -> Page:
    """The comment as a browser gets it."""
    return Page(MarkdownIt("gfm-like", {"linkify": False}).render(markdown.render(report)))


def test_the_table_counts(tmp_path: Path) -> None:
    other = replace(FINDING, code="VC004", name="overclaimed-support", severity="info")
    text = markdown.render(made_report(tmp_path, [FINDING, FINDING, other, replace(FINDING, severity="warning")]))
    assert text.startswith("## vllm-contracts: 4 findings\n")
    assert "| VC001 undeclared-support | 2 | 1 |  |  |  |\n" in text
    assert "| VC004 overclaimed-support |  |  | 1 |  |  |\n" in text


def test_a_finding_with_its_chain_folded_away(tmp_path: Path) -> None:
    shown = page(made_report(tmp_path, [FINDING]))
    assert shown.tags.count("table") == shown.tags.count("details") == 1
    assert shown.tags.count("li") == 2
    text = re.sub(r"\s+", " ", "".join(shown.text))
    assert "VC001 error in vllm/a.py:7: Outer fails ✗ check: Outer fails vllm/a.py:7 ? inner: is not known" in text
    assert text.endswith("no fix: nothing can be done ")


def test_hostile_text_is_text(tmp_path: Path) -> None:
    shown = page(made_report(tmp_path, [HOSTILE_FINDING, FINDING]))
    assert set(shown.tags) <= TAGS
    assert shown.tags.count("details") == 2
    assert "| `x` *y* [z](http://evil) <script>alert('1')</script> &amp; ]]>" in "".join(shown.text)
    assert not any(re.search(r"@\w|#\d", piece) for piece in shown.text)


def test_errors_come_first(tmp_path: Path) -> None:
    text = markdown.render(made_report(tmp_path, [replace(FINDING, severity="info"), FINDING]))
    assert re.findall(r"</b> (\w+) in", text) == ["error", "info"]


@pytest.mark.parametrize(
    ("count", "folded", "listed"), [(50, 50, True), (300, 0, True), (3_000, 0, False)], ids=["few", "many", "too many"]
)
def test_it_is_never_too_long(tmp_path: Path, count: int, folded: int, listed: bool) -> None:
    text = markdown.render(made_report(tmp_path, [replace(FINDING, message="ü" * 60)] * count))
    assert len(text.encode()) <= markdown.LONGEST
    if folded:
        assert text.count("<details>") == folded
    heads = text.count("<b>VC001</b>")
    assert (heads == count) is listed
    left = re.search(r"(\d+) more entries would make this too long", text)
    assert (int(left[1]) if left else 0) == count - heads


def test_the_first_keep_their_chains(tmp_path: Path) -> None:
    text = markdown.page(made_report(tmp_path, [FINDING] * 20), Context(), 4_000)
    kinds = re.findall(r"<details>|<p><b>VC", text)
    assert kinds == sorted(kinds)
    assert 0 < kinds.count("<details>") < 20
    assert len(kinds) == 20


def test_nothing_found_and_only_problems(tmp_path: Path) -> None:
    report = made_report(tmp_path, [])
    assert markdown.render(report) == "## vllm-contracts: no findings\n\n<p>vLLM 0.33.0, 6 model files seen</p>\n"
    shown = "".join(page(replace(report, diagnostics=LOST)).text)
    assert "2 problems with the input" in shown
    assert "Not read: vllm/broken.py:3 invalid syntax" in shown
    assert "Not read: vllm/pipe.py not a file" in shown


def test_paths_start_at_the_repository(tmp_path: Path) -> None:
    report = made_report(tmp_path / "libs", [FINDING], LOST)
    text = markdown.render(report, Context(repository=tmp_path))
    places = re.findall(r"<code>(.*?)</code>", text)
    assert places == ["libs/vllm/a.py:7", "libs/vllm/a.py:7", "libs/vllm/broken.py:3", "libs/vllm/pipe.py"]
