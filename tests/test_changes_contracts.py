"""What differs between the contracts of two trees: one edit, and what the comparison makes of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from analyzer.changes.contracts import parameters
from analyzer.changes.gates import paired
from analyzer.changes.records import AllowListChange, ContractChange, GateChange, MethodChange, NameGateChange
from tests.changed_trees import ALLOWING, DISPATCHING, RUNNER, changes, edited

GETTER = "get_eagle3_default_aux_hidden_state_layers"
OLD_GETTER = "get_eagle3_aux_hidden_state_layers"
SETTER = "set_aux_hidden_state_layers"
OTHER = """

@runtime_checkable
class SupportsOther(Protocol):
    supports_other: ClassVar[Literal[True]] = True
"""


def contract(folder: Path, old: dict[str, str], new: dict[str, str]) -> ContractChange:
    (found,) = changes(folder, old, new).contracts
    return found


def method(folder: Path, old: dict[str, str], new: dict[str, str]) -> MethodChange:
    (found,) = contract(folder, old, new).methods
    return found


def gate(folder: Path, old: dict[str, str], new: dict[str, str]) -> GateChange:
    (found,) = contract(folder, old, new).gates
    return found


def test_equal_trees_do_not_differ(tmp_path: Path) -> None:
    found = changes(
        tmp_path, {"config": ALLOWING, "proposer": DISPATCHING}, {"config": ALLOWING, "proposer": DISPATCHING}
    )
    assert not found.differs
    assert not found.worse
    assert found.unchanged_findings > 3


def test_lines_that_move_are_no_difference(tmp_path: Path) -> None:
    old = {"config": ALLOWING, "proposer": DISPATCHING}
    names = ("interfaces", "plain", "wrappers")
    new = {name: "# a\n# b\n" + text for name, text in old.items()} | {name: "# c\n" + edited(name) for name in names}
    assert not changes(tmp_path, old, new | {"runner": "# d\n" + edited(RUNNER)}).differs


# -- contracts and methods -------------------------------------------------------------------------


def test_a_contract_is_new_or_gone(tmp_path: Path) -> None:
    more = {"interfaces": edited("interfaces") + OTHER}
    new = contract(tmp_path / "a", {}, more)
    assert (new.name, new.old) == ("SupportsOther", None)
    gone = contract(tmp_path / "b", more, {})
    assert (gone.name, gone.new) == ("SupportsOther", None)


def test_members(tmp_path: Path) -> None:
    more = edited("interfaces", ("= True\n\n    def", "= True\n    has_own_head: bool = False\n\n    def"))
    found = contract(tmp_path / "a", {}, {"interfaces": more})
    assert (found.members_added, found.members_removed, found.methods) == (("has_own_head",), (), ())
    found = contract(tmp_path / "b", {"interfaces": more}, {})
    assert (found.members_added, found.members_removed) == ((), ("has_own_head",))


def test_a_method_is_new_or_gone(tmp_path: Path) -> None:
    more = {"interfaces": edited("interfaces", (f"    def {GETTER}", f"    def reset(self): ...\n\n    def {GETTER}"))}
    found = contract(tmp_path / "a", {}, more)
    assert [(m.kinds, m.new.name if m.new else "") for m in found.methods] == [(("added",), "reset")]
    assert not found.members_added
    assert method(tmp_path / "b", more, {}).kinds == ("removed",)


def test_a_rename_with_all_its_evidence(tmp_path: Path) -> None:
    old = {name: edited(name, (GETTER, OLD_GETTER)) for name in ("interfaces",)}
    old["runner"] = edited(RUNNER, (GETTER, OLD_GETTER))
    found = contract(tmp_path, old, {})
    (renamed,) = found.methods
    assert renamed.kinds == ("renamed",)
    assert renamed.evidence == ("same signature", "similar name", "called at the same place")
    assert renamed.old is not None and renamed.new is not None
    assert (renamed.old.name, renamed.new.name) == (OLD_GETTER, GETTER)
    assert (renamed.old.at.line, renamed.new.at.line) == (18, 18)
    assert not found.gates, "the gate only follows the rename"


def renaming(name: str, *, called: bool = True, signature: str = "(self) -> tuple[int, ...]") -> dict[str, str]:
    """A tree whose getter has another name, and signature."""
    text = edited("interfaces", (f"{GETTER}(self) -> tuple[int, ...]", f"{name}{signature}"))
    return {"interfaces": text, "runner": edited(RUNNER, (f"self.get_model().{GETTER}()", f"self.get_model().{name}()"))
        if called else edited(RUNNER, (f"self.get_model().{GETTER}()", "(1, 2)"))}  # fmt: skip


@pytest.mark.parametrize(
    ("other", "evidence"),
    [
        (renaming("choose"), ("same signature", "called at the same place")),
        (renaming(OLD_GETTER, called=False), ("same signature", "similar name")),
        (
            renaming(OLD_GETTER, signature="(self) -> list[int]"),
            ("same parameters", "similar name", "called at the same place"),
        ),
    ],
)
def test_less_evidence_that_is_enough(tmp_path: Path, other: dict[str, str], evidence: tuple[str, ...]) -> None:
    assert method(tmp_path, {}, other).evidence == evidence


@pytest.mark.parametrize(
    "other",
    [
        renaming("choose", called=False),
        renaming(OLD_GETTER, signature="(self, count: int) -> tuple[int, ...]"),
        renaming(OLD_GETTER, signature="(self) -> list[int]", called=False),
        renaming("choose", signature="(self) -> list[int]"),
    ],
)
def test_too_little_evidence_for_a_rename(tmp_path: Path, other: dict[str, str]) -> None:
    found = contract(tmp_path, {}, other)
    assert sorted(m.kinds for m in found.methods) == [("added",), ("removed",)]


def test_a_name_is_given_to_one_method_only(tmp_path: Path) -> None:
    two = edited(
        "interfaces", (f"    def {GETTER}", f"    def {GETTER}_too(self) -> tuple[int, ...]: ...\n\n    def {GETTER}")
    )
    found = contract(tmp_path, {"interfaces": two}, renaming(OLD_GETTER))
    assert sorted(m.kinds for m in found.methods) == [("removed",), ("renamed",)]


def test_another_signature(tmp_path: Path) -> None:
    found = method(
        tmp_path, {}, {"interfaces": edited("interfaces", ("layers: tuple[int, ...])", "layers: list[int])"))}
    )
    assert found.kinds == ("signature",)


@pytest.mark.parametrize("now", ["stub", "working"])
def test_a_stub_becomes_a_working_default_and_back(tmp_path: Path, now: str) -> None:
    stub = {"interfaces": edited("interfaces", ("        return (2, 4, 5)\n", "        ...\n"))}
    found = method(tmp_path, *(({}, stub) if now == "stub" else (stub, {})))
    assert found.kinds == ("default",)
    assert found.new is not None and (found.new.name, found.new.default) == (GETTER, now)


def test_another_checker(tmp_path: Path) -> None:
    flag = ("return isinstance(model, SupportsEagle3)", 'return getattr(model, "supports_eagle3", False)')
    found = contract(tmp_path / "flag", {}, {"interfaces": edited("interfaces", flag)})
    assert found.checker_changed
    assert (
        found.old is not None and found.new is not None and (found.old.check, found.new.check) == ("isinstance", "flag")
    )
    renamed = edited("interfaces", ("def supports_eagle3(model", "def has_eagle3(model"))
    found = contract(tmp_path / "name", {}, {"interfaces": renamed})
    assert found.checker_changed
    assert [g.kinds for g in found.gates] == [("gone",)]


# -- who asks --------------------------------------------------------------------------------------


def test_a_gate_is_new_or_gone(tmp_path: Path) -> None:
    less = {"runner": edited(RUNNER, ("        self.get_model().set_aux_hidden_state_layers(layers)\n", ""))}
    gone = gate(tmp_path / "a", {}, less)
    assert gone.kinds == ("gone",)
    assert gone.old is not None and (gone.old.member, gone.old.at.line) == (SETTER, 9)
    assert gate(tmp_path / "b", less, {}).kinds == ("added",)


def test_a_gate_that_a_function_of_another_name_has_now_is_moved(tmp_path: Path) -> None:
    other = {"runner": edited(RUNNER, ("def load_model", "def set_up"))}
    assert [g.kinds for g in contract(tmp_path, {}, other).gates] == [("moved",)] * 3


def test_a_gate_in_another_file_is_moved(tmp_path: Path) -> None:
    other = {"runner": "", "proposer": edited(RUNNER)}
    found = contract(tmp_path, {}, other).gates
    assert [g.kinds for g in found] == [("moved",)] * 3
    assert found[0].new is not None and found[0].new.at.path == "vllm/v1/proposer.py"


def test_a_gate_asks_another_object(tmp_path: Path) -> None:
    inner = ("supports_eagle3(self.get_model())", "supports_eagle3(self.get_model().get_language_model())")
    found = gate(tmp_path, {}, {"runner": edited(RUNNER, inner)})
    assert found.kinds == ("subject",)
    assert found.old is not None and found.new is not None
    assert (found.old.subject, found.new.subject) == ("outer model", "inner model")


def test_a_gate_raises_another_error(tmp_path: Path) -> None:
    found = gate(tmp_path, {}, {"runner": edited(RUNNER, ("does not support", "cannot have"))})
    assert found.kinds == ("error",)
    assert found.new is not None and "cannot have" in found.new.error


def allowed(folder: Path, old: str, new: str) -> AllowListChange:
    (found,) = contract(folder, {"config": old}, {"config": new}).allow_lists
    return found


def test_allow_lists(tmp_path: Path) -> None:
    gone = allowed(tmp_path / "gone", ALLOWING, "")
    assert gone.new is None
    assert gone.removed == ("plain", "bare")
    assert gone.old is not None and gone.old.at.line == 3
    assert allowed(tmp_path / "new", "", ALLOWING).added == ("plain", "bare")
    other = allowed(tmp_path / "other", ALLOWING, ALLOWING.replace('"bare"', '"chosen"'))
    assert (other.added, other.removed) == (("chosen",), ("bare",))


def dispatched(folder: Path, old: str, new: str) -> NameGateChange:
    (found,) = changes(folder, {"proposer": old}, {"proposer": new}).name_gates
    return found


def test_dispatch_on_class_names(tmp_path: Path) -> None:
    other = dispatched(tmp_path / "other", DISPATCHING, DISPATCHING.replace('"LackingVL"', '"ChosenVL"'))
    assert (other.added, other.removed) == (("ChosenVL",), ("LackingVL",))
    gone = dispatched(tmp_path / "gone", DISPATCHING, "")
    assert (gone.new, gone.removed) == (None, ("SoundVL", "LackingVL"))
    assert dispatched(tmp_path / "new", "", DISPATCHING).old is None


# -- helpers ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("signature", "names"),
    [
        ("(self) -> tuple[int, ...]", ("self",)),
        ("(self, layers: tuple[int, ...] = (1, 2), *rest: int, key: str = ')', **more) -> None",
         ("self", "layers", "*rest", "key", "**more")),
        ("(a, /, b, *, c)", ("a", "b", "*", "c")),
        ("(not a signature", ("(not a signature",)),
    ],
)  # fmt: skip
def test_parameters(signature: str, names: tuple[str, ...]) -> None:
    assert parameters(signature) == names


def test_pairs_go_from_the_strictest_key_to_the_loosest() -> None:
    keys = [lambda word: word, lambda word: word.lower(), lambda word: word[0].lower()]
    found = list(paired(["ab", "Ab", "ax", "c"], ["AB", "Ab", "az", "d"], keys))
    assert found == [("ab", "AB"), ("Ab", "Ab"), ("ax", "az"), (None, "d"), ("c", None)]
