"""Which base a clone is judged against: the remote's, as it is today."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from gatekeeper.edges.clock import now
from gatekeeper.edges.clone import Asked, Clone
from gatekeeper.edges.git import Repository, view_over
from gatekeeper.model import Tip
from gatekeeper.question import Question

if TYPE_CHECKING:
    from collections.abc import Callable
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
    git(clone, "branch", "trunk", "main")  # of one's own, and out of date
    tracking = ("origin/trunk", "remotes/origin/trunk", "refs/remotes/origin/trunk")
    for name in ("trunk", "heads/trunk", "refs/heads/trunk", *tracking):
        assert base_of(clone, Asked(base=name)).commit == today, name


def test_a_remote_that_base_is_spelt_with_is_asked(tmp_path: Path) -> None:
    origin, clone = cloned(tmp_path)
    git(clone, "remote", "add", "up/stream", str(origin))
    git(clone, "update-ref", "refs/remotes/up/stream/trunk", "main")
    assert base_of(clone, Asked(base="up/stream/trunk")).commit == git(origin, "rev-parse", "trunk")


def test_a_default_branch_whose_name_begins_as_the_remotes_does(tmp_path: Path) -> None:
    origin, clone = cloned(tmp_path)
    git(origin, "switch", "-q", "-c", "origin/one")
    assert base_of(clone, Asked()) == Tip("origin/one", git(origin, "rev-parse", "origin/one"))


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


def test_a_default_branch_at_the_tip_of_the_last_one_is_found_by_whoever_stands_on_it(tmp_path: Path) -> None:
    origin, clone = cloned(tmp_path)
    git(origin, "branch", "develop", "main")
    git(origin, "symbolic-ref", "HEAD", "refs/heads/develop")
    git(clone, "fetch", "-q")
    git(clone, "switch", "-q", "develop")
    assert base_of(clone, Asked()) == Tip("develop", git(origin, "rev-parse", "main"))


@pytest.mark.parametrize("spelt", [str, str.upper])
def test_a_branch_named_like_a_commit_is_not_that_commit(tmp_path: Path, spelt: Callable[[str], str]) -> None:
    """Whoever can push can name a branch like this; git itself takes the name for the commit's."""
    _, clone = cloned(tmp_path)
    git(clone, "commit", "-q", "--allow-empty", "-m", "mine")
    name = spelt(git(clone, "rev-parse", "main"))
    for ref in (f"refs/heads/{name}", f"refs/remotes/origin/{name}"):
        git(clone, "update-ref", ref, "HEAD")
    opened = Clone(Repository(clone, ENV, explicit=True), ENV, Asked(base=name, head=name))
    with opened:
        found = opened.complete(Question(Tip("", None), Tip("HEAD", None), now()))
    assert (found.base.commit, found.head.commit, found.branch) == (name.lower(), name.lower(), "agent/x")


def test_a_commit_graph_that_lies_changes_no_merge(tmp_path: Path) -> None:
    """It says of the merge base that it holds what head did, so that base seems to have taken that back."""
    repo = tmp_path / "repo"
    git(tmp_path, "init", "-q", "-b", "main", "repo")

    def commit(text: str) -> str:
        (repo / "file").write_text(text)
        git(repo, "add", "file")
        git(repo, "commit", "-q", "--allow-empty", "-m", text)
        return git(repo, "rev-parse", "HEAD^{tree}")

    fork = commit("fork")
    git(repo, "switch", "-q", "-c", "head")
    work = commit("work")
    git(repo, "switch", "-q", "main")
    git(repo, "commit", "-q", "--allow-empty", "-m", "base moves on")
    git(repo, "commit-graph", "write", "--reachable")
    graph = repo / ".git/objects/info/commit-graph"
    data = graph.read_bytes()
    base = git(repo, "rev-parse", "main")
    assert data.count(bytes.fromhex(fork)) == 2  # of the fork, and of base, which changed nothing
    graph.chmod(0o644)
    graph.write_bytes(data.replace(bytes.fromhex(fork), bytes.fromhex(work), 1))
    with view_over(Repository(repo, ENV, explicit=True), ENV, None) as view:
        assert view.merge_tree(base, git(repo, "rev-parse", "head")) == (work, [])
