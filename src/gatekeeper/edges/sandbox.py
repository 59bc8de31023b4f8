"""Makes a small git repository from data: for the demonstration, and for whoever wants to try things out.

All commits go in through one `git fast-import`, under an environment that knows nothing of the
user: no name, no settings, no hooks, no signing. Only a folder of our own is ever written to.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gatekeeper.edges.git import base_environment, refuse_old_git, run_git
from gatekeeper.errors import RepositoryUnreadable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from datetime import datetime
    from pathlib import Path

_ALONE = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}


@dataclass(frozen=True, slots=True)
class NewCommit:
    """One commit to be made: on which branch, forked off which (None: it begins a history), by whom, when.

    `files` maps paths to their new text; None removes one. `when` is an aware moment.
    """

    branch: str
    parent: str | None
    author: str
    when: datetime
    message: str
    files: Mapping[str, str | None]


class Sandbox:
    """A repository of our own in the folder `path`, which is there and empty."""

    def __init__(self, path: Path, environ: Mapping[str, str]) -> None:
        """Make it. Raises RepositoryUnreadable where git is missing, too old, or can't write there."""
        self.path = path
        settings = {k: v for k, v in base_environment(environ).items() if not k.startswith("GIT_CONFIG")}
        self._env = settings | _ALONE
        refuse_old_git(self._env)
        self._git("init", "--quiet", "--template=", "--initial-branch=main")

    def _git(self, *args: str, stdin: bytes = b"") -> bytes:
        done = run_git(args, env=self._env, cwd=self.path, stdin=stdin)
        if done.status:
            raise RepositoryUnreadable(
                f"git {args[0]} failed in {str(self.path)!r}: {done.complaint}", "Name another folder."
            )
        return done.out

    def commit(self, commits: Iterable[NewCommit]) -> None:
        """Make commits, in order."""
        stream = b"".join(part for commit in commits for part in _as_stream(commit))
        self._git("fast-import", "--quiet", "--force", stdin=stream)

    def tip(self, branch: str) -> str:
        """The commit at the tip of a branch."""
        return self._git("rev-parse", "--verify", f"refs/heads/{branch}").decode().strip()

    def point(self, refs: Sequence[str], data: bytes) -> None:
        """Let refs stand at a blob that holds `data`."""
        oid = self._git("hash-object", "-w", "--stdin", stdin=data).decode().strip()
        self._git("update-ref", "--stdin", stdin="".join(f"create {ref} {oid}\n" for ref in refs).encode())

    def check_out(self, branch: str) -> None:
        """Fill the working tree from a branch."""
        self._git("checkout", "--quiet", "--force", branch)


def _as_stream(commit: NewCommit) -> Iterator[bytes]:
    """A commit in the language of `git fast-import`."""
    name = commit.author
    yield f"commit refs/heads/{commit.branch}\n".encode()
    yield f"committer {name} <{name.lower()}@example.com> {int(commit.when.timestamp())} +0000\n".encode()
    yield _data(commit.message)
    if commit.parent is not None:
        yield f"from refs/heads/{commit.parent}\n".encode()
    for path, text in commit.files.items():
        yield f"D {path}\n".encode() if text is None else f"M 100644 inline {path}\n".encode() + _data(text)


def _data(text: str) -> bytes:
    encoded = text.encode()
    return b"data %d\n%s\n" % (len(encoded), encoded)
