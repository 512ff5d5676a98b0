"""What each format says about one tree, kept in ``fixtures/golden``.

``python -m tests.golden`` writes the files again, from the code as it is: read the difference before you commit it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from pathlib import Path

import analyzer
from analyzer.checkout import open_checkout
from analyzer.engine import audit
from analyzer.findings import Fix
from analyzer.fix import FileChange, plan_fixes
from analyzer.records import Report
from analyzer.report.context import Context
from analyzer.report.formats import FORMATS, render
from rules import all_rules
from tests.report_tree import FILES, make_tree

GOLDEN = Path(__file__).parent.parent / "fixtures" / "golden"
RULES = ("VC001", "VC004")
"""Those that find something in the tree: the words of the others are none of these files' business."""

UNREADABLE = "vllm/model_executor/models/unreadable.py"


def golden_tree(root: Path) -> Path:
    """The tree of the report tests, and a registered file that does not decode."""
    registry = FILES["vllm/model_executor/models/registry.py"]
    make_tree(root, registry=registry.replace("}", '    "Lost": ("unreadable", "Lost"),\n}', 1))
    (root / UNREADABLE).write_bytes(b"class Lost:  # \xff\n    pass\n")
    return root


def golden_report(root: Path) -> tuple[Report, Context]:
    """The audit of the tree, with everything that a format may need."""
    rules = [rule for rule in all_rules() if rule.code in RULES]
    report = audit(open_checkout(golden_tree(root)), rules)

    def changes(fix: Fix) -> Iterable[FileChange]:
        return plan_fixes(root, [fix]).changes

    return report, Context(rules=rules, changes=changes)


def golden(report: Report, context: Context, name: str) -> str:
    """A report without what differs between machines and versions."""
    text = render(report, name, context)
    return text.replace(str(report.checkout.root), "ROOT").replace(f'"{analyzer.__version__}"', '"VERSION"')


def main() -> None:
    """Write the files again."""
    GOLDEN.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        report, context = golden_report(Path(folder).resolve() / "tree")
        for name in FORMATS:
            (GOLDEN / f"report.{name}").write_text(golden(report, context, name), "utf-8")


if __name__ == "__main__":
    main()
