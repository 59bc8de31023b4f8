"""`done`, `fail`, `block`, `cancel` in real working trees: what moves, what is refused, what a crash leaves."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from datetime import date
from typing import TYPE_CHECKING

import pytest

from builders import Ran, Sample, play
from gatekeeper.model import State
from gatekeeper.taskfile import parse_task
from running import in_process

if TYPE_CHECKING:
    from pathlib import Path

A, BLOCKED, DONE = "T-20260301-0000000a", "T-20260301-00000010", "T-20260301-0000000d"
BOARD = ".agents/tasks"
QUEUED_A = f"{BOARD}/queued/{A}.md"


@pytest.fixture
def sample(tmp_path: Path) -> Sample:
    return play({}, tmp_path)


def staged(sample: Sample) -> list[str]:
    return sample.git("diff", "--cached", "--name-status", "--no-renames").splitlines()


def untouched(sample: Sample) -> bool:
    return not sample.git("status", "--porcelain")


def refused(done: Ran, *words: str) -> None:
    assert (done.status, done.out) == (1, ""), done
    assert all(word in done.err for word in words), done.err
    assert done.err.count("\n") == 2, "what is wrong, and the next step"


MOVES = [
    (["done", A], "done", {}),
    (["fail", A, "--failure", "spec-gap"], "failed", {"failure": "spec-gap"}),
    (["block", A, "--reason", "waits: for #12"], "blocked", {"reason": "waits: for #12"}),
    (["cancel", A, "--reason", "it's over"], "cancelled", {"reason": "it's over"}),
    (["cancel", BLOCKED, "--reason", "no answer"], "cancelled", {"reason": "no answer"}),
]


@pytest.mark.parametrize(("args", "state", "why"), MOVES, ids=lambda value: str(value)[:24])
def test_file_and_header_move_together_and_are_staged(
    sample: Sample, args: list[str], state: str, why: dict[str, str]
) -> None:
    task = args[1]
    (old,) = (sample.path / BOARD).glob(f"*/{task}.md")
    source = old.parent.name
    sample.write("unrelated.txt", "x")
    done = sample.call(*args, "--format", "json")
    assert (done.status, done.err) == (0, "")
    paths = {"from": f"{BOARD}/{source}/{task}.md", "to": f"{BOARD}/{state}/{task}.md"}
    assert done.report == {"version": 1, "command": args[0], "task": task, **paths}
    assert staged(sample) == sorted([f"A\t{paths['to']}", f"D\t{paths['from']}"], key=lambda row: row[2:])
    assert not sample.git("diff", "--name-only"), "nothing is left to stage"
    new = (sample.path / paths["to"]).read_bytes()
    read = parse_task(
        paths["to"].encode(),
        new,
        state=state,
        classifications=("feature", "process"),
        today=date(2026, 3, 10),
    )
    assert not read.defects
    assert {name: getattr(read, name) for name in why} == why
    assert len(list((sample.path / BOARD / state).iterdir())) == len(
        sample.git("ls-files", f"{BOARD}/{state}").splitlines()
    ), "no temporary file stays"


def test_text_says_from_where_to_where(sample: Sample) -> None:
    assert sample.call("done", A).out == f"moved {A}: {QUEUED_A} -> {BOARD}/done/{A}.md, staged\n"


def test_a_finished_task_passes_the_gate(tmp_path: Path) -> None:
    sample = play({"claims": [{"live": {"task": A}}]}, tmp_path)
    sample.append("src/orders/cart.py", "x = 1\n")
    sample.append(QUEUED_A, "```\n3 passed\n```\n")
    assert sample.call("done", A).status == 0
    sample.commit()
    assert sample.check().verdict == "pass"


def test_permissions_a_slug_and_unstaged_words_go_with_the_file(sample: Sample) -> None:
    slug = f"{BOARD}/queued/{A}-refund.md"
    sample.move(QUEUED_A, slug)
    sample.chmod(slug, "755")
    sample.append(slug, "unstaged\n")
    assert sample.call("done", A).status == 0
    new = sample.path / BOARD / "done" / f"{A}-refund.md"
    assert new.stat().st_mode & 0o777 == 0o755
    assert "unstaged" in sample.git("show", f":{BOARD}/done/{A}-refund.md")
    assert sample.git("ls-files", "--stage", str(new)).startswith("100755")


def test_it_works_below_the_top_in_a_linked_worktree_and_from_elsewhere(
    sample: Sample, tmp_path: Path
) -> None:
    below = sample.path / "src" / "orders"
    assert in_process(["--repo", str(below), "done", A], sample.env).status == 0
    assert len(staged(sample)) == 2
    other = tmp_path / "other"
    sample.git("worktree", "add", "--quiet", "-b", "second", str(other), "main")
    assert in_process(["--repo", str(other / "src"), "block", A, "--reason", "later"], sample.env).status == 0
    assert (other / BOARD / "blocked" / f"{A}.md").exists()
    assert (
        "blocked"
        in subprocess.run(
            ["git", "status", "--porcelain"],
            cwd=other,
            env=sample.env,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    )
    elsewhere = {"GIT_DIR": str(sample.path / ".git"), "GIT_WORK_TREE": str(sample.path)}
    command = [sys.executable, "-m", "gatekeeper", "cancel", BLOCKED, "--reason", "later"]
    done = subprocess.run(
        command, cwd=tmp_path, env=sample.env | elsewhere, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert len(staged(sample)) == 4


def test_what_git_does_not_know_yet_moves_and_is_staged(sample: Sample) -> None:
    new = "T-20260302-00000001"
    sample.write(f"{BOARD}/queued/{new}.md", (sample.path / QUEUED_A).read_text().replace(A, new))
    sample.write(".gitignore", ".agents/\n")
    assert sample.call("done", new).status == 0
    assert staged(sample) == [f"A\t{BOARD}/done/{new}.md"]


def test_a_missing_folder_is_made(sample: Sample) -> None:
    shutil.rmtree(sample.path / BOARD / "done")
    assert sample.call("done", A).status == 0
    assert (sample.path / BOARD / "done" / f"{A}.md").exists()


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["done", "T-20260301-0000dead"], ["no task 'T-20260301-0000dead'"]),
        (["done", "../../README"], ["no task '../../README'"]),
        (["done", "T-20260301-0000000"], ["no task"]),
        (["done", "a\x1b[2J\nb"], ["'a\\x1b[2J\\nb'"]),
        (["done", DONE], [f"{DONE} is in done/ already"]),
        (["done", BLOCKED], ["takes a task from queued/", f"{BOARD}/blocked/{BLOCKED}.md"]),
        (["fail", DONE, "--failure", "spec-gap"], ["takes a task from queued/"]),
        (["block", BLOCKED, "--reason", "x"], ["is in blocked/ already"]),
        (["cancel", DONE, "--reason", "x"], ["takes a task from queued/ or blocked/"]),
    ],
)
def test_a_task_that_is_not_where_it_has_to_be_is_refused(
    sample: Sample, args: list[str], words: list[str]
) -> None:
    refused(sample.call(*args), *words)
    assert untouched(sample)


@pytest.mark.parametrize(
    "args",
    [
        ["fail", A],
        ["fail", A, "--failure", "bad-luck"],
        ["block", A],
        ["block", A, "--reason", " "],
        ["block", A, "--reason", "two\nlines"],
        ["cancel", A, "--reason", "a\x1b[31m"],
        ["cancel", A, "--reason", "\udcff"],
        ["done"],
        ["done", A, "--format", "xml"],
    ],
)
def test_a_wrong_option_is_a_usage_error(sample: Sample, args: list[str]) -> None:
    done = sample.call(*args)
    assert (done.status, done.out) == (2, "")
    assert "Error:" in done.err
    assert untouched(sample)


def test_an_id_in_two_files_is_refused_and_both_are_named(sample: Sample) -> None:
    sample.copy(QUEUED_A, f"{BOARD}/queued/{A}-again.md")
    refused(sample.call("done", A), "several files", f"{A}-again.md", QUEUED_A)
    sample.delete(f"{BOARD}/queued/{A}-again.md")
    sample.write(f"{BOARD}/done/{A}.md", "other words")
    refused(sample.call("done", A), "several files", f"{BOARD}/done/{A}.md")
    assert (sample.path / BOARD / "done" / f"{A}.md").read_text() == "other words"
    assert (sample.path / QUEUED_A).exists()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("no header", [f"{QUEUED_A}:1", "no front matter"]),
        (f"---\nid: {A}\nid: {A}\nstatus: queued\n---\n", [f"{QUEUED_A}:3", "stands twice"]),
        ("---\nid: T-20260301-0000000b\nstatus: queued\n---\n", ["says that its id is", "0000000b"]),
        (f"---\nid: {A}\n---\nstatus: queued\n", ["no `status` field"]),
        (f"---\nid: {A}\nstatus: queued\n---\n" + "x" * (1 << 20), ["larger than 256 KiB"]),
        ({"hex": "ff00"}, ["not UTF-8"]),
    ],
)
def test_a_file_that_can_not_be_read_or_edited_stays_as_it_is(
    sample: Sample, text: str, words: list[str]
) -> None:
    sample.write(QUEUED_A, text)
    before = (sample.path / QUEUED_A).read_bytes()
    refused(sample.call("done", A), *words)
    assert (sample.path / QUEUED_A).read_bytes() == before
    assert staged(sample) == []


def test_no_link_is_followed(sample: Sample, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (sample.path / QUEUED_A).rename(outside / "a.md")
    sample.symlink(QUEUED_A, str(outside / "a.md"))
    refused(sample.call("done", A), "no regular file")
    shutil.rmtree(sample.path / BOARD / "cancelled")
    (sample.path / BOARD / "cancelled").symlink_to(outside)
    refused(sample.call("cancel", BLOCKED, "--reason", "x"), "cancelled", "is a symlink")
    (sample.path / ".agents").rename(outside / "agents")
    (sample.path / ".agents").symlink_to(outside / "agents")
    refused(sample.call("done", A), ".agents on the way to", "is a symlink")
    assert sorted(path.name for path in outside.iterdir()) == ["a.md", "agents"]


def test_a_pipe_is_no_task_and_keeps_nobody_waiting(sample: Sample) -> None:
    (sample.path / QUEUED_A).unlink()
    os.mkfifo(sample.path / QUEUED_A)
    refused(sample.call("done", A), "no regular file")


def test_where_git_can_not_stage_the_file_has_moved_and_that_is_said(sample: Sample) -> None:
    lock = sample.path / ".git" / "index.lock"
    lock.touch()
    done = sample.call("done", A)
    assert done.status == 2
    assert "written, but git could not stage" in done.err
    assert f"git add -A {BOARD}" in done.err
    assert "index.lock': File exists" in done.err, "git's first words, not its last"
    assert (sample.path / BOARD / "done" / f"{A}.md").exists()
    assert not (sample.path / QUEUED_A).exists()
    assert sample.call("done", A).status == 2, "it is no more done than before"
    lock.unlink()
    again = sample.call("done", A)
    assert again.status == 0, again.err
    assert "broken off is finished" in again.out
    assert staged(sample) == [f"A\t{BOARD}/done/{A}.md", f"D\t{QUEUED_A}"]
    refused(sample.call("done", A), "is in done/ already")


@pytest.mark.parametrize(("words", "status"), [("spec-gap", 0), ("invalid-premise", 1)])
def test_only_the_same_move_is_finished(sample: Sample, words: str, status: int) -> None:
    sample.call("fail", A, "--failure", "spec-gap")
    sample.git("reset", "--quiet")
    again = sample.call("fail", A, "--failure", words)
    assert again.status == status, again.err
    assert len(staged(sample)) == (0 if status else 2)


def test_a_move_of_an_unknown_file_is_finished_as_well(sample: Sample) -> None:
    new = "T-20260302-00000001"
    sample.write(f"{BOARD}/blocked/{new}.md", (sample.path / QUEUED_A).read_text().replace(A, new))
    assert sample.call("cancel", new, "--reason", "x").status == 0
    sample.git("reset", "--quiet")
    assert sample.call("cancel", new, "--reason", "x").status == 0
    assert staged(sample) == [f"A\t{BOARD}/cancelled/{new}.md"]


def conflict(sample: Sample, *theirs: dict[str, object]) -> None:
    """Merge a branch that made other edits than this one."""
    sample.commit("ours")
    sample.git("switch", "--quiet", "-c", "theirs", sample.fork)
    for edit in theirs:
        sample.edit(edit)
    sample.commit("theirs")
    sample.git("switch", "--quiet", sample.branch)
    with pytest.raises(AssertionError, match="merge"):
        sample.git("merge", "--quiet", "theirs")


def test_a_file_in_conflict_is_not_staged_as_if_it_were_whole(sample: Sample) -> None:
    sample.append(QUEUED_A, "our words\n")
    conflict(sample, {"append": {QUEUED_A: "their words\n"}})
    before = (sample.path / QUEUED_A).read_bytes()
    refused(sample.call("done", A), "merge conflict", QUEUED_A, "is not resolved", "git add")
    assert (sample.path / QUEUED_A).read_bytes() == before
    assert sample.git("status", "--porcelain").startswith("UU ")
    sample.git("checkout", "--quiet", "--ours", QUEUED_A)
    sample.git("add", QUEUED_A)
    assert sample.call("done", A).status == 0


def test_a_moved_file_in_conflict_is_not_staged_either(sample: Sample) -> None:
    sample.append(QUEUED_A, "our words\n")
    sample.finish(A)
    conflict(sample, {"append": {QUEUED_A: "their words\n"}})
    assert (sample.path / BOARD / "done" / f"{A}.md").exists()
    refused(sample.call("done", A), "merge conflict", f"{BOARD}/done/{A}.md")
    assert "UU" in sample.git("status", "--porcelain") or "AU" in sample.git("status", "--porcelain")


def test_a_bare_repository_has_no_task_files_to_move(sample: Sample, tmp_path: Path) -> None:
    sample.git("clone", "--quiet", "--bare", ".", str(tmp_path / "bare"))
    done = in_process(["--repo", str(tmp_path / "bare"), "done", A], sample.env)
    assert done.status == 2
    assert "no working tree" in done.err
    assert in_process(["--repo", str(sample.path / ".git"), "done", A], sample.env).status == 2


def test_a_policy_that_can_not_be_read_is_said(sample: Sample) -> None:
    sample.write(".github/gatekeeper.yml", "version: 2\n")
    done = sample.call("done", A)
    assert done.status == 2
    assert ".github/gatekeeper.yml:1" in done.err
    assert (sample.path / QUEUED_A).exists()


KILLED = """
import os, signal, sys
from gatekeeper.edges import worktree
left = int(sys.argv[1])
def deadly(call):
    def counted(*args, **kwargs):
        global left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return call(*args, **kwargs)
    return counted
for name in ("open", "fsync", "link", "unlink", "fchmod", "mkdir"):
    setattr(os, name, deadly(getattr(os, name)))
worktree.run_git = deadly(worktree.run_git)
from gatekeeper.cli import run
sys.exit(run(sys.argv[2:]))
"""


def test_killed_at_any_step_no_task_is_lost_and_the_next_run_ends_it(sample: Sample) -> None:
    """SIGKILL before every step that touches the disk: one copy or two, each whole, and one more run mends it."""
    old, new = sample.path / QUEUED_A, sample.path / BOARD / "done" / f"{A}.md"
    before = old.read_bytes()
    after = before.replace(b"status: queued", b"status: done")
    pictures = set()
    for step in range(40, 100):  # before those it has only looked for files
        done = subprocess.run(
            [sys.executable, "-c", KILLED, str(step), "done", A],
            cwd=sample.path,
            env=sample.env,
            capture_output=True,
            check=False,
        )
        copies = [path.read_bytes() for path in (old, new) if path.exists()]
        assert copies in ([before], [before, after], [after]), step
        pictures.add(len(copies) if old.exists() else 0)
        if done.returncode:
            again = sample.call("done", A)
            assert again.status == 0, again.err
            assert ("broken off" in again.out) == (copies != [before])
        assert new.read_bytes() == after
        assert not old.exists()
        assert len(staged(sample)) == 2
        sample.git("reset", "--quiet", "--hard")
        sample.git("clean", "--quiet", "-fd")
        if done.returncode == 0:
            break
    assert done.returncode == 0, "there are fewer steps than that"
    assert pictures == {0, 1, 2}, "it died before, between and after"


def test_a_file_that_changes_under_our_feet_is_not_lost(
    sample: Sample, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = os.link

    def slow(*args: object, **kwargs: object) -> None:
        link(*args, **kwargs)  # type: ignore[arg-type]
        sample.append(QUEUED_A, "saved by an editor\n")

    monkeypatch.setattr(os, "link", slow)
    refused(sample.call("done", A), "changed by someone else")
    assert (sample.path / QUEUED_A).read_text().endswith("saved by an editor\n")
    assert not (sample.path / BOARD / "done" / f"{A}.md").exists()


def test_a_file_system_without_hard_links_renames(sample: Sample, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*_: object, **__: object) -> None:
        raise PermissionError(1, "no links here")

    monkeypatch.setattr(os, "link", none)
    assert sample.call("done", A).status == 0
    assert (sample.path / BOARD / "done" / f"{A}.md").exists()
    assert len(list((sample.path / BOARD / State.DONE).iterdir())) == 2
