"""Suppression comments: which are read, what they say, and which lines they speak for."""

from __future__ import annotations

import ast
from pathlib import Path
from textwrap import dedent

import pytest

from analyzer.comments import read_comments
from analyzer.records import FileComments, Span
from analyzer.source import Source, read_source
from tests import releases

ROOT = Path(__file__).parent.parent
MARK = "# vllm-contracts: ignore[VC001]"


def read(text: str) -> FileComments:
    return read_comments(Source(Path("a.py"), "a.py", text.encode(), text, "utf-8", False))


def said(text: str) -> list[tuple[tuple[str, ...], str, str]]:
    return [
        (c.words, c.reason, c.problem.partition(";")[0].partition(",")[0]) for c in read(f"x = 1  {text}\n").comments
    ]


VALID = {
    "# vllm-contracts: ignore[VC001]": (("VC001",), ""),
    "#vllm-contracts:ignore[VC001]why": (("VC001",), "why"),
    "#   vllm-contracts:  ignore  [ VC001 ]   because of #12  ": (("VC001",), "because of #12"),
    "# vllm-contracts: ignore[VC001, stub-method ,VC001]": (("VC001", "stub-method"), ""),
    "# vllm-contracts: ignore[VC001]: see [1]": (("VC001",), "see [1]"),
    "# vllm-contracts: ignore[VC001] - not yet  # noqa: E501": (("VC001",), "not yet"),
    "# vllm-contracts: ignore[VC001]  # type: ignore[misc]": (("VC001",), ""),
    "# type: ignore[misc]  # vllm-contracts: ignore[VC001] ümlaut": (("VC001",), "ümlaut"),
}


@pytest.mark.parametrize("text", VALID)
def test_a_comment_that_can_be_read(text: str) -> None:
    words, reason = VALID[text]
    assert said(text) == [(words, reason, "")]


INVALID = {
    "# vllm-contracts: ignore": "names no rule",
    "# vllm-contracts: ignore[]": "names no rule",
    "# vllm-contracts: ignore[ , ] because": "names no rule",
    "# vllm-contracts: ignore VC001": "is not understood",
    "# vllm-contracts: ignore[VC001": "is not understood",
    "# vllm-contracts: ignore(VC001)": "is not understood",
    "# vllm-contracts: ignore[[VC001]]": "is not understood",
    "# vllm-contracts: ignroe[VC001]": "is not understood",
    "# vllm-contracts: noqa": "is not understood",
    "# vllm-contracts:": "is not understood",
    "# vllm-contracts ignore[VC001]": "is not understood",
    "# vllm-contract: ignore[VC001]": "is not understood",
    "# vllm_contracts: ignore[VC001]": "is not understood",
    "# VLLM-Contracts: Ignore[VC001]": "is not understood",
}


@pytest.mark.parametrize("text", INVALID)
def test_a_comment_that_cannot(text: str) -> None:
    assert said(text) == [((), "", INVALID[text])]


OTHERS = [
    "# vllm-contracts says that this is in order",
    "# see vllm-contracts: ignore[VC001]",
    "# vllm-contracts-action: ignore[VC001]",
    "# noqa: VC001",
    "# vllm: ignore[VC001]",
]


@pytest.mark.parametrize("text", OTHERS)
def test_a_comment_about_something_else(text: str) -> None:
    assert said(text) == []


def test_two_comments_in_one() -> None:
    first, second = read(f"x = 1  {MARK} a  # vllm-contracts: ignore[VC002] b\n").comments
    assert (first.words, first.reason, first.column) == (("VC001",), "a", 8)
    assert (second.words, second.reason, second.column) == (("VC002",), "b", 43)


@pytest.mark.parametrize(
    "text",
    ["x = '# vllm-contracts: ignore[VC001]'\n", 'x = """\n# vllm-contracts: ignore[VC001]\n"""\n', f"x = (\n{MARK}\n"],
)
def test_strings_and_files_that_do_not_parse_hold_no_comments(text: str) -> None:
    assert read(text) == FileComments("a.py")


def covered(text: str) -> list[tuple[int, int]]:
    return [(c.covers.first, c.covers.last) for c in read(dedent(text).replace("#!", MARK)).comments]


LINES: dict[str, tuple[str, list[tuple[int, int]]]] = {
    "a statement": ("x = 1  #!\n", [(1, 1)]),
    "every line of a statement": ("x = f(  #!\n    1,  #!\n    #!\n)  #!\ny = 2\n", [(1, 4)] * 4),
    "behind a backslash": ("x = 1 + \\\n    2  #!\n", [(1, 2)]),
    "directly above": ("y = 1\n#!\nx = (\n1)\n", [(3, 4)]),
    "a block of comments above": ("#!\n# more\n#!\nx = 1\n", [(4, 4), (4, 4)]),
    "above a blank line": ("#!\n\nx = 1\n", [(1, 1)]),
    "a block, and another one": ("#!\n\n#!\nx = 1\n", [(1, 1), (4, 4)]),
    "at the end": ("x = 1\n#!", [(2, 2)]),
    "the head of a class": ("class A(  #!\n    B,  #!\n):  #!\n    #!\n    x = 1\n", [(1, 3)] * 3 + [(5, 5)]),
    "decorators": ("#!\n@a  #!\n#!\n\n@b(\n1)  #!\nclass A:\n    x = 1  #!\n", [(2, 7)] * 4 + [(8, 8)]),
    "a class of one line": ("class A: x = 1  #!\ny = 1  #!\n", [(1, 1), (2, 2)]),
    "a method": (
        "class A:\n    def f(\n        self,  #!\n    ) -> int:\n        return 1  #!\n",
        [(2, 4), (5, 5)],
    ),
    "the head of a block": ("with a(\n    1\n):  #!\n    x = 1\n", [(1, 3)]),
    "above a class, indented as what stands before it": ("if a:\n    x = 1\n    #!\nclass A:\n    pass\n", [(4, 4)]),
    "line ends of old": ("x = 1  #!\r\n#!\r\ny = (1,\r\n2)\r\n", [(1, 1), (3, 4)]),
}


@pytest.mark.parametrize("name", LINES)
def test_the_lines_that_a_comment_speaks_for(name: str) -> None:
    text, lines = LINES[name]
    assert covered(text) == lines


NESTED = f"""\
@d
class A:
    {MARK}
    class B(
        C
    ):
        def f(self):
            class D: x = 1

            return D
    def g(self):
        pass


def h():
    class E:
        x = 1
"""


def test_classes() -> None:
    file = read(NESTED)
    assert [(c.name, c.header.first, c.header.last, c.whole.last) for c in file.classes] == [
        ("A", 1, 2, 12),
        ("A.B", 4, 6, 10),
        ("A.B.D", 8, 8, 8),
        ("E", 16, 16, 17),
    ]
    around = {line: c.name if (c := file.class_at(line)) else "" for line in (1, 5, 7, 8, 9, 11, 13, 15, 17)}
    assert around == {1: "A", 5: "A.B", 7: "A.B", 8: "A.B.D", 9: "A.B", 11: "A", 13: "", 15: "", 17: "E"}


# -- against the syntax tree -----------------------------------------------------------------------


def simple(tree: ast.Module, lines: list[str]) -> dict[int, ast.stmt]:
    """Statements without a body, by last line; none of those that share a line."""
    found: dict[int, list[ast.stmt]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt) and not getattr(node, "body", None):
            found.setdefault(node.end_lineno or node.lineno, []).append(node)
    return {
        end: nodes[0]
        for end, nodes in found.items()
        if len(nodes) == 1 and not lines[nodes[0].lineno - 1].encode()[: nodes[0].col_offset].strip()
    }


def first_line(cls: ast.ClassDef) -> int:
    return min([cls.lineno, *(decorator.lineno for decorator in cls.decorator_list)])


def compare(file: Path) -> int:
    """Give each statement of a file a comment, and hold what is read against the syntax tree; how many there are."""
    source = read_source(file, "a.py")
    assert isinstance(source, Source)
    tree = ast.parse(source.text)
    statements = simple(tree, source.lines)
    lines = [f"{line}  {MARK}" if number in statements else line for number, line in enumerate(source.lines, 1)]
    marked = read("\n".join([*lines, MARK]))
    spans = {c.line: c.covers for c in marked.comments[:-1]}
    assert spans == {end: Span(node.lineno, end) for end, node in statements.items()}
    classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    assert sorted((c.whole.first, c.whole.last, c.name.rpartition(".")[2]) for c in marked.classes) == sorted(
        (first_line(node), node.end_lineno, node.name) for node in classes
    )
    return len(statements)


def test_our_own_files_as_the_syntax_tree_has_them() -> None:
    files = [path for folder in ("analyzer", "rules", "fixtures") for path in (ROOT / folder).rglob("*.py")]
    assert sum(map(compare, files)) > 5_000


@pytest.mark.release
def test_the_models_of_a_release_as_the_syntax_tree_has_them() -> None:
    checkout = releases.checkout("0.33.0")
    files = [path for root in checkout.model_roots for path in checkout.python_files(root)]
    assert sum(map(compare, files[::12])) > 4_000
