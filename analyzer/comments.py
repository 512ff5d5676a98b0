"""Suppression comments of a file, and which lines each of them speaks for.

``# vllm-contracts: ignore[VC001] reason`` belongs to the statement that it stands in, on any of its lines, or directly
below it; several such comments may stand above each other.  A decorated class or function is one statement from its
first decorator to the colon.  Comments are found with :mod:`tokenize`, so text in strings is none.
"""

from __future__ import annotations

import io
import re
import tokenize
from dataclasses import dataclass, field

from analyzer.findings import Diagnostic
from analyzer.records import ClassSpan, Comment, FileComments, Span
from analyzer.source import Source, parse

MARKS = (b"llm-contract", b"LLM-contract", b"LLM-Contract", b"llm_contract", b"LLM_contract", b"LLM_Contract")
"""What the bytes of a file with such comments hold, those that are misspelled by the project's own name too."""

HOW = "write # vllm-contracts: ignore[CODE] reason"

_DIRECTIVE = re.compile(r"(?=#\s*vllm[-_]contracts?\b)", re.IGNORECASE)
_MEANT = re.compile(r"#\s*vllm[-_]contracts?\s*(?::|ignore\s*\[)", re.IGNORECASE)
_VALID = re.compile(r"#\s*vllm-contracts:\s*ignore\s*(?:\[([^\[\]]*)\](.*))?", re.DOTALL)
_NEXT_COMMENT = re.compile(r"\s+#(?:\s|\Z)")
_SKIPPED = frozenset({tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING, tokenize.ENDMARKER})


def read_comments(source: Source) -> FileComments:
    """The suppression comments of a file; none of one that Python cannot parse, whose findings are not known."""
    if not any(mark in source.data for mark in MARKS) or isinstance(parse(source), Diagnostic):
        return FileComments(source.rel)
    reader = _Reader()
    try:
        for token in tokenize.generate_tokens(io.StringIO("\n".join(source.lines) + "\n").readline):
            reader.read(token)
    except (tokenize.TokenError, SyntaxError):
        return FileComments(source.rel)
    reader.close()
    classes = sorted(reader.classes, key=lambda c: (c.whole.first, -c.whole.last))
    return FileComments(source.rel, tuple(sorted(reader.comments, key=lambda c: (c.line, c.column))), tuple(classes))


@dataclass
class _Open:
    """A class whose end has not been read yet."""

    name: str
    header: Span
    depth: int


@dataclass
class _Reader:
    """Takes a file's tokens one by one and keeps its comments and classes.

    Attributes:
        comments, classes: those found so far.
    """

    comments: list[Comment] = field(default_factory=list)
    classes: list[ClassSpan] = field(default_factory=list)
    _above: list[tokenize.TokenInfo] = field(default_factory=list)
    _inside: list[tokenize.TokenInfo] = field(default_factory=list)
    _statement: list[tokenize.TokenInfo] = field(default_factory=list)
    _first: int = 0
    _last: int = 0
    _depth: int = 0
    _open: list[_Open] = field(default_factory=list)

    def read(self, token: tokenize.TokenInfo) -> None:
        self._depth += {tokenize.INDENT: 1, tokenize.DEDENT: -1}.get(token.type, 0)
        if token.type == tokenize.COMMENT:
            self._comment(token)
        elif token.type == tokenize.NEWLINE:
            self._end_of_line(token.start[0])
        elif token.type != tokenize.NL and token.type not in _SKIPPED:
            self._begin(token)
            self._statement.append(token)

    def _comment(self, token: tokenize.TokenInfo) -> None:
        if self._first:
            self._inside.append(token)
            return
        if self._above and self._above[-1].start[0] < token.start[0] - 1:
            self._leave()
        self._above.append(token)

    def _begin(self, token: tokenize.TokenInfo) -> None:
        """A token of a statement, perhaps its first."""
        if self._first:
            return
        self._first = token.start[0]
        if self._above and self._above[-1].start[0] < self._first - 1:
            self._leave()
        while self._open and self._open[-1].depth >= self._depth:
            self._close_class()

    def _end_of_line(self, line: int) -> None:
        """The end of a statement, of the head of one, or of a decorator, which is part of what follows."""
        self._last = line
        words, self._statement = [t.string for t in self._statement[:2]], []
        if words[:1] == ["@"]:
            return
        span = Span(self._first, line)
        for token in (*self._above, *self._inside):
            self._keep(token, span)
        if words[:1] == ["class"]:
            names = [c.name for c in self._open[-1:]]
            self._open.append(_Open(".".join([*names, words[1]]), span, self._depth))
        self._above, self._inside, self._first = [], [], 0

    def _leave(self) -> None:
        """Comments that stand above nothing speak for themselves alone."""
        for token in self._above:
            self._keep(token, Span(token.start[0], token.start[0]))
        self._above = []

    def _close_class(self) -> None:
        done = self._open.pop()
        self.classes.append(ClassSpan(done.name, done.header, Span(done.header.first, self._last)))

    def close(self) -> None:
        """The end of the file."""
        self._leave()
        while self._open:
            self._close_class()

    def _keep(self, token: tokenize.TokenInfo, covers: Span) -> None:
        column = token.start[1] + 1
        for text in _DIRECTIVE.split(token.string):
            if _MEANT.match(text):
                words, reason, problem = _directive(text)
                self.comments.append(Comment(token.start[0], column, words, reason, problem, covers))
            column += len(text)


def _directive(text: str) -> tuple[tuple[str, ...], str, str]:
    """Words, reason and problem of a comment that is meant to suppress something."""
    match = _VALID.fullmatch(text)
    if match is None:
        return (), "", f"is not understood; {HOW}"
    words = tuple(dict.fromkeys(word.strip() for word in (match[1] or "").split(",") if word.strip()))
    if not words:
        return (), "", f"names no rule, so that nobody can tell what it is to hide; {HOW}"
    reason = _NEXT_COMMENT.split(match[2], maxsplit=1)[0]
    return words, reason.strip(" \t:;,.-–—"), ""
