"""The result of an audit as plain data: what renderers, comparisons and the cache work on.

Nothing here refers to the index or the interpreter, so a report from the cache is as good as a fresh one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, get_args

from analyzer.findings import Diagnostic, Finding, Link, Position

Role = Literal["wrapper", "text", "draft", "pooling", "other"]
Verdict = Literal["works", "broken", "undeclared", "unsupported", "config-dependent", "unknown"]

VERDICTS: tuple[Verdict, ...] = get_args(Verdict)


@dataclass(frozen=True)
class GateRecord:
    """A place outside the models that asks for a contract.

    Args:
        member: the checker or the method that it calls.
        at: where.
        subject: the object that it asks: ``outer model``, ``inner model``, ``class`` or ``unwrapped``.
        text: the call as the source writes it.
        error: the message raised where a check fails, as far as it is constant.
        function: the function that it stands in.
        checks: whether it tests the contract on an object that may be a wrapper, so that a wrapper has to pass.
    """

    member: str
    at: Position
    subject: str
    text: str
    error: str = ""
    function: str = ""
    checks: bool = False


@dataclass(frozen=True)
class AllowListRecord:
    """Strings of which a configuration's model type has to hold one; see :class:`analyzer.dispatch.AllowList`."""

    contract: str
    at: Position
    items: tuple[str, ...]
    subject: str
    error: str


@dataclass(frozen=True)
class ArmRecord:
    """A branch of a dispatch on class names; without names it is the last one, for every other class."""

    at: Position
    names: tuple[str, ...]
    reads: str


@dataclass(frozen=True)
class NameGateRecord:
    """A consumer that compares the outer class's name with strings; ``arms`` in source order, the last branch too."""

    at: Position
    function: str
    arms: tuple[ArmRecord, ...]


@dataclass(frozen=True)
class MethodRecord:
    """A method that a contract names; ``default`` is ``stub`` or ``working``."""

    name: str
    signature: str
    default: str
    at: Position


@dataclass(frozen=True)
class ContractRecord:
    """A contract as this checkout has it.

    Args:
        members: the names that structural conformance needs.
        checker: the function that tests it; None where there is none.
        check: ``isinstance`` or ``flag``.
        delegated: whether it configures the decoder, so that a wrapper has to hand it on.
        kept_in: the attributes of decoders under which supporting models keep what it configures.
        gates: who asks for it, by place.
    """

    name: str
    at: Position
    members: tuple[str, ...]
    methods: tuple[MethodRecord, ...]
    checker: str | None = None
    check: str = "isinstance"
    delegated: bool = False
    kept_in: tuple[str, ...] = ()
    gates: tuple[GateRecord, ...] = ()

    @property
    def checks(self) -> tuple[GateRecord, ...]:
        """The gates that a wrapper has to pass."""
        return tuple(gate for gate in self.gates if gate.checks)


@dataclass(frozen=True)
class InnerRecord:
    """One possibility for an inner model; see :class:`analyzer.inner.Inner`.

    ``decoder`` is the class that holds the layers, ``at`` the call that builds it, both None where not known.
    """

    attribute: str
    cls: str | None
    resolution: str
    decoder: str | None = None
    at: Position | None = None
    reason: str = ""


@dataclass(frozen=True)
class ChainRecord:
    """The steps from the check to the decoder for one possibility of the inner model, named by ``case``.

    The gates are the contract's own and not repeated here.
    """

    case: str
    links: tuple[Link, ...]


@dataclass(frozen=True)
class StatusRecord:
    """How one model stands to one contract.

    Args:
        declared: whether the class inherits the Protocol.
        satisfied: what the checker returns for an object of the class, None where unknown.
        verdict, reason: what comes of it, and why.
        handed_on: whether the contract was followed to the decoder, and is not only a check.
        chains: one for each possibility of the inner model; a contract that is only a check has one where the model
            passes it, with the methods that are effective.
        consumers: allow-lists and dispatches on the class's name that stand before and behind the check.
        class_satisfied: what the checker returns for the class itself, which the registry asks; None where it raises.
        declared_by: the dotted name of the class whose own bases bring the Protocol in: the model's own, or one that it
            inherits; empty where it is not declared.
    """

    declared: bool
    satisfied: bool | None
    verdict: Verdict
    reason: str = ""
    handed_on: bool = False
    chains: tuple[ChainRecord, ...] = ()
    consumers: tuple[Link, ...] = ()
    class_satisfied: bool | None = None
    declared_by: str = ""


@dataclass(frozen=True)
class ModelRecord:
    """A model class.

    Args:
        cls: dotted name.
        at: its ``class`` statement.
        architectures: registered names that it serves.
        role: see :class:`analyzer.models.Model`.
        serves: whether it generates for a user.
        becomes: classes that its own ``__new__`` makes instead of itself.
    """

    cls: str
    at: Position
    architectures: tuple[str, ...]
    role: Role
    serves: bool
    inner: tuple[InnerRecord, ...] = ()
    becomes: tuple[str, ...] = ()
    statuses: dict[str, StatusRecord] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.cls.rpartition(".")[2]


@dataclass(frozen=True)
class SearchRecord:
    """What of the tree a report rests on: for the rest, only that none of some words stands there.

    Args:
        words: what the files of the package were searched for.
        marks: words of which it matters only whether a file holds any.
        read: files that were looked into; of any other the contents do not matter as long as they hold no word.
    """

    words: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()
    read: tuple[str, ...] = ()


@dataclass(frozen=True)
class PluginRecord:
    """A plugin that was audited: its name and version, and the folder of the vLLM tree that it was held against."""

    name: str
    version: str | None
    vllm: Path


@dataclass(frozen=True)
class TreeRecord:
    """A checkout.

    Args:
        root: the folder that holds the package, or the plugin; absolute.
        version: vLLM's; None where the tree does not tell.
        plugin: where one was audited.
    """

    root: Path
    version: str | None
    plugin: PluginRecord | None = None

    @property
    def vllm(self) -> str:
        """vLLM with its version, in words."""
        return f"vLLM {self.version or 'of an unknown version'}"

    @property
    def title(self) -> str:
        """What was read, in words: vLLM, or a plugin and the vLLM that it was held against."""
        if self.plugin is None:
            return self.vllm
        return f"{' '.join(filter(None, (self.plugin.name, self.plugin.version)))} with {self.vllm}"


@dataclass(frozen=True)
class Span:
    """Lines of a file, the first and the last one included."""

    first: int
    last: int

    def __contains__(self, line: int) -> bool:
        return self.first <= line <= self.last


@dataclass(frozen=True)
class ClassSpan:
    """A class: its qualified name inside the file, its header (decorators to colon), and all of it."""

    name: str
    header: Span
    whole: Span


@dataclass(frozen=True)
class Comment:
    """One comment that suppresses findings, or is meant to.

    Args:
        line, column: where it begins, from 1.
        words: the codes or names in its brackets, as written.
        reason: what stands behind them.
        problem: why it cannot be read; then it has no words.
        covers: the lines that it speaks for.
    """

    line: int
    column: int
    words: tuple[str, ...]
    reason: str
    problem: str
    covers: Span


@dataclass(frozen=True)
class FileComments:
    """What one file says about suppressions; made of its contents alone.

    Args:
        path: as in findings.
        comments: in their order.
        classes: by first line.
    """

    path: str
    comments: tuple[Comment, ...] = ()
    classes: tuple[ClassSpan, ...] = ()

    def class_at(self, line: int) -> ClassSpan | None:
        """The innermost class that a line belongs to."""
        return next((c for c in reversed(self.classes) if line in c.whole), None)


@dataclass(frozen=True)
class SuppressedRecord:
    """A finding that a comment suppresses.

    Args:
        finding: it.
        by: where the comment is.
        reason: as the comment gives it; may be empty.
    """

    finding: Finding
    by: Position
    reason: str


@dataclass(frozen=True, order=True)
class EntryRecord:
    """A known finding, as a line of a baseline tells it."""

    path: str
    cls: str
    code: str
    contract: str
    fingerprint: str


@dataclass(frozen=True)
class BaselineRecord:
    """What was found, held against a baseline.

    Args:
        file: the baseline's.
        known: findings that are in it.
        stale: entries that no finding is like any more.
        entries: what the file should hold: all that is found, and what this run did not look at.
        updated: whether this run makes the file anew; then every finding is known, and stale entries are dropped.
        added: how many findings are known only since then.
    """

    file: Path
    known: tuple[Finding, ...]
    stale: tuple[EntryRecord, ...]
    entries: tuple[EntryRecord, ...]
    updated: bool = False
    added: int = 0


@dataclass
class Report:
    """The result of an audit.

    Args:
        checkout: the tree.
        files_seen: Python files of the model folders.
        files_parsed: files that were parsed.
        contracts: in source order.
        models: by place.
        allow_lists, name_gates: consumers that dispatch on a model's type or class name.
        findings: sorted by place.
        diagnostics: input that could not be used.
        comments: those of the models' files, and of other files that findings name, which may suppress findings.
        suppressed: findings that comments do suppress; :mod:`analyzer.sift` parts them from the others.
        baseline: what a baseline knows of the findings, where there is one.
        searched: what of the tree all this rests on.
    """

    checkout: TreeRecord
    files_seen: int
    files_parsed: int
    contracts: list[ContractRecord]
    models: list[ModelRecord]
    findings: list[Finding]
    allow_lists: list[AllowListRecord] = field(default_factory=list)
    name_gates: list[NameGateRecord] = field(default_factory=list)
    diagnostics: list[Diagnostic] = field(default_factory=list)
    comments: list[FileComments] = field(default_factory=list)
    suppressed: list[SuppressedRecord] = field(default_factory=list)
    baseline: BaselineRecord | None = None
    searched: SearchRecord = SearchRecord()

    @property
    def failing(self) -> bool:
        """Whether the run counts as having findings: information alone never does."""
        return any(f.severity != "info" for f in self.findings)

    def contract(self, name: str) -> ContractRecord | None:
        """A contract by name."""
        return next((c for c in self.contracts if c.name == name), None)
