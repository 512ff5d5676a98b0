"""What a distribution says of itself: its name and version, where its packages are, and its entry points.

Read from ``pyproject.toml`` (PEP 621, and the tables of poetry, setuptools and hatch that say where packages are),
``setup.cfg``, literals of ``setup.py``, and ``entry_points.txt`` of dist-info and egg-info folders.
"""

from __future__ import annotations

import ast
import configparser
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from analyzer.packages import EntryPoint
from analyzer.problems import Diagnostic
from analyzer.source import is_file, read_source
from analyzer.toml_lines import TomlError, parse_toml
from analyzer.version import read_headers

GROUP = "vllm.general_plugins"
"""The entry points that vLLM calls in each of its processes (vllm/plugins/__init__.py)."""

_POINT = re.compile(r"\s*([\w.]+)\s*(?::\s*([\w.]+)\s*)?(?:\[.*\])?\s*")


@dataclass(frozen=True)
class Declared:
    """What one file, or one dist-info folder, says.

    Args:
        name, version: of the distribution; empty and None where it does not tell.
        homes: folders that it says packages are in, relative to its own.
        tops: top-level modules, where it lists them.
        entry_points: of :data:`GROUP`.
        problems: why it could not be used.
    """

    name: str = ""
    version: str | None = None
    homes: tuple[str, ...] = ()
    tops: frozenset[str] = frozenset()
    entry_points: tuple[EntryPoint, ...] = ()
    problems: tuple[Diagnostic, ...] = ()

    def concerns(self, package: str) -> bool:
        """Whether it is about a top-level package: it lists it, or one of its entry points stands there."""
        named = {point.module.partition(".")[0] for point in self.entry_points}
        return package in (self.tops or named)


def read_declared(project: Path, home: Path) -> list[Declared]:
    """Everything that is said in a project's folder, and in the folder that its packages are in.

    Args:
        project: where ``pyproject.toml`` would be.
        home: where dist-info folders would be.
    """
    found = [
        *_read(project / "pyproject.toml", _pyproject),
        *_read(project / "setup.cfg", _setup_cfg),
        *_read(project / "setup.py", _setup_py),
    ]
    infos = [*sorted(home.glob("*.dist-info")), *sorted(home.glob("*.egg-info"))]
    if any(one.entry_points for one in found):
        infos = [info for info in infos if info.suffix == ".dist-info"]  # an egg-info is made of the files above
    return [*found, *(_info(info) for info in infos if info.is_dir())]


def _read(file: Path, reader: Callable[[str, str], Declared], rel: str = "") -> Iterator[Declared]:
    """What a file says, if it is there.

    Args:
        file: it.
        reader: takes its text, and its name in reports.
        rel: that name, unless it is the file's own.
    """
    if not is_file(file):
        return
    source = read_source(file, rel or file.name)
    if isinstance(source, Diagnostic):
        yield Declared(problems=(source,))
        return
    try:
        yield reader(source.text, source.rel)
    except (TomlError, configparser.Error, SyntaxError, ValueError, RecursionError) as error:
        why = (str(error).splitlines() or [type(error).__name__])[0]
        yield Declared(problems=(Diagnostic(source.rel, 0, f"cannot be read: {why}"),))


# -- files of a project ----------------------------------------------------------------------------


def _pyproject(text: str, path: str) -> Declared:
    values = parse_toml(text)
    project, tool = _table(values, "project"), _table(values, "tool")
    poetry, setuptools = _table(tool, "poetry"), _table(tool, "setuptools")
    points = _table(project, "entry-points", GROUP) or _table(poetry, "plugins", GROUP)
    wheel = _table(tool, "hatch", "build", "targets", "wheel")
    homes = [
        *_texts(_table(setuptools, "packages", "find").get("where")),
        *_texts(_table(setuptools, "package-dir").get("")),
        *(str(Path(name).parent) for name in _texts(wheel.get("packages"))),
        *(text for one in _list(poetry.get("packages")) for text in _texts(_table(one).get("from"))),
    ]
    name = project.get("name") or poetry.get("name")
    version = project.get("version") or poetry.get("version")
    return Declared(
        name if isinstance(name, str) else "",
        version if isinstance(version, str) else None,
        tuple(homes),
        entry_points=_points(points.items(), path),
    )


def _setup_cfg(text: str, path: str) -> Declared:
    parser = _ini(text)
    options = dict(parser["options"]) if parser.has_section("options") else {}
    find = dict(parser["options.packages.find"]) if parser.has_section("options.packages.find") else {}
    metadata = dict(parser["metadata"]) if parser.has_section("metadata") else {}
    group = parser["options.entry_points"].get(GROUP, "") if parser.has_section("options.entry_points") else ""
    directory = [line.partition("=")[2].strip() for line in options.get("package_dir", "").splitlines()]
    return Declared(
        metadata.get("name", ""),
        metadata.get("version"),
        tuple(filter(None, [find.get("where", ""), *directory])),
        entry_points=_points((_pair(line) for line in group.splitlines()), path),
    )


def _setup_py(text: str, path: str) -> Declared:
    """The literals that are passed to ``setup``, and constants of the file that stand for them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = ast.parse(text)
    constants = {
        target.id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and _called(node) == "setup"]
    given = {k.arg: _literal(k.value, constants) for call in calls for k in call.keywords if k.arg}
    points = given.get("entry_points")
    if isinstance(points, str):
        parser = _ini(points)
        lines: Iterable[str] = [f"{k} = {v}" for k, v in parser[GROUP].items()] if parser.has_section(GROUP) else []
    else:
        lines = _texts(points.get(GROUP)) if isinstance(points, dict) else []
    directory = given.get("package_dir")
    name, version = given.get("name"), given.get("version")
    return Declared(
        name if isinstance(name, str) else "",
        version if isinstance(version, str) else None,
        tuple(_texts(directory.get(""))) if isinstance(directory, dict) else (),
        entry_points=_points(map(_pair, lines), path),
    )


def _called(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def _literal(node: ast.expr, constants: Mapping[str, ast.expr]) -> object:
    """The value of a literal; None for anything that is computed."""
    if isinstance(node, ast.Name) and node.id in constants:
        node = constants[node.id]
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return None


# -- installed metadata ----------------------------------------------------------------------------


def _info(folder: Path) -> Declared:
    headers = {**read_headers(folder / "PKG-INFO"), **read_headers(folder / "METADATA")}
    path = f"{folder.name}/entry_points.txt"
    points: tuple[EntryPoint, ...] = ()
    problems: tuple[Diagnostic, ...] = ()
    for one in _read(folder / "entry_points.txt", _entry_points_txt, path):
        points, problems = one.entry_points, one.problems
    return Declared(headers.get("Name", ""), headers.get("Version"), (), _tops(folder), points, problems)


def _entry_points_txt(text: str, path: str) -> Declared:
    parser = _ini(text)
    return Declared(entry_points=_points(parser[GROUP].items() if parser.has_section(GROUP) else (), path))


def _tops(folder: Path) -> frozenset[str]:
    """The top-level modules of an installed distribution, by the list of its files."""
    try:
        record = (folder / "RECORD").read_text("utf-8", "replace")
    except OSError:
        return frozenset()
    first = (line.partition("/")[0].partition(",")[0].removesuffix(".py") for line in record.splitlines())
    return frozenset(name for name in first if name.isidentifier())


# -- pieces ----------------------------------------------------------------------------------------


def _ini(text: str) -> configparser.ConfigParser:
    parser = configparser.ConfigParser(delimiters=("=",), interpolation=None, strict=False)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_string(text)
    return parser


def _pair(line: str) -> tuple[str, str]:
    name, _, value = line.partition("=")
    return name.strip(), value.strip()


def _points(pairs: Iterable[tuple[str, object]], path: str) -> tuple[EntryPoint, ...]:
    found = []
    for name, value in pairs:
        match = _POINT.fullmatch(value) if isinstance(value, str) else None
        if match is not None:
            found.append(EntryPoint(name, match[1], match[2] or "", path))
    return tuple(found)


def _table(values: object, *keys: str) -> Mapping[str, Any]:
    """A table inside tables; an empty one where there is none."""
    for key in keys:
        values = values.get(key) if isinstance(values, dict) else None
    return values if isinstance(values, dict) else {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _texts(value: object) -> list[str]:
    """Strings of a list, or a string alone."""
    return [value] if isinstance(value, str) else [one for one in _list(value) if isinstance(one, str)]
