"""The clone's claim refs follow the remote's, whatever names and objects somebody put there, or it is said."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from swarming import CLAIMS, LOCKS, LOG, Swarm, git, needs_ref_files, task_id

if TYPE_CHECKING:
    from pathlib import Path

T0, T20 = "2026-03-10T08:00:00Z", "2026-03-10T08:20:00Z"
ONE, TWO = task_id(1), task_id(2)


@pytest.fixture
def two(tmp_path: Path) -> Swarm:
    """Two clones of one remote."""
    return Swarm(tmp_path, {1: ["shared"], 2: []}, clones=2, worktrees=1)


def put(folder: Path, ref: str, text: str = "nonsense") -> None:
    git(folder, "update-ref", ref, git(folder, "hash-object", "-w", "--stdin", stdin=text))


def test_a_name_in_the_way_goes_before_what_takes_its_place(two: Swarm) -> None:
    a, b = two.agents
    odd = f"{CLAIMS}{ONE}/x"
    put(two.authority, odd)
    two.call(b, "status", now=T0)
    assert odd in two.refs(b.clone)
    git(two.authority, "update-ref", "-d", odd)
    two.call(a, "claim", ONE, now=T0)
    ran = two.call(b, "status", now=T0)
    assert "do not say" not in ran.err
    assert two.refs(b.clone) == two.refs()
    assert two.call(b, "steal", ONE, "--override", "--yes", now=T0).status == 0
    assert two.call(b, "guard", "src/1/x", now=T0).status == 0


def test_a_ref_that_cannot_be_moved_stops_no_other_and_is_told(two: Swarm) -> None:
    a, b = two.agents
    needs_ref_files(b.clone)
    left = b.clone / ".git" / f"{CLAIMS}{ONE}.lock"
    left.parent.mkdir(parents=True)
    left.touch()  # of a git that died
    two.call(a, "claim", ONE, now=T0)
    ran = two.call(b, "claim", TWO, now=T0)
    assert ran.status == 0
    assert "do not say what the remote's say" in ran.err
    assert f"{ONE}.lock" in ran.err
    assert two.refs().keys() - two.refs(b.clone).keys() == {CLAIMS + ONE}
    assert two.call(b, "guard", "src/2/x", now=T0).status == 0
    assert "to do by hand: some claim refs" in two.call(b, "repair", now=T0).out
    left.unlink()
    assert "do not say" not in two.call(b, "renew", now=T0).err
    assert two.refs(b.clone) == two.refs()


def test_a_hook_that_refuses_the_mirror_is_told_of_and_not_asked_for_ever(two: Swarm) -> None:
    a, b = two.agents
    for number in range(40):
        put(two.authority, f"{LOCKS}{number:016x}")
    two.call(a, "claim", ONE, now=T0)
    hook = b.clone / ".git/hooks/reference-transaction"
    hook.parent.mkdir(exist_ok=True)
    asked = two.root / "asked"
    hook.write_text(f"#!/bin/sh\necho x >> {asked}\nexit 1\n")
    hook.chmod(0o755)
    ran = two.call(b, "status", now=T20)
    assert ran.out.split()[:2] == [ONE, "active"]
    assert "aborted by" in ran.err  # "hook", or of newer gits "the reference-transaction hook"
    assert len(asked.read_text().split()) < 100
    assert two.refs(b.clone) == {}


# -- symbolic refs -----------------------------------------------------------------------


@pytest.mark.parametrize("target", ["precious", "nowhere"])
def test_what_a_symbolic_ref_points_at_is_left_alone_by_the_mirror(two: Swarm, target: str) -> None:
    a = two.agents[0]
    tip = git(a.clone, "rev-parse", "main")
    git(a.clone, "branch", "precious")
    git(a.clone, "symbolic-ref", CLAIMS + ONE, f"refs/heads/{target}")
    git(a.clone, "symbolic-ref", CLAIMS + TWO, "refs/heads/precious")
    assert two.call(a, "claim", ONE, now=T0).status == 0
    assert two.refs(a.clone) == two.refs()
    assert two.call(a, "guard", "src/1/x", now=T0).status == 0
    assert git(a.clone, "rev-parse", "precious") == tip


def test_a_symbolic_claim_is_malformed_and_cleared_without_what_it_points_at(tmp_path: Path) -> None:
    swarm = Swarm(tmp_path, {1: ["shared"], 2: []}, worktrees=2)
    a, b = swarm.agents
    swarm.call(a, "claim", ONE, now=T0)
    blob = swarm.refs()[CLAIMS + ONE]
    git(a.clone, "update-ref", "refs/kept/blob", blob)
    git(a.clone, "symbolic-ref", CLAIMS + ONE, "refs/kept/blob")
    assert "malformed" in swarm.call(b, "status", ONE, now=T0).out
    assert "symbolic ref" in swarm.call(b, "claim", ONE, now=T0).err
    judged = swarm.call(a, "check", "--base", "main", "--format", "json", now=T0)
    assert judged.status == 1
    assert swarm.call(b, "steal", ONE, now=T0).out == f"cleared {ONE}\n"
    assert CLAIMS + ONE not in swarm.refs()
    assert git(a.clone, "rev-parse", "refs/kept/blob") == blob


# -- objects that are no blobs, names that are no task's ---------------------------------------


@pytest.mark.parametrize("ref", [CLAIMS + ONE, f"{LOG}{ONE}/20260101T000000000Z"])
def test_what_is_put_aside_is_not_mirrored_where_it_is_no_blob(two: Swarm, ref: str) -> None:
    a, b = two.agents
    for text in ("one", "two"):
        git(b.clone, "commit", "--quiet", "--allow-empty", "-m", text)
    git(b.clone, "push", "--quiet", "origin", f"HEAD:{ref}")
    words = ["steal", ONE] if ref.startswith(CLAIMS) else ["repair"]
    assert two.call(a, *words, now=T0).status == 0
    assert [ref for ref in two.refs() if "claim-malformed" in ref]
    assert two.refs(a.clone) == {}
    git(a.clone, "gc", "--quiet")


def test_a_claim_ref_whose_name_is_no_tasks_is_named(two: Swarm) -> None:
    odd = f"{CLAIMS}{ONE}%2d"
    put(two.authority, odd)
    ran = two.call(two.agents[0], "status", now=T0)
    assert odd in ran.out
    assert "its name is no task's" in ran.out
    assert odd in two.call(two.agents[0], "repair", "--dry-run", now=T0).out
