"""A parsed source text: its statements, classes and methods, and where they stand in the text.

Edits are located with :mod:`ast`, whose positions are exact, and cut into the original text.  Nothing is
ever generated from a tree, so whatever the edit does not touch (form feeds, mixed newlines, trailing blanks)
stays as it is; LibCST, which takes ten times as long, does not render such files unchanged.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import accumulate

from analyzer.fix.folding import Function, parse_folded, suites
from analyzer.fix.source import Refused

_LINES = re.compile(r"[^\n]*\n|[^\n]+")


class Module:
    """A source text and its syntax tree.

    Args:
        text: the source, without a byte order mark.

    Raises:
        Refused: the text is no Python that the running interpreter can read.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.lines: list[str] = _LINES.findall(text)
        self.tree = parse_folded(text, self.lines)
        self._starts = [0, *accumulate(map(len, self.lines))]

    def offset(self, line: int, column: int) -> int:
        """The index in the text of an :mod:`ast` position: line from 1, column in UTF-8 bytes from 0."""
        content = self.lines[line - 1] if line <= len(self.lines) else ""
        if not content.isascii():
            column = len(content.encode()[:column].decode())
        return self._starts[line - 1] + column

    def start(self, node: ast.stmt | ast.expr) -> int:
        """Where a node begins; for a definition at its keyword, below the decorators."""
        return self.offset(node.lineno, node.col_offset)

    def end(self, node: ast.stmt | ast.expr) -> int:
        """Where a node ends."""
        return self.offset(last_line(node), node.end_col_offset or 0)

    def source(self, node: ast.stmt | ast.expr) -> str:
        """The text of a node."""
        return self.text[self.start(node) : self.end(node)]

    def line_start(self, line: int) -> int:
        """Where a line (from 1) begins; the line after the last one begins at the end of the text."""
        return self._starts[min(line, len(self._starts)) - 1]

    def line_at(self, offset: int) -> int:
        """The line (from 1) that holds an offset."""
        return self.text.count("\n", 0, offset) + 1

    def newline(self, line: int) -> str:
        """How the line (from 1) ends; the last line ends as the one before it does."""
        for content in reversed(self.lines[:line]):
            if content.endswith("\n"):
                return "\r\n" if content.endswith("\r\n") else "\n"
        return "\r\n" if self.text.partition("\n")[0].endswith("\r") else "\n"

    def indent(self, line: int) -> str:
        """The white space that a line (from 1) begins with."""
        content = self.lines[line - 1]
        return content[: len(content) - len(content.lstrip(" \t\f"))]

    def class_named(self, name: str) -> ast.ClassDef:
        """The one class with this qualified name (``Outer.Inner`` if nested).

        Raises:
            Refused: there is none, or more than one (in the branches of a condition, say).
        """
        found = [node for qualified, node in classes(self.tree.body) if qualified == name]
        if not found:
            raise Refused(f"there is no class {name}")
        if len(found) > 1:
            lines = ", ".join(str(node.lineno) for node in found)
            raise Refused(f"class {name} is defined {len(found)} times (lines {lines})")
        return found[0]

    @classmethod
    def of(cls, text: str) -> Module:
        """The same, for callers that leave the tree as it is: recent texts are parsed once.

        Raises:
            Refused: as above.
        """
        return _module_of(text)

    @cached_property
    def indent_unit(self) -> str:
        """One step of indentation: as the first indented block has it, else four spaces."""
        for node in definitions(self.tree.body):
            if isinstance(node, ast.ClassDef | Function) and node.body[0].lineno > node.lineno:
                inner = self.indent(first_line(node.body[0]))
                step = inner.removeprefix(self.indent(node.lineno))
                if step and not step.strip(" \t"):
                    return step
        return "    "

    @cached_property
    def aligned(self) -> bool:
        """Whether broken parameter lists, base lists or imports start on the bracket's own line.

        That is the style of yapf and of isort's default mode, which vLLM used up to 0.11.0: two thirds of its
        files show it.  ruff format, used since, never does it.
        """
        for node in definitions(self.tree.body):
            lines = [part.lineno for part in _header_parts(node)]
            if lines and min(lines) == node.lineno < max(lines):
                return True
        return False


@lru_cache(maxsize=8)
def _module_of(text: str) -> Module:
    return Module(text)


def _header_parts(node: ast.stmt) -> Sequence[ast.expr | ast.arg | ast.alias]:
    if isinstance(node, ast.ClassDef):
        return node.bases
    if isinstance(node, Function):
        return [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    return node.names if isinstance(node, ast.ImportFrom) else ()


def last_line(node: ast.stmt | ast.expr) -> int:
    """The line that a node ends on."""
    return node.end_lineno or node.lineno


def texts_of(module: Module, block: Sequence[ast.stmt]) -> list[str] | None:
    """The lines of each statement of a block; None where two of them share a line."""
    texts: list[str] = []
    done = 0
    for node in block:
        first, last = first_line(node), last_line(node)
        if first <= done:
            return None
        texts.append("".join(module.lines[first - 1 : last]))
        done = last
    return texts


def first_line(node: ast.stmt) -> int:
    """The line that a statement begins on, decorators included."""
    decorators = node.decorator_list if isinstance(node, ast.ClassDef | Function) else []
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


def scope(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """All statements of one scope in order of the text, those inside if, try, with and loops too."""
    for node in body:
        yield node
        for block in suites(node):
            yield from scope(block)


def definitions(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """All statements outside of functions, those of class bodies too."""
    for node in scope(body):
        yield node
        if isinstance(node, ast.ClassDef):
            yield from definitions(node.body)


def classes(body: Sequence[ast.stmt], prefix: str = "") -> Iterator[tuple[str, ast.ClassDef]]:
    """All classes that are not local to a function, with their qualified names."""
    for node in scope(body):
        if isinstance(node, ast.ClassDef):
            yield prefix + node.name, node
            yield from classes(node.body, f"{prefix}{node.name}.")


def functions(cls: ast.ClassDef, name: str) -> list[Function]:
    """The definitions of a method: several if it is overloaded, a property, or conditional."""
    return [node for node in scope(cls.body) if isinstance(node, Function) and node.name == name]
