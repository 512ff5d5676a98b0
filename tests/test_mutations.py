"""A wrapper of the fixture trees, changed as people change wrappers: what is said of it, and whether a fix is safe.

A fix that would turn a clear refusal into a silent fault must never be called safe.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from analyzer.checkout import open_checkout
from analyzer.engine import audit
from rules import all_rules

TREE = Path(__file__).parent.parent / "fixtures" / "gen_0_16"
WRAPPER = "vllm/model_executor/models/gamma.py"
CLASS = "GammaForConditionalGeneration"
SOURCE = (TREE / WRAPPER).read_text()
RETURN = """        return self.language_model.model(
            input_ids, positions, intermediate_tensors=intermediate_tensors, inputs_embeds=inputs_embeds
        )
"""
SET = "        self.language_model.set_aux_hidden_state_layers(layers)\n"
UNDECLARED = re.sub(
    r"    def set_aux.*?(?=    def embed_multimodal)", "", SOURCE.replace(", SupportsEagle3):", "):"), flags=re.DOTALL
)


def ending(text: str, source: str = UNDECLARED) -> str:
    """The wrapper with another end of its forward; ``h`` is the decoder's result."""
    assert RETURN in source
    return source.replace(RETURN, RETURN.replace("return ", "h = ", 1) + text)


def changed(old: str, new: str, source: str = SOURCE) -> str:
    assert old in source
    return source.replace(old, new)


CASES: dict[str, tuple[str, str, set[tuple[str, str]]]] = {
    "as it is": (SOURCE, "works", set()),
    "not declared": (UNDECLARED, "undeclared", {("VC001", "safe")}),
    "declared, and wraps the result": (ending("        return h, None\n", SOURCE), "broken", {("VC006", "none")}),
    "wraps in a tuple": (ending("        return h, None\n"), "undeclared", {("VC001", "none")}),
    "wraps in a list": (ending("        return [h]\n"), "undeclared", {("VC001", "none")}),
    "takes it for a tensor": (ending("        n = h.shape[0]\n        return h\n"), "undeclared", {("VC001", "none")}),
    "asserts a tensor": (
        ending("        assert isinstance(h, float)\n        return h\n"),
        "undeclared",
        {("VC001", "none")},
    ),
    "wraps on one path": (
        ending("        if self.config.x:\n            return {'h': h}\n        return h\n"),
        "undeclared",
        {("VC001", "unsafe")},
    ),
    "unpacks in a match": (
        ending("        match h:\n            case (a, b):\n                return a\n        return h\n"),
        "undeclared",
        {("VC001", "unsafe")},
    ),
    "takes it apart and puts it together": (
        ending("        if isinstance(h, tuple):\n            a, b = h\n            return a, b\n        return h\n"),
        "undeclared",
        {("VC001", "safe")},
    ),
    "a decorated forward": (
        changed("    def forward(\n", "    @first\n    def forward(\n", UNDECLARED),
        "undeclared",
        {("VC001", "unsafe")},
    ),
    "a __call__ of its own": (
        changed(
            "    def compute_logits",
            "    def __call__(self, *a):\n        return self.forward(*a)[0]\n\n    def compute_logits",
            UNDECLARED,
        ),
        "undeclared",
        {("VC001", "none")},
    ),
    "a misspelt attribute": (
        changed(SET, "        self.language_model.model.aux_hidden_state_layer = layers\n"),
        "broken",
        {("VC003", "safe")},
    ),
    "an empty override": (changed(SET, "        pass\n"), "broken", {("VC002", "safe")}),
    "an override that nothing awaits": (
        changed("    def set_aux", "    async def set_aux"),
        "broken",
        {("VC003", "safe"), ("VC009", "none")},
    ),
    "an empty override before a forward that drops": (
        changed(SET, "        pass\n", ending("        return (h,)\n", SOURCE)),
        "broken",
        {("VC002", "none")},
    ),
    "an empty override before a decorated forward": (
        changed(SET, "        pass\n").replace("    def forward(\n", "    @first\n    def forward(\n"),
        "broken",
        {("VC002", "unsafe")},
    ),
    "a misspelt attribute before a forward that takes the first of two": (
        changed(
            SET,
            "        self.language_model.model.aux_hidden_state_layer = layers\n",
            ending("        return h[0] if isinstance(h, tuple) else h\n", SOURCE),
        ),
        "broken",
        {("VC003", "none"), ("VC006", "none")},
    ),
    "a loop over modules": (
        changed(SET, "        for m in self.modules():\n            m.aux_hidden_state_layers = layers\n"),
        "unknown",
        set(),
    ),
}


@pytest.mark.parametrize(("source", "verdict", "findings"), CASES.values(), ids=CASES)
def test_what_is_said_of_a_changed_wrapper(
    source: str, verdict: str, findings: set[tuple[str, str]], tmp_path: Path
) -> None:
    shutil.copytree(TREE, tmp_path / "tree")
    (tmp_path / "tree" / WRAPPER).write_text(source)
    report = audit(open_checkout(tmp_path / "tree"), all_rules())
    model = next(m for m in report.models if m.name == CLASS)
    found = {(f.code, f.fix.safety) for f in report.findings if f.cls.endswith(f".{CLASS}") and f.code != "VC012"}
    assert (model.statuses["SupportsEagle3"].verdict, found) == (verdict, findings)


def test_a_base_is_put_before_generic_as_python_wants_it(tmp_path: Path) -> None:
    shutil.copytree(TREE, tmp_path / "tree")
    source = changed("SupportsPP):", "SupportsPP, Generic[T]):", UNDECLARED)
    source = changed(
        "from torch import nn\n",
        "from typing import Generic, TypeVar\n\nT = TypeVar('T')\n\nfrom torch import nn\n",
        source,
    )
    (tmp_path / "tree" / WRAPPER).write_text(source)
    report = audit(open_checkout(tmp_path / "tree"), all_rules())
    finding = next(f for f in report.findings if f.code == "VC001" and f.cls.endswith(CLASS))
    assert [edit.position for edit in finding.fix.edits if hasattr(edit, "position")] == [3]
