"""``vllm-contracts consumers``: formats, exit codes, and what it says of bad input."""

from __future__ import annotations

import json
import shutil
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest

from tests.cli.running import main, run
from tests.fixture_trees import FIXTURES

NEWER, OLDER = (FIXTURES / "drift" / name for name in ("newer", "older"))
SCHEMA: dict[str, Any] = json.loads((resources.files("analyzer.report") / "consumers_schema.json").read_text("utf-8"))
SOURCE = """
from vllm.attention import Attention
from vllm.helpers import layout
from vllm.tokens import join

try:
    from vllm.engine import Gone
except ImportError:
    Gone = None


def use():
    return layout(2, columns=3), join([], separator="-"), Attention
"""


@pytest.fixture
def package(tmp_path: Path) -> Path:
    folder = tmp_path / "client"
    folder.mkdir()
    (folder / "__init__.py").write_text(SOURCE)
    return folder


def test_the_report_for_people(capsys: pytest.CaptureFixture[str], package: Path) -> None:
    status, shown, errors = main(capsys, "consumers", package, "--vllm", NEWER, "--since", OLDER)
    assert (status, errors) == (1, "")
    assert shown.startswith("client with vLLM 2.0.0, and vLLM 1.0.0 before it\n")
    flat = " ".join(shown.split())
    assert "missing-module: vLLM has no module vllm.attention client/__init__.py:2" in flat
    assert "it is in vllm.layers.attention.Attention (vllm/layers/attention.py:1)" in flat
    assert "layout takes no columns client/__init__.py:13 vllm/helpers.py:4" in flat
    assert flat.count("vLLM 1.0.0 honours it") == 2
    assert "2 uses not honoured, 0 gates with problems; 1 not honoured and behind a guard, 1 not judged" in flat
    assert "join is defined more than once" not in flat


def test_what_is_counted_is_listed_when_it_is_asked_for(capsys: pytest.CaptureFixture[str], package: Path) -> None:
    flat = " ".join(main(capsys, "consumers", package, "--vllm", NEWER, "--verbose")[1].split())
    assert "join(…): join is defined more than once client/__init__.py:13" in flat
    assert "vllm.engine does not have Gone; behind a handler for ImportError client/__init__.py:7" in flat


def test_the_report_as_compilers_do(capsys: pytest.CaptureFixture[str], package: Path) -> None:
    status, shown, errors = main(capsys, "consumers", package, "--vllm", NEWER, "--format", "concise")
    assert (status, errors) == (1, "")
    assert shown.splitlines() == [
        "client/__init__.py:2:1: missing-module vLLM has no module vllm.attention; "
        "it is in vllm.layers.attention.Attention",
        "client/__init__.py:13:12: unknown-argument layout takes no columns",
    ]


@pytest.mark.parametrize("since", [(), ("--since", OLDER)])
def test_the_report_for_programs(capsys: pytest.CaptureFixture[str], package: Path, since: tuple[object, ...]) -> None:
    status, shown, errors = main(capsys, "consumers", package, "--vllm", NEWER, "--format", "json", *since)
    assert (status, errors) == (1, "")
    record = json.loads(shown)
    jsonschema.validate(record, SCHEMA)
    assert [use["before"] for use in record["uses"]] == [("honoured" if since else None)] * 2
    assert record["vllm"]["version"] == "2.0.0"
    assert (record["since"] is None) is not bool(since)
    assert len(record["guarded"]) == len(record["not_judged"]) == 1


def test_gates_are_described_by_the_schema(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    folder = tmp_path / "asks"
    folder.mkdir()
    (folder / "__init__.py").write_text(
        "from vllm.model_executor.models.interfaces import supports_eagle3\n\n\n"
        "def use(model):\n    if supports_eagle3(model):\n        return model.model\n"
    )
    tree = FIXTURES / "gen_0_16"
    status, shown, _ = main(capsys, "consumers", folder, "--vllm", tree, "--format", "json")
    record = json.loads(shown)
    jsonschema.validate(record, SCHEMA)
    assert status == 1
    assert record["gates"][0]["problems"] == ["lacking-path"]
    text = main(capsys, "consumers", folder, "--vllm", tree)[1]
    assert "lacking-path: use asks model, the outer model, by supports_eagle3" in " ".join(text.split())
    concise = main(capsys, "consumers", folder, "--vllm", tree, "--format", "concise")[1]
    assert concise.startswith("asks/__init__.py:5:8: lacking-path ")


def test_a_package_that_fits_is_clean(capsys: pytest.CaptureFixture[str], package: Path) -> None:
    (package / "__init__.py").write_text("from vllm.helpers import layout\n\nlayout(1)\n")
    for form in ("text", "concise", "json"):
        status, shown, errors = main(capsys, "consumers", package, "--vllm", NEWER, "--format", form)
        assert (status, errors) == (0, "")
        assert (shown == "") is (form == "concise")


def test_a_report_goes_to_a_file(capsys: pytest.CaptureFixture[str], package: Path, tmp_path: Path) -> None:
    target = tmp_path / "report"
    status = main(capsys, "consumers", package, "--vllm", NEWER, "-o", target)
    assert status == (1, "", "")
    assert target.read_text().startswith("client with vLLM 2.0.0\n")


def test_releases_by_their_number(capsys: pytest.CaptureFixture[str], package: Path, tmp_path: Path) -> None:
    shutil.copytree(NEWER, tmp_path / "cache" / "releases" / "2.0.0")
    words = ("consumers", package, "--vllm", "2.0.0", "--cache-dir", tmp_path / "cache")
    assert main(capsys, *words, "--format", "concise")[0] == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("{package}", "--vllm", "no/such/tree"), "no such folder, no release number"),
        (("{package}/missing", "--vllm", "{newer}"), "no such folder"),
        (("{package}/__init__.py", "--vllm", "{newer}"), "a file"),
        (("{older}/vllm", "--vllm", "{newer}"), "vLLM itself"),
        (("{package}", "--vllm", "{package}"), "no vLLM here"),
        (("{package}", "--vllm", "{newer}", "--since", "{package}"), "no vLLM here"),
        ((), "Missing argument"),
    ],
)
def test_bad_input_gives_one_line(package: Path, arguments: tuple[str, ...], said: str) -> None:
    places = {"package": package, "newer": NEWER, "older": OLDER}
    ended = run(["consumers", *(argument.format(**places) for argument in arguments)])
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.count("\n") == 1
    assert said in ended.stderr


def test_a_file_that_cannot_be_read_is_told(capsys: pytest.CaptureFixture[str], package: Path) -> None:
    (package / "bad.py").write_text("import vllm\ndef f(:\n")
    status, shown, errors = main(capsys, "consumers", package, "--vllm", NEWER, "--format", "concise")
    assert status == 1
    assert len(shown.splitlines()) == 2
    assert errors.startswith("not read: client/bad.py: ")
