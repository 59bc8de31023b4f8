"""Order, identity and endings of a task's claims."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatekeeper.claims import history as h
from gatekeeper.claims.blob import LAST_EPOCH
from gatekeeper.model import Claim, Malformed

if TYPE_CHECKING:
    import random

NOON = datetime(2026, 8, 20, 12, 0, tzinfo=UTC)
MINE, THEIRS = "agent/retry", "agent/other"


def claim(
    branch: str = MINE,
    minute: int = 0,
    *,
    epoch: int | None = None,
    standing: bool = False,
    outcome: str | None = None,
    agent: str = "a",
    base: str = "b" * 40,
    lease: int = 30,
    ref: str = "refs/swarm/claim-log/T-1/S",
    oid: str = "1" * 40,
) -> Claim:
    begins = NOON + timedelta(minutes=minute)
    return Claim(
        task="T-1",
        agent=agent,
        branch=branch,
        base_commit=base,
        claimed_at=begins,
        expires_at=begins + timedelta(minutes=lease),
        locks=(),
        plan_revision=1,
        ref="refs/swarm/task-claims/T-1" if standing else ref,
        oid=oid,
        standing=standing,
        epoch=epoch,
        outcome=outcome,
    )


def all_of(*claims: Claim) -> tuple[Claim, ...]:
    return h.History("T-1", claims).claims


def test_epochs_order_where_all_have_them():
    late_clock = claim(THEIRS, minute=9, epoch=1)
    mine = claim(minute=0, epoch=2)
    assert all_of(mine, late_clock) == (late_clock, mine)
    assert h.superseding(all_of(mine, late_clock), MINE) is None


def test_clocks_order_where_one_has_no_epoch():
    old = claim(THEIRS, minute=1)
    mine = claim(minute=5, epoch=1)
    new = claim(THEIRS, minute=9, epoch=7)
    assert all_of(new, old, mine) == (old, mine, new)


def test_a_standing_claim_is_the_newer_of_two_that_tie():
    logged = claim(THEIRS, epoch=1)
    standing = claim(MINE, epoch=1, standing=True, lease=10)
    assert all_of(standing, logged) == (logged, standing)
    assert h.superseding(all_of(standing, logged), MINE) is None
    assert h.superseding(all_of(standing, logged), THEIRS) is standing


@given(st.randoms(use_true_random=False))
def test_the_order_does_not_depend_on_how_they_were_read(rng: random.Random):
    claims = [
        claim(MINE, 0, epoch=1),
        claim(MINE, 0, epoch=1, outcome="stolen", ref="refs/swarm/claim-log/T-1/Z"),
        claim(THEIRS, 0, epoch=1, oid="2" * 40),
        claim(THEIRS, 3, epoch=2, standing=True),
        claim(THEIRS, 3, epoch=2, lease=10),
        claim(THEIRS, 3, epoch=3, agent="c"),
    ]
    wanted = all_of(*claims)
    rng.shuffle(claims)
    assert all_of(*claims) == wanted
    assert len(wanted) == 4


@pytest.mark.parametrize("end", ["stolen", "abandoned", "failed", "done"])
def test_a_claim_that_stands_and_is_logged_is_one_with_the_logged_end(end: str):
    (one,) = all_of(claim(standing=True, oid="2" * 40), claim(outcome=end, lease=50))
    assert (one.standing, one.oid, one.outcome) == (True, "2" * 40, end)


def test_the_strictest_end_of_a_claim_counts():
    ends = ["done", None, "stolen", "abandoned", "failed"]
    (one,) = all_of(*(claim(outcome=end, ref=f"refs/swarm/claim-log/T-1/{n}") for n, end in enumerate(ends)))
    assert one.outcome == "stolen"
    (kept,) = all_of(claim(outcome="abandoned"), claim(lease=60, oid="2" * 40))
    assert (kept.oid, kept.outcome) == ("2" * 40, "abandoned")


@pytest.mark.parametrize(
    "other",
    [
        claim(agent="b"),
        claim(THEIRS),
        claim(minute=1),
        claim(epoch=2),
        claim(MINE.upper()),
    ],
)
def test_claims_that_differ_in_who_where_when_or_epoch_are_two(other: Claim):
    assert len(all_of(claim(), other)) == 2
    assert not h.same_claim(claim(), other)


def test_the_same_agent_claiming_again_in_the_same_moment_is_another_claim():
    gave_up = claim(epoch=1, outcome="abandoned")
    again = claim(epoch=2, standing=True)
    assert all_of(again, gave_up) == (gave_up, again)
    assert h.newest_of(all_of(again, gave_up), MINE).outcome is None


def test_superseded_is_who_was_followed_by_another_branch():
    mine, theirs, mine_again = claim(minute=0), claim(THEIRS, 5), claim(minute=9)
    assert h.superseding((mine, theirs), MINE) is theirs
    assert h.superseding((mine, theirs, mine_again), MINE) is None
    assert h.superseding((mine,), MINE) is None
    assert h.superseding((theirs,), MINE) is None
    assert h.superseding((), MINE) is None
    assert h.superseding((mine, mine_again, theirs, claim("third", 20)), MINE).branch == "third"


def test_branches_are_equal_to_the_letter():
    claims = (claim("Agent/Retry"), claim("agent/retry-2"), claim("agent/retr"), claim(MINE, 3))
    assert h.of_branch(claims, MINE) == (claims[3],)
    assert h.first_of(claims, MINE) is claims[3]
    assert h.first_of(claims, "agent/re") is None


def test_first_and_newest_of_a_branch():
    claims = all_of(claim(minute=9), claim(minute=1), claim(THEIRS, 0))
    assert h.first_of(claims, MINE).claimed_at == NOON + timedelta(minutes=1)
    assert h.newest_of(claims, MINE).claimed_at == NOON + timedelta(minutes=9)
    assert h.newest(()) is None


def test_claims_from_before_a_put_back_do_not_count():
    old, new = claim(THEIRS, 0, base="o" * 40), claim(minute=9, epoch=1, base="n" * 40)
    both = h.History("T-1", (old, new))
    assert h.counting(both, {"o" * 40: True, "n" * 40: False}) == (new,)
    assert h.counting(both, lambda c: c.branch == THEIRS) == (new,)
    assert h.counting(both, {}) == (old, new)


def test_what_is_left_is_ordered_by_its_own_epochs():
    put_back = claim(THEIRS, 0, base="o" * 40)
    second, first = claim(minute=1, epoch=2), claim(THEIRS, 5, epoch=1)
    both = h.History("T-1", (put_back, second, first))
    assert both.claims == (put_back, second, first)
    assert h.counting(both, {"o" * 40: True}) == (first, second)


@pytest.mark.parametrize(
    ("claims", "answer"),
    [
        ((), False),
        ((claim(outcome="done"),), True),
        ((claim(),), False),
        ((claim(outcome="done"), claim(minute=5, outcome="abandoned")), False),
        ((claim(outcome="failed"), claim(minute=5, outcome="done")), True),
        ((claim(outcome="done"), claim(THEIRS, 5, standing=True)), True),
        ((claim(standing=True),), False),
        ((claim(standing=True), claim(outcome="done")), True),
    ],
)
def test_in_review_is_what_the_newest_log_entry_says(claims: tuple[Claim, ...], answer: bool):
    assert h.in_review(all_of(*claims)) is answer


def test_a_lease_ends_at_its_expiry():
    standing = claim(standing=True)
    assert h.state(standing, NOON + timedelta(minutes=29, seconds=59)) == "live"
    assert h.state(standing, NOON + timedelta(minutes=30)) == "live"
    assert h.state(standing, NOON + timedelta(minutes=30, milliseconds=1)) == "expired"
    assert h.state(claim(), NOON) == "released"


def test_what_the_claim_ref_holds():
    logged, standing = claim(), claim(minute=5, standing=True)
    bad = Malformed("refs/swarm/task-claims/T-1", "3" * 40, True, "it is not JSON")
    bad_log = Malformed("refs/swarm/claim-log/T-1/S", "3" * 40, False, "it is not JSON")
    assert h.History("T-1", (logged, standing), (bad_log,)).standing is standing
    assert h.History("T-1", (logged,), (bad_log, bad)).standing is bad
    assert h.History("T-1", (logged,), (bad_log,)).standing is None


def test_the_next_epoch():
    assert h.next_epoch(()) == 1
    assert h.next_epoch((claim(), claim(minute=1, epoch=4), claim(minute=2, epoch=2))) == 5
    assert h.next_epoch((claim(epoch=LAST_EPOCH),)) == LAST_EPOCH
