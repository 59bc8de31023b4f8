"""Taking over what another's claim holds: `steal` (CONTRACT 3)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gatekeeper.claims import admission, refs, transitions
from gatekeeper.claims.blob import encode
from gatekeeper.claims.history import next_epoch
from gatekeeper.edges.desk import Desk, held_by
from gatekeeper.errors import Refusal
from gatekeeper.holding import (
    Naming,
    Taken,
    Unsettled,
    admitted,
    check_caps,
    check_locks,
    decided,
    end,
    epoch_after_log,
)
from gatekeeper.model import Claim, Malformed
from gatekeeper.text import quoted

if TYPE_CHECKING:
    from gatekeeper.claims.admission import Claimant
    from gatekeeper.edges.claimstore import Known
    from gatekeeper.holding import Ask
    from gatekeeper.model import Task


class Cleared(NamedTuple):
    """A claim whose refs were freed, and why nothing was taken in its place."""

    why: str


def steal(
    desk: Desk, task_id: str, claimant: Claimant, ask: Ask, *, override: bool = False
) -> Taken | Cleared:
    """Take over an expired claim, which is logged as stolen first.

    A malformed claim is cleared and nothing is taken. So is one of a task that the thief can't have: or it would
    hold its locks for ever. A task that only a cap keeps from the thief stays as it is. Raises Refusal.
    """
    return decided(lambda naming: _stolen(desk, task_id, claimant, ask, naming, override=override))


def clear(desk: Desk, task_id: str) -> None:
    """Log an expired claim as stolen and free its refs; take nothing. Raises Refusal where it is live, or gone."""

    def attempt(naming: Naming) -> None:
        known = desk.store.learn([task_id])
        standing = _over(desk, known, task_id, override=False)
        if isinstance(standing, Claim):
            end(desk, known, standing, _as_stolen(desk, standing), naming)

    decided(attempt)


def _stolen(
    desk: Desk, task_id: str, claimant: Claimant, ask: Ask, naming: Naming, *, override: bool
) -> Taken | Cleared:
    known = desk.store.learn([task_id])
    standing = _over(desk, known, task_id, override=override)
    if isinstance(standing, Malformed):
        at = desk.stamp(known, refs.malformed_ref(task_id, ""))
        move = transitions.clear(task_id, standing.oid, at, known.locks)
        desk.store.apply(known, move, here=standing.ref in known.own)
        return Cleared(f"{standing.ref} can't be read as a claim: {standing.why}")
    try:
        task = _takeable(desk, known, standing, claimant)
    except Unsettled:
        raise
    except Refusal as denied:
        end(desk, known, standing, _as_stolen(desk, standing), naming)
        return Cleared(denied.message)
    if not override:
        check_caps(desk, known, task_id)
    return _taken_over(desk, known, standing, task, claimant, ask, naming)


def _over(desk: Desk, known: Known, task_id: str, *, override: bool) -> Claim | Malformed:
    """The claim that stands, if it may be taken away. Raises Refusal."""
    standing = desk.store.standing(known, desk.now).get(task_id)
    if standing is None:
        raise Refusal(f"nobody holds {quoted(task_id)}", f"Claim it: gatekeeper claim {task_id}.")
    live = standing.by_clock if isinstance(standing, Malformed) else desk.now <= standing.expires_at
    if live and not override:
        raise Refusal(
            f"{held_by(standing, desk.now)}: a live claim is not stolen: operator override required",
            "An operator may: gatekeeper steal ID --override.",
        )
    return standing


def _takeable(desk: Desk, known: Known, standing: Claim, claimant: Claimant) -> Task:
    """Base's copy of the task. Raises Refusal where this claimant can't have it now, Unsettled where that is no answer."""
    task_id = standing.task
    if desk.queued(task_id) is None:
        raise Refusal(f"{task_id} is not queued on {desk.base_name} any more")
    no_place = admission.placeless(desk.says([]), claimant)
    if no_place is not None:  # the thief can mend that
        raise Unsettled(no_place.why, no_place.help)
    # A claim may have been taken up --again while its task is in review: it is over like any other.
    task = admitted(desk, known, task_id, claimant._replace(again=True))
    check_locks(desk, known, task.locks, own=standing.oid)
    epoch_after_log(desk, known, task_id)
    return task


def _as_stolen(desk: Desk, standing: Claim) -> str:
    """The final blob: an outcome more, and nothing else changed, or a signature would hold no more."""
    return desk.store.write(encode(dict(standing.fields) | {"outcome": "stolen"}))


def _taken_over(
    desk: Desk, known: Known, standing: Claim, task: Task, claimant: Claimant, ask: Ask, naming: Naming
) -> Taken:
    epoch = next_epoch(desk.store.history(known, task.id, desk.now).claims)
    fields = desk.fresh(task, claimant.agent, claimant.branch or "", ask.minutes, epoch)
    blob = desk.write(fields, sign=ask.sign or desk.must_sign)
    at = desk.stamp(known, refs.log_prefix(task.id))
    final, held = _as_stolen(desk, standing), naming.locks(standing, known)
    if standing.ref in known.own:  # the remote never knew the claim: it learns how that ended, and of ours
        logged = transitions.end(standing, at, final, held)[:1]
        desk.store.apply(known, (*logged, *transitions.take(task.id, task.locks, blob)))
    else:
        desk.store.apply(known, transitions.take_over(standing, at, final, task.locks, blob, held))
    return Taken(fields, "stolen")
