"""The claim refs, read and written: one store, two edges (CONTRACT 3).

Where there is a remote its refs are the authority. They are moved by one atomic push that names the
value it replaces for every ref, and git's server is the only coordinator; the clone's own refs
follow as a mirror. Without a remote one `update-ref` transaction moves the clone's refs.
"""

from __future__ import annotations

import os
import re
import time
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from gatekeeper.claims import refs
from gatekeeper.claims.blob import LARGEST, parse
from gatekeeper.claims.transitions import free
from gatekeeper.edges import mirror
from gatekeeper.edges.claimrefs import Row, read_history
from gatekeeper.edges.remote import PATIENCE, complaint
from gatekeeper.errors import GatekeeperError, Refusal, RemoteUnreachable, RepositoryUnreadable
from gatekeeper.model import ABSENT, Claim, Malformed

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from gatekeeper.claims.history import History
    from gatekeeper.claims.transitions import Transition
    from gatekeeper.edges.clone import Clone
    from gatekeeper.edges.git import Done

EXISTS = "reference already exists"
"""What git says of a ref that somebody else created first, and so do we."""

WON = "*+- "
"""The marks of `push --porcelain` that say that a ref was created, moved or deleted. `=` is none: it did nothing."""

TRIES = 6
"""Times that refs are written while other processes have their files under lock."""

LOOKS = 3
"""Times that refs are read which look as no moment can have looked; what still does then is damage."""

BREATH = 0.04
"""Seconds before the second try, at most; twice as long each time. What git locks, it locks for milliseconds."""

_CONSEQUENCE = re.compile(rb"failed to push some refs|atomic push fail")
"""What git says of a push, and of its other refs, once one of them was refused."""

_ALL = (refs.CLAIMS, refs.LOCKS, refs.ARCHIVE)
_FETCHED = ("--filter=tree:0", "--prune", "--stdin")
_AT_ONCE = 500  # names that go into one command line


class Conflict(Refusal):
    """A ref was not what the transition names: somebody else was first. Nothing was written."""


class Known(NamedTuple):
    """What the claim refs hold: `(ref, object name, object type)` of all claims and locks, and of some tasks' logs.

    `own` are those of the refs that only this clone has: of claims made with `--local`, and before it had a remote.
    """

    rows: tuple[Row, ...]
    own: frozenset[str] = frozenset()

    @property
    def locks(self) -> dict[str, str]:
        """The lock refs and their blobs."""
        return {ref: oid for ref, oid, _ in self.rows if ref.startswith(refs.LOCKS)}

    @property
    def refs(self) -> dict[str, str]:
        """Every ref and its object."""
        return {ref: oid for ref, oid, _ in self.rows}


class ClaimStore:
    """Reads and moves the claim refs of a clone, and those of its remote where it has one."""

    def __init__(self, clone: Clone) -> None:
        self._repository = clone.repository
        self._view = clone.view
        self._remote = clone.remote
        self._here: dict[str, str] = {}  # the clone's refs, as the last look left them
        self._scope: tuple[str, ...] = ()
        self._written: set[str] = set()
        self._ahead: tuple[tuple[str, ...], tuple[Row, ...]] | None = None
        self.mirrored = 0
        """How many of the clone's refs did not say what the remote's say, and now do."""
        self.unfollowed = ""
        """Why some of the clone's refs still don't say what the remote's say; empty where they do."""
        self._alone = clone.remote is None and clone.asked.fetch
        self._elsewhere = clone.remote is not None and clone.repository.pushes_elsewhere(clone.remote.name)

    # -- reading -----------------------------------------------------------------

    def expect(self, tasks: Iterable[str]) -> None:
        """`learn` of these tasks will be asked for: the clone is asked now, the remote while it is asked for base."""
        logs = _logs_of(tasks)
        self._ahead = (tuple(logs), self._local(logs))  # before the remote is, as always
        if self._remote is not None:
            self._remote.expect(*_FETCHED, stdin=_specs([*_ALL, *logs]))

    def learn(self, tasks: Iterable[str] = ()) -> Known:
        """What the authority holds of all claims and locks, and of the logs of `tasks`. The clone's refs follow it.

        Claims that were made with `--local` or before there was a remote, and that the remote does not hold, are
        added from the clone.
        """
        return self._learn(_logs_of(tasks))

    def learn_all(self) -> Known:
        """As `learn`, with every log entry there is; those the clone does not come to mirror."""
        known = self._learn([])
        logs = [refs.LOG, refs.MALFORMED]
        more = self._local(logs) if self._remote is None else self._fetched(logs)
        return Known((*known.rows, *(row for row in more if row[0].startswith(tuple(logs)))), known.own)

    def _learn(self, logs: Sequence[str]) -> Known:
        """Read until the refs look as one moment can have looked, or are plainly out of joint."""
        self._scope = tuple(logs)
        known = Known(())
        for attempt in range(LOOKS):
            ahead, self._ahead = self._ahead, None
            before = ahead[1] if ahead and ahead[0] == self._scope else self._local(logs)
            followed = True
            if self._remote is None:
                known = Known(before)
                self._here = known.refs
            else:
                known, followed = self._follow_remote(before, self._fetched(logs))
            if followed and self._one_moment(known):
                break
            if attempt < LOOKS - 1:
                _breathe(attempt)
        return known

    def _fetched(self, logs: Sequence[str]) -> tuple[Row, ...]:
        """What the remote's refs hold now; what it has no more is forgotten."""
        remote = self._remote
        if remote is None:
            return ()
        scope = [*_ALL, *logs]
        done = remote.fetch(*_FETCHED, stdin=_specs(scope))
        if done.status:
            raise RemoteUnreachable(
                f"the claims could not be fetched from remote {remote.name!r}: {complaint(done, self._view.env)}",
                "Look at the network, the remote's URL and the token.",
            )
        inside = frozenset(scope)
        return tuple(row for row in self._view.refs([refs.SWARM]) if _within(row[0], inside))

    def _local(self, logs: Sequence[str]) -> tuple[Row, ...]:
        names = [*_ALL, *(prefix.rstrip("/") for prefix in logs)]
        parts = (names[start : start + _AT_ONCE] for start in range(0, len(names), _AT_ONCE))
        return tuple(dict.fromkeys(row for part in parts for row in self._repository.refs(part)))

    def _follow_remote(self, before: tuple[Row, ...], theirs: tuple[Row, ...]) -> tuple[Known, bool]:
        """What both together hold, and whether the clone's refs could be made to say so."""
        remote = {ref: oid for ref, oid, _ in theirs}
        claims = [row for row in before if row[0].startswith(refs.CLAIMS) and row[0] not in remote]
        older = mirror.older(self._repository, remote)
        kept = mirror.local_only(before, remote, self._blobs(claims), older)
        # Only blobs are mirrored: a commit without its trees would break the clone's next `git gc`.
        wanted = {ref: oid for ref, oid, kind in theirs if kind == "blob" and ref != refs.ARCHIVE}
        had = {ref: oid for ref, oid, _ in before if ref not in kept and ref != refs.ARCHIVE}
        self.unfollowed = mirror.follow(self._repository, self._view, had, wanted)
        followed = not self.unfollowed
        self._here = wanted | {ref: oid for ref, oid, _ in before if ref in kept}
        if followed:
            self.mirrored += sum(wanted.get(ref) != had.get(ref) for ref in {*wanted, *had})
        known = Known((*theirs, *(row for row in before if row[0] in kept)), frozenset(kept))
        return known, followed

    def _one_moment(self, known: Known) -> bool:
        """Whether every lock has its claim and every claim its locks.

        Refs are read one after the other, while others move them: a claim from before its renewal and a
        lock from after it are no state that there ever was.
        """
        claims = [row for row in known.rows if row[0].startswith(refs.CLAIMS)]
        locks = known.locks
        if not set(locks.values()) <= {oid for _, oid, _ in claims}:
            return False
        blobs = self._blobs(claims)
        return all(locks.get(lock) == oid for ref, oid, _ in claims for lock in mirror.locks_of(blobs[ref]))

    def _blobs(self, rows: Sequence[Row]) -> dict[str, bytes | None]:
        """What each ref's blob holds; None for what is no blob, or none of a claim's size, or a symbolic ref."""
        kinds = self._view.objects.kinds(oid for _, oid, kind in rows if kind == "blob")
        small = [oid for oid, (kind, size) in kinds.items() if kind == "blob" and size <= LARGEST]
        blobs = self._view.objects.blobs(small)
        return {ref: blobs.get(oid) if kind == "blob" else None for ref, oid, kind in rows}

    def standing(self, known: Known, now: datetime) -> dict[str, Claim | Malformed]:
        """Every claim ref by its task, read; one whose name is no task's by that name, all of it."""
        rows = [row for row in known.rows if row[0].startswith(refs.CLAIMS)]
        found: dict[str, Claim | Malformed] = {}
        for entry in self._read(rows, now, standing=True):
            task = refs.claim_task(entry.ref)
            found[entry.ref if task is None else task] = entry
        return found

    def logged(self, known: Known, now: datetime) -> list[Claim | Malformed]:
        """Every log entry that is known, read."""
        rows = [row for row in known.rows if row[0].startswith(refs.LOG)]
        return list(self._read(rows, now, standing=False))

    def _read(self, rows: Sequence[Row], now: datetime, *, standing: bool) -> Iterable[Claim | Malformed]:
        blobs = self._blobs(rows)
        for ref, oid, kind in rows:
            entry = refs.log_entry(ref)
            task = refs.claim_task(ref) if standing else entry and entry[0]
            data = blobs[ref]
            if task is None:
                yield Malformed(ref, oid, standing, "its name is no task's")
            elif data is None:
                yield Malformed(ref, oid, standing, f"it holds a {kind}, and a claim is a small blob")
            else:
                yield parse(data, ref=ref, oid=oid, standing=standing, task=task, now=now)

    def history(self, known: Known, task: str, now: datetime) -> History:
        """All claims of one task, standing and logged."""
        fetch = self._remote.missing if self._remote else None
        mine = [
            row for row in known.rows if not row[0].startswith(refs.CLAIMS) or row[0] == refs.claim_ref(task)
        ]
        return read_history(self._view, mine, task, (), now, fetch)

    def guess(self, branch: str | None, now: datetime) -> list[str]:
        """The tasks that this branch holds as far as the clone knows: whose logs are worth asking for."""
        standing = self.standing(Known(tuple(self._repository.refs([refs.CLAIMS]))), now)
        return [task for task, c in standing.items() if isinstance(c, Claim) and c.branch == branch]

    # -- writing ------------------------------------------------------------------

    def write(self, data: bytes) -> str:
        """Keep a blob in the clone, where a view of it sees it as well; its object name.

        What comes to nothing is garbage there, which git collects.
        """
        done = self._repository.git("hash-object", "-w", "--stdin", stdin=data)
        if done.status:
            raise RepositoryUnreadable(
                f"git can't write a claim: {done.complaint}", "Look at the disk and its rights."
            )
        oid = done.out.decode().strip()
        self._written.add(oid)
        return oid

    def apply(self, known: Known, transition: Transition, *, here: bool = False) -> None:
        """Apply a transition, all of it or nothing; then let the clone's refs follow.

        With `here` only the clone is told. Raises Conflict where a ref is not what the transition names,
        RemoteUnreachable where nobody answers.
        """
        if self._remote is None or here:
            self._transact(transition)
            return
        self._push(transition)
        gone = {self._here.get(u.ref) for u in transition if u.ref in known.own}
        had = {u.ref: self._here[u.ref] for u in transition if u.ref in self._here}
        had |= {ref: self._here[ref] for ref in known.own if self._here.get(ref) in gone}
        odd = {oid for _, oid, kind in known.rows if kind != "blob"}  # is not mirrored, under no name
        wanted = {u.ref: u.new for u in transition if u.new != ABSENT and u.new not in odd}
        said = mirror.follow(self._repository, self._view, had, wanted, self._written)
        self.unfollowed = said or self.unfollowed
        if not said:
            self._here = {ref: oid for ref, oid in self._here.items() if ref not in had} | wanted
            return
        with suppress(GatekeeperError):  # it is done; the mirror is made good now, or by the next command
            self._learn(self._scope)

    def outrun(self, known: Known, task: str) -> bool:
        """Whether the task's log holds what was not known: somebody had the task, and let go of it, in between.

        A claim ref that is absent again looks like one that was never there, so this is asked once ours stands,
        when nobody else's claim of the task can end any more.
        """
        prefix = refs.log_prefix(task)
        if self._remote is None:
            rows = self._repository.refs([prefix.rstrip("/")])
        else:
            done = self._remote.fetch("--filter=tree:0", f"+{prefix}*:{prefix}*")
            if done.status:
                raise RemoteUnreachable(
                    f"remote {self._name!r} does not answer any more, and has written the claim",
                    "Run the same command again once it answers: who holds a claim gets it back.",
                )
            rows = self._view.refs([prefix])
        return not known.refs.keys() >= {ref for ref, _, _ in rows}

    def forget(self, claim: Claim) -> None:
        """Drop a claim from the clone's refs that the remote never knew."""
        held = {ref: oid for ref, oid, _ in self._repository.refs([refs.LOCKS])}
        self._transact(free(claim.task, claim.oid, held))

    def _push(self, transition: Transition) -> None:
        """One atomic push with a lease for every ref: what `old` names has to be there, and nothing else."""
        said = ""
        for attempt in range(TRIES):
            done, won = self._push_once(transition)
            if won and not self._elsewhere:
                return
            now = self._asked(transition)
            if now is None:
                raise RemoteUnreachable(
                    f"remote {self._name!r} does not answer any more, and may have written the claim or not",
                    "Run the same command again once it answers: who holds a claim gets it back.",
                )
            if _came_true(transition, now):
                return  # the answer was lost, or told twice; our blobs are there, and nobody else has the same
            if won:
                self._arrived(transition, now)
                return
            if any(now.get(u.ref, ABSENT) != u.old for u in transition):
                raise Conflict(f"{EXISTS}: another claim was first", "Look with gatekeeper status.")
            said = complaint(_with_reasons(done), self._view.env)
            if b"hook declined" in done.out + done.err or not pushed(done):
                break
            _breathe(attempt)  # nobody was first: git's server had its own files under lock
        raise RemoteUnreachable(
            f"remote {self._name!r} did not take the claim: {said}",
            "Look at the network and at who may push; should it land after all, it ends with its lease.",
        )

    def _arrived(self, transition: Transition, now: Mapping[str, str]) -> None:
        """Make sure that a push that went by another URL than fetches is seen there. Raises RemoteUnreachable, and undoes it."""
        for attempt in range(LOOKS):
            if _seen(transition, now):
                return
            _breathe(attempt)
            now = self._asked(transition) or {}
        self._push_once(tuple(u._replace(old=u.new, new=u.old) for u in transition))
        raise RemoteUnreachable(
            f"remote {self._name!r} is pushed to by another URL than it is fetched from, and what was pushed is not "
            "to be seen there: it is taken back",
            f"Let pushurl and pushInsteadOf lead to the repository of its url: git remote get-url --push {self._name}.",
        )

    @property
    def _name(self) -> str:
        return self._remote.name if self._remote else ""

    def _push_once(self, transition: Transition) -> tuple[Done, bool]:
        leases = [f"--force-with-lease={u.ref}:{u.old}" for u in transition]
        specs = [f"{u.new}:{u.ref}" for u in transition]
        options = ["--atomic", "--porcelain", "--no-verify", "--no-signed", "--no-recurse-submodules"]
        done = self._view.git("push", *options, *leases, "--", self._name, *specs, timeout=PATIENCE)
        marks = pushed(done)
        return done, done.status == 0 and all(marks.get(u.ref, "!") in WON for u in transition)

    def _asked(self, transition: Transition) -> dict[str, str] | None:
        """What the remote's refs of a transition hold now; None where it does not answer."""
        if self._remote is None:
            return None
        done = self._remote.fetch(*_FETCHED, stdin=_specs(u.ref for u in transition))
        if done.status:
            return None
        names = {u.ref for u in transition}
        return {ref: oid for ref, oid, _ in self._view.refs(sorted(names)) if ref in names}

    def _transact(self, transition: Transition) -> None:
        """One local transaction, tried again while another git has the files of the same refs under lock."""
        names = {u.ref for u in transition}
        said = ""
        if self._alone:
            mirror.alone(self._repository.common_dir)
        for attempt in range(TRIES):
            done = mirror.update(self._repository, transition)
            if done.status == 0:
                return
            now = {ref: oid for ref, oid, _ in self._repository.refs(sorted(names)) if ref in names}
            if any(now.get(u.ref, ABSENT) != u.old for u in transition):
                raise Conflict(f"{EXISTS}: another claim was first", "Look with gatekeeper status.")
            said = mirror.why(done)
            if b"File exists" not in done.err and b"cannot lock" not in done.err:
                break
            _breathe(attempt)
        raise RepositoryUnreadable(
            f"git can't move the claim refs: {said}",
            "Look at the disk and its rights; gatekeeper repair removes lock files that a git left which died.",
        )


def _logs_of(tasks: Iterable[str]) -> list[str]:
    """The folders of refs in which the log entries of some tasks are, and what was put aside of them."""
    return [at for task in tasks for at in (refs.log_prefix(task), refs.malformed_ref(task, ""))]


def _specs(names: Iterable[str]) -> bytes:
    """Refspecs by which each of the refs comes over as it is there, or is found not to be there, quietly."""
    return "".join(f"+{ref}*:{ref}*\n" for ref in names).encode()


def _came_true(transition: Transition, now: Mapping[str, str]) -> bool:
    """Whether refs hold just what a push whose answer says otherwise would have made."""
    return all(now.get(u.ref, ABSENT) == u.new for u in transition)


def _seen(transition: Transition, now: Mapping[str, str]) -> bool:
    """Whether refs show that an atomic push came to them, whatever others did meanwhile."""
    made = [u for u in transition if u.new != ABSENT]
    if not made:
        return all(now.get(u.ref, ABSENT) != u.old for u in transition)
    return any(now.get(u.ref, ABSENT) == u.new for u in made)


def _within(ref: str, scope: frozenset[str]) -> bool:
    """Whether a ref is one of `scope`, or below one of its folders (which end in a slash)."""
    at = len(ref)
    while (at := ref.rfind("/", 0, at)) > 0:
        if ref[: at + 1] in scope:
            return True
    return ref in scope


def _breathe(attempt: int) -> None:
    """Wait a little, and not as long as others do who wait for the same."""
    time.sleep(BREATH * 2**attempt * (0.25 + os.urandom(1)[0] / 340))


def _with_reasons(done: Done) -> Done:
    """A failed `push --porcelain` that complains of why refs were refused, which it says on standard output alone."""
    why = dict.fromkeys(line.split(b"\t")[-1] for line in done.out.splitlines() if line.startswith(b"!\t"))
    told = (line for line in (*done.err.splitlines(), *why) if not _CONSEQUENCE.search(line))
    return done._replace(err=b"\n".join(told))


def pushed(done: Done) -> Mapping[str, str]:
    """What `push --porcelain` says of each ref: its mark.

    A ref of which the server did not report (`[remote failure]`) has none: what became of it is not known.
    """
    marks = {}
    for line in os.fsdecode(done.out).splitlines():
        parts = line.split("\t")
        if len(parts) >= 3 and len(parts[0]) == 1 and "[remote failure]" not in parts[2]:  # noqa: PLR2004
            marks[parts[1].rpartition(":")[2]] = parts[0]
    return marks
