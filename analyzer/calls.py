"""Calls, for the interpreter: functions, constructors, and the few helpers that are known by what they do.

The helpers of vLLM that are not followed but known are functions, never classes:
``init_vllm_registered_model`` and ``initialize_model`` (vllm/model_executor/models/utils.py and
model_loader/utils.py: build what the registry has for an architecture, or ``model_class``),
``with_hf_config`` (vllm/config: a configuration for an inner model), ``make_layers`` (vllm/model_executor/models/
utils.py: the modules of this pipeline stage), ``supports_kw`` (whether a callable takes a
keyword) and ``common_prefix`` (vllm/utils).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from analyzer import binding, builtin_calls, construct, evaluate, members, objects, pins
from analyzer.checkpoint import Keys, view
from analyzer.frames import Frame, Raised
from analyzer.lower import Expr
from analyzer.values import (
    Arguments,
    BuiltinMethod,
    ChosenModel,
    ClassValue,
    Collection,
    ConfigView,
    Const,
    ExternalRef,
    ForwardResult,
    Function,
    Instance,
    Lambda,
    OneOf,
    Opaque,
    Partial,
    Site,
    Sized,
    Super,
    Value,
    one_of,
    options,
    taint_of,
)

if TYPE_CHECKING:
    from analyzer.interpret import Machine

BUILDERS = frozenset({"init_vllm_registered_model", "initialize_model"})


def call_expression(machine: Machine, expr: Expr, frame: Frame) -> Value:
    """Evaluate a call where it stands."""
    _, func, args, keywords, line, column = expr
    if func == ("name", "super"):
        return _super(machine, args, frame)
    callee = evaluate.evaluate(machine, func, frame)
    positional: list[Value] = []
    unknown = False
    for part in args:
        value = evaluate.evaluate(machine, part[1] if part[0] == "star" else part, frame)
        if part[0] == "star" and isinstance(value, Collection):
            positional += value.items
        else:
            positional.append(value)
            unknown = unknown or part[0] == "star"
    named = {
        name or f"**{index}": evaluate.evaluate(machine, value, frame) for index, (name, value) in enumerate(keywords)
    }
    if unknown:
        named["**"] = Opaque("*")
    arguments = Arguments(tuple(positional), named)
    site = Site(frame.path, line, column)
    if func[0] == "attr" and func[2] == "with_hf_config":
        return _config_view(callee, arguments)
    return call(machine, callee, arguments, frame, line, site)


def call(
    machine: Machine, callee: Value, arguments: Arguments, frame: Frame, line: int, site: Site | None = None
) -> Value:
    """Call a value.

    Args:
        machine: the interpreter.
        callee: what is called; of several possibilities each is called.
        arguments: with what.
        frame, line, site: where.
    """
    if isinstance(callee, ExternalRef):  # more than half of all calls
        return _external(machine, callee, arguments, frame, line, site)
    if isinstance(callee, OneOf):
        called = [o for o in callee.options if not (isinstance(o, Const) and o.value is None)]
        return _each(machine, called, arguments, frame, line, site)
    if isinstance(callee, Const) and callee.value is None and machine.strict:
        raise machine.fail("TypeError", "'NoneType' object is not callable", frame, line)
    if isinstance(callee, Function):
        return _function(machine, callee, arguments, frame, line, site)
    if isinstance(callee, ClassValue):
        return construct.instantiate(machine, callee.cls, arguments, site)
    if isinstance(callee, Instance):
        return _run_for(machine, callee, run_by_calling(machine, callee), arguments, frame, line)
    if isinstance(callee, BuiltinMethod) and callee.name == "__getattr__":
        return objects.of_module(machine, callee.receiver, arguments.get("name", 0), frame, line)
    if isinstance(callee, BuiltinMethod) and callee.name == "__call__" and isinstance(callee.receiver, Instance):
        return _run_for(machine, callee.receiver, _forward(machine, callee.receiver), arguments, frame, line)
    if isinstance(callee, BuiltinMethod):
        return builtin_calls.method(machine, callee, arguments)
    if isinstance(callee, Partial):
        merged = Arguments((*callee.args, *arguments.positional), {**callee.keywords, **arguments.keywords})
        return call(machine, callee.func, merged, frame, line, site)
    if machine.strict and taint_of(arguments):
        machine.outcome.unknown.append(f"the call at {frame.path}:{line} could not be followed")
    text = callee.text if isinstance(callee, (Opaque, ChosenModel)) else ""
    if isinstance(callee, Lambda):
        return Opaque("lambda(…)", "what a lambda gives is not followed", taint_of([callee, *arguments]))
    reason = callee.reason if isinstance(callee, Opaque) else ""
    return Opaque(f"{text}(…)", reason, taint_of([callee, *arguments]))


def _each(
    machine: Machine, callees: list[Value], arguments: Arguments, frame: Frame, line: int, site: Site | None
) -> Value:
    """Call each of several possibilities, one of which it is: what only some of them raise may be raised."""
    if len(callees) == 1:
        return call(machine, callees[0], arguments, frame, line, site)
    raised: list[Raised] = []

    def tried(callee: Value) -> Value:
        try:
            return call(machine, callee, arguments, frame, line, site)
        except Raised as failure:
            raised.append(failure)
            raise pins.Excluded from failure

    with machine.maybe():
        try:
            given = pins.possible(machine, [partial(tried, callee) for callee in callees])
        except pins.Excluded:
            raise raised[0] if raised else pins.Excluded from None
    machine.outcome.possible_failures += raised
    return one_of(given)


def _function(
    machine: Machine, callee: Function, arguments: Arguments, frame: Frame, line: int, site: Site | None
) -> Value:
    known = _known(machine, callee.facts.name, arguments, site) if callee.owner is None else None
    if known is not None:
        return known
    if callee.facts.is_async:
        return Opaque("coroutine", f"{callee.facts.name} is a coroutine, and nothing shows that it is awaited")
    receiver = callee.receiver
    if callee.facts.name == "forward" and isinstance(receiver, Instance):
        handed = _watched(machine, receiver)
        if handed is not None:
            return handed
    lacking = binding.lacking(callee, arguments) if machine.strict else ""
    if lacking:
        raise machine.fail("TypeError", lacking, frame, line)
    return machine.enter(callee, arguments, line, frame)


def _watched(machine: Machine, instance: Instance) -> Value | None:
    label = machine.watched
    if label is not None and instance.trail == label.trail and instance.cls is label.cls:
        return ForwardResult(instance, machine.watched_part)
    return None


def _run_for(
    machine: Machine, callee: Instance, runs: Value | None, arguments: Arguments, frame: Frame, line: int
) -> Value:
    """Run what calling an object runs."""
    if runs is not None:
        return call(machine, runs, arguments, frame, line)
    return Opaque(f"{callee.cls.name}(…)", "its forward is outside the checkout", taint_of(arguments))


def run_by_calling(machine: Machine, module: Instance) -> Value | None:
    """What ``module(...)`` runs, if it is of the checkout: its class's own ``__call__``, else as ``nn.Module`` does."""
    member = members.class_method(module.cls, "__call__")
    if member is not None:
        return Function(member[1], member[0].module, member[0], module)
    return _forward(machine, module)


def _forward(machine: Machine, module: Instance) -> Value | None:
    """What ``nn.Module.__call__`` runs: the ``forward`` that is set on the object, or its class's."""
    construct.prepare(machine, module)
    member = members.class_method(module.cls, "forward")
    if "forward" in module.attrs or member is None:
        return module.attrs.get("forward")
    return Function(member[1], member[0].module, member[0], module)


def _external(
    machine: Machine, callee: ExternalRef, arguments: Arguments, frame: Frame, line: int, site: Site | None
) -> Value:
    if callee.name.startswith("builtins."):
        found = builtin_calls.builtin(machine, callee.last, arguments, frame, line)
        if found is not None:
            return found
    known = _known(machine, callee.last, arguments, site)
    if known is not None:
        return known
    if callee.last == "cast" and len(arguments.positional) == 2:
        return arguments.positional[1]
    if callee.last == "MethodType" and len(arguments.positional) == 2:
        return _bound(*arguments.positional)
    if callee.last == "partial" and arguments.positional:
        return Partial(arguments.positional[0], arguments.positional[1:], arguments.keywords)
    if callee.last == "ModuleList" and len(arguments.positional) == 1:
        given = arguments.positional[0]
        if isinstance(given, Collection) and not given.complete and given.length is not None:
            return Sized("ModuleList(…)", given.length)
    if callee.last == "__init__":
        return Const(None)
    if callee.last == "__new__" and arguments.positional:
        classes = options(arguments.positional[0])
        made = [construct.bare(machine, option.cls, site) for option in classes if isinstance(option, ClassValue)]
        if made:
            left = [o for o in classes if not isinstance(o, ClassValue)]
            return one_of([*made, *(Opaque(f"{o.name}(…)" if isinstance(o, ExternalRef) else "") for o in left)])
    reason = next((a.reason for a in arguments if isinstance(a, Opaque) and a.reason), "")
    return Opaque(f"{callee.name}(…)", reason, taint_of([callee, *arguments]))


def _bound(function: Value, receiver: Value) -> Value:
    """``types.MethodType(function, object)``."""
    if isinstance(function, Function) and function.receiver is None:
        return Function(function.facts, function.module, function.owner, receiver)
    return Opaque("MethodType(…)", taint=taint_of([function, receiver]))


# -- known helpers ---------------------------------------------------------------------------------


def _known(machine: Machine, name: str, arguments: Arguments, site: Site | None) -> Value | None:
    if name in BUILDERS and site is not None:
        return _registered(machine, arguments, site)
    if name == "make_layers":
        return _layers(arguments)
    if name == "supports_kw":
        return _supports_kw(arguments)
    if name == "common_prefix":
        return _common_prefix(arguments)
    return None


def _layers(arguments: Arguments) -> Value | None:
    """``make_layers(number, …)`` gives the first and the last index of this stage, and the modules."""
    number = arguments.get("num_hidden_layers", 0)
    if not isinstance(number, Const) or type(number.value) is not int or number.value < 0:
        return None
    return Collection("tuple", [Opaque("start_layer"), Opaque("end_layer"), Sized("layers", number.value)])


def _config_view(callee: Value, arguments: Arguments) -> Value:
    config = arguments.get("hf_config", 0)
    text = config.text if isinstance(config, Opaque) else "hf_config"
    del callee
    return ConfigView(text, arguments.get("architectures", 1))


def _registered(machine: Machine, arguments: Arguments, site: Site) -> Value:
    """An inner model from the registry: by ``model_class``, by architectures, or chosen by the config."""
    cls = arguments.get("model_class")
    keys = _keys(machine, arguments)
    if isinstance(cls, ClassValue):
        return construct.instantiate(machine, cls.cls, _inside(keys), site)
    architectures = arguments.get("architectures")
    view = arguments.get("vllm_config", 0)
    config = arguments.get("hf_config")
    text = config.text if isinstance(config, Opaque) and config.text else "the config"
    if config is None and isinstance(view, ConfigView):
        text = view.text
        architectures = architectures or view.architectures
    if architectures is None or (isinstance(architectures, Const) and architectures.value is None):
        known = _named(machine, keys) if keys is not None else ()
        if not known:
            return machine.new_chosen(text, site)
        architectures = Collection("list", [Const(name) for name in known])
    named = options(architectures)
    return one_of(
        pins.possible(machine, [partial(_by_architectures, machine, option, text, site, keys) for option in named])
    )


def _keys(machine: Machine, arguments: Arguments) -> Keys | None:
    """Where the checkpoint's configuration of an inner model stands; None without one, or where that is not known."""
    if machine.checkpoint is None:
        return None
    config, given = arguments.get("hf_config"), arguments.get("vllm_config", 0)
    asked = given if config is None or (isinstance(config, Const) and config.value is None) else config
    keys = machine.checkpoint.keys_of(asked.text) if isinstance(asked, (Opaque, ConfigView)) else None
    return machine.checkpoint.part(keys) if keys else keys


def _inside(keys: Keys | None) -> Arguments:
    """What an inner model is given: its own part of the checkpoint's configuration."""
    return Arguments(keywords={"vllm_config": Opaque(view(keys))}) if keys else Arguments()


def _named(machine: Machine, keys: Keys) -> tuple[str, ...]:
    """The architectures that the checkpoint gives for an inner model, by their names or by the model's type."""
    assert machine.checkpoint is not None
    named = machine.checkpoint.architectures(keys)
    if named or not keys:  # the outer model's own architectures are not those of what it builds
        return named if keys else ()
    return machine.registry.for_model_type(machine.checkpoint.model_type(keys))


def _by_architectures(machine: Machine, names: Value, text: str, site: Site, keys: Keys | None) -> Value:
    if isinstance(names, Const) and names.value is None:
        return machine.new_chosen(text, site)
    constants = [i.value for i in names.items if isinstance(i, Const)] if isinstance(names, Collection) else []
    if not constants:
        return machine.new_chosen(names.text if isinstance(names, Opaque) else text, site)
    for name in constants:
        classes = machine.registry.classes(str(name))
        if classes:
            made = pins.possible(
                machine, [partial(construct.instantiate, machine, cls, _inside(keys), site) for cls in classes]
            )
            for value in made:
                for option in options(value):
                    if isinstance(option, Instance):
                        option.registered = True
            return one_of(made)
    why = machine.registry.unresolved.get(str(constants[0]), "it is not in this checkout's registry")
    return Opaque(str(constants[0]), f"architecture {constants[0]}: {why}")


def _supports_kw(arguments: Arguments) -> Value:
    function, name = arguments.get("callable", 0), arguments.get("kw_name", 1)
    if not isinstance(function, Function) or not isinstance(name, Const):
        return Const(False) if isinstance(function, BuiltinMethod) else Opaque("supports_kw(…)")
    takes = any(
        p.kind == "var_keyword" or (p.name == name.value and p.kind != "positional_only")
        for p in function.facts.parameters
    )
    return Const(takes)


def _common_prefix(arguments: Arguments) -> Value | None:
    items = arguments.positional[0] if arguments.positional else None
    if not isinstance(items, Collection) or not items.complete:
        return None
    rows: list[list[object]] = []
    for row in items.items:
        if not isinstance(row, Collection) or not all(isinstance(i, Const) for i in row.items):
            return None
        rows.append([i.value for i in row.items if isinstance(i, Const)])
    prefix: list[Value] = []
    for column in zip(*rows, strict=False):
        if any(part != column[0] for part in column):
            break
        prefix.append(Const(column[0]))
    return Collection("list", prefix)


def _super(machine: Machine, args: tuple[Expr, ...], frame: Frame) -> Value:
    if len(args) == 2:
        after = evaluate.evaluate(machine, args[0], frame)
        receiver = evaluate.evaluate(machine, args[1], frame)
        if isinstance(after, ClassValue):
            return Super(after.cls, receiver)
    first = frame.function.parameters[0].name if frame.function and frame.function.parameters else ""
    owner = frame.env.get(first) or frame.receiver
    if frame.owner is None or owner is None:
        return Opaque("super()")
    return Super(frame.owner, owner)
