"""Each statement of the analysis about one class against what happened."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from analyzer.verify.outcomes import Comparison, ModelOutcome, Outcome, overall
from analyzer.verify.plan import names

Record = dict[str, Any]

OPEN = "the analysis leaves it open"
NO_STATE = "a skeleton lacks state that the constructor would set"
NOT_CALLED = "forward could not be run on a skeleton"
NOT_BUILT = "the skeleton cannot be built"
FROM_STAND_IN = "it inherits from a stand-in for a missing module"


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
        open_ = status["verdict"] == "unknown" and not status["satisfied"]
        known = status.get("class_satisfied", None if open_ else status["satisfied"])
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
    static = "the effective method is missing, a stub, or cannot be called as the contract says"
    shown = f"it is that of {happened['owner'] or 'no class'}"
    if happened["protocol"]:
        shown += f", a Protocol, and gives {happened['gives']}"
    if happened["refuses"]:
        shown += f": {happened['refuses']}"
    stub = happened["protocol"] and happened["gives"] in ("None", "NotImplementedError")
    outcome: Outcome = "confirmed" if stub or happened["refuses"] or not happened["owner"] else "contradicted"
    return Comparison("method", contract, name, False, static, shown, outcome)


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
