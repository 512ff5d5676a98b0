"""What is built to be installed holds all that the commands read."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_the_wheel_has_every_file_of_the_packages(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    packed = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    files = (path for package in ("analyzer", "rules") for path in (ROOT / package).rglob("*") if path.is_file())
    assert packed == {str(path.relative_to(ROOT)) for path in files if "__pycache__" not in path.parts}
    assert {f"analyzer/report/matrix.{kind}" for kind in ("html", "css", "js")} <= packed
