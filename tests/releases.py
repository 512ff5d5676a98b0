"""Real releases for tests: fetched once with pip into the cache folder; a failure to fetch is a failure."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import zipfile
from functools import cache, lru_cache
from pathlib import Path

from analyzer.audit import Audit
from analyzer.checkout import Checkout, open_checkout
from analyzer.engine import judge, read_checkout
from analyzer.folders import default_cache_dir
from analyzer.records import Report
from analyzer.release import fetch_release
from rules import all_rules


@cache
def checkout(version: str) -> Checkout:
    """The unpacked sources of a release."""
    return open_checkout(fetch_release(version, cache_dir=default_cache_dir()))


@lru_cache(maxsize=2)
def read(version: str) -> Audit:
    """A release, read but not judged."""
    return read_checkout(checkout(version))


@cache
def package(name: str, version: str) -> Path:
    """A package from PyPI, unpacked: fetched once, put in place in one step."""
    folder = default_cache_dir() / "packages" / f"{name}-{version}"
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
            command = [sys.executable, "-m", "pip", "download", f"{name}=={version}", "--no-deps", "-d", scratch]
            subprocess.run(command, check=True, capture_output=True, timeout=300)
            (wheel,) = Path(scratch).glob("*.whl")
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(Path(scratch, "unpacked"))
            if not folder.is_dir():  # another process may have been faster
                Path(scratch, "unpacked").replace(folder)
    return folder


@cache
def report(version: str) -> Report:
    """The whole audit of a release."""
    return judge(read(version), all_rules())
