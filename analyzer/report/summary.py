"""The end of the text report: wrappers seen, verdicts, what could not be resolved and why, findings, fixes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from analyzer.records import VERDICTS, ContractRecord, ModelRecord, Report, StatusRecord
from analyzer.report.layout import clean, plural, wrap

Part = tuple[str, str]
"""A piece of a line and its style."""

REASONS = 10
"""How many reasons are listed, the most frequent first."""

_ASKED = {"wrapper": "wrappers", "text": "text models", "other": "others"}
_BOLD, _PLAIN = "bold", ""


def summary(report: Report, width: int) -> Iterator[list[Part]]:
    """The lines of the summary.

    Args:
        report: of an audit.
        width: where to break lines.
    """
    yield [("Summary", _BOLD)]
    yield from _plain(_seen(report), width)
    for contract in _told(report):
        yield []
        yield from _verdicts(report.models, contract)
        yield from _unresolved(report.models, contract, width)
    yield []
    yield from _findings(report, width)


def _plain(text: str, width: int, indent: int = 2) -> Iterator[list[Part]]:
    yield from ([(" " * indent + line, _PLAIN)] for line in wrap(text, width - indent))


def _seen(report: Report) -> str:
    roles = Counter(model.role for model in report.models)
    parts = [f"{plural(roles['wrapper'], 'wrapper')} among {plural(len(report.models), 'model')}"]
    alone = ((roles["draft"], "draft head"), (roles["pooling"], "pooling model"))
    if any(count for count, _ in alone):
        parts.append(" and ".join(plural(count, noun) for count, noun in alone if count) + " left alone")
    parts.append(f"{plural(report.files_seen, 'model file')} seen, {plural(report.files_parsed, 'file')} parsed")
    return "; ".join(parts)


def _told(report: Report) -> list[ContractRecord]:
    """The contracts that say most: those that wrappers have to hand on, else those with findings."""
    handed_on = {name for m in report.models for name, s in m.statuses.items() if s.handed_on}
    names = handed_on or {f.contract for f in report.findings}
    return [c for c in report.contracts if c.name in names]


# -- verdicts --------------------------------------------------------------------------------------


def _verdicts(models: list[ModelRecord], contract: ContractRecord) -> Iterator[list[Part]]:
    counts = Counter((m.role, m.statuses[contract.name].verdict) for m in models)
    present = {role for role, _ in counts}
    columns = [role for role in _ASKED if role in present]
    rows = [v for v in VERDICTS if any(counts[role, v] for role in columns)]
    first = max(16, len(contract.name))
    heads = "".join(f"{_ASKED[role]:>13}" for role in columns)
    yield [(f"  {contract.name:<{first}}", _BOLD), (heads, "dim")]
    for verdict in rows:
        numbers = "".join(f"{counts[role, verdict] or '-':>13}" for role in columns)
        yield [(f"    {verdict:<{first - 2}}{numbers}", _PLAIN)]


def _unresolved(models: list[ModelRecord], contract: ContractRecord, width: int) -> Iterator[list[Part]]:
    reasons = Counter(_reason(status) for m in models if (status := m.statuses[contract.name]).verdict == "unknown")
    if not reasons:
        yield [("    every verdict is known", _PLAIN)]
        return
    total = reasons.total()
    share = f"{total / len(models):.1%}"
    yield [(f"    not resolved: {total} of all {len(models)} models ({share}), because", _PLAIN)]
    for reason, count in reasons.most_common(REASONS):
        lines = wrap(reason, width - 12)
        yield [(f"    {count:>5}   {lines[0]}", _PLAIN)]
        yield from ([(" " * 12 + line, _PLAIN)] for line in lines[1:])
    if len(reasons) > REASONS:
        rest = total - sum(count for _, count in reasons.most_common(REASONS))
        yield [(f"    {rest:>5}   of other reasons; --format json has them all", _PLAIN)]


def _reason(status: StatusRecord) -> str:
    return clean(status.reason) or "the checker's answer depends on what is not known"


# -- findings --------------------------------------------------------------------------------------


def _findings(report: Report, width: int) -> Iterator[list[Part]]:
    findings = report.findings
    if not findings:
        yield [("  no findings", "bold green")]
        return
    severities = Counter(f.severity for f in findings)
    heads = "".join(f"{head:>9}" for head in ("safe", "unsafe", "none"))
    yield [(f"  {'findings':<36}", _BOLD), (f"{'':>6}{heads}  (fix)", "dim")]
    fixes = Counter((f.code, f.fix.safety) for f in findings)
    for (code, name), count in sorted(Counter((f.code, f.name) for f in findings).items()):
        numbers = "".join(f"{fixes[code, safety] or '-':>9}" for safety in ("safe", "unsafe", "none"))
        yield [(f"    {f'{code} {name}':<34}{count:>6}{numbers}", _PLAIN)]
    counted = [plural(severities["error"], "error"), plural(severities["warning"], "warning")]
    counted.append(f"{severities['info']} for information")
    by_severity = ", ".join(text for text in counted if not text.startswith("0 "))
    yield []
    yield from _plain(f"{plural(len(findings), 'finding')}: {by_severity}. {_fixable(report)}", width)


def _fixable(report: Report) -> str:
    safety = Counter(f.fix.safety for f in report.findings)
    if not safety["safe"] and not safety["unsafe"]:
        return "None can be fixed by machine."
    safe = f"vllm-contracts fix repairs {safety['safe']} of them"
    more = f", with --unsafe-fixes {safety['unsafe']} more" if safety["unsafe"] else ""
    return f"{safe}{more}."
