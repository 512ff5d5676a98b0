"""The version that a tree tells; nothing of it is imported or executed."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Callable
from pathlib import Path

from analyzer.source import Source, is_file, parse, read_source

GIT_TIMEOUT = 10.0
"""Seconds after which ``git describe`` is given up."""

_PLACES_OF_GIT = {"GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY"}
_SDIST_NAME = re.compile(r"vllm[-_](\d[0-9A-Za-z.+!]*)")
_DESCRIBED = re.compile(r"v?(\d[0-9A-Za-z.]*)-(\d+)-g([0-9a-f]+)")


def read_version(root: Path, package: str = "vllm") -> str | None:
    """The version that a tree tells, from the most telling witness that it has.

    A clone is asked with ``git describe`` first, because the files that a build leaves in it
    (``vllm/_version.py``, ``vllm.egg-info``) stay when another commit is checked out.  Elsewhere
    ``vllm/_version.py`` comes first: it is replaced with the package, whereas site-packages may hold
    the dist-info of several installs.

    Args:
        root: the folder that holds the package.
        package: its name.
    """
    witnesses: tuple[Callable[[Path, str], str | None], ...] = (
        _version_from_git,
        _version_from_module,
        _version_from_dist_info,
        _version_from_pkg_info,
        _version_from_folder_name,
    )
    return next((version for ask in witnesses if (version := ask(root, package))), None)


def _version_from_git(root: Path, _: str) -> str | None:
    if not (root / ".git").exists():
        return None
    import shutil
    import subprocess

    git = shutil.which("git")
    if git is None:
        return None
    # The clone is not trusted: its configuration must not make git run or fetch anything.
    guards = ("core.fsmonitor=false", f"core.hooksPath={os.devnull}", "protocol.allow=never")
    command = [git, *(word for guard in guards for word in ("-c", guard)), "-C", str(root)]
    command += ["describe", "--tags", "--long", "--match", "v[0-9]*", "--match", "[0-9]*"]
    environment = {name: value for name, value in os.environ.items() if name not in _PLACES_OF_GIT}
    try:
        answer = subprocess.run(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=GIT_TIMEOUT,
            encoding="utf-8",
            errors="replace",
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = _DESCRIBED.fullmatch(answer.stdout.strip())
    if match is None:
        return None
    tag, commits, commit = match.groups()
    return tag if commits == "0" else f"{tag}+{commits}.g{commit}"


def _version_from_module(root: Path, package: str) -> str | None:
    """The version that setuptools-scm wrote, or that old releases kept in ``version.py``, as a literal."""
    for name in ("_version.py", "version.py"):
        path = root / package / name
        source = read_source(path, name) if is_file(path) else None
        tree = parse(source) if isinstance(source, Source) else None
        for statement in tree.body if isinstance(tree, ast.Module) else ():
            version = _assigned_version(statement)
            if version is not None:
                return version
    return None


def _assigned_version(statement: ast.stmt) -> str | None:
    if not isinstance(statement, ast.Assign | ast.AnnAssign):
        return None
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    names = {target.id for target in targets if isinstance(target, ast.Name)}
    value = statement.value.value if isinstance(statement.value, ast.Constant) else None
    is_version = names & {"version", "__version__"} and isinstance(value, str) and value[:1].isdigit()
    return str(value) if is_version else None


def _version_from_dist_info(root: Path, package: str) -> str | None:
    """That of the one distribution that owns the package; None if several claim it and disagree."""
    versions = {
        headers["Version"]
        for folder in root.glob("*.dist-info")
        if package.lower() in folder.name.lower()
        and (headers := read_headers(folder / "METADATA")).get("Version")
        and (headers.get("Name") == package or _records_package(folder / "RECORD", package))
    }
    return versions.pop() if len(versions) == 1 else None


def _records_package(record: Path, package: str) -> bool:
    try:
        return f"\n{package}/__init__.py," in "\n" + record.read_text("utf-8", "replace")
    except OSError:
        return False


def _version_from_pkg_info(root: Path, package: str) -> str | None:
    for path in (root / "PKG-INFO", root / f"{package}.egg-info" / "PKG-INFO"):
        headers = read_headers(path)
        if headers.get("Name") == package and headers.get("Version"):
            return headers["Version"]
    return None


def _version_from_folder_name(root: Path, _: str) -> str | None:
    match = _SDIST_NAME.fullmatch(root.name)
    return match[1] if match else None


def read_headers(path: Path) -> dict[str, str]:
    """The one-line fields above the first empty line of a core metadata file; none if it is unreadable."""
    try:
        text = path.read_text("utf-8", "replace")
    except OSError:
        return {}
    fields = (line.partition(":") for line in text.split("\n\n", 1)[0].splitlines())
    return {name: value.strip() for name, colon, value in fields if colon}
