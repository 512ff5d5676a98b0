"""What changed upstream in the EAGLE-3 support of models, release by release, and whether an audit had said so.

    python scripts/corpus.py docs/corpus.md            write the table
    python scripts/corpus.py --check docs/corpus.md    exit with 1 if it would differ

For each pair of neighbouring releases, both are audited with ``vllm-contracts audit --format json``, and each class
whose support differs gets a row: the finding that told of it before and is gone after, or why no finding was due.
A row that nothing explains says ``unexplained`` and makes the exit code 1.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

CONTRACT = "SupportsEagle3"
RELEASES = [
    *("0.11.0", "0.12.0", "0.13.0", "0.14.1", "0.15.1", "0.16.0", "0.17.1", "0.18.1", "0.19.0", "0.20.2"),
    *("0.22.1", "0.24.0", "0.26.0", "0.28.0", "0.30.0", "0.32.0", "0.33.0"),
]
NO, CLAIMED, YES, UNKNOWN, ABSENT = "no", "claimed, broken", "yes", "unknown", "no such class"
# Findings that say: the models behind could do it, and this class does not let them, or does it wrongly.
FAULTS = {"VC001", "VC002", "VC003", "VC004", "VC005", "VC006", "VC007", "VC009", "VC011"}
UNEXPLAINED = "unexplained"
HEAD = "| class | before | after | explained by |\n| --- | --- | --- | --- |\n"
INTRODUCTION = f"""# EAGLE-3 support of models, release by release

Written by `python scripts/corpus.py docs/corpus.md` (`make corpus`) from the audits of {len(RELEASES)} releases of
vLLM. One row for each class that serves requests and whose support of `{CONTRACT}` differs between neighbouring
releases: what an audit of the older release said of it that the newer one no longer says, or why no finding was due.
*claimed, broken* means that the checker says yes and the feature fails behind it.

"""

Record = dict[str, Any]


@dataclass(frozen=True)
class Row:
    """One class whose support changed."""

    name: str
    before: str
    after: str
    why: str


@dataclass(frozen=True)
class Audit:
    """What the rows need of one audit."""

    models: dict[str, Record]
    serving: set[str]  # the classes that can be a target: no draft heads, no pooling models, no shared bases
    codes: dict[str, set[str]]
    sharing: dict[tuple[str, int], set[str]]  # classes by the statement that builds their inner model

    def state(self, cls: str) -> str:
        """Whether a class supports the contract.

        Args:
            cls: dotted name.
        """
        if cls not in self.models:
            return ABSENT
        status = self.models[cls]["contracts"][CONTRACT]
        if status["verdict"] == "unknown":
            return UNKNOWN
        if not status["satisfied"]:
            return NO
        return CLAIMED if status["verdict"] == "broken" else YES

    def concerned(self, cls: str) -> list[str]:
        """The class itself, those that build their inner model by the same statement, and its inner models.

        Args:
            cls: dotted name.
        """
        inner = self.models[cls]["inner"] if cls in self.models else []
        kin = set().union(*(self.sharing[i["path"], i["line"]] for i in inner if i["line"]))
        return [cls, *sorted(kin - {cls}), *sorted({i["class"] for i in inner if i["class"]})]


def read(audit: Record) -> Audit:
    """Take what is needed from the JSON of an audit.

    Args:
        audit: the parsed report.
    """
    codes: dict[str, set[str]] = defaultdict(set)
    for finding in audit["findings"]:
        if finding["contract"] == CONTRACT and finding["code"] in FAULTS:
            codes[finding["class"]].add(finding["code"])
    sharing: dict[tuple[str, int], set[str]] = defaultdict(set)
    for model in audit["models"]:
        for inner in model["inner"]:
            sharing[inner["path"], inner["line"]].add(model["class"])
    serving = {m["class"] for m in audit["models"] if m["role"] in ("wrapper", "text")}
    return Audit({m["class"]: m for m in audit["models"]}, serving, codes, sharing)


def changes(old: Audit, new: Audit) -> list[Row]:
    """The classes whose support differs, each with its explanation.

    Args:
        old: the older release.
        new: the newer one.
    """
    rows = []
    for cls in sorted(old.serving | new.serving, key=lambda c: (short(c), c)):
        before, after = old.state(cls), new.state(cls)
        supports = {before, after} - {NO, ABSENT}
        if before != after and supports:
            rows.append(Row(short(cls), before, after, explain(cls, old, new)))
    return rows


def explain(cls: str, old: Audit, new: Audit) -> str:
    """Why the support of a class changed, as far as the two audits tell.

    Args:
        cls: dotted name.
        old: the older release.
        new: the newer one.
    """
    before, after = old.state(cls), new.state(cls)
    if ABSENT in (before, after):
        return _came_or_went(cls, old, new)
    told = _told(cls, old, but_not=new)
    fresh = _told(cls, new, but_not=old)
    if told and after == YES:
        return f"found before: {told}; gone after"
    if before == NO and after in (YES, CLAIMED) and old.models[cls]["contracts"][CONTRACT]["verdict"] == "unsupported":
        kind = "inner model" if old.models[cls]["role"] == "wrapper" else "decoder"
        taught = f"outside: its {kind} could not do it and was taught to"
        return f"{taught}; found after: {fresh}" if fresh else taught
    if before in (YES, CLAIMED) and after == NO and told:
        return f"found before: {told}; the claim was withdrawn"
    if fresh:
        return f"found after: {fresh}"
    if after == UNKNOWN:
        return f"outside: not decided after: {new.models[cls]['contracts'][CONTRACT]['reason']}"
    return UNEXPLAINED


def _told(cls: str, audit: Audit, *, but_not: Audit) -> str:
    """The findings of one audit on a class and what it stands on that the other audit does not have."""
    parts = []
    for other in audit.concerned(cls):
        if codes := sorted(audit.codes.get(other, set()) - but_not.codes.get(other, set())):
            parts.append(", ".join(codes) + ("" if other == cls else f" on {short(other)}"))
    return "; ".join(parts)


def _came_or_went(cls: str, old: Audit, new: Audit) -> str:
    came = cls not in old.models
    here, there = (new, old) if came else (old, new)
    names = set(here.models[cls]["architectures"])
    twins = sorted(c for c, m in there.models.items() if c != cls and names & set(m["architectures"]))
    word = "new class" if came else "removed class"
    fresh = _told(cls, new, but_not=old) if came else ""
    now = f"; found after: {fresh}" if fresh else ""
    if not twins:
        return f"outside: {word}{now}"
    states = ", ".join(f"{short(twin)} ({there.state(twin)})" for twin in twins)
    found = "; ".join(filter(None, (_told(twin, there, but_not=here) for twin in twins)))
    link = "takes the place of" if came else "replaced by"
    return f"outside: {word}, {link} {states}" + (f"; found there: {found}" if found else "") + now


def short(cls: str) -> str:
    """A class with its module, without the packages before it.

    Args:
        cls: dotted name.
    """
    return ".".join(cls.split(".")[-2:]) if cls.startswith("vllm.model_executor.models.") else cls


def section(older: str, newer: str, rows: Iterable[Row]) -> str:
    """The part of the document about one pair.

    Args:
        older: release.
        newer: release.
        rows: of the pair.
    """
    lines = "".join(f"| `{r.name}` | {r.before} | {r.after} | {r.why} |\n" for r in rows)
    return f"## {older} to {newer}\n\n" + (HEAD + lines if lines else "Nothing changed.\n")


def audit_release(version: str) -> Record:
    """Audit a release in a process of its own.

    Args:
        version: of the release, fetched if it is not there.
    """
    command = [sys.executable, "-m", "analyzer", "audit", "--release", version, "--format", "json"]
    done = subprocess.run([*command, "--contract", CONTRACT], capture_output=True, text=True, check=False)
    if done.returncode > 1:
        sys.exit(f"the audit of {version} failed:\n{done.stderr}")
    report: Record = json.loads(done.stdout)
    return report


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if the file would differ")
    parser.add_argument("target", type=Path)
    arguments = parser.parse_args()
    audits = {version: read(audit_release(version)) for version in RELEASES}
    pairs = {(a, b): changes(audits[a], audits[b]) for a, b in pairwise(RELEASES)}
    text = INTRODUCTION + "\n".join(section(a, b, rows) for (a, b), rows in pairs.items())
    for (a, b), rows in pairs.items():
        for row in rows:
            if row.why == UNEXPLAINED:
                print(f"{a} to {b}: {row.name} is unexplained", file=sys.stderr)
    stale = not arguments.target.is_file() or arguments.target.read_text() != text
    if stale and arguments.check:
        print(f"{arguments.target} is not what the audits say", file=sys.stderr)
    elif stale:
        arguments.target.parent.mkdir(parents=True, exist_ok=True)
        arguments.target.write_text(text)
    return int((stale and arguments.check) or UNEXPLAINED in text)


if __name__ == "__main__":
    sys.exit(main())
