"""A remote, as far as the gate needs it: the base branch's tip, one task's claims, and no more history than decides.

Everything is fetched into a `View`, never into the user's repository. Where the view
lies over a whole clone, only what is new comes over. Where it starts empty (the
action), `bring` and `reach` fetch the commits between base and head and as far back as
the claim's base commit, without blobs; nothing here guesses at a depth.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gatekeeper.claims import refs
from gatekeeper.errors import HistoryMissing, RemoteUnreachable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gatekeeper.edges.git import Done, View

PATIENCE = 600.0
"""Seconds that one fetch may take before it counts as unreachable."""

HINT = "Look at the network, the remote's URL and the token; --no-fetch judges by what is here."
BASE, HEAD = "refs/gatekeeper/base", "refs/gatekeeper/head"
_NO_BLOBS = "--filter=blob:none"
_QUIET = ("--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-gc", "--no-recurse-submodules")
_NOT_THERE = (b"not our ref", b"couldn't find remote ref", b"unadvertised object")
_OID = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_SECRET = re.compile(r"://[^/\s@]*@")


class Remote:
    """The remote called `name`, reached by the settings of `view`; `hint` is what to do where that fails."""

    def __init__(self, view: View, name: str, *, hint: str = HINT) -> None:
        self.view = view
        self.name = name
        self.hint = hint

    def _fetch(self, *args: str, stdin: bytes = b"", afresh: bool = False) -> Done:
        """Fetch; `afresh` says nothing of what is here already.

        Whoever says that it has a commit is taken to have its blobs as well, and is not sent them.
        """
        options = [a for a in args if a.startswith("--")]
        refspecs = [a for a in args if not a.startswith("--")]
        silent = ("-c", "fetch.negotiationAlgorithm=noop") if afresh else ()
        command = [*silent, "fetch", *_QUIET, *options, "--", self.name, *refspecs]
        done = self.view.git(*command, stdin=stdin, timeout=PATIENCE)
        self.view.pristine()
        self.view.reopen()
        return done

    def _must(self, done: Done, what: str) -> None:
        if done.status:
            why = _SECRET.sub("://***@", done.complaint)
            raise RemoteUnreachable(
                f"{what} could not be fetched from remote {self.name!r}: {why}", self.hint
            )

    def default_branch(self) -> str | None:
        """The branch that the remote's HEAD names."""
        done = self.view.git("ls-remote", "--quiet", "--symref", "--", self.name, "HEAD", timeout=PATIENCE)
        self._must(done, "the default branch")
        found = re.search(rb"^ref: refs/heads/(.+)\tHEAD$", done.out, re.MULTILINE)
        return found[1].decode("utf-8", "surrogateescape") if found else None

    def tip(self, branch: str, *, shallow: bool = False) -> str | None:
        """The commit at the tip of `branch` over there, fetched; None where it has no such branch.

        With `shallow` its history is left behind, and so are all blobs.
        """
        thin = ["--depth=1", _NO_BLOBS] if shallow else []
        done = self._fetch(*thin, f"+refs/heads/{branch}:{BASE}")
        if done.status and b"couldn't find remote ref" in done.err:
            return None
        self._must(done, f"branch {branch!r}")
        return self._stands(BASE)

    def peek(self, branch: str) -> str | None:
        """The commit at the tip of `branch` over there, not fetched; None where it has no such branch."""
        ref = f"refs/heads/{branch}"
        done = self.view.git("ls-remote", "--quiet", "--", self.name, ref, timeout=PATIENCE)
        self._must(done, f"branch {branch!r}")
        rows = (line.split("\t") for line in done.out.decode("utf-8", "surrogateescape").split("\n"))
        return next((oid for oid, *names in rows if names == [ref]), None)

    def commit(self, oid: str) -> str:
        """Fetch a commit as base, by its name, without history and blobs.

        Raises RemoteUnreachable where the remote does not have it.
        """
        self._must(self._fetch("--depth=1", _NO_BLOBS, f"+{oid}:{BASE}"), f"commit {oid[:12]}")
        return self._stands(BASE)

    def _stands(self, ref: str) -> str:
        return next(oid for name, oid, _ in self.view.refs([ref]) if name == ref)

    def claims(self, task: str, locks: Iterable[str]) -> None:
        """Fetch the claim refs of one task, the refs of its locks, and the archive's commit if there is one.

        A pattern with a star finds nothing quietly where a full name that is not there would be an error.
        """
        wanted = [
            f"{refs.claim_ref(task)}*",
            f"{refs.log_prefix(task)}*",
            f"{refs.ARCHIVE}*",
            *(f"{refs.lock_ref(key)}*" for key in locks),
        ]
        done = self._fetch("--filter=tree:0", *(f"+{ref}:{ref}" for ref in dict.fromkeys(wanted)))
        self._must(done, f"the claims of {task}")

    def objects(self, oids: Sequence[str]) -> None:
        """Fetch objects by name, in one go; what the remote does not have is an error."""
        if oids:
            names = "".join(f"{oid}\n" for oid in oids).encode()
            done = self._fetch(_NO_BLOBS, "--stdin", stdin=names, afresh=True)
            self._must(done, f"{len(oids)} objects")

    def missing(self, oids: Iterable[str]) -> None:
        """Fetch those of the objects that are not here, in one go."""
        kinds = self.view.objects.kinds(dict.fromkeys(oids))
        self.objects([oid for oid, (kind, _) in kinds.items() if kind == "missing"])

    def bring(self, base: str, branch: str, head: str) -> None:
        """Into a view that holds `base` alone: `head`, and the history in which the two meet.

        Raises RemoteUnreachable where the remote has no such head.
        """
        done = self._fetch(f"--shallow-exclude=refs/heads/{branch}", _NO_BLOBS, f"+{head}:{HEAD}")
        if done.status:
            # Nothing to select: head is base itself or behind it. Any other failure comes up again here.
            done = self._fetch("--depth=1", _NO_BLOBS, f"+{head}:{HEAD}")
        self._must(done, f"head {head[:12]}")
        if head == base:
            return
        self._reach_all(base, self._forks(base, head))
        if self.view.git("merge-base", "--all", base, head).out.count(b"\n") != 1:
            self._whole(base)  # a criss-cross merges its own merge bases first, or the two never met

    def _forks(self, base: str, head: str) -> list[str]:
        """The commits at which head's own history hangs on base's."""
        objects = self.view.objects
        forks, seen, todo = [], {head}, [head]
        while todo:
            for parent in objects.commit(todo.pop()).parents:
                if parent in seen:
                    continue
                seen.add(parent)
                if parent == base or objects.kinds([parent])[parent][0] == "missing":
                    forks.append(parent)
                else:
                    todo.append(parent)
        return forks

    def reach(self, base: str, commit: str) -> bool:
        """Whether `commit` is in base's history, which is fetched that far back if it is."""
        if len(commit) != len(base) or not _OID.fullmatch(commit):
            return False
        if self.view.objects.kinds([commit])[commit][0] == "missing":
            done = self._fetch("--depth=1", _NO_BLOBS, commit, afresh=True)
            if done.status and any(said in done.err for said in _NOT_THERE):
                return False  # the remote, which has all of base, does not have it
            self._must(done, f"commit {commit[:12]}")
        if self.view.objects.kinds([commit])[commit][0] != "commit":
            return False
        if not self._behind(base, commit):
            return False
        self._reach_all(base, [commit])
        return True

    def _behind(self, base: str, commit: str) -> bool:
        """Whether `commit` is an ancestor of base; decided on commits alone where the history here is too short."""
        if self.view.is_ancestor(commit, base):
            return True
        if base not in self.view.boundary() and not self.view.boundary():
            return False
        since = self.view.objects.commit(commit).committed
        self._deepen(base, since)
        if self.view.is_ancestor(commit, base):
            return True
        with self.view.beside() as side:
            Remote(side, self.name, hint=self.hint).skeleton(base)
            present = side.objects.kinds([commit])[commit][0] == "commit"
            return present and side.is_ancestor(commit, base)

    def skeleton(self, base: str) -> None:
        """Fetch all of base's history, commits alone."""
        self._must(self._fetch("--filter=tree:0", f"+{base}:{BASE}"), "base's history")

    def _reach_all(self, base: str, commits: Sequence[str]) -> None:
        """Fetch base's history back to each of `commits`, all of which are in it."""
        if all(commit == base for commit in commits):
            self._mend_boundary()
            return
        kinds = self.view.objects.kinds(commits)
        missing = [oid for oid, (kind, _) in kinds.items() if kind == "missing"]
        if missing:
            self._must(self._fetch("--depth=1", _NO_BLOBS, *missing), "the fork point")
        if not all(self.view.is_ancestor(commit, base) for commit in commits):
            self._deepen(base, min(self.view.objects.commit(commit).committed for commit in commits))
        if not all(self.view.is_ancestor(commit, base) for commit in commits):
            self._whole(base)  # dates that run backwards: there is no telling how far back it is

    def _deepen(self, base: str, since: int) -> None:
        self._fetch(f"--shallow-since={since}", _NO_BLOBS, f"+{base}:{BASE}")
        self._mend_boundary()

    def _whole(self, base: str) -> None:
        heads = [f"+{self._stands(HEAD)}:{HEAD}"] if self.view.refs([HEAD]) else []
        if self.view.boundary():
            self._must(self._fetch("--unshallow", _NO_BLOBS, f"+{base}:{BASE}", *heads), "the whole history")
        self._mend_boundary()
        if any(self.view.boundary()):
            raise HistoryMissing(
                "the remote's own history is cut short", "Use a remote with the whole history."
            )

    def _mend_boundary(self) -> None:
        """Take from the shallow boundary the commits whose parents have come in by another way."""
        objects = self.view.objects
        kept = []
        for oid in sorted(self.view.boundary()):
            kind = objects.kinds([oid])[oid][0]
            parents = objects.commit(oid).parents if kind == "commit" else ()
            if any(answer[0] == "missing" for answer in objects.kinds(parents).values()):
                kept.append(oid)
        self.view.set_boundary(kept)
