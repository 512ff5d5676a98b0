"""One line a finding."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from analyzer.checkout import open_checkout
from analyzer.engine import audit
from analyzer.report import concise
from rules import all_rules
from tests.report_tree import WRAPPERS, make_tree


def test_place_code_and_message_in_order_of_places(tmp_path: Path) -> None:
    lines = concise.render(audit(open_checkout(make_tree(tmp_path)), all_rules())).splitlines()
    assert [line.split(": ", 1)[0] for line in lines] == [f"{WRAPPERS}:{n}:1" for n in (15, 31, 39)]
    assert all(re.fullmatch(r"\S+:\d+:\d+: VC\d{3} \S.*", line) for line in lines)


def test_a_message_stays_on_its_line_and_a_clean_report_is_empty(tmp_path: Path) -> None:
    report = audit(open_checkout(make_tree(tmp_path)), all_rules())
    report.findings = [replace(report.findings[0], message="two\nlines \x1b[31mand a colour")]
    assert concise.render(report) == f"{WRAPPERS}:15:1: VC001 two lines \\x1b[31mand a colour\n"
    report.findings = []
    assert concise.render(report) == ""
