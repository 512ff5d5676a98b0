"""The pages of the rules in ``docs/rules`` and the table in the README, from the rules themselves.

    python scripts/rule_docs.py           write what differs
    python scripts/rule_docs.py --check   write nothing; exit with 1 if something would change

``make docs`` runs the first; a test runs the second.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from analyzer.commands.explain import page_of  # noqa: E402
from analyzer.report.outline import Heading, Paragraph, to_markdown  # noqa: E402
from analyzer.report.rule_page import list_blocks, rule_blocks  # noqa: E402
from rules import all_rules  # noqa: E402

FOLDER = "docs/rules"
README = "README.md"
BEGIN, END = "<!-- rules: made by make docs -->\n", "<!-- end of rules -->\n"
GENERATED = "<!-- Made from the rule by make docs; edit the rule. -->\n\n"


def pages() -> dict[str, str]:
    """Every generated file of ``docs/rules``, by its path from the root of the repository."""
    rules = [page_of(rule) for rule in all_rules()]
    index = [
        Heading("Rules", 1),
        Paragraph(
            "Codes are stable: one that is retired is not used again. `vllm-contracts explain CODE` shows these."
        ),
        *list_blocks(rules, "{}.md"),
    ]
    made = {f"{FOLDER}/README.md": GENERATED + to_markdown(index)}
    made |= {f"{FOLDER}/{rule.code}.md": GENERATED + to_markdown(rule_blocks(rule)) for rule in rules}
    return made


def readme(text: str) -> str:
    """The README with its table of rules as the rules have it.

    Args:
        text: as it stands.
    """
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"{README} has no {BEGIN.strip()} with {END.strip()} behind it")
    table = to_markdown(list_blocks([page_of(rule) for rule in all_rules()], FOLDER + "/{}.md"))
    return f"{before}{begin}\n{table}\n{end}{after}"


def stale(root: Path) -> dict[str, str | None]:
    """The files that are not as they should be, with their right contents; None for one that should not be there.

    Args:
        root: of the repository.
    """
    wanted: dict[str, str | None] = {**pages(), README: readme((root / README).read_text("utf-8"))}
    for path in sorted((root / FOLDER).glob("*.md")):
        wanted.setdefault(path.relative_to(root).as_posix(), None)
    return {name: text for name, text in wanted.items() if _read(root / name) != text}


def _read(path: Path) -> str | None:
    return path.read_text("utf-8") if path.exists() else None


def main() -> int:
    """Write the pages, or check them."""
    parser = argparse.ArgumentParser(description="Make docs/rules and the README's table from the rules.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if something would change")
    check = parser.parse_args().check
    found = stale(ROOT)
    for name, text in found.items():
        print(f"{'stale' if check else 'removed' if text is None else 'written'}: {name}")
        if check:
            continue
        path = ROOT / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if text is None:
            path.unlink()
        else:
            path.write_text(text, "utf-8")
    return 1 if check and found else 0


if __name__ == "__main__":
    sys.exit(main())
