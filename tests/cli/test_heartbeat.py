"""`renew --every`: prints, survives a remote that is away, ends on SIGTERM, and stops loudly once the claim is lost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from gatekeeper.cli import heartbeat
from gatekeeper.cli.base import World
from gatekeeper.cli.desk import opened
from gatekeeper.cli.heartbeat import keep_on
from gatekeeper.edges.claimstore import Conflict
from gatekeeper.errors import GatekeeperError, Refusal, RemoteUnreachable, RepositoryUnreadable
from gatekeeper.holding import Ask, Holder, Unsettled, renew
from swarming import CLAIMS, Agent, Swarm, environment, git, real_git, task_id

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TASK = task_id(1)


@pytest.fixture
def swarm(tmp_path: Path) -> Swarm:
    """One task with a lock, two agents, each in its own clone of a remote, and the first holds the task."""
    swarm = Swarm(tmp_path, {1: ["shared"]}, clones=2, worktrees=1)
    assert swarm.run(swarm.agents[0], "claim", TASK).status == 0
    return swarm


def lines(process: subprocess.Popen[str]) -> Iterator[str]:
    assert process.stdout
    return iter(process.stdout.readline, "")


def expiry(swarm: Swarm) -> datetime:
    oid = swarm.refs()[CLAIMS + TASK]
    return datetime.fromisoformat(swarm.blobs([oid])[oid]["expiresAt"])


def test_it_prints_renews_and_ends_on_sigterm(swarm: Swarm) -> None:
    with swarm.start(swarm.agents[0], "renew", "--every", "40") as process:
        first = next(lines(process))
        assert first.startswith(f"renewed {TASK} until ")
        assert expiry(swarm) > datetime.now(UTC) + timedelta(
            minutes=49
        )  # ten minutes longer than the interval
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=20)
    assert process.returncode == 0
    assert "the claim stands until it expires" in err
    assert CLAIMS + TASK in swarm.refs()


def test_a_claim_that_is_lost_stops_it_loudly(swarm: Swarm) -> None:
    thief = swarm.agents[1]
    assert swarm.run(thief, "steal", TASK, "--override", "--yes").status == 0
    ran = swarm.run(swarm.agents[0], "renew", "--every", "1")
    assert ran.status == 1
    assert "STOP" in ran.err
    assert ran.out == ""
    oid = swarm.refs()[CLAIMS + TASK]
    assert swarm.blobs([oid])[oid]["agent"] == thief.name


def test_a_remote_that_is_away_for_a_while(
    swarm: Swarm, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(heartbeat, "SOON", 0.05)
    assert swarm.remote
    away = swarm.remote.with_name("away.git")
    stop = threading.Event()
    seen: list[str] = []
    agent = swarm.agents[0]

    def once() -> str:
        ran = swarm.run(agent, "renew")
        seen.append(ran.err)
        if ran.status == 2:
            raise RemoteUnreachable(ran.err)
        assert ran.status == 0, ran.err
        return ran.out.strip()

    answers: list[int] = []
    beat = threading.Thread(target=lambda: answers.append(keep_on(once, 0.1, stop)))
    beat.start()
    until(lambda: len(seen) >= 1)
    swarm.remote.rename(away)
    before = len(seen)
    until(lambda: any("could not be fetched" in err for err in seen[before:]))
    away.rename(swarm.remote)
    after = len(seen)
    until(lambda: "" in seen[after + 1 :])
    stop.set()
    beat.join(20)
    assert answers == [0]
    said = capsys.readouterr()
    assert said.out.count(f"renewed {TASK}") >= 2
    assert "could not be fetched" in said.err
    assert "again in" in said.err


def until(holds: object, seconds: float = 20.0) -> None:
    """Wait until something holds."""
    assert callable(holds)
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it does not come to pass"
        time.sleep(0.02)


class Beats:
    """Stands for `renew`: each call does the next of some things, the last of them for ever."""

    def __init__(self, *does: str | GatekeeperError) -> None:
        self.does, self.calls, self.stop = list(does), 0, threading.Event()

    def __call__(self) -> str:
        does = self.does[min(self.calls, len(self.does) - 1)]
        self.calls += 1
        if self.calls > len(self.does):
            self.stop.set()
        if isinstance(does, GatekeeperError):
            raise does
        return does


def test_after_the_remote_was_away_the_pause_begins_anew(capsys: pytest.CaptureFixture[str]) -> None:
    waits: list[float | None] = []

    class Stop(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            waits.append(timeout)
            return self.is_set()

    gone = RemoteUnreachable("the network is gone")
    beats = Beats(gone, gone, gone, gone, "renewed", gone, "renewed")
    beats.stop = Stop()
    assert keep_on(beats, 60.0, beats.stop) == 0
    assert waits[:7] == [15.0, 30.0, 60.0, 60.0, 60.0, 15.0, 60.0]
    assert capsys.readouterr().err.count("the network is gone") == 5


def test_what_is_wrong_from_the_start_ends_it_and_what_goes_wrong_later_does_not() -> None:
    wrong = RepositoryUnreadable("the disk is full")
    with pytest.raises(RepositoryUnreadable):
        keep_on(Beats(wrong), 0.0, threading.Event())
    beats = Beats("renewed", wrong, "renewed")
    assert keep_on(beats, 0.0, beats.stop) == 0
    assert beats.calls == 4


def test_a_lost_claim_ends_it_and_says_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    beats = Beats("renewed", Refusal("the claim is lost: b holds it", "Stop working on it."))
    assert keep_on(beats, 0.0, beats.stop) == 1
    err = capsys.readouterr().err
    assert "STOP" in err
    assert "b holds it" in err
    assert "Stop working on it." in err


def test_what_is_printed_is_seen_at_once_and_hostile_text_is_not_raw(
    capsys: pytest.CaptureFixture[str],
) -> None:
    beats = Beats("renewed", Refusal("held by x\n::error::forged"))
    assert keep_on(beats, 0.0, beats.stop) == 1
    assert "\n::error" not in capsys.readouterr().err


@pytest.mark.parametrize("passing", [Conflict("another was first"), Unsettled("a lock is out of joint")])
def test_what_says_nothing_of_the_claim_is_no_loss(passing: GatekeeperError) -> None:
    beats = Beats(passing, passing, "renewed")
    assert keep_on(beats, 0.0, beats.stop) == 0
    assert beats.calls == 4


def test_what_fails_because_all_was_stopped_is_no_failure() -> None:
    stop = threading.Event()

    def interrupted() -> str:
        stop.set()
        raise RepositoryUnreadable("git ended of SIGINT as well")

    assert keep_on(interrupted, 0.0, stop) == 0


# -- the claim that it keeps ----------------------------------------------------------------


def beat(agent: Agent, holder: Holder) -> str:
    """One renewal of a heartbeat."""
    world = World(agent.path, True, environment(), datetime.now(UTC))
    with opened(world) as desk:
        return str(renew(desk, holder, Ask()).fields["task"])


@pytest.fixture
def pair(tmp_path: Path) -> Swarm:
    """Two tasks, two agents in one clone; the first holds the first task."""
    swarm = Swarm(tmp_path, {1: [], 2: []}, worktrees=2)
    assert swarm.call(swarm.agents[0], "claim", TASK).status == 0
    return swarm


def test_it_keeps_its_claim_wherever_head_goes(pair: Swarm) -> None:
    a = pair.agents[0]
    holder = Holder(None, None)
    assert beat(a, holder) == TASK
    git(a.path, "checkout", "--quiet", "--detach")  # as in the middle of a rebase
    assert beat(a, holder) == TASK
    git(a.path, "switch", "--quiet", "-c", "another")
    assert pair.call(a, "claim", task_id(2)).status == 0
    assert beat(a, holder) == TASK


@pytest.mark.parametrize("agent", [0, 1])
def test_a_claim_that_followed_its_own_is_not_renewed(pair: Swarm, agent: int) -> None:
    """Neither a thief's, with the thief's branch checked out, nor one's own of a later time."""
    a, other = pair.agents[0], pair.agents[agent]
    holder = Holder(None, None)
    assert beat(a, holder) == TASK
    assert pair.call(a, "release").status == 0
    assert pair.call(other, "claim", TASK).status == 0
    git(other.path, "checkout", "--quiet", "--detach")
    git(a.path, "switch", "--quiet", other.branch)
    before = pair.refs()
    with pytest.raises(Refusal, match="is lost"):
        beat(a, holder)
    assert pair.refs() == before


def test_it_keeps_a_local_claim_that_the_remote_hears_of(tmp_path: Path) -> None:
    swarm = Swarm(tmp_path, {1: []}, clones=2, worktrees=1)
    a, b = swarm.agents
    swarm.call(a, "claim", TASK, "--local")
    swarm.call(b, "claim", TASK)
    swarm.call(b, "release", "--outcome", "abandoned")
    holder = Holder(None, None)
    for _ in range(2):  # its epoch is another by then
        assert beat(a, holder) == TASK


# -- signals --------------------------------------------------------------------------------------


def started(swarm: Swarm, folder: Path, *words: str) -> subprocess.Popen[str]:
    """A command whose first fetch does not come to an end, once that has begun."""
    (folder / "bin").mkdir()
    (folder / "tmp").mkdir()
    slow = folder / "bin" / "git"
    slow.write_text(
        f'#!/bin/sh\nset -C; [ "$1" = fetch ] && echo 2>/dev/null >"{folder}/begun" && exec sleep 30\n'
        f'exec "{real_git()}" "$@"\n'
    )
    slow.chmod(0o755)
    env = environment(GATEKEEPER_AGENT=swarm.agents[0].name, TMPDIR=str(folder / "tmp"))
    process = subprocess.Popen(
        [sys.executable, "-m", "gatekeeper", *words],
        cwd=swarm.agents[0].path,
        env=env | {"PATH": f"{slow.parent}:{env['PATH']}"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    until((folder / "begun").exists)
    return process


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGINT"])
def test_a_command_that_is_told_to_end_ends_and_leaves_nothing(
    swarm: Swarm, tmp_path: Path, name: str
) -> None:
    number = signal.Signals[name]
    with started(swarm, tmp_path, "claim", TASK) as process:
        process.send_signal(number)
        out, err = process.communicate(timeout=20)
    assert (process.returncode, out, err.strip()) == (128 + number, "", "gatekeeper: stopped")
    assert list((tmp_path / "tmp").iterdir()) == []


def test_a_heartbeat_that_is_told_to_end_with_its_git_ends_well(swarm: Swarm, tmp_path: Path) -> None:
    with started(swarm, tmp_path, "renew", "--every", "5") as process:
        os.killpg(process.pid, signal.SIGINT)
        _, err = process.communicate(timeout=20)
    assert process.returncode == 0
    assert err == "gatekeeper: stopped; the claim stands until it expires\n"


def test_a_heartbeat_under_nohup_outlives_a_hangup(swarm: Swarm) -> None:
    command = ["sh", "-c", f"trap '' HUP; exec '{sys.executable}' -m gatekeeper renew --every 40"]
    env = environment(GATEKEEPER_AGENT=swarm.agents[0].name)
    with subprocess.Popen(
        command, cwd=swarm.agents[0].path, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert next(lines(process)).startswith("renewed ")
        process.send_signal(signal.SIGHUP)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.5)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=20)
    assert process.returncode == 0


# -- --if-older -------------------------------------------------------------------------------------


def test_if_older_looks_at_the_agent_first(swarm: Swarm) -> None:
    ran = swarm.run(swarm.agents[0], "renew", "--if-older", "5", "--agent", "somebody")
    assert ran.status == 1
    assert "not 'somebody''s" in ran.err


def test_if_older_is_no_heartbeat_s(swarm: Swarm) -> None:
    ran = swarm.run(swarm.agents[0], "renew", "--if-older", "5", "--every", "1")
    assert ran.status == 2
    assert "--every or --if-older" in ran.err


def test_if_older_asks_no_remote_while_the_lease_is_young(swarm: Swarm) -> None:
    agent = swarm.agents[0]
    before = swarm.refs()
    assert swarm.remote
    swarm.remote.rename(swarm.remote.with_name("away.git"))
    ran = swarm.run(agent, "renew", "--if-older", "5")
    swarm.remote.with_name("away.git").rename(swarm.remote)
    assert (ran.status, ran.out) == (0, "")
    assert swarm.refs() == before


def test_if_older_renews_what_is_old(swarm: Swarm) -> None:
    later = (datetime.now(UTC) + timedelta(minutes=7)).isoformat().replace("+00:00", "Z")
    before = swarm.refs()
    ran = swarm.run(swarm.agents[0], "renew", "--if-older", "5", now=later)
    assert ran.status == 0
    assert ran.out.startswith(f"renewed {TASK}")
    assert swarm.refs() != before


def test_if_older_of_a_branch_without_a_claim_says_so(swarm: Swarm) -> None:
    ran = swarm.run(swarm.agents[1], "renew", "--if-older", "5")
    assert ran.status == 1
    assert "holds no claim" in ran.err


@pytest.mark.parametrize("every", ["0", "121", "x"])
def test_the_interval_is_1_to_120_minutes(swarm: Swarm, every: str) -> None:
    assert swarm.run(swarm.agents[0], "renew", "--every", every).status == 2
