"""The checkout's registry: which class serves which architecture, as its tables say.

The tables are module-level dicts of ``vllm/model_executor/models/registry.py`` from an architecture to
``(module, class)``, where a module without a dot stands in ``vllm.model_executor.models`` and a dotted one is
absolute (the ``vllm.models`` layout).  What a table is for is read from its name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from analyzer.facts import ModuleFacts
from analyzer.index import ClassInfo, Index, Missing
from analyzer.lower import Expr, walk
from analyzer.problems import Diagnostic

Use = Literal["text", "multimodal", "pooling", "draft", "backend", "other"]

_USES: tuple[tuple[str, Use], ...] = (
    ("SPECULATIVE", "draft"),
    ("TRANSFORMERS", "backend"),
    ("MULTIMODAL", "multimodal"),
    ("TEXT_GENERATION", "text"),
    ("EMBEDDING", "pooling"),
    ("REWARD", "pooling"),
    ("CLASSIFICATION", "pooling"),
    ("CROSS_ENCODER", "pooling"),
    ("LATE_INTERACTION", "pooling"),
)
_ARCHIVE = ("PREVIOUSLY", "OOT", "REMOVED")

CALL = ""
"""The table of an architecture that a call registers, not a table."""


@dataclass(frozen=True)
class Entry:
    """One architecture: the table it stands in, where, and the module and class that it names.

    ``path`` is the file that says so.
    """

    architecture: str
    module: str
    cls: str
    use: Use
    table: str
    line: int
    path: str = ""


@dataclass
class Registry:
    """All architectures of a checkout, and the classes behind them, resolved on demand; ``modules`` have its tables."""

    index: Index
    modules: tuple[str, ...]
    entries: dict[str, list[Entry]] = field(default_factory=dict)
    unresolved: dict[str, str] = field(default_factory=dict)
    _classes: dict[str, tuple[ClassInfo, ...]] = field(default_factory=dict)

    def classes(self, architecture: str) -> tuple[ClassInfo, ...]:
        """The classes that can serve an architecture: one, or one for each platform or branch of the code that
        registers it; the usual one last."""
        if architecture not in self._classes:
            self._classes[architecture] = self._resolve(architecture)
        return self._classes[architecture]

    def _resolve(self, architecture: str) -> tuple[ClassInfo, ...]:
        rows = self.entries.get(architecture)
        if not rows:
            return ()
        called = [row for row in rows if row.table == CALL]
        found: dict[ClassInfo, None] = {}
        for entry in called or rows[-1:]:  # the tables are merged in order: a later one wins
            found |= dict.fromkeys(self._classes_of(entry))
        return tuple(found)

    def _classes_of(self, entry: Entry) -> tuple[ClassInfo, ...]:
        if self.index.module(entry.module) is None:
            reason = f"module {entry.module} is not in the checkout or cannot be read"
            self.unresolved[entry.architecture] = reason
            return ()
        found = self.index.lookup(entry.module, entry.cls)
        classes = tuple(t for t in found if isinstance(t, ClassInfo))
        if not classes:
            reasons = [t.reason for t in found if isinstance(t, Missing)]
            missing = reasons[0] if reasons else f"{entry.module} does not define {entry.cls}"
            self.unresolved[entry.architecture] = missing
        return classes

    def for_model_type(self, model_type: str) -> tuple[str, ...]:
        """Text models whose architecture is a model type's, written as transformers writes both.

        vLLM asks transformers' ``MODEL_FOR_CAUSAL_LM_MAPPING_NAMES`` where a configuration names no architecture;
        that table keeps to this form, but for the suffix ``_text`` of a multimodal model's text part.
        """
        wanted = model_type.removesuffix("_text").replace("_", "").replace("-", "").lower()
        return tuple(
            name
            for name, rows in self.entries.items()
            if wanted and name.removesuffix("ForCausalLM").lower() == wanted and rows[-1].use == "text"
        )

    def problems(self) -> list[Diagnostic]:
        """What of the tables could not be used: no tables at all, architectures whose class was not found."""
        path = self.index.checkout.rel(self.index.checkout.registry_path)
        if not self.entries:
            return [Diagnostic(path, 0, "no table of architectures was found: no model is known as registered")]
        lost = ((self.entries[name][-1], reason) for name, reason in self.unresolved.items() if name in self.entries)
        return [
            Diagnostic(entry.path, entry.line, f"{entry.architecture} cannot be resolved: {reason}")
            for entry, reason in lost
        ]

    def architectures_of(self, only: Sequence[str] | None = None) -> dict[str, list[Entry]]:
        """Entries by the key of the class that serves them.

        Args:
            only: these architectures; all unless given.
        """
        out: dict[str, list[Entry]] = {}
        for architecture, rows in self.entries.items():
            if only is not None and architecture not in only:
                continue
            for cls in self.classes(architecture):
                out.setdefault(cls.key, []).extend(rows)
        return out


def read_registry(index: Index) -> Registry:
    """Read the tables.

    Args:
        index: the checkout's names.
    """
    homes = tuple(map(index.checkout.module_name, index.checkout.registry_paths))
    registry = Registry(index, homes)
    for number, home in enumerate(homes):
        facts = index.module(home)
        if facts is None:
            continue
        for table, bindings in facts.names.items():
            for binding in bindings:
                if binding.kind == "value" and isinstance(binding.target, tuple):
                    _read_table(registry, table, binding.target, binding.line, facts, further=number > 0)
    return registry


def _read_table(registry: Registry, table: str, value: Expr, line: int, facts: ModuleFacts, *, further: bool) -> None:
    if value[0] != "dict" or any(word in table for word in _ARCHIVE):
        return
    named: Use | None = next((use for word, use in _USES if word in table), None)
    for key, target in value[1]:
        row = _row(key, target)
        if row is None:
            continue
        architecture, module, cls = row
        absolute = module if "." in module else f"{facts.package}.{module}"
        rows = registry.entries.setdefault(architecture, [])
        use = named or (use_of(registry.index, absolute, cls) if further else "other")
        rows.append(Entry(architecture, absolute, cls, use, table, line, facts.path))


def use_of(index: Index, module: str, name: str) -> Use:
    """What a class is for, by what it says itself, where no table's name tells.

    Args:
        index: the checkout's names.
        module, name: of the class.
    """
    classes = [t for t in index.lookup(module, name) if isinstance(t, ClassInfo)]
    if not classes:
        return "other"
    cls = classes[-1]
    if _reads_draft_config(cls):
        return "draft"
    if _says(cls, "is_pooling_model"):
        return "pooling"
    return "multimodal" if _says(cls, "supports_multimodal") else "text"


def _reads_draft_config(cls: ClassInfo) -> bool:
    """Whether a class is built from the drafter's configuration, as every draft head is and no target."""
    made = (owner.facts.methods.get("__init__") for owner in cls.own_mro)
    parts = (part for method in made if method is not None for part in walk(method.whole_body or ()))
    return any(part[0] == "attr" and part[2] == "draft_model_config" for part in parts)


def _says(cls: ClassInfo, flag: str) -> bool:
    """Whether a flag of vLLM's interfaces holds for a class."""
    said = (owner.facts.attributes[flag].value for owner in cls.own_mro if flag in owner.facts.attributes)
    return next((value == ("const", True) for value in said if value is not None), False)


def _row(key: Expr | None, target: Expr) -> tuple[str, str, str] | None:
    if key is None or key[0] != "const" or target[0] != "seq" or len(target[2]) != 2:
        return None
    parts = [key, *target[2]]
    if any(part[0] != "const" or not isinstance(part[1], str) for part in parts):
        return None
    return key[1], target[2][0][1], target[2][1][1]
