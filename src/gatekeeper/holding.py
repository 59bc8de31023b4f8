"""The claim protocol's moves on a desk: claim, renew, release, steal (CONTRACT 3).

Each reads what the authority holds, decides, and applies one transition by compare-and-swap. One that
comes too late reads and decides again: then it is refused with who holds the task, and has written nothing.
"""

from __future__ import annotations

import os
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from gatekeeper.claims import admission, refs, transitions
from gatekeeper.claims.blob import encode, iso
from gatekeeper.claims.history import next_epoch
from gatekeeper.edges.claimstore import EXISTS, TRIES, Conflict, Known
from gatekeeper.edges.desk import NONCE_BYTES, Desk, held_by
from gatekeeper.errors import Refusal
from gatekeeper.model import ABSENT, Claim, Malformed, Task
from gatekeeper.text import quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from gatekeeper.claims.admission import Claimant
    from gatekeeper.edges.desk import Standing

T = TypeVar("T")

LOGS_AT_ONCE = 50
"""Tasks whose logs `--next` asks for in one go: more than are ever looked at, and few beside a whole board."""


class Taken(NamedTuple):
    """A claim that was made, taken back up or renewed: its blob's fields, and how (`claimed`, `again`, `stolen`, `renewed`)."""

    fields: dict[str, object]
    how: str


class Ask(NamedTuple):
    """How a claim is to be: its lease in minutes, whether it is signed, and whether it stays in this clone."""

    minutes: int = 30
    sign: bool = False
    local: bool = False


def _decided(attempt: Callable[[], T]) -> T:
    """Read, decide and write; where somebody was first, all of it again. Raises Conflict if that never ends."""
    for _ in range(TRIES - 1):
        try:
            return attempt()
        except Conflict:
            continue
    return attempt()


# -- claim -----------------------------------------------------------------------------


def claim(desk: Desk, task_id: str, claimant: Claimant, ask: Ask) -> Taken:
    """Claim one task, or take one's own claim on it back up. Raises Refusal, and says who holds it."""

    def attempt() -> Taken:
        known = desk.store.learn([task_id])
        task = admitted(desk, known, task_id, claimant)
        standing = desk.store.standing(known, desk.now).get(task_id)
        if isinstance(standing, Claim) and _mine(standing, claimant):
            _check_caps(desk, known, task_id)
            return _again(desk, known, task, standing, ask)
        if standing is not None:
            raise _held(task_id, standing, desk.now)
        _check_caps(desk, known, task_id)
        return _take(desk, known, task, claimant, ask)

    return _decided(attempt)


def claim_next(desk: Desk, claimant: Claimant, ask: Ask) -> Taken | None:
    """Claim the first task that can be: by priority, then id; only when nothing is free, one whose claim expired.

    Who holds one already on this branch gets that back: a branch finishes one task. None where there is
    nothing to claim. Who loses a race goes on to the next task.
    """
    tasks = desk.all_queued()
    says = desk.says(name for task in tasks for name in (task.id, *task.depends_on))
    today = desk.now.date()
    fit = [t for t in tasks if admission.denied(t.id, t, says, claimant, today, in_review=False) is None]
    learnt = {task.id for task in fit[:LOGS_AT_ONCE]}
    known = desk.store.learn(sorted(learnt))
    standing = desk.store.standing(known, desk.now)
    own = [t for t in fit if isinstance(c := standing.get(t.id), Claim) and _mine(c, claimant)]
    expired = [t for t in fit if isinstance(c := standing.get(t.id), Claim) and desk.now > c.expires_at]
    for task in own:
        if (taken := _unless_refused(partial(claim, desk, task.id, claimant, ask))) is not None:
            return taken
    free = [task for task in fit if task.id not in standing]
    taken = _first_free(desk, known, learnt, free, claimant, ask)
    for task in expired if taken is None else ():
        if _denial(desk, desk.store.learn([task.id]), task, claimant) is None:
            taken = _unless_refused(partial(steal, desk, task.id, claimant, ask))
            if taken is not None:
                break
    return taken


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
            if refs.claim_ref(task.id) in known.refs or _denial(desk, known, task, claimant) is not None:
                continue
            try:
                return _take(desk, known, task, claimant, ask)
            except Conflict:
                known = desk.store.learn([task.id for task in some])
                _scatter(waiting)
            except Refusal:
                continue
    return None


def _scatter(waiting: list[Task]) -> None:
    """Begin somewhere among the next that are as urgent: whoever lost the same race would lose the next as well."""
    alike = sum(task.priority == waiting[0].priority for task in waiting) if waiting else 0
    start = int.from_bytes(os.urandom(4)) % alike if alike else 0
    waiting[:alike] = waiting[start:alike] + waiting[:start]


def _unless_refused(move: Callable[[], Taken | None]) -> Taken | None:
    try:
        return move()
    except Refusal:
        return None


def admitted(desk: Desk, known: Known, task_id: str, claimant: Claimant) -> Task:
    """Base's queued copy of a task that may be claimed. Raises Refusal."""
    task = desk.queued(task_id)
    asked = [task_id, *(task.depends_on if task else ())]
    review = task is not None and desk.in_review(known, task_id)
    denial = admission.denied(task_id, task, desk.says(asked), claimant, desk.now.date(), in_review=review)
    if denial is not None or task is None:
        raise Refusal(denial.why if denial else task_id, denial.help if denial else "")
    return task


def _denial(desk: Desk, known: Known, task: Task, claimant: Claimant) -> admission.Denial | None:
    """Why a task that base admits can't be taken all the same: a cap, or that it is in review."""
    denial = admission.over_cap(task.id, desk.says([]), desk.live(known))
    if denial is None and desk.in_review(known, task.id):
        says = desk.says([task.id, *task.depends_on])
        once = claimant._replace(again=False)
        return admission.denied(task.id, task, says, once, desk.now.date(), in_review=True)
    return denial


def _check_caps(desk: Desk, known: Known, task_id: str) -> None:
    denial = admission.over_cap(task_id, desk.says([]), desk.live(known))
    if denial is not None:
        raise Refusal(denial.why, denial.help)


def _mine(standing: Claim, claimant: Claimant) -> bool:
    return standing.agent == claimant.agent and standing.branch == claimant.branch


def _held(task_id: str, standing: Claim | Malformed, now: datetime) -> Refusal:
    if isinstance(standing, Malformed):
        hint = f"Clear it: gatekeeper steal {task_id}."
    elif now > standing.expires_at:
        hint = f"It has expired: gatekeeper steal {task_id} takes it over."
    else:
        hint = f"Take another: gatekeeper claim --next; or wait until {iso(standing.expires_at)}."
    return Refusal(f"{refs.claim_ref(task_id)}: {EXISTS}: {held_by(standing, now)}", hint)


def _take(desk: Desk, known: Known, task: Task, claimant: Claimant, ask: Ask) -> Taken:
    _check_locks(desk, known, task.locks, own="")
    history = desk.store.history(known, task.id, desk.now)
    fields = desk.fresh(task, claimant.agent, claimant.branch or "", ask.minutes, next_epoch(history.claims))
    if ask.local:
        fields["local"] = True
    blob = desk.write(fields, sign=ask.sign or desk.must_sign)
    move = transitions.take(task.id, task.locks, blob)
    desk.store.apply(known, move)
    if desk.store.outrun(known, task.id):  # it may be in review by now, and our epoch is not the next one
        desk.store.apply(known, tuple(update._replace(old=blob, new=ABSENT) for update in move))
        raise Conflict(f"{EXISTS}: another claim came and went", "Look with gatekeeper status.")
    return Taken(fields, "claimed")


def _check_locks(desk: Desk, known: Known, locks: Sequence[str], own: str) -> None:
    """Raise Refusal where somebody else's claim holds one of the locks."""
    held = known.locks
    standing = {c.oid: c for c in desk.store.standing(known, desk.now).values()}
    for key in locks:
        oid = held.get(refs.lock_ref(key))
        if oid is None or oid == own:
            continue
        holder = standing.get(oid)
        if isinstance(holder, Claim):
            who, mend = f"{holder.task}: {held_by(holder, desk.now)}", "Wait until it is released."
            if desk.now > holder.expires_at:
                mend = f"It has expired: gatekeeper steal {holder.task}, and release that."
        elif holder is not None:
            who = held_by(holder, desk.now)
            mend = f"Clear it: gatekeeper steal {refs.claim_task(holder.ref)}."
        else:
            who, mend = "no claim that stands", "Free it: gatekeeper repair."
        raise Refusal(f"lock {quoted(key)}: {EXISTS}: {who}", mend)


def _again(desk: Desk, known: Known, task: Task, standing: Claim, ask: Ask) -> Taken:
    """One's own claim made good again: base, plan, locks and expiry anew; when it was made and its epoch stay."""
    _check_locks(desk, known, task.locks, own=standing.oid)
    fields = dict(standing.fields) | {
        "baseCommit": desk.base,
        "planRevision": desk.revision,
        "locks": list(task.locks),
    }
    return _rewritten(desk, known, standing, fields, ask, "again", task.locks)


def _rewritten(
    desk: Desk,
    known: Known,
    standing: Claim,
    fields: dict[str, object],
    ask: Ask,
    how: str,
    locks: Sequence[str],
) -> Taken:
    """A standing claim's blob in place of the one before: a later expiry, a new nonce, signed anew."""
    later = max(standing.expires_at, desk.now + timedelta(minutes=ask.minutes))
    fields |= {"expiresAt": iso(later), "nonce": os.urandom(NONCE_BYTES).hex()}
    if desk.clone.remote is not None:
        fields.pop("local", None)
    sign = ask.sign or desk.must_sign or standing.signature is not None
    blob = desk.write(fields, sign=sign)
    if standing.ref in known.own:  # the remote hears of it for the first time
        move = transitions.take(standing.task, locks, blob)
    else:
        move = transitions.rewrite(standing, locks, blob, known.locks)
    desk.store.apply(known, move)
    return Taken(fields, how)


# -- renew, release ------------------------------------------------------------------------


def own_claim(desk: Desk, known: Known, task_id: str | None, agent: str | None) -> Claim:
    """The standing claim of the current branch; `agent`, where given, has to be its agent. Raises Refusal."""
    standing = desk.store.standing(known, desk.now)
    mine = [c for c in standing.values() if isinstance(c, Claim) and c.branch == desk.branch]
    if task_id is not None:
        found = standing.get(task_id)
        if not isinstance(found, Claim) or found.branch != desk.branch:
            who = held_by(found, desk.now) if found else "nobody has claimed it"
            raise Refusal(
                f"this branch holds no claim on {quoted(task_id)}: {who}", f"See gatekeeper status {task_id}."
            )
        mine = [found]
    if not mine:
        raise Refusal(
            f"branch {quoted(desk.branch or '(detached)')} holds no claim", "See gatekeeper status."
        )
    if len(mine) > 1:
        raise Refusal(
            f"this branch holds several claims: {', '.join(c.task for c in mine)}", "Name the task."
        )
    if agent is not None and mine[0].agent != agent:
        raise Refusal(
            f"the claim on {quoted(mine[0].task)} is {quoted(mine[0].agent)}'s, not {quoted(agent)}'s", ""
        )
    return mine[0]


class _Holding:
    """The branch's own claim, looked for again as often as somebody was quicker; once it was there it can be lost."""

    def __init__(self, desk: Desk, task_id: str | None, agent: str | None) -> None:
        self._desk, self._task, self._agent = desk, task_id, agent
        self._seen: Claim | None = None

    def find(self, known: Known) -> Claim:
        """The claim as it stands now. Raises Refusal where there is none, or no more."""
        try:
            self._seen = own_claim(
                self._desk, known, self._task or (self._seen and self._seen.task), self._agent
            )
        except Refusal as none:
            if self._seen is None:
                raise
            standing = self._desk.store.standing(known, self._desk.now).get(self._seen.task)
            raise _lost(self._seen, standing, self._desk.now) from none
        return self._seen


def _lost(claim_: Claim, standing: Standing, now: datetime) -> Refusal:
    who = held_by(standing, now) if standing is not None else "nobody holds the task now"
    return Refusal(
        f"the claim on {quoted(claim_.task)} is lost: {who}", "Stop working on it; see gatekeeper status."
    )


def renew(desk: Desk, task_id: str | None, agent: str | None, ask: Ask) -> Taken:
    """Give the branch's claim and all its locks a later expiry; an earlier one never. Raises Refusal."""
    holding = _Holding(desk, task_id, agent)

    def attempt() -> Taken:
        known = desk.store.learn([])
        standing = holding.find(known)
        if standing.plan_revision != desk.revision:
            raise Refusal(
                f"the claim on {quoted(standing.task)} was made under plan revision {standing.plan_revision}, "
                f"and base is at {desk.revision}",
                f"Look whether the task still stands, then: gatekeeper claim {standing.task}.",
            )
        return _rewritten(desk, known, standing, dict(standing.fields), ask, "renewed", standing.locks)

    return _decided(attempt)


def release(
    desk: Desk, task_id: str | None, agent: str | None, outcome: str | None, *, sign: bool
) -> dict[str, object]:
    """Log the branch's claim, with its outcome if one is given, and free the task and its locks."""
    holding = _Holding(desk, task_id, agent)
    tasks = [task_id] if task_id else desk.store.guess(desk.branch, desk.now)

    def attempt() -> dict[str, object]:
        known = desk.store.learn(tasks)
        standing = holding.find(known)
        if standing.task not in tasks:
            tasks.append(standing.task)
            known = desk.store.learn(tasks)
            standing = holding.find(known)
        return _ended(desk, known, standing, outcome, sign=sign)

    return _decided(attempt)


def _ended(
    desk: Desk, known: Known, standing: Claim, outcome: str | None, *, sign: bool
) -> dict[str, object]:
    fields = dict(standing.fields) | ({"outcome": outcome} if outcome else {})
    unknown = standing.ref in known.own
    if unknown:
        fields.pop("local", None)
        final = desk.write(fields, sign=sign or standing.signature is not None)
    else:
        final = desk.store.write(encode(fields)) if outcome else standing.oid
    at = desk.stamp(known, standing.task, refs.log_prefix(standing.task))
    move = transitions.end(standing, at, final, known.locks)
    desk.store.apply(known, move[:1] if unknown else move)
    if unknown:
        desk.store.forget(standing)
    return fields


# -- steal ------------------------------------------------------------------------------------


def steal(desk: Desk, task_id: str, claimant: Claimant, ask: Ask, *, override: bool = False) -> Taken | None:
    """Take over an expired claim, which is logged as stolen first; None where the refs were only cleared.

    A malformed claim, and one of a task that has left queued/, is cleared and nothing is taken.
    """
    return _decided(lambda: _stolen(desk, task_id, claimant, ask, override=override))


def _stolen(desk: Desk, task_id: str, claimant: Claimant, ask: Ask, *, override: bool) -> Taken | None:
    known = desk.store.learn([task_id])
    standing = desk.store.standing(known, desk.now).get(task_id)
    if standing is None:
        raise Refusal(f"nobody holds {quoted(task_id)}", f"Claim it: gatekeeper claim {task_id}.")
    here = standing.ref in known.own
    if isinstance(standing, Malformed):
        at = desk.stamp(known, task_id, refs.malformed_ref(task_id, ""))
        desk.store.apply(known, transitions.clear(task_id, standing.oid, at, known.locks), here=here)
        return None
    if desk.now <= standing.expires_at and not override:
        raise Refusal(
            f"{held_by(standing, desk.now)}: a live claim is not stolen: operator override required",
            "An operator may: gatekeeper steal ID --override.",
        )
    at = desk.stamp(known, task_id, refs.log_prefix(task_id))
    final = desk.store.write(encode(dict(standing.fields) | {"outcome": "stolen"}))
    end = transitions.end(standing, at, final, known.locks)
    if desk.queued(task_id) is None:
        desk.store.apply(known, end, here=here)
        return None
    # A claim may have been taken up --again while its task is in review: it is over like any other.
    task = admitted(desk, known, task_id, claimant._replace(again=True))
    _check_locks(desk, known, task.locks, own=standing.oid)
    if not override:
        _check_caps(desk, known, task_id)
    history = desk.store.history(known, task_id, desk.now)
    fields = desk.fresh(task, claimant.agent, claimant.branch or "", ask.minutes, next_epoch(history.claims))
    blob = desk.write(fields, sign=ask.sign or desk.must_sign)
    if here:  # the remote never knew the claim: it learns how that ended, and of ours
        move = (end[0], *transitions.take(task_id, task.locks, blob))
    else:
        move = transitions.take_over(standing, at, final, task.locks, blob, known.locks)
    desk.store.apply(known, move)
    return Taken(fields, "stolen")
