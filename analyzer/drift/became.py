"""What a method that is gone is called now: one that its class did not have before, and that takes the same."""

from __future__ import annotations

import re
from dataclasses import replace

from analyzer.drift.api import Api
from analyzer.drift.records import ConsumerRecord, Evidence, FailingModel, UseRecord
from analyzer.findings import Position
from analyzer.index import ClassInfo

_STEP = re.compile(r"'(\w+)' object has no attribute '(\w+)'")


def renamed(older: Api, newer: Api, cls: str, name: str) -> Evidence | None:
    """The method that took the place of another in a class; None where that does not show.

    Args:
        older, newer: both trees.
        cls: the class's name.
        name: of the method that is gone.
    """
    for definition in newer.texts.definitions(cls):
        after, before = (_class(api, definition.module, cls) for api in (newer, older))
        if after is None or before is None:
            continue
        gone = before.find_method(name)
        if gone is None:
            continue
        wanted = [p.name for p in gone[1].parameters]
        fresh = [
            (owner, method)
            for owner in after.own_mro
            for method in owner.facts.methods.values()
            if before.find_method(method.name) is None and [p.name for p in method.parameters] == wanted
        ]
        if len({method.name for _, method in fresh}) == 1 and len(wanted) > 1:
            owner, method = fresh[0]
            return Evidence(Position(owner.path, method.line, method.column), f"{name} became {method.name}")
    return None


def _class(api: Api, module: str, name: str) -> ClassInfo | None:
    facts = api.index.module(module)
    for number, cls in enumerate(facts.classes if facts is not None else ()):
        if cls.name == name and facts is not None:
            return api.index.class_at(facts, number)
    return None


def use_with_new_name(use: UseRecord, older: Api, newer: Api) -> UseRecord:
    """A use of a member that is gone, with what it is called now where that shows."""
    cls, _, name = use.name.rpartition(".")
    found = renamed(older, newer, cls, name) if use.kind == "missing-member" else None
    return replace(use, evidence=(*use.evidence, found)) if found is not None else use


def consumer_with_new_names(consumer: ConsumerRecord, older: Api, newer: Api) -> ConsumerRecord:
    """A consumer that asks models for what is gone, with what it is called now."""
    found: dict[str, Evidence] = {}
    for cls, name in sorted(set(_steps(consumer.failing))):
        if name not in found and (evidence := renamed(older, newer, cls, name)) is not None:
            found[name] = evidence
    notes = tuple(evidence.text for evidence in found.values())
    return replace(consumer, notes=(*consumer.notes, *notes), evidence=(*consumer.evidence, *found.values()))


def _steps(failing: tuple[FailingModel, ...]) -> list[tuple[str, str]]:
    return [match.groups() for f in failing if (match := _STEP.fullmatch(f.step))]  # type: ignore[misc]
