"""Foreign files, damaged files and many files, in small: ``make robustness`` does the same in large."""

from __future__ import annotations

import sysconfig
from pathlib import Path

from scripts.robustness import mutations, packages, sizes


def test_the_standard_library_in_the_place_of_models_crashes_nothing_and_stays_as_it_is(tmp_path: Path) -> None:
    result = packages([Path(sysconfig.get_paths()["stdlib"]) / name for name in ("asyncio", "email")], tmp_path)
    assert not result.wrong, "\n\n".join(result.wrong)
    assert result.counts["classes"] > 50
    assert result.counts["models"] >= result.counts["classes"]
    assert result.counts["fixes planned"] > result.counts["fixes refused"]


def test_damaged_model_files_are_told_and_nothing_else_is_changed(tmp_path: Path) -> None:
    result = mutations(300, 0, tmp_path)
    assert not result.wrong, "\n\n".join(result.wrong)
    assert result.counts["mutations"] == 300
    assert result.counts["told by a diagnostic"] > 60
    assert result.counts["with findings"] > 60
    assert result.counts["files fixed"] > 60


def test_twice_the_files_take_about_twice_the_time(tmp_path: Path) -> None:
    result = sizes(3000, tmp_path)
    assert not result.wrong
    assert result.counts["models in 3000 files"] > 300
