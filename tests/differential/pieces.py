"""The ways in which model files are written, as templates: random trees are put together from these.

Every table is one string, its rows divided by a line of three dashes.  ``{at}`` is the attribute of the inner model,
``{a}`` and ``{b}`` are names of text models in the file, ``{setter}`` and ``{getter}`` the contract's methods,
``{r}`` the dots that lead to the model folder, ``{n}`` the name to bind.  The first row is the plainest: examples
shrink towards it.
"""

from __future__ import annotations

NAMES = """
from {r}{m} import {M}ForCausalLM as {n}
---
from {r}{m} import {M}ForCausalLM

{n} = {M}ForCausalLM
---
from {R} import {m} as {n}_home

{n} = {n}_home.{M}ForCausalLM
---
import vllm.model_executor.models.{m} as {n}_module

{n} = {n}_module.{M}ForCausalLM
---
from vllm.model_executor.models import {m} as {n}_there

{n}: type = {n}_there.{M}ForCausalLM
---
if TYPE_CHECKING:
    from {r}{o} import {O}ForCausalLM as {n}
else:
    from {r}{m} import {M}ForCausalLM as {n}
---
if not TYPE_CHECKING:
    from {r}{m} import {M}ForCausalLM as {n}
---
try:
    from {r}missing_kernel import Fast as {n}
except ImportError:
    from {r}{m} import {M}ForCausalLM as {n}
---
try:
    from {r}{m} import {M}ForCausalLM as {n}
except ImportError:
    from {r}{o} import {O}ForCausalLM as {n}
---
try:
    from {r}{m} import {M}ForCausalLM as {n}
except ImportError:
    {n} = None
---
if current_platform.is_rocm():
    from {r}{o} import {O}ForCausalLM as {n}
else:
    from {r}{m} import {M}ForCausalLM as {n}
---
if current_platform.is_rocm():
    {n}_base = {O}Plain
else:
    {n}_base = {M}Plain


class {n}({n}_base):
    pass
---
from {r}{m} import {M}ForCausalLM as {n}


class {n}({n}):
    pass
---
{n} = {{"inner": {M}Plain}}["inner"]
---
{n}, {n}_other = {M}Plain, {O}Plain
---
{n} = {M}Plain if sys.version_info >= (3, 9) else {O}Plain
---
if sys.version_info >= (3, 9):
    {n} = {M}Plain
else:
    {n} = {O}Plain
---
{n} = {n}_alias = {M}Plain
---
{n} = {O}Plain
{n} = {M}Plain
---
def _{n}():
    return {M}Plain


{n} = _{n}()
---
class {n}({M}Plain):
    def forward(self, *args, **kwargs):
        return super().forward(*args, **kwargs)
---
{n} = type("{n}", ({M}Plain,), {{}})
"""

BUILDS = """
self.{at} = {a}(vllm_config=vllm_config, prefix=prefix)
---
self.{at} = init_vllm_registered_model(vllm_config, architectures=["{A}ForCausalLM"])
---
self.{at}: nn.Module = init_vllm_registered_model(
    vllm_config=vllm_config, hf_config=config.text_config, architectures=["{A}ForCausalLM"]
)
---
architectures = ["{A}ForCausalLM"]
inner = init_vllm_registered_model(vllm_config, architectures=architectures)
self.{at} = inner
---
if config.text_config.model_type == "beta":
    architectures = ["{A}ForCausalLM"]
else:
    architectures = ["{B}ForCausalLM"]
self.{at} = init_vllm_registered_model(vllm_config, architectures=architectures)
---
self.{at} = init_vllm_registered_model(vllm_config, hf_config=config.text_config)
---
self.{at} = init_vllm_registered_model(
    vllm_config, hf_config=config.text_config, architectures=config.text_config.architectures
)
---
text = config.text_config
inner_config = vllm_config.with_hf_config(text, architectures=text.architectures)
self.{at} = init_vllm_registered_model(inner_config)
---
inner_config = vllm_config.with_hf_config(config.text_config, architectures=["{A}ForCausalLM"])
self.{at} = init_vllm_registered_model(vllm_config=inner_config, prefix=maybe_prefix(prefix, "{at}"))
---
self.{at} = initialize_model(vllm_config=vllm_config, model_class={a})
---
self.{at} = initialize_model(vllm_config.with_hf_config(config.text_config), prefix=prefix)
---
self.{at} = self._make(vllm_config, {a})
---
self.{at} = self.inner_cls(vllm_config=vllm_config)
---
self.{at} = type(self).inner_cls(vllm_config=vllm_config)
---
self.{at} = self._build(vllm_config)
---
self.{at} = _build_inner(vllm_config, {a})
---
table = {{"alpha": {a}, "beta": {b}}}
self.{at} = table.get(config.text_config.model_type, {a})(vllm_config=vllm_config)
---
cls = {a} if config.text_config.model_type == "delta" else {b}
self.{at} = cls(vllm_config=vllm_config)
---
match config.text_config.model_type:
    case "alpha":
        self.{at} = {a}(vllm_config=vllm_config)
    case _:
        self.{at} = {b}(vllm_config=vllm_config)
---
if current_platform.is_rocm():
    self.{at} = {b}(vllm_config=vllm_config)
else:
    self.{at} = {a}(vllm_config=vllm_config)
---
setattr(self, "{at}", {a}(vllm_config=vllm_config))
---
self.add_module("{at}", {a}(vllm_config=vllm_config))
---
self.register_module("{at}", {a}(vllm_config=vllm_config))
---
self.{at} = partial({a}, vllm_config=vllm_config)()
---
self.{at} = (lambda: {a}(vllm_config=vllm_config))()
---
self.{at}, self.extra = {a}(vllm_config=vllm_config), 1
---
self.{at} = self.spare = {a}(vllm_config=vllm_config)
---
self.{at} = None
for cls in ({a},):
    self.{at} = cls(vllm_config=vllm_config)
---
try:
    self.{at} = {a}(vllm_config=vllm_config)
except ValueError:
    self.{at} = {b}(vllm_config=vllm_config)
---
self.{at} = {b}(vllm_config=vllm_config)
self.{at} = {a}(vllm_config=vllm_config)
---
if (made := {a}(vllm_config=vllm_config)) is not None:
    self.{at} = made
---
def build():
    return {a}(vllm_config=vllm_config)

self.{at} = build()
---
options = dict(vllm_config=vllm_config, prefix=prefix)
self.{at} = {a}(**options)
---
from {r}delta import DeltaForCausalLM as Local

self.{at} = Local(vllm_config=vllm_config)
---
self.{at} = {a}.__new__({a})
self.{at}.__init__(vllm_config=vllm_config)
---
self.{at} = [{a}, {b}][0](vllm_config=vllm_config)
---
self.{at} = next(cls(vllm_config=vllm_config) for cls in ({a}, {b}))
---
self.{at} = {b}(vllm_config=vllm_config)
del self.{at}
self.{at} = {a}(vllm_config=vllm_config)
---
self.{at} = {a}(vllm_config=vllm_config)
if config.text_config.model_type == "beta":
    del self.{at}
    self.{at} = {b}(vllm_config=vllm_config)
"""

NESTED = """
self.{holder} = Holder(vllm_config, {a})
---
self.{holder} = Holder(vllm_config=vllm_config, cls={a}, prefix=prefix)
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
---
raise NotImplementedError
--
raise NotImplementedError("not yet")
---
self._holder().aux_hidden_state_layers = layers
--
return self._default_layers
---
self._decoder.aux_hidden_state_layers = layers
--
return tuple(n for n in (2, 4, 5))
---
try:
    self.{at}.{setter}(layers)
except AttributeError:
    self.{at}.model.aux_hidden_state_layers = layers
--
try:
    return self.{at}.{getter}()
except AttributeError:
    return (2, 4, 5)
---
setattr(self.{at}.model, "aux_hidden_state_layers", layers)
--
return tuple(sorted({{2, 4, 5}}))
---
model = self.{at}
if getattr(model, "model", None) is not None:
    model = model.model
model.aux_hidden_state_layers = layers
--
return (2, 4, 5) if layers_known else None
---
SupportsEagle3.{setter}(self, layers)
--
return SupportsEagle3.{getter}(self)
---
inner = getattr(self, "{at}", None)
if inner is None:
    return
inner.{setter}(layers=layers)
--
inner = getattr(self, "{at}", None)
return None if inner is None else inner.{getter}()
---
self.{at}.{setter}
--
self.{at}.{getter}()
---
self.{at}.{setter}(layers) if layers else None
--
return list(self.{at}.{getter}())
---
return self.{at}.{setter}(layers)
--
layers = self.{at}.{getter}()
return layers
---
self.layers = layers
self.{at}.{setter}(self.layers)
--
self.wanted = self.{at}.{getter}()
return self.wanted
---
type(self.{at}).{setter}(self.{at}, layers)
--
return type(self.{at}).{getter}(self.{at})
---
self.wanted = layers
self.{at}.{setter}(self.wanted)
del self.wanted
--
self.wanted = self.{at}.{getter}()
wanted = self.wanted
del self.wanted
return wanted
"""

# How a method stands in its class; ``{name}`` and ``{body}`` and ``{args}`` (", layers" or nothing).
STANDINGS = """
def {name}(self{args}):
    {body}
---
def {name}(self{args}, *, verbose=False):
    {body}
---
@passing
def {name}(self{args}):
    {body}
---
@torch.inference_mode()
def {name}(self{args}):
    {body}
---
def _own_{name}(self{args}):
    {body}

{name} = _own_{name}
---
@property
def {name}(self):
    def handed({bare}):
        {deep}
    return handed
---
if TYPE_CHECKING:
    def {name}(self{args}): ...
else:
    def {name}(self{args}):
        {deep}
---
def {name}(self{args}, extra):
    {body}
---
def {name}(self, *args):
    ({bare}) = args[0] if args else None
    {body}
---
@classmethod
def {name}(self{args}):
    {body}
---
@staticmethod
def {name}({bare}):
    self = None
    {body}
---
async def {name}(self{args}):
    {body}
---
{name} = None
---
{name} = lambda self{args}: self.language_model.{name}({bare})
---
@override
def {name}(self{args}):
    {body}
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
---
self.get_language_model()(input_ids, positions)
---
self.{at}.__call__(input_ids, positions)
---
self._holder()(input_ids, positions)
---
self.{at}(*(input_ids, positions), **dict(kwargs))
---
getattr(self, "{at}")(input_ids, positions)
---
(lambda *args: self.{at}(*args))(input_ids, positions)
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
---
out = {call}
match out:
    case (hidden_states, aux_hidden_states):
        return hidden_states, aux_hidden_states
return out
---
out = {call}
match out:
    case (hidden_states, _):
        return hidden_states
    case _:
        return out
---
out = {call}
if isinstance(out, IntermediateTensors):
    return out
return out
---
out = {call}
if not isinstance(out, tuple):
    return out
hidden_states, aux_hidden_states = out
return hidden_states, [state * 1.0 for state in aux_hidden_states]
---
def run():
    return {call}

return run()
---
outs = [{call}]
return outs[0]
---
outs = [{call} for _ in range(1)]
return outs[-1]
---
self.last = {call}
return self.last
---
out = {call}
return tuple(out) if isinstance(out, tuple) else out
---
out = {call}
hidden_states = out if not isinstance(out, tuple) else out[0]
return hidden_states
---
out = {call}
if self.training:
    return out
return out
---
out = {call}
if type(out) is tuple:
    return out[0], out[1]
return out
---
out = {call}
if len(out) == 2:
    return out
return out[0]
---
with nullcontext():
    return {call}
---
for _ in range(1):
    out = {call}
return out
---
out = {call}
return out or 0.0
---
out = {call}
return cast("float", out)
---
out = {call}
return (*out,) if isinstance(out, tuple) else out
---
hidden_states = {call}
hidden_states += 1.0
return hidden_states
---
out = {call}
del input_ids
return out if out is not None else 0.0
"""

FINISHES = """
return out
---
return out * 2.0
---
return out[0]
---
if isinstance(out, tuple):
    return out[0] + 0.0, out[1]
return out + 0.0
---
pass
"""

ANNOUNCEMENTS = """
return self.{at}
---
return self.{at}.model
---
return self
---
return super().get_language_model()
---
raise NotImplementedError
---
return self.get_submodule("{at}")
---
return cast(nn.Module, self.{at})
"""

MIXINS = """
class {n}:
    def {setter}(self, layers):
        self.language_model.{setter}(layers)

    def {getter}(self):
        return self.language_model.{getter}()
---
class {n}:
    def {setter}(self, layers):
        super().{setter}(layers)

    def {getter}(self):
        return super().{getter}()
---
class {n}(SupportsEagle3):
    pass
---
class {n}(SupportsEagle3):
    def {setter}(self, layers):
        self.language_model.model.aux_hidden_state_layers = layers

    def {getter}(self):
        return (2, 4, 5)
---
class {n}(nn.Module):
    supports_eagle3 = True
    has_own_lm_head = has_own_embed_tokens = False

    def {setter}(self, layers):
        self.language_model.{setter}(layers)

    def {getter}(self):
        return self.language_model.{getter}()
---
class {n}(SupportsEagle3, Protocol):
    pass
---
class {n}(Generic[T]):
    def {getter}(self):
        return (2, 4, 5)
---
class {n}:
    def __getattr__(self, name):
        try:
            return super().__getattr__(name)
        except AttributeError:
            if name in ("language_model", "model"):
                raise
            return getattr(self.language_model, name)
---
class {n}:
    def get_language_model(self):
        return self.language_model

    def forward(self, input_ids, positions, **kwargs):
        return self.language_model(input_ids, positions)
---
class {n}(ABC):
    supports_eagle3 = False
    has_own_lm_head: bool
    has_own_embed_tokens: bool
"""

HOOKS = """
def __getattr__(self, name):
    try:
        return super().__getattr__(name)
    except AttributeError:
        if name == "{at}":
            raise
        return getattr(self.{at}, name)
---
def __getattr__(self, name):
    if name == "language_model":
        return super().__getattr__("{at}")
    return super().__getattr__(name)
---
def __getattribute__(self, name):
    return super().__getattribute__(name)
---
def __call__(self, *args, **kwargs):
    return self.forward(*args, **kwargs)
---
def __call__(self, *args, **kwargs):
    out = super().__call__(*args, **kwargs)
    return out[0] if isinstance(out, tuple) else out
---
def __init_subclass__(cls, **kwargs):
    super().__init_subclass__(**kwargs)
---
def __setattr__(self, name, value):
    super().__setattr__(name, value)
"""

IN_INIT = """
self.model = self.{at}.model
---
self.language_model = self.{at}
---
self.{setter} = self.{at}.{setter}
self.{getter} = self.{at}.{getter}
---
self.supports_eagle3 = False
---
self.has_own_lm_head = self.has_own_embed_tokens = True
self.supports_eagle3 = True
---
self.layers = self.{at}.model.layers
---
self.forward = self._forward
---
self.{getter} = lambda: (2, 4, 5)
---
if hasattr(self.{at}, "make_empty_intermediate_tensors"):
    self.make_empty_intermediate_tensors = self.{at}.make_empty_intermediate_tensors
---
self.tower = nn.Identity()
---
self.drafts = nn.ModuleList([nn.Identity()])
---
self.{at}.eval()
---
self.spare = self.{at}
del self.{at}
self.{at} = self.spare
---
kept = self.{at}
del self.{at}
self.add_module("kept", kept)
self.{at} = kept
---
self.{setter} = self.{at}.{setter}
self.{at} = {a}(vllm_config=vllm_config)
---
self.{setter} = None
del self.{setter}
---
self.decoder_of = self.{at}.model
del self.{at}.model
self.{at}.model = self.decoder_of
---
self.drop = self.{at}.model
del self.{at}.model
"""

FLAGS = """
supports_eagle3 = True
has_own_lm_head = has_own_embed_tokens = False
---
supports_eagle3 = False
---
has_own_lm_head: bool
---
supports_eagle3 = None
---
supports_pp = True
---
is_hybrid = True
"""

AFTER = """
{w}.inner_cls = {b}
---
{w}.supports_eagle3 = True
{w}.has_own_lm_head = {w}.has_own_embed_tokens = False
---
setattr({w}, "supports_eagle3", False)
---
def _set_layers(self, layers):
    self.{at}.{setter}(layers)


def _get_layers(self):
    return self.{at}.{getter}()


{w}.{setter} = _set_layers
{w}.{getter} = _get_layers
---
{w}._finish = lambda self, out: out[0]
---
{w}.{getter} = lambda self: (2, 4, 5)
"""

DERIVED = """
pass
---
inner_cls = {b}
---
def _make(self, vllm_config, cls):
    return {b}(vllm_config=vllm_config)
---
def _build(self, vllm_config):
    return {b}(vllm_config=vllm_config)
---
def __init__(self, *, vllm_config, prefix=""):
    super().__init__(vllm_config=vllm_config, prefix=prefix)
    self.{at} = {b}(vllm_config=vllm_config)
---
def __init__(self, *, vllm_config, prefix=""):
    nn.Module.__init__(self)
    self.{at} = {b}(vllm_config=vllm_config)
---
def __init__(self, *, vllm_config, prefix=""):
    super().__init__(vllm_config=vllm_config, prefix=prefix)
    del self.{at}
    self.{at} = {b}(vllm_config=vllm_config)
---
def forward(self, input_ids, positions, **kwargs):
    return super().forward(input_ids, positions, **kwargs)
---
def forward(self, input_ids, positions, **kwargs):
    return super().forward(input_ids, positions, **kwargs) * 2.0
---
def forward(self, *args, **kwargs):
    out = super().forward(*args, **kwargs)
    return out[0] if isinstance(out, tuple) else out
---
def {setter}(self, layers):
    super().{setter}(layers)

def {getter}(self):
    return super().{getter}()
---
def {setter}(self, layers):
    self.{at}.{setter}(layers)
---
def {getter}(self):
    return (1, 2, 3)
---
def _finish(self, out):
    return out[0] if isinstance(out, tuple) else out
---
def get_language_model(self):
    return self.{at}
---
supports_eagle3 = False
---
{setter} = None
---
def compute_logits(self, hidden_states):
    return super().compute_logits(hidden_states)
"""

TEXTS = """
class {n}(AlphaPlain):
    pass
---
class {n}Model(DeltaModel):
    def forward(self, input_ids, positions, intermediate_tensors=None, inputs_embeds=None):
        hidden_states = self.embed_input_ids(input_ids) if inputs_embeds is None else inputs_embeds
        for layer in self.layers:
            hidden_states = layer(hidden_states)
        return hidden_states


class {n}(DeltaPlain):
    model_cls = {n}Model
---
class {n}(nn.Module, SupportsEagle3):
    def __init__(self, *, vllm_config, prefix=""):
        super().__init__()
        self.transformer = AlphaModel(vllm_config=vllm_config, prefix=prefix)

    def {setter}(self, layers):
        self.transformer.aux_hidden_state_layers = layers

    def {getter}(self):
        return (2, 4, 5)

    def embed_input_ids(self, input_ids):
        return self.transformer.embed_input_ids(input_ids)

    def forward(self, input_ids, positions, intermediate_tensors=None, inputs_embeds=None):
        return self.transformer(input_ids, positions, inputs_embeds=inputs_embeds)

    def compute_logits(self, hidden_states):
        return hidden_states
---
class {n}(BetaPlain, SupportsEagle3):
    pass
---
class {n}(BetaPlain, SupportsEagle3):
    def {setter}(self, layers):
        self.model.aux_hidden_state_layers = layers

    def {getter}(self):
        return (2, 4, 5)
---
class {n}(AlphaPlain):
    def forward(self, input_ids, positions, intermediate_tensors=None, inputs_embeds=None):
        out = super().forward(input_ids, positions, intermediate_tensors, inputs_embeds)
        return out[0] if isinstance(out, tuple) else out
---
class {n}(DeltaPlain):
    supports_eagle3 = False
---
class {n}(nn.Module):
    def __init__(self, *, vllm_config, prefix=""):
        super().__init__()
        self.model = AlphaModel(vllm_config=vllm_config, prefix=prefix)

    def embed_input_ids(self, input_ids):
        return self.model.embed_input_ids(input_ids)

    def forward(self, input_ids, positions, intermediate_tensors=None, inputs_embeds=None):
        return self.model(input_ids, positions, intermediate_tensors, inputs_embeds)

    def compute_logits(self, hidden_states):
        return hidden_states
---
class {n}(DeltaPlain):
    def __init__(self, *, vllm_config, prefix=""):
        super().__init__(vllm_config=vllm_config, prefix=prefix)
        self.model = AlphaModel(vllm_config=vllm_config, prefix=prefix)
---
class {n}(AlphaPlain):
    def _init_model(self, vllm_config, prefix=""):
        return BetaModel(vllm_config=vllm_config, prefix=prefix)
---
class {n}Model(DeltaModel):
    def forward(self, *args, **kwargs):
        return super().forward(*args, **kwargs)


class {n}(DeltaPlain):
    model_cls = {n}Model
---
class {n}Model(DeltaModel):
    def __init__(self, *, vllm_config, prefix=""):
        super().__init__(vllm_config=vllm_config, prefix=prefix)
        self.norm = nn.Identity()

    def forward(self, input_ids, positions, intermediate_tensors=None, inputs_embeds=None):
        hidden_states = self.embed_input_ids(input_ids) if inputs_embeds is None else inputs_embeds
        kept = [hidden_states for _ in self.aux_hidden_state_layers]
        return (hidden_states, kept) if kept else hidden_states


class {n}(DeltaPlain):
    model_cls = {n}Model
---
class {n}(DeltaModel, SupportsEagle3):
    def {setter}(self, layers):
        self.aux_hidden_state_layers = layers

    def {getter}(self):
        return (2, 4, 5)

    def compute_logits(self, hidden_states):
        return hidden_states
---
class {n}(DeltaPlain):
    {setter} = None
---
class {n}Decoder(DeltaModel):
    pass


class {n}Wrapped(nn.Module):
    def __init__(self, vllm_config):
        super().__init__()
        self.decoder = {n}Decoder(vllm_config=vllm_config)

    def forward(self, input_ids, positions, **kwargs):
        return self.decoder(input_ids, positions, **kwargs)


class {n}(nn.Module, SupportsEagle3):
    def __init__(self, *, vllm_config, prefix=""):
        super().__init__()
        self.model = {n}Wrapped(vllm_config)

    def {setter}(self, layers):
        self.model.decoder.aux_hidden_state_layers = layers

    def {getter}(self):
        return (2, 4, 5)

    def embed_input_ids(self, input_ids):
        return self.model.decoder.embed_input_ids(input_ids)

    def forward(self, input_ids, positions, intermediate_tensors=None, inputs_embeds=None):
        return self.model(input_ids, positions, inputs_embeds=inputs_embeds)

    def compute_logits(self, hidden_states):
        return hidden_states
"""


def rows(table: str) -> list[str]:
    """The rows of a table."""
    return [row.strip("\n") for row in table.split("\n---\n")]
