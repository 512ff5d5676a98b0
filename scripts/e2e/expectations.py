"""What our findings say that the engine will do, taken from the JSON of an audit."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

RUNNER = "vllm/v1/worker/gpu_model_runner.py"  # the runner that CPU engines use too
LAYERS = [2, 4, 5]  # the contract's default for eight layers: 2, half, three before the end


@dataclass(frozen=True)
class Expectation:
    """What one release's audit says of one wrapper."""

    refusal: str  # the error that the runner's gate is quoted with
    safety: str
    summary: str
    decoder: str  # path from the wrapper
    decoder_class: str  # empty where the configuration decides
    missing: str = ""  # the attribute of the config that the proposer will not find
    missing_at: str = ""
    named_by_fix: bool = False  # whether a fix adds the class to the proposer's list


def expectation(audit: dict[str, Any], name: str) -> Expectation | None:
    """What is said of a class; None where VC001 does not name it.

    Args:
        audit: the JSON of an audit.
        name: of the class, without its module.
    """
    found = {f["code"]: f for f in audit["findings"] if f["class"].endswith(f".{name}")}
    if "VC001" not in found:
        return None
    undeclared, named = found["VC001"], found.get("VC012")
    decoder, decoder_class = _match(undeclared, "decoder", r"the decoder is (?:self\.)?(\S+) \((\w+)\)")
    branch = next((link for link in named["chain"] if link["link"] == "branch"), None) if named else None
    return Expectation(
        refusal=_match({"chain": [c for c in undeclared["chain"] if c["path"] == RUNNER]}, "gate", r'else "(.+)"')[0],
        safety=undeclared["fix"],
        summary=undeclared["fix_summary"],
        decoder=decoder,
        decoder_class=decoder_class if undeclared["confidence"] == "certain" else "",
        missing=branch["detail"].rpartition("config.")[2] if branch else "",
        missing_at=branch["path"] if branch else "",
        named_by_fix=bool(named and named["fix"] != "none"),
    )


def _match(finding: dict[str, Any], link: str, pattern: str) -> tuple[str, ...]:
    for entry in finding["chain"]:
        if entry["link"] == link and (found := re.search(pattern, entry["detail"])):
            return found.groups()
    return ("",) * re.compile(pattern).groups
