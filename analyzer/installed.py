"""Find the vLLM that is installed for an interpreter, without importing it.

vLLM's own import is slow and needs its compiled parts; where it lies is all that the analysis needs.
"""

from __future__ import annotations

import inspect
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from analyzer.checkout import PACKAGE, CheckoutError

TIMEOUT = 30.0
"""Seconds that another interpreter has to answer."""

_MARK = "vllm-contracts:"
_ASK = "name a tree (vllm-contracts audit PATH), a release (--release 0.33.0) or an interpreter (--python PATH)"
_SCRIPT = """\
from __future__ import annotations
import json, sys
sys.path[:] = [folder for folder in sys.path if folder]  # the working directory is not installed
{probe}
print({mark!r} + json.dumps(_probe({package!r})))
"""


def find_installed(python: Path | None = None, package: str = PACKAGE) -> Path:
    """The folder that holds the ``vllm`` package which ``import vllm`` would find.

    Args:
        package: what it is called, in a fork.
        python: another interpreter, as a path or as a command on ``PATH``; it is started with ``-E``, so that
            ``PYTHONPATH``, which was set for the running one, does not decide.  By default the running
            interpreter answers itself.

    Returns:
        A site-packages folder, or for an editable install the root of the clone.

    Raises:
        CheckoutError: if there is no vLLM, no such interpreter, or no answer within :data:`TIMEOUT`.
    """
    asked = Path(sys.executable) if python is None else executable(python)
    init = _probe(package) if python is None else _ask(asked, package)
    if init is None:
        raise CheckoutError(f"no {'vLLM' if package == PACKAGE else package} is installed for {asked}; {_ASK}")
    folder = Path(init).parent
    if folder.name != package or not (folder / "__init__.py").is_file():
        raise CheckoutError(f"the vLLM of {asked} is no folder of sources ({init}); {_ASK}")
    return folder.parent


def _probe(package: str) -> str | None:
    """The ``__init__.py`` of the vLLM that this interpreter would import.

    Self-contained and valid for Python 3.8, because :func:`_ask` sends its source to other interpreters.
    ``find_spec`` of a top-level name imports nothing (Python's documentation: only parents are imported), and
    it asks the import hooks of editable installs too.  Those come after the path, where a clone's
    root in the working directory looks like a namespace package and hides them; ``direct_url.json`` (PEP 610)
    still tells where an editable install lies.
    """
    import importlib.metadata
    import importlib.util
    import json
    import os
    import urllib.parse
    import urllib.request

    try:
        spec = importlib.util.find_spec(package)
    except (ImportError, ValueError):
        spec = None
    if spec is not None and spec.origin:
        return spec.origin
    try:
        record = json.loads(importlib.metadata.distribution(package).read_text("direct_url.json") or "{}")
    except (importlib.metadata.PackageNotFoundError, ValueError):
        return None
    url = urllib.parse.urlsplit(record.get("url", ""))
    init = os.path.join(urllib.request.url2pathname(url.path), package, "__init__.py")  # noqa: PTH118
    return init if url.scheme == "file" and os.path.isfile(init) else None  # noqa: PTH113


def executable(python: Path) -> Path:
    """The absolute path of an interpreter; links stay, since a virtual environment is known by its link.

    Args:
        python: a path, or a command on ``PATH``.

    Raises:
        CheckoutError: there is none.
    """
    if python.is_dir():
        inside = [python / "bin" / "python", python / "Scripts" / "python.exe"]
        found = next((path for path in inside if path.is_file()), "PATH")
        raise CheckoutError(f"{python}: a folder; name the interpreter itself: --python {found}")
    on_path = shutil.which(python) if python.name == str(python) else None
    chosen = Path(on_path) if on_path else python.expanduser().absolute()
    if not chosen.is_file():
        raise CheckoutError(f"{python}: no such interpreter; name a Python executable: --python PATH")
    return chosen


def _ask(python: Path, package: str) -> str | None:
    """What :func:`_probe` says in another interpreter."""
    script = _SCRIPT.format(probe=inspect.getsource(_probe), mark=_MARK, package=package)
    code, said = _run([str(python), "-E", "-c", script])
    answers = [line.removeprefix(_MARK) for line in said.splitlines() if line.startswith(_MARK)]
    if code != 0 or not answers:
        last = (said.strip().splitlines() or [f"exit code {code}"])[-1]
        raise CheckoutError(f"{python}: does not answer as Python 3.8 or later does ({last}); {_ASK}")
    answer = json.loads(answers[-1])
    return None if answer is None else str(answer)


def _run(command: list[str]) -> tuple[int, str]:
    """Exit code and output of a program.

    The output goes to a file: after a timeout, a pipe would be waited for until every child of the program
    has closed it.
    """
    with tempfile.TemporaryFile() as output:
        try:
            done = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                timeout=TIMEOUT,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise CheckoutError(f"{command[0]}: no answer within {TIMEOUT:g} seconds; {_ASK}") from None
        except OSError as error:
            raise CheckoutError(f"{command[0]}: cannot be run: {error.strerror}; {_ASK}") from None
        output.seek(0)
        return done.returncode, output.read().decode("utf-8", "replace")
