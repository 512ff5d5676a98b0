"""Where what was said of a random tree is not what Python did."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field

from analyzer.findings import Finding
from analyzer.fix import plan_fixes, write_plan
from analyzer.models import Model
from tests.differential.ground import Ground, Ran
from tests.differential.programs import Program
from tests.fixture_runs import CONTRACT, Outcome, differences, matching
from tests.fixture_trees import Tree

SPEAKING = {"VC001", "VC002", "VC003", "VC004", "VC006", "VC007", "VC009", "VC011", "VC900"}
REFUSES = "Cannot create a consistent method resolution"


@dataclass
class Judgement:
    """What came of one program, or of several.

    Args:
        wrong: disagreements, each with the sources that it concerns.
        counts: of what was compared, and how often nothing was said.
    """

    wrong: list[tuple[str, str]] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)

    def told(self) -> str:
        by_source: dict[str, list[str]] = {}
        for source, what in self.wrong:
            by_source.setdefault(source, []).append(what)
        return "\n\n".join("\n".join([source, *dict.fromkeys(found)]) for source, found in by_source.items())


def judge(ground: Ground, program: Program) -> Judgement:
    """Analyse a program, run it, compare; then repair what is called safe, and compare again."""
    made = Judgement()
    ran = ground.analyse(program)
    made.counts["trees"] += 1
    made.counts["families"] += len(program.families)
    ground.run(ran)
    compare(ran, made)
    _lost(ran, made)
    worked = {model.cls.key for model, outcomes in ran.outcomes if outcomes and all(map(_works, outcomes))}
    _repair(ground, ran, worked, made)
    return made


def compare(ran: Ran, made: Judgement) -> None:
    """Every step of every outcome against what was said of it."""
    for model, outcomes in ran.outcomes:
        made.counts["classes"] += 1
        made.counts[f"verdict {model.statuses[CONTRACT].verdict}"] += 1
        refused = [out for out in outcomes if _is_refused(ran, model, out)]
        built = [out for out in outcomes if not out["build"] and out not in refused]
        made.counts["runs"] += len(outcomes)
        made.counts["refused"] += len(refused)
        made.counts["not built"] += len(outcomes) - len(built) - len(refused)
        for outcome in outcomes:
            if outcome["build"].startswith(f"TypeError: {REFUSES}") and outcome not in refused:
                made.wrong.append((_source(ran, model), f"{model.cls.name}: nothing says that Python refuses a class"))
        for outcome in built:
            problems = _differences(ran, model, outcome, made)
            made.wrong += [(_source(ran, model), f"{model.cls.name}: {problem}") for problem in problems]
        if built:
            _findings_show(ran, model, built, made)


def _differences(ran: Ran, model: Model, outcome: Outcome, made: Judgement) -> list[str]:
    lenient = differences(ran.tree, outcome, strict=False)
    made.counts["known"] += differences(ran.tree, outcome) == lenient
    status = model.statuses[CONTRACT]
    alternative = matching(status, outcome)
    if outcome.get("inner_at"):
        lenient.append(f"there is no {model.inner[0].attribute}: {outcome['inner_at']}")
    named = {a.cls.key for a in status.alternatives if a.cls is not None}
    resolved = not any(i.resolution in ("config", "unresolved") for i in model.inner)
    if model.inner and resolved and outcome["inner"] not in named:
        lenient.append(f"the inner model is {outcome['inner']} and not one of {sorted(named)}")
    for result in alternative.outer.methods if alternative is not None else ():
        owner = outcome["owners"][result.method.name]
        if result.how not in ("unknown", "missing") and result.owner is not None and owner:
            if result.owner.key != owner:
                lenient.append(f"{result.method.name} is that of {owner} and not of {result.owner.key}")
    return lenient


def _is_refused(ran: Ran, model: Model, outcome: Outcome) -> bool:
    """Whether a file of the family cannot be imported, as it has a class that Python refuses to make."""
    family = ran.family_of(model.cls.path)
    failed = outcome["build"] + outcome.get("runner", "")
    return (REFUSES in failed or "RecursionError" in failed) and any(  # a lazy package asks itself for what failed
        ran.family_of(d.path) is family and "consistent" in d.message for d in ran.tree.report.diagnostics
    )


def _findings_show(ran: Ran, model: Model, built: list[Outcome], made: Judgement) -> None:
    """What passes the check and fails behind it has a finding or an unknown verdict; what works has no error."""
    family = {cls.key for cls in model.cls.own_mro}
    status = model.statuses[CONTRACT]
    inside = {a.cls.key for a in status.alternatives if a.cls is not None}
    found = [f for f in ran.tree.report.findings if f.contract == CONTRACT and f.code in SPEAKING]
    own = [f for f in found if f.cls in family or f.cls in inside]
    passing = [out for out in built if out["checks"][status.contract.checker or ""]]
    if passing and not any(map(_works, built)) and status.verdict not in ("unknown", "config-dependent"):
        stubs = any(m.how == "stub" for a in status.alternatives for m in a.outer.methods)
        if not own and not stubs:  # a stub that most classes leave alone is nobody's fault
            made.wrong.append((_source(ran, model), f"{model.cls.name} passes the check, fails, and has no finding"))
    if all(map(_works, built)):
        loud = [f for f in own if f.cls in family and f.code in ("VC001", "VC002", "VC003", "VC004", "VC006", "VC007")]
        exact = [f for f in loud if f.confidence == "certain" and f.cls == model.cls.key]
        made.wrong += [(_source(ran, model), f"{model.cls.name} works and has {f.code}: {f.message}") for f in exact]


def _works(outcome: Outcome) -> bool:
    if outcome["build"]:
        return False
    steps = outcome["checks"]["supports_eagle3"], outcome["landed"], outcome["handed"], outcome["gives"]
    return all(steps) and not outcome.get("runner")


def _source(ran: Ran, model: Model) -> str:
    family = ran.family_of(model.cls.path)
    assert family is not None
    return f"[{ran.tree.generation}] {_contract(ran)}{family.source}"


def _contract(ran: Ran) -> str:
    source = ran.tree.read.checkout.interfaces_path.read_text()
    start = source.index("class SupportsEagle3(")
    check = re.search(r"(?m)^    return (?=.*supports_eagle3|isinstance.model, SupportsEagle3).*", source)
    assert check is not None
    return f"{source[start : source.index('@overload', start)].strip()}\n\n    {check.group().strip()}\n\n"


def _lost(ran: Ran, made: Judgement) -> None:
    """A registered class that is neither a model nor told as lost."""
    seen = {architecture for model in ran.tree.report.models for architecture in model.architectures}
    told = " ".join(diagnostic.message for diagnostic in ran.tree.report.diagnostics)
    for family in ran.families.values():
        for architecture in family.rows:
            if architecture not in seen and architecture not in told:
                made.wrong.append((family.source, f"{architecture} is lost, and nothing is said of it"))


# -- repairs ---------------------------------------------------------------------------------------


def _repair(ground: Ground, before: Ran, worked: set[str], made: Judgement) -> None:
    """Apply what is called safe: what it is for must work then, and what worked must still."""
    safe = [f for f in before.tree.report.findings if _is_safe(f) and before.family_of(f.at.path) is not None]
    if not safe:
        return
    plan = plan_fixes(before.tree.root, [f.fix for f in safe])
    written = write_plan(before.tree.root, plan)
    sources = {f.cls: before.family_of(f.at.path) for f in safe}
    touched = {family.name for family in sources.values() if family is not None}
    text = "\n".join(family.source for family in sources.values() if family is not None)
    undone = [fix for fix, reason in plan.refused if "definitions of" in reason]
    safe = [f for f in safe if f.fix not in undone]
    if len(plan.refused) > len(undone) or written.refused:
        made.wrong.append((text, f"a safe fix is refused: {plan.refused or written.refused}"))
        return
    made.counts["safe repairs"] += len(safe)
    after = ground.run(Ran(Tree(before.tree.root, before.tree.generation), before.families), touched)
    left = {(f.code, f.contract, f.cls) for f in after.tree.report.findings}
    for finding in safe:
        family = sources[finding.cls]
        assert family is not None
        if (finding.code, finding.contract, finding.cls) in left:
            made.wrong.append((family.source, f"{finding.code} of {finding.cls} is still there after its safe fix"))
    repaired = {architecture for f in safe for architecture in f.architectures}
    for model, outcomes in after.outcomes:
        for outcome in outcomes:
            if _is_refused(after, model, outcome):
                continue
            if repaired.intersection(model.architectures) and not outcome["build"] and not _works(outcome):
                made.wrong.append((_source(after, model), f"{model.cls.name} was repaired and fails: {outcome}"))
            if model.cls.key in worked and not _works(outcome):
                made.wrong.append((_source(after, model), f"{model.cls.name} worked until a repair: {outcome}"))


def _is_safe(finding: Finding) -> bool:
    return finding.contract == CONTRACT and finding.fix.safety == "safe"
