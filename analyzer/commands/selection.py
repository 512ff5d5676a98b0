"""Which rules apply: ``--select`` and ``--ignore``, by code or by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from analyzer.nearest import did_you_mean

if TYPE_CHECKING:
    from rules._rule import Rule


def rule_names() -> dict[str, str]:
    """The code of every rule by its code and by its name, in lower case."""
    from rules import rule_names as names

    return {word.lower(): code for code, name in names().items() for word in (code, name)}


def codes_of(values: Sequence[str], option: str) -> tuple[str, ...] | None:
    """The codes of rules that the values of an option name.

    Args:
        values: each one or several codes or names with commas between.
        option: for messages.

    Returns:
        None where the option is not given.

    Raises:
        click.BadParameter: for a code or name that no rule has, and where none is named.
    """
    if not values:
        return None
    words = [word.strip() for value in values for word in value.split(",") if word.strip()]
    try:
        codes = tuple(dict.fromkeys(find_code(word) for word in words))
    except click.BadParameter as error:
        error.param_hint = option
        raise
    if not codes and option == "--select":  # an empty variable in somebody's CI must not pass for "all"
        raise click.BadParameter("no rule is named", param_hint=option)
    return codes


def find_code(word: str) -> str:
    """The code of a rule's code or name, in upper or lower case.

    Raises:
        click.BadParameter: if there is none.
    """
    from rules import rule_names as names

    for code, name in names().items():
        if word.lower() in (code.lower(), name):
            return code
    known = [key for pair in names().items() for key in pair]
    hint = did_you_mean(word, known, "vllm-contracts explain lists them")
    raise click.BadParameter(f"no rule is called {word}{hint}")


def find_rule(word: str) -> Rule:
    """The rule of a code or name, in upper or lower case.

    Raises:
        click.BadParameter: if there is none.
    """
    code = find_code(word)
    from rules import all_rules

    return next(rule for rule in all_rules() if rule.code == code)
