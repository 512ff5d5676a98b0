"""How a contract differs between two trees: its members, methods, checker, gates and allow-lists."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import SequenceMatcher

from analyzer.changes.gates import compare_allow_lists, compare_gates, renamed_text
from analyzer.changes.records import ContractChange, MethodChange
from analyzer.records import ContractRecord, MethodRecord, Report

LIKENESS = 0.75
"""From here on two names count as similar: a word more or less, or another, in a name of several."""


def compare_contracts(old: Report, new: Report, wanted: Sequence[str] = ()) -> Iterator[ContractChange]:
    """The contracts that differ, in the new tree's order; those that are gone come last.

    Args:
        old, new: of the two trees.
        wanted: names of contracts; all unless given.
    """
    before = {c.name: c for c in old.contracts}
    names = dict.fromkeys([c.name for c in new.contracts] + list(before))
    for name in names:
        if not wanted or name in wanted:
            change = compare_contract(before.get(name), new.contract(name))
            lists = compare_allow_lists(old.allow_lists, new.allow_lists, name)
            change = replace(change, allow_lists=lists)
            if change.differs:
                yield change


def compare_contract(old: ContractRecord | None, new: ContractRecord | None) -> ContractChange:
    """How one contract differs, its allow-lists left out."""
    if old is None or new is None:
        return ContractChange(old, new)
    methods = compare_methods(old, new)
    names = {m.old.name: m.new.name for m in methods if m.old is not None and m.new is not None}
    return ContractChange(
        old,
        new,
        members_added=_members(new, old),
        members_removed=_members(old, new),
        methods=methods,
        gates=compare_gates(old.gates, new.gates, names),
    )


def _members(one: ContractRecord, other: ContractRecord) -> tuple[str, ...]:
    """Members of one that the other lacks, and that are no methods, of which more can be said."""
    told = {m.name for m in (*one.methods, *other.methods)} | set(other.members)
    return tuple(name for name in one.members if name not in told)


# -- methods ---------------------------------------------------------------------------------------


def compare_methods(old: ContractRecord, new: ContractRecord) -> tuple[MethodChange, ...]:
    """The methods that differ, in the new contract's order; those that are gone come last."""
    before, after = ({m.name: m for m in contract.methods} for contract in (old, new))
    gone = [m for m in old.methods if m.name not in after]
    fresh = [m for m in new.methods if m.name not in before]
    renames = _renames(gone, fresh, old, new)
    changes = []
    for method in new.methods:
        known = before.get(method.name)
        change = MethodChange(known, method) if known is not None else renames.get(method.name)
        changes.append(change or MethodChange(None, method))
    told = {c.old.name for c in changes if c.old is not None}
    changes += [MethodChange(m, None) for m in gone if m.name not in told]
    return tuple(change for change in changes if change.kinds)


def _renames(
    gone: list[MethodRecord], fresh: list[MethodRecord], old: ContractRecord, new: ContractRecord
) -> Mapping[str, MethodChange]:
    """Renames by new name: the pairs with the most in common first, each method in one of them at most.

    One signature and one more mark make a rename; where only the parameters are the same, all marks have to agree.
    """
    candidates = []
    for before in gone:
        for after in fresh:
            shape = _same_shape(before, after)
            likeness = SequenceMatcher(None, before.name, after.name).ratio()
            evidence = [shape] if shape else []
            evidence += ["similar name"] if likeness >= LIKENESS else []
            evidence += ["called at the same place"] if _same_gate(before, after, old, new) else []
            enough = {"same signature": 2, "same parameters": 3}
            if shape and len(evidence) >= enough[shape]:
                candidates.append((len(evidence), likeness, before, after, tuple(evidence)))
    candidates.sort(key=lambda c: (-c[0], -c[1]))
    found: dict[str, MethodChange] = {}
    taken: set[str] = set()
    for _, _, before, after, evidence_of in candidates:
        if before.name not in taken and after.name not in found:
            taken.add(before.name)
            found[after.name] = MethodChange(before, after, evidence_of)
    return found


def _same_shape(old: MethodRecord, new: MethodRecord) -> str:
    """``same signature`` or ``same parameters``, or nothing."""
    if old.signature == new.signature:
        return "same signature"
    return "same parameters" if parameters(old.signature) == parameters(new.signature) else ""


def parameters(signature: str) -> tuple[str, ...]:
    """The names of a signature's parameters, with the stars that stand before them."""
    try:
        function = ast.parse(f"def _{signature}: ...").body[0]
    except SyntaxError:
        return (signature,)
    assert isinstance(function, ast.FunctionDef)
    args = function.args
    names = [a.arg for a in (*args.posonlyargs, *args.args)]
    names += [f"*{args.vararg.arg}"] if args.vararg else ["*"] if args.kwonlyargs else []
    names += [a.arg for a in args.kwonlyargs]
    return (*names, *([f"**{args.kwarg.arg}"] if args.kwarg else []))


def _same_gate(before: MethodRecord, after: MethodRecord, old: ContractRecord, new: ContractRecord) -> bool:
    """Whether a function that called the one calls the other now, with the same arguments."""
    names = {before.name: after.name}
    calls = {
        (g.at.path, g.function, g.subject, renamed_text(g.text, names)) for g in old.gates if g.member == before.name
    }
    return any((g.at.path, g.function, g.subject, g.text) in calls for g in new.gates if g.member == after.name)
