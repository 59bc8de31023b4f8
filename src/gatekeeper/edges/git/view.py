"""A bare repository of our own over another's objects, under settings that nobody else can change."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, NamedTuple, Self

from gatekeeper.edges.git.objects import OID, Objects
from gatekeeper.edges.git.run import (
    REF_FORMAT,
    Done,
    Running,
    as_environment,
    base_environment,
    parse_changes,
    parse_refs,
    run_git,
    start_git,
)
from gatekeeper.edges.tempfolder import make_folder, remove_folder
from gatekeeper.errors import HistoryMissing

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from gatekeeper.edges.git.repository import Repository
    from gatekeeper.model import Change


class _Apart(NamedTuple):
    """Whether base is head's ancestor, and the earliest committer date in `base..head`; or what git said instead."""

    ancestor: bool
    oldest: int | None
    complaint: str


_EMPTY_TREE = {
    "sha1": "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    "sha256": "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
}
_PINNED = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_GRAFT_FILE": os.devnull,
}
_VIEW_CONFIG = """\
[core]
\trepositoryformatversion = 1
\tbare = true
\tattributesFile = /dev/null
\thooksPath = /dev/null
\tfsmonitor = false
\tlogAllRefUpdates = false
\tuseReplaceRefs = false
\tcommitGraph = false
\talternateRefsPrefixes = refs/heads/ refs/remotes/
[extensions]
\tobjectFormat = {object_format}
[protocol]
\tversion = 2
[gc]
\tauto = 0
[maintenance]
\tauto = false
[fetch]
\trecurseSubmodules = false
\twriteCommitGraph = false
[advice]
\tgraftFileDeprecated = false
"""


class View:
    """A bare repository of our own over another's objects (or over none), gone when closed.

    `transport` are settings by which remotes are reached; they go to git in its environment,
    so that no token stands on a command line or in a file. `promisor` is the remote that has the
    objects which are missing here: a merge may fetch blobs from it, and with `lazy_reads` every read may.
    """

    def __init__(
        self,
        environ: Mapping[str, str],
        *,
        objects: Path | None = None,
        object_format: str = "sha1",
        transport: Sequence[tuple[str, str]] = (),
        promisor: str | None = None,
        lazy_reads: bool = False,
        shallow: bytes = b"",
        cwd: Path | None = None,
    ) -> None:
        self.path = make_folder()
        self.cwd = cwd
        self.object_format = object_format
        self.joined = False
        """Whether all that base and head have apart from each other is known to be here (`Remote.bring`)."""
        self._environ, self._transport = environ, transport
        (self.path / "objects" / "info").mkdir(parents=True)
        (self.path / "refs").mkdir()
        (self.path / "HEAD").write_text("ref: refs/heads/none\n")
        self.pristine()
        if objects is not None:
            (self.path / "objects" / "info" / "alternates").write_bytes(_quoted(str(objects)) + b"\n")
        if shallow:
            (self.path / "shallow").write_bytes(shallow)
        kept = {k: v for k, v in base_environment(environ).items() if not k.startswith("GIT_CONFIG")}
        self.env = kept | _PINNED | {"GIT_DIR": str(self.path)} | as_environment(transport)
        self._trust([folder for name, folder in transport if name == "safe.directory"])
        lazily = [
            (f"remote.{promisor}.promisor", "true"),
            (f"remote.{promisor}.partialclonefilter", "blob:none"),
        ]
        self._lazy_env = self.env | as_environment([*transport, *lazily]) if promisor else self.env
        self._read_env = self._lazy_env if lazy_reads else self.env
        self._objects: Objects | None = None
        self._merged: dict[tuple[str, str], tuple[str | None, list[bytes]]] = {}
        self._known_apart: dict[tuple[str, str, frozenset[str]], _Apart] = {}
        self._walking: tuple[tuple[str, str, tuple[bytes, ...]], Running] | None = None
        self._listing: tuple[str, frozenset[bytes], Running] | None = None
        self._differ: dict[tuple[str, str], tuple[Change, ...]] = {}

    def pristine(self) -> None:
        """Write the settings anew: a fetch with a filter adds its own, and they make git fetch behind our back."""
        (self.path / "config").write_text(_VIEW_CONFIG.format(object_format=self.object_format))

    def _trust(self, folders: Sequence[str]) -> None:
        """Let the git at the other end of a remote that is a folder here know which of others' folders the user trusts.

        It is told nothing by the environment, and takes this from nowhere but global settings.
        """
        if folders:
            lines = b"".join(b"\tdirectory = " + _quoted(folder) + b"\n" for folder in folders)
            (self.path / "trusted").write_bytes(b"[safe]\n" + lines)
            self.env["GIT_CONFIG_GLOBAL"] = str(self.path / "trusted")

    def git(self, *args: str, stdin: bytes = b"", timeout: float | None = None, lazy: bool = False) -> Done:
        """Run git in the view; with `lazy` it may fetch the objects that it lacks from the promisor remote."""
        env = self._lazy_env if lazy else self.env
        return run_git(args, env=env, cwd=self.cwd, stdin=stdin, timeout=timeout)

    def git_with(self, more: Mapping[str, str], *args: str, cwd: Path, stdin: bytes = b"") -> Done:
        """As `git`, elsewhere and with more in its environment."""
        return run_git(args, env=self.env | dict(more), cwd=cwd, stdin=stdin)

    def start(self, *args: str, stdin: bytes = b"") -> Running:
        """As `git`, not waited for."""
        return start_git(args, env=self.env, cwd=self.cwd, stdin=stdin)

    @property
    def objects(self) -> Objects:
        """The objects, read through one process that stays open."""
        if self._objects is None:
            self._objects = Objects(self._read_env, self.cwd, 32 if self.object_format == "sha256" else 20)
        return self._objects

    def reopen(self) -> None:
        """Forget the reading process: new objects came in, or the shallow boundary moved."""
        if self._objects is not None:
            self._objects.close()
            self._objects = None

    def close(self) -> None:
        """End the reading process and those that were started on a guess, and remove the folder."""
        self.reopen()
        for guess in (self._listing, self._walking):
            if guess is not None:
                guess[-1].stop()
        remove_folder(self.path)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def boundary(self) -> frozenset[str]:
        """The commits at which history is cut here."""
        try:
            return frozenset((self.path / "shallow").read_text().split())
        except FileNotFoundError:
            return frozenset()

    def set_boundary(self, commits: Iterable[str]) -> None:
        """Say anew at which commits history is cut here."""
        lines = "".join(f"{oid}\n" for oid in commits)
        if lines:
            (self.path / "shallow.new").write_text(lines)
            (self.path / "shallow.new").replace(
                self.path / "shallow"
            )  # a git that runs reads one or the other
        else:
            (self.path / "shallow").unlink(missing_ok=True)
        self.reopen()

    def beside(self) -> View:
        """An empty view that reaches the same remotes."""
        return View(self._environ, object_format=self.object_format, transport=self._transport, cwd=self.cwd)

    def refs(self, patterns: Sequence[str]) -> list[tuple[str, str, str]]:
        """As `Repository.refs`, of the view's own refs."""
        return parse_refs(self.git("for-each-ref", REF_FORMAT, *patterns))

    def merge_tree(self, base: str, head: str) -> tuple[str | None, list[bytes]]:
        """The tree that merging `head` into `base` gives, or None and the paths that conflict. Asked of git once.

        Raises HistoryMissing where an object that decides is not there.
        """
        if (base, head) not in self._merged:
            self._merged[base, head] = self._merge_tree(base, head)
        return self._merged[base, head]

    def _merge_tree(self, base: str, head: str) -> tuple[str | None, list[bytes]]:
        if self._apart(base, head).ancestor:
            # What merging gives is head itself, to the last odd entry.
            return self.objects.commit(head).tree, []
        done = self.git(
            "merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", base, head, lazy=True
        )
        parts = done.out.split(b"\0")
        if done.status == 0:
            return parts[0].decode(), []
        if done.status == 1 and OID.fullmatch(parts[0]):
            return None, [path for path in parts[1:] if path]
        if b"unrelated histories" in done.err:
            return None, []
        raise HistoryMissing(
            f"git could not merge head into base: {done.complaint}",
            "Fetch the whole history of both: git fetch --unshallow (or fetch-depth: 0).",
        )

    def diff(self, old_tree: str, new_tree: str) -> tuple[Change, ...]:
        """The paths that differ between two trees, renames as two. Asked of git once."""
        if (old_tree, new_tree) not in self._differ:
            self._differ[old_tree, new_tree] = self._diff(old_tree, new_tree)
        return self._differ[old_tree, new_tree]

    def _diff(self, old_tree: str, new_tree: str) -> tuple[Change, ...]:
        done = self.git(
            "diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", old_tree, new_tree, lazy=True
        )
        if done.status:
            raise HistoryMissing(
                f"git could not compare base and merge: {done.complaint}", "Fetch both again."
            )
        return tuple(parse_changes(done.out))

    def expect_files(self, tree: str, starts: Sequence[bytes]) -> None:
        """Ask git already for what `files` will probably be asked; it takes no more than one guess."""
        self._listing = (tree, frozenset(starts), self._start_files(tree, starts))

    def files(self, tree: str, starts: Sequence[bytes]) -> list[tuple[bytes, int, str]]:
        """The files of `tree` whose path begins with one of `starts`, up to the next slash: path, mode, object name.

        There may be more: those that begin as it was guessed before.
        """
        asked = []
        if self._listing is not None and self._listing[0] == tree:
            _, guessed, running = self._listing
            starts = [start for start in starts if start not in guessed]
            asked.append(running)
        if starts:
            asked.append(self._start_files(tree, starts))
        found = []
        for done in (running.done() for running in asked):
            if done.status:
                raise HistoryMissing(f"git could not list the board: {done.complaint}", "Fetch base again.")
            found += [(change.path, change.new_mode, change.new_oid) for change in parse_changes(done.out)]
        return found

    def _start_files(self, tree: str, starts: Sequence[bytes]) -> Running:
        empty = _EMPTY_TREE[self.object_format]
        args = ["diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", empty, tree, "--"]
        return start_git([*args, *_begin(starts)], env=self._lazy_env, cwd=self.cwd)

    def is_ancestor(self, ancestor: str, commit: str) -> bool:
        """Whether `ancestor` is `commit` or behind it, in the history that is here."""
        if ancestor == commit:
            return True
        done = self.git("merge-base", "--is-ancestor", ancestor, commit)
        if done.status in (0, 1):
            return done.status == 0
        # Since 2.45 git fails where what is behind `ancestor` is not all here; what is behind `commit` decides.
        listed = self.git("rev-list", commit)
        if listed.status:
            raise HistoryMissing(
                f"git could not follow base's history: {listed.complaint}", "Fetch the whole history."
            )
        return ancestor in listed.out.decode().split()

    def oldest(self, base: str, head: str) -> int | None:
        """The earliest committer date (Unix seconds) in `base..head`; None where that is empty."""
        apart = self._apart(base, head)
        if apart.complaint:
            raise HistoryMissing(
                f"git could not follow head's history: {apart.complaint}", "Fetch the whole history."
            )
        return apart.oldest

    def _apart(self, base: str, head: str) -> _Apart:
        """What head has that base has not, in the history that is here. Asked of git once.

        The boundary of `base..head` are the parents at which it touches base's history. Base itself is
        one of them exactly if head is behind or beside nothing of it: if base is its ancestor.
        """
        key = (base, head, self.boundary())
        if key not in self._known_apart:
            done = self.git("rev-list", "--timestamp", "--boundary", f"{base}..{head}")
            rows = [line.split() for line in done.out.decode().splitlines()]
            self._known_apart[key] = _Apart(
                ancestor=base == head or any(oid == f"-{base}" for _, oid in rows),
                oldest=min((int(date) for date, oid in rows if not oid.startswith("-")), default=None),
                complaint=(done.complaint or "git failed") if done.status else "",
            )
        return self._known_apart[key]

    def cut_between(self, base: str, head: str) -> bool:
        """Whether history is cut before base and head meet, so that what they share can't be known."""
        boundary = self.boundary()
        if not boundary or self.joined:
            return False
        done = self.git("rev-list", f"{base}...{head}")
        apart = set(done.out.decode().split())
        return bool(done.status) or any(self.objects.commit(oid).parents for oid in apart & boundary)

    def expect_first_parent(self, since: str, until: str, starts: Sequence[bytes]) -> None:
        """Ask git already for what `first_parent_raw` will probably be asked; it takes no more than one guess."""
        self._walking = ((since, until, tuple(starts)), self._start_walk(since, until, starts))

    def first_parent_raw(
        self, since: str, until: str, starts: Sequence[bytes]
    ) -> list[tuple[str, list[Change]]]:
        """Each first-parent commit of `since..until`, newest first, and what it changed of paths that begin so."""
        running = None
        if self._walking is not None and self._walking[0] == (since, until, tuple(starts)):
            running = self._walking[1]
        done = (running or self._start_walk(since, until, starts)).done()
        if done.status:
            raise HistoryMissing(
                f"git could not follow base's history: {done.complaint}", "Fetch the whole history."
            )
        parts = (part.partition(b"\0") for part in done.out.split(b"\x01")[1:])
        return [(oid.decode(), list(parse_changes(raw.lstrip(b"\0\n")))) for oid, _, raw in parts]

    def _start_walk(self, since: str, until: str, starts: Sequence[bytes]) -> Running:
        args = ["log", "-z", "--first-parent", "-m", "--raw", "--no-renames", "--no-abbrev"]
        command = [*args, "--format=%x01%H", f"{since}..{until}", "--", *_begin(starts)]
        return start_git(command, env=self._lazy_env, cwd=self.cwd)


def _quoted(text: str) -> bytes:
    """Text as a line of git's settings, or of its alternates, holds it."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return os.fsencode(f'"{escaped}"')


def _begin(starts: Sequence[bytes]) -> list[str]:
    """Pathspecs for what begins with one of `starts`, up to the next slash."""
    specs = (b":(top,glob)" + re.sub(rb"([*?\[\]\\])", rb"\\\1", start) + b"*" for start in starts)
    return [os.fsdecode(spec) for spec in specs]


def view_over(
    repository: Repository, environ: Mapping[str, str], remote: str | None, *, fetch: bool = True
) -> View:
    """A view over the user's objects, with their shallow boundary and their way to `remote`, if there is one.

    Without `fetch` nothing is fetched behind our back, in a partial clone neither.
    """
    shallow = (repository.common_dir / "shallow").read_bytes() if repository.shallow else b""
    promisor = repository.promisor() if fetch else None
    known = [name for name in dict.fromkeys((remote, promisor)) if name]
    return View(
        environ,
        objects=repository.common_dir / "objects",
        object_format=repository.object_format,
        transport=[setting for name in known for setting in repository.transport(name)],
        promisor=promisor,
        lazy_reads=promisor is not None,
        shallow=shallow,
        cwd=repository.toplevel() if known else None,
    )
