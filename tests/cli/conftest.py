"""Small checkouts, and nothing of the developer's settings."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.report_tree import FILES, WRAPPERS, make_tree


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No settings of the developer's, and a cache of one's own."""
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "VLLM_CONTRACTS_DEBUG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("VLLM_CONTRACTS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PYTHONIOENCODING", "utf-8")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return make_tree(tmp_path / "tree")


@pytest.fixture
def sound_tree(tmp_path: Path) -> Path:
    """A checkout without findings: the one wrapper that stays is in order."""
    registry = '_TEXT_GENERATION_MODELS = {"PlainForCausalLM": ("plain", "PlainForCausalLM")}\n'
    wrappers = FILES[WRAPPERS].split("class LackingVL")[0]
    return make_tree(tmp_path / "sound", registry=registry, wrappers=wrappers)
