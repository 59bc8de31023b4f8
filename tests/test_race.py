"""Many processes at once: every task goes to exactly one of them, and none is lost."""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from swarming import CLAIMS, LOCKS, LOG, Agent, Swarm, task_id

if TYPE_CHECKING:
    from pathlib import Path

    from running import Ran

NOTHING = "nothing to claim"


def work_off(swarm: Swarm, agent: Agent) -> list[str]:
    """Claim the next task, look who holds it, release it as done, until nothing is left; the tasks that it got."""
    got: list[str] = []
    while True:
        ran = swarm.run(agent, "claim", "--next", "--format", "json")
        assert ran.status == 0, ran.err
        claimed = json.loads(ran.out)["claimed"]
        if claimed is None:
            return got
        assert claimed["agent"] == agent.name
        ref = CLAIMS + claimed["task"]
        held = swarm.refs()[ref]
        assert swarm.blobs([held])[held]["nonce"] == claimed["nonce"]
        got.append(claimed["task"])
        done = swarm.run(agent, "release", "--outcome", "done")
        assert done.status == 0, done.err


def raced(swarm: Swarm) -> dict[str, list[str]]:
    """Let all agents work at once; which tasks each of them got."""
    with ThreadPoolExecutor(len(swarm.agents)) as pool:
        return dict(
            zip(
                [agent.name for agent in swarm.agents],
                pool.map(lambda agent: work_off(swarm, agent), swarm.agents),
                strict=True,
            )
        )


def once_each(swarm: Swarm, got: dict[str, list[str]]) -> None:
    """Every task was had once, by one agent, and is logged as done; nothing stands any more."""
    every = sorted(task for tasks in got.values() for task in tasks)
    assert every == sorted(task_id(n) for n in swarm.tasks)
    refs = swarm.refs()
    assert {ref.split("/")[3] for ref in refs} == set(every)
    assert all(ref.startswith(LOG) for ref in refs)
    assert len(refs) == len(every)
    logged = swarm.blobs(list(refs.values()))
    assert {blob["task"]: blob["agent"] for blob in logged.values()} == {
        task: name for name, tasks in got.items() for task in tasks
    }
    assert {blob["outcome"] for blob in logged.values()} == {"done"}


def test_eight_processes_over_two_clones_of_one_remote(tmp_path: Path) -> None:
    swarm = Swarm(tmp_path, {n: ["shared"] if n % 4 == 0 else [] for n in range(12)}, clones=2, worktrees=4)
    # Two tasks with one lock can't be had at once: who finds nothing else free stops, and one agent ends the rest.
    got = raced(swarm)
    got["last"] = work_off(swarm, swarm.agents[0])
    got[swarm.agents[0].name] += got.pop("last")
    once_each(swarm, got)


def test_four_worktrees_of_one_clone_without_a_remote(tmp_path: Path) -> None:
    swarm = Swarm(tmp_path, {n: [] for n in range(12)}, worktrees=4)
    got = raced(swarm)
    once_each(swarm, got)
    assert sum(bool(tasks) for tasks in got.values()) > 1


def at_once(swarm: Swarm, commands: list[tuple[Agent, tuple[str, ...]]]) -> list[Ran]:
    """Run commands at the same time."""
    with ThreadPoolExecutor(len(commands)) as pool:
        return list(pool.map(lambda one: swarm.run(one[0], *one[1]), commands))


@pytest.mark.parametrize("clones", [0, 2])
def test_one_of_many_gets_the_task(tmp_path: Path, clones: int) -> None:
    swarm = Swarm(tmp_path, {1: ["shared"]}, clones=clones, worktrees=3 if clones else 6)
    ran = at_once(swarm, [(agent, ("claim", task_id(1))) for agent in swarm.agents])
    won = [agent for agent, one in zip(swarm.agents, ran, strict=True) if one.status == 0]
    assert len(won) == 1
    for lost in (one for one in ran if one.status):
        assert lost.status == 1
        assert "reference already exists" in lost.err
        assert won[0].name in lost.err
        assert f"on branch '{won[0].branch}' until 20" in lost.err
    assert {ref for ref in swarm.refs() if ref.startswith(CLAIMS)} == {CLAIMS + task_id(1)}


@pytest.mark.parametrize("clones", [0, 2])
def test_one_of_many_gets_the_lock(tmp_path: Path, clones: int) -> None:
    count = 6
    swarm = Swarm(
        tmp_path,
        {n: [f"own-{n}", "shared"] for n in range(count)},
        clones=clones,
        worktrees=count // (clones or 1),
    )
    ran = at_once(swarm, [(agent, ("claim", task_id(n))) for n, agent in enumerate(swarm.agents)])
    assert sorted(one.status for one in ran) == [0, *[1] * (count - 1)]
    assert all("reference already exists" in one.err and "shared" in one.err for one in ran if one.status)
    refs = swarm.refs()
    assert len([ref for ref in refs if ref.startswith(LOCKS)]) == 2
    assert len(set(refs.values())) == 1


@pytest.mark.parametrize("clones", [0, 2])
def test_one_of_many_thieves_gets_the_expired_claim(tmp_path: Path, clones: int) -> None:
    swarm = Swarm(tmp_path, {1: ["shared"]}, clones=clones, worktrees=2 if clones else 4)
    holder, *thieves = swarm.agents
    assert swarm.run(holder, "claim", task_id(1), now="2026-03-10T08:00:00Z").status == 0
    with ThreadPoolExecutor(len(thieves)) as pool:
        ran = list(pool.map(lambda a: swarm.run(a, "steal", task_id(1), now="2026-03-10T09:00:00Z"), thieves))
    assert sorted(one.status for one in ran) == [0, *[1] * (len(thieves) - 1)]
    refs = swarm.refs()
    stolen = [oid for ref, oid in refs.items() if ref.startswith(LOG)]
    assert [blob["outcome"] for blob in swarm.blobs(stolen).values()] == ["stolen"]


def test_a_heartbeat_and_a_hook_renew_at_once_and_neither_loses(tmp_path: Path) -> None:
    swarm = Swarm(tmp_path, {1: ["shared"]}, clones=1, worktrees=1)
    agent = swarm.agents[0]
    assert swarm.run(agent, "claim", task_id(1)).status == 0
    began = time.monotonic()
    ran = at_once(swarm, [(agent, ("renew",))] * 4)
    assert [one.status for one in ran] == [0] * 4, [one.err for one in ran]
    assert time.monotonic() - began < 60
    refs = swarm.refs()
    assert len(set(refs.values())) == 1
