"""Adding a base: every shape of a base list, before and after."""

from __future__ import annotations

import sys

import pytest

from tests.fix.fixing import base, check, edited, refusal

LONG = "Qwen2AudioForConditionalGenerationWithAnUnusuallyLongName"

CASES = {
    "a class without a base list gets one": (
        "class Model:\n    x = 1\n",
        "class Model(SupportsEagle3):\n    x = 1\n",
    ),
    "an empty list is filled": (
        "class Model():\n    x = 1\n",
        "class Model(SupportsEagle3):\n    x = 1\n",
    ),
    "an empty list keeps its comment": (
        "class Model(  # none yet\n):\n    x = 1\n",
        "class Model(  # none yet\n    SupportsEagle3\n):\n    x = 1\n",
    ),
    "a list on one line grows": (
        "class Model(nn.Module, SupportsPP):\n    x = 1\n",
        "class Model(nn.Module, SupportsPP, SupportsEagle3):\n    x = 1\n",
    ),
    "the only base with a trailing comma loses it, as ruff would explode the list": (
        "class Model(nn.Module,):\n    x = 1\n",
        "class Model(nn.Module, SupportsEagle3):\n    x = 1\n",
    ),
    "keywords stay behind the new base": (
        "class Model(nn.Module, metaclass=Meta, flag=(1, 2)):\n    x = 1\n",
        "class Model(nn.Module, SupportsEagle3, metaclass=Meta, flag=(1, 2)):\n    x = 1\n",
    ),
    "a list of keywords alone gets its first base in front": (
        "class Model(metaclass=Meta):\n    x = 1\n",
        "class Model(SupportsEagle3, metaclass=Meta):\n    x = 1\n",
    ),
    "commas inside generics and calls do not count": (
        "class Model(Base[int, str], mixin(1, [2, 3]), *more):\n    x = 1\n",
        "class Model(Base[int, str], mixin(1, [2, 3]), *more, SupportsEagle3):\n    x = 1\n",
    ),
    "a base in brackets keeps them": (
        "class Model((nn.Module)):\n    x = 1\n",
        "class Model((nn.Module), SupportsEagle3):\n    x = 1\n",
    ),
    "a body on the header's line stays there": (
        "class Model(nn.Module): ...\n",
        "class Model(nn.Module, SupportsEagle3): ...\n",
    ),
    "decorators and comments around the header stay": (
        "# above\n@register(a=1)  # why\nclass Model(nn.Module):  # here\n    x = 1\n",
        "# above\n@register(a=1)  # why\nclass Model(nn.Module, SupportsEagle3):  # here\n    x = 1\n",
    ),
    "a line that grows too long breaks into one line of bases": (
        f"class {LONG[:40]}(nn.Module, SupportsMultiModal, SupportsPP):\n    x = 1\n",
        f"class {LONG[:40]}(\n    nn.Module, SupportsMultiModal, SupportsPP, SupportsEagle3\n):\n    x = 1\n",
    ),
    "and into a line for each when that is too long as well": (
        "class Model(nn.Module, SupportsMultiModal, SupportsMultiModalPruning, SupportsMRoPE):\n    x = 1\n",
        "class Model(\n    nn.Module,\n    SupportsMultiModal,\n    SupportsMultiModalPruning,\n    SupportsMRoPE,\n"
        "    SupportsEagle3WithLongName,\n):\n    x = 1\n",
    ),
    "a long name alone breaks behind the bracket": (
        f"class {LONG}WithMoreInIt:\n    x = 1\n",
        f"class {LONG}WithMoreInIt(\n    SupportsEagle3\n):\n    x = 1\n",
    ),
    "a trailing comment counts for the line length": (
        "class Model(nn.Module, SupportsPP):  # it takes images, sounds and films of any size\n    x = 1\n",
        "class Model(\n    nn.Module, SupportsPP, SupportsEagle3\n"
        "):  # it takes images, sounds and films of any size\n    x = 1\n",
    ),
    "a pragma does not": (
        "class Model(nn.Module, SupportsPP):  # type: ignore[misc]  (sounds and films of any size)\n    x = 1\n",
        "class Model(nn.Module, SupportsPP, SupportsEagle3):"
        "  # type: ignore[misc]  (sounds and films of any size)\n    x = 1\n",
    ),
    "a list on one line between the brackets stays there": (
        "class Model(\n    nn.Module, SupportsMultiModal\n):\n    x = 1\n",
        "class Model(\n    nn.Module, SupportsMultiModal, SupportsEagle3\n):\n    x = 1\n",
    ),
    "and is exploded when it grows too long": (
        "class Model(\n    nn.Module, SupportsMultiModal, SupportsMRoPE, SupportsPP, SupportsLoRA, IsHybrid\n"
        "):\n    x = 1\n",
        "class Model(\n    nn.Module,\n    SupportsMultiModal,\n    SupportsMRoPE,\n    SupportsPP,\n"
        "    SupportsLoRA,\n    IsHybrid,\n    SupportsEagle3,\n):\n    x = 1\n",
    ),
    "an exploded list gets one line more": (
        "class Model(\n    nn.Module,\n    SupportsPP,\n):\n    x = 1\n",
        "class Model(\n    nn.Module,\n    SupportsPP,\n    SupportsEagle3,\n):\n    x = 1\n",
    ),
    "comments between bases stay with theirs": (
        "class Model(\n    # torch\n    nn.Module,  # root\n    # pipeline\n    SupportsPP,  # yes\n    # end\n):\n"
        "    x = 1\n",
        "class Model(\n    # torch\n    nn.Module,  # root\n    # pipeline\n    SupportsPP,  # yes\n"
        "    SupportsEagle3,\n    # end\n):\n    x = 1\n",
    ),
    "an exploded list without a trailing comma gets none": (
        "class Model(\n    nn.Module,\n    SupportsPP  # yes\n):\n    x = 1\n",
        "class Model(\n    nn.Module,\n    SupportsPP,  # yes\n    SupportsEagle3\n):\n    x = 1\n",
    ),
    "commas that lead their lines stay valid": (
        "class Model(\n    nn.Module\n    , SupportsPP\n):\n    x = 1\n",
        "class Model(\n    nn.Module\n    , SupportsPP,\n    SupportsEagle3\n):\n    x = 1\n",
    ),
    "aligned lines are filled": (
        "class Model(nn.Module,\n            SupportsPP):\n    x = 1\n",
        "class Model(nn.Module,\n            SupportsPP, SupportsEagle3):\n    x = 1\n",
    ),
    "aligned lines get another when the last is full": (
        "class Model(nn.Module,\n            SupportsMultiModal, SupportsLoRA, SupportsMRoPE, SupportsPP):\n"
        "    x = 1\n",
        "class Model(nn.Module,\n            SupportsMultiModal, SupportsLoRA, SupportsMRoPE, SupportsPP,\n"
        "            SupportsEagle3):\n    x = 1\n",
    ),
    "a file whose other headers are aligned breaks aligned, at 80 columns": (
        "def f(a,\n      b):\n    pass\n\n\nclass Model(nn.Module, SupportsMultiModal, SupportsLoRA, SupportsPP):\n"
        "    x = 1\n",
        "def f(a,\n      b):\n    pass\n\n\nclass Model(nn.Module, SupportsMultiModal, SupportsLoRA, SupportsPP,\n"
        "            SupportsEagle3):\n    x = 1\n",
    ),
    "backslashes outside the brackets stay": (
        "class \\\n  Model \\\n  (nn.Module) \\\n  :\n    x = 1\n",
        "class \\\n  Model \\\n  (nn.Module, SupportsEagle3) \\\n  :\n    x = 1\n",
    ),
    "tabs, carriage returns and the missing last newline stay": (
        "if 1:\r\n\tclass Model(\r\n\t\tnn.Module,\r\n\t):\r\n\t\tx = 1",
        "if 1:\r\n\tclass Model(\r\n\t\tnn.Module,\r\n\t\tSupportsEagle3,\r\n\t):\r\n\t\tx = 1",
    ),
    "form feeds and other letters before the header stay": (
        "x = 'é世'; y = 1\n\x0c\nclass Model(nn.Module,\x0c Basé):\n    x = 1\n",
        "x = 'é世'; y = 1\n\x0c\nclass Model(nn.Module,\x0c Basé, SupportsEagle3):\n    x = 1\n",
    ),
    "a class in a branch is found": (
        "if cuda:\n    class Model(nn.Module):\n        x = 1\nelse:\n    Model = None\n",
        "if cuda:\n    class Model(nn.Module, SupportsEagle3):\n        x = 1\nelse:\n    Model = None\n",
    ),
    "a base that is there already is left alone": (
        "class Model(nn.Module, SupportsEagle3):\n    x = 1\n",
        "class Model(nn.Module, SupportsEagle3):\n    x = 1\n",
    ),
    "also when it is reached through its module": (
        "class Model(nn.Module, interfaces.SupportsEagle3[int]):\n    x = 1\n",
        "class Model(nn.Module, interfaces.SupportsEagle3[int]):\n    x = 1\n",
    ),
}


@pytest.mark.parametrize(("before", "after"), CASES.values(), ids=list(CASES))
def test_add_base(before: str, after: str) -> None:
    name = "SupportsEagle3WithLongName" if "WithLongName" in after else "SupportsEagle3"
    cls = before.split("class", 1)[1].replace("\\\n", " ").split()[0].partition("(")[0].rstrip(":")
    assert edited(before, base(name, cls)) == after


POSITIONS = {
    "class Model(A, B, C): ...\n": [
        "class Model(New, A, B, C): ...\n",
        "class Model(A, New, B, C): ...\n",
        "class Model(A, B, New, C): ...\n",
        "class Model(A, B, C, New): ...\n",
    ],
    "class Model(\n    A,  # a\n    # b\n    B,\n    k=1,\n): ...\n": [
        "class Model(\n    New,\n    A,  # a\n    # b\n    B,\n    k=1,\n): ...\n",
        "class Model(\n    A,  # a\n    New,\n    # b\n    B,\n    k=1,\n): ...\n",
        "class Model(\n    A,  # a\n    # b\n    B,\n    New,\n    k=1,\n): ...\n",
    ],
    "class Model(  # first\n    A, B\n): ...\n": [
        "class Model(  # first\n    New, A, B\n): ...\n",
        "class Model(  # first\n    A, New, B\n): ...\n",
        "class Model(  # first\n    A, B, New\n): ...\n",
    ],
    "class Model(A,\n            B, C): ...\n": [
        "class Model(New, A,\n            B, C): ...\n",
        "class Model(A, New,\n            B, C): ...\n",
        "class Model(A,\n            B, New, C): ...\n",
        "class Model(A,\n            B, C, New): ...\n",
    ],
    "class Model(A, k=1, *rest): ...\n": [
        "class Model(New, A, k=1, *rest): ...\n",
        "class Model(A, New, k=1, *rest): ...\n",
    ],
}


@pytest.mark.parametrize(
    ("before", "position", "after"),
    [(before, at, after) for before, texts in POSITIONS.items() for at, after in enumerate(texts)],
)
def test_the_position_counts_positional_bases(before: str, position: int, after: str) -> None:
    check(before, after, base("New", position=position))


def test_no_base_can_follow_a_starred_one_behind_keywords() -> None:
    reason = refusal("class Model(A, k=1, *rest): ...\n", base(position=2))
    assert reason == "the new base would have to stand behind bases that follow keywords"


@pytest.mark.skipif(sys.version_info < (3, 12), reason="the syntax is new in Python 3.12")
@pytest.mark.parametrize("bases", ["", "()", "(A[T])"])
def test_type_parameters_stand_before_the_base_list(bases: str) -> None:
    inner = "A[T], " if "A" in bases else ""
    before = f"class Model[T: (int, str), *Ts]{bases}:\n    x = 1\n"
    assert edited(before, base()) == f"class Model[T: (int, str), *Ts]({inner}SupportsEagle3):\n    x = 1\n"


def test_nested_classes_go_by_their_qualified_name() -> None:
    check(
        """\
        class Model(A):
            class Model(B):
                class Model: ...
        """,
        """\
        class Model(A):
            class Model(B):
                class Model(New): ...
        """,
        base("New", "Model.Model.Model"),
    )


def test_a_name_that_is_defined_twice_is_ambiguous() -> None:
    before = """\
        try:
            class Model(A): ...
        except ImportError:
            class Model(B): ...
        """
    assert refusal(before, base()) == "class Model is defined 2 times (lines 2, 4)"


def test_a_class_inside_a_function_is_not_found() -> None:
    assert refusal("def f():\n    class Model: ...\n", base()) == "there is no class Model"


@pytest.mark.parametrize("limit", [60, 88, 120])
def test_the_line_length_is_kept(limit: int) -> None:
    name = "N" * (limit - len("class Model(Aaa, ):"))
    assert edited("class Model(Aaa): ...\n".replace(" ...", "\n    x = 1"), base(name), line_length=limit) == (
        f"class Model(Aaa, {name}):\n    x = 1\n"
    )
    assert edited("class Model(Aaaa):\n    x = 1\n", base(name), line_length=limit) == (
        f"class Model(\n    Aaaa, {name}\n):\n    x = 1\n"
    )
