"""Third-party code held against a tree: what is said of it is what Python does."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from pathlib import Path
from textwrap import dedent

import pytest

from analyzer.checkout import Checkout, open_checkout
from analyzer.drift.package import PackageError, open_package
from analyzer.drift.read import analyse
from analyzer.drift.records import DriftReport
from tests.drift_cases import BROKEN, HONOURED
from tests.fixture_trees import FIXTURES

ALL = (*BROKEN, *HONOURED)
RUN = """
import importlib, json, sys
for name in json.load(sys.stdin):
    try:
        importlib.import_module(name).use()
        said = ""
    except Exception as error:
        said = type(error).__name__
    print(json.dumps(said))
"""


@cache
def tree(generation: str) -> Checkout:
    return open_checkout(FIXTURES / "drift" / generation)


def module(number: int) -> str:
    return f"client_{number}"


@pytest.fixture(scope="module")
def clients(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for each client, with one package in it."""
    root = tmp_path_factory.mktemp("clients")
    for number, client in enumerate(ALL):
        package = root / module(number)
        package.mkdir()
        (package / "__init__.py").write_text(dedent(client.source))
    return root


@pytest.fixture(scope="module")
def did(clients: Path) -> dict[str, list[str]]:
    """What Python says when each client is used, by tree."""
    return {generation: run(clients, FIXTURES / "drift" / generation) for generation in ("older", "newer")}


def run(clients: Path, root: Path) -> list[str]:
    answer = subprocess.run(
        [sys.executable, "-B", "-c", f"import sys; sys.path[:0] = {[str(root), str(clients)]!r}\n{RUN}"],
        input=json.dumps([module(number) for number in range(len(ALL))]),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr
    return [json.loads(line) for line in answer.stdout.splitlines()]


def report(clients: Path, number: int, generation: str, since: str = "") -> DriftReport:
    package = open_package(clients / module(number))
    return analyse(package, tree(generation), tree(since) if since else None)


@pytest.mark.parametrize("number", range(len(ALL)), ids=[client.name for client in ALL])
def test_what_is_said_is_what_python_does(number: int, clients: Path, did: dict[str, list[str]]) -> None:
    client = ALL[number]
    assert did["older"][number] == ""
    assert did["newer"][number] == client.raises
    assert report(clients, number, "older").uses == []
    found = report(clients, number, "newer")
    assert [(use.kind, use.name) for use in found.uses] == list(client.said)
    assert len(found.guarded) == client.guarded
    assert found.failing is bool(client.raises)


@pytest.mark.parametrize("number", range(len(BROKEN)), ids=[client.name for client in BROKEN])
def test_the_older_tree_honours_what_the_newer_does_not(number: int, clients: Path) -> None:
    for use in report(clients, number, "newer", since="older").uses:
        assert use.before == "honoured"
        assert use.at.path == f"{module(number)}/__init__.py"


@pytest.mark.parametrize(
    "number", [n for n, client in enumerate(ALL) if client.went], ids=[client.name for client in ALL if client.went]
)
def test_it_is_told_where_a_name_went(number: int, clients: Path) -> None:
    client = ALL[number]
    (use,) = report(clients, number, "newer").uses
    assert use.went[0].partition(" ")[0] == client.went


def test_every_use_has_a_place_in_the_tree_that_shows_it(clients: Path) -> None:
    for number, client in enumerate(BROKEN):
        for use in report(clients, number, "newer").uses:
            assert use.evidence or use.kind == "missing-module", client.name
            for evidence in use.evidence:
                lines = FIXTURES / "drift" / "newer" / evidence.at.path
                file = lines if lines.exists() else clients / evidence.at.path
                assert 1 <= evidence.at.line <= len(file.read_text().splitlines())


def package_of(folder: Path, **files: str) -> Path:
    """A package with some modules."""
    package = folder / "client"
    package.mkdir()
    (package / "__init__.py").write_text("")
    for name, source in files.items():
        (package / f"{name}.py").write_text(dedent(source))
    return package


def said(package: Path, since: str = "") -> list[tuple[str, str, str]]:
    found = analyse(open_package(package), tree("newer"), tree(since) if since else None)
    return [(use.kind, use.name, use.before) for use in found.uses]


def test_names_go_through_modules_of_the_package_itself(tmp_path: Path) -> None:
    package = package_of(
        tmp_path,
        names="from vllm.helpers import layout\nfrom vllm.engine import Status\n",
        use="from .names import Status, layout\n# vllm\nlayout(1, columns=2)\nStatus.SWAPPED\n",
    )
    assert said(package) == [
        ("unknown-argument", "layout(columns)", ""),
        ("missing-member", "Status.SWAPPED", ""),
    ]


def test_what_neither_tree_honours_is_said_to_be_so(tmp_path: Path) -> None:
    package = package_of(tmp_path, use="from vllm.helpers import never_there\n")
    assert said(package, since="older") == [("missing-name", "vllm.helpers.never_there", "not-honoured")]


def test_an_override_of_what_is_gone_is_told_where_there_is_an_older_tree(tmp_path: Path) -> None:
    source = """
        from vllm.engine import Engine

        class Mine(Engine):
            def swap(self):
                return 2
        """
    package = package_of(tmp_path, use=source)
    assert said(package) == []
    assert said(package, since="older") == [("lost-override", "Mine.swap", "honoured")]


def test_a_method_that_took_the_place_of_another_is_named(tmp_path: Path) -> None:
    source = """
        from vllm.config import SchedulerConfig

        def use(scheduler: SchedulerConfig, more: SchedulerConfig):
            return scheduler.steps()
        """
    found = analyse(open_package(package_of(tmp_path, use=source)), tree("newer"), tree("older"))
    assert [use.name for use in found.uses] == ["SchedulerConfig.steps"]


def test_what_is_not_judged_is_counted_with_its_reason(tmp_path: Path) -> None:
    source = """
        from vllm.tokens import join
        from vllm import _compiled

        def use():
            return join(["a"], separator="-")
        """
    found = analyse(open_package(package_of(tmp_path, use=source)), tree("newer"))
    assert [(row.name, row.reason) for row in found.unresolved] == [
        ("join(…)", "join is defined more than once"),
    ]
    assert [use.name for use in found.uses] == ["vllm._compiled"]


def test_files_that_cannot_be_read_are_told_and_stop_nothing(tmp_path: Path) -> None:
    package = package_of(tmp_path, good="from vllm.helpers import gone\n", bad="import vllm\ndef f(:\n")
    (package / "worse.py").write_bytes(b"import vllm\n# \xff\xfe\n")
    (package / "deep.py").write_text("import vllm\nx = " + "(" * 3000 + ")" * 3000 + "\n")
    found = analyse(open_package(package), tree("newer"))
    assert [use.name for use in found.uses] == ["vllm.helpers.gone"]
    assert {d.path for d in found.diagnostics} == {f"client/{name}.py" for name in ("bad", "worse", "deep")}


def test_an_encoding_that_a_file_declares_counts(tmp_path: Path) -> None:
    package = package_of(tmp_path)
    text = "# -*- coding: latin-1 -*-\ns = '\xe9'; import vllm.gone\n"
    (package / "old.py").write_bytes(text.encode("latin-1"))
    (use,) = analyse(open_package(package), tree("newer")).uses
    assert (use.at.line, use.at.column) == (2, 10)


@pytest.mark.parametrize("kind", ["missing", "file", "empty"])
def test_a_folder_without_python_is_an_error_in_one_line(kind: str, tmp_path: Path) -> None:
    target = tmp_path / "target"
    if kind == "file":
        target.write_text("")
    elif kind == "empty":
        target.mkdir()
    with pytest.raises(PackageError) as error:
        open_package(target)
    assert "\n" not in str(error.value)


def test_vllm_itself_is_no_package_that_uses_it() -> None:
    package = open_package(FIXTURES / "drift" / "older" / "vllm")
    with pytest.raises(PackageError, match="vllm-contracts diff"):
        analyse(package, tree("newer"))


@pytest.mark.parametrize("generation", ["older", "newer"])
def test_a_tree_honours_its_own_uses(generation: str) -> None:
    assert analyse(open_package(FIXTURES / "drift" / generation / "vllm"), tree(generation)).uses == []


def test_a_module_that_only_another_version_imports_is_guarded(tmp_path: Path) -> None:
    files = {
        "old": "from vllm.helpers import make_identifier\n",
        "chosen": "import vllm\n\nif vllm.__version__ < '2.0.0':\n    from . import old\n",
    }
    package = package_of(tmp_path, **files)
    found = analyse(open_package(package), tree("newer"))
    assert (found.uses, len(found.guarded)) == ([], 1)
    (package / "always.py").write_text("from .old import make_identifier  # vllm\n")
    assert len(analyse(open_package(package), tree("newer")).uses) == 1


def test_a_class_that_fills_in_nothing_is_no_implementation(tmp_path: Path) -> None:
    source = """
        from vllm.engine import Worker

        class Namespace(Worker):
            @staticmethod
            def chosen():
                return 1
        """
    assert said(package_of(tmp_path, use=source)) == []


ODD = {
    "relative imports that lead nowhere": "import vllm\nfrom vllm import *\nfrom .. import x\nfrom ....y import z\n",
    "classes that inherit from themselves": "# vllm\nclass A(A): pass\nclass B(B.C): pass\nx = x.y.z\n",
    "a property of itself": "from vllm.engine import Engine\n\n\nclass E(Engine):\n    @property\n"
    "    def q(self):\n        return self.q.q\n\n\nclass F(E, E): pass\n",
    "patterns": "import vllm.engine as e\nmatch e:\n    case e.Engine(): e.Status\n    case {'a': x, **rest}: rest\n"
    "    case [a, *b]: b\n",
    "coroutines": "import vllm.engine\n\n\nasync def f():\n    async with vllm.engine as x:\n        await x.y()\n"
    "    return [await y async for y in vllm.engine]\n",
    "a very long sum": "import vllm\nx = " + "+".join(["vllm.a"] * 3000) + "\n",
    "a very long chain": "import vllm\nx = vllm" + ".a" * 1500 + "\n",
    "annotations that do not parse": "from vllm.config import Config\n\n\nclass Q(Config):\n    x: 'Config.[' = 1\n",
    "a name that is what it makes": "from vllm.engine import Engine as E\nE = E.build\nE = E(E)\n",
}


@pytest.mark.parametrize("source", ODD.values(), ids=list(ODD))
def test_odd_sources_stop_nothing(source: str, tmp_path: Path) -> None:
    package = package_of(tmp_path, odd=source, good="from vllm.helpers import gone\n")
    found = analyse(open_package(package), tree("newer"), tree("older"))
    assert "vllm.helpers.gone" in {use.name for use in found.uses}
