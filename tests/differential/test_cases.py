"""What random trees showed, as cases with a name: the verdict, and that Python agrees in every step."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.differential.contracts import CHECKS, GETTER, GETTERS, SETTER, Interfaces, deeper
from tests.differential.ground import Ground
from tests.differential.judge import Judgement, judge
from tests.differential.programs import HEAD, Family, Program
from tests.fixture_runs import CONTRACT
from tests.fixture_trees import GENERATIONS

PROTOCOLS = "SupportsEagle3, SupportsMultiModal, SupportsPP, supports_eagle3"
DELEGATION = """
def {setter}(self, layers):
    self.language_model.{setter}(layers)

def {getter}(self):
    return self.language_model.{getter}()
"""


@dataclass
class Case:
    """A wrapper called Wrap around Delta, but for what is said here.

    Args:
        verdict: of the class ``of``.
        before, after: what stands above and below the class; a text model called OwnText is registered too.
        bases: of the class.
        build: how the inner model is built.
        methods: members of the class; the contract's methods, delegated, unless given.
        end: of forward, where ``out`` is the inner model's result.
        generation: of the fixture tree.
        flag: whether the contract's checker only reads the flag.
        of: the class that the verdict is of; what stands below Wrap is registered too.
    """

    verdict: str
    before: str = ""
    bases: str = "nn.Module, SupportsEagle3"
    build: str = "self.language_model = DeltaPlain(vllm_config=vllm_config)"
    methods: str = DELEGATION
    end: str = "return out"
    after: str = ""
    generation: str = "0.20"
    flag: bool = False
    of: str = "Wrap"

    def source(self) -> str:
        names = {"setter": SETTER, "getter": GETTERS.get(self.generation, GETTER)}
        text = (
            f"{self.before}\n\n\nclass Wrap({self.bases}):\n"
            '    def __init__(self, *, vllm_config, prefix=""):\n'
            "        super().__init__()\n        config = vllm_config.model_config.hf_config\n"
            f"{deeper(self.build, 8)}\n\n{deeper(self.methods)}\n\n"
            "    def forward(self, input_ids, positions, **kwargs):\n"
            f"        out = self.language_model(input_ids, positions)\n{deeper(self.end, 8)}\n\n"
            "    def compute_logits(self, hidden_states):\n"
            "        return self.language_model.compute_logits(hidden_states)\n\n\n"
            f"{self.after}\n"
        )
        return text.replace("{setter}", names["setter"]).replace("{getter}", names["getter"])


ROCM = (
    "if current_platform.is_rocm():\n    Base = BetaPlain\nelse:\n    Base = DeltaPlain\n\n\n"
    "class Inner(Base):\n    pass"
)
MADE = 'Inner = type("Inner", (DeltaPlain,), {})'
FORWARDING = (
    "class Forwarding:\n    def __getattr__(self, name):\n        try:\n            return super().__getattr__(name)\n"
    '        except AttributeError:\n            if name == "language_model":\n                raise\n'
    "            return getattr(self.language_model, name)"
)
SECOND_OF_TWO = "def {setter}(self, layers):\n    ...\n\n"

BUILDS_ANEW = (
    'class Heir(Wrap):\n    def __init__(self, *, vllm_config, prefix=""):\n        nn.Module.__init__(self)\n'
    "        self.language_model = OTHER(vllm_config=vllm_config)"
)
NESTED = (
    "class Wrapped(nn.Module):\n    def __init__(self, vllm_config):\n        super().__init__()\n"
    "        self.decoder = DeltaModel(vllm_config=vllm_config)\n\n"
    "    def forward(self, *args, **kwargs):\n        return self.decoder(*args, **kwargs)\n\n\n"
    "class Inner(DeltaPlain):\n    def __init__(self, *, vllm_config):\n        nn.Module.__init__(self)\n"
    "        self.model = Wrapped(vllm_config)\n\n"
    "    def {setter}(self, layers):\n        self.model.decoder.aux_hidden_state_layers = layers\n\n"
    "    def {getter}(self):\n        return (2, 4, 5)"
)

KEPT = "self.{setter} = self.language_model.{setter}\nself.{getter} = self.language_model.{getter}\n"

CASES: dict[str, Case] = {
    "methods handed on": Case("works"),
    "methods set on the class after it": Case(
        "works",
        methods="",
        after="def _set(self, layers):\n    self.language_model.{setter}(layers)\n\n\n"
        "def _get(self):\n    return self.language_model.{getter}()\n\n\nWrap.{setter} = _set\nWrap.{getter} = _get",
    ),
    "a method set on the class by setattr": Case(
        "broken", after='def _nothing(self, layers):\n    pass\n\n\nsetattr(Wrap, "{setter}", _nothing)'
    ),
    "an attribute of the class set after it": Case(
        "works",
        build="self.language_model = self.inner_cls(vllm_config=vllm_config)",
        methods=f"inner_cls = BetaPlain\n{DELEGATION}",
        after="Wrap.inner_cls = DeltaPlain",
    ),
    "a name that is bound with another": Case(
        "works",
        before="Inner, Other = DeltaPlain, BetaPlain",
        build="self.language_model = Inner(vllm_config=vllm_config)",
    ),
    "the decoder takes the place of the model that it was inside": Case(
        "works",
        build="self.language_model = DeltaPlain(vllm_config=vllm_config)\n"
        "self.language_model = self.language_model.model",
        methods="def {setter}(self, layers):\n    self.language_model.aux_hidden_state_layers = layers\n\n"
        "def {getter}(self):\n    return (2, 4, 5)",
    ),
    "a class that denies what the wrapper declares": Case(
        "works", after="class Denying(Wrap):\n    supports_eagle3 = False", flag=True
    ),
    "an empty method behind another that fails": Case(
        "broken",
        before="class Calling:\n    def {setter}(self, layers):\n        super().{setter}(layers)",
        bases="nn.Module, Calling, SupportsEagle3",
        methods='def {getter}(self):\n    raise NotImplementedError("not yet")',
        generation="0.16",
    ),
    "a method called with too little": Case(
        "broken",
        before="class Asking:\n    def {getter}(self, extra):\n        return (1, 2, 3)",
        bases="nn.Module, Asking, SupportsEagle3",
        methods="def {setter}(self, layers):\n    self.language_model.{setter}(layers)\n\n"
        "def {getter}(self):\n    return super().{getter}()",
    ),
    "an heir takes a method away from what a repair would add": Case(
        "undeclared",
        bases="nn.Module",
        methods="",
        after="class Denying(Wrap):\n    {setter} = None",
        generation="0.16",
    ),
    "a possibility that cannot be followed": Case(
        "unknown",
        before=MADE,
        build='if config.text_config.model_type == "alpha":\n'
        "    self.language_model = DeltaPlain(vllm_config=vllm_config)\n"
        "else:\n    self.language_model = Inner(vllm_config=vllm_config)",
    ),
    "a base class that the platform chooses": Case(
        "unknown", before=ROCM, build="self.language_model = Inner(vllm_config=vllm_config)"
    ),
    "the layers of a decoder whose base the platform chooses": Case(
        "unknown",
        before=ROCM,
        build="self.language_model = Inner(vllm_config=vllm_config)",
        methods="def {setter}(self, layers):\n    self.language_model.model.aux_hidden_state_layers = layers\n\n"
        "def {getter}(self):\n    last = len(self.language_model.layers)\n    return (2, last // 2, last - 3)",
    ),
    "an object made by __new__ of a class that the platform chooses": Case(
        "works",
        before="if current_platform.is_rocm():\n    from .alpha import AlphaForCausalLM as Inner\n"
        "else:\n    from .delta import DeltaForCausalLM as Inner",
        build="self.language_model = Inner.__new__(Inner)\nself.language_model.__init__(vllm_config=vllm_config)",
        methods="def {setter}(self, layers):\n    for module in self.children():\n"
        '        if hasattr(module, "model"):\n            module.model.aux_hidden_state_layers = layers\n\n'
        "def {getter}(self):\n    return (2, 4, 5)",
    ),
    "a class made by type": Case("unknown", before=MADE, build="self.language_model = Inner(vllm_config=vllm_config)"),
    "an inner model that a lambda makes": Case(
        "unknown", build="self.language_model = (lambda: DeltaPlain(vllm_config=vllm_config))()"
    ),
    "a child that a lambda makes, and the default that looks for it": Case(
        "unknown",
        bases="nn.Module, SupportsMultiModal, SupportsEagle3",
        build="self.language_model = (lambda: AlphaPlain(vllm_config=vllm_config))()",
        methods="",
    ),
    "None where the import failed, which it did not": Case(
        "works",
        before="try:\n    from .delta import DeltaForCausalLM as Inner\nexcept ImportError:\n    Inner = None",
        build="self.language_model = Inner(vllm_config=vllm_config)",
    ),
    "forward through a lambda": Case("unknown", end="return (lambda: self.language_model(input_ids, positions))()"),
    "the layers kept on the wrapper, whose inner model has the empty method of the contract": Case(
        "broken",
        before="class Inner(BetaPlain, SupportsEagle3):\n    def {getter}(self):\n        return (2, 4, 5)",
        build="self.language_model = Inner(vllm_config=vllm_config)",
        methods="def {setter}(self, layers):\n    self.layers = layers\n    self.language_model.{setter}(layers)\n\n"
        "def {getter}(self):\n    return self.language_model.{getter}()",
        end="return out[0]",
        generation="0.16",
    ),
    "a result that is spread into a tuple": Case("works", end="return (*out,) if isinstance(out, tuple) else out"),
    "a result that is made a tuple": Case("works", end="return tuple(out) if isinstance(out, tuple) else out"),
    "a result that is added to": Case("broken", end="out += 1.0\nreturn out"),
    "a class method of the contract, which finds no inner model": Case(
        "broken",
        methods="@classmethod\ndef {setter}(cls, layers):\n    cls.language_model.{setter}(layers)\n\n"
        "def {getter}(self):\n    return (2, 4, 5)",
    ),
    "a class method that asks for a property": Case(
        "broken",
        methods="@property\ndef inner(self):\n    return self.language_model\n\n"
        "@classmethod\ndef {setter}(cls, layers):\n    cls.inner.aux_hidden_state_layers = layers\n\n"
        "def {getter}(self):\n    return (2, 4, 5)",
    ),
    "a class method that gives a property itself": Case(
        "broken",
        methods="@property\ndef _default_layers(self):\n    return (2, 4, 5)\n\n"
        "def {setter}(self, layers):\n    self.language_model.{setter}(layers)\n\n"
        "@classmethod\ndef {getter}(cls):\n    return cls._default_layers",
    ),
    "a static method that sets an attribute of None": Case(
        "broken",
        methods="@staticmethod\ndef {setter}(layers):\n    self = None\n    self.aux_hidden_state_layers = layers\n\n"
        "def {getter}(self):\n    return (2, 4, 5)",
    ),
    "a method that hands the coroutine of another on": Case(
        "broken",
        methods="async def _get(self):\n    return self.language_model.{getter}()\n\n"
        "def {setter}(self, layers):\n    ...\n\ndef {getter}(self):\n    return self._get()",
    ),
    "a stub that wants more than the contract gives": Case(
        "broken", methods="def {setter}(self, layers, extra): ...\n\ndef {getter}(self):\n    return (2, 4, 5)"
    ),
    "None called through super": Case(
        "broken",
        before="class Empty:\n    {getter} = None",
        bases="nn.Module, Empty, SupportsEagle3",
        methods="def {setter}(self, layers):\n    self.language_model.{setter}(layers)\n\n"
        "def {getter}(self):\n    return super().{getter}()",
    ),
    "the layers kept on the wrapper too": Case(
        "works",
        methods="def {setter}(self, layers):\n    self.layers = layers\n    self.language_model.{setter}(layers)\n\n"
        "def {getter}(self):\n    return self.language_model.{getter}()",
    ),
    "the layers kept on the wrapper, and handed to something unknown": Case(
        "unknown",
        build="self.language_model = (lambda: DeltaPlain(vllm_config=vllm_config))()",
        methods="def {setter}(self, layers):\n    self.layers = layers\n    self.language_model.{setter}(layers)\n\n"
        "def {getter}(self):\n    return (2, 4, 5)",
    ),
    "an attribute set by name on something unknown": Case(
        "unknown",
        build="self.language_model = (lambda: DeltaPlain(vllm_config=vllm_config))()",
        methods="def {setter}(self, layers):\n"
        '    setattr(self.language_model.model, "aux_hidden_state_layers", layers)\n\n'
        "def {getter}(self):\n    return (2, 4, 5)",
    ),
    "a method of something unknown gives the layers": Case(
        "unknown",
        build="self.language_model = (lambda: DeltaPlain(vllm_config=vllm_config))()",
        methods="def {setter}(self, layers):\n    self.language_model.{setter}(layers)\n\n"
        "def {getter}(self):\n    return self.language_model.missing()",
    ),
    "forwarding behind nn.Module, whose own comes first": Case(
        "broken", before=FORWARDING, bases="nn.Module, Forwarding, SupportsEagle3", methods="", generation="0.16"
    ),
    "forwarding that fails for another name": Case(
        "broken",
        before=FORWARDING,
        bases="Forwarding, nn.Module, SupportsEagle3",
        build="self.inside = DeltaPlain(vllm_config=vllm_config)",
        methods="def {setter}(self, layers):\n    self.get_language_model().{setter}(layers)\n\n"
        "def {getter}(self):\n    return (2, 4, 5)",
    ),
    "an heir takes a method away from a wrapper that passes by forwarding": Case(
        "works",
        before=FORWARDING,
        bases="Forwarding, nn.Module",
        build="self.language_model = AlphaPlain(vllm_config=vllm_config)",
        after="class Denying(Wrap):\n    {setter} = None",
        generation="0.16",
    ),
    "another name given by the __getattr__ of nn.Module": Case(
        "works",
        bases="nn.Module, SupportsMultiModal, SupportsEagle3",
        build="self.inside = AlphaPlain(vllm_config=vllm_config)",
        methods='def __getattr__(self, name):\n    if name == "language_model":\n'
        '        return super().__getattr__("inside")\n    return super().__getattr__(name)\n\n' + DELEGATION,
    ),
    "the class has an empty method where the base brings the contract": Case(
        "broken",
        before="class Base(nn.Module, SupportsEagle3):\n    pass",
        bases="Base",
        methods=SECOND_OF_TWO + "def {getter}(self):\n    return (2, 4, 5)",
        generation="0.16",
    ),
    "methods of an inner model that an heir deletes": Case(
        "unknown",
        build="self.language_model = AlphaPlain(vllm_config=vllm_config)\n" + KEPT,
        after="class Heir(Wrap):\n"
        '    def __init__(self, *, vllm_config, prefix=""):\n'
        "        super().__init__(vllm_config=vllm_config, prefix=prefix)\n"
        "        del self.language_model\n        self.language_model = AlphaPlain(vllm_config=vllm_config)\n\n\n"
        "Wrap._finish = lambda self, out: out[0]",
        of="Heir",
    ),
    "methods of an inner model whose place another takes": Case(
        "unknown",
        build=f"self.language_model = AlphaPlain(vllm_config=vllm_config)\n{KEPT}"
        "self.language_model = AlphaPlain(vllm_config=vllm_config)",
    ),
    "methods of an inner model that goes and comes back": Case(
        "works",
        build=f"self.language_model = self.spare = AlphaPlain(vllm_config=vllm_config)\n{KEPT}"
        "del self.language_model\nself.language_model = self.spare",
    ),
    "the decoder stays where its model is deleted": Case(
        "works",
        build="self.language_model = AlphaPlain(vllm_config=vllm_config)\nself.decoder = self.language_model.model\n"
        "del self.language_model\nself.language_model = self.decoder",
        methods="def {setter}(self, layers):\n    self.decoder.aux_hidden_state_layers = layers\n\n"
        "def {getter}(self):\n    return (2, 4, 5)",
    ),
    "a method deletes what only the other leaves": Case(
        "broken",
        methods="def {setter}(self, layers):\n    self.wanted = layers\n    self.language_model.{setter}(layers)\n\n"
        "def {getter}(self):\n    del self.wanted\n    return (2, 4, 5)",
    ),
    "a getter that asks something unknown, if it can": Case(
        "unknown",
        before=MADE,
        build="self.language_model = Inner(vllm_config=vllm_config)",
        methods="def {setter}(self, layers):\n    self.language_model.{setter}(layers)\n\ndef {getter}(self):\n"
        '    if hasattr(self.language_model, "{getter}"):\n        return self.language_model.{getter}()\n'
        "    return (1, 2, 3)",
    ),
    "a method deletes what it kept of the layers": Case(
        "broken",
        before="class Inner(BetaPlain, SupportsEagle3):\n    def {getter}(self):\n        return (2, 4, 5)",
        build="self.language_model = Inner(vllm_config=vllm_config)",
        methods="def {setter}(self, layers):\n    self.wanted = layers\n    self.language_model.{setter}(self.wanted)\n"
        "    del self.wanted\n\ndef {getter}(self):\n    return self.language_model.{getter}()",
        generation="0.16",
    ),
    "an inner model set in something that a property gives": Case(
        "works",
        build="self.inside = Holder(vllm_config, BetaPlain)\nself.language_model = self.inside.inner\n"
        "self.inside.inner = DeltaPlain(vllm_config=vllm_config)",
        methods="@property\ndef language_model(self):\n    return self.inside.inner\n" + DELEGATION,
    ),
    "the decoder of one of several inner models is deleted": Case(
        "broken",
        build='cls = {"alpha": AlphaPlain, "beta": AlphaPlain, "delta": DeltaPlain}[config.text_config.model_type]\n'
        "self.language_model = cls(vllm_config=vllm_config)\nself.decoder = self.language_model.model\n"
        "del self.language_model.model",
        methods="def {setter}(self, layers):\n    self.language_model.model.aux_hidden_state_layers = layers\n\n"
        "def {getter}(self):\n    return (2, 4, 5)",
    ),
    "an heir that drops the states of an inner model that denies what it does": Case(
        "works",
        before="class Inner(DeltaPlain):\n    supports_eagle3 = False",
        build="self.language_model = Inner(vllm_config=vllm_config)",
        after="class Heir(Wrap):\n    def forward(self, *args, **kwargs):\n"
        "        return super().forward(*args, **kwargs)[0]",
        flag=True,
    ),
    "two names for one of several inner models": Case(
        "config-dependent",
        build='self.spare = {"alpha": BetaPlain, "beta": DeltaPlain}[config.text_config.model_type]'
        "(vllm_config=vllm_config)\nself.language_model = self.spare",
    ),
    "an inner model is deleted for another": Case(
        "works",
        build="self.language_model = BetaPlain(vllm_config=vllm_config)\ndel self.language_model\n"
        "self.language_model = AlphaPlain(vllm_config=vllm_config)",
    ),
    "an inner model is deleted in one branch for another": Case(
        "works",
        build="self.language_model = AlphaPlain(vllm_config=vllm_config)\n"
        'if config.text_config.model_type == "alpha":\n    del self.language_model\n'
        "    self.language_model = DeltaPlain(vllm_config=vllm_config)",
    ),
    "get_language_model gives one of a class with a base by platform, or one that is made": Case(
        "unknown",
        before=ROCM.replace("Base", "First_base").replace("Inner", "First") + "\n\n\n" + MADE,
        build="self.decoder = First(vllm_config=vllm_config)\n"
        'if config.text_config.model_type == "beta":\n    self.decoder = Inner(vllm_config=vllm_config)',
        methods="@property\ndef language_model(self):\n    return self.decoder\n\n"
        "def get_language_model(self):\n    return self.language_model\n" + DELEGATION,
    ),
    "an heir that takes the states away in a helper of a forward that hands them on": Case(
        "works",
        methods=DELEGATION + "\ndef _finish(self, out):\n    return out\n",
        end="return self._finish(out)",
        after="class Heir(Wrap):\n    def _finish(self, out):\n"
        "        return out[0] if isinstance(out, tuple) else out",
    ),
    "what hid a method is deleted": Case("works", build=Case.build + "\nself.{setter} = print\ndel self.{setter}"),
    "a method deletes what is not there": Case(
        "broken",
        methods="def {setter}(self, layers):\n    del self.missing\n    self.language_model.{setter}(layers)\n\n"
        "def {getter}(self):\n    return self.language_model.{getter}()",
    ),
    "a method deletes what only its class has": Case(
        "broken",
        methods="cached = None\n\ndef {setter}(self, layers):\n    del self.cached\n"
        "    self.language_model.{setter}(layers)\n\ndef {getter}(self):\n    return self.language_model.{getter}()",
    ),
    "some inner models fail and the others' states are dropped": Case(
        "broken",
        build="try:\n    self.language_model = DeltaPlain(vllm_config=vllm_config)\n"
        "except ValueError:\n    self.language_model = BetaPlain(vllm_config=vllm_config)",
        end="return out[0] if isinstance(out, tuple) else out",
    ),
    "an heir does without what the class sets on its objects over an empty method": Case(
        "works",
        build=f"self.language_model = AlphaPlain(vllm_config=vllm_config)\n{KEPT}",
        methods="def {setter}(self, layers):\n    ...\n\ndef {getter}(self):\n    ...",
        after=BUILDS_ANEW.replace("OTHER", "AlphaPlain"),
    ),
    "an heir leads the constructor of the class to a model without support": Case(
        "works",
        build="self.language_model = self.inner_cls(vllm_config=vllm_config)",
        methods=f"inner_cls = DeltaPlain\n{DELEGATION}",
        after="class Heir(Wrap):\n    inner_cls = BetaPlain",
    ),
    "an heir leads a method of the class astray": Case(
        "works",
        methods="def _holder(self):\n    return self.language_model.model\n\n"
        "def {setter}(self, layers):\n    self._holder().aux_hidden_state_layers = layers\n\n"
        "def {getter}(self):\n    return (2, 4, 5)",
        after="class Heir(Wrap):\n    def _holder(self):\n        return self.language_model",
    ),
    "the decoder of a model that the configuration chooses is deleted": Case(
        "broken",
        build="self.language_model = init_vllm_registered_model(vllm_config, hf_config=config.text_config)\n"
        "self.decoder = self.language_model.model\ndel self.language_model.model",
    ),
    "methods of a model that the configuration chooses are set on the object": Case(
        "config-dependent",
        build="self.language_model = init_vllm_registered_model(vllm_config, hf_config=config.text_config)\n" + KEPT,
        methods="",
        generation="0.16",
    ),
    "a mixin's method fails and the class's own leads astray": Case(
        "broken",
        before=f"{NESTED}\n\n\nclass Asking:\n    def {{getter}}(self):\n        return self.missing.{{getter}}()",
        bases="Asking, nn.Module, SupportsEagle3",
        build="self.language_model = Inner(vllm_config=vllm_config)",
        methods="def {setter}(self, layers):\n    self.language_model.model.aux_hidden_state_layers = layers",
    ),
    "a class that does not declare keeps a method of a model whose place another takes": Case(
        "undeclared",
        bases="nn.Module",
        build="self.language_model = AlphaPlain(vllm_config=vllm_config)\n"
        "self.{setter} = self.language_model.{setter}\n"
        "self.language_model = AlphaPlain(vllm_config=vllm_config)",
        generation="0.16",
    ),
    "the first child that could be the language model is not known": Case(
        "unknown",
        bases="nn.Module, SupportsMultiModal, SupportsEagle3",
        build="self.first = (lambda: AlphaModel(vllm_config=vllm_config))()\n"
        "self.language_model = DeltaPlain(vllm_config=vllm_config)",
        methods="",
    ),
    "the decoder of one of several inner models goes and comes back, and is set by name": Case(
        "works",
        build='table = {"alpha": AlphaPlain, "beta": DeltaPlain}\n'
        "self.language_model = table.get(config.text_config.model_type, AlphaPlain)(vllm_config=vllm_config)\n"
        "self.decoder = self.language_model.model\ndel self.language_model.model\n"
        "self.language_model.model = self.decoder",
        methods="def {setter}(self, layers):\n"
        '    setattr(self.language_model.model, "aux_hidden_state_layers", layers)\n\n'
        "def {getter}(self):\n    return (2, 4, 5)",
    ),
    "one inner model after another, the first of which stays": Case(
        "works",
        build="self.language_model = BetaPlain(vllm_config=vllm_config)\n"
        'if config.text_config.model_type == "alpha":\n    self.kept = self.language_model\n'
        "    self.language_model = DeltaPlain(vllm_config=vllm_config)\nelse:\n"
        "    self.language_model = AlphaPlain(vllm_config=vllm_config)",
    ),
    "both arms of an expression build, and what is kept goes with each": Case(
        "works",
        build='self.language_model = (AlphaPlain(vllm_config=vllm_config) if config.text_config.model_type == "alpha" '
        "else DeltaPlain(vllm_config=vllm_config))\nself.decoder = self.language_model.model\n"
        "del self.language_model.model\nself.language_model.model = self.decoder",
        methods="def {setter}(self, layers):\n    self.decoder.aux_hidden_state_layers = layers\n\n"
        "def {getter}(self):\n    return (2, 4, 5)",
    ),
    "forwarding to one of two models, one of which is not known": Case(
        "unknown",
        before=f"{FORWARDING}\n\n\n{MADE}",
        bases="Forwarding, nn.Module",
        build='self.language_model = {"alpha": Inner}.get(config.text_config.model_type, BetaPlain)'
        "(vllm_config=vllm_config)",
        methods="",
        generation="0.16",
    ),
    "a class that does not declare keeps a method of a model that stays under another name": Case(
        "undeclared",
        bases="nn.Module",
        build="self.language_model = self.spare = AlphaPlain(vllm_config=vllm_config)\n"
        "self.{setter} = self.language_model.{setter}\n"
        "self.language_model = AlphaPlain(vllm_config=vllm_config)",
    ),
    "the decoder has another name, and its model goes and comes back under another": Case(
        "works",
        build="self.language_model = AlphaPlain(vllm_config=vllm_config)\nself.decoder = self.language_model.model\n"
        "kept = self.language_model\ndel self.language_model\nself.kept = kept\nself.language_model = kept",
    ),
    "the layers are kept where the wrapper has a sub-module": Case(
        "broken",
        build=Case.build + "\nself.layers = self.language_model.model.layers",
        methods="def {setter}(self, layers):\n    self.layers = layers\n    self.language_model.{setter}(layers)\n\n"
        "def {getter}(self):\n    return self.language_model.{getter}()",
    ),
    "a class method sets an attribute of a property, and the configuration chooses": Case(
        "broken",
        build="self.language_model = init_vllm_registered_model(vllm_config, hf_config=config.text_config)",
        methods="@property\ndef _decoder(self):\n    return self.language_model.model\n\n"
        "@classmethod\ndef {setter}(cls, layers):\n    cls._decoder.aux_hidden_state_layers = layers\n\n"
        "def {getter}(self):\n    return (2, 4, 5)",
    ),
    "a repair would hand methods on to what an heir builds without": Case(
        "undeclared",
        before=NESTED,
        bases="nn.Module",
        build="self.spare = Inner(vllm_config=vllm_config)\nself.language_model = self.spare",
        methods="def {setter}(self, layers):\n    self.language_model.model.aux_hidden_state_layers = layers\n\n"
        "def {getter}(self):\n    return self.language_model.{getter}()",
        after=BUILDS_ANEW.replace("OTHER", "DeltaPlain"),
    ),
    "one of two methods, of which the other raises": Case(
        "unknown",
        build=Case.build + "\nself.text_config = config.text_config",
        methods="def _give(self):\n    return (2, 4, 5)\n\ndef _refuse(self):\n    raise NotImplementedError\n\n"
        "def {setter}(self, layers):\n    self.language_model.{setter}(layers)\n\ndef {getter}(self):\n"
        "    give = self._give if self.text_config.model_type else self._refuse\n    return give()",
    ),
    "the inner model gives way to its decoder, and the flag denies": Case(
        "undeclared",
        build="self.model = AlphaPlain(vllm_config=vllm_config)\nself.model = self.model.model",
        methods="supports_eagle3 = False\n\n@property\ndef language_model(self):\n    return self.model\n\n"
        "def {setter}(self, layers):\n    self.model.{setter}(layers)\n\n"
        "def {getter}(self):\n    return self.model.{getter}()",
        generation="0.16",
        flag=True,
    ),
    "an object has a forward of its own, and its class a call that takes the first item": Case(
        "broken",
        build=Case.build + "\nself.forward = self._forward",
        methods=DELEGATION + "\ndef _forward(self, input_ids, positions, **kwargs):\n"
        "    return self.language_model(input_ids, positions)\n\n"
        "def __call__(self, *args, **kwargs):\n    out = super().__call__(*args, **kwargs)\n"
        "    return out[0] if isinstance(out, tuple) else out",
    ),
    "another model is built first, left on a condition, and the decoder goes and comes back": Case(
        "config-dependent",
        build="self.language_model = AlphaPlain(vllm_config=vllm_config)\n"
        "if config.text_config.model_type == 'beta':\n    del self.language_model\n"
        "    self.language_model = DeltaPlain(vllm_config=vllm_config)\n"
        "self.kept = self.language_model.model\ndel self.language_model.model\n"
        "self.language_model.model = self.kept",
        methods="",
        generation="0.33",
    ),
    "made by hand, of a class that may come from elsewhere": Case(
        "config-dependent",
        before="try:\n    from .missing_kernel import Fast as First\nexcept ImportError:\n"
        "    from .delta import DeltaForCausalLM as First",
        bases="nn.Module, SupportsMultiModal, SupportsEagle3",
        build="self.language_model = First.__new__(First)\nself.language_model.__init__(vllm_config=vllm_config)",
        methods="def {setter}(self, layers):\n    self.language_model.model.aux_hidden_state_layers = layers",
    ),
    "sub-modules are found by __getattr__, and the class has one of its own": Case(
        "broken",
        build="self.spare = Holder(vllm_config, AlphaPlain)\nself.language_model = self.spare.inner",
        methods="def __getattr__(self, name):\n    if name == 'language_model':\n"
        "        return super().__getattr__('spare.inner')\n    return super().__getattr__(name)",
        generation="0.16",
    ),
    "one of two decoders stands in the place of its model, and is the first child": Case(
        "config-dependent",
        bases="nn.Module, SupportsMultiModal, SupportsEagle3",
        build="architectures = ['DeltaForCausalLM']\nif config.text_config.model_type == 'beta':\n"
        "    architectures = ['AlphaForCausalLM']\n"
        "self.language_model = init_vllm_registered_model(vllm_config, architectures=architectures)\n"
        "self.language_model = self.language_model.model",
        methods="def {setter}(self, layers):\n    decoder = self.get_language_model()\n"
        "    assert isinstance(decoder, AlphaModel)\n    decoder.aux_hidden_state_layers = layers\n\n"
        "def {getter}(self):\n    return (2, 4, 5)",
    ),
    "an heir denies the flag that its base would be repaired to have": Case(
        "undeclared",
        bases="nn.Module",
        methods="",
        after="class Derived(Wrap):\n    supports_eagle3 = False",
        flag=True,
        of="Derived",
    ),
    "layers are counted that an unknown model may not have": Case(
        "unknown",
        before="class Other(nn.Module):\n    def __init__(self, *, vllm_config):\n        super().__init__()\n"
        "        self.decoder = DeltaModel(vllm_config=vllm_config)\n\n"
        "    def forward(self, input_ids, positions):\n        return self.decoder(input_ids, positions)\n\n"
        "    def compute_logits(self, hidden_states):\n        return hidden_states",
        build="self.language_model = (lambda: Other(vllm_config=vllm_config))()",
        methods="def {setter}(self, layers):\n    self.language_model.decoder.aux_hidden_state_layers = layers\n\n"
        "def {getter}(self):\n    return tuple(range(len(self.language_model.model.layers)))[2:5]",
    ),
    "methods of a chosen model are set on the object, and may be None": Case(
        "unknown",
        before="class OwnText(DeltaPlain):\n    {setter} = None",
        bases="nn.Module",
        build="self.language_model = initialize_model(vllm_config.with_hf_config(config.text_config))\n"
        "self.{setter} = self.language_model.{setter}\nself.{getter} = self.language_model.{getter}",
        methods="supports_eagle3 = True\nhas_own_lm_head = has_own_embed_tokens = False",
    ),
    "the layers are kept where a model that the configuration chose has left a sub-module": Case(
        "broken",
        build="self.language_model = init_vllm_registered_model(vllm_config, hf_config=config.text_config)\n"
        "self.layers = self.language_model.model.layers\ndel self.language_model\n"
        "self.language_model = BetaPlain(vllm_config=vllm_config)",
        methods="def {setter}(self, layers):\n    self.layers = layers\n    self.language_model.{setter}(layers)\n\n"
        "def {getter}(self):\n    return self.language_model.{getter}()",
    ),
}


@dataclass
class Judged:
    judgement: Judgement
    verdicts: dict[str, str]


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Judged]]:
    """All cases, each the only family of a tree."""
    found = {}
    with Ground(tmp_path_factory.mktemp("cases") / "ground") as ground:
        for name, case in CASES.items():
            program = program_of(case)
            ran = ground.analyse(program)
            verdicts = {m.cls.name: m.statuses[CONTRACT].verdict for m in ran.tree.models if "/fam0" in m.cls.path}
            found[name] = Judged(judge(ground, program), {k: str(v) for k, v in verdicts.items()})
    yield found


def program_of(case: Case) -> Program:
    head = HEAD.format(r=".", protocols=PROTOCOLS)
    rows = {"Fam0ForCausalLM": ("fam0", "Wrap")}
    for heir in re.findall(r"class (\w+)\(Wrap", case.after):
        rows[f"Fam0{heir}ForCausalLM"] = ("fam0", heir)
    if "class OwnText(" in case.before:
        rows["Fam0TextForCausalLM"] = ("fam0", "OwnText")
    family = Family("fam0", {"fam0.py": f"{head}\n\n{case.source()}"}, rows, head.strip("\n"))
    getter = GETTERS.get(case.generation, GETTER)
    assert case.generation in GENERATIONS
    check = CHECKS[1 if case.flag else 0]
    return Program(Interfaces(case.generation, SETTER, getter, "", check, "", ()), [family])


@pytest.mark.parametrize("name", CASES)
def test_the_verdict_of_a_case_and_what_python_does(name: str, judged: dict[str, Judged]) -> None:
    found = judged[name]
    assert not found.judgement.wrong, found.judgement.told()
    assert found.judgement.counts["runs"] > found.judgement.counts["not built"]
    assert found.verdicts[CASES[name].of] == CASES[name].verdict
