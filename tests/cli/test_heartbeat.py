"""`renew --every`: prints, survives a remote that is away, ends on SIGTERM, and stops loudly once the claim is lost."""

from __future__ import annotations

import signal
import threading
import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from gatekeeper.cli import heartbeat
from gatekeeper.cli.heartbeat import keep_on
from gatekeeper.errors import GatekeeperError, Refusal, RemoteUnreachable, RepositoryUnreadable
from swarming import CLAIMS, Swarm, task_id

if TYPE_CHECKING:
    import subprocess
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
