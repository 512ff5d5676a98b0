"""The matrix: which rows and cells there are, what they say, and what a selection leaves."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from analyzer.checkout import open_checkout
from analyzer.engine import audit
from analyzer.findings import Confidence, Finding, Position, Severity
from analyzer.matrix import CELL_VERDICTS, NOT_ASKED, Matrix, _variants, build, gate_links, select
from analyzer.records import Report
from rules import all_rules
from tests import releases
from tests.report_tree import WRAPPERS, make_tree

FIXTURE = Path(__file__).parent.parent / "fixtures" / "gen_0_33"
MODELS = "vllm.model_executor.models"


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    return audit(open_checkout(make_tree(tmp_path_factory.mktemp("tree"))), all_rules())


@pytest.fixture(scope="module")
def variants() -> Report:
    """A tree with a draft head, a pooling model, and an architecture with a class for each of two platforms."""
    return audit(open_checkout(FIXTURE), all_rules())


def verdicts(matrix: Matrix, contract: str = "SupportsEagle3") -> dict[str, str]:
    return {row.label: row.cells[contract].verdict for row in matrix.rows if contract in row.cells}


def with_finding(
    report: Report,
    contract: str,
    cls: str,
    *architectures: str,
    at: Position | None = None,
    severity: Severity = "error",
    confidence: Confidence = "certain",
) -> Report:
    """A report with one more finding."""
    place = at or next((m.at for m in report.models if m.cls == cls), Position("vllm/elsewhere.py", 7))
    finding = Finding("VC999", "made-up", contract, severity, confidence, cls, architectures, place, "it is broken")
    return replace(report, findings=[*report.findings, finding])


# -- rows ------------------------------------------------------------------------------------------


def test_every_registered_architecture_has_a_row_for_each_class_that_serves_it(report: Report) -> None:
    rows = [(row.architecture, row.model.name, row.model.role) for row in build(report).rows]
    assert rows == [
        ("BareForCausalLM", "BareForCausalLM", "text"),
        ("BoastfulVL", "BoastfulVL", "wrapper"),
        ("ChosenVL", "ChosenVL", "wrapper"),
        ("LackingVL", "LackingVL", "wrapper"),
        ("PlainForCausalLM", "PlainForCausalLM", "text"),
        ("PlainTextForCausalLM", "PlainForCausalLM", "text"),
        ("SoundVL", "SoundVL", "wrapper"),
    ]


def test_verdicts_are_those_of_the_models(report: Report) -> None:
    assert verdicts(build(report)) == {
        "BareForCausalLM": "unsupported",
        "BoastfulVL": "broken",
        "ChosenVL": "undeclared",
        "LackingVL": "undeclared",
        "PlainForCausalLM": "works",
        "PlainTextForCausalLM": "works",
        "SoundVL": "works",
    }


def test_classes_of_one_architecture_are_told_apart(variants: Report) -> None:
    assert [(r.label, r.model.cls) for r in build(variants).rows if r.variant] == [
        ("ZetaForCausalLM [amd]", "vllm.models.zeta.amd.model.ZetaForCausalLM"),
        ("ZetaForCausalLM [nvidia]", "vllm.models.zeta.nvidia.model.ZetaForCausalLM"),
    ]


@pytest.mark.parametrize(
    ("classes", "shown"),
    [
        (["a.m.X"], [""]),
        (["a.amd.m.X", "a.cpu.m.X", "a.xpu.m.X"], ["amd", "cpu", "xpu"]),
        (["a.m.X", "a.m.Y"], ["X", "Y"]),
        (["a.amd.linear.X", "a.nvidia.model.X"], ["amd.linear", "nvidia.model"]),
        (["a.b.X", "a.c.X", "a.b.Y"], ["a.b.X", "c", "Y"]),
    ],
)
def test_variants_are_named_by_what_they_have_alone(classes: list[str], shown: list[str]) -> None:
    assert _variants(classes) == shown


def test_draft_heads_and_pooling_models_are_not_asked_for_what_configures_a_decoder(variants: Report) -> None:
    matrix = build(variants)
    rows = {row.architecture: row for row in matrix.rows}
    for name, kind in (("Eagle3AlphaForCausalLM", "a draft head"), ("AlphaModel", "a pooling model")):
        cells = rows[name].cells
        assert cells["SupportsEagle3"].verdict == NOT_ASKED
        assert cells["SupportsEagle3"].reason == f"SupportsEagle3 is not asked of {kind}"
        assert cells["SupportsPP"].verdict in ("works", "unsupported")
    serving = [row for row in matrix.rows if row.model.serves]
    assert serving
    assert all(cell.verdict != NOT_ASKED for row in serving for cell in row.cells.values())


# -- findings --------------------------------------------------------------------------------------


def test_a_cell_cites_the_findings_on_its_class_and_contract(report: Report) -> None:
    cells = {row.architecture: row.cells["SupportsEagle3"] for row in build(report).rows}
    codes = {name: [f.code for f in cell.findings] for name, cell in cells.items() if cell.findings}
    assert codes == {"BoastfulVL": ["VC004"], "ChosenVL": ["VC001"], "LackingVL": ["VC001"]}
    assert not any(cell.remarked for cell in cells.values())


def test_what_a_certain_error_names_does_not_work(report: Report) -> None:
    named = build(with_finding(report, "SupportsEagle3", f"{MODELS}.wrappers.SoundVL", "SoundVL"))
    cell = next(row.cells["SupportsEagle3"] for row in named.rows if row.architecture == "SoundVL")
    assert (cell.verdict, cell.reason, cell.at.path) == ("broken", "VC999: it is broken", WRAPPERS)
    assert cell.status.verdict == "works"
    others = verdicts(build(report))
    assert {**verdicts(named), "SoundVL": "works"} == others


@pytest.mark.parametrize(("severity", "confidence"), [("warning", "certain"), ("error", "config-dependent")])
def test_what_is_not_a_certain_error_is_a_remark(report: Report, severity: Severity, confidence: Confidence) -> None:
    sound = (f"{MODELS}.wrappers.SoundVL", "SoundVL")
    named = build(with_finding(report, "SupportsEagle3", *sound, severity=severity, confidence=confidence))
    cell = next(row.cells["SupportsEagle3"] for row in named.rows if row.architecture == "SoundVL")
    assert (cell.verdict, cell.remarked) == ("works", True)


def test_an_error_changes_no_other_verdict(report: Report) -> None:
    named = with_finding(report, "SupportsEagle3", f"{MODELS}.wrappers.LackingVL", "LackingVL", "BareForCausalLM")
    assert verdicts(build(named)) == verdicts(build(report))


AMD, NVIDIA = "vllm.models.zeta.amd.model.ZetaForCausalLM", "vllm.models.zeta.nvidia.model.ZetaForCausalLM"


def test_a_finding_on_one_variant_is_not_one_on_the_other(variants: Report) -> None:
    named = verdicts(build(with_finding(variants, "SupportsEagle3", AMD, "ZetaForCausalLM")))
    assert named["ZetaForCausalLM [amd]"] == "broken"
    assert named["ZetaForCausalLM [nvidia]"] == "works"


def test_a_finding_on_a_decoder_is_one_on_the_variants_that_reach_it(variants: Report) -> None:
    nvidia = next(model for model in variants.models if model.cls == NVIDIA)
    link = nvidia.statuses["SupportsEagle3"].chains[0].links[-1]
    place = Position(link.path, link.line)
    amd = next(model for model in variants.models if model.cls == AMD)
    shared = any(
        (x.path, x.line) == (link.path, link.line) for c in amd.statuses["SupportsEagle3"].chains for x in c.links
    )
    named = verdicts(build(with_finding(variants, "SupportsEagle3", "vllm.x.Decoder", "ZetaForCausalLM", at=place)))
    assert named["ZetaForCausalLM [nvidia]"] == "broken"
    assert (named["ZetaForCausalLM [amd]"] == "broken") is shared


def test_a_finding_that_no_chain_passes_is_one_on_every_class(variants: Report) -> None:
    named = verdicts(build(with_finding(variants, "SupportsEagle3", "vllm.elsewhere.Base", "ZetaForCausalLM")))
    assert named["ZetaForCausalLM [amd]"] == named["ZetaForCausalLM [nvidia]"] == "broken"


def test_a_class_that_becomes_others_is_what_they_are(variants: Report) -> None:
    amd = next(model for model in variants.models if model.cls == AMD)
    dispatcher = replace(amd, cls="vllm.models.zeta.Dispatcher", becomes=(AMD, NVIDIA), serves=False, role="other")
    both = replace(variants, models=[*variants.models, dispatcher])
    label = "ZetaForCausalLM [Dispatcher]"
    assert verdicts(build(both))[label] == "works"
    assert verdicts(build(with_finding(both, "SupportsEagle3", AMD, "ZetaForCausalLM")))[label] == "config-dependent"


# -- columns and selection -------------------------------------------------------------------------


def test_leading_contracts_are_those_handed_on_and_those_with_findings(variants: Report) -> None:
    assert build(variants).leading == {"SupportsEagle3"}
    named = with_finding(variants, "SupportsPP", AMD, "ZetaForCausalLM")
    assert build(named).leading == {"SupportsEagle3", "SupportsPP"}
    plain = replace(variants, contracts=[replace(c, delegated=False) for c in variants.contracts], findings=[])
    assert build(plain).leading == {c.name for c in variants.contracts}


def test_gates_are_the_contracts(report: Report) -> None:
    (gate,) = gate_links(build(report).contracts[0])
    assert (gate.link, gate.ok, gate.path, gate.line) == ("gate", True, "vllm/v1/runner.py", 6)
    assert gate.detail.startswith("asks the outer model: supports_eagle3(self.get_model()), else ")


def test_chains_begin_with_what_is_asked_first() -> None:
    matrix = build(audit(open_checkout(FIXTURE.with_name("gen_0_20")), all_rules()))
    asked = {row.architecture: row.cells["SupportsEagle3"] for row in matrix.rows if row.model.serves}
    for cell in asked.values():
        kinds = [link.link for link in cell.chains[0].links]
        consumers = [link.link for link in cell.status.consumers]
        before, behind = consumers.count("allow-list"), len(consumers) - consumers.count("allow-list")
        assert kinds[: before + 2] == ["allow-list"] * before + ["gate", "check"]
        assert kinds[len(kinds) - behind :] == ["name-gate"] * behind
    assert any(cell.status.consumers for cell in asked.values())


def test_nothing_stands_before_what_is_not_asked(variants: Report) -> None:
    cells = [row.cells["SupportsEagle3"] for row in build(variants).rows if not row.model.serves]
    assert cells
    assert all(link.link != "gate" for cell in cells for chain in cell.chains for link in chain.links)


def test_a_check_that_fails_is_a_chain_of_one_link(variants: Report) -> None:
    cell = next(row.cells["IsHybrid"] for row in build(variants).rows if row.architecture == "AlphaForCausalLM")
    *gates, check = cell.chains[0].links
    assert all(link.link == "gate" for link in gates)
    assert (check.link, check.ok, check.detail) == ("check", False, "AlphaForCausalLM fails is_hybrid")
    assert cell.reason == check.detail


def test_a_selection_of_verdicts_keeps_those_cells_and_what_holds_them(variants: Report) -> None:
    part = select(build(variants), only=["not-asked"])
    assert [c.name for c in part.contracts] == ["SupportsEagle3"]
    assert verdicts(part) == {"AlphaModel": "not-asked", "Eagle3AlphaForCausalLM": "not-asked"}
    assert select(build(variants), only=["broken"]).rows == ()


@pytest.mark.parametrize(
    ("patterns", "left"),
    [
        (["*VL"], ["BoastfulVL", "ChosenVL", "LackingVL", "SoundVL"]),
        (["soundvl", "Bare*"], ["BareForCausalLM", "SoundVL"]),
        (["Nothing*"], []),
    ],
)
def test_a_selection_of_architectures(report: Report, patterns: list[str], left: list[str]) -> None:
    assert [row.architecture for row in select(build(report), architectures=patterns).rows] == left


def test_contracts_are_chosen_by_pattern(variants: Report) -> None:
    part = build(variants, ["supports*eagle*", "IsHybrid"])
    assert [c.name for c in part.contracts] == ["IsHybrid", "SupportsEagleBase", "SupportsEagle", "SupportsEagle3"]
    assert all(set(row.cells) == {c.name for c in part.contracts} for row in part.rows)


def test_counts_add_up(variants: Report) -> None:
    matrix = build(variants)
    for contract in matrix.contracts:
        counts = matrix.counts(contract.name)
        assert counts.total() == len(matrix.rows)
        assert set(counts) <= set(CELL_VERDICTS)


@pytest.mark.release
@pytest.mark.parametrize("version", ["0.16.0", "0.33.0"])
def test_no_cell_of_a_release_works_against_a_certain_error(version: str) -> None:
    report = releases.report(version)
    matrix = build(report)
    assert {row.architecture for row in matrix.rows} == {a for m in report.models for a in m.architectures}
    broken = [cell for row in matrix.rows for cell in row.cells.values() if cell.verdict == "broken"]
    assert broken
    for row in matrix.rows:
        for cell in row.cells.values():
            certain = any(f.severity == "error" and f.confidence == "certain" for f in cell.findings)
            assert not (cell.verdict == "works" and certain), row.label
    cited = {id(finding) for row in matrix.rows for cell in row.cells.values() for finding in cell.findings}
    registered = [finding for finding in report.findings if finding.architectures]
    assert all(id(finding) in cited for finding in registered)
