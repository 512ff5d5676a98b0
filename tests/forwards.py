"""Run the ``forward`` of one decoder of a release on numbers, without importing the release.

The function is cut out of its file and compiled alone; what it asks of its object and of its module are stand-ins:
layers that are given and give numbers, a norm, pipeline stages.  The mixin's methods are the release's own, cut out in
the same way.
"""

from __future__ import annotations

import ast
import sys
import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

POSITIONS = "positions"


class Stage:
    """One pipeline stage of some."""

    def __init__(self, rank: int = 0, world_size: int = 1) -> None:
        self.rank, self.world_size = rank, world_size
        self.is_first_rank, self.is_last_rank = rank == 0, rank == world_size - 1


class IntermediateTensors:
    """What stages hand to each other."""

    def __init__(self, tensors: dict[str, float]) -> None:
        self.tensors = tensors

    def __getitem__(self, name: str) -> float:
        return self.tensors[name]


@dataclass
class Kind:
    """What the layers and the norm of a decoder do with a residual.

    Args:
        residual: whether layers are given and give one.
        adds: whether the norm adds it.
    """

    residual: bool
    adds: bool

    def layer(self, number: int) -> Callable[..., Any]:
        """A layer, in each form in which decoders call theirs: the hidden states come before the residual."""

        def call(*args: Any, **keywords: Any) -> Any:
            given = [a for a in (*args, *keywords.values()) if a is None or isinstance(a, float)]
            hidden = keywords.get("hidden_states", next(a for a in given if a is not None))
            rest = [a for a in given if a is not None and a is not hidden]
            residual = keywords.get("residual", rest[0] if rest else None)
            if not self.residual:
                return hidden + 1 / (number + 2)
            if not self.adds:
                return hidden + 1 / (number + 2), hidden
            whole = hidden if residual is None else hidden + residual
            return whole / 4 + 1 / (number + 2), whole

        return call

    def norm(self, hidden: float, residual: float | None = None) -> Any:
        """The last norm."""
        if residual is None:
            return hidden / 3
        return ((hidden + residual) / 3, hidden + residual) if self.adds else (hidden / 3, residual)


@dataclass
class Decoder:
    """The object: its layers, and whatever else its ``forward`` asks for."""

    kind: Kind
    count: int
    stage: Stage
    own: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.start_layer = self.count * self.stage.rank // self.stage.world_size
        self.end_layer = self.count * (self.stage.rank + 1) // self.stage.world_size
        self.layers = [self.kind.layer(number) for number in range(self.count)]
        self.config = types.SimpleNamespace(embedding_multiplier=2.0, hidden_size=4)
        self.aux_hidden_state_layers: tuple[int, ...] = ()

    def __getattr__(self, name: str) -> Any:
        own = self.__dict__.get("own", {})
        if name in own:
            value = own[name]
            return types.MethodType(value, self) if callable(value) else value
        if name in ("embed_input_ids", "embed_tokens", "get_input_embeddings"):
            return lambda _: 1.5
        if "dropout" in name:
            return lambda value: value
        if "norm" in name:
            return self.kind.norm
        return False


def class_in(text: str, name: str) -> ast.ClassDef:
    return next(n for n in ast.parse(text).body if isinstance(n, ast.ClassDef) and n.name == name)


def compiled(functions: Sequence[ast.stmt], names: dict[str, Any]) -> dict[str, Any]:
    """Functions cut out of a file, with nothing of it around them; annotations are never looked at."""
    future = ast.parse("from __future__ import annotations").body
    for function in functions:
        assert isinstance(function, ast.FunctionDef)
        function.decorator_list = []
    module = ast.fix_missing_locations(ast.Module([*future, *functions], []))
    exec(compile(module, "<cut out>", "exec"), names)
    return names


def runs(
    root: Path,
    path: str,
    cls: str,
    kind: Kind,
    asked: tuple[int, ...],
    monkeypatch: pytest.MonkeyPatch,
    stages: int = 1,
) -> Any:
    """The states that come back for some layers, or the name of the error.

    Args:
        root: of a release.
        path: of the decoder's file, from the root.
        cls: the decoder's class.
        kind: what its layers do.
        asked: the layers.
        monkeypatch: puts stand-ins in the place of what is imported.
        stages: how many pipeline stages there are.
    """
    forward = next(f for f in class_in((root / path).read_text(), cls).body if getattr(f, "name", "") == "forward")
    mixin = _mixin((root / "vllm/model_executor/models/interfaces.py").read_text())
    handed: Any = None
    result: Any = None
    try:
        for rank in range(stages):
            stage = Stage(rank, stages)
            _distributed(monkeypatch, stage)
            names: dict[str, Any] = {"islice": islice, "get_pp_group": lambda stage=stage: stage}
            names |= {"IntermediateTensors": IntermediateTensors, "torch": types.SimpleNamespace()}
            decoder = Decoder(kind, 8, stage, dict(mixin))
            if "_set_aux_hidden_state_layers" in mixin:
                decoder._set_aux_hidden_state_layers(asked)
            else:
                decoder.aux_hidden_state_layers = asked
            result = compiled([forward], names)["forward"](decoder, 1, POSITIONS, handed, None)
            if rank < stages - 1:
                before = handed.tensors if handed is not None else {}
                kept = {k: v for k, v in before.items() if k.startswith("aux")}
                handed = IntermediateTensors({**kept, **result.tensors})
    except (TypeError, KeyError) as error:
        return type(error).__name__
    return result


def _distributed(monkeypatch: pytest.MonkeyPatch, stage: Stage) -> None:
    """What the mixin of later releases imports when it is asked."""
    for name in ("vllm", "vllm.distributed", "vllm.distributed.parallel_state"):
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    state: Any = sys.modules["vllm.distributed.parallel_state"]
    state.get_pp_group = lambda: stage
    state.model_parallel_is_initialized = lambda: True


def _mixin(interfaces: str) -> dict[str, Any]:
    """Methods and values of the class that keeps the layers, as the release has it; nothing where it has none."""
    from bisect import bisect_right

    found = [n for n in ast.parse(interfaces).body if isinstance(n, ast.ClassDef) and "_set_aux" in ast.dump(n)]
    mixins = [n for n in found if any(getattr(f, "name", "") == "_set_aux_hidden_state_layers" for f in n.body)]
    if not mixins:
        return {}
    methods = [f for f in mixins[0].body if isinstance(f, ast.FunctionDef)]
    names = compiled(methods, {"bisect_right": bisect_right})
    own = {f.name: names[f.name] for f in methods}
    for node in mixins[0].body:
        if isinstance(node, ast.AnnAssign) and node.value is not None and isinstance(node.target, ast.Name):
            own[node.target.id] = ast.literal_eval(node.value)
    return own
