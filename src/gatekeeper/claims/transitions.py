"""What each command does to the claim refs, as data: updates that name the value they replace (CONTRACT 3).

All updates of one transition are applied together or not at all. Nothing here reads or writes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gatekeeper.claims import refs
from gatekeeper.model import ABSENT

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from gatekeeper.model import Claim


class RefUpdate(NamedTuple):
    """One ref and what happens to it: `old` must be what it holds (ABSENT: it must not be there), `new` is then."""

    ref: str
    old: str
    new: str


Transition = tuple[RefUpdate, ...]


def take(task: str, locks: Iterable[str], blob: str) -> Transition:
    """A new claim and its locks, none of which may be there."""
    names = [refs.claim_ref(task), *lock_refs(locks)]
    return tuple(RefUpdate(ref, ABSENT, blob) for ref in names)


def supposed(claim: Claim, held: Mapping[str, str]) -> dict[str, str]:
    """The lock refs as they are by the protocol, of which `held` may be a torn look: each of the claim's carries its blob."""
    return {**held, **dict.fromkeys(lock_refs(claim.locks), claim.oid)}


def rewrite(claim: Claim, locks: Iterable[str], blob: str, held: Mapping[str, str]) -> Transition:
    """The claim's blob in place of another: its claim ref and the locks that it keeps move together.

    Locks that it no longer has go, new ones come. `held` maps the lock refs that exist to their blobs.
    """
    wanted, had = lock_refs(locks), lock_refs(claim.locks)
    moved = [RefUpdate(refs.claim_ref(claim.task), claim.oid, blob)]
    for ref in wanted:
        own = held.get(ref) == claim.oid
        moved.append(RefUpdate(ref, claim.oid if own else ABSENT, blob))
    moved += [
        RefUpdate(ref, claim.oid, ABSENT) for ref in had if ref not in wanted and held.get(ref) == claim.oid
    ]
    return tuple(moved)


def end(claim: Claim, stamp: str, final: str, held: Mapping[str, str]) -> Transition:
    """The final blob goes to the log, and the claim and its locks go."""
    return (RefUpdate(refs.log_ref(claim.task, stamp), ABSENT, final), *free(claim.task, claim.oid, held))


def take_over(
    claim: Claim, stamp: str, final: str, locks: Iterable[str], blob: str, held: Mapping[str, str]
) -> Transition:
    """Somebody else's claim goes to the log, and ours stands in its place, in one step."""
    return (RefUpdate(refs.log_ref(claim.task, stamp), ABSENT, final), *rewrite(claim, locks, blob, held))


def clear(task: str, oid: str, stamp: str, held: Mapping[str, str]) -> Transition:
    """What can't be read as a claim is kept aside, and its refs go."""
    return (RefUpdate(refs.malformed_ref(task, stamp), ABSENT, oid), *free(task, oid, held))


def free(task: str, oid: str, held: Mapping[str, str]) -> Transition:
    """The claim ref of a task and every lock ref that carries the same blob go."""
    gone = [ref for ref, blob in sorted(held.items()) if blob == oid]
    return tuple(RefUpdate(ref, oid, ABSENT) for ref in (refs.claim_ref(task), *gone))


def lock_refs(locks: Iterable[str]) -> list[str]:
    """The refs of some lock keys, each once, in order."""
    return list(dict.fromkeys(refs.lock_ref(key) for key in locks))
