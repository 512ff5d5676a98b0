"""Random shapes of the contract, and random Protocols beside it.

Nothing that the analysis knows of a contract may be fixed: what its methods are called and do is what the tree's own
interfaces say.  So the fixture trees' contract is one shape of several here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from hypothesis import strategies as st

from tests.differential.pieces import rows

GETTERS = {"0.16": "get_eagle3_aux_hidden_state_layers"}
GETTER = "get_eagle3_default_aux_hidden_state_layers"
SETTER = "set_aux_hidden_state_layers"

SETTERS = """
...
---
pass
---
raise NotImplementedError
---
inner = getattr(self, "language_model", None)
if inner is None:
    raise NotImplementedError(f"{type(self).__name__} has no language model")
inner.SETTER(layers)
---
holder = self
while hasattr(holder, "language_model"):
    holder = holder.language_model
if hasattr(holder, "model"):
    holder = holder.model
holder.aux_hidden_state_layers = layers
---
self.model.aux_hidden_state_layers = layers
---
parent = self.get_language_model() if hasattr(self, "get_language_model") else self
holder = getattr(parent, "model", parent)
assert hasattr(holder, "layers"), "the decoder has no layers"
holder.aux_hidden_state_layers = layers
"""

GIVERS = """
...
---
pass
---
raise NotImplementedError
---
return self.language_model.GETTER()
---
return (2, 4, 5)
---
num_layers = len(self.model.layers)
return (2, num_layers // 2, num_layers - 3)
---
parent = self.get_language_model() if hasattr(self, "get_language_model") else self
return tuple(range(len(parent.model.layers)))[2:5]
"""

CONTRACT = '''\
@runtime_checkable
class SupportsEagle3({bases}):
    """EAGLE 3: the decoder hands out hidden states of some of its layers."""

    {flag}

    def {setter}(self, layers: tuple[int, ...]) -> None:
        """Say which layers."""
{set}

    def {getter}(self) -> tuple[int, ...]:
        """The layers that serve where nobody says."""
{get}


'''

FLAGS = (
    "supports_eagle3: ClassVar[Literal[True]] = True",
    "supports_eagle3: ClassVar[bool] = True",
    "supports_eagle3 = True",
)
CHECKS = (
    "isinstance(model, SupportsEagle3)",
    'getattr(model, "supports_eagle3", False)',
    'isinstance(model, SupportsEagle3) and callable(getattr(model, "SETTER", None))',
)

MEMBERS = (
    "{0}: ClassVar[Literal[True]] = True",
    "{0}: int",
    "{0} = 1",
    "{0} = None",
    "def {0}(self, given=0): ...",
    "def {0}(self, given=0):\n        return 1",
    "def {0}(self, given=0):\n        raise NotImplementedError",
    "@classmethod\n    def {0}(cls, given=0):\n        return 1",
    "@property\n    def {0}(self):\n        return 1",
)
OWN_MEMBERS = (
    "{0} = 1",
    "{0} = None",
    "{0}: int",
    "def {0}(self, given=0):\n    return 1",
    "def {0}(self, given=0): ...",
    "@property\ndef {0}(self):\n    return 1",
    "@staticmethod\ndef {0}(given=0):\n    return 1",
    "@classmethod\ndef {0}(cls, given=0):\n    return 1",
    "{0}: bool = True",
)
NAMES = ("flag_p", "data_p", "run_p", "stop_p")
CHECKER = """
def supports_p{0}(model: type[object] | object) -> TypeIs[type[SupportsP{0}]] | TypeIs[SupportsP{0}]:
    return {1}
"""
CHECKER_BODIES = (
    "isinstance(model, SupportsP{0})",
    'getattr(model, "flag_p", False)',
    'callable(getattr(model, "run_p", None))',
    'hasattr(model, "data_p")',
)


@dataclass(frozen=True)
class Interfaces:
    """The interfaces module of a tree.

    Args:
        generation: of the fixture tree that it stands in.
        setter, getter: names of the contract's methods.
        contract: the contract's class; empty for that of the fixture tree.
        check: what its checker returns.
        protocols: source of further Protocols with their checkers.
        names: the further Protocols.
    """

    generation: str
    setter: str
    getter: str
    contract: str
    check: str
    protocols: str
    names: tuple[str, ...]

    def applied(self, source: str) -> str:
        """A fixture tree's interfaces module with this contract in it."""
        if self.contract:
            start = source.index("@runtime_checkable\nclass SupportsEagle3(")
            end = source.index("@overload\n", start)
            source = source[:start] + self.contract + source[end:]
        old = "    return isinstance(model, SupportsEagle3)\n"
        assert old in source
        return source.replace(old, f"    return {self.check}\n") + self.protocols


@st.composite
def interfaces(draw: st.DrawFn, generation: str) -> Interfaces:
    """The fixture's own contract half of the time."""
    getter = GETTERS.get(generation, GETTER)
    contract, check = "", CHECKS[0]
    if draw(st.booleans()):
        set_body = draw(st.sampled_from(rows(SETTERS)))
        get_body = draw(st.sampled_from(rows(GIVERS)))
        contract = CONTRACT.format(
            bases=draw(st.sampled_from(["SupportsEagleBase, Protocol", "Protocol"])),
            flag=draw(st.sampled_from(FLAGS)),
            setter=SETTER,
            getter=getter,
            set=deeper(set_body.replace("SETTER", SETTER), 8),
            get=deeper(get_body.replace("GETTER", getter), 8),
        )
        check = draw(st.sampled_from(CHECKS)).replace("SETTER", SETTER)
    names: list[str] = []
    sources = []
    for number in range(draw(st.integers(0, 3))):
        bases = [*draw(st.lists(st.sampled_from(names), max_size=1)), "Protocol"] if names else ["Protocol"]
        members = [
            draw(st.sampled_from(MEMBERS)).format(n) for n in draw(st.lists(st.sampled_from(NAMES), unique=True))
        ]
        body = "\n    ".join(members) or "pass"
        check_body = draw(st.sampled_from(CHECKER_BODIES)).format(number)
        sources.append(f"\n\n@runtime_checkable\nclass SupportsP{number}({', '.join(bases)}):\n    {body}\n\n")
        sources.append(CHECKER.format(number, check_body))
        names.append(f"SupportsP{number}")
    return Interfaces(generation, SETTER, getter, contract, check, "".join(sources), tuple(names))


def deeper(text: str, by: int = 4) -> str:
    return re.sub(r"(?m)^(?=.)", " " * by, text)
