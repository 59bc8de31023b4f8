"""`claim`, `renew`, `release`, `steal`: what they write, what they refuse, and what they say."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from gatekeeper.edges.claimstore import ClaimStore, pushed
from gatekeeper.edges.git import Done
from swarming import CLAIMS, LOCKS, LOG, NO_CAPS, Swarm, environment, fake_git, git, task_id

if TYPE_CHECKING:
    from pathlib import Path

T0, T30, T31, HOURS = (
    "2026-03-10T08:00:00Z",
    "2026-03-10T08:30:00Z",
    "2026-03-10T08:31:00Z",
    "2026-03-10T12:00:00Z",
)
ONE, TWO, THREE = task_id(1), task_id(2), task_id(3)
EIGHT = ["task", "agent", "branch", "baseCommit", "claimedAt", "expiresAt", "locks", "planRevision"]


@pytest.fixture(params=[0, 2], ids=["alone", "remote"])
def swarm(request: pytest.FixtureRequest, tmp_path: Path) -> Swarm:
    """Three tasks, two of which share a lock, and two agents."""
    clones: int = request.param
    return Swarm(tmp_path, {1: ["shared"], 2: ["shared"], 3: []}, clones=clones, worktrees=1 if clones else 2)


def held(swarm: Swarm, task: str) -> dict[str, object]:
    oid = swarm.refs()[CLAIMS + task]
    return swarm.blobs([oid])[oid]


def logged(swarm: Swarm, task: str) -> list[dict[str, object]]:
    refs = sorted(item for item in swarm.refs().items() if item[0].startswith(f"{LOG}{task}/"))
    return [swarm.blobs([oid])[oid] for _, oid in refs]


# -- claim --------------------------------------------------------------------------


def test_a_claim_is_a_blob_and_its_locks_carry_the_same(swarm: Swarm) -> None:
    a = swarm.agents[0]
    ran = swarm.call(a, "claim", ONE, now=T0)
    assert ran.out == (
        f"claimed {ONE} for {a.name} until 2026-03-10T08:30:00.000Z\n  (no plan @ main, locks: shared)\n"
        f"  Number 1: .agents/tasks/queued/{ONE}.md\n"
    )
    refs = swarm.refs()
    assert len(refs) == 2
    assert len(set(refs.values())) == 1
    blob = held(swarm, ONE)
    assert list(blob)[:8] == EIGHT
    assert blob["epoch"] == 1
    assert isinstance(blob["nonce"], str)
    assert git(a.path, "status", "--porcelain") == ""


def test_node_reads_the_eight_fields_as_the_seed_does(swarm: Swarm) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("no node here")
    swarm.call(swarm.agents[0], "claim", ONE, "--agent", "Zoë 🐝", now=T0)
    script = (
        "const b = JSON.parse(require('child_process').execFileSync('git', ['cat-file', '-p', process.argv[1]]));"
        "const {task, agent, branch, baseCommit, claimedAt, expiresAt, locks, planRevision} = b;"
        "console.log(JSON.stringify([task, agent, branch, baseCommit.length, new Date(expiresAt) - new Date(claimedAt),"
        " Array.isArray(locks) && locks.join(), planRevision]))"
    )
    done = subprocess.run(
        [node, "-e", script, CLAIMS + ONE],
        cwd=swarm.authority,
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
        timeout=30,
    )
    branch = swarm.agents[0].branch
    assert json.loads(done.stdout) == [ONE, "Zoë 🐝", branch, 40, 30 * 60 * 1000, "shared", None]


def test_a_blob_of_the_seed_is_read_and_respected(swarm: Swarm) -> None:
    base = git(swarm.agents[0].path, "rev-parse", "main")
    text = json.dumps(
        dict(
            zip(
                EIGHT,
                [
                    ONE,
                    "old",
                    "b",
                    base,
                    "2026-03-10T07:50:00.000Z",
                    "2026-03-10T08:20:00.000Z",
                    ["shared"],
                    None,
                ],
                strict=True,
            )
        )
    )
    oid = git(swarm.authority, "hash-object", "-w", "--stdin", stdin=text)
    lock = next(ref for ref in _lock_refs(swarm))
    for ref in (CLAIMS + ONE, lock):
        git(swarm.authority, "update-ref", ref, oid)
    a = swarm.agents[0]
    ran = swarm.call(a, "claim", ONE, now=T0)
    assert ran.status == 1
    assert "old holds it on branch 'b' until 2026-03-10T08:20:00.000Z" in ran.err
    assert swarm.call(a, "claim", TWO, now=T0).status == 1
    assert swarm.call(a, "steal", ONE, now=T31).status == 0
    assert [blob["outcome"] for blob in logged(swarm, ONE)] == ["stolen"]
    assert held(swarm, ONE)["epoch"] == 1


def _lock_refs(swarm: Swarm) -> list[str]:
    swarm.call(swarm.agents[0], "claim", ONE, now="2026-03-10T06:00:00Z")
    found = [ref for ref in swarm.refs() if ref.startswith(LOCKS)]
    for ref in swarm.refs():
        git(swarm.authority, "update-ref", "-d", ref)
    return found


def test_the_loser_hears_who_holds_it_and_what_to_do(swarm: Swarm) -> None:
    a, b = swarm.agents
    swarm.call(a, "claim", ONE, now=T0)
    before = swarm.refs()
    ran = swarm.call(b, "claim", ONE, now=T0)
    assert ran.status == 1
    assert "reference already exists" in ran.err
    assert f"{a.name} holds it on branch '{a.branch}' until 2026-03-10T08:30:00.000Z" in ran.err
    assert "claim --next" in ran.err
    late = swarm.call(b, "claim", ONE, now=T31)
    assert "(EXPIRED)" in late.err
    assert f"gatekeeper steal {ONE}" in late.err
    assert swarm.refs() == before


def test_a_lock_in_common_is_told_with_its_holder(swarm: Swarm) -> None:
    a, b = swarm.agents
    swarm.call(a, "claim", ONE, now=T0)
    ran = swarm.call(b, "claim", TWO, now=T0)
    assert ran.status == 1
    assert f"lock 'shared': reference already exists: {ONE}: {a.name} holds it" in ran.err
    assert f"gatekeeper steal {ONE}" in swarm.call(b, "claim", TWO, now=T31).err


def test_who_claims_again_gets_it_back(swarm: Swarm) -> None:
    a = swarm.agents[0]
    swarm.call(a, "claim", ONE, "--minutes", "60", now=T0)
    first = held(swarm, ONE)
    ran = swarm.call(a, "claim", ONE, "--format", "json", now="2026-03-10T08:10:00Z")
    assert ran.report["how"] == "again"
    again = held(swarm, ONE)
    assert (again["claimedAt"], again["epoch"], again["expiresAt"]) == (
        first["claimedAt"],
        1,
        "2026-03-10T09:00:00.000Z",
    )
    assert again["nonce"] != first["nonce"]
    assert len(set(swarm.refs().values())) == 1


def test_next_gives_back_what_this_branch_holds_already(swarm: Swarm) -> None:
    a = swarm.agents[0]
    swarm.call(a, "claim", THREE, now=T0)
    assert swarm.call(a, "claim", "--next", now=T0).out.startswith(f"claimed {THREE} ")
    assert [ref for ref in swarm.refs() if ref.startswith(CLAIMS)] == [CLAIMS + THREE]


def test_next_takes_what_is_free_before_what_has_expired(swarm: Swarm) -> None:
    a, b = swarm.agents
    swarm.call(a, "claim", ONE, now=T0)
    assert f"claimed {THREE} " in swarm.call(b, "claim", "--next", now=T31).out
    swarm.call(b, "release", "--outcome", "done", now=T31)
    ran = swarm.call(b, "claim", "--next", "--format", "json", now=T31)
    assert (ran.report["how"], ran.report["claimed"]["task"]) == ("stolen", ONE)
    assert swarm.call(b, "release", "--outcome", "done", now=T31).status == 0
    assert f"claimed {TWO} " in swarm.call(a, "claim", "--next", now=HOURS).out
    swarm.call(a, "release", "--outcome", "done", now=HOURS)
    ran = swarm.call(a, "claim", "--next", now=HOURS)
    assert (ran.status, ran.out[:16]) == (0, "nothing to claim")


def test_what_came_and_went_while_a_claim_was_decided_is_not_claimed_again(swarm: Swarm) -> None:
    """The claim ref is absent again, and the task is in review: nobody may have it twice."""
    a, b = swarm.agents
    learn, done = ClaimStore.learn, []

    def late(store: ClaimStore, tasks: object = ()) -> object:
        known = learn(store, tasks)  # type: ignore[arg-type]
        if not done:
            done.append(True)
            assert swarm.run(a, "claim", THREE, now=T0).status == 0
            assert swarm.run(a, "release", "--outcome", "done", now=T0).status == 0
        return known

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ClaimStore, "learn", late)
        ran = swarm.call(b, "claim", THREE, now=T0)
    assert ran.status == 1
    assert "in review" in ran.err
    assert [blob["agent"] for blob in logged(swarm, THREE)] == [a.name]
    assert CLAIMS + THREE not in swarm.refs()


def test_caps_are_counted_over_live_claims(tmp_path: Path) -> None:
    swarm = Swarm(
        tmp_path, {n: [] for n in range(1, 4)}, worktrees=3, policy=NO_CAPS.replace("tion: 0", "tion: 1", 1)
    )
    a, b, c = swarm.agents
    assert swarm.call(a, "claim", ONE, now=T0).status == 0
    refused = swarm.call(b, "claim", TWO, now=T0)
    assert refused.status == 1
    assert "the policy's cap is 1" in refused.err
    assert swarm.call(b, "claim", "--next", now=T0).out.startswith("nothing to claim")
    assert swarm.call(b, "claim", TWO, now=T31).status == 0  # an expired claim is not in flight
    assert swarm.call(a, "claim", ONE, now=T31).status == 1  # admission is asked anew
    assert swarm.call(c, "steal", ONE, now=T31).status == 1
    assert swarm.call(a, "renew", now=T31).status == 0  # a holder may renew
    assert swarm.call(c, "steal", ONE, "--override", "--yes", now=T31).status == 0


# -- renew, release ------------------------------------------------------------------


def test_renew_moves_claim_and_locks_and_never_back(swarm: Swarm) -> None:
    a = swarm.agents[0]
    swarm.call(a, "claim", ONE, "--minutes", "120", now=T0)
    ran = swarm.call(a, "renew", "--minutes", "5", now="2026-03-10T08:01:00Z")
    assert ran.out == f"renewed {ONE} until 2026-03-10T10:00:00.000Z\n"
    assert len(set(swarm.refs().values())) == 1


def test_release_logs_the_final_blob_and_frees_all(swarm: Swarm) -> None:
    a = swarm.agents[0]
    swarm.call(a, "claim", ONE, now=T0)
    before = held(swarm, ONE)
    ran = swarm.call(a, "release", "--outcome", "failed", now=T30)
    assert ran.out == f"released {ONE} as failed\n"
    assert list(swarm.refs()) == [f"{LOG}{ONE}/20260310T083000000Z"]
    assert logged(swarm, ONE) == [before | {"outcome": "failed"}]
    swarm.call(a, "claim", ONE, now=T30)
    assert swarm.call(a, "release", now=T30).status == 0
    assert sorted(swarm.refs()) == [f"{LOG}{ONE}/20260310T08300000{n}Z" for n in (0, 1)]
    assert [blob["epoch"] for blob in logged(swarm, ONE)] == [1, 2]


@pytest.mark.parametrize("words", [["renew"], ["release"], ["renew", ONE], ["release", ONE]])
def test_who_holds_nothing_is_told_so(swarm: Swarm, words: list[str]) -> None:
    ran = swarm.call(swarm.agents[0], *words, now=T0)
    assert ran.status == 1
    assert "holds no claim" in ran.err


@pytest.mark.parametrize("verb", ["renew", "release"])
def test_the_agent_has_to_match_where_it_is_given(swarm: Swarm, verb: str) -> None:
    a = swarm.agents[0]
    swarm.call(a, "claim", ONE, now=T0)
    assert swarm.call(a, verb, "--agent", "mallory", now=T0).status == 1
    assert swarm.call(a, verb, "--agent", a.name, now=T0).status == 0


# -- steal ---------------------------------------------------------------------------


def test_only_what_has_expired_is_stolen_and_the_log_says_so(swarm: Swarm) -> None:
    a, b = swarm.agents
    swarm.call(a, "claim", ONE, now=T0)
    swarm.call(a, "renew", now=T0)
    at_the_moment = swarm.call(b, "steal", ONE, now=T30)
    assert at_the_moment.status == 1
    assert "operator override required" in at_the_moment.err
    ran = swarm.call(b, "steal", ONE, now=T31)
    assert ran.out.startswith(f"claimed {ONE} for {b.name}")
    assert [blob["outcome"] for blob in logged(swarm, ONE)] == ["stolen"]
    assert (held(swarm, ONE)["agent"], held(swarm, ONE)["epoch"]) == (b.name, 2)
    lost = swarm.call(a, "renew", ONE, now=T31)
    assert lost.status == 1
    assert b.name in lost.err


def test_a_claim_taken_up_again_in_review_can_be_stolen_once_expired(swarm: Swarm) -> None:
    a, b = swarm.agents
    swarm.call(a, "claim", ONE, now=T0)
    swarm.call(a, "release", "--outcome", "done", now=T0)
    assert swarm.call(a, "claim", ONE, now=T0).status == 1
    assert swarm.call(a, "claim", ONE, "--again", now=T0).status == 0
    assert swarm.call(b, "claim", "--next", now=T31).out.startswith(f"claimed {THREE} ")
    assert swarm.call(b, "steal", ONE, now=T31).status == 0


def test_a_malformed_claim_is_cleared_and_kept_aside(swarm: Swarm) -> None:
    oid = git(swarm.authority, "hash-object", "-w", "--stdin", stdin="{nonsense")
    git(swarm.authority, "update-ref", CLAIMS + ONE, oid)
    b = swarm.agents[1]
    refused = swarm.call(b, "claim", ONE, now=T0)
    assert refused.status == 1
    assert f"gatekeeper steal {ONE}" in refused.err
    for _ in range(2):  # at the very same moment as well
        assert swarm.call(b, "steal", ONE, now=T0).out == f"cleared {ONE}\n"
        git(swarm.authority, "update-ref", CLAIMS + ONE, oid)
    aside = [ref for ref in swarm.refs() if ref.startswith(f"refs/swarm/claim-malformed/{ONE}/")]
    assert len(aside) == 2
    assert not [ref for ref in swarm.refs() if ref.startswith(LOG)]


def test_nobody_holds_it(swarm: Swarm) -> None:
    ran = swarm.call(swarm.agents[0], "steal", ONE, now=T0)
    assert ran.status == 1
    assert f"gatekeeper claim {ONE}" in ran.err


# -- with a remote -------------------------------------------------------------------------


@pytest.fixture
def two(tmp_path: Path) -> Swarm:
    """Two clones of one remote."""
    return Swarm(tmp_path, {1: ["shared"], 2: ["shared"], 3: []}, clones=2, worktrees=1)


def test_a_remote_that_refuses_is_no_rival(two: Swarm) -> None:
    assert two.remote
    hook = two.remote / "hooks" / "pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho not here >&2\nexit 1\n")
    hook.chmod(0o755)
    ran = two.call(two.agents[0], "claim", ONE, now=T0)
    assert ran.status == 2
    assert "did not take the claim" in ran.err
    assert "not here" in ran.err
    assert two.refs() == {}
    assert two.refs(two.clones[0]) == {}


def test_a_push_whose_answer_is_lost_was_made_all_the_same(two: Swarm, tmp_path: Path) -> None:
    path = fake_git(tmp_path / "bin", '"$git" "$@" >/dev/null 2>&1; exit 1')
    for words in (["claim", ONE], ["renew"], ["release"]):
        ran = two.call(two.agents[0], *words, now=T0, PATH=path)
        assert ran.status == 0, ran.err
        assert two.refs(two.clones[0]) == two.refs()


def test_a_push_that_is_told_twice_was_made_once(two: Swarm, tmp_path: Path) -> None:
    path = fake_git(tmp_path / "bin", '"$git" "$@" >/dev/null 2>&1; exec "$git" "$@"')
    for words in (["claim", ONE], ["renew"], ["release"]):
        assert two.call(two.agents[0], *words, now=T0, PATH=path).status == 0


def test_a_push_that_another_has_outrun_is_none(two: Swarm, tmp_path: Path) -> None:
    """The other's claim comes in between what was learnt and the push."""
    a, b = two.agents
    env = f'env -i GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null GATEKEEPER_AGENT={b.name} PATH="{environment()["PATH"]}"'
    other = f'{env} "{sys.executable}" -m gatekeeper --repo "{b.path}" --now {T0} claim {TWO} >/dev/null'
    path = fake_git(tmp_path / "bin", f'{other}; exec "$git" "$@"')
    ran = two.call(a, "claim", ONE, now=T0, PATH=path)
    assert ran.status == 1
    assert f"lock 'shared': reference already exists: {TWO}: {b.name} holds it" in ran.err
    assert held(two, TWO)["agent"] == b.name
    assert CLAIMS + ONE not in two.refs() | two.refs(a.clone)


def test_whether_a_push_was_made_is_not_made_up(two: Swarm, tmp_path: Path) -> None:
    assert two.remote
    path = fake_git(
        tmp_path / "bin", f'"$git" "$@" >/dev/null 2>&1; mv "{two.remote}" "{two.remote}.away"; exit 1'
    )
    ran = two.call(two.agents[0], "claim", ONE, now=T0, PATH=path)
    assert ran.status == 2
    assert "may have written the claim or not" in ran.err
    two.remote.with_name("remote.git.away").rename(two.remote)
    assert two.call(two.agents[0], "claim", ONE, "--format", "json", now=T0).report["how"] == "again"


def test_a_release_without_an_answer_is_a_claim_given_up(two: Swarm, tmp_path: Path) -> None:
    assert two.remote
    a = two.agents[0]
    two.call(a, "claim", ONE, now=T0)
    path = fake_git(tmp_path / "bin", f'mv "{two.remote}" "{two.remote}.away"; exit 1')
    ran = two.call(a, "release", now=T0, PATH=path)
    assert ran.status == 2
    assert "counts as given up until gatekeeper renew succeeds" in ran.err
    two.remote.with_name("remote.git.away").rename(two.remote)
    assert two.call(a, "renew", now=T0).status == 0


def test_files_that_git_has_under_lock_for_a_moment_are_waited_for(two: Swarm, tmp_path: Path) -> None:
    assert two.remote
    lock = two.remote / f"{CLAIMS}{ONE}.lock"
    lock.parent.mkdir(parents=True)
    lock.touch()
    path = fake_git(tmp_path / "bin", f'"$git" "$@"; status=$?; rm -f "{lock}"; exit $status')
    assert two.call(two.agents[0], "claim", ONE, now=T0, PATH=path).status == 0


def test_a_claim_made_locally_is_pushed_by_the_next_renewal(two: Swarm) -> None:
    a, b = two.agents
    assert two.call(a, "claim", ONE, "--local", now=T0).status == 0
    assert two.refs() == {}
    assert two.call(a, "status", now=T0).status == 0
    assert CLAIMS + ONE in two.refs(a.clone)
    assert two.call(a, "renew", now=T0).status == 0
    assert "local" not in held(two, ONE)
    assert two.refs() == two.refs(a.clone)
    assert two.call(b, "claim", ONE, now=T0).status == 1


def test_where_the_remote_holds_one_of_its_refs_a_local_claim_goes_whole(two: Swarm) -> None:
    a, b = two.agents
    two.call(a, "claim", ONE, "--local", now=T0)
    assert two.call(b, "claim", TWO, now=T0).status == 0
    ran = two.call(a, "renew", now=T0)
    assert ran.status == 1
    assert two.refs(a.clone) == two.refs()


def test_a_local_claim_can_be_released_and_stolen(two: Swarm) -> None:
    a, _b = two.agents
    two.call(a, "claim", ONE, "--local", now=T0)
    assert two.call(a, "release", "--outcome", "abandoned", now=T0).status == 0
    assert [blob.get("outcome") for blob in logged(two, ONE)] == ["abandoned"]
    assert two.refs(a.clone) == two.refs()
    two.call(a, "claim", ONE, "--local", now=T0)
    c = two._agent(9, a.clone)
    assert two.call(c, "steal", ONE, now=T31).status == 0
    assert held(two, ONE)["agent"] == c.name
    assert [blob["outcome"] for blob in logged(two, ONE)] == ["abandoned", "stolen"]
    assert two.refs(a.clone) == two.refs()


def test_a_local_claim_is_pushed_only_if_the_task_may_be_had_still(two: Swarm) -> None:
    """The remote was not asked when it was made: admission is asked when it hears of it."""
    a, b = two.agents
    assert two.call(a, "claim", ONE, "--local", now=T0).status == 0
    assert two.call(b, "claim", ONE, now=T0).status == 0
    assert two.call(b, "release", "--outcome", "done", now=T0).status == 0
    for words in (["renew"], ["claim", ONE]):
        ran = two.call(a, *words, now=T0)
        assert ran.status == 1
        assert "in review" in ran.err
    assert CLAIMS + ONE not in two.refs()
    assert two.call(a, "claim", ONE, "--again", now=T0).status == 0
    assert held(two, ONE)["epoch"] == 2
    assert two.call(a, "renew", now=T0).status == 0


def test_a_local_claim_gets_the_epoch_that_follows_and_keeps_what_it_was_made_for(two: Swarm) -> None:
    a, b = two.agents
    two.call(a, "claim", ONE, "--local", now=T0)
    two.call(b, "claim", ONE, now=T0)
    two.call(b, "release", "--outcome", "abandoned", now=T0)
    assert two.call(a, "renew", now=T0).status == 0
    assert held(two, ONE)["epoch"] == 2
    two.call(a, "release", "--outcome", "done", now=T0)
    assert two.call(a, "claim", ONE, "--local", "--again", now=T0).status == 0
    assert (
        two.call(a, "renew", now=T0).status == 0
    )  # nobody had it since it was asked whether it is in review
    assert held(two, ONE)["epoch"] == 3


def test_a_local_claim_is_held_against_the_cap_when_it_is_pushed(tmp_path: Path) -> None:
    swarm = Swarm(
        tmp_path,
        {1: [], 2: []},
        clones=2,
        worktrees=1,
        policy=NO_CAPS.replace("implementation: 0", "implementation: 1"),
    )
    a, b = swarm.agents
    swarm.call(a, "claim", ONE, "--local", now=T0)
    swarm.call(b, "claim", TWO, now=T0)
    refused = swarm.call(a, "renew", now=T0)
    assert refused.status == 1
    assert "the policy's cap is 1" in refused.err


def test_a_local_claim_that_another_has_outrun_meanwhile_is_taken_back(two: Swarm) -> None:
    a, b = two.agents
    two.call(a, "claim", ONE, "--local", now=T0)
    learn, done = ClaimStore.learn, []

    def late(store: ClaimStore, tasks: object = ()) -> object:
        known = learn(store, tasks)  # type: ignore[arg-type]
        if tasks and not done:
            done.append(True)
            assert two.run(b, "claim", ONE, now=T0).status == 0
            assert two.run(b, "release", "--outcome", "done", now=T0).status == 0
        return known

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ClaimStore, "learn", late)
        ran = two.call(a, "renew", now=T0)
    assert ran.status == 1
    assert CLAIMS + ONE not in two.refs()


def test_the_mirror_takes_back_nothing_that_a_sibling_did_meanwhile(two: Swarm) -> None:
    """What was learnt is older than what another worktree of the clone has written since."""
    a = two.agents[0]
    c = two._agent(9, a.clone)
    fetched, done = ClaimStore._fetched, []

    def late(store: ClaimStore, logs: list[str]) -> object:
        rows = fetched(store, logs)
        if not done:
            done.append(True)
            assert two.run(c, "claim", THREE, now=T0).status == 0
        return rows

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ClaimStore, "_fetched", late)
        assert two.call(a, "status", now=T0).status == 0
    assert two.refs(a.clone) == two.refs()
    assert CLAIMS + THREE in two.refs(a.clone)


def test_only_blobs_are_mirrored(two: Swarm) -> None:
    assert two.remote
    tip = git(two.remote, "rev-parse", "main")
    git(two.remote, "update-ref", CLAIMS + ONE, tip)
    ran = two.call(two.agents[0], "status", now=T0)
    assert ran.status == 0
    assert "malformed" in ran.out
    assert two.refs(two.clones[0]) == {}
    assert two.call(two.agents[0], "steal", ONE, now=T0).out == f"cleared {ONE}\n"


# -- a clone that is cut short ------------------------------------------------------------


def test_in_a_shallow_clone_one_ended_claim_breaks_nothing(two: Swarm, tmp_path: Path) -> None:
    a = two.agents[0]
    two.call(a, "claim", ONE, now=T0)
    two.call(a, "release", "--outcome", "done", now=T0)
    two.to_base({"README.md": "# Moved\n"})
    short = tmp_path / "short"
    git(tmp_path, "clone", "--quiet", "--depth=1", f"file://{two.remote}", str(short))
    git(short, "switch", "--quiet", "-c", "agent/short")
    c = a.__class__("c", "agent/short", short, short)
    ran = two.call(c, "status", now=T0)
    assert ran.status == 0, ran.err
    assert ran.out.splitlines()[0].split() == [ONE, "in", "review"]
    assert two.call(c, "claim", "--next", now=T0).out.startswith(f"claimed {TWO} ")
    assert two.call(c, "release", now=T0).status == 0
    assert two.call(c, "claim", ONE, now=T0).status == 1  # whether it was put back can't be told here
    assert two.call(c, "claim", ONE, "--again", now=T0).status == 0


# -- signed ----------------------------------------------------------------------------


def test_signed_claims_and_each_renewal_signs_again(swarm: Swarm, tmp_path: Path) -> None:
    a, b = swarm.agents
    key = tmp_path / "key"
    subprocess.run(
        ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)],
        check=True,
        stdin=subprocess.DEVNULL,
        timeout=30,
    )
    refused = swarm.call(a, "claim", ONE, "--sign", now=T0)
    assert refused.status == 2
    assert "user.signingKey" in refused.err
    assert swarm.refs() == {}
    git(a.clone, "config", "user.signingKey", str(key))
    assert swarm.call(a, "claim", ONE, "--sign", now=T0).status == 0
    first = held(swarm, ONE)
    assert swarm.call(a, "renew", now=T30).status == 0
    renewed = held(swarm, ONE)
    assert renewed["signature"] != first["signature"]
    for blob in (first, renewed):
        assert verified(blob, key.with_suffix(".pub"), a.name, tmp_path)
    assert swarm.call(b, "steal", ONE, now=HOURS).status == 0
    (stolen,) = logged(swarm, ONE)
    assert stolen == renewed | {"outcome": "stolen"}  # the thief adds an outcome, and changes nothing else
    assert verified(stolen, key.with_suffix(".pub"), a.name, tmp_path)
    assert "signature" not in held(swarm, ONE)


def verified(blob: dict[str, object], public: Path, agent: str, folder: Path) -> bool:
    """Whether ssh-keygen itself takes the signature."""
    (folder / "signers").write_text(f"{agent} {public.read_text()}")
    (folder / "signature").write_text(str(blob["signature"]))
    signed = {k: v for k, v in blob.items() if k not in ("signature", "outcome")}
    text = json.dumps(signed, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    command = [
        "ssh-keygen",
        "-Y",
        "verify",
        "-n",
        "gatekeeper-claim",
        "-f",
        "signers",
        "-s",
        "signature",
        "-I",
        agent,
    ]
    done = subprocess.run(
        command, cwd=folder, input=text.encode(), capture_output=True, check=False, timeout=30
    )
    return done.returncode == 0


def test_a_base_that_requires_signatures_implies_sign(tmp_path: Path) -> None:
    swarm = Swarm(tmp_path, {1: []}, worktrees=1, policy=NO_CAPS + "signatures: required\n")
    ran = swarm.call(swarm.agents[0], "claim", ONE, now=T0)
    assert ran.status == 2
    assert swarm.refs() == {}


def test_next_looks_past_the_first_tasks_of_a_long_board(tmp_path: Path) -> None:
    swarm = Swarm(tmp_path, {n: [] for n in range(60)}, clones=1, worktrees=1)
    a = swarm.agents[0]
    base = git(a.path, "rev-parse", "main")
    refs = []
    for number in range(55):  # all of them in review
        blob = dict(zip(EIGHT, [task_id(number), "x", "b", base, T0, T30, [], None], strict=True)) | {
            "outcome": "done"
        }
        oid = git(swarm.authority, "hash-object", "-w", "--stdin", stdin=json.dumps(blob))
        refs.append(f"create {LOG}{task_id(number)}/20260310T082000000Z {oid}\n")
    git(swarm.authority, "update-ref", "--stdin", stdin="".join(refs))
    assert swarm.call(a, "claim", "--next", now=T31).out.startswith(f"claimed {task_id(55)} ")


def test_a_push_of_which_the_server_did_not_report_has_no_mark() -> None:
    out = b"To x\n!\tabc:refs/swarm/a\t[remote failure] (remote failed to report status)\n*\tabc:refs/swarm/b\t[new reference]\nDone\n"
    assert pushed(Done(1, out, b"")) == {"refs/swarm/b": "*"}
