"""The third-party code: its files, the names under which Python would import them, and their syntax trees."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from analyzer.drift.texts import CLASS_HEAD, WORDS
from analyzer.problems import Diagnostic, InputError
from analyzer.source import Listing, Source, column, parse, read_source

INIT = "__init__.py"


class PackageError(InputError):
    """There is no Python package to read; one line for the user."""


@dataclass(eq=False)
class Module:
    """One file of the package.

    Args:
        name: dotted, as it would be imported.
        path: the file.
        rel: its name in reports.
        is_package: whether it is an ``__init__.py``.
        source: its contents.
        tree: its syntax tree.
    """

    name: str
    path: Path
    rel: str
    is_package: bool
    source: Source
    tree: ast.Module

    def column(self, node: ast.AST) -> int:
        """The column of a node as editors count it."""
        lines, line = self.source.lines, getattr(node, "lineno", 1) - 1
        offset: int = getattr(node, "col_offset", 0)
        return column(lines[line], offset) if line < len(lines) else offset + 1


@dataclass
class Package:
    """Third-party code.

    Args:
        root: the folder from which paths in reports are told.
        files: dotted name to file.
        diagnostics: what could not be used.
    """

    root: Path
    files: dict[str, Path]
    diagnostics: list[Diagnostic] = field(default_factory=list)
    _modules: dict[str, Module | None] = field(default_factory=dict, repr=False)

    def rel(self, path: Path) -> str:
        """The name of a file in reports."""
        return os.fsencode(path.relative_to(self.root).as_posix()).decode("utf-8", "backslashreplace")

    @cached_property
    def tops(self) -> frozenset[str]:
        """The first parts of the modules' names."""
        return frozenset(name.partition(".")[0] for name in self.files)

    @cached_property
    def contents(self) -> dict[str, bytes]:
        """The bytes of each file, by the module's name, in the order of paths."""
        ordered = sorted(self.files.items(), key=lambda item: item[1].as_posix())
        return {name: data for name, path in ordered if (data := self._bytes(path)) is not None}

    def _bytes(self, path: Path) -> bytes | None:
        try:
            return path.read_bytes()
        except OSError as error:
            self.diagnostics.append(Diagnostic(self.rel(path), 0, f"cannot be read: {error.strerror or error}"))
            return None

    @cached_property
    def heirs(self) -> dict[str, list[tuple[str, str]]]:
        """(module, class) of the classes whose heads name a class, by its name."""
        out: dict[str, list[tuple[str, str]]] = {}
        for module, data in self.contents.items():
            for match in CLASS_HEAD.finditer(data):
                for word in set(WORDS.findall(match[2])):
                    out.setdefault(word.decode(), []).append((module, match[1].decode()))
        return out

    def module(self, name: str) -> Module | None:
        """A file, read and parsed once; None where there is none or it cannot be used."""
        if name not in self._modules:
            self._modules[name] = self._read(name)
        return self._modules[name]

    def _read(self, name: str) -> Module | None:
        path = self.files.get(name)
        if path is None:
            return None
        rel = self.rel(path)
        source = read_source(path, rel)
        tree = parse(source) if isinstance(source, Source) else source
        if isinstance(tree, Diagnostic) or isinstance(source, Diagnostic):
            self.diagnostics.append(tree if isinstance(tree, Diagnostic) else source)  # type: ignore[arg-type]
            return None
        return Module(name, path, rel, path.name == INIT, source, tree)

    def modules(self, word: bytes) -> Iterator[Module]:
        """The modules whose files hold a word.

        Args:
            word: exact bytes.
        """
        for name, data in self.contents.items():
            if word in data and (module := self.module(name)) is not None:
                yield module


def open_package(folder: Path) -> Package:
    """Find the Python files of a package, an unpacked wheel or a project.

    Args:
        folder: what holds them; a folder with an ``__init__.py`` is a package itself, or a part of one.

    Raises:
        PackageError: there is none.
    """
    start = Path(os.path.normpath(Path.cwd() / folder.expanduser()))
    if not start.is_dir():
        state = "a file; name the folder of the package" if start.exists() else "no such folder"
        raise PackageError(f"{folder}: {state}")
    listing = Listing(start)
    root = start
    while (root / INIT).is_file():
        root = root.parent
    files: dict[str, Path] = {}
    for path in listing.files:
        files.setdefault(_module_name(path, root), path)
    if not files:
        raise PackageError(f"{folder}: no Python files here")
    made = Package(root, files)
    made.diagnostics += [Diagnostic(made.rel(path), 0, reason) for path, reason in listing.problems]
    return made


def _module_name(path: Path, root: Path) -> str:
    """The name under which Python would import a file: from the outermost folder that is a package."""
    parts = path.relative_to(root).parts
    first = next(
        (n for n in range(len(parts) - 1) if (root.joinpath(*parts[: n + 1]) / INIT).is_file()), len(parts) - 1
    )
    named = [*parts[first:-1], parts[-1].removesuffix(".py")]
    if named[-1] == "__init__" and len(named) > 1:
        named.pop()
    return ".".join(named)
