"""Build a model without weights and take the steps that the runner takes.

Part of what runs in another interpreter: the standard library only, Python 3.10 or later, and the torch and vLLM
of that environment.  It reports what happened and judges nothing.
"""

from __future__ import annotations

import importlib
import inspect
import sys
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

LAYERS = (2, 4, 5)
DEPTH = 8
WIDTH = 8
SHAPES = (2, 1, 3, 4)
"""How many values a decoder's layer returns, the usual number first."""
FILLS = 40
"""Attributes that a ``forward`` may lack before the attempt is given up."""

Record = dict[str, Any]


def class_of(key: str) -> Any:
    """The class of a dotted name; its module is imported."""
    module, _, name = key.rpartition(".")
    return getattr(importlib.import_module(module), name)


def told(error: BaseException) -> str:
    """An exception as one line of bounded length."""
    message = " ".join(str(error).split())
    return f"{type(error).__name__}: {message}"[:400].removesuffix(": ")


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
            lacks.append(f"{module['cls']}: {told(error)}")
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
        parts["layers"] = nn.ModuleList([nn.Identity() for _ in range(DEPTH)])
        parts |= {"start_layer": 0, "end_layer": DEPTH}
    for name, part in parts.items():
        try:
            if part is not None:
                setattr(place, name, part)
        except Exception as error:  # a property without a setter, say
            lacks.append(f"{type(place).__name__}.{name}: {told(error)}")
    return lacks


def at(module: Any, path: str) -> Any:
    """What stands at a dotted path of attributes."""
    for name in path.split(".") if path else ():
        module = getattr(module, name)
    return module


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
        return {"built": told(error), "calls": []}
    out: Record = {"built": "", "calls": [call(model, one["name"], one["configures"]) for one in wanted["calls"]]}
    if wanted["decoder"]:
        path, attribute = wanted["decoder"]
        out["capture"] = captured(model, path, attribute)
        out["forward"] = handed_on(model, path, wanted["part"])
    return out


def call(model: Any, name: str, configures: bool) -> Record:
    """What one method gives or raises, and which attributes of which modules it sets."""
    before = _settings(model)
    try:
        given = getattr(model, name)(*([LAYERS] if configures else []))
    except Exception as error:
        return {"gives": "", "raises": type(error).__name__, "error": told(error), "lands": []}
    lands = [
        list(place) for place, value in _settings(model).items() if value == LAYERS and before.get(place) != LAYERS
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


# -- forward ---------------------------------------------------------------------------------------


class Anything:
    """Stands for an attribute that the constructor would have set: hands on what it is given."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        given = [*args, *kwargs.values()]
        tensors = [value for value in given if _is_state(value)]
        if len(args) == 2 and _is_state(args[0]) and _is_state(args[1]):
            return args  # a norm that adds the residual
        return tensors[0] if tensors else self

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __bool__(self) -> bool:
        return False

    def __len__(self) -> int:
        return 0

    def __iter__(self) -> Any:
        return iter(())

    def __getitem__(self, key: object) -> Any:
        return self

    def __index__(self) -> int:
        return 1

    def __neg__(self) -> Any:
        return self

    def __lt__(self, other: object) -> bool:
        return False

    __gt__ = __le__ = __ge__ = __lt__

    def __mul__(self, other: Any) -> Any:
        return other

    @classmethod
    def __torch_function__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return cls()(*args, **(kwargs or {}))

    __rmul__ = __add__ = __radd__ = __sub__ = __truediv__ = __floordiv__ = __rfloordiv__ = __mul__


def _is_state(value: Any) -> bool:
    return isinstance(value, float) or (type(value).__name__ == "Tensor" and value.is_floating_point())


def _state(number: float) -> Any:
    """Hidden states: a small tensor, or a number where torch is a stand-in."""
    torch = sys.modules["torch"]
    return torch.full((4, WIDTH), number) if hasattr(torch, "full") else number


def _given(function: Any) -> Record:
    """Arguments for a ``forward``, by the names that vLLM gives its parameters."""
    torch = sys.modules["torch"]
    whole = torch.arange(4) if hasattr(torch, "arange") else 1.0
    known = {"input_ids": whole, "positions": whole, "intermediate_tensors": None, "inputs_embeds": _state(0.5)}
    parameters = inspect.signature(function).parameters.values()
    plain = [p for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    return {p.name: known.get(p.name) for p in plain if p.name in known or p.default is p.empty}


def _run(root: Any, filled: list[str]) -> Any:
    """Call a module; what its parts lack is filled in until it goes through.

    Raises:
        Exception: what cannot be helped in this way.
    """
    torch = sys.modules["torch"]
    for _, module in root.named_modules():
        module.do_not_compile = True  # vLLM's compiled decoders then run as they are
    arguments = _given(root.forward)
    while True:
        try:
            if not hasattr(torch, "no_grad"):
                return root(**arguments)
            with torch.no_grad():
                return root(**arguments)
        except AttributeError as error:
            place, name = _lacking(error)
            if len(filled) >= FILLS or not name or not hasattr(place, "named_modules") or name in vars(place):
                raise
            vars(place)[name] = Anything()
            filled.append(f"{type(place).__name__}.{name}")


def _lacking(error: AttributeError) -> tuple[Any, str]:
    """The object and the name of the attribute that it lacks; of a property, what its own code lacked."""
    place, name = getattr(error, "obj", None), str(getattr(error, "name", None) or "")
    found = inspect.getattr_static(type(place), name, None)
    if isinstance(found, property) and found.fget is not None:
        try:
            found.fget(place)
        except AttributeError as inner:
            return _lacking(inner) if inner.name != name else (None, "")
    return place, name


def handed_on(model: Any, path: str, part: int) -> Record:
    """Whether the outer ``forward`` returns a prescribed result of the decoder as it came.

    Args:
        model: the outer model.
        path: where its decoder is.
        part: the item of the decoder's result that holds the states.

    Returns:
        ``fails`` if it raised over that result, and not for want of what a skeleton lacks.
    """
    filled: list[str] = []
    asked: list[int] = []
    try:
        decoder = at(model, path)
        if decoder is model:
            return {"hands_on": True, "error": "", "filled": []}  # nothing stands between
        states = [_state(float(layer)) for layer in LAYERS]
        result = (*(_state(1.0) for _ in range(part)), states)

        def forward(*args: object, **kwargs: object) -> Any:
            asked.append(1)
            return result

        vars(decoder)["forward"] = forward
        with _alone():
            given = _run(model, filled)
    except Exception as error:
        fails = bool(asked) and not filled and not isinstance(error, AttributeError)
        return {"hands_on": None, "error": told(error), "filled": filled, "fails": fails}
    if not asked:
        return {"hands_on": None, "error": "the decoder was not called", "filled": filled}
    intact = isinstance(given, tuple) and len(given) == 2 and given[1] is states
    intact = intact and (part != 1 or given[0] is result[0])
    return {"hands_on": intact, "error": "", "filled": filled}


def captured(model: Any, path: str, attribute: str) -> Record:
    """Whether the decoder's ``forward`` returns states beside its result once it is told which layers.

    Its layers hand on what they are given, in each of the shapes that layers of vLLM return.
    """
    out: Record = {"captures": None, "error": "", "filled": []}
    errors: list[str] = []
    for shape in SHAPES:
        ran: list[int] = []
        try:
            decoder = at(model, path)
            setattr(decoder, attribute, LAYERS)
            for layer in decoder.layers:
                vars(layer)["forward"] = _layer(shape, ran)
            with _alone():
                given = _run(decoder, out["filled"])
        except Exception as error:
            errors.append(told(error))
            continue
        items = given if isinstance(given, tuple) else ()
        if any(isinstance(item, list | tuple) and len(item) == len(LAYERS) for item in items):
            return {**out, "captures": True}
        if len(ran) >= DEPTH:
            out["captures"] = False
        else:
            errors.append("not every layer was run")
    return {**out, "error": "; ".join(dict.fromkeys(errors))}


def _layer(shape: int, ran: list[int]) -> Callable[..., Any]:
    """A layer's ``forward``: so many states as one gives."""

    def forward(*args: Any, **kwargs: Any) -> Any:
        ran.append(shape)
        state = next((value for value in (*args, *kwargs.values()) if _is_state(value)), _state(0.0))
        return state if shape == 1 else (state,) * shape

    return forward


class _Group(Anything):
    """A group of one process, as vLLM's parallel state has it."""

    is_first_rank = is_last_rank = True
    world_size, rank, rank_in_group, local_rank = 1, 0, 0, 0


@contextmanager
def _alone() -> Iterator[None]:
    """Where nothing was initialised, every parallel group is one process."""
    state = sys.modules.get("vllm.distributed.parallel_state")
    names = ("_PP", "_TP", "_DP", "_EP", "_WORLD") if state is not None else ()
    unset = [name for name in names if getattr(state, name, state) is None]
    for name in unset:
        setattr(state, name, _Group())
    try:
        yield
    finally:
        for name in unset:
            setattr(state, name, None)


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
    """Why a call as the contract has it does not fit an override; empty where it does."""
    asked = getattr(contract, "__func__", contract)
    if not isinstance(asked, types.FunctionType):
        return ""
    required = [p for p in inspect.signature(asked).parameters.values() if p.default is p.empty]
    plain = [p for p in required if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    places = [None for p in plain if p.kind is not p.KEYWORD_ONLY]
    try:
        inspect.signature(override).bind(*places, **{p.name: None for p in plain if p.kind is p.KEYWORD_ONLY})
    except TypeError as error:
        return told(error)
    return ""
