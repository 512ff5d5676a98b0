"""Random modules that can be executed: every shape of header, body and comment that Python allows.

A module imports its bases from a stand-in for ``interfaces``; any class of it can be created, called and
asked for its bases.  Choices come from a :class:`random.Random`, which a test seeds or lets hypothesis drive.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random
from types import ModuleType
from typing import Any

from tests.fix.fixing import INTERFACES, PATH

BASES = [
    *("SupportsPP", "SupportsLoRA", "SupportsMultiModal", "MultiModalEmbeddings", "HasInnerState", "IsHybrid"),
    *("A", "SupportsEncoderCudaGraphWithARatherLongNameThatFillsItsLine"),
]


@dataclass
class Built:
    """A random module: its text, and its classes by qualified name, each with the number of its bases."""

    text: str
    classes: dict[str, int] = field(default_factory=dict)


def build_module(random: Random) -> Built:
    return _Builder(random).build()


class _Builder:
    def __init__(self, random: Random) -> None:
        self.random = random
        self.unit = random.choice(["    ", "    ", "  ", "\t"])
        self.built = Built("")
        self.comments = 0
        self.names = 0

    def build(self) -> Built:
        random = self.random
        parts = [*self.head(), self.imports(), self.some("\nlogger = object()  # log\n", "")]
        for _ in range(random.randint(1, 3)):
            parts.append(random.choice(["\n\n", "\n", "\n\n\n"]) + self.top_level())
        text = "".join(parts)
        if random.random() < 0.3:
            text += f"\n\n{self.comment()}\n"
        if random.random() < 0.3:
            text = text.rstrip("\n")
        if random.random() < 0.2:
            text = text.replace("\n", "\r\n")
        self.built.text = text
        return self.built

    # -- small things

    def some(self, *choices: str) -> str:
        return self.random.choice(choices)

    def comment(self) -> str:
        self.comments += 1
        return f"# c{self.comments}{self.some('', ' noqa', ' SupportsEagle3(x, [y)')}"

    def maybe_comment(self, chance: float = 0.3) -> str:
        return f"  {self.comment()}" if self.random.random() < chance else ""

    def name(self, long: bool = False) -> str:
        self.names += 1
        return f"C{self.names}" + ("ForConditionalGenerationOfVeryLongNames" if long else "")

    # -- the module's head

    def head(self) -> Iterator[str]:
        if self.random.random() < 0.4:
            yield "# SPDX-License-Identifier: Apache-2.0\n" + self.some("", "\n")
        if self.random.random() < 0.5:
            yield self.some('"""Doc."""\n', '"""Doc.\n\n# no comment\nclass C1: ...\n"""\n\n', "'Doc' 'string'\n\n\n")
        if self.random.random() < 0.3:
            yield "from __future__ import annotations\n" + self.some("", "\n")

    def imports(self) -> str:
        plain = self.some(
            "", "import os\nimport sys\n\n", f"import os  {self.comment()}\n\n", "import sys; import os\n"
        )
        checking = self.some(
            "", "", "\nimport typing\nif typing.TYPE_CHECKING:\n    from .interfaces import SupportsEagle3\n"
        )
        module = self.some(".interfaces", ".interfaces", INTERFACES, "..models.interfaces")
        names = [*BASES, "T"]
        if self.random.random() < 0.5:
            names.sort(key=lambda name: (name != "T", name))
        lists = {
            "line": f"from {module} import {', '.join(names)}\n",
            "bracket": f"from {module} import ({', '.join(names)}){self.maybe_comment()}\n",
            "exploded": f"from {module} import (\n{self.rows(names, '    ', comma=True)})\n",
            "bare": f"from {module} import (\n{self.rows(names, '    ', comma=False)})\n",
            "aligned": f"from {module} import ({self.filled(names, len(f'from {module} import ('))})\n",
            "backslash": f"from {module} import {', '.join(names[:3])}, \\\n    {', '.join(names[3:])}\n",
            "twice": f"from {module} import {', '.join(names[:4])}\nfrom {module} import {', '.join(names[4:])}\n",
            "star": f"from {module} import *\n",
        }
        return plain + lists[self.some(*lists)] + checking

    # -- lists

    def rows(self, entries: list[str], indent: str, comma: bool) -> str:
        rows = []
        for number, entry in enumerate(entries, 1):
            if self.random.random() < 0.2:
                rows.append(f"{indent}{self.comment()}\n")
            end = "," if comma or number < len(entries) else ""
            rows.append(f"{indent}{entry}{end}{self.maybe_comment(0.2)}\n")
        if self.random.random() < 0.2:
            rows.append(f"{indent}{self.comment()}\n")
        return "".join(rows)

    def filled(self, entries: list[str], column: int) -> str:
        lines: list[list[str]] = [[]]
        for entry in entries:
            if lines[-1] and self.random.random() < 0.4:
                lines.append([])
            lines[-1].append(entry)
        return (",\n" + " " * column).join(", ".join(line) for line in lines)

    def base_list(self, indent: str, column: int) -> tuple[str, int]:
        bases = self.random.sample(BASES, self.random.randint(0, 5))
        if self.random.random() < 0.2 and "A" in bases:
            bases[bases.index("A")] = self.some("A[T]", "A[T, int]", "(A)", "A[\n  T  # generic\n]")
        kinds = ["metaclass=type", "flag=1", "other=(1, [2, 3])"] if bases else ["metaclass=type"]
        keywords = self.random.sample(kinds, min(len(kinds), self.random.choice([0, 0, 1, 2])))
        entries, inner = [*bases, *keywords], indent + self.unit
        if not entries:
            return self.some("", "()", f"({self.maybe_comment(1)}\n{indent})"), 0
        shapes = {
            "line": f"({', '.join(entries)})",
            "comma": f"({', '.join(entries)},)",
            "tight": f"( {' ,'.join(entries)} )",
            "own line": f"({self.maybe_comment()}\n{inner}{', '.join(entries)}\n{indent})",
            "exploded": f"({self.maybe_comment()}\n{self.rows(entries, inner, comma=True)}{indent})",
            "no comma": f"(\n{self.rows(entries, inner, comma=False)}{indent})",
            "aligned": f"({self.filled(entries, column + 1)})",
        }
        return shapes[self.some(*shapes)], len(bases)

    # -- classes

    def top_level(self) -> str:
        kind = self.random.random()
        if kind < 0.7:
            return self.class_("", "")
        if kind < 0.85:
            return f"if len('x') == 1:\n{self.class_(self.unit, '')}else:\n{self.unit}pass  {self.comment()}\n"
        return f"try:\n{self.class_(self.unit, '')}except ImportError:\n{self.unit}raise\n"

    def class_(self, indent: str, prefix: str) -> str:
        name = self.name(long=self.random.random() < 0.3)
        decorators = "".join(
            f"{indent}{self.some('@keep', '@(lambda cls: cls)', f'@keep  {self.comment()}')}\n"
            for _ in range(self.random.choice([0, 0, 1, 2]))
        )
        above = f"{indent}{self.comment()}\n" if self.random.random() < 0.3 else ""
        header = f"{indent}class {name}"
        bases, count = self.base_list(indent, len(header))
        self.built.classes[prefix + name] = count
        colon = self.some(":", ":", " :")
        if self.random.random() < 0.15:
            body = self.some(" ...", " pass", " x = 1; y = 2", " pass; ...")
            return f"{above}{decorators}{header}{bases}{colon}{body}{self.maybe_comment()}\n"
        body = self.body(indent + self.unit, f"{prefix}{name}.")
        return f"{above}{decorators}{header}{bases}{colon}{self.maybe_comment()}\n{body}"

    def body(self, indent: str, prefix: str) -> str:
        parts = []
        if self.random.random() < 0.4:
            parts.append(f'{indent}"""Doc\n\n{indent}# no comment\n{indent}"""\n')
        if self.random.random() < 0.2:
            parts.append(f"{indent}{self.some('pass', '...')}{self.maybe_comment()}\n")
        else:
            kinds = [self.attribute, self.method, self.method, self.method, self.property_, self.branch]
            for _ in range(self.random.randint(1, 4)):
                parts.append(self.random.choice(kinds)(indent))
            if self.random.random() < 0.2:
                parts.append(self.class_(indent, prefix))
            if self.random.random() < 0.2:
                parts.append(f"{indent}{self.comment()}\n")
        return self.random.choice(["", "\n", "\n", "\n\n"]).join(parts)

    def attribute(self, indent: str) -> str:
        self.names += 1
        value = self.some("1", "(1,\n2)", "'''\n# no comment\n'''", "{'é': '世😀'}")
        return f"{indent}x{self.names} = {value}{self.maybe_comment()}\n"

    def method(self, indent: str) -> str:
        inner = indent + self.unit
        name = self.some("compute_logits", "forward", "load")
        above = f"{indent}{self.comment()}\n" if self.random.random() < 0.3 else ""
        if self.random.random() < 0.2:
            return f"{above}{indent}def {name}(self): return 1{self.maybe_comment()}\n"
        below = f"{inner}{self.comment()}\n" if self.random.random() < 0.3 else ""
        signature = self.some("self", f"self,\n{inner}{self.unit}a=1,\n{indent}", f"self,\n{indent}    b=2")
        return f"{above}{indent}def {name}({signature}):{self.maybe_comment()}\n{inner}return 1\n{below}"

    def property_(self, indent: str) -> str:
        text = "@property\ndef both(self):\n    return 1\n\n@both.setter\ndef both(self, value):\n    pass\n"
        return textwrap.indent(text, indent).replace("    return", self.unit + "return")

    def branch(self, indent: str) -> str:
        inner = indent + self.unit
        return f"{indent}if len('x') == 1:\n{self.method(inner)}{indent}else:\n{inner}y = 1\n"


class _StandIn:
    """A base that takes any keyword in a class header and any type arguments."""

    def __init_subclass__(cls, **keywords: object) -> None:
        super().__init_subclass__()

    def __class_getitem__(cls, item: object) -> type:
        return cls


class Recorder:
    """An inner language model that remembers what it is asked."""

    def __init__(self) -> None:
        self.layers: tuple[int, ...] = ()

    def set_aux_hidden_state_layers(self, layers: tuple[int, ...]) -> None:
        self.layers = layers

    def get_eagle3_default_aux_hidden_state_layers(self) -> tuple[int, ...]:
        return (2, 4, 5)


@contextmanager
def stand_in_packages() -> Iterator[ModuleType]:
    """Packages under the names that the modules import from; gives ``interfaces``."""
    parts = INTERFACES.split(".")
    names = [".".join(parts[: count + 1]) for count in range(len(parts))]
    before = {name: sys.modules.get(name) for name in names}
    for name in names:
        sys.modules[name] = ModuleType(name)
        sys.modules[name].__path__ = []
    interfaces = sys.modules[INTERFACES]
    for name in [*BASES, "SupportsEagle3"]:
        setattr(interfaces, name, type(name, (_StandIn,), {}))
    interfaces.T = int  # type: ignore[attr-defined]
    try:
        yield interfaces
    finally:
        for name, module in before.items():
            if module is None:
                del sys.modules[name]
            else:
                sys.modules[name] = module


def execute(text: str) -> dict[str, Any]:
    """The names of a module after it ran inside the stand-in package."""
    package = INTERFACES.rpartition(".")[0]
    names: dict[str, Any] = {"__name__": f"{package}.wrapper", "__package__": package, "keep": lambda cls: cls}
    exec(compile(text, PATH, "exec", dont_inherit=True), names)
    return names


def class_of(names: dict[str, Any], qualified: str) -> Any:
    first, *rest = qualified.split(".")
    found = names[first]
    for name in rest:
        found = getattr(found, name)
    assert isinstance(found, type)
    return found
