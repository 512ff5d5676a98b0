"""Every format, compared with what was read and found good: ``python -m tests.golden`` writes the files again."""

from __future__ import annotations

import pkgutil
from importlib import import_module

import pytest

import analyzer.report
from analyzer.records import Report
from analyzer.report.context import Context
from analyzer.report.formats import FORMATS, render
from tests.golden import GOLDEN, golden, golden_report

HELPERS = {"aside", "context", "formats", "layout", "replacements", "sarif_result", "statistics", "summary"}
OF_OTHER_COMMANDS = {"matrix_csv", "matrix_html", "matrix_json", "matrix_markdown", "matrix_text", "places", "trace"}


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory) -> tuple[Report, Context]:
    return golden_report(tmp_path_factory.mktemp("golden") / "tree")


@pytest.mark.parametrize("name", FORMATS)
def test_as_before(audited: tuple[Report, Context], name: str) -> None:
    assert golden(*audited, name) == (GOLDEN / f"report.{name}").read_text("utf-8")


def test_nothing_is_kept_of_a_format_that_is_gone() -> None:
    assert {path.name for path in GOLDEN.iterdir() if path.is_file()} == {f"report.{name}" for name in FORMATS}


def test_every_module_is_a_format_or_a_helper() -> None:
    modules = {module.name for module in pkgutil.iter_modules(analyzer.report.__path__)}
    assert modules == set(FORMATS) | HELPERS | OF_OTHER_COMMANDS
    assert all(hasattr(import_module(f"analyzer.report.{name}"), "render") for name in FORMATS)


@pytest.mark.parametrize("name", sorted(set(FORMATS) - {"text", "json"}))
def test_no_path_of_this_machine(audited: tuple[Report, Context], name: str) -> None:
    report, context = audited
    assert str(report.checkout.root) not in render(report, name, context)


@pytest.mark.parametrize("name", ["gitlab", "json", "junit", "sarif"])
def test_formats_for_programs_are_ascii(audited: tuple[Report, Context], name: str) -> None:
    assert golden(*audited, name).isascii()
