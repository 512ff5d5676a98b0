"""``vllm-contracts diff``: trees and releases, formats, exit codes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.changed_trees import NEWER, OLDER, edited
from tests.changed_trees import report as write
from tests.cli.running import main, run
from tests.report_tree import make_tree

PAIR = tuple[Path, Path]


@pytest.fixture
def pair(tmp_path: Path) -> PAIR:
    for name, files in (("old", OLDER), ("new", NEWER)):
        write(tmp_path / name, **files)
    return tmp_path / "old", tmp_path / "new"


def test_diff(capsys: pytest.CaptureFixture[str], pair: PAIR) -> None:
    status, shown, errors = main(capsys, "diff", *pair)
    assert (status, errors) == (0, "")
    assert shown.startswith("From vLLM 0.17.0 to 0.33.0\n")
    assert "renamed from" in shown
    assert main(capsys, "diff", *pair) == (status, shown, errors), "from the cache it is the same"
    assert main(capsys, "diff", *pair, "--no-cache") == (status, shown, errors)


def test_releases_by_their_number(capsys: pytest.CaptureFixture[str], tmp_path: Path, tree: Path) -> None:
    make_tree(tmp_path / "cache" / "releases" / "0.33.0")
    status, shown, errors = main(capsys, "diff", "v0.33.0", tree)
    assert (status, errors) == (0, "")
    assert "Nothing differs" in shown


def test_a_folder_of_that_name_comes_first(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, pair: PAIR, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(pair[0], tmp_path / "0.33.0")
    monkeypatch.chdir(tmp_path)
    assert main(capsys, "diff", "0.33.0", pair[1])[1].startswith("From vLLM 0.17.0 to 0.33.0\n")


@pytest.mark.parametrize(
    ("swapped", "options", "status"),
    [(False, [], 0), (True, [], 0), (False, ["--exit-code"], 0), (True, ["--exit-code"], 1)],
)
def test_the_exit_code_tells_of_losses_only_where_asked(
    capsys: pytest.CaptureFixture[str], pair: PAIR, swapped: bool, options: list[str], status: int
) -> None:
    assert main(capsys, "diff", *(reversed(pair) if swapped else pair), *options)[0] == status


@pytest.mark.parametrize("form", ["text", "json", "markdown"])
def test_a_file_gets_what_standard_output_would(
    capsys: pytest.CaptureFixture[str], pair: PAIR, tmp_path: Path, form: str
) -> None:
    target = tmp_path / "changes"
    assert main(capsys, "diff", *pair, "--format", form, "-o", target) == (0, "", "")
    written = target.read_text("utf-8")
    assert "\x1b" not in written
    if form == "json":
        assert json.loads(written)["new"]["vllm_version"] == "0.33.0"
    else:
        assert "Gained support" in written


def test_one_contract(capsys: pytest.CaptureFixture[str], pair: PAIR) -> None:
    shown = main(capsys, "diff", *pair, "--contract", "SupportsEagle3", "--format", "json")[1]
    assert {f["contract"] for f in json.loads(shown)["findings"]} == {"SupportsEagle3"}


def test_the_settings_of_the_new_tree_say_what_counts_in_both(capsys: pytest.CaptureFixture[str], pair: PAIR) -> None:
    def codes(*options: str) -> set[str]:
        record = json.loads(main(capsys, "diff", *reversed(pair), "--format", "json", *options)[1])
        assert record["worse"], "support is lost whatever rules are selected"
        return {f["code"] for f in record["findings"]}

    assert codes() == {"VC001", "VC002", "VC005", "VC012"}
    (pair[0] / "vllm-contracts.toml").write_text('ignore = ["VC012"]\nbaseline = "nowhere.json"\n')
    assert codes() == {"VC001", "VC002", "VC005"}
    (pair[0] / "vllm-contracts.toml").write_text('contracts = ["SupportsNothing"]\n')
    assert "neither tree has a contract SupportsNothing" in main(capsys, "diff", *reversed(pair))[2]
    assert codes("--contract", "SupportsEagle3") == {"VC001", "VC002", "VC005", "VC012"}


def test_a_finding_that_is_suppressed_makes_nothing_worse(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, tree: Path
) -> None:
    comment = "class LackingVL(_Wrapper):  # vllm-contracts: ignore[VC001] no drafter exists for it"
    silent = make_tree(tmp_path / "silent", wrappers=edited("wrappers", ("class LackingVL(_Wrapper):", comment)))
    assert main(capsys, "diff", silent, tree, "--exit-code")[0] == 1
    status, shown, _ = main(capsys, "diff", tree, silent, "--exit-code")
    assert (status, "Findings that are gone" in shown) == (0, True)


FAILURES = [
    ("diff {old}", "Missing argument 'NEW'"),
    ("diff {old} {tmp}/nowhere", "NEW: {tmp}/nowhere: no such folder, and no release number such as 0.33.0"),
    ("diff nonsense {new}", "OLD: nonsense: no such folder"),
    ("diff {tmp} {new}", "no vLLM here"),
    (
        "diff {old} {new} --contract SupportsEagle",
        "neither tree has a contract SupportsEagle; did you mean SupportsEagle3?",
    ),
    ("diff {old} {new} --contract zzz", "explain --contract lists them"),
    ("diff {old} {broken}", "interfaces.py cannot be used"),
    ("diff {old} {new} --format xml", "'xml' is not one of"),
    ("diff {old} {new} -o {tmp}/no/such/file", "cannot be written"),
]


@pytest.mark.parametrize(("arguments", "said"), FAILURES, ids=[a for a, _ in FAILURES])
def test_a_failure_is_one_clear_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, pair: PAIR, arguments: str, said: str
) -> None:
    names = {
        "old": pair[0],
        "new": pair[1],
        "tmp": tmp_path / "empty",
        "broken": make_tree(tmp_path / "broken", interfaces="class (:\n"),
    }
    (tmp_path / "empty").mkdir()
    status, shown, errors = main(capsys, *arguments.format(**names).split())
    assert (status, shown) == (2, "")
    assert said.format(**names) in errors.replace("Invalid value for ", "")
    assert errors.count("\n") == 1
    assert errors.startswith("error: ")


def test_help_fits_a_terminal() -> None:
    page = run(["diff", "--help"]).stdout
    assert "vllm-contracts diff 0.20.2 0.22.1" in page
    assert max(map(len, page.splitlines())) <= 80
