"""``vllm-contracts matrix``: what its options choose, and how it refuses."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from analyzer.commands import matrix as command
from analyzer.matrix import CELL_VERDICTS
from tests.cli.running import main, run
from tests.report_tree import FILES, WRAPPERS, make_tree

FIXTURE = Path(__file__).parent.parent.parent / "fixtures" / "gen_0_33"


def cells(shown: str) -> list[tuple[str, str, str]]:
    return [(x["architecture"], x["contract"], x["verdict"]) for x in csv.DictReader(io.StringIO(shown))]


def test_a_table_and_no_failure_whatever_the_verdicts(capsys: pytest.CaptureFixture[str], tree: Path) -> None:
    status, shown, errors = main(capsys, "matrix", tree)
    assert (status, errors) == (0, "")
    assert "BoastfulVL            wrapper  broken" in shown
    assert shown.endswith("SupportsEagle3: works 3, broken 1, undeclared 2, unsupported 1\n")


def test_the_verdicts_on_the_command_line_are_those_of_cells() -> None:
    assert command.VERDICTS == CELL_VERDICTS
    page = run(["matrix", "--help"]).stdout
    assert all(f"\n    {verdict} " in page for verdict in CELL_VERDICTS)
    assert max(map(len, page.splitlines())) <= 80


@pytest.mark.parametrize(
    ("arguments", "left"),
    [
        (["--only", "broken"], ["BoastfulVL"]),
        (["--only", "broken", "--only", "undeclared"], ["BoastfulVL", "ChosenVL", "LackingVL"]),
        (["--architecture", "Plain*", "--architecture", "boastfulvl"], ["BoastfulVL"] + ["Plain"] * 2),
        (["--architecture", "*VL", "--only", "works"], ["SoundVL"]),
        (["--contract", "supportseagle3", "--only", "unsupported"], ["BareForCausalLM"]),
    ],
)
def test_filters(capsys: pytest.CaptureFixture[str], tree: Path, arguments: list[str], left: list[str]) -> None:
    status, shown, _ = main(capsys, "matrix", tree, "--format", "csv", *arguments)
    assert status == 0
    names = [architecture for architecture, _, _ in cells(shown)]
    assert len(names) == len(left)
    assert all(name.startswith(start) for name, start in zip(names, left, strict=True))


def test_people_get_the_contracts_that_say_most_and_programs_all(capsys: pytest.CaptureFixture[str]) -> None:
    shown = main(capsys, "matrix", FIXTURE)[1]
    assert shown.splitlines()[2].split() == ["architecture", "role", "SupportsEagle3"]
    assert shown.endswith("6 more contracts without findings: --contract '*' shows all\n")
    assert "| role | SupportsEagle3 |\n" in main(capsys, "matrix", FIXTURE, "--format", "markdown")[1]
    every = {contract for _, contract, _ in cells(main(capsys, "matrix", FIXTURE, "--format", "csv")[1])}
    assert len(every) == 7
    record = json.loads(main(capsys, "matrix", FIXTURE, "--format", "json")[1])
    assert {contract["name"] for contract in record["contracts"]} == every
    assert all(name in main(capsys, "matrix", FIXTURE, "--contract", "*")[1] for name in every)


@pytest.mark.parametrize("form", ["text", "json", "csv", "markdown", "html"])
def test_what_is_written_is_what_is_shown(
    capsys: pytest.CaptureFixture[str], tree: Path, tmp_path: Path, form: str
) -> None:
    target = tmp_path / "matrix"
    assert main(capsys, "matrix", tree, "--format", form, "--output", target) == (0, "", "")
    written = target.read_text("utf-8")
    assert "LackingVL" in written
    assert "\x1b" not in written
    shown = main(capsys, "matrix", tree, "--format", form)[1]
    assert written == shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--only", "fine"], "'fine' is not one of 'works'"),
        (["--architecture", "SoundV"], "the tree has no architecture SoundV; did you mean SoundVL?"),
        (["--architecture", "Zz*"], "the tree has no architecture Zz*; vllm-contracts matrix"),
        (["--contract", "SupportsEagle"], "no contract SupportsEagle; did you mean SupportsEagle3?"),
        (["--links", "https://example.org/{path}"], "--links goes with --format html or markdown"),
        (["--format", "html", "--links", "https://example.org/"], "it has no {path}"),
        (["--release", "0.33.0"], "give one of PATH, --release and --python"),
    ],
)
def test_refusals(capsys: pytest.CaptureFixture[str], tree: Path, arguments: list[str], message: str) -> None:
    status, shown, errors = main(capsys, "matrix", tree, *arguments)
    assert (status, shown) == (2, "")
    assert message in errors
    assert errors.count("\n") == 1


def test_no_tree(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    status, shown, errors = main(capsys, "matrix", tmp_path)
    assert (status, shown) == (2, "")
    assert errors.startswith("error: ")


def test_what_was_not_read_is_said(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    registry = FILES["vllm/model_executor/models/registry.py"].replace('("wrappers", "SoundVL")', '("lost", "SoundVL")')
    root = make_tree(tmp_path / "tree", registry=registry)
    status, shown, errors = main(capsys, "matrix", root, "--format", "csv")
    assert status == 0
    assert "not read: vllm/model_executor/models/registry.py:6: SoundVL cannot be resolved" in errors
    assert "SoundVL" not in shown


def test_nothing_left_is_no_failure(capsys: pytest.CaptureFixture[str], tree: Path) -> None:
    status, shown, _ = main(capsys, "matrix", tree, "--only", "config-dependent")
    assert (status, shown.splitlines()[-1]) == (0, "no cell is left")


def test_links(capsys: pytest.CaptureFixture[str], tree: Path) -> None:
    template = "https://example.org/{path}#L{line}"
    shown = main(capsys, "matrix", tree, "--format", "markdown", "--links", template)[1]
    assert f"[LackingVL](https://example.org/{WRAPPERS}#L15)" in shown
    assert (
        f"https://example.org/{WRAPPERS}#L{{line}}"
        in main(capsys, "matrix", tree, "--format", "html", "--links", template)[1]
    )
