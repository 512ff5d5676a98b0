"""What a norm does with the residual that it is given beside the hidden states: add it, or pass it by."""

from __future__ import annotations

from typing import Literal

from analyzer.facts import FunctionFacts
from analyzer.index import ClassInfo, Index
from analyzer.lower import Expr, walk
from analyzer.values import Instance, Opaque, Value, options

ENTRIES = ("forward_native", "forward")
"""vLLM's custom operators dispatch from ``forward`` to one of several; the native one says what they all compute."""

Answer = Literal["adds", "ignores", "passes", "unknown"]


def adds_residual(index: Index, norm: Value) -> bool | None:
    """Whether calling a norm with hidden states and a residual adds them.

    What passes everything on, as the stand-in for a layer of another stage does, has no say.

    Args:
        index: the checkout's names.
        norm: what stands at the decoder's attribute.

    Returns:
        None where a class is not known, or several classes differ.
    """
    answers = {_answer(_class_of(index, option)) for option in options(norm)} - {"passes"}
    return answers.pop() == "adds" if len(answers) == 1 and answers <= {"adds", "ignores"} else None


def _class_of(index: Index, value: Value) -> ClassInfo | None:
    """The class of an object; of one outside the model folders, that its text names."""
    if isinstance(value, Instance):
        return value.cls
    if not isinstance(value, Opaque) or not value.text.endswith("(…)"):
        return None
    module, _, name = value.text.removesuffix("(…)").rpartition(".")
    found = index.lookup(module, name) if module and index.module(module) is not None else []
    return found[-1] if found and isinstance(found[-1], ClassInfo) else None


def _answer(cls: ClassInfo | None) -> Answer:
    entry = next((m for name in ENTRIES if cls is not None and (m := cls.find_method(name)) is not None), None)
    if cls is None or entry is None:
        return "unknown"
    parameters = entry[1].parameters[1:]
    if parameters and parameters[0].kind == "var_positional":
        return "passes"
    if len(parameters) < 2 or entry[1].body is None:
        return "unknown"
    pair = (parameters[0].name, parameters[1].name)
    helpers = [entry[1]]
    helpers += [m for c in cls.own_mro for n, m in c.facts.methods.items() if _computes(entry[1], n)]
    if any(_adds(method, *pair) for method in helpers):
        return "adds"
    return "unknown" if any(_reads(method, pair[1]) for method in helpers) else "ignores"


def _computes(entry: FunctionFacts, name: str) -> bool:
    """Whether the entry calls a method of its own."""
    own = ("attr", ("name", "self"), name)
    return any(part[0] == "call" and part[1][:3] == own for part in walk(entry.body or ()))


def _adds(method: FunctionFacts, hidden: str, residual: str) -> bool:
    """Whether a method adds both, or hands both to one function, which the fused kernels are."""
    for part in walk(method.body or ()):
        if part[0] == "bin" and part[1] == "Add":
            if {hidden} == _names(part[2]) & {hidden, residual} and residual in _names(part[3]):
                return True
        elif part[0] == "call" and part[1][:2] != ("attr", ("name", "self")):
            if {hidden, residual} <= {argument[1] for argument in part[2] if argument[0] == "name"}:
                return True
    return False


def _reads(method: FunctionFacts, residual: str) -> bool:
    """Whether a method does anything with the residual but give it back."""
    return any(part[0] in ("call", "bin", "cmp") and residual in _names(part) for part in walk(method.body or ()))


def _names(expr: Expr) -> set[str]:
    return {part[1] for part in walk(expr) if part[0] == "name"}
