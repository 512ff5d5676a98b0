"""``vllm-contracts fix --teach``: a patch that is shown first, and written only on request."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from tests.cli.running import main, run
from tests.fixture_trees import FIXTURES, MODELS, copy_tree

DECODER = f"{MODELS}/deferred.py"
WRAPPER = f"{MODELS}/basil.py"
WRAPPERS = dedent(
    """
    from torch import nn

    from .utils import init_vllm_registered_model


    class BasilForCausalLM(nn.Module):
        def __init__(self, *, vllm_config, prefix=""):
            super().__init__()
            self.language_model = init_vllm_registered_model(vllm_config, architectures=["DeferredForCausalLM"])

        def forward(self, input_ids, positions, **kwargs):
            return self.language_model(input_ids, positions, **kwargs)

        def compute_logits(self, hidden_states):
            return self.language_model.compute_logits(hidden_states)


    class BayForCausalLM(nn.Module):
        def __init__(self, *, vllm_config, prefix=""):
            super().__init__()
            self.language_model = init_vllm_registered_model(vllm_config, architectures=["BasilForCausalLM"])

        def forward(self, input_ids, positions, **kwargs):
            return self.language_model(input_ids, positions, **kwargs)

        def compute_logits(self, hidden_states):
            return self.language_model.compute_logits(hidden_states)
    """
).lstrip()


def tree_of(generation: str, into: Path) -> Path:
    root = copy_tree(generation, into)
    (root / DECODER).write_text((FIXTURES / "decoders" / "deferred.py").read_text())
    (root / WRAPPER).write_text(WRAPPERS)
    registry = root / MODELS / "registry.py"
    head = "_TEXT_GENERATION_MODELS = {\n"
    rows = '    "DeferredForCausalLM": ("deferred", "DeferredForCausalLM"),\n'
    rows += "".join(f'    "{name}ForCausalLM": ("basil", "{name}ForCausalLM"),\n' for name in ("Basil", "Bay"))
    registry.write_text(registry.read_text().replace(head, head + rows))
    return root


@pytest.fixture
def old(tmp_path: Path) -> Path:
    return tree_of("0.16", tmp_path / "old")


@pytest.fixture
def new(tmp_path: Path) -> Path:
    return tree_of("0.33", tmp_path / "new")


def contents(tree: Path) -> dict[str, bytes]:
    return {str(p.relative_to(tree)): p.read_bytes() for p in tree.rglob("*.py")}


@pytest.mark.parametrize("more", [(), ("--diff",), ("--diff", "--unsafe-fixes"), ("--check",)])
def test_the_patch_is_shown_and_nothing_is_written(
    capsys: pytest.CaptureFixture[str], new: Path, more: tuple[str, ...]
) -> None:
    before = contents(new)
    status, shown, errors = main(capsys, "fix", "--teach", "DeferredForCausalLM", new, *more)
    assert contents(new) == before
    assert status == ("--check" in more)
    assert shown.startswith("--- a/")
    assert "+class DeferredModel(nn.Module, EagleModelMixin):" in shown
    words = " ".join(errors.split())
    assert "would teach: let DeferredModel collect and return the states of its layers" in words
    assert "the state between two layers is taken to be hidden_states + residual" in words
    assert "DeferredForCausalLM then works" in words


def test_it_is_written_on_request_with_the_wrappers_above(capsys: pytest.CaptureFixture[str], new: Path) -> None:
    status, shown, errors = main(capsys, "fix", "--teach", "DeferredForCausalLM", "--unsafe-fixes", new)
    assert status == 0
    assert shown.startswith("--- a/")
    assert errors.startswith("taught:")
    assert errors.count("VC001") == 2
    for name in ("DeferredForCausalLM", "BasilForCausalLM", "BayForCausalLM"):
        assert main(capsys, "trace", name, new)[:1] == (0,), name
    assert main(capsys, "audit", new)[0] == 0
    status, _, _ = main(capsys, "fix", "--teach", "DeferredForCausalLM", "--check", new)
    assert status == 1  # there is nothing to teach any more


def test_the_name_of_a_wrapper_teaches_what_is_inside_it(capsys: pytest.CaptureFixture[str], new: Path) -> None:
    status, shown, errors = main(capsys, "fix", "--teach", "BasilForCausalLM", new)
    assert status == 0
    assert "+class DeferredForCausalLM(nn.Module, SupportsPP, SupportsEagle3):" in shown
    assert "BasilForCausalLM then works" in errors


def test_where_there_is_a_list_of_types_the_model_is_added(capsys: pytest.CaptureFixture[str], old: Path) -> None:
    assert main(capsys, "fix", "--teach", "DeferredForCausalLM", "--unsafe-fixes", old)[0] == 0
    speculative = (old / "vllm/config/speculative.py").read_text()
    assert '"deferred"' in speculative
    text = (old / DECODER).read_text()
    assert "self.aux_hidden_state_layers" in text
    assert "def set_aux_hidden_state_layers(self, layers: tuple[int, ...]) -> None:" in text
    for name in ("DeferredForCausalLM", "BasilForCausalLM", "BayForCausalLM"):
        assert main(capsys, "trace", name, old)[0] == 0, name


@pytest.mark.parametrize(("answer", "written"), [("y", True), ("n", False)])
def test_interactive_asks_behind_the_patch(new: Path, answer: str, written: bool) -> None:
    before = contents(new)
    done = run(["fix", "--teach", "DeferredForCausalLM", "--interactive", str(new)], input=f"{answer}\n")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("--- a/")
    assert "Write these changes?" in done.stderr
    assert (contents(new) != before) is written


def test_what_cannot_be_taught_is_refused_with_the_line(capsys: pytest.CaptureFixture[str], new: Path) -> None:
    file = new / DECODER
    text = file.read_text().replace(
        "            hidden_states, residual = layer(", "            hidden_states, residual, _ = layer("
    )
    file.write_text(text)
    line = next(number for number, row in enumerate(text.splitlines(), 1) if "residual, _ = layer(" in row)
    before = contents(new)
    status, shown, errors = main(capsys, "fix", "--teach", "DeferredForCausalLM", "--unsafe-fixes", new)
    assert (status, errors) == (1, "")
    assert f"{DECODER}:{line}: the layer gives 3 things" in " ".join(shown.split())
    assert contents(new) == before


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("AlphaForCausalLM", "AlphaForCausalLM supports SupportsEagle3 already"),
        ("AlphaEmbeddingModel", "is not served for itself"),
        ("GammaForConditionalGeneration", "supports SupportsEagle3 already"),
    ],
)
def test_what_has_nothing_to_learn_is_told(
    capsys: pytest.CaptureFixture[str], new: Path, name: str, reason: str
) -> None:
    status, shown, _ = main(capsys, "fix", "--teach", name, new)
    assert status == 1
    assert reason in " ".join(shown.split())


def test_an_unknown_name_or_contract_is_one_line(capsys: pytest.CaptureFixture[str], new: Path) -> None:
    status, shown, errors = main(capsys, "fix", "--teach", "DeferedForCausalLM", new)
    assert (status, shown) == (2, "")
    assert "nearest: DeferredForCausalLM" in errors and errors.count("\n") == 1
    status, _, errors = main(capsys, "fix", "--teach", "DeferredForCausalLM", "--contract", "Nope", new)
    assert status == 2 and "no contract Nope" in errors
    status, shown, _ = main(capsys, "fix", "--teach", "DeferredForCausalLM", "--contract", "SupportsPP", new)
    assert status == 1 and "there is nothing to teach" in shown


@pytest.mark.parametrize("more", [("--class", "X"), ("--select", "VC001"), ("--ignore", "VC001")])
def test_it_goes_with_no_other_choice(capsys: pytest.CaptureFixture[str], new: Path, more: tuple[str, ...]) -> None:
    status, _, errors = main(capsys, "fix", "--teach", "DeferredForCausalLM", *more, new)
    assert status == 2 and "--teach is for one model" in errors


def test_an_heir_that_could_not_keep_the_promise_forbids_it(capsys: pytest.CaptureFixture[str], new: Path) -> None:
    """It has the constructor of the model that is taught, and a decoder that collects nothing."""
    file = new / DECODER
    file.write_text(
        file.read_text()
        + dedent(
            """

            class DeferredSilentModel(DeferredModel):
                def forward(self, input_ids, positions, intermediate_tensors=None, inputs_embeds=None):
                    hidden_states = self.embed_input_ids(input_ids)
                    for layer in self.layers:
                        hidden_states = layer(positions, hidden_states, None)[0]
                    return hidden_states


            class DeferredSilentForCausalLM(DeferredForCausalLM):
                def __init__(self, *, vllm_config, prefix=""):
                    super().__init__(vllm_config=vllm_config, prefix=prefix)
                    self.model = DeferredSilentModel(vllm_config=vllm_config, prefix=prefix)
            """
        )
    )
    registry = new / MODELS / "registry.py"
    head = "_TEXT_GENERATION_MODELS = {\n"
    row = '    "DeferredSilentForCausalLM": ("deferred", "DeferredSilentForCausalLM"),\n'
    registry.write_text(registry.read_text().replace(head, head + row))
    status, shown, _ = main(capsys, "fix", "--teach", "DeferredForCausalLM", new)
    assert status == 1
    assert "DeferredSilentForCausalLM inherits from it" in " ".join(shown.split())


def test_the_rule_is_off_unless_it_is_asked_for(capsys: pytest.CaptureFixture[str], new: Path) -> None:
    assert "VC020" not in main(capsys, "audit", new, "--format", "concise")[1]
    status, shown, _ = main(capsys, "audit", new, "--format", "concise", "--select", "unsupported-model")
    assert status == 0  # for information
    assert f"{DECODER}:" in shown and "is regular" in shown
    _, shown, _ = main(capsys, "trace", "BasilForCausalLM", new)
    assert "fix --teach DeferredForCausalLM" in " ".join(shown.split())


def test_a_comment_for_a_rule_that_is_off_is_not_called_unused(capsys: pytest.CaptureFixture[str], new: Path) -> None:
    file = new / DECODER
    head = "class DeferredForCausalLM(nn.Module, SupportsPP):"
    file.write_text(file.read_text().replace(head, f"{head}  # vllm-contracts: ignore[VC020] not planned"))
    assert main(capsys, "audit", new)[0] == 0
    assert DECODER not in main(capsys, "audit", new, "--format", "concise", "--select", "VC020")[1]
    assert main(capsys, "audit", new, "--select", "VC020,VC901")[0] == 0


def test_a_baseline_keeps_entries_of_a_rule_that_is_off(
    capsys: pytest.CaptureFixture[str], new: Path, tmp_path: Path
) -> None:
    baseline = tmp_path / "known.json"
    main(capsys, "audit", new, "--select", "VC020", "--baseline", baseline, "--update-baseline")
    kept = baseline.read_text()
    assert "VC020" in kept
    main(capsys, "audit", new, "--baseline", baseline, "--update-baseline")
    assert baseline.read_text() == kept
