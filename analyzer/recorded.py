"""What the registry writes down of a class, and who reads it there.

vLLM's registry asks each class once (``supports_pp=supports_pp(model)`` in ``_ModelInfo.from_model_cls``), and the
engine reads the answers: ``model_config.has_inner_state``.  An answer that nothing reads gates nothing.
"""

from __future__ import annotations

import ast
from collections.abc import Collection
from dataclasses import dataclass, field

from analyzer.dispatch import FunctionNode


@dataclass
class Records:
    """The fields that answers are kept in.

    Args:
        path: the registry's.
        fields: the function whose answer each field holds.
        read: those of these functions whose answer something reads.
    """

    path: str
    fields: dict[str, str] = field(default_factory=dict)
    read: set[str] = field(default_factory=set)

    def asked_by(self, node: ast.Attribute, function: FunctionNode, own: frozenset[str]) -> str:
        """The function whose answer an attribute gives; empty where it is something else.

        Args:
            node: the attribute.
            function: where it stands: a property of the field's own name hands it on, and is no reader.
            own: fields for which the file has such properties, so that ``self`` has them.
        """
        checker = self.fields.get(node.attr, "")
        if not checker or function.name == node.attr or not isinstance(node.ctx, ast.Load):
            return ""
        receiver = ast.unparse(node.value)
        if "model" not in receiver.lower() and not (receiver == "self" and node.attr in own):
            return ""
        self.read.add(checker)
        return checker

    def defined_in(self, data: bytes) -> frozenset[str]:
        """The fields for which a file has functions."""
        return frozenset(name for name in self.fields if f"def {name}(".encode() in data)


def read_records(tree: ast.Module, path: str, checkers: Collection[str]) -> Records:
    """The fields that a registry fills: ``Info(supports_pp=supports_pp(model))``.

    Args:
        tree: its module.
        path: its name in reports.
        checkers: functions that ask for a contract.
    """
    records = Records(path)
    for node in ast.walk(tree):
        for keyword in node.keywords if isinstance(node, ast.Call) else ():
            value = keyword.value
            if keyword.arg is not None and isinstance(value, ast.Call) and isinstance(value.func, ast.Name):
                if value.func.id in checkers:
                    records.fields[keyword.arg] = value.func.id
    return records
