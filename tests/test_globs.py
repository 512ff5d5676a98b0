"""Globs mean what they mean in ``.gitignore``."""

from __future__ import annotations

import pytest

from analyzer.globs import matches

MODEL = "vllm/model_executor/models/plain.py"

HOLDS = [
    MODEL,
    "vllm",
    "vllm/",
    "vllm/**",
    "**",
    "*",
    "plain.py",
    "models",
    "models/",
    "pl[a-m]in.py",
    "pl[!b]in.p?",
    "*.py",
    "/vllm/model_executor",
    "./vllm/*/models/*.py",
    "vllm/*/models",
    "**/plain.py",
    "**/models/**",
    "vllm/**/plain.py",
    "vllm/**/model_executor/**/models/plain.py",
]
FAILS = [
    "",
    "/",
    "plain",
    "plain.py/",
    "vll",
    "models/plain.py",
    "vllm/*.py",
    "vllm/*/plain.py",
    "model_executor/**",
    "/plain.py",
    "vllm/model_executor/models/plain.py/**",
    "PLAIN.PY",
    "pl[z-a]in.py",
    "pl[ain.py",
    "*.pyi",
]


@pytest.mark.parametrize("glob", HOLDS)
def test_names_the_file(glob: str) -> None:
    assert matches(glob, MODEL)


@pytest.mark.parametrize("glob", FAILS)
def test_does_not_name_the_file(glob: str) -> None:
    assert not matches(glob, MODEL)
