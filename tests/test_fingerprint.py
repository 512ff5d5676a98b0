"""A finding is known again after its lines have moved, and taken for no other."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from analyzer.findings import Finding, Fix, Link, Position
from analyzer.fingerprint import fingerprint, fingerprints

FINDING = Finding(
    code="VC012",
    name="consumer-name-gate",
    contract="SupportsEagle3",
    severity="warning",
    confidence="certain",
    cls="vllm.model_executor.models.a.Outer",
    architectures=("Outer",),
    at=Position("vllm/model_executor/models/a.py", 7),
    message="Outer is not named in load_model (vllm/v1/spec_decode/eagle.py:1357) and falls through",
)


def test_it_is_what_it_was_in_the_last_version() -> None:
    """A change of this value makes every baseline useless."""
    assert fingerprint(FINDING) == "0ad32a499b75faf72a4b48612774eab9"


@pytest.mark.parametrize(
    "change",
    [
        {"at": Position(FINDING.at.path, 99, 5)},
        {"message": FINDING.message.replace(":1357", ":2")},
        {"message": FINDING.message.replace("eagle.py:1357", "llm_base_proposer.py:12:3")},
        {"message": FINDING.message.replace(" and ", "\n  and ")},
        {"severity": "error"},
        {"confidence": "unresolved"},
        {"architectures": ()},
        {"fix": Fix("none", "none")},
        {"chain": (Link("check", False, "vllm/a.py", 1, "fails"),)},
    ],
    ids=str,
)
def test_what_does_not_make_another_finding(change: dict[str, Any]) -> None:
    assert fingerprint(replace(FINDING, **change)) == fingerprint(FINDING)


@pytest.mark.parametrize(
    "change",
    [
        {"code": "VC001"},
        {"contract": "SupportsPP"},
        {"cls": "vllm.model_executor.models.a.Other"},
        {"at": Position("vllm/model_executor/models/b.py", 7)},
        {"message": FINDING.message.replace("load_model", "load_drafter")},
        {"message": FINDING.message.replace("(vllm/v1/spec_decode/eagle.py:1357)", "of vllm/v1/spec_decode/eagle.py")},
    ],
    ids=str,
)
def test_what_makes_another_finding(change: dict[str, Any]) -> None:
    assert fingerprint(replace(FINDING, **change)) != fingerprint(FINDING)


def test_parts_do_not_run_into_each_other() -> None:
    one = replace(FINDING, cls="ab", contract="c")
    assert fingerprint(one) != fingerprint(replace(FINDING, cls="a", contract="bc"))


def test_any_text_will_do() -> None:
    hostile = replace(FINDING, at=Position("vllm/\udcff é.py", 1), message="\udcff\0")
    assert re.fullmatch(r"[0-9a-f]{32}", fingerprint(hostile))


def test_findings_that_are_alike_get_numbers() -> None:
    other = replace(FINDING, code="VC001")
    keys = fingerprints([FINDING, other, FINDING, FINDING])
    assert len(set(keys)) == 4
    assert keys[:2] == [fingerprint(FINDING), fingerprint(other)]
    assert fingerprints([FINDING, FINDING]) == [keys[0], keys[2]]
    assert fingerprints([]) == []
