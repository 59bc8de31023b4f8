"""A remote, as far as the gate needs it: the base branch's tip, one task's claims, and no more history than decides.

Everything is fetched into a `View`, never into the user's repository. Where the view
lies over a whole clone, only what is new comes over. Where it starts empty (the
action), `bring` and `reach` fetch the commits between base and head and as far back as
the claim's base commit, without blobs (see `edges/between.py`); nothing here guesses at a depth.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gatekeeper.claims import refs
from gatekeeper.edges import between
from gatekeeper.errors import HistoryMissing, RemoteUnreachable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gatekeeper.edges.git import Done, View

PATIENCE = 600.0
"""Seconds that one fetch may take before it counts as unreachable."""

HINT = "Look at the network, the remote's URL and the token; --no-fetch judges by what is here."
BASE, HEAD = "refs/gatekeeper/base", "refs/gatekeeper/head"
_NO_BLOBS, _NO_TREES = "--filter=blob:none", "--filter=tree:0"
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
        self._roots: set[str] = set()

    def fetch(self, *args: str, stdin: bytes = b"") -> Done:
        """Run git fetch with these options and refspecs; how it ended is the caller's to judge."""
        options = [a for a in args if a.startswith("--")]
        refspecs = [a for a in args if not a.startswith("--")]
        command = ["fetch", *_QUIET, *options, "--", self.name, *refspecs]
        done = self.view.git(*command, stdin=stdin, timeout=PATIENCE)
        self.view.pristine()
        self.view.reopen()
        return done

    def _aside(self, *args: str, stdin: bytes = b"") -> Done:
        """Fetch objects by name into an empty view, and take them over.

        Whoever says that it has a commit is taken to have its blobs as well, and is not sent them.
        """
        with self.view.beside() as side:
            done = self._on(side).fetch(*args, stdin=stdin)
            if not done.status:
                between.adopt(self.view, side)
            return done

    def _on(self, side: View) -> Remote:
        """The same remote, for another view."""
        return Remote(side, self.name, hint=self.hint)

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
        done = self.fetch(*thin, f"+refs/heads/{branch}:{BASE}")
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
        self._must(self.fetch("--depth=1", _NO_BLOBS, f"+{oid}:{BASE}"), f"commit {oid[:12]}")
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
        done = self.fetch(_NO_TREES, *(f"+{ref}:{ref}" for ref in dict.fromkeys(wanted)))
        self._must(done, f"the claims of {task}")

    def objects(self, oids: Sequence[str]) -> None:
        """Fetch objects by name, in one go; what the remote does not have is an error."""
        if oids:
            names = "".join(f"{oid}\n" for oid in oids).encode()
            done = self._aside(_NO_BLOBS, "--stdin", stdin=names)
            self._must(done, f"{len(oids)} objects")

    def missing(self, oids: Iterable[str]) -> None:
        """Fetch those of the objects that are not here, in one go."""
        kinds = self.view.objects.kinds(dict.fromkeys(oids))
        self.objects([oid for oid, (kind, _) in kinds.items() if kind == "missing"])

    def bring(self, base: str, head: str) -> None:
        """Into a view that holds `base` alone: `head`, its own commits, and base's history back to where they meet.

        Raises RemoteUnreachable where the remote has no such head.
        """
        if head == base:
            return
        forks = self._own(base, head)
        self._must(self.view.git("update-ref", HEAD, head), f"head {head[:12]}")
        self.missing([self.view.objects.commit(head).tree])
        self._roots |= {base, head, *forks}
        self._join(base, forks)
        self._settle()
        self.view.joined = True
        if self.view.git("merge-base", "--all", base, head).out.count(b"\n") > 1:
            self._whole(base, head)  # a criss-cross: git merges the merge bases first, and needs theirs

    def _own(self, base: str, head: str) -> list[str]:
        """Fetch the commits that head has and base has not; those at which they hang on base's history."""
        with between.holding(self.view, base) as side:
            done = self._on(side).fetch(_NO_TREES, f"--negotiation-tip={base}", head)
            if not done.status:
                between.adopt(self.view, side)
        if done.status:
            if not any(said in done.err for said in between.NOTHING_SENT):
                self._must(done, f"head {head[:12]}")
            self._one([head], f"head {head[:12]}")
            return [head]  # base holds it already
        known = between.ancestry(self.view.objects, [head], stop=base)
        return [oid for oid, parents in known.items() if parents is None or oid == base]

    def _join(self, base: str, forks: Sequence[str]) -> None:
        """Fetch base's history back to every one of `forks`, all of which are in it.

        What base has and the oldest fork has not holds every other fork, or that fork is behind the
        oldest: dates may lie, and then it is the next to be asked about.
        """
        kinds = self.view.objects.kinds(forks)
        self._one([oid for oid, (kind, _) in kinds.items() if kind == "missing"], "the fork point")
        apart = {oid for oid in forks if oid != base}
        while apart:
            lowest = min(apart, key=lambda oid: (self.view.objects.commit(oid).committed, oid))
            self._fill(base, lowest)
            reached = between.ancestry(self.view.objects, [base])
            if lowest not in reached:
                raise HistoryMissing(
                    f"commit {lowest[:12]} should be in base's history, and is not",
                    "The base branch was moved meanwhile: run the check again.",
                )
            apart -= reached.keys()

    def _fill(self, base: str, commit: str) -> None:
        """Fetch what base has and `commit` has not, with trees."""
        with between.holding(self.view, commit) as side:
            done = self._on(side).fetch(_NO_BLOBS, f"--negotiation-tip={commit}", base)
            self._must(done, "base's history")
            between.adopt(self.view, side)

    def reach(self, base: str, commit: str) -> bool:
        """Whether `commit` is in base's history, which is fetched that far back if it is."""
        if len(commit) != len(base) or not _OID.fullmatch(commit):
            return False
        if self.view.objects.kinds([commit])[commit][0] == "missing":
            done = self._aside("--depth=1", _NO_BLOBS, commit)
            if done.status and any(said in done.err for said in _NOT_THERE):
                return False  # the remote, which has all of base, does not have it
            self._must(done, f"commit {commit[:12]}")
        if self.view.objects.kinds([commit])[commit][0] != "commit":
            return False
        if not self.view.boundary():
            return self.view.is_ancestor(commit, base)  # all of base's history is here
        self._roots.add(commit)
        if commit not in between.ancestry(self.view.objects, [base]):
            if not self._behind(base, commit):
                self._settle()
                return False
            self._fill(base, commit)
        self._settle()
        return True

    def _behind(self, base: str, commit: str) -> bool:
        """Whether `commit` is behind base; looked up on commits alone, which are then let go."""
        with between.holding(self.view, commit) as side:
            done = self._on(side).fetch(_NO_TREES, f"--negotiation-tip={commit}", base)
            if done.status and any(said in done.err for said in between.NOTHING_SENT):
                return False  # it is the other way round
            self._must(done, "base's history")
            return commit in between.ancestry(side.objects, [base])

    def _one(self, oids: Sequence[str], what: str) -> None:
        """Fetch commits with their trees and without what is behind them."""
        if oids:
            self._must(self._aside("--depth=1", _NO_BLOBS, *oids), what)

    def _settle(self) -> None:
        """Tell git at which commits history ends here; a merge of which one side is missing gets that side's tip."""
        ends, torn = between.edges(between.ancestry(self.view.objects, sorted(self._roots)))
        if torn:
            self._one(sorted(torn), "a merged branch")
            ends, _ = between.edges(between.ancestry(self.view.objects, sorted(self._roots)))
        self.view.set_boundary(sorted(ends))

    def _whole(self, base: str, head: str) -> None:
        """Fetch all of both histories, without blobs."""
        if self.view.boundary():
            done = self.fetch("--unshallow", _NO_BLOBS, f"+{base}:{BASE}", f"+{head}:{HEAD}")
            self._must(done, "the whole history")
        if self.view.boundary():
            raise HistoryMissing(
                "the remote's own history is cut short", "Use a remote with the whole history."
            )
