"""Random trees: a contract, and *families* of classes that stand to it in every way that is known.

A family is a file or a package of the model folder: a text model or two, mixins, a wrapper around an inner model, a
class that derives from the wrapper, and what is done to them after their definition.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from hypothesis import strategies as st

from tests.differential import pieces
from tests.differential.contracts import NAMES, OWN_MEMBERS, Interfaces, deeper, interfaces
from tests.differential.pieces import rows
from tests.fixture_trees import GENERATIONS

HEAD = """\
import sys
from abc import ABC
from contextlib import nullcontext
from functools import partial, wraps
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar, cast

import torch
from torch import nn

from vllm.model_executor.model_loader.utils import initialize_model
from vllm.platforms import current_platform
from vllm.sequence import IntermediateTensors

from {r}alpha import AlphaForCausalLM as AlphaPlain
from {r}alpha import AlphaModel
from {r}beta import BetaForCausalLM as BetaPlain
from {r}beta import BetaModel
from {r}delta import DeltaForCausalLM as DeltaPlain
from {r}delta import DeltaModel
from {r}interfaces import {protocols}
from {r}utils import init_vllm_registered_model, maybe_prefix

T = TypeVar("T")
layers_known = True


def override(method):
    return method


def passing(method):
    @wraps(method)
    def wrapped(self, *args, **kwargs):
        return method(self, *args, **kwargs)

    return wrapped


def _build_inner(vllm_config, cls):
    return cls(vllm_config=vllm_config)


class Holder(nn.Module):
    def __init__(self, vllm_config, cls, prefix=""):
        super().__init__()
        self.inner = cls(vllm_config=vllm_config, prefix=prefix)

    def forward(self, input_ids, positions, **kwargs):
        return self.inner(input_ids, positions, **kwargs)
"""

SHARED = "override, passing, _build_inner, Holder, layers_known, T"
TEXTS = ("Alpha", "Beta", "Delta")
OTHER_ATTRIBUTES = ("llm", "text", "model", "thinker", "decoder")


@dataclass(repr=False)
class Family:
    """One file or package of the model folder.

    Args:
        name: of the module.
        files: path inside the model folder -> source.
        rows: architecture -> (module, class).
        head: what each of its files starts with.
    """

    name: str
    files: dict[str, str] = field(default_factory=dict)
    rows: dict[str, tuple[str, str]] = field(default_factory=dict)
    head: str = ""

    @property
    def source(self) -> str:
        """All files, without what all families have at their top."""
        return "\n".join(f"# {path}\n{text.replace(self.head, '')}" for path, text in self.files.items())

    @property
    def text(self) -> str:
        """The architecture of the text model that it registers, or empty."""
        return next((a for a in self.rows if a.endswith("TextForCausalLM")), "")


@dataclass(repr=False)
class Program:
    interfaces: Interfaces
    families: list[Family]

    def __repr__(self) -> str:
        return f"a tree of {len(self.families)} families"


@st.composite
def programs(draw: st.DrawFn, families_each: int = 8) -> Program:
    """A tree: one contract, and a number of families under it."""
    shape = draw(interfaces(draw(st.sampled_from(list(GENERATIONS)))))
    return Program(shape, [draw(families(f"fam{number}", shape)) for number in range(families_each)])


@st.composite
def families(draw: st.DrawFn, name: str, shape: Interfaces) -> Family:
    return Writer(draw, name, shape).family()


class Writer:
    """Draws one family.

    Args:
        draw: hypothesis's.
        name: of the module.
        shape: what the interfaces have.
    """

    def __init__(self, draw: st.DrawFn, name: str, shape: Interfaces) -> None:
        self.draw, self.shape, self.made = draw, shape, Family(name)
        self.packed = self.chance(8)
        self.r = ".." if self.packed else "."
        self.at = "language_model" if not self.chance(3) else draw(st.sampled_from(OTHER_ATTRIBUTES))
        self.mixins: list[str] = []
        self.own_text = ""

    # -- drawing -----------------------------------------------------------------------------------

    def chance(self, one_in: int) -> bool:
        """True once in so many draws; shrinks to False."""
        return self.draw(st.integers(0, one_in - 1)) == one_in - 1

    def pick(self, table: str, **given: str) -> str:
        """A row of a table, filled in."""
        known = rows(table)
        number = self.draw(st.integers(0, len(known) - 1))
        return self.fill(known[number], **given)

    def fill(self, row: str, **given: str) -> str:
        values = {
            "at": self.at,
            "r": self.r,
            "R": self.r,
            "setter": self.shape.setter,
            "getter": self.shape.getter,
            "a": "First",
            "b": "Second",
            "A": self.text_name(),
            "B": self.draw(st.sampled_from(TEXTS)),
            **given,
        }
        return row.format(**values)

    def text_name(self) -> str:
        """The stem of an architecture of a text model."""
        own = [f"{self.made.name.capitalize()}Text"] if self.own_text else []
        return self.draw(st.sampled_from([*TEXTS, *own]))

    # -- files -------------------------------------------------------------------------------------

    def family(self) -> Family:
        head = HEAD.format(r=self.r, protocols=", ".join(self.protocols()))
        self.made.head = head.rpartition("\n\ndef passing")[0] if self.packed else head.strip("\n")
        parts = list(self.parts())
        names = [self.binding("First"), self.binding("Second")]
        wrapper = list(self.wrapper())
        if self.packed:
            self.package(head, parts, [*names, *wrapper])
        else:
            self.made.files[f"{self.made.name}.py"] = joined([head, *parts, *names, *wrapper])
        return self.made

    def protocols(self) -> list[str]:
        return ["SupportsEagle3", "SupportsMultiModal", "SupportsPP", "supports_eagle3", *self.shape.names]

    def package(self, head: str, parts: list[str], rest: list[str]) -> None:
        name = self.made.name
        exported = sorted({cls for _, cls in self.made.rows.values()})
        inside = sorted({*self.mixins, *([self.own_text] if self.own_text else [])})
        self.made.files[f"{name}/parts.py"] = joined([head, *parts])
        shared = f"from .parts import {', '.join([SHARED, *inside])}"
        if self.chance(3):
            shared = f"from .parts import *\nfrom .parts import {SHARED}"
        imports, _, _ = head.partition("\nT = TypeVar")
        self.made.files[f"{name}/model.py"] = joined([imports, shared, *rest])
        ways = [
            "".join(f"from .model import {cls}\n" for cls in exported),
            "".join(f"from .model import {cls} as {cls}\n" for cls in exported) + f"\n__all__ = {exported!r}\n",
            "from .model import *\n",
            "from . import model\n\n" + "".join(f"{cls} = model.{cls}\n" for cls in exported),
            "def __getattr__(name):\n    from . import model\n\n    return getattr(model, name)\n",
        ]
        self.made.files[f"{name}/__init__.py"] = self.draw(st.sampled_from(ways))

    def parts(self) -> Iterator[str]:
        """A text model of the family's own, and mixins."""
        if self.chance(3):
            self.own_text = "OwnText"
            yield self.pick(pieces.TEXTS, n="OwnText")
            self.register("TextForCausalLM", "OwnText")
        for number in range(self.draw(st.integers(0, 2))):
            self.mixins.append(f"Mixin{number}")
            yield self.pick(pieces.MIXINS, n=f"Mixin{number}")

    def register(self, ending: str, cls: str) -> None:
        self.made.rows[f"{self.made.name.capitalize()}{ending}"] = (self.made.name, cls)

    def binding(self, name: str) -> str:
        """A name for a text model."""
        if self.own_text and self.chance(2):
            return f"{name} = {self.own_text}"
        main, other = self.draw(st.sampled_from(TEXTS)), self.draw(st.sampled_from(TEXTS))
        return self.pick(pieces.NAMES, n=name, m=main.lower(), M=main, o=other.lower(), O=other)

    # -- the wrapper -------------------------------------------------------------------------------

    def wrapper(self) -> Iterator[str]:
        marked = self.chance(3)
        body = list(self.members(marked))
        yield f"class Wrap({', '.join(self.bases(marked))}):\n" + deeper("\n\n".join(body))
        self.register("ForCausalLM", "Wrap")
        if self.chance(3):
            yield self.derived()
            self.register("DerivedForCausalLM", "Derived")
        if self.chance(6):
            yield self.pick(pieces.AFTER, w="Wrap")
        if self.chance(8):
            yield "Public = Wrap"
            self.made.rows[f"{self.made.name.capitalize()}ForCausalLM"] = (self.made.name, "Public")

    def bases(self, marked: bool) -> list[str]:
        found = ["SupportsEagle3"] if not self.chance(3) else []
        found += [p for p in ("SupportsPP", *self.shape.names) if self.chance(6)]
        found += self.mixins
        found += ["SupportsMultiModal"] if marked or self.chance(6) else []
        if self.chance(6):
            return list(self.draw(st.permutations(["nn.Module", *found])))
        mixins, protocols = [f for f in found if f in self.mixins], [f for f in found if f not in self.mixins]
        return [*mixins, "nn.Module", *protocols] if self.chance(3) else ["nn.Module", *mixins, *protocols]

    def members(self, marked: bool) -> Iterator[str]:
        yield f"inner_cls = {'First' if not self.chance(2) else 'Second'}"
        if self.chance(8):
            yield self.pick(pieces.FLAGS)
        if self.shape.names and self.chance(2):
            yield from (self.draw(st.sampled_from(OWN_MEMBERS)).format(name) for name in NAMES if self.chance(3))
        yield self.init(marked)
        yield method("_make(self, vllm_config, cls)", "return cls(vllm_config=vllm_config)")
        yield method("_build(self, vllm_config)", self.fill("return {a}(vllm_config=vllm_config)"))
        yield method("_holder(self)", self.fill("return self.{at}.model"))
        yield "@property\n" + method("_decoder(self)", self.fill("return self.{at}.model"))
        yield "@property\n" + method("_default_layers(self)", "return (2, 4, 5)")
        yield method("_finish(self, out)", self.pick(pieces.FINISHES))
        yield method("_run(self, input_ids, positions)", self.fill("return self.{at}(input_ids, positions)"))
        yield from self.ways_to_the_inner_model()
        yield from self.contract_methods()
        if self.chance(12):
            yield self.pick(pieces.HOOKS)
        call = self.pick(pieces.CALLS)
        forward = self.pick(pieces.FORWARDS, call=call)
        yield method("forward(self, input_ids, positions, **kwargs)", forward)
        yield method("_forward(self, input_ids, positions, **kwargs)", f"return {call}")
        logits = self.fill("return self.{at}.compute_logits(hidden_states)")
        yield method("compute_logits(self, hidden_states)", logits)

    def init(self, marked: bool) -> str:
        start = "super().__init__()" if not self.chance(4) else "nn.Module.__init__(self)"
        build = self.pick(pieces.BUILDS)
        if self.chance(10):
            build = self.pick(pieces.NESTED, holder="inside")
            self.at = "inside.inner"
        if marked:
            build = f"with self._mark_language_model(vllm_config):\n{deeper(build)}"
        lines = [start, "self.config = config = vllm_config.model_config.hf_config", build]
        if self.chance(4):
            lines.append(self.pick(pieces.IN_INIT))
        return method('__init__(self, *, vllm_config, prefix="")', "\n".join(lines))

    def ways_to_the_inner_model(self) -> Iterator[str]:
        if self.chance(4):
            yield method("get_language_model(self)", self.pick(pieces.ANNOUNCEMENTS))
        if self.at != "language_model" and self.chance(3):
            yield "@property\n" + method("language_model(self)", self.fill("return self.{at}"))

    def contract_methods(self) -> Iterator[str]:
        if self.chance(3):
            return
        pairs = [pair.split("\n--\n") for pair in rows(pieces.METHODS)]
        chosen = self.draw(st.integers(0, len(pairs) - 1))
        setter = pairs[chosen][0]
        getter = pairs[chosen if not self.chance(6) else self.draw(st.integers(0, len(pairs) - 1))][1]
        for name, body, bare in ((self.shape.setter, setter, "layers"), (self.shape.getter, getter, "")):
            if self.chance(12):
                continue
            standing = rows(pieces.STANDINGS)[0 if not self.chance(4) else self.row_of(pieces.STANDINGS)]
            body = self.fill(body)
            arguments = {"name": name, "bare": bare, "args": f", {bare}" if bare else ""}
            text = standing.format(**arguments, body=deeper(body).lstrip(), deep=deeper(body, 8).lstrip())
            yield text if bare else re.sub(r"(?m)^    \(\) = .*\n", "", text)

    def row_of(self, table: str) -> int:
        return self.draw(st.integers(0, len(rows(table)) - 1))

    def derived(self) -> str:
        bodies = [self.pick(pieces.DERIVED) for _ in range(self.draw(st.integers(1, 2)))]
        bases = ["Wrap"]
        if self.chance(4):
            bases.insert(self.draw(st.integers(0, 1)), self.draw(st.sampled_from(["SupportsEagle3", *self.mixins])))
        return f"class Derived({', '.join(bases)}):\n" + deeper("\n\n".join(bodies))


def method(head: str, body: str) -> str:
    return f"def {head}:\n{deeper(body)}"


def joined(parts: list[str]) -> str:
    return "\n\n\n".join(part.strip("\n") for part in parts) + "\n"
