"""The rules: one module each.  A module that defines a :class:`~rules._rule.Rule` is a rule; there is no list."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rules._rule import Rule

_MODULE = re.compile(r"(vc\d{3})_(\w+)")


@lru_cache(maxsize=1)
def rule_names() -> dict[str, str]:
    """The name of every rule by its code, read from the modules' own names: importing them takes a while."""
    found = (_MODULE.fullmatch(module.name) for module in pkgutil.iter_modules(__path__))
    return {match[1].upper(): match[2].replace("_", "-") for match in found if match is not None}


def on_request() -> tuple[str, ...]:
    """The codes of the rules that are applied only where they are selected."""
    return tuple(rule.code for rule in all_rules() if not rule.default)


@lru_cache(maxsize=1)
def all_rules() -> tuple[Rule, ...]:
    """One instance of every rule, by code."""
    from rules._rule import Rule

    found: dict[str, Rule] = {}
    for module in pkgutil.iter_modules(__path__):
        if module.name.startswith("_"):
            continue
        for value in vars(importlib.import_module(f"{__name__}.{module.name}")).values():
            if isinstance(value, type) and issubclass(value, Rule) and not inspect.isabstract(value):
                found[value.code] = value()
    return tuple(found[code] for code in sorted(found))
