"""The command line: exit codes, one line for each failure, streams that close, and what it must not import."""

from __future__ import annotations

import io
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner
from rich.console import Console

import analyzer
from analyzer import cli, engine
from analyzer.commands import explain, progress
from rules import all_rules
from rules._rule import Case, Rule
from tests.report_tree import FILES, WRAPPERS, make_tree

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="uses signals and device files")
COMMAND = [sys.executable, "-m", "analyzer"]


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No settings of the developer's, and a cache of one's own."""
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "VLLM_CONTRACTS_DEBUG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("VLLM_CONTRACTS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PYTHONIOENCODING", "utf-8")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return make_tree(tmp_path / "tree")


@pytest.fixture
def sound_tree(tmp_path: Path) -> Path:
    """A checkout without findings: the one wrapper that stays is in order."""
    registry = '_TEXT_GENERATION_MODELS = {"PlainForCausalLM": ("plain", "PlainForCausalLM")}\n'
    wrappers = FILES[WRAPPERS].split("class LackingVL")[0]
    return make_tree(tmp_path / "sound", registry=registry, wrappers=wrappers)


def run(arguments: Sequence[str], **options: object) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own."""
    return subprocess.run([*COMMAND, *arguments], capture_output=True, encoding="utf-8", timeout=60, **options)  # type: ignore[call-overload, no-any-return]


def main(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    """The command in this process: exit code, standard output, standard error."""
    code = cli.main([str(argument) for argument in arguments])
    return code, *capsys.readouterr()


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
    ("audit {tree} --select VC01", "no rule is called VC01; did you mean VC0"),
    ("audit {tree} --select VC001,undeclared-suport", "did you mean undeclared-support"),
    ("audit {tree} --ignore zzz", "no rule is called zzz; vllm-contracts explain lists them"),
    ("audit {tree} --contract SupportsEagle", "no contract SupportsEagle; it has SupportsEagle3"),
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
    for command in ("audit", "fix", "explain"):
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

    monkeypatch.setattr(engine, "audit", fail)
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


@POSIX
def test_ctrl_c_is_quiet(tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\ntouch {tmp_path}/asked\nexec sleep 60\n")
    python.chmod(0o755)
    process = subprocess.Popen(
        [*COMMAND, "audit", "--python", str(python)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
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


# -- progress --------------------------------------------------------------------------------------


def console(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """Standard error as a terminal, recorded."""
    recorded = io.StringIO()
    shown = Console(file=recorded, force_terminal=True, width=80, color_system=None)
    monkeypatch.setattr(progress, "_terminal", lambda: shown)
    return recorded


def test_a_bar_while_a_release_is_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    recorded = console(monkeypatch)
    with progress.fetching("0.33.0") as report:
        assert recorded.getvalue() == ""
        assert report is not None
        report("waiting", 0, None)
        report("downloading", 1_000_000, None)
        report("downloading", 200_000_000, 400_000_000)
        report("unpacking", 1, 2)
    shown = recorded.getvalue()
    assert "unpacking vLLM 0.33.0" in shown
    assert "1 of 2 files" in shown


@pytest.mark.parametrize(
    ("phase", "done", "total", "shown"),
    [
        ("waiting", 0, None, ""),
        ("downloading", 1_400_000, None, "1 MB"),
        ("downloading", 200_000_000, 400_000_000, "200 of 400 MB"),
        ("unpacking", 3, 12, "3 of 12 files"),
    ],
)
def test_amounts(phase: str, done: int, total: int | None, shown: str) -> None:
    assert progress._amount(phase, done, total) == shown


def test_an_audit_on_a_terminal_says_that_it_works_and_removes_it(
    capsys: pytest.CaptureFixture[str], tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded = console(monkeypatch)
    assert main(capsys, "audit", tree, "--format", "json")[0] == 1
    assert "reading vLLM 0.33.0" in recorded.getvalue()
    assert recorded.getvalue().endswith("\x1b[2K")


def test_nobody_looks_in_a_pipe() -> None:
    with progress.fetching("0.33.0") as report:
        assert report is None


# -- explain ---------------------------------------------------------------------------------------


def test_explain_lists_every_rule(capsys: pytest.CaptureFixture[str]) -> None:
    status, shown, _ = main(capsys, "explain")
    assert status == 0
    for rule in all_rules():
        assert f"{rule.code}  {rule.name}" in shown
    assert max(map(len, shown.splitlines())) <= explain.WIDTH


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.code)
def test_explain_one(capsys: pytest.CaptureFixture[str], rule: Rule) -> None:
    by_code = main(capsys, "explain", rule.code.lower())
    assert by_code == main(capsys, "explain", rule.name)
    words = " ".join(by_code[1].split())
    for part in (rule.what, rule.why, rule.how):
        assert " ".join(part.split()) in words


def test_explain_shows_the_first_cases(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    rule = type(all_rules()[0])
    monkeypatch.setattr(rule, "bad", (Case("A wrapper without it", "class A:\n    x = 1\n", {}),))
    monkeypatch.setattr(rule, "good", (Case("A wrapper with it", "\nclass B:\n    pass\n", {}),))
    shown = main(capsys, "explain", rule.code)[1]
    assert shown.endswith(
        "\nReported: A wrapper without it\n    class A:\n        x = 1\n"
        "\nNot reported: A wrapper with it\n    class B:\n        pass\n"
    )


# -- fix -------------------------------------------------------------------------------------------


def contents(tree: Path) -> dict[str, bytes]:
    return {str(p.relative_to(tree)): p.read_bytes() for p in tree.rglob("*.py")}


def bases(tree: Path, name: str) -> str:
    text = (tree / WRAPPERS).read_text()
    return text.partition(f"class {name}(")[2].partition(")")[0]


def test_fix_applies_the_safe_fixes_and_says_what_is_left(capsys: pytest.CaptureFixture[str], tree: Path) -> None:
    status, shown, errors = main(capsys, "fix", tree)
    assert (status, errors) == (0, "")
    assert shown.splitlines()[:3] == [
        "fixed 1:",
        f"  VC001 {WRAPPERS}:15",
        "    add SupportsEagle3 to the bases of LackingVL",
    ]
    words = " ".join(shown.split())
    assert "left 2:" in words
    assert "no fix: BareForCausalLM itself would have to support" in words
    assert "unsafe, --unsafe-fixes would add SupportsEagle3 to the bases of ChosenVL" in words
    assert bases(tree, "LackingVL") == "_Wrapper, SupportsEagle3"
    assert bases(tree, "ChosenVL") == "_Wrapper"
    assert main(capsys, "fix", tree)[1].startswith("fixed 0\n")


def test_unsafe_fixes_on_request_and_nothing_to_do_afterwards(capsys: pytest.CaptureFixture[str], tree: Path) -> None:
    assert main(capsys, "fix", tree, "--unsafe-fixes")[0] == 0
    assert bases(tree, "ChosenVL") == "_Wrapper, SupportsEagle3"
    before = contents(tree)
    assert main(capsys, "fix", tree, "--unsafe-fixes", "--check")[0] == 0
    assert main(capsys, "fix", tree, "--unsafe-fixes")[0] == 0
    assert contents(tree) == before
    status, shown, _ = main(capsys, "audit", tree, "--format", "concise")
    assert (status, [line.split()[1] for line in shown.splitlines()]) == (1, ["VC004"])


@pytest.mark.parametrize("arguments", [["--diff"], ["--check"], ["--diff", "--check"]])
def test_diff_and_check_write_nothing(capsys: pytest.CaptureFixture[str], tree: Path, arguments: list[str]) -> None:
    before = contents(tree)
    status, shown, errors = main(capsys, "fix", tree, *arguments)
    assert contents(tree) == before
    assert status == ("--check" in arguments)
    assert "would fix 1:" in (errors if "--diff" in arguments else shown)
    assert shown.startswith(f"--- a/{WRAPPERS}\n") is ("--diff" in arguments)


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_git_applies_the_diff(tree: Path, tmp_path: Path) -> None:
    patch = run(["fix", str(tree), "--unsafe-fixes", "--diff"]).stdout
    other = make_tree(tmp_path / "other")
    subprocess.run(["git", "apply", "-"], input=patch, text=True, cwd=other, check=True)
    assert run(["fix", str(tree), "--unsafe-fixes"]).returncode == 0
    assert contents(other) == contents(tree)


@pytest.mark.parametrize(
    ("arguments", "fixed"),
    [
        (["--class", "LackingVL"], ["LackingVL"]),
        (["--class", "vllm.model_executor.models.wrappers.ChosenVL"], ["ChosenVL"]),
        (["--class", "SoundVL"], []),
        (["--class", "LackingVL", "--class", "ChosenVL"], ["LackingVL", "ChosenVL"]),
        (["--select", "VC004"], []),
        (["--ignore", "undeclared-support"], []),
        (["--contract", "SupportsEagle3"], ["LackingVL", "ChosenVL"]),
    ],
)
def test_fix_only_what_is_named(
    capsys: pytest.CaptureFixture[str], tree: Path, arguments: list[str], fixed: list[str]
) -> None:
    assert main(capsys, "fix", tree, "--unsafe-fixes", *arguments)[0] == 0
    names = ("LackingVL", "ChosenVL")
    assert [name for name in names if bases(tree, name) == "_Wrapper, SupportsEagle3"] == fixed


@pytest.mark.parametrize(
    ("answers", "fixed"),
    [
        ("y\ny\n", ["LackingVL", "ChosenVL"]),
        ("n\ny\n", ["ChosenVL"]),
        ("a\n", ["LackingVL", "ChosenVL"]),
        ("n\na\n", ["ChosenVL"]),
        ("q\n", []),
        ("y\nq\n", ["LackingVL"]),
        ("what\ny\nn\n", ["LackingVL"]),
    ],
)
def test_interactive(tree: Path, answers: str, fixed: list[str]) -> None:
    done = run(["fix", str(tree), "--unsafe-fixes", "--interactive"], input=answers)
    assert done.returncode == 0
    assert "1 of 2: VC001 LackingVL fails supports_eagle3" in done.stdout
    assert "+class LackingVL(_Wrapper, SupportsEagle3):" in done.stdout
    assert [name for name in ("LackingVL", "ChosenVL") if bases(tree, name) != "_Wrapper"] == fixed
    assert ("not chosen: " in done.stdout) is ("LackingVL" not in fixed)


def test_interactive_without_an_answer_writes_nothing(tree: Path) -> None:
    before = contents(tree)
    done = run(["fix", str(tree), "--interactive"], input="")
    assert (done.returncode, done.stderr) == (130, "")
    assert contents(tree) == before


def test_a_file_that_cannot_be_written_is_named_and_fails_the_run(
    capsys: pytest.CaptureFixture[str], tree: Path
) -> None:
    (tree / WRAPPERS).chmod(0o444)
    before = contents(tree)
    status, shown, _ = main(capsys, "fix", tree)
    assert status == 1
    assert contents(tree) == before
    assert shown.startswith("fixed 0\n")
    assert f"not carried out: {WRAPPERS} is read-only" in " ".join(shown.split())
