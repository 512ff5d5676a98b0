"""Work beside: the same result in whichever process, and nothing left behind."""

from __future__ import annotations

import os
import signal
import sys
import threading

import pytest

from analyzer import beside as module
from analyzer import engine
from analyzer.beside import beside
from analyzer.checkout import open_checkout
from analyzer.report import json
from rules import all_rules
from tests.fixture_trees import Trees

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are copied on Linux only")


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two processors and one thread, whatever runs the tests."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    monkeypatch.setattr(threading, "active_count", lambda: 1)


def no_children() -> bool:
    try:
        return os.waitpid(-1, os.WNOHANG) == (0, 0)
    except ChildProcessError:
        return True


def test_work_is_done_in_another_process() -> None:
    with beside(os.getpid, pays=True) as result:
        assert result() != os.getpid()
    assert no_children()


@pytest.mark.parametrize("reason", ["small", "one processor", "threads", "no room"])
def test_work_is_done_here_where_another_process_does_not_pay(reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_room() -> int:
        raise BlockingIOError

    if reason == "one processor":
        monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0})
    if reason == "threads":
        monkeypatch.setattr(threading, "active_count", lambda: 2)
    if reason == "no room":
        monkeypatch.setattr(os, "fork", no_room)
    with beside(os.getpid, pays=reason != "small") as result:
        assert result() == os.getpid()


def test_work_whose_process_is_killed_is_done_here() -> None:
    here = os.getpid()

    def work() -> int:
        if os.getpid() != here:
            os.kill(os.getpid(), signal.SIGKILL)
        return os.getpid()

    with beside(work, pays=True) as result:
        assert result() == here
    assert no_children()


def test_an_error_of_the_work_is_raised_here() -> None:
    def work() -> int:
        raise ValueError("odd")

    with beside(work, pays=True) as result, pytest.raises(ValueError, match="odd"):
        result()


def test_a_result_that_nobody_asks_for_leaves_no_process() -> None:
    with pytest.raises(KeyError), beside(threading.Event().wait, pays=True):
        raise KeyError
    assert no_children()


def test_the_report_does_not_depend_on_the_number_of_processes(trees: Trees, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = trees.plain("0.33").root
    monkeypatch.setattr(engine, "LARGE", 0)
    several = json.render(engine.audit(open_checkout(tree), all_rules()))
    monkeypatch.setattr(module, "_can_copy", lambda: False)
    assert json.render(engine.audit(open_checkout(tree), all_rules())) == several
