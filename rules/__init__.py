"""The rules: one module each.  A module that defines a :class:`~rules._rule.Rule` is a rule; there is no list."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from functools import lru_cache

from rules._rule import Rule


@lru_cache(maxsize=1)
def all_rules() -> tuple[Rule, ...]:
    """One instance of every rule, by code."""
    found: dict[str, Rule] = {}
    for module in pkgutil.iter_modules(__path__):
        if module.name.startswith("_"):
            continue
        for value in vars(importlib.import_module(f"{__name__}.{module.name}")).values():
            if isinstance(value, type) and issubclass(value, Rule) and not inspect.isabstract(value):
                found[value.code] = value()
    return tuple(found[code] for code in sorted(found))
