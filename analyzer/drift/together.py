"""The names of a tree and of third-party code beside it, as they resolve where both are installed."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from pathlib import Path

from analyzer.checkout import Checkout
from analyzer.drift.package import Package
from analyzer.index import External, Index, Missing, ModuleRef, Target


@dataclass(frozen=True)
class Together(Checkout):
    """A tree with third-party code beside it.

    Args:
        outside: that code.
    """

    outside: Package = field(default_factory=lambda: Package(Path(), {}), repr=False, compare=False)

    @classmethod
    def of(cls, checkout: Checkout, outside: Package) -> Together:
        """A checkout with code beside it."""
        own = {f.name: getattr(checkout, f.name) for f in fields(checkout) if f.init}
        return cls(**own, outside=outside)

    def find_module(self, dotted: str) -> Path | None:
        """The file of a module of either."""
        return super().find_module(dotted) or self.outside.files.get(dotted)

    def rel(self, path: Path) -> str:
        """The name of a file of either in reports."""
        try:
            return super().rel(path)
        except ValueError:
            return self.outside.rel(path)


class TogetherIndex(Index):
    """The names of both.

    Args:
        checkout: the tree.
        outside: the third-party code.
    """

    def __init__(self, checkout: Checkout, outside: Package) -> None:
        super().__init__(Together.of(checkout, outside))
        self.outside = outside

    def is_vllm(self, module: str) -> bool:
        """Whether a dotted name is one of the tree's package."""
        package = self.checkout.package.name
        return module == package or module.startswith(package + ".")

    def imported(self, module: str, attribute: str | None, seen: tuple[tuple[str, str], ...] = ()) -> list[Target]:
        """What ``import module`` or ``from module import attribute`` gives."""
        if self.is_vllm(module) or module.partition(".")[0] not in self.outside.tops:
            return super().imported(module, attribute, seen)
        if attribute is None:
            return [ModuleRef(module)]
        if module not in self.outside.files:
            return [External(f"{module}.{attribute}")]
        found = self._lookup(module, attribute, None, False, seen)
        if not found and f"{module}.{attribute}" in self.outside.files:
            return [ModuleRef(f"{module}.{attribute}")]
        return found or [Missing(f"{module} does not bind {attribute}")]
