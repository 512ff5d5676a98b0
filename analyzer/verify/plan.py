"""What to ask: from the plain results of an audit, and the skeletons of its models."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

Record = dict[str, Any]


@dataclass(frozen=True)
class Plan:
    """What the execution gets.

    Args:
        settings: what holds for all classes, as ``run.py`` reads it.
        jobs: one for each class.
        classes: the names of the only classes that were asked for; none where all were.
    """

    settings: Record
    jobs: list[Record]
    classes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Place:
    """Where the sources are, and what their modules are called.

    Args:
        root: folder that goes first on the path; empty where the environment's own vLLM is meant.
        version: of the sources, as far as known.
        interfaces, registry: dotted names of these modules.
        model_folders: dotted names of the packages that hold models.
        compiled: ``vllm`` folders in which compiled parts may be, beside the one that is installed.
        beside: folders of a plugin's packages, which go on the path too.
        entry_points: its functions that register its models, as module and name.
    """

    root: str
    version: str
    interfaces: str
    registry: str
    model_folders: tuple[str, ...]
    compiled: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    entry_points: tuple[tuple[str, str], ...] = ()


def make_plan(report: Record, skeletons: Iterable[Record], place: Place, classes: Sequence[str] = ()) -> Plan:
    """The questions for every model, and for every class that a finding is about.

    Args:
        report: as :func:`analyzer.report.json.to_dict` gives it.
        skeletons: as plain data, of the same tree.
        place: where the tree is.
        classes: ask of these only, by dotted name or last part; of all unless given.
    """
    settings = {
        "root": place.root,
        "version": place.version,
        "interfaces": place.interfaces,
        "registry": place.registry,
        "model_folders": list(place.model_folders),
        "compiled": list(place.compiled),
        "beside": list(place.beside),
        "entry_points": [list(point) for point in place.entry_points],
        "checkers": {c["name"]: c["checker"] for c in report["contracts"] if c["checker"]},
    }
    jobs = {m["class"]: _job(m["class"], m["architectures"]) for m in report["models"]}
    for skeleton in skeletons:
        jobs[skeleton["cls"]]["skeletons"].append(skeleton)
    for finding in report["findings"]:
        cls = concerned(report, finding)
        for name in named_methods(report, finding):
            asked = jobs.setdefault(cls, _job(cls, []))["methods"].setdefault(finding["contract"], [])
            asked += [name] if name not in asked else []
    return Plan(settings, [job for cls, job in jobs.items() if is_chosen(cls, classes)], tuple(classes))


def _job(cls: str, architectures: Sequence[str]) -> Record:
    return {"cls": cls, "architectures": list(architectures), "methods": {}, "skeletons": []}


def is_chosen(cls: str, classes: Sequence[str]) -> bool:
    """Whether a class is one of those that were asked for; all are where none was."""
    return not classes or cls in classes or cls.rpartition(".")[2] in classes


def concerned(report: Record, finding: Record) -> str:
    """The model whose chain a finding shows: the one at its check, which may inherit from the class at fault."""
    places = {(link["path"], link["line"]) for link in finding["chain"] if link["link"] == "check"}
    by_place = (m["class"] for m in report["models"] if (m["path"], m["line"]) in places)
    return str(next(by_place, finding["class"]))


def named_methods(report: Record, finding: Record) -> Iterator[str]:
    """The contract's methods that do not do their work according to a finding's chain."""
    methods: list[Record] = next((c["methods"] for c in report["contracts"] if c["name"] == finding["contract"]), [])
    details = [link["detail"] for link in finding["chain"] if link["link"] == "method" and link["ok"] is False]
    for method in methods:
        if any(names(detail, method["name"]) for detail in details):
            yield method["name"]


def names(text: str, word: str) -> bool:
    """Whether a text holds a name as a whole word."""
    return re.search(rf"\b{re.escape(word)}\b", text) is not None
