"""Trees whose bodies are parsed when they are read say the same as trees that are parsed whole."""

from __future__ import annotations

import ast
import warnings
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.fix.folding import FunctionDef, nodes, parse, parse_folded
from analyzer.fix.source import Refused, common_ends
from analyzer.fix.tree import Module
from tests import releases

ROOT = Path(__file__).parent.parent.parent


def folded(text: str) -> ast.Module:
    return parse_folded(text, text.splitlines(keepends=True))


def whole(tree: ast.AST) -> str:
    """Everything that a tree says, every position too."""
    return ast.dump(tree, include_attributes=True)


def same(text: str) -> bool:
    return whole(folded(text)) == whole(parse(text))


ENDS = {
    "a comment behind the last statement": "def f():\n    return 1  # one\n",
    "a semicolon behind the last statement": "def f():\n    x = 1; y = 2;\n",
    "semicolons in blocks": "class A:\n    def f(self):\n        return 1\n\n    x = 1;\nif x:\n    y = 1;\n",
    "semicolons in handlers": "try:\n    def f():\n        return 1\nexcept E: x = 1;\nfinally:\n    y = 1;\n",
    "the end of a class in a branch": "if x:\n    class A:\n        def f(self):\n            return 1\n",
    "the end of what always runs": "try:\n    x = 1\nfinally:\n    def f():\n        return 1\n",
    "a semicolon and a comment": "class A:\n    def f(self):\n        x = 1;  # one\n",
    "a hash in the last string": "def f():\n    return '#'\n",
    "a comment below": "class A:\n    def f(self):\n        return 1\n        # more\n\nx = 1\n",
    "characters of several bytes": "def f():\n    return 'é𝔘'\n",
    "blanks behind the last statement": "def f():\n    return 1   \n\n",
    "no final newline": "class A:\n    def f(self):\n        return 1",
    "the end of a class": "class A:\n    class B:\n        def f(self):\n            return 1\n\n\nx = 1\n",
    "the end of a branch": "if x:\n    def f():\n        return 1\nelse:\n    y = 1\n",
    "the end of a handler": "try:\n    x = 1\nexcept E:\n    def f():\n        return 1\nelse:\n    y = 1\n",
    "the end of a case": "match x:\n    case 1:\n        def f():\n            return 1\n",
    "the end of a block": "with x:\n    async def f():\n        await x\n",
    "decorators": "@a\n@b(\n    1\n)\ndef f():\n    return 1\n",
    "a function in a function": "def f():\n    def g():\n        return 1\n    return g\n",
    "a body on the header's line": "def f(): return 1\ndef g():\n    return 2\n",
    "a docstring": 'def f():\n    """One.\n\n    def no():\n        pass\n    """\n',
    "tabs, which are read whole": "def f():\n\treturn 1\n",
}


@pytest.mark.parametrize("text", ENDS.values(), ids=list(ENDS))
def test_positions_are_those_of_the_whole(text: str) -> None:
    assert same(text)
    assert [whole(node) for node in ast.walk(folded(text))] == [whole(node) for node in ast.walk(parse(text))]


@pytest.mark.parametrize("path", sorted((ROOT / "analyzer").rglob("*.py")), ids=lambda path: path.stem)
def test_our_own_files_are_read_as_a_whole_is(path: Path) -> None:
    assert same(path.read_text())


@pytest.mark.release
@pytest.mark.parametrize("release", ["0.11.0", "0.33.0"])
def test_releases_are_read_as_a_whole_is(release: str) -> None:
    checkout = releases.checkout(release)
    texts = [path.read_text() for path in checkout.python_files() if "models" in path.parts]
    assert len(texts) > 150
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert all(map(same, texts))


def test_a_body_is_parsed_when_it_is_read() -> None:
    tree = folded("def f():\n    return (\n\n\ndef g():\n    return 2\n")
    broken, good = tree.body
    assert isinstance(broken, FunctionDef)
    assert isinstance(good, FunctionDef)
    assert good.body is good.body
    assert ast.unparse(good.body[0]) == "return 2"
    with pytest.raises(Refused, match="does not parse"):
        _ = broken.body
    with pytest.raises(Refused, match="does not parse"):
        ast.dump(tree)


def test_a_body_can_be_replaced() -> None:
    tree = folded("def f():\n    return 1\n")
    [function] = tree.body
    assert isinstance(function, FunctionDef)
    function.body = [ast.Pass()]
    assert ast.unparse(tree) == "def f():\n    pass"


def test_an_error_outside_of_bodies_is_told_at_once() -> None:
    with pytest.raises(Refused, match=r"does not parse.*line 4"):
        folded("def f():\n    return 1\n\nclass A(:\n")


def test_only_statements_on_the_lines_are_looked_into() -> None:
    method = "    def {}(self):\n        return [{}]\n"
    text = f"x = [1]\nclass A:\n    @d([2])\n{method.format('f', 3)}{method.format('g', 4)}"
    tree = Module(text).tree
    found = {line: {ast.unparse(n) for n in nodes(tree, [line]) if isinstance(n, ast.List)} for line in range(1, 8)}
    assert {line: texts for line, texts in found.items() if texts} == {
        1: {"[1]"},
        3: {"[2]"},
        4: {"[2]"},
        5: {"[2]", "[3]"},
        7: {"[4]"},
    }


@given(old=st.lists(st.booleans(), max_size=9), new=st.lists(st.booleans(), max_size=9))
def test_common_ends_are_as_long_as_can_be_and_do_not_overlap(old: list[bool], new: list[bool]) -> None:
    head, tail = common_ends(old, new)
    most = min(len(old), len(new))
    assert old[:head] == new[:head]
    assert head == most or old[head] != new[head]
    assert old[len(old) - tail :] == new[len(new) - tail :]
    assert head + tail == most or old[-1 - tail] != new[-1 - tail]
