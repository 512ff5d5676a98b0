"""What runs in the interpreter of the environment: reads a plan, answers one class after the other.

Started as a file, with the plan's path as its argument: the standard library only, Python 3.10 or later.  Standard
output carries one JSON object a line, for :mod:`analyzer.verify.process`; whatever vLLM prints goes to standard error.
"""

from __future__ import annotations

import faulthandler
import importlib
import importlib.machinery
import importlib.metadata
import importlib.util
import json
import os
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from analyzer.verify import exercise, flow, stand_ins
else:  # siblings of this file, which Python puts first on the path
    import exercise
    import flow
    import stand_ins

Record = dict[str, Any]


class Compiled:
    """Finds compiled parts of vLLM in another folder than its sources: those of a build that is installed.

    Args:
        package: what it is called.
        folders: ``vllm`` folders to look into, once all other finders have found nothing.
    """

    def __init__(self, package: str, folders: list[str]) -> None:
        self.package = package
        self.folders = [Path(folder) for folder in folders]

    def find_spec(self, name: str, path: object = None, target: object = None) -> Any:
        if not name.startswith(f"{self.package}."):
            return None
        *parents, last = name.split(".")[1:]
        for folder in self.folders:
            for suffix in importlib.machinery.EXTENSION_SUFFIXES:
                file = folder.joinpath(*parents, last + suffix)
                if file.is_file():
                    return importlib.util.spec_from_file_location(name, file)
        return None


def main(plan_path: str) -> None:
    """Answer a plan."""
    answers = _take_stdout()
    faulthandler.enable()
    sys.path[:] = [folder for folder in sys.path if folder and folder != str(Path(__file__).parent)]
    plan: Record = json.loads(Path(plan_path).read_text("utf-8"))
    sys.dont_write_bytecode = True

    def say(**event: Any) -> None:
        answers.write(json.dumps(event) + "\n")
        answers.flush()

    compiled = [*plan["compiled"], *_installed(package_of(plan))]
    sys.path[:0] = [folder for folder in (*plan["beside"], plan["root"]) if folder]
    known = stand_ins.StandIns(plan["model_folders"], plan["stand_ins"])
    worker = Worker(plan, known)
    try:
        worker.attempt(lambda: _prepare(plan, compiled))
        ready = worker.attempt(worker.start)
    except BaseException as error:
        say(event="failed", error=flow.told(error), stand_ins=known.names)
        raise
    say(event="ready", **ready)
    for number, job in enumerate(plan["jobs"]):
        say(event="start", job=number)
        say(event="done", job=number, result=worker.answer(job), stand_ins=known.names)
    say(event="end")
    answers.close()
    os._exit(0)  # what libraries do when an interpreter ends is no concern of ours


def _take_stdout() -> TextIO:
    """Standard output for the answers alone; everything else that writes to it gets standard error."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return answers


def package_of(plan: Record) -> str:
    """What vLLM's package is called."""
    return str(plan["interfaces"]).partition(".")[0]


def _installed(package: str) -> list[str]:
    """The ``vllm`` folder that is installed, which sources before it on the path hide."""
    try:
        spec = importlib.util.find_spec(package)
    except (ImportError, ValueError):
        return []
    return [str(Path(spec.origin).parent)] if spec is not None and spec.origin else []


def _prepare(plan: Record, compiled: list[str]) -> None:
    """Before vLLM is imported: let it know what it is, and where its compiled parts are."""
    torch = importlib.import_module("torch")
    package = package_of(plan)
    sys.meta_path.append(Compiled(package, compiled))
    accelerators = [getattr(torch, name, None) for name in ("cuda", "xpu")]
    if any(a is not None and a.is_available() for a in accelerators):
        return
    real = importlib.metadata.version

    def version(distribution_name: str) -> str:
        """vLLM picks its CPU platform by its version; sources that are not installed have none."""
        if distribution_name != package:
            return real(distribution_name)
        try:
            found = real(distribution_name)
        except importlib.metadata.PackageNotFoundError:
            found = plan["version"] or "0"
        return found if "cpu" in found else f"{found.partition('+')[0]}+cpu"

    importlib.metadata.version = version


class Worker:
    """Answers jobs, with stand-ins for what turns out to be missing.

    Args:
        plan: what to ask of all classes.
        known: the stand-ins.
    """

    def __init__(self, plan: Record, known: stand_ins.StandIns) -> None:
        self.plan, self.known = plan, known
        self.interfaces: Any = None
        self.registry: Record = {}

    def attempt(self, action: Any) -> Any:
        """Do something; where a module is missing, once more with a stand-in for it."""
        while True:
            self.known.before_a_try()
            try:
                return action()
            except Exception as error:
                if not self.plan["stand_in"] or not self.known.learn(error):
                    raise

    def start(self) -> Record:
        """Import what every class needs; tells what the environment is."""
        self.interfaces = importlib.import_module(self.plan["interfaces"])
        registry = importlib.import_module(self.plan["registry"])
        lazy = getattr(getattr(registry, "ModelRegistry", None), "models", {})
        home = self.plan["registry"].rpartition(".")[0]
        for architecture, row in registry._VLLM_MODELS.items():
            entry = lazy.get(architecture)
            module = getattr(entry, "module_name", None) or (row[0] if "." in row[0] else f"{home}.{row[0]}")
            self.registry[architecture] = [module, getattr(entry, "class_name", None) or row[1]]
        told = {
            "python": sys.version.split()[0],
            "torch": getattr(sys.modules["torch"], "__version__", "stand-in"),
            "vllm": str(Path(str(sys.modules[package_of(self.plan)].__file__)).parent),
            "architectures": sorted(self.registry),
        }
        return {**told, **self._plugin(lazy)} if self.plan["entry_points"] else told

    def _plugin(self, models: Record) -> Record:
        """Let a plugin register its models: what it registered, and which of its entry points failed."""
        before, failed = dict(models), {}
        for module, function in self.plan["entry_points"]:
            try:
                self.attempt(partial(self._call, module, function))
            except Exception as error:
                failed[f"{module}:{function}"] = flow.told(error)
        registered = [name for name, entry in models.items() if entry is not before.get(name)]
        for name in registered:
            self.registry[name] = _place_of(models[name])
        return {"architectures": sorted(registered), "failed_entry_points": failed}

    def _call(self, module: str, function: str) -> None:
        home = importlib.import_module(module)
        if function:
            flow.at(home, function)()

    def answer(self, job: Record) -> Record:
        """Everything that is asked of one class."""
        out: Record = {"import": "", "architectures": {}, "answers": {}, "methods": {}, "skeletons": []}
        for architecture in job["architectures"]:
            out["architectures"][architecture] = self._served(architecture)
        try:
            cls = self.attempt(lambda: exercise.class_of(job["cls"]))
        except Exception as error:
            out["import"] = flow.told(error)
            return out
        out["stands_in"] = any(vars(base).get("_stands_in") for base in cls.__mro__)
        for contract, checker in self.plan["checkers"].items():
            out["answers"][contract] = self._ask(checker, cls)
        for contract, names in job["methods"].items():
            protocol = getattr(self.interfaces, contract)
            out["methods"][contract] = {name: exercise.effective(cls, name, protocol) for name in names}
        for skeleton in job["skeletons"]:
            out["skeletons"].append(self._skeleton(skeleton))
        return out

    def _served(self, architecture: str) -> str:
        """The class that an architecture of the registry gives here; empty where it gives none."""
        module, name = self.registry.get(architecture, ["", ""])
        if not module:
            return ""
        try:
            cls = self.attempt(lambda: exercise.class_of(f"{module}.{name}"))
        except Exception:
            return ""
        return f"{cls.__module__}.{cls.__qualname__}"

    def _ask(self, checker: str, subject: Any) -> bool | str:
        try:
            return bool(getattr(self.interfaces, checker)(subject))
        except Exception as error:
            return flow.told(error)

    def _skeleton(self, skeleton: Record) -> Record:
        try:
            model, lacks = self.attempt(lambda: exercise.build(skeleton))
            inner = flow.at(model, skeleton["inner"]) if skeleton["inner"] else None
        except Exception as error:
            return {"built": flow.told(error)}
        checker = self.plan["checkers"][skeleton["contract"]]
        protocol = getattr(self.interfaces, skeleton["contract"])
        return {
            "built": "",
            "lacks": lacks,
            "satisfied": self._ask(checker, model),
            "inner_satisfied": self._ask(checker, inner) if inner is not None else None,
            "steps": [exercise.steps(skeleton, wanted, protocol) for wanted in skeleton["steps"]],
        }


def _place_of(entry: Any) -> list[str]:
    """Module and name of a class that was registered: lazily, at once, or as it is (fixtures keep no more)."""
    if isinstance(entry, str):
        return entry.split(":")
    cls = entry if isinstance(entry, type) else getattr(entry, "model_cls", None)
    return [cls.__module__, cls.__qualname__] if cls is not None else [entry.module_name, entry.class_name]


if __name__ == "__main__":
    main(sys.argv[1])
