"""What runs in other people's CI: the GitHub Action, and the README's snippets."""

from __future__ import annotations

import importlib.resources
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft7Validator  # type: ignore[import-untyped]

from analyzer.commands.audit import audit
from tests.report_tree import WRAPPERS, make_tree

ROOT = Path(__file__).parent.parent
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
README = (ROOT / "README.md").read_text("utf-8")
SNIPPETS: list[Any] = [yaml.safe_load(text) for text in re.findall(r"^```yaml\n(.*?)^```", README, re.M | re.S)]
POSIX = pytest.mark.skipif(sys.platform == "win32", reason="needs bash")


def problems(schema: str, document: object) -> list[str]:
    """What a vendor's schema objects to."""
    if sys.version_info < (3, 11):
        pytest.skip("the package that ships the schemas needs Python 3.11")
    folder = importlib.resources.files("check_jsonschema") / "builtin_schemas" / "vendor"
    validator = Draft7Validator(json.loads((folder / f"{schema}.json").read_text("utf-8")))
    return [f"{error.json_path}: {error.message}" for error in validator.iter_errors(document)]


# -- the action ------------------------------------------------------------------------------------


def test_it_is_an_action_by_githubs_schema() -> None:
    assert problems("github-actions", ACTION) == []
    assert problems("github-actions", {**ACTION, "inputs": {"path": {"describtion": "x"}}})


def test_its_inputs_are_used_and_documented_and_never_run_as_code() -> None:
    text = (ROOT / "action.yml").read_text("utf-8")
    assert set(re.findall(r"inputs\.(\w+)", text)) == set(ACTION["inputs"]) == {"path", "release", "format", "args"}
    assert all(len(given["description"]) > 30 for given in ACTION["inputs"].values())
    for step in ACTION["runs"]["steps"]:
        assert "${{" not in step["run"]


def run_action(workspace: Path, runner_temp: Path, steps: slice = slice(None), **inputs: str) -> tuple[int, str]:
    """Run the steps as GitHub does: the exit code, and everything that was printed."""
    given = {name: inputs.get(name, about["default"]) for name, about in ACTION["inputs"].items()}
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("GITHUB_", "AUDIT_", "PYTHONPATH"))}
    said = ""
    for step in ACTION["runs"]["steps"][steps]:
        named = {k: given[v.removeprefix("${{ inputs.").removesuffix(" }}")] for k, v in step.get("env", {}).items()}
        done = subprocess.run(
            [step["shell"], "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=workspace,
            env={
                **inherited,
                **named,
                "RUNNER_TEMP": str(runner_temp),
                "GITHUB_ACTION_PATH": str(ROOT),
                "GITHUB_WORKSPACE": str(workspace),
                "VLLM_CONTRACTS_CACHE": str(runner_temp / "cache"),
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        said += done.stdout
        if done.returncode:
            return done.returncode, said
    return 0, said


@pytest.fixture
def runner_temp(tmp_path: Path) -> Path:
    """The runner's folder, as the first step leaves it: with the command, which runs this code."""
    command = tmp_path / "runner temp" / "vllm-contracts" / "bin" / "vllm-contracts"
    command.parent.mkdir(parents=True)
    command.write_text(f'#!/bin/sh\nPYTHONPATH={shlex.quote(str(ROOT))} exec {sys.executable} -m analyzer "$@"\n')
    command.chmod(0o755)
    return tmp_path / "runner temp"


RUNS: list[tuple[str, dict[str, str], int, str]] = [
    ("the workspace", {}, 1, f"::error file=the tree/{WRAPPERS},line=15,"),
    ("a folder", {"path": "the tree"}, 1, f"::error file=the tree/{WRAPPERS},line=15,"),
    ("a release", {"release": "0.33.0"}, 1, f"::error file={WRAPPERS},line=15,"),
    ("further options", {"path": "the tree", "args": "--fail-on never\n--select VC004"}, 0, "title=VC004"),
    ("several formats", {"path": "the tree", "format": "concise sarif=a.sarif\njunit=b.xml"}, 1, f"{WRAPPERS}:15:1:"),
    ("both", {"path": "the tree", "release": "0.33.0"}, 2, "error: give one of PATH, --release and --python"),
    ("no code in the path", {"path": "$(touch pwned)"}, 2, "$(touch pwned): no such folder"),
    ("no code in the options", {"path": "the tree", "args": "--select `touch,pwned`"}, 2, "no rule is called `touch"),
    ("no glob", {"path": "*"}, 2, "error: "),
    ("no option", {"path": "--version"}, 2, "no such folder"),
]


@POSIX
@pytest.mark.parametrize(("inputs", "code", "said"), [run[1:] for run in RUNS], ids=[run[0] for run in RUNS])
def test_its_command_line(tmp_path: Path, runner_temp: Path, inputs: dict[str, str], code: int, said: str) -> None:
    workspace = tmp_path / "workspace"
    make_tree(workspace / "the tree")
    make_tree(runner_temp / "cache" / "releases" / "0.33.0")
    inside = workspace / "the tree" if not inputs else workspace
    status, shown = run_action(inside, runner_temp, slice(1, None), **inputs)
    assert status == code
    assert (said.replace("the tree/", "") if not inputs else said) in shown
    assert sorted(p.name for p in workspace.iterdir()) == sorted(
        ["the tree", *(["a.sarif", "b.xml"] if "sarif" in inputs.get("format", "") else [])]
    )


@POSIX
@pytest.mark.release
def test_it_installs_itself(tmp_path: Path) -> None:
    """With pip and from the package index, as on a runner."""
    tree = make_tree(tmp_path / "workspace")
    status, said = run_action(tree, tmp_path / "runner")
    assert status == 1, said
    assert f"\n::error file={WRAPPERS},line=15," in f"\n{said}"


# -- the README's snippets -------------------------------------------------------------------------


def test_github_takes_the_snippet() -> None:
    steps = SNIPPETS[0]
    workflow = {"on": "push", "jobs": {"contracts": {"runs-on": "ubuntu-latest", "steps": steps}}}
    assert problems("github-workflows", workflow) == []
    (own,) = (step for step in steps if "vllm-contracts" in step["uses"])
    assert set(own["with"]) <= set(ACTION["inputs"])
    words = [word for form in own["with"]["format"].split() for word in ("--format", form)]
    assert audit.make_context("audit", words).params["forms"]
    (upload,) = (step for step in steps if "sarif_file" in step.get("with", {}))
    assert f"sarif={upload['with']['sarif_file']}" in own["with"]["format"].split()


@pytest.mark.parametrize(("number", "schema"), [(1, "gitlab-ci"), (2, "azure-pipelines")])
def test_gitlab_and_azure_take_theirs(number: int, schema: str) -> None:
    snippet = SNIPPETS[number]
    assert problems(schema, snippet if schema == "gitlab-ci" else {"steps": snippet}) == []


@pytest.mark.parametrize("number", [1, 2])
def test_the_commands_of_the_snippets_write_what_is_read(number: int) -> None:
    text = yaml.dump(SNIPPETS[number], width=1_000)
    (line,) = re.findall(r"vllm-contracts audit (.*?)(?:\\n|\"|$)", text, re.M)
    forms = audit.make_context("audit", shlex.split(line)).params["forms"]
    files = {form.place for form in forms if form.place}
    assert files
    assert all(text.count(name) == 2 for name in files)
