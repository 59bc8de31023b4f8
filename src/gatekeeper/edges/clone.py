"""A clone as the gate sees it: which remote, which base, which head, and a view over its objects."""

from __future__ import annotations

import os
import re
from contextlib import suppress
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
    r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|^-|^refs/|//|/$|\.lock$|^[0-9a-f]{40,64}$|^HEAD$|^@$"
)


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
    """A user's clone, opened for one check. `remote` is None where all is local."""

    def __init__(self, repository: Repository, environ: Mapping[str, str], asked: Asked) -> None:
        self.repository = repository
        self.asked = asked
        self._default: tuple[str, str | None] = ("", None)  # the remote's default branch, and its tip
        self._here: dict[str, str] = {}
        name = self._remote_name()
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
        """The remote that `--remote`, else base's upstream, else `origin` names; None where there is none."""
        if not self.asked.fetch:
            return None
        known = self.repository.remotes()
        if self.asked.remote is not None:
            if self.asked.remote not in known:
                raise RepositoryUnreadable(
                    f"there is no remote {self.asked.remote!r} here", "See git remote, or leave --remote out."
                )
            return self.asked.remote
        branches = [self.asked.base] if self.asked.base else ["main", "master"]
        upstream = [self.repository.config.get(f"branch.{branch}.remote", [""])[-1] for branch in branches]
        return next((name for name in (*upstream, "origin") if name in known), None)

    def _base(self) -> str:
        """The base branch's name as given, else the remote's default branch, else main, else master."""
        if self.asked.base is not None:
            return self.asked.base
        if self.remote is not None:
            name = self.repository.remote_head(self.remote.name)
            self._default = (name, self.remote.default_tip(name)) if name else self._default
            if name is None or self._default[1] is None:
                name = self.remote.default_branch()
            if name is not None:
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
        """The remote's base branch as this clone last heard of it; a ref of refs/remotes/."""
        for remote in sorted(
            self.repository.remotes(), key=lambda name: name != (self.asked.remote or "origin")
        ):
            names = dict.fromkeys(n for n in (self.repository.remote_head(remote), "main", "master") if n)
            asked = [f"refs/remotes/{remote}/{name}" for name in names]
            found = self.repository.resolve(asked)
            if found:
                return next(ref for ref in asked if ref in found)
        return None

    def branch_name(self, ref: str) -> str:
        """The base branch's own name, of whatever spelling."""
        for remote in self.repository.remotes():
            for start in (f"refs/remotes/{remote}/", f"remotes/{remote}/", f"{remote}/"):
                ref = ref.removeprefix(start)
        return ref.removeprefix("refs/heads/")

    def follow(self, branch: str, tip: str) -> None:
        """Let this clone hear of base's tip as well, so that what asks no remote (the guard) knows the same base."""
        if self.remote is None:
            return
        tracking = f"refs/remotes/{self.remote.name}/{branch}"
        if self.repository.resolve([tracking]).get(tracking) != tip:
            spec = f"+refs/heads/{branch}:{tracking}"
            self.repository.git("fetch", "--quiet", "--no-tags", "--", self.remote.name, spec)

    def _remote_tip(self, remote: Remote, base: str) -> str | None:
        """Base's tip on the remote where that has such a branch; a commit, or a branch it has not, as it is here."""
        branch = base
        for start in (f"refs/remotes/{remote.name}/", f"remotes/{remote.name}/", f"{remote.name}/"):
            branch = branch.removeprefix(start)
        if branch == self._default[0] and self._default[1]:
            return self._default[1]
        tip = None if _NO_BRANCH.search(branch) else remote.tip(branch)
        return tip or self.repository.resolve([base]).get(base)

    def _branch(self, on: Running | None) -> str | None:
        """The head branch: what HEAD is on, or the branch that `--head` names."""
        head = self.asked.head
        if head not in ("HEAD", "@"):
            ref = head if head.startswith("refs/heads/") else f"refs/heads/{head}"
            if ref in self.repository.resolve([ref]):
                return ref.removeprefix("refs/heads/")
        return self.repository.branch(on)


def _remote(view: View, name: str) -> Remote:
    from gatekeeper.edges.remote import Remote  # noqa: PLC0415 -- many a clone asks none

    return Remote(view, name)
