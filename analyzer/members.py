"""Members of classes, without any object: what a linearisation finds, what a Protocol names, what torch gives."""

from __future__ import annotations

from analyzer.facts import AttributeFacts, FunctionFacts
from analyzer.index import ClassInfo, External
from analyzer.values import ClassValue, Const, Instance, Super, Value

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
        "__call__",
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
    if isinstance(value, Super):
        return "'super' object"
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
    if after is not None:
        return _find(mro[mro.index(after) + 1 :] if after in mro else mro, name)
    if name not in cls.members:
        cls.members[name] = _find(mro, name)
    return cls.members[name]  # type: ignore[return-value]


def _find(mro: tuple[ClassInfo, ...], name: str) -> Member | None:
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


def getattr_hook(cls: ClassInfo) -> tuple[ClassInfo, FunctionFacts] | None:
    """The ``__getattr__`` that is asked for what is not there: none behind that of ``nn.Module``, which raises."""
    for base in cls.mro:
        if isinstance(base, External) and base.name in MODULE_CLASSES:
            return None
        if isinstance(base, ClassInfo) and "__getattr__" in base.facts.methods:
            return base, base.facts.methods["__getattr__"]
    return None


def module_answers(cls: ClassInfo, name: str, after: ClassInfo) -> bool:
    """Whether ``super().name`` in ``after`` is a method of ``nn.Module``'s, in an object of ``cls``."""
    for base in cls.mro[cls.mro.index(after) + 1 :] if after in cls.mro else ():
        if isinstance(base, External) and base.name in MODULE_CLASSES:
            return True
        if isinstance(base, ClassInfo) and name in base.facts.methods:
            return False
    return False


def unknown_base(cls: ClassInfo) -> str:
    """Why the class may have attributes that are not seen: a base outside the checkout; empty if none."""
    for base in cls.mro:
        if isinstance(base, External) and not base.name.startswith(PLAIN_BASES):
            if base.name not in MODULE_CLASSES:
                return f"{cls.name} inherits from {base.name}, which is outside the checkout"
        elif not isinstance(base, (ClassInfo, External)):
            return getattr(base, "reason", "a base could not be resolved")
    return ""


def external_attribute(cls: ClassInfo, name: str) -> bool:
    """Whether ``object`` or ``nn.Module`` gives the attribute."""
    return name in OBJECT_ATTRIBUTES or (name in MODULE_ATTRIBUTES and is_torch_module(cls))


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
