"""GK001 to GK005: what keeps the gate from deciding. The first four of them are raised at the edges."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatekeeper.rules.base import Found, Rule
from gatekeeper.snapshot import POLICY_PATH, Snapshot
from gatekeeper.text import listed, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gatekeeper.errors import GatekeeperError


def policy_invalid(problem: GatekeeperError) -> Iterator[Found]:
    """Base's policy, `.github/gatekeeper.yml`, can't be read, so nothing is decided by it.

    Why: a gate that falls back to defaults where its rules can't be read is open to whoever breaks them.

    Fails: base holds `protcted: []`, a key that is none.

    Mend: repair the policy in a pull request that changes that file alone; it is judged under the default policy.
    """
    yield Found(problem.message, path=POLICY_PATH, help=problem.hint)


def history_missing(problem: GatekeeperError) -> Iterator[Found]:
    """Commits or objects that decide are not in this repository.

    Why: a shallow clone can hide the merge base, a claim's base commit, or a change.

    Fails: `git clone --depth 1`, then `gatekeeper check --no-fetch`.

    Mend: `git fetch --unshallow`, or `fetch-depth: 0` in a workflow's checkout step; the action fetches by itself.
    """
    yield Found(problem.message, help=problem.hint)


def remote_unreachable(problem: GatekeeperError) -> Iterator[Found]:
    """The remote that holds the claims, or the forge that knows who the operators are, did not answer.

    Why: claims live in the remote's refs; without them nothing says that the task was claimed.

    Fails: `origin` names a folder that is not there.

    Mend: look at the network, the URL and the token, and run the check again.
    """
    yield Found(problem.message, help=problem.hint)


def repository_unreadable(problem: GatekeeperError) -> Iterator[Found]:
    """There is no repository here, a name stands for no commit, or git itself is missing or too old.

    Why: the gate reads everything through git, and guesses at nothing.

    Fails: `gatekeeper check` in a folder that is no clone.

    Mend: run it in a clone, name refs that exist, and use git 2.38 or later.
    """
    yield Found(problem.message, help=problem.hint)


def merge_conflict(facts: Snapshot) -> Iterator[Found]:
    """Head does not merge into base, so there is no merged tree to judge.

    Why: what is judged is what merging would do; where git can't merge, nobody knows.

    Fails: both branches changed the same line of `src/payments/api.py`.

    Mend: merge base into the branch, settle the conflicts, commit and push.
    """
    if facts.conflicts is None:
        return
    base = facts.question.base.ref
    if facts.conflicts:
        names = listed([shown(path) for path in facts.conflicts])
        said = f"head does not merge into {base}: {names} conflict{'s' * (len(facts.conflicts) == 1)}"
    else:
        said = f"head does not merge into {base}: the two have no history in common"
    yield Found(said, help=f"Merge {base} into the branch, settle the conflicts, commit and push.")


RAISED = (
    Rule("GK001", "policy-invalid", policy_invalid),
    Rule("GK002", "history-missing", history_missing),
    Rule("GK003", "remote-unreachable", remote_unreachable),
    Rule("GK005", "repository-unreadable", repository_unreadable),
)
RULES = (Rule("GK004", "merge-conflict", merge_conflict),)
