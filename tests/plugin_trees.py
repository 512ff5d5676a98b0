"""The rules' own cases as packages outside vLLM, each held against the fixture tree of its generation."""

from __future__ import annotations

import atexit
import re
import shutil
import tempfile
from functools import cache
from pathlib import Path
from textwrap import dedent

from analyzer.settings import OWN_FILE
from rules._rule import Case
from tests.fixture_trees import FIXTURES, GENERATIONS, Tree, copy_tree, file_name

PACKAGE = "our_models"
PROJECT = f"""\
[project]
name = "our-models"
version = "1.2"

[project.entry-points."vllm.general_plugins"]
our_models = "{PACKAGE}:register"
"""
FORMS = {
    "string": """\
def register():
    from vllm import ModelRegistry

    for architecture, name in MODELS.items():
        ModelRegistry.register_model(architecture, f"{__name__}.{STEM}:{name}")
""",
    "class": """\
def register():
    from importlib import import_module

    from vllm.model_executor.models import ModelRegistry

    module = import_module(f".{STEM}", __package__)
    if "NobodyForCausalLM" not in ModelRegistry.get_supported_archs():
        for architecture in MODELS:
            ModelRegistry.register_model(architecture, getattr(module, MODELS[architecture]))
""",
    "helper": """\
def _register(model_arch, *, module=STEM, cls=None):
    import vllm

    target = ".".join((__name__, module)) + ":" + (cls or model_arch)
    vllm.ModelRegistry.register_model(model_cls=target, model_arch=model_arch)


def register():
    for row in [(architecture, name) for architecture, name in MODELS.items()]:
        _register(row[0], cls=row[1])
""",
}
"""Ways to register, by name."""


def plugin_of(case: Case, folder: Path, form: str, *, src: bool = False) -> Tree:
    """A plugin with a case's classes in it.

    Args:
        case: of a rule.
        folder: where to put it; made here.
        form: one of :data:`FORMS`.
        src: whether the package stands in ``src``.
    """
    package = folder / "src" / PACKAGE if src else folder / PACKAGE
    package.mkdir(parents=True)
    stem = Path(file_name(case)).stem
    (folder / "pyproject.toml").write_text(PROJECT)
    head = f'"""Registers its models."""\n\nSTEM = "{stem}"\nMODELS = {case.architectures!r}\n\n\n'
    (package / "__init__.py").write_text(head + FORMS[form])
    (package / f"{stem}.py").write_text(outside(case.source))
    if case.settings:
        (folder / OWN_FILE).write_text(case.settings)
    return Tree(folder, case.generation, f"{'src/' if src else ''}{PACKAGE}/{stem}.py", vllm_of(case.generation))


@cache
def vllm_of(generation: str) -> Path:
    """The tree that a plugin is held against: a folder of the fixtures, or what several of them make together."""
    folders = GENERATIONS[generation]
    if len(folders) == 1:
        return FIXTURES / folders[0]
    made = Path(tempfile.mkdtemp(prefix="vllm-contracts-"))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return copy_tree(generation, made / "tree")


def outside(source: str) -> str:
    """A case's source as it would stand outside vLLM: nothing of vLLM's is beside it."""
    text = dedent(source).lstrip("\n")
    return re.sub(r"^( *)from \.(\w+) import", r"\1from vllm.model_executor.models.\2 import", text, flags=re.MULTILINE)
