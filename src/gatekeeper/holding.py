"""The claim protocol's moves on a desk: claim, renew, release (CONTRACT 3); `stealing.py` and `choosing.py` are built on it.

Each reads what the authority holds, decides, and applies one transition by compare-and-swap. One that
comes too late reads and decides again: then it is refused with who holds the task, and has written nothing.
"""

from __future__ import annotations

import os
from datetime import timedelta
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from gatekeeper.claims import admission, refs, transitions
from gatekeeper.claims.blob import encode, iso
from gatekeeper.claims.history import next_epoch, same_claim
from gatekeeper.edges.claimstore import EXISTS, TRIES, Conflict, Known
from gatekeeper.edges.desk import NONCE_BYTES, Desk, held_by
from gatekeeper.errors import Refusal, RemoteUnreachable
from gatekeeper.model import ABSENT, Claim, Malformed, Task
from gatekeeper.text import quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from gatekeeper.claims.admission import Claimant
    from gatekeeper.edges.desk import Standing

T = TypeVar("T")


class Taken(NamedTuple):
    """A claim that was made, taken back up or renewed: its blob's fields, and how (`claimed`, `again`, `stolen`, `renewed`)."""

    fields: dict[str, object]
    how: str


class Ask(NamedTuple):
    """How a claim is to be: its lease in minutes, whether it is signed, and whether it stays in this clone."""

    minutes: int = 30
    sign: bool = False
    local: bool = False


class Unsettled(Refusal):
    """A claim can't be moved as long as something beside it is out of joint; it is not lost by that."""


class Naming:
    """Which locks a transition names, one attempt after the other.

    First all that the claim says it has, each with its blob: by the protocol they carry it, and a look that
    showed otherwise was torn. Where that is refused they are named as they were seen, or a claim whose lock
    is gone could never end.
    """

    def __init__(self) -> None:
        self._refused: set[str] = set()

    def locks(self, claim: Claim, known: Known) -> Mapping[str, str]:
        """The lock refs and their blobs, for this attempt."""
        if claim.oid in self._refused:
            return known.locks
        self._refused.add(claim.oid)  # unless it goes through, and then nobody asks again
        return transitions.supposed(claim, known.locks)


def decided(attempt: Callable[[Naming], T]) -> T:
    """Read, decide and write; where somebody was first, all of it again. Raises Conflict if that never ends."""
    naming = Naming()
    for _ in range(TRIES - 1):
        try:
            return attempt(naming)
        except Conflict:
            continue
    return attempt(naming)


# -- claim -----------------------------------------------------------------------------


def claim(desk: Desk, task_id: str, claimant: Claimant, ask: Ask) -> Taken:
    """Claim one task, or take one's own claim on it back up. Raises Refusal, and says who holds it."""

    def attempt(naming: Naming) -> Taken:
        known = desk.store.learn([task_id])
        standing = desk.store.standing(known, desk.now).get(task_id)
        own = standing if isinstance(standing, Claim) and is_mine(standing, claimant) else None
        again = claimant.again or (own is not None and _as_it_was_made(desk, known, own))
        task = admitted(desk, known, task_id, claimant._replace(again=again))
        if standing is not None and own is None:
            raise _held(task_id, standing, desk.now)
        check_caps(desk, known, task_id)
        if own is not None:
            return _again(desk, known, task, own, ask, naming)
        return take(desk, known, task, claimant, ask)

    return decided(attempt)


def _as_it_was_made(desk: Desk, known: Known, own: Claim) -> bool:
    """Whether nobody had the task since one's own claim was made, which only the remote can say of a local one.

    Then whether the task was in review was asked when it was made, and has not changed.
    """
    return own.ref not in known.own or own.epoch == epoch_after_log(desk, known, own.task)


def admitted(desk: Desk, known: Known, task_id: str, claimant: Claimant) -> Task:
    """Base's queued copy of a task that may be claimed. Raises Refusal."""
    task = desk.queued(task_id)
    asked = [task_id, *(task.depends_on if task else ())]
    review = task is not None and desk.in_review(known, task_id)
    denial = admission.denied(task_id, task, desk.says(asked), claimant, desk.now.date(), in_review=review)
    if denial is not None or task is None:
        raise Refusal(denial.why if denial else task_id, denial.help if denial else "")
    return task


def check_caps(desk: Desk, known: Known, task_id: str) -> None:
    """Raise Refusal where a claim on the task would exceed the policy's cap."""
    denial = admission.over_cap(task_id, desk.says([]), desk.live(known))
    if denial is not None:
        raise Refusal(denial.why, denial.help)


def is_mine(standing: Claim, claimant: Claimant) -> bool:
    """Whether a claim is the claimant's: the same agent, on the same branch."""
    return standing.agent == claimant.agent and standing.branch == claimant.branch


def _held(task_id: str, standing: Claim | Malformed, now: datetime) -> Refusal:
    if isinstance(standing, Malformed):
        hint = clearing(standing)
    elif now > standing.expires_at:
        hint = f"It has expired: gatekeeper steal {task_id} takes it over."
    else:
        hint = f"Take another: gatekeeper claim --next; or wait until {iso(standing.expires_at)}."
    return Refusal(f"{refs.claim_ref(task_id)}: {EXISTS}: {held_by(standing, now)}", hint)


def clearing(claim_: Malformed) -> str:
    """How to get rid of what can't be read as a claim."""
    task = refs.claim_task(claim_.ref)
    if task is None:
        return "Put it aside: gatekeeper repair."
    if claim_.by_clock:
        return f"Look at this machine's clock; an operator may clear it: gatekeeper steal {task} --override."
    return f"Clear it: gatekeeper steal {task}."


def take(desk: Desk, known: Known, task: Task, claimant: Claimant, ask: Ask) -> Taken:
    """Make a claim on a task that nobody holds, of what is known. Raises Refusal, Conflict where somebody was first."""
    check_locks(desk, known, task.locks, own="")
    epoch = epoch_after_log(desk, known, task.id)
    fields = desk.fresh(task, claimant.agent, claimant.branch or "", ask.minutes, epoch)
    if ask.local:
        fields["local"] = True
    _place(desk, known, task.id, task.locks, desk.write(fields, sign=ask.sign or desk.must_sign))
    return Taken(fields, "claimed")


def _place(desk: Desk, known: Known, task_id: str, locks: Sequence[str], blob: str) -> None:
    """Create a claim and its locks at the authority, unless the task was had by somebody meanwhile."""
    move = transitions.take(task_id, locks, blob)
    desk.store.apply(known, move)
    if desk.store.outrun(known, task_id):  # it may be in review by now, and our epoch is not the next one
        desk.store.apply(known, tuple(update._replace(old=blob, new=ABSENT) for update in move))
        raise Conflict(f"{EXISTS}: another claim came and went", "Look with gatekeeper status.")


def epoch_after_log(desk: Desk, known: Known, task_id: str) -> int:
    """The epoch of a claim that follows all that the task's log holds.

    Raises Refusal where the log says more than this clock takes: what it says may be that the task is in review.
    """
    history = desk.store.history(known, task_id, desk.now)
    ahead = next((entry for entry in history.malformed if entry.by_clock and not entry.standing), None)
    if ahead is not None:
        raise Refusal(
            f"{ahead.ref}: {ahead.why}",
            "Look at this machine's clock. If it is right, the entry is forged: delete its ref.",
        )
    return next_epoch(c for c in history.claims if not c.standing)


def check_locks(desk: Desk, known: Known, locks: Sequence[str], own: str) -> None:
    """Raise Refusal where somebody else's claim holds one of the locks, Unsettled where no claim does."""
    held = known.locks
    standing = {c.oid: c for c in desk.store.standing(known, desk.now).values()}
    for key in locks:
        oid = held.get(refs.lock_ref(key))
        if oid is None or oid == own:
            continue
        said, holder = f"lock {quoted(key)}: {EXISTS}", standing.get(oid)
        if holder is None:
            raise Unsettled(f"{said}: no claim that stands", "Free it: gatekeeper repair.")
        if isinstance(holder, Malformed):
            raise Refusal(f"{said}: {held_by(holder, desk.now)}", clearing(holder))
        mend = "Wait until it is released."
        if desk.now > holder.expires_at:
            mend = f"It has expired: gatekeeper steal {holder.task}, and release that."
        raise Refusal(f"{said}: {holder.task}: {held_by(holder, desk.now)}", mend)


def _again(desk: Desk, known: Known, task: Task, standing: Claim, ask: Ask, naming: Naming) -> Taken:
    """One's own claim made good again: base, plan, locks and expiry anew; when it was made and its epoch stay."""
    fields = dict(standing.fields) | {
        "baseCommit": desk.base,
        "planRevision": desk.revision,
        "locks": list(task.locks),
    }
    return Taken(_rewritten(desk, known, standing, fields, ask, naming, task.locks), "again")


def _rewritten(
    desk: Desk,
    known: Known,
    standing: Claim,
    fields: dict[str, object],
    ask: Ask,
    naming: Naming,
    locks: Sequence[str],
) -> dict[str, object]:
    """A standing claim's blob in place of the one before: a later expiry, a new nonce, signed anew; its fields."""
    check_locks(desk, known, locks, own=standing.oid)
    later = max(standing.expires_at, desk.now + timedelta(minutes=ask.minutes))
    fields |= {"expiresAt": iso(later), "nonce": os.urandom(NONCE_BYTES).hex()}
    if desk.clone.remote is not None:
        fields.pop("local", None)
    unknown = standing.ref in known.own
    if unknown:  # the remote hears of it for the first time, and had others since, perhaps
        fields["epoch"] = epoch_after_log(desk, known, standing.task)
    blob = desk.write(fields, sign=ask.sign or desk.must_sign or standing.signature is not None)
    if unknown:
        _place(desk, known, standing.task, locks, blob)
    else:
        desk.store.apply(known, transitions.rewrite(standing, locks, blob, naming.locks(standing, known)))
    return fields


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


class Holder:
    """Who keeps a claim: found by the branch, the first time, and from then on that very claim, wherever HEAD is."""

    def __init__(self, task_id: str | None, agent: str | None) -> None:
        self._task, self._agent = task_id, agent
        self._seen: Claim | None = None
        self._unknown = False

    def find(self, desk: Desk, known: Known) -> Claim:
        """The claim as it stands now. Raises Refusal where there is none, or no more."""
        if self._seen is None:
            return self._see(own_claim(desk, known, self._task, self._agent), known)
        standing = desk.store.standing(known, desk.now).get(self._seen.task)
        if isinstance(standing, Malformed) and standing.by_clock:
            raise Unsettled(held_by(standing, desk.now), clearing(standing))
        if not isinstance(standing, Claim) or not self._is(standing):
            raise _lost(self._seen, standing, desk.now)
        return self._see(standing, known)

    def _see(self, standing: Claim, known: Known) -> Claim:
        self._seen, self._unknown = standing, standing.ref in known.own
        return standing

    def _is(self, standing: Claim) -> bool:
        """Whether it is the same claim; one that the remote did not know gets another epoch when it hears of it."""
        seen = self._seen
        if seen is not None and self._unknown:
            seen = seen._replace(epoch=standing.epoch)
        return seen is not None and same_claim(seen, standing)


def _lost(claim_: Claim, standing: Standing, now: datetime) -> Refusal:
    who = held_by(standing, now) if standing is not None else "nobody holds the task now"
    return Refusal(
        f"the claim on {quoted(claim_.task)} is lost: {who}", "Stop working on it; see gatekeeper status."
    )


def renew(desk: Desk, holder: Holder, ask: Ask) -> Taken:
    """Give a claim and all its locks a later expiry; an earlier one never. Raises Refusal.

    Of a claim that the remote did not know admission is asked now, as it would have been.
    """
    tasks: list[str] = []

    def attempt(naming: Naming) -> Taken:
        known, standing = _found(desk, holder, tasks, log=False)
        if standing.plan_revision != desk.revision:
            raise Refusal(
                f"the claim on {quoted(standing.task)} was made under plan revision {standing.plan_revision}, "
                f"and base is at {desk.revision}",
                f"Look whether the task still stands, then: gatekeeper claim {standing.task}.",
            )
        if standing.ref in known.own:
            again = _as_it_was_made(desk, known, standing)
            who = admission.Claimant(standing.agent, standing.branch, again)
            admitted(desk, known, standing.task, who)
            check_caps(desk, known, standing.task)
        fields = dict(standing.fields)
        return Taken(_rewritten(desk, known, standing, fields, ask, naming, standing.locks), "renewed")

    return decided(attempt)


def _found(desk: Desk, holder: Holder, tasks: list[str], *, log: bool) -> tuple[Known, Claim]:
    """What is known, of `tasks` the logs as well, and the holder's claim; with its log if asked for, or if it is local."""
    known = desk.store.learn(tasks)
    standing = holder.find(desk, known)
    if standing.task not in tasks and (log or standing.ref in known.own):
        tasks.append(standing.task)
        return _found(desk, holder, tasks, log=log)
    return known, standing


def release(
    desk: Desk, task_id: str | None, agent: str | None, outcome: str | None, *, sign: bool
) -> dict[str, object]:
    """Log the branch's claim, with its outcome if one is given, and free the task and its locks."""
    holder = Holder(task_id, agent)
    tasks = [task_id] if task_id else desk.store.guess(desk.branch, desk.now)

    def attempt(naming: Naming) -> dict[str, object]:
        known, standing = _found(desk, holder, tasks, log=True)
        fields = dict(standing.fields) | ({"outcome": outcome} if outcome else {})
        if standing.ref in known.own:
            fields.pop("local", None)
            final = desk.write(fields, sign=sign or standing.signature is not None)
        else:
            final = desk.store.write(encode(fields)) if outcome else standing.oid
        try:
            end(desk, known, standing, final, naming)
        except RemoteUnreachable as unheard:
            raise RemoteUnreachable(
                unheard.message,
                "The claim counts as given up until gatekeeper renew succeeds: stop working under it, and release it "
                "again. If refs stand in its way: gatekeeper repair.",
            ) from unheard
        return fields

    return decided(attempt)


def end(desk: Desk, known: Known, standing: Claim, final: str, naming: Naming) -> None:
    """Log a claim's final blob and free its refs; of one that the remote never knew it learns how that ended."""
    at = desk.stamp(known, refs.log_prefix(standing.task))
    move = transitions.end(standing, at, final, naming.locks(standing, known))
    if standing.ref in known.own:
        desk.store.apply(known, move[:1])
        desk.store.forget(standing)
    else:
        desk.store.apply(known, move)
