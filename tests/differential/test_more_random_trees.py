"""Random trees, part 2: what is said of them is what Python does, and little is left unsaid."""

from __future__ import annotations

from pathlib import Path

from tests.differential.drawn import judge_random_trees


def test_what_is_said_of_random_trees_is_what_python_does(tmp_path: Path) -> None:
    judge_random_trees(tmp_path, part=2)
