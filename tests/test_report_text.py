"""The report for people: whole paths, honest marks, nothing that a terminal would act upon, and a true summary."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from analyzer.checkout import open_checkout
from analyzer.engine import audit
from analyzer.findings import Finding, Fix, Link, Position
from analyzer.records import Report
from analyzer.report import layout, text
from analyzer.report.context import Context
from rules import all_rules
from tests import releases
from tests.report_tree import FILES, WRAPPERS, make_tree

ESCAPE = "\x1b"
COLOUR = re.compile(r"\x1b\[(?:\d+;)*(?:3[0-7]|38|9[0-7])(?:;\d+)*m")
PLACE = re.compile(r"[\w./-]+\.py:\d+")


def render(report: Report, *, width: int = 80, encoding: str = "utf-8", colour: bool = False) -> str:
    """The report as a stream of a width and an encoding gets it."""
    file = io.TextIOWrapper(io.BytesIO(), encoding)
    console = Console(file=file, width=width, force_terminal=colour, color_system="standard" if colour else None)
    return text.render(report, Context(console=console))


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    return audit(open_checkout(make_tree(tmp_path_factory.mktemp("tree"))), all_rules())


def with_finding(report: Report, finding: Finding) -> Report:
    return replace(report, findings=[finding])


HAND_MADE = Finding(
    code="VC099",
    name="made-up",
    contract="SupportsEagle3",
    severity="info",
    confidence="unresolved",
    cls="vllm.a.Outer",
    architectures=("B", "C"),
    at=Position("vllm/a.py", 7, 3),
    message="one thing",
)


# -- one finding -----------------------------------------------------------------------------------


def test_a_finding_as_a_whole(report: Report) -> None:
    links = (
        Link("gate", True, "vllm/gate.py", 1, "asks the outer model"),
        Link("check", False, "vllm/a.py", 7, "Outer fails"),
        Link("inner", None, "", 0, "not known"),
    )
    fix = Fix("unsafe", "add a base", (), "the checkpoint decides")
    lines = render(with_finding(report, replace(HAND_MADE, chain=links, fix=fix))).splitlines()
    assert lines[2:13] == [
        "VC099 made-up  info, unresolved, SupportsEagle3",
        "  vllm/a.py:7",
        "  Outer, serving B, C",
        "",
        "  one thing.",
        "  ├─ ✓ gate: vllm/gate.py:1",
        "  ├─ ✗ check: Outer fails  vllm/a.py:7",
        "  └─ ? inner: not known",
        "  unsafe fix: add a base",
        "  why unsafe: the checkpoint decides",
        "",
    ]
    assert lines[13:16] == ["Gates", "  vllm/gate.py:1", "    asks the outer model"]


@pytest.mark.parametrize(
    ("architectures", "shown"),
    [
        ((), "Outer, not registered"),
        (("Outer",), "Outer, registered under that name"),
        (("Outer", "Other"), "Outer, serving Outer, Other"),
    ],
)
def test_what_the_class_serves(report: Report, architectures: tuple[str, ...], shown: str) -> None:
    lines = render(with_finding(report, replace(HAND_MADE, architectures=architectures))).splitlines()
    assert f"  {shown}" in lines


def test_errors_come_first_and_information_last(report: Report) -> None:
    mixed = replace(report, findings=[HAND_MADE, *report.findings])
    heads = re.findall(r"^(VC\d{3}) \S+  (\w+)", render(mixed), re.M)
    assert heads == [("VC001", "error"), ("VC004", "error"), ("VC001", "warning"), ("VC099", "info")]


def test_without_a_fix_it_says_why(report: Report) -> None:
    shown = " ".join(render(report).split())
    assert "no fix: BareForCausalLM itself would have to support SupportsEagle3 first" in shown
    assert "safe fix: add SupportsEagle3 to the bases of LackingVL" in shown
    assert "why unsafe: the checkpoint's config.text_config chooses it" in shown


# -- lines -----------------------------------------------------------------------------------------


def check_lines(shown: str, report: Report, width: int) -> None:
    """No line is too long, unless one word is; no place is broken; no line ends in blanks."""
    indents = len("  ├─ NO gate: ")
    findings = shown[: shown.index("\nSummary\n")]  # whose tables need 80 columns
    for line in (shown if width >= 80 else findings).splitlines():
        assert line == line.rstrip()
        assert len(line) <= width or max(map(len, line.split())) + indents > width, line
    places = {f"{x.path}:{x.line}" for f in report.findings for x in f.chain if x.path}
    places |= {str(f.at) for f in report.findings}
    assert places <= set(PLACE.findall(shown))


@pytest.mark.parametrize("width", [layout.NARROWEST, 61, 80, 100])
@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_lines_fit_and_paths_stay_whole(report: Report, width: int, encoding: str) -> None:
    check_lines(render(report, width=width, encoding=encoding), report, width)


@pytest.mark.release
def test_lines_fit_and_paths_stay_whole_on_a_release() -> None:
    report = releases.report("0.33.0")
    shown = render(report)
    check_lines(shown, report, 80)
    assert shown.count("\nVC") == len(report.findings)


def test_a_path_longer_than_the_width_is_neither_broken_nor_cut(report: Report) -> None:
    path = f"vllm/{'deeper/' * 20}a.py"
    finding = replace(HAND_MADE, at=Position(path, 7), chain=(Link("check", False, path, 9, "fails"),))
    lines = render(with_finding(report, finding)).splitlines()
    assert f"  {path}:7" in lines
    assert any(line.endswith(f" {path}:9") for line in lines)


@pytest.mark.parametrize(
    ("columns", "widest"), [(20, layout.NARROWEST), (80, 80), (100, layout.WIDEST), (300, layout.WIDEST)]
)
def test_very_narrow_and_very_wide_terminals(report: Report, columns: int, widest: int) -> None:
    finding = replace(HAND_MADE, message="word " * 100)
    longest = max(len(line) for line in render(with_finding(report, finding), width=columns).splitlines()[6:20])
    assert widest - 6 < longest <= widest


# -- what streams can take -------------------------------------------------------------------------

HOSTILE = {
    "[bold red]markup[/] [link=x]y[/link]": "[bold red]markup[/] [link=x]y[/link]",
    "[/nothing]": "[/nothing]",
    ":smile: :1:": ":smile: :1:",
    f"{ESCAPE}[31mred{ESCAPE}]8;;http://x{ESCAPE}\\": "\\x1b[31mred\\x1b]8;;http://x\\x1b\\",
    "two\nlines\tand\ra tab": "two lines and a tab",
    "right\u202eto left": "right\\u202eto left",
    "undecodable \udcff": "undecodable \\udcff",
}


@pytest.mark.parametrize("said", HOSTILE)
@pytest.mark.parametrize("colour", [False, True])
def test_text_of_a_checkout_is_shown_and_never_obeyed(report: Report, said: str, colour: bool) -> None:
    chain = (Link("check", False, "vllm/a.py", 1, said), Link("gate", True, "vllm/a.py", 2, said))
    finding = replace(HAND_MADE, message=said, chain=chain, fix=Fix("none", said))
    shown = render(with_finding(report, finding), width=100, colour=colour)
    plain = re.sub(r"\x1b\[[\d;]*m", "", shown)
    assert plain.count(HOSTILE[said]) == 4
    assert ESCAPE not in plain


def test_ascii_marks_where_the_stream_has_no_others(report: Report) -> None:
    shown = render(report, encoding="ascii")
    assert shown.isascii()
    assert "  |- NO check: " in shown
    assert "  |- ok gate: " in shown
    assert "  |- ?? inner: " in shown
    assert "  `- ok forward: " in shown


@pytest.mark.parametrize(
    ("encoding", "glyphs"),
    [
        ("utf-8", layout.UNICODE),
        ("utf-16", layout.UNICODE),
        ("ascii", layout.ASCII),
        ("latin-1", layout.ASCII),
        ("cp1252", layout.ASCII),
        ("cp437", layout.ASCII),
        ("no-such-encoding", layout.ASCII),
        (None, layout.ASCII),
    ],
)
def test_marks_by_encoding(encoding: str | None, glyphs: layout.Glyphs) -> None:
    assert layout.glyphs_for(encoding) is glyphs


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
@pytest.mark.parametrize(
    ("environment", "escapes", "colours"),
    [
        ({"TERM": "xterm-256color"}, True, True),
        ({"TERM": "xterm-256color", "NO_COLOR": "1"}, True, False),
        ({"TERM": "dumb"}, False, False),
    ],
)
def test_on_a_terminal(tmp_path: Path, environment: dict[str, str], escapes: bool, colours: bool) -> None:
    shown = on_terminal([str(make_tree(tmp_path))], environment)
    assert "VC001 undeclared-support" in shown
    assert "✗" in shown
    assert (ESCAPE in shown) is escapes
    assert bool(COLOUR.search(shown)) is colours


def on_terminal(arguments: Sequence[str], environment: dict[str, str]) -> str:
    """What ``audit`` shows on a terminal of 80 columns; standard error goes elsewhere."""
    import fcntl
    import pty
    import struct
    import termios

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    inherited = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS")}
    process = subprocess.Popen(
        [sys.executable, "-m", "analyzer", "audit", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=subprocess.DEVNULL,
        env={**inherited, "PYTHONIOENCODING": "utf-8", **environment},
    )
    os.close(theirs)
    shown = b""
    try:
        while part := os.read(ours, 65536):
            shown += part
    except OSError:  # Linux says so when the other side is closed
        pass
    finally:
        os.close(ours)
    assert process.wait() == 1
    return shown.decode()


# -- the summary -----------------------------------------------------------------------------------


def after(shown: str, head: str) -> str:
    """The rest of a text, from a line that is ``head``."""
    return shown[shown.index(f"\n{head}\n") :]


def test_the_summary_counts_wrappers_verdicts_findings_and_fixes(report: Report) -> None:
    lines = [" ".join(line.split()) for line in after(render(report), "Summary").splitlines()]
    assert lines[2:] == [
        "4 wrappers among 6 models; 6 model files seen, 5 files parsed",
        "",
        "SupportsEagle3 wrappers text models",
        "works 1 1",
        "broken 1 -",
        "undeclared 2 -",
        "unsupported - 1",
        "every verdict is known",
        "",
        "findings safe unsafe none (fix)",
        "VC001 undeclared-support 2 1 1 -",
        "VC004 overclaimed-support 1 - - 1",
        "",
        "3 findings: 2 errors, 1 warning. vllm-contracts fix repairs 1 of them, with",
        "--unsafe-fixes 1 more.",
    ]


def test_the_summary_says_what_could_not_be_resolved_and_why(tmp_path: Path) -> None:
    wrappers = FILES[WRAPPERS].replace('architectures=["BareForCausalLM"]', 'architectures=["Nowhere"]')
    shown = render(audit(open_checkout(make_tree(tmp_path, wrappers=wrappers)), all_rules()))
    summary = " ".join(after(shown, "Summary").split())
    assert "not resolved: 1 of all 6 models (16.7%), because 1 " in summary
    assert "Nowhere" in summary


def test_the_most_frequent_reasons_come_first_and_the_rest_is_counted(report: Report) -> None:
    model = report.models[0]
    status = model.statuses["SupportsEagle3"]
    reasons = ["often", "often", *(f"once {n}" for n in range(12))]
    models = [
        replace(model, statuses={"SupportsEagle3": replace(status, verdict="unknown", reason=reason)})
        for reason in reasons
    ]
    shown = after(render(replace(report, models=models)), "Summary")
    counted = re.findall(r"^ +(\d+)   (\S.*)$", shown, re.M)
    assert counted[0] == ("2", "often")
    assert len(counted) == 11
    assert counted[-1] == ("3", "of other reasons; --format json has them all")


def test_a_sound_checkout(report: Report) -> None:
    shown = render(replace(report, findings=[]))
    assert "no findings" in shown
    assert "Gates" not in shown


def test_problems_with_the_input_are_listed(tmp_path: Path) -> None:
    report = audit(open_checkout(make_tree(tmp_path, plain="def broken(:\n")), all_rules())
    lines = render(report).splitlines()
    at = lines.index(f"Not read: {len(report.diagnostics)} problems with the input")
    assert len(report.diagnostics) > 1
    assert lines[at + 1].startswith("  vllm/model_executor/models/plain.py:1")
    assert lines[at + 2].strip()
