"""What is amiss in the claim refs, and the transition that mends each (CONTRACT 3)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gatekeeper.claims import refs
from gatekeeper.claims.transitions import RefUpdate
from gatekeeper.edges.claimstore import Conflict
from gatekeeper.model import ABSENT, Claim, Malformed
from gatekeeper.text import quoted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from collections.abc import Set as AbstractSet

    from gatekeeper.claims.transitions import Transition
    from gatekeeper.edges.claimstore import Known
    from gatekeeper.edges.desk import Desk

ROUNDS = 3
"""Times that is looked again: what is mended beside others may show something new once."""


class Mend(NamedTuple):
    """What is amiss, in words; what mends it (nothing: a person has to decide); whether in this clone alone."""

    what: str
    transition: Transition = ()
    here: bool = False


def repaired(desk: Desk) -> tuple[list[Mend], list[Mend]]:
    """Mend what can be: what was mended, and what is left for a person."""
    mended: list[Mend] = []
    left: list[Mend] = []
    for _ in range(ROUNDS):
        known = desk.store.learn_all()
        found = mends(desk, known)
        left = [mend for mend in found if not mend.transition]
        mended += [mend for mend in found if mend.transition and _applied(desk, known, mend)]
        if len(left) == len(found):
            break
    return mended, left


def _applied(desk: Desk, known: Known, mend: Mend) -> bool:
    """Whether a mend was made; one that comes too late is not needed any more, or is found again."""
    try:
        desk.store.apply(known, mend.transition, here=mend.here)
    except Conflict:
        return False
    return True


def mends(desk: Desk, known: Known) -> list[Mend]:
    """Everything that is amiss now, of what is known."""
    standing = desk.store.standing(known, desk.now)
    states = desk.states(standing)
    kept = (row for row in known.refs.items() if row[0].startswith(refs.MALFORMED))
    blocking = [
        _misnamed(desk, known, ref, oid) for ref, oid in kept if "/" not in ref[len(refs.MALFORMED) :]
    ]
    return [*blocking, *amiss(desk, known, standing, states), *_log(desk, known)]


def _misnamed(desk: Desk, known: Known, ref: str, oid: str) -> Mend:
    """A ref whose name is no task's goes aside: nobody could free it by an id, and it may stand in a folder's place."""
    aside = refs.aside_ref(ref)
    locks = [lock for lock, held in known.locks.items() if held == oid and ref.startswith(refs.CLAIMS)]
    gone = [RefUpdate(name, oid, ABSENT) for name in (ref, *locks)]
    move = (RefUpdate(aside + desk.stamp(known, aside), ABSENT, oid), *gone)
    return Mend(f"{ref} is no name that a task's ref has: it is put aside", move, ref in known.own)


def amiss(
    desk: Desk, known: Known, standing: Mapping[str, Claim | Malformed], states: Mapping[str, str]
) -> Iterator[Mend]:
    """What is amiss with claims and locks; `states` are the folders in which the claimed tasks stand on base."""
    claimed = {entry.oid for entry in standing.values()}
    for ref, oid in sorted(known.locks.items()):
        if oid not in claimed:
            yield Mend(
                f"{ref} is a lock that no claim stands behind",
                (RefUpdate(ref, oid, ABSENT),),
                ref in known.own,
            )
    for task, entry in sorted(standing.items()):
        if refs.claim_task(entry.ref) is None:
            yield _misnamed(desk, known, entry.ref, entry.oid)
            continue
        if isinstance(entry, Malformed):
            how = f"gatekeeper steal {task} clears it"
            if entry.by_clock:
                how = f"look at this machine's clock; {how} with --override"
            yield Mend(f"{entry.ref} can't be read as a claim ({entry.why}): {how}")
            continue
        if desk.now <= entry.expires_at:  # an expired claim has no need of a lock: it would only block others
            yield from _lacking(known, entry, claimed)
        if (state := states.get(task)) != "queued":
            where = f"in {state}/" if state else "no longer"
            yield Mend(f"{task} is claimed, and {where} on base: gatekeeper steal {task} clears it")


def _lacking(known: Known, claim: Claim, claimed: AbstractSet[str]) -> Iterator[Mend]:
    """The locks that a claim says it holds, and does not."""
    for key in dict.fromkeys(claim.locks):
        ref = refs.lock_ref(key)
        held = known.locks.get(ref)
        if held is None:
            lock = RefUpdate(ref, ABSENT, claim.oid)
            yield Mend(f"{claim.task} lacks its lock {quoted(key)}", (lock,), claim.ref in known.own)
        elif held != claim.oid and held in claimed:  # if no claim stands behind it, it is freed first
            yield Mend(
                f"{claim.task} says it holds lock {quoted(key)}, and another claim does: "
                "one of them has to be released"
            )


def _log(desk: Desk, known: Known) -> Iterator[Mend]:
    """Log entries that can't be read."""
    taken = set(known.refs)
    for entry in desk.store.logged(known, desk.now):
        if not isinstance(entry, Malformed):
            continue
        named = refs.log_entry(entry.ref)
        if named is None:
            yield _misnamed(desk, known, entry.ref, entry.oid)
            continue
        if entry.by_clock:
            yield Mend(f"{entry.ref} is not read yet ({entry.why}): look at this machine's clock")
            continue
        stamp = named[1]
        while refs.malformed_ref(named[0], stamp) in taken:
            stamp += "0"
        aside = RefUpdate(refs.malformed_ref(named[0], stamp), ABSENT, entry.oid)
        taken.add(aside.ref)
        move = (aside, RefUpdate(entry.ref, entry.oid, ABSENT))
        yield Mend(f"{entry.ref} can't be read ({entry.why}): it is put aside", move)
