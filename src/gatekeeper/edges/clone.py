"""A clone as the gate sees it: which remote, which base, which head, and a view over its objects."""

from __future__ import annotations

import os
import re
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, NamedTuple, Self

from gatekeeper import boards
from gatekeeper.edges.claimrefs import LocalClaims, RemoteClaims
from gatekeeper.edges.git import Repository, Running, view_over
from gatekeeper.errors import GatekeeperError, RepositoryUnreadable
from gatekeeper.model import State, Tip
from gatekeeper.taskname import id_from_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from gatekeeper.edges.git import View
    from gatekeeper.edges.remote import Remote
    from gatekeeper.model import Change
    from gatekeeper.question import Question

_NO_BRANCH = re.compile(
    r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|^-|^refs/|//|/$|\.lock$|^[0-9a-fA-F]{40,64}$|^HEAD$|^@$"
)


_USUAL = ("main", "master")

MOST_GUESSED = 5
"""Tasks that changed files are named after and that git is asked for before anyone asks us."""


class Asked(NamedTuple):
    """What was asked of a clone, as it was written. `fetch` is false where nothing may be fetched."""

    base: str | None = None
    head: str = "HEAD"
    branch: str | None = None
    remote: str | None = None
    fetch: bool = True


class Clone:
    """A user's clone, opened for one check. `remote` is None where all is local, or nothing may be fetched.

    What is put on `closing` is done when the clone is closed.
    """

    def __init__(self, repository: Repository, environ: Mapping[str, str], asked: Asked) -> None:
        self.repository = repository
        self.asked = asked
        self.closing = ExitStack()
        self.unfollowed = ""
        """Why what asks no remote does not know base as the remote has it, if `follow` could not see to that."""
        self._default: tuple[str, str | None] = ("", None)  # the remote's default branch, and its tip
        self._here: dict[str, str] = {}
        self._heads: dict[str, str] | None = None
        self._home = self._remote_name()
        name = self._home if asked.fetch else None
        self.view = view_over(repository, environ, name, fetch=asked.fetch)
        self.remote = _remote(self.view, name) if name else None
        self.claims: LocalClaims | RemoteClaims = LocalClaims(repository, self.view)
        if self.remote is not None:
            self.claims = RemoteClaims(self.view, self.remote)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the view, and of what was asked on a guess."""
        self.claims.forget()
        self.view.close()
        self.closing.close()

    def complete(self, question: Question) -> Question:
        """The question with both commits and the branch found. Raises RepositoryUnreadable where one is not."""
        on = None if self.asked.branch else self.repository.start_branch()
        try:
            return self._complete(question, on)
        finally:
            if on is not None:
                on.stop()

    def _complete(self, question: Question, on: Running | None) -> Question:
        asked = self.asked
        base = self._base()
        wanted = [asked.head, *([base] if self.remote is None else [])]
        found = self._here if base in self._here else self.repository.resolve(wanted)
        head = found.get(asked.head)
        if head is None:
            raise RepositoryUnreadable(
                f"--head {asked.head!r} stands for no commit here", "Name a branch or a commit."
            )
        tip = found.get(base) if self.remote is None else self._remote_tip(self.remote, base)
        if tip is None:
            raise RepositoryUnreadable(
                f"the base branch {base!r} stands for no commit here",
                "Name another with --base, or fetch it: git fetch.",
            )
        branch = asked.branch or self._branch(on)
        if self.remote is not None and head == tip and branch and self._may_be_default(self.remote, branch):
            base = self.remote.default_branch() or base
            self._default = (base, tip)
        name = branch if branch and asked.head in ("HEAD", "@") else asked.head
        return question._replace(base=Tip(base, tip), head=Tip(name, head), branch=branch)

    def look_ahead(self, question: Question) -> None:
        """Ask git already for what every check asks: the merge, and what it changes. The view remembers."""
        base, head = question.base.commit, question.head.commit
        if base is None or head is None or self.view.boundary():
            return
        with suppress(GatekeeperError):  # whoever asks in earnest runs into it again, and is told
            merged, _ = self.view.merge_tree(base, head)
            if merged is not None:
                tree = self.view.objects.commit(base).tree
                self._guess(tree, self.view.diff(tree, merged))

    def _guess(self, tree: str, changes: Iterable[Change]) -> None:
        """Ask git for the places and the claims of the tasks that changed files are named after."""
        layout = boards.LAYOUTS[0]
        root = layout.tasks
        changed = [c.path for c in changes if c.path.startswith(root)]
        touched = {path: place for path in changed if (place := layout.place(path)) is not None}
        ids = {id_from_name(place.name) for place in touched.values()}
        if 0 < len(ids) <= MOST_GUESSED:
            folders = [layout.folder(state) for state in layout.states]
            self.view.expect_files(tree, [folder + os.fsencode(task) for folder in folders for task in ids])
        if len(ids) == 1 and any(place.state is State.DONE for place in touched.values()):
            self.claims.expect(ids.pop(), ())

    def _remote_name(self) -> str | None:
        """The remote that `--remote`, else base's upstream, else `origin` names; None where there is none.

        Base, as long as nobody named it, is each remote's own default branch. Raises RepositoryUnreadable
        where they lead to different remotes: claims on the wrong one would be seen by nobody.
        """
        known = self.repository.remotes()
        if self.asked.remote is not None:
            if self.asked.remote not in known:
                raise RepositoryUnreadable(
                    f"there is no remote {self.asked.remote!r} here", "See git remote, or leave --remote out."
                )
            return self.asked.remote
        if self.asked.base is not None:
            remote, branch = self._spelt(self.asked.base)
            upstreams = [remote or self._upstream(branch)]
        else:
            heads = [self._head(remote) for remote in known]
            upstreams = [self._upstream(head) if head else self._upstream(*_USUAL) for head in heads]
        found = dict.fromkeys(name for name in upstreams if name)
        if len(found) > 1:
            names = " or ".join(repr(name) for name in found)
            raise RepositoryUnreadable(
                f"the claims may be on remote {names}: each is the upstream of some remote's default branch",
                "Say which with --remote NAME, or let git forget the other's: git remote set-head NAME --delete.",
            )
        return next(iter(found), "origin" if "origin" in known else None)

    def _upstream(self, *branches: str) -> str | None:
        """The remote that the first of some branches with an upstream follows."""
        named = (self.repository.config.get(f"branch.{branch}.remote", [""])[-1] for branch in branches)
        return next((name for name in named if name in self.repository.remotes()), None)

    def _head(self, remote: str) -> str | None:
        """The default branch of a remote as this clone last heard of it."""
        if self._heads is None:
            self._heads = self.repository.remote_heads()
        return self._heads.get(remote)

    def _spelt(self, base: str) -> tuple[str | None, str]:
        """The remote that a base branch's spelling names, if it names one, and the branch's own name."""
        starts: list[tuple[str, str | None]] = [
            (start, remote)
            for remote in sorted(self.repository.remotes(), key=len, reverse=True)
            for start in (f"refs/remotes/{remote}/", f"remotes/{remote}/", f"{remote}/")
        ]
        starts += [("refs/heads/", None), ("heads/", None), ("", None)]
        return next((remote, base.removeprefix(at)) for at, remote in starts if base.startswith(at))

    def _may_be_default(self, remote: Remote, branch: str) -> bool:
        """Whether a branch that stands where base stands may be the remote's default branch of today.

        Which of two branches at the remote's HEAD is its default, only a list of all its refs says: that is
        asked for where our own branch follows one of the same name, and nothing was done on it.
        """
        if self._default[1] is None or branch == self._default[0]:
            return False  # base was named, or the list has been asked for
        merge = self.repository.config.get(f"branch.{branch}.merge", [""])[-1]
        return self._upstream(branch) == remote.name and merge == f"refs/heads/{branch}"

    def _base(self) -> str:
        """The base branch's name as given, else the remote's default branch, else main, else master."""
        if self.asked.base is not None:
            return self.asked.base
        if self.remote is not None:
            name = self._head(self.remote.name)
            tip = self.remote.default_tip(name) if name else None
            if tip is None:
                name = self.remote.default_branch()
            if name is not None:
                self._default = (name, tip)
                return name
        if not self.asked.fetch and (tracked := self._tracked()) is not None:
            return tracked
        self._here |= self.repository.resolve([self.asked.head, "refs/heads/main", "refs/heads/master"])
        for name in ("main", "master"):
            if f"refs/heads/{name}" in self._here:
                self._here[name] = self._here[f"refs/heads/{name}"]
                return name
        raise RepositoryUnreadable(
            "there is no base branch: neither main nor master is here", "Name it with --base."
        )

    def _tracked(self) -> str | None:
        """The remote's base branch as this clone last heard of it, a ref of refs/remotes/; None where it never did.

        Raises RepositoryUnreadable where it did, and not of which branch is the default: any would be a guess.
        """
        remote = self._home
        if remote is None:
            return None
        if (head := self._head(remote)) is not None:
            return f"refs/remotes/{remote}/{head}"
        if self.repository.refs([f"refs/remotes/{remote}/"]):
            raise RepositoryUnreadable(
                f"which branch of remote {remote!r} is its default one is not known in this clone",
                f"Let git ask: git remote set-head {remote} --auto; or name base, where there is --base.",
            )
        return None

    def branch_name(self, ref: str) -> str:
        """The base branch's own name, of whatever spelling."""
        return ref if ref == self._default[0] else self._spelt(ref)[1]

    def follow(self, branch: str, tip: str) -> None:
        """Let this clone hear of base's tip as well, so that what asks no remote (the guard) knows the same base.

        Which branch is the default one it hears where it does not know, as git's own `fetch` has it today.
        """
        if self.remote is None:
            return
        name = self.remote.name
        tracking = f"refs/remotes/{name}/{branch}"
        said = ""
        if self.repository.resolve([tracking]).get(tracking) != tip:
            said = self._fetch_here(name, f"+refs/heads/{branch}:{tracking}")
        head = self._head(name)
        if branch == self._default[0] and head is None and not said:
            done = self.repository.git("symbolic-ref", f"refs/remotes/{name}/HEAD", tracking)
            said = done.complaint if done.status else ""
        elif branch == self._default[0] and head != branch:
            said = said or f"its default branch here is {head!r} (git remote set-head {name} --auto)"
        if said:
            self.unfollowed = f"this clone does not know base as remote {name!r} has it, and its guard goes by what it knows: {said}"

    def _fetch_here(self, remote: str, spec: str) -> str:
        """Fetch one branch into the clone's own refs, and touch nothing else; what git complains of."""
        from gatekeeper.edges.remote import complaint  # noqa: PLC0415 -- many a clone asks none

        quiet = ("--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules")
        done = self.repository.git("fetch", *quiet, "--", remote, spec)
        return complaint(done, self.view.env) or "git fetch failed" if done.status else ""

    def _remote_tip(self, remote: Remote, base: str) -> str | None:
        """Base's tip on the remote where that has such a branch; a commit, or a branch it has not, as it is here."""
        named, branch = self._spelt(base)
        if named not in (None, remote.name) or base == self._default[0]:
            branch = base
        if branch == self._default[0] and self._default[1]:
            return self._default[1]
        tip = None if _NO_BRANCH.search(branch) else remote.tip(branch)
        return tip or self.repository.resolve([base]).get(base)

    def _branch(self, on: Running | None) -> str | None:
        """The head branch: what HEAD is on, or the branch that `--head` names."""
        head = self.asked.head
        if head not in ("HEAD", "@") and not self.repository.is_full(head):
            ref = head if head.startswith("refs/heads/") else f"refs/heads/{head}"
            if ref in self.repository.resolve([ref]):
                return ref.removeprefix("refs/heads/")
        return self.repository.branch(on)


def _remote(view: View, name: str) -> Remote:
    from gatekeeper.edges.remote import Remote  # noqa: PLC0415 -- many a clone asks none

    return Remote(view, name)
