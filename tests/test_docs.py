"""What the documentation shows is accepted: commands by the command line, configurations by their readers."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from analyzer.cli import cli
from analyzer.commands.hook import hook
from analyzer.commands.selection import rule_names
from analyzer.settings import load_settings
from tests.repository import MANIFEST

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)
SHELLS = {"", "sh", "bash", "zsh", "fish", "yaml"}


def blocks(page: Path, *languages: str) -> list[str]:
    return [text for language, text in BLOCK.findall(page.read_text("utf-8")) if language in languages]


def commands(page: Path) -> list[str]:
    """Every call of the command: in blocks, and between backticks; without what a shell does with its streams."""
    text = page.read_text("utf-8")
    lines = [line for block in blocks(page, *SHELLS) for line in block.splitlines()]
    lines += [" ".join(inline.split()) for inline in re.findall(r"`(vllm-contracts [^`]+)`", BLOCK.sub("", text))]
    found = (re.match(r"(?:- |\$ )?vllm-contracts (?=[a-z-])(.+)", line.strip()) for line in lines)
    return [re.split(r" [<|>]", match[1])[0] for match in found if match]


def accept(line: str) -> None:
    """Parse a command line as the command does, without running it.

    Raises:
        click.UsageError: it is not accepted.
    """
    words = shlex.split(line, comments=True)
    command: click.Command = cli
    while isinstance(command, click.Group):
        name = words.pop(0)
        found = command.get_command(click.Context(command), name)
        assert found is not None, f"no command {name}"
        command = found
    try:
        command.make_context(command.name, words)
    except click.exceptions.Exit as ended:  # --help
        assert ended.exit_code == 0


SHOWN = [line for page in PAGES for line in commands(page)]


def test_the_pages_show_commands() -> None:
    assert all(len(commands(ROOT / page)) >= 4 for page in ("README.md", "docs/hooks.md", "docs/verify.md"))


@pytest.mark.parametrize("line", SHOWN)
def test_the_commands_are_accepted(line: str) -> None:
    accept(line)


@pytest.mark.parametrize("line", ["audit --fromat json", "audit --format yaml", "hook --tree", "watch --interval 0"])
def test_what_is_wrong_is_seen(line: str) -> None:
    with pytest.raises(click.UsageError):
        accept(line)


# -- pre-commit ------------------------------------------------------------------------------------

CONFIGURATIONS = [(page, block) for page in PAGES for block in blocks(page, "yaml") if block.startswith("repos:\n")]


def test_pre_commit_takes_the_configurations(tmp_path: Path) -> None:
    assert len(CONFIGURATIONS) == 8
    files = []
    for number, (_, text) in enumerate(CONFIGURATIONS):
        files.append(tmp_path / f"{number}.yaml")
        files[-1].write_text(text, "utf-8")
    command = [sys.executable, "-m", "pre_commit", "validate-config", *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_the_hooks_and_their_arguments_are_there() -> None:
    known = {one["id"] for one in yaml.safe_load(MANIFEST.read_text("utf-8"))}
    for _, text in CONFIGURATIONS:
        (repository,) = yaml.safe_load(text)["repos"]
        given: list[dict[str, Any]] = repository["hooks"]
        assert {one["id"] for one in given} <= known
        for one in given:
            assert hook.make_context("hook", [*one.get("args", []), "vllm/a.py"]).params["files"]


@pytest.mark.parametrize("text", [text for page in PAGES for text in blocks(page, "toml")])
def test_the_settings_are_accepted(text: str, tmp_path: Path) -> None:
    (tmp_path / "vllm-contracts.toml").write_text(text, "utf-8")
    assert load_settings(tmp_path / "vllm-contracts.toml", rule_names()).origins


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text("utf-8")):
        assert (page.parent / target).exists(), target
