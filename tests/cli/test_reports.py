"""Several reports in one run: where each goes, what is refused, and what a CI adds."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

from analyzer import cli
from analyzer.report.formats import FORMATS
from tests.cli.running import main
from tests.report_tree import WRAPPERS, make_tree


@pytest.fixture(autouse=True)
def no_ci(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No variables of a CI that runs these tests, and a working directory of one's own."""
    for name in ("GITHUB_WORKSPACE", "GITHUB_STEP_SUMMARY", "CI_PROJECT_DIR", "BUILD_SOURCESDIRECTORY"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")


STARTS = {
    "text": "vLLM 0.33.0 in ",
    "concise": f"{WRAPPERS}:15:1: VC001 ",
    "json": '{"schema": 1,',
    "markdown": "## vllm-contracts: 3 findings",
    "github": f"::error file={WRAPPERS},line=15,col=1,title=VC001 undeclared-support::",
    "gitlab": '[\n  {"check_name": "VC001 undeclared-support"',
    "sarif": '{\n "$schema": "https://docs.oasis-open.org/sarif/',
    "junit": "<?xml version='1.0' encoding='us-ascii'?>",
}


def test_every_format_in_one_run(capsys: pytest.CaptureFixture[str], tree: Path, tmp_path: Path) -> None:
    assert set(STARTS) == set(FORMATS)
    words = [word for name in FORMATS for word in ("--format", f"{name}={tmp_path}/the {name}")]
    assert main(capsys, "audit", tree, *words) == (1, "", "")
    for name, start in STARTS.items():
        assert (tmp_path / f"the {name}").read_text("utf-8").startswith(start)


PLACES: list[tuple[str, str, dict[str, str]]] = [
    ("--format github", "github", {}),
    ("--format github --format sarif=a.sarif", "github", {"a.sarif": "sarif"}),
    ("--format sarif=a.sarif --format github", "github", {"a.sarif": "sarif"}),
    ("--format sarif --output a.sarif", "", {"a.sarif": "sarif"}),
    ("-o a.sarif --format sarif --format gitlab=a.json", "", {"a.sarif": "sarif", "a.json": "gitlab"}),
    ("--format json=-", "json", {}),
    ("--format json --output -", "json", {}),
    ("--format json=- --format concise -o a", "json", {"a": "concise"}),
    ("--format json --format json", "json", {}),
    ("--format json=a --format json=b", "", {"a": "json", "b": "json"}),
    ("--format junit=a=b.xml", "", {"a=b.xml": "junit"}),
    ("-o a.txt", "", {"a.txt": "text"}),
    ("", "text", {}),
]


@pytest.mark.parametrize(("arguments", "shown", "files"), PLACES, ids=[a for a, _, _ in PLACES])
def test_where_reports_go(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, arguments: str, shown: str, files: dict[str, str]
) -> None:
    tree = make_tree(tmp_path / "tree")
    status, out, errors = main(capsys, "audit", tree, *shlex.split(arguments))
    assert (status, errors) == (1, "")
    assert out.startswith(STARTS[shown]) if shown else out == ""
    assert {path.name for path in Path().iterdir()} == set(files)
    for name, form in files.items():
        assert Path(name).read_text("utf-8").startswith(STARTS[form])


REFUSED: list[tuple[str, str]] = [
    (
        "--format text --format sarif",
        "text and sarif would both go to standard output; name a file for one of them: --format sarif=FILE",
    ),
    ("--format text=- --format sarif", "text and sarif would both go to standard output"),
    ("--format json --format sarif -o a", "json and sarif would both go to a; name a file for one of them"),
    ("--format json=a --format sarif=./a", "json and sarif would both go to ./a"),
    ("--format json=a --format sarif -o a", "json and sarif would both go to a"),
    ("--format json=a -o b", "--output b is left without a format: every --format names its file"),
    ("--format sarif=", "'sarif=' names no file"),
    ("--format sarrif=a", "'sarrif' is not one of text, concise, json, markdown, github, gitlab, sarif, junit"),
    ("--format sarrif", "did you mean sarif?"),
    ("--format github --format json=no/such/folder/a", "no/such/folder/a: cannot be written: No such file"),
]


@pytest.mark.parametrize(("arguments", "said"), REFUSED, ids=[a for a, _ in REFUSED])
def test_what_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path, arguments: str, said: str) -> None:
    tree = make_tree(tmp_path / "tree")
    status, shown, errors = main(capsys, "audit", tree, *shlex.split(arguments))
    assert (status, shown) == (2, "")
    assert errors.startswith("error: ")
    assert errors.count("\n") == 1
    assert said in errors
    assert not list(Path().iterdir())


def test_completion_knows_the_formats() -> None:
    completion = ShellComplete(cli.cli, {}, "vllm-contracts", "_VLLM_CONTRACTS_COMPLETE")
    assert [item.value for item in completion.get_completions(["audit", "--format"], "g")] == ["github", "gitlab"]


# -- in a CI ---------------------------------------------------------------------------------------


def test_githubs_summary_is_added_to(
    capsys: pytest.CaptureFixture[str], tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    summary = tmp_path / "summary.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    main(capsys, "audit", tree, "--format", "concise")
    assert not summary.exists()
    summary.write_text("what was there\n")
    status, shown, _ = main(capsys, "audit", tree, "--format", "github", "--format", "sarif=report.sarif")
    assert status == 1
    assert shown.startswith("::error")
    written = summary.read_text("utf-8")
    assert written.startswith("what was there\n## vllm-contracts: 3 findings\n")
    assert written.count("<details>") == 3


def test_a_summary_that_cannot_be_written_is_a_failure(
    capsys: pytest.CaptureFixture[str], tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path))
    status, shown, errors = main(capsys, "audit", tree, "--format", "github")
    assert (status, shown) == (2, "")
    assert errors == f"error: {tmp_path}: cannot be written: Is a directory\n"


@pytest.mark.parametrize("variable", ["GITHUB_WORKSPACE", "CI_PROJECT_DIR", "BUILD_SOURCESDIRECTORY"])
def test_paths_start_at_the_repository_of_the_ci(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    tree = make_tree(tmp_path / "libs" / "vllm fork")
    monkeypatch.setenv(variable, str(tmp_path))
    found = json.loads(main(capsys, "audit", tree, "--format", "gitlab")[1])
    assert {issue["location"]["path"] for issue in found} == {f"libs/vllm fork/{WRAPPERS}"}
    shown = main(capsys, "audit", tree, "--format", "concise")[1]
    assert shown.startswith(f"{WRAPPERS}:15:1: ")


def test_fixes_are_told_and_not_carried_out(capsys: pytest.CaptureFixture[str], tree: Path) -> None:
    before = {path: path.read_bytes() for path in tree.rglob("*.py")}
    (run,) = json.loads(main(capsys, "audit", tree, "--format", "sarif")[1])["runs"]
    assert [result["ruleId"] for result in run["results"] if "fixes" in result] == ["VC001"]
    assert {rule["id"] for rule in run["tool"]["driver"]["rules"]} >= {"VC001", "VC004"}
    assert {path: path.read_bytes() for path in tree.rglob("*.py")} == before
