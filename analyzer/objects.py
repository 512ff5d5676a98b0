"""Objects, for the interpreter: attribute access, construction, ``isinstance`` and Protocol checks.

The order of attribute access is Python's and torch's: a property of the class, then the instance's own
attributes, then the class's; a sub-module that was assigned is kept in ``_modules`` and found last, through
``nn.Module.__getattr__`` (torch.nn.Module, ``__setattr__`` and ``__getattr__``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from analyzer import evaluate
from analyzer.facts import AttributeFacts, FunctionFacts
from analyzer.index import ClassInfo, External
from analyzer.values import (
    Arguments,
    BuiltinMethod,
    ChosenModel,
    ClassValue,
    Collection,
    ConfigView,
    Const,
    ExternalRef,
    ForwardResult,
    Function,
    Instance,
    ModuleValue,
    OneOf,
    Opaque,
    Partial,
    Site,
    Super,
    Table,
    Value,
    is_module,
    one_of,
    options,
    taint_of,
)

if TYPE_CHECKING:
    from analyzer.interpret import Frame, Machine

MODULE_CLASSES = ("torch.nn.Module", "torch.nn.modules.module.Module")

# Public attributes of torch.nn.Module (the class documentation of torch 2), and those of every object.
MODULE_ATTRIBUTES = frozenset(
    [
        "add_module",
        "apply",
        "bfloat16",
        "buffers",
        "call_super_init",
        "children",
        "compile",
        "cpu",
        "cuda",
        "double",
        "dump_patches",
        "eval",
        "extra_repr",
        "float",
        "forward",
        "get_buffer",
        "get_extra_state",
        "get_parameter",
        "get_submodule",
        "half",
        "ipu",
        "load_state_dict",
        "modules",
        "mtia",
        "named_buffers",
        "named_children",
        "named_modules",
        "named_parameters",
        "parameters",
        "register_backward_hook",
        "register_buffer",
        "register_forward_hook",
        "register_forward_pre_hook",
        "register_full_backward_hook",
        "register_full_backward_pre_hook",
        "register_load_state_dict_post_hook",
        "register_load_state_dict_pre_hook",
        "register_module",
        "register_parameter",
        "register_state_dict_post_hook",
        "register_state_dict_pre_hook",
        "requires_grad_",
        "set_extra_state",
        "set_submodule",
        "share_memory",
        "state_dict",
        "to",
        "to_empty",
        "train",
        "training",
        "type",
        "xpu",
        "zero_grad",
        "T_destination",
        "_modules",
        "_parameters",
        "_buffers",
    ]
)
OBJECT_ATTRIBUTES = frozenset(
    [
        "__class__",
        "__dict__",
        "__doc__",
        "__module__",
        "__init__",
        "__new__",
        "__eq__",
        "__hash__",
        "__repr__",
        "__str__",
        "__getattribute__",
        "__setattr__",
        "__delattr__",
        "__dir__",
        "__reduce__",
        "__sizeof__",
        "__subclasshook__",
        "__init_subclass__",
        "__format__",
        "__annotations__",
        "__name__",
        "__qualname__",
    ]
)
# Bases whose attributes are known to be none that a model's contract could name.
PLAIN_BASES = ("builtins.", "typing.", "typing_extensions.", "abc.", "enum.", "collections.", "torch.nn.")

# typing._get_protocol_attrs, CPython 3.11: what it leaves out of a Protocol's members.
NOT_MEMBERS = frozenset(
    [
        "__abstractmethods__",
        "__annotations__",
        "__dict__",
        "__doc__",
        "__init__",
        "__module__",
        "__new__",
        "__slots__",
        "__subclasshook__",
        "__weakref__",
        "__class_getitem__",
        "__match_args__",
        "__parameters__",
        "__orig_bases__",
        "__orig_class__",
        "_is_protocol",
        "_is_runtime_protocol",
        "__callable_proto_members_only__",
        "__protocol_attrs__",
        "__non_callable_proto_members__",
        "__type_params__",
        "__static_attributes__",
        "__firstlineno__",
    ]
)

Member = tuple[ClassInfo, FunctionFacts | AttributeFacts]


def described(value: Value) -> str:
    """``'ClassName' object``, as Python's own messages name it."""
    if isinstance(value, Instance):
        return f"{value.cls.name!r} object"
    if isinstance(value, ClassValue):
        return f"type object {value.cls.name!r}"
    if isinstance(value, Const):
        return f"{type(value.value).__name__!r} object"
    return "object"


def is_torch_module(cls: ClassInfo) -> bool:
    """Whether a class derives from ``torch.nn.Module``."""
    return any(isinstance(c, External) and c.name in MODULE_CLASSES for c in cls.mro)


def class_member(cls: ClassInfo, name: str, after: ClassInfo | None = None) -> Member | None:
    """What the linearisation finds under a name, skipping annotations without a value.

    Args:
        cls: the class.
        name: the attribute.
        after: start behind this class (``super()``).
    """
    mro = cls.own_mro
    if after is not None and after in mro:
        mro = mro[mro.index(after) + 1 :]
    for owner in mro:
        method = owner.facts.methods.get(name)
        if method is not None:
            return owner, method
        attribute = owner.facts.attributes.get(name)
        if attribute is not None and attribute.assigned:
            return owner, attribute
    return None


def class_method(cls: ClassInfo, name: str) -> tuple[ClassInfo, FunctionFacts] | None:
    """The method that the linearisation finds under a name; None where it finds a variable or nothing."""
    member = class_member(cls, name)
    if member is None or isinstance(member[1], AttributeFacts):
        return None
    return member[0], member[1]


def unknown_base(cls: ClassInfo) -> str:
    """Why the class may have attributes that are not seen: a base outside the checkout; empty if none."""
    for base in cls.mro:
        if isinstance(base, External) and not base.name.startswith(PLAIN_BASES):
            if base.name not in MODULE_CLASSES:
                return f"{cls.name} inherits from {base.name}, which is outside the checkout"
        elif not isinstance(base, ClassInfo | External):
            return getattr(base, "reason", "a base could not be resolved")
    return ""


def external_attribute(cls: ClassInfo, name: str) -> bool:
    """Whether ``object`` or ``nn.Module`` gives the attribute."""
    return name in OBJECT_ATTRIBUTES or (name in MODULE_ATTRIBUTES and is_torch_module(cls))


# -- attribute access ------------------------------------------------------------------------------


def get(machine: Machine, owner: Value, name: str, frame: Frame, line: int) -> Value:
    """``owner.name`` of one value; :data:`analyzer.evaluate.UNBOUND` where it certainly is not there."""
    if isinstance(owner, Instance):
        return _of_instance(machine, owner, name, frame, line)
    if isinstance(owner, ClassValue):
        return _of_class(machine, owner, name)
    if isinstance(owner, Super):
        return _of_super(machine, owner, name)
    if isinstance(owner, ExternalRef):
        return ExternalRef(f"{owner.name}.{name}", owner.taint)
    if isinstance(owner, ModuleValue):
        if machine.index.in_model_roots(owner.name + "."):
            return evaluate.of_targets(machine, machine.index.imported(owner.name, name))
        return ExternalRef(f"{owner.name}.{name}")
    if isinstance(owner, Collection | Table):
        return BuiltinMethod(owner, name)
    if isinstance(owner, Const):
        if owner.value is None and not name.startswith("__"):
            return evaluate.UNBOUND
        return BuiltinMethod(owner, name)
    if isinstance(owner, ChosenModel) and name in machine.model_members:
        return BuiltinMethod(owner, name)
    if isinstance(owner, Opaque | ConfigView | ChosenModel):
        text = f"{owner.text}.{name}" if owner.text else name
        return Opaque(text, getattr(owner, "reason", ""), owner.taint)
    if isinstance(owner, ForwardResult):
        return Opaque(name, taint=owner.taint)
    if isinstance(owner, Function | Partial):
        return Opaque(name)
    return Opaque(name, taint=taint_of([owner]))


def _of_instance(machine: Machine, owner: Instance, name: str, frame: Frame, line: int) -> Value:
    member = class_member(owner.cls, name)
    if member is not None and isinstance(member[1], FunctionFacts) and member[1].kind == "property":
        getter = Function(member[1], member[0].module, member[0], owner)
        return machine.enter(getter, Arguments(), line, frame)
    prepare(machine, owner)
    value = owner.attrs.get(name)
    if value is not None and not (member is not None and is_module(value) and is_torch_module(owner.cls)):
        return value
    if member is not None:
        return _bound(machine, member, owner)
    hook = class_member(owner.cls, "__getattr__")
    if hook is not None and isinstance(hook[1], FunctionFacts) and hook[1].body is not None:
        return _forwarded(machine, hook[0], hook[1], owner, name, line, frame)
    if external_attribute(owner.cls, name):
        return BuiltinMethod(owner, name)
    reason = owner.missing_reason or unknown_base(owner.cls)
    return Opaque(name, reason) if reason else evaluate.UNBOUND


def _forwarded(
    machine: Machine, cls: ClassInfo, hook: FunctionFacts, owner: Instance, name: str, line: int, frame: Frame
) -> Value:
    """An attribute that the class's own ``__getattr__`` answers."""
    from analyzer.interpret import Raised

    strict, machine.strict = machine.strict, True
    try:
        found = machine.enter(Function(hook, cls.module, cls, owner), Arguments((Const(name),)), line, frame)
    except Raised as raised:
        if raised.kind == "AttributeError":
            return evaluate.UNBOUND
        raise
    finally:
        machine.strict = strict
    return found


def _bound(machine: Machine, member: Member, receiver: Value) -> Value:
    owner, facts = member
    if isinstance(facts, AttributeFacts):
        assert facts.value is not None
        value = _class_attribute(machine, owner, facts)
        if isinstance(value, Function) and value.receiver is None and isinstance(receiver, Instance):
            return Function(value.facts, value.module, value.owner or owner, receiver)
        return value
    if facts.kind == "class":
        cls = receiver.cls if isinstance(receiver, Instance | ClassValue) else owner
        return Function(facts, owner.module, owner, ClassValue(cls))
    if facts.kind == "static":
        return Function(facts, owner.module, owner)
    return Function(facts, owner.module, owner, receiver if isinstance(receiver, Instance) else None)


def _class_attribute(machine: Machine, owner: ClassInfo, facts: AttributeFacts) -> Value:
    """The value of a class variable; names in it are the class body's own first, then the module's."""
    from analyzer.interpret import Frame

    assert facts.value is not None
    key = (owner.key, facts.name)
    if key not in machine.globals:
        machine.globals[key] = Opaque(facts.name)
        env: dict[str, Value] = {
            name: Function(method, owner.module, owner) for name, method in owner.facts.methods.items()
        }
        with machine.aside():
            machine.globals[key] = machine.eval(facts.value, Frame(owner.module, None, owner, env))
    return machine.globals[key]


def _of_class(machine: Machine, owner: ClassValue, name: str) -> Value:
    member = class_member(owner.cls, name)
    if member is not None:
        return _bound(machine, member, owner)
    if name == "__name__":
        return Const(owner.cls.name)
    if name == "__mro__":
        return Collection("tuple", [ClassValue(cls) for cls in owner.cls.own_mro], complete=not owner.cls.unknown_bases)
    if external_attribute(owner.cls, name):
        return ExternalRef(f"torch.nn.Module.{name}")
    reason = unknown_base(owner.cls)
    return Opaque(name, reason) if reason else evaluate.UNBOUND


def _of_super(machine: Machine, owner: Super, name: str) -> Value:
    instance = owner.instance
    cls = instance.cls if isinstance(instance, Instance | ClassValue) else None
    if cls is None:
        return Opaque(name)
    member = class_member(cls, name, owner.after)
    if member is not None:
        found = _bound(machine, member, instance)
        if isinstance(found, Function) and found.facts.kind == "property":
            return machine.enter(found, Arguments(), 0, None)
        return found
    if external_attribute(cls, name):
        return ExternalRef(f"torch.nn.Module.{name}")
    reason = unknown_base(cls)
    return Opaque(name, reason) if reason else evaluate.UNBOUND


# -- construction ----------------------------------------------------------------------------------


def instantiate(machine: Machine, cls: ClassInfo, arguments: Arguments, site: Site | None) -> Value:
    """A new object of a class; what its own ``__new__`` dispatches to where it has one."""
    key = (cls, *arguments.key)
    template = machine.templates.get(key)
    if template is None:
        machine.templates[key] = Opaque(cls.name, f"{cls.name} builds itself")
        template = machine.templates[key] = _construct(machine, cls, arguments, site)
    made: list[Value] = []
    for option in options(template):
        if isinstance(option, Instance):
            made.append(Instance(option.cls, site, arguments, template=option))
        else:
            made.append(option)
    return one_of(made)


def _construct(machine: Machine, cls: ClassInfo, arguments: Arguments, site: Site | None) -> Value:
    maker = class_member(cls, "__new__")
    if maker is not None and isinstance(maker[1], FunctionFacts):
        with machine.aside():
            machine.building = []
            function = Function(maker[1], maker[0].module, maker[0], ClassValue(cls))
            made = machine.enter(function, arguments, 0, None)
        chosen = [o for o in options(made) if isinstance(o, Instance)]
        if chosen:
            return one_of(chosen)
    return Instance(cls, site, arguments)


def prepare(machine: Machine, instance: Instance) -> None:
    """Find the attributes of an object by running its ``__init__``, once for each template."""
    if instance.ready:
        return
    instance.ready = True
    if instance.template is not None:
        _adopt(machine, instance, instance.template)
        return
    from analyzer.interpret import Raised

    maker = class_member(instance.cls, "__init__")
    if maker is None or not isinstance(maker[1], FunctionFacts):
        return
    with machine.aside():
        machine.building = [instance]
        try:
            machine.enter(Function(maker[1], maker[0].module, maker[0], instance), instance.arguments, 0, None)
        except Raised as raised:
            instance.missing_reason = f"its __init__ stops at {raised.path}:{raised.line} ({raised.kind})"


def _adopt(machine: Machine, instance: Instance, template: Instance) -> None:
    prepare(machine, template)
    twins: dict[int, Instance] = {}
    depth = len(template.trail)

    def twin(value: Value) -> Value:
        if not isinstance(value, Instance):
            return value
        if id(value) not in twins:
            trail = (*instance.trail, *value.trail[depth:])
            made = Instance(value.cls, value.site, value.arguments, template=value, trail=trail)
            twins[id(value)] = made
        return twins[id(value)]

    for name, value in template.attrs.items():
        if isinstance(value, Instance | OneOf):
            instance.attrs[name] = one_of(twin(option) for option in options(value))
        else:
            instance.attrs[name] = _rebound(value, template, instance)
    instance.set_at, instance.maybe = template.set_at, template.maybe
    instance.missing_reason = template.missing_reason


def _rebound(value: Value, template: Instance, instance: Instance) -> Value:
    if isinstance(value, Function) and value.receiver is template:
        return Function(value.facts, value.module, value.owner, instance)
    return value


# -- isinstance ------------------------------------------------------------------------------------


def has(machine: Machine, value: Value, name: str, frame: Frame, line: int) -> bool | None:
    """``hasattr``; None where it depends on what is not known."""
    from analyzer.interpret import Raised

    seen: set[bool | None] = set()
    for option in options(value):
        try:
            found = get(machine, option, name, frame, line)
        except Raised as raised:
            if raised.kind != "AttributeError":
                raise
            seen.add(False)
            continue
        if found is evaluate.UNBOUND:
            seen.add(False)
        elif isinstance(option, Instance) and name in option.maybe and class_member(option.cls, name) is None:
            seen.add(None)
        elif isinstance(option, Instance | ClassValue):
            seen.add(None if isinstance(found, Opaque) and found.reason and name not in _own(option) else True)
        elif isinstance(option, ChosenModel) and name in machine.model_members:
            seen.add(True)
        else:
            seen.add(True if isinstance(option, Collection | ModuleValue) else None)
    return seen.pop() if len(seen) == 1 else None


def _own(value: Value) -> dict[str, Value]:
    return value.attrs if isinstance(value, Instance) else {}


def is_protocol(cls: ClassInfo) -> bool:
    """Whether a class is itself a Protocol (PEP 544: it names ``Protocol`` among its bases)."""
    return any(isinstance(b, External) and b.name.rpartition(".")[2] == "Protocol" for b in cls.bases)


def protocol_members(cls: ClassInfo) -> tuple[str, ...]:
    """Names that structural conformance needs: those that the Protocol and its Protocol bases define or annotate."""
    names: dict[str, None] = {}
    for base in cls.own_mro:
        if is_protocol(base):
            for name in (*base.facts.attributes, *base.facts.methods, *base.facts.nested):
                if name not in NOT_MEMBERS and not name.startswith("_abc_"):
                    names[name] = None
    return tuple(sorted(names))


def is_instance(machine: Machine, value: Value, cls: ClassInfo, frame: Frame, line: int) -> bool | None:
    """``isinstance(value, cls)`` as CPython 3.11 answers it, Protocols included."""
    seen: set[bool | None] = set()
    for option in options(value):
        if isinstance(option, Instance) and option.cls.derives_from(cls):
            seen.add(True)
        elif isinstance(option, Instance | ClassValue) and is_protocol(cls):
            seen.add(_conforms(machine, option, cls, frame, line))
        elif isinstance(option, Instance):
            seen.add(None if any(not isinstance(c, ClassInfo | External) for c in option.cls.mro) else False)
        elif isinstance(option, Const | Collection | Table | ClassValue | Function | ModuleValue | ForwardResult):
            seen.add(False)
        else:
            seen.add(None)
    return seen.pop() if len(seen) == 1 else None


def _conforms(machine: Machine, value: Value, cls: ClassInfo, frame: Frame, line: int) -> bool | None:
    answer: bool | None = True
    for name in protocol_members(cls):
        present = has(machine, value, name, frame, line)
        if present and class_member(cls, name) is not None:
            found = get(machine, value, name, frame, line)
            member = class_member(cls, name)
            blocked = isinstance(found, Const) and found.value is None
            if blocked and member is not None and isinstance(member[1], FunctionFacts):
                return False  # a method blocked by None
        if present is False:
            return False
        if present is None:
            answer = None
    return answer
