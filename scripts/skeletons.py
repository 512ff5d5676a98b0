"""Do with real vLLM what the runner does, without weights: is what the analyzer says of the methods true?

    python scripts/skeletons.py plan TREE plan.json           where vllm-contracts is installed
    PYTHONPATH=TREE python scripts/skeletons.py run plan.json  where that tree of vLLM imports

``plan`` writes what the analyzer expects of each model's ``SupportsEagle3`` methods.  ``run`` builds empty
skeletons of wrapper, inner model and decoder (``cls.__new__`` and ``nn.Module.__init__``, no weights), asks the
checker, and calls the getter and the setter as the runner does.  It prints each disagreement and a count; the exit
code is 1 where there is one.  On a tree that ``vllm-contracts fix`` has repaired it shows that the layers arrive.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

CONTRACT = "SupportsEagle3"
LAYERS = (1, 2, 3)
MODULE_LIST = "torch.nn.ModuleList"


def plan(tree: Path, target: Path) -> int:
    """Write what the analyzer expects.

    Args:
        tree: a checkout.
        target: the file to write.
    """
    from analyzer.checkout import open_checkout
    from analyzer.engine import read_checkout

    audit = read_checkout(open_checkout(tree))
    contract = audit.contracts[CONTRACT]
    rows = []
    for model in audit.serving:
        alternatives = audit.status(model, contract).alternatives
        if len(alternatives) != 1 or (alternatives[0].inner is not None and alternatives[0].cls is None):
            continue  # the configuration or a branch decides what is built
        chain = alternatives[0].outer
        methods = [
            {"name": m.method.name, "how": m.how, "raises": m.failure.kind if m.failure else None}
            for m in chain.methods
        ]
        rows.append(
            {
                "class": model.cls.key,
                "children": _children(audit, chain.root, 0),
                "marks": _marks(chain.root),
                "satisfied": bool(chain.satisfied),
                "methods": methods,
                "holder": list(chain.holder.trail) if chain.holder is not None else [],
                "attribute": chain.attribute,
            }
        )
    target.write_text(json.dumps(rows, indent=1))
    print(f"{len(rows)} models to try")
    return 0


def _children(audit: Any, instance: Any, depth: int) -> dict[str, Any]:
    """The sub-modules that are classes of the model folders, by attribute, and the list of layers."""
    from analyzer import construct
    from analyzer.values import Instance

    construct.prepare(audit.model_set.machine, instance)
    out: dict[str, Any] = {}
    for name, value in instance.attrs.items():
        inside = isinstance(value, Instance) and audit.index.in_model_roots(value.cls.module.module + ".")
        if inside and depth < 3:
            out[name] = [value.cls.key, _children(audit, value, depth + 1)]
    if "layers" in instance.attrs and "layers" not in out:
        out["layers"] = [MODULE_LIST, {}]
    return out


def _marks(instance: Any) -> list[str]:
    """The names that ``_mark_language_model`` would have noted."""
    from analyzer.values import Collection, Const

    marked = instance.attrs.get("_language_model_names")
    return [str(i.value) for i in marked.items if isinstance(i, Const)] if isinstance(marked, Collection) else []


def run(source: Path) -> int:
    """Try each model; returns the exit code.

    Args:
        source: what :func:`plan` wrote.
    """
    interfaces = importlib.import_module("vllm.model_executor.models.interfaces")
    seen: Counter[str] = Counter()
    for row in json.loads(source.read_text()):
        try:
            model = _skeleton(row["class"], row["children"])
        except Exception as error:  # a class that this environment cannot import
            seen["not testable"] += 1
            print(f"not testable: {row['class']}: {type(error).__name__}: {error}")
            continue
        if row["marks"]:
            model._language_model_names = row["marks"]
        if interfaces.supports_eagle3(model) is not row["satisfied"]:
            seen["contradicted"] += 1
            print(f"contradicted: {row['class']}: the checker says {not row['satisfied']}")
        elif row["satisfied"]:
            for method in row["methods"]:
                seen[_try(model, row, method)] += 1
    print(", ".join(f"{count} {name}" for name, count in sorted(seen.items())))
    return 1 if seen["contradicted"] else 0


def _skeleton(key: str, children: dict[str, Any]) -> Any:
    """An object of a class with its sub-modules and eight layers, and nothing else."""
    from torch import nn

    if key == MODULE_LIST:
        return nn.ModuleList([nn.Identity() for _ in range(8)])
    module, _, name = key.rpartition(".")
    cls = getattr(importlib.import_module(module), name)
    made = nn.Module.__new__(cls)
    nn.Module.__init__(made)
    for attribute, (child, inside) in children.items():
        setattr(made, attribute, _skeleton(child, inside))
    if "layers" in children:
        made.start_layer, made.end_layer = 0, 8
    return made


def _try(model: Any, row: dict[str, Any], method: dict[str, Any]) -> str:
    """Call one method as the runner does and compare with what was expected."""
    sets = method["name"].startswith("set_")
    try:
        given = getattr(model, method["name"])(*([LAYERS] if sets else []))
        happened = _landed(model, row) if sets else "stub" if given is None else "works"
        raised = None
    except Exception as error:
        happened, raised = "fails", type(error).__name__
    if method["how"] == "unknown":
        return "not testable"
    if happened == method["how"] and raised == method["raises"]:
        return "confirmed"
    lacks_state = happened == "fails" and raised == "AttributeError" and method["how"] == "works"
    word = "not testable" if lacks_state else "contradicted"  # a skeleton has no config and no state of its own
    print(f"{word}: {row['class']}.{method['name']}: expected {method['how']}, got {happened} {raised or ''}")
    return word


def _landed(model: Any, row: dict[str, Any]) -> str:
    if not row["holder"]:
        return "stub"
    holder = model
    for name in row["holder"]:
        holder = getattr(holder, name)
    return "works" if tuple(getattr(holder, row["attribute"], ())) == LAYERS else "no-effect"


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    planning = commands.add_parser("plan", help="write what the analyzer expects of a tree")
    planning.add_argument("tree", type=Path)
    planning.add_argument("target", type=Path)
    running = commands.add_parser("run", help="try it with the vLLM that imports here")
    running.add_argument("source", type=Path)
    arguments = parser.parse_args()
    return plan(arguments.tree, arguments.target) if arguments.command == "plan" else run(arguments.source)


if __name__ == "__main__":
    sys.exit(main())
