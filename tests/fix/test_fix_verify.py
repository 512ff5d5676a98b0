"""What an edit does not declare is found, wherever it stands: nothing else vouches for what is written."""

from __future__ import annotations

import pytest

from analyzer.findings import AddListItem, AddStatement, Edit, RenameMethod
from analyzer.fix.edits import apply_edits
from analyzer.fix.source import Refused, Source
from analyzer.fix.verify import verify
from tests.fix.fixing import PATH, base, imported, methods

TEXT = '''\
"""A model."""

import torch
from vllm.model_executor.models.interfaces import SupportsPP

SIZES = [1, 2]


@torch.no_grad()
def helper(x):
    # doubled
    return x * 2


class Other:
    def forward(self, x):
        def inner():
            return x + 1  # one more

        return inner()


if torch.cuda:

    class Branch:
        def forward(self):
            return "branch"


class Model(SupportsPP):
    """It serves."""

    size = 3

    def forward(self, x):
        return self.run(x, names=["a", "b"])

    @property
    def run(self):
        return helper

    def load(self, weights):
        for name in weights:
            self.take(name, old=1)


async def last():
    return await helper(1)
'''

EDITS: dict[str, list[Edit]] = {
    "a base": [base(), imported()],
    "methods": [base(), imported(), methods()],
    "an item": [AddListItem(PATH, 36, "a", "c")],
    "another name": [RenameMethod(PATH, "Model", "load", "load_weights")],
    "a statement": [AddStatement(PATH, "Model", "", "depth: int = 2")],
}

CHANGES = {
    "a function's body": ("x * 2", "x * 3"),
    "a function's decorator": ("no_grad", "grad"),
    "a function's parameters": ("def helper(x)", "def helper(x=1)"),
    "a comment in a function": ("    # doubled\n", ""),
    "a comment behind a statement": ("  # one more", ""),
    "a body in a body": ("x + 1", "x - 1"),
    "a class in a branch": ('"branch"', '"twig"'),
    "a condition": ("if torch.cuda", "if not torch.cuda"),
    "another class's name": ("class Other", "class Another"),
    "a module's statement": ("[1, 2]", "[1]"),
    "another import": ("import torch\n", "import torch as t\n"),
    "the docstring": ('"""A model."""', '"""A mode."""'),
    "the class's docstring": ("It serves.", "It serve."),
    "the class's attribute": ("size = 3", "size = 4"),
    "a method": ("self.run(x,", "self.run(x + 1,"),
    "a method's decorator": ("    @property\n", ""),
    "a method below": ("self.take(name, old=1)", "self.take(name, old=2)"),
    "the end": ("await helper(1)", "await helper(2)"),
    "a method more": ("    @property\n", "    def more(self):\n        return 1\n\n    @property\n"),
    "a method less": ("    @property\n    def run(self):\n        return helper\n\n", ""),
    "a function more": ("async def last", "def more():\n    return 1\n\n\nasync def last"),
    "the order": ("SIZES = [1, 2]\n", ""),
}


@pytest.mark.parametrize("edits", EDITS.values(), ids=list(EDITS))
@pytest.mark.parametrize(("old", "new"), CHANGES.values(), ids=list(CHANGES))
def test_a_change_that_is_not_declared_is_refused(edits: list[Edit], old: str, new: str) -> None:
    text, done = apply_edits(TEXT, edits)
    source = Source(TEXT, "utf-8", False)
    verify(PATH, source, source.with_text(text), done)
    changed = text.replace(old, new)
    if old == "SIZES = [1, 2]\n":
        changed += old
    assert changed != text
    with pytest.raises(Refused):
        verify(PATH, source, source.with_text(changed), done)


def test_layout_of_a_member_that_is_not_declared_is_kept() -> None:
    """Python's parser does not tell these apart; libcst does."""
    text, done = apply_edits(TEXT, EDITS["methods"])
    source = Source(TEXT, "utf-8", False)
    for old, new in (("size = 3", "size = (3)"), ("size = 3", "size  =  3"), ("(name, old=1)", "(name, old = 1)")):
        with pytest.raises(Refused, match="change more of class Model than it declares"):
            verify(PATH, source, source.with_text(text.replace(old, new)), done)
