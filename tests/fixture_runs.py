"""What models of fixture trees do when they are built and run, and where that differs from what is said of them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from analyzer.chains import Chain, MethodResult, configures
from analyzer.contracts import Contract
from analyzer.inner import generates
from analyzer.models import Alternative, Model, Status
from tests.fixture_trees import FIXTURES, Tree

CONTRACT = "SupportsEagle3"
IMAGE_TOKENS = ("image_token_id", "image_token_index", "media_placeholder_token_id")

Outcome = dict[str, Any]


# -- running ---------------------------------------------------------------------------------------


@dataclass
class Ran:
    """What the models of a tree did: one list of outcomes a model, one outcome a configuration."""

    tree: Tree
    outcomes: list[tuple[Model, list[Outcome]]] = field(default_factory=list)


def contract_of(tree: Tree) -> Contract:
    return tree.read.contracts[CONTRACT]


def job(tree: Tree, platform: str) -> tuple[dict[str, Any], list[Model]]:
    """What the harness has to do with a tree, and the models in the order of its answer."""
    contract, checkout = contract_of(tree), tree.read.checkout
    setter = next(m for m in contract.methods if configures(m))
    getter = next(m for m in contract.methods if not configures(m))
    models = [m for m in tree.models if m.role != "draft" and generates(m.cls)]
    asked = list(calls_of(tree))
    return {
        "roots": list(dict.fromkeys(str(package.home) for package in checkout.packages)),
        "packages": [package.name for package in checkout.packages],
        "entry_points": [[p.module, p.function] for p in checkout.plugin.entry_points] if checkout.plugin else [],
        "platform": platform,
        "setter": setter.name,
        "getter": getter.name,
        "models": [
            {
                "class": model.cls.key,
                "inner": model.inner[0].attribute if model.inner else "",
                "calls": asked,
                "architecture": served(model),
                "model_type": model_type(model),
                "configs": list(configurations(tree, model)),
            }
            for model in models
        ],
    }, models


def calls_of(tree: Tree) -> Iterator[tuple[str, int, list[str]]]:
    """Calls that the trees' own code makes, of all contracts: the method, how many arguments, and keywords."""
    named = ("make_empty", "get_mamba", "set_aux", "get_eagle3", "get_language", "embed_multi", "get_generation")
    for contract in tree.read.contracts.values():
        for method in contract.methods:
            if method.name.startswith(named):
                given = [p for p in method.facts.parameters[1:] if p.required]
                keywords = [p.name for p in given if p.kind == "keyword_only"]
                yield method.name, len(given) - len(keywords), keywords
        for name in contract.handling.attributes:
            if contract.method(name) is None and name.startswith(named):
                yield name, 3, []


def served(model: Model) -> str:
    """The architecture under which the runner would load exactly this class, or empty."""
    stems = [e for e in model.entries if e.module == model.cls.module.module and e.cls == model.cls.name]
    return stems[0].architecture if stems else ""


def model_type(model: Model) -> str:
    """That of the text model inside, or of the model itself: the name of its file, as in vLLM."""
    inside = [a.cls.path for a in model.statuses[CONTRACT].alternatives if a.cls is not None]
    return Path(inside[0] if inside else model.cls.path).stem


def configurations(tree: Tree, model: Model) -> Iterator[dict[str, Any]]:
    """For a model around another: one for each text model that a checkpoint can name; else only its own."""
    source = "".join(tree.read.checkout.path(path).read_text() for path in {cls.path for cls in model.cls.own_mro})
    tokens = {name: 7 for name in IMAGE_TOKENS if re.search(rf"config\W+{name}", source)}
    texts = [m for m in tree.read.models if m.role == "text" and m.architectures and not m.becomes]
    inside = [m for m in texts if m.cls.path != model.cls.path] if model.inner or model.becomes else [model]
    for text in inside:
        yield {
            "architecture": served(model) or "AlphaForCausalLM",
            "text_architecture": text.architectures[0],
            "text_model_type": Path(text.cls.path).stem,
            **tokens,
        }


def run(trees: list[Tree], plugins: Sequence[tuple[Path, str]] = ()) -> list[Ran]:
    """Everything in one process: importing is what takes the time.

    Args:
        trees: what to run.
        plugins: for each tree a folder and the package in it whose ``register`` is called first; none where empty.
    """
    platforms = ("cuda", "rocm")
    jobs = [job(tree, platform) for tree in trees for platform in platforms]
    for position, (folder, package) in enumerate(plugins):
        for asked, _ in jobs[position * len(platforms) : (position + 1) * len(platforms)]:
            asked["roots"] = [*asked["roots"], str(folder)]
            asked["packages"] = [*asked["packages"], package]
            asked["entry_points"] = [*asked["entry_points"], [package, "register"]]
    environment = {**os.environ, "PYTHONPATH": str(FIXTURES / "stand_in"), "PYTHONDONTWRITEBYTECODE": "1"}
    answer = subprocess.run(
        [sys.executable, "-W", "error", str(FIXTURES / "harness.py")],
        input=json.dumps([asked for asked, _ in jobs]),
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr
    told = iter(json.loads(answer.stdout))
    ran = []
    for position, tree in enumerate(trees):
        ran.append(Ran(tree))
        models = jobs[position * len(platforms)][1]
        both = [next(told) for _ in platforms]
        for index, model in enumerate(models):
            ran[-1].outcomes.append((model, [out for outs in both for out in outs[index]]))
    return ran


# -- comparing -------------------------------------------------------------------------------------


def differences(tree: Tree, outcome: Outcome, *, strict: bool = True) -> list[str]:
    """Where the analysis and Python disagree about one model built with one configuration.

    Args:
        tree: what was analysed.
        outcome: of one model that was built.
        strict: whether it counts as a disagreement that the analysis does not know.
    """
    model = next(m for m in tree.read.models if m.cls.key == outcome["class"])
    status = model.statuses[CONTRACT]
    alternative = matching(status, outcome)
    said = {c.checker: model.statuses[c.name].satisfied for c in tree.read.contracts.values() if c.checker}
    if alternative is not None:
        said[status.contract.checker or ""] = alternative.outer.satisfied
    found = [
        Difference(f"{checker} is {outcome['checks'][checker]}", answer, outcome["checks"][checker])
        for checker, answer in said.items()
        if checker in outcome["checks"]
    ]
    if alternative is not None:
        found += chain_differences(alternative.outer, outcome)
    return [str(d) for d in found if d.said is not d.did and (strict or d.said is not None)]


@dataclass
class Difference:
    """What is asked, what was said of it (None: not known), and what Python did."""

    what: str
    said: bool | None
    did: bool | None

    def __str__(self) -> str:
        return f"{self.what}: static {self.said}"


def matching(status: Status, outcome: Outcome) -> Alternative | None:
    """The possibility that this configuration realised."""
    alternatives = status.alternatives
    if outcome["inner"] and any(a.cls is not None for a in alternatives):
        return next((a for a in alternatives if a.cls is not None and a.cls.key == outcome["inner"]), None)
    return alternatives[0] if alternatives else None


def chain_differences(chain: Chain, outcome: Outcome) -> list[Difference]:
    """Step by step: the getter, the setter, where the layers land, the decoder, and what comes back."""
    found = []
    for result in chain.methods:
        step = "setter" if configures(result.method) else "getter"
        effect = bool(outcome["landed"] if step == "setter" else outcome["gives"])
        found.append(step_difference(step, result, outcome[step], effect))
    reached = all(method.how != "unknown" for method in chain.methods)
    landed = [tuple(place) for place in outcome["landed"] if not outcome["setter"]]
    expected = [(".".join(chain.holder.trail), chain.attribute)] if chain.holder is not None else []
    if landed and chain.holder is not None:
        found.append(Difference(f"layers land at {landed} and not at {expected}", expected[0] in landed, True))
    else:
        found.append(Difference(f"layers land at {landed}", bool(expected) if reached else None, bool(landed)))
    captured, handed = bool(outcome.get("captured")), bool(outcome["handed"])
    if chain.capture is not None and landed[:1] == expected:
        found.append(Difference(f"captured is {captured} ({chain.capture.detail})", chain.capture.ok, captured))
    if chain.handing is not None and captured and landed[:1] == expected:
        why = f"{outcome['forward']}, {chain.handing.detail}"
        found.append(Difference(f"handed on is {handed} ({why})", chain.handing.ok, handed))
    works = bool(outcome["checks"][chain.contract.checker] and landed and handed)
    works = works and not outcome["getter"] and not outcome["setter"] and bool(outcome["gives"])
    found.append(Difference(f"the whole works: {works}", chain.ok if chain.satisfied else chain.satisfied, works))
    if "runner" in outcome:
        found.append(Difference(f"the runner says {outcome['runner']!r}", works, outcome["runner"] == ""))
    return found


def step_difference(step: str, result: MethodResult, raised: str, effect: bool) -> Difference:
    """Whether what a method did is what the analysis says that it does."""
    did = raised or ("has an effect" if effect else "no effect")
    says = {
        "works": "has an effect",
        "stub": "no effect",
        "no-effect": "no effect",
        "missing": f"AttributeError: '{result.method.name}'",
        "refuses": "TypeError",
    }.get(result.how, "")
    if result.how == "fails" and result.failure is not None:
        says = f"{result.failure.kind}: {result.failure.detail.partition('…')[0]}"
    right: bool | None = did.startswith(says)
    if result.how == "missing":
        right = did.startswith("AttributeError") and "has no attribute " in did  # __getattr__ may name another
    if result.how == "fails" and did.startswith("AttributeError: ") and says.startswith("AttributeError: "):
        right = did.rpartition(" ")[2] == says.rpartition(" ")[2]  # __getattr__ may name another object
    if result.how == "fails" and result.possible is not None and not right:
        right = did.startswith(f"{result.possible.kind}: {result.possible.detail.partition('…')[0]}")
    if result.how == "no-effect" and raised:
        right = None  # it does nothing at the best: what it asks on its way may fail
    what = f"{step}: {did}, static {result.how} {result.reason}"
    return Difference(what, None if result.how == "unknown" else right, True)
