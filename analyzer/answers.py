"""What a contract's method gave, and whether that is anything to go on with."""

from __future__ import annotations

from analyzer.frames import Outcome
from analyzer.values import BuiltinMethod, Collection, Const, Opaque, Value, options


def is_given(value: Value) -> bool:
    """Whether a method's result is something, as far as is known."""
    return not is_none(value) and not is_doubted(value)


def is_doubted(value: Value) -> bool:
    """Whether a value, or one inside, is asked of something that is not known, and may not be there."""
    if isinstance(value, Collection):
        return any(isinstance(o, Opaque) and is_doubted(o) for item in value.items for o in options(item))
    return isinstance(value, Opaque) and bool(value.reason or _asked(value))


def _asked(value: Opaque) -> bool:
    """Whether a value is what a method of something unknown gives."""
    return value.text.endswith("(…)") and "." in value.text and not value.text.startswith("builtins.")


def is_none(value: Value) -> bool:
    """Whether a value is nothing to go on with: None, or a property that was asked of a class."""
    return isinstance(value, Const) and (value.value is None or isinstance(value.value, property))


def given_instead(outcome: Outcome) -> str:
    given = outcome.value
    return "it gives None" if isinstance(given, Const) and given.value is None else "it gives a property of its class"


def leaves_the_checkout(outcome: Outcome, configuring: bool) -> bool:
    """Whether nothing is known of the effect because a receiver is not an object of the checkout."""
    given = [option for v, _, _ in outcome.returns for option in options(v)]
    if any(is_doubted(v) or (configuring and isinstance(v, Opaque)) for v in given):
        return True
    return bool(outcome.possible_failures) or any(isinstance(v, BuiltinMethod) for v, _, _ in outcome.returns)
