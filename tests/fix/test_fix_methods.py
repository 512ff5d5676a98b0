"""Adding methods: where they go, how they are indented, and what stays with its neighbours."""

from __future__ import annotations

import pytest

from tests.fix.fixing import GETTER, SETTER, check, edited, methods, refusal

ONE = "def one(self):\n    return 1\n"
TWO = "def two(self):\n    return 2\n"
AFTER = ("compute_logits", "forward")


def test_below_the_first_of_its_kin_that_there_is() -> None:
    check(
        """\
        class Model(A):
            def forward(self):
                return 0

            def compute_logits(self):
                return 0

            def load_weights(self):
                return 0
        """,
        """\
        class Model(A):
            def forward(self):
                return 0

            def compute_logits(self):
                return 0

            def one(self):
                return 1

            def two(self):
                return 2

            def load_weights(self):
                return 0
        """,
        methods(ONE, TWO, after=AFTER),
    )


def test_at_the_end_of_the_class_where_there_is_no_kin() -> None:
    check(
        """\
        class Model(A):
            x = 1


        class Other: ...
        """,
        """\
        class Model(A):
            x = 1

            def one(self):
                return 1


        class Other: ...
        """,
        methods(ONE, after=AFTER),
    )


def test_behind_overloads_and_property_setters_of_the_name() -> None:
    check(
        """\
        class Model:
            @property
            def forward(self): ...

            @forward.setter
            def forward(self, x): ...

            @overload
            def other(self): ...
        """,
        """\
        class Model:
            @property
            def forward(self): ...

            @forward.setter
            def forward(self, x): ...

            def one(self):
                return 1

            @overload
            def other(self): ...
        """,
        methods(ONE, after=AFTER),
    )


def test_behind_a_method_that_is_defined_on_a_condition() -> None:
    check(
        """\
        class Model:
            if CUDA:
                def forward(self): ...
            else:
                def forward(self, x): ...

            x = 1
        """,
        """\
        class Model:
            if CUDA:
                def forward(self): ...
            else:
                def forward(self, x): ...

            def one(self):
                return 1

            x = 1
        """,
        methods(ONE, after=AFTER),
    )


def test_not_inside_a_nested_class() -> None:
    check(
        """\
        class Model:
            class Inner:
                def forward(self): ...
        x = 1
        """,
        """\
        class Model:
            class Inner:
                def forward(self): ...

            def one(self):
                return 1
        x = 1
        """,
        methods(ONE, after=AFTER),
    )


def test_inside_a_nested_class_when_that_is_meant() -> None:
    check(
        """\
        class Model:
            class Inner:
                def forward(self): ...

            x = 1
        """,
        """\
        class Model:
            class Inner:
                def forward(self): ...

                def one(self):
                    return 1

            x = 1
        """,
        methods(ONE, cls="Model.Inner"),
    )


def test_comments_of_the_body_above_stay_with_it() -> None:
    check(
        """\
        class Model:
            def forward(self):
                return 0
                # unreachable

                # still here
            # end of forward

            # about load
            def load(self): ...
        """,
        """\
        class Model:
            def forward(self):
                return 0
                # unreachable

                # still here
            # end of forward

            def one(self):
                return 1

            # about load
            def load(self): ...
        """,
        methods(ONE, after=AFTER),
    )


def test_a_comment_directly_above_the_next_method_stays_with_that() -> None:
    check(
        """\
        class Model:
            def forward(self):
                return 0
            # about load
            def load(self): ...
        """,
        """\
        class Model:
            def forward(self):
                return 0

            def one(self):
                return 1

            # about load
            def load(self): ...
        """,
        methods(ONE, after=AFTER),
    )


def test_comments_that_end_the_class_stay_above() -> None:
    check(
        """\
        class Model:
            def forward(self):
                return 0

            # def old(self): ...

        # about x
        x = 1
        """,
        """\
        class Model:
            def forward(self):
                return 0

            # def old(self): ...

            def one(self):
                return 1

        # about x
        x = 1
        """,
        methods(ONE),
    )


def test_two_blank_lines_where_the_file_has_two() -> None:
    check(
        """\
        class Model:
            def a(self): ...


            def b(self): ...
        """,
        """\
        class Model:
            def a(self): ...


            def one(self):
                return 1


            def two(self):
                return 2


            def b(self): ...
        """,
        methods(ONE, TWO, after=("a",)),
    )


BODIES = {
    "class Model: ...\n": "class Model:\n    def one(self):\n        return 1\n",
    "class Model: pass  # yet\n": "class Model:  # yet\n    def one(self):\n        return 1\n",
    "class Model: pass; ...": "class Model:\n    def one(self):\n        return 1",
    "class Model: x = 1; y = 2  # both\nz = 3\n": (
        "class Model:\n    x = 1; y = 2  # both\n\n    def one(self):\n        return 1\nz = 3\n"
    ),
    "class Model:\n    pass\n": "class Model:\n    def one(self):\n        return 1\n",
    "class Model:\n    ...": "class Model:\n    def one(self):\n        return 1",
    "class Model:\n    # why\n    pass  # because\n": (
        "class Model:\n    # why\n    # because\n\n    def one(self):\n        return 1\n"
    ),
    'class Model:\n    """Doc."""\n': ('class Model:\n    """Doc."""\n\n    def one(self):\n        return 1\n'),
    'class Model:\n    """Doc."""\n    pass\n': (
        'class Model:\n    """Doc."""\n\n    def one(self):\n        return 1\n'
    ),
    'class Model:\n    """Doc."""\n\n    ...\n': (
        'class Model:\n    """Doc."""\n\n    def one(self):\n        return 1\n'
    ),
    "class Model:\n\tx = 1\n": "class Model:\n\tx = 1\n\n\tdef one(self):\n\t\treturn 1\n",
    "class Model:\n  x = 1\n": "class Model:\n  x = 1\n\n  def one(self):\n    return 1\n",
    "class Model:\r\n    x = 1\r\n": ("class Model:\r\n    x = 1\r\n\r\n    def one(self):\r\n        return 1\r\n"),
    "class Model:\n    x = 1": "class Model:\n    x = 1\n\n    def one(self):\n        return 1",
    "class Model:\n    x = 1\n    # end": (
        "class Model:\n    x = 1\n    # end\n\n    def one(self):\n        return 1"
    ),
    "class Model:\n    x = '''\n'''\n\x0c\ny = 1\n": (
        "class Model:\n    x = '''\n'''\n\n    def one(self):\n        return 1\n\x0c\ny = 1\n"
    ),
    "if 1:\n    class Model: ...\nelse:\n    x = 1\n": (
        "if 1:\n    class Model:\n        def one(self):\n            return 1\nelse:\n    x = 1\n"
    ),
}


@pytest.mark.parametrize(("before", "after"), BODIES.items())
def test_bodies_of_every_shape(before: str, after: str) -> None:
    assert edited(before, methods(ONE)) == after


def test_decorators_comments_and_docstrings_of_the_new_method_are_indented() -> None:
    check(
        """\
        class Model:
        \tx = 1
        """,
        '''\
        class Model:
        \tx = 1

        \t# new
        \t@property
        \tdef one(self):
        \t\t"""Say.

        \t\tMore.
        \t\t"""
        \t\treturn f(1,
        \t\t\t\t 2)
        ''',
        methods(
            '# new\n@property\ndef one(self):\n    """Say.\n\n    More.\n    """\n    return f(1,\n             2)\n'
        ),
    )


def test_a_method_that_is_there_already_is_left_out() -> None:
    before = f"class Model:\n{''.join(f'    {line}' for line in SETTER.splitlines(True))}"
    assert edited(before, methods(SETTER)) == before
    assert edited(before, methods(SETTER, GETTER)).count("def ") == 2


def test_another_method_of_the_name_is_not_touched() -> None:
    assert refusal("class Model:\n    def one(self): ...\n", methods(ONE)) == ("class Model has another one (line 2)")


def test_an_attribute_of_the_name_is_not_shadowed() -> None:
    before = "class Model:\n    if 1:\n        one = two = f\n"
    assert refusal(before, methods(TWO)) == "class Model assigns two (line 3)"
    assert "def one" in edited("class Model:\n    x = one\n", methods(ONE))


@pytest.mark.parametrize("source", ["x = 1\n", "def a(): ...\ndef b(): ...\n", "class A: ...\n", "def ("])
def test_what_is_not_one_method_is_refused(source: str) -> None:
    assert refusal("class Model: ...\n", methods(source))


def test_a_string_over_several_lines_that_indentation_would_change_is_refused() -> None:
    source = 'def one(self):\n    return """a\n    b"""\n'
    assert refusal("class Model:\n    x = 1\n", methods(source)) == "the result is not what AddMethods declares"
