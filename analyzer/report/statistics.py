"""How often each rule was broken, and nothing else."""

from __future__ import annotations

from collections import Counter

from analyzer.records import Report


def render(report: Report) -> str:
    """One line a rule, the most frequent first; empty where there is no finding.

    Args:
        report: of an audit.
    """
    counts = Counter((f.code, f.name) for f in report.findings)
    fixable = Counter(f.code for f in report.findings if f.fix.safety == "safe")
    widest = max((len(str(count)) for count in counts.values()), default=0)
    lines = []
    for (code, name), count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        safe = f" ({fixable[code]} with a safe fix)" if fixable[code] else ""
        lines.append(f"{count:>{widest}}  {code} {name}{safe}\n")
    return "".join(lines)
