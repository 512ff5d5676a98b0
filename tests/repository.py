"""A git repository with pre-commit in it, for tests of the hooks: both are real, nothing is installed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

ROOT = Path(__file__).parent.parent
MANIFEST = ROOT / ".pre-commit-hooks.yaml"


@dataclass
class Done:
    """How a command ended."""

    code: int
    said: str


class Repository:
    """A git repository whose commits are judged.

    Args:
        root: a folder with files; they become the first commit.
        own: for caches, outside the repository.
        hooks: ids of the manifest, in order.
        args: further arguments, for all hooks.
        manual: hooks that do not run with a commit.
    """

    def __init__(
        self, root: Path, own: Path, *hooks: str, args: tuple[str, ...] = (), manual: tuple[str, ...] = ()
    ) -> None:
        self.root = root
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("GIT_", "PRE_COMMIT"))}
        who = {
            f"GIT_{role}_{what}": "someone@example.org"
            for role in ("AUTHOR", "COMMITTER")
            for what in ("NAME", "EMAIL")
        }
        self.environment = {
            **kept,
            **who,
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_EDITOR": "true",
            "PRE_COMMIT_HOME": str(own / "pre-commit"),
            "PRE_COMMIT_COLOR": "never",
            "VLLM_CONTRACTS_CACHE": str(own / "cache"),
            "PYTHONPATH": str(ROOT),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        self.must("git", "init", "-q", "-b", "main")
        self._configure([*hooks, *manual], args, manual)
        self.must("git", "add", "-A")
        self.must("git", "commit", "-q", "-m", "first")

    def _configure(self, hooks: Sequence[str], args: Sequence[str], manual: Sequence[str]) -> None:
        """Write ``.pre-commit-config.yaml``: the manifest's hooks, run by this Python from this code."""
        known = {hook["id"]: hook for hook in yaml.safe_load(MANIFEST.read_text("utf-8"))}
        own = []
        for name in hooks:
            words = known[name]["entry"].split()
            assert words[0] == "vllm-contracts"
            entry = " ".join([sys.executable, "-m", "analyzer", *words[1:]])
            stages = {"stages": ["manual"]} if name in manual else {}
            own.append({**known[name], "entry": entry, "language": "system", "args": list(args), **stages})
        config = {"repos": [{"repo": "local", "hooks": own}]}
        (self.root / ".pre-commit-config.yaml").write_text(yaml.safe_dump(config), "utf-8")

    def run(self, *command: str, folder: str = "", **environment: str) -> Done:
        """Run a command in the repository, or in a folder of it."""
        done = subprocess.run(
            command,
            cwd=self.root / folder,
            env={**self.environment, **environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            timeout=300,
            check=False,
        )
        return Done(done.returncode, done.stdout)

    def must(self, *command: str) -> str:
        """What a command says that has to succeed."""
        done = self.run(*command)
        assert done.code == 0, done.said
        return done.said

    def pre_commit(self, *arguments: str, folder: str = "") -> Done:
        return self.run(sys.executable, "-m", "pre_commit", *arguments, folder=folder)

    def install(self, *arguments: str) -> None:
        """Let git run the hooks."""
        done = self.pre_commit("install", *arguments)
        assert done.code == 0, done.said

    def write(self, name: str, text: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")

    def read(self, name: str) -> str:
        return (self.root / name).read_text("utf-8")

    def replace(self, name: str, old: str, new: str) -> None:
        text = self.read(name)
        assert old in text
        self.write(name, text.replace(old, new))

    def commit(self, *names: str, folder: str = "") -> Done:
        """Stage some files and commit; the hooks may refuse."""
        if names:
            self.must("git", "add", *names)
        return self.run("git", "commit", "-m", "change", folder=folder)

    def head(self) -> str:
        return self.must("git", "rev-parse", "HEAD").strip()

    def staged(self) -> str:
        return self.must("git", "diff", "--cached", "--name-only")
