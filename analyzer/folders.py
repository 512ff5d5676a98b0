"""Where things are kept between runs."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs


def default_cache_dir() -> Path:
    """The folder for everything that can be fetched or computed again.

    ``VLLM_CONTRACTS_CACHE`` if it is set and not empty, else the platform's place for caches.
    """
    chosen = os.environ.get("VLLM_CONTRACTS_CACHE")
    return Path(chosen).expanduser() if chosen else platformdirs.user_cache_path("vllm-contracts")
