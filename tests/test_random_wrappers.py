"""Random wrappers, analysed and run: what is said of each is what Python does, wherever something is said.

A wrapper is put together from the ways in which wrappers of vLLM are written: how they build the inner model and
where they keep it, what they inherit and in which order, how they hand the contract's methods on (or fail to), and
what their ``forward`` does with the result.  A file of them goes into each generation's tree.
"""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from random import Random

import pytest

from analyzer.fix import plan_fixes, write_plan
from tests.fixture_runs import CONTRACT, differences, run
from tests.fixture_trees import GENERATIONS, MODELS, Tree, copy_tree

COUNT = int(os.environ.get("RANDOM_WRAPPERS", "60"))
SEED = os.environ.get("RANDOM_SEED", "0")

SETTER = "set_aux_hidden_state_layers"
GETTERS = {"0.16": "get_eagle3_aux_hidden_state_layers"}
GETTER = "get_eagle3_default_aux_hidden_state_layers"
TEXTS = ("Alpha", "Beta", "Delta")

HEAD = """\
from functools import partial
from typing import cast

from torch import nn

from vllm.model_executor.model_loader.utils import initialize_model

from .alpha import AlphaForCausalLM
from .beta import BetaForCausalLM
from .delta import DeltaForCausalLM
from .interfaces import SupportsEagle3, SupportsMultiModal, SupportsPP, supports_eagle3
from .utils import init_vllm_registered_model


class Mixin:
    def {setter}(self, layers):
        self.language_model.{setter}(layers)

    def {getter}(self):
        return self.language_model.{getter}()
"""

BUILDS = """
self.{at} = init_vllm_registered_model(vllm_config, architectures=["{a}ForCausalLM"])
---
self.{at}: nn.Module = init_vllm_registered_model(
    vllm_config=vllm_config, hf_config=config.text_config, architectures=["{a}ForCausalLM"]
)
---
architectures = ["{a}ForCausalLM"]
inner = init_vllm_registered_model(vllm_config, architectures=architectures)
self.{at} = inner
---
if config.text_config.model_type == "beta":
    architectures = ["{a}ForCausalLM"]
else:
    architectures = ["{b}ForCausalLM"]
self.{at} = init_vllm_registered_model(vllm_config, architectures=architectures)
---
self.{at} = init_vllm_registered_model(vllm_config, hf_config=config.text_config)
---
text = config.text_config
inner_config = vllm_config.with_hf_config(text, architectures=text.architectures)
self.{at} = init_vllm_registered_model(inner_config)
---
self.{at} = initialize_model(vllm_config=vllm_config, model_class={a}ForCausalLM)
---
self.{at} = {a}ForCausalLM(vllm_config=vllm_config, prefix=prefix)
---
self.{at} = self._make(vllm_config, {a}ForCausalLM)
---
self.{at} = self.inner_cls(vllm_config=vllm_config)
---
table = {{"alpha": {a}ForCausalLM, "beta": {b}ForCausalLM}}
self.{at} = table.get(config.text_config.model_type, {a}ForCausalLM)(vllm_config=vllm_config)
---
cls = {a}ForCausalLM if config.text_config.model_type == "delta" else {b}ForCausalLM
self.{at} = cls(vllm_config=vllm_config)
---
setattr(self, "{at}", {a}ForCausalLM(vllm_config=vllm_config))
---
self.add_module("{at}", {a}ForCausalLM(vllm_config=vllm_config))
---
self.{at} = partial({a}ForCausalLM, vllm_config=vllm_config)()
---
self.{at}, self.extra = {a}ForCausalLM(vllm_config=vllm_config), 1
---
self.{at} = None
for cls in ({a}ForCausalLM,):
    self.{at} = cls(vllm_config=vllm_config)
---
try:
    self.{at} = {a}ForCausalLM(vllm_config=vllm_config)
except ValueError:
    self.{at} = {b}ForCausalLM(vllm_config=vllm_config)
"""

METHODS = """
self.{at}.{setter}(layers)
--
return self.{at}.{getter}()
---
self.{at}.model.aux_hidden_state_layers = layers
--
num_layers = len(self.{at}.model.layers)
return (2, num_layers // 2, num_layers - 3)
---
self.get_language_model().{setter}(layers)
--
return self.get_language_model().{getter}()
---
if not supports_eagle3(self.{at}):
    raise RuntimeError("the inner model cannot")
self.{at}.{setter}(layers)
--
assert supports_eagle3(self.{at}), "the inner model cannot"
return self.{at}.{getter}()
---
if hasattr(self.{at}, "{setter}"):
    self.{at}.{setter}(layers)
--
if hasattr(self.{at}, "{getter}"):
    return self.{at}.{getter}()
return (1, 2, 3)
---
getattr(self.{at}, "{setter}")(layers)
--
return getattr(getattr(self, "{at}"), "{getter}")()
---
self.{at}.decoder.aux_hidden_state_layers = layers
--
return self.{at}.missing()
---
self.aux_hidden_state_layers = layers
--
return (1, 2, 3)
---
super().{setter}(layers)
--
return super().{getter}()
---
for module in self.children():
    if hasattr(module, "model"):
        module.model.aux_hidden_state_layers = layers
--
return (2, 4, 5)
---
holder = self.{at}
while hasattr(holder, "model"):
    holder = holder.model
holder.aux_hidden_state_layers = layers
--
return tuple(range(3))
---
cast(SupportsEagle3, self.{at}).{setter}(layers)
--
return cast(SupportsEagle3, self.{at}).{getter}()
---
if isinstance(self.{at}, SupportsEagle3):
    self.{at}.{setter}(layers)
else:
    raise NotImplementedError("the inner model cannot")
--
return self.{at}.{getter}() if isinstance(self.{at}, SupportsEagle3) else None
---
...
--
...
"""

CALLS = """
self.{at}(input_ids, positions, **kwargs)
---
self.{at}(input_ids=input_ids, positions=positions)
---
self.{at}.model(input_ids, positions, **kwargs)
---
self.{at}.forward(input_ids, positions)
---
self.{at}.model(None, positions, inputs_embeds=self.{at}.embed_input_ids(input_ids))
---
self._run(input_ids, positions)
"""

FORWARDS = """
return {call}
---
out = {call}
return out
---
out = {call}
if isinstance(out, tuple):
    hidden_states, aux_hidden_states = out
    return hidden_states * 2.0, aux_hidden_states
return out * 2.0
---
out = {call}
if isinstance(out, tuple):
    out = out[0]
return out
---
return {call} * 0.5
---
out = {call}
return out[0] if isinstance(out, tuple) else out
---
out = {call}
return (out[0], out[1]) if isinstance(out, tuple) else out
---
hidden_states, aux_hidden_states = {call}
return hidden_states, list(aux_hidden_states)
---
hidden_states, *rest = {call}
return (hidden_states, *rest)
---
return ({call},)
---
return {{"hidden_states": {call}}}
---
out = {call}
return out, None
---
if (out := {call}) is not None:
    return out
return 0.0
---
try:
    return {call}
except ValueError:
    return 0.0
---
out = {call}
assert isinstance(out, tuple)
return out
---
out = {call}
out = self._finish(out)
return out
"""


def pieces(text: str) -> list[str]:
    return [piece.strip("\n") for piece in text.split("\n---\n")]


@dataclass
class Writer:
    """Writes random wrappers of one generation.

    Args:
        random: where the choices come from.
        getter: the name that the generation gives to the contract's getter.
    """

    random: Random
    getter: str

    def wrapper(self, name: str) -> str:
        """The source of one class."""
        at = self.random.choice(["language_model"] * 4 + ["llm", "text", "model", "thinker"])
        marked = self.chance(0.4)
        protocols = [
            p for p, odds in (("SupportsEagle3", 0.6), ("SupportsPP", 0.1), ("Mixin", 0.15)) if self.chance(odds)
        ]
        protocols += ["SupportsMultiModal"] if marked or self.chance(0.2) else []
        self.random.shuffle(protocols)
        build = self.pick(BUILDS).format(at=at, a=self.random.choice(TEXTS), b=self.random.choice(TEXTS))
        if marked:
            build = f"with self._mark_language_model(vllm_config):\n{indented(build)}"
        parts = [f"inner_cls = {self.random.choice(TEXTS)}ForCausalLM"]
        if self.chance(0.12):
            parts += [f"supports_eagle3 = {self.chance(0.5)}", "has_own_lm_head = has_own_embed_tokens = False"]
        start = "super().__init__()\nself.config = config = vllm_config.model_config.hf_config\n"
        parts.append(method("__init__(self, *, vllm_config, prefix='')", start + build))
        parts.append(method("_make(self, vllm_config, cls)", "return cls(vllm_config=vllm_config)"))
        parts.append(
            method("_finish(self, out)", self.random.choice(["return out", "return out * 2.0", "return out[0]"]))
        )
        parts.append(method("_run(self, input_ids, positions)", f"return self.{at}(input_ids, positions)"))
        parts += self.ways_to_the_inner_model(at)
        parts += self.contract_methods(at)
        forward = self.pick(FORWARDS).format(call=self.pick(CALLS).format(at=at))
        parts.append(method("forward(self, input_ids, positions, **kwargs)", forward))
        parts.append(method("compute_logits(self, hidden_states)", f"return self.{at}.compute_logits(hidden_states)"))
        return f"class {name}({', '.join(['nn.Module', *protocols])}):\n" + "\n\n".join(map(indented, parts)) + "\n"

    def ways_to_the_inner_model(self, at: str) -> list[str]:
        parts = []
        if self.chance(0.25):
            parts.append(
                method("get_language_model(self)", self.random.choice([f"return self.{at}", f"return self.{at}.model"]))
            )
        if at != "language_model" and self.chance(0.25):
            parts.append("@property\n" + method("language_model(self)", f"return self.{at}"))
        return parts

    def contract_methods(self, at: str) -> list[str]:
        if self.chance(0.3):
            return []
        setter, getter = self.pick(METHODS).format(at=at, setter=SETTER, getter=self.getter).split("\n--\n")
        both = [method(f"{SETTER}(self, layers)", setter), method(f"{self.getter}(self)", getter)]
        return [part for part in both if self.chance(0.93)]

    def pick(self, text: str) -> str:
        return self.random.choice(pieces(text))

    def chance(self, odds: float) -> bool:
        return self.random.random() < odds


def method(head: str, body: str) -> str:
    return f"def {head}:\n{indented(body)}"


def indented(text: str) -> str:
    return "\n".join(f"    {line}" if line else "" for line in text.split("\n"))


def tree_of_wrappers(generation: str, root: Path) -> tuple[Tree, dict[str, str]]:
    """A tree with random wrappers in it, and their sources."""
    writer = Writer(Random(f"{SEED} {generation}"), GETTERS.get(generation, GETTER))
    sources = {f"Random{number}": "" for number in range(COUNT)}
    for name in sources:
        sources[name] = writer.wrapper(name)
    copy_tree(generation, root)
    head = HEAD.format(setter=SETTER, getter=writer.getter)
    (root / MODELS / "odd.py").write_text("\n\n".join([head, *sources.values()]))
    registry = root / MODELS / "registry.py"
    rows = "".join(f'    "{name}ForCausalLM": ("odd", "{name}"),\n' for name in sources)
    first = "_TEXT_GENERATION_MODELS = {\n"
    registry.write_text(registry.read_text().replace(first, first + rows))
    return Tree(root, generation, f"{MODELS}/odd.py"), sources


@pytest.mark.parametrize("generation", GENERATIONS)
def test_what_is_said_of_random_wrappers_is_what_they_do(generation: str, tmp_path: Path) -> None:
    tree, sources = tree_of_wrappers(generation, tmp_path / "tree")
    assert not tree.report.diagnostics
    assert {m.cls.name for m in tree.models} == set(sources)
    [ran] = run([tree])
    wrong: dict[str, set[str]] = {}
    known = asked = 0
    for model, outcomes in ran.outcomes:
        for outcome in (out for out in outcomes if not out["build"]):
            strict, lenient = differences(tree, outcome), differences(tree, outcome, strict=False)
            asked += 1
            known += strict == lenient
            if lenient:
                wrong.setdefault(model.cls.name, set()).update(lenient)
    told = "\n\n".join(f"{sources[name]}\n" + "\n".join(sorted(found)) for name, found in wrong.items())
    assert not wrong, f"{len(wrong)} of {COUNT} with RANDOM_SEED={SEED}:\n\n{told}"
    verdicts = Counter(m.statuses[CONTRACT].verdict for m in tree.models)
    assert {"works", "broken", "undeclared"} <= set(verdicts)
    assert verdicts["unknown"] < 0.2 * COUNT
    assert known > 0.6 * asked


@pytest.mark.parametrize("generation", GENERATIONS)
def test_a_safe_repair_of_a_random_wrapper_makes_it_work(generation: str, tmp_path: Path) -> None:
    """With every inner model that it can have; what would fail silently behind the check is never called safe."""
    tree, sources = tree_of_wrappers(generation, tmp_path / "tree")
    safe = [f for f in tree.findings if f.fix.safety == "safe" and f.contract == CONTRACT]
    plan = plan_fixes(tree.root, [f.fix for f in safe])
    assert not plan.refused
    assert not write_plan(tree.root, plan).refused
    after = Tree(tree.root, generation, tree.path)
    left = {(f.code, f.contract, f.cls) for f in after.findings}
    assert not left & {(f.code, f.contract, f.cls) for f in safe}
    [ran] = run([after])
    repaired = {f.cls for f in safe}
    wrong = []
    for model, outcomes in ran.outcomes:
        for outcome in (out for out in outcomes if not out["build"] and model.cls.key in repaired):
            if not (outcome["checks"]["supports_eagle3"] and outcome["landed"] and outcome["handed"]):
                wrong.append(f"{sources[model.cls.name]}\n{outcome}")
            elif outcome["runner"]:
                wrong.append(f"{sources[model.cls.name]}\n{outcome['runner']}")
    assert not wrong, "\n\n".join(wrong)
    assert len(repaired) > COUNT / 20
