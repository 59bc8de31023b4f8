"""The codec of a claim's blob: strict to read, exact to sign, stable to write. CONTRACT 3.

Whoever can push can write any bytes under `refs/swarm/`. Reading never raises: what can't be
read is a `Malformed` that says why in one plain line. Fields that are not known are kept, so
that a claim which is logged or signed anew loses nothing.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from gatekeeper.claims.strictjson import LARGEST as LARGEST  # noqa: PLC0414  # what readers ask a size against
from gatekeeper.claims.strictjson import UnreadableError, dump, dump_lines, kind, quoted, read_object
from gatekeeper.model import Claim, Malformed

if TYPE_CHECKING:
    from collections.abc import Mapping

SKEW = timedelta(minutes=5)
"""How far two clocks may differ."""

LONGEST = timedelta(minutes=140)
"""How far ahead of now a standing claim reaches at most, where the layout says nothing longer."""

LAST_EPOCH = 2**53 - 1
"""The largest epoch: the last whole number that every JSON reader keeps exactly."""

REQUIRED = ("task", "agent", "branch", "baseCommit", "claimedAt", "expiresAt", "locks", "planRevision")
OUTCOMES = ("done", "failed", "abandoned", "stolen")
UNSIGNED = frozenset({"signature", "outcome"})
"""The fields that a signature does not cover: itself, and what is added when the claim is logged."""

_BASE = re.compile(r"[0-9a-fA-F]{40}(?:[0-9a-fA-F]{24})?")
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_ZONE = r"(?:Z|[+-]\d\d(?::?\d\d)?)"
_STAMP = re.compile(
    rf"\d{{4}}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:[.,]\d{{1,9}})?)?{_ZONE}"
    rf"|\d{{8}}T\d{{4}}(?:\d\d(?:[.,]\d{{1,9}})?)?{_ZONE}",
    re.ASCII,
)


def parse(
    data: bytes, *, ref: str, oid: str, standing: bool, task: str, now: datetime, longest: timedelta = LONGEST
) -> Claim | Malformed:
    """Read the blob that `ref` points at as a claim of `task`; never raises for any bytes.

    `standing` says that `ref` is the claim ref itself; only such a claim is held to `longest`,
    how far its expiry may lie ahead of `now` (aware). A claim of any kind that begins more than
    five minutes from `now` is malformed, and so is one that expires when it begins or earlier.
    """
    try:
        fields = read_object(data)
        _check_names(fields, task)
        begins, ends = _lease(fields)
        claim = Claim(
            task=task,
            agent=_line(fields, "agent"),
            branch=_line(fields, "branch"),
            base_commit=_base_commit(fields),
            claimed_at=begins,
            expires_at=ends,
            locks=_locks(fields),
            plan_revision=_whole(fields, "planRevision", or_null=True),
            ref=ref,
            oid=oid,
            standing=standing,
            epoch=_epoch(fields),
            nonce=_optional(fields, "nonce"),
            outcome=_outcome(fields),
            local=_flag(fields, "local"),
            signature=_optional(fields, "signature"),
            fields=fields,
        )
    except UnreadableError as why:
        return Malformed(ref=ref, oid=oid, standing=standing, why=str(why))
    ahead = _too_far_ahead(claim, now, longest)  # last: then nothing else is wrong with it
    return claim if ahead is None else Malformed(ref, oid, standing, ahead, by_clock=True)


def encode(fields: Mapping[str, object]) -> bytes:
    """The blob of these fields: UTF-8 JSON, a field a line in the order given, a newline at the end.

    Raises ValueError or TypeError for what strict JSON can't hold (NaN, lone surrogates, other objects).
    """
    return dump_lines(fields).encode()


def signed_bytes(fields: Mapping[str, object]) -> bytes:
    """What a claim's signature is over: all fields but `UNSIGNED`, keys sorted by code point, no spaces, UTF-8.

    Exactly `json.dumps(…, sort_keys=True, separators=(",", ":"), ensure_ascii=False)`, with
    numbers as they stand in the blob. Raises as `encode` does.
    """
    return dump({k: v for k, v in fields.items() if k not in UNSIGNED}, ordered=True).encode()


def iso(moment: datetime) -> str:
    """An aware moment as claims carry it: `YYYY-MM-DDTHH:MM:SS.mmmZ`. Raises ValueError for a naive one."""
    if moment.tzinfo is None:
        raise ValueError("a moment without a time zone is none")
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"


def stamp(moment: datetime) -> str:
    """An aware moment as log refs carry it: `YYYYMMDDTHHMMSSmmmZ`. Raises ValueError for a naive one."""
    return re.sub(r"[-:.]", "", iso(moment))


def read_moment(text: str) -> datetime | None:
    """The moment of an ISO 8601 stamp that names its offset, in UTC to the microsecond; None for other text."""
    if not _STAMP.fullmatch(text):
        return None
    try:
        return datetime.fromisoformat(text).astimezone(UTC)
    except (ValueError, OverflowError):  # no such day, or an offset that leads out of the calendar
        return None


def _check_names(fields: Mapping[str, Any], task: str) -> None:
    """All eight fields are there, and `task` is the ref's."""
    missing = [name for name in REQUIRED if name not in fields]
    if missing:
        raise UnreadableError("it lacks " + ", ".join(f"`{name}`" for name in missing))
    named = _line(fields, "task")
    if named != task:
        raise UnreadableError(f"its `task` is {quoted(named)}, its ref's is {quoted(task)}")


def _unfit(fields: Mapping[str, Any], name: str, wanted: str) -> UnreadableError:
    return UnreadableError(f"its `{name}` is {kind(fields[name])}, not {wanted}")


def _text(fields: Mapping[str, Any], name: str) -> str:
    value = fields[name]
    if not isinstance(value, str):
        raise _unfit(fields, name, "a text")
    return value


def _line(fields: Mapping[str, Any], name: str) -> str:
    """A text that is not blank and holds no control character or line break of any kind."""
    value = _text(fields, name)
    if not value.strip():
        raise UnreadableError(f"its `{name}` is empty")
    if _CONTROL.search(value):
        raise UnreadableError(f"its `{name}` holds a control character: {quoted(value)}")
    return value


def _optional(fields: Mapping[str, Any], name: str) -> str | None:
    return _text(fields, name) if name in fields else None


def _base_commit(fields: Mapping[str, Any]) -> str:
    value = _text(fields, "baseCommit")
    if not _BASE.fullmatch(value):
        raise UnreadableError(f"its `baseCommit` is no full object name: {quoted(value)}")
    return value.lower()


def _locks(fields: Mapping[str, Any]) -> tuple[str, ...]:
    value = fields["locks"]
    if not isinstance(value, list):
        raise _unfit(fields, "locks", "a list of texts")
    if not all(isinstance(key, str) and key for key in value):
        raise UnreadableError("its `locks` hold something that is no text, or an empty one")
    return tuple(value)


def _whole(fields: Mapping[str, Any], name: str, *, or_null: bool = False) -> int | None:
    value = fields[name]
    if value is None and or_null:
        return None
    if type(value) is not int:  # True is an int to Python
        raise _unfit(fields, name, "a whole number" + (" or null" if or_null else ""))
    return value


def _epoch(fields: Mapping[str, Any]) -> int | None:
    value = _whole(fields, "epoch") if "epoch" in fields else None
    if value is not None and not 1 <= value <= LAST_EPOCH:
        raise UnreadableError(f"its `epoch` is not between 1 and {LAST_EPOCH}")
    return value


def _outcome(fields: Mapping[str, Any]) -> str | None:
    value = _optional(fields, "outcome")
    if value is not None and value not in OUTCOMES:
        raise UnreadableError(f"its `outcome` is {quoted(value)}, which is none of {', '.join(OUTCOMES)}")
    return value


def _flag(fields: Mapping[str, Any], name: str) -> bool:
    value = fields.get(name, False)
    if not isinstance(value, bool):
        raise _unfit(fields, name, "true or false")
    return value


def _lease(fields: Mapping[str, Any]) -> tuple[datetime, datetime]:
    """When the claim begins and ends."""
    begins, ends = _moment(fields, "claimedAt"), _moment(fields, "expiresAt")
    if ends <= begins:
        raise UnreadableError("it expires before it begins, or at that moment")
    return begins, ends


def _too_far_ahead(claim: Claim, now: datetime, longest: timedelta) -> str | None:
    """Why the claim is none yet by this clock, in differences, since a sum could leave the calendar."""
    if claim.claimed_at - now > SKEW:
        return f"it begins later than now: `claimedAt` is {iso(claim.claimed_at)}"
    if claim.standing and claim.expires_at - now > longest:
        minutes = longest // timedelta(minutes=1)
        return f"it reaches more than {minutes} minutes ahead: `expiresAt` is {iso(claim.expires_at)}"
    return None


def _moment(fields: Mapping[str, Any], name: str) -> datetime:
    value = _text(fields, name)
    moment = read_moment(value)
    if moment is None:
        raise UnreadableError(f"its `{name}` is no ISO 8601 time in UTC: {quoted(value)}")
    return moment
