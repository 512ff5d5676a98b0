"""Real releases for tests: fetched once with pip into the cache folder; a failure to fetch is a failure."""

from __future__ import annotations

from functools import cache, lru_cache

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
def report(version: str) -> Report:
    """The whole audit of a release."""
    return judge(read(version), all_rules())
