"""Where random trees stand while they are analysed and run: one folder a generation, one process that imports."""

from __future__ import annotations

import compileall
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Any

from analyzer.inner import generates
from analyzer.models import Model
from tests.differential.programs import Family, Program
from tests.fixture_runs import Outcome, contract_of
from tests.fixture_trees import FIXTURES, GENERATIONS, MODELS, Tree, copy_tree

TEXTS = ("Alpha", "Beta", "Delta")
PLATFORMS = ("cuda", "rocm")
CHANGED = ("interfaces.py", "registry.py")  # never compiled ahead: each program has its own


@dataclass
class Ran:
    """A program that was analysed and run: each model of its families with what it did, once a configuration."""

    tree: Tree
    families: dict[str, Family]
    outcomes: list[tuple[Model, list[Outcome]]] = field(default_factory=list)

    def family_of(self, path: str) -> Family | None:
        """The family that a file belongs to."""
        return self.families.get(path.removeprefix(f"{MODELS}/").partition("/")[0].removesuffix(".py"))


class Ground:
    """Folders and a process for random trees; a context manager.

    Args:
        folder: an empty one.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.plain: dict[str, dict[str, str]] = {}
        self._numbers = count()
        for generation in GENERATIONS:
            root = copy_tree(generation, self.root(generation))
            compileall.compile_dir(root, quiet=1)
            self.plain[generation] = {name: (root / MODELS / name).read_text() for name in CHANGED}
            for name in CHANGED:
                for compiled in (root / MODELS / "__pycache__").glob(f"{Path(name).stem}.*"):
                    compiled.unlink()
        environment = {**os.environ, "PYTHONPATH": str(FIXTURES / "stand_in"), "PYTHONDONTWRITEBYTECODE": "1"}
        self.process = subprocess.Popen(
            [sys.executable, str(FIXTURES / "server.py")],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def __enter__(self) -> Ground:
        return self

    def __exit__(self, *error: type[BaseException] | BaseException | TracebackType | None) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(timeout=60)
        shutil.rmtree(self.folder, ignore_errors=True)

    def root(self, generation: str) -> Path:
        return self.folder / generation

    # -- one program -------------------------------------------------------------------------------

    def write(self, program: Program) -> dict[str, Family]:
        """Put a program into its generation's tree, in the place of the last one."""
        root = self.root(program.interfaces.generation) / MODELS
        for old in root.glob("fam*"):
            shutil.rmtree(old) if old.is_dir() else old.unlink()
        plain = self.plain[program.interfaces.generation]
        (root / "interfaces.py").write_text(program.interfaces.applied(plain["interfaces.py"]))
        for family in program.families:
            for path, source in family.files.items():
                (root / path).parent.mkdir(exist_ok=True)
                (root / path).write_text(source)
        table = "".join(f"    {a!r}: {row!r},\n" for family in program.families for a, row in family.rows.items())
        first = "_TEXT_GENERATION_MODELS = {\n"
        (root / "registry.py").write_text(plain["registry.py"].replace(first, first + table))
        return {family.name: family for family in program.families}

    def analyse(self, program: Program) -> Ran:
        families = self.write(program)
        generation = program.interfaces.generation
        return Ran(Tree(self.root(generation), generation), families)

    def run(self, ran: Ran, only: set[str] | None = None) -> Ran:
        """Import and exercise the models of a tree that was analysed.

        Args:
            ran: what was analysed.
            only: names of families; all of them unless given.
        """
        models = [m for m in ran.tree.read.models if _is_run(m, ran, only)]
        jobs = [self._job(ran, models, platform) for platform in PLATFORMS]
        told = self.ask(jobs)
        assert isinstance(told, list), told["error"]
        for index, model in enumerate(models):
            ran.outcomes.append((model, [out for outs in told for out in outs[index]]))
        return ran

    def ask(self, jobs: list[dict[str, Any]]) -> Any:
        """The harness's answer to jobs."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(json.dumps(jobs) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def _job(self, ran: Ran, models: list[Model], platform: str) -> dict[str, Any]:
        contract = contract_of(ran.tree)
        return {
            "roots": [str(ran.tree.root)],
            "packages": ["vllm"],
            "entry_points": [],
            "platform": platform,
            "setter": contract.methods[0].name,
            "getter": contract.methods[1].name,
            "models": [_model(ran, model, platform) for model in models],
        }


def _is_run(model: Model, ran: Ran, only: set[str] | None) -> bool:
    family = ran.family_of(model.cls.path)
    return (
        family is not None and (only is None or family.name in only) and model.role != "draft" and generates(model.cls)
    )


def _model(ran: Ran, model: Model, platform: str) -> dict[str, Any]:
    family = ran.family_of(model.cls.path)
    assert family is not None
    stems = [e.architecture for e in model.entries]
    texts = [*(f"{text}ForCausalLM" for text in TEXTS), *([family.text] if family.text else [])]
    if not model.inner:
        texts = texts[:1]
    if platform != PLATFORMS[0] and "current_platform." not in family.source:
        texts = []
    return {
        "class": model.cls.key,
        "inner": model.inner[0].attribute if model.inner else "",
        "calls": [],
        "architecture": stems[0] if stems else "",
        "model_type": "alpha",
        "configs": [
            {
                "architecture": stems[0] if stems else "AlphaForCausalLM",
                "text_architecture": text,
                "text_model_type": text.removesuffix("ForCausalLM").lower(),
                "image_token_id": 7,
            }
            for text in texts
        ],
    }
