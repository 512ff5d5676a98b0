"""Open a checkout: find the ``vllm`` package in a folder, name its files, find its modules.

A package outside vLLM that is audited with it joins the checkout as further packages: imports find both, names in
reports are relative to the plugin's folder, and those of vLLM's own files begin with
:data:`analyzer.packages.VLLM`.

Nothing of the checkout is imported or executed.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from analyzer.handling import NOTHING, Handling, shipped
from analyzer.packages import VLLM, Package, Plugin
from analyzer.problems import Diagnostic, InputError
from analyzer.source import Listing, is_file
from analyzer.version import read_version

if TYPE_CHECKING:
    from analyzer.records import TreeRecord

PACKAGE = "vllm"
INTERFACES = PurePosixPath("model_executor/models/interfaces.py")
"""The contracts, relative to the package: there in each release looked at, 0.5.3 and 0.11 to 0.33."""

REGISTRY = PurePosixPath("model_executor/models/registry.py")
MODEL_ROOTS = (PurePosixPath("model_executor/models"), PurePosixPath("models"))
"""Where model classes stand, relative to the package; 0.22 has the second, 0.20 does not."""


@dataclass(frozen=True)
class Layout:
    """What a tree calls things: as vLLM does, or as a fork does.

    Args:
        package: the name of the package, as imports have it.
        interfaces: the module that defines the contracts, relative to the package.
        registries: further modules with tables of architectures, relative to the package.
    """

    package: str = PACKAGE
    interfaces: PurePosixPath = INTERFACES
    registries: tuple[PurePosixPath, ...] = ()

    def __str__(self) -> str:
        return f"{self.package}/{self.interfaces}"


AS_VLLM = Layout()

_ASK = (
    "give the root of a vLLM clone, an unpacked wheel or sdist, a site-packages folder, "
    "or the vllm folder itself: vllm-contracts audit PATH"
)


class CheckoutError(InputError):
    """A folder is no checkout; the message is one line for the user and says what to type."""


@dataclass(frozen=True)
class Checkout:
    """A tree that holds the ``vllm`` package, and a plugin outside of it where one is audited.

    What is found on disk is remembered: open the checkout again after files were added or removed.

    Args:
        root: what names in reports are relative to: the folder that holds the package (a clone's root, an unpacked
            wheel, site-packages), or the plugin's.  Absolute, symbolic links kept.
        package: the ``vllm`` folder.
        version: as the tree tells it, for instance ``0.33.0``, or ``0.33.0+12.g1a2b3c4`` for a clone twelve
            commits after that tag; None if the tree does not tell.
        extra_model_roots: folders of model classes beside those that vLLM has; see :meth:`with_model_roots`.
        contract_entries: what is known of contracts beside what comes with the rules; see :mod:`analyzer.handling`.
        plugin: what is judged instead of vLLM's own models; see :meth:`with_plugin`.
        layout: what the tree calls things.
    """

    root: Path
    package: Path
    version: str | None
    extra_model_roots: tuple[Path, ...] = ()
    contract_entries: tuple[tuple[str, Handling], ...] = ()
    plugin: Plugin | None = None
    layout: Layout = AS_VLLM
    _modules: dict[str, Path | None] = field(default_factory=dict, init=False, repr=False, compare=False)
    _listings: dict[Path, Listing] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def interfaces_path(self) -> Path:
        """The module that defines the contracts; it exists."""
        return self.package / self.layout.interfaces

    @property
    def registry_path(self) -> Path:
        """The module with vLLM's tables of architectures; it may be missing."""
        return self.package / REGISTRY

    @property
    def registry_paths(self) -> tuple[Path, ...]:
        """That, and the modules with further tables; a later one counts."""
        return (self.registry_path, *map(self.package.joinpath, self.layout.registries))

    @cached_property
    def packages(self) -> tuple[Package, ...]:
        """Where imports find modules: vLLM's package, and those of a plugin."""
        own = Package(self.package.name, self.package.parent, VLLM if self.plugin is not None else "")
        return (own, *(self.plugin.packages if self.plugin is not None else ()))

    def package_of(self, module: str) -> Package | None:
        """The package that a dotted name belongs to; None for one outside the checkout."""
        top = module.partition(".")[0]
        return next((package for package in self.packages if package.name == top), None)

    @property
    def model_roots(self) -> tuple[Path, ...]:
        """The folders of model classes that exist in this checkout; of a plugin, all of it."""
        return (*self._vllm_model_roots, *(self.judged_roots if self.plugin is not None else ()))

    @property
    def judged_roots(self) -> tuple[Path, ...]:
        """The folders, or files, with the model classes that findings are on."""
        if self.plugin is None:
            return self._vllm_model_roots
        return tuple(package.path for package in self.judged_packages)

    @property
    def _vllm_model_roots(self) -> tuple[Path, ...]:
        own = (root for root in map(self.package.joinpath, MODEL_ROOTS) if root.is_dir())
        return (*own, *self.extra_model_roots)

    def is_judged(self, rel: str) -> bool:
        """Whether findings can be on a file, by its name in reports: not on vLLM's own beside a plugin."""
        return self.plugin is None or any(package.holds(rel) for package in self.judged_packages)

    def with_plugin(self, root: Path, plugin: Plugin) -> Checkout:
        """The same vLLM, with a plugin that is judged in the place of vLLM's own models.

        Args:
            root: the plugin's folder.
            plugin: its packages.
        """
        return replace(self, root=root, plugin=plugin)

    def with_model_roots(self, folders: Iterable[str]) -> Checkout:
        """The same checkout with more folders of model classes.

        Args:
            folders: of the package, relative to the checkout's root; those inside a model root add nothing.

        Raises:
            CheckoutError: one is not there, outside the package, or around another folder of models.
        """
        extra = list(self.extra_model_roots)
        for name in folders:
            folder = Path(os.path.normpath(self.package.parent / name))
            if not folder.is_dir():
                raise CheckoutError(f"{name}: no such folder in {self.package.parent}")
            if self.package not in (folder, *folder.parents):
                home, package = self.package.parent, self.package.name
                raise CheckoutError(f"{name}: outside the {package} package of {home}, so that it has no models")
            roots = {*self._vllm_model_roots, *extra}
            if inside := next((root for root in sorted(roots) if folder in root.parents), None):
                raise CheckoutError(f"{name}: {self.rel(inside)} in it is a folder of models already")
            if roots.isdisjoint((folder, *folder.parents)):
                extra.append(folder)
        return replace(self, extra_model_roots=tuple(extra)) if extra else self

    def handling(self, contract: str) -> Handling:
        """How a contract of a name is handed on."""
        return dict(self.contract_entries).get(contract) or shipped().get(contract, NOTHING)

    def moved(self, root: Path) -> Checkout:
        """The same with another root, where what is judged stands as it does in this one; vLLM stays beside a plugin.

        Args:
            root: the other folder, absolute.
        """
        plugin = self.plugin
        if plugin is None:
            extra = tuple(root / self.rel(path) for path in self.extra_model_roots)
            return replace(self, root=root, package=root / self.package.name, extra_model_roots=extra)
        packages = tuple(replace(package, home=root / package.shown) for package in plugin.packages)
        return replace(self, root=root, plugin=replace(plugin, packages=packages))

    @property
    def judged_packages(self) -> tuple[Package, ...]:
        """Those that findings are on: vLLM's, or a plugin's."""
        return self.packages if self.plugin is None else self.plugin.packages

    def record(self) -> TreeRecord:
        """What reports say of it."""
        from analyzer.records import PluginRecord, TreeRecord  # a run that only repeats what it said needs no report

        plugin = self.plugin
        about = PluginRecord(plugin.name, plugin.version, self.package.parent) if plugin is not None else None
        return TreeRecord(self.root, self.version, about)

    def rel(self, path: Path) -> str:
        """The name of a file in reports: relative to the root, with forward slashes; beside a plugin that of vLLM's
        own files begins with ``<vllm>/``, and the rest is relative to vLLM's root.

        Args:
            path: absolute, or relative to the working directory; it may lead here through symbolic links.

        Raises:
            ValueError: if it is outside the root.
        """
        shown = self.packages[0].shown
        text, root = os.fspath(path), f"{self.root}/"
        if not shown and text.startswith(root) and "/.." not in text:  # nearly always, and what follows takes ten times
            return text[len(root) :]
        absolute = _absolute(path)
        if shown and self.package in (absolute, *absolute.parents):
            return shown + absolute.relative_to(self.package.parent).as_posix()
        with suppress(ValueError):
            return absolute.relative_to(self.root).as_posix()
        resolved = absolute.resolve()
        with suppress(ValueError):
            return shown + (self.package.name / resolved.relative_to(self.package.resolve())).as_posix()
        return resolved.relative_to(self.root.resolve()).as_posix()

    def path(self, rel: str) -> Path:
        """The file that has a name in reports: the way back from :meth:`rel`."""
        shown = self.packages[0].shown
        return self.package.parent / rel.removeprefix(shown) if shown and rel.startswith(shown) else self.root / rel

    def module_name(self, path: Path) -> str:
        """The dotted name of a file of the packages; of an ``__init__.py``, that of its package.

        Raises:
            ValueError: if it is outside the packages or no ``.py`` file.
        """
        rel = self.rel(path)
        package = next((package for package in self.packages if package.holds(rel)), None)
        if package is None or not rel.endswith(".py"):
            raise ValueError(f"{path} is not a module of {' or '.join(package.name for package in self.packages)}")
        *parts, last = PurePosixPath(rel.removeprefix(package.shown)).parts
        stem = last.removesuffix(".py")
        return ".".join(parts if stem == "__init__" else (*parts, stem))

    def module_of_root(self, root: Path) -> str:
        """The dotted name of one of the folders of :attr:`model_roots`, or of one that is a module by itself."""
        return self.module_name(root if root.suffix == ".py" else root / "__init__.py")

    def find_module(self, dotted: str) -> Path | None:
        """The file of a module, or the ``__init__.py`` of a package.

        A package wins over a module of the same name, as in Python's ``FileFinder``.

        Args:
            dotted: an absolute name, such as ``vllm.model_executor.models.llama``.

        Returns:
            None if there is no such file: a name outside the packages, a folder without ``__init__.py``, a
            compiled module.
        """
        if dotted not in self._modules:
            self._modules[dotted] = self._search_module(dotted)
        return self._modules[dotted]

    def _search_module(self, dotted: str) -> Path | None:
        parts = dotted.split(".")
        package = self.package_of(dotted)
        if package is None or not all(part.isidentifier() for part in parts):
            return None
        stem = package.home.joinpath(*parts)
        candidates = (stem / "__init__.py", stem.with_name(f"{stem.name}.py"))
        return next((path for path in candidates if is_file(path)), None)

    def python_files(self, under: Path | None = None) -> tuple[Path, ...]:
        """Every ``.py`` file below a folder, sorted by path.

        Hidden files and folders and ``__pycache__`` are left out.  Links to folders are followed, but no
        folder is listed twice, real paths are preferred to links, and a link to a folder that contains
        ``under`` is not followed.  What could not be used is in :attr:`walk_diagnostics`.

        Args:
            under: where to start; all packages by default.  A single file is itself the answer.
        """
        if under is None:
            return tuple(file for package in self.packages for file in self._listing(package.path).files)
        return self._listing(_absolute(under)).files

    def folders(self) -> tuple[Path, ...]:
        """The folders of the packages in which :meth:`python_files` looks."""
        return tuple(folder for package in self.packages for folder in self._listing(package.path).folders)

    def _listing(self, start: Path) -> Listing:
        if start not in self._listings:
            self._listings[start] = Listing(start)
        return self._listings[start]

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


def open_checkout(path: Path, layout: Layout = AS_VLLM) -> Checkout:
    """Find the ``vllm`` package of a folder.

    Args:
        path: a clone's root, an unpacked wheel or sdist (also the folder around the sdist's own), a
            site-packages folder, or the ``vllm`` folder itself.
        layout: what the tree calls things.

    Raises:
        CheckoutError: if there is none, several, or one without the module that defines the contracts.
    """
    start = _absolute(path)
    try:
        root = _find_root(start, layout)
        version = read_version(root, layout.package)
    except OSError as error:
        raise CheckoutError(f"{path}: cannot be read: {error.strerror}; {_ASK}") from None
    package = root / layout.package
    if lacking := next((name for name in layout.registries if not is_file(package / name)), None):
        raise CheckoutError(f"{root}: no {layout.package}/{lacking}, which should have tables of architectures")
    return Checkout(root, package, version, layout=layout)


def _find_root(start: Path, layout: Layout) -> Path:
    if not start.is_dir():
        state = "a file; unpack it, then" if start.exists() else "no such folder;"
        raise CheckoutError(f"{start}: {state} {_ASK}")
    candidates = (start, start.parent) if start.name == layout.package else (start,)
    for root in candidates:
        if (root / str(layout)).is_file():
            return root
    return _find_nested_root(start, layout)


def _find_nested_root(start: Path, layout: Layout) -> Path:
    """The folder of an unpacked sdist inside the folder where it was unpacked."""
    found = start.glob(f"{layout.package}*/{layout}")
    roots = sorted(path.parents[len(layout.interfaces.parts)] for path in found)
    if not roots:
        raise CheckoutError(_why_no_checkout(start, layout))
    if len(roots) > 1:
        names = ", ".join(root.name for root in roots)
        raise CheckoutError(f"{start}: several checkouts ({names}); name one: vllm-contracts audit PATH")
    return roots[0]


def _why_no_checkout(start: Path, layout: Layout) -> str:
    around = next((top for top in start.parents if is_file(top / str(layout))), None)
    if around is not None:
        return f"{start}: a folder inside a checkout; name the checkout: vllm-contracts audit {around}"
    wanted = str(layout)
    package = start if start.name == layout.package else start / layout.package
    if not is_file(package / "__init__.py"):
        return f"{start}: no vLLM here (looked for {wanted}); {_ASK}"
    moved = [file for file in Listing(package).files if file.name == layout.interfaces.name]
    where = ", ".join(file.relative_to(package.parent).as_posix() for file in moved[:3])
    elsewhere = f"; there is {where}: name it as interfaces in the settings" if moved else ""
    return f"{start}: this vLLM has no {wanted}, which defines the contracts{elsewhere}"


def _absolute(path: Path) -> Path:
    """An absolute path that keeps symbolic links, unless ``..`` makes their order matter."""
    return path.resolve() if ".." in path.parts else path.absolute()
