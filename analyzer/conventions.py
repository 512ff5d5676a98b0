"""How the decoders of one checkout hand out the states of their layers: what a new one should look like.

Nothing of it is known beforehand.  The mixin is the class that the contract's own method insists on; where the states
are added, and by what, is read from the loops of the decoders that support the contract, and where these differ the
more frequent way counts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from analyzer import members
from analyzer.audit import Audit
from analyzer.blocks import SELF
from analyzer.chains import Chain, configures
from analyzer.contracts import Contract
from analyzer.facts import FunctionFacts
from analyzer.heads import head_of, layer_step
from analyzer.index import ClassInfo
from analyzer.lower import Block, Expr, Stmt, render, walk


@dataclass(frozen=True)
class Transport:
    """How the states of earlier pipeline stages reach the last one.

    Args:
        flag: the attribute by which a decoder says that it takes part.
        collect: the mixin's method that gives what the stages before have sent.
        pack: its method that makes entries of the states, to be sent on.
    """

    flag: str
    collect: str
    pack: str


@dataclass(frozen=True)
class Convention:
    """What decoders of the checkout have in common.

    Args:
        attribute: where a decoder keeps the layers that are asked for.
        place: the path from the model to the decoder.
        behind: whether a state is added behind its layer, as that of the next index, and not before it.
        mixin: what a decoder has to inherit; None where it keeps a plain attribute.
        add: the mixin's method that adds a state if it is asked for; empty without one.
        roles: what that method takes, in order: ``list``, ``index``, ``hidden``, ``residual``.
        empty: source of the attribute's first value, for decoders without the mixin.
        transport: None where states stay in their stage.
        example: a decoder that shows it.
    """

    attribute: str
    place: tuple[str, ...]
    behind: bool
    mixin: ClassInfo | None
    add: str
    roles: tuple[str, ...]
    empty: str
    transport: Transport | None
    example: ClassInfo


def read_convention(audit: Audit, contract: Contract) -> Convention | None:
    """The convention of a checkout; None where no decoder shows one.

    Args:
        audit: what was read.
        contract: one that configures decoders.
    """
    chains = list(_working(audit, contract))
    mixin = _mixin(audit, contract)
    if mixin is not None:
        chains = [chain for chain in chains if chain.holder is not None and chain.holder.cls.derives_from(mixin)]
    attribute = _most(chain.attribute for chain in chains)
    place = _most(chain.holder.trail for chain in chains if chain.holder is not None)
    decoders = [c.holder.cls for c in chains if c.holder is not None and c.attribute == attribute]
    decoders = [cls for cls in dict.fromkeys(decoders) if _loop(cls) is not None]
    add = _most(name for cls in decoders for name in _added_by(cls, mixin))
    behind = _most(way for cls in decoders for way in _ways(cls, attribute or "", add or ""))
    if attribute is None or place is None or behind is None or (mixin is not None and add is None):
        return None
    roles = _roles(mixin.facts.methods[add], attribute) if mixin is not None and add is not None else ()
    if mixin is not None and roles is None:
        return None
    return Convention(
        attribute=attribute,
        place=place,
        behind=behind,
        mixin=mixin,
        add=add or "",
        roles=roles or (),
        empty=_most(source for cls in decoders for source in _first_values(cls, attribute)) or "()",
        transport=_transport(decoders, mixin) if mixin is not None else None,
        example=next(cls for cls in decoders if behind in _ways(cls, attribute, add or "")),
    )


T = TypeVar("T")


def _most(values: Iterable[T]) -> T | None:
    """The most frequent value, the first of several."""
    found = Counter(values).most_common(1)
    return found[0][0] if found else None


def _working(audit: Audit, contract: Contract) -> Iterator[Chain]:
    """The chains of text models that support the contract, from the model to the decoder."""
    for model in audit.models:
        status = model.statuses.get(contract.name)
        if model.role == "text" and status is not None and status.satisfied and status.alternatives:
            chain = status.alternatives[0].outer
            if chain.ok and chain.holder is not None and chain.holder.trail:
                yield chain


def _mixin(audit: Audit, contract: Contract) -> ClassInfo | None:
    """The class that the contract's own method wants the decoder to be an instance of."""
    for method in contract.methods:
        for part in walk(method.facts.body or ()) if configures(method) and method.default == "working" else ():
            if part[0] == "call" and part[1] == ("name", "isinstance") and part[2][1:] and part[2][1][0] == "name":
                found = audit.index.lookup(method.owner.module.module, part[2][1][1])
                if found and isinstance(found[-1], ClassInfo) and not members.is_protocol(found[-1]):
                    return found[-1]
    return None


# -- the loops of decoders -------------------------------------------------------------------------


def _forward(cls: ClassInfo) -> Block:
    member = members.class_method(cls, "forward")
    return (member[1].body or ()) if member is not None else ()


def _loop(cls: ClassInfo) -> Stmt | None:
    """The loop over its layers that a decoder's ``forward`` has."""
    return next((s for s in _forward(cls) if s[0] == "for" and head_of(s) is not None), None)


def _added_by(cls: ClassInfo, mixin: ClassInfo | None) -> Iterator[str]:
    """The mixin's methods that are called for each layer."""
    loop = _loop(cls)
    known = mixin.facts.methods if mixin is not None else {}
    yield from (name for part in (walk(loop[4]) if loop is not None else ()) if (name := _own_call(part)) in known)


def _ways(cls: ClassInfo, attribute: str, add: str) -> Iterator[bool]:
    """Where in a loop states are added: behind the layer, or before it."""
    loop = _loop(cls)
    head = head_of(loop) if loop is not None else None
    step = layer_step(loop, head.layer) if loop is not None and head is not None else None
    if loop is None or step is None:
        return
    for place, statement in enumerate(loop[4]):
        parts = walk(statement)
        if any(_own_call(part) == add if add else _asks(part, attribute) for part in parts):
            yield place > step


def _own_call(part: Expr) -> str:
    """The name of a method of its own that an expression calls."""
    if part[0] == "call" and part[1][0] == "attr" and part[1][1] == SELF:
        return str(part[1][2])
    return ""


def _asks(part: Expr, attribute: str) -> bool:
    """``index in self.attribute``"""
    return bool(part[0] == "cmp" and part[2] == "In" and part[3][:3] == ("attr", SELF, attribute))


def _first_values(cls: ClassInfo, attribute: str) -> Iterator[str]:
    member = members.class_method(cls, "__init__")
    for part in walk(member[1].body or ()) if member is not None else ():
        if part[0] == "assign" and any(target[:3] == ("attr", SELF, attribute) for target in part[2]):
            yield render(part[3])


# -- the mixin -------------------------------------------------------------------------------------


def _roles(method: FunctionFacts, attribute: str) -> tuple[str, ...] | None:
    """What each parameter of the method that adds is for; None where it is written in another way."""
    roles: dict[str, str] = {}
    for part in walk(method.body or ()):
        if _asks(part, attribute) and part[1][0] == "name":
            roles[part[1][1]] = "index"
        elif part[0] == "call" and part[1][0] == "attr" and part[1][2] == "append" and part[1][1][0] == "name":
            roles[part[1][1][1]] = "list"
        elif part[:2] == ("bin", "Add") and part[2][0] == part[3][0] == "name":
            roles[part[2][1]], roles[part[3][1]] = "hidden", "residual"
    given = tuple(roles.get(parameter.name, "") for parameter in method.parameters[1:])
    if sorted(given) != ["hidden", "index", "list", "residual"]:
        return None
    tested = ("name", method.parameters[1 + given.index("residual")].name)
    may_lack = any(p[0] == "cmp" and p[1] == tested and p[3] == ("const", None) for p in walk(method.body or ()))
    return given if may_lack else None


def _transport(decoders: list[ClassInfo], mixin: ClassInfo) -> Transport | None:
    """How decoders that say so send their states to the last stage."""
    off = {name for name, a in mixin.facts.attributes.items() if a.value == ("const", False)}
    found: Counter[Transport] = Counter()
    for cls in decoders:
        for flag in off:
            said = cls.facts.attributes.get(flag)
            if said is not None and said.value == ("const", True):
                found.update(Transport(flag, *names) for names in _sent(_forward(cls), mixin))
    return _most(found.elements())


def _sent(body: Block, mixin: ClassInfo) -> Iterator[tuple[str, str]]:
    """The methods of the mixin by which a ``forward`` collects and packs."""
    packed = [_own_call(v) for part in walk(body) if part[0] == "dict" for key, v in part[1] if key is None]
    collected = [_own_call(s[3]) for s in body if s[0] == "assign" and len(s[3]) > 2 and len(s[3][2]) == 1]
    for pack in packed:
        for collect in collected:
            if {pack, collect} <= mixin.facts.methods.keys() and pack != collect:
                yield collect, pack
