"""Arguments to parameters, for the interpreter."""

from __future__ import annotations

from typing import TYPE_CHECKING

from analyzer.frames import Frame
from analyzer.values import Arguments, Collection, Function, Opaque, Value, taint_of

if TYPE_CHECKING:
    from analyzer.interpret import Machine


def bind(machine: Machine, function: Function, arguments: Arguments) -> dict[str, Value]:
    """Arguments to parameters; defaults are evaluated in the defining module."""
    facts = function.facts
    positional = list(arguments.positional)
    if function.receiver is not None and facts.kind != "static":
        positional.insert(0, function.receiver)
    env: dict[str, Value] = {}
    home = Frame(function.module, None, function.owner, {})
    used = set()
    for parameter in facts.parameters:
        name = parameter.name
        if parameter.kind == "var_positional":
            env[name] = Collection("tuple", positional, complete=True)
            positional = []
        elif parameter.kind == "var_keyword":
            rest = [v for k, v in arguments.keywords.items() if k not in used]
            env[name] = Opaque(f"**{name}", taint=taint_of(rest))
        elif parameter.kind != "keyword_only" and positional:
            env[name] = positional.pop(0)
        elif name in arguments.keywords:
            used.add(name)
            env[name] = arguments.keywords[name]
        elif parameter.default is not None:
            env[name] = machine.eval(parameter.default, home)
        else:
            env[name] = Opaque(name)
    return env


def lacking(function: Function, arguments: Arguments) -> str:
    """What Python says of a call that leaves a required parameter out; empty where it does not for certain."""
    if any(name.startswith("**") for name in arguments.keywords):
        return ""
    facts = function.facts
    count = len(arguments.positional) + (function.receiver is not None and facts.kind != "static")
    by_place = [p for p in facts.parameters if p.kind.startswith("positional")]
    left = [p.name for p in by_place[count:] if p.required and p.name not in arguments.keywords]
    if not left:
        return ""
    name = f"{function.owner.facts.qualname}.{facts.name}" if function.owner is not None else facts.name
    if len(left) > 1:
        return f"{name}() missing {len(left)} required positional arguments: …"
    return f"{name}() missing 1 required positional argument: {left[0]!r}"
