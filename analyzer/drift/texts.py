"""The tree's files as bytes: where a word is defined, set or imported."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, lru_cache

from analyzer.checkout import Checkout
from analyzer.findings import Position

CLASS_HEAD = re.compile(rb"^[ \t]*class[ \t]+(\w+)[^:(]*\(([^)]*)\)", re.MULTILINE)
WORDS = re.compile(rb"\w+")


@dataclass(frozen=True)
class Definition:
    """A module-level definition of a name: its dotted module, and where it stands."""

    module: str
    at: Position
    is_class: bool


class Texts:
    """Searches of one tree, each done once.

    Args:
        checkout: the tree.
    """

    def __init__(self, checkout: Checkout) -> None:
        self.checkout = checkout
        self.stored = lru_cache(maxsize=None)(self._stored)
        self.imports = lru_cache(maxsize=None)(self._imports)
        self.definitions = lru_cache(maxsize=None)(self._definitions)
        self.calls = lru_cache(maxsize=None)(self._calls)

    @cached_property
    def files(self) -> dict[str, bytes]:
        """Contents by the name in reports."""
        out: dict[str, bytes] = {}
        for path in self.checkout.python_files(self.checkout.package):
            with suppress(OSError):  # told by whatever reads it
                out[self.checkout.rel(path)] = path.read_bytes()
        return out

    def module_of(self, rel: str) -> str:
        """The dotted name of a file."""
        return self.checkout.module_name(self.checkout.root / rel)

    def search(self, pattern: re.Pattern[bytes], word: str) -> Iterator[tuple[str, int, re.Match[bytes]]]:
        """Every match in files that hold a word: (path, line, match)."""
        needle = word.encode()
        for rel, data in self.files.items():
            if needle in data:
                for match in pattern.finditer(data):
                    yield rel, data.count(b"\n", 0, match.start()) + 1, match

    @cached_property
    def heads(self) -> dict[str, list[tuple[str, str]]]:
        """(module, class) of the classes whose heads name a class, by its name."""
        out: dict[str, list[tuple[str, str]]] = {}
        for rel, data in self.files.items():
            for match in CLASS_HEAD.finditer(data):
                for word in set(WORDS.findall(match[2])):
                    out.setdefault(word.decode(), []).append((self.module_of(rel), match[1].decode()))
        return out

    def subclasses(self, name: str) -> list[tuple[str, str]]:
        """(module, class) of the classes whose heads name a class."""
        return self.heads.get(name, [])

    def _stored(self, name: str) -> Position | None:
        """A place that sets an attribute of this name on anything, by assignment or by its name in a string."""
        word = re.escape(name.encode())
        pattern = re.compile(
            rb"\." + word + rb"[ \t]*(?:=(?!=)|:[^=\n]+=|,[^=\n]*=(?!=))|setattr\([^)]*[\"']" + word + rb"[\"']"
        )
        return next((Position(rel, line) for rel, line, _ in self.search(pattern, name)), None)

    def _imports(self, module: str) -> Position | None:
        """A place where the tree itself imports a module."""
        package, _, last = module.rpartition(".")
        whole, start, end = (re.escape(part.encode()) for part in (module, package, last))
        pattern = re.compile(
            rb"\b(?:import|from)[ \t]+"
            + whole
            + rb"\b|\bfrom[ \t]+"
            + start
            + rb"[ \t]+import[ \t]+[^\n]*\b"
            + end
            + rb"\b"
            rb"|import_module\([\"']" + whole + rb"[\"']"
        )
        return next((Position(rel, line) for rel, line, _ in self.search(pattern, last)), None)

    def _definitions(self, name: str) -> tuple[Definition, ...]:
        """Module-level definitions of a name: classes and functions before variables, and public before private."""
        word = re.escape(name.encode())
        pattern = re.compile(
            rb"^(?:    )?(?:(class|def|async[ \t]+def)[ \t]+" + word + rb"\b|" + word + rb"[ \t]*(?::[^=\n]+)?=(?!=))",
            re.M,
        )
        found = []
        for rel, line, match in self.search(pattern, name):
            if match[0].startswith(b" "):  # inside a branch of the module, or else a member
                if not self._in_branch(self.files[rel], match.start()):
                    continue
            rank = (match[1] is None, any(part.startswith("_") for part in rel.split("/")), rel.count("/"), rel)
            found.append((rank, Definition(self.module_of(rel), Position(rel, line), match[1] == b"class")))
        return tuple(definition for _, definition in sorted(found, key=lambda item: item[0]))

    def _in_branch(self, data: bytes, place: int) -> bool:
        """Whether the nearest line before that has no indentation opens a branch of the module."""
        heads = re.findall(rb"^(\w+)[^\n]*:[ \t]*$", data[:place], re.M)
        return bool(heads) and heads[-1] in (b"if", b"else", b"elif", b"try", b"except")

    def _calls(self, name: str) -> tuple[tuple[str, int], ...]:
        """(path, line) of every ``x.name(``."""
        pattern = re.compile(rb"\." + re.escape(name.encode()) + rb"\(")
        return tuple((rel, line) for rel, line, _ in self.search(pattern, name))

    @cached_property
    def defined(self) -> dict[str, list[tuple[str, int]]]:
        """(path, line) of every ``def`` inside something, by name, overloads too."""
        pattern = re.compile(rb"\n|^[ \t]+(?:async[ \t]+)?def[ \t]+(\w+)", re.MULTILINE)
        out: dict[str, list[tuple[str, int]]] = {}
        for rel, data in self.files.items():
            line = 1
            for match in pattern.finditer(data):
                if match[1] is None:
                    line += 1
                else:
                    out.setdefault(match[1].decode(), []).append((rel, line))
        return out

    def methods(self, name: str) -> list[tuple[str, int]]:
        """(path, line) of every ``def`` of a name inside something, overloads too."""
        return self.defined.get(name, [])

    def mention(self, words: Iterable[str]) -> bool:
        """Whether any of some words stands anywhere in the tree."""
        needles = [word.encode() for word in words]
        return any(needle in data for data in self.files.values() for needle in needles)
