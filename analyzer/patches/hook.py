"""Change classes when their module is first imported; leave alone whatever is not what was looked at.

This file is part of each generated package, word for word: it needs nothing but the standard library.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import importlib.machinery
import logging
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.abc import Loader, MetaPathFinder
from pathlib import Path
from types import ModuleType
from typing import Any


@dataclass(frozen=True)
class Patch:
    """What is done to one class.

    Args:
        module: dotted name of the module that defines it.
        cls: its qualified name there.
        digest: of its source, as :func:`class_digest` gives it.
        apply: changes the class of the module that it is given.
        what: the change, in a few words.
    """

    module: str
    cls: str
    digest: str
    apply: Callable[[ModuleType], None]
    what: str


def install(name: str, version: str, patches: Sequence[Patch]) -> None:
    """Have patches carried out when their modules are imported; those that are imported already are changed now.

    Args:
        name: of the package, for messages.
        version: of the vLLM that was analysed.
        patches: in the order in which they are to be carried out.
    """
    log = logging.getLogger(f"vllm.{name}")
    installed = _installed_version()
    if _public(installed) != _public(version):
        log.info("%s was made for vLLM %s and this is %s: nothing is changed", name, version, installed)
        return
    waiting: dict[str, list[Patch]] = {}
    for patch in patches:
        waiting.setdefault(patch.module, []).append(patch)
    for module in [module for module in waiting if module in sys.modules]:
        _carry_out(sys.modules[module], waiting.pop(module), log)
    if waiting and not any(isinstance(finder, _Finder) and finder.name == name for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder(name, waiting, log))


def _installed_version() -> str:
    import vllm

    return str(getattr(vllm, "__version__", ""))


def _public(version: str) -> str:
    """A version without its local part: builds for a CPU have one."""
    return version.partition("+")[0]


class _Finder(MetaPathFinder):
    """Finds the modules that are waited for as the other finders do, and adds a step behind their execution."""

    def __init__(self, name: str, waiting: dict[str, list[Patch]], log: logging.Logger) -> None:
        self.name, self._waiting, self._log = name, waiting, log

    def find_spec(self, fullname: str, path: Any, target: ModuleType | None = None) -> Any:
        if fullname not in self._waiting:
            return None
        for finder in sys.meta_path:
            spec = finder.find_spec(fullname, path, target) if finder is not self else None
            if spec is not None:
                if spec.loader is not None:
                    spec.loader = _Loader(spec.loader, self._waiting[fullname], self._log)
                return spec
        return None


class _Loader(Loader):
    """A loader that patches a module after it was executed, and is otherwise the one that it stands for."""

    def __init__(self, loader: Any, patches: Sequence[Patch], log: logging.Logger) -> None:
        self._loader, self._patches, self._log = loader, patches, log

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        created: ModuleType | None = self._loader.create_module(spec)
        return created

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        _carry_out(module, self._patches, self._log)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)


def _carry_out(module: ModuleType, patches: Sequence[Patch], log: logging.Logger) -> None:
    for patch in patches:
        try:
            digest = class_digest(Path(str(module.__file__)).read_text("utf-8"), patch.cls)
            if digest != patch.digest:
                log.info("%s.%s is not the class that was analysed: it is left alone", patch.module, patch.cls)
                continue
            patch.apply(module)
        except Exception as error:  # a patch must never keep vLLM from starting
            log.warning("%s.%s could not be patched: %s: %s", patch.module, patch.cls, type(error).__name__, error)
        else:
            log.info("%s.%s: %s", patch.module, patch.cls, patch.what)


def class_digest(text: str, name: str) -> str:
    """A digest of a class's source; empty where there is not exactly one class of the name.

    Args:
        text: the module's source.
        name: qualified name of the class (``Outer.Inner`` if nested).
    """
    found = [(qualified, node) for qualified, node in _classes(ast.parse(text).body, "") if qualified == name]
    if len(found) != 1:
        return ""
    node = found[0][1]
    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    lines = text.splitlines()[first - 1 : node.end_lineno]
    return hashlib.blake2b("\n".join(lines).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _classes(body: list[ast.stmt], prefix: str) -> list[tuple[str, ast.ClassDef]]:
    found: list[tuple[str, ast.ClassDef]] = []
    for node in body:
        if isinstance(node, ast.ClassDef):
            found += [(prefix + node.name, node), *_classes(node.body, f"{prefix}{node.name}.")]
        else:
            for name in ("body", "orelse", "finalbody"):
                found += _classes(getattr(node, name, None) or [], prefix) if isinstance(node, ast.If | ast.Try) else []
    return found


# -- what patches do -------------------------------------------------------------------------------


def class_of(module: ModuleType, name: str) -> Any:
    """A class of a module, by its qualified name."""
    return functools.reduce(getattr, name.split("."), module)


def add_base(cls: Any, base: Any, position: int) -> None:
    """Give a class another base, which its linearisation must allow."""
    if base not in cls.__bases__:
        bases = list(cls.__bases__)
        bases.insert(position, base)
        cls.__bases__ = tuple(bases)


def add_method(cls: Any, function: Any) -> None:
    """Give a class a method; a class method or static one where the function is wrapped as such."""
    plain = getattr(function, "__func__", function)
    plain.__qualname__ = f"{cls.__qualname__}.{plain.__name__}"
    setattr(cls, plain.__name__, function)


def rename_method(cls: Any, old: str, new: str) -> None:
    """Give a method of a class's own body another name."""
    if old in vars(cls):
        setattr(cls, new, vars(cls)[old])
        delattr(cls, old)


def remove_method(cls: Any, name: str) -> None:
    """Take a method of a class's own body away."""
    if name in vars(cls):
        delattr(cls, name)


def after_method(cls: Any, name: str, then: Callable[[Any], None]) -> None:
    """Have something done with the object each time when a method of a class's own body has run."""
    original = vars(cls)[name]

    @functools.wraps(original)
    def wrapped(self: Any, *args: Any, **kwargs: Any) -> Any:
        result = original(self, *args, **kwargs)
        then(self)
        return result

    setattr(cls, name, wrapped)
