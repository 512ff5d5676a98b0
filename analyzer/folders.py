"""Where things are kept between runs."""

from __future__ import annotations

import os
import sys
from pathlib import Path

_NAME = "vllm-contracts"


def default_cache_dir() -> Path:
    """The folder for everything that can be fetched or computed again.

    ``VLLM_CONTRACTS_CACHE`` if it is set and not empty, else the platform's place for caches.  On a Linux on which
    nothing is set that is known without platformdirs, whose import takes a tenth of the time of ``import click``.
    """
    chosen = os.environ.get("VLLM_CONTRACTS_CACHE")
    if chosen:
        return Path(chosen).expanduser()
    if sys.platform == "linux" and not {"XDG_CACHE_HOME", "ANDROID_DATA"} & os.environ.keys() and "HOME" in os.environ:
        return Path.home() / ".cache" / _NAME
    import platformdirs

    return platformdirs.user_cache_path(_NAME)
