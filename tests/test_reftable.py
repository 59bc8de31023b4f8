"""Repositories that keep their refs in tables (`extensions.refStorage=reftable`, git 2.45 and later).

Everything is asked of git's own program, so nothing here knows how a table is written. What is held here is that
claims work the same whichever way the clone and its remote store refs: a linked worktree, a bare remote over
`file://`, a claim, the work, the check; and that a table nobody can read is never taken for "no claim".
"""

from __future__ import annotations

import os
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from swarming import CLAIMS, LOCKS, LOG, Agent, Swarm, environment, git, real_git, task_id

if TYPE_CHECKING:
    from pathlib import Path

ONE, TWO, THREE = task_id(1), task_id(2), task_id(3)
MIXED = [("reftable", "reftable"), ("reftable", "files"), ("files", "reftable")]
"""How the clone and the remote store their refs."""


@pytest.fixture(autouse=True)
def _known(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Skip where the installed git has no reftables."""
    command = [real_git(), "init", "--quiet", "--bare", "--ref-format=reftable", "tried.git"]
    done = subprocess.run(
        command,
        cwd=tmp_path_factory.mktemp("tried"),
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        found = git(tmp_path_factory.getbasetemp(), "version")
        pytest.skip(
            f"needs a git that knows `init --ref-format=reftable` (2.45 or later), and this is {found}"
        )


@pytest.fixture(params=MIXED, ids=[f"{clone}-to-{remote}" for clone, remote in MIXED])
def swarm(request: pytest.FixtureRequest, tmp_path: Path) -> Swarm:
    """Three tasks, two of which share a lock; one clone of a bare remote, and two linked worktrees of it."""
    clone_refs, remote_refs = request.param
    made = Swarm(
        tmp_path,
        {1: ["shared"], 2: ["shared"], 3: []},
        clones=1,
        worktrees=2,
        url="file://{}",
        clone_refs=clone_refs,
        remote_refs=remote_refs,
    )
    stored = [made.agents[0].path, made.authority]
    assert [git(folder, "rev-parse", "--show-ref-format") for folder in stored] == [clone_refs, remote_refs]
    return made


@pytest.fixture
def alone(tmp_path: Path) -> Swarm:
    """One clone without a remote, and three linked worktrees of it."""
    tasks: dict[int, list[str]] = {1: ["shared"], 2: ["shared"], 3: []}
    return Swarm(tmp_path, tasks, worktrees=3, clone_refs="reftable")


def finish(swarm: Swarm, agent: Agent, task: str, path: str) -> None:
    """Write one file, move the task to done and commit both, in the agent's worktree."""
    target = agent.path / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text("x = 1\n")
    assert swarm.call(agent, "done", task).status == 0
    git(agent.path, "add", "--all")
    git(agent.path, "commit", "--quiet", "-m", "work")


def judged(swarm: Swarm, agent: Agent, *args: str) -> tuple[int, str, set[str]]:
    """Exit status, verdict and the codes of all errors of a check in the agent's worktree."""
    ran = swarm.run(agent, "check", "--format", "json", *args)
    errors = {row["code"] for row in ran.report["findings"] if row["severity"] == "error"}
    return ran.status, ran.verdict, errors


def test_claimed_worked_on_done_and_checked(swarm: Swarm) -> None:
    a = swarm.agents[0]
    assert swarm.call(a, "claim", ONE).status == 0
    standing = swarm.refs()
    assert [ref.startswith((CLAIMS + ONE, LOCKS)) for ref in standing] == [True, True]
    assert len(set(standing.values())) == 1
    assert swarm.refs(a.clone) == standing, "the clone's refs follow the remote's"
    assert swarm.call(a, "guard", "src/1/a.py").status == 0
    assert swarm.call(a, "guard", "src/2/a.py").status == 1
    finish(swarm, a, ONE, "src/1/a.py")
    assert judged(swarm, a) == (0, "pass", set())
    assert judged(swarm, a, "--no-fetch") == (0, "pass", set())
    git(a.path, "push", "--quiet", "origin", a.branch)
    assert swarm.call(a, "release", "--outcome", "done").status == 0
    (logged,) = swarm.refs()
    assert logged.startswith(f"{LOG}{ONE}/")
    assert set(swarm.refs(a.clone)) == {logged}
    assert judged(swarm, a) == (0, "pass", set())


def test_work_outside_the_authority_or_without_a_claim_fails(swarm: Swarm) -> None:
    a, b = swarm.agents
    assert swarm.call(a, "claim", ONE).status == 0
    finish(swarm, a, ONE, "src/3/a.py")
    assert judged(swarm, a) == (1, "fail", {"GK141"})
    finish(swarm, b, ONE, "src/1/a.py")
    assert judged(swarm, b) == (1, "fail", {"GK112"})
    assert judged(swarm, b, "--no-fetch") == (1, "fail", {"GK112"})


def test_a_claim_that_another_has_is_refused_and_changes_nothing(swarm: Swarm) -> None:
    a, b = swarm.agents
    assert swarm.call(a, "claim", ONE).status == 0
    before = swarm.refs(), swarm.refs(a.clone)
    for task in (ONE, TWO):  # the claim's own ref, and the lock that the two tasks share
        ran = swarm.call(b, "claim", task)
        assert (ran.status, ran.out) == (1, ""), ran
        assert "reference already exists" in ran.err
        assert a.name in ran.err
    assert (swarm.refs(), swarm.refs(a.clone)) == before
    assert swarm.call(b, "claim", THREE).status == 0
    assert swarm.call(a, "renew", "--minutes", "60").status == 0
    assert swarm.call(a, "release", "--outcome", "abandoned").status == 0
    assert swarm.call(b, "release", "--outcome", "abandoned").status == 0
    assert swarm.call(b, "claim", TWO).status == 0


def test_without_a_remote_one_transaction_decides(alone: Swarm) -> None:
    a, b, _ = alone.agents
    assert alone.call(a, "claim", ONE).status == 0
    assert alone.call(b, "claim", TWO).status == 1
    finish(alone, a, ONE, "src/1/a.py")
    assert judged(alone, a) == (0, "pass", set())
    assert alone.call(a, "release", "--outcome", "done").status == 0
    assert alone.call(b, "claim", TWO).status == 0
    assert judged(alone, a) == (0, "pass", set())


def test_who_comes_at_once_gets_one_each(tmp_path: Path) -> None:
    tasks: dict[int, list[str]] = {number: [] for number in range(1, 5)}
    made = Swarm(tmp_path, tasks, worktrees=4, clone_refs="reftable")
    with ThreadPoolExecutor(len(made.agents)) as pool:
        ran = list(pool.map(lambda agent: made.run(agent, "claim", "--next"), made.agents))
    assert [done.status for done in ran] == [0] * 4, [done.err for done in ran]
    assert set(made.refs()) == {CLAIMS + task_id(number) for number in tasks}
    assert len(set(made.refs().values())) == len(tasks)


def test_the_lock_of_a_dead_git_is_removed_once_old(alone: Swarm) -> None:
    a = alone.agents[0]
    left = a.clone / ".git" / "reftable" / "tables.list.lock"
    left.touch()
    ran = alone.call(a, "claim", ONE)
    assert ran.status == 2, ran
    assert "gatekeeper repair" in ran.err
    assert alone.refs() == {}
    assert alone.call(a, "repair").out == "nothing to repair\n", "it may be a git's that still runs"
    os.utime(left, (time.time() - 700, time.time() - 700))
    assert "a dead git's" in alone.call(a, "repair", "--dry-run").out
    assert left.exists()
    assert alone.call(a, "repair").out.startswith("mended: ")
    assert not left.exists()
    assert alone.call(a, "claim", ONE).status == 0


@pytest.mark.parametrize("broken", ["emptied", "overwritten", "gone"])
def test_tables_that_cannot_be_read_hold_not_no_claim(alone: Swarm, broken: str) -> None:
    a, b, _ = alone.agents
    assert alone.call(a, "claim", ONE).status == 0
    finish(alone, b, THREE, "src/3/a.py")
    tables = a.clone / ".git" / "reftable"
    for table in tables.glob("*.ref"):
        table.chmod(0o644)
        if broken == "gone":
            table.unlink()
        else:
            table.write_bytes(b"" if broken == "emptied" else b"x" * 200)
    for args in (["claim", ONE], ["claim", "--next"], ["guard", "src/3/a.py"], ["check"], ["status"]):
        ran = alone.call(b, *args)
        assert ran.status == 2, (args, ran)
    assert judged(alone, b)[:2] == (2, "error")
