"""The clone's claim refs, made to follow the remote's.

The remote is the authority; the mirror is for `guard` and for whoever has no network. Every change names
the value that the clone held before the remote was asked: what another process of this clone wrote
meanwhile is newer than what was learnt here, and is never undone.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from gatekeeper.claims import refs
from gatekeeper.claims.strictjson import UnreadableError, read_object
from gatekeeper.claims.transitions import RefUpdate
from gatekeeper.errors import RepositoryUnreadable
from gatekeeper.model import ABSENT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet
    from pathlib import Path

    from gatekeeper.edges.claimrefs import Row
    from gatekeeper.edges.git import Done, Repository, View

_ZERO = {"sha1": "0" * 40, "sha256": "0" * 64}

HITCHES = 12
"""Transactions that may fail while the refs are looked for that can't be moved; the others are moved all the same."""

_ALONE = "gatekeeper-alone"


def update(repository: Repository, updates: Iterable[RefUpdate]) -> Done:
    """One transaction on the clone's refs, prepared and committed as one; how it ended is the caller's to judge.

    A symbolic ref is itself moved or deleted, never what it points at.
    """
    zero = _ZERO[repository.object_format].encode()
    script = [b"start"]
    for ref, old, new in updates:
        name, was = os.fsencode(ref), old.encode() or zero
        script += [b"option no-deref"]
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
) -> str:
    """Move the clone's refs from what they were seen to hold to what they shall hold; what git complains of, if it does.

    `had` and `wanted` map refs to blobs; those that are `there` already are not copied. Where a ref can't be
    moved, by another process of this clone or for good, the others are: it must not stop the whole mirror.
    """
    changes = [
        RefUpdate(ref, had.get(ref, ABSENT), wanted.get(ref, ABSENT))
        for ref in sorted({*wanted, *had})
        if wanted.get(ref) != had.get(ref)
    ]
    if not changes:
        return ""
    known = {*there, *had.values()}
    bring_over(repository, view, (change.new for change in changes if change.new not in known))
    first = _in_the_way(changes)
    said = _moved(repository, first)
    return _moved(repository, [change for change in changes if change not in first]) or said


def _in_the_way(changes: Sequence[RefUpdate]) -> list[RefUpdate]:
    """The deletions that make room for a name: git has no `a` beside `a/b`, within one transaction neither."""
    made = {change.ref for change in changes if change.new}
    above = {folder for ref in made for folder in _folders(ref)}
    return [c for c in changes if not c.new and (c.ref in above or not made.isdisjoint(_folders(c.ref)))]


def _folders(ref: str) -> Iterator[str]:
    """The names that a ref stands below."""
    while ref := ref.rpartition("/")[0]:
        yield ref


def _moved(repository: Repository, changes: Sequence[RefUpdate]) -> str:
    """Move refs together, or in halves of halves where one of them can't be moved; git's last complaint of one."""
    said, hitches, parts = "", 0, [changes]
    while parts and hitches < HITCHES:
        part = parts.pop()
        done = update(repository, part) if part else None
        if done is not None and done.status:
            if len(part) == 1 and b"dangling symref" in done.err and _undangled(repository, part[0].ref):
                parts.append(part)
                continue
            said, hitches = why(done), hitches + 1
            half = len(part) // 2
            parts += [part[half:], part[:half]] if half else []
    return said


def _undangled(repository: Repository, ref: str) -> bool:
    """Delete a symbolic ref that points at nothing: a newer git creates no ref in its place, and lists none there."""
    target = repository.git("symbolic-ref", "--quiet", ref).out.rstrip(b"\n")
    script = [b"option no-deref", b"symref-delete " + os.fsencode(ref), target, b""]
    return repository.git("update-ref", "--stdin", "-z", stdin=b"\0".join(script)).status == 0


def why(done: Done) -> str:
    """What git says of a transaction that failed: its first line, which names the ref. What follows is advice."""
    lines = done.err.decode("utf-8", "replace").strip().splitlines()
    return lines[0][:300] if lines else "git update-ref failed"


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


def local_only(
    rows: Sequence[Row],
    theirs: Mapping[str, str],
    blobs: Mapping[str, bytes | None],
    older: AbstractSet[tuple[str, str]],
) -> set[str]:
    """The clone's refs that carry a claim which the remote never knew, where it holds none of its refs.

    Such claims were made with `--local`, or are of the refs that are `older` than the remote, as log entries may be.
    `rows` are the clone's, `theirs` the remote's refs, `blobs` what the clone's claim refs hold. Where the remote
    holds one of its refs, the remote wins, and the claim goes whole.
    """
    kept = {ref for ref, oid, _ in rows if ref.startswith(refs.LOG) and (ref, oid) in older} - theirs.keys()
    for ref, oid, _ in rows:
        data = blobs.get(ref) if ref.startswith(refs.CLAIMS) else None
        if data is None or not ((ref, oid) in older or _is_local(data)):
            continue
        own = {name for name, held, _ in rows if held == oid}
        if not own & theirs.keys():
            kept |= own
    return kept


def alone(common_dir: Path) -> None:
    """Note that claim refs are written in a clone that has no remote: none that it gets knows of them."""
    with suppress(OSError):  # then its refs can't be written either, and that is told
        (common_dir / _ALONE).write_bytes(b"")


def older(repository: Repository, theirs: Mapping[str, str]) -> AbstractSet[tuple[str, str]]:
    """The refs of this clone, and what they held, from when it had no remote; listed at the first look at one.

    A ref that holds something else by now has been moved since, and is none of them any more.
    """
    path = repository.common_dir / _ALONE
    try:
        listed = path.read_bytes()
        if not listed:
            rows = repository.refs([refs.SWARM])
            listed = os.fsencode("".join(f"{ref} {oid}\n" for ref, oid, _ in rows if ref not in theirs))
            fresh = path.with_name(f"{_ALONE}.{os.getpid()}")
            fresh.write_bytes(listed)
            fresh.replace(path)
    except OSError:
        return frozenset()
    pairs = (line.rpartition(" ") for line in os.fsdecode(listed).split("\n") if line)
    return {(ref, oid) for ref, _, oid in pairs}


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
