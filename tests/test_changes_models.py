"""Who gained or lost support between two trees, and the link that is why; architectures and findings that differ."""

from __future__ import annotations

from pathlib import Path

import pytest

from analyzer.changes.records import Changes, SupportChange
from tests.changed_trees import ALLOWING, MODELS, RUNNER, changes, edited

LACKING = "class LackingVL(_Wrapper)"
DECLARED = {"wrappers": edited("wrappers", (LACKING, "class LackingVL(_Wrapper, SupportsEagle3)"))}
SPOILT = (
    "        return self.language_model.model(input_ids, positions, intermediate_tensors, inputs_embeds)",
    "        return self.language_model.model(input_ids, positions, intermediate_tensors, inputs_embeds) * 2.0",
)
UNCAPTURED = ("            return hidden_states, aux_hidden_states\n", "            return hidden_states\n")


def support(found: Changes, name: str) -> SupportChange:
    (change,) = [c for c in found.support if c.new.name == name]
    return change


def told(change: SupportChange) -> list[tuple[str, str]]:
    return [(reason.link, reason.text) for reason in change.reasons]


# -- verdicts --------------------------------------------------------------------------------------


def test_a_wrapper_declares_it_now(tmp_path: Path) -> None:
    found = changes(tmp_path, {}, DECLARED)
    change = support(found, "LackingVL")
    assert (change.direction, change.old_status.verdict, change.new_status.verdict) == ("gained", "undeclared", "works")
    assert told(change) == [("check", "inherits SupportsEagle3 now")]
    assert (change.reasons[0].old, change.reasons[0].new) == (change.old.at, change.new.at)
    assert change.architectures == ("LackingVL",)
    assert not found.worse
    assert [f.old.code for f in found.gone_findings if f.old] == ["VC001"]


def test_a_wrapper_does_not_declare_it_any_more(tmp_path: Path) -> None:
    found = changes(tmp_path, DECLARED, {})
    change = support(found, "LackingVL")
    assert change.direction == "lost"
    assert told(change) == [("check", "does not inherit SupportsEagle3 any more")]
    assert found.worse
    assert [(f.new.code, f.note) for f in found.new_findings if f.new] == [("VC001", "")]


def test_it_comes_and_goes_through_a_base(tmp_path: Path) -> None:
    base = {"wrappers": edited("wrappers", ("class _Wrapper(nn.Module)", "class _Wrapper(nn.Module, SupportsEagle3)"),
                               ("(_Wrapper, SupportsEagle3)", "(_Wrapper)"))}  # fmt: skip
    gained = support(changes(tmp_path / "a", {}, base), "LackingVL")
    assert told(gained) == [("check", "inherits SupportsEagle3 through _Wrapper now")]
    lost = support(changes(tmp_path / "b", base, {}), "LackingVL")
    assert told(lost) == [("check", "does not inherit SupportsEagle3 through _Wrapper any more")]


def test_a_class_that_has_every_member(tmp_path: Path) -> None:
    members = (
        "    supports_eagle3 = True\n\n    def set_aux_hidden_state_layers(self, layers):\n"
        "        self.model.aux_hidden_state_layers = layers\n\n"
        "    def get_eagle3_default_aux_hidden_state_layers(self):\n        return (1, 2, 3)\n\n"
    )
    plain = edited("plain", ("(nn.Module, SupportsEagle3):\n", f"(nn.Module):\n{members}"))
    less = edited(
        "interfaces", ("Protocol):\n    supports_eagle3", "Protocol):\n    has_own_head: bool\n    supports_eagle3")
    )
    structural = {"plain": plain}
    gained = support(changes(tmp_path / "a", {**structural, "interfaces": less}, structural), "PlainForCausalLM")
    assert told(gained) == [("check", "has every member that SupportsEagle3 asks for since it has no has_own_head")]
    lost = support(changes(tmp_path / "b", structural, {**structural, "interfaces": less}), "PlainForCausalLM")
    assert told(lost) == [("check", "lacks a member of SupportsEagle3 since it has has_own_head")]
    nothing = {"plain": edited("plain", ("(nn.Module, SupportsEagle3)", "(nn.Module)"))}
    came = support(changes(tmp_path / "c", nothing, structural), "PlainForCausalLM")
    assert told(came) == [("check", "has every member of SupportsEagle3 now")]
    went = support(changes(tmp_path / "d", structural, nothing), "PlainForCausalLM")
    assert told(went) == [("check", "does not have every member of SupportsEagle3 any more")]


def test_the_inner_model_gained_it(tmp_path: Path) -> None:
    plain = edited("plain", ("PlainForCausalLM(nn.Module, SupportsEagle3)", "PlainForCausalLM(nn.Module)"), UNCAPTURED)
    found = changes(tmp_path, {"plain": plain}, {})
    assert support(found, "PlainForCausalLM").direction == "gained"
    change = support(found, "LackingVL")
    assert (change.old_status.verdict, change.new_status.verdict) == ("unsupported", "undeclared")
    assert change.direction == "changed"
    assert ("inner-check", "its inner model PlainForCausalLM passes supports_eagle3 now") in told(change)
    reason = next(r for r in change.reasons if r.link == "inner-check")
    assert reason.new is not None and reason.new.path == f"{MODELS}/plain.py"


def test_another_inner_model(tmp_path: Path) -> None:
    body = edited("wrappers")
    head, lacking = body.split("class BoastfulVL")
    other = {"wrappers": head + "class BoastfulVL" + lacking.replace("BareForCausalLM", "PlainForCausalLM")}
    change = support(changes(tmp_path, {}, other), "BoastfulVL")
    assert (change.old_status.verdict, change.new_status.verdict, change.direction) == ("broken", "works", "gained")
    reasons = dict(told(change))
    assert reasons["inner"] == "builds PlainForCausalLM now, BareForCausalLM before"
    assert reasons["inner-check"] == "its inner model PlainForCausalLM passes supports_eagle3 now"
    inner = next(r for r in change.reasons if r.link == "inner")
    assert inner.old is not None and inner.new is not None and inner.old.line == inner.new.line == 34


def test_the_decoder_does_not_return_the_states_any_more(tmp_path: Path) -> None:
    found = changes(tmp_path, {}, {"plain": edited("plain", UNCAPTURED)})
    change = support(found, "PlainForCausalLM")
    assert (change.direction, change.new_status.verdict) == ("lost", "broken")
    (reason,) = change.reasons
    assert reason.link == "capture"
    assert "PlainModel.forward" in reason.text and "; before, " in reason.text
    assert reason.new is not None and reason.new.path == f"{MODELS}/plain.py"


def test_forward_does_not_hand_the_result_on_any_more(tmp_path: Path) -> None:
    change = support(changes(tmp_path, {}, {"wrappers": edited("wrappers", SPOILT)}), "SoundVL")
    assert (change.direction, [r.link for r in change.reasons]) == ("lost", ["forward"])


def test_a_method_fails_now(tmp_path: Path) -> None:
    plain = edited("plain", ("class PlainModel(nn.Module, EagleModelMixin)", "class PlainModel(nn.Module)"))
    change = support(changes(tmp_path, {}, {"plain": plain}), "PlainForCausalLM")
    assert change.direction == "lost"
    assert change.reasons[0].link == "method"
    assert change.reasons[0].text.startswith(
        "SupportsEagle3.set_aux_hidden_state_layers fails here with AssertionError: must inherit from EagleModelMixin; "
        "before, SupportsEagle3.set_aux_hidden_state_layers (the contract's default) runs"
    )


def test_what_cannot_be_resolved_is_neither_gained_nor_lost(tmp_path: Path) -> None:
    plain = edited(
        "plain",
        ("from torch import nn", "import elsewhere\nfrom torch import nn"),
        ("class PlainForCausalLM(nn.Module, SupportsEagle3)", "class PlainForCausalLM(elsewhere.Base)"),
    )
    found = changes(tmp_path, {}, {"plain": plain})
    change = support(found, "PlainForCausalLM")
    assert (change.direction, change.new_status.verdict) == ("changed", "unknown")
    assert change.reasons[0].text.startswith("whether it passes the check is not known any more")
    assert not found.worse


def test_an_allow_list_stops_what_works(tmp_path: Path) -> None:
    imports = (
        "from torch import nn\n",
        "from torch import nn\n\nfrom vllm.transformers_utils.configs import PlainConfig\n",
    )
    files = {"plain": edited("plain", imports), "configs": 'class PlainConfig:\n    model_type = "thing"\n'}
    allowing = ALLOWING.replace('"plain"', '"other"')
    found = changes(tmp_path / "a", {**files, "config": allowing}, files)
    change = support(found, "PlainForCausalLM")
    assert (change.direction, change.old_standing, change.new_standing) == ("gained", "works, but stopped", "works")
    assert told(change) == [("allow-list", "not stopped by the allow-list of model types any more")]
    assert change.reasons[0].old is not None and change.reasons[0].old.path == "vllm/config.py"
    found = changes(tmp_path / "b", files, {**files, "config": allowing})
    change = support(found, "PlainForCausalLM")
    assert change.direction == "lost"
    assert told(change) == [("allow-list", "stopped by the allow-list of model types now")]
    assert found.worse
    assert not changes(tmp_path / "c", {**files, "config": ALLOWING}, files).support


# -- architectures ---------------------------------------------------------------------------------


def without(name: str) -> str:
    lines = edited("registry").splitlines(keepends=True)
    return "".join(line for line in lines if f'"{name}":' not in line)


def test_an_architecture_is_new(tmp_path: Path) -> None:
    found = changes(tmp_path, {"registry": without("SoundVL")}, {})
    (new,) = found.added
    assert (new.architectures, new.verdicts, new.supported) == (
        ("SoundVL",),
        {"SupportsEagle3": "works"},
        ("SupportsEagle3",),
    )
    assert not found.support
    assert not found.worse


@pytest.mark.parametrize(("name", "worse"), [("SoundVL", True), ("BareForCausalLM", False)])
def test_an_architecture_is_gone(tmp_path: Path, name: str, worse: bool) -> None:
    found = changes(tmp_path, {}, {"registry": without(name)})
    (gone,) = found.removed
    assert (gone.architectures, gone.new) == ((name,), None)
    assert found.worse is worse


def test_another_name_for_a_class_that_stays(tmp_path: Path) -> None:
    found = changes(tmp_path, {"registry": without("PlainTextForCausalLM")}, {})
    assert [a.architectures for a in found.architectures] == [("PlainTextForCausalLM",)]


def test_another_class_serves(tmp_path: Path) -> None:
    registry = edited(
        "registry",
        ('"BareForCausalLM": ("plain", "BareForCausalLM")', '"BareForCausalLM": ("plain", "PlainForCausalLM")'),
    )
    found = changes(tmp_path, {}, {"registry": registry})
    (moved,) = found.moved
    assert moved.old is not None and moved.new is not None
    assert (moved.old.name, moved.new.name, moved.architectures) == (
        "BareForCausalLM",
        "PlainForCausalLM",
        ("BareForCausalLM",),
    )
    change = support(found, "PlainForCausalLM")
    assert told(change)[:2] == [("class", "served by PlainForCausalLM now"), ("check", "inherits SupportsEagle3 now")]


def test_a_file_that_moved_is_no_other_verdict_and_no_other_finding(tmp_path: Path) -> None:
    registry = edited("registry", ('("wrappers", ', '("moved", '))
    found = changes(tmp_path, {}, {"registry": registry, "wrappers": "", "moved": edited("wrappers")})
    assert [a.architectures for a in found.moved] == [("BoastfulVL",), ("ChosenVL",), ("LackingVL",), ("SoundVL",)]
    assert not found.support
    assert not found.findings
    assert found.unchanged_findings == 3


def test_one_class_becomes_one_for_each_platform(tmp_path: Path) -> None:
    split = edited("registry", ('("wrappers", "SoundVL")', '("moved", "SoundVL")'))
    moved = (
        "from vllm.platforms import current_platform\n\nif current_platform.is_rocm():\n"
        "    from .wrappers import SoundVL\nelse:\n    from .wrappers import LackingVL as SoundVL\n"
    )
    found = changes(tmp_path, {}, {"registry": split, "moved": moved})
    assert [(c.old.name, c.new.name, c.direction) for c in found.support] == [("SoundVL", "LackingVL", "lost")]


# -- findings --------------------------------------------------------------------------------------


def test_a_finding_that_comes_or_goes_with_its_class_says_so(tmp_path: Path) -> None:
    less = {"registry": without("LackingVL"), "wrappers": edited("wrappers", ("LackingVL", "_Unused"))}
    (new,) = changes(tmp_path / "a", less, {}).new_findings
    assert (new.finding.code, new.note) == ("VC001", "the class is new")
    (gone,) = changes(tmp_path / "b", {}, less).gone_findings
    assert (gone.finding.code, gone.note) == ("VC001", "the class is gone")


def test_a_finding_of_other_weight(tmp_path: Path) -> None:
    build = "vllm_config=vllm_config, hf_config=config.text_config"
    sure = {"wrappers": edited("wrappers", (build, f'{build}, architectures=["PlainForCausalLM"]'))}
    found = changes(tmp_path, {}, sure)
    (change,) = found.changed_findings
    assert change.old is not None and change.new is not None
    assert (change.old.severity, change.new.severity) == ("warning", "error")
    assert found.worse, "a warning that has become an error is a new error"


def test_a_class_with_several_findings_of_one_kind(tmp_path: Path) -> None:
    stale = "    def get_eagle3_{}aux_hidden_state_layers(self) -> tuple[int, ...]:\n        return (1, 2)\n\n"
    head = "class PlainForCausalLM(nn.Module, SupportsEagle3):\n"
    one = edited("plain", (head, head + stale.format("")))
    two = edited("plain", (head, head + stale.format("old_") + stale.format("")))
    found = changes(tmp_path, {"plain": one}, {"plain": two})
    (new,) = found.findings
    assert (new.old, new.finding.code) == (None, "VC005")
    assert "get_eagle3_old_aux_hidden_state_layers" in new.finding.message


# -- narrowing -------------------------------------------------------------------------------------


def test_only_one_contract(tmp_path: Path) -> None:
    other = edited("interfaces") + (
        "\n\n@runtime_checkable\nclass SupportsOther(Protocol):\n    supports_other: ClassVar[Literal[True]] = True\n"
    )
    new = {
        **DECLARED,
        "interfaces": other,
        "config": ALLOWING,
        "runner": edited(RUNNER, ("def load_model", "def set_up")),
    }
    whole = changes(tmp_path / "a", {}, new)
    assert [c.name for c in whole.contracts] == ["SupportsEagle3", "SupportsOther"]
    one = changes(tmp_path / "b", {}, new, "SupportsOther")
    assert [c.name for c in one.contracts] == ["SupportsOther"]
    assert not one.support
    assert not one.findings
    assert one.unchanged_findings == 0
