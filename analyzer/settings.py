"""The settings of a run: defaults, a file of the project, and the command line, which wins.

The file is ``vllm-contracts.toml``, or ``pyproject.toml`` where it has a table ``[tool.vllm-contracts]``.  It is looked
for in the start folder and in each folder above it; the nearest one counts, alone.  In one folder the former wins.
The search ends with the folder that is the root of a repository (it holds ``.git`` or ``.hg``), else with the root of
the file system.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from analyzer.handling import NOTHING, Handling, HandlingError, read_entry, shipped
from analyzer.nearest import did_you_mean

if TYPE_CHECKING:
    from analyzer.toml_lines import Place

OWN_FILE, SHARED_FILE = "vllm-contracts.toml", "pyproject.toml"
TABLES = {OWN_FILE: (), SHARED_FILE: ("tool", "vllm-contracts")}
"""Where the settings stand in a file of each name; the first of them wins in a folder."""

FAIL_ON = ("error", "warning", "info", "never")
CACHE_VARIABLE = "VLLM_CONTRACTS_CACHE"

DEFAULT, COMMAND_LINE = "default", "command line"

INSTALLED = "installed"
"""The vLLM of an interpreter, where a tree or a release could be named."""

RELEASE = re.compile(r"v?(\d+\.\d+(\.\d+)*([a-z]+\d+)?(\.post\d+)?)")

_MARKS = (".git", ".hg")
_KINDS = {str: "a string", bool: "true or false", int: "a number", float: "a number", list: "an array", dict: "a table"}

RuleNames = Mapping[str, str]
"""Code of each rule by its code and by its name, in lower case."""


class SettingsError(Exception):
    """A file of settings cannot be used.

    Args:
        problems: one line each, with its place.
    """

    def __init__(self, *problems: str) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


@dataclass(frozen=True)
class Settings:
    """What is in force.

    Args:
        select, ignore: codes of rules; all where ``select`` is empty.
        per_path_ignores: globs of paths in the checkout, each with the codes that are not reported there.
        contracts: names of the contracts to report on; all where it is empty.
        model_roots: folders of the checkout, relative to its root, that hold model classes too.
        fail_on: the least severity that makes a run fail, or ``never``.
        baseline: the file of known findings.
        cache_dir: what can be fetched or computed again goes there.
        require_reason: whether a suppression without a reason is a finding.
        contract: how contracts of a fork are handed on, or those of vLLM otherwise than the rules' own table says.
        vllm: for a package outside vLLM, the tree that it is held against: a folder, a release, or ``installed``.
        package: what vLLM's package is called in a fork.
        interfaces: the module that defines the contracts, relative to the checkout's root.
        registries: modules with further tables of architectures, relative to the checkout's root.
        file: the file that was read.
        origins: where each value comes from, by the name of its key: ``default``, ``file:line``, ``command line``.
    """

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    per_path_ignores: tuple[tuple[str, tuple[str, ...]], ...] = ()
    contracts: tuple[str, ...] = ()
    model_roots: tuple[str, ...] = ()
    fail_on: str = "warning"
    baseline: Path | None = None
    cache_dir: Path | None = None
    require_reason: bool = False
    contract: tuple[tuple[str, Handling], ...] = ()
    vllm: str | None = None
    package: str | None = None
    interfaces: str | None = None
    registries: tuple[str, ...] = ()
    file: Path | None = None
    origins: Mapping[str, str] = field(default_factory=dict)

    def origin(self, key: str) -> str:
        """Where the value of a key comes from."""
        return self.origins.get(key, DEFAULT)

    def override(self, origin: str = COMMAND_LINE, **values: Any) -> Settings:
        """The same with other values; those that are None stay.

        Args:
            origin: where the values come from.
            values: by the name of the attribute.
        """
        given = {name: value for name, value in values.items() if value is not None}
        origins = {**self.origins, **{key_of(name): origin for name in given}}
        return replace(self, **given, origins=origins)

    def wants(self, code: str) -> bool:
        """Whether the rule of a code is to be reported at all."""
        return (not self.select or code in self.select) and code not in self.ignore

    def items(self) -> Iterator[tuple[str, Any]]:
        """The keys of the file and what is in force for them."""
        return ((key, getattr(self, name)) for key, name in KEYS.items())


def key_of(name: str) -> str:
    """The key that an attribute of the settings has in a file."""
    return name.replace("_", "-")


KEYS = {key_of(f.name): f.name for f in fields(Settings) if f.name not in ("file", "origins")}
"""The keys of a file, each with its attribute."""


# -- finding the file ------------------------------------------------------------------------------


def find_settings(start: Path, rules: RuleNames) -> Settings:
    """The settings that hold for a folder.

    Args:
        start: an absolute path.
        rules: which there are.

    Raises:
        SettingsError: the file that was found cannot be used.
    """
    for folder in (start, *start.parents):
        for name in TABLES:
            table = _read_table(folder / name, optional=True)
            if table is not None:
                return _settings(table, rules)
        if any(os.path.lexists(folder / mark) for mark in _MARKS):
            break
    return Settings()


def load_settings(file: Path, rules: RuleNames) -> Settings:
    """The settings of one file; of one with another name, those of its top.

    Raises:
        SettingsError: it cannot be used, or has no settings.
    """
    table = _read_table(file, optional=False)
    if table is None:
        raise SettingsError(f"{file}: has no table [tool.vllm-contracts]")
    return _settings(table, rules)


@dataclass(frozen=True)
class _Table:
    """The settings as a file has them, and the line of each."""

    file: Path
    values: Mapping[str, Any]
    lines: Mapping[Place, int]


def _read_table(file: Path, *, optional: bool) -> _Table | None:
    """None for a file that has no such table; with ``optional``, also for one that is not there."""
    if optional and not os.path.lexists(file):
        return None
    try:
        text = file.read_bytes().decode("utf-8")
    except OSError as error:
        raise SettingsError(f"{file}: cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise SettingsError(f"{file}:{error.object[: error.start].count(10) + 1}: is not UTF-8") from None
    path = TABLES.get(file.name, ())
    if path and path[-1] not in text:
        return None
    from analyzer.toml_lines import TomlError, key_lines, parse_toml  # most trees have no settings

    try:
        values: Any = parse_toml(text)
    except (TomlError, RecursionError) as error:
        at = re.search(r"\(at line (\d+)", str(error))
        raise SettingsError(f"{file}{f':{at[1]}' if at else ''}: is not valid TOML: {error}") from None
    for key in path:
        values = values.get(key) if isinstance(values, dict) else None
    if values is None:
        return None
    lines = key_lines(text, path)
    if not isinstance(values, dict):
        raise SettingsError(f"{file}:{lines[()]}: [tool.vllm-contracts] has to be a table")
    return _Table(file, values, lines)


# -- reading its values ----------------------------------------------------------------------------


def _settings(table: _Table, rules: RuleNames) -> Settings:
    reader = _Reader(table, rules)
    given = {name: reader.value(key) for key, name in KEYS.items() if key in table.values}
    for key in table.values:
        if key not in KEYS:
            known = f"the keys are {', '.join(KEYS)}"
            reader.say((key,), f"unknown key {key}{did_you_mean(key, KEYS, known)}")
    if reader.problems:
        raise SettingsError(*(f"{table.file}:{line}: {said}" for line, said in sorted(reader.problems)))
    origins = {key: f"{table.file}:{table.lines[key,]}" for key in KEYS if key in table.values}
    return Settings(**given, file=table.file, origins=origins)


class _Reader:
    """Turns the values of a table into those of the settings, and collects what is wrong with them.

    Attributes:
        problems: lines and messages.
    """

    def __init__(self, table: _Table, rules: RuleNames) -> None:
        self._table = table
        self._rules = rules
        self.problems: list[tuple[int, str]] = []

    def say(self, place: Place, message: str) -> None:
        line = next(
            (self._table.lines[place[:n]] for n in range(len(place), 0, -1) if place[:n] in self._table.lines), 1
        )
        self.problems.append((line, message))

    def value(self, key: str) -> Any:
        """The value of a known key, as the settings have it; anything if it is wrong."""
        value = self._table.values[key]
        place = (key,)
        if key in ("select", "ignore"):
            codes = self._codes(place, value)
            if key == "select" and value == []:
                self.say(place, "select names no rule; leave it out for all")
            return codes
        if key == "per-path-ignores":
            return self._per_path(place, value)
        if key in ("contracts", "model-roots", "registries"):
            return self._strings(place, value)
        if key in ("package", "interfaces"):
            return self._typed(place, value, str)
        if key == "fail-on":
            return self._fail_on(place, value)
        if key == "require-reason":
            return self._typed(place, value, bool)
        if key == "contract":
            return self._contracts(place, value)
        if key == "vllm":
            return self._vllm(place, value)
        return self._path(place, value)

    def _typed(self, place: Place, value: Any, kind: type) -> Any:
        if isinstance(value, kind):
            return value
        shown = _KINDS.get(type(value), "a date or time")
        self.say(place, f"{_name(place)} has to be {_KINDS[kind]}, not {shown}")
        return None

    def _path(self, place: Place, value: Any) -> Path | None:
        text = self._typed(place, value, str)
        try:
            return self._table.file.parent / Path(text).expanduser() if text else None
        except RuntimeError:
            self.say(place, f"{_name(place)} is in the home folder of a user that there is not")
            return None

    def _vllm(self, place: Place, value: Any) -> str | None:
        """A release or ``installed`` as it stands; a folder is relative to the file."""
        text: str | None = self._typed(place, value, str)
        if text is None or text == INSTALLED or RELEASE.fullmatch(text):
            return text
        path = self._path(place, text)
        return str(path) if path is not None else None

    def _strings(self, place: Place, value: Any) -> tuple[str, ...]:
        items = self._typed(place, value, list) or []
        texts = [self._typed((*place, number), item, str) for number, item in enumerate(items)]
        return tuple(text for text in texts if text is not None)

    def _codes(self, place: Place, value: Any) -> tuple[str, ...]:
        items = self._typed(place, value, list) or []
        codes = []
        for number, item in enumerate(items):
            word = self._typed((*place, number), item, str)
            if word is None:
                continue
            if word.lower() in self._rules:
                codes.append(self._rules[word.lower()])
            else:
                known = [code if key == code.lower() else key for key, code in self._rules.items()]
                hint = did_you_mean(word, known, "vllm-contracts explain lists them")
                self.say((*place, number), f"no rule is called {word}{hint}")
        return tuple(dict.fromkeys(codes))

    def _per_path(self, place: Place, value: Any) -> tuple[tuple[str, tuple[str, ...]], ...]:
        globs = self._typed(place, value, dict) or {}
        return tuple((glob, self._codes((*place, glob), codes)) for glob, codes in globs.items())

    def _contracts(self, place: Place, value: Any) -> tuple[tuple[str, Handling], ...]:
        read = []
        for name, entry in (self._typed(place, value, dict) or {}).items():
            values = self._typed((*place, name), entry, dict)
            try:
                read.append((name, read_entry(values or {}, shipped().get(name, NOTHING))))
            except HandlingError as error:
                self.say((*place, name, error.key), str(error))
        return tuple(read)

    def _fail_on(self, place: Place, value: Any) -> Any:
        word = self._typed(place, value, str)
        if word is not None and word not in FAIL_ON:
            self.say(
                place, f"fail-on cannot be {word}{did_you_mean(word, FAIL_ON, 'it is one of ' + ', '.join(FAIL_ON))}"
            )
        return word


def _name(place: Place) -> str:
    """A place in words: ``select``, ``an item of select``, ``per-path-ignores."a/*"``."""
    keys = [str(key) if str(key).replace("-", "").isalnum() else f'"{key}"' for key in place if isinstance(key, str)]
    return ("an item of " if isinstance(place[-1], int) else "") + ".".join(keys)
