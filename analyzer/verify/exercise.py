"""Build a model without weights and take the steps that the runner takes.

Part of what runs in another interpreter: the standard library only, Python 3.10 or later, and the torch and vLLM
of that environment.  It reports what happened and judges nothing.
"""

from __future__ import annotations

import importlib
import inspect
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from analyzer.verify import flow
else:
    import flow

Record = dict[str, Any]


def class_of(key: str) -> Any:
    """The class of a dotted name; its module is imported."""
    module, _, name = key.rpartition(".")
    return getattr(importlib.import_module(module), name)


# -- skeletons -------------------------------------------------------------------------------------


def build(skeleton: Record) -> tuple[Any, list[str]]:
    """The model of a skeleton, and what of it could not be put in place.

    Raises:
        Exception: whatever the import of the model's own class raises.
    """
    lacks: list[str] = []
    made: list[Any] = []
    for number, module in enumerate(skeleton["modules"]):
        try:
            made.append(_empty(class_of(module["cls"])))
        except Exception as error:
            if number == 0:
                raise
            made.append(None)
            lacks.append(f"{module['cls']}: {flow.told(error)}")
    for place, module in zip(made, skeleton["modules"], strict=True):
        if place is not None:
            lacks += _fill(place, {name: made[index] for name, index in module["parts"].items()}, module["layers"])
    if skeleton["marked"]:
        made[0]._language_model_names = list(skeleton["marked"])
    return made[0], lacks


def _empty(cls: Any) -> Any:
    from torch import nn

    made = object.__new__(cls)
    if isinstance(made, nn.Module):
        nn.Module.__init__(made)
    return made


def _fill(place: Any, parts: dict[str, Any], layers: bool) -> list[str]:
    from torch import nn

    lacks = []
    if layers and "layers" not in parts:
        parts["layers"] = nn.ModuleList([nn.Identity() for _ in range(flow.DEPTH)])
        parts |= {"start_layer": 0, "end_layer": flow.DEPTH}
    for name, part in parts.items():
        try:
            if part is not None:
                setattr(place, name, part)
        except Exception as error:  # a property without a setter, say
            lacks.append(f"{type(place).__name__}.{name}: {flow.told(error)}")
    return lacks


def declared(skeleton: Record, protocol: Any) -> Any:
    """The model as if the last base of its class were a Protocol."""
    model, _ = build(skeleton)
    cls = type(model)
    model.__class__ = types.new_class(cls.__name__, (cls, protocol))
    return model


# -- the contract's methods ------------------------------------------------------------------------


def steps(skeleton: Record, wanted: Record, protocol: Any) -> Record:
    """Call the contract's methods on one model, then its ``forward`` with the decoder's result prescribed.

    Args:
        skeleton: what to build.
        wanted: which calls, on the class as it stands or as if it declared the contract; and where the decoder is.
        protocol: the contract.
    """
    try:
        model = declared(skeleton, protocol) if wanted["declared"] else build(skeleton)[0]
    except Exception as error:
        return {"built": flow.told(error), "calls": []}
    out: Record = {"built": "", "calls": [call(model, one["name"], one["configures"]) for one in wanted["calls"]]}
    if wanted["decoder"]:
        path, attribute = wanted["decoder"]
        out["capture"] = flow.captured(model, path, attribute)
        out["forward"] = flow.handed_on(model, path, wanted["part"])
    return out


def call(model: Any, name: str, configures: bool) -> Record:
    """What one method gives or raises, and which attributes of which modules it sets."""
    before = _settings(model)
    try:
        given = getattr(model, name)(*([flow.LAYERS] if configures else []))
    except Exception as error:
        return {"gives": "", "raises": type(error).__name__, "error": flow.told(error), "lands": []}
    lands = [
        list(place)
        for place, value in _settings(model).items()
        if value == flow.LAYERS and before.get(place) != flow.LAYERS
    ]
    return {"gives": "None" if given is None else "value", "raises": "", "error": "", "lands": lands}


def _settings(model: Any) -> dict[tuple[str, str], Any]:
    """Attributes of all modules, by path and name, that hold a few numbers."""
    return {
        (path, name): tuple(value)
        for path, module in model.named_modules()
        for name, value in vars(module).items()
        if isinstance(value, tuple | list)
    }


# -- classes ---------------------------------------------------------------------------------------


def effective(cls: Any, name: str, protocol: Any) -> Record:
    """Which class a method comes from, what the body of a Protocol gives, and whether the contract's call fits it."""
    owner = next((base for base in cls.__mro__ if name in vars(base)), None)
    if owner is None:
        return {"owner": "", "protocol": False, "gives": "", "refuses": ""}
    found = inspect.getattr_static(cls, name)
    function = found.__func__ if isinstance(found, classmethod | staticmethod) else found
    abstract = bool(getattr(owner, "_is_protocol", False))
    out = {"owner": f"{owner.__module__}.{owner.__qualname__}", "protocol": abstract, "gives": "", "refuses": ""}
    if abstract and callable(function):
        out["gives"] = _body(function)
    elif isinstance(function, types.FunctionType):
        out["refuses"] = _refusal(vars(protocol).get(name), function)
    return out


def _body(function: Callable[..., Any]) -> str:
    """What the body of a Protocol's method does with nothing in particular: ``None``, ``value`` or what it raises."""
    required = [
        p
        for p in inspect.signature(function).parameters.values()
        if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
    ]
    places = [None for p in required if p.kind is not p.KEYWORD_ONLY]
    names = {p.name: None for p in required if p.kind is p.KEYWORD_ONLY}
    try:
        return "None" if function(*places, **names) is None else "value"
    except Exception as error:
        return type(error).__name__


def _refusal(contract: Any, override: types.FunctionType) -> str:
    """Why a call as the contract has it, with or without what is optional, does not fit an override; else empty."""
    asked = getattr(contract, "__func__", contract)
    if not isinstance(asked, types.FunctionType):
        return ""
    named = inspect.signature(asked).parameters.values()
    plain = [p for p in named if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    places = [None for p in plain if p.default is p.empty and p.kind is not p.KEYWORD_ONLY]
    names = {p.name: None for p in plain if p.kind is p.KEYWORD_ONLY and p.default is p.empty}
    optional = {p.name: None for p in plain if p.default is not p.empty and p.kind is not p.POSITIONAL_ONLY}
    for given in (names, names | optional):
        try:
            inspect.signature(override).bind(*places, **given)
        except TypeError as error:
            return flow.told(error)
    return ""
