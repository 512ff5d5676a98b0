"""Write a package that applies fixes at import time, as a plugin of vLLM.

vLLM calls the functions of the entry point group ``vllm.general_plugins`` in every process that it starts, the engine
core's and the workers' too, before models are loaded (``vllm.plugins.load_general_plugins``; documented under "Plugin
System").
"""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from analyzer.findings import Finding
from analyzer.fix import plan_fixes
from analyzer.fix.source import Refused, Source
from analyzer.patches import hook
from analyzer.patches.translate import Statements, Untranslatable, translate

INTERFACES = "vllm.model_executor.models.interfaces"
WIDTH = 100


@dataclass
class Package:
    """A package to be written.

    Args:
        name: of the distribution.
        version: of the vLLM that it is for.
        files: their contents by path, relative to the package's folder.
        patched: the findings that it repairs.
        left: the findings that it does not, each with the reason.
    """

    name: str
    version: str
    files: dict[str, str] = field(default_factory=dict)
    patched: list[Finding] = field(default_factory=list)
    left: list[tuple[Finding, str]] = field(default_factory=list)


@dataclass
class _Class:
    """Everything that is done to one class."""

    path: str
    cls: str
    digest: str
    findings: list[Finding] = field(default_factory=list)
    statements: list[Statements] = field(default_factory=list)

    @property
    def module(self) -> str:
        return self.path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")

    @property
    def function(self) -> str:
        return "patch_" + re.sub(r"\W", "_", f"{self.module.rpartition('.')[2]}_{self.cls}").lower()


def make_package(root: Path, version: str, findings: Sequence[Finding], name: str) -> Package:
    """The package for some findings with fixes; nothing is written.

    Args:
        root: of the checkout.
        version: of its vLLM.
        findings: what to repair, in order of preference; each of their fixes has edits.
        name: of the distribution, in the letters that one may have.
    """
    package = Package(name, version)
    tried = [(finding, _attempt(root, finding)) for finding in findings]
    package.left += [(finding, made) for finding, made in tried if isinstance(made, str)]
    possible = [(finding, *made) for finding, made in tried if not isinstance(made, str)]
    plan = plan_fixes(root, [finding.fix for finding, _, _ in possible])  # what it refuses would not work here either
    refused = {id(fix): reason for fix, reason in plan.refused}
    classes: dict[tuple[str, str], _Class] = {}
    for finding, statements, digest in possible:
        if id(finding.fix) in refused:
            package.left.append((finding, refused[id(finding.fix)]))
            continue
        package.patched.append(finding)
        place = (statements.path, statements.cls)
        made = classes.setdefault(place, _Class(*place, digest))
        made.findings.append(finding)
        made.statements.append(statements)
    module = re.sub(r"\W", "_", name).lower()
    package.files = {
        "pyproject.toml": _project(name, module, version),
        "README.md": _readme(package, module),
        f"{module}/__init__.py": _entry(module),
        f"{module}/_hook.py": Path(hook.__file__).read_text("utf-8"),
        f"{module}/patches.py": _patches(version, list(classes.values())),
    }
    return package


def _attempt(root: Path, finding: Finding) -> tuple[Statements, str] | str:
    """What a fix does at import time, with the digest of its class; or the reason why it cannot be done there."""
    try:
        return _translated(root, finding)
    except Untranslatable as reason:
        return str(reason)


def _translated(root: Path, finding: Finding) -> tuple[Statements, str]:
    path = next(edit.path for edit in finding.fix.edits)
    try:
        text = Source.decode((root / path).read_bytes()).text
        statements = translate(finding.fix, text, INTERFACES)
        digest = hook.class_digest(text, statements.cls)
    except (OSError, Refused, SyntaxError) as error:
        raise Untranslatable(f"{path}: {error}") from None
    if not digest:
        raise Untranslatable(f"{path} defines {statements.cls} more than once")
    return statements, digest


# -- files -----------------------------------------------------------------------------------------


def _project(name: str, module: str, version: str) -> str:
    return f'''\
[build-system]
requires = ["setuptools>=61"]
build-backend = "setuptools.build_meta"

[project]
name = "{name}"
version = "0.1.0"
description = "Repairs of models of vLLM {version}, applied when they are imported"
requires-python = ">=3.10"

[project.entry-points."vllm.general_plugins"]
{module} = "{module}:register"

[tool.setuptools]
packages = ["{module}"]
'''


def _entry(module: str) -> str:
    return f'''\
"""Repairs of vLLM's models; vLLM calls ``register`` in each of its processes."""

from __future__ import annotations


def register() -> None:
    """Have each class changed when its module is imported; imports no model itself."""
    from {module} import _hook, patches

    _hook.install("{module}", patches.VLLM, patches.PATCHES)
'''


def _patches(version: str, classes: Sequence[_Class]) -> str:
    helpers = sorted({helper for one in classes for s in one.statements for helper in s.helpers})
    imported = ", ".join(["Patch", *sorted([*helpers, "class_of"])])
    listed = f"from ._hook import {imported}"
    if len(listed) > WIDTH:
        listed = "from ._hook import (\n" + "".join(f"    {name},\n" for name in imported.split(", ")) + ")"
    head = f'''\
"""What is changed in the models of vLLM {version}: one function a class.

Each class is changed only if its source is that which was analysed.
"""

from __future__ import annotations

from types import ModuleType

{listed}

VLLM = "{version}"
'''
    table = "".join(_entry_of(one) for one in classes)
    return head + "".join(f"\n\n{_function(one)}" for one in classes) + f"\n\nPATCHES = (\n{table})\n"


def _function(one: _Class) -> str:
    imports: dict[str, set[str]] = {}
    for module, name in (pair for statements in one.statements for pair in statements.imports):
        imports.setdefault(module, set()).add(name)
    lines = [f"from {module} import {', '.join(sorted(names))}" for module, names in sorted(imports.items())]
    lines += ["", f'cls = class_of(module, "{one.cls}")', *_joined(s.lines for s in one.statements)]
    told = "\n\n".join(_wrapped(f"{f.code} {f.message}.") for f in one.findings)
    body = textwrap.indent("\n".join([f'"""{told}', '"""', *(lines if imports else lines[1:])]), "    ")
    return re.sub(r"\n{3,}", "\n\n", f"def {one.function}(module: ModuleType) -> None:\n{body}\n")


def _joined(parts: Iterable[Sequence[str]]) -> list[str]:
    return [line for part in parts for line in part]


def _wrapped(text: str) -> str:
    return textwrap.fill(text.replace("\\", "/").replace('"""', "'''"), WIDTH - 4)


def _entry_of(one: _Class) -> str:
    what = "; ".join(dict.fromkeys(f.fix.summary for f in one.findings))
    values = (f'"{one.module}"', f'"{one.cls}"', f'"{one.digest}"', one.function, json.dumps(what))
    return "    Patch(\n" + "".join(f"        {value},\n" for value in values) + "    ),\n"


def _readme(package: Package, module: str) -> str:
    done = "".join(f"- `{f.cls}`: {f.fix.summary} ({f.code})\n" for f in package.patched) or "- nothing\n"
    left = "".join(f"- `{f.cls}`: {reason} ({f.code})\n" for f, reason in package.left)
    unsafe = [f for f in package.patched if f.fix.safety == "unsafe"]
    judged = "".join(f"- `{f.cls}`: {f.fix.why_unsafe}\n" for f in unsafe)
    text = f"""\
# {package.name}

Repairs of models of vLLM {package.version}, applied in each of vLLM's processes when a model's module is imported. No
file of vLLM is changed. Where another version is installed, or a class is not the one that was analysed, one line in
the log says so and nothing is done.

Install it beside vLLM (`pip install .`); `VLLM_PLUGINS`, where it is set, has to name `{module}`.
vLLM keeps what it once learnt of a model's class in its cache folder (`modelinfos`): where that is older than this
package and what the registry asks has changed (pipeline parallelism, LoRA, hybrid models), remove that folder.

## What is changed

{done}"""
    if judged:
        text += f"\n## What has to be judged\n\n{judged}"
    if left:
        text += f"\n## What it cannot do\n\n{left}"
    return text
