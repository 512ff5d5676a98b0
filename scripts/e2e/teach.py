"""Teach text models that a release does not support, and run them: whole engines on the CPU, with EAGLE-3 drafters.

    python -m scripts.e2e.teach [--release X.Y.Z] [--pupil NAME] [--environment FOLDER] [--write docs/teach.md]

Each pupil is run as the release has it, without a drafter and with one, which has to be refused; then on a copy that
``vllm-contracts fix --teach`` has changed: the same greedy tokens, the states to the last bit as forward hooks on the
layers see them, and near those of transformers' own model of the same checkpoint.  The exit code is 1 where that is
not so.
"""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from platformdirs import user_cache_path

from scripts.e2e.__main__ import RELEASES, analyzer, copy_package
from scripts.e2e.environment import Environment, build
from scripts.e2e.pupils import PUPILS, Pupil
from scripts.e2e.runs import PROMPTS, REPOSITORY, TOKENS, contained

LAYERS = [2, 4, 5]
REFUSAL = "Model does not support EAGLE3 interface"
NEAR = 1e-4
"""How far the states may be from transformers', relative to the largest: other kernels sum in another order."""


@dataclass
class Lesson:
    """What became of one pupil in one release.

    Args:
        alone, refused: the runs as the release is, without and with a drafter.
        taught: the run with a random drafter, its states watched.
        sighted, blind: with a drafter that reads only the states, and with one that reads nothing; None without.
    """

    release: str
    pupil: str
    cls: str
    alone: dict[str, Any]
    refused: dict[str, Any]
    taught: dict[str, Any]
    sighted: dict[str, Any] | None = None
    blind: dict[str, Any] | None = None

    def faults(self) -> Iterator[str]:
        """What did not go as it should."""
        if "error" in self.alone:
            yield f"does not run at all: {self.alone['error']}"
            return
        if REFUSAL not in self.refused.get("error", ""):
            yield f"was not refused: {self.refused.get('error', 'it generated')}"
        for name, run in (("taught", self.taught), ("sighted", self.sighted), ("blind", self.blind)):
            if run is None:
                continue
            if "error" in run:
                yield f"{name}: {run['error']}"
            elif run["tokens"] != self.alone["tokens"]:
                yield f"{name}: other tokens"
        if "error" not in self.taught:
            if self.taught["layers"] != LAYERS:
                yield f"layers are {self.taught['layers']}"
            if not self.taught["compared"] or self.taught["same"] != self.taught["compared"]:
                yield f"{self.taught['compared'] - self.taught['same']} of {self.taught['compared']} states differ"
            if self.taught["farthest"] is None or self.taught["farthest"] > NEAR:
                yield f"states are {self.taught['farthest']} from transformers'"
        if self.sighted and self.blind and "error" not in {**self.sighted, **self.blind}:
            if self.sighted["accepted"] <= self.blind["accepted"] + 5:
                yield "the states do not help the drafter"


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m scripts.e2e.teach", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--release", action="append", choices=sorted(RELEASES), help="only this release")
    parser.add_argument("--pupil", action="append", choices=sorted(PUPILS), help="only this one")
    parser.add_argument("--folder", type=Path, default=user_cache_path("vllm-contracts-e2e"), help="to work in")
    parser.add_argument("--environment", type=Path, help="a virtual environment with the one release, built before")
    parser.add_argument("--write", type=Path, help="also put the table into this Markdown file, between its marks")
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that a run that is going on is ended too
    lessons: list[Lesson] = []
    for release in given.release or RELEASES:
        if given.environment is not None:
            environment = Environment(given.environment)
        else:
            environment = build(release, given.folder / f"environment-{release}", RELEASES[release])
        pupils = [p for name, p in PUPILS.items() if name in (given.pupil or PUPILS) and release not in p.refused_by]
        lessons += teach_release(release, environment, given.folder / "teach" / release, pupils)
    results = given.folder / "teach" / "lessons.json"
    results.write_text(json.dumps([asdict(lesson) for lesson in lessons], indent=1))
    text = render(lessons)
    print(text)
    if given.write:
        given.write.write_text(put_in(given.write.read_text(), text))
    return int(any(True for lesson in lessons for _ in lesson.faults()))


def teach_release(release: str, environment: Environment, folder: Path, pupils: Sequence[Pupil]) -> Iterator[Lesson]:
    """Teach a copy of a release, and run the pupils on it and on another one.

    Args:
        release: of vLLM.
        environment: with that release; it is not changed.
        folder: to work in.
        pupils: to teach.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for copy in ("original", "taught"):
        copy_package(environment, folder / copy)
    for cls in dict.fromkeys(pupil.cls for pupil in pupils):
        analyzer("fix", "--teach", cls, "--unsafe-fixes", str(folder / "taught"))
    for pupil in pupils:
        print(f"{release}: {pupil.name}", file=sys.stderr, flush=True)
        place = folder / pupil.name.replace(", ", "-").replace(" ", "-")
        make = [str(environment.python), "-m", "scripts.e2e.pupils", pupil.name, str(place)]
        subprocess.run(make, cwd=REPOSITORY, check=True)
        sees = "sighted" in pupil.drafters
        yield Lesson(
            release,
            pupil.name,
            pupil.cls,
            alone=run(environment, folder / "original", place, pupil, ""),
            refused=run(environment, folder / "original", place, pupil, "random"),
            taught=run(environment, folder / "taught", place, pupil, "random", draft_tokens=3, watch=True),
            sighted=run(environment, folder / "taught", place, pupil, "sighted") if sees else None,
            blind=run(environment, folder / "taught", place, pupil, "blind") if sees else None,
        )


def run(
    environment: Environment,
    overlay: Path,
    place: Path,
    pupil: Pupil,
    drafter: str,
    *,
    draft_tokens: int = 1,
    watch: bool = False,
) -> dict[str, Any]:
    """Run the engine once; see ``states_run.py`` for the job and the result.

    Args:
        environment: with the release.
        overlay: a folder whose ``vllm`` package comes before the environment's own.
        place: with the checkpoints.
        pupil: the model.
        drafter: the name of a drafter, or empty for a run without.
        draft_tokens: how many tokens to draft at a time.
        watch: whether to compare the states.
    """
    name = f"{drafter or 'alone'}-{overlay.name}"
    job, result = place / f"{name}.job.json", place / f"{name}.result.json"
    result.unlink(missing_ok=True)
    wanted = {
        "checkpoint": str(place / "target"),
        "drafter": str(place / drafter) if drafter else None,
        "draft_tokens": draft_tokens,
        "prompts": PROMPTS,
        "tokens": TOKENS,
        "adds": pupil.adds,
        "watch": watch,
    }
    job.write_text(json.dumps(wanted))
    command = [str(environment.python), str(Path(__file__).with_name("states_run.py")), str(job), str(result)]
    # Some norms are compiled functions of their own, whatever the engine is told; nothing here needs a compiler.
    settings = {"PYTHONPATH": str(overlay), "VLLM_CACHE_ROOT": str(overlay / "cache"), "TORCHDYNAMO_DISABLE": "1"}
    with (place / f"{name}.log").open("w") as log:
        ended = contained(command, settings=settings, output=log)
    if not result.is_file():
        return {"error": f"no result: {ended}"}
    found: dict[str, Any] = json.loads(result.read_text())
    return found


BEGIN, END = "<!-- runs: made by scripts/e2e/teach.py -->\n", "<!-- end of runs -->\n"
HEAD = (
    *("release", "model", "as it is", "taught", "layers", "same tokens", "states as hooks see them"),
    *("farthest from transformers", "random", "sighted", "blind", "as it should be"),
)


def render(lessons: Sequence[Lesson]) -> str:
    """The table of results.

    Args:
        lessons: in order.
    """
    rows = [HEAD, tuple("---" for _ in HEAD), *map(_row, lessons)]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def put_in(page: str, table: str) -> str:
    """A page with another table.

    Args:
        page: with the marks.
        table: to stand between them.
    """
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"the page has no {BEGIN.strip()} with {END.strip()} behind it")
    return f"{before}{begin}\n{table}\n{end}{after}"


def _row(lesson: Lesson) -> tuple[str, ...]:
    taught = lesson.taught
    failed = taught.get("error", "")
    faults = "; ".join(lesson.faults())
    return (
        lesson.release,
        f"{lesson.pupil} (`{lesson.cls}`)",
        f"`{lesson.refused.get('error', 'generates')}`",
        f"`{failed}`" if failed else "generates",
        str(taught.get("layers", "")),
        "yes" if not failed and taught["tokens"] == lesson.alone.get("tokens") else "no",
        f"{taught.get('same')} of {taught.get('compared')}",
        f"{taught['farthest']:.1e}" if taught.get("farthest") is not None else "",
        _accepted(taught),
        _accepted(lesson.sighted),
        _accepted(lesson.blind),
        faults or "yes",
    )


def _accepted(run: dict[str, Any] | None) -> str:
    return f"{run['accepted']} of {run['drafts']}" if run is not None and "error" not in run else ""


if __name__ == "__main__":
    sys.exit(main())
