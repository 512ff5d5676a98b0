"""From a package and a tree to a report."""

from __future__ import annotations

import re

from analyzer.checkout import Checkout
from analyzer.drift.api import Api
from analyzer.drift.classes import Classes
from analyzer.drift.guards import Conditions
from analyzer.drift.outside_stores import stores_of
from analyzer.drift.overrides import Overrides
from analyzer.drift.package import Package
from analyzer.drift.reader import Reader
from analyzer.drift.records import DriftReport
from analyzer.drift.signatures import Signatures
from analyzer.drift.texts import Texts
from analyzer.drift.together import TogetherIndex
from analyzer.drift.uses import Found, Uses
from analyzer.records import TreeRecord

WORD = b"vllm"
"""What a file holds that uses vLLM; others are not looked into."""


def drift(package: Package, checkout: Checkout) -> DriftReport:
    """Every use of a tree's API in a package.

    Args:
        package: third-party code.
        checkout: the tree.
    """
    index = TogetherIndex(checkout, package)
    reader, texts = Reader(index), Texts(checkout)
    api = Api(index, reader, texts)
    classes = Classes(index, reader, texts, api)
    classes.set_outside |= stores_of(package)
    found = Found()
    signatures = Signatures(classes)
    uses = Uses(api, classes, signatures, Conditions(checkout.version), found)
    overrides = Overrides(classes, signatures)
    looked = 0
    for module in package.modules(WORD):
        scope = reader.scope(module.name)
        if scope is not None:
            looked += 1
            uses.read(module, scope)
            found.broken += [(use, ()) for use in overrides.read(module)]
    unread = {word for data in package.contents.values() if WORD not in data for word in re.findall(rb"\w+", data)}
    tops = tuple(sorted(package.tops))
    return DriftReport(
        package=package.root,
        names=tops,
        checkout=TreeRecord(checkout.root, checkout.version),
        files=(len(package.files), looked),
        checked={**found.checked, "classes": overrides.looked_at},
        uses=sorted(found.settle(frozenset(word.decode() for word in unread)), key=lambda use: (use.at, use.kind, use.name)),
        guarded=sorted(found.guarded, key=lambda use: (use.at, use.name)),
        unresolved=sorted(found.unresolved, key=lambda use: (use.at, use.name)),
        diagnostics=sorted({*package.diagnostics, *index.diagnostics}),
    )
