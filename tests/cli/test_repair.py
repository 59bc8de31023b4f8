"""`status` and `repair`: what they say, what they mend, and what they leave to a person."""

from __future__ import annotations

import json
import os
import time
from typing import TYPE_CHECKING

import pytest

from gatekeeper.edges.claimstore import ClaimStore, Known
from gatekeeper.model import Malformed
from swarming import CLAIMS, LOCKS, LOG, Swarm, git, task_id

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

T0, T20, T31 = "2026-03-10T08:00:00Z", "2026-03-10T08:20:00Z", "2026-03-10T08:31:00Z"
ONE, TWO, THREE, FOUR = (task_id(number) for number in (1, 2, 3, 4))


@pytest.fixture(params=[0, 2], ids=["alone", "remote"])
def swarm(request: pytest.FixtureRequest, tmp_path: Path) -> Swarm:
    """Four tasks, two agents; the first holds task 1 with its lock."""
    clones: int = request.param
    swarm = Swarm(tmp_path, {1: ["a"], 2: ["b"], 3: [], 4: []}, clones=clones, worktrees=1 if clones else 2)
    assert swarm.call(swarm.agents[0], "claim", ONE, now=T0).status == 0
    return swarm


def put(swarm: Swarm, ref: str, text: str) -> str:
    """Let a hand write a ref."""
    oid = git(swarm.authority, "hash-object", "-w", "--stdin", stdin=text)
    git(swarm.authority, "update-ref", ref, oid)
    return oid


def lock(swarm: Swarm) -> str:
    (found,) = (ref for ref in swarm.refs() if ref.startswith(LOCKS))
    return found


def repaired(swarm: Swarm, *lines: str) -> None:
    """What `repair` finds, first planned, then done, then gone."""
    b = swarm.agents[1]
    before = swarm.refs()
    planned = swarm.call(b, "repair", "--dry-run", now=T20)
    assert planned.status == 0
    assert swarm.refs() == before
    assert len(planned.out.splitlines()) == len(lines)
    for line, wanted in zip(planned.out.splitlines(), lines, strict=True):
        assert wanted in line
        assert line.startswith("would mend: ")
    status = swarm.call(b, "status", now=T20)
    assert status.status == 0
    done = swarm.call(b, "repair", now=T20)
    assert done.status == 0
    assert done.out == planned.out.replace("would mend: ", "mended: ")
    assert swarm.call(b, "repair", now=T20).out == "nothing to repair\n"


# -- status ----------------------------------------------------------------------------------


def test_every_task_its_state_and_who_holds_it(swarm: Swarm) -> None:
    a, b = swarm.agents
    swarm.call(b, "claim", TWO, "--minutes", "60", now=T0)
    swarm.call(b, "release", "--outcome", "done", now=T0)
    ran = swarm.call(b, "status", now=T20)
    assert ran.status == 0
    first, second, third, _ = ran.out.splitlines()
    assert first.split()[:2] == [ONE, "active"]
    assert f"{a.name}  {a.branch}  no plan  until 2026-03-10T08:30:00.000Z" in first
    assert second.split() == [TWO, "in", "review"]
    assert third.split() == [THREE, "queued"]
    assert "EXPIRED" in swarm.call(b, "status", ONE, now=T31).out
    assert len(swarm.call(b, "status", ONE, now=T31).out.splitlines()) == 1
    assert swarm.call(b, "status", "T-20260301-0000dead", now=T31).out == "no such task\n"


def test_status_as_json(swarm: Swarm) -> None:
    a, b = swarm.agents
    report = swarm.call(b, "status", "--format", "json", now=T31).report
    assert (report["version"], report["command"], report["base"]) == (1, "status", "main")
    assert report["tasks"][0] == {
        "id": ONE,
        "state": "EXPIRED",
        "agent": a.name,
        "branch": a.branch,
        "planRevision": None,
        "expiresAt": "2026-03-10T08:30:00.000Z",
        "local": False,
    }
    assert report["tasks"][1]["state"] == "queued"
    assert report["tasks"][1]["agent"] is None
    assert report["care"] == []


def test_what_a_person_has_to_look_after(swarm: Swarm) -> None:
    b = swarm.agents[1]
    put(swarm, CLAIMS + TWO, "nonsense")
    put(swarm, LOCKS + "0" * 16, "nobody's")
    ran = swarm.call(b, "status", now=T20)
    assert f"{TWO}    malformed" in ran.out
    notes = [line for line in ran.out.splitlines() if line.startswith("! ")]
    assert len(notes) == 2
    assert any("gatekeeper repair mends it" in note for note in notes)
    assert any(f"gatekeeper steal {TWO} clears it" in note for note in notes)
    assert len(swarm.call(b, "status", "--format", "json", now=T20).report["care"]) == 2


def test_hostile_text_in_a_claim_is_not_printed_raw(swarm: Swarm) -> None:
    oid = swarm.refs()[CLAIMS + ONE]
    blob = swarm.blobs([oid])[oid] | {"agent": "x\x1b[31m", "branch": "b\n::error::x"}
    put(swarm, CLAIMS + ONE, json.dumps(blob))
    for command in (["status"], ["repair", "--dry-run"], ["claim", ONE], ["steal", ONE]):
        ran = swarm.call(swarm.agents[1], *command, now=T20)
        assert "\x1b" not in ran.out + ran.err
        assert "\n::error" not in ran.out + ran.err


def test_where_the_remote_is_away_what_is_known_here_is_shown(tmp_path: Path) -> None:
    swarm = Swarm(tmp_path, {1: ["a"]}, clones=1, worktrees=1)
    swarm.call(swarm.agents[0], "claim", ONE, now=T0)
    assert swarm.remote
    swarm.remote.rename(swarm.remote.with_name("away.git"))
    ran = swarm.call(swarm.agents[0], "status", now=T20)
    assert ran.status == 0
    assert ran.out.split()[:2] == [ONE, "active"]
    assert "last known here" in ran.err


def test_a_mirror_that_was_cut_short_is_made_good_and_said(tmp_path: Path) -> None:
    swarm = Swarm(tmp_path, {1: ["a"]}, clones=2, worktrees=1)
    a, b = swarm.agents
    swarm.call(a, "claim", ONE, now=T0)
    ran = swarm.call(b, "status", now=T20)
    assert "2 claim refs here now say what the remote's say" in ran.err
    assert swarm.refs(b.clone) == swarm.refs()
    assert swarm.call(b, "status", now=T20).err == ""


# -- repair ----------------------------------------------------------------------------------


def test_nothing_to_repair(swarm: Swarm) -> None:
    assert swarm.call(swarm.agents[1], "repair", now=T20).out == "nothing to repair\n"
    assert swarm.call(swarm.agents[1], "repair", "--format", "json", now=T20).report["found"] == []


def test_a_lock_without_its_claim_is_freed(swarm: Swarm) -> None:
    git(swarm.authority, "update-ref", "-d", CLAIMS + ONE)
    blocked = swarm.call(swarm.agents[1], "claim", ONE, now=T20)
    assert blocked.status == 1
    assert "gatekeeper repair" in blocked.err
    repaired(swarm, "a lock that no claim stands behind")
    assert swarm.call(swarm.agents[1], "claim", ONE, now=T20).status == 0


def test_a_claim_gets_the_lock_that_it_lacks(swarm: Swarm) -> None:
    ref, oid = lock(swarm), swarm.refs()[CLAIMS + ONE]
    git(swarm.authority, "update-ref", "-d", ref)
    repaired(swarm, "lacks its lock 'a'")
    assert swarm.refs()[ref] == oid


def test_a_lock_that_carries_another_blob_is_freed_and_given_back(swarm: Swarm) -> None:
    oid = swarm.refs()[CLAIMS + ONE]
    put(swarm, lock(swarm), "an older blob")
    b = swarm.agents[1]
    done = swarm.call(b, "repair", now=T20)
    assert done.out.count("mended: ") == 2
    assert swarm.refs()[lock(swarm)] == oid
    assert swarm.call(b, "repair", now=T20).out == "nothing to repair\n"


def test_two_claims_that_say_they_hold_one_lock_are_a_person_s_matter(swarm: Swarm) -> None:
    oid = swarm.refs()[CLAIMS + ONE]
    blob = swarm.blobs([oid])[oid] | {"task": TWO, "nonce": "other"}
    put(swarm, CLAIMS + TWO, json.dumps(blob))
    ran = swarm.call(swarm.agents[1], "repair", now=T20)
    assert ran.status == 0
    assert ran.out.startswith(f"to do by hand: {TWO} says it holds lock 'a', and another claim does")


def test_unreadable_log_entries_are_put_aside(swarm: Swarm) -> None:
    put(swarm, f"{LOG}{TWO}/20260310T080000000Z", "nonsense")
    put(swarm, f"{LOG}{THREE}/whenever", "{}")
    put(swarm, f"refs/swarm/claim-malformed/{THREE}/whenever", "the same name, from another time")
    repaired(swarm, f"{LOG}{TWO}/20260310T080000000Z can't be read", f"{LOG}{THREE}/whenever can't be read")
    refs = swarm.refs()
    assert f"refs/swarm/claim-malformed/{TWO}/20260310T080000000Z" in refs
    assert len([ref for ref in refs if ref.startswith(f"refs/swarm/claim-malformed/{THREE}/")]) == 2
    assert not [ref for ref in refs if ref.startswith(LOG)]


def test_what_stands_where_a_task_s_log_has_to_go_is_put_aside(swarm: Swarm) -> None:
    a = swarm.agents[0]
    put(swarm, f"{LOG}{ONE}", "in the way of every entry")
    put(swarm, f"refs/swarm/claim-malformed/{TWO}", "in the way of every malformed claim")
    put(swarm, f"{LOG}{THREE}%2d/20260310T080000000Z", "no id is spelt so")
    assert swarm.call(a, "release", now=T20).status == 2
    names = [f"{LOG}{ONE}", f"{LOG}{THREE}%2d/20260310T080000000Z"]
    repaired(swarm, f"claim-malformed/{TWO} is no name", *(f"{name} is no name" for name in names))
    aside = [ref for ref in swarm.refs() if ref.startswith("refs/swarm/claim-malformed/")]
    assert [ref.rpartition("/")[0] for ref in aside] == [
        f"refs/swarm/claim-malformed/{name}%" for name in (ONE, TWO, f"{THREE}%2d/20260310T080000000Z")
    ]
    put(swarm, CLAIMS + TWO, "nonsense")
    assert swarm.call(a, "steal", TWO, now=T20).out == f"cleared {TWO}\n"
    assert swarm.call(a, "release", now=T20).status == 0


def test_a_claim_whose_name_is_no_task_s_is_put_aside_with_its_locks(swarm: Swarm) -> None:
    ref = f"{CLAIMS}{THREE}%2d"
    oid = put(swarm, ref, "no id is spelt so")
    put(swarm, LOCKS + "0" * 16, "no id is spelt so")
    standing = ClaimStore.standing

    def listed(store: ClaimStore, known: Known, now: datetime) -> object:
        found = {task: entry for task, entry in standing(store, known, now).items() if entry.ref != ref}
        return found | ({ref: Malformed(ref, oid, True, "no task's")} if ref in known.refs else {})

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ClaimStore, "standing", listed)
        repaired(swarm, f"{ref} is no name")
    assert [name for name, held in swarm.refs().items() if held == oid] == [
        f"refs/swarm/claim-malformed/{THREE}%2d%/20260310T082000000Z"
    ]


def test_an_expired_claim_is_given_no_lock(swarm: Swarm) -> None:
    b = swarm.agents[1]
    git(swarm.authority, "update-ref", "-d", lock(swarm))
    assert swarm.call(b, "repair", now=T31).out == "nothing to repair\n"
    assert swarm.call(b, "steal", ONE, now=T31).status == 0


def test_a_malformed_claim_and_one_that_left_the_queue_are_listed(swarm: Swarm) -> None:
    put(swarm, CLAIMS + TWO, "nonsense")
    clone = swarm.agents[0].path
    git(clone, "rm", "-q", f".agents/tasks/queued/{ONE}.md")
    git(clone, "commit", "-q", "-m", "gone")
    if swarm.remote:
        git(clone, "push", "-q", "origin", "HEAD:main")
    else:
        git(swarm.clones[0], "merge", "-q", "--ff-only", "agent/clone0-0")
    b = swarm.agents[1]
    ran = swarm.call(b, "repair", "--format", "json", now=T31)
    found = ran.report["found"]
    assert [(row["mended"], row["by_hand"]) for row in found] == [(False, True)] * 2
    assert all("gatekeeper steal" in row["what"] for row in found)
    for task in (ONE, TWO):
        assert swarm.call(b, "steal", task, now=T31).out == f"cleared {task}\n"
    assert swarm.call(b, "repair", now=T31).out == "nothing to repair\n"


def test_lock_files_of_a_dead_git_are_removed_once_old(tmp_path: Path) -> None:
    swarm = Swarm(tmp_path, {1: ["a"]}, worktrees=1)
    a = swarm.agents[0]
    tables = a.clone / ".git" / "reftable"
    left = tables / "tables.list.lock" if tables.is_dir() else a.clone / ".git" / f"{CLAIMS}{ONE}.lock"
    left.parent.mkdir(parents=True, exist_ok=True)
    left.touch()
    ran = swarm.call(a, "claim", ONE, now=T0)
    assert ran.status == 2
    assert "gatekeeper repair" in ran.err
    assert swarm.call(a, "repair", now=T0).out == "nothing to repair\n"  # it may be a git's that still runs
    os.utime(left, (time.time() - 700, time.time() - 700))
    assert "a dead git's" in swarm.call(a, "repair", "--dry-run", now=T0).out
    assert left.exists()
    assert swarm.call(a, "repair", now=T0).out.startswith("mended: ")
    assert not left.exists()
    assert swarm.call(a, "claim", ONE, now=T0).status == 0


def test_repair_tells_the_remote_nothing_of_a_claim_that_it_does_not_know(tmp_path: Path) -> None:
    swarm = Swarm(tmp_path, {1: ["a"]}, clones=1, worktrees=1)
    a = swarm.agents[0]
    swarm.call(a, "claim", ONE, "--local", now=T0)
    (ref,) = (ref for ref in swarm.refs(a.clone) if ref.startswith(LOCKS))
    git(a.clone, "update-ref", "-d", ref)
    assert "mended" in swarm.call(a, "repair", now=T20).out
    assert swarm.refs() == {}
    assert ref in swarm.refs(a.clone)
