"""What a task's claims, standing and logged, say when they are put in order. CONTRACT 3.

Pure functions over what was read. A claim may be seen more than once: still standing and
already logged, in the log and in its archive, before and after a renewal. It is one claim,
and its strictest end counts: since outcomes are not signed, nobody undoes a `stolen` by
logging the same claim a second time without it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple, Self

from gatekeeper.claims.blob import LAST_EPOCH
from gatekeeper.model import NOTHING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from datetime import datetime

    from gatekeeper.model import Claim, Malformed

_ENDS = (None, "done", "failed", "abandoned", "stolen")


class _Fields(NamedTuple):
    task: str
    claims: tuple[Claim, ...]
    malformed: tuple[Malformed, ...]
    lock_oids: Mapping[str, str]


class History(_Fields):
    """Everything that the refs say of one task's claims.

    `claims` come in any order and leave in the order of the contract, each claim once (see `ordered`).
    `malformed` is what could not be read. `lock_oids` maps lock refs that exist to their blobs.
    """

    __slots__ = ()

    def __new__(
        cls,
        task: str,
        claims: Iterable[Claim] = (),
        malformed: Iterable[Malformed] = (),
        lock_oids: Mapping[str, str] = NOTHING,
    ) -> Self:
        """A history with its claims put in order."""
        return super().__new__(cls, task, ordered(claims), tuple(malformed), lock_oids)

    @property
    def standing(self) -> Claim | Malformed | None:
        """What the claim ref holds; a `Malformed` is not "no claim"."""
        entries: tuple[Claim | Malformed, ...] = (*self.malformed, *self.claims)
        return next((entry for entry in entries if entry.standing), None)


def ordered(claims: Iterable[Claim]) -> tuple[Claim, ...]:
    """Each claim once, the oldest first: by `epoch` where all of them have it, else by `claimedAt`.

    Where that is equal the other of the two decides, then a standing claim is the newer one,
    then the later expiry, then the ref's own stamp.
    """
    once = _each_once(claims)
    by_epoch = all(claim.epoch is not None for claim in once)

    def place(claim: Claim) -> tuple[int, datetime, int, bool, datetime, str, str]:
        epoch = claim.epoch or 0
        stamp = claim.ref.rpartition("/")[2].removesuffix(".json")
        return (
            epoch if by_epoch else 0,
            claim.claimed_at,
            epoch,
            claim.standing,
            claim.expires_at,
            stamp,
            claim.oid,
        )

    return tuple(sorted(once, key=place))


def counting(history: History, put_back: Callable[[Claim], bool] | Mapping[str, bool]) -> tuple[Claim, ...]:
    """The claims that still count, oldest first.

    `put_back` answers of a claim (or maps its `base_commit` to the answer) whether in
    `base_commit..base`, first parents, a commit brought the task back into queued/: then the claim
    ended, whether its refs are still there or not. Where the mapping holds no answer the claim
    counts, as one whose base commit is unknown does (GK117 speaks of it).
    """
    if isinstance(put_back, Mapping):
        answers = put_back
        return ordered(claim for claim in history.claims if not answers.get(claim.base_commit, False))
    return ordered(claim for claim in history.claims if not put_back(claim))


def of_branch(claims: Iterable[Claim], branch: str) -> tuple[Claim, ...]:
    """The claims made for exactly this branch, in the order given."""
    return tuple(claim for claim in claims if claim.branch == branch)


def newest(claims: Sequence[Claim]) -> Claim | None:
    """The last of claims in order; None where there is none."""
    return claims[-1] if claims else None


def newest_of(claims: Iterable[Claim], branch: str) -> Claim | None:
    """This branch's newest claim, among claims in order."""
    return newest(of_branch(claims, branch))


def first_of(claims: Iterable[Claim], branch: str) -> Claim | None:
    """This branch's first claim, among claims in order (GK121)."""
    return next(iter(of_branch(claims, branch)), None)


def superseding(claims: Sequence[Claim], branch: str) -> Claim | None:
    """The newest claim for another branch that followed this branch's newest, among claims in order (GK113).

    None where no other followed, and where this branch has no claim at all (that is GK112's).
    """
    mine = newest_of(claims, branch)
    last = newest(claims)
    return last if mine is not None and last is not None and last.branch != branch else None


def in_review(claims: Iterable[Claim]) -> bool:
    """The newest log entry says `done`, among the counting claims in order; that base does not is the caller's to ask."""
    logged = [claim for claim in claims if not claim.standing or claim.outcome is not None]
    return bool(logged) and logged[-1].outcome == "done"


def state(claim: Claim, now: datetime) -> str:
    """`live`, `expired` (past its expiry, not at that moment itself) or `released` (it stands no more)."""
    if not claim.standing:
        return "released"
    return "expired" if now > claim.expires_at else "live"


def next_epoch(claims: Iterable[Claim]) -> int:
    """One more than any earlier claim of the task has; a forged last one does not lead out of what can be read."""
    return min(max((claim.epoch or 0 for claim in claims), default=0) + 1, LAST_EPOCH)


def same_claim(one: Claim, other: Claim) -> bool:
    """Both blobs are of one claim, at different points of its life."""
    return _identity(one) == _identity(other)


def _identity(claim: Claim) -> tuple[str, str, datetime, int | None]:
    """What stays while a claim is renewed, taken up again and logged. The nonce does not."""
    return (claim.agent, claim.branch, claim.claimed_at, claim.epoch)


def _each_once(claims: Iterable[Claim]) -> list[Claim]:
    """One record for each claim: the standing blob where there is one, else the last; with the strictest end."""
    seen: dict[tuple[str, str, datetime, int | None], list[Claim]] = {}
    for claim in claims:
        seen.setdefault(_identity(claim), []).append(claim)
    return [_merged(records) for records in seen.values()]


def _merged(records: Sequence[Claim]) -> Claim:
    kept = max(records, key=lambda c: (c.standing, c.expires_at, _ENDS.index(c.outcome), c.ref, c.oid))
    end = max((claim.outcome for claim in records), key=_ENDS.index)
    return kept if kept.outcome == end else kept._replace(outcome=end)
