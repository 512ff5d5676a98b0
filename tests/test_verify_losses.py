"""What goes wrong in the other interpreter stays with the class that caused it; the rest is answered."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from analyzer.verify import stand_ins
from tests.cli.running import main
from tests.fixture_trees import FIXTURES, MODELS, copy_tree

Record = dict[str, Any]

BODY = """
from torch import nn

from .alpha import AlphaModel
from .interfaces import SupportsEagle3

{at_import}


class PoorForCausalLM(nn.Module, SupportsEagle3):
    def __init__(self, *, vllm_config, prefix=""):
        super().__init__()
        self.model = AlphaModel(vllm_config=vllm_config, prefix=prefix)
        self.states = []

    def set_aux_hidden_state_layers(self, layers):
        {when_called}
        self.model._set_aux_hidden_state_layers(layers)

    def forward(self, input_ids, positions, intermediate_tensors=None, inputs_embeds=None):
        return self.model(input_ids, positions, intermediate_tensors, inputs_embeds)

    def compute_logits(self, hidden_states):
        return hidden_states
"""


@pytest.fixture(autouse=True)
def stand_in_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(FIXTURES / "stand_in"))


def tree_with(tmp_path: Path, *, at_import: str = "", when_called: str = "pass") -> Path:
    """The tree with one more model, which is imported before the others."""
    root = copy_tree("0.33", tmp_path / "tree")
    (root / MODELS / "aaa.py").write_text(BODY.format(at_import=at_import, when_called=when_called).lstrip())
    registry = root / MODELS / "registry.py"
    head = "_TEXT_GENERATION_MODELS = {\n"
    registry.write_text(
        registry.read_text().replace(head, f'{head}    "PoorForCausalLM": ("aaa", "PoorForCausalLM"),\n')
    )
    return root


def verify(capsys: pytest.CaptureFixture[str], root: Path, *options: object) -> tuple[Record, list[Record], Record]:
    """What is told of the poor model, of the others, and all of it; nothing is contradicted."""
    code, out, errors = main(capsys, "verify", root, "--format", "json", *options)
    assert (code, errors) == (0, "")
    told = json.loads(out)
    poor = next(model for model in told["models"] if model["cls"].endswith(".PoorForCausalLM"))
    return poor, [model for model in told["models"] if model is not poor], told


LOSSES = {
    "exit": ("import os; os._exit(3)", "pass", "the process ended with exit code 3"),
    "system exit": ("raise SystemExit('enough')", "pass", "the process ended with exit code 1 (enough)"),
    "segfault": ("import faulthandler; faulthandler._sigsegv()", "pass", "the process died of SIGSEGV (Fatal Python"),
    "kill": ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "pass", "the process died of SIGKILL"),
    "hang": ("import time; time.sleep(600)", "pass", "no answer within 2 seconds"),
    "loop": ("", "while True: pass", "no answer within 2 seconds"),
    "orphan": (
        "import os, subprocess; subprocess.Popen(['sleep', '600']); os._exit(4)",
        "pass",
        "the process ended with exit code 4",
    ),
}


@pytest.mark.skipif(sys.platform == "win32", reason="names signals")
@pytest.mark.parametrize("batch", [1, 128])
@pytest.mark.parametrize("kind", LOSSES)
def test_a_process_that_is_lost_costs_one_class(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, kind: str, batch: int
) -> None:
    at_import, when_called, reason = LOSSES[kind]
    root = tree_with(tmp_path, at_import=at_import, when_called=when_called)
    started = time.monotonic()
    poor, others, _ = verify(capsys, root, "--time-limit", "2", "--batch", batch)
    assert time.monotonic() - started < 300
    assert poor["outcome"] == "not testable"
    assert poor["reason"].startswith(reason)
    assert len(others) == 9
    assert {model["outcome"] for model in others} == {"confirmed"}


def test_an_import_that_raises_is_the_reason(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    poor, others, _ = verify(capsys, tree_with(tmp_path, at_import="raise RuntimeError('not on this machine')"))
    assert poor["reason"] == "it cannot be imported: RuntimeError: not on this machine"
    assert {model["outcome"] for model in others} == {"confirmed"}


MISSING = {
    "a module": ("import nowhere_to_be_found", "nowhere_to_be_found"),
    "a part of one": (
        "from nowhere_to_be_found.deep import Thing, other\n\n@other\ndef f(): ...\n\nclass A(Thing): ...",
        "",
    ),
    "a part that a library lacks": ("import json.nothing", "json.nothing"),
    "a name": ("from json import Nothing", "json:Nothing"),
    "a library that fails": ("import failing", "!failing"),
}


@pytest.mark.parametrize("what", MISSING)
def test_what_is_missing_is_stood_in_for_and_told(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    (tmp_path / "lib" / "failing").mkdir(parents=True)
    (tmp_path / "lib" / "failing" / "__init__.py").write_text("raise OSError('libnothing.so is not there')\n")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(FIXTURES / "stand_in"), str(tmp_path / "lib")]))
    at_import, name = MISSING[what]
    root = tree_with(tmp_path, at_import=at_import)
    poor, others, told = verify(capsys, root)
    assert told["stand_ins"] == [name or "nowhere_to_be_found"]
    assert {model["outcome"] for model in (poor, *others)} == {"confirmed"}
    _, shown, _ = main(capsys, "verify", root)
    plain = told["stand_ins"][0].replace(":", ".").lstrip("!")
    assert f"stood in for what is missing there: {plain}" in shown
    poor, others, told = verify(capsys, root, "--no-stand-ins")
    assert told["stand_ins"] == []
    assert poor["reason"].startswith("it cannot be imported: ")
    assert {model["outcome"] for model in others} == {"confirmed"}


LATER = """
import sys, types
import stand_ins

known = stand_ins.StandIns([], ["module", "op:_C::norm", "library:Name"])
known.before_a_try()
assert known.names == ["module"]
defined = []
library = types.SimpleNamespace(define=defined.append)
torch = types.ModuleType("torch")
torch.library = types.SimpleNamespace(Library=lambda *names: library)
sys.modules.update(torch=torch, library=types.ModuleType("library"))
known.before_a_try()
assert known.names == ["module", "op:_C::norm", "library:Name"]
assert defined == ["norm() -> ()"]
from library import Name
import module.inside
assert module.inside.Thing.part is not None
"""


def test_stand_ins_of_an_earlier_process_wait_for_what_they_belong_to() -> None:
    folder = Path(stand_ins.__file__).parent
    subprocess.run([sys.executable, "-c", LATER], cwd=folder, check=True, timeout=60)


def test_a_library_that_is_optional_stays_missing(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    optional = "try:\n    import nowhere_to_be_found\nexcept ImportError:\n    pass\nelse:\n    raise RuntimeError"
    poor, _, told = verify(capsys, tree_with(tmp_path, at_import=optional))
    assert (poor["outcome"], told["stand_ins"]) == ("confirmed", [])


def test_models_of_the_tree_are_never_stood_in_for(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    poor, _, told = verify(capsys, tree_with(tmp_path, at_import="from . import not_there"))
    assert (poor["outcome"], told["stand_ins"]) == ("not testable", [])
    assert "cannot import name 'not_there'" in poor["reason"]


def test_a_model_that_writes_to_standard_output_disturbs_nothing(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    noise = "import os, sys; print('{\"event\": \"end\"}', flush=True); os.write(1, b'\\xff\\n'); sys.stdout.write('x')"
    poor, others, _ = verify(capsys, tree_with(tmp_path, at_import=noise))
    assert {model["outcome"] for model in (poor, *others)} == {"confirmed"}


def test_a_method_that_lacks_state_is_not_held_against_the_analysis(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    poor, _, _ = verify(capsys, tree_with(tmp_path, when_called="self.states.clear()"))
    setter = [c for c in poor["comparisons"] if c["subject"] == "set_aux_hidden_state_layers"]
    assert {(c["outcome"], c["reason"]) for c in setter} <= {
        ("not testable", "a skeleton lacks state that the constructor would set"),
        ("not testable", "the analysis leaves it open"),
    }


START = {
    "no interpreter": ("{tmp}/python", "no such interpreter"),
    "no program": ("{tmp}/text", "cannot be run"),
    "no Python": ("/bin/true", "vLLM cannot be imported there: the process ended with exit code 0"),
    "no torch": (sys.executable, "vLLM cannot be imported there: ModuleNotFoundError: No module named 'torch'"),
}


@pytest.mark.skipif(sys.platform == "win32", reason="names programs of POSIX")
@pytest.mark.parametrize("what", START)
def test_an_environment_that_does_not_start_is_one_line_and_exit_code_2(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    monkeypatch.delenv("PYTHONPATH")
    (tmp_path / "text").write_text("nothing to run\n")
    python, said = START[what]
    tree = copy_tree("0.33", tmp_path / "tree")
    code, out, errors = main(capsys, "verify", tree, "--python", python.format(tmp=tmp_path))
    assert (code, out) == (2, "")
    assert said in errors
    assert errors.count("\n") == 1


def test_interfaces_that_fail_are_the_reason_that_nothing_runs(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    root = copy_tree("0.33", tmp_path / "tree")
    interfaces = root / MODELS / "interfaces.py"
    interfaces.write_text(interfaces.read_text() + "\nraise RuntimeError('half a tree')\n")
    code, _, errors = main(capsys, "verify", root)
    assert code == 2
    assert "vLLM cannot be imported there: RuntimeError: half a tree" in errors


def test_options_that_do_not_go_together(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for words in (("--unsafe-fixes",), (str(tmp_path), "--release", "0.33.0")):
        code, out, errors = main(capsys, "verify", *words)
        assert (code, out) == (2, "")
        assert errors.startswith("error: ")
