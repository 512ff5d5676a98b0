"""What a consumer does with each model of the tree: its function is run on the engine's stand-in for the model."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace

from analyzer import lower, members
from analyzer.audit import Audit
from analyzer.drift.gates import OutsideGate
from analyzer.drift.package import Module
from analyzer.drift.records import ConsumerRecord, Evidence, FailingModel, ProbeKind
from analyzer.facts import FunctionFacts, ModuleFacts, Parameter
from analyzer.findings import Position
from analyzer.frames import Outcome, Raised
from analyzer.index import ClassInfo
from analyzer.lower import Block, Expr
from analyzer.models import Model
from analyzer.values import Arguments, Function, Instance, Opaque, Value

ROOT = "model that is asked"
"""The parameter that stands for the model: no name that a source can have."""

MISSES = ("AttributeError", "TypeError")


@dataclass(frozen=True)
class Answer:
    """What became of one model.

    Args:
        kind: ``refused``, ``works``, ``fails``, ``may-fail`` or ``unknown``.
        reason: why.
        at: line of the third-party file.
    """

    kind: str
    reason: str = ""
    at: int = 0


class Probes:
    """Consumers, run on the models of a tree.

    Args:
        audit: the tree, read with the third-party code beside it.
    """

    def __init__(self, audit: Audit) -> None:
        self.audit = audit
        self.machine = audit.model_set.machine

    def run(self, gate: OutsideGate, module: Module) -> ConsumerRecord:
        """A gate, with what comes of it for each model.

        Args:
            gate: where.
            module: the file that it stands in.
        """
        asks = "inner model" if gate.inner else "outer model"
        record = ConsumerRecord(
            contract=gate.contract,
            member=gate.member,
            how=gate.how,
            subject=ast.unparse(gate.subject),
            asks=asks,
            at=Position(module.rel, gate.node.lineno, module.column(gate.node)),
            function=gate.function.name,
        )
        if not gate.known:
            return self._of_another_generation(gate, record)
        facts = self.audit.index.module(module.name)
        if facts is None:
            return record
        answers = {model: self._of_model(model, gate, facts) for model in self.audit.serving}
        record = self._counted(record, answers, module)
        if gate.inner and gate.how in ("checker", "isinstance"):
            record = self._inner_only(record)
        if gate.how == "probe":
            record = self._inherited(record, gate)
        return record

    # -- one model ---------------------------------------------------------------------------------

    def _of_model(self, model: Model, gate: OutsideGate, facts: ModuleFacts) -> Answer:
        roots = list(self._roots(model, gate))
        answers = [self._of_root(root, satisfied, gate, facts) for root, satisfied in roots]
        kinds = {answer.kind for answer in answers}
        if len(kinds) == 1:
            return answers[0]
        if kinds <= {"works", "refused"}:
            return next(a for a in answers if a.kind == "works")
        return Answer("unknown", "the checkpoint's configuration decides which model is inside")

    def _roots(self, model: Model, gate: OutsideGate) -> Iterator[tuple[Instance, bool | None]]:
        """Objects of a model, one for each possibility of what is inside, and what the check says of each."""
        status = model.statuses.get(gate.contract)
        made = (
            [(a.outer.root, a.outer.satisfied, a.supported) for a in status.alternatives] if status is not None else []
        )
        if not made:
            satisfied = status.satisfied if status is not None else None
            made = [(self.audit.model_set.instance(model.cls), satisfied, None)]
        for root, outer, inner in made:
            yield Instance(root.cls, root.site, root.arguments, template=root), inner if gate.inner else outer

    def _of_root(self, root: Instance, satisfied: bool | None, gate: OutsideGate, facts: ModuleFacts) -> Answer:
        if satisfied is False:  # and whoever calls its methods means a model that has it
            return Answer("refused")
        outcome = self._execute(gate, facts, root)
        answer = self._judged(outcome, facts.path)
        if answer.kind != "works":
            return answer
        if hidden := root.missing_reason or members.unknown_base(root.cls):
            return Answer("unknown", hidden)
        for store in outcome.stores:  # what is put on the model runs later, when the model does
            value = store.value
            if isinstance(value, Function) and value.module.path == facts.path and value.receiver is not None:
                later = self._judged(self._call(value), facts.path)
                if later.kind != "works":
                    return later
        return answer

    def _execute(self, gate: OutsideGate, facts: ModuleFacts, root: Instance) -> Outcome:
        """Run the function around a gate with a model in the place of what it takes for one."""
        function = _facts_of(gate.function, facts, gate)
        arguments = {p.name: _unknown(p) for p in function.parameters if p.required and p.name != ROOT}
        arguments[ROOT] = root
        owner = self._owner(gate, facts)
        if owner is not None and gate.function.args.args:
            receiver = Instance(owner, None, Arguments())
            receiver.ready, receiver.missing_reason = True, "what the consumer keeps of its own is not known"
            arguments[gate.function.args.args[0].arg] = receiver
        return self.machine.run(Function(function, facts, owner), Arguments(keywords=arguments))

    def _owner(self, gate: OutsideGate, facts: ModuleFacts) -> ClassInfo | None:
        """The class whose ordinary method the function is."""
        for cls in self.audit.index.classes(facts):
            method = cls.facts.methods.get(gate.function.name)
            if method is not None and method.line == gate.function.lineno and method.kind == "instance":
                return cls
        return None

    def _call(self, function: Function) -> Outcome:
        parameters = function.facts.parameters[1:]
        given = {p.name: _unknown(p) for p in parameters if p.required}
        return self.machine.run(function, Arguments(keywords=given))

    def _judged(self, outcome: Outcome, path: str) -> Answer:
        failure = outcome.failure
        if failure is not None and _is_miss(failure, path):
            return Answer("fails", failure.detail, failure.line)
        possible = next((f for f in outcome.possible_failures if _is_miss(f, path)), None)
        if possible is not None:
            return Answer("may-fail", possible.detail, possible.line)
        if failure is not None and failure.path == path:
            return Answer("refused", failure.detail, failure.line)
        if failure is not None:
            return Answer("unknown", f"{failure.kind} at {failure.path}:{failure.line}: {failure.detail}")
        lost = next((reason for reason in outcome.unknown if path in reason and "set on something" in reason), "")
        return Answer("unknown", lost) if lost else Answer("works")

    # -- all of them -------------------------------------------------------------------------------

    def _counted(self, record: ConsumerRecord, answers: dict[Model, Answer], module: Module) -> ConsumerRecord:
        by_kind: dict[str, list[tuple[Model, Answer]]] = {}
        for model, answer in answers.items():
            by_kind.setdefault(answer.kind, []).append((model, answer))
        failing = by_kind.get("fails", [])
        doubtful = by_kind.get("may-fail", [])
        if doubtful and not by_kind.get("works"):
            # No model gets through that branch: what it asks for is nobody's.
            failing, doubtful = [*failing, *doubtful], []
        unknown = [(m.cls.key, a.reason) for m, a in by_kind.get("unknown", [])]
        unknown += [(m.cls.key, f"on one branch, line {a.at}: {a.reason}") for m, a in doubtful]
        lacking = tuple(
            FailingModel(
                m.cls.key, m.role, a.reason, Position(module.rel, a.at), self.audit.position(m.cls), m.architectures
            )
            for m, a in sorted(failing, key=lambda item: item[0].cls.key)
        )
        works = tuple(sorted(m.cls.key for m, _ in by_kind.get("works", [])))
        problems: tuple[ProbeKind, ...] = ("lacking-path",) if lacking else ()
        return replace(
            record,
            refused=len(by_kind.get("refused", [])),
            works=works,
            failing=lacking,
            unknown=tuple(sorted(unknown)),
            problems=problems,
            notes=tuple(_sentence(record, lacking, len(works))),
            evidence=self._evidence(record.contract),
        )

    def _evidence(self, contract: str) -> tuple[Evidence, ...]:
        found = self.audit.contracts[contract]
        at = self.audit.position(found.cls)
        gates = [Evidence(Position(g.path, g.line), f"vLLM asks the {g.subject}") for g in self.audit.checks(found)]
        return (Evidence(at, f"{contract} as this tree has it"), *sorted(set(gates)))

    def _inner_only(self, record: ConsumerRecord) -> ConsumerRecord:
        """Wrappers that pass here, because what is inside them does, and that vLLM's own check refuses."""
        contract = self.audit.contracts[record.contract]
        accepted = []
        for model in self.audit.serving:
            status = model.statuses.get(contract.name)
            if status is not None and model.inner and status.satisfied is False:
                if any(a.supported for a in status.alternatives):
                    accepted.append(model)
        if not accepted or not self.audit.checks(contract):
            return record
        names = ", ".join(sorted(m.cls.name for m in accepted))
        note = f"asks the inner model only: {len(accepted)} wrappers pass here and fail vLLM's own check: {names}"
        return replace(record, problems=(*record.problems, "inner-only"), notes=(*record.notes, note))

    def _inherited(self, record: ConsumerRecord, gate: OutsideGate) -> ConsumerRecord:
        """Models that have the member only because they inherit the Protocol's own, which does nothing or fails."""
        empty = []
        for model in self.audit.serving:
            status = model.statuses.get(gate.contract)
            for alternative in status.alternatives if status is not None else ():
                results = [r for r in alternative.outer.methods if r.method.name == gate.member]
                if (
                    status is not None
                    and status.satisfied
                    and any(r.how in ("stub", "fails", "no-effect") for r in results)
                ):
                    empty.append(model)
                    break
        if not empty:
            return record
        names = ", ".join(sorted(m.cls.name for m in empty))
        note = f"{gate.member} is there for whatever inherits {gate.contract}: "
        note += f"for {len(empty)} models it does nothing or fails: {names}"
        return replace(record, problems=(*record.problems, "inherited-probe"), notes=(*record.notes, note))

    def _of_another_generation(self, gate: OutsideGate, record: ConsumerRecord) -> ConsumerRecord:
        contract = self.audit.contracts[gate.contract]
        has = ", ".join(m.name for m in contract.methods)
        note = f"no model of this tree has {gate.member}; {contract.name} has {has} here"
        return replace(record, problems=("other-generation",), notes=(note,), evidence=self._evidence(gate.contract))


def _is_miss(raised: Raised, path: str) -> bool:
    """Whether third-party code itself fails on something that an object does not have."""
    return raised.path == path and raised.kind in MISSES and " object" in raised.detail


def _unknown(parameter: Parameter) -> Value:
    return Opaque(parameter.name)


def _sentence(record: ConsumerRecord, lacking: tuple[FailingModel, ...], works: int) -> Iterator[str]:
    if not lacking:
        return
    steps = sorted({(f.at.line, f.step.partition("object ")[2]) for f in lacking})
    ways = ", ".join(f"line {line}: {step}" for line, step in steps)
    wrappers = sum(f.role == "wrapper" for f in lacking)
    yield (
        f"{len(lacking)} models ({wrappers} of them wrappers) pass {record.member} and fail behind it ({ways}); "
        f"{works} get through"
    )


# -- the function as facts ---------------------------------------------------------------------------


def _facts_of(function: ast.FunctionDef | ast.AsyncFunctionDef, facts: ModuleFacts, gate: OutsideGate) -> FunctionFacts:
    """A function's facts with the model as one more parameter; the receiver is nothing that is known."""
    wanted = lower.lower(gate.root)
    plain = _without_places(wanted)
    body = _substituted(lower.block(function.body, facts.package), plain)
    arguments = function.args
    names = [a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
    parameters = tuple(Parameter(name, "keyword_only") for name in names)
    own = isinstance(gate.root, ast.Name) and gate.root.id in names
    if own:
        assert isinstance(gate.root, ast.Name)
        named = gate.root.id
        parameters = tuple(p for p in parameters if p.name != named)
        start = (("assign", function.lineno, (("name", gate.root.id),), ("name", ROOT), 0),)
        body = (*start, *lower.block(function.body, facts.package))
    return FunctionFacts(
        name=function.name,
        line=function.lineno,
        column=function.col_offset + 1,
        end_line=function.lineno,  # whatever its length: what a consumer does is all in it
        header=((*parameters, Parameter(ROOT, "keyword_only")), None),
        decorators=(),
        contents=("", body),
    )


def _without_places(expr: Expr | None) -> object:
    """An expression without the lines and columns in it."""
    if not isinstance(expr, tuple):
        return expr
    if expr and expr[0] == "attr":
        return ("attr", _without_places(expr[1]), expr[2])
    if expr and expr[0] == "call":
        return ("call", *(_without_places(part) for part in expr[1:4]))
    return tuple(_without_places(part) for part in expr)


def _substituted(part: Block, wanted: object) -> Block:
    """Lowered code with a name in the place of every expression that is the wanted one."""

    def change(node: object) -> object:
        if not isinstance(node, tuple):
            return node
        if node and node[0] in ("attr", "call", "name", "sub") and _without_places(node) == wanted:
            return ("name", ROOT)
        return tuple(change(inner) for inner in node)

    changed = change(part)
    assert isinstance(changed, tuple)
    return changed
