"""Stand-ins for what an environment lacks, so that a class can be imported although a library that it uses cannot.

Part of what runs in another interpreter: the standard library only, Python 3.10 or later.

A missing module is learnt from the error that it causes, and only then stood in for: a library that is optional,
and asked for with ``try: import``, stays missing.  Never stood in for: torch, transformers as a whole, and the
model folders of vLLM.
"""

from __future__ import annotations

import abc
import importlib.abc
import importlib.machinery
import importlib.metadata
import re
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

KEPT = ("torch", "transformers", "numpy")
VENDORED = {"vllm.third_party": 3, "vllm.vllm_flash_attn": 2}
"""Packages of vLLM that are other people's, built apart: where a package's own name ends, in parts."""
_LACKS_NAME = re.compile(r"cannot import name '(\w+)' from '([\w.]+)'")
_LACKS_OPERATOR = re.compile(r"'_OpNamespace' '(\w+)' object has no attribute '(\w+)'")


class _Meta(abc.ABCMeta):
    """The type of stand-ins: classes that take part in anything a module does while it is imported."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__") or not cls.__dict__.get("_stands_in"):
            raise AttributeError(name)
        made = make(name, cls.__module__)
        setattr(cls, name, made)
        return made

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if not cls.__dict__.get("_stands_in"):
            return super().__call__(*args, **kwargs)
        if len(args) == 1 and not kwargs and _is_decorated(args[0]):
            return args[0]
        return make(cls.__name__, cls.__module__)

    def __getitem__(cls, key: object) -> Any:
        return cls

    def __iter__(cls) -> Iterator[Any]:
        return iter(())

    def __len__(cls) -> int:
        return 0

    def __bool__(cls) -> bool:
        return True

    def __lt__(cls, other: object) -> bool:
        return False

    def __gt__(cls, other: object) -> bool:
        return True

    __le__, __ge__ = __lt__, __gt__

    def __int__(cls) -> int:
        return 1

    __index__ = __int__

    def __enter__(cls) -> Any:
        return cls

    def __exit__(cls, *error: object) -> None:
        return None


def _same(cls: Any, *other: object) -> Any:
    return cls


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "lshift", "rshift", "and", "xor"):
    setattr(_Meta, f"__{_name}__", _same)
    setattr(_Meta, f"__r{_name}__", _same)
for _name in ("neg", "pos", "invert"):
    setattr(_Meta, f"__{_name}__", _same)


def _is_decorated(value: object) -> bool:
    return isinstance(value, types.FunctionType | staticmethod | classmethod | type) and not isinstance(value, _Meta)


def make(name: str, module: str) -> type:
    """A class that can be inherited from, called, used as a decorator, indexed, and calculated with.

    Args:
        name, module: what it stands in for.
    """
    inside = {"_stands_in": True, "__module__": module, "__get_pydantic_core_schema__": classmethod(_any_schema)}
    return _Meta(name, (), inside)


def _any_schema(cls: type, source: object, handler: object) -> Any:
    """For pydantic, which asks the types of fields for this."""
    import pydantic_core

    return pydantic_core.core_schema.any_schema()


class _Module(types.ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name == "__version__":
            return "0.0.0"
        if name.startswith("__"):
            raise AttributeError(name)
        full = f"{self.__name__}.{name}"
        made = sys.modules.get(full) or make(name, self.__name__)
        setattr(self, name, made)
        return made


class _Loader(importlib.abc.Loader):
    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        module = _Module(spec.name)
        module.__path__ = []
        module.__file__ = f"<stand-in for {spec.name}>"
        return module

    def exec_module(self, module: types.ModuleType) -> None:
        pass


class _Finder(importlib.abc.MetaPathFinder):
    """Finds the modules of a set and everything below them."""

    def __init__(self, names: set[str]) -> None:
        self.names = names

    def find_spec(self, name: str, path: object = None, target: object = None) -> Any:
        parent = name.rpartition(".")[0]
        if name in self.names or isinstance(sys.modules.get(parent), _Module):
            return importlib.machinery.ModuleSpec(name, _Loader(), is_package=True)
        return None


class StandIns:
    """What is stood in for, in the order in which it was learnt.

    Args:
        model_folders: packages that are never stood in for, with what is inside.
        names: what to stand in for from the start: ``module``, ``!module`` (although it is there: it fails),
            ``module:Name``, ``op:namespace::name``.
    """

    def __init__(self, model_folders: list[str], names: list[str]) -> None:
        self.model_folders = tuple(f"{folder}." for folder in model_folders)
        self._audited = {"vllm", *(folder.partition(".")[0] for folder in model_folders)}
        self.names: list[str] = []
        self._missing: set[str] = set()
        self._failing: set[str] = set()
        self._operators: list[Any] = []  # torch forgets a definition whose library object is gone
        sys.meta_path.insert(0, _Finder(self._failing))
        sys.meta_path.append(_Finder(self._missing))
        self._answer_for_versions()
        self._later = [name for name in names if ":" in name]
        for name in names:
            if ":" not in name:
                self.add(name)

    def _answer_for_versions(self) -> None:
        real = importlib.metadata.version

        def version(distribution_name: str) -> str:
            try:
                return real(distribution_name)
            except importlib.metadata.PackageNotFoundError:
                if distribution_name.replace("-", "_") in self._missing:
                    return "0.0.0"
                raise

        importlib.metadata.version = version

    def add(self, name: str) -> bool:
        """Stand in for one thing; tells whether that is new and could be done."""
        if name in self.names:
            return False
        if name.startswith("op:"):
            done = self._define(*name[3:].split("::"))
        elif ":" in name:
            done = self._give(*name.split(":"))
        elif name.startswith("!"):
            done = self._replace(name[1:])
        else:
            done = True
            self._missing.add(name)
        if done:
            self.names.append(name)
        return done

    def before_a_try(self) -> None:
        """Names and operators known from an earlier process can be given once their module is there."""
        self._later = [name for name in self._later if not self.add(name)]

    def learn(self, error: BaseException) -> bool:
        """Find out from an error what was missing, and stand in for it.

        Args:
            error: what an import raised.

        Returns:
            Whether it is worth another try.
        """
        seen: set[int] = set()
        current: BaseException | None = error
        while current is not None and id(current) not in seen:
            seen.add(id(current))
            name = self._cause(current)
            if name and self.add(name):
                return True
            current = current.__cause__ or current.__context__
        return False

    def _cause(self, error: BaseException) -> str:
        message = str(error)
        if isinstance(error, ModuleNotFoundError) and error.name and not self._is_kept(error.name):
            top = error.name.partition(".")[0]
            return top if top not in sys.modules and top not in {*self._audited, *KEPT} else error.name
        if found := _LACKS_NAME.search(message):
            name, module = found.groups()
            circular = "partially initialized" in message or module in self.names
            return "" if circular or self._is_kept(f"{module}.") or module in self._audited else f"{module}:{name}"
        if found := _LACKS_OPERATOR.search(message):
            return f"op:{found[1]}::{found[2]}"
        return self._failing_package(error)

    def _is_kept(self, module: str) -> bool:
        return module in KEPT or f"{module}.".startswith(self.model_folders)

    def _failing_package(self, error: BaseException) -> str:
        """The third-party package whose own import raised: its module's body is the last in the traceback."""
        last = ""
        trace = error.__traceback__
        while trace is not None:
            if trace.tb_frame.f_code.co_name == "<module>":
                last = str(trace.tb_frame.f_globals.get("__name__", ""))
            trace = trace.tb_next
        parts = last.split(".")
        if size := VENDORED.get(".".join(parts[:2]), 0):
            return "!" + ".".join(parts[:size])
        top = parts[0]
        ours = top in {"", "__main__", "run", "exercise", "flow", *KEPT, *self._audited}
        ours = ours or top in sys.stdlib_module_names
        return "" if ours else f"!{top}"

    def _replace(self, module: str) -> bool:
        for name in [name for name in sys.modules if name == module or name.startswith(f"{module}.")]:
            del sys.modules[name]
        self._failing.add(module)
        return True

    def _give(self, module: str, name: str) -> bool:
        there = sys.modules.get(module)
        if there is None or hasattr(there, name):
            return False
        setattr(there, name, make(name, module))
        return True

    def _define(self, namespace: str, operator: str) -> bool:
        """A compiled operator without an implementation."""
        if "torch" not in sys.modules:
            return False
        library: Callable[..., Any] = sys.modules["torch"].library.Library
        made = library(namespace, "FRAGMENT")
        made.define(f"{operator}() -> ()")
        self._operators.append(made)
        return True
