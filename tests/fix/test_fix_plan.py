"""Plans: several fixes in one file, fixes over several files, contradictions, and files that are refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from analyzer.findings import AddListItem, Edit, Fix, RemoveMethod, RenameMethod, ReplaceMethod
from analyzer.fix import plan, plan_fixes, write_plan
from analyzer.fix.plan import configured_line_length
from tests.fix.fixing import GETTER, MODELS, PATH, SETTER, base, imported, methods

MODEL = "import torch\n\nfrom .interfaces import SupportsPP\n\n\nclass Model(SupportsPP):\n    def get(self): ...\n"
CONFIG = "vllm/config.py"


def fix(*edits: Edit, summary: str = "repair") -> Fix:
    return Fix("safe", summary, edits)


def tree(root: Path, files: dict[str, str | bytes]) -> Path:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return root


def after(root: Path, *fixes: Fix) -> str:
    """The model file after fixes that all apply; written and planned again, nothing may change."""
    result = plan_fixes(root, fixes)
    assert not result.refused
    assert [change.before for change in result.changes] == [
        (root / change.path).read_bytes() for change in result.changes
    ]
    assert write_plan(root, result).paths == tuple(change.path for change in result.changes)
    again = plan_fixes(root, fixes)
    assert (again.changes, again.refused, again.applied) == ((), (), ())
    assert again.unchanged == fixes
    return (root / PATH).read_text()


def test_fixes_of_one_class_merge(tmp_path: Path) -> None:
    tree(tmp_path, {PATH: MODEL})
    text = after(
        tmp_path,
        fix(imported(), base(), methods(SETTER)),
        fix(imported(), base(), methods(GETTER)),
        fix(imported("SupportsLoRA"), base("SupportsLoRA")),
        fix(imported("HasInnerState"), base("HasInnerState", position=0)),
        fix(imported("IsHybrid"), base("IsHybrid", position=0)),
    )
    names = ["HasInnerState", "IsHybrid", "SupportsEagle3", "SupportsLoRA", "SupportsPP"]
    assert f"import (\n{''.join(f'    {name},{chr(10)}' for name in names)})\n" in text
    assert "class Model(HasInnerState, IsHybrid, SupportsPP, SupportsEagle3, SupportsLoRA):\n" in text
    assert text.index("def get(") < text.index("def set_aux") < text.index("def get_eagle3")


def test_the_same_fix_twice_is_applied_once(tmp_path: Path) -> None:
    tree(tmp_path, {PATH: MODEL})
    wanted = fix(imported(), base(), methods(SETTER))
    result = plan_fixes(tmp_path, [wanted, wanted])
    assert result.applied == (wanted, wanted)
    assert result.changes[0].after.decode().count("SupportsEagle3") == 2


def test_a_fix_that_is_in_place_is_unchanged(tmp_path: Path) -> None:
    tree(tmp_path, {PATH: MODEL})
    there, new = fix(imported("SupportsPP")), fix(imported(), base())
    result = plan_fixes(tmp_path, [new, there])
    assert (result.applied, result.unchanged) == ((new,), (there,))


CONTRADICTIONS: list[tuple[Edit, Edit]] = [
    (
        ReplaceMethod(PATH, "Model", "get", "def get(self): return 1\n"),
        ReplaceMethod(PATH, "Model", "get", "def get(self): return 2\n"),
    ),
    (methods("def new(self): ...\n"), methods("def new(self): return 2\n")),
    (RenameMethod(PATH, "Model", "get", "one"), RenameMethod(PATH, "Model", "get", "two")),
    (RemoveMethod(PATH, "Model", "get"), RenameMethod(PATH, "Model", "get", "one")),
    (methods("def new(self): ...\n"), RemoveMethod(PATH, "Model", "new")),
    (RenameMethod(PATH, "Model", "get", "new"), methods("def new(self): ...\n")),
]


@pytest.mark.parametrize(("first", "second"), CONTRADICTIONS)
def test_a_fix_that_contradicts_an_earlier_one_is_refused(tmp_path: Path, first: Edit, second: Edit) -> None:
    tree(tmp_path, {PATH: MODEL})
    one, two = fix(first, summary="one"), fix(second, summary="two")
    result = plan_fixes(tmp_path, [one, two])
    assert result.applied == (one,)
    [(refused, reason)] = result.refused
    assert refused == two
    assert reason.startswith(f"{PATH}: an earlier fix does something else to Model.")
    assert result.changes == plan_fixes(tmp_path, [one]).changes


def test_a_fix_over_several_files_is_carried_out_whole_or_not_at_all(tmp_path: Path) -> None:
    tree(tmp_path, {PATH: MODEL, CONFIG: 'TYPES = ["llama"]\n'})
    both = fix(base(), imported(), AddListItem(CONFIG, 1, "llama", "kimi"))
    assert [change.path for change in plan_fixes(tmp_path, [both]).changes] == [CONFIG, PATH]
    half = fix(base(), imported(), AddListItem(CONFIG, 1, "gemma", "kimi"))
    result = plan_fixes(tmp_path, [half])
    assert result.changes == ()
    assert result.refused == ((half, f"{CONFIG}: no list, tuple or set holds 'gemma'"),)


def test_edits_inside_one_fix_must_not_contradict_each_other(tmp_path: Path) -> None:
    tree(tmp_path, {PATH: MODEL})
    wanted = fix(RemoveMethod(PATH, "Model", "get"), RenameMethod(PATH, "Model", "get", "one"))
    assert plan_fixes(tmp_path, [wanted]).changes == ()


def test_lines_of_literals_are_those_on_disk(tmp_path: Path) -> None:
    text = f'{MODEL}\n\nA = [\n    "x",\n    "y",\n]\nB = [\n    "x",\n]\n'
    tree(tmp_path, {PATH: text})
    at_a, at_b = text[: text.index("A =")].count("\n") + 1, text[: text.index("B =")].count("\n") + 1
    fixes = [
        fix(base(), imported("SupportsEagle3"), methods(SETTER)),
        fix(AddListItem(PATH, at_a, "x", "new")),
        fix(AddListItem(PATH, at_b, "x", "new")),
    ]
    result = plan_fixes(tmp_path, fixes)
    assert result.refused == ()
    assert result.changes[0].after.endswith(
        b'A = [\n    "x",\n    "y",\n    "new",\n]\nB = [\n    "x",\n    "new",\n]\n'
    )


def test_a_fix_without_edits_is_refused(tmp_path: Path) -> None:
    nothing = Fix("none", "cannot be repaired by machine")
    assert plan_fixes(tmp_path, [nothing]).refused == ((nothing, "has no edits"),)


@pytest.mark.parametrize("path", ["../outside.py", "/etc/hosts", "a/../../outside.py", "link/outside.py"])
def test_paths_outside_of_the_root_are_refused(tmp_path: Path, path: str) -> None:
    tree(tmp_path, {"outside.py": "x = 1\n", "root/a/x.py": ""})
    (tmp_path / "root/link").symlink_to("..")
    result = plan_fixes(tmp_path / "root", [fix(imported(path=path))])
    assert [reason for _, reason in result.refused] == [f"{path}: lies outside the checkout"]


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    assert plan_fixes(tmp_path, [fix(base())]).refused[0][1] == f"{PATH}: cannot be read: No such file or directory"


KEPT = {
    "a byte order mark": b"\xef\xbb\xbfclass Model: ...\n",
    "a cookie": "# -*- coding: latin-1 -*-\nx = 'é'\nclass Model: ...\n".encode("latin-1"),
    "another alphabet": "# vim: set fileencoding=cp1251 :\nx = 'ж'\nclass Model: ...\n".encode("cp1251"),
    "japanese": "# coding: euc-jp\nx = '日本'\nclass Model: ...\n".encode("euc-jp"),
    "carriage returns": b"x = 1\r\nclass Model: ...\r\n",
    "mixed newlines": b"x = '''\r\n\n\r\n'''\nclass Model: ...\r\ny = 1\n",
    "form feeds": b"x = 1\n\x0c\n\x0cclass Model: ...\n\x0c",
    "blank lines with white space": b"x = 1 \n  \n\t\nclass Model: ...  \n   \n ",
    "no final newline": b"x = 1\nclass Model: ...",
    "characters of several bytes": "x = '𝔘é'; 𝔘é = 1\nclass Model: '''é'''\n".encode(),
}


@pytest.mark.parametrize("data", KEPT.values(), ids=list(KEPT))
def test_every_byte_outside_of_the_edit_stays(tmp_path: Path, data: bytes) -> None:
    tree(tmp_path, {PATH: data})
    [change] = plan_fixes(tmp_path, [fix(base())]).changes
    assert change.after == data.replace(b"class Model", b"class Model(SupportsEagle3)")
    assert plan_fixes(tmp_path, [fix(base(), imported(), methods(SETTER, GETTER))]).refused == ()


REFUSED = {
    "a cookie that lies": (b"# coding: ascii\nx = '\xc3\xa9'\nclass Model: ...\n", "does not decode"),
    "no such encoding": (b"# coding: klingon\nclass Model: ...\n", "does not decode"),
    "bytes that are no UTF-8": (b"x = '\xff'\nclass Model: ...\n", "does not decode"),
    "an encoding that is not one to one": (b"# coding: utf-7\nx = '+AGE-'\nclass Model: ...\n", "does not survive"),
    "bare carriage returns": (b"x = 1\rclass Model: ...\n", "has lines that end in a bare carriage return"),
    "no Python": (b"class Model(:\n", "does not parse"),
    "null bytes": (b"class Model: ...\n\x00", "does not parse"),
    "a depth beyond the parser": (b"x = " + b"(" * 9000 + b")" * 9000 + b"\nclass Model: ...\n", "does not parse"),
}


@pytest.mark.parametrize(("data", "reason"), REFUSED.values(), ids=list(REFUSED))
def test_a_file_that_cannot_be_read_faithfully_is_refused(tmp_path: Path, data: bytes, reason: str) -> None:
    tree(tmp_path, {PATH: data})
    result = plan_fixes(tmp_path, [fix(base())])
    assert result.changes == ()
    assert result.refused[0][1].startswith(f"{PATH}: {reason}")


def test_a_text_that_the_encoding_lacks_is_refused(tmp_path: Path) -> None:
    tree(tmp_path, {PATH: b"# coding: latin-1\nclass Model: ...\n"})
    result = plan_fixes(tmp_path, [fix(methods("def new(self): return '日本'\n"))])
    assert result.refused[0][1].startswith(f"{PATH}: cannot be written as iso-8859-1")


def test_a_refused_fix_leaves_the_others_alone(tmp_path: Path) -> None:
    tree(tmp_path, {PATH: MODEL, "vllm/broken.py": "class ("})
    bad = fix(imported(), imported(path="vllm/broken.py"))
    good = fix(base(), imported())
    result = plan_fixes(tmp_path, [bad, good])
    assert result.applied == (good,)
    assert [path for path, _ in result.refused] == [bad]
    assert result.changes == plan_fixes(tmp_path, [good]).changes


def test_fixes_that_do_not_settle_together_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No such fixes are known; if there are, the files must stay as they were."""
    tree(tmp_path, {PATH: MODEL, CONFIG: 'TYPES = ["llama"]\n'})
    fixes = [fix(base(), imported()), fix(methods(SETTER)), fix(AddListItem(CONFIG, 1, "llama", "kimi"))]
    monkeypatch.setattr(plan._Desk, "_is_stable", lambda _, file: len(file.edits) < 2)
    result = plan_fixes(tmp_path, fixes)
    assert [change.path for change in result.changes] == [CONFIG]
    assert result.refused == tuple((f, f"a second pass over {PATH} would change it again") for f in fixes[:2])


@pytest.mark.parametrize(
    ("settings", "length"),
    [
        ("[tool.ruff]\nline-length = 100\n", 100),
        ("[tool.ruff]\n", None),
        ("tool = 1\n", None),
        ("[tool.ruff]\nline-length = 'x'\n", None),
        ("[tool.ruff\n", None),
    ],
)
def test_the_line_length_is_the_checkouts(tmp_path: Path, settings: str, length: int | None) -> None:
    tree(tmp_path, {"pyproject.toml": settings})
    assert configured_line_length(tmp_path) == length


def test_the_line_length_decides_how_a_list_breaks(tmp_path: Path) -> None:
    line = "class Model(nn.Module, SupportsMultiModal, SupportsLoRA, SupportsPP"
    tree(tmp_path, {PATH: f"{line}, SupportsMRoPE):\n    x = 1\n"})
    assert plan_fixes(tmp_path, [fix(base())]).changes[0].after.startswith(b"class Model(\n")
    tree(tmp_path, {"pyproject.toml": "[tool.ruff]\nline-length = 100\n"})
    assert plan_fixes(tmp_path, [fix(base())]).changes[0].after.startswith(line.encode())


# -- a file is verified with all its fixes, and one by one where that fails


def test_only_the_fix_at_fault_is_refused(tmp_path: Path) -> None:
    tree(tmp_path, {PATH: b"# coding: latin-1\nclass Model:\n    x = '\xe9'\n"})
    good = [fix(methods("def one(self): return 'é'\n")), fix(methods("def two(self): return 2\n"))]
    bad = fix(methods("def new(self): return '日本'\n"))
    result = plan_fixes(tmp_path, [good[0], bad, good[1]])
    assert result.applied == tuple(good)
    assert [refused for refused, _ in result.refused] == [bad]
    assert result.changes == plan_fixes(tmp_path, good).changes


BROKEN = {
    "an edit that fits": base(),
    "an edit that changes nothing": imported("SupportsPP"),
    "an edit that does not fit": base(cls="Other"),
    "an edit of the body": RenameMethod(PATH, "Model", "get", "new"),
}


@pytest.mark.parametrize("edit", BROKEN.values(), ids=list(BROKEN))
@pytest.mark.parametrize("body", ["return (\n", "return )\n", "x = = 1\n"])
def test_an_error_in_a_body_is_the_reason_whatever_the_edit_is(tmp_path: Path, edit: Edit, body: str) -> None:
    head = f"from {MODELS}.interfaces import SupportsPP\n\n\nclass Model(SupportsPP):\n    def get(self):\n"
    tree(tmp_path, {PATH: f"{head}        {body}"})
    wanted = fix(edit)
    [(refused, reason)] = plan_fixes(tmp_path, [wanted]).refused
    assert refused == wanted
    assert reason.startswith(f"{PATH}: does not parse: ")


# -- files that share no fix are planned by themselves


def test_fixes_that_have_nothing_to_do_with_each_other_keep_their_order(tmp_path: Path) -> None:
    paths = [PATH.replace("wrapper", f"m{number}") for number in range(4)]
    tree(tmp_path, dict.fromkeys(paths, MODEL))

    def at(number: int, *edits: Edit) -> tuple[Edit, ...]:
        return tuple(replace(edit, path=paths[number]) for edit in edits)

    first, second = fix(*at(3, base(), imported())), fix(*at(0, base(), imported()))
    bad, bridge = fix(*at(1, base(cls="Other"))), fix(*at(1, methods(SETTER)), *at(2, methods(SETTER)))
    there, third = fix(*at(2, imported("SupportsPP"))), fix(*at(2, base(), imported()))
    result = plan_fixes(tmp_path, [first, there, bad, second, bridge, third])
    assert result.applied == (first, second, bridge, third)
    assert result.unchanged == (there,)
    assert [refused for refused, _ in result.refused] == [bad]
    assert [change.path for change in result.changes] == paths


def test_a_second_process_plans_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The half that is done beside comes back as if it had been done here, what is refused too."""
    fixes = []
    for number in range(2 * plan._MANY):
        path = PATH.replace("wrapper", f"m{number}")
        tree(tmp_path, {path: MODEL})
        edits: list[Edit] = [base(), imported(), *([methods(SETTER)] if number % 2 else [])]
        fixes += [fix(*(replace(edit, path=path) for edit in edits)), fix(replace(base(cls="Other"), path=path))]
    asked: list[bool] = []

    @contextmanager
    def here(work: Callable[[], object], *, pays: bool) -> Iterator[Callable[[], object]]:
        asked.append(pays)
        yield work

    beside = plan_fixes(tmp_path, fixes)
    monkeypatch.setattr(plan, "beside", here)
    assert plan_fixes(tmp_path, fixes) == beside
    assert plan_fixes(tmp_path, fixes[2:]).applied == beside.applied[1:]
    assert asked == [True, False]
    assert len(beside.applied) == len(beside.refused) == len(beside.changes) == 2 * plan._MANY
