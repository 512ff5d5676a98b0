"""Many random trees, without stopping at a disagreement: ``python -m tests.differential [FAMILIES]``.

Prints every disagreement with its source once, and in the end how much was compared and how often nothing was said.
"""

from __future__ import annotations

import random
import sys
import tempfile
import traceback
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, seed, settings

from tests.differential.ground import Ground
from tests.differential.judge import Judgement, judge
from tests.differential.programs import Program, programs

EACH = 12


def explore(families: int, seeded: int) -> Judgement:
    """Judge random trees until so many families were seen."""
    whole = Judgement()
    with tempfile.TemporaryDirectory() as folder, Ground(Path(folder) / "ground") as ground:

        @seed(seeded)
        @settings(
            max_examples=max(1, families // EACH),
            phases=[Phase.generate],
            database=None,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        )
        @given(programs(EACH))
        def each(program: Program) -> None:
            try:
                made = judge(ground, program)
            except Exception:
                text = "\n\n".join(family.source for family in program.families)
                made = Judgement([(text, traceback.format_exc())])
            whole.counts += made.counts
            if made.wrong:
                whole.wrong += made.wrong
                print(f"{'=' * 100}\n{made.told()}\n", flush=True)
            if whole.counts["trees"] % 50 == 0:
                print(f"-- {whole.counts['families']} families, {len(whole.wrong)} disagreements", flush=True)

        each()
    return whole


def main() -> int:
    families = int(sys.argv[1]) if len(sys.argv) > 1 else 2_000
    seeded = int(sys.argv[2]) if len(sys.argv) > 2 else random.randrange(10**9)
    whole = explore(families, seeded)
    for name, number in sorted(whole.counts.items()):
        print(f"{name:24} {number}")
    print(f"{'disagreements':24} {len(whole.wrong)} (seed {seeded})")
    return 1 if whole.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
