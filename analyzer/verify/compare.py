"""Both sides side by side: what came of every model and of every finding."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from analyzer.verify.outcomes import Comparison, FindingOutcome, ModelOutcome, Outcome, Verification, overall
from analyzer.verify.plan import Plan, concerned, is_chosen, names
from analyzer.verify.process import Answers
from analyzer.verify.repairs import Repair
from analyzer.verify.statements import model_outcome

Record = dict[str, Any]

NOT_EXECUTED = {
    "config": "the engine's configuration is not built",
    "branch": "the engine's own branches are not run",
    "inner": "the inner model is not known",
    "attribute": "what the constructor sets is not run",
    "language-model": "what the constructor builds and marks is not run",
    "stages": "there is one stage",
    "mapping": "what an adapter or a quantised checkpoint names is not run",
}
"""Links of a chain that no execution of models can show."""
EXECUTED = ("check", "inner-check", "method", "capture", "forward")
"""Those that it can."""


def compare(report: Record, plan: Plan, answers: Answers, repairs: Iterable[Repair] = ()) -> Verification:
    """Judge every answer.

    Args:
        report: of the audit, as plain data.
        plan: what was asked.
        answers: what came back.
        repairs: what was repaired before, in a copy.
    """
    said = {m["class"]: m for m in report["models"]}
    asked = {job["cls"]: (job, result) for job, result in zip(plan.jobs, answers.results, strict=True)}
    models = {cls: model_outcome(said.get(cls), job, result) for cls, (job, result) in asked.items()}
    served = {a: cls for _, result in asked.values() for a, cls in result.get("architectures", {}).items()}
    known = {a for m in report["models"] for a in m["architectures"]}
    unknown = [a for a in answers.environment.get("architectures", ()) if a not in known]
    elsewhere = [a for a, cls in served.items() if cls and cls not in said]
    return Verification(
        {key: value for key, value in answers.environment.items() if key != "architectures"},
        answers.stand_ins,
        list(models.values()),
        [finding_outcome(report, f, models) for f in report["findings"] if _is_asked(report, f, plan)],
        [repair_outcome(report, repair, models) for repair in repairs if is_chosen(repair.model, plan.classes)],
        served,
        sorted({*unknown, *elsewhere}),
    )


def _is_asked(report: Record, finding: Record, plan: Plan) -> bool:
    return is_chosen(finding["class"], plan.classes) or is_chosen(concerned(report, finding), plan.classes)


# -- findings --------------------------------------------------------------------------------------


def finding_outcome(report: Record, finding: Record, models: dict[str, ModelOutcome]) -> FindingOutcome:
    """A finding holds if each link of its chain that is broken was seen to be."""
    return _judged(finding, *_evidence(report, finding, models))


def _judged(finding: Record, shown: list[Comparison], reason: str) -> FindingOutcome:
    outcome: Outcome = overall(shown) if not reason or overall(shown) == "contradicted" else "not testable"
    return FindingOutcome(
        finding["code"],
        finding["contract"],
        finding["class"],
        finding["path"],
        finding["line"],
        finding["message"],
        outcome,
        "" if outcome != "not testable" else reason,
        tuple(shown),
    )


def _evidence(report: Record, finding: Record, models: dict[str, ModelOutcome]) -> tuple[list[Comparison], str]:
    """The comparisons that bear on a finding, and why it is not testable, empty where it is."""
    model = models.get(concerned(report, finding))
    if model is not None and model.reason:
        return [], model.reason
    about = [c for c in model.comparisons if c.contract == finding["contract"]] if model is not None else []
    inner = next((link for link in finding["chain"] if link["link"] == "inner-check"), None)
    if inner is None and any(link["link"] == "inner" and link["ok"] is None for link in finding["chain"]):
        return [], NOT_EXECUTED["inner"]
    if inner is not None:
        about = [c for c in about if not c.inner or inner["detail"].startswith(f"{c.inner.rpartition('.')[2]} ")]
    broken = [link for link in finding["chain"] if link["ok"] is False]
    shown: list[Comparison] = []
    for link in broken:
        fitting = [c for c in about if c.ok is False and _is_about(c, link)]
        shown += fitting
        if not any(c.outcome == "confirmed" for c in fitting):
            return shown, next((c.reason for c in fitting if c.reason), _why_not(link))
    return shown, "" if broken else "nothing of its chain is broken for certain"


def _is_about(one: Comparison, link: Record) -> bool:
    if one.kind != link["link"]:
        return False
    return one.kind != "method" or names(link["detail"], one.subject.partition(",")[0])


def _why_not(link: Record) -> str:
    return NOT_EXECUTED.get(link["link"], f"its {link['link']} link is no call of a model")


# -- repairs ---------------------------------------------------------------------------------------


def repair_outcome(report: Record, repair: Repair, models: dict[str, ModelOutcome]) -> FindingOutcome:
    """A repair holds if the repaired class passes its checker, and each of the contract's methods does its work.

    Where the configuration chooses the inner model, it has to do so with one of those that it can choose.

    Args:
        report: of the fixed copy.
        repair: what was repaired.
        models: what came of the fixed copy.
    """
    finding, model = repair.finding, models.get(repair.model)
    if repair.refused:
        return _judged(finding, [], f"the fix was not carried out: {repair.refused}")
    if model is None or model.reason:
        return _judged(finding, [], model.reason if model is not None else "nothing is said of its class")
    unseen = next((x for x in finding["chain"] if x["ok"] is False and x["link"] not in EXECUTED), None)
    if unseen is not None:
        return _judged(finding, [], _why_not(unseen))
    about = [c for c in model.comparisons if c.contract == finding["contract"]]
    same = (finding["code"], finding["contract"], finding["class"])
    if same in {(f["code"], f["contract"], f["class"]) for f in report["findings"]}:
        return _judged(finding, about, "the finding is still there")
    for inner in sorted({c.inner for c in about}):
        shown = [c for c in about if c.inner == inner]
        steps = [c for c in shown if c.kind in ("check", "method")]
        called = any(c.kind == "method" for c in steps)
        if called and all(c.ok and c.outcome == "confirmed" for c in steps):
            return _judged(finding, about, "")
    return _judged(finding, about, next((c.reason for c in about if c.reason), "its methods were not called"))
