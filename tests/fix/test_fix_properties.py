"""Edits of random modules: they run, they hold what was declared and nothing else, and they settle."""

from __future__ import annotations

import ast
import io
import subprocess
import sys
import tokenize
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzer.findings import AddBase, AddImport, AddMethods, Edit, Fix, RemoveMethod, RenameMethod, ReplaceMethod
from analyzer.fix import Refused, edits, plan, plan_fixes, render_diff
from analyzer.fix.edits import apply_edits
from tests.fix.fixing import GETTER, INTERFACES, PATH, SETTER, edited
from tests.fix.modules import Built, Recorder, build_module, class_of, execute, stand_in_packages

NAMES = ("set_aux_hidden_state_layers", "get_eagle3_default_aux_hidden_state_layers")
AFTER = ("compute_logits", "forward")
randoms = st.integers(0, 2**32).map(Random)  # a seed that fails is short to tell and run again


def repair(cls: str, position: int) -> list[Edit]:
    return [
        AddBase(PATH, cls, "SupportsEagle3", position),
        AddImport(PATH, INTERFACES, "SupportsEagle3"),
        AddMethods(PATH, cls, (SETTER, GETTER), AFTER),
    ]


def comments(text: str) -> list[str]:
    stream = io.StringIO(text.replace("\r\n", "\n"))
    return [token.string for token in tokenize.generate_tokens(stream.readline) if token.type == tokenize.COMMENT]


def find_class(tree: ast.Module, qualified: str) -> ast.ClassDef:
    """A class by its qualified name, found in another way than the code under test does."""
    node: ast.AST = tree
    for name in qualified.split("."):
        [node] = [part for part in ast.walk(node) if isinstance(part, ast.ClassDef) and part.name == name]
    assert isinstance(node, ast.ClassDef)
    return node


def without_repair(text: str, cls: str, position: int) -> str:
    """A dump of the text's tree after taking back, at the places where it must be, what a repair declares."""
    tree = ast.parse(text)
    node = find_class(tree, cls)
    added = node.bases.pop(position)
    assert isinstance(added, ast.Name)
    assert added.id == "SupportsEagle3"
    mine = [part for part in node.body if isinstance(part, ast.FunctionDef) and part.name in NAMES]
    assert [part.name for part in mine] == list(NAMES)
    first = node.body.index(mine[0])
    del node.body[first : first + 2]
    for part in tree.body:
        if isinstance(part, ast.ImportFrom):
            part.names = [alias for alias in part.names if alias.name != "SupportsEagle3"]
    tree.body = [part for part in tree.body if not isinstance(part, ast.ImportFrom) or part.names]
    return dump(tree, cls)


def dump(tree: ast.Module, cls: str) -> str:
    """A dump that does not tell a body of placeholders from an empty one."""
    node = find_class(tree, cls)
    rest = node.body[1:] if ast.get_docstring(node, clean=False) is not None else node.body
    if all(ast.unparse(part) in ("pass", "...") for part in rest):
        del node.body[len(node.body) - len(rest) :]
    return ast.dump(tree)


def choose(random: Random, built: Built) -> tuple[str, int]:
    cls = random.choice(list(built.classes))
    return cls, random.randint(0, built.classes[cls])


@settings(max_examples=400, deadline=None)
@given(random=randoms)
def test_a_repair_runs_and_adds_only_what_it_declares(random: Random) -> None:
    built = build_module(random)
    cls, position = choose(random, built)
    after = edited(built.text, *repair(cls, position))
    assert comments(after) == comments(built.text)
    assert without_repair(after, cls, position) == dump(ast.parse(built.text), cls)
    assert after.endswith("\n") == built.text.endswith("\n")
    assert ("\r\n" in after, after.count("\r\n") == after.count("\n")) in [(False, False), (True, True)]
    with stand_in_packages() as interfaces:
        before_bases = class_of(execute(built.text), cls).__bases__
        fixed = class_of(execute(after), cls)
        expected = [base.__name__ for base in before_bases if base is not object]
        expected.insert(position, "SupportsEagle3")
        assert [base.__name__ for base in fixed.__bases__] == expected
        assert issubclass(fixed, interfaces.SupportsEagle3)
        model = fixed.__new__(fixed)
        model.language_model = Recorder()
        model.set_aux_hidden_state_layers((1, 2))
        assert model.language_model.layers == (1, 2)
        assert model.get_eagle3_default_aux_hidden_state_layers() == (2, 4, 5)


@settings(max_examples=150, deadline=None)
@given(random=randoms)
def test_all_classes_of_a_module_can_be_repaired_in_any_order(random: Random) -> None:
    built = build_module(random)
    order = random.sample(list(built.classes), len(built.classes))
    text = built.text
    for cls in order:
        text = edited(text, *repair(cls, built.classes[cls]))
    again = text
    for cls in built.classes:
        again = edited(again, *repair(cls, built.classes[cls]))
    assert again == text
    with stand_in_packages() as interfaces:
        names = execute(text)
        assert all(interfaces.SupportsEagle3 in class_of(names, cls).__bases__ for cls in built.classes)


@settings(max_examples=300, deadline=None)
@given(random=randoms)
def test_methods_can_be_replaced_renamed_and_removed(random: Random) -> None:
    built = build_module(random)
    cls = random.choice(list(built.classes))
    method = random.choice(["compute_logits", "forward", "load", "both"])
    kinds: list[Edit] = [
        ReplaceMethod(PATH, cls, method, f"def {method}(self):\n    return 2\n"),
        RenameMethod(PATH, cls, method, "renamed"),
        RemoveMethod(PATH, cls, method),
    ]
    kind = random.choice(kinds)
    with stand_in_packages():
        had = vars(class_of(execute(built.text), cls)).get(method)
        try:
            after = edited(built.text, kind)
        except Refused as reason:
            found = [n for n in ast.walk(find_class(ast.parse(built.text), cls)) if getattr(n, "name", "") == method]
            assert len(found) != 1 or "no method" in str(reason)
            return
        now = vars(class_of(execute(after), cls))
    if isinstance(kind, ReplaceMethod):
        assert now[method](None) == 2
        assert comments(built.text)[:1] == comments(after)[:1] or "# c" not in built.text.partition("class")[0]
    elif isinstance(kind, RenameMethod):
        assert (method in now, "renamed" in now) == (False, True)
        assert after.replace("renamed", method) == built.text
    else:
        assert method not in now
        assert had is not None or after == built.text


def lines_that_may_change(text: str, cls: str) -> set[int]:
    """The lines (from 0) of the imports, of the class's header and of a body that only holds a place."""
    tree = ast.parse(text)
    node = find_class(tree, cls)
    body = [part for part in node.body if ast.unparse(part) in ("pass", "...")]
    spans = [(node.lineno, node.body[0].lineno), *((part.lineno, part.lineno) for part in body)]
    spans += [(part.lineno, part.end_lineno or 0) for part in tree.body if isinstance(part, ast.ImportFrom)]
    return {line - 1 for first, last in spans for line in range(first, last + 1)}


@settings(max_examples=100, deadline=None)
@given(random=randoms)
def test_all_other_lines_are_kept_byte_for_byte(random: Random) -> None:
    built = build_module(random)
    cls, position = choose(random, built)
    kept = iter(edited(built.text + "\n", *repair(cls, position)).split("\n"))
    changed = lines_that_may_change(built.text, cls)
    for number, line in enumerate(built.text.split("\n")):
        assert number in changed or line in kept, line


def ruff(*arguments: str, folder: Path) -> str:
    command = [sys.executable, "-m", "ruff", *arguments, "--isolated", "."]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True).stdout


@pytest.mark.parametrize("seed", [1, 2])
def test_ruff_format_finds_nothing_to_do_in_what_was_added(tmp_path: Path, seed: int) -> None:
    fixes = []
    for number in range(150):
        random = Random(f"{seed} {number}")
        built = build_module(random)
        path = f"vllm/model_executor/models/m{number}.py"
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(built.text.encode())
        # The signatures of a repair fit into 88 columns down to classes inside classes, and no deeper.
        cls = random.choice([name for name in built.classes if name.count(".") < 2])
        wanted = repair(cls, random.randint(0, built.classes[cls]))
        fixes.append(Fix("safe", path, tuple(replace(edit, path=path) for edit in wanted)))
    ruff("format", folder=tmp_path)
    planned = plan_fixes(tmp_path, fixes)
    assert planned.refused == ()
    assert len(planned.changes) == len(fixes)
    for change in planned.changes:
        (tmp_path / change.path).write_bytes(change.after)
    assert ruff("format", "--diff", folder=tmp_path) == ""


@settings(max_examples=40, deadline=None)
@given(random=randoms)
def test_a_plan_is_what_its_edits_are(tmp_path_factory: pytest.TempPathFactory, random: Random) -> None:
    built = build_module(random)
    cls, position = choose(random, built)
    root = tmp_path_factory.mktemp("checkout")
    (root / PATH).parent.mkdir(parents=True)
    (root / PATH).write_bytes(built.text.encode())
    planned = plan_fixes(root, [Fix("safe", "", tuple(repair(cls, position)))])
    assert [change.after.decode() for change in planned.changes] == [edited(built.text, *repair(cls, position))]
    assert render_diff(planned).startswith(b"--- a/vllm/")


@settings(max_examples=150, deadline=None)
@given(random=randoms)
def test_imports_and_classes_edited_from_one_reading_are_as_one_after_the_other(random: Random) -> None:
    built = build_module(random)
    cls, position = choose(random, built)
    together = apply_edits(built.text, repair(cls, position))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(edits, "_merged", lambda *_: None)
        assert apply_edits(built.text, repair(cls, position)) == together


@settings(max_examples=60, deadline=None)
@given(random=randoms)
def test_verified_together_or_one_by_one_is_the_same(tmp_path_factory: pytest.TempPathFactory, random: Random) -> None:
    built = build_module(random)
    root = tmp_path_factory.mktemp("checkout")
    (root / PATH).parent.mkdir(parents=True)
    (root / PATH).write_bytes(built.text.encode())
    fixes = []
    for _ in range(4):
        cls, position = choose(random, built)
        kinds: list[list[Edit]] = [
            repair(cls, position),
            repair(cls, position)[: random.randint(1, 2)],
            [RenameMethod(PATH, cls, "forward", "renamed")],
            [RemoveMethod(PATH, cls, "load")],
        ]
        fixes.append(Fix("safe", "", tuple(random.choice(kinds))))
    together = plan_fixes(root, fixes)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plan._Desk, "is_sound", lambda _: False)
        assert plan_fixes(root, fixes) == together
