"""What consumers that dispatch on a model's type or on its class's name do with one model."""

from __future__ import annotations

import re
from dataclasses import dataclass

from analyzer.audit import Audit
from analyzer.dispatch import AllowList, NameArm, NameGate
from analyzer.findings import Link
from analyzer.index import ClassInfo
from analyzer.models import Model, Status


@dataclass(frozen=True)
class TypeAnswer:
    """Whether an allow-list lets a model pass.

    Args:
        ok: whether it does, as far as the names show.
        model_type: the most likely one.
        certain: whether a configuration class of the tree, or the checkpoint, says so.
    """

    ok: bool
    model_type: str
    certain: bool

    @property
    def shown(self) -> str:
        return f'"{self.model_type}"' if self.certain else f'guessed from names as "{self.model_type}"'


@dataclass(frozen=True)
class NameAnswer:
    """Where a dispatch on class names sends a model.

    Args:
        named: whether a branch names the class.
        reads: the attribute of the config that the branch reads.
        serves: whether the model's own file reads it too, so that its config has it; None where it does not show.
        fitting: a branch that reads what the model's own file reads.
    """

    named: bool
    reads: str
    line: int
    serves: bool | None
    fitting: NameArm | None


# -- model types -----------------------------------------------------------------------------------


def text_model(model: Model, status: Status) -> ClassInfo | None:
    """The class whose configuration an allow-list asks: the text model's, where there is one that is known."""
    if not model.inner:
        return model.cls if model.role == "text" else None
    classes = {a.cls for a in status.alternatives}
    return classes.pop() if len(classes) == 1 else None


def type_answer(audit: Audit, gate: AllowList, text: ClassInfo, outer: ClassInfo) -> TypeAnswer:
    """Whether an allow-list lets a model pass, by the names that the tree has for its type."""
    given, guessed = model_types(audit, text, outer)
    ok = any(_allowed(name, gate.items) for name in (*given, *guessed))
    return TypeAnswer(ok, (*given, *guessed)[0], bool(given))


def model_types(audit: Audit, text: ClassInfo, outer: ClassInfo) -> tuple[list[str], list[str]]:
    """What the model type of a text model can be: read from configuration classes of the tree, and guessed.

    Guesses come from the names of other configuration classes and of the files.
    """
    given, guessed = [], []
    for name, target in audit.config_classes(text):
        declared = target.facts.attributes.get("model_type") if isinstance(target, ClassInfo) else None
        if declared is not None and declared.value is not None and declared.value[0] == "const":
            given.append(str(declared.value[1]))
        else:
            guessed.append(_snake(name.removesuffix("Config")))
    stems = [cls.path.rpartition("/")[2].removesuffix(".py") for cls in (text, outer)]
    return given, list(dict.fromkeys([*stems, *guessed]))


def likely_types(audit: Audit, text: ClassInfo) -> tuple[str, ...]:
    """Model types of a text model: as configuration classes of the tree say, else as their names and its file's do."""
    given, guessed = model_types(audit, text, text)
    stem = text.path.rpartition("/")[2].removesuffix(".py")
    named = [_snake(name.removesuffix("Config")) for name, _ in audit.config_classes(text)]
    return tuple(dict.fromkeys(given or named or [stem, *guessed]))


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def _allowed(model_type: str, items: tuple[str, ...]) -> bool:
    """Whether a listed string stands in the model type, or the inferred one is the beginning of a listed one."""
    plain = model_type.replace("_", "").replace("-", "")
    listed = [item.replace("_", "") for item in items]
    return any(item in plain or item.startswith(plain) for item in listed)


# -- class names -----------------------------------------------------------------------------------


def name_answer(audit: Audit, gate: NameGate, model: Model) -> NameAnswer | None:
    """Where a dispatch on class names sends a model; None where it reads nothing there."""
    reads = audit.usage.config_reads(model.cls)
    for arm in gate.arms:
        if model.cls.name in arm.names:
            return NameAnswer(True, arm.reads, arm.line, True, None)
    if gate.otherwise is None or not gate.otherwise.reads:
        return None
    wanted = gate.otherwise.reads
    fitting = next((arm for arm in gate.arms if arm.reads in reads and len(arm.names) > 1), None)
    serves = True if wanted in reads else False if fitting is not None else None
    return NameAnswer(False, wanted, gate.otherwise.line, serves, fitting)


def is_multimodal(model: Model) -> bool:
    """Whether the proposer looks for this model's image token."""
    return any(entry.use == "multimodal" for entry in model.entries)


# -- as links --------------------------------------------------------------------------------------


def consumer_links(audit: Audit, model: Model, status: Status) -> tuple[Link, ...]:
    """What stands before and behind the check: allow-lists, and dispatches on the class's name.

    Args:
        audit: what was read.
        model, status: which chain.
    """
    lists = [
        _list_link(audit, gate, model, status)
        for gate in audit.consumers.allow_lists
        if gate.contract == status.contract.name
    ]
    named = [_name_link(audit, gate, model) for gate in audit.consumers.name_gates if is_multimodal(model)]
    return (*lists, *(link for link in named if link is not None))


def _list_link(audit: Audit, gate: AllowList, model: Model, status: Status) -> Link:
    asks = f"asks {gate.subject} for one of {', '.join(gate.items)}"
    text = text_model(model, status)
    if text is None:
        return Link("allow-list", None, gate.path, gate.line, asks)
    answer = type_answer(audit, gate, text, model.cls)
    ok = answer.ok if answer.certain or answer.ok else None
    end = f', so "{gate.error}"' if ok is False and gate.error else ""
    return Link("allow-list", ok, gate.path, gate.line, f"{asks}; the model type is {answer.shown}{end}")


def _name_link(audit: Audit, gate: NameGate, model: Model) -> Link | None:
    answer = name_answer(audit, gate, model)
    if answer is None or not answer.reads:
        return None
    where = (
        f"{gate.function} names {model.cls.name}" if answer.named else f"{gate.function} does not name {model.cls.name}"
    )
    shows = {True: "as its own file does", False: "which its own file never reads", None: "and its own file shows none"}
    detail = f"{where} and reads config.{answer.reads}, {shows[answer.serves]}"
    return Link("name-gate", answer.serves, gate.path, answer.line, detail)
