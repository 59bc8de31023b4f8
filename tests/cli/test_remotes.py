"""Which remote holds the claims, and that what is pushed to it is where it is fetched from."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

import pytest

from swarming import CLAIMS, LOG, Swarm, git, needs_ref_files, task_id

if TYPE_CHECKING:
    from pathlib import Path

T0, T20 = "2026-03-10T08:00:00Z", "2026-03-10T08:20:00Z"
ONE, TWO = task_id(1), task_id(2)


@pytest.fixture
def two(tmp_path: Path) -> Swarm:
    """Two clones of one remote."""
    return Swarm(tmp_path, {1: ["shared"], 2: []}, clones=2, worktrees=1)


def another(swarm: Swarm, name: str) -> Path:
    """A second bare repository beside the remote, the same but for claims."""
    assert swarm.remote
    git(swarm.root, "clone", "--quiet", "--bare", str(swarm.remote), name)
    return swarm.root / name


# -- pushed by another URL ------------------------------------------------------------


@pytest.mark.parametrize("how", ["pushurl", "pushInsteadOf"])
def test_a_claim_that_is_pushed_elsewhere_is_none(two: Swarm, how: str) -> None:
    a, b = two.agents
    fork = another(two, "fork.git")
    if how == "pushurl":
        git(a.clone, "config", "remote.origin.pushurl", str(fork))
    else:
        git(a.clone, "config", f"url.{fork}.pushInsteadOf", str(two.remote))
    ran = two.call(a, "claim", ONE, now=T0)
    assert ran.status == 2
    assert "pushed to by another URL" in ran.err
    assert two.refs(fork) == two.refs(a.clone) == {}
    assert two.call(b, "claim", ONE, now=T0).status == 0


@pytest.mark.parametrize("how", ["pushurl", "pushInsteadOf", "both"])
def test_another_url_of_the_same_repository_is_as_good(two: Swarm, how: str) -> None:
    a = two.agents[0]
    road = two.root / "road.git"
    road.symlink_to(str(two.remote))
    if how == "pushInsteadOf":
        git(a.clone, "config", f"url.{road}.pushInsteadOf", str(two.remote))
    else:
        git(a.clone, "config", "remote.origin.pushurl", str(road))
    if how == "both":  # what is pushed goes to the place that is fetched from, if that is one of them
        git(a.clone, "config", "remote.origin.pushurl", str(another(two, "mirror.git")))
        git(a.clone, "config", "--add", "remote.origin.pushurl", str(two.remote))
    for words in (["claim", ONE], ["renew"], ["release"]):
        ran = two.call(a, *words, now=T0)
        assert ran.status == 0, ran.err
        assert two.refs(a.clone) == two.refs()


def test_of_two_urls_the_one_that_is_fetched_from_is_the_remote(two: Swarm) -> None:
    a, b = two.agents
    mirror = another(two, "mirror.git")
    git(a.clone, "remote", "set-url", "--add", "origin", str(mirror))
    assert two.call(a, "claim", ONE, now=T0).status == 0
    assert CLAIMS + ONE in two.refs()
    assert two.refs(mirror) == {}
    assert two.call(a, "release", now=T0).status == 0
    assert two.call(b, "claim", ONE, now=T0).status == 0


def test_the_remotes_own_receive_pack_is_used(two: Swarm) -> None:
    a = two.agents[0]
    own = two.root / "receive"
    own.write_text(f'#!/bin/sh\ntouch {two.root}/used\nexec git-receive-pack "$@"\n')
    own.chmod(0o755)
    git(a.clone, "config", "remote.origin.receivepack", str(own))
    assert two.call(a, "claim", ONE, now=T0).status == 0
    assert (two.root / "used").exists()


def test_the_servers_reason_is_told(two: Swarm) -> None:
    assert two.remote
    a = two.agents[0]
    git(two.remote, "config", "receive.hideRefs", "refs/swarm")
    ran = two.call(a, "claim", ONE, now=T0)
    assert ran.status == 2
    assert "deny updating a hidden ref" in ran.err


# -- a remote of somebody else's ----------------------------------------------------------


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_a_remote_of_another_user_is_reached_where_git_reaches_it(two: Swarm) -> None:
    assert two.remote
    a = two.agents[0]
    settings = two.root / "settings"
    settings.write_text("")
    for path in (two.remote, *two.remote.rglob("*")):
        shutil.chown(path, 12345)
    env = {"GIT_CONFIG_GLOBAL": str(settings)}
    assert two.call(a, "claim", ONE, now=T0, **env).status == 2
    settings.write_text(f'[safe]\n\tdirectory = "{two.remote}"\n')
    assert two.call(a, "claim", ONE, now=T0, **env).status == 0
    assert (
        two.call(a, "check", "--base", "main", now=T0, **env).status == 1
    )  # judged, and nothing is finished


# -- which remote, which base --------------------------------------------------------------


def test_the_claims_are_on_the_upstream_of_the_default_branch(two: Swarm) -> None:
    """A fork called origin, and the project's own remote, whose default branch is no main."""
    assert two.remote
    git(two.remote, "branch", "--quiet", "-m", "main", "develop")
    git(two.remote, "symbolic-ref", "HEAD", "refs/heads/develop")
    fork = another(two, "fork.git")
    clone = two.root / "clone9"
    git(two.root, "clone", "--quiet", "-o", "upstream", str(two.remote), str(clone))
    git(clone, "branch", "--quiet", "main")
    git(clone, "remote", "add", "origin", str(fork))
    git(clone, "-c", "remote.origin.followRemoteHEAD=never", "fetch", "--quiet", "origin")  # as before 2.48
    agent = two._agent(9, clone)
    assert two.call(agent, "claim", ONE, now=T0).status == 0
    assert CLAIMS + ONE in two.refs()
    assert two.refs(fork) == {}
    # A clone in which each of the two is some default branch's upstream says nothing of where claims are.
    git(clone, "branch", "--quiet", "--set-upstream-to=origin/develop", "main")
    for words in (["claim", TWO], ["claim", TWO, "--local"], ["guard", "x"]):
        ran = two.call(agent, *words, now=T0)
        assert ran.status == 2
        assert "'upstream'" in ran.err
        assert "'origin'" in ran.err
        assert "--remote NAME" in ran.err
    assert two.call(agent, "claim", TWO, "--remote", "upstream", now=T0).status == 0
    assert CLAIMS + TWO in two.refs()


def unknowing(swarm: Swarm) -> Path:
    """A clone that `git remote add` and `git fetch` made: it does not know the remote's default branch, trunk."""
    assert swarm.remote
    git(swarm.remote, "branch", "trunk", "main")
    git(swarm.remote, "symbolic-ref", "HEAD", "refs/heads/trunk")
    clone = swarm.root / "clone9"
    git(swarm.root, "init", "--quiet", "-b", "x", str(clone))
    git(clone, "remote", "add", "origin", str(swarm.remote))
    git(clone, "fetch", "--quiet", "origin", "+refs/heads/*:refs/remotes/origin/*")
    git(clone, "symbolic-ref", "HEAD", "refs/heads/main")  # a main of one's own, which is not base
    git(clone, "update-ref", "refs/heads/main", "refs/remotes/origin/main")
    git(clone, "update-ref", "-d", "refs/remotes/origin/HEAD")
    return clone


def test_no_branch_is_guessed_to_be_the_default_one(two: Swarm) -> None:
    clone = unknowing(two)
    agent = two._agent(9, clone)
    for words in (["guard", "src/1/x"], ["claim", ONE, "--local"]):
        ran = two.call(agent, *words, now=T0)
        assert ran.status == 2
        assert "git remote set-head origin --auto" in ran.err
    git(clone, "remote", "set-head", "origin", "--auto")
    assert two.call(agent, "guard", "src/1/x", now=T0).status == 1
    assert "@ trunk" in two.call(agent, "claim", ONE, "--local", now=T0).out


def test_a_claim_lets_the_clone_know_the_default_branch(two: Swarm) -> None:
    clone = unknowing(two)
    agent = two._agent(9, clone)
    assert "@ trunk" in two.call(agent, "claim", ONE, now=T0).out
    assert git(clone, "symbolic-ref", "refs/remotes/origin/HEAD") == "refs/remotes/origin/trunk"
    assert two.call(agent, "guard", "src/1/x", now=T0).status == 0


def test_a_default_branch_that_the_clone_knows_wrongly_is_told_and_left(two: Swarm) -> None:
    assert two.remote
    a = two.agents[0]
    git(two.remote, "branch", "trunk", "main")
    git(two.remote, "symbolic-ref", "HEAD", "refs/heads/trunk")
    git(a.clone, "commit", "--quiet", "--allow-empty", "-m", "on")
    git(a.clone, "push", "--quiet", "origin", "HEAD:trunk")
    ran = two.call(a, "claim", ONE, now=T0)
    assert "@ trunk" in ran.out
    assert "git remote set-head origin --auto" in ran.err
    assert git(a.clone, "symbolic-ref", "refs/remotes/origin/HEAD") == "refs/remotes/origin/main"


def test_nothing_else_of_the_clone_changes_when_it_follows_base(two: Swarm) -> None:
    a, b = two.agents
    git(b.clone, "commit", "--quiet", "--allow-empty", "-m", "on")
    git(b.clone, "push", "--quiet", "origin", "main")
    mine = a.path / git(a.path, "rev-parse", "--git-path", "FETCH_HEAD")
    mine.write_text("what I fetched\n")
    assert two.call(a, "claim", ONE, now=T0).status == 0
    assert git(a.clone, "rev-parse", "origin/main") == git(b.clone, "rev-parse", "main")
    assert mine.read_text() == "what I fetched\n"


def test_a_base_that_the_clone_cannot_follow_is_told(two: Swarm) -> None:
    a, b = two.agents
    git(b.clone, "commit", "--quiet", "--allow-empty", "-m", "on")
    git(b.clone, "push", "--quiet", "origin", "main")
    needs_ref_files(a.clone)
    (a.clone / ".git/refs/remotes/origin/main.lock").touch()
    ran = two.call(a, "claim", ONE, now=T0)
    assert ran.status == 0
    assert "does not know base as remote 'origin' has it" in ran.err


def test_the_guard_of_a_partial_clone_reads_a_base_that_moved_on(two: Swarm) -> None:
    assert two.remote
    git(two.remote, "config", "uploadpack.allowFilter", "true")
    git(two.remote, "config", "uploadpack.allowAnySHA1InWant", "true")
    clone = two.root / "clone9"
    git(two.root, "clone", "--quiet", "--filter=blob:none", f"file://{two.remote}", str(clone))
    agent, b = two._agent(9, clone), two.agents[1]
    for number in range(2):  # with a claim, and with a renewal
        for path in (".github/gatekeeper.yml", f".agents/tasks/queued/{ONE}.md"):
            (b.path / path).write_text((b.path / path).read_text() + f"\n# {number}\n")
        git(b.path, "commit", "--quiet", "-a", "-m", "on")
        git(b.path, "push", "--quiet", "origin", "HEAD:main")
        assert two.call(agent, *(["renew"] if number else ["claim", ONE]), now=T0).status == 0
        ran = two.call(agent, "guard", "src/1/x", now=T0)
        assert ran.status == 0, ran.err


# -- a remote that came later -----------------------------------------------------------------


def test_what_was_claimed_before_there_was_a_remote_is_not_lost(tmp_path: Path) -> None:
    swarm = Swarm(tmp_path, {1: [], 2: ["shared"], 3: []}, worktrees=2)
    a, b = swarm.agents
    swarm.call(a, "claim", ONE, now=T0)
    swarm.call(a, "release", "--outcome", "done", now=T0)
    swarm.call(a, "claim", TWO, now=T0)
    swarm.call(b, "claim", task_id(3), now=T0)
    before = swarm.refs(a.clone)
    hub = tmp_path / "hub.git"
    git(tmp_path, "init", "--quiet", "--bare", "-b", "main", str(hub))
    git(a.clone, "remote", "add", "origin", str(hub))
    git(a.clone, "push", "--quiet", "origin", "main")
    for _ in range(2):
        ran = swarm.call(a, "status", now=T20)
        assert [line.split()[1] for line in ran.out.splitlines()] == ["in", "active", "active"]
        assert swarm.refs(a.clone) == before
    # Each claim goes to the remote with its own renewal; a log entry stays here.
    assert swarm.call(a, "renew", now=T20).status == 0
    renewed = swarm.refs(hub)
    assert [ref for ref in renewed if ref.startswith(CLAIMS)] == [CLAIMS + TWO]
    assert len(renewed) == 2
    # From then on it is the remote's: what ends there ends here.
    for ref in renewed:
        git(hub, "update-ref", "-d", ref)
    swarm.call(b, "status", now=T20)
    left = [ref for ref in swarm.refs(a.clone) if not ref.startswith(LOG)]
    assert left == [CLAIMS + task_id(3)]
    assert swarm.call(b, "release", now=T20).status == 0
    assert [ref for ref in swarm.refs(hub) if ref.startswith(LOG)]
    assert not [ref for ref in swarm.refs(a.clone) if ref.startswith(CLAIMS)]
