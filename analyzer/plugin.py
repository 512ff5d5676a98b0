"""Find the package outside vLLM that a folder holds, and the functions by which it registers its models.

A folder is a project (``pyproject.toml``, ``setup.cfg`` or ``setup.py``, its packages beside them or in ``src``), an
unpacked wheel, or the package's own folder, also in site-packages.  Nothing of it is imported or executed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from analyzer.checkout import INTERFACES, PACKAGE, Checkout, CheckoutError
from analyzer.entry_points import Declared, read_declared
from analyzer.packages import EntryPoint, Package, Plugin
from analyzer.problems import Diagnostic
from analyzer.source import is_file

_NO_PACKAGES = frozenset(
    {"ci", "bin", "debian", "doc", "docs", "documentation", "manpages", "news", "newsfragments", "changelog"}
    | {"test", "tests", "unit_test", "unit_tests", "example", "examples", "scripts", "tools", "util", "utils"}
    | {"python", "build", "benchmark", "benchmarks", "exercise", "exercises", "htmlcov"}
)
"""Folders beside a package that are none of it: ``FlatLayoutPackageFinder.DEFAULT_EXCLUDE`` of setuptools."""

_SITE = ("site-packages", "dist-packages")
_ASK = "name the plugin's project, its unpacked wheel, or its package's folder: vllm-contracts audit PLUGIN --vllm"


def open_plugin(folder: Path, checkout: Checkout) -> Checkout:
    """A vLLM tree with the plugin of a folder, which is judged in the place of vLLM's own models.

    Args:
        folder: a project, an unpacked wheel, or the folder of a package.
        checkout: the vLLM tree that the plugin is to run with.

    Raises:
        CheckoutError: there is no package, or it is vLLM itself.
    """
    start = folder.resolve() if ".." in folder.parts else folder.absolute()
    try:
        root, plugin = _find(start, checkout.package.name)
    except OSError as error:
        raise CheckoutError(f"{folder}: cannot be read: {error.strerror}; {_ASK}") from None
    return checkout.with_plugin(root, plugin)


def _find(start: Path, vllm: str) -> tuple[Path, Plugin]:
    if not start.is_dir():
        state = "a file" if start.exists() else "no such folder"
        raise CheckoutError(f"{start}: {state}; {_ASK}")
    for tree in (start, start.parent) if start.name in (vllm, PACKAGE) else (start,):
        if any(is_file(tree / name / INTERFACES) for name in {vllm, PACKAGE}):
            own = "name the plugin's own folder in it" if tree.name in _SITE else "audit it without --vllm"
            raise CheckoutError(f"{start}: a vLLM tree itself, and no plugin; {own}")
    if is_file(start / "__init__.py"):
        return _of_package(start)
    return _of_project(start)


def _of_package(start: Path) -> tuple[Path, Plugin]:
    """The plugin that a package's folder, or a folder inside it, belongs to."""
    top = start
    while is_file(top.parent / "__init__.py"):
        top = top.parent
    root = top.parent
    project = root.parent if root.name == "src" and any(is_file(root.parent / name) for name in _PROJECT) else root
    found = [one for one in read_declared(project, root) if one.concerns(top.name) or project != root]
    return root, _plugin(root, root, [top.name], found)


_PROJECT = ("pyproject.toml", "setup.cfg", "setup.py")


def _of_project(start: Path) -> tuple[Path, Plugin]:
    """The plugin of a project's folder, or of one where a wheel was unpacked."""
    declared = read_declared(start, start)
    if start.name in _SITE:
        declared = [one for one in declared if one.entry_points]
        if len(declared) != 1:
            held = f"several plugins ({', '.join(one.name for one in declared)})" if declared else "no plugin"
            raise CheckoutError(f"{start}: {held}; {_ASK}")
    named = {point.module.partition(".")[0] for one in declared for point in one.entry_points}
    homes = [start / where for one in declared for where in one.homes]
    for home in dict.fromkeys([*homes, start / "src", start]):
        names = sorted(named if start.name in _SITE else {*_packages_in(home), *named})
        there = [name for name in names if _is_module(home, name)]
        if there:
            return start, _plugin(start, home, there, declared)
    raise CheckoutError(f"{start}: no Python package here or in src; {_ASK}")


def _packages_in(home: Path) -> Iterable[str]:
    """The packages of a folder that a build would take."""
    if not home.is_dir():
        return
    for folder in home.iterdir():
        if folder.name.isidentifier() and folder.name not in _NO_PACKAGES and is_file(folder / "__init__.py"):
            yield folder.name


def _is_module(home: Path, name: str) -> bool:
    return is_file(home / name / "__init__.py") or is_file(home / f"{name}.py")


def _plugin(root: Path, home: Path, names: Sequence[str], declared: Sequence[Declared]) -> Plugin:
    shown = "" if home == root else f"{home.relative_to(root).as_posix()}/"
    packages = tuple(Package(name, home, shown) for name in names)
    points = tuple(dict.fromkeys(point for one in declared for point in one.entry_points))
    problems = [problem for one in declared for problem in one.problems]
    problems += [_not_here(point) for point in points if point.module.partition(".")[0] not in names]
    name = next((one.name for one in declared if one.name), names[0])
    version = next((one.version for one in declared if one.version), None)
    return Plugin(name, version, packages, points, tuple(sorted(problems)))


def _not_here(point: EntryPoint) -> Diagnostic:
    return Diagnostic(point.declared, 0, f"entry point {point.name}: this folder has no module {point.module}")
