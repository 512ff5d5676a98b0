"""Adding an import: joined to one that is there, or on a new line in its place."""

from __future__ import annotations

import pytest

from analyzer.fix.import_order import member_key
from analyzer.fix.imports import ensure_import
from tests.fix.fixing import INTERFACES, MODELS, PATH, SETTER, base, check, edited, imported, methods, refusal

JOINED = {
    "a sorted line stays sorted": (
        "from .interfaces import MultiModalEmbeddings, SupportsPP\n",
        "from .interfaces import MultiModalEmbeddings, SupportsEagle3, SupportsPP\n",
    ),
    "numbers in names count as numbers": (
        "from .interfaces import SupportsEagle, SupportsEagle10\n",
        "from .interfaces import SupportsEagle, SupportsEagle3, SupportsEagle10\n",
    ),
    "constants come before classes, and functions after them": (
        "from .interfaces import MAX_LAYERS, supports_eagle3\n",
        "from .interfaces import MAX_LAYERS, SupportsEagle3, supports_eagle3\n",
    ),
    "a line that is sorted without regard to kind stays that way": (
        "from .interfaces import has_x, SupportsPP, SupportZ, zoo\n",
        "from .interfaces import has_x, SupportsEagle3, SupportsPP, SupportZ, zoo\n",
    ),
    "a line in no order gets the name at its end": (
        "from .interfaces import SupportsPP, HasInnerState, IsHybrid\n",
        "from .interfaces import SupportsPP, HasInnerState, IsHybrid, SupportsEagle3\n",
    ),
    "an absolute import of the same module is joined": (
        f"from {INTERFACES} import SupportsPP\n",
        f"from {INTERFACES} import SupportsEagle3, SupportsPP\n",
    ),
    "a relative import through the package's parent too": (
        "from ..models.interfaces import SupportsPP\n",
        "from ..models.interfaces import SupportsEagle3, SupportsPP\n",
    ),
    "a line that grows too long is exploded": (
        "from .interfaces import MultiModalEmbeddings, SupportsLoRA, SupportsMultiModal, SupportsPP\n",
        "from .interfaces import (\n    MultiModalEmbeddings,\n    SupportsEagle3,\n    SupportsLoRA,\n"
        "    SupportsMultiModal,\n    SupportsPP,\n)\n",
    ),
    "one in brackets too": (
        "from .interfaces import (MultiModalEmbeddings, SupportsMRoPE, SupportsMultiModal, SupportsPP)\n",
        "from .interfaces import (\n    MultiModalEmbeddings,\n    SupportsEagle3,\n    SupportsMRoPE,\n"
        "    SupportsMultiModal,\n    SupportsPP,\n)\n",
    ),
    "an exploded list gets one line more": (
        "from .interfaces import (\n    MultiModalEmbeddings,  # images\n    # pipelines\n    SupportsPP,\n)\n",
        "from .interfaces import (\n    MultiModalEmbeddings,  # images\n    SupportsEagle3,\n    # pipelines\n"
        "    SupportsPP,\n)\n",
    ),
    "an aligned list stays aligned, at 80 columns": (
        "from .interfaces import (MultiModalEmbeddings, SupportsMultiModal, SupportsPP,\n"
        "                         SupportsQuant)\n",
        "from .interfaces import (MultiModalEmbeddings, SupportsEagle3,\n"
        "                         SupportsMultiModal, SupportsPP, SupportsQuant)\n",
    ),
    "a line of a file with aligned lists breaks aligned": (
        "from .a import (b,\n                c)\n"
        "from .interfaces import MultiModalEmbeddings, SupportsMultiModal, SupportsPP\n",
        "from .a import (b,\n                c)\n"
        "from .interfaces import (MultiModalEmbeddings, SupportsEagle3,\n"
        "                         SupportsMultiModal, SupportsPP)\n",
    ),
    "lines joined by backslashes stay joined": (
        "from .interfaces import HasInnerState, \\\n    SupportsPP\n",
        "from .interfaces import HasInnerState, SupportsEagle3, \\\n    SupportsPP\n",
    ),
    "a trailing comment stays where it is": (
        "from .interfaces import SupportsPP  # noqa: F401\n",
        "from .interfaces import SupportsEagle3, SupportsPP  # noqa: F401\n",
    ),
    "other statements on the line stay": (
        "import os; from .interfaces import SupportsPP; x = 1\n",
        "import os; from .interfaces import SupportsEagle3, SupportsPP; x = 1\n",
    ),
    "aliases among the names do not matter": (
        "from .interfaces import HasInnerState as H, SupportsPP as P, X\n",
        "from .interfaces import HasInnerState as H, SupportsEagle3, SupportsPP as P, X\n",
    ),
    "an import of aliases alone gets a neighbour, as isort has it": (
        "from .interfaces import SupportsPP as P\n",
        "from .interfaces import SupportsEagle3\nfrom .interfaces import SupportsPP as P\n",
    ),
    "an import inside a branch is not joined": (
        "import os\n\nif os:\n    from .interfaces import SupportsPP\n",
        f"import os\n\nfrom {INTERFACES} import SupportsEagle3\n\nif os:\n    from .interfaces import SupportsPP\n",
    ),
    "nor one inside try": (
        "import os\n\ntry:\n    from .interfaces import SupportsPP\nexcept ImportError:\n    pass\n",
        f"import os\n\nfrom {INTERFACES} import SupportsEagle3\n\ntry:\n"
        "    from .interfaces import SupportsPP\nexcept ImportError:\n    pass\n",
    ),
    "a name for type checking only is imported for run time too": (
        "from typing import TYPE_CHECKING\n\nfrom .utils import x\n\n"
        "if TYPE_CHECKING:\n    from .interfaces import SupportsEagle3\n",
        "from typing import TYPE_CHECKING\n\nfrom .interfaces import SupportsEagle3\nfrom .utils import x\n\n"
        "if TYPE_CHECKING:\n    from .interfaces import SupportsEagle3\n",
    ),
    "a star import of the module itself is no promise": (
        "from .interfaces import *\n",
        "from .interfaces import *\nfrom .interfaces import SupportsEagle3\n",
    ),
    "what is imported already is left alone": (
        "from .interfaces import (SupportsEagle3)\n",
        "from .interfaces import (SupportsEagle3)\n",
    ),
}

PLACED = {
    "between its neighbours": (
        "import torch\n\nfrom .clip import A\nfrom .utils import B\n",
        "import torch\n\nfrom .clip import A\nfrom .interfaces import SupportsEagle3\nfrom .utils import B\n",
    ),
    "before its neighbours, and above their comments": (
        "import torch\n\n# helpers\nfrom .utils import B\n",
        "import torch\n\nfrom .interfaces import SupportsEagle3\n# helpers\nfrom .utils import B\n",
    ),
    "but below the comments that begin the file": (
        "# SPDX-License-Identifier: Apache-2.0\nfrom .utils import B\n",
        "# SPDX-License-Identifier: Apache-2.0\nfrom .interfaces import SupportsEagle3\nfrom .utils import B\n",
    ),
    "behind neighbours that are in no order": (
        "from .utils import B\nfrom .clip import A\n\nx = 1\n",
        "from .utils import B\nfrom .clip import A\nfrom .interfaces import SupportsEagle3\n\nx = 1\n",
    ),
    "packages further away come first": (
        "from ..layers import A\nfrom .utils import B\n",
        "from ..layers import A\nfrom .interfaces import SupportsEagle3\nfrom .utils import B\n",
    ),
    "absolute where the siblings are": (
        f"import torch\n\nfrom {MODELS}.clip import A\nfrom {MODELS}.utils import B\n",
        f"import torch\n\nfrom {MODELS}.clip import A\nfrom {INTERFACES} import SupportsEagle3\n"
        f"from {MODELS}.utils import B\n",
    ),
    "absolute where nothing is relative": (
        "import torch\n\nx = 1\n",
        f"import torch\n\nfrom {INTERFACES} import SupportsEagle3\n\nx = 1\n",
    ),
    "in a new section before a later one": (
        "import os\n\nfrom ..layers import A\n\nx = 1\n",
        "import os\n\nfrom ..layers import A\nfrom .interfaces import SupportsEagle3\n\nx = 1\n",
    ),
    "in a new section of its own, below third parties and above relative ones": (
        f"import torch\n\nfrom {MODELS} import x\nfrom . import utils\n",
        f"import torch\n\nfrom {MODELS} import x\nfrom . import utils\nfrom .interfaces import SupportsEagle3\n",
    ),
    "below plain imports of the same section": (
        "import vllm.envs\n\nx = 1\n",
        f"import vllm.envs\nfrom {INTERFACES} import SupportsEagle3\n\nx = 1\n",
    ),
    "never above a docstring": (
        '"""What it is."""\n\n\nclass Model: ...\n',
        f'"""What it is."""\n\nfrom {INTERFACES} import SupportsEagle3\n\n\nclass Model: ...\n',
    ),
    "with room below a docstring that has none": (
        '"""What it is."""\nclass Model: ...\n',
        f'"""What it is."""\n\nfrom {INTERFACES} import SupportsEagle3\n\n\nclass Model: ...\n',
    ),
    "never above the future": (
        '"""Doc."""\nfrom __future__ import annotations\n\nx = 1\n',
        f'"""Doc."""\nfrom __future__ import annotations\n\nfrom {INTERFACES} import SupportsEagle3\n\nx = 1\n',
    ),
    "below a licence, a cookie and a shebang": (
        "#!/usr/bin/env python\n# -*- coding: utf-8 -*-\n\nclass Model: ...\n",
        f"#!/usr/bin/env python\n# -*- coding: utf-8 -*-\n\nfrom {INTERFACES} import SupportsEagle3\n\n\n"
        "class Model: ...\n",
    ),
    "at the top of a file that has nothing above its code": (
        "x = 1\n",
        f"from {INTERFACES} import SupportsEagle3\n\nx = 1\n",
    ),
    "in an empty file": ("", f"from {INTERFACES} import SupportsEagle3\n"),
    "above the first definition, not among imports below it": (
        "import os\n\n\ndef f(): ...\n\n\nfrom .interfaces import SupportsPP as P\n",
        f"import os\n\nfrom {INTERFACES} import SupportsEagle3\n\n\ndef f(): ...\n\n\n"
        "from .interfaces import SupportsPP as P\n",
    ),
    "outside of a block for type checkers": (
        "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    from .utils import B\n",
        f"from typing import TYPE_CHECKING\n\nfrom {INTERFACES} import SupportsEagle3\n\n"
        "if TYPE_CHECKING:\n    from .utils import B\n",
    ),
    "with the newlines of the file, and no last one where it had none": (
        "import torch\r\n\r\nfrom .clip import A",
        "import torch\r\n\r\nfrom .clip import A\r\nfrom .interfaces import SupportsEagle3",
    ),
}


@pytest.mark.parametrize(("before", "after"), JOINED.values(), ids=list(JOINED))
def test_an_import_is_joined(before: str, after: str) -> None:
    assert edited(before, imported()) == after


@pytest.mark.parametrize(("before", "after"), PLACED.values(), ids=list(PLACED))
def test_a_new_import_is_placed(before: str, after: str) -> None:
    assert edited(before, imported()) == after


def test_a_first_party_section_is_made_between_the_others() -> None:
    path = "vllm/models/deepseek/nvidia.py"
    check(
        """\
        import os

        import torch

        from .ops import x
        """,
        f"""\
        import os

        import torch

        from {INTERFACES} import SupportsEagle3

        from .ops import x
        """,
        imported(path=path),
    )


def test_a_plugin_imports_vllm_as_a_third_party() -> None:
    check(
        """\
        import torch
        import zmq

        from plugin import x
        """,
        f"""\
        import torch
        import zmq
        from {INTERFACES} import SupportsEagle3

        from plugin import x
        """,
        imported(path="src/plugin/model.py"),
    )


def test_a_line_that_is_too_long_from_the_start_is_exploded() -> None:
    module = f"{MODELS}.a_package_with_quite_a_long_name.interfaces"
    after = f"from {module} import (\n    SupportsEagle3,\n)\n"
    assert edited("", imported(module=module)) == after


TAKEN = {
    "class SupportsEagle3: ...\n": "the name SupportsEagle3 is taken (line 1)",
    "def SupportsEagle3(): ...\n": "the name SupportsEagle3 is taken (line 1)",
    "x = 1\nSupportsEagle3 = None\n": "the name SupportsEagle3 is taken (line 2)",
    "a, (b, *SupportsEagle3) = f()\n": "the name SupportsEagle3 is taken (line 1)",
    "SupportsEagle3: type = object\n": "the name SupportsEagle3 is taken (line 1)",
    "for SupportsEagle3 in f(): ...\n": "the name SupportsEagle3 is taken (line 1)",
    "with f() as SupportsEagle3: ...\n": "the name SupportsEagle3 is taken (line 1)",
    "if (SupportsEagle3 := f()): ...\n": "the name SupportsEagle3 is taken (line 1)",
    "try: ...\nexcept E as SupportsEagle3: ...\n": "the name SupportsEagle3 is taken (line 2)",
    "match f():\n    case [SupportsEagle3, *_]: ...\n": "the name SupportsEagle3 is taken (line 2)",
    "match f():\n    case {'a': 1, **SupportsEagle3}: ...\n": "the name SupportsEagle3 is taken (line 2)",
    "def f():\n    global SupportsEagle3\n": "the name SupportsEagle3 is taken (line 2)",
    "import SupportsEagle3.x\n": "the name SupportsEagle3 is taken (line 1)",
    "import x as SupportsEagle3\n": "the name SupportsEagle3 is taken (line 1)",
    "from .other import SupportsEagle3\n": "the name SupportsEagle3 is taken (line 1)",
    "from .other import X as SupportsEagle3\n": "the name SupportsEagle3 is taken (line 1)",
    "if TYPE_CHECKING:\n    from .other import SupportsEagle3\n": ("the name SupportsEagle3 is taken (line 2)"),
    "try:\n    from .interfaces import SupportsEagle3\nexcept ImportError: ...\n": (
        "SupportsEagle3 is imported on a condition only (line 2)"
    ),
    "if not TYPE_CHECKING:\n    from .interfaces import SupportsEagle3\n": (
        "SupportsEagle3 is imported on a condition only (line 2)"
    ),
    "from os import *\n": "the star import from os (line 1) may bind the name SupportsEagle3 too",
}


@pytest.mark.parametrize(("before", "reason"), TAKEN.items())
def test_a_name_that_is_taken_is_refused(before: str, reason: str) -> None:
    assert refusal(before, imported()) == reason


def test_names_of_functions_classes_and_comprehensions_are_not_the_modules() -> None:
    before = "def f(SupportsEagle3): x = SupportsEagle3 = 1\n\n\nclass A:\n    SupportsEagle3 = 1\n"
    assert edited(before, imported()).endswith(before)


def test_an_alias_is_told_and_used() -> None:
    text = "from .interfaces import SupportsEagle3 as E3\n"
    assert ensure_import(text, PATH, INTERFACES, "SupportsEagle3") == (text, "E3")
    guard = """\
        def load(self):
            assert isinstance(self, SupportsEagle3), "SupportsEagle3"
        """
    check(
        """\
        from .interfaces import SupportsEagle3 as E3


        class Model(Base):
            x = 1
        """,
        """\
        from .interfaces import SupportsEagle3 as E3


        class Model(Base, E3):
            x = 1

            def load(self):
                assert isinstance(self, E3), "SupportsEagle3"
        """,
        methods(guard),
        base(),
        imported(),
    )


def test_an_import_below_the_class_does_not_help_it() -> None:
    check(
        """\
        import torch


        class Model(torch.nn.Module):
            x = 1


        from .interfaces import SupportsEagle3, X
        """,
        f"""\
        import torch

        from {INTERFACES} import SupportsEagle3


        class Model(torch.nn.Module, SupportsEagle3):
            x = 1


        from .interfaces import SupportsEagle3, X
        """,
        imported(),
        base(),
    )


def test_base_import_and_methods_come_together() -> None:
    check(
        """\
        import torch.nn as nn

        from .interfaces import SupportsPP


        class Model(nn.Module, SupportsPP):
            def forward(self): ...
        """,
        """\
        import torch.nn as nn

        from .interfaces import SupportsEagle3, SupportsPP


        class Model(nn.Module, SupportsPP, SupportsEagle3):
            def forward(self): ...

            def set_aux_hidden_state_layers(self, layers: tuple[int, ...]) -> None:
                self.language_model.set_aux_hidden_state_layers(layers)
        """,
        base(),
        methods(SETTER),
        imported(),
    )


def test_the_order_of_names_is_that_of_ruff() -> None:
    """Compare with what ``ruff check --select I001 --fix`` makes of these."""
    names = {
        *("T", "_private", "a10", "a2", "eagle", "supports_eagle3", "supports_pp", "Eagle10", "Eagle2"),
        *("IsHybrid", "SupportsEagle3", "SupportsEagle", "SupportsPP", "SupportsLoRA", "ZERO_1", "MAX_N", "XIELU"),
    }
    assert sorted(names, key=member_key) == [
        *("MAX_N", "XIELU", "ZERO_1", "Eagle2", "Eagle10", "IsHybrid", "SupportsEagle", "SupportsEagle3"),
        *("SupportsLoRA", "SupportsPP", "T", "_private", "a2", "a10", "eagle", "supports_eagle3", "supports_pp"),
    ]
