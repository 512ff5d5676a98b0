"""JUnit's XML: a suite for each rule, a case for each finding.

Information is a case that passes; what could not be read is a case that was skipped.  A report without any
case would be refused by some readers as empty, so a sound tree is one case that passes.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections import Counter, defaultdict

from analyzer.findings import Finding
from analyzer.records import Report
from analyzer.report.context import BARE, Context, placed
from analyzer.report.layout import ASCII, clean

TOOL = "vllm-contracts"


def render(report: Report, context: Context = BARE) -> str:
    """The XML in ASCII."""
    prefix = context.prefix(report.checkout.root)
    root = ET.Element("testsuites", name=TOOL)
    rules: defaultdict[str, list[Finding]] = defaultdict(list)
    for finding in report.findings:
        rules[f"{finding.code} {finding.name}"].append(finding)
    for rule in sorted(rules):
        _suite(root, rule, rules[rule], prefix)
    if report.diagnostics:
        suite = ET.SubElement(root, "testsuite", name="not read")
        for lost in report.diagnostics:
            place = clean(placed(prefix, lost.path))
            case = ET.SubElement(suite, "testcase", classname="not read", name=place, file=place)
            ET.SubElement(case, "skipped", message=clean(f"line {lost.line}: " * bool(lost.line) + lost.message))
    if not len(root):
        ET.SubElement(ET.SubElement(root, "testsuite", name=TOOL), "testcase", classname=TOOL, name="no findings")
    for element in (root, *root):
        _count(element)
    ET.indent(root)
    xml: bytes = ET.tostring(root, "us-ascii", xml_declaration=True)
    return xml.decode("ascii") + "\n"


def _suite(root: ET.Element, rule: str, findings: list[Finding], prefix: str) -> None:
    suite = ET.SubElement(root, "testsuite", name=rule)
    seen: Counter[tuple[str, str]] = Counter()
    for finding in findings:
        seen[finding.cls, finding.contract] += 1
        number = seen[finding.cls, finding.contract]
        about = finding.contract or "comment"
        case = ET.SubElement(
            suite,
            "testcase",
            classname=clean(finding.cls),
            name=clean(f"{about} {number}" if number > 1 else about),
            file=clean(placed(prefix, finding.at.path)),
            line=str(finding.at.line),
        )
        if finding.severity == "info":
            ET.SubElement(case, "system-out").text = f"{clean(finding.message)}\n{_chain(finding, prefix)}"
        else:
            fault = ET.SubElement(case, "failure", type=finding.severity, message=clean(finding.message))
            fault.text = _chain(finding, prefix)


def _chain(finding: Finding, prefix: str) -> str:
    lines = [placed(prefix, str(finding.at))]
    for link in finding.chain:
        place = f" ({placed(prefix, link.path)}:{link.line})" if link.path else ""
        lines.append(f"{ASCII.mark(link.ok)} {link.link}: {link.detail}{place}")
    lines.append(f"{'no' if finding.fix.safety == 'none' else finding.fix.safety} fix: {finding.fix.summary}")
    return "".join(f"{clean(line)}\n" for line in lines)


def _count(element: ET.Element) -> None:
    for attribute, tag in {"tests": "testcase", "failures": "failure", "skipped": "skipped"}.items():
        element.set(attribute, str(sum(1 for _ in element.iter(tag))))
    element.set("errors", "0")
