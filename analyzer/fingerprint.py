"""What makes a finding the same one as before: in a baseline, in a merge request, after lines have moved."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable

from analyzer.findings import Finding

_PLACE = re.compile(r"\s*\(?[^\s()]+\.py:\d+(?::\d+)?\)?")


def fingerprint(finding: Finding) -> str:
    """An identity in 32 hexadecimal digits that outlives edits elsewhere in the file.

    It is made of the code, the class, the contract, the file, and what the message says without the places that
    it names.  Lines, columns, severity, fix and chain do not count: a finding stays the same while the code
    around it moves, and from one release to the next.  Another inner model or another method makes another one.
    """
    said = " ".join(_PLACE.sub("", finding.message).split())
    return _digest([finding.code, finding.cls, finding.contract, finding.at.path, said])


def fingerprints(findings: Iterable[Finding]) -> list[str]:
    """The fingerprint of each finding, in their order, no two alike.

    Of several findings that are alike, the first keeps its fingerprint; the others get one with their number.
    """
    seen: Counter[str] = Counter()
    found = []
    for finding in findings:
        key = fingerprint(finding)
        seen[key] += 1
        found.append(key if seen[key] == 1 else _digest([key, str(seen[key])]))
    return found


def _digest(parts: list[str]) -> str:
    return hashlib.sha256(json.dumps(parts).encode("ascii")).hexdigest()[:32]
