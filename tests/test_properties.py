"""Random class hierarchies, analysed and executed: the static answers are those of Python itself.

A program is a module of Protocols and of classes that inherit from them, from each other and from nothing, with
flags, data members, stubs, working methods, attributes of None, bare annotations, properties, aliases and
attributes that ``__init__`` sets.  It is written into an otherwise empty checkout, read by the index, and executed
class by class in this process.  ``isinstance`` with a Protocol is compared on all versions of Python, but for
``__getattr__``, which counts up to 3.11 only: that is the semantics that the analysis states.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import FunctionType
from typing import Any

from hypothesis import HealthCheck, event, given, note, settings
from hypothesis import strategies as st

from analyzer import construct, members
from analyzer.checkout import Checkout
from analyzer.contracts import read_contracts
from analyzer.facts import FunctionFacts
from analyzer.index import ClassInfo, External, Index
from analyzer.interpret import Machine
from analyzer.registry import Registry
from analyzer.values import Arguments, ClassValue, Instance

EXAMPLES = int(os.environ.get("PROPERTY_EXAMPLES", "300"))
MODULE = "vllm.model_executor.models.interfaces"
NAMES = ("flag", "data", "run", "stop")

PROTOCOL_MEMBERS = {
    "flag": "{0}: ClassVar[Literal[True]] = True",
    "annotation": "{0}: int",
    "data": "{0} = 1",
    "none": "{0} = None",
    "class": "{0} = dict",
    "ellipsis": "def {0}(self, given=0): ...",
    "pass": "def {0}(self, given=0):\n        pass",
    "docstring": 'def {0}(self, given=0):\n        """Nothing."""',
    "raises": "def {0}(self, given=0):\n        raise NotImplementedError",
    "works": "def {0}(self, given=0):\n        return 1",
    "classmethod": "@classmethod\n    def {0}(cls, given=0):\n        return 1",
}
CLASS_MEMBERS = {
    **{name: PROTOCOL_MEMBERS[name] for name in ("annotation", "data", "none", "ellipsis", "works", "classmethod")},
    "annotated": "{0}: int = 1",
    "false": "{0} = False",
    "static": "@staticmethod\n    def {0}(given=0):\n        return 1",
    "property": "@property\n    def {0}(self):\n        return 1",
    "lambda": "{0} = lambda self, given=0: 1",
    "twice": "{0} = None\n    def {0}(self, given=0):\n        return 1",
    "branch": "if not TYPE_CHECKING:\n        {0} = 1",
}
HOOKS = {
    "some": 'def __getattr__(self, name):\n        if name in ("data", "run"):\n            return 1\n'
    "        raise AttributeError(name)",
    "forward": 'def __getattr__(self, name):\n        if name == "inner":\n            raise AttributeError(name)\n'
    "        return getattr(self.inner, name)",
}


# -- programs --------------------------------------------------------------------------------------


@dataclass
class Definition:
    """One class: its name, and the source that defines it (with an alias of it below, sometimes)."""

    name: str
    source: str
    protocol: bool = False
    hooked: bool = False


@dataclass
class Program:
    definitions: list[Definition] = field(default_factory=list)

    @property
    def source(self) -> str:
        names = [definition.name for definition in self.definitions if definition.protocol]
        return "\n".join([HEAD, *(d.source for d in self.definitions), *(CHECKER.format(n, n.lower()) for n in names)])


CHECKER = "def supports_{1}(model: object) -> TypeIs[{0}]:\n    return isinstance(model, {0})\n"
HEAD = (
    "from __future__ import annotations\n"
    "from abc import ABC\n"
    "from typing import TYPE_CHECKING, ClassVar, Literal, Protocol, runtime_checkable\n\n"
    "if TYPE_CHECKING:\n    from typing_extensions import TypeIs\n"
)


@st.composite
def programs(draw: st.DrawFn) -> Program:
    """Protocols first, then classes; each may inherit from what stands before it."""
    program = Program()
    known: list[str] = []
    for number in range(draw(st.integers(1, 4))):
        program.definitions.append(draw(protocols(f"P{number}", list(known))))
        known.append(f"P{number}")
    bases = [*known, "ABC", "object"]
    for number in range(draw(st.integers(1, 7))):
        name = f"C{number}"
        program.definitions.append(draw(classes(name, list(bases))))
        bases.append(name)
        if draw(st.booleans()):
            program.definitions[-1].source += f"\n{name}Too = {name}\n"
            bases.append(f"{name}Too")
    return program


@st.composite
def protocols(draw: st.DrawFn, name: str, earlier: list[str]) -> Definition:
    chosen = draw(st.lists(st.sampled_from(earlier), max_size=2, unique=True)) if earlier else []
    bases = [*chosen, "Protocol"] if draw(st.integers(0, 9)) else ["Protocol", *chosen]
    body = draw(bodies(PROTOCOL_MEMBERS))
    return Definition(name, f"@runtime_checkable\nclass {name}({', '.join(bases)}):\n    {body}\n", protocol=True)


@st.composite
def classes(draw: st.DrawFn, name: str, earlier: list[str]) -> Definition:
    bases = draw(st.lists(st.sampled_from(earlier), max_size=3, unique=bool(draw(st.integers(0, 9)))))
    body = draw(bodies(CLASS_MEMBERS))
    if bases and draw(st.integers(0, 3)) == 0:
        body += f"\n    other = {draw(st.sampled_from(NAMES))} = len"
    if draw(st.booleans()):
        values = {n: draw(st.sampled_from(["1", "None", "len"])) for n in draw(some_names())}
        values["inner"] = draw(st.sampled_from(["1", "[]"]))
        body += "\n    def __init__(self):" + "".join(f"\n        self.{n} = {value}" for n, value in values.items())
    hook = draw(st.sampled_from(["", "", "", *HOOKS])) if sys.version_info < (3, 12) else ""
    if hook:
        body += f"\n    {HOOKS[hook]}"
    head = f"class {name}({', '.join(bases)}):" if bases else f"class {name}:"
    return Definition(name, f"{head}\n    {body}\n", hooked=bool(hook))


def some_names() -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(NAMES), max_size=4, unique=True)


@st.composite
def bodies(draw: st.DrawFn, kinds: dict[str, str]) -> str:
    lines = [kinds[draw(st.sampled_from(sorted(kinds)))].format(name) for name in draw(some_names())]
    return "\n    ".join(lines) or "pass"


# -- both answers ----------------------------------------------------------------------------------


def execute(program: Program) -> dict[str, type]:
    """The classes that Python makes; those that it refuses are missing, and so are those that build on them."""
    namespace: dict[str, Any] = {"__name__": "generated"}
    exec(HEAD, namespace)
    for definition in program.definitions:
        with suppress(TypeError, NameError):
            exec(definition.source, namespace)
    return {d.name: namespace[d.name] for d in program.definitions if d.name in namespace}


@contextmanager
def analysed(program: Program) -> Iterator[Index]:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        path = root.joinpath(*MODULE.split(".")).with_suffix(".py")
        path.parent.mkdir(parents=True)
        path.write_text(program.source)
        for package in ("vllm", "vllm/model_executor", "vllm/model_executor/models"):
            (root / package / "__init__.py").touch()
        yield Index(Checkout(root, root / "vllm", None))


def linearisation(cls: type) -> list[str]:
    return [base.__name__ for base in cls.__mro__]


def static_linearisation(info: ClassInfo) -> list[str]:
    names = []
    for base in info.mro:
        assert isinstance(base, ClassInfo | External), base
        names.append(base.name.rpartition(".")[2])
    return names


PROGRAMS = settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)


@PROGRAMS
@given(programs())
def test_the_index_linearises_and_refuses_as_python_does(program: Program) -> None:
    note(program.source)
    made = execute(program)
    with analysed(program) as index:
        facts = index.module(MODULE)
        assert facts is not None
        infos = {info.name: info for info in index.classes(facts)}
        for definition in program.definitions:
            info = infos[definition.name]
            if definition.name not in made:
                event("refused")
                assert info.problem or any(base.problem for base in info.own_mro) or info.unknown_bases
                continue
            assert static_linearisation(info) == linearisation(made[definition.name])
        assert bool(index.diagnostics) is (len(made) < len(program.definitions))


@PROGRAMS
@given(programs())
def test_the_class_that_defines_what_attribute_access_finds(program: Program) -> None:
    note(program.source)
    made = execute(program)
    with analysed(program) as index:
        facts = index.module(MODULE)
        assert facts is not None
        for info in index.classes(facts):
            for name in (*NAMES, "other", "__init__", "__getattr__") if info.name in made else ():
                owner = next((c for c in made[info.name].__mro__ if defines(c, name)), None)
                member = members.class_member(info, name)
                assert (member[0].name if member else None) == (owner.__name__ if owner else None), (info, name)
                if owner is not None and member is not None and isinstance(member[1], FunctionFacts):
                    assert_same_kind(vars(owner)[name], member[1])
                method = info.find_method(name)
                assert (method is None) or method[0].name == (owner.__name__ if owner else None)


def defines(cls: type, name: str) -> bool:
    return (
        cls.__module__ == "generated"
        and name in vars(cls)
        and "no_init" not in getattr(vars(cls)[name], "__name__", "")
    )


def assert_same_kind(found: object, facts: FunctionFacts) -> None:
    """Whether the record of a function tells its kind, and a stub from a body that works."""
    kinds = {"class": classmethod, "static": staticmethod, "property": property, "instance": FunctionType}
    assert isinstance(found, kinds[facts.kind])
    if isinstance(found, FunctionType) and not facts.name.startswith("__"):
        try:
            gives = found(None)
        except NotImplementedError:
            assert facts.stub == "raises"
        else:
            assert (gives is None) is (facts.stub == "returns-none")


@PROGRAMS
@given(programs())
def test_the_checkers_answer_as_isinstance_does(program: Program) -> None:
    note(program.source)
    made = execute(program)
    with analysed(program) as index:
        contracts = read_contracts(index, index.checkout)
        machine = Machine(index, Registry(index, ()))
        assert set(contracts) == {d.name for d in program.definitions if d.protocol}
        facts = index.module(MODULE)
        assert facts is not None
        for info in index.classes(facts):
            if info.name in contracts or info.name not in made:
                continue
            for contract in contracts.values():
                if contract.name not in made:
                    continue
                protocol = made[contract.name]
                assert contract.checker == f"supports_{contract.name.lower()}"
                assert contract.declared_by(info) is (protocol in made[info.name].__mro__)
                compare(contract.satisfied_by(machine, ClassValue(info)), made[info.name], protocol)
                instance = instantiated(made[info.name])
                if instance is not None:
                    value = construct.instantiate(machine, info, Arguments(), None)
                    assert isinstance(value, Instance)
                    compare(contract.satisfied_by(machine, value), instance, protocol)


def instantiated(cls: type) -> object | None:
    """An object; None where ``__init__`` fails (it sets an attribute that is a property)."""
    try:
        made: object = cls()
    except AttributeError:
        return None
    return made


def compare(static: bool | None, value: object, protocol: type) -> None:
    really = isinstance(value, protocol)
    heirs: list[Any] = type.__subclasses__(protocol)
    if really and any(isinstance(value, heir) for heir in heirs if vars(heir)["_is_protocol"]):
        event("conforms through a Protocol that derives from it")  # abc asks those too
        return
    event(f"{'class' if isinstance(value, type) else 'object'} {'conforms' if really else 'does not conform'}")
    assert static is really, f"isinstance({value}, {protocol.__name__}) is {really}, static {static}"
