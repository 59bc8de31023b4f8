"""The command line at its edges: wrong calls, outputs that take nothing, folders that are gone."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from builders import Ran, Sample, play
from running import as_process, in_process

HONEST = {
    "edits": [{"finish": "T-20260301-0000000a"}, {"append": {"src/orders/cart.py": "x = 1\n"}}],
    "claims": [{"live": {"task": "T-20260301-0000000a"}}],
}
FULL = Path("/dev/full")
needs_full = pytest.mark.skipif(not FULL.exists(), reason="this system has no /dev/full")


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Sample:
    """A branch that passes."""
    return play(HONEST, tmp_path_factory.mktemp("honest"))


def shell(sample: Sample, line: str) -> Ran:
    """Run a line of shell in which `gatekeeper` is the command, in the repository."""
    script = f'gatekeeper() {{ {shlex.quote(sys.executable)} -m gatekeeper "$@"; }}\n{line}'
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=sample.path,
        env=sample.env,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
    return Ran(done.returncode, done.stdout, done.stderr)


def complaint(done: Ran) -> str:
    """The one error that a command ended with: a line of what is wrong and one of what to do."""
    assert done.status == 2
    said, hint = done.err.splitlines()
    assert said.startswith("gatekeeper: error: ")
    assert "a fault of gatekeeper's own" not in said
    assert hint.startswith("  ")
    return said


@pytest.mark.parametrize("form", ["text", "json", "sarif"])
def test_a_report_that_no_folder_holds(honest: Sample, form: str) -> None:
    target = honest.root / "gone" / "report"
    done = honest.call(*honest.check_args("--format", form, "--output", str(target)))
    assert complaint(done).endswith(f"could not be written to '{target}': No such file or directory")
    assert done.out == ""


@needs_full
def test_a_report_on_a_full_disk(honest: Sample) -> None:
    done = honest.call(*honest.check_args("--output", str(FULL)))
    assert complaint(done).endswith("could not be written to '/dev/full': No space left on device")


def test_a_report_that_can_be_written(honest: Sample) -> None:
    target = honest.root / "report.json"
    done = honest.call(*honest.check_args("--output", str(target)))
    assert (done.status, done.out) == (0, "")
    assert '"verdict": "pass"' in target.read_text()


@needs_full
@pytest.mark.parametrize("args", ["CHECK", "CHECK --format text", "rule GK141", "--help", "--version"])
def test_an_output_that_takes_nothing(honest: Sample, args: str) -> None:
    line = args.replace("CHECK", shlex.join(honest.check_args()))
    said = complaint(shell(honest, f"gatekeeper {line} >/dev/full"))
    assert said.endswith("the output could not be written: No space left on device")


@needs_full
def test_an_error_that_nobody_takes_is_still_none_that_passes(honest: Sample) -> None:
    for line in (
        "gatekeeper check --nope",
        "gatekeeper --repo /nowhere check",
        "gatekeeper rule GK141 >/dev/full",
    ):
        assert shell(honest, f"{{ {line}; }} 2>/dev/full") == Ran(2, "", "")


def test_a_reader_who_has_gone_ends_it_quietly(honest: Sample) -> None:
    done = shell(honest, "{ sleep 0.2; gatekeeper rule GK141; echo $? >&3; } 3>&2 | true")
    assert (done.out, done.err) == ("", "2\n")


def test_closed_streams_are_no_fault(honest: Sample) -> None:
    assert shell(honest, "gatekeeper rule GK141 >&-").status in (0, 2)
    assert shell(honest, "gatekeeper check --nope 2>&-") == Ran(2, "", "")


HOSTILE = [
    ["check", "--nope=##[error]x"],
    ["check", "--no##[error]x"],
    ["check", "##[error]x"],
    ["check", "--format", "##[error]x\n::error::y"],
    ["--now", "x\n::stop-commands::y ##[group]", "check"],
    ["##[error]x"],
    ["\n::error::x\x1b[31m\u202e"],
    ["check", "--output", "/", "##[error]\r\n::error::x"],
    ["rule", "GK141", "\n::warning file=a::b"],
    ["--repo"],
    ["-\n::error::"],
]


@pytest.mark.parametrize("args", HOSTILE)
def test_a_wrong_call_is_told_without_commands_for_the_runner(args: list[str]) -> None:
    done = in_process(args, dict(os.environ))
    assert (done.status, done.out) == (2, "")
    assert "##[" not in done.err
    assert not re.search(r"^\s*::", done.err, re.MULTILINE)
    assert done.err.replace("\n", "").isprintable()
    *_, last = done.err.splitlines()
    assert last.startswith("Error: ")


def test_a_wrong_call_is_told_as_click_tells_it() -> None:
    done = in_process(["check", "--format", "xml"], dict(os.environ))
    usage, hint, blank, error = done.err.splitlines()
    assert usage == "Usage: gatekeeper check [OPTIONS]"
    assert hint.startswith("Try 'gatekeeper check ")
    assert blank == ""
    assert error.startswith("Error: Invalid value for '--format': 'xml' is not one of 'text', 'json'")


def test_a_folder_that_was_deleted_under_our_feet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    said = complaint(in_process(["check"], dict(os.environ)))
    assert "the current folder is gone" in said


@pytest.mark.parametrize("place", ["nowhere", "file", "empty", "no\nsuch\x1b[31m##[error]"])
def test_a_folder_that_is_no_repository(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "empty").mkdir()
    environ = {"PATH": os.environ["PATH"], "GIT_CEILING_DIRECTORIES": str(tmp_path)}
    done = as_process(["--repo", str(tmp_path / place), "check"], environ, tmp_path)
    assert complaint(done).endswith("[GK005 repository-unreadable]")
    assert "##[" not in done.err


def test_what_the_system_refuses_is_told_in_a_line(honest: Sample) -> None:
    done = honest.run(*honest.check_args(), env={"TMPDIR": "/nowhere"})
    assert complaint(done).startswith("gatekeeper: error: '/nowhere/")
