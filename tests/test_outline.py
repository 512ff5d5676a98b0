"""Files that are read without the bodies of functions say the same as files that are read whole."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.extract import extract
from analyzer.facts import ModuleFacts
from analyzer.findings import Diagnostic
from analyzer.outline import outline
from analyzer.source import Source, parse, parse_outline, read_source
from tests import releases


def source(text: str) -> Source:
    return Source(Path("m.py"), "m.py", text.encode(), text, "utf-8", False)


def facts_of(read: Source, *, whole: bool) -> ModuleFacts | Diagnostic:
    """Everything that a file says, every body read."""
    parsed = (parse(read), {}) if whole else parse_outline(read)
    if isinstance(parsed, Diagnostic) or isinstance(parsed[0], Diagnostic):
        return parsed if isinstance(parsed, Diagnostic) else parsed[0]  # type: ignore[return-value]
    problems: list[Diagnostic] = []
    facts = extract(parsed[0], parsed[1], problems, module="m", path="m.py", is_package=False)
    for function in facts.all_functions:
        told = function.stub
        _ = function.whole_body, function.parameters
        assert told == function.stub  # before the body is parsed, and after
    assert not problems
    return facts


CUT = {
    "method": """
class A:
    x = 1

    def f(self):
        y = 1
        return y

    z = 2
""",
    "a string that looks like code": """
def f():
    '''Gives nothing.

    return 1
    '''


def g():
    '''A "\""quoted
    return 1
    "\""
    '''


def h():
    'one line \\
    return 1'


def i():
    '''return 1'''
    return 1
""",
    "last of a class": """
class A:
    def f(self):
        if self:
            return 1


# end
b = 1
""",
    "comment at the margin": """
def f():
    a = 1
# no end
    return a

    # tail

def g():
    return 2
""",
    "hash in a string's last line": "def f():\n    a = '''\n    # '''\n\n\ndef g():\n    return 2\n",
    "text at the margin": "def f():\n    a = '''\ndef no(x):\n    pass\n'''\n    return a\n\nx = f()\n",
    "quotes in quotes": """
def f():
    a = "'''"  # '''
    return a

x = '''
def no():
  pass
'''
""",
    "escaped quotes": "def f():\n    a = '''x\\'''\ndef no():\n    '''\n    return a\n",
    "decorated": """
@dec
@dec2(1)
def f():
    return 1


class A:
    @property
    def g(self):
        return 1
""",
    "asynchronous": """
async def f():
    async with a() as b:
        await b


async  def g():
    return [i async for i in x]
""",
    "nested": """
def f():
    def g():
        return 1

    class B:
        def h(self):
            return 2
    return g
""",
    "in branches": """
if a:
    def f():
        return 1
else:
    def f():
        return 2
""",
    "long header": """
class A:
    def f(
        self,
        a: dict[str, int] = {1: (2, ")")},  # :
        b=lambda x: x,
    ) -> "B":
        return a
""",
    "comment behind the colon": """
def f(a):  # why: because
    # first
    return a
""",
    "stubs": """
class A:
    def f(self):
        ...
    def g(self):
        raise NotImplementedError
    def h(self):
        '''x'''
""",
    "continued lines": """
def f(a, \\
      b):
    c = 'x \\
    \'\'\' # y'
    return a + \\
        b

x = 'x \\
# y'
""",
    "no last line end": "def f():\n    a = 1\n    return a",
    "long bodies": "def f():\n" + "    a = 1\n" * 100 + "class A:\n  def __init__(self):\n" + "    a = 1\n" * 100,
    "characters of several bytes": "def f():\n    é = 'äöü'; g(é, ö)\n    return é.ü\n",
}
WHOLE = {
    "carriage returns": "def f():\r\n    a = 1\r\n    return a\r\n",
    "tabs": "def f():\n\ta = 1\n\treturn a\n",
    "continued at the margin": "def f():\n    a = \\\n1\n    return a\n",
    "a definition in a continued string": "b = 'x\\\ndef g():\\\n  pass\\\n'\n",
    "bracket at the margin": "def f():\n    a = g(\n1,\n)\n    return a\n\nclass A:\n    def h(self):\n        pass\n",
}


@pytest.mark.parametrize("text", [*CUT.values(), *WHOLE.values()], ids=[*CUT, *WHOLE])
def test_the_facts_are_those_of_the_whole_file(text: str) -> None:
    whole = facts_of(source(text), whole=True)
    assert isinstance(whole, ModuleFacts)
    assert facts_of(source(text), whole=False) == whole


@pytest.mark.parametrize("text", CUT.values(), ids=CUT)
def test_bodies_are_left_out(text: str) -> None:
    cut = outline(text)
    assert cut is not None
    assert cut.bodies
    assert cut.text.count("\n") == text.count("\n")


@pytest.mark.parametrize("text", WHOLE.values(), ids=WHOLE)
def test_what_is_not_certain_is_parsed_whole(text: str) -> None:
    parsed = parse_outline(source(text))
    assert not isinstance(parsed, Diagnostic)
    assert not parsed[1]
    assert ast.dump(parsed[0], include_attributes=True) == ast.dump(ast.parse(text), include_attributes=True)


@pytest.mark.parametrize(
    "text",
    [
        'def f():\n    a = """x\n',
        "def f(:\n    a\n",
        "def f():\na = 1\n",
    ],
    ids=["string", "header", "empty body"],
)
def test_what_python_refuses_is_refused_for_the_same_reason(text: str) -> None:
    refused = parse_outline(source(text))
    assert isinstance(refused, Diagnostic)
    assert refused == parse(source(text))


def test_an_error_in_a_body_is_told_when_the_body_is_asked_for() -> None:
    parsed = parse_outline(source("def f():\n    a = = 1\n\ndef g():\n    return 1\n"))
    assert not isinstance(parsed, Diagnostic)
    problems: list[Diagnostic] = []
    facts = extract(*parsed, problems, module="m", path="m.py", is_package=False)
    assert facts.functions["g"].body == (("return", 5, ("const", 1)),)
    assert not problems
    assert facts.functions["f"].body is None
    assert [(problem.path, problem.line) for problem in problems] == [("m.py", 2)]


def test_functions_on_lines_that_are_kept_stay_whole() -> None:
    text = "class A:\n    def f(self):\n        return 1\n\n    def g(self):\n        x = 2\n        return x\n"
    cut = outline(text, kept=[6])
    assert cut is not None
    assert list(cut.bodies) == [2]
    assert "return x" in cut.text
    assert "return 1" not in cut.text


@pytest.mark.skipif(sys.version_info < (3, 12), reason="PEP 695 and 701")
@pytest.mark.parametrize(
    "text",
    ["def f[T: (int, str)](a: T) -> T:\n    return a\n", "def f(a):\n    b = f'{a['#']}' + '''\ndef g(): \n'''\n"],
)
def test_newer_syntax_is_read_too(text: str) -> None:
    assert facts_of(source(text), whole=False) == facts_of(source(text), whole=True)


PIECES = [
    "a = 1",
    "# note",
    "|# at the margin",
    "",
    '"""text"""',
    '"""\n|at the margin\n|    def no(self):\n  # """',
    "b = '''x'''  # '''",
    'c = \'"""\'',
    "d = g(1,\n  2)",
    "e = [\n|1]",
    "f = 'it\\'s' \"#\"",
    "def one(self): return 1",
    "x: int = {1: 2}[1]",
]
HEADERS = [
    "class A(B):",
    "def f(self):",
    "@dec\nasync def f(self, *, a='):'):",
    "if a:",
    "with b as c:",
    "def f(\n    self, a: dict[str, int] = {},  # (\n) -> None:  # :",
]


@st.composite
def blocks(draw: st.DrawFn, depth: int = 0) -> list[str]:
    """The lines of a block; those with a bar are not indented."""
    lines: list[str] = []
    for _ in range(draw(st.integers(1, 4))):
        if depth < 3 and draw(st.booleans()):
            lines += draw(st.sampled_from(HEADERS)).split("\n")
            step = draw(st.sampled_from(["    ", "  "]))
            lines += [line if line.startswith("|") else step + line for line in draw(blocks(depth + 1))]
        else:
            lines += draw(st.sampled_from(PIECES)).split("\n")
    return [*lines, "pass"]


@given(blocks())
def test_random_files_say_the_same(lines: list[str]) -> None:
    read = source("\n".join(line.lstrip("|") for line in lines) + "\n")
    whole = facts_of(read, whole=True)
    assert isinstance(whole, ModuleFacts)
    assert facts_of(read, whole=False) == whole


@pytest.mark.release
@pytest.mark.parametrize("version", ["0.11.0", "0.16.0", "0.20.2", "0.33.0"])
def test_the_files_of_a_release_say_the_same(version: str) -> None:
    checkout = releases.checkout(version)
    files = [path for root in checkout.model_roots for path in checkout.python_files(root)]
    cut = 0
    for path in files:
        read = read_source(path, "m.py")
        assert isinstance(read, Source)
        cut += outline(read.text) is not None
        assert facts_of(read, whole=False) == facts_of(read, whole=True), path
    assert cut > 0.98 * len(files)
