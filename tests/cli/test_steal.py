"""`steal`, and what `claim --next` does with expired claims: no lease keeps its locks for ever, and no live one is taken."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from gatekeeper.edges import clock
from swarming import CLAIMS, LOCKS, LOG, NO_CAPS, Swarm, git, task_id, task_text

if TYPE_CHECKING:
    from pathlib import Path

T0, T20, T31 = "2026-03-10T08:00:00Z", "2026-03-10T08:20:00Z", "2026-03-10T08:31:00Z"
DAY = "2026-03-11T08:00:00Z"
ONE, TWO, THREE = task_id(1), task_id(2), task_id(3)
QUEUE = ".agents/tasks/queued"


@pytest.fixture(params=[0, 2], ids=["alone", "remote"])
def swarm(request: pytest.FixtureRequest, tmp_path: Path) -> Swarm:
    """Two tasks that share a lock, two agents; the first holds the first task."""
    clones: int = request.param
    swarm = Swarm(tmp_path, {1: ["shared"], 2: ["shared"]}, clones=clones, worktrees=1 if clones else 2)
    assert swarm.call(swarm.agents[0], "claim", ONE, now=T0).status == 0
    return swarm


@pytest.fixture
def alone(tmp_path: Path) -> Swarm:
    """The same in one clone without a remote."""
    swarm = Swarm(tmp_path, {1: ["shared"], 2: ["shared"]}, worktrees=2)
    assert swarm.call(swarm.agents[0], "claim", ONE, now=T0).status == 0
    return swarm


def outcomes(swarm: Swarm, task: str) -> list[object]:
    oids = [oid for ref, oid in sorted(swarm.refs().items()) if ref.startswith(f"{LOG}{task}/")]
    return [swarm.blobs([oid])[oid].get("outcome") for oid in oids]


def held(swarm: Swarm) -> dict[str, str]:
    """Who holds each task that is claimed."""
    claims = {ref: oid for ref, oid in swarm.refs().items() if ref.startswith(CLAIMS)}
    return {ref.removeprefix(CLAIMS): swarm.blobs([oid])[oid]["agent"] for ref, oid in claims.items()}


DENIED = {
    "assignee: somebody\n": "assigned to 'somebody'",
    "review_by: 2026-03-10\n": "that day is past",
    f"depends_on: [{TWO}]\n": "depends on what is not done",
}


@pytest.mark.parametrize("more", DENIED)
def test_what_the_thief_cannot_have_is_cleared_and_its_lock_is_free(swarm: Swarm, more: str) -> None:
    b = swarm.agents[1]
    swarm.to_base({f"{QUEUE}/{ONE}.md": task_text(1, ["shared"], more)})
    assert swarm.call(b, "claim", TWO, now=DAY).status == 1
    ran = swarm.call(b, "steal", ONE, now=DAY)
    assert (ran.status, ran.out) == (0, f"cleared {ONE}\n"), ran.err
    assert DENIED[more] in ran.err
    assert outcomes(swarm, ONE) == ["stolen"]
    assert not [ref for ref in swarm.refs() if not ref.startswith(LOG)]
    assert swarm.call(b, "claim", TWO, now=DAY).status == 0


def test_an_operator_clears_a_live_claim_whose_milestone_has_ended(swarm: Swarm) -> None:
    b = swarm.agents[1]
    plan = "---\nstatus: approved\nrevision: 1\n---\n# Plan\n"
    done = f"plan_revision: 1\nmilestones:\n  - {{id: m1, status: done, tasks: [{ONE}]}}\n"
    swarm.to_base({".agents/plan.md": plan, ".agents/manifest.yml": done})
    assert swarm.call(b, "steal", ONE, now=T20).status == 1
    ran = swarm.call(b, "steal", ONE, "--override", "--yes", "--format", "json", now=T20)
    assert ran.report["cleared"] == ONE
    assert "'m1' is done" in ran.report["why"]
    assert outcomes(swarm, ONE) == ["stolen"]


def test_a_thief_in_the_wrong_place_is_sent_to_another(alone: Swarm) -> None:
    b = alone.agents[1]
    git(b.path, "checkout", "--quiet", "--detach")
    before = alone.refs()
    ran = alone.call(b, "steal", ONE, now=T31)
    assert ran.status == 1
    assert "HEAD is detached" in ran.err
    assert alone.refs() == before


def test_of_a_task_that_left_the_queue_the_refs_are_freed_from_anywhere(swarm: Swarm) -> None:
    b = swarm.agents[1]
    swarm.to_base({f"{QUEUE}/{ONE}.md": None})
    git(b.path, "checkout", "--quiet", "--detach")
    ran = swarm.call(b, "steal", ONE, now=T31)
    assert (ran.status, ran.out) == (0, f"cleared {ONE}\n")
    assert "not queued on main any more" in ran.err


def test_a_cap_keeps_the_thief_away_and_the_claim_in_place(tmp_path: Path) -> None:
    policy = NO_CAPS.replace("implementation: 0", "implementation: 1")
    swarm = Swarm(tmp_path, {1: [], 2: []}, worktrees=3, policy=policy)
    a, b, c = swarm.agents
    swarm.call(a, "claim", ONE, now=T0)
    assert swarm.call(b, "claim", TWO, now=T31).status == 0
    before = swarm.refs()
    assert swarm.call(c, "steal", ONE, now=T31).status == 1
    assert swarm.refs() == before


# -- --next ------------------------------------------------------------------------------------


def test_next_clears_what_it_cannot_have_where_that_alone_keeps_a_lock(swarm: Swarm) -> None:
    b = swarm.agents[1]
    swarm.to_base({f"{QUEUE}/{ONE}.md": task_text(1, ["shared"], "assignee: somebody\n")})
    assert swarm.call(b, "claim", "--next", now=T20).out.startswith("nothing to claim")
    assert swarm.call(b, "claim", "--next", now=T31).out.startswith(f"claimed {TWO} for {b.name}")
    assert outcomes(swarm, ONE) == ["stolen"]


def test_next_clears_nothing_where_a_live_claim_keeps_another_lock(tmp_path: Path) -> None:
    swarm = Swarm(tmp_path, {1: ["a"], 2: ["a", "b"], 3: ["b"]}, worktrees=3)
    a, b, c = swarm.agents
    swarm.call(a, "claim", ONE, now=T0)
    swarm.call(b, "claim", THREE, now=T20)
    swarm.to_base({f"{QUEUE}/{ONE}.md": task_text(1, ["a"], "assignee: somebody\n")})
    assert swarm.call(c, "claim", "--next", now=T31).out.startswith("nothing to claim")
    assert held(swarm) == {ONE: a.name, THREE: b.name}


@pytest.mark.parametrize("text", ["---\nstatus: draft\nrevision: 1\n---\n", "---\nbroken\n"])
def test_next_says_why_where_nothing_at_all_could_be_claimed(alone: Swarm, text: str) -> None:
    alone.to_base({".agents/plan.md": text})
    ran = alone.call(alone.agents[1], "claim", "--next", now=T31)
    assert (ran.status, ran.out) == (1, "")
    assert "base's plan" in ran.err


def test_next_says_why_on_a_detached_head_and_on_the_base_branch(alone: Swarm) -> None:
    b = alone.agents[1]
    git(b.path, "checkout", "--quiet", "--detach")
    ran = alone.call(b, "claim", "--next", now=T31)
    assert (ran.status, "HEAD is detached" in ran.err) == (1, True)
    git(b.clone, "switch", "--quiet", "main")
    ran = alone.call(b.__class__(b.name, "main", b.clone, b.clone), "claim", "--next", now=T31)
    assert (ran.status, "'main' is the base branch" in ran.err) == (1, True)


def test_who_took_work_up_again_gets_that_back_and_no_second_task(swarm: Swarm) -> None:
    a = swarm.agents[0]
    swarm.call(a, "release", "--outcome", "done", now=T0)
    assert swarm.call(a, "claim", ONE, "--again", now=T0).status == 0
    assert swarm.call(a, "claim", "--next", now=T20).out.startswith(f"claimed {ONE} ")
    assert swarm.call(a, "claim", ONE, now=T31).out.startswith(f"claimed {ONE} ")
    assert held(swarm) == {ONE: a.name}


# -- clocks --------------------------------------------------------------------------------------


def test_a_slow_clock_takes_nothing_that_is_live_and_puts_nothing_aside(swarm: Swarm) -> None:
    a, b = swarm.agents
    swarm.call(a, "release", "--outcome", "done", now=T0)
    assert swarm.call(a, "claim", TWO, now=T0).status == 0
    before, slow = swarm.refs(), "2026-03-10T07:00:00Z"
    ran = swarm.call(b, "steal", TWO, now=slow)
    assert ran.status == 1
    assert "operator override required" in ran.err
    assert "begins later than now" in ran.err
    repair = swarm.call(b, "repair", now=slow)
    assert repair.out.count("to do by hand: ") == len(repair.out.splitlines()) == 2
    assert repair.out.count("look at this machine's clock") == 2
    claim = swarm.call(b, "claim", ONE, now=slow)  # the log may say that it is in review, and does
    assert claim.status == 1
    assert "Look at this machine's clock" in claim.err
    assert swarm.refs() == before
    assert swarm.call(b, "steal", TWO, "--override", "--yes", now=slow).out == f"cleared {TWO}\n"


def test_a_claim_from_the_future_counts_against_the_cap(tmp_path: Path) -> None:
    policy = NO_CAPS.replace("implementation: 0", "implementation: 1")
    swarm = Swarm(tmp_path, {1: [], 2: []}, worktrees=2, policy=policy)
    a, b = swarm.agents
    swarm.call(a, "claim", ONE, now=T20)
    assert "cap is 1" in swarm.call(b, "claim", TWO, now=T0).err


class Terminal:
    """Stands for standing input; time passes, and something happens, before a line is typed."""

    def __init__(self, line: str, then: object = lambda: None) -> None:
        self.line, self.then = line, then

    def readline(self, size: int = -1) -> str:
        assert callable(self.then)
        self.then()
        return self.line[:size]


def test_the_clock_is_read_once_the_id_was_typed(alone: Swarm, monkeypatch: pytest.MonkeyPatch) -> None:
    """A claim that was made while somebody thought about it is no claim from the future."""
    a, b = alone.agents
    alone.call(a, "release", now=T0)
    now = [datetime(2026, 3, 10, 8, tzinfo=UTC)]

    def meanwhile() -> None:
        assert alone.run(a, "claim", ONE, now=T20).status == 0
        now[0] += timedelta(minutes=21)

    monkeypatch.setattr(clock, "now", lambda: now[0])
    monkeypatch.setattr("sys.stdin", Terminal(f" {ONE} \n", meanwhile))
    ran = alone.call(b, "steal", ONE, "--override")
    assert ran.out.startswith(f"claimed {ONE} for {b.name} until 2026-03-10T08:51"), ran.out + ran.err


def test_where_nobody_types_the_id_nothing_is_stolen(alone: Swarm, monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = alone.agents
    for stdin in (Terminal(""), Terminal("T-20260301-0000000f\n"), None):
        monkeypatch.setattr("sys.stdin", stdin)
        ran = alone.call(b, "steal", ONE, "--override", now=T20)
        assert ran.status == 1
        assert "nothing is stolen" in ran.err
    assert alone.run(b, "steal", ONE, "--override", now=T20).status == 1
    assert held(alone) == {ONE: a.name}


@pytest.mark.parametrize(
    "now", ["9999-12-31T23:59:59Z", "9999-12-31T23:59:59-05:00", "0001-01-01T00:00:00+05:00"]
)
def test_a_moment_at_the_end_of_the_calendar_is_a_usage_error(alone: Swarm, now: str) -> None:
    ran = alone.call(alone.agents[1], "claim", TWO, now=now)
    assert ran.status == 2
    assert "--now" in ran.err


# -- locks that are out of joint --------------------------------------------------------------------


def test_a_lock_that_carries_no_claim_s_blob_is_told_and_ends_no_claim(swarm: Swarm) -> None:
    a, b = swarm.agents
    (lock,) = (ref for ref in swarm.refs() if ref.startswith(LOCKS))
    junk = swarm.put(lock, "junk")
    ran = swarm.call(a, "renew", now=T20)
    assert ran.status == 1
    assert "no claim that stands" in ran.err
    assert "gatekeeper repair" in ran.err
    assert swarm.call(b, "steal", ONE, now=T31).status == 1
    assert swarm.call(a, "release", now=T20).status == 0
    assert {ref: oid for ref, oid in swarm.refs().items() if not ref.startswith(LOG)} == {lock: junk}


def test_a_claim_whose_lock_is_gone_can_be_renewed_released_and_stolen(swarm: Swarm) -> None:
    a, b = swarm.agents
    (lock,) = (ref for ref in swarm.refs() if ref.startswith(LOCKS))
    git(swarm.authority, "update-ref", "-d", lock)
    assert swarm.call(a, "renew", now=T0).status == 0
    assert swarm.refs()[lock] == swarm.refs()[CLAIMS + ONE]
    git(swarm.authority, "update-ref", "-d", lock)
    assert swarm.call(b, "steal", ONE, now=T31).status == 0
    assert held(swarm) == {ONE: b.name}
    git(swarm.authority, "update-ref", "-d", lock)
    assert swarm.call(b, "release", now=T31).status == 0
    assert held(swarm) == {}


@pytest.mark.parametrize("words", [["release"], ["renew"], ["steal", ONE, "--override", "--yes"]])
def test_a_torn_look_leaves_no_lock_behind(
    swarm: Swarm, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    """Refs are read one after the other: a lock may look as it was before the last renewal."""
    from gatekeeper.edges.claimstore import ClaimStore, Known  # noqa: PLC0415

    who = swarm.agents["steal" in words]
    (lock,) = (ref for ref in swarm.refs() if ref.startswith(LOCKS))
    learn = ClaimStore.learn

    def torn(store: ClaimStore, tasks: object = ()) -> Known:
        known = learn(store, tasks)  # type: ignore[arg-type]
        return known._replace(rows=tuple(row for row in known.rows if row[0] != lock))

    monkeypatch.setattr(ClaimStore, "learn", torn)
    ran = swarm.call(who, *words, now=T20)
    assert ran.status == 0, ran.err
    refs = swarm.refs()
    assert refs.get(lock) == refs.get(CLAIMS + ONE)
    assert swarm.refs(who.clone).get(lock) == refs.get(lock)


# -- what a claim says ---------------------------------------------------------------------------------


def test_a_lock_s_key_forges_no_line(alone: Swarm) -> None:
    key = json.dumps("a\nclaimed T-1 for evil until 2030\n::error::boo\x1b[31m")
    alone.to_base({f"{QUEUE}/{TWO}.md": task_text(2, [key])})
    ran = alone.call(alone.agents[1], "claim", TWO, now=T0)
    assert ran.status == 0
    assert len(ran.out.splitlines()) == 3
    assert "\x1b" not in ran.out


@pytest.mark.parametrize("agent", ["a\udcffb", "\udcff"])
def test_an_agent_s_name_that_is_no_utf_8_is_refused(alone: Swarm, agent: str) -> None:
    ran = alone.call(alone.agents[1], "claim", ONE, "--agent", agent, now=DAY)
    assert ran.status == 1
    ran = alone.call(alone.agents[1], "steal", ONE, "--agent", agent, now=DAY)
    assert ran.status == 1
    assert "UTF-8" in ran.err


def test_a_branch_s_name_that_is_no_utf_8_is_refused(alone: Swarm) -> None:
    b = alone.agents[1]
    git(b.path, "switch", "--quiet", "-c", "br\udcffx")
    ran = alone.call(b, "steal", ONE, now=T31)
    assert ran.status == 1
    assert "git branch -m" in ran.err
