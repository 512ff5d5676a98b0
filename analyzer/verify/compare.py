"""Both sides side by side: what the analysis says and what happened, by model and by finding."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from analyzer.verify.copy import Repair
from analyzer.verify.plan import Plan, concerned, is_chosen, names
from analyzer.verify.process import Answers

Record = dict[str, Any]
Outcome = Literal["confirmed", "contradicted", "not testable"]

OPEN = "the analysis leaves it open"
NO_STATE = "a skeleton lacks state that the constructor would set"
NOT_CALLED = "forward could not be run on a skeleton"
NOT_BUILT = "the skeleton cannot be built"
FROM_STAND_IN = "it inherits from a stand-in for a missing module"
NOT_EXECUTED = {
    "config": "the engine's configuration is not built",
    "branch": "the engine's own branches are not run",
    "inner": "the inner model is not known",
}
"""Links of a chain that no execution of models can show."""
EXECUTED = ("check", "inner-check", "method", "capture", "forward")
"""Those that it can."""


@dataclass(frozen=True)
class Comparison:
    """One statement of the analysis against what happened.

    Args:
        kind: the link of a chain that it is about: ``check``, ``inner-check``, ``method``, ``capture``, ``forward``.
        contract: name of the contract.
        subject: what was asked or called.
        ok: whether the link holds according to the analysis; None where that leaves it open.
        static: what the analysis says, in words.
        happened: what happened, in words.
        outcome: of the comparison.
        reason: why it is not testable, in words that many share.
        inner: class of the inner model in place, or empty.
    """

    kind: str
    contract: str
    subject: str
    ok: bool | None
    static: str
    happened: str
    outcome: Outcome
    reason: str = ""
    inner: str = ""


@dataclass(frozen=True)
class ModelOutcome:
    """What came of all statements about one class; ``reason`` where it gave no answer."""

    cls: str
    architectures: tuple[str, ...]
    outcome: Outcome
    reason: str = ""
    comparisons: tuple[Comparison, ...] = ()


@dataclass(frozen=True)
class FindingOutcome:
    """What came of one finding: ``shown`` is what bears it out or speaks against it."""

    code: str
    contract: str
    cls: str
    path: str
    line: int
    message: str
    outcome: Outcome
    reason: str = ""
    shown: tuple[Comparison, ...] = ()


@dataclass
class Verification:
    """The result of a run.

    Args:
        environment: what the interpreter says of itself.
        stand_ins: what was stood in for.
        models, findings: their outcomes; of a fixed copy, those that are left.
        repairs: of a fixed copy, what came of the findings that were repaired.
        served: architecture to the class that it gives there; empty where it cannot be imported.
        uncovered: architectures of the registry there whose class is none of the analysis's.
        tree: which tree it is about.
    """

    environment: Record
    stand_ins: list[str]
    models: list[ModelOutcome]
    findings: list[FindingOutcome]
    repairs: list[FindingOutcome] = field(default_factory=list)
    served: dict[str, str] = field(default_factory=dict)
    uncovered: list[str] = field(default_factory=list)
    tree: Record = field(default_factory=dict)

    @property
    def comparisons(self) -> Iterator[Comparison]:
        return (c for model in self.models for c in model.comparisons)

    @property
    def contradicted(self) -> bool:
        """Whether anything that the analysis says is not so."""
        judged = [*(m.outcome for m in self.models), *(f.outcome for f in (*self.findings, *self.repairs))]
        return "contradicted" in judged


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


# -- models ----------------------------------------------------------------------------------------


def model_outcome(said: Record | None, job: Record, result: Record) -> ModelOutcome:
    """Everything about one class.

    Args:
        said: the model in the report; None for a class that only a finding names.
        job, result: what was asked, and the answer.
    """
    cls, architectures = job["cls"], tuple(job["architectures"])
    if "lost" in result or result["import"]:
        why = result.get("lost") or f"it cannot be imported: {result['import']}"
        return ModelOutcome(cls, architectures, "not testable", why)
    found = [*_checks(said, result), *_methods(job, result)]
    for skeleton, happened in zip(job["skeletons"], result["skeletons"], strict=True):
        found += _skeleton(skeleton, happened)
    if result["stands_in"]:
        found = [_distrusted(one) for one in found]
    return ModelOutcome(cls, architectures, overall(found), "", tuple(found))


def overall(found: Iterable[Comparison]) -> Outcome:
    """One contradiction outweighs everything."""
    outcomes = {one.outcome for one in found}
    return "contradicted" if "contradicted" in outcomes else "confirmed" if "confirmed" in outcomes else "not testable"


def _distrusted(one: Comparison) -> Comparison:
    if one.outcome != "contradicted":
        return one
    return Comparison(**{**vars(one), "outcome": "not testable", "reason": FROM_STAND_IN})


def _checks(said: Record | None, result: Record) -> Iterator[Comparison]:
    """The checkers, asked with the class."""
    if said is None:
        return
    for contract, answer in result["answers"].items():
        status = said["contracts"][contract]
        known = None if status["verdict"] == "unknown" and not status["satisfied"] else status["satisfied"]
        yield _answer("check", contract, "the class", known, answer)


def _answer(
    kind: str, contract: str, subject: str, said: bool | None, answer: bool | str, inner: str = ""
) -> Comparison:
    static, happened = _passes(said), answer if isinstance(answer, str) else _passes(answer)
    if said is None:
        return Comparison(kind, contract, subject, said, static, happened, "not testable", OPEN, inner)
    if isinstance(answer, str):
        reason = "the checker itself raises"
        return Comparison(kind, contract, subject, said, static, happened, "not testable", reason, inner)
    outcome: Outcome = "confirmed" if said is answer else "contradicted"
    return Comparison(kind, contract, subject, said, static, happened, outcome, "", inner)


def _passes(answer: bool | None) -> str:
    return {True: "passes", False: "fails", None: "not known"}[answer]


def _methods(job: Record, result: Record) -> Iterator[Comparison]:
    """Methods that findings name: whether the effective one is a Protocol's, and what its body gives."""
    for contract, methods in result["methods"].items():
        followed = {call["name"] for s in job["skeletons"] if s["contract"] == contract for call in _calls(s)}
        for name, happened in methods.items():
            if name not in followed:
                yield _effective(contract, name, happened)


def _calls(skeleton: Record) -> Iterator[Record]:
    return (call for steps in skeleton["steps"] for call in steps["calls"])


def _effective(contract: str, name: str, happened: Record) -> Comparison:
    static = "the effective method is a stub, or cannot be called as the contract says"
    shown = f"it is that of {happened['owner'] or 'no class'}"
    if happened["protocol"] and happened["gives"] in ("None", "NotImplementedError"):
        return Comparison(
            "method", contract, name, False, static, f"{shown}, a Protocol, and gives {happened['gives']}", "confirmed"
        )
    if happened["refuses"]:
        return Comparison("method", contract, name, False, static, f"{shown}: {happened['refuses']}", "confirmed")
    if happened["protocol"]:
        shown += f", a Protocol, and gives {happened['gives']}"
    return Comparison("method", contract, name, False, static, shown, "contradicted")


# -- skeletons -------------------------------------------------------------------------------------


def _skeleton(skeleton: Record, happened: Record) -> Iterator[Comparison]:
    contract, inner = skeleton["contract"], skeleton["inner_cls"]
    if happened["built"]:
        static = _passes(skeleton["satisfied"])
        yield Comparison(
            "check", contract, "a skeleton", skeleton["satisfied"], static, happened["built"], "not testable", NOT_BUILT
        )
        return
    yield _answer("check", contract, "a skeleton", skeleton["satisfied"], happened["satisfied"], inner)
    if happened["inner_satisfied"] is not None:
        answer = happened["inner_satisfied"]
        yield _answer("inner-check", contract, f"self.{skeleton['inner']}", skeleton["inner_satisfied"], answer, inner)
    for said, did in zip(skeleton["steps"], happened["steps"], strict=True):
        yield from _steps(contract, inner, said, did)


def _steps(contract: str, inner: str, said: Record, did: Record) -> Iterator[Comparison]:
    once = ", once declared" if said["declared"] else ""
    if did["built"]:
        yield Comparison("method", contract, f"all{once}", None, "", did["built"], "not testable", NOT_BUILT, inner)
        return
    for call, happened in zip(said["calls"], did["calls"], strict=True):
        yield _call(contract, inner, once, call, happened)
    if said["decoder"]:
        for kind, key in (("capture", "captures"), ("forward", "hands_on")):
            yield _flow(kind, contract, inner, said, did[kind], key, once)


def _call(contract: str, inner: str, once: str, said: Record, did: Record) -> Comparison:
    how = said["how"]
    ok = True if how == "works" else None if how == "unknown" else False
    static = f"{how} {said['reason']}".strip()
    if said["lands"]:
        static += f", sets {_place(said['lands'])}"
    happened = did["error"] or f"gives {did['gives']}"
    if did["lands"]:
        happened += f", sets {', '.join(map(_place, did['lands']))}"

    def compared(outcome: Outcome, reason: str = "") -> Comparison:
        subject = f"{said['name']}{once}"
        return Comparison("method", contract, subject, ok, static, happened, outcome, reason, inner)

    if how == "unknown":
        return compared("not testable", OPEN)
    if _as_said(said, did):
        return compared("confirmed")
    if did["raises"] == "AttributeError" and how != "missing":
        return compared("not testable", NO_STATE)
    return compared("contradicted")


def _place(place: list[str]) -> str:
    return ".".join(part for part in ("self", *place) if part)


def _as_said(said: Record, did: Record) -> bool:
    """Whether a method did what the analysis says of it."""
    how, quiet = said["how"], not did["raises"]
    if how == "works":
        return quiet and (list(said["lands"]) in did["lands"] if said["configures"] else did["gives"] == "value")
    if how == "stub":
        return did["raises"] in ("", "NotImplementedError") and did["gives"] != "value" and not did["lands"]
    if how == "no-effect":
        return quiet and not did["lands"]
    if how == "missing":
        return did["raises"] == "AttributeError" and names(did["error"], said["name"])
    if how == "refuses":
        return bool(did["raises"] == "TypeError")
    same = did["raises"] == said["raises"]
    if same and said["raises"] == "AttributeError":  # the same attribute: a skeleton lacks others too
        return bool(did["error"].rpartition(" ")[2] == said["reason"].rpartition(" ")[2])
    return bool(same)


def _flow(kind: str, contract: str, inner: str, said: Record, did: Record, key: str, once: str) -> Comparison:
    """Whether states come out of a ``forward``."""
    ok, answer = said[kind], did[key]
    words = {True: "the states come out", False: "the states do not come out", None: "not known"}
    happened = words[answer] if answer is not None else did["error"]
    if ok is False and did.get("fails"):
        answer = False
    if did["filled"]:
        happened += f" (filled in: {', '.join(did['filled'])})"
    subject = f"{'the decoder' if kind == 'capture' else 'the model'}'s forward{once}"
    outcome: Outcome = (
        "not testable" if ok is None or answer is None else "confirmed" if ok is answer else "contradicted"
    )
    reason = "" if outcome != "not testable" else OPEN if ok is None else NOT_CALLED
    return Comparison(kind, contract, subject, ok, words[ok], happened, outcome, reason, inner)


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
