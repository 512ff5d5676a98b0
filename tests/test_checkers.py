"""What a checker can see: told from its source or not at all, and whatever looks the same gets the same answer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from analyzer.audit import Audit
from analyzer.checkout import open_checkout
from analyzer.contracts import Contract
from analyzer.engine import read_checkout
from analyzer.values import ClassValue, Value
from tests.fixture_trees import GENERATIONS, MODELS, Trees, copy_tree

CHECK = "    return isinstance(model, SupportsEagle3)\n"


def read_with(root: Path, check: str, head: str = "") -> Contract:
    """SupportsEagle3 of a tree whose checker has another body."""
    path = copy_tree("0.33", root) / MODELS / "interfaces.py"
    source = path.read_text()
    assert CHECK in source
    path.write_text(f"{source.replace(CHECK, check)}\n\n{head}\n")
    return read_checkout(open_checkout(root)).contracts["SupportsEagle3"]


def values(read: Audit) -> Iterator[Value]:
    """Every class that is a model or a base of one, and an object of each model."""
    yield from (ClassValue(cls) for cls in {c: None for model in read.models for c in model.cls.own_mro})
    yield from (read.model_set.probe(model.cls) for model in read.models)


@pytest.mark.parametrize("generation", GENERATIONS)
def test_what_looks_the_same_gets_the_answer_that_it_would_get_by_itself(generation: str, trees: Trees) -> None:
    read = trees.plain(generation).read
    machine, shared = read.model_set.machine, 0
    for contract in read.contracts.values():
        assert contract.sight is not None, contract.name
        alone = replace(contract, sight=None)
        looks = set()
        for value in values(read):
            look = contract.sight.look(machine, value)
            shared += look is not None and look in looks
            looks.add(look)
            assert contract.satisfied_by(machine, value) is alone.satisfied_by(machine, value)
    assert shared > 20


@pytest.mark.parametrize(
    ("check", "head", "names"),
    [
        ('    return getattr(model, "is_quick", False)\n', "", {"is_quick"}),
        ("    return model.is_quick is True\n", "", {"is_quick"}),
        (
            "    return quick(model)\n",
            "def quick(it):\n    return hasattr(it, N)\n\n\nN = 'is_quick'",
            {"is_quick"},
        ),
        ('    return callable(getattr(model, "set_quick", None))\n', "", {"set_quick"}),
        ("    return SupportsEagle3 in model.__mro__\n", "", set()),
    ],
)
def test_the_names_that_a_checker_asks_for(check: str, head: str, names: set[str], tmp_path: Path) -> None:
    sight = read_with(tmp_path / "tree", check, head).sight
    assert sight is not None
    assert names <= set(sight.names)


@pytest.mark.parametrize(
    ("check", "head"),
    [
        ("    return model.is_quick()\n", ""),
        ("    return type(model).quick\n", ""),
        ("    return bool(vars(model))\n", ""),
        ("    return model.__class__.__name__ == 'Quick'\n", ""),
        ("    return len(model.__mro__) > 3\n", ""),
        ("    return is_quick(model)\n", "from .beta import is_quick"),
        ("    return is_quick(model)\n", "from inspect import is_quick"),
        ("    it = model\n    return is_quick(it)\n", "from inspect import is_quick"),
        ("    return (it := model) and is_quick(it)\n", "from inspect import is_quick"),
        ("    return is_quick(*[model])\n", "from inspect import is_quick"),
        ("    return hasattr(model, NAME)\n", "NAME = '__quick__'"),
        ("    return helper(model)\n", "def helper(model):\n    return model.ask()"),
        ("    return (lambda it: it.ask())(model)\n", ""),
    ],
)
def test_a_checker_that_may_see_more_is_asked_each_time(check: str, head: str, tmp_path: Path) -> None:
    assert read_with(tmp_path / "tree", check, head).sight is None
