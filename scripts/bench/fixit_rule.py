"""A rule for Fixit that looks for the nearest thing to VC001 that one file shows; for docs/speed.md only."""

import libcst
from fixit import LintRule


class WrapperWithoutSupport(LintRule):
    """A class that builds ``self.language_model`` and does not name ``SupportsEagle3`` among its bases."""

    MESSAGE = "builds an inner model and does not inherit SupportsEagle3"

    def __init__(self) -> None:
        super().__init__()
        self.open: list[tuple[libcst.ClassDef, bool]] = []

    def visit_ClassDef(self, node: libcst.ClassDef) -> None:  # noqa: N802
        names = [base.value.value for base in node.bases if isinstance(base.value, libcst.Name)]
        self.open.append((node, "SupportsEagle3" in names))

    def leave_ClassDef(self, original_node: libcst.ClassDef) -> None:  # noqa: ARG002, N802
        self.open.pop()

    def visit_AssignTarget(self, node: libcst.AssignTarget) -> None:  # noqa: N802
        target = node.target
        if isinstance(target, libcst.Attribute) and target.attr.value == "language_model" and self.open:
            cls, declared = self.open[-1]
            if not declared:
                self.report(cls.name)
