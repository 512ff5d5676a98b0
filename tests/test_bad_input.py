"""Input that is broken, hostile or merely odd: what is lost is told, nothing raises, and the rest goes on.

Each test puts one odd file into a fixture tree, registers it, and audits the tree.  Another file of the tree has a
fault of its own, which must be found all the same.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner

from analyzer import source
from analyzer.checkout import CheckoutError, open_checkout
from analyzer.cli import cli
from analyzer.engine import EngineError
from analyzer.records import Report, StatusRecord
from rules import all_rules
from tests.fixture_trees import MODELS, add_case, audit, copy_tree

FAULTY = next(rule for rule in all_rules() if rule.code == "VC001").bad[0]
FAULTY_CLASS = "vllm.model_executor.models.kiwi.KiwiForConditionalGeneration"
INTERFACES = f"{MODELS}/interfaces.py"


def wrapper(
    build: str = "self.language_model = AlphaForCausalLM(vllm_config=vllm_config)",
    *,
    bases: str = "nn.Module",
    before: str = "",
    methods: str = "",
) -> str:
    """A wrapper called Odd: how it builds its inner model, its bases, and what else stands in its file."""
    return (
        "from torch import nn\n\n"
        "from .alpha import AlphaForCausalLM\n"
        "from .interfaces import SupportsEagle3\n"
        f"{before}\n\n"
        f"class Odd({bases}):\n"
        '    def __init__(self, *, vllm_config, prefix=""):\n'
        "        super().__init__()\n"
        f"        {build}\n\n"
        f"{methods}\n"
        "    def forward(self, input_ids, positions, **kwargs):\n"
        "        return self.language_model(input_ids, positions, **kwargs)\n\n"
        "    def compute_logits(self, hidden_states):\n"
        "        return self.language_model.compute_logits(hidden_states)\n"
    )


@dataclass
class Odd:
    """A tree with one odd file and one faulty one."""

    root: Path

    @property
    def file(self) -> Path:
        return self.root / MODELS / "odd.py"

    def write(self, contents: str | bytes) -> Report:
        """Write the odd file, and audit; the other file's fault must be found."""
        self.file.write_bytes(contents if isinstance(contents, bytes) else contents.encode())
        return self.audit()

    def audit(self) -> Report:
        report = audit(self.root)
        assert [f.code for f in report.findings if f.cls == FAULTY_CLASS] == ["VC001"]
        assert not {m.name for m in report.models if m.at.path.endswith("alpha.py")} ^ {
            "AlphaForCausalLM",
            "AlphaEmbeddingModel",
        }
        return report

    def register(self, architecture: str, module: str, cls: str) -> None:
        registry = self.root / MODELS / "registry.py"
        head = "_TEXT_GENERATION_MODELS = {\n"
        text = registry.read_text()
        assert head in text
        registry.write_text(text.replace(head, f'{head}    "{architecture}": ("{module}", "{cls}"),\n'))


@pytest.fixture
def odd(tmp_path: Path) -> Odd:
    tree = Odd(copy_tree("0.33", tmp_path / "tree"))
    add_case(FAULTY, tree.root)
    tree.register("OddForCausalLM", "odd", "Odd")
    return tree


def status_of(report: Report, name: str = "Odd") -> StatusRecord:
    model = next(m for m in report.models if m.name == name)
    return model.statuses["SupportsEagle3"]


def told(report: Report, path: str = f"{MODELS}/odd.py") -> list[str]:
    return [d.message for d in report.diagnostics if d.path == path]


# -- the checkout ----------------------------------------------------------------------------------


def run(*arguments: str) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of the command."""
    result = CliRunner().invoke(cli, arguments)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.stdout, result.stderr


def unreadable_tree(root: Path, how: Callable[[Path], object]) -> str:
    """The one line that ends an audit of a tree that was spoilt."""
    how(root)
    code, out, err = run("audit", str(root))
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    return err


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda root: (root / INTERFACES).unlink(), "has no vllm/model_executor/models/interfaces.py"),
        (lambda root: (root / INTERFACES).write_text("class SupportsEagle3(:\n"), "cannot parse this"),
        (lambda root: (root / INTERFACES).write_bytes(b"# \xff\n"), "cannot be decoded as utf-8: byte 0xff"),
        (lambda root: (root / INTERFACES).write_bytes(b"x = 1\0\n"), "holds a NUL byte"),
        (lambda root: (root / INTERFACES).write_text(""), "defines no Protocol"),
        (lambda root: (root / INTERFACES).write_text("x = " + "-" * 50_000 + "1"), "nested too deeply"),
        (lambda root: (root / "vllm").rename(root / "other"), "no vLLM here"),
    ],
    ids=["missing", "syntax", "encoding", "nul", "empty", "deep", "no package"],
)
def test_a_tree_without_usable_contracts_ends_in_one_line(
    spoil: Callable[[Path], object], says: str, tmp_path: Path
) -> None:
    assert says in unreadable_tree(copy_tree("0.33", tmp_path / "tree"), spoil)


def test_the_engine_raises_its_own_errors_only(tmp_path: Path) -> None:
    root = copy_tree("0.16", tmp_path / "tree")
    (root / INTERFACES).write_text("def broken(:\n")
    with pytest.raises(EngineError, match=r"interfaces\.py cannot be used: .*cannot parse"):
        audit(root)
    with pytest.raises(CheckoutError, match="no such folder"):
        open_checkout(tmp_path / "nowhere")


@pytest.mark.parametrize("form", ["text", "json"])
def test_the_command_reports_findings_although_a_file_is_broken(form: str, odd: Odd) -> None:
    odd.write("def broken(:\n")
    code, out, err = run("audit", str(odd.root), "--format", form)
    assert (code, err) == (1, "")
    assert "VC001" in out
    assert "odd.py" in out


# -- bytes -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("contents", "says"),
    [
        ("class Odd(:\n", "cannot parse this"),
        (b"# \xff\xfe\nclass Odd: pass\n", "cannot be decoded as utf-8: byte 0xff"),
        (b"class Odd:\0 pass\n", "holds a NUL byte"),
        (b"# -*- coding: nonsense -*-\nclass Odd: pass\n", "unknown encoding: nonsense"),
        ("class Odd:\n\tpass\n        x = 1\n", "cannot parse this"),
        (wrapper() + "#" + "x" * (source.MAX_BYTES + 1), "larger than 20 MB"),
        (wrapper(before="X = " + "(" * 5_000 + "1" + ")" * 5_000), "too many nested parentheses"),
    ],
    ids=["syntax", "encoding", "nul", "unknown codec", "tabs", "21 MB", "parentheses"],
)
def test_a_model_file_that_cannot_be_read_is_told_and_so_is_its_architecture(
    contents: str | bytes, says: str, odd: Odd
) -> None:
    report = odd.write(contents)
    assert [says in message for message in told(report)] == [True]
    assert any("OddForCausalLM cannot be resolved" in message for message in told(report, f"{MODELS}/registry.py"))


@pytest.mark.parametrize("build", ["x = = 1", "self.x = " + "(" * 5_000 + "1" + ")" * 5_000, "x = (1"])
def test_a_method_that_cannot_be_parsed_is_told_and_the_class_is_unknown(build: str, odd: Odd) -> None:
    report = odd.write(wrapper(build))
    assert [f"Python {sys.version_info[0]}" in message for message in told(report)] == [True]
    status = status_of(report)
    assert (status.verdict, status.reason) == ("unknown", "__init__ cannot be read")


@pytest.mark.parametrize(
    "contents",
    [
        b"\xef\xbb\xbf" + wrapper().encode(),
        wrapper().replace("\n", "\r\n").encode(),
        wrapper().replace("\n", "\r").encode(),
        b"# -*- coding: latin-1 -*-\n# \xe9\n" + wrapper().encode(),
        b"\x0c\n" + wrapper().encode(),
        (wrapper() + "TABLE = {\n" + "".join(f"    {i}: 'padding {i:060}',\n" for i in range(62_000)) + "}\n").encode(),
        wrapper("self.x = '\\ud800'; self.language_model = AlphaForCausalLM(vllm_config=vllm_config)").encode(),
        wrapper("self.ﬁ = self.fi; self.language_model = AlphaForCausalLM(vllm_config=vllm_config)").encode(),
    ],
    ids=["BOM", "CRLF", "CR", "latin-1", "form feed", "5 MB", "surrogate", "ligature"],
)
def test_a_model_file_that_is_merely_unusual_is_audited_like_any_other(contents: bytes, odd: Odd) -> None:
    report = odd.write(contents)
    assert not report.diagnostics
    assert [f.code for f in report.findings if f.at.path.endswith("odd.py")] == ["VC001"]


def test_an_unreadable_file_is_told(odd: Odd, monkeypatch: pytest.MonkeyPatch) -> None:
    odd.write(wrapper())
    refuse(odd.file, monkeypatch)
    assert "cannot be read: Permission denied" in told(odd.audit())


def test_an_unreadable_file_outside_the_model_folders_is_told(odd: Odd, monkeypatch: pytest.MonkeyPatch) -> None:
    odd.write(wrapper())
    refuse(odd.root / "vllm/sequence.py", monkeypatch)
    assert told(odd.audit(), "vllm/sequence.py") == ["cannot be read: Permission denied"]


def refuse(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a file unreadable for this process; a mode would not do for root."""
    really_open, really_read = os.open, Path.read_bytes

    def opened(name: str | os.PathLike[str], *arguments: int, **keywords: int) -> int:
        if Path(name) == path:
            raise PermissionError(13, "Permission denied", str(path))
        return really_open(name, *arguments, **keywords)

    def read(self: Path) -> bytes:
        if self == path:
            raise PermissionError(13, "Permission denied", str(path))
        return really_read(self)

    monkeypatch.setattr(os, "open", opened)
    monkeypatch.setattr(Path, "read_bytes", read)


def test_links_that_lead_nowhere_or_in_a_circle_do_not_stop_the_walk(odd: Odd) -> None:
    models = odd.root / MODELS
    (models / "again").symlink_to(models, target_is_directory=True)
    (models / "up").symlink_to(odd.root, target_is_directory=True)
    (models / "self").symlink_to(models / "self")
    (models / "dangling.py").symlink_to(models / "nowhere.py")
    report = odd.write(wrapper())
    assert [d.path for d in report.diagnostics] == [f"{MODELS}/dangling.py", f"{MODELS}/self"]
    paths = [m.at.path for m in report.models]
    assert not any("/again/" in path or "/up/" in path for path in paths)


def test_a_pipe_and_a_folder_named_like_modules_do_not_hang_the_run(odd: Odd) -> None:
    (odd.root / MODELS / "folder.py").mkdir()
    if hasattr(os, "mkfifo"):
        os.mkfifo(odd.root / MODELS / "pipe.py")
    odd.register("PipeForCausalLM", "pipe", "Pipe")
    report = odd.write(wrapper())
    assert "PipeForCausalLM cannot be resolved" in told(report, f"{MODELS}/registry.py")[0]


# -- depth and size --------------------------------------------------------------------------------

DEEP = {
    "attributes": "self.x = " + "a." * 20_000 + "b",
    "signs": "self.x = " + "-" * 50_000 + "1",
    "not": "self.x = " + "not " * 3_000 + "1",
    "sum": "self.x = " + "+".join(["1"] * 50_000),
    "sum that parses": "self.x = " + "+".join(["1"] * 3_000),
    "elif": "if vllm_config.a == 0: self.y = 0\n"
    + "".join(f"        elif vllm_config.a == {i}: self.y = {i}\n" for i in range(3_000)),
}


@pytest.mark.parametrize("build", DEEP.values(), ids=DEEP)
def test_nesting_that_no_recursion_survives_is_told(build: str, odd: Odd) -> None:
    report = odd.write(wrapper(build))
    assert ["nested too deeply" in message for message in told(report)] == [True]


@pytest.mark.parametrize("depth", [200, 700, 1_000, 1_200, 1_240])
def test_a_chain_of_calls_that_can_be_read_and_hardly_followed_costs_one_expression(depth: int, odd: Odd) -> None:
    build = f"self.x = vllm_config{'.f()' * depth}; self.language_model = AlphaForCausalLM(vllm_config=vllm_config)"
    report = odd.write(wrapper(build))
    assert told(report) or status_of(report).verdict == "undeclared"


def test_a_gate_in_a_function_that_is_nested_too_deeply_is_told(odd: Odd) -> None:
    runner = odd.root / "vllm/v1/worker/deep.py"
    calls = ".f()" * 1_200
    runner.write_text(
        "from vllm.model_executor.models.interfaces import supports_eagle3\n\n\n"
        f"def ask(model):\n    found = model{calls}\n    return supports_eagle3(model{calls}, found)\n"
    )
    report = odd.write(wrapper())
    assert told(report, "vllm/v1/worker/deep.py") == ["nested too deeply to be searched for gates"]


def test_work_that_doubles_with_every_call_is_given_up_and_takes_nothing_from_the_others(odd: Odd) -> None:
    helpers = "".join(f"    def f{i}(self):\n        return self.f{i + 1}() + self.f{i + 1}()\n" for i in range(28))
    report = odd.write(wrapper("self.f0()", methods=f"{helpers}    def f28(self):\n        return 1\n"))
    status = status_of(report)
    assert (status.verdict, status.reason) == ("unknown", "its __init__ is too long to be followed")


def test_loops_inside_loops_are_given_up_too(odd: Odd) -> None:
    loops = "".join(f"{'    ' * i}for i{i} in [1, 2, 3, 4, 5, 6, 7, 8, 9]:\n        " for i in range(7))
    report = odd.write(wrapper(loops + "    " * 7 + "self.x = 1"))
    assert status_of(report).verdict == "unknown"


def test_a_long_chain_of_aliases_gives_an_unknown_verdict_with_its_reason(odd: Odd) -> None:
    aliases = "".join(f"A{i} = A{i - 1}\n" for i in range(1, 5_000))
    report = odd.write(f"from .alpha import AlphaForCausalLM as A0\n{aliases}class Odd(A4999):\n    pass\n")
    status = status_of(report)
    assert status.verdict == "unknown"
    assert "A4999" in status.reason


def test_a_name_that_is_handed_through_a_hundred_modules_is_followed(odd: Odd) -> None:
    for i in range(1, 101):
        (odd.root / MODELS / f"hop{i}.py").write_text(f"from .hop{i - 1} import Alpha\n")
    (odd.root / MODELS / "hop0.py").write_text("from .alpha import AlphaForCausalLM as Alpha\n")
    report = odd.write("from .hop100 import Alpha\n\n\nclass Odd(Alpha):\n    pass\n")
    assert status_of(report).verdict == "works"


def test_a_local_name_that_is_handed_through_a_thousand_others_is_followed(odd: Odd) -> None:
    hops = "".join(f"        a{i} = a{i - 1}\n" for i in range(1, 1_000))
    build = f"a0 = AlphaForCausalLM\n{hops}        self.language_model = a999(vllm_config=vllm_config)"
    assert status_of(odd.write(wrapper(build))).verdict == "undeclared"


# -- circles ---------------------------------------------------------------------------------------


def test_classes_that_inherit_from_each_other_are_told(odd: Odd) -> None:
    (odd.root / MODELS / "other.py").write_text("from .odd import Odd\n\n\nclass Other(Odd):\n    pass\n")
    report = odd.write("from .other import Other\n\n\nclass Odd(Other):\n    pass\n")
    assert any("inherits from itself through" in d.message for d in report.diagnostics)
    assert status_of(report).verdict == "unknown"


def test_a_class_that_inherits_from_itself_is_told(odd: Odd) -> None:
    report = odd.write("class Odd(Odd):\n    pass\n")
    assert told(report) == ["class Odd: inherits from itself through Odd"]


@pytest.mark.parametrize(
    ("bases", "before", "says"),
    [
        ("nn.Module, nn.Module", "", "duplicate base class"),
        ("Both", "class X: ...\nclass Z(X): ...\nclass Both(X, Z): ...", "no consistent order of the bases"),
    ],
    ids=["twice", "order"],
)
def test_bases_that_python_refuses_are_told(bases: str, before: str, says: str, odd: Odd) -> None:
    report = odd.write(wrapper(bases=bases, before=before))
    assert [says in message for message in told(report)] == [True]
    status = status_of(report)
    assert status.verdict == "unknown"
    assert says in status.reason


def test_bases_that_are_computed_give_an_unknown_verdict(odd: Odd) -> None:
    report = odd.write(wrapper(bases="make()", before="def make():\n    return nn.Module"))
    assert (status_of(report).verdict, status_of(report).satisfied) == ("unknown", None)


def test_a_class_may_be_named_like_the_class_that_it_imports_and_inherits_from(odd: Odd) -> None:
    report = odd.write("from .alpha import AlphaForCausalLM as Odd\n\n\nclass Odd(Odd):\n    pass\n")
    assert not report.diagnostics
    assert status_of(report).verdict == "works"


def test_modules_that_import_each_other_are_followed(odd: Odd) -> None:
    (odd.root / MODELS / "other.py").write_text(
        "from . import odd\nfrom .odd import *\nfrom .alpha import AlphaForCausalLM as Inner\n"
    )
    report = odd.write(wrapper("self.language_model = Inner(vllm_config=vllm_config)", before="from .other import *"))
    assert not report.diagnostics
    assert status_of(report).verdict == "undeclared"


UNKNOWN = {
    "from .nowhere import Inner": "the checkout has no module vllm.model_executor.models.nowhere",
    "from .alpha import Inner": "vllm.model_executor.models.alpha does not bind Inner",
    "from .odd import Inner": "vllm.model_executor.models.odd.Inner is imported in a circle",
    "import importlib\nInner = importlib.import_module('x').Inner": "could not be followed",
    "from elsewhere import Inner": "could not be followed",
}


@pytest.mark.parametrize("before", UNKNOWN)
def test_an_inner_model_of_an_unknown_class_is_unresolved_and_the_finding_says_why(before: str, odd: Odd) -> None:
    report = odd.write(wrapper("self.language_model = Inner(vllm_config=vllm_config)", before=before))
    status = status_of(report)
    assert status.verdict == "unknown"
    assert UNKNOWN[before] in status.reason
    assert [f.code for f in report.findings if f.at.path.endswith("odd.py")] == ["VC900"]


def test_a_name_that_is_imported_in_a_circle_is_no_class(odd: Odd) -> None:
    (odd.root / MODELS / "other.py").write_text("from .odd import Odd\n")
    report = odd.write("from .other import Odd\n")
    assert any("imported in a circle" in m for m in told(report, f"{MODELS}/registry.py"))


CIRCLES = {
    "builds itself": wrapper("self.language_model = Odd(vllm_config=vllm_config)"),
    "builds another that builds it": wrapper("self.language_model = Other(vllm_config=vllm_config)")
    + "\n\nclass Other(Odd):\n    pass\n",
    "builds its own architecture": wrapper(
        "self.language_model = init_vllm_registered_model(vllm_config, architectures=['OddForCausalLM'])",
        before="from .utils import init_vllm_registered_model",
    ),
    "its __new__ calls itself": wrapper(methods="    def __new__(cls, **kwargs):\n        return Odd(**kwargs)\n"),
    "its __new__ makes one of a class that makes another": wrapper(
        methods="    def __new__(cls, **kwargs):\n        return object.__new__(Other)\n"
    )
    + "\n\nclass Other(nn.Module):\n    def __new__(cls, **kwargs):\n        return object.__new__(Odd)\n\n"
    "    def compute_logits(self, hidden_states):\n        return hidden_states\n",
    "an attribute is the object itself": wrapper("self.language_model = self"),
    "a method calls itself": wrapper("self.build()", methods="    def build(self):\n        self.build()\n"),
    "a list holds itself": wrapper("a = []; a.append([a]); self.a = vllm_config.f(a); self.language_model = a"),
    "super of nothing": wrapper("super(Odd).x; super(1, 2, 3); self.language_model = super().__init__.y.z()"),
    "odd uses of builtins": wrapper(
        "getattr(self); isinstance(self); hasattr(1, 2); type(); len(); next(iter([])); setattr(self, 'a' + 'b', 1); "
        "self.__dict__['x'] = self; self.__class__ = nn.Module; 'a'.split(None, 3, 4); self.language_model = exec('1')"
    ),
}


@pytest.mark.parametrize("contents", CIRCLES.values(), ids=CIRCLES)
def test_a_model_that_goes_in_circles_gets_no_finding_and_stops_nothing(contents: str, odd: Odd) -> None:
    report = odd.write(contents)
    assert status_of(report).verdict in ("unsupported", "unknown", "undeclared")
    assert not told(report)


NEVER = "def __new__(cls, **kwargs):\n        raise NotImplementedError('use an heir')\n"


def test_a_class_whose_new_raises_is_unknown_and_stops_nothing(odd: Odd) -> None:
    report = odd.write(wrapper(methods=f"    {NEVER}"))
    assert (status_of(report).satisfied, status_of(report).verdict) == (None, "unknown")
    assert "its __new__ stops at" in status_of(report).reason
    before = f"from .alpha import AlphaForCausalLM\n\n\nclass Never(AlphaForCausalLM):\n    {NEVER}"
    report = odd.write(wrapper("self.language_model = Never(vllm_config=vllm_config)", before=before))
    assert status_of(report).verdict == "unknown"
    assert not told(report)


@pytest.mark.parametrize("name", ["language_model", "get_language_model"])
def test_a_method_of_the_contract_that_never_ends_is_unknown(name: str, odd: Odd) -> None:
    decorator = "    @property\n" if name == "language_model" else ""
    call = "" if decorator else "()"
    report = odd.write(
        wrapper(
            bases="nn.Module, SupportsEagle3",
            methods=f"{decorator}    def {name}(self):\n        return self.{name}{call}\n",
        )
    )
    status = status_of(report)
    assert (status.satisfied, status.verdict) == (True, "unknown")
    assert "calls itself" in status.reason


def test_forwarding_by_getattr_is_followed_to_the_inner_model(odd: Odd) -> None:
    forward = (
        "    def __getattr__(self, name):\n"
        "        try:\n            return super().__getattr__(name)\n"
        "        except AttributeError:\n            return getattr(self.language_model, name)\n"
    )
    status = status_of(odd.write(wrapper(methods=forward)))
    assert (status.declared, status.satisfied, status.verdict) == (False, True, "works")


# -- the registry ----------------------------------------------------------------------------------


def test_a_registry_that_names_what_is_not_there_is_told(odd: Odd) -> None:
    odd.register("MissingModuleForCausalLM", "nowhere", "Nobody")
    odd.register("MissingClassForCausalLM", "alpha", "Nobody")
    odd.register("OutsideForCausalLM", "vllm.nowhere.model", "Nobody")
    odd.register("NoClassForCausalLM", "alpha", "make_layers")
    messages = told(odd.write(wrapper()), f"{MODELS}/registry.py")
    assert len(messages) == 4
    assert all("cannot be resolved" in message for message in messages)


@pytest.mark.parametrize("contents", ["", "_TEXT_GENERATION_MODELS = {}\n", "_MODELS = make_tables()\n", None])
def test_without_a_table_wrappers_are_found_all_the_same(contents: str | None, tmp_path: Path) -> None:
    root = copy_tree("0.33", tmp_path / "tree")
    (root / MODELS / "odd.py").write_text(wrapper())
    (root / MODELS / "marked.py").write_text(wrapper().replace("Odd", "Marked") + "# _mark_language_model\n")
    registry = root / MODELS / "registry.py"
    registry.unlink()
    if contents is not None:
        registry.write_text(contents)
    report = audit(root)
    assert "no table of architectures was found" in told(report, f"{MODELS}/registry.py")[0]
    assert ("VC001", "Marked") in {(f.code, f.cls.rpartition(".")[2]) for f in report.findings}


def test_rows_of_strange_forms_are_passed_over(odd: Odd) -> None:
    registry = odd.root / MODELS / "registry.py"
    registry.write_text(
        registry.read_text()
        + '_ODD_MODELS = {**{}, 1: ("odd", "Odd"), "A": ["odd", "Odd"], "B": ("odd",), "C": make(), "D": ("odd", 3)}\n'
    )
    report = odd.write(wrapper())
    assert not report.diagnostics
    assert next(m for m in report.models if m.name == "Odd").architectures == ("A", "OddForCausalLM")


# -- the process -----------------------------------------------------------------------------------


def test_the_command_survives_in_a_process_of_its_own(odd: Odd) -> None:
    """With the stack and the recursion limit that users have."""
    odd.file.write_text(wrapper(DEEP["sum that parses"]))
    result = subprocess.run(
        [sys.executable, "-m", "analyzer", "audit", str(odd.root), "--format", "json"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert result.returncode == 1, result.stderr
    assert "nested too deeply" in result.stdout
    assert "Traceback" not in result.stderr
