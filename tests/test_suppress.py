"""Which findings a comment suppresses, and which comments suppress nothing."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from analyzer.checkout import open_checkout
from analyzer.comments import read_comments
from analyzer.findings import Finding, Position
from analyzer.records import FileComments
from analyzer.source import Source
from analyzer.suppress import CommentUse, Parted, checkout_comments, suppress
from tests.report_tree import FILES, WRAPPERS, make_tree

RULES = {"vc001": "VC001", "undeclared-support": "VC001", "vc005": "VC005", "stale-method": "VC005"}

SOURCE = """\
class Outer(nn.Module):

    class Inner(
        nn.Module,
    ):
        def stale(
            self,
        ): ...

    def build(self):
        with self.marked():
            self.language_model = make(
                "a",
            )
"""
OUTER, INNER, STALE, BUILD = 1, 3, 6, 12


def finding(line: int, code: str = "VC001", builds: Position | None = None, path: str = "a.py") -> Finding:
    return Finding(
        code=code,
        name="some-rule",
        contract="SupportsEagle3",
        severity="error",
        confidence="certain",
        cls="a.Outer",
        architectures=(),
        at=Position(path, line),
        message="fails",
        builds_inner=builds,
    )


def file(comments: dict[int, str], path: str = "a.py") -> FileComments:
    """The source with comments at the ends of lines."""
    lines = SOURCE.split("\n")
    for number, words in comments.items():
        lines[number - 1] += f"  # vllm-contracts: ignore[{words}] because"
    text = "\n".join(lines)
    return read_comments(Source(Path(path), path, text.encode(), text, "utf-8", False))


def part(findings: list[Finding], comments: dict[int, str]) -> Parted:
    return suppress(findings, [file(comments)], RULES)


SUPPRESSED: dict[str, tuple[Finding, int]] = {
    "on the head of the class": (finding(OUTER), 1),
    "on each line of a head": (finding(INNER), 4),
    "on the method that the finding is on": (finding(STALE, "VC005"), 7),
    "on the head of the class around that method": (finding(STALE, "VC005"), 5),
    "on the statement that builds the inner model": (finding(OUTER, builds=Position("a.py", BUILD)), 14),
    "where another file builds it": (finding(9, path="b.py", builds=Position("a.py", BUILD)), 13),
    "on a line of the body, which is the finding's": (finding(BUILD, "VC005"), 12),
}


@pytest.mark.parametrize("name", SUPPRESSED)
@pytest.mark.parametrize("by_name", [False, True])
def test_a_comment_suppresses(name: str, by_name: bool) -> None:
    one, line = SUPPRESSED[name]
    names = {"VC001": "Undeclared-Support", "VC005": "stale-method"}
    parted = part([one], {line: names[one.code] if by_name else one.code.lower()})
    assert not parted.kept
    (suppressed,) = parted.suppressed
    assert (suppressed.finding, suppressed.by.path, suppressed.by.line) == (one, "a.py", line)
    assert suppressed.reason == "because"
    assert [(u.unused, u.unknown, u.problem) for u in parted.uses] == [((), (), "")]


KEPT: dict[str, tuple[Finding, int, str]] = {
    "of another rule": (finding(OUTER), 1, "VC005"),
    "in the body of the class": (finding(OUTER), 14, "VC001"),
    "on another class": (finding(OUTER), 3, "VC001"),
    "on the class around the class": (finding(INNER), 1, "VC001"),
    "on the class around the class of a method": (finding(STALE, "VC005"), 1, "VC005"),
    "on the block around the statement": (finding(OUTER, builds=Position("a.py", BUILD)), 11, "VC001"),
    "on the class that builds the inner model of another": (
        finding(9, path="b.py", builds=Position("a.py", BUILD)),
        1,
        "VC001",
    ),
    "in another file": (finding(OUTER, path="b.py"), 1, "VC001"),
}


@pytest.mark.parametrize("name", KEPT)
def test_a_comment_that_speaks_for_something_else_is_unused(name: str) -> None:
    one, line, word = KEPT[name]
    parted = part([one], {line: word})
    assert (parted.kept, parted.suppressed) == ((one,), ())
    assert [u.unused for u in parted.uses] == [(word,)]


def test_one_comment_for_several_findings_and_several_comments_for_one() -> None:
    both = [finding(OUTER), finding(OUTER, "VC005")]
    parted = part([*both, finding(OUTER)], {1: "VC001, stale-method"})
    assert (len(parted.suppressed), parted.uses[0].used) == (3, ("VC001", "stale-method"))
    built = finding(OUTER, builds=Position("a.py", BUILD))
    parted = part([built], {1: "VC001", 12: "VC001"})
    assert [u.used for u in parted.uses] == [("VC001",), ("VC001",)]
    assert parted.suppressed[0].by.line == 1


def test_what_is_known_of_each_comment() -> None:
    (use,) = suppress([finding(OUTER)], [file({3: "VC001, VC01, VC005"})], RULES, require_reason=True).uses
    assert use == CommentUse(
        at=Position("a.py", 3, 19),
        cls="a.Outer.Inner",
        problem="",
        used=(),
        unused=("VC001", "VC005"),
        unknown=("VC01",),
        reason="because",
        needs_reason=True,
    )


@pytest.mark.parametrize(
    ("path", "cls"), [("vllm/models/a.py", "vllm.models.a"), ("vllm/models/x/__init__.py", "vllm.models.x")]
)
def test_a_comment_outside_of_classes_is_its_modules(path: str, cls: str) -> None:
    text = "x = 1  # vllm-contracts: ignore[VC001]\n"
    read = read_comments(Source(Path(path), path, text.encode(), text, "utf-8", False))
    assert [use.cls for use in suppress([], [read], RULES).uses] == [cls]


def test_which_files_are_searched(tmp_path: Path) -> None:
    mark = "\n# vllm-contracts: ignore[VC001]\n"
    make_tree(tmp_path, wrappers=FILES[WRAPPERS] + mark, runner=FILES["vllm/v1/runner.py"] + mark)
    extra = tmp_path / "vllm" / "more"
    extra.mkdir()
    (extra / "a.py").write_text(mark)
    (extra / "b.py").write_text(mark.replace("vllm", "vLLM"))
    (extra / "broken.py").write_text(f"{mark}x = (")
    (extra / "latin.py").write_bytes(dedent(mark).encode() + b"\xff")
    checkout = open_checkout(tmp_path)

    def found(*findings: Finding, roots: tuple[str, ...] = ()) -> list[str]:
        return [f.path for f in checkout_comments(checkout.with_model_roots(roots), findings)[0]]

    assert found() == [WRAPPERS]
    assert found(finding(1, path="vllm/v1/runner.py")) == [WRAPPERS, "vllm/v1/runner.py"]
    assert found(finding(1, path=WRAPPERS, builds=Position("vllm/v1/runner.py", 1))) == [WRAPPERS, "vllm/v1/runner.py"]
    assert found(finding(1, path="vllm/gone.py")) == [WRAPPERS]
    assert found(roots=("vllm/more",)) == [WRAPPERS, "vllm/more/a.py", "vllm/more/b.py"]
