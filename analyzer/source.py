"""Find Python files and read them: names, bytes, encoding, text, syntax tree.

Nothing in a checkout can stop a run.  Whatever is wrong with a file (it is a pipe, it is too large, it does
not decode, it does not parse) becomes one :class:`~analyzer.problems.Diagnostic`, and the run goes on.
"""

from __future__ import annotations

import ast
import codecs
import io
import os
import re
import stat
import sys
import tokenize
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from analyzer.outline import Body, outline
from analyzer.problems import Diagnostic

MAX_BYTES = 20_000_000
"""Files above this size, in bytes, are not read.  The largest module of vLLM 0.11 to 0.33 has 0.4 MB."""

_LINE_END = re.compile(r"\r\n|\r|\n")
_BINARY = getattr(os, "O_BINARY", 0)
_NO_WAITING = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)


@dataclass(frozen=True)
class Source:
    """The contents of one file.

    Args:
        path: where it was read.
        rel: the name that reports use, with forward slashes.
        data: the bytes on disk, a byte order mark included.
        text: ``data`` decoded, without the byte order mark and with its line ends as they are.
        encoding: the codec that decoded it; ``utf-8`` unless the file declares another (PEP 263).
        bom: whether the file starts with a UTF-8 byte order mark.
    """

    path: Path
    rel: str
    data: bytes
    text: str
    encoding: str
    bom: bool

    @cached_property
    def lines(self) -> list[str]:
        """The lines without their ends, numbered from 0, split where Python's tokenizer splits them.

        That is at LF, CRLF and CR only; ``str.splitlines`` would also split at form feeds and at other
        separators, and so disagree with the line numbers of :mod:`ast`.
        """
        return _LINE_END.split(self.text)

    def encode(self, text: str) -> bytes:
        """The bytes of ``text`` in this file's encoding, with its byte order mark if it has one.

        Raises:
            UnicodeEncodeError: if the declared encoding cannot express a character of ``text``.
        """
        return (codecs.BOM_UTF8 if self.bom else b"") + text.encode(self.encoding)


class _UnusableError(Exception):
    """Why a file cannot be used, and on which line (0: none)."""

    def __init__(self, reason: str, line: int = 0) -> None:
        super().__init__(reason)
        self.line = line


def read_source(path: Path, rel: str) -> Source | Diagnostic:
    """Read and decode one file, as Python would.

    Args:
        path: the file.
        rel: its name in reports.

    Returns:
        The source, or a diagnostic if the file is unreadable, not a regular file, larger than
        :data:`MAX_BYTES`, holds a NUL byte, or does not decode in the encoding that it declares.
    """
    try:
        data = _read_bytes(path)
        _refuse_nul(data)
        encoding = _encoding(data)
        text = _decode(data, encoding)
    except _UnusableError as problem:
        return Diagnostic(rel, problem.line, str(problem))
    except OSError as error:
        return Diagnostic(rel, 0, f"cannot be read: {error.strerror or error}")
    bom = encoding == "utf-8-sig"
    return Source(path, rel, data, text, "utf-8" if bom else encoding, bom)


def parse(source: Source) -> ast.Module | Diagnostic:
    """Parse a file with :mod:`ast`.

    Warnings about the source (an invalid escape in a string, say) are dropped: they are the matter of whoever
    owns the file, and under ``-W error`` they would turn into syntax errors.

    Returns:
        The tree, or a diagnostic with the line where parsing stopped (0 if Python does not say).
        The running interpreter decides what is valid: a file in the syntax of a later Python is a
        diagnostic, which is why the message names the version.

    Python 3.10 alone has no guard for one expression of several hundred thousand chained operators,
    attributes or subscripts (seen: 100,000 parse, two million overflow the C stack); 3.11 and later raise
    RecursionError, which is a diagnostic here.
    """
    return _parse(source.text, source.rel)


def parse_outline(source: Source, kept: Sequence[int] = ()) -> tuple[ast.Module, dict[int, Body]] | Diagnostic:
    """Parse a file without the bodies of its functions; whole where they cannot be told apart.

    Args:
        source: the file.
        kept: sorted numbers of lines; functions that stand on any of them keep their bodies.

    Returns:
        The tree, with ``pass`` for each body that was left out, and those bodies by the line of their ``def``;
        or a diagnostic.  An error inside such a body is met when it is parsed (:func:`parse_body`).
    """
    cut = outline(source.text, kept)
    tree = _parse(cut.text, source.rel) if cut is not None else None
    if cut is not None and isinstance(tree, ast.Module):
        return tree, cut.bodies
    tree = parse(source)
    return tree if isinstance(tree, Diagnostic) else (tree, {})


def parse_body(body: Body, rel: str, *, is_async: bool) -> list[ast.stmt] | Diagnostic:
    """The statements of a function's body, on the lines and columns where they stand in the file.

    Args:
        body: as it was cut out.
        rel: the file's name in reports.
        is_async: whether the function is a coroutine.
    """
    header = "async def f():" if is_async else "def f():"
    tree = _parse("\n" * (body.line - 1) + header + body.text, rel)
    if isinstance(tree, Diagnostic):
        return tree
    function = tree.body[0]
    assert isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
    return function.body


def _parse(text: str, rel: str) -> ast.Module | Diagnostic:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text, filename=rel)
    except SyntaxError as error:
        return Diagnostic(rel, error.lineno or 0, f"Python {_python()} cannot parse this: {error.msg}")
    except (RecursionError, MemoryError):
        return Diagnostic(rel, 0, f"nested too deeply for Python {_python()} to parse")
    except ValueError as error:
        return Diagnostic(rel, 0, f"Python {_python()} cannot parse this: {error}")


def column(source_line: str, utf8_offset: int) -> int:
    """The column of a syntax node, as editors count it.

    :mod:`ast` documents ``col_offset`` as an offset in the UTF-8 bytes of the line, from 0.

    Args:
        source_line: the line, as in :attr:`Source.lines`.
        utf8_offset: ``col_offset`` or ``end_col_offset`` of a node on it.

    Returns:
        The same place in characters, from 1.
    """
    if source_line.isascii():
        return utf8_offset + 1
    before = source_line.encode("utf-8", "surrogatepass")[:utf8_offset]
    return len(before.decode("utf-8", "ignore")) + 1


class Listing:
    """The Python files below a folder, as one reading of the disk found them.

    Hidden files and folders and ``__pycache__`` are left out.  Links to folders are followed, but no folder
    is listed twice, real paths are preferred to links, and a link to a folder that contains ``start`` is
    not followed.

    Args:
        start: an absolute path; if it is a file, that is the only one.

    Attributes:
        files: the regular ``.py`` files, sorted by path.
        folders: those that were listed, or should have been.
        problems: what had to be left out, with the reason: unreadable folders, pipes named like modules,
            dangling links.
    """

    def __init__(self, start: Path) -> None:
        self._found: list[Path] = []
        self._links: list[Path] = []
        self.folders: list[Path] = []
        self._seen = {_identity(folder) for folder in start.resolve().parents}
        self.problems: list[tuple[Path, str]] = []
        self._read(start)
        self.files = tuple(sorted(self._found, key=Path.as_posix))

    def _read(self, start: Path) -> None:
        if is_file(start):
            self._found.append(start)
        else:
            self._list_tree(start)
        while self._links:  # after all real folders, so that a link never takes the place of its target
            links, self._links = sorted(self._links), []
            for link in links:
                self._list_tree(link)

    def _list_tree(self, top: Path) -> None:
        pending = [top]
        while pending:
            folder = pending.pop()
            try:
                if _identity(folder) in self._seen:
                    continue
                self._seen.add(_identity(folder))
                self.folders.append(folder)
                with os.scandir(folder) as entries:
                    listed = sorted(entries, key=lambda entry: entry.name)
            except OSError as error:
                self.problems.append((folder, f"cannot list this folder: {error.strerror}"))
                continue
            pending.extend(self._sort_out(listed))

    def _sort_out(self, entries: list[os.DirEntry[str]]) -> Iterator[Path]:
        """Keep the files and the links of a folder; yield its folders."""
        for entry in entries:
            if entry.name.startswith(".") or entry.name == "__pycache__":
                continue
            path = Path(entry.path)
            try:
                if entry.is_dir(follow_symlinks=False):
                    yield path
                elif entry.is_dir():
                    self._links.append(path)
                elif entry.name.endswith(".py"):
                    self._keep(path, entry.is_file())
            except OSError as error:
                self.problems.append((path, f"cannot be read: {error.strerror}"))

    def _keep(self, path: Path, regular: bool) -> None:
        if not regular:
            self.problems.append((path, "not read: not a regular file, or a link that leads nowhere"))
        elif not _is_utf8(path):
            self.problems.append((path, "not read: its name is not valid UTF-8"))
        else:
            self._found.append(path)


def is_file(path: Path) -> bool:
    """Whether it is a regular file; False where that cannot be known."""
    try:
        return path.is_file()
    except OSError:
        return False


def _python() -> str:
    return f"{sys.version_info.major}.{sys.version_info.minor}"


def _read_bytes(path: Path) -> bytes:
    """The contents of a regular file; opens without waiting, so that a pipe cannot hang the run."""
    try:
        descriptor = os.open(path, os.O_RDONLY | _BINARY | _NO_WAITING)
    except ValueError as error:  # a NUL character in the name
        raise _UnusableError(f"cannot be read: {error}") from None
    try:
        _refuse_special(os.fstat(descriptor))
        with open(descriptor, "rb", buffering=0, closefd=False) as stream:
            return stream.readall()
    finally:
        os.close(descriptor)


def _refuse_special(status: os.stat_result) -> None:
    kinds = {stat.S_IFDIR: "a folder", stat.S_IFIFO: "a named pipe", stat.S_IFCHR: "a device"}
    if not stat.S_ISREG(status.st_mode):
        kind = kinds.get(stat.S_IFMT(status.st_mode), "something else")
        raise _UnusableError(f"not read: {kind}, not a regular file")
    if status.st_size > MAX_BYTES:
        raise _UnusableError(f"not read: larger than {MAX_BYTES // 1_000_000} MB")


def _refuse_nul(data: bytes) -> None:
    place = data.find(b"\0")
    if place >= 0:
        reason = "not Python source: holds a NUL byte, as binary and UTF-16 files do"
        raise _UnusableError(reason, _line_at(data, place))


def _encoding(data: bytes) -> str:
    """The codec of a file by PEP 263: its byte order mark, its declaration, else UTF-8."""
    try:
        return tokenize.detect_encoding(io.BytesIO(data).readline)[0]
    except SyntaxError as error:
        if "unknown encoding" not in str(error):
            _decode(data, "utf-8-sig")  # undecodable first lines: say where, which the error does not
        first_line = data.split(b"\n", 1)[0]
        raise _UnusableError(f"cannot be decoded: {error.msg}", 1 if b"coding" in first_line else 2) from None


def _decode(data: bytes, encoding: str) -> str:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        name = "utf-8" if encoding == "utf-8-sig" else encoding
        reason = f"cannot be decoded as {name}: byte 0x{error.object[error.start]:02x}"
        raise _UnusableError(reason, _line_at(error.object, error.start)) from None
    except (LookupError, ValueError) as error:  # a codec that is not one of text, or that always fails
        raise _UnusableError(f"cannot be decoded as {encoding}: {error}", 1) from None


def _line_at(data: bytes, place: int) -> int:
    """The line of a byte, from 1."""
    return len(re.findall(rb"\r\n|\r|\n", data[:place])) + 1


def _identity(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_dev, status.st_ino


def _is_utf8(path: Path) -> bool:
    try:
        str(path).encode()
    except UnicodeEncodeError:
        return False
    return True
