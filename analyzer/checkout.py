"""Open a checkout: find the ``vllm`` package in a folder, name its files, read its version.

Nothing of the checkout is imported or executed.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

from analyzer.handling import NOTHING, Handling, shipped
from analyzer.problems import Diagnostic, InputError
from analyzer.source import Listing, Source, is_file, parse, read_source

PACKAGE = "vllm"
INTERFACES = PurePosixPath("model_executor/models/interfaces.py")
"""The contracts, relative to the package: there in each release looked at, 0.5.3 and 0.11 to 0.33."""

REGISTRY = PurePosixPath("model_executor/models/registry.py")
MODEL_ROOTS = (PurePosixPath("model_executor/models"), PurePosixPath("models"))
"""Where model classes stand, relative to the package; 0.22 has the second, 0.20 does not."""

GIT_TIMEOUT = 10.0
"""Seconds after which ``git describe`` is given up."""

_ASK = (
    "give the root of a vLLM clone, an unpacked wheel or sdist, a site-packages folder, "
    "or the vllm folder itself: vllm-contracts audit PATH"
)
_PLACES_OF_GIT = {"GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY"}
_SDIST_NAME = re.compile(r"vllm[-_](\d[0-9A-Za-z.+!]*)")
_DESCRIBED = re.compile(r"v?(\d[0-9A-Za-z.]*)-(\d+)-g([0-9a-f]+)")


class CheckoutError(InputError):
    """A folder is no checkout; the message is one line for the user and says what to type."""


@dataclass(frozen=True)
class Checkout:
    """A tree that holds the ``vllm`` package.

    What is found on disk is remembered: open the checkout again after files were added or removed.

    Args:
        root: the folder that holds the package: a clone's root, an unpacked wheel, site-packages.
            Absolute, symbolic links kept.
        package: the ``vllm`` folder in it.
        version: as the tree tells it, for instance ``0.33.0``, or ``0.33.0+12.g1a2b3c4`` for a clone twelve
            commits after that tag; None if the tree does not tell.
        extra_model_roots: folders of model classes beside those that vLLM has; see :meth:`with_model_roots`.
        contract_entries: what is known of contracts beside what comes with the rules; see :mod:`analyzer.handling`.
    """

    root: Path
    package: Path
    version: str | None
    extra_model_roots: tuple[Path, ...] = ()
    contract_entries: tuple[tuple[str, Handling], ...] = ()
    _modules: dict[str, Path | None] = field(default_factory=dict, init=False, repr=False, compare=False)
    _listings: dict[Path, Listing] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def interfaces_path(self) -> Path:
        """The module that defines the contracts; it exists."""
        return self.package / INTERFACES

    @property
    def registry_path(self) -> Path:
        """The module with the tables of architectures; it may be missing."""
        return self.package / REGISTRY

    @property
    def model_roots(self) -> tuple[Path, ...]:
        """The folders of model classes that exist in this checkout."""
        own = (root for root in map(self.package.joinpath, MODEL_ROOTS) if root.is_dir())
        return (*own, *self.extra_model_roots)

    def with_model_roots(self, folders: Iterable[str]) -> Checkout:
        """The same checkout with more folders of model classes.

        Args:
            folders: of the package, relative to the checkout's root; those inside a model root add nothing.

        Raises:
            CheckoutError: one is not there, outside the package, or around another folder of models.
        """
        extra = list(self.extra_model_roots)
        for name in folders:
            folder = Path(os.path.normpath(self.root / name))
            if not folder.is_dir():
                raise CheckoutError(f"{name}: no such folder in {self.root}")
            if self.package not in (folder, *folder.parents):
                raise CheckoutError(f"{name}: outside the {PACKAGE} package of {self.root}, so that it has no models")
            roots = {*self.model_roots, *extra}
            if inside := next((root for root in sorted(roots) if folder in root.parents), None):
                raise CheckoutError(f"{name}: {self.rel(inside)} in it is a folder of models already")
            if roots.isdisjoint((folder, *folder.parents)):
                extra.append(folder)
        return replace(self, extra_model_roots=tuple(extra)) if extra else self

    def handling(self, contract: str) -> Handling:
        """How a contract of a name is handed on."""
        return dict(self.contract_entries).get(contract) or shipped().get(contract, NOTHING)

    def rel(self, path: Path) -> str:
        """The name of a file in reports: relative to the root, with forward slashes.

        Args:
            path: absolute, or relative to the working directory; it may lead here through symbolic links.

        Raises:
            ValueError: if it is outside the root.
        """
        absolute = _absolute(path)
        with suppress(ValueError):
            return absolute.relative_to(self.root).as_posix()
        resolved = absolute.resolve()
        with suppress(ValueError):
            return (PACKAGE / resolved.relative_to(self.package.resolve())).as_posix()
        return resolved.relative_to(self.root.resolve()).as_posix()

    def module_name(self, path: Path) -> str:
        """The dotted name of a file of the package; of an ``__init__.py``, that of its package.

        Raises:
            ValueError: if it is outside the package or no ``.py`` file.
        """
        parts = PurePosixPath(self.rel(path)).parts
        if parts[:1] != (PACKAGE,) or not parts[-1].endswith(".py"):
            raise ValueError(f"{path} is not a module of the {PACKAGE} package")
        stem = parts[-1].removesuffix(".py")
        return ".".join(parts[:-1] if stem == "__init__" else (*parts[:-1], stem))

    def find_module(self, dotted: str) -> Path | None:
        """The file of a module, or the ``__init__.py`` of a package.

        A package wins over a module of the same name, as in Python's ``FileFinder``.

        Args:
            dotted: an absolute name, such as ``vllm.model_executor.models.llama``.

        Returns:
            None if there is no such file: a name outside ``vllm``, a folder without ``__init__.py``, a
            compiled module.
        """
        if dotted not in self._modules:
            self._modules[dotted] = self._search_module(dotted)
        return self._modules[dotted]

    def _search_module(self, dotted: str) -> Path | None:
        parts = dotted.split(".")
        if parts[0] != PACKAGE or not all(part.isidentifier() for part in parts):
            return None
        stem = self.root.joinpath(*parts)
        candidates = (stem / "__init__.py", stem.with_name(f"{stem.name}.py"))
        return next((path for path in candidates if is_file(path)), None)

    def python_files(self, under: Path | None = None) -> tuple[Path, ...]:
        """Every ``.py`` file below a folder, sorted by path.

        Hidden files and folders and ``__pycache__`` are left out.  Links to folders are followed, but no
        folder is listed twice, real paths are preferred to links, and a link to a folder that contains
        ``under`` is not followed.  What could not be used is in :attr:`walk_diagnostics`.

        Args:
            under: where to start; the whole package by default.  A single file is itself the answer.
        """
        start = self.package if under is None else _absolute(under)
        if start not in self._listings:
            self._listings[start] = Listing(start)
        return self._listings[start].files

    def folders(self) -> tuple[Path, ...]:
        """The folders of the package in which :meth:`python_files` looks."""
        self.python_files()
        return tuple(self._listings[self.package].folders)

    @property
    def walk_diagnostics(self) -> tuple[Diagnostic, ...]:
        """What the calls of :meth:`python_files` so far had to leave out: unreadable folders, pipes named
        like modules, dangling links."""
        problems = {problem for listing in self._listings.values() for problem in listing.problems}
        return tuple(sorted(Diagnostic(self._display(path), 0, reason) for path, reason in problems))

    def _display(self, path: Path) -> str:
        try:
            name = self.rel(path)
        except ValueError:
            name = path.as_posix()
        return os.fsencode(name).decode("utf-8", "backslashreplace")


def open_checkout(path: Path) -> Checkout:
    """Find the ``vllm`` package of a folder.

    Args:
        path: a clone's root, an unpacked wheel or sdist (also the folder around the sdist's own), a
            site-packages folder, or the ``vllm`` folder itself.

    Raises:
        CheckoutError: if there is none, several, or one without the module that defines the contracts.
    """
    start = _absolute(path)
    try:
        root = _find_root(start)
        version = read_version(root)
    except OSError as error:
        raise CheckoutError(f"{path}: cannot be read: {error.strerror}; {_ASK}") from None
    return Checkout(root, root / PACKAGE, version)


def _find_root(start: Path) -> Path:
    if not start.is_dir():
        state = "a file; unpack it, then" if start.exists() else "no such folder;"
        raise CheckoutError(f"{start}: {state} {_ASK}")
    candidates = (start, start.parent) if start.name == PACKAGE else (start,)
    for root in candidates:
        if (root / PACKAGE / INTERFACES).is_file():
            return root
    return _find_nested_root(start)


def _find_nested_root(start: Path) -> Path:
    """The folder of an unpacked sdist inside the folder where it was unpacked."""
    found = start.glob(f"{PACKAGE}*/{PACKAGE}/{INTERFACES}")
    roots = sorted(path.parents[len(INTERFACES.parts)] for path in found)
    if not roots:
        raise CheckoutError(_why_no_checkout(start))
    if len(roots) > 1:
        names = ", ".join(root.name for root in roots)
        raise CheckoutError(f"{start}: several checkouts ({names}); name one: vllm-contracts audit PATH")
    return roots[0]


def _why_no_checkout(start: Path) -> str:
    around = next((top for top in start.parents if is_file(top / PACKAGE / INTERFACES)), None)
    if around is not None:
        return f"{start}: a folder inside a checkout; name the checkout: vllm-contracts audit {around}"
    wanted = f"{PACKAGE}/{INTERFACES}"
    package = start if start.name == PACKAGE else start / PACKAGE
    if not is_file(package / "__init__.py"):
        return f"{start}: no vLLM here (looked for {wanted}); {_ASK}"
    moved = [file for file in Listing(package).files if file.name == INTERFACES.name]
    where = ", ".join(file.relative_to(package.parent).as_posix() for file in moved[:3])
    elsewhere = f"; there is {where}, a layout that this tool does not know" if moved else ""
    return f"{start}: this vLLM has no {wanted}, which defines the contracts{elsewhere}"


def read_version(root: Path) -> str | None:
    """The version that a tree tells, from the most telling witness that it has.

    A clone is asked with ``git describe`` first, because the files that a build leaves in it
    (``vllm/_version.py``, ``vllm.egg-info``) stay when another commit is checked out.  Elsewhere
    ``vllm/_version.py`` comes first: it is replaced with the package, whereas site-packages may hold
    the dist-info of several installs.

    Args:
        root: the folder that holds the ``vllm`` package.
    """
    witnesses: tuple[Callable[[Path], str | None], ...] = (
        _version_from_git,
        _version_from_module,
        _version_from_dist_info,
        _version_from_pkg_info,
        _version_from_folder_name,
    )
    return next((version for ask in witnesses if (version := ask(root))), None)


def _version_from_git(root: Path) -> str | None:
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


def _version_from_module(root: Path) -> str | None:
    """The version that setuptools-scm wrote, or that old releases kept in ``version.py``, as a literal."""
    for name in ("_version.py", "version.py"):
        path = root / PACKAGE / name
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


def _version_from_dist_info(root: Path) -> str | None:
    """That of the one distribution that owns the package; None if several claim it and disagree."""
    versions = {
        headers["Version"]
        for folder in root.glob("*.dist-info")
        if "vllm" in folder.name.lower()
        and (headers := _headers(folder / "METADATA")).get("Version")
        and (headers.get("Name") == PACKAGE or _records_package(folder / "RECORD"))
    }
    return versions.pop() if len(versions) == 1 else None


def _records_package(record: Path) -> bool:
    try:
        return f"\n{PACKAGE}/__init__.py," in "\n" + record.read_text("utf-8", "replace")
    except OSError:
        return False


def _version_from_pkg_info(root: Path) -> str | None:
    for path in (root / "PKG-INFO", root / "vllm.egg-info" / "PKG-INFO"):
        headers = _headers(path)
        if headers.get("Name") == PACKAGE and headers.get("Version"):
            return headers["Version"]
    return None


def _version_from_folder_name(root: Path) -> str | None:
    match = _SDIST_NAME.fullmatch(root.name)
    return match[1] if match else None


def _headers(path: Path) -> dict[str, str]:
    """The one-line fields above the first empty line of a core metadata file; none if it is unreadable."""
    try:
        text = path.read_text("utf-8", "replace")
    except OSError:
        return {}
    fields = (line.partition(":") for line in text.split("\n\n", 1)[0].splitlines())
    return {name: value.strip() for name, colon, value in fields if colon}


def _absolute(path: Path) -> Path:
    """An absolute path that keeps symbolic links, unless ``..`` makes their order matter."""
    return path.resolve() if ".." in path.parts else path.absolute()
