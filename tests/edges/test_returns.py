"""Which commits of base put a task back in the queue, where base's history is no straight line."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from builders import Sample
from test_regressions import TASK, both, errors
from worktree import BRANCH, WORK_BEGAN

if TYPE_CHECKING:
    from pathlib import Path


def path_of(sample: Sample) -> str:
    """The task's file, wherever it stands."""
    (found,) = (sample.path / ".agents/tasks").glob(f"*/{TASK}*.md")
    return str(found.relative_to(sample.path))


def unqueued(root: Path) -> tuple[Sample, str, str]:
    """A base that has not heard of the task yet; where its file will stand, and what it will say."""
    sample = Sample(root)
    path = path_of(sample)
    text = (sample.path / path).read_text()
    sample.delete(path)
    sample.commit("before")
    return sample, path, text


def pull_crosswise(sample: Sample) -> None:
    """Let main be a side branch from before the task was queued, into which main was merged."""
    sample.git("switch", "--quiet", "-c", "dev", "start")
    sample.write("dev.txt", "dev\n")
    sample.commit("dev")
    sample.git("merge", "--quiet", "--no-edit", "main")
    sample.git("branch", "--quiet", "--force", "main", "dev")


def finish(sample: Sample) -> Sample:
    """The branch that finishes the task, off main."""
    sample.git("switch", "--quiet", "-C", BRANCH, "main")
    sample.branch, sample.clock = BRANCH, WORK_BEGAN
    sample.finish(TASK)
    sample.commit("work")
    return sample


def ended(sample: Sample) -> None:
    """The task is done on main, and reverted in a branch that main merges as forges do."""
    sample.finish(TASK)
    sample.commit("done")
    sample.git("switch", "--quiet", "-c", "revert")
    sample.git("revert", "--no-edit", "HEAD")
    sample.git("switch", "--quiet", "main")
    sample.append("README.md", "more\n")
    sample.commit("meanwhile")
    sample.git("merge", "--quiet", "--no-ff", "--no-edit", "revert")


def test_a_task_that_was_queued_beside_the_branch_that_base_became(tmp_path: Path) -> None:
    sample, path, text = unqueued(tmp_path)
    sample.git("tag", "start")
    sample.write(path, text)
    claimed = sample.commit("queue")
    pull_crosswise(sample)
    finish(sample).claim("live", {"task": TASK, "at": claimed})
    for done in both(sample):
        assert done.verdict == "pass", done.out


@pytest.mark.parametrize("crosswise", [False, True])
def test_a_task_that_ended_and_was_put_back_by_a_merge(crosswise: bool, tmp_path: Path) -> None:
    sample, path, text = unqueued(tmp_path)
    sample.git("tag", "start")
    sample.write(path, text)
    claimed = sample.commit("queue")
    ended(sample)
    if crosswise:
        pull_crosswise(sample)
    finish(sample).claim("live", {"task": TASK, "at": claimed})
    for done in both(sample):
        assert errors(done) == {"GK111"}, done.out


def test_a_task_that_a_merge_itself_put_back(tmp_path: Path) -> None:
    sample = Sample(tmp_path)
    claimed = sample.commit("base")
    path = path_of(sample)
    sample.git("switch", "--quiet", "-c", "side")
    sample.append("README.md", "side\n")
    sample.commit("side")
    sample.git("switch", "--quiet", "main")
    sample.finish(TASK)
    sample.commit("done")
    sample.git("merge", "--quiet", "--no-ff", "--no-commit", "side")
    sample.git("checkout", "side", "--", path)
    sample.git("rm", "--quiet", path_done := path.replace("/queued/", "/done/"))
    sample.git("commit", "--quiet", "-m", "merged, and put back by hand")
    assert not (sample.path / path_done).exists()
    finish(sample).claim("live", {"task": TASK, "at": claimed})
    for done in both(sample):
        assert errors(done) == {"GK111"}, done.out
