"""Which findings comments in the source suppress, and which comments suppress nothing.

A comment speaks for a finding if it names its rule and belongs to one of three statements: the one that the finding
is on, the one that it says builds the inner model, or the head of the class around it.  The findings have to be those
of all rules on all contracts, so that a comment is never called unused because a run looked at a part only.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from analyzer.checkout import Checkout
from analyzer.comments import MARKS, read_comments
from analyzer.findings import Finding, Position
from analyzer.records import Comment, FileComments, SuppressedRecord
from analyzer.scan import files_with
from analyzer.settings import RuleNames
from analyzer.source import Source, read_source


@dataclass(frozen=True)
class CommentUse:
    """What became of one comment.

    Args:
        at: where it is.
        cls: dotted name of the class around it or below it; of the module where there is none.
        problem: why it could not be read.
        used: words that suppress findings.
        unused: words that do not.
        unknown: words that name no rule.
        reason: as the comment gives it; may be empty.
        needs_reason: whether it has to have one.
    """

    at: Position
    cls: str
    problem: str
    used: tuple[str, ...]
    unused: tuple[str, ...]
    unknown: tuple[str, ...]
    reason: str
    needs_reason: bool


@dataclass(frozen=True)
class Parted:
    """Findings parted by the comments of their files."""

    kept: tuple[Finding, ...]
    suppressed: tuple[SuppressedRecord, ...]
    uses: tuple[CommentUse, ...]


def checkout_comments(checkout: Checkout, findings: Iterable[Finding]) -> tuple[list[FileComments], list[str]]:
    """The comments of all files of model classes, and of those that findings name; and the files that were looked into.

    Args:
        checkout: the tree.
        findings: of its audit.
    """
    named = {p.path for f in findings for p in (f.at, f.builds_inner) if p is not None}
    files = {checkout.rel(path): path for root in checkout.judged_roots for path in checkout.python_files(root)}
    files |= {rel: checkout.path(rel) for rel in named if checkout.is_judged(rel)}
    marked = set(files_with(files.values(), MARKS))
    sources = (read_source(path, rel) for rel, path in sorted(files.items()) if path in marked)
    read = (read_comments(source) for source in sources if isinstance(source, Source))
    return [file for file in read if file.comments], sorted(rel for rel, path in files.items() if path in marked)


def suppress(
    findings: Iterable[Finding],
    files: Sequence[FileComments],
    rules: RuleNames,
    silent: Collection[str] = (),
    *,
    require_reason: bool = False,
) -> Parted:
    """Part findings into those that stay and those that a comment suppresses.

    Args:
        findings: of all rules that were applied, and all contracts.
        files: the comments.
        rules: which rules there are.
        silent: codes of rules that were not applied: a comment that names one may well suppress something.
        require_reason: whether each comment has to give a reason.
    """
    by_path = {file.path: file for file in files}
    used: dict[tuple[str, Comment], set[str]] = {}
    kept, suppressed = [], []
    for finding in findings:
        speaking = list(_speaking(finding, by_path, rules))
        for path, comment, word in speaking:
            used.setdefault((path, comment), set()).add(word)
        if speaking:
            path, comment, _ = speaking[0]
            suppressed.append(SuppressedRecord(finding, Position(path, comment.line, comment.column), comment.reason))
        else:
            kept.append(finding)
    uses = tuple(
        _use(file, comment, used.get((file.path, comment), set()), rules, silent, require_reason)
        for file in files
        for comment in file.comments
    )
    return Parted(tuple(kept), tuple(suppressed), uses)


def _speaking(
    finding: Finding, files: Mapping[str, FileComments], rules: RuleNames
) -> Iterable[tuple[str, Comment, str]]:
    """The comments that suppress a finding, each with its file and the word that does."""
    for position in (finding.at, finding.builds_inner):
        file = files.get(position.path) if position is not None else None
        if file is None or position is None:
            continue
        around = file.class_at(position.line) if position is finding.at else None
        for comment in file.comments:
            if position.line in comment.covers or (around is not None and comment.covers == around.header):
                for word in comment.words:
                    if rules.get(word.lower()) == finding.code:
                        yield file.path, comment, word


def _use(
    file: FileComments,
    comment: Comment,
    used: set[str],
    rules: RuleNames,
    silent: Collection[str],
    require_reason: bool,
) -> CommentUse:
    known = [word for word in comment.words if word.lower() in rules]
    return CommentUse(
        at=Position(file.path, comment.line, comment.column),
        cls=_class_name(file, comment),
        problem=comment.problem,
        used=tuple(word for word in known if word in used),
        unused=tuple(word for word in known if word not in used and rules[word.lower()] not in silent),
        unknown=tuple(word for word in comment.words if word.lower() not in rules),
        reason=comment.reason,
        needs_reason=require_reason,
    )


def _class_name(file: FileComments, comment: Comment) -> str:
    stem = file.path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    around = file.class_at(comment.covers.last)
    return f"{stem}.{around.name}" if around is not None else stem
