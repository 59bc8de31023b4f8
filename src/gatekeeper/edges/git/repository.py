"""The user's own repository: asked for its place, settings and refs, and never written."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from gatekeeper.edges.git.objects import OID
from gatekeeper.edges.git.run import (
    REF_FORMAT,
    Done,
    Running,
    base_environment,
    parse_refs,
    run_git,
    start_git,
)
from gatekeeper.errors import RepositoryUnreadable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# How a remote is reached is the user's to say, in a view as well.
_TRANSPORT = re.compile(
    r"(remote\.(?P<remote>.+)\.(?P<what>url|pushurl|proxy|proxyauthmethod|uploadpack|receivepack|vcs|serveroption)"
    r"|url\..*|http\..*|credential\..*|ssh\..*|protocol\..*|core\.(sshcommand|gitproxy|askpass)|safe\.directory)",
    re.DOTALL,
)
_PUSHED_INSTEAD = re.compile(r"url\..*\.pushinsteadof", re.DOTALL)
_FULL = {"sha1": re.compile("[0-9a-fA-F]{40}"), "sha256": re.compile("[0-9a-fA-F]{64}")}


class Repository:
    """The user's repository: its place, settings and refs. Nothing is ever written to it here.

    `config` is every setting in force, by lower-case name (subsections as written), in order.
    """

    def __init__(self, cwd: Path, environ: Mapping[str, str], *, explicit: bool = False) -> None:
        """Find the repository that `cwd` stands in; with `explicit` the environment's GIT_DIR is ignored.

        Raises RepositoryUnreadable where there is none that git would open.
        """
        self.cwd = cwd
        self.env = base_environment(environ)
        if not explicit and "GIT_DIR" in environ:
            named = [k for k in ("GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR") if environ.get(k)]
            self.env |= {k: str(cwd / environ[k]) for k in named}  # git is also run in other folders
        facts = [
            "--git-common-dir",
            "--show-object-format",
            "--is-shallow-repository",
            "--is-bare-repository",
        ]
        config = start_git(["config", "--list", "-z"], env=self.env, cwd=cwd)
        done = run_git(["rev-parse", "--path-format=absolute", *facts], env=self.env, cwd=cwd)
        self.config = _settings(config.done().out)
        if done.status:
            raise _unopened(done, cwd)
        *common, self.object_format, shallow, bare, _ = os.fsdecode(done.out).split("\n")
        self.common_dir = Path("\n".join(common))
        self.shallow = shallow == "true"
        self.bare = bare == "true"

    def git(self, *args: str, stdin: bytes = b"") -> Done:
        """Run git in the repository, under its owner's settings."""
        return run_git(args, env=self.env, cwd=self.cwd, stdin=stdin)

    def git_at(self, cwd: Path, *args: str) -> Done:
        """As `git`, in another folder of the same working tree."""
        return run_git(args, env=self.env, cwd=cwd)

    def git_with(self, more: Mapping[str, str], *args: str) -> Done:
        """As `git`, with more in its environment."""
        return run_git(args, env=self.env | dict(more), cwd=self.cwd)

    def remotes(self) -> list[str]:
        """The names of the configured remotes."""
        names = (re.fullmatch(r"remote\.(.+)\.url", key, re.DOTALL) for key in self.config)
        return [found[1] for found in names if found]

    def promisor(self) -> str | None:
        """The remote that has the objects which a partial clone lacks; None where the clone is whole."""
        return next((name for name in self.remotes() if f"remote.{name}.promisor" in self.config), None)

    def toplevel(self) -> Path:
        """The working tree's root, or where we stand in a bare repository; relative URLs start there."""
        if self.bare:
            return self.cwd
        return Path(os.fsdecode(self.git("rev-parse", "--show-toplevel").out.rstrip(b"\n")) or self.cwd)

    def transport(self, remote: str) -> list[tuple[str, str]]:
        """The settings by which git reaches `remote`, to be used in a view.

        Of several URLs the one that git fetches from is the remote; what is pushed goes to one place as well.
        """
        wanted = []
        for name, values in self.config.items():
            found = _TRANSPORT.fullmatch(name)
            if found and found["remote"] in (None, remote):
                one = {"url": self._url(remote), "pushurl": self._push_url(remote)}.get(found["what"])
                wanted += [(name, value) for value in ([one] if one else values)]
        return wanted

    def _url(self, remote: str) -> str:
        """The URL that `remote` is fetched from."""
        return self.config.get(f"remote.{remote}.url", [""])[0]

    def _push_url(self, remote: str) -> str | None:
        """The URL that `remote` is pushed to: the one that it is fetched from, if that is one of them."""
        urls = self.config.get(f"remote.{remote}.pushurl", [])
        return self._url(remote) if self._url(remote) in urls else next(iter(urls), None)

    def pushes_elsewhere(self, remote: str) -> bool:
        """Whether what is pushed to `remote` goes by another URL than what is fetched: perhaps to another repository."""
        url, push = self._url(remote), self._push_url(remote)
        if push is not None:
            return push != url
        instead = (old for key, olds in self.config.items() if _PUSHED_INSTEAD.fullmatch(key) for old in olds)
        return any(url.startswith(old) for old in instead)

    def resolve(self, names: Sequence[str]) -> dict[str, str]:
        """The commit that each of `names` stands for; a name that stands for none is left out.

        A plain name is a branch before it is a remote's branch, and that before anything else
        that git would take it for: a tag of the base branch's name changes nothing. A full object name
        is that object's, whatever branch is called like it.
        """
        spelt = {name: [name] if self.is_full(name) else _forms(name) for name in names}
        asked = [name for forms in spelt.values() for name in forms if not re.search(r"[\0\n]", name)]
        command = ["cat-file", "--batch-check=%(objectname)", "-z"]
        done = self.git(*command, stdin=b"".join(os.fsencode(n) + b"^{commit}\0" for n in asked))
        if done.status and len(names) > 1:  # one that git can't even read must not hide the others
            return {name: oid for each in names for name, oid in self.resolve([each]).items()}
        if done.status:
            return {}
        answers = dict(zip(asked, done.out.split(b"\n"), strict=False))
        found = {}
        for name, forms in spelt.items():
            oids = [answers[form].decode() for form in forms if OID.fullmatch(answers.get(form, b""))]
            if oids:
                found[name] = oids[0]
        return found

    def is_full(self, name: str) -> bool:
        """Whether a name is a whole object name."""
        return _FULL[self.object_format].fullmatch(name) is not None

    def start_branch(self) -> Running:
        """Ask git which branch is checked out; `branch` reads the answer."""
        return start_git(["symbolic-ref", "-q", "HEAD"], env=self.env, cwd=self.cwd)

    def branch(self, asked: Running | None = None) -> str | None:
        """The branch that is checked out here; None where HEAD is detached."""
        name = os.fsdecode((asked or self.start_branch()).done().out.rstrip(b"\n"))
        return name.removeprefix("refs/heads/") if name.startswith("refs/heads/") else None

    def rebasing(self) -> str | None:
        """The branch that is being rebased here, while HEAD is detached; None where none is."""
        heads = ("--git-path", "rebase-merge/head-name", "--git-path", "rebase-apply/head-name")
        done = self.git("rev-parse", "--path-format=absolute", *heads)
        for path in os.fsdecode(done.out).split("\n"):
            with suppress(OSError):
                name = os.fsdecode(Path(path).read_bytes().rstrip(b"\n"))
                if name.startswith("refs/heads/"):
                    return name.removeprefix("refs/heads/")
        return None

    def remote_heads(self) -> dict[str, str]:
        """The default branch of each remote as this clone last heard of it; left out where it did not."""
        remotes = self.remotes()
        if not remotes:
            return {}
        asked = [f"refs/remotes/{remote}/HEAD" for remote in remotes]
        done = self.git("for-each-ref", "--format=%(refname)%00%(symref)", *asked)
        targets = dict(line.split("\0") for line in os.fsdecode(done.out).split("\n") if line)
        found = {}
        for remote, ref in zip(remotes, asked, strict=True):
            start, target = ref.removesuffix("HEAD"), targets.get(ref, "")
            if target.startswith(start):
                found[remote] = target.removeprefix(start)
        return found

    def refs(self, patterns: Sequence[str]) -> list[tuple[str, str, str]]:
        """`(ref, object name, object type)` of what stands at or below each of `patterns`."""
        return parse_refs(self.start_refs(patterns).done())

    def start_refs(self, patterns: Sequence[str]) -> Running:
        """Ask git for refs; `parse_refs` reads the answer."""
        return start_git(["for-each-ref", REF_FORMAT, *patterns], env=self.env, cwd=self.cwd)

    def uncommitted(self) -> Running | None:
        """A git that looks for uncommitted changes while we do something else; None in a bare repository."""
        if self.bare or self.promisor():  # a partial clone might fetch what it has to compare
            return None
        flags = ["--porcelain", "-z", "--no-renames", "--ignore-submodules=all"]
        return start_git(["-c", "core.fsmonitor=false", "status", *flags], env=self.env, cwd=self.cwd)


def _forms(name: str) -> list[str]:
    """What a name may stand for, in order: HEAD is HEAD, and what has git's own marks in it is no branch's name."""
    if name.startswith("refs/") or name in ("HEAD", "@") or re.search(r"[~^:]|@\{", name):
        return [name]
    return [f"refs/heads/{name}", f"refs/remotes/{name}", name]


def _settings(listed: bytes) -> dict[str, list[str]]:
    """What `config --list -z` printed.

    A setting without a value (`sslVerify` alone on its line) is listed without a line break, and
    means true; handed on as an empty text it would mean false.
    """
    found: dict[str, list[str]] = {}
    for item in listed.split(b"\0"):
        name, written, value = os.fsdecode(item).partition("\n")
        if name:
            found.setdefault(name, []).append(value if written else "true")
    return found


def _unopened(done: Done, cwd: Path) -> RepositoryUnreadable:
    """Why git would not open a repository at `cwd`, in our words."""
    if b"dubious ownership" in done.err:
        return RepositoryUnreadable(
            f"the repository at {str(cwd)!r} belongs to another user, and git will not open it",
            "If you trust it: git config --global --add safe.directory FOLDER.",
        )
    if b"not a git repository" in done.err:
        return RepositoryUnreadable(
            f"there is no git repository at {str(cwd)!r}",
            "Run this inside a clone, or name one with --repo DIR.",
        )
    return RepositoryUnreadable(f"git can't open the repository: {done.complaint}", "Run `git status` there.")
