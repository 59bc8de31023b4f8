"""How much of a board one change may bring: never so much that reading it takes long, or much room."""

from __future__ import annotations

import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from builders import Sample, play
from gatekeeper import header
from gatekeeper.edges import reader

if TYPE_CHECKING:
    from pathlib import Path

TASK = "T-20260301-0000000a"
DONE = f".agents/tasks/done/{TASK}.md"
PLANNED = ("--author", "octocat", "--operator", "octocat")
PROPOSAL = "---\nbase_plan_revision: 4\nseverity: local\nstatus: open\n---\n"
TOO_MUCH = "this change brings more of the board than is read in one go"


def text(number: int, more: str = "") -> str:
    """A task's file."""
    return (
        f"---\nid: T-20260302-{number:08x}\ntitle: x\nstatus: queued\nclassification: feature\n"
        f"authority:\n  paths: [{more}src/search/**]\n---\n# Task\n"
    )


def task_file(number: int) -> str:
    return f".agents/tasks/queued/T-20260302-{number:08x}.md"


def finished(root: Path, files: dict[str, str]) -> Sample:
    """A branch that finishes its task, and brings files."""
    edits = [{"finish": TASK}, {"write": files}]
    return play({"edits": edits, "claims": [{"live": {"task": TASK}}]}, root)


def found(sample: Sample, *args: str) -> dict[str, set[tuple[str, str]]]:
    """Each path's codes and messages."""
    told: dict[str, set[tuple[str, str]]] = {}
    for finding in sample.check(*args).report["findings"]:
        told.setdefault(finding["path"], set()).add((finding["code"], finding["message"]))
    return told


def test_a_large_file_of_a_board_is_unreadable(tmp_path: Path) -> None:
    room = header.MAX_DOCUMENT - len(PROPOSAL)
    proposals = {f".agents/proposals/{at}.md": PROPOSAL + "x" * (room + at) for at in (0, 1)}
    proposals[".agents/proposals/2.md"] = PROPOSAL + "x" * (1 << 20)
    told = found(finished(tmp_path, proposals))
    assert set(told) == {".agents/proposals/1.md", ".agents/proposals/2.md"}
    assert set.union(*told.values()) == {("GK311", "the file is larger than 256 KiB")}


def test_a_large_task_is_unreadable(tmp_path: Path) -> None:
    edits = [{"finish": TASK}, {"append": {DONE: "x" * header.MAX_DOCUMENT}}]
    sample = play({"edits": edits, "claims": [{"live": {"task": TASK}}]}, tmp_path)
    assert ("GK201", "the file is larger than 256 KiB") in found(sample)[DONE]


@pytest.mark.parametrize("bound", ["MAX_BROUGHT", "MAX_WEIGHT"])
def test_what_goes_beyond_what_is_read_is_unreadable(
    bound: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    each = {"MAX_BROUGHT": len(text(0)), "MAX_WEIGHT": header.weight(text(0).encode())}[bound]
    monkeypatch.setattr(reader, bound, 3 * each)
    sample = play({"edits": [{"write": {task_file(at): text(at) for at in range(5)}}]}, tmp_path)
    assert found(sample, *PLANNED) == {task_file(at): {("GK201", TOO_MUCH)} for at in (3, 4)}
    monkeypatch.setattr(reader, bound, 5 * each)
    assert found(sample, *PLANNED) == {}


def test_what_base_holds_may_be_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "MAX_WEIGHT", 0)
    base = [{"write": {task_file(at): text(at) for at in range(5)}}]
    sample = play({"base": base, "edits": [{"delete": [task_file(at) for at in range(5)]}]}, tmp_path)
    assert {code for told in found(sample, *PLANNED).values() for code, _ in told} == {"GK226"}


def test_decisions_beyond_what_is_read_name_no_alternatives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = "# D\n\n## Alternatives\n\nNone was better.\n"
    monkeypatch.setattr(reader, "MAX_WEIGHT", 100)
    edits = [{"write": {f".agents/decisions/{at}.md": record for at in range(5)}}]
    told = found(play({"edits": edits}, tmp_path), *PLANNED)
    assert {code for findings in told.values() for code, _ in findings} == {"GK321"}
    assert set(told) == {f".agents/decisions/{at}.md" for at in (1, 2, 3, 4)}


@pytest.mark.parametrize("lane", ["implementation", "planning"])
def test_long_headers_by_the_dozen_take_no_time(lane: str, tmp_path: Path) -> None:
    files = {task_file(at): text(at, "a," * 32_000) for at in range(40)}
    sample = (
        finished(tmp_path, files)
        if lane == "implementation"
        else play({"edits": [{"write": files}]}, tmp_path)
    )
    start = time.process_time()
    done = sample.check(*PLANNED)
    assert time.process_time() - start < 15  # about two seconds are usual; without a bound ten
    assert done.verdict == "fail"


def test_long_decisions_take_no_time(tmp_path: Path) -> None:
    table = "|a" * 900 + "|\n" + "|-" * 900 + "|\n" + "x\n" * 60 + "\n"
    edits = [{"write": {f".agents/decisions/{at}.md": table * 3 + str(at) for at in range(40)}}]
    sample = play({"edits": edits}, tmp_path)
    start = time.process_time()
    assert sample.check(*PLANNED).verdict == "fail"
    assert time.process_time() - start < 15


@pytest.mark.skipif(sys.platform != "linux", reason="asks Linux how much room a process took")
def test_large_files_by_the_dozen_take_no_room(tmp_path: Path) -> None:
    files = {f".agents/proposals/{at}.md": PROPOSAL + f"{at} " + "x" * 200_000 for at in range(600)}
    sample = finished(tmp_path, files)
    code = (
        "import re, sys\nfrom gatekeeper.cli import run\nrun(sys.argv[1:])\n"
        "print(re.search(r'VmHWM:\\s+([0-9]+) kB', open('/proc/self/status').read())[1], file=sys.stderr)\n"
    )
    command = [sys.executable, "-c", code, "--repo", str(sample.path), *sample.check_args()]
    done = subprocess.run(command, env=sample.env, capture_output=True, text=True, check=True)
    assert TOO_MUCH in done.stdout
    assert int(done.stderr.split()[-1]) < 100_000  # KiB; all of it is 120 MB
