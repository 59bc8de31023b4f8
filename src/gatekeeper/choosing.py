"""`claim --next`: which task it is to be (CONTRACT 3)."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from gatekeeper.claims import admission, refs, transitions
from gatekeeper.edges.claimstore import Conflict, Known
from gatekeeper.errors import Refusal
from gatekeeper.holding import Taken, claim, is_mine, take
from gatekeeper.model import Claim, Task
from gatekeeper.stealing import clear, steal

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gatekeeper.claims.admission import Claimant
    from gatekeeper.edges.desk import Desk
    from gatekeeper.holding import Ask

T = TypeVar("T")

LOGS_AT_ONCE = 50
"""Tasks whose logs are asked for in one go: more than are ever looked at, and few beside a whole board."""


def claim_next(desk: Desk, claimant: Claimant, ask: Ask) -> Taken | None:
    """Claim the first task that can be: by priority, then id; only when nothing is free, one whose claim expired.

    Who holds one already on this branch gets that back: a branch finishes one task. None where there is
    nothing to claim. Who loses a race goes on to the next task. Raises Refusal where no task at all could be
    claimed, whatever is on the board.
    """
    says = desk.says([])
    nothing_at_all = admission.placeless(says, claimant) or admission.planless(says)
    if nothing_at_all is not None:
        raise Refusal(nothing_at_all.why, nothing_at_all.help)
    fit = _fit(desk, claimant)
    learnt = {task.id for task in fit[:LOGS_AT_ONCE]}
    known = desk.store.learn(sorted(learnt))
    standing = desk.store.standing(known, desk.now)
    held = [(task, c) for task in fit if isinstance(c := standing.get(task.id), Claim)]
    for task in [task for task, c in held if is_mine(c, claimant)]:
        if (taken := _unless_refused(partial(claim, desk, task.id, claimant, ask))) is not None:
            return taken
    free = [task for task in fit if task.id not in standing]
    expired = [task for task, c in held if desk.now > c.expires_at]
    return (
        _first_free(desk, known, learnt, free, claimant, ask)
        or _first_expired(desk, expired, claimant, ask)
        or _first_locked(desk, known, free, claimant, ask)
    )


def _fit(desk: Desk, claimant: Claimant) -> list[Task]:
    """The queued tasks that base admits for this claimant, the most urgent first."""
    tasks = desk.all_queued()
    says = desk.says(name for task in tasks for name in (task.id, *task.depends_on))
    today = desk.now.date()
    return [t for t in tasks if admission.denied(t.id, t, says, claimant, today, in_review=False) is None]


def _first_free(
    desk: Desk, known: Known, learnt: set[str], free: Sequence[Task], claimant: Claimant, ask: Ask
) -> Taken | None:
    """Claim the first of some free tasks that nobody takes before us; the log is asked of a few at a time."""
    for start in range(0, len(free), LOGS_AT_ONCE):
        some = free[start : start + LOGS_AT_ONCE]
        if not learnt.issuperset(task.id for task in some):
            known = desk.store.learn([task.id for task in some])
        waiting = list(some)
        while waiting:
            task = waiting.pop(0)
            if refs.claim_ref(task.id) in known.refs or _barred(desk, known, task):
                continue
            try:
                return take(desk, known, task, claimant, ask)
            except Conflict:
                known = desk.store.learn([task.id for task in some])
                _scatter(waiting)
            except Refusal:
                continue
    return None


def _first_expired(desk: Desk, expired: Sequence[Task], claimant: Claimant, ask: Ask) -> Taken | None:
    """Take over the first of some tasks whose claims have expired."""
    for task in expired:
        if _barred(desk, desk.store.learn([task.id]), task):
            continue
        taken = _unless_refused(partial(steal, desk, task.id, claimant, ask))
        if isinstance(taken, Taken):
            return taken
    return None


def _first_locked(
    desk: Desk, known: Known, free: Sequence[Task], claimant: Claimant, ask: Ask
) -> Taken | None:
    """Claim the first free task whose locks are all held by expired claims, which are cleared.

    They are of tasks that we can't have: nobody who says --next would ever free these locks.
    """
    standing = desk.store.standing(known, desk.now).items()
    over = {c.oid: name for name, c in standing if isinstance(c, Claim) and desk.now > c.expires_at}
    locks = known.locks
    for task in free:
        held = {locks[ref] for ref in transitions.lock_refs(task.locks) if ref in locks}
        if not held or not held <= over.keys() or _barred(desk, desk.store.learn([task.id]), task):
            continue
        others = [over[oid] for oid in held]
        taken = _unless_refused(partial(_cleared_for, desk, others, task, claimant, ask))
        if taken is not None:
            return taken
    return None


def _cleared_for(desk: Desk, others: Sequence[str], task: Task, claimant: Claimant, ask: Ask) -> Taken:
    """Clear some expired claims, and claim a task in their place."""
    for other in others:
        clear(desk, other)
    return claim(desk, task.id, claimant, ask)


def _scatter(waiting: list[Task]) -> None:
    """Begin somewhere among the next that are as urgent: whoever lost the same race would lose the next as well."""
    alike = sum(task.priority == waiting[0].priority for task in waiting) if waiting else 0
    start = int.from_bytes(os.urandom(4)) % alike if alike else 0
    waiting[:alike] = waiting[start:alike] + waiting[:start]


def _unless_refused(move: Callable[[], T]) -> T | None:
    try:
        return move()
    except Refusal:
        return None


def _barred(desk: Desk, known: Known, task: Task) -> bool:
    """Whether a task that base admits can't be taken all the same: a cap, or that it is in review."""
    over = admission.over_cap(task.id, desk.says([]), desk.live(known)) is not None
    return over or desk.in_review(known, task.id)
