"""What a rule says: findings, their chains of evidence, and the repairs as plain data.

Nothing here holds a syntax tree.  A :class:`Fix` is a description that :mod:`analyzer.fix` carries out on
the one file that it names; a report prints it without knowing how.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from analyzer.problems import Diagnostic as Diagnostic

Severity = Literal["error", "warning", "info"]
Confidence = Literal["certain", "config-dependent", "unresolved"]
Safety = Literal["safe", "unsafe", "none"]

SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")


@dataclass(frozen=True, order=True)
class Position:
    """A place in the checkout.

    Args:
        path: relative to the checkout's root, with forward slashes.
        line: 1-based.
        column: 1-based, in characters.
    """

    path: str
    line: int
    column: int = 1

    def __str__(self) -> str:
        return f"{self.path}:{self.line}"


@dataclass(frozen=True)
class Link:
    """One step of a chain from the gate to the decoder.

    ``ok`` is True (holds), False (broken here) or None (not known); ``detail`` says why in plain words.
    """

    link: str
    ok: bool | None
    path: str
    line: int
    detail: str


@dataclass(frozen=True, order=True)
class GateUse:
    """A gate that a finding affects: where it stands and which object it asks (its *subject*)."""

    path: str
    line: int
    subject: str


# --------------------------------------------------------------------------------------------------
# Repairs, as data.  ``cls`` is always the qualified name inside the file (``Outer.Inner`` if nested).


@dataclass(frozen=True)
class AddBase:
    """Add ``base`` (a bare name that the file will import) to the bases of ``cls``.

    ``position`` is the index among the positional bases where it goes; the caller has checked that the
    linearisation stays valid and that no member of the new base hides an existing method.
    """

    path: str
    cls: str
    base: str
    position: int


@dataclass(frozen=True)
class AddImport:
    """Make ``name`` from ``module`` (dotted, absolute) available at run time in ``path``."""

    path: str
    module: str
    name: str


@dataclass(frozen=True)
class AddMethods:
    """Add methods to ``cls``.

    ``methods`` are dedented sources, one each.  ``after`` names methods of the class in order of
    preference: the new ones go after the last of the first name that exists, else at the end.
    """

    path: str
    cls: str
    methods: tuple[str, ...]
    after: tuple[str, ...] = ()


@dataclass(frozen=True)
class ReplaceMethod:
    """Replace the whole definition of ``method`` in ``cls`` by ``source`` (dedented)."""

    path: str
    cls: str
    method: str
    source: str


@dataclass(frozen=True)
class ReplaceSignature:
    """Give ``method`` of ``cls`` other parameters and another annotated result; its body stays.

    ``parameters`` are sources, one each, ``self`` and ``*`` included; ``returns`` may be empty.
    """

    path: str
    cls: str
    method: str
    parameters: tuple[str, ...]
    returns: str


@dataclass(frozen=True)
class RenameMethod:
    """Rename ``old`` to ``new`` in ``cls``, with the calls of ``old`` inside that method's own body."""

    path: str
    cls: str
    old: str
    new: str


@dataclass(frozen=True)
class RemoveMethod:
    """Remove ``method`` from ``cls``, with the comments directly above it."""

    path: str
    cls: str
    method: str


@dataclass(frozen=True)
class AddListItem:
    """Append the string ``item`` to the list, tuple or set literal that contains ``line`` in ``path``.

    ``beside`` is a string that stands in that literal already; it tells which literal is meant.
    """

    path: str
    line: int
    beside: str
    item: str


@dataclass(frozen=True)
class AddAssignment:
    """Add ``self.target = value`` to ``method`` of ``cls``, below the statement that sets ``self.after``."""

    path: str
    cls: str
    method: str
    after: str
    target: str
    value: str


@dataclass(frozen=True)
class AddStatement:
    """Add a simple statement: at the end of ``method`` of ``cls``, or at the top of the class where that is empty."""

    path: str
    cls: str
    method: str
    source: str


@dataclass(frozen=True)
class AnnotateResult:
    """Give the result of ``method`` of ``cls`` another annotation, where it has one."""

    path: str
    cls: str
    method: str
    returns: str


@dataclass(frozen=True)
class CollectStates:
    """Let ``method`` of ``cls`` collect states in its one loop over ``self.<layers>``, and return them too.

    All sources are dedented statements that will be laid out.

    Args:
        path, cls, method, layers: which loop.
        index: the name that the loop is to count with; empty where it counts already.
        start: source of the first index.
        above: statements above the loop.
        first, last: statements at the beginning and at the end of its body.
        handed_on: an entry for the dict that an earlier stage returns; empty for none.
        value: the name that the last return's value gets first; empty where it is a name.
        below: statements above the last return.
    """

    path: str
    cls: str
    method: str
    layers: str
    index: str
    start: str
    above: tuple[str, ...]
    first: tuple[str, ...]
    last: tuple[str, ...]
    handed_on: str
    value: str
    below: tuple[str, ...]


Edit = (
    AddBase
    | AddImport
    | AddMethods
    | AddAssignment
    | ReplaceMethod
    | ReplaceSignature
    | RenameMethod
    | RemoveMethod
    | AddListItem
    | AddStatement
    | AnnotateResult
    | CollectStates
)


@dataclass(frozen=True)
class Fix:
    """A repair, or the reason why there is none.

    Args:
        safety: ``safe`` is applied by default, ``unsafe`` on request, ``none`` has no edits.
        summary: what it would do, or why there is none, in one sentence.
        edits: carried out together or not at all.
        why_unsafe: what a person has to judge, for ``unsafe``.
    """

    safety: Safety
    summary: str
    edits: tuple[Edit, ...] = ()
    why_unsafe: str = ""


NO_FIX = Fix("none", "nothing to repair here by machine")


@dataclass(frozen=True)
class Finding:
    """One fault of one class against one contract, with everything needed to judge it."""

    code: str
    name: str
    contract: str
    severity: Severity
    confidence: Confidence
    cls: str
    architectures: tuple[str, ...]
    at: Position
    message: str
    fix: Fix = NO_FIX
    chain: tuple[Link, ...] = ()
    gates: tuple[GateUse, ...] = ()
    builds_inner: Position | None = None

    @property
    def sort_key(self) -> tuple[object, ...]:
        return (self.at.path, self.at.line, self.at.column, self.code, self.contract, self.cls)
