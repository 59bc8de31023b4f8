"""The clone's claim refs, made to follow the remote's.

The remote is the authority; the mirror is for `guard` and for whoever has no network. Every change names
the value that the clone held before the remote was asked: what another process of this clone wrote
meanwhile is newer than what was learnt here, and is never undone.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gatekeeper.claims import refs
from gatekeeper.claims.strictjson import UnreadableError, read_object
from gatekeeper.claims.transitions import RefUpdate
from gatekeeper.errors import RepositoryUnreadable
from gatekeeper.model import ABSENT

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from gatekeeper.edges.claimrefs import Row
    from gatekeeper.edges.git import Done, Repository, View

_ZERO = {"sha1": "0" * 40, "sha256": "0" * 64}


def update(repository: Repository, updates: Iterable[RefUpdate]) -> Done:
    """One transaction on the clone's refs, prepared and committed as one; how it ended is the caller's to judge."""
    zero = _ZERO[repository.object_format].encode()
    script = [b"start"]
    for ref, old, new in updates:
        name, was = os.fsencode(ref), old.encode() or zero
        script += [b"update " + name, new.encode(), was] if new else [b"delete " + name, was]
    return repository.git(
        "update-ref", "--stdin", "-z", stdin=b"\0".join([*script, b"prepare", b"commit", b""])
    )


def follow(
    repository: Repository,
    view: View,
    had: Mapping[str, str],
    wanted: Mapping[str, str],
    there: AbstractSet[str] = frozenset(),
) -> bool:
    """Move the clone's refs from what they were seen to hold to what they shall hold, all or none.

    `had` and `wanted` map refs to blobs; those that are `there` already are not copied. False where another process of this clone moved one of them.
    """
    changes = [
        RefUpdate(ref, had.get(ref, ABSENT), wanted.get(ref, ABSENT))
        for ref in sorted({*wanted, *had})
        if wanted.get(ref) != had.get(ref)
    ]
    if not changes:
        return True
    known = {*there, *had.values()}
    bring_over(repository, view, (change.new for change in changes if change.new not in known))
    return update(repository, changes).status == 0


def bring_over(repository: Repository, view: View, oids: Iterable[str]) -> None:
    """Copy blobs from the view into the clone. Raises RepositoryUnreadable where git can't."""
    wanted = "".join(f"{oid}\n" for oid in dict.fromkeys(oids) if oid)
    if not wanted:
        return
    packed = view.git("pack-objects", "--stdout", "--quiet", stdin=wanted.encode())
    done = repository.git("unpack-objects", "-q", stdin=packed.out)
    if packed.status or done.status:
        raise RepositoryUnreadable(
            f"git can't keep the remote's claims: {packed.complaint} {done.complaint}".strip(),
            "Run `git fsck`.",
        )


def local_only(rows: Sequence[Row], theirs: Mapping[str, str], blobs: Mapping[str, bytes | None]) -> set[str]:
    """The clone's refs that carry a claim made with `--local`, where the remote holds none of its refs.

    `rows` are the clone's, `theirs` the remote's refs, `blobs` what the clone's claim refs hold. Where the remote
    holds one of its refs, the remote wins, and the claim goes whole.
    """
    kept: set[str] = set()
    for ref, oid, _ in rows:
        data = blobs.get(ref) if ref.startswith(refs.CLAIMS) else None
        if data is None or not _is_local(data):
            continue
        own = {name for name, held, _ in rows if held == oid}
        if not own & theirs.keys():
            kept |= own
    return kept


def _is_local(data: bytes) -> bool:
    """Whether a blob says of itself that the remote does not know it."""
    try:
        return read_object(data).get("local") is True
    except UnreadableError:
        return False


def locks_of(data: bytes | None) -> list[str]:
    """The lock refs that a claim's blob names; none where it can't be read."""
    try:
        keys = read_object(data or b"").get("locks")
    except UnreadableError:
        return []
    return [refs.lock_ref(key) for key in keys if isinstance(key, str)] if isinstance(keys, list) else []
