"""Reading a file: as Python reads it, and never with an exception."""

from __future__ import annotations

import ast
import codecs
import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.findings import Diagnostic
from analyzer.source import MAX_BYTES, Source, column, parse, read_source

REL = "vllm/model_executor/models/some.py"


def write(folder: Path, data: bytes) -> Path:
    path = folder / "some.py"
    path.write_bytes(data)
    return path


def read(folder: Path, data: bytes) -> Source:
    source = read_source(write(folder, data), REL)
    assert isinstance(source, Source), source
    return source


def tree_of(source: Source) -> ast.Module:
    tree = parse(source)
    assert isinstance(tree, ast.Module), tree
    return tree


@pytest.mark.parametrize(
    ("data", "text", "encoding", "bom"),
    [
        pytest.param(b"", "", "utf-8", False, id="empty"),
        pytest.param("x = 'é'\n".encode(), "x = 'é'\n", "utf-8", False, id="utf-8"),
        pytest.param(codecs.BOM_UTF8 + b"x = 1\n", "x = 1\n", "utf-8", True, id="bom"),
        pytest.param(b"x = 1\r\ny = 2\r\n", "x = 1\r\ny = 2\r\n", "utf-8", False, id="crlf"),
        pytest.param(
            b"# -*- coding: latin-1 -*-\nx = '\xe9'\n",
            "# -*- coding: latin-1 -*-\nx = 'é'\n",
            "iso-8859-1",
            False,
            id="declared latin-1",
        ),
        pytest.param(
            b"#!/usr/bin/python\n# vim: set fileencoding=cp1252 :\nx = '\x80'\n",
            "#!/usr/bin/python\n# vim: set fileencoding=cp1252 :\nx = '€'\n",
            "cp1252",
            False,
            id="declared on the second line",
        ),
    ],
)
def test_a_file_is_decoded_and_can_be_encoded_again(
    tmp_path: Path, data: bytes, text: str, encoding: str, bom: bool
) -> None:
    source = read(tmp_path, data)
    assert (source.text, source.encoding, source.bom) == (text, encoding, bom)
    assert source.encode(source.text) == source.data == data
    assert source.rel == REL
    tree_of(source)


@pytest.mark.parametrize(
    ("data", "line", "words"),
    [
        pytest.param(b"x = 1\ny = '\xff'\n", 2, "as utf-8: byte 0xff", id="not utf-8"),
        pytest.param(b"\xe9 = 1\n", 1, "as utf-8: byte 0xe9", id="not utf-8, first line"),
        pytest.param(codecs.BOM_UTF8 + b"x\ny\n\xff", 3, "as utf-8: byte 0xff", id="bom, not utf-8"),
        pytest.param(b"a\rb\r\nc\n'\xff'", 4, "as utf-8", id="each kind of line end"),
        pytest.param(b"# coding: nonsense\n", 1, "unknown encoding: nonsense", id="unknown encoding"),
        pytest.param(b"\n# coding: nonsense\n\xff", 2, "unknown encoding", id="unknown, second line"),
        pytest.param(codecs.BOM_UTF8 + b"# coding: latin-1\n", 1, "encoding problem", id="bom and latin-1"),
        pytest.param(b"# coding: ascii\n\nx = '\xc3\xa9'\n", 3, "as ascii: byte 0xc3", id="not ascii"),
        pytest.param(b"# coding: rot13\nk = 1\n", 1, "not a text encoding", id="no text encoding"),
        pytest.param(b"# coding: undefined\nk = 1\n", 1, "as undefined", id="codec that always fails"),
        pytest.param(b"x = 1\ny = '\0'\n", 2, "NUL byte", id="nul"),
        pytest.param("x = 1\n".encode("utf-16"), 1, "UTF-16", id="utf-16"),
    ],
)
def test_undecodable_files_are_diagnosed(tmp_path: Path, data: bytes, line: int, words: str) -> None:
    problem = read_source(write(tmp_path, data), REL)
    assert isinstance(problem, Diagnostic)
    assert (problem.path, problem.line) == (REL, line)
    assert words in problem.message
    assert "\n" not in problem.message


def test_large_files(tmp_path: Path) -> None:
    line = b"some_table_entry = 'a value of some length'\n"
    large = line * (5_000_000 // len(line) + 1)
    tree = tree_of(read(tmp_path, large))
    assert len(tree.body) == large.count(b"\n")
    path = write(tmp_path, b"")
    os.truncate(path, MAX_BYTES + 1)
    assert read_source(path, REL) == Diagnostic(REL, 0, "not read: larger than 20 MB")


@pytest.mark.parametrize("name", ["missing.py", "nul\0.py"])
def test_missing_files(tmp_path: Path, name: str) -> None:
    problem = read_source(tmp_path / name, REL)
    assert isinstance(problem, Diagnostic)
    assert problem.message.startswith("cannot be read: ")


def test_folders_are_not_read(tmp_path: Path) -> None:
    problem = read_source(tmp_path, REL)
    assert isinstance(problem, Diagnostic)


@pytest.mark.skipif(sys.platform == "win32", reason="has neither named pipes nor devices as files")
def test_pipes_and_devices_are_not_read(tmp_path: Path) -> None:
    """In a process of its own with a time limit, because the fault to fear is to hang."""
    pipe = tmp_path / "pipe.py"
    os.mkfifo(pipe)
    code = (
        "import sys; from pathlib import Path; from analyzer.source import read_source\n"
        "for name in sys.argv[1:]: print(read_source(Path(name), 'x').message)"
    )
    command = [sys.executable, "-c", code, str(pipe), "/dev/zero", "/dev/tty", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    said = done.stdout.splitlines()
    assert said[0] == "not read: a named pipe, not a regular file"
    assert said[1] == "not read: a device, not a regular file"
    assert said[2].startswith(("not read: a device", "cannot be read: "))
    assert said[3] == "not read: a folder, not a regular file"


def test_unreadable_files_are_diagnosed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path, b"x = 1\n")

    def refuse(*_: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)
    assert read_source(path, REL) == Diagnostic(REL, 0, "cannot be read: Permission denied")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        pytest.param("x = 1\ndef f(:\n", 2, id="syntax"),
        pytest.param("if x:\ny\n", 2, id="indentation"),
        pytest.param("x = 1\r\ny = = 2\r\n", 2, id="crlf"),
        pytest.param("'''never ended\n\n", 1, id="string"),
        pytest.param("x = " + "(" * 5000 + ")" * 5000, 1, id="parentheses"),
        pytest.param("x = " + "-" * 20_000 + "1\n", 0, id="parser's stack"),
        pytest.param("x = " + "1" * 20_000 + "\n", 1, id="number with too many digits"),
    ],
)
def test_unparsable_files_are_diagnosed(tmp_path: Path, text: str, line: int) -> None:
    problem = parse(read(tmp_path, text.encode()))
    assert isinstance(problem, Diagnostic)
    assert (problem.path, problem.line) == (REL, line)
    version = f"Python {sys.version_info.major}.{sys.version_info.minor}"
    assert version in problem.message


@pytest.mark.skipif(sys.version_info < (3, 11), reason="Python 3.10 builds such a tree without a guard")
def test_an_endless_expression_is_diagnosed(tmp_path: Path) -> None:
    problem = parse(read(tmp_path, b"x = " + b" + ".join([b"a"] * 100_000)))
    assert isinstance(problem, Diagnostic)
    assert "nested too deeply" in problem.message


def test_warnings_about_the_source_are_dropped(tmp_path: Path) -> None:
    source = read(tmp_path, rb"pattern = '\d'; assert (x, 'y')" + b"\n")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tree_of(source)


def test_lines_are_those_of_the_parser(tmp_path: Path) -> None:
    text = "a = 1\r\nb = '\x0c\x1c\u2028\x85'\rc = 3\n\x0cd = 4\n"
    source = read(tmp_path, text.encode())
    for node in tree_of(source).body:
        assert isinstance(node, ast.Assign)
        assert isinstance(node.targets[0], ast.Name)
        assert source.lines[node.lineno - 1].lstrip("\x0c").startswith(f"{node.targets[0].id} = ")


def test_columns_of_nodes_are_characters(tmp_path: Path) -> None:
    source = read(tmp_path, codecs.BOM_UTF8 + "'é😀'; name\nplain; name\n".encode())
    names = [node for node in ast.walk(tree_of(source)) if isinstance(node, ast.Name) and node.id == "name"]
    for node in names:
        line = source.lines[node.lineno - 1]
        assert column(line, node.col_offset) == line.index("name") + 1
    assert len(names) == 2


@given(st.text(), st.integers(min_value=0))
def test_columns(line: str, place: int) -> None:
    place %= len(line) + 1
    before = line[:place]
    assert column(line, len(before.encode("utf-8", "surrogatepass"))) == len(before) + 1


COOKIES = [
    "",
    "# coding: utf-8",
    "# coding=latin-1",
    "# coding: cp1252",
    "#coding: ascii",
    "#coding: big5",
    "# coding: x",
]
LINES = [
    "x = 1",
    "y = 'é'",
    "def f():",
    "    return 'ß'",
    "'''",
    "€ = 2",
    "\x0cz = 3",
    "",
    "# é",
    "\\",
    "\x1a",
]


@st.composite
def files(draw: st.DrawFn) -> bytes:
    end = draw(st.sampled_from(["\n", "\r\n"]))
    lines = draw(st.lists(st.sampled_from(LINES), max_size=6))
    lines.insert(draw(st.integers(0, min(2, len(lines)))), draw(st.sampled_from(COOKIES)))
    encoding = draw(st.sampled_from(["utf-8", "cp1252", "utf-8-sig"]))
    return end.join(lines).encode(encoding) + draw(st.sampled_from([b"", b"\n", b"\xff\n", b"\0"]))


@given(files() | st.binary(max_size=30))
def test_files_are_valid_where_python_says_so(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    source = read_source(write(tmp_path_factory.getbasetemp(), data), REL)
    tree = parse(source) if isinstance(source, Source) else source
    if isinstance(tree, Diagnostic) and "as utf-8" in tree.message:  # Python forgives such bytes in comments
        with pytest.raises(UnicodeDecodeError):
            data.decode("utf-8")
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            expected = ast.dump(ast.parse(data), include_attributes=True)
        except (SyntaxError, ValueError):
            assert isinstance(tree, Diagnostic)
            return
    assert isinstance(tree, ast.Module), tree
    assert ast.dump(tree, include_attributes=True) == expected
    assert isinstance(source, Source)
    assert source.encode(source.text) == data
