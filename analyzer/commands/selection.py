"""Which rules apply: ``--select`` and ``--ignore``, by code or by name."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from rules._rule import Rule


def select_rules(select: Sequence[str], ignore: Sequence[str]) -> list[Rule]:
    """The rules to apply.

    Args:
        select: values of ``--select``, each one or several codes or names with commas between; all rules if empty.
        ignore: the same of ``--ignore``, which wins.

    Raises:
        click.BadParameter: for a code or name that no rule has, and where no rule is left.
    """
    from rules import all_rules

    wanted = _codes(select, "--select") if select else {rule.code for rule in all_rules()}
    if not wanted:  # an empty variable in somebody's CI must not pass for "all"
        raise click.BadParameter("no rule is named", param_hint="--select")
    left = wanted - _codes(ignore, "--ignore")
    if not left:
        raise click.BadParameter("every rule that is selected is ignored", param_hint="--ignore")
    return [rule for rule in all_rules() if rule.code in left]


def find_rule(word: str) -> Rule:
    """The rule of a code or name, in upper or lower case.

    Raises:
        click.BadParameter: if there is none.
    """
    from rules import all_rules

    known = {key: rule for rule in all_rules() for key in (rule.code, rule.name)}
    for key, rule in known.items():
        if key.lower() == word.lower():
            return rule
    hint = did_you_mean(word, known, "vllm-contracts explain lists them")
    raise click.BadParameter(f"no rule is called {word}{hint}")


def _codes(values: Sequence[str], option: str) -> set[str]:
    words = [word.strip() for value in values for word in value.split(",") if word.strip()]
    try:
        return {find_rule(word).code for word in words}
    except click.BadParameter as error:
        error.param_hint = option
        raise


def did_you_mean(word: str, known: Iterable[str], otherwise: str) -> str:
    """The end of a message about an unknown word: what is nearest, else another way to find it.

    Args:
        word: what was typed.
        known: what there is.
        otherwise: for a word that resembles none of it.
    """
    spelled = {name.lower(): name for name in known}
    near = difflib.get_close_matches(word.lower(), list(spelled), n=2, cutoff=0.6)
    return f"; did you mean {' or '.join(spelled[name] for name in near)}?" if near else f"; {otherwise}"
