"""Which architectures are new, gone or served by another class, and whose verdict is another one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from analyzer.changes.contracts import compare_methods
from analyzer.changes.gates import Key, paired
from analyzer.changes.reasons import reasons
from analyzer.changes.records import SUPPORTS, ArchitectureChange, Direction, SupportChange, stopper
from analyzer.records import ModelRecord, Report, StatusRecord, Verdict

Pair = tuple[ModelRecord | None, ModelRecord | None]
Pairs = list[tuple[Pair, tuple[str, ...]]]
"""Which class served which architectures, and which does now."""

_LEVELS: dict[Verdict, int] = {"works": 2, "config-dependent": 1, "undeclared": 0, "broken": 0, "unsupported": 0}
"""How far a verdict goes; ``unknown`` goes nowhere, and support can neither be gained nor lost by it."""


def pair_models(old: Report, new: Report) -> Pairs:
    """Which class served which architectures, and which does now; None on the side where there is none.

    An architecture that several classes serve (one for each platform) has a pair for each: those of one dotted
    name, then those of one name, then the ones that are left where there is only one on a side.
    """
    before, after = _by_architecture(old), _by_architecture(new)
    found: dict[tuple[str, str], tuple[Pair, tuple[str, ...]]] = {}
    for name in sorted({*before, *after}):
        for pair in _variants(before.get(name, []), after.get(name, [])):
            key = (pair[0].cls if pair[0] else "", pair[1].cls if pair[1] else "")
            _, names = found.get(key, (pair, ()))
            found[key] = (pair, (*names, name))
    return list(found.values())


def _by_architecture(report: Report) -> dict[str, list[ModelRecord]]:
    found: dict[str, list[ModelRecord]] = {}
    for model in report.models:
        for name in model.architectures:
            found.setdefault(name, []).append(model)
    return found


def _variants(old: list[ModelRecord], new: list[ModelRecord]) -> Iterator[Pair]:
    if len(old) == len(new) == 1:
        yield old[0], new[0]
        return
    keys: list[Key[ModelRecord]] = [lambda m: m.cls, lambda m: m.name]
    pairs: list[Pair] = [*paired(old, new, keys)]
    alone = [m for m, other in pairs if m is not None and other is None]
    fresh = [m for other, m in pairs if m is not None and other is None]
    yield from (pair for pair in pairs if pair[0] is not None and pair[1] is not None)
    if len(alone) == 1 and len(fresh) == 1:
        yield alone[0], fresh[0]
        return
    split = old[0] if len(old) == 1 and fresh else None  # one class before, several now
    joined = new[0] if len(new) == 1 and alone else None
    yield from ((split, model) for model in fresh)
    yield from ((model, joined) for model in alone if model is not split)


def compare_architectures(pairs: Pairs, contracts: Sequence[str]) -> Iterator[ArchitectureChange]:
    """Architectures that are new, gone or served by another class.

    Args:
        pairs: of :func:`pair_models`.
        contracts: whose verdicts are told.
    """
    known = {name for (before, _), names in pairs if before is not None for name in names}
    there = {name for (_, after), names in pairs if after is not None for name in names}
    for (before, after), names in pairs:
        if before is not None and after is not None:
            if before.cls != after.cls:
                yield ArchitectureChange(names, before, after)
            continue
        model, elsewhere = (after, known) if after is not None else (before, there)
        names = tuple(name for name in names if name not in elsewhere)  # else a variant of one that stays
        if model is not None and names:
            yield ArchitectureChange(names, before, after, _verdicts(model, contracts))


def _verdicts(model: ModelRecord, contracts: Sequence[str]) -> dict[str, Verdict]:
    statuses = ((name, model.statuses[name].verdict) for name in contracts if name in model.statuses)
    return {name: verdict for name, verdict in statuses if verdict != "unsupported"}


def compare_support(old: Report, new: Report, pairs: Pairs, contracts: Sequence[str]) -> Iterator[SupportChange]:
    """Other verdicts for contracts that both trees have, by contract, then by place of the new class.

    Args:
        old, new: of the two trees.
        pairs: of :func:`pair_models`.
        contracts: which.
    """
    for name in contracts:
        before, after = old.contract(name), new.contract(name)
        if before is None or after is None:
            continue
        names = {m.new.name: m.old.name for m in compare_methods(before, after) if m.new and m.old}
        found = []
        for (model, other), architectures in pairs:
            if model is None or other is None:
                continue
            was, now = model.statuses[name], other.statuses[name]
            if was.verdict != now.verdict or (was.verdict in SUPPORTS and bool(stopper(was)) != bool(stopper(now))):
                why = reasons((before, model, was), (after, other, now), names)
                found.append(
                    SupportChange(name, architectures, model, other, was, now, direction(was, now), tuple(why))
                )
        yield from sorted(found, key=lambda c: (c.new.at, c.old.at))


def direction(old: StatusRecord, new: StatusRecord) -> Direction:
    """Whether support was gained or lost between two statuses; what a consumer stops is not supported."""
    before, after = (0 if stopper(s) and s.verdict in SUPPORTS else _LEVELS.get(s.verdict) for s in (old, new))
    if before is None or after is None or before == after:
        return "changed"
    return "gained" if after > before else "lost"
