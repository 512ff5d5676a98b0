"""What the tests of the repair stage share."""

from __future__ import annotations

from textwrap import dedent

import pytest

from analyzer.findings import AddBase, AddImport, AddListItem, AddMethods, Edit
from analyzer.fix import Refused
from analyzer.fix.edits import apply_edits
from analyzer.fix.source import Source
from analyzer.fix.verify import verify

MODELS = "vllm.model_executor.models"
PATH = "vllm/model_executor/models/wrapper.py"
INTERFACES = f"{MODELS}.interfaces"

SETTER = """\
def set_aux_hidden_state_layers(self, layers: tuple[int, ...]) -> None:
    self.language_model.set_aux_hidden_state_layers(layers)
"""
GETTER = """\
def get_eagle3_default_aux_hidden_state_layers(self) -> tuple[int, ...]:
    return self.language_model.get_eagle3_default_aux_hidden_state_layers()
"""


def base(name: str = "SupportsEagle3", cls: str = "Model", position: int = 99) -> AddBase:
    return AddBase(PATH, cls, name, position)


def imported(name: str = "SupportsEagle3", module: str = INTERFACES, path: str = PATH) -> AddImport:
    return AddImport(path, module, name)


def methods(*sources: str, cls: str = "Model", after: tuple[str, ...] = ()) -> AddMethods:
    return AddMethods(PATH, cls, sources or (SETTER, GETTER), after)


def edited(before: str, *edits: Edit, line_length: int | None = None) -> str:
    """The text after some edits, which must verify and change nothing the second time."""
    after, done = apply_edits(before, edits, line_length)
    verify(edits[0].path, Source(before, "utf-8", False), Source(after, "utf-8", False), done)
    assert apply_edits(after, done, line_length)[0] == after, "a second pass changes the text"
    if not any(isinstance(edit, AddListItem) for edit in edits):  # those name lines of the old text
        assert apply_edits(after, edits, line_length)[0] == after, "a second pass changes the text"
    return after


def check(before: str, after: str, *edits: Edit, line_length: int | None = None) -> None:
    """Compare dedented texts before and after some edits."""
    assert edited(dedent(before), *edits, line_length=line_length) == dedent(after)


def refusal(before: str, *edits: Edit) -> str:
    """The reason why edits are refused."""
    with pytest.raises(Refused) as caught:
        edited(dedent(before), *edits)
    return str(caught.value)
