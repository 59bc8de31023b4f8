"""Which base a clone is judged against: the remote's, as it is today."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

from gatekeeper.edges.clock import now
from gatekeeper.edges.clone import Asked, Clone
from gatekeeper.edges.git import Repository
from gatekeeper.model import Tip
from gatekeeper.question import Question

if TYPE_CHECKING:
    from pathlib import Path

ENV = dict(os.environ) | {
    "GIT_AUTHOR_NAME": "t",
    "GIT_AUTHOR_EMAIL": "t@example.com",
    "GIT_COMMITTER_NAME": "t",
    "GIT_COMMITTER_EMAIL": "t@example.com",
}


def git(cwd: Path, *args: str) -> str:
    return subprocess.run(
        ["git", *args], cwd=cwd, env=ENV, check=True, capture_output=True, text=True
    ).stdout.strip()


def cloned(tmp_path: Path) -> tuple[Path, Path]:
    """A remote with the branches main and trunk, main being its default, and a clone of it."""
    origin, clone = tmp_path / "origin", tmp_path / "clone"
    git(tmp_path, "init", "-q", "-b", "main", "origin")
    git(origin, "commit", "-q", "--allow-empty", "-m", "one")
    git(origin, "branch", "trunk")
    git(tmp_path, "clone", "-q", "origin", "clone")
    git(clone, "switch", "-q", "-c", "agent/x")
    git(origin, "switch", "-q", "trunk")
    git(origin, "commit", "-q", "--allow-empty", "-m", "two")
    return origin, clone


def base_of(clone: Path, asked: Asked) -> Tip:
    opened = Clone(Repository(clone, ENV, explicit=True), ENV, asked)
    with opened:
        return opened.complete(Question(Tip("", None), Tip("HEAD", None), now())).base


def test_the_default_branch_is_the_remotes_of_today(tmp_path: Path) -> None:
    origin, clone = cloned(tmp_path)
    assert base_of(clone, Asked()) == Tip("trunk", git(origin, "rev-parse", "trunk"))
    git(origin, "switch", "-q", "main")
    assert base_of(clone, Asked()) == Tip("main", git(origin, "rev-parse", "main"))


def test_every_spelling_of_the_remotes_branch_is_asked_of_the_remote(tmp_path: Path) -> None:
    origin, clone = cloned(tmp_path)
    today = git(origin, "rev-parse", "trunk")
    for name in ("trunk", "origin/trunk", "remotes/origin/trunk", "refs/remotes/origin/trunk"):
        assert base_of(clone, Asked(base=name)).commit == today, name


def test_nothing_is_asked_where_nothing_may_be_fetched(tmp_path: Path) -> None:
    origin, clone = cloned(tmp_path)
    stale = git(clone, "rev-parse", "origin/trunk")
    assert base_of(clone, Asked(base="origin/trunk", fetch=False)).commit == stale
    assert stale != git(origin, "rev-parse", "trunk")


def test_a_branch_called_head_is_not_head(tmp_path: Path) -> None:
    _, clone = cloned(tmp_path)
    git(clone, "update-ref", "refs/heads/HEAD", "HEAD")
    git(clone, "commit", "-q", "--allow-empty", "-m", "mine")
    found = Repository(clone, ENV, explicit=True).resolve(["HEAD", "@", "@{u}"])
    assert found == dict.fromkeys(("HEAD", "@"), git(clone, "rev-parse", "@"))
