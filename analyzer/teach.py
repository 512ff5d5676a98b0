"""Teach one model, and repair what is around it: in memory, round after round, until an audit has nothing to add.

The first round gives the model support.  The rounds after it carry out what an audit of the changed tree offers on top:
the safe repairs of wrappers that lack only the declaration then, and the model's type in the list of those that a
configuration may have.  What comes of it is judged by the same audit: unless the model works in the end, and no other
model breaks, nothing is offered.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from analyzer import asked
from analyzer.audit import Audit
from analyzer.checkout import Checkout
from analyzer.contracts import Contract
from analyzer.conventions import read_convention
from analyzer.engine import Checks, read_and_judge, require_contracts
from analyzer.findings import AddListItem, Finding, Fix
from analyzer.fix import FileChange, Plan, plan_fixes
from analyzer.lessons import support
from analyzer.models import Model
from analyzer.overlay import overlay
from analyzer.records import Report
from analyzer.trace import Trace, trace

ROUNDS = 6
"""More than the deepest chain of wrappers takes; repairs that go on after that would go on for ever."""


@dataclass(frozen=True)
class Taught:
    """What teaching a model would do.

    Args:
        plan: the files before and after; empty where nothing is offered.
        lessons: the fixes of the first round.
        repairs: what the rounds after it repair.
        left: findings that are new then, and not repaired.
        refused: why nothing is offered; empty where something is.
        trace: how the model's chain goes afterwards, as far as its edits could be carried out.
    """

    plan: Plan
    lessons: tuple[Fix, ...] = ()
    repairs: tuple[Finding, ...] = ()
    left: tuple[Finding, ...] = ()
    refused: str = ""
    trace: Trace | None = None


@dataclass
class _Work:
    """The tree at some point between two rounds."""

    checkout: Checkout
    before: dict[str, bytes] = field(default_factory=dict)
    after: dict[str, bytes] = field(default_factory=dict)

    def take(self, plan: Plan) -> None:
        for change in plan.changes:
            self.before.setdefault(change.path, change.before)
            self.after[change.path] = change.after

    def plan(self, fixes: Sequence[Fix]) -> Plan:
        changes = (FileChange(path, self.before[path], self.after[path]) for path in sorted(self.after))
        return Plan(tuple(change for change in changes if change.before != change.after), tuple(fixes))


def teach(checkout: Checkout, rules: Sequence[Checks], name: str, contract: str) -> Taught:
    """Teach the model that a name stands for, or the inner model of the wrapper that it stands for.

    Args:
        checkout: an opened tree; nothing of it is written.
        rules: what judges it.
        name: an architecture or a class.
        contract: the name of what is to be supported.

    Raises:
        EngineError: the tree cannot be read, or has no such contract.
        InputError: it has no such model.
        OverlayError: the changed tree cannot be laid out.
    """
    audit, report = read_and_judge(checkout, rules)
    require_contracts([c.name for c in report.contracts], [contract])
    wanted = audit.contracts[contract]
    named = [audit.model_set.models[m.cls] for m in asked.named(report, name).models]
    if wanted not in audit.delegated:
        return Taught(Plan(), refused=f"{contract} is not handed out by decoders: there is nothing to teach")
    pupils, why_none = _pupils(audit, named, wanted)
    if not pupils:
        return Taught(Plan(), refused=why_none)
    convention = read_convention(audit, wanted)
    lessons = list(dict.fromkeys(support(audit, model, wanted, convention) for model in pupils))
    if (none := next((fix for fix in lessons if not fix.edits), None)) is not None:
        return Taught(Plan(), refused=none.summary)
    work = _Work(checkout)
    plan = plan_fixes(checkout.root, lessons)
    if plan.refused:
        return Taught(Plan(), refused=plan.refused[0][1])
    work.take(plan)
    return _rounds(work, rules, report, lessons, name, contract, {model.cls.key for model in pupils})


def _pupils(audit: Audit, named: Iterable[Model], contract: Contract) -> tuple[list[Model], str]:
    """The models that lack the contract: the named ones, or those inside them; or why there are none."""
    found: list[Model] = []
    why = ""
    for model in named:
        status = audit.status(model, contract)
        if not model.serves:
            why = f"{model.cls.name} is not served for itself, so nothing asks it for {contract.name}"
            continue
        inside = [a.cls for a in status.alternatives if a.cls is not None and a.inner is not None]
        inner = [audit.model_set.models[cls.key] for cls in inside if cls.key in audit.model_set.models]
        if status.config_decides:
            why = f"the checkpoint's configuration chooses the inner model of {model.cls.name}: name that one"
            continue
        if model.inner and not inner:
            why = f"the inner model of {model.cls.name} is not known as a model of its own: name that one"
            continue
        for pupil in inner or [model]:
            verdict = audit.status(pupil, contract).verdict
            if verdict == "unsupported" and not pupil.inner:
                found.append(pupil)
            else:
                why = why or _why_not(pupil, verdict, contract)
    return list({model.cls: model for model in found}.values()), why or "no class serves it"


def _why_not(model: Model, verdict: str, contract: Contract) -> str:
    if verdict == "works":
        return f"{model.cls.name} supports {contract.name} already"
    if verdict == "unsupported":
        return f"{model.cls.name} is itself built around another model: name that one"
    return f"{model.cls.name} has support that is {verdict}: vllm-contracts audit tells what is wrong with it"


def _rounds(
    work: _Work, rules: Sequence[Checks], report: Report, lessons: list[Fix], name: str, contract: str, pupils: set[str]
) -> Taught:
    known = {_key(finding) for finding in report.findings}
    repairs: list[Finding] = []
    for _ in range(ROUNDS):
        with overlay(work.checkout, work.after) as changed:
            _, result = read_and_judge(changed, rules)
            new = [f for f in result.findings if _key(f) not in known and f.contract in ("", contract)]
            offered = [f for f in new if _is_offered(f, result)]
            plan = plan_fixes(work.checkout.root, [f.fix for f in offered], work.after)
        done = {id(fix) for fix in plan.applied}
        if not done:
            left = [f for f in new if f.severity != "info"]
            return _judged(work, report, result, lessons, repairs, left, name, contract, pupils)
        repairs += [f for f in offered if id(f.fix) in done]
        work.take(plan)
    return Taught(Plan(), tuple(lessons), tuple(repairs), refused="the repairs around it do not come to an end")


def _key(finding: Finding) -> tuple[str, str, str, str]:
    return finding.code, finding.cls, finding.contract, finding.fix.safety


def _is_offered(finding: Finding, report: Report) -> bool:
    """Whether a repair belongs to the lesson: it is safe, or adds to the list that a configuration is held against."""
    edits = finding.fix.edits
    lists = {(gate.at.path, gate.at.line) for gate in report.allow_lists}
    extends = all(isinstance(edit, AddListItem) and (edit.path, edit.line) in lists for edit in edits)
    return bool(edits) and (finding.fix.safety == "safe" or extends)


def _judged(
    work: _Work,
    before: Report,
    after: Report,
    lessons: list[Fix],
    repairs: list[Finding],
    left: list[Finding],
    name: str,
    contract: str,
    pupils: set[str],
) -> Taught:
    """The result, unless a model does not work then, or another one breaks."""
    record = after.contract(contract)
    assert record is not None
    found = trace(after, record, name, asked.named(after, name).models)
    fixes = [*lessons, *(f.fix for f in repairs)]
    told = Taught(work.plan(fixes), tuple(lessons), tuple(repairs), tuple(left), trace=found)
    old = {model.cls: model.statuses[contract].verdict for model in before.models}
    for model in after.models:
        verdict = model.statuses[contract].verdict
        if model.cls in pupils and verdict != "works":
            chain = [link for c in model.statuses[contract].chains for link in c.links if link.ok is not True]
            why = f": {chain[0].path}:{chain[0].line}: {chain[0].detail}" if chain else ""
            return _withdrawn(told, f"{model.name} would be {verdict} all the same{why}")
        if verdict == "broken" != old.get(model.cls):
            return _withdrawn(told, f"{model.name} inherits from it, and would claim {contract} without honouring it")
    return told


def _withdrawn(taught: Taught, reason: str) -> Taught:
    return Taught(Plan(), taught.lessons, taught.repairs, taught.left, reason, taught.trace)
