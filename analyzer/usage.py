"""Uses of a name across the checkout, found by searching bytes: who calls it, which config attributes are read."""

from __future__ import annotations

import re
from functools import cached_property, lru_cache

from analyzer.checkout import Checkout
from analyzer.index import ClassInfo

CONFIG = "config"
"""What every line holds in which :meth:`Usage.config_reads` finds anything."""

_CONFIG_READ = re.compile(rb"config(?:\(\))?\.((?:[a-z_][a-z0-9_]*\.)*[a-z_][a-z0-9_]*)")
_CONFIG_GETATTR = re.compile(rb"""getattr\(\s*(?:[\w.]*config),\s*["']([a-z_][a-z0-9_]*)["']""")


class Usage:
    """Searches of one checkout, each done once.

    Args:
        checkout: the tree.

    Attributes:
        config_files: where configurations' attributes were looked for.
    """

    def __init__(self, checkout: Checkout) -> None:
        self.checkout = checkout
        self.config_files: set[str] = set()
        self._calls: dict[str, list[tuple[str, int]]] = {}
        self._bytes = lru_cache(maxsize=512)(self._read)

    def _read(self, rel: str) -> bytes:
        try:
            return self.checkout.path(rel).read_bytes()
        except OSError:
            return b""

    def search_calls(self, names: set[str]) -> None:
        """Look for calls of several names in one pass over the packages."""
        wanted = {name for name in names if name not in self._calls}
        for name in wanted:
            self._calls[name] = []
        if not wanted:
            return
        needles = {name: f".{name}(".encode() for name in wanted}
        for path in self.checkout.python_files():
            try:
                data = path.read_bytes()
            except OSError:
                continue
            for name, needle in needles.items():
                start = data.find(needle)
                while start >= 0:
                    self._calls[name].append((self.checkout.rel(path), data.count(b"\n", 0, start) + 1))
                    start = data.find(needle, start + 1)

    @property
    def searched(self) -> tuple[set[str], set[str]]:
        """What was searched for so far, and the files that hold any of it."""
        hits = {rel for found in self._calls.values() for rel, _ in found}
        return {f".{name}(" for name in self._calls}, hits

    def calls(self, name: str) -> list[tuple[str, int]]:
        """(path, line) of every ``x.name(``."""
        self.search_calls({name})
        return self._calls[name]

    def config_reads(self, cls: ClassInfo) -> frozenset[str]:
        """Paths of attributes that the files of a class and its bases read of something called ``config``."""
        found: set[str] = set()
        files = {c.path for c in cls.own_mro if self._is_model(c)}
        self.config_files |= files
        for rel in files:
            for pattern in (_CONFIG_READ, _CONFIG_GETATTR):
                found |= {match.decode() for match in pattern.findall(self._bytes(rel))}
        return frozenset(found)

    @cached_property
    def _interfaces(self) -> str:
        return self.checkout.rel(self.checkout.interfaces_path)

    def _is_model(self, cls: ClassInfo) -> bool:
        return cls.path != self._interfaces and not cls.path.endswith("interfaces_base.py")
