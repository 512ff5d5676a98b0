"""Baselines: what is known again, what is new, what is gone, and files that are none."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.baseline import BaselineError, compare, entries_of, read_baseline, render, updated, write_baseline
from analyzer.findings import Finding, Position
from analyzer.records import EntryRecord
from tests import releases

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="has modes and symbolic links")


def finding(cls: str, code: str = "VC001", line: int = 1, message: str = "fails") -> Finding:
    return Finding(
        code=code,
        name="some-rule",
        contract="SupportsEagle3",
        severity="error",
        confidence="certain",
        cls=f"vllm.a.{cls}",
        architectures=(),
        at=Position("vllm/a.py", line),
        message=message,
    )


def everything(_: EntryRecord) -> bool:
    return True


A, B, C = finding("A"), finding("B", line=9), finding("C")
FILE = Path("known.json")


def names(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


# -- comparing -------------------------------------------------------------------------------------


def test_known_new_and_stale() -> None:
    new, compared = compare(FILE, entries_of([A, B]), [replace(A, at=Position("vllm/a.py", 70)), C], everything)
    assert new == [C]
    assert [f.cls for f in compared.known] == ["vllm.a.A"]
    assert [entry.cls for entry in compared.stale] == ["vllm.a.B"]
    assert list(compared.entries) == sorted(entries_of([A, C]))


def test_alike_findings_are_counted() -> None:
    twice = entries_of([A, A])
    assert len({entry.fingerprint for entry in twice}) == 2
    assert compare(FILE, twice[:1], [A, A], everything)[0] == [A]
    assert compare(FILE, twice, [A, A], everything)[0] == []
    new, compared = compare(FILE, twice, [A], everything)
    assert (new, len(compared.stale)) == ([], 1)


def test_what_a_run_did_not_look_at_is_neither_stale_nor_dropped() -> None:
    baseline = entries_of([A, finding("B", "VC004")])
    new, compared = compare(FILE, baseline, [C], lambda entry: entry.code == "VC001")
    assert new == [C]
    assert [entry.cls for entry in compared.stale] == ["vllm.a.A"]
    assert [entry.cls for entry in compared.entries] == ["vllm.a.B", "vllm.a.C"]


def test_an_update_knows_everything() -> None:
    new, compared = compare(FILE, entries_of([A, B]), [A, C], everything)
    after = updated(compared, new)
    assert (after.updated, after.added, list(after.known)) == (True, 1, [A, C])
    assert compare(FILE, after.entries, [A, C], everything)[0] == []


FINDINGS = st.lists(st.builds(finding, st.sampled_from("ABC"), st.sampled_from(["VC001", "VC004"]), st.integers(1, 9)))


@given(FINDINGS, FINDINGS)
def test_an_updated_baseline_has_nothing_new_and_nothing_stale(before: list[Finding], now: list[Finding]) -> None:
    new, compared = compare(FILE, entries_of(before), now, everything)
    assert len(new) + len(compared.known) == len(now)
    assert len(compared.known) + len(compared.stale) == len(before)
    again, after = compare(FILE, compared.entries, now, everything)
    assert (again, after.stale, after.entries) == ([], (), compared.entries)


# -- the file --------------------------------------------------------------------------------------

TEXT = """\
{"tool": "vllm-contracts baseline", "version": 1, "findings": [
{"path": "vllm/a.py", "class": "vllm.a.A", "code": "VC001", "contract": "SupportsEagle3", "fingerprint": "%s"},
{"path": "vllm/a.py", "class": "vllm.a.B", "code": "VC001", "contract": "SupportsEagle3", "fingerprint": "%s"}
]}
"""


def test_the_file_has_one_finding_a_line_in_a_fixed_order(tmp_path: Path) -> None:
    file = tmp_path / "known.json"
    assert write_baseline(file, entries_of([B, A]))
    first, second = (entry.fingerprint for entry in entries_of([A, B]))
    assert file.read_bytes() == (TEXT % (first, second)).encode()
    assert read_baseline(file) == entries_of([A, B])
    assert not write_baseline(file, entries_of([A, B]))
    assert write_baseline(file, [])
    assert read_baseline(file) == []
    assert names(tmp_path) == ["known.json"]


@given(st.lists(st.builds(EntryRecord, *[st.text(max_size=9)] * 5)))
def test_any_entry_comes_back(entries: list[EntryRecord]) -> None:
    text = render(entries)
    assert text.isascii()
    assert len(text.splitlines()) == len(entries) + 2
    assert [record["fingerprint"] for record in json.loads(text)["findings"]] == [
        e.fingerprint for e in sorted(entries)
    ]


ENTRY = '{"path": "a", "class": "a", "code": "a", "contract": "a", "fingerprint": "a"}'
HEAD = '{"tool": "vllm-contracts baseline", "version": 1'
UNUSABLE = {
    "": ":1: the baseline is damaged: Expecting value",
    "no json": ":1: the baseline is damaged: Expecting value",
    f'{HEAD}, "findings": [\n<<<<<<< ours\n{ENTRY}\n]}}': ":2: the baseline is damaged: Expecting value",
    f'{HEAD}, "findings": [\n{ENTRY}\n{ENTRY}]}}': ":3: the baseline is damaged: Expecting ',' delimiter",
    "[]": ": is no baseline of vllm-contracts; vllm-contracts audit --update-baseline makes one",
    "3": ": is no baseline of vllm-contracts",
    '{"version": "2.1.0", "runs": []}': ": is no baseline of vllm-contracts",
    '{"schema": 1, "tool": {"name": "vllm-contracts"}}': ": is no baseline of vllm-contracts",
    '{"tool": "vllm-contracts baseline", "version": 2}': ": is a baseline of version 2; this program knows version 1",
    '{"tool": "vllm-contracts baseline"}': ": is a baseline of version null",
    f"{HEAD}}}": ": the baseline is damaged: it has no list of findings",
    f'{HEAD}, "findings": [{ENTRY}, 3]}}': ": the baseline is damaged: its entry 2 is none",
    f'{HEAD}, "findings": [{{"path": "a"}}]}}': ": the baseline is damaged: its entry 1 is none",
    f'{HEAD}, "findings": [{ENTRY.replace(": ", ": [", 1).replace(",", "],", 1)}]}}': ": the baseline is damaged: its",
    "[" * 100_000: ": is no baseline: it is not JSON",
}


@pytest.mark.parametrize("text", UNUSABLE, ids=[said[:60] for said in UNUSABLE.values()])
def test_a_file_that_is_none_is_one_clear_error(tmp_path: Path, text: str) -> None:
    file = tmp_path / "known.json"
    file.write_text(text)
    with pytest.raises(BaselineError) as caught:
        read_baseline(file)
    assert str(caught.value).startswith(f"{file}{UNUSABLE[text]}")
    assert "\n" not in str(caught.value)


def test_files_that_cannot_be_read_or_written(tmp_path: Path) -> None:
    for make, said in ((read_baseline, "cannot be read: Is a directory"), (read_baseline, "no such baseline")):
        with pytest.raises(BaselineError, match=said):
            make(tmp_path if "directory" in said else tmp_path / "no.json")
    (tmp_path / "bytes.json").write_bytes(b"\xff")
    with pytest.raises(BaselineError, match="is no baseline"):
        read_baseline(tmp_path / "bytes.json")
    for target in (tmp_path, tmp_path / "no" / "known.json"):
        with pytest.raises(BaselineError, match="cannot be written"):
            write_baseline(target, [])
    assert names(tmp_path) == ["bytes.json"]


@POSIX
def test_mode_and_links_stay(tmp_path: Path) -> None:
    real, link = tmp_path / "real.json", tmp_path / "link.json"
    real.write_text("{}")
    real.chmod(0o640)
    link.symlink_to("real.json")
    write_baseline(link, [])
    assert link.is_symlink()
    assert read_baseline(real) == []
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    script = "import os, sys; from pathlib import Path; from analyzer.baseline import write_baseline\n"
    script += "os.umask(0o027); write_baseline(Path(sys.argv[1]), [])"
    subprocess.run([sys.executable, "-c", script, str(tmp_path / "new.json")], check=True)
    assert stat.S_IMODE((tmp_path / "new.json").stat().st_mode) == 0o640


def test_a_missing_file_may_stand_for_none(tmp_path: Path) -> None:
    assert read_baseline(tmp_path / "no.json", may_lack=True) == []
    with pytest.raises(BaselineError, match="is no baseline"):
        read_baseline(Path("a\0b"), may_lack=True)
    with pytest.raises(BaselineError, match="cannot be written"):
        write_baseline(Path("a\0b"), [])


def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "known.json"
    write_baseline(file, entries_of([A]))
    before = file.read_bytes()

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(BaselineError, match="No space left"):
        write_baseline(file, entries_of([B]))
    assert file.read_bytes() == before
    assert names(tmp_path) == ["known.json"]


# -- from one release to the next ------------------------------------------------------------------


@pytest.mark.release
def test_a_baseline_of_one_release_serves_on_the_next() -> None:
    """Whatever is the same fault of the same class is known, and that is nearly everything."""
    before, after = releases.report("0.30.0").findings, releases.report("0.32.0").findings
    new, compared = compare(FILE, entries_of(before), after, everything)

    def faults(findings: list[Finding]) -> set[tuple[str, str, str]]:
        return {(f.code, f.cls, f.contract) for f in findings}

    assert len(after) > 140
    assert len(compared.known) >= 0.95 * len(after)
    assert not faults(new) & faults(before)
    assert len(compared.known) + len(compared.stale) == len(before)
