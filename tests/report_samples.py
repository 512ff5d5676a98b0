"""Reports made by hand: text that tries to break out of each format, hard paths, nothing at all."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from analyzer.checkout import open_checkout
from analyzer.engine import audit
from analyzer.findings import Diagnostic, Finding, Fix, Link, Position
from analyzer.records import Report
from rules import all_rules
from tests.report_tree import make_tree

HOSTILE = (
    "100% of a:b,c;d\r\n::error::no | `x` *y* [z](http://evil) <script>alert('1')</script> &amp; "
    "]]> \x1b[31m \x00 \udcff \ufffe @everyone #1 ü模"
)

PATHS = {
    "vllm/a b.py": "vllm/a%20b.py",
    "vllm/100%.py": "vllm/100%25.py",
    "vllm/a%20b.py": "vllm/a%2520b.py",
    "vllm/c#.py": "vllm/c%23.py",
    "vllm/what?.py": "vllm/what%3F.py",
    "vllm/modèle.py": "vllm/mod%C3%A8le.py",
    "vllm/模型.py": "vllm/%E6%A8%A1%E5%9E%8B.py",
    "vllm/a:b,c.py": "vllm/a%3Ab%2Cc.py",
    "vllm/undecodable\udcff.py": "vllm/undecodable%FF.py",
}
"""Names of files, and the same as references in a URI."""

FINDING = Finding(
    code="VC001",
    name="undeclared-support",
    contract="SupportsEagle3",
    severity="error",
    confidence="certain",
    cls="vllm.a.Outer",
    architectures=("Outer",),
    at=Position("vllm/a.py", 7, 3),
    message="Outer fails",
    fix=Fix("none", "nothing can be done"),
    chain=(Link("check", False, "vllm/a.py", 7, "Outer fails"), Link("inner", None, "", 0, "is not known")),
)

HOSTILE_FINDING = replace(
    FINDING,
    contract=HOSTILE,
    cls=f"vllm.{HOSTILE}",
    architectures=(HOSTILE,),
    message=HOSTILE,
    fix=Fix("unsafe", HOSTILE, (), HOSTILE),
    chain=(Link("check", False, f"vllm/{HOSTILE}", 7, HOSTILE),),
    at=Position(f"vllm/{HOSTILE}", 7),
)

LOST = [Diagnostic("vllm/broken.py", 3, "invalid syntax"), Diagnostic("vllm/pipe.py", 0, "not a file")]


def made_report(root: Path, findings: list[Finding], diagnostics: list[Diagnostic] | None = None) -> Report:
    """A report of a checkout that says something else.

    Args:
        root: where the checkout is said to be.
        findings, diagnostics: what it says.
    """
    report = _audited()
    checkout = replace(report.checkout, root=root)
    return replace(report, checkout=checkout, findings=findings, diagnostics=diagnostics or [])


@lru_cache(maxsize=1)
def _audited() -> Report:
    with tempfile.TemporaryDirectory() as folder:
        return audit(open_checkout(make_tree(Path(folder))), all_rules())
