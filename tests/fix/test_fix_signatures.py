"""Signatures: replaced in the file's own layout, once, and only for the method that is meant."""

from __future__ import annotations

import pytest

from analyzer.findings import ReplaceSignature
from analyzer.fix.edits import apply_edits
from analyzer.fix.source import Refused, Source
from analyzer.fix.verify import verify

EDIT = ReplaceSignature("m.py", "A", "run", ("self", "x: int", 'path: str = "default"'), "None")

CASES = {
    "on one line": (
        "class A:\n    def run(self, x):\n        return x\n",
        'class A:\n    def run(self, x: int, path: str = "default") -> None:\n        return x\n',
    ),
    "with a result and decorators": (
        "class A:\n    @staticmethod\n    def go(): ...\n\n    @deco(1)\n"
        "    def run(self, x=[1, 2]) -> dict[str, int]:\n        return x\n",
        "class A:\n    @staticmethod\n    def go(): ...\n\n    @deco(1)\n"
        '    def run(self, x: int, path: str = "default") -> None:\n        return x\n',
    ),
    "a body on the same line": (
        "class A:\n    def run(self): return {1: 2}\n",
        'class A:\n    def run(self, x: int, path: str = "default") -> None: return {1: 2}\n',
    ),
    "too long for one line": (
        "class A:\n    async def run(\n        self,\n    ): return 'a long enough body to need more lines than one'\n",
        "class A:\n    async def run(\n        self,\n        x: int,\n"
        '        path: str = "default",\n'
        "    ) -> None: return 'a long enough body to need more lines than one'\n",
    ),
}


@pytest.mark.parametrize(("before", "after"), CASES.values(), ids=CASES)
def test_a_signature_is_replaced(before: str, after: str) -> None:
    text, done = apply_edits(before, [EDIT])
    assert text == after
    verify("m.py", Source(before, "utf-8", False), Source(text, "utf-8", False), done)
    assert apply_edits(text, [EDIT])[0] == text


@pytest.mark.parametrize(
    "source",
    [
        "class A:\n    def other(self): ...\n",
        "class A:\n    def run(self): ...\n    def run(self, x): ...\n",
        "class A:\n    def run(\n        self,  # why\n    ): ...\n",
    ],
    ids=["no such method", "two definitions", "a comment inside"],
)
def test_what_is_not_certain_is_refused(source: str) -> None:
    with pytest.raises(Refused):
        apply_edits(source, [EDIT])


def test_a_changed_body_does_not_pass_the_check() -> None:
    before = "class A:\n    def run(self, x):\n        return x\n"
    text, done = apply_edits(before, [EDIT])
    with pytest.raises(Refused):
        verify(
            "m.py", Source(before, "utf-8", False), Source(text.replace("return x", "return 1"), "utf-8", False), done
        )
