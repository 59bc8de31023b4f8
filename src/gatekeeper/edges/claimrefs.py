"""One task's claims, read from refs: the remote's where there is a remote, else the clone's own.

Only the refs of that task are asked for, and its folder of the archive, however many
others there are. What a ref holds is data of unknown hands: it is read, never followed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatekeeper.claims import refs
from gatekeeper.claims.blob import LARGEST, parse
from gatekeeper.claims.history import History
from gatekeeper.errors import HistoryMissing
from gatekeeper.model import Claim, Malformed

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence
    from datetime import datetime

    from gatekeeper.edges.git import Repository, View
    from gatekeeper.edges.remote import Remote
    from gatekeeper.question import Question

Row = tuple[str, str, str]
"""A ref (or an archive's path), an object name, an object type."""


class LocalClaims:
    """The claims in the clone's own refs."""

    def __init__(self, repository: Repository, view: View) -> None:
        self._repository = repository
        self._view = view

    def history(self, task: str, locks: Collection[str], question: Question) -> History:
        """As `edges.gather.ClaimSource.history`."""
        return _history(self._view, self._repository.refs(_patterns(task, locks)), task, locks, question.now)

    def rooted(self, base: str, commit: str) -> bool:
        """As `edges.gather.ClaimSource.rooted`; a shallow clone may not know, and then says so."""
        return _rooted(self._view, base, commit)


class RemoteClaims:
    """The claims in a remote's refs, fetched into the view. With `deepen`, history is fetched as it is asked for."""

    def __init__(self, view: View, remote: Remote, *, deepen: bool = False) -> None:
        self._view = view
        self._remote = remote
        self._deepen = deepen

    def history(self, task: str, locks: Collection[str], question: Question) -> History:
        """As `edges.gather.ClaimSource.history`."""
        self._remote.claims(task, locks)
        rows = self._view.refs(_patterns(task, locks))
        fetch = self._remote.missing if any(ref == refs.ARCHIVE for ref, _, _ in rows) else None
        return _history(self._view, rows, task, locks, question.now, fetch)

    def rooted(self, base: str, commit: str) -> bool:
        """As `edges.gather.ClaimSource.rooted`."""
        if self._deepen:
            return self._remote.reach(base, commit)
        return _rooted(self._view, base, commit)


def _rooted(view: View, base: str, commit: str) -> bool:
    """Whether `commit` is in base's history. Raises HistoryMissing where that is cut too short to tell."""
    known = view.objects.kinds([commit]).get(commit, ("missing", 0))[0] == "commit"
    if known and view.is_ancestor(commit, base):
        return True
    if view.boundary():
        raise HistoryMissing(
            f"whether a claim's base commit {commit[:12]} is in base's history can't be told in a shallow clone",
            "Fetch the rest: git fetch --unshallow (in a workflow: fetch-depth: 0).",
        )
    return False


def _patterns(task: str, locks: Collection[str]) -> list[str]:
    log = refs.log_prefix(task).rstrip("/")
    return [refs.claim_ref(task), log, refs.ARCHIVE, *dict.fromkeys(refs.lock_ref(key) for key in locks)]


def _history(
    view: View,
    rows: Sequence[Row],
    task: str,
    locks: Collection[str],
    now: datetime,
    fetch: Callable[[Iterable[str]], None] | None = None,
) -> History:
    """What the refs in `rows` hold, read as claims of `task`."""
    claim_ref = refs.claim_ref(task)
    entries = [row for row in rows if row[0] == claim_ref or _is_of(refs.log_entry(row[0]), task)]
    for ref, oid, _ in rows:
        if ref == refs.ARCHIVE:
            entries += _archived(view, oid, task, fetch)
    lock_refs = {refs.lock_ref(key) for key in locks}
    found = list(_parsed(view, entries, claim_ref, task, now))
    return History(
        task,
        tuple(entry for entry in found if isinstance(entry, Claim)),
        tuple(entry for entry in found if isinstance(entry, Malformed)),
        {ref: oid for ref, oid, _ in rows if ref in lock_refs},
    )


def _is_of(entry: tuple[str, str] | None, task: str) -> bool:
    """Whether a log entry is this task's: the ids `site` and `site/004` share a folder."""
    return entry is not None and entry[0] == task


def _parsed(
    view: View, entries: Sequence[Row], claim_ref: str, task: str, now: datetime
) -> Iterable[Claim | Malformed]:
    kinds = view.objects.kinds(oid for _, oid, _ in entries)
    fits = {oid for oid, (kind, size) in kinds.items() if kind == "blob" and size <= LARGEST}
    blobs = view.objects.blobs(fits)
    for ref, oid, _ in entries:
        standing = ref == claim_ref
        data = blobs.get(oid)
        if data is None:
            why = f"it holds a {kinds[oid][0]} of {kinds[oid][1]} bytes, and a claim is a blob of at most {LARGEST}"
            yield Malformed(ref, oid, standing, why)
        else:
            yield parse(data, ref=ref, oid=oid, standing=standing, task=task, now=now)


def _archived(
    view: View, commit: str, task: str, fetch: Callable[[Iterable[str]], None] | None
) -> Iterable[Row]:
    """The log entries of `task` in the archive's tree (CONTRACT 3)."""
    objects = view.objects
    if fetch is not None:
        fetch([objects.commit(commit).tree])
        objects = view.objects
    prefix = f"{refs.encode_id(task)}/".encode()
    rows = [
        (f"{refs.ARCHIVE}:{path.decode('utf-8', 'replace')}", oid, "blob")
        for path, _, oid in objects.walk(objects.commit(commit).tree, prefix.rstrip(b"/"))
        if _is_of(refs.archive_entry(path.decode("utf-8", "replace")), task)
    ]
    if fetch is not None:
        fetch([oid for _, oid, _ in rows])
    return rows
