"""Many random trees for the test suite: judged one after the other, and what was compared is counted.

``DIFFERENTIAL_FAMILIES`` sets how many families of classes are drawn in all (``make differential EXAMPLES=100000``
draws them without stopping at a disagreement).  They are drawn in :data:`PARTS`, each in a file of its own, as the
suite is spread over processes by file.
"""

from __future__ import annotations

import os
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, note, seed, settings

from tests.differential.ground import Ground
from tests.differential.judge import Judgement, judge
from tests.differential.programs import Program, programs

PARTS = 2
FAMILIES = int(os.environ.get("DIFFERENTIAL_FAMILIES", "2000")) // PARTS
EACH = 10


def judge_random_trees(folder: Path, part: int) -> None:
    """Draw one part of the trees: what is said of each is what Python does, and little is left unsaid.

    A disagreement is not made smaller: it names the one family that it is about, and shrinking takes minutes.

    Args:
        folder: an empty one.
        part: which of :data:`PARTS`.
    """
    whole = Judgement()
    with Ground(folder / "ground") as ground:

        @seed(part)
        @settings(
            max_examples=FAMILIES // EACH,
            phases=[Phase.generate],
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
            print_blob=True,
        )
        @given(programs(EACH))
        def each(program: Program) -> None:
            made = judge(ground, program)
            whole.counts += made.counts
            note(made.told())
            assert not made.wrong, made.told()

        each()
    _says_enough(whole)


def _says_enough(whole: Judgement) -> None:
    counts = whole.counts
    assert counts["families"] >= 0.9 * FAMILIES
    ran = counts["runs"] - counts["refused"] - counts["not built"]
    assert ran > 0.6 * counts["runs"]  # else nearly nothing was asked
    assert counts["known"] > 0.7 * ran
    assert counts["verdict unknown"] < 0.3 * counts["classes"]
    assert counts["safe repairs"] > FAMILIES / 50
    for verdict in ("works", "broken", "undeclared", "unsupported", "config-dependent"):
        assert counts[f"verdict {verdict}"] > FAMILIES / 100, verdict
