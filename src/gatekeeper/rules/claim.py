"""GK111 to GK122: the claim behind a finished or handed back task."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from gatekeeper.claims import refs
from gatekeeper.claims.blob import iso
from gatekeeper.claims.history import first_of, newest_of, state, superseding
from gatekeeper.model import Claim, Lane, Severity
from gatekeeper.rules.base import Found, Rule
from gatekeeper.snapshot import Claims, Snapshot, claim_asked
from gatekeeper.text import listed, quoted

if TYPE_CHECKING:
    from collections.abc import Iterator

AGAIN = "Claim the task from this branch again: gatekeeper claim {task}."


def branch_claim(facts: Snapshot) -> Claim | None:
    """This branch's newest claim on the subject that counts, where a claim is asked for at all."""
    claims = _claims(facts)
    branch = facts.question.branch
    return newest_of(claims.counting, branch) if claims and branch is not None else None


def _claims(facts: Snapshot) -> Claims | None:
    return facts.claims if claim_asked(facts) else None


def _task(facts: Snapshot) -> str:
    return facts.subject.id if facts.subject else ""


def _path(facts: Snapshot) -> bytes | None:
    return facts.subject.after.path if facts.subject else None


def _again(facts: Snapshot) -> str:
    return AGAIN.format(task=_task(facts))


def _told(claim: Claim) -> str:
    """Who a claim is by, in words."""
    return f"{quoted(claim.agent)} on branch {quoted(claim.branch)}"


def claim_missing(facts: Snapshot) -> Iterator[Found]:
    """A claim that counts is recorded on the task. Claims from before it was put back in the queue do not count.

    Why: without a claim two agents can do the same work, and nobody knows who did.

    Fails: the branch finishes T-20260814-abcdef01, and `refs/swarm/` holds nothing of it.

    Mend: `gatekeeper claim ID` on this branch before the work; with a remote, the claim has to be in its refs.
    """
    claims = _claims(facts)
    if claims is None or claims.counting or claims.history.malformed:
        return  # what can't be read never counts as "no claim": that is GK116's
    before = (
        " that counts: those from before it was put back in the queue ended then"
        if claims.history.claims
        else ""
    )
    help_ = f"Run gatekeeper claim {_task(facts)} on this branch; one made with --local reaches the remote by renew."
    yield Found(
        f"no claim on task {quoted(_task(facts))} is recorded {claims.where}{before}",
        path=_path(facts),
        help=help_,
    )


def claim_on_other_branch(facts: Snapshot) -> Iterator[Found]:
    """One of the claims on the task is for this pull request's head branch.

    Why: a claim binds an agent and a branch; work from another branch was done beside it.

    Fails: T-20260814-abcdef01 is claimed for `agent/other`, and the pull request comes from `agent/retry`.

    Mend: open the pull request from the claimed branch, or let the claim be released and claim from this one.
    """
    claims = _claims(facts)
    if claims is None or not claims.counting or branch_claim(facts) is not None:
        return
    last = claims.counting[-1]
    here, mend = "a detached head", "Name the branch that this is for: --branch NAME."
    if facts.question.branch is not None:
        here = quoted(facts.question.branch)
        mend = "Work from the claimed branch, or have that claim released and claim the task here."
    yield Found(
        f"task {quoted(_task(facts))} is claimed by {_told(last)} until {iso(last.expires_at)}, and this is {here}",
        path=_path(facts),
        help=mend,
    )


def claim_superseded(facts: Snapshot) -> Iterator[Found]:
    """No claim for another branch followed this branch's claim.

    Why: whoever claimed last holds the task; an earlier claim was given up or lost.

    Fails: `agent/retry` released the task, then `agent/other` claimed it.

    Mend: leave the task to the later claim, or claim it again once that one is released.
    """
    claims = _claims(facts)
    if claims is None or facts.question.branch is None:
        return
    later = superseding(claims.counting, facts.question.branch)
    if later is not None:
        yield Found(
            f"after this branch, task {quoted(_task(facts))} was claimed by {_told(later)} at {iso(later.claimed_at)}",
            path=_path(facts),
            help="Leave the task to that branch, or claim it again once it is free.",
        )


def claim_expired(facts: Snapshot) -> Iterator[Found]:
    """The standing claim for this branch is not past its expiry.

    Why: an expired claim can be taken over by anyone at any moment.

    Fails: claimed until 10:30, never renewed, and it is noon.

    Mend: `gatekeeper renew`, or `gatekeeper release --outcome done` once the work is finished.
    """
    claim = branch_claim(facts)
    if claim is not None and state(claim, facts.question.now) == "expired":
        yield Found(
            f"the claim of {_told(claim)} expired at {iso(claim.expires_at)}",
            path=_path(facts),
            help="Renew it with gatekeeper renew, or release it with --outcome done if the work is finished.",
        )


def claim_plan_stale(facts: Snapshot) -> Iterator[Found]:
    """The claim was made under the plan revision that base has now.

    Why: a plan that moved on may have withdrawn what the task was for.

    Fails: claimed under revision 1, and base's `.agents/plan.md` is at 2.

    Mend: read what the new plan says of the task, then claim it again: that keeps the claim and takes the new revision.
    """
    claim = branch_claim(facts)
    if claim is None or facts.lane is Lane.HANDBACK:
        return
    if any(defect.code == "GK301" for defect in facts.board.plan_defects):
        return  # a plan that can't be read has no revision; GK301 says so
    now = facts.plan.revision if facts.plan else None
    if claim.plan_revision != now:
        yield Found(
            f"the claim was made under {_revision(claim.plan_revision)}, and base has {_revision(now)}",
            path=_path(facts),
            help=f"Look whether the task still stands, then claim again: gatekeeper claim {_task(facts)}.",
        )


def _revision(number: int | None) -> str:
    return "no plan" if number is None else f"plan revision {number}"


def claim_malformed(facts: Snapshot) -> Iterator[Found]:
    """What the claim refs of the task hold can be read: strict JSON with its eight fields, of this task, in good time.

    Why: a record that can't be read may be the one that says no.

    Fails: `refs/swarm/task-claims/T-20260814-abcdef01` holds `hello`.

    Mend: `gatekeeper steal ID` clears a malformed claim; `gatekeeper repair` puts malformed log entries aside.
    """
    yield from _malformed(facts, beside_good=False)


def _malformed(facts: Snapshot, *, beside_good: bool) -> Iterator[Found]:
    claims = _claims(facts)
    if claims is None:
        return
    claim = branch_claim(facts)
    good = claim is not None and claim.standing
    for entry in claims.history.malformed:
        if (good and not entry.standing) is not beside_good:
            continue
        own = entry.ref == refs.claim_ref(_task(facts))
        mend = f"gatekeeper steal {_task(facts)}" if own else "gatekeeper repair"
        yield Found(f"{entry.ref} can't be read as a claim: {entry.why}", help=f"Put it aside: {mend}.")


def log_entry_malformed(facts: Snapshot) -> Iterator[Found]:
    """As GK116, of a log entry beside a good standing claim of this branch, which decides without it."""
    yield from _malformed(facts, beside_good=True)


def claim_base_unknown(facts: Snapshot) -> Iterator[Found]:
    """The claim's `baseCommit` is a commit in base's history.

    Why: a claim is admitted from base; one that names a commit of the agent's own was not.

    Fails: `baseCommit` is the tip of `agent/retry`.

    Mend: claim again with gatekeeper, which takes the base branch's tip.
    """
    claims, claim = _claims(facts), branch_claim(facts)
    if claims and claim is not None and not claims.rooted.get(claim.base_commit, False):
        yield Found(
            f"the claim's base commit {claim.base_commit[:12]} is not in the history of {facts.question.base.ref}",
            path=_path(facts),
            help=_again(facts),
        )


def claim_locks_differ(facts: Snapshot) -> Iterator[Found]:
    """The claim holds the locks that base's copy of the task declares, and while it stands, their refs carry its blob.

    Why: a lock that was not taken keeps nobody else out of what it guards.

    Fails: the task declares `locks: [schema]`, and the claim lists none.

    Mend: release the claim and claim again; gatekeeper takes every lock or none.
    """
    claims, claim, task = _claims(facts), branch_claim(facts), facts.authority_task
    if claims is None or claim is None or task is None:
        return
    if set(claim.locks) != set(task.locks):
        said = f"the claim holds the locks {_named(claim.locks)}, and base's copy of the task declares {_named(task.locks)}"
        yield Found(said, path=_path(facts), help=_again(facts))
    elif claim.standing:
        lost = [key for key in task.locks if claims.history.lock_oids.get(refs.lock_ref(key)) != claim.oid]
        if lost:
            yield Found(
                f"the claim stands, but the refs of its locks {_named(lost)} are absent or carry another claim",
                path=_path(facts),
                help="Run gatekeeper repair, then claim again.",
            )


def _named(keys: tuple[str, ...] | list[str]) -> str:
    return listed([quoted(key) for key in sorted(keys)]) if keys else "(none)"


def head_from_fork(facts: Snapshot) -> Iterator[Found]:
    """Head lives in the repository that base lives in.

    Why: a branch of the same name in a fork proves nothing: the claim was made for another one.

    Fails: the pull request comes from `mallory/app`, the claim was made in `owner/app`.

    Mend: somebody with access looks at the work, pushes it to a claimed branch here, and opens the pull request from it.
    """
    if claim_asked(facts) and facts.question.foreign:
        where = (
            quoted(facts.question.head_repo or "")
            if facts.question.head_repo
            else "a repository that is gone"
        )
        yield Found(
            f"head lives in {where}, not in {quoted(facts.question.base_repo or '')}: no claim can be for that branch",
            path=_path(facts),
            help="Push the reviewed work to a claimed branch of this repository.",
        )


def claim_signature(facts: Snapshot) -> Iterator[Found]:
    """The claim's signature, where base's policy requires one or the claim has one, is by the agent's own key.

    Why: whoever can push can write any claim; only the agent's key can sign it (`.github/allowed_signers` on base).

    Fails: `signatures: required`, and the claim is signed by a key that base does not list for this agent.

    Mend: add the agent's key to base's allowed signers in a planning change, and claim again with `--sign`.
    """
    claims, claim = _claims(facts), branch_claim(facts)
    if claims is None or claim is None:
        return
    if claim.signature is not None:
        why = claims.signatures.get(claim.oid, "it was not verified")
    else:
        why = "it has none, and base's policy requires one" if facts.policy.signatures == "required" else None
    if why is not None:
        yield Found(
            f"the signature of the claim by {quoted(claim.agent)} does not hold: {why}",
            path=_path(facts),
            help="Sign with the key that base's .github/allowed_signers lists for the agent: gatekeeper claim --sign.",
        )


def claim_after_work(facts: Snapshot) -> Iterator[Found]:
    """The branch's first claim on the task came before the work.

    Why: a claim made after the fact coordinated nothing.

    Fails: the oldest commit of the branch is from 13 August, the first claim from the 20th.

    Mend: nothing now; next time claim before the first commit. The policy can make this an error.
    """
    claims = _claims(facts)
    if claims is None or facts.question.branch is None or facts.oldest_commit is None:
        return
    first = first_of(claims.counting, facts.question.branch)
    if first is not None and first.claimed_at.timestamp() > facts.oldest_commit:
        work = iso(_moment(facts.oldest_commit))
        yield Found(
            f"the oldest commit of this branch is from {work}, and its first claim from {iso(first.claimed_at)}",
            path=_path(facts),
            help="Claim a task before the first commit on it.",
        )


def _moment(seconds: int) -> datetime:
    last = 253_402_300_799  # the end of the year 9999: a commit's date may be any number
    return datetime.fromtimestamp(min(max(seconds, 0), last), UTC)


def claim_given_up(facts: Snapshot) -> Iterator[Found]:
    """This branch's newest claim did not end as stolen, abandoned or failed (handing back, only not as stolen).

    Why: a task that was given up is anybody's again, and what follows was done without it.

    Fails: `gatekeeper release --outcome abandoned`, then a pull request that finishes the task.

    Mend: claim the task again if it is free.
    """
    claim = branch_claim(facts)
    given_up = ("stolen",) if facts.lane is Lane.HANDBACK else ("stolen", "abandoned", "failed")
    if claim is not None and claim.outcome in given_up:
        yield Found(
            f"the newest claim of this branch, by {quoted(claim.agent)}, ended as {claim.outcome}",
            path=_path(facts),
            help=_again(facts),
        )


RULES = (
    Rule("GK111", "claim-missing", claim_missing),
    Rule("GK112", "claim-on-other-branch", claim_on_other_branch),
    Rule("GK113", "claim-superseded", claim_superseded),
    Rule("GK114", "claim-expired", claim_expired, Severity.WARNING, adjustable=True),
    Rule("GK115", "claim-plan-stale", claim_plan_stale),
    Rule("GK116", "claim-malformed", claim_malformed),
    Rule("GK117", "claim-base-unknown", claim_base_unknown),
    Rule("GK118", "claim-locks-differ", claim_locks_differ),
    Rule("GK119", "head-from-fork", head_from_fork),
    Rule("GK120", "claim-signature", claim_signature),
    Rule("GK121", "claim-after-work", claim_after_work, Severity.WARNING, adjustable=True),
    Rule("GK122", "claim-given-up", claim_given_up),
)
WEAKER = (Rule("GK116", "claim-malformed", log_entry_malformed, Severity.WARNING),)
"""Rules that share a code with one of RULES and weigh less."""
