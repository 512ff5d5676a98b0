"""The command line: exit codes, one line for each failure, streams that close, and what it must not import."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

import analyzer
from analyzer import cli, engine
from tests.cli.running import COMMAND, main, run
from tests.report_tree import FILES, WRAPPERS, make_tree

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="uses signals and device files")


# -- audit -----------------------------------------------------------------------------------------

AUDITS: list[tuple[str, int, str]] = [
    ("{tree}", 1, "VC001 undeclared-support"),
    ("{tree}/vllm", 1, "3 findings: 2 errors, 1 warning."),
    ("{tree} --format concise", 1, f"{WRAPPERS}:15:1: VC001 LackingVL fails"),
    ("{tree} --format json", 1, '"schema": 1'),
    ("{tree} --select VC004", 1, "1 finding: 1 error."),
    ("{tree} --select vc004", 1, "1 finding: 1 error."),
    ("{tree} --select overclaimed-support,VC001", 1, "3 findings"),
    ("{tree} --select VC004 --select VC001 --ignore undeclared-support", 1, "1 finding:"),
    ("{tree} --ignore VC001,VC004", 0, "no findings"),
    ("{tree} --select VC001,VC900 --ignore VC001", 0, "no findings"),
    ("{tree} --contract SupportsEagle3", 1, "3 findings"),
    ("{tree} --fail-on never", 0, "3 findings"),
    ("{tree} --fail-on info", 1, "3 findings"),
    ("{tree} --fail-on error", 1, "3 findings"),
    ("{tree} --select VC001 --fail-on error", 1, "2 findings: 1 error, 1 warning."),
    ("{sound}", 0, "no findings"),
    ("{sound} --format concise", 0, ""),
    ("{sound} --format json", 0, '"findings": []'),
]


@pytest.mark.parametrize(("arguments", "code", "said"), AUDITS, ids=[a for a, _, _ in AUDITS])
def test_audit(
    capsys: pytest.CaptureFixture[str], tree: Path, sound_tree: Path, arguments: str, code: int, said: str
) -> None:
    words = arguments.format(tree=tree, sound=sound_tree).split()
    status, shown, errors = main(capsys, "audit", *words)
    assert (status, errors) == (code, "")
    assert said in " ".join(shown.split())


def test_a_warning_alone_fails_by_default_and_not_with_fail_on_error(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    registry = FILES["vllm/model_executor/models/registry.py"]
    kept = [line for line in registry.splitlines() if "LackingVL" not in line and "BoastfulVL" not in line]
    head, *classes = FILES[WRAPPERS].split("\n\n\nclass ")
    chosen = [text for text in classes if text.startswith(("_Wrapper", "ChosenVL"))]
    root = make_tree(tmp_path, registry="\n".join(kept), wrappers="\n\n\nclass ".join([head, *chosen]))
    assert main(capsys, "audit", root)[0] == 1
    status, shown, _ = main(capsys, "audit", root, "--fail-on", "error")
    assert status == 0
    assert "1 finding: 1 warning." in shown


FAILURES: list[tuple[str, str]] = [
    ("audit {tmp}", "no vLLM here"),
    ("audit {tmp}/nowhere", "no such folder"),
    ("audit {tree}/vllm/_version.py", "a file"),
    ("audit {tree} --select VC01", "no rule is called VC01; did you mean VC"),
    ("audit {tree} --select VC001,undeclared-suport", "did you mean undeclared-support"),
    ("audit {tree} --ignore zzz", "no rule is called zzz; vllm-contracts explain lists them"),
    ("audit {tree} --contract SupportsEagle", "no contract SupportsEagle; did you mean SupportsEagle3?"),
    ("audit {tree} --release 0.33.0", "give one of PATH, --release and --python"),
    ("audit --python {tmp}/nopython", "no such interpreter"),
    ("audit --release nonsense", "'nonsense' is no release"),
    ("audit {tree} --format xml", "'xml' is not one of"),
    ("audit {tree} --nope", "--nope"),
    ("audit {tree} another", "unexpected extra argument"),
    ("audit {tree} --output {tmp}/no/such/folder/out.txt", "cannot be written: No such file or directory"),
    ("audit {broken}", "interfaces.py cannot be used"),
    ("adit {tree}", "No such command 'adit'"),
    ("explain VC999", "no rule is called VC999"),
    ("fix", "Missing argument 'PATH'"),
    ("fix {tmp}", "no vLLM here"),
    ("fix {tree} --interactive --diff", "goes with neither --diff nor --check"),
    ("fix {tree} --class LackinVL", "no model LackinVL; did you mean LackingVL"),
]


@pytest.mark.parametrize(("arguments", "said"), FAILURES, ids=[a for a, _ in FAILURES])
def test_a_failure_is_one_clear_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, tree: Path, arguments: str, said: str
) -> None:
    broken = make_tree(tmp_path / "broken", interfaces="class (:\n")
    words = arguments.format(tree=tree, tmp=tmp_path, broken=broken).split()
    status, shown, errors = main(capsys, *words)
    assert (status, shown) == (2, "")
    assert said in errors
    assert errors.count("\n") == 1
    assert errors.startswith("error: ")


def test_json_on_standard_output_and_nothing_else(tree: Path) -> None:
    done = run(["audit", str(tree), "--format", "json"])
    assert (done.returncode, done.stderr) == (1, "")
    assert [f["code"] for f in json.loads(done.stdout)["findings"]] == ["VC001", "VC004", "VC001"]


@pytest.mark.parametrize("form", ["text", "json", "concise"])
def test_a_report_in_a_file(capsys: pytest.CaptureFixture[str], tree: Path, tmp_path: Path, form: str) -> None:
    target = tmp_path / "report"
    status, shown, errors = main(capsys, "audit", tree, "--format", form, "--output", target)
    assert (status, shown, errors) == (1, "", "")
    written = target.read_text("utf-8")
    assert "VC001" in written
    assert "\x1b" not in written
    assert written.endswith("\n")


def test_a_release_from_the_cache(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    make_tree(tmp_path / "cache" / "releases" / "0.33.0")
    status, shown, errors = main(capsys, "audit", "--release", "v0.33.0", "--format", "concise")
    assert (status, errors) == (1, "")
    assert len(shown.splitlines()) == 3


def test_what_is_installed_for_this_python(
    capsys: pytest.CaptureFixture[str], tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tree))
    status, shown, _ = main(capsys, "audit")
    assert status == 1
    assert f"in {tree}" in shown


# -- how it is started -----------------------------------------------------------------------------


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["audit", "--help"], ["fix", "--help"]])
def test_help_and_version_import_nothing_slow(arguments: list[str]) -> None:
    script = (
        "import sys; from analyzer.cli import main; code = main(sys.argv[1:]);"
        "print(*sys.modules, sep='\\n', file=sys.stderr); sys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", script, *arguments], capture_output=True, text=True, check=True)
    slow = {"rich", "libcst", "rules", "analyzer.engine", "analyzer.index", "analyzer.release", "analyzer.checkout"}
    assert not slow & set(done.stderr.split())
    assert done.stdout


def test_version_and_module() -> None:
    assert run(["--version"]).stdout == f"vllm-contracts, version {analyzer.__version__}\n"


def test_help_shows_a_newcomer_what_to_type() -> None:
    shown = run(["--help"]).stdout
    assert "vllm-contracts audit --release 0.33.0" in shown
    assert max(map(len, shown.splitlines())) <= 80
    for command in ("audit", "fix", "diff", "explain", "verify"):
        page = run([command, "--help"]).stdout
        assert f"vllm-contracts {command} " in page
        assert max(map(len, page.splitlines())) <= 80


def test_without_arguments_it_helps() -> None:
    done = run([])
    assert (done.returncode, done.stdout) == (2, "")
    assert "Start with one of these" in done.stderr


def test_the_group_runs_under_other_programs_too(tree: Path) -> None:
    result = CliRunner().invoke(cli.cli, ["audit", str(tree), "--format", "concise"])
    assert result.exit_code == 1
    assert len(result.output.splitlines()) == 3


# -- how it ends -----------------------------------------------------------------------------------


def test_an_internal_error_is_one_line_that_says_how_to_report_it(
    capsys: pytest.CaptureFixture[str], tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RecursionError("too\ndeep \x1b[31m")

    monkeypatch.setattr(engine, "read_and_judge", fail)
    status, shown, errors = main(capsys, "audit", tree)
    assert (status, shown) == (2, "")
    assert errors.startswith("error: internal error, RecursionError: too deep \\x1b[31m; this is a bug of ")
    assert "VLLM_CONTRACTS_DEBUG=1" in errors
    assert errors.count("\n") == 1
    monkeypatch.setenv("VLLM_CONTRACTS_DEBUG", "1")
    status, _, errors = main(capsys, "audit", tree)
    assert status == 2
    assert "Traceback" in errors


@POSIX
@pytest.mark.parametrize("form", ["text", "json", "concise"])
def test_a_reader_that_leaves_is_no_error(tree: Path, form: str) -> None:
    process = subprocess.Popen(
        [*COMMAND, "audit", str(tree), "--format", form], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    process.stdout.close()  # long before the report is there
    assert process.stderr is not None
    assert process.stderr.read() == b""
    assert process.wait() == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("form", ["text", "json"])
def test_a_full_disk_is_a_failure(tree: Path, form: str) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*COMMAND, "audit", str(tree), "--format", form],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 2
    assert done.stderr == "error: the report cannot be written: No space left on device\n"


@POSIX
@pytest.mark.parametrize("redirection", [">&-", "2>&-", ">&- 2>&-"])
def test_closed_streams_change_nothing(tree: Path, redirection: str) -> None:
    done = subprocess.run(
        ["sh", "-c", f'"$0" -m analyzer audit "$1" {redirection}', sys.executable, str(tree)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr == ""


def _listen_to_interrupts() -> None:
    """A shell starts what runs in the background with interrupts ignored, and children inherit that."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@POSIX
def test_ctrl_c_is_quiet(tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\ntouch {tmp_path}/asked\nexec sleep 60\n")
    python.chmod(0o755)
    process = subprocess.Popen(
        [*COMMAND, "audit", "--python", str(python)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=_listen_to_interrupts,
    )
    deadline = time.monotonic() + 30
    while not (tmp_path / "asked").exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    assert "".join(process.communicate(timeout=30)).strip() == ""
    assert process.returncode == 130


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252"])
@pytest.mark.parametrize("form", ["text", "concise", "json"])
def test_any_encoding_will_do(tmp_path: Path, encoding: str, form: str) -> None:
    wrappers = FILES[WRAPPERS].replace("LackingVL", "Lücken模VL")
    registry = FILES["vllm/model_executor/models/registry.py"].replace("LackingVL", "Lücken模VL")
    root = make_tree(tmp_path / "tree", wrappers=wrappers, registry=registry)
    done = subprocess.run(
        [*COMMAND, "audit", str(root), "--format", form],
        env={**os.environ, "PYTHONIOENCODING": encoding},
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (1, b"")
    assert b"VC001" in done.stdout
    assert "\\u6a21VL" in done.stdout.decode(encoding)


def test_the_summaries_are_those_of_the_commands() -> None:
    context = cli.cli.make_context("vllm-contracts", ["audit"], resilient_parsing=True)
    commands = {name: cli.cli.get_command(context, name) for name in cli.cli.list_commands(context)}
    assert {name: command.short_help for name, command in commands.items() if command} == cli.SUMMARIES
