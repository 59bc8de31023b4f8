"""`gatekeeper lint` at the command line: paths, formats, terminals, and what `--fix` mends and leaves alone."""

from __future__ import annotations

import io
import json
import os
import pty
import re
import subprocess
import sys
from contextlib import redirect_stderr
from typing import TYPE_CHECKING, Any

import pytest
from jsonschema import Draft202012Validator

from builders import NOW, Sample, play
from gatekeeper import schemas
from gatekeeper.cli.lint import _bar, _watched

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from running import Ran

QUEUED = ".agents/tasks/queued"
A, B, F = (f"{QUEUED}/T-20260301-0000000{letter}.md" for letter in "abf")
BLOCKED = ".agents/tasks/blocked/T-20260301-00000010.md"
NAME = A.rpartition("/")[2]
DEAD = "[x](/docs/none.md)\n"
ANSI = re.compile(rb"\x1b\[")


@pytest.fixture
def sample(tmp_path: Path) -> Sample:
    return play({}, tmp_path)


def lint(sample: Sample, *args: str) -> Ran:
    return sample.call("--now", NOW, "lint", *args)


def paths(done: Ran, code: str) -> set[str]:
    return {f["path"] for f in done.report["findings"] if f["code"] == code}


# -- which paths -----------------------------------------------------------------------------------


def test_findings_are_narrowed_to_paths(sample: Sample) -> None:
    for path in (A, B, BLOCKED):
        sample.append(path, DEAD)
    assert paths(sample.lint(), "GK241") == {A, B, BLOCKED}
    assert paths(sample.lint(A), "GK241") == {A}
    assert paths(sample.lint(QUEUED, BLOCKED), "GK241") == {A, B, BLOCKED}
    assert paths(sample.lint(f"{QUEUED}/"), "GK241") == {A, B}
    assert paths(sample.lint("."), "GK241") == {A, B, BLOCKED}
    assert paths(sample.lint(str(sample.path / A)), "GK241") == {A}
    done = sample.lint("docs")
    assert (done.status, done.report["findings"]) == (0, [])
    assert sample.lint(".agents/tasks/que").status == 2, "no beginning of a name is a folder"


def test_paths_are_meant_from_where_one_stands(sample: Sample) -> None:
    for path in (A, B):
        sample.append(path, DEAD)
    for where, given, found in (
        (QUEUED, [NAME], {A}),
        (QUEUED, ["."], {A, B}),
        (QUEUED, [], {A, B}),
        ("docs", ["../" + A], {A}),
        ("docs", [".."], {A, B}),
        ("docs", ["."], set()),
    ):
        done = sample.run("--now", NOW, "--repo", where, "lint", "--format", "json", *given)
        assert paths(done, "GK241") == found, (where, given)


def test_a_link_on_the_way_is_followed(sample: Sample) -> None:
    sample.append(A, DEAD)
    (sample.root / "way").symlink_to(sample.path)
    assert paths(sample.lint(str(sample.root / "way" / A)), "GK241") == {A}
    sample.symlink("way", QUEUED)
    assert paths(sample.lint("way/" + NAME), "GK241") == {A}


@pytest.mark.parametrize(
    "path", ["none", "docs/none.md", "README.md/x", "..", "/etc/passwd", "docs/\udcff", "\x1b[31m"]
)
def test_a_path_that_is_not_there_does_not_pass(sample: Sample, path: str) -> None:
    for more in ([], ["--links-only"], ["--tree", "HEAD"]):
        done = lint(sample, path, *more)
        assert done.status == 2
        assert "\x1b" not in done.err
        assert "\udcff" not in done.err


def test_an_empty_folder_of_a_state_is_there(sample: Sample) -> None:
    sample.git("rm", "-r", "--quiet", ".agents/tasks/failed")
    assert sample.lint(".agents/tasks/failed").status == 0
    assert sample.lint("--tree", "HEAD", ".agents/tasks/failed").status == 0
    assert sample.lint(".agents/tasks/active").status == 2


def test_links_of_any_markdown(sample: Sample) -> None:
    sample.write("docs/index.md", "[a](search.md) [b](none.md)\n\n`src/example.py` [c](#none)\n")
    sample.write("docs/deep/x.markdown", DEAD)
    sample.write("docs/notes.txt", DEAD)
    sample.write("docs/\x07.md", DEAD)
    done = sample.lint("--links-only", "docs", "README.md")
    assert paths(done, "GK241") == {"docs/index.md", "docs/deep/x.markdown", "docs/\x07.md"}
    assert paths(done, "GK242") == {"docs/index.md"}
    assert done.codes == {"GK241", "GK242"}
    assert [f["line"] for f in done.report["findings"] if f["path"] == "docs/index.md"] == [1, 3]
    assert sample.lint("--links-only", "docs/notes.txt").status == 0
    assert sample.lint("--links-only", "docs/search.md").status == 0
    assert sample.lint("--links-only").report["findings"] == [], (
        "of the board's tasks alone, where no path is named"
    )
    assert paths(sample.lint("--links-only", "."), "GK241") == paths(done, "GK241")


def test_links_alone_are_looked_at(sample: Sample) -> None:
    sample.replace(A, ["classification: feature", "classification: chore"])
    sample.append(A, DEAD)
    assert sample.lint("--links-only").codes == {"GK241"}
    assert sample.lint("--links-only", A).codes == {"GK241"}
    sample.replace(A, [DEAD, "`src/none.py`\n"])
    assert sample.lint("--links-only", A).codes == {"GK241"}, "in a task it reads as a path"
    sample.write(".agents/tasks/done/broken.md", DEAD)
    assert paths(sample.lint("--links-only", ".agents/tasks/done"), "GK241") == {
        ".agents/tasks/done/broken.md"
    }


@pytest.mark.parametrize(
    "args",
    [
        ["--tree", "none"],
        ["--base", "none"],
        ["--tree", ""],
        ["--base", "HEAD:README.md"],
        ["--tree", "--help"],
    ],
)
def test_a_commit_that_is_none(sample: Sample, args: list[str]) -> None:
    done = lint(sample, *args)
    assert done.status == 2
    assert args[0] in done.err or args[1] == "--help"


def test_outside_of_a_repository(tmp_path: Path, sample: Sample) -> None:
    sample.path = tmp_path
    assert lint(sample).status == 2
    sample.path = tmp_path / "repo" / ".git"
    assert lint(sample).status == 2


def test_a_policy_that_can_not_be_read(sample: Sample) -> None:
    sample.write(".github/gatekeeper.yml", "layout: nowhere\n")
    done = lint(sample)
    assert done.status == 2
    assert "GK001" in done.err
    assert sample.lint("--tree", "HEAD").status == 0, "the policy is that of the tree"


def test_fix_and_a_commit_exclude_each_other(sample: Sample) -> None:
    assert lint(sample, "--fix", "--tree", "HEAD").status == 2


# -- what is said ----------------------------------------------------------------------------------


def test_the_text_says_what_where_and_what_to_do(sample: Sample) -> None:
    sample.append(A, DEAD)
    done = lint(sample)
    assert done.status == 1
    assert done.out.startswith("fail: the board does not hold (1 error, 1 warning)\n")
    assert f"error GK241 link-missing\n  {A}:" in done.out
    assert "(create)" in done.out
    assert "\x1b" not in done.out
    assert done.err == ""


def test_quiet_speaks_only_of_errors(sample: Sample) -> None:
    assert lint(sample).out.startswith("pass: the board holds (1 warning)")
    for form in ("text", "json", "sarif", "github", "markdown"):
        assert lint(sample, "--quiet", "--format", form).out == ""
    sample.append(A, DEAD)
    done = lint(sample, "--quiet")
    assert "GK241" in done.out
    report = sample.root / "report.json"
    lint(sample, "--quiet", "--format", "json", "--output", str(report))
    assert json.loads(report.read_text())["verdict"] == "fail"
    assert lint(sample, "--quiet", "none").status == 2
    assert lint(sample, "--quiet", "none").err


def test_every_format_holds_a_hostile_board(sample: Sample) -> None:
    sample.write(".agents/tasks/\x1b[31m\n::error::x\u202e", "x\n")
    odd = sample.path / os.fsdecode(b".agents/tasks/queued/T-20260301-000000aa-\xff##[.md")
    header = 'id: "\\e[31m"\nstatus: queued\n"::warning::x": "\\n##[error]"\n'
    odd.write_text(f"---\n{header}---\n[x](</\x1b[31m\u202e>)\n", encoding="utf-8")
    sample.append(A, "[x](/docs/search.md#\x1b[0m) `src/\x07.py`\n")
    for form in ("text", "json", "sarif", "github", "markdown"):
        done = lint(sample, "--format", form)
        assert done.status == 1
        for line in (done.out + done.err).split("\n"):
            assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e]|##\[", line), line
            assert not re.match(r"\s*::", line) or form == "github"
    report = lint(sample, "--format", "json").report
    Draft202012Validator(json.loads(schemas.files()["report.schema.json"])).validate(report)
    assert {f["path"] for f in report["findings"]} >= {".agents/tasks/queued/T-20260301-000000aa-\\xff##[.md"}
    sarif = json.loads(lint(sample, "--format", "sarif").out)
    assert {result["ruleId"] for result in sarif["runs"][0]["results"]} >= {"GK201", "GK212", "GK241"} - {
        "GK201"
    }


def test_an_error_comes_in_every_format_too(sample: Sample) -> None:
    for form in ("json", "sarif", "github", "markdown"):
        done = lint(sample, "none", "--format", form)
        assert done.status == 2
        assert "GK005" in done.out
    assert lint(sample, "none").out == ""


def test_a_report_that_can_not_be_written(sample: Sample) -> None:
    done = lint(sample, "--output", str(sample.root / "none" / "report.txt"))
    assert done.status == 2
    assert "could not be written" in done.err


# -- terminals -------------------------------------------------------------------------------------


def on_terminal(sample: Sample, *args: str, env: Mapping[str, str] | None = None) -> bytes:
    """What the command writes where all three streams are a terminal."""
    ours, theirs = pty.openpty()
    environ = {k: v for k, v in sample.env.items() if k != "NO_COLOR"} | {"TERM": "xterm"} | dict(env or {})
    command = [sys.executable, "-m", "gatekeeper", "--now", NOW, "lint", *args]
    with subprocess.Popen(command, cwd=sample.path, env=environ, stdin=theirs, stdout=theirs, stderr=theirs):
        os.close(theirs)
        said = b"".join(iter(lambda: _read(ours), b""))
    os.close(ours)
    return said


def _read(fd: int) -> bytes:
    try:
        return os.read(fd, 65536)
    except OSError:  # Linux says so where the other side has gone
        return b""


def test_colours_are_for_terminals_that_want_them(sample: Sample) -> None:
    sample.append(A, DEAD)
    said = on_terminal(sample)
    assert b"\x1b[31m" in said
    assert b"GK241" in said
    assert b"\x1b[?25l" not in said, "no bar for a board that is read at once"
    for env in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        assert not ANSI.search(on_terminal(sample, env=env))
    assert not ANSI.search(on_terminal(sample, "--format", "json"))
    piped = sample.run("--now", NOW, "lint")
    assert "\x1b" not in piped.out + piped.err


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_a_bar_is_shown_where_it_takes_more_than_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter(range(1000))
    monkeypatch.setattr("gatekeeper.cli.lint.time.monotonic", lambda: next(now) / 4)
    with redirect_stderr(Terminal()) as screen:
        assert list(_watched(range(20), "counting")) == list(range(20))
    assert "counting" in screen.getvalue()
    assert "100%" in screen.getvalue()


def test_no_bar_is_shown_where_it_is_soon_done_or_nobody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    with redirect_stderr(Terminal()) as screen:
        assert list(_watched(range(20), "counting")) == list(range(20))
    assert screen.getvalue() == ""
    monkeypatch.setattr("gatekeeper.cli.lint.SOON", -1.0)
    with redirect_stderr(io.StringIO()) as pipe:
        assert list(_watched(range(20), "counting")) == list(range(20))
    assert pipe.getvalue() == ""
    with redirect_stderr(Terminal()):
        assert list(_bar([], "nothing")) == []


# -- mending ---------------------------------------------------------------------------------------

FILE = """\
---
# a comment
id: T-20260301-000000aa   # the id
"status": queued
title: 'A: title'
classification: feature
lock: [schema]  # what it holds
created: "2026-03-02"
authority:
  paths: [docs/Search.md]
---
# Title

See [it](/docs/Search.md#by-author) and `src/Orders/cart.py`.

## Acceptance
```
docs/Search.md
```
"""
NEW = f"{QUEUED}/T-20260301-000000aa.md"
MENDED = (
    FILE.replace("lock:", "locks:")
    .replace('created: "2026-03-02"', "created: 2026-03-01")
    .replace("(/docs/Search.md", "(/docs/search.md")
    .replace("src/Orders", "src/orders")
)


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_what_has_one_right_answer_is_mended_and_not_one_byte_more(
    sample: Sample, ends: str, mark: str
) -> None:
    sample.write(NEW, mark + FILE.replace("\n", ends))
    done = sample.lint("--fix")
    assert done.status == 0, done.out
    assert (sample.path / NEW).read_bytes() == (mark + MENDED.replace("\n", ends)).encode()
    assert [line.rpartition(f"{NEW}: ")[2] for line in done.err.splitlines()] == [
        "`lock` is `locks` now",
        "`created` is 2026-03-01 now, the id's day",
        "line 14: '/docs/Search.md' is '/docs/search.md' now",
        "line 14: 'src/Orders/cart.py' is 'src/orders/cart.py' now",
    ]
    again = sample.lint("--fix")
    assert (again.err, (sample.path / NEW).read_bytes()) == ("", (mark + MENDED.replace("\n", ends)).encode())
    assert done.codes <= {"GK253", "GK254"}


def test_a_misspelt_field_and_what_it_says_are_mended_in_one_go(sample: Sample) -> None:
    sample.write(NEW, FILE.replace("lock:", "locks:").replace("created:", "creatd:"))
    assert sample.lint("--fix").status == 0
    assert (sample.path / NEW).read_text() == MENDED


def header(**fields: str) -> str:
    """A task's file with these fields beside or in place of its own."""
    own = {
        "id": "T-20260301-000000aa",
        "status": "queued",
        "title": "A",
        "classification": "feature",
        "authority": "{paths: [src/search/none]}",
    } | fields
    return "---\n" + "".join(f"{k}: {v}\n" for k, v in own.items() if v) + "---\n# A\n\n## Acceptance\nx\n"


KEPT = {
    "two names for one field": header(lock="[a]", lcks="[b]"),
    "a name for a field that is there": header(locks="[a]", lock="[b]"),
    "a value that the field can't have": header(lock="schema", prioritty="high"),
    "a field that nobody knows": header(colour="red"),
    "an empty value": header(lock=""),
    "the authority": header(authority="", authorty="{paths: [src/search/none]}"),
    "the authority's own keys": header(authority="{paths: [src/search/none], forbidd: [x]}"),
    "the authority's case": header(authority="{paths: [src/Search/index.py]}"),
    "folder and header": header(status="done"),
    "a day where the id is another than the file's": header(id="T-20260302-000000aa", created="2026-03-01"),
    "a day of an id that is no day": header(id="T-20260230-000000aa", created="2026-03-01"),
    "a day of an id that is to come": header(id="T-20260311-000000aa", created="2026-03-01"),
    "a day that is none": header(created="yesterday"),
    "a quoted name": header(**{'"lock"': "[a]"}),
    "a header that can't be read": header(lock="[a]").replace("title: A", "title: &a A"),
    "a label that reads the same": header() + "[/docs/Search.md](/docs/Search.md)\n",
    "two files that differ in case": header() + "`docs/TWO.md`\n",
    "a link that goes on behind its line": header() + "`docs/Search.md` (new) [a\nb](/docs/Search.md)\n",
    "a link that is spelt oddly": header() + "[a](/docs/%53earch.md) [b](/docs/giude.md)\n",
    "what is to be made": header() + "`docs/Search.md` (create)\n",
}


@pytest.mark.parametrize("name", KEPT)
def test_what_has_no_one_right_answer_stays(sample: Sample, name: str) -> None:
    sample.write("docs/two.md", "x\n")
    sample.write("docs/Two.md", "x\n")
    data = KEPT[name].encode()
    path = NEW.replace("20260301", "20260311") if "to come" in name else NEW
    sample.write(path, data.decode())
    done = sample.lint("--fix")
    assert (sample.path / path).read_bytes() == data
    assert done.err == ""


def test_a_line_end_that_is_none_of_a_files_moves_nothing(sample: Sample) -> None:
    data = header() + "\r`docs/Search.md`\r\n```\n\r`docs/Search.md`\n```\n"
    sample.write(NEW, data)
    assert sample.lint("--fix").status == 0
    assert (sample.path / NEW).read_bytes() == data.replace("Search.md", "search.md", 1).encode()


def test_each_of_several_on_a_line_is_mended(sample: Sample) -> None:
    sample.append(
        A,
        "[a](/docs/Search.md) [b](../../../docs/Search.md) [`docs/Search.md`](/README.MD) [docs/X](/docs/X)\n",
    )
    sample.write("docs/x", "x\n")
    assert sample.lint("--fix").status == 0
    last = (sample.path / A).read_text().splitlines()[-1]
    assert (
        last
        == "[a](/docs/search.md) [b](../../../docs/search.md) [`docs/search.md`](/README.md) [docs/X](/docs/x)"
    )


def test_only_open_tasks_at_the_paths_are_mended(sample: Sample) -> None:
    done = ".agents/tasks/done/T-20260301-0000000d.md"
    for path in (A, B, done):
        sample.replace(path, ["title:", "lck: [x]\ntitle:"] if path != B else ["locks:", "lock:"])
        sample.append(path, "`docs/Search.md`\n")
    before = {path: (sample.path / path).read_bytes() for path in (A, B, done)}
    sample.lint("--fix", B)
    after = {path: (sample.path / path).read_bytes() for path in (A, B, done)}
    assert {path for path in before if before[path] != after[path]} == {B}
    sample.lint("--fix")
    assert (sample.path / done).read_bytes() == before[done]
    assert b"docs/search.md" in (sample.path / A).read_bytes()


def test_mending_links_leaves_headers_alone(sample: Sample) -> None:
    sample.replace(B, ["locks:", "lock:"])
    sample.append(B, "`docs/Search.md`\n")
    sample.write("docs/index.md", "---\nlock: [x]\n---\n[a](Search.md) [b](/docs/Search.md)\n")
    sample.lint("--fix", "--links-only")
    assert b"lock:" in (sample.path / B).read_bytes()
    assert b"`docs/search.md`" in (sample.path / B).read_bytes()
    sample.lint("--fix", "--links-only", "docs", "docs/index.md", "docs")
    assert (
        sample.path / "docs/index.md"
    ).read_text() == "---\nlock: [x]\n---\n[a](search.md) [b](/docs/search.md)\n"


def test_what_is_not_on_disk_or_is_a_link_is_not_mended(sample: Sample) -> None:
    sample.append(A, "`docs/Search.md`\n")
    sample.commit("dead")
    sample.git("sparse-checkout", "set", "--cone", "docs")
    done = sample.lint("--fix")
    assert (done.status, done.err) == (1, "")
    sample.git("sparse-checkout", "disable")
    sample.symlink(B, "../../../README.md")
    done = sample.lint("--fix")
    assert paths(done, "GK201") == {B}
    assert b"docs/search.md" in (sample.path / A).read_bytes()


def test_a_mended_file_keeps_its_mode_and_stays_unstaged(sample: Sample) -> None:
    sample.append(A, "`docs/Search.md`\n")
    sample.chmod(A, "755")
    sample.git("add", A)
    sample.lint("--fix")
    assert (sample.path / A).stat().st_mode & 0o777 == 0o755
    assert sample.git("status", "--porcelain").split() == ["MM", A]


def test_fixing_says_so_in_any_format_and_never_raw(sample: Sample) -> None:
    name = f"{QUEUED}/T-20260301-000000aa-\x1b[31m.md"
    sample.write(name, FILE)
    done = lint(sample, "--fix", "--format", "json")
    assert done.report["verdict"] == "pass"
    assert "\x1b" not in done.err
    assert "\\x1b[31m" in done.err


def test_help_tells_of_every_option(sample: Sample) -> None:
    said = lint(sample, "--help").out
    for word in ("--tree", "--base", "--links-only", "--fix", "--quiet", "--format", "--output", "Exit"):
        assert word in said


def keys(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from keys(inner)


def test_the_report_has_what_the_contract_names(sample: Sample) -> None:
    report = sample.lint().report
    assert list(report) == ["version", "command", "verdict", "findings"]
    assert report["command"] == "lint"
    assert set(keys(report["findings"][0])) == {"code", "name", "severity", "message", "path", "line", "help"}
