"""Settings, suppressions and baselines on the command line: a table of folder, settings, arguments and outcome."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.cli.running import main
from tests.report_tree import FILES, WRAPPERS, make_tree
from tests.test_report_json import VALIDATOR

LACKING, BOASTFUL, CHOSEN = (
    "class LackingVL(_Wrapper):",
    "class BoastfulVL(_Wrapper, SupportsEagle3):",
    "class ChosenVL(_Wrapper):",
)
MADE = "audit {tree} -q --baseline {tmp}/known.json --update-baseline"
"""Makes a baseline of everything that the tree has."""


@dataclass(frozen=True)
class Row:
    """One run, and what it comes to.

    Args:
        arguments: with ``{tree}`` and ``{tmp}`` for folders.
        code: the exit code.
        says: what standard output holds, in its order; white space is one space.
        not_says: what it does not hold.
        errors: what standard error holds, line by line; nothing unless given.
        tree: which tree: ``tree`` (three faults) or ``sound``.
        files: settings, by path below the test's folder, which is above the tree.
        source: replacements in the file of wrappers.
        before: a run before it, which ends with 0.
        changed: replacements in the file of wrappers after that.
    """

    arguments: str
    code: int
    says: tuple[str, ...] = ()
    not_says: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    tree: str = "tree"
    files: dict[str, str] = field(default_factory=dict)
    source: dict[str, str] = field(default_factory=dict)
    before: str = ""
    changed: dict[str, str] = field(default_factory=dict)


OWN, SHARED = "tree/vllm-contracts.toml", "tree/pyproject.toml"


def ignored(head: str, comment: str) -> dict[str, str]:
    return {head: f"{head}  # vllm-contracts: {comment}"}


ROWS: dict[str, Row] = {
    # -- settings
    "select": Row("audit {tree}", 1, ("1 finding: 1 error.",), files={OWN: 'select = ["VC004"]'}),
    "select by name": Row("audit {tree}", 1, ("1 finding:",), files={OWN: 'select = ["overclaimed-support"]'}),
    "ignore": Row("audit {tree}", 0, ("no findings",), files={OWN: 'ignore = ["VC001", "VC004"]'}),
    "ignore in a pyproject": Row(
        "audit {tree}", 0, ("no findings",), files={SHARED: '[tool.vllm-contracts]\nignore = ["VC001", "VC004"]'}
    ),
    "a file above the tree": Row(
        "audit {tree}", 1, ("1 finding:",), files={"pyproject.toml": "[tool.vllm-contracts]\nignore = ['VC001']"}
    ),
    "the nearest file": Row(
        "audit {tree}", 1, ("3 findings",), files={"vllm-contracts.toml": "ignore = ['VC001']", OWN: ""}
    ),
    "the root of a repository": Row(
        "audit {tree}", 1, ("3 findings",), files={"vllm-contracts.toml": "ignore = ['VC001']", "tree/.git/HEAD": ""}
    ),
    "a file that is named": Row(
        "audit {tree} --config {tmp}/ci.toml",
        1,
        ("1 finding:",),
        files={OWN: "select = ['VC900']", "ci.toml": "ignore = ['VC001']"},
    ),
    "no file": Row("audit {tree} --no-config", 1, ("3 findings",), files={OWN: "ignore = ['VC001']"}),
    "the package's own folder": Row("audit {tree}/vllm", 1, ("1 finding:",), files={OWN: "ignore = ['VC001']"}),
    "the command line wins": Row("audit {tree} --ignore VC004", 1, ("2 findings",), files={OWN: "ignore = ['VC001']"}),
    "select puts an end to ignore": Row(
        "audit {tree} --select VC001", 1, ("2 findings",), files={OWN: "ignore = ['VC001']"}
    ),
    "ignore leaves select": Row("audit {tree} --ignore VC900", 1, ("2 findings",), files={OWN: "select = ['VC001']"}),
    "fail-on": Row("audit {tree}", 0, ("3 findings",), files={OWN: 'fail-on = "never"'}),
    "fail-on on both": Row("audit {tree} --fail-on warning", 1, ("3 findings",), files={OWN: 'fail-on = "never"'}),
    "contracts": Row("audit {tree}", 1, ("3 findings",), files={OWN: 'contracts = ["SupportsEagle3"]'}),
    "paths": Row("audit {tree}", 1, ("VC004", "1 finding:"), files={OWN: "per-path-ignores.'wrappers.py' = ['VC001']"}),
    "paths elsewhere": Row("audit {tree}", 1, ("3 findings",), files={OWN: "per-path-ignores.'plain.py' = ['VC001']"}),
    "a path and its suppression": Row(
        "audit {tree} --format concise",
        1,
        ("VC004",),
        ("VC001", "VC901"),
        files={OWN: "per-path-ignores.'wrappers.py' = ['VC001']"},
        source=ignored(LACKING, "ignore[VC001] ok"),
    ),
    "a model root": Row(
        "audit {tree} --format concise",
        1,
        ("vllm/more/extra.py:15:1: VC001 ExtraVL fails",),
        files={
            OWN: "model-roots = ['vllm/more']",
            "tree/vllm/more/extra.py": FILES[WRAPPERS]
            .replace("LackingVL", "ExtraVL")
            .split("\n\n\nclass SoundVL")[0]
            .replace("from .", "from vllm.model_executor.models.")
            .replace("import SupportsEagle3", "import SupportsEagle3 as _"),
        },
    ),
    # -- settings that cannot be used
    "several problems": Row(
        "audit {tree}",
        2,
        errors=(
            "{tree}/vllm-contracts.toml:1: unknown key selct; did you mean select?",
            "{tree}/vllm-contracts.toml:3: fail-on",
        ),
        files={OWN: "selct = []\n\nfail-on = 3"},
    ),
    "an unknown contract": Row(
        "audit {tree}",
        2,
        errors=(
            "{tree}/vllm-contracts.toml:2: this checkout has no contract SupportsEagle; did you mean SupportsEagle3?",
        ),
        files={OWN: "\ncontracts = ['SupportsEagle']"},
    ),
    "no such model root": Row(
        "audit {tree}",
        2,
        errors=("{tree}/vllm-contracts.toml:1: vllm/gone: no such folder in {tree}",),
        files={OWN: "model-roots = ['vllm/gone']"},
    ),
    "a model root outside": Row(
        "audit {tree}",
        2,
        errors=("{tree}/vllm-contracts.toml:1: ..: outside the vllm package",),
        files={OWN: "model-roots = ['..']"},
    ),
    "a model root around another": Row(
        "audit {tree}",
        2,
        errors=("{tree}/vllm-contracts.toml:1: vllm: vllm/model_executor/models in it is",),
        files={OWN: "model-roots = ['vllm']"},
    ),
    "everything ignored": Row(
        "audit {tree} --select VC001 --ignore VC001", 2, errors=("every rule that is selected is ignored",)
    ),
    "two sources of settings": Row(
        "audit {tree} --config x --no-config", 2, errors=("give one of --config and --no-config",)
    ),
    "a file of settings that is not there": Row(
        "audit {tree} --config {tmp}/x.toml", 2, errors=("{tmp}/x.toml: cannot be read: No such",)
    ),
    "settings for a repair": Row("fix {tree} --check", 2, errors=("unknown key selct",), files={OWN: "selct = 1"}),
    # -- suppressions
    "suppressed": Row(
        "audit {tree}",
        1,
        ("2 findings", "1 finding more, suppressed by comments."),
        ("VC901",),
        source=ignored(LACKING, "ignore[VC001] ok"),
    ),
    "suppressed and named": Row(
        "audit {tree} --verbose",
        1,
        ("suppressed by comments.", f"VC001 {WRAPPERS}:15 LackingVL", f"{WRAPPERS}:15: later"),
        source=ignored(LACKING, "ignore[undeclared-support] later"),
    ),
    "all suppressed": Row(
        "audit {tree}",
        0,
        ("no findings", "3 findings more, suppressed by comments."),
        source=ignored(LACKING, "ignore[VC001]")
        | ignored(BOASTFUL, "ignore[VC004]")
        | ignored(CHOSEN, "ignore[VC001]"),
    ),
    "unused": Row(
        "audit {tree} --format concise",
        1,
        (f"{WRAPPERS}:31:46: VC901 this comment suppresses nothing: VC001 is not found here",),
        source=ignored(BOASTFUL, "ignore[VC001]"),
    ),
    "unused, seen in text": Row(
        "audit {tree} --select VC901",
        1,
        ("VC901 unused-suppression warning", "no fix: remove the comment", "1 finding: 1 warning."),
        ("registered",),
        source=ignored(BOASTFUL, "ignore[VC001]"),
    ),
    "of a rule that is ignored": Row(
        "audit {tree} --ignore VC001 --format concise",
        1,
        ("VC004",),
        ("VC901",),
        source=ignored(LACKING, "ignore[VC001]"),
    ),
    "of a rule that is not selected": Row(
        "audit {tree} --select VC901", 0, ("no findings",), source=ignored(LACKING, "ignore[VC001]")
    ),
    "without a code": Row(
        "audit {tree} --format concise",
        1,
        ("VC001 LackingVL", "VC902 this comment suppresses nothing"),
        source=ignored(LACKING, "ignore"),
    ),
    "without a reason": Row("audit {tree} --select VC903 -q", 0, source=ignored(LACKING, "ignore[VC001]")),
    "without a reason that is required": Row(
        "audit {tree} --format concise",
        1,
        ("VC903 this comment suppresses VC001 and gives no reason",),
        ("LackingVL",),
        files={OWN: "require-reason = true"},
        source=ignored(LACKING, "ignore[VC001]"),
    ),
    "a repair that is suppressed": Row(
        "fix {tree}", 0, ("fixed 0",), ("LackingVL",), source=ignored(LACKING, "ignore[VC001]")
    ),
    # -- baselines
    "a baseline that is not there": Row(
        "audit {tree} --baseline {tmp}/known.json", 2, errors=("{tmp}/known.json: no such baseline",)
    ),
    "a baseline of something else": Row(
        "audit {tree} --baseline {tmp}/known.json --update-baseline",
        2,
        errors=("{tmp}/known.json: is no baseline of vllm-contracts",),
        files={"known.json": '{"runs": []}'},
    ),
    "an update of no baseline": Row(
        "audit {tree} --update-baseline", 2, errors=("--update-baseline needs --baseline FILE",)
    ),
    "a new baseline": Row(
        "audit {tree} --baseline {tmp}/known.json --update-baseline",
        0,
        ("no findings", "3 findings more, known from the baseline {tmp}/known.json, 3 of them now."),
    ),
    "everything is known": Row(
        "audit {tree} --baseline {tmp}/known.json",
        0,
        ("no findings", "3 findings more, known from"),
        ("no longer",),
        before=MADE,
    ),
    "a baseline in the settings": Row(
        "audit {tree}", 0, ("3 findings more",), before=MADE, files={OWN: "baseline = '../known.json'"}
    ),
    "what is new": Row(
        "audit {tree} --baseline {tmp}/known.json --format concise",
        1,
        ("VC001 OtherVL fails",),
        ("LackingVL", "BoastfulVL"),
        before=MADE,
        changed={
            LACKING: f"class OtherVL(_Wrapper):{FILES[WRAPPERS].split(LACKING)[1].split('class SoundVL')[0]}{LACKING}"
        },
    ),
    "what is gone": Row(
        "audit {tree} --baseline {tmp}/known.json",
        0,
        (
            "2 findings more",
            "1 entry of the baseline no longer matches a finding; --update-baseline drops it.",
            f"VC004 {WRAPPERS} BoastfulVL",
        ),
        before=MADE,
        changed={BOASTFUL: "class BoastfulVL(_Wrapper):"},
    ),
    "what is gone, for an editor": Row(
        "audit {tree} --baseline {tmp}/known.json --format concise",
        0,
        errors=("note: 1 entry of the baseline no longer matches a finding; --update-baseline drops it.",),
        before=MADE,
        changed={BOASTFUL: "class BoastfulVL(_Wrapper):"},
    ),
    "what is gone, and nobody asks": Row(
        "audit {tree} --baseline {tmp}/known.json --format concise -q",
        0,
        before=MADE,
        changed={BOASTFUL: "class BoastfulVL(_Wrapper):"},
    ),
    "what is gone is dropped": Row(
        "audit {tree} --baseline {tmp}/known.json --update-baseline",
        0,
        ("2 findings more", "1 entry of the baseline no longer matched a finding and is dropped."),
        before=MADE,
        changed={BOASTFUL: "class BoastfulVL(_Wrapper):"},
    ),
    "what was not looked at is not gone": Row(
        "audit {tree} --baseline {tmp}/known.json --select VC001", 0, ("2 findings more",), ("no longer",), before=MADE
    ),
    "a known finding that is suppressed": Row(
        "audit {tree} --baseline {tmp}/known.json",
        0,
        ("1 finding more, suppressed", "2 findings more, known", "1 entry of the baseline"),
        before=MADE,
        changed=ignored(LACKING, "ignore[VC001] ok"),
    ),
    "a known finding is repaired all the same": Row(
        "fix {tree}", 0, ("fixed 1",), before=MADE, files={OWN: "baseline = '../known.json'"}
    ),
    # -- how much is told
    "statistics": Row(
        "audit {tree} --statistics",
        1,
        ("2 VC001 undeclared-support (1 with a safe fix) 1 VC004 overclaimed-support",),
        ("LackingVL", "Summary"),
    ),
    "statistics of nothing": Row("audit {tree} --statistics", 0, tree="sound"),
    "statistics for programs": Row(
        "audit {tree} --statistics --format json",
        2,
        errors=("--statistics changes the text report, and no --format is text",),
    ),
    "quiet": Row("audit {tree} --quiet", 1, ("VC001", "VC004", "safe fix:"), ("Summary", "vLLM 0.33.0 in", "Gates")),
    "quiet about nothing": Row("audit {tree} -q", 0, tree="sound"),
    "verbose about nothing": Row("audit {tree} -v", 0, ("no findings",), ("more",), tree="sound"),
}
EMPTY = {"without a reason", "what is gone, and nobody asks", "quiet about nothing", "statistics of nothing"}


@pytest.mark.parametrize("name", ROWS)
def test_run(capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str) -> None:
    row = ROWS[name]
    places = {"tree": tmp_path / "tree", "tmp": tmp_path}
    sound = {"registry": '_TEXT_GENERATION_MODELS = {"PlainForCausalLM": ("plain", "PlainForCausalLM")}\n'}
    sound["wrappers"] = FILES[WRAPPERS].split("class LackingVL")[0]
    make_tree(places["tree"], **sound if row.tree == "sound" else {"wrappers": changed(FILES[WRAPPERS], row.source)})
    if row.before:
        status, _, errors = main(capsys, *row.before.format(**places).split())
        assert (status, errors) == (0, "")
        wrappers = places["tree"] / WRAPPERS
        wrappers.write_text(changed(wrappers.read_text(), row.changed))
    for path, text in row.files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    status, shown, errors = main(capsys, *row.arguments.format(**places).split())
    assert (status, len(errors.splitlines())) == (row.code, len(row.errors)), errors
    for said, expected in zip(errors.splitlines(), row.errors, strict=True):
        assert expected.format(**places) in said
    words, place = " ".join(shown.split()), 0
    for expected in row.says:
        place = words.index(expected.format(**places), place) + 1
    assert not [absent for absent in row.not_says if absent in words]
    assert bool(words) == bool(row.says) or name not in EMPTY


def changed(text: str, replacements: dict[str, str], times: int = 1) -> str:
    for old, new in replacements.items():
        assert text.count(old) == times
        text = text.replace(old, new)
    return text


def test_suppressed_and_known_findings_in_json(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    source = changed(FILES[WRAPPERS], ignored(LACKING, "ignore[VC001] not yet"))
    tree = make_tree(tmp_path / "tree", wrappers=source)
    known = tmp_path / "known.json"
    main(capsys, "audit", tree, "--baseline", known, "--update-baseline", "--ignore", "VC004")
    (tree / WRAPPERS).write_text(source.replace("ChosenVL", "PickedVL"))
    status, shown, _ = main(capsys, "audit", tree, "--baseline", known, "--format", "json")
    record = json.loads(shown)
    assert status == 1
    assert not list(VALIDATOR.iter_errors(record))
    assert [(f["code"], f["class"].rpartition(".")[2]) for f in record["findings"]] == [
        ("VC004", "BoastfulVL"),
        ("VC001", "PickedVL"),
    ]
    (suppressed,) = record["suppressed"]
    assert (suppressed["code"], suppressed["line"]) == ("VC001", 15)
    assert suppressed["suppressed_by"] == {"path": WRAPPERS, "line": 15, "column": 29, "reason": "not yet"}
    assert record["baseline"]["file"] == str(known)
    assert record["baseline"]["findings"] == []
    assert [(e["code"], e["class"].rpartition(".")[2]) for e in record["baseline"]["stale"]] == [("VC001", "ChosenVL")]


def test_kept_results_are_those_of_the_same_model_roots(capsys: pytest.CaptureFixture[str], tree: Path) -> None:
    extra = tree / "vllm" / "more"
    extra.mkdir()
    (extra / "a.py").write_text(changed(FILES[WRAPPERS], {"from .": "from vllm.model_executor.models."}, times=2))
    (tree / "vllm-contracts.toml").write_text("model-roots = ['vllm/more']")
    for _ in range(2):
        shown = [main(capsys, "audit", tree, "--format", "concise", *more)[1] for more in ([], ["--no-config"])]
        assert [text.count("vllm/more/a.py") for text in shown] == [3, 0]


FORMS = ["markdown", "github", "gitlab", "sarif", "junit", "json"]


@pytest.mark.parametrize("form", FORMS)
def test_a_finding_on_a_comment_in_every_format(capsys: pytest.CaptureFixture[str], tmp_path: Path, form: str) -> None:
    tree = make_tree(tmp_path, wrappers=changed(FILES[WRAPPERS], ignored(BOASTFUL, "ignore[VC001]")))
    status, shown, errors = main(capsys, "audit", tree, "--format", form, "--select", "VC901")
    assert (status, errors) == (1, "")
    assert "this comment suppresses nothing: VC001 is not found here" in shown
    if form == "json":
        assert not list(VALIDATOR.iter_errors(json.loads(shown)))


def test_a_release_has_the_settings_of_the_working_folder(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("VLLM_CONTRACTS_CACHE")
    make_tree(tmp_path / "kept" / "releases" / "0.33.0")
    (tmp_path / "kept" / "vllm-contracts.toml").write_text("ignore = ['VC004']")
    project = tmp_path / "project"
    project.mkdir()
    (project / "vllm-contracts.toml").write_text("select = ['VC004']\ncache-dir = '../kept'")
    monkeypatch.chdir(project)
    status, shown, errors = main(capsys, "audit", "--release", "0.33.0", "--format", "concise")
    assert (status, errors) == (1, "")
    assert [line.split(" ")[1] for line in shown.splitlines()] == ["VC004"]
    shutil.rmtree(tmp_path / "kept")


# -- vllm-contracts config -------------------------------------------------------------------------


def table(shown: str) -> dict[str, tuple[str, str]]:
    """Value and origin of each key that the command printed."""
    rows = (line.rpartition("  # ") for line in shown.splitlines()[1:])
    return {head.partition(" = ")[0]: (head.partition(" = ")[2].strip(), origin) for head, _, origin in rows}


def test_config_tells_what_is_in_force_and_where_it_comes_from(
    capsys: pytest.CaptureFixture[str], tree: Path, tmp_path: Path
) -> None:
    file = tree / "pyproject.toml"
    file.write_text(
        "[tool.vllm-contracts]\nignore = ['VC004']\nbaseline = 'known.json'\nper-path-ignores.'a/*' = ['VC001']\n"
    )
    status, shown, errors = main(
        capsys, "config", tree / "vllm", "--fail-on", "error", "--select", "undeclared-support"
    )
    assert (status, errors) == (0, "")
    assert shown.splitlines()[0] == f"# {file}"
    assert table(shown) == {
        "select": ('["VC001"]', "command line"),
        "ignore": ("[]", "command line"),
        "per-path-ignores": ('{ "a/*" = ["VC001"] }', f"{file}:4"),
        "contracts": ("(all)", "default"),
        "model-roots": ("[]", "default"),
        "fail-on": ('"error"', "command line"),
        "baseline": (json.dumps(str(tree / "known.json")), f"{file}:3"),
        "cache-dir": (json.dumps(str(tmp_path / "cache")), "environment, VLLM_CONTRACTS_CACHE"),
        "require-reason": ("false", "default"),
        "contract": ("{}", "default"),
        "vllm": ("(none)", "default"),
        "package": ("(none)", "default"),
        "interfaces": ("(none)", "default"),
        "registries": ("[]", "default"),
    }


def test_config_without_a_tree(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("VLLM_CONTRACTS_CACHE")
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    status, shown, _ = main(capsys, "config")
    assert (status, shown.splitlines()[0]) == (0, "# no file of settings")
    assert {origin for _, origin in table(shown).values()} == {"default"}
    (tmp_path / "vllm-contracts.toml").write_text("fail-on = 1\nselect = 1\n")
    status, shown, errors = main(capsys, "config")
    assert (status, shown, len(errors.splitlines())) == (2, "", 2)
