"""What a contract needs beyond its Protocol: how a wrapper hands it on, and what it costs where none does.

Members, methods, checkers and gates are read from each checkout.  What cannot be read there (that a stage of a pipeline
asks the outer model for a member that every wrapper takes over from its inner model, or the name that a method had
before it was renamed) is one entry in ``rules/contracts.toml``; the settings of a fork may add entries of their own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from analyzer.nearest import did_you_mean

if TYPE_CHECKING:
    from analyzer.findings import Severity

HandsOn = Literal["decoder", "attributes", "class-methods", "declaration"]
WAYS: tuple[HandsOn, ...] = get_args(HandsOn)

SHIPPED = Path(__file__).parent.parent / "rules" / "contracts.toml"
"""The table that comes with the rules: data about contracts, read and not imported."""

_NAME = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")


class HandlingError(ValueError):
    """An entry cannot be used.

    Args:
        key: of the entry, or empty where it is the entry itself.
        message: what is wrong with it.
    """

    def __init__(self, key: str, message: str) -> None:
        super().__init__(message)
        self.key = key


@dataclass(frozen=True)
class Handling:
    """One entry.

    Args:
        hands_on: how a wrapper hands the contract on: ``decoder`` (its methods configure the inner model's decoder),
            ``attributes`` (its ``__init__`` binds members of the inner model), ``class-methods`` (the class is asked,
            before there is an object), ``declaration`` (inheriting is all).  None: as the Protocol's own shape says.
        attributes: the members that are bound.
        undeclared: the severity of a wrapper that does not support what its inner model does; None where it owes
            nothing.
        consequence: what a user sees then, as the end of a sentence.
        advice: what to do where no repair can be made by machine.
        former: names of members in older generations, each with today's.
        finds_inner: the method by which consumers find the inner model.
        mappings: class attributes that have to agree with those of the inner model.
        over_stages: the flag with which a decoder says that what it collects crosses the stages of a pipeline.
        packing: the class attribute that names the parts of fused layers; places that look for it on what they are
            given count among those that ask.
        packed_by: the method that loads weights, and by literal rows packs parts into fused layers.
        quantised_by: the argument that tells a layer how its weights are quantised.
    """

    hands_on: HandsOn | None = None
    attributes: tuple[str, ...] = ()
    undeclared: Severity | None = None
    consequence: str = ""
    advice: str = ""
    former: tuple[tuple[str, str], ...] = ()
    finds_inner: str = ""
    mappings: tuple[str, ...] = ()
    over_stages: str = ""
    packing: str = ""
    packed_by: str = ""
    quantised_by: str = ""


NOTHING = Handling()
"""For contracts without an entry."""

KEYS = {f.name.replace("_", "-"): f.name for f in fields(Handling)}


def read_entry(values: Mapping[str, Any], base: Handling = NOTHING) -> Handling:
    """An entry from what TOML gives.

    Args:
        values: its keys.
        base: what holds for keys that it leaves out.

    Raises:
        HandlingError: a key is unknown, or a value is not what it should be.
    """
    given: dict[str, Any] = {}
    for key, value in values.items():
        if key not in KEYS:
            raise HandlingError(key, f"unknown key {key}{did_you_mean(key, KEYS, 'the keys are ' + ', '.join(KEYS))}")
        given[KEYS[key]] = _READERS.get(key, _text)(key, value)
    return replace(base, **given)


def _text(key: str, value: Any) -> str:
    if not isinstance(value, str):
        raise HandlingError(key, f"{key} has to be a string")
    return value


def _name(key: str, value: Any) -> str:
    if not isinstance(value, str) or not _NAME.fullmatch(value):
        raise HandlingError(key, f"{key} has to be a name of Python, not {value!r}")
    return value


def _names(key: str, value: Any) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise HandlingError(key, f"{key} has to be an array of names")
    return tuple(_name(key, item) for item in value)


def _renamed(key: str, value: Any) -> tuple[tuple[str, str], ...]:
    if not isinstance(value, dict):
        raise HandlingError(key, f"{key} has to be a table of names")
    return tuple((_name(key, old), _name(key, new)) for old, new in value.items())


def _way(key: str, value: Any) -> HandsOn:
    if value not in WAYS:
        raise HandlingError(key, f"{key} is one of {', '.join(WAYS)}, not {value!r}")
    return value  # type: ignore[no-any-return]


def _severity(key: str, value: Any) -> Severity | None:
    from analyzer.findings import SEVERITIES

    if value not in (*SEVERITIES, "never"):
        raise HandlingError(key, f"{key} is one of {', '.join(SEVERITIES)}, never, not {value!r}")
    return None if value == "never" else value


_READERS: dict[str, Any] = {
    "hands-on": _way,
    "attributes": _names,
    "undeclared": _severity,
    "former": _renamed,
    "finds-inner": _name,
    "mappings": _names,
    "over-stages": _name,
    "packing": _name,
    "packed-by": _name,
    "quantised-by": _name,
}


@lru_cache(maxsize=1)
def shipped() -> Mapping[str, Handling]:
    """The entries that come with the rules, by contract."""
    from analyzer.toml_lines import parse_toml

    return {name: read_entry(values) for name, values in parse_toml(SHIPPED.read_text("utf-8")).items()}
