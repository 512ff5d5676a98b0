"""Run the ``forward`` of a model without weights, with a result or layers that are prescribed.

Part of what runs in another interpreter, as ``exercise`` is.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

Record = dict[str, Any]
LAYERS = (2, 4, 5)
DEPTH = 8
WIDTH = 8
SHAPES = (2, 1, 3, 4)
"""How many values a decoder's layer returns, the usual number first."""
FILLS = 40
"""Attributes that a ``forward`` may lack before the attempt is given up."""


def told(error: BaseException) -> str:
    """An exception as one line of bounded length."""
    message = " ".join(str(error).split())
    return f"{type(error).__name__}: {message}"[:400].removesuffix(": ")


def at(module: Any, path: str) -> Any:
    """What stands at a dotted path of attributes."""
    for name in path.split(".") if path else ():
        module = getattr(module, name)
    return module


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
