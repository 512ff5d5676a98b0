"""Input that has nothing to do with vLLM, or is damaged, or is very much: does anything crash, hang or get changed?

    python -m scripts.robustness packages DIR [DIR ...]   folders of Python files, as model files of a tree
    python -m scripts.robustness mutations COUNT [SEED]   model files that are cut short or have bits flipped
    python -m scripts.robustness sizes COUNT              trees of half as many files and of so many

Each prints what it saw, and ends with 1 where something went wrong.  Time is counted as the processor's, beside an
undamaged run of the same process, so a busy machine does not matter.
"""

from __future__ import annotations

import ast
import shutil
import signal
import statistics
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from analyzer.checkout import open_checkout
from analyzer.engine import EngineError, audit
from analyzer.findings import AddBase, AddImport, Fix
from analyzer.fix import plan_fixes, write_plan
from analyzer.problems import Diagnostic
from analyzer.records import Report
from analyzer.source import Source, parse_outline, read_source
from rules import all_rules
from tests.fixture_trees import GENERATIONS, MODELS, copy_tree

BOUND = 20.0  # times what the undamaged tree takes
HANGS = 120.0  # seconds of the processor after which a run is stopped
SUPPORT = "vllm.model_executor.models.interfaces"


class Hang(BaseException):
    """A run was stopped."""


@dataclass
class Result:
    """What was seen.

    Args:
        wrong: everything that must not happen, one line or traceback each.
        counts: of what was done.
    """

    wrong: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)


@contextmanager
def bounded(seconds: float) -> Iterator[None]:
    """Stop what runs inside after so much time of the processor."""

    def stop(_number: int, _frame: object) -> None:
        raise Hang

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def audited(root: Path) -> tuple[Report | None, float, str]:
    """The report of a tree, the time it took, and the error that the user would get instead."""
    start = time.process_time()
    try:
        with bounded(HANGS):
            return audit(open_checkout(root), all_rules()), time.process_time() - start, ""
    except EngineError as error:
        return None, time.process_time() - start, str(error)


def contents(root: Path) -> dict[str, bytes]:
    """Every file of a tree with its bytes."""
    return {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


# -- files that have nothing to do with vLLM -------------------------------------------------------


def packages(folders: Sequence[Path], work: Path, *, most: int | None = None) -> Result:
    """Put folders of Python files into a tree's model folder, register their classes, audit and plan fixes.

    Args:
        folders: what to put there.
        work: an empty folder.
        most: how many files of each folder to take; all unless given.
    """
    result = Result()
    for number, folder in enumerate(folders):
        root = copy_tree("0.33", work / f"tree{number}")
        home = root / MODELS / f"foreign{number}"
        files = sorted(path for path in folder.rglob("*.py") if path.is_file())[:most]
        for path in files:
            target = home / path.relative_to(folder)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(path.read_bytes())
        classes = list(_classes(root, home))
        _register(root, [(module, name) for _, module, name, _ in classes])
        before = contents(root)
        result.counts["packages"] += 1
        result.counts["files"] += len(files)
        result.counts["classes"] += len(classes)
        try:
            report, _, error = audited(root)
            result.counts["models"] += len(report.models) if report is not None else 0
            result.counts["diagnostics"] += len(report.diagnostics) if report is not None else 0
            if report is None:
                result.wrong.append(f"{folder}: {error}")
            _plan_all(root, classes, result)
        except (Exception, Hang):
            result.wrong.append(f"{folder}: {traceback.format_exc()}")
        if contents(root) != before:
            result.wrong.append(f"{folder}: a file was changed")
        shutil.rmtree(root)
    return result


def _classes(root: Path, home: Path) -> Iterator[tuple[str, str, str, int]]:
    """Path, module, name and number of bases of the classes at the top of the files."""
    for path in sorted(home.rglob("*.py")):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tree = ast.parse(path.read_bytes())
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        module = ".".join(path.relative_to(root).with_suffix("").parts)
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and all(part.isidentifier() for part in module.split(".")):
                yield str(path.relative_to(root)), module.removesuffix(".__init__"), node.name, len(node.bases)


def _register(root: Path, rows: list[tuple[str, str]]) -> None:
    registry = root / MODELS / "registry.py"
    table = "".join(f'    "Foreign{n}ForCausalLM": ({row[0]!r}, {row[1]!r}),\n' for n, row in enumerate(rows))
    first = "_TEXT_GENERATION_MODELS = {\n"
    registry.write_text(registry.read_text().replace(first, first + table))


def _plan_all(root: Path, classes: list[tuple[str, str, str, int]], result: Result) -> None:
    """Plan a base for every class: refused with a reason, or a file that parses; nothing is written."""
    files: dict[str, list[Fix]] = {}
    for path, _, name, bases in classes:
        edits = (AddBase(path, name, "SupportsEagle3", bases), AddImport(path, SUPPORT, "SupportsEagle3"))
        files.setdefault(path, []).append(Fix("unsafe", "a base", edits))
    for fixes in files.values():
        with bounded(HANGS):
            plan = plan_fixes(root, fixes)
        result.counts["fixes planned"] += len(plan.applied)
        result.counts["fixes refused"] += len(plan.refused)
        for change in plan.changes:
            if not _parses(change.after):
                result.wrong.append(f"{change.path} does not parse after the fix")


# -- damaged files ---------------------------------------------------------------------------------


def mutations(count: int, seed: int, work: Path) -> Result:
    """Damage one model file at a time, audit, and let the fixer loose on what is left.

    Args:
        count: how many damages.
        seed: for the choices.
        work: an empty folder.
    """
    random, result = Random(seed), Result()
    roots = [copy_tree(generation, work / generation) for generation in GENERATIONS]
    for root in roots:
        _break_wrapper(root)
    plain = {root: _plain(root) for root in roots}
    slowest = 0.0
    for number in range(count):
        root = random.choice(roots)
        path = random.choice(sorted((root / MODELS).glob("*.py")))
        original = path.read_bytes()
        damaged = _damaged(original, random)
        path.write_bytes(damaged)
        what = f"mutation {number} of seed {seed}, {path.relative_to(work)}"
        try:
            slowest = max(slowest, _judge(root, path, plain[root], what, result))
        except (Exception, Hang):
            result.wrong.append(f"{what}: {traceback.format_exc()}")
        path.write_bytes(original)
        result.counts["mutations"] += 1
    result.counts["slowest, in hundredths of the undamaged"] = round(100 * slowest)
    return result


def _break_wrapper(root: Path) -> None:
    """Take the declaration away from the tree's wrapper, so that there is something to fix."""
    wrapper = root / MODELS / "gamma.py"
    wrapper.write_text(wrapper.read_text().replace(", SupportsEagle3)", ")"))


def _damaged(source: bytes, random: Random) -> bytes:
    if not source:
        return bytes([random.randrange(256)])
    kind = random.randrange(5)
    at = random.randrange(len(source))
    if kind == 0:
        return source[:at]
    if kind == 1:  # some bits
        out = bytearray(source)
        for _ in range(random.choice([1, 1, 2, 8])):
            out[random.randrange(len(out))] ^= 1 << random.randrange(8)
        return bytes(out)
    if kind == 2:  # a piece is missing
        return source[:at] + source[at + random.randrange(1, 60) :]
    if kind == 3:  # a piece is there twice
        return source[:at] + source[at : at + random.randrange(1, 200)] + source[at:]
    lines = source.splitlines(keepends=True)  # two lines change places
    one, two = random.randrange(len(lines)), random.randrange(len(lines))
    lines[one], lines[two] = lines[two], lines[one]
    return b"".join(lines)


@dataclass(frozen=True)
class _Plain:
    """An undamaged tree: how long its audit takes, and the files that it looks into."""

    takes: float
    read: frozenset[str]


def _plain(root: Path) -> _Plain:
    runs = [audited(root) for _ in range(3)]
    report = runs[0][0]
    assert report is not None
    return _Plain(statistics.median(took for _, took, _ in runs), frozenset(report.searched.read))


def _judge(root: Path, path: Path, plain: _Plain, what: str, result: Result) -> float:
    """How many times as long as undamaged it took; everything that is wrong goes into the result."""
    before = contents(root)
    report, took, error = audited(root)
    times = took / plain.takes
    if times > BOUND:
        result.wrong.append(f"{what}: took {times:.0f} times as long as the undamaged tree")
    relative = path.relative_to(root).as_posix()
    parses = _parses(before[str(path.relative_to(root))])
    if report is None:
        result.counts["refused with one line"] += 1
        if not error or "\n" in error:
            result.wrong.append(f"{what}: the error is {error!r}")
        return times
    told = any(d.path == relative for d in report.diagnostics)
    result.counts["told by a diagnostic" if told else "with findings" if report.findings else "nothing to tell"] += 1
    if (
        not parses
        and not told
        and relative in plain.read
        and not _is_only_searched(relative)
        and not _in_a_body(path, relative)
    ):
        result.wrong.append(f"{what}: it does not parse, and nothing says so")
    plan = plan_fixes(root, [f.fix for f in report.findings if f.fix.edits])
    written = write_plan(root, plan)
    after = contents(root)
    meant = {change.path for change in plan.changes} if not written.refused else set()
    changed = {name for name in before if after.get(name) != before[name]}
    result.counts["files fixed"] += len(changed)
    if changed - meant or set(after) - set(before):
        result.wrong.append(f"{what}: changed {sorted(changed - meant | set(after) - set(before))}")
    for name in changed:
        if not _parses(after[name]):
            result.wrong.append(f"{what}: {name} does not parse after the fix")
        (root / name).write_bytes(before[name])
    return times


def _is_only_searched(path: str) -> bool:
    """Whether nothing leads to a file, so that it is searched for words and never parsed."""
    return Path(path).stem in ("__init__", "config")


def _in_a_body(path: Path, relative: str) -> bool:
    """Whether the error stands in the body of a function: it is met where that is asked for, and only there."""
    source = read_source(path, relative)
    return isinstance(source, Source) and not isinstance(parse_outline(source), Diagnostic)


def _parses(source: bytes) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


# -- many files ------------------------------------------------------------------------------------


def sizes(count: int, work: Path) -> Result:
    """Audit a tree of half as many files and one of ``count``: twice the files may take little more than twice."""
    result = Result()
    took = []
    for number in (count // 2, count):
        root = copy_tree("0.33", work / f"tree{number}")
        _fill(root, number)
        report, seconds, error = audited(root)
        if report is None:
            result.wrong.append(f"{number} files: {error}")
            return result
        took.append(seconds)
        result.counts[f"models in {number} files"] = len(report.models)
        result.counts[f"findings in {number} files"] = len(report.findings)
        shutil.rmtree(root)
    growth = took[1] / took[0]
    result.counts["growth from half of them, in hundredths"] = round(100 * growth)
    if growth > 3:
        result.wrong.append(f"{count} files take {growth:.1f} times as long as {count // 2}")
    return result


def _fill(root: Path, count: int) -> None:
    """Add files to the model folder: every tenth a wrapper that is registered, the others plain modules."""
    wrapper = (root / MODELS / "gamma.py").read_text().replace(", SupportsEagle3)", ")")
    rows = []
    for number in range(count):
        folder = root / MODELS / f"part{number // 1000}"
        folder.mkdir(exist_ok=True)
        if number % 10 == 0:
            name = f"Made{number}ForConditionalGeneration"
            (folder / f"made{number}.py").write_text(wrapper.replace("GammaForConditionalGeneration", name))
            rows.append((f"vllm.model_executor.models.part{number // 1000}.made{number}", name))
        else:
            text = f"class Plain{number}:\n    def forward(self, x):\n        return x + {number}\n"
            (folder / f"plain{number}.py").write_text(text)
    _register(root, rows)


# -- the command line ------------------------------------------------------------------------------


def main(arguments: list[str]) -> int:
    what, rest = (arguments[0], arguments[1:]) if arguments else ("", [])
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        if what == "packages" and rest:
            result = packages([Path(name) for name in rest], work)
        elif what == "mutations" and rest:
            result = mutations(int(rest[0]), int(rest[1]) if len(rest) > 1 else 0, work)
        elif what == "sizes" and rest:
            result = sizes(int(rest[0]), work)
        else:
            print(__doc__)
            return 2
    for name, number in result.counts.items():
        print(f"{name:44} {number}")
    for line in result.wrong:
        print(line)
    print(f"{'wrong':44} {len(result.wrong)}")
    return 1 if result.wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
