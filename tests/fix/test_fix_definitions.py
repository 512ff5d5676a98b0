"""Replacing, renaming and removing methods."""

from __future__ import annotations

import pytest

from analyzer.findings import RemoveMethod, RenameMethod, ReplaceMethod
from tests.fix.fixing import PATH, check, edited, refusal

NEW = "def get(self) -> int:\n    return self.inner.get()\n"


def replaced(source: str = NEW, method: str = "get") -> ReplaceMethod:
    return ReplaceMethod(PATH, "Model", method, source)


def renamed(old: str = "get", new: str = "get_default") -> RenameMethod:
    return RenameMethod(PATH, "Model", old, new)


def removed(method: str = "get") -> RemoveMethod:
    return RemoveMethod(PATH, "Model", method)


def test_a_definition_is_replaced_with_its_decorators_and_the_comments_inside() -> None:
    check(
        """\
        class Model:
            # above
            @deprecated
            def get(self):
                # inside
                return None  # at the end

            # below
            x = 1
        """,
        """\
        class Model:
            # above
            def get(self) -> int:
                return self.inner.get()  # at the end

            # below
            x = 1
        """,
        replaced(),
    )


def test_a_definition_in_a_branch_keeps_its_indentation() -> None:
    check(
        """\
        class Model:
            if CUDA:
                async def get(self): ...
        """,
        """\
        class Model:
            if CUDA:
                def get(self) -> int:
                    return self.inner.get()
        """,
        replaced(),
    )


def test_a_replacement_may_bring_its_own_name() -> None:
    check(
        """\
        class Model:
            def old(self): ...
        """,
        """\
        class Model:
            def get(self) -> int:
                return self.inner.get()
        """,
        replaced(method="old"),
    )


REFUSED_REPLACEMENTS = {
    "class Model: ...\n": "class Model has no method get",
    "class Model:\n    @overload\n    def get(self): ...\n    def get(self): ...\n": (
        "class Model has 2 definitions of get"
    ),
    "class Model:\n    class Inner:\n        def get(self): ...\n": "class Model has no method get",
}


@pytest.mark.parametrize(("before", "reason"), REFUSED_REPLACEMENTS.items())
def test_what_is_not_one_definition_is_not_replaced(before: str, reason: str) -> None:
    assert refusal(before, replaced()) == reason


def test_a_replacement_does_not_take_the_name_of_another_method() -> None:
    before = "class Model:\n    def old(self): ...\n    def get(self): ...\n"
    assert refusal(before, replaced(method="old")) == "class Model has a method get already"
    assert refusal("class Model:\n    def get(self): ...\n", replaced(method="old")) == (
        "class Model has no method old"
    )


def test_a_method_is_renamed_with_the_calls_in_its_own_body() -> None:
    check(
        """\
        class Model:
            @wraps(get)
            async def  get(self, get=None):
                "get"
                x = self.get  # no call: get
                def inner(): return self.model . get()
                return get() + self.language_model.get(
                    other.get(1).get())

            def other(self):
                return self.get()
        """,
        """\
        class Model:
            @wraps(get)
            async def  get_default(self, get=None):
                "get"
                x = self.get  # no call: get
                def inner(): return self.model . get_default()
                return get() + self.language_model.get_default(
                    other.get_default(1).get_default())

            def other(self):
                return self.get()
        """,
        renamed(),
    )


def test_a_name_behind_letters_of_several_bytes_is_found() -> None:
    assert edited("class Model:\n    def get(self): 'é世😀'; x.get()\n", renamed()) == (
        "class Model:\n    def get_default(self): 'é世😀'; x.get_default()\n"
    )


REFUSED_RENAMES = {
    "class Model: ...\n": "class Model has no method get",
    "class Model:\n    def get(self): ...\n    def get_default(self): ...\n": (
        "class Model has a method get_default already"
    ),
    "class Model:\n    def get(self): x.ｇet()\n": "class Model spells get in other characters",
}


@pytest.mark.parametrize(("before", "reason"), REFUSED_RENAMES.items())
def test_a_rename_that_is_not_clear_is_refused(before: str, reason: str) -> None:
    assert refusal(before, renamed()) == reason


def test_a_method_is_removed_with_its_decorators_and_comments() -> None:
    check(
        """\
        class Model:
            x = 1

            # not attached

            # attached
            @property
            # too
            def get(self):
                return 1
                # trailing

            # of the next
            def put(self): ...
        """,
        """\
        class Model:
            x = 1

            # not attached

            # of the next
            def put(self): ...
        """,
        removed(),
    )


REMOVED = {
    "the last one goes with the blank lines above it": (
        "class Model:\n    x = 1\n\n    def get(self): ...\n\n\ny = 1\n",
        "class Model:\n    x = 1\n\n\ny = 1\n",
    ),
    "the first one with those below it": (
        "class Model:\n    def get(self): ...\n\n    x = 1\n",
        "class Model:\n    x = 1\n",
    ),
    "the only one leaves a pass": (
        "class Model:\n    # why\n    def get(self): ...\n\n\ny = 1\n",
        "class Model:\n    pass\n\n\ny = 1\n",
    ),
    "the only one in a branch too": (
        "class Model:\n    if 1:\n        def get(self): ...\n    else:\n        get = None\n",
        "class Model:\n    if 1:\n        pass\n    else:\n        get = None\n",
    ),
    "a docstring is body enough": (
        'class Model:\n    """Doc."""\n\n    def get(self): ...\n',
        'class Model:\n    """Doc."""\n',
    ),
    "a missing last newline stays missing": (
        "class Model:\r\n    x = 1\r\n\r\n    def get(self): ...",
        "class Model:\r\n    x = 1",
    ),
    "one that is gone already changes nothing": ("class Model: ...\n", "class Model: ...\n"),
}


@pytest.mark.parametrize(("before", "after"), REMOVED.values(), ids=list(REMOVED))
def test_remove_method(before: str, after: str) -> None:
    assert edited(before, removed()) == after


def test_several_definitions_are_not_removed() -> None:
    before = "class Model:\n    @property\n    def get(self): ...\n    @get.setter\n    def get(self, x): ...\n"
    assert refusal(before, removed()) == "class Model has 2 definitions of get"
