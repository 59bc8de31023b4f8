"""One task's claims, read from refs: the remote's where there is a remote, else the clone's own.

Only the refs of that task are asked for, and its folder of the archive, however many
others there are. What a ref holds is data of unknown hands: it is read, never followed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatekeeper.claims import refs
from gatekeeper.claims.blob import LARGEST, parse
from gatekeeper.claims.history import History
from gatekeeper.edges.git import SYMBOLIC, parse_refs
from gatekeeper.errors import HistoryMissing
from gatekeeper.model import FOLDER, GITLINK, REGULAR, SYMLINK, Claim, Malformed
from gatekeeper.text import quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
    from datetime import datetime

    from gatekeeper.edges.git import Repository, Running, View
    from gatekeeper.edges.remote import Remote
    from gatekeeper.question import Question

Row = tuple[str, str, str]
"""A ref (or an archive's path), an object name, an object type."""

MOST_BASES = 200
"""Base commits of one task's claims that are looked up, those of the newest claims first.

Whoever can push can log any number of claims. One whose base commit is not looked up is taken to
name none in base's history: it keeps counting, and is no claim to merge by (GK117).
"""
FEW = 4
"""Commits that git is asked about one by one, which it answers without walking all of base's history."""
_ODD = {FOLDER: "a folder", GITLINK: "a submodule's commit", SYMLINK: "a symbolic link"}


class LocalClaims:
    """The claims in the clone's own refs."""

    where = "in this clone"

    def __init__(self, repository: Repository, view: View) -> None:
        self._repository = repository
        self._view = view
        self._asked: dict[str, Running] = {}

    def expect(self, task: str, locks: Collection[str]) -> None:
        """As `edges.gather.ClaimSource.expect`: git begins to list the refs that it was not asked for yet."""
        fresh = [pattern for pattern in _patterns(task, locks) if pattern not in self._asked]
        if fresh:
            self._asked |= dict.fromkeys(fresh, self._repository.start_refs(fresh))

    def history(self, task: str, locks: Collection[str], question: Question) -> History:
        """As `edges.gather.ClaimSource.history`."""
        self.expect(task, locks)
        asked = dict.fromkeys(self._asked.pop(pattern) for pattern in _patterns(task, locks))
        rows = dict.fromkeys(row for running in asked for row in parse_refs(running.done()))
        return read_history(self._view, list(rows), task, locks, question.now)

    def forget(self) -> None:
        """Let go of what was expected and never asked for."""
        for running in self._asked.values():
            running.stop()
        self._asked.clear()

    def rooted(self, base: str, commit: str) -> bool:
        """As `edges.gather.ClaimSource.rooted`; a shallow clone may not know, and then says so."""
        return _rooted(self._view, base, commit)

    def rooted_all(self, base: str, commits: Iterable[str]) -> dict[str, bool]:
        """As `rooted`, of many commits in one go: those of the newest claims first, and no more than MOST_BASES."""
        return _capped(commits, lambda asked: _rooted_all(self._view, base, asked))

    def whole(self, base: str) -> None:
        """As `edges.gather.ClaimSource.whole`: a clone's history is its owner's to fetch."""


class RemoteClaims:
    """The claims in a remote's refs, fetched into the view. With `deepen`, history is fetched as it is asked for."""

    def __init__(self, view: View, remote: Remote, *, deepen: bool = False) -> None:
        self._view = view
        self._remote = remote
        self._deepen = deepen
        self.where = f"on remote {remote.name!r}"

    def expect(self, task: str, locks: Collection[str]) -> None:
        """As `edges.gather.ClaimSource.expect`: nothing is fetched on a guess."""

    def forget(self) -> None:
        """As `LocalClaims.forget`: there is nothing to let go of."""

    def history(self, task: str, locks: Collection[str], question: Question) -> History:
        """As `edges.gather.ClaimSource.history`."""
        self._remote.claims(task, locks)
        rows = self._view.refs(_patterns(task, locks))
        fetch = self._remote.missing if any(ref == refs.ARCHIVE for ref, _, _ in rows) else None
        return read_history(self._view, rows, task, locks, question.now, fetch)

    def rooted(self, base: str, commit: str) -> bool:
        """As `edges.gather.ClaimSource.rooted`."""
        if self._deepen:
            return self._remote.reach(base, commit)
        return _rooted(self._view, base, commit)

    def whole(self, base: str) -> None:
        """As `edges.gather.ClaimSource.whole`."""
        if self._deepen:
            self._remote.whole(base)

    def rooted_all(self, base: str, commits: Iterable[str]) -> dict[str, bool]:
        """As `LocalClaims.rooted_all`; the remote is asked a fixed number of times."""
        if self._deepen:  # what the oldest claim's commit brings along often answers for the others
            return _capped(commits, lambda asked: self._remote.reach_all(base, asked[::-1]))
        return _capped(commits, lambda asked: _rooted_all(self._view, base, asked))


def _capped(commits: Iterable[str], look: Callable[[list[str]], dict[str, bool]]) -> dict[str, bool]:
    """What `look` finds of the first MOST_BASES, and false for the rest."""
    asked = list(dict.fromkeys(commits))
    return dict.fromkeys(asked, False) | look(asked[:MOST_BASES])


def _rooted_all(view: View, base: str, commits: Sequence[str]) -> dict[str, bool]:
    """As `_rooted`, with a number of git processes that does not grow with the number of commits."""
    if len(commits) <= FEW:
        return {commit: _rooted(view, base, commit) for commit in commits}
    kinds = view.objects.kinds(commits)
    here = [commit for commit in commits if kinds.get(commit, ("missing", 0))[0] == "commit"]
    inside = set(here) - _apart(view, base, here)
    outside = [commit for commit in commits if commit not in inside]
    if len(outside) > FEW and not view.boundary():
        inside |= set(outside).intersection(_listed(view, base))
        return {commit: commit in inside for commit in commits}
    return {commit: commit in inside or _rooted(view, base, commit) for commit in commits}


def _apart(view: View, base: str, commits: Sequence[str]) -> set[str]:
    """What can be reached from `commits` and not from base, and perhaps more: where dates lie git stops too early."""
    return set(_listed(view, f"^{base}", *commits)) if commits else set()


def _listed(view: View, *starts: str) -> list[str]:
    done = view.git("rev-list", "--stdin", stdin="".join(f"{start}\n" for start in starts).encode())
    if done.status:
        raise HistoryMissing(
            f"git could not follow base's history: {done.complaint}", "Fetch the whole history."
        )
    return done.out.decode().split()


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


def read_history(
    view: View,
    rows: Sequence[Row],
    task: str,
    locks: Collection[str],
    now: datetime,
    fetch: Callable[[Iterable[str]], None] | None = None,
) -> History:
    """What the refs in `rows` hold, read as claims of `task`."""
    entries = [row for row in rows if row[0] == refs.claim_ref(task) or _is_of(refs.log_entry(row[0]), task)]
    stored = [row for ref, oid, _ in rows if ref == refs.ARCHIVE for row in _archived(view, oid, task, fetch)]
    odd = [row for row in stored if isinstance(row, Malformed)] + _misplaced(view, rows, task, now)
    entries += [row for row in stored if not isinstance(row, Malformed)]
    lock_refs = {refs.lock_ref(key) for key in locks}
    found = [*odd, *_parsed(view, [(row, task) for row in entries], now)]
    return History(
        task,
        tuple(entry for entry in found if isinstance(entry, Claim)),
        tuple(entry for entry in found if isinstance(entry, Malformed)),
        {ref: oid for ref, oid, _ in rows if ref in lock_refs},
    )


def _is_of(entry: tuple[str, str] | None, task: str) -> bool:
    """Whether a log entry is this task's: the ids `site` and `site/004` share a folder."""
    return entry is not None and entry[0] == task


def _misplaced(view: View, rows: Sequence[Row], task: str, now: datetime) -> list[Malformed]:
    """Refs that stand where the task's claim, its log's folder or the archive can't be beside them.

    A good claim of another task is none of these: the ids `site` and `site/004` may meet.
    """
    own, log = refs.claim_ref(task), refs.log_prefix(task)
    below = [(row, refs.claim_task(row[0])) for row in rows if row[0].startswith(f"{own}/")]
    logged = [(row, refs.log_entry(row[0])) for row in rows if f"{row[0]}/".startswith(log)]
    below += [(row, entry and entry[0]) for row, entry in logged if not _is_of(entry, task)]
    found = _parsed(view, [(row, other or "") for row, other in below], now)
    odd = [(entry.ref, entry.oid) for entry in found if isinstance(entry, Malformed)]
    odd += [(ref, oid) for ref, oid, _ in rows if ref.startswith(f"{refs.ARCHIVE}/")]
    why = f"it stands in the way of what belongs to {quoted(task)}, and is no claim of another task"
    return [Malformed(ref, oid, ref.startswith(refs.CLAIMS), why) for ref, oid in odd]


def _parsed(view: View, entries: Sequence[tuple[Row, str]], now: datetime) -> Iterator[Claim | Malformed]:
    """What refs hold, each read as a claim of the task beside it."""
    kinds = view.objects.kinds(oid for (_, oid, _), _ in entries)
    fits = {oid for oid, (kind, size) in kinds.items() if kind == "blob" and size <= LARGEST}
    blobs = view.objects.blobs(fits)
    for (ref, oid, form), task in entries:
        standing = ref.startswith(refs.CLAIMS)
        data = blobs.get(oid)
        if form == SYMBOLIC:
            yield Malformed(ref, oid, standing, f"it is a {form}, and a claim is a blob")
        elif data is None:
            why = f"it holds a {kinds[oid][0]} of {kinds[oid][1]} bytes, and a claim is a blob of at most {LARGEST}"
            yield Malformed(ref, oid, standing, why)
        else:
            yield parse(data, ref=ref, oid=oid, standing=standing, task=task, now=now)


def _archived(
    view: View, oid: str, task: str, fetch: Callable[[Iterable[str]], None] | None
) -> list[Row | Malformed]:
    """The log entries of `task` in the archive's tree (CONTRACT 3), and whatever stands in the place of one."""
    kind = view.objects.kinds([oid])[oid][0]
    if kind != "commit":
        return [Malformed(refs.ARCHIVE, oid, False, f"it holds a {kind}, and the archive is a commit")]
    tree = view.objects.commit(oid).tree
    if fetch is not None:
        fetch([tree])
    found = list(_entries(view, tree, task))
    if fetch is not None:
        fetch([row[1] for row in found if not isinstance(row, Malformed)])
    return found


def _entries(view: View, tree: str, task: str) -> Iterator[Row | Malformed]:
    """What stands in the task's folder of the archive under a log entry's name; only a file can be one."""
    folder = refs.encode_id(task)
    here = view.objects.entry(tree, folder.encode())
    if here is not None and here[0] != FOLDER:
        why = f"it holds {_ODD.get(here[0], 'a file')} in the place of the folder of the task's log entries"
        yield Malformed(f"{refs.ARCHIVE}:{folder}", here[1], False, why)
    elif here is not None:
        for name, (mode, oid) in view.objects.tree(here[1]).items():
            path = f"{folder}/{name.decode('utf-8', 'replace')}"
            if not _is_of(refs.archive_entry(path), task):
                continue
            ref = f"{refs.ARCHIVE}:{path}"
            if mode in REGULAR:
                yield ref, oid, "blob"
            else:
                yield Malformed(
                    ref, oid, False, f"it holds {_ODD.get(mode, 'no file')}, and a claim is a file"
                )
