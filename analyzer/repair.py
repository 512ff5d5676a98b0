"""What a repair would be, as data: which base, import and methods, and whether it is safe to apply unasked.

A repair is *safe* only when every possible inner model supports the contract and nothing behind the check then
fails silently.  Upstream's own repairs are the model: a bare base where the contract's default reaches the
decoder, explicit delegation where it does not, a guard that names both classes where the configuration decides.
"""

from __future__ import annotations

from dataclasses import replace

from analyzer import members
from analyzer.audit import Audit
from analyzer.chains import Chain, Handing, MethodResult, configures
from analyzer.contracts import Contract
from analyzer.facts import AttributeFacts
from analyzer.findings import AddBase, AddImport, AddMethods, Edit, Fix, ReplaceMethod
from analyzer.index import ClassInfo, Target, linear
from analyzer.models import Alternative, Model, Status
from analyzer.mro import NoLinearisation, linearise
from analyzer.values import Instance


def declare(audit: Audit, owner: ClassInfo, models: list[Model], status: Status) -> Fix:
    """The repair of a wrapper that does not declare what its inner model supports.

    Args:
        audit: what was read.
        owner: the class that builds the inner model and gets the base.
        models: the models that it repairs, ``owner`` first where it is one itself.
        status: how the first of them stands to the contract.
    """
    contract = status.contract
    possible = [a for m in models for a in audit.status(m, contract).alternatives]
    status = replace(status, alternatives=possible)  # the repair has to serve every class that inherits it
    supported = [a for a in status.alternatives if a.supported]
    blocked = _blocked(audit, supported)
    if blocked:
        return Fix("none", f"declaring {contract.name} here would only move the failure: {blocked}")
    assigned = _assigned(contract, owner) or _denied(audit, contract, owner)
    if assigned:
        return Fix("none", assigned)
    position = base_position(audit, owner, contract.cls)
    if position is None:
        return Fix("none", f"adding {contract.name} to the bases of {owner.name} has no consistent order")
    guarded = status.config_decides or len(supported) < len(status.alternatives)
    bare = not guarded and all(_default_reaches(a) for a in supported)
    edits: list[Edit] = [
        AddBase(owner.path, owner.facts.qualname, contract.name, position),
        AddImport(owner.path, contract.cls.module.module, contract.name),
    ]
    what = f"add {contract.name} to the bases of {owner.name}"
    if not bare:
        attribute = supported[0].inner.attribute if supported[0].inner is not None else ""
        if disturbed := _disturbed(audit, owner, models, contract, attribute):
            return Fix("none", f"{disturbed} inherits from {owner.name} and would get the methods too")
        edits += delegation(contract, owner, attribute, guarded=guarded)
        what += f" and delegate its methods to self.{attribute}"
    why = _why_unsafe(audit, owner, models, status, supported)
    return Fix("unsafe" if why else "safe", what, tuple(edits), why)


def delegate(audit: Audit, owner: ClassInfo, models: list[Model], status: Status) -> Fix:
    """The repair of a class that passes the check with methods that do not do their work: hand them on.

    Args:
        audit: what was read.
        owner: the class that gets the methods.
        models: the models that it repairs.
        status: how the first of them stands to the contract.
    """
    contract = status.contract
    possible = [a for m in models for a in audit.status(m, contract).alternatives]
    status = replace(status, alternatives=possible)
    supported = [a for a in possible if a.supported and a.inner is not None]
    attributes = list(dict.fromkeys(a.inner.attribute for a in supported if a.inner is not None))
    if not attributes:
        return Fix("none", "no inner model to hand the methods on to was found")
    if assigned := _assigned(contract, owner):
        return Fix("none", assigned)
    blocked = _blocked(audit, supported)
    if blocked:
        return Fix("none", f"delegating would only move the failure: {blocked}")
    if len(attributes) > 1:
        return Fix("none", f"the inner model stands at {' or '.join(f'self.{name}' for name in attributes)}")
    disturbed = _disturbed(audit, owner, models, contract, attributes[0])
    if disturbed:
        return Fix("none", f"{disturbed} inherits from {owner.name} and would get the methods too")
    if stays := _stays(audit, owner, models, contract):
        return Fix("none", f"{stays} would still be the effective one")
    guarded = status.config_decides or len(supported) < len(possible)
    edits = delegation(contract, owner, attributes[0], guarded=guarded)
    why = _why_unsafe(audit, owner, models, status, supported)
    what = f"delegate the methods of {contract.name} to self.{attributes[0]}"
    return Fix("unsafe" if why else "safe", what, edits, why)


def _blocked(audit: Audit, supported: list[Alternative]) -> str:
    """Why the feature would still not work after the repair, whatever the configuration; empty if it would."""
    reasons = []
    for alternative in supported:
        own = alternative.own
        handing = handed_on(audit, alternative)
        if own is not None and own.reaches is False:
            broken = own.broken
            reasons.append(f"{own.root.cls.name}.{broken.method.name if broken else ''} does not work itself")
        elif own is not None and own.capture is not None and own.capture.ok is False:
            reasons.append(own.capture.detail)
        elif own is not None and own.handing is not None and own.handing.ok is False:
            reasons.append(own.handing.detail)
        elif handing is not None and handing.ok is False:
            reasons.append(handing.detail)
        else:
            return ""
    return reasons[0] if reasons else ""


def handed_on(audit: Audit, alternative: Alternative) -> Handing | None:
    """Whether the wrapper's forward returns the result of the decoder that the inner model's own method reaches."""
    own, inner = alternative.own, alternative.inner
    if own is None or own.holder is None or inner is None:
        return alternative.repaired.handing
    trail = (*inner.attribute.split("."), *own.holder.trail)
    watched = Instance(own.holder.cls, own.holder.site, own.holder.arguments, template=own.holder, trail=trail)
    part = own.capture.part if own.capture is not None else 1
    return audit.model_set.follower.hands_on(alternative.repaired.root, watched, part)


def _default_reaches(alternative: Alternative) -> bool:
    repaired, own = alternative.repaired, alternative.own
    if repaired.reaches is not True or repaired.holder is None:
        return False
    return own is None or own.holder is None or own.holder.cls is repaired.holder.cls


def _why_unsafe(
    audit: Audit, owner: ClassInfo, models: list[Model], status: Status, supported: list[Alternative]
) -> str:
    contract = status.contract
    if status.config_decides:
        reason = next(a.inner.reason for a in status.alternatives if a.inner and a.inner.resolution == "config")
        return f"{reason}, and not every model that it can choose supports {contract.name}"
    if len(supported) < len(status.alternatives):
        lacking = [a.cls.name if a.cls else "an unknown model" for a in status.alternatives if not a.supported]
        names = ", ".join(dict.fromkeys(lacking))
        return f"of the possible inner models, {names} does not support {contract.name}"
    for alternative in (a for m in models for a in audit.status(m, contract).alternatives if a.supported):
        own = alternative.own
        if own is not None and own.ok is not True:
            return f"part of the inner model's own chain could not be followed ({_unknown_part(own)})"
        handing = handed_on(audit, alternative)
        if handing is None or handing.ok is not True:
            return handing.detail if handing is not None else "the wrapper's forward could not be followed"
    return _overridden(audit, owner, models, contract) or _overclaims(audit, owner, models, contract)


def _overridden(audit: Audit, owner: ClassInfo, models: list[Model], contract: Contract) -> str:
    """A method that is not known to work and stays before what ``owner`` gets, a subclass's say; empty if none."""
    for model in models:
        above = model.cls.own_mro
        chains = [a.outer for a in audit.status(model, contract).alternatives]
        for method in contract.methods:
            works = all(_leads_home(chain, m) for chain in chains for m in chain.methods if m.method is method)
            if not works and any(method.name in chain.root.attrs for chain in chains):
                return f"{model.cls.name} sets a {method.name} on its objects, which is not known to work"
            member = members.class_member(model.cls, method.name)
            if member is None or owner not in above or above.index(member[0]) >= above.index(owner):
                continue
            if isinstance(member[1], AttributeFacts) or not works:
                return f"{model.cls.name} has a {method.name} of its own, which is not known to work"
    return ""


def _leads_home(chain: Chain, result: MethodResult) -> bool:
    """Whether a method does its work, and on the decoder whose result comes back."""
    if not result.stores:
        return result.ok is True
    return bool(chain.capture is not None and chain.capture.ok and chain.handing is not None and chain.handing.ok)


def _unknown_part(chain: Chain) -> str:
    for result in chain.methods:
        if result.ok is None:
            return result.reason
    for part in (chain.capture, chain.handing):
        if part is not None and part.ok is None:
            return part.detail
    return chain.root.cls.name


def _overclaims(audit: Audit, owner: ClassInfo, models: list[Model], contract: Contract) -> str:
    """A subclass that would inherit the claim although its own inner model cannot honour it."""
    for heir in audit.heirs(owner):
        status = audit.status(heir, contract)
        if heir in models or status.satisfied or not heir.serves or not heir.inner:
            continue
        if not any(a.supported for a in status.alternatives):
            return f"{heir.cls.name} inherits from {owner.name} and would claim what its own inner model lacks"
    return ""


def _assigned(contract: Contract, owner: ClassInfo) -> str:
    """Why methods put into a class would be no repair: it assigns one of the names; empty if it does not."""
    names = [m.name for m in contract.methods if m.name in owner.facts.attributes]
    return f"{owner.name} assigns {names[0]}: what that should be is for its author" if names else ""


def _denied(audit: Audit, contract: Contract, owner: ClassInfo) -> str:
    """Why the base would be no repair: the class denies a flag that the checker reads; empty if it does not."""
    name = audit.denied(owner, contract) if contract.check == "flag" else ""
    return f"{owner.name} denies {name}: whether that is meant is for its author" if name else ""


def _disturbed(audit: Audit, owner: ClassInfo, models: list[Model], contract: Contract, attribute: str) -> str:
    """A class that may work today and whose own inner model new methods in ``owner`` would miss; empty if none."""
    for heir in audit.deriving(owner):
        if heir in models or not heir.serves:
            continue
        for alternative in audit.status(heir, contract).alternatives:
            if alternative.outer.ok is False or not _gets(heir.cls, owner, alternative.outer):
                continue
            inner, own = alternative.inner, alternative.own
            if inner is None or inner.attribute != attribute or own is None or own.ok is not True:
                return heir.cls.name
    return ""


def _stays(audit: Audit, owner: ClassInfo, models: list[Model], contract: Contract) -> str:
    """A method that fails and that one put into ``owner`` would not replace; empty if there is none."""
    for model in models:
        order = model.cls.own_mro
        for chain in (a.outer for a in audit.status(model, contract).alternatives):
            for result in chain.methods:
                if result.ok is not False and not (result.stores and chain.lost):
                    continue
                if result.method.name in chain.root.attrs:
                    return f"the {result.method.name} that {model.cls.name} sets on its objects"
                if result.owner in order and order.index(result.owner) < order.index(owner):
                    return f"{result.owner.name}.{result.method.name}"
    return ""


def _gets(heir: ClassInfo, owner: ClassInfo, chain: Chain) -> bool:
    """Whether a method put into ``owner`` would be the effective one of ``heir``."""
    order = heir.own_mro
    return any(m.owner not in order or order.index(m.owner) >= order.index(owner) for m in chain.methods if m.owner)


def declare_model(audit: Audit, model: Model, status: Status) -> Fix:
    """The repair of a model whose own decoder captures and whose class does not declare the contract.

    Args:
        audit: what was read.
        model: the model.
        status: how it stands to the contract.
    """
    contract = status.contract
    cls = audit.owner(model) if model.wraps_decoder else model.cls
    if why := barred(audit, contract, cls):
        return Fix("none", why)
    chain = status.alternatives[0].repaired
    if chain.handing is not None and chain.handing.ok is False:
        return Fix("none", f"declaring it would only move the failure: {chain.handing.detail}")
    position = base_position(audit, cls, contract.cls)
    if position is None:
        return Fix("none", f"adding {contract.name} to the bases of {cls.name} has no consistent order")
    edits: list[Edit] = [
        AddBase(cls.path, cls.facts.qualname, contract.name, position),
        AddImport(cls.path, contract.cls.module.module, contract.name),
    ]
    what = f"add {contract.name} to the bases of {cls.name}"
    if chain.reaches is not True:
        trail = chain.holder.trail if chain.holder is not None else ()
        methods = own_methods(contract, trail, chain.attribute) if trail else ()
        made = tuple(source for name, source in methods if name not in cls.facts.methods)
        if not made:
            return Fix("none", f"the contract's default does not reach {chain.attribute}")
        edits.append(AddMethods(cls.path, cls.facts.qualname, made, ("compute_logits", "forward", "__init__")))
        what += " and its methods"
    why = "" if chain.handing is not None and chain.handing.ok else "forward could not be followed to the end"
    if not why and model.wraps_decoder:
        why = "consumers that share the target's embeddings look for them in a language model, here is a bare decoder"
    return Fix("unsafe" if why else "safe", what, tuple(edits), why)


def barred(audit: Audit, contract: Contract, cls: ClassInfo) -> str:
    """Why the base would be no repair of a class: its own body says otherwise; empty if it does not."""
    return _assigned(contract, cls) or _denied(audit, contract, cls)


def own_methods(contract: Contract, trail: tuple[str, ...], attribute: str) -> tuple[tuple[str, str], ...]:
    """Name and source of the methods as vLLM's own text models write them: the layers are set on the decoder.

    Args:
        contract: whose methods.
        trail: the path from the model to the decoder.
        attribute: where the decoder keeps the layers.
    """
    decoder = ".".join(("self", *trail))
    sources = []
    for method in contract.methods:
        if configures(method):
            given = method.facts.parameters[1].name
            source = f"def {method.name}{method.signature}:\n    {decoder}.{attribute} = {given}\n"
        else:
            source = (
                f"def {method.name}{method.signature}:\n"
                f"    num_layers = len({decoder}.layers)\n"
                "    return (2, num_layers // 2, num_layers - 3)\n"
            )
        sources.append((method.name, source))
    return tuple(sources)


# -- the pieces of an edit -------------------------------------------------------------------------


def base_position(audit: Audit, owner: ClassInfo, base: ClassInfo) -> int | None:
    """The index among the bases where a new one keeps every linearisation valid; None where there is none.

    As late as possible, so that none of its members hides a method that the class inherits already; before a base
    that it derives from itself (``Generic``, ``Protocol``).
    """
    bases = list(owner.bases) if owner.facts.bases else []
    for position in range(len(bases), -1, -1):
        trial: list[Target] = [*bases[:position], base, *bases[position:]]
        try:
            mro = linearise(owner, trial, [linear(base) for base in trial])
        except NoLinearisation:
            continue
        if _heirs_stay_valid(audit, owner, tuple(mro)):
            return position
    return None


def _heirs_stay_valid(audit: Audit, owner: ClassInfo, mro: tuple[Target, ...]) -> bool:
    changed: dict[ClassInfo, tuple[Target, ...]] = {owner: mro}

    def of(cls: Target) -> tuple[Target, ...]:
        if not isinstance(cls, ClassInfo):
            return linear(cls)
        if cls not in changed:
            changed[cls] = linearise(cls, cls.bases, [of(b) for b in cls.bases]) if cls.derives_from(owner) else cls.mro
        return changed[cls]

    try:
        for heir in audit.heirs(owner):
            of(heir.cls)
    except NoLinearisation:
        return False
    return True


def delegation(contract: Contract, owner: ClassInfo, attribute: str, *, guarded: bool = False) -> tuple[Edit, ...]:
    """Methods that hand a contract on to the inner model's own, typed and named as the contract has them."""
    guard = f"_require_{attribute.replace('.', '_')}_{_label(contract)}"
    sources = []
    edits: list[Edit] = []
    if guarded and guard not in owner.facts.methods:
        sources.append(_guard(contract, guard, attribute))
        edits.append(AddImport(owner.path, contract.cls.module.module, contract.checker or contract.name))
    for method in contract.methods:
        arguments = ", ".join(p.name for p in method.facts.parameters[1:])
        call = f"self.{attribute}.{method.name}({arguments})"
        returns = "" if configures(method) else "return "
        check = f"    self.{guard}()\n" if guarded else ""
        source = f"def {method.name}{method.signature}:\n{check}    {returns}{call}\n"
        if method.name in owner.facts.methods:
            edits.append(ReplaceMethod(owner.path, owner.facts.qualname, method.name, source))
        else:
            sources.append(source)
    if sources:
        edits.append(AddMethods(owner.path, owner.facts.qualname, tuple(sources), _kin(contract)))
    return tuple(edits)


def _kin(contract: Contract) -> tuple[str, ...]:
    """Methods that the new ones belong beside, in order of preference."""
    return (
        *(m.name for m in contract.methods),
        "get_language_model",
        "compute_logits",
        "forward",
        "__init__",
    )


def _label(contract: Contract) -> str:
    return (contract.checker or contract.name).removeprefix("supports_")


def _guard(contract: Contract, name: str, attribute: str) -> str:
    return (
        f"def {name}(self) -> None:\n"
        f"    if not {contract.checker}(self.{attribute}):\n"
        "        raise RuntimeError(\n"
        f'            f"{{type(self).__name__}} needs a language model that supports "\n'
        f'            f"{contract.name}, but {{type(self.{attribute}).__name__}} does not."\n'
        "        )\n"
    )
