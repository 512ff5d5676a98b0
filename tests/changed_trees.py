"""Pairs of small checkouts that differ, and what the comparison says of them.

``python -m tests.changed_trees`` writes the files in ``fixtures/golden`` again that show one pair in each format, from
the code as it is: read the difference before you commit it.
"""

from __future__ import annotations

import io
import tempfile
from pathlib import Path

from rich.console import Console

import analyzer
from analyzer.changes import Changes, compare
from analyzer.checkout import open_checkout
from analyzer.engine import audit
from analyzer.records import Report
from analyzer.report import changes_json, changes_markdown, changes_text
from rules import all_rules
from tests.report_tree import FILES, make_tree

MODELS = "vllm/model_executor/models"
RUNNER = "vllm/v1/runner.py"
CONFIG = "vllm/config.py"

ALLOWING = """\
class SpeculativeConfig:
    def verify(self):
        supported = ["plain", "bare"]
        if self.method == "eagle3" and not any(
            item in self.target.hf_text_config.model_type for item in supported
        ):
            raise ValueError("Eagle3 is only supported for some models")
"""

DISPATCHING = """\
def load(model, get_model_name):
    name = get_model_name(model)
    if name in ["SoundVL", "LackingVL"]:
        model.config.image_token_index = model.config.image_token_id
    else:
        model.config.image_token_index = model.config.image_token_index
"""


def edited(name: str, *edits: tuple[str, str]) -> str:
    """A file of the tree with pieces replaced, each of which has to be there.

    Args:
        name: its path, or in the models' folder without suffix.
        edits: what to replace by what.
    """
    text = FILES.get(name) or FILES[f"{MODELS}/{name}.py"]
    for old, new in edits:
        assert old in text, old
        text = text.replace(old, new)
    return text


def report(root: Path, **files: str | None) -> Report:
    """The audit of a tree.

    Args:
        root: where to write it.
        files: as for :func:`tests.report_tree.make_tree`; some others are written beside it.
    """
    extra = {"config": CONFIG, "proposer": "vllm/v1/proposer.py", "moved": f"{MODELS}/moved.py"}
    extra["configs"] = "vllm/transformers_utils/configs.py"
    make_tree(root, **{name: text for name, text in files.items() if name not in extra})
    for name, path in extra.items():
        if (text := files.get(name)) is not None:
            (root / path).parent.mkdir(exist_ok=True)
            (root / path).write_text(text)
    return audit(open_checkout(root), all_rules())


def changes(folder: Path, old: dict[str, str], new: dict[str, str], *contracts: str) -> Changes:
    """What differs between two trees.

    Args:
        folder: where to write them.
        old, new: files that are not those of the plain tree.
        contracts: names; all unless given.
    """
    return compare(report(folder / "old", **old), report(folder / "new", **new), contracts)


# -- one pair in each format -----------------------------------------------------------------------

GOLDEN = Path(__file__).parent.parent / "fixtures" / "golden"

_NEW_GETTER, _OLD_GETTER = "get_eagle3_default_aux_hidden_state_layers", "get_eagle3_aux_hidden_state_layers"
_STALE = f"    def {_OLD_GETTER}(self) -> tuple[int, ...]:\n        return (1, 2)\n\n"
_HEAD = "class PlainForCausalLM(nn.Module, SupportsEagle3):\n"

OLDER = {
    "_version": "__version__ = version = '0.17.0'\n",
    "interfaces": edited("interfaces", (_NEW_GETTER, _OLD_GETTER), ("        return (2, 4, 5)\n", "        ...\n")),
    "plain": edited("plain", (_HEAD, _HEAD + _STALE)),
    "runner": edited(RUNNER, (_NEW_GETTER, _OLD_GETTER)),
    "registry": edited("registry", ('    "SoundVL": ("wrappers", "SoundVL"),\n', "")),
    "config": ALLOWING,
    "proposer": DISPATCHING,
}
"""The shape of an older generation, in which the getter has another name and no body."""

NEWER = {
    "plain": edited("plain", (_HEAD, _HEAD + _STALE)),
    "wrappers": edited("wrappers", ("class LackingVL(_Wrapper)", "class LackingVL(_Wrapper, SupportsEagle3)")),
    "runner": edited(RUNNER, ("def load_model", "def set_up"), ("does not support", "cannot have")),
    "proposer": DISPATCHING.replace('"LackingVL"', '"BoastfulVL"'),
}
"""The generation after it: one wrapper was repaired, one method left behind, and nothing refuses by model type."""


def shown(changes: Changes, form: str, *, width: int = 80, encoding: str = "utf-8", colour: bool = False) -> str:
    """A comparison in one format.

    Args:
        changes: of two trees.
        form: ``text``, ``json`` or ``markdown``.
        width, encoding, colour: of the stream that the text is for.
    """
    if form != "text":
        return changes_json.render(changes) if form == "json" else changes_markdown.render(changes)
    file = io.TextIOWrapper(io.BytesIO(), encoding)
    system = "standard" if colour else None
    return changes_text.render(changes, Console(file=file, width=width, force_terminal=colour, color_system=system))  # type: ignore[arg-type]


def golden(changes: Changes, form: str) -> str:
    """A comparison in one format, without what differs between machines and versions."""
    text = shown(changes, form).replace(str(changes.old.root.parent), "FOLDER")
    return text.replace(f'"{analyzer.__version__}"', '"VERSION"')


def main() -> None:
    """Write the files again."""
    with tempfile.TemporaryDirectory() as folder:
        found = changes(Path(folder).resolve(), OLDER, NEWER)
        for form in ("text", "json", "markdown"):
            (GOLDEN / f"changes.{form}").write_text(golden(found, form), "utf-8")


if __name__ == "__main__":
    main()
