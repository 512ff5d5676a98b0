"""The rules' own cases, each put into a copy of the fixture tree of its generation."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import dedent

from analyzer import engine
from analyzer.audit import Audit
from analyzer.checkout import open_checkout
from analyzer.commands.selection import rule_names
from analyzer.findings import Finding
from analyzer.models import Model
from analyzer.plugin import open_plugin
from analyzer.records import Report
from analyzer.settings import OWN_FILE, Settings, load_settings
from analyzer.sift import sift
from rules import all_rules, on_request
from rules._rule import Case, CommentRule

FIXTURES = Path(__file__).parent.parent / "fixtures"
GENERATIONS = {
    "0.16": ("gen_0_16",),
    "0.20": ("gen_0_20",),
    "0.33": ("gen_0_33",),
    "contracts": ("gen_0_33", "contracts"),
}
"""The folders that each tree is put together from; what stands in a later one replaces the same file of an earlier."""

MODELS = "vllm/model_executor/models"
SPECULATIVE, EMBEDDING = "_SPECULATIVE_DECODING_MODELS", "_EMBEDDING_MODELS"


def all_cases() -> list[tuple[str, Case]]:
    """Every case of every rule, with an id for it."""
    return [
        (f"{rule.code}-{kind}-{number}", case)
        for rule in all_rules()
        for kind, cases in (("bad", rule.bad), ("good", rule.good))
        for number, case in enumerate(cases)
    ]


def copy_tree(generation: str, into: Path) -> Path:
    """A fresh copy of a generation's tree."""
    ignored = shutil.ignore_patterns("__pycache__")
    for folder in GENERATIONS[generation]:
        shutil.copytree(FIXTURES / folder, into, ignore=ignored, dirs_exist_ok=True)
    return into


def file_name(case: Case) -> str:
    """The file that a case would be in vLLM: its first class in lower case, without what the class is for."""
    first = next(iter(case.architectures.values()))
    stem = re.sub(r"For[A-Z]\w*|(?<=\w)Model$", "", first)
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", stem).lower() + ".py"


def add_case(case: Case, root: Path) -> str:
    """Put a case into a tree and its architectures into the registry; returns the file's path in the tree."""
    path = f"{MODELS}/{file_name(case)}"
    assert not (root / path).exists(), f"the fixture tree has a {path} already"
    (root / path).write_text(dedent(case.source).lstrip("\n"))
    if case.settings:
        (root / OWN_FILE).write_text(case.settings)
    registry = root / MODELS / "registry.py"
    text = registry.read_text()
    for architecture, cls in case.architectures.items():
        head = f"{table_of(architecture)} = {{\n"
        assert head in text
        text = re.sub(rf'    "{architecture}": .*\n', "", text)
        text = text.replace(head, f'{head}    "{architecture}": ("{Path(path).stem}", "{cls}"),\n')
    registry.write_text(text)
    return path


def table_of(architecture: str) -> str:
    """The registry's table that an architecture belongs into, by the way vLLM's names end."""
    if architecture.startswith("Eagle"):
        return SPECULATIVE
    if architecture.endswith("ForConditionalGeneration"):
        return "_MULTIMODAL_MODELS"
    return "_TEXT_GENERATION_MODELS" if architecture.endswith("ForCausalLM") else EMBEDDING


def audit(root: Path) -> Report:
    """All rules on a tree, with the settings that stand in it."""
    return judge(engine.read_checkout(open_checkout(root)))


def judge(read: Audit) -> Report:
    """All rules on a tree that has been read, with the settings that stand in it."""
    names = rule_names()
    file = read.checkout.root / OWN_FILE
    settings = load_settings(file, names) if file.exists() else Settings()
    comment_rules = [rule for rule in all_rules() if isinstance(rule, CommentRule)]
    silent = set(on_request()) - set(settings.select)
    report = engine.judge(read, all_rules(), on_request=settings.select)
    return sift(report, settings, names, comment_rules, silent=silent)


@dataclass
class Tree:
    """A tree with one case in it (or none), and what the audit of it says; ``vllm`` is the tree of a plugin's vLLM."""

    root: Path
    generation: str
    path: str = ""
    vllm: Path | None = None
    read: Audit = field(init=False)
    report: Report = field(init=False)

    def __post_init__(self) -> None:
        checkout = open_checkout(self.root) if self.vllm is None else open_plugin(self.root, open_checkout(self.vllm))
        self.read = engine.read_checkout(checkout)
        self.report = judge(self.read)

    @property
    def findings(self) -> list[Finding]:
        """Those on the case's own classes; all where there is no case."""
        return [f for f in self.report.findings if f.at.path == self.path or not self.path]

    @property
    def models(self) -> list[Model]:
        """Those of the case's own file; all where there is no case."""
        return [m for m in self.read.judged if m.cls.path == self.path or not self.path]


class Trees:
    """The trees of a test session: each made and audited once.

    Args:
        folder: where they are put.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._made: dict[str, Tree] = {}

    def plain(self, generation: str) -> Tree:
        """A generation's tree as it stands."""
        if generation not in self._made:
            self._made[generation] = Tree(copy_tree(generation, self.folder / generation), generation)
        return self._made[generation]

    def of(self, name: str, case: Case) -> Tree:
        """The tree with a case in it; do not change it."""
        if name not in self._made:
            root = copy_tree(case.generation, self.folder / name)
            self._made[name] = Tree(root, case.generation, add_case(case, root))
        return self._made[name]

    def scratch(self, name: str, tree: Tree) -> Path:
        """A copy of a tree, to be changed."""
        return Path(shutil.copytree(tree.root, self.folder / name))
