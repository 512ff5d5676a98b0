"""Settings: which file counts, what may stand in it, and where each value comes from."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from analyzer.commands.selection import rule_names
from analyzer.handling import Handling
from analyzer.settings import KEYS, Settings, SettingsError, find_settings, load_settings

RULES = {"vc001": "VC001", "undeclared-support": "VC001", "vc002": "VC002", "stub-method": "VC002"}


def write(folder: Path, name: str, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text, "utf-8")
    return folder / name


def own(folder: Path, text: str = 'fail-on = "error"') -> Path:
    return write(folder, "vllm-contracts.toml", text)


def shared(folder: Path, text: str = '[tool.vllm-contracts]\nfail-on = "info"') -> Path:
    return write(folder, "pyproject.toml", text)


# -- which file ------------------------------------------------------------------------------------


def test_without_a_file_there_are_the_defaults(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    settings = find_settings(tmp_path, RULES)
    assert settings == Settings()
    assert {settings.origin(key) for key in KEYS} == {"default"}


def test_the_nearest_file_counts_alone(tmp_path: Path) -> None:
    own(tmp_path, 'select = ["VC001"]')
    near = shared(tmp_path / "a")
    settings = find_settings(tmp_path / "a" / "b" / "c", RULES)
    assert (settings.file, settings.fail_on, settings.select) == (near, "info", ())


def test_in_one_folder_our_own_file_wins(tmp_path: Path) -> None:
    shared(tmp_path)
    file = own(tmp_path)
    assert find_settings(tmp_path, RULES).file == file


@pytest.mark.parametrize(
    "text", ["", "[tool.other]\n", "[tool]\nvllm-contract = {}\n", "# vllm-contracts\n[tool.other]\n", "broken ["]
)
def test_a_pyproject_without_the_table_is_passed_over(tmp_path: Path, text: str) -> None:
    above = own(tmp_path)
    shared(tmp_path / "a", text)
    assert find_settings(tmp_path / "a", RULES).file == above


def test_an_empty_file_of_our_own_ends_the_search(tmp_path: Path) -> None:
    own(tmp_path)
    near = own(tmp_path / "a", "")
    assert find_settings(tmp_path / "a", RULES) == Settings(file=near)


@pytest.mark.parametrize("mark", [".git", ".hg"])
def test_the_root_of_a_repository_is_the_last_folder(tmp_path: Path, mark: str) -> None:
    above = own(tmp_path)
    (tmp_path / "repo" / "a").mkdir(parents=True)
    assert find_settings(tmp_path / "repo" / "a", RULES).file == above
    (tmp_path / "repo" / mark).touch()  # a worktree has a file of that name
    assert find_settings(tmp_path / "repo" / "a", RULES).file is None
    inside = shared(tmp_path / "repo")
    assert find_settings(tmp_path / "repo" / "a", RULES).file == inside


# -- what stands in it -----------------------------------------------------------------------------

ALL = """\
select = ["vc001", "stub-method", "VC002"]
ignore = [
  "VC002",
]
contracts = ["SupportsPP"]
model-roots = ["vllm/more"]
fail-on = "never"
baseline = "sub/known.json"
cache-dir = "/cache"
require-reason = true
vllm = "../vllm"
package = "ours"
interfaces = "ours/contracts.py"
registries = ["ours/tables.py"]
per-path-ignores."a/*" = ["VC001"]
per-path-ignores."b" = []
contract.SupportsOurs.undeclared = "info"
"""


def test_every_key(tmp_path: Path) -> None:
    file = own(tmp_path, ALL)
    settings = find_settings(tmp_path, RULES)
    assert settings == Settings(
        select=("VC001", "VC002"),
        ignore=("VC002",),
        per_path_ignores=(("a/*", ("VC001",)), ("b", ())),
        contracts=("SupportsPP",),
        model_roots=("vllm/more",),
        fail_on="never",
        baseline=tmp_path / "sub" / "known.json",
        cache_dir=Path("/cache"),
        require_reason=True,
        contract=(("SupportsOurs", Handling(undeclared="info")),),
        vllm=str(tmp_path / "../vllm"),
        package="ours",
        interfaces="ours/contracts.py",
        registries=("ours/tables.py",),
        file=file,
        origins=settings.origins,
    )
    lines = {"select": 1, "ignore": 2, "contracts": 5, "model-roots": 6, "fail-on": 7, "baseline": 8}
    lines |= {"cache-dir": 9, "require-reason": 10, "vllm": 11, "package": 12, "interfaces": 13, "registries": 14}
    lines |= {"per-path-ignores": 15, "contract": 17}
    assert settings.origins == {key: f"{file}:{line}" for key, line in lines.items()}
    assert lines.keys() == KEYS.keys()
    assert [settings.wants(code) for code in ("VC001", "VC002", "VC003")] == [True, False, False]


def test_the_same_in_a_pyproject(tmp_path: Path) -> None:
    mine = find_settings(own(tmp_path / "own", ALL).parent, RULES)
    file = shared(
        tmp_path / "shared", f"[project]\nname = 'x'\n[tool.vllm-contracts]\n{ALL}\n[tool.other]\nselect = 1\n"
    )
    theirs = find_settings(file.parent, RULES)
    same = [key for key, name in KEYS.items() if getattr(mine, name) == getattr(theirs, name)]
    assert set(KEYS) - set(same) == {"baseline", "vllm"}
    assert theirs.baseline == tmp_path / "shared" / "sub" / "known.json"
    assert theirs.origins["select"] == f"{file}:4"


def test_the_readme_shows_every_key(tmp_path: Path) -> None:
    (example,) = re.findall(
        r"```toml\n(.*?)```", (Path(__file__).parent.parent / "README.md").read_text("utf-8"), re.DOTALL
    )
    settings = load_settings(own(tmp_path, example), rule_names())
    assert settings.origins.keys() == KEYS.keys()


def test_a_file_of_any_name_can_be_given(tmp_path: Path) -> None:
    file = write(tmp_path, "strict.toml", 'fail-on = "info"')
    assert load_settings(file, RULES).fail_on == "info"


PROBLEMS: dict[str, tuple[str, list[str]]] = {
    "an unknown key": ('\nselct = ["VC001"]', ["2: unknown key selct; did you mean select?"]),
    "a key with underscores": ("fail_on = 1", ["1: unknown key fail_on; did you mean fail-on?"]),
    "a key like no other": ("zzz = 1", [f"1: unknown key zzz; the keys are {', '.join(KEYS)}"]),
    "an unknown table": ("[rules.x]\na = 1", ["1: unknown key rules; the keys are"]),
    "an unknown rule": (
        'select = [\n "VC001",\n "stub-metod"]',
        ["3: no rule is called stub-metod; did you mean stub-method?"],
    ),
    "a rule like no other": ('ignore = ["zzz"]', ["1: no rule is called zzz; vllm-contracts explain lists them"]),
    "a string for a list": ('select = "VC001"', ["1: select has to be an array, not a string"]),
    "a number in a list": ("contracts = [\n\n1]", ["3: an item of contracts has to be a string, not a number"]),
    "a list in a list": ('ignore = [["VC001"]]', ["1: an item of ignore has to be a string, not an array"]),
    "a string for a flag": ('require-reason = "yes"', ["1: require-reason has to be true or false, not a string"]),
    "a number for a flag": ("require-reason = 1", ["1: require-reason has to be true or false, not a number"]),
    "a flag for a path": ("baseline = true", ["1: baseline has to be a string, not true or false"]),
    "a date for a path": ("cache-dir = 2026-01-01", ["1: cache-dir has to be a string, not a date or time"]),
    "a list for a table": ("per-path-ignores = []", ["1: per-path-ignores has to be a table, not an array"]),
    "a string for codes": (
        '[per-path-ignores]\n"a/*" = "VC001"',
        ['2: per-path-ignores."a/*" has to be an array, not a string'],
    ),
    "an unknown rule for a path": ('[per-path-ignores]\na = ["VC1"]', ["2: no rule is called VC1; did you mean VC00"]),
    "an unknown word": ('fail-on = "warn"', ["1: fail-on cannot be warn; did you mean warning?"]),
    "another unknown word": ('fail-on = "x"', ["1: fail-on cannot be x; it is one of error, warning, info, never"]),
    "nobody's home": (
        'baseline = "~nobody-at-all/x"',
        ["1: baseline is in the home folder of a user that there is not"],
    ),
    "a list for contracts": ("contract = []", ["1: contract has to be a table, not an array"]),
    "a string for a contract": ('contract.SupportsX = "a"', ["1: contract.SupportsX has to be a table, not a string"]),
    "an unknown key of a contract": (
        'contract.SupportsX.undeclared = "info"\ncontract.SupportsX.hand-on = 1',
        ["2: unknown key hand-on; did you mean hands-on?"],
    ),
    "an unknown way": (
        'contract.SupportsX.hands-on = "luck"',
        ["1: hands-on is one of decoder, attributes, class-methods, declaration, not 'luck'"],
    ),
    "no name": ('contract.SupportsX.attributes = ["a b"]', ["1: attributes has to be a name of Python, not 'a b'"]),
    "nothing selected": ("select = []", ["1: select names no rule; leave it out for all"]),
    "several at once": (
        'fail-on = 1\nselct = []\nignore = ["VC009",\n2]\n',
        ["1: fail-on has", "2: unknown key", "3: no rule is called VC009", "4: an item of ignore has"],
    ),
    "no TOML": ("select = [", [": is not valid TOML: "]),
    "a key twice": ("ignore = []\nignore = []\n\n", ["2: is not valid TOML: "]),
    "no value": ("ignore = []\nselect = = 1\n", ["2: is not valid TOML: "]),
}


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("place", ["own", "shared"])
def test_all_problems_are_told_with_their_lines(tmp_path: Path, name: str, place: str) -> None:
    text, expected = PROBLEMS[name]
    if place == "own":
        file, first = own(tmp_path, text), 0
    else:
        text = text.replace("[per-path", "[tool.vllm-contracts.per-path").replace(
            "[rules", "[tool.vllm-contracts.rules"
        )
        file, first = shared(tmp_path, f"[tool.x]\n[tool.vllm-contracts]\n{text}\n"), 2
    with pytest.raises(SettingsError) as caught:
        find_settings(tmp_path, RULES)
    assert len(caught.value.problems) == len(expected)
    for said, end in zip(caught.value.problems, expected, strict=True):
        line, _, rest = end.partition(":")
        assert said.startswith(f"{file}:{int(line) + first}:{rest}" if line else f"{file}:{rest}"), said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[tool]\nvllm-contracts = 1\n", ":2: [tool.vllm-contracts] has to be a table"),
        ("[tool.vllm-contracts\n", ":1: is not valid TOML: "),
    ],
)
def test_a_pyproject_that_means_us_and_is_wrong(tmp_path: Path, text: str, said: str) -> None:
    file = shared(tmp_path, text)
    with pytest.raises(SettingsError, match=r"vllm-contracts|TOML") as caught:
        find_settings(tmp_path, RULES)
    assert str(caught.value).startswith(f"{file}{said}")


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    missing = tmp_path / "no.toml"
    with pytest.raises(SettingsError, match=r"no\.toml: cannot be read: No such file"):
        load_settings(missing, RULES)
    (tmp_path / "bytes.toml").write_bytes(b"a = 1\nb = '\xff'\n")
    with pytest.raises(SettingsError, match=r"bytes\.toml:2: is not UTF-8"):
        load_settings(tmp_path / "bytes.toml", RULES)
    (tmp_path / "vllm-contracts.toml").mkdir()
    with pytest.raises(SettingsError, match=r"vllm-contracts\.toml: cannot be read: Is a directory"):
        find_settings(tmp_path, RULES)
    with pytest.raises(SettingsError, match=r"pyproject\.toml: has no table \[tool\.vllm-contracts\]"):
        load_settings(shared(tmp_path, ""), RULES)


def test_what_is_given_later_wins_and_says_where_it_comes_from(tmp_path: Path) -> None:
    settings = find_settings(own(tmp_path, ALL).parent, RULES).override(fail_on="info", baseline=None, select=())
    assert (settings.fail_on, settings.select, settings.ignore) == ("info", (), ("VC002",))
    assert settings.origin("fail-on") == settings.origin("select") == "command line"
    assert settings.origin("baseline") == f"{tmp_path}/vllm-contracts.toml:8"
