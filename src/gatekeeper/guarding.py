"""Whether a branch may write some paths now: its claim, its lease, base's plan, and the task's authority."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gatekeeper.claims.blob import iso
from gatekeeper.inscope import GIT_FOLDER, Scope
from gatekeeper.model import REGULAR, Change, Claim, State
from gatekeeper.scope import fold
from gatekeeper.snapshot import POLICY_PATH, SIGNERS_PATH
from gatekeeper.text import quoted, shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gatekeeper.edges.desk import Desk
    from gatekeeper.model import Task

ENDS = (State.QUEUED, State.DONE, State.FAILED, State.BLOCKED)


class Answer(NamedTuple):
    """Whether it holds, and what to say of it, a line each."""

    holds: bool
    lines: tuple[str, ...]


def allowed(desk: Desk, paths: Sequence[bytes], *, commit: bool = False) -> Answer:
    """Whether the current branch may write `paths` now, or commit what it wrote to them (CONTRACT 3, guard).

    Paths are from the repository's root; one that is no file of its tree is absolute. A commit of planning files
    alone may always be made: what they are worth an operator says, whatever claim the branch holds.
    """
    known = desk.store.learn()
    standing = desk.store.standing(known, desk.now)
    mine = [c for c in standing.values() if isinstance(c, Claim) and c.branch == desk.branch]
    answer = _held(desk, mine, paths)
    planned = (commit or not mine) and paths and all(_plans(desk, path) for path in paths)
    if answer.holds or not planned:
        return answer
    if not mine:
        return Answer(True, ("no claim, and planning files alone: an operator's pull request",))
    apart = "they belong in an operator's pull request, from a branch without a claim"
    return Answer(True, (f"planning files alone, outside what this branch has claimed: {apart}",))


def _held(desk: Desk, mine: Sequence[Claim], paths: Sequence[bytes]) -> Answer:
    """Whether one of the branch's claims lets it write the paths now."""
    if not mine:
        who = quoted(desk.branch) if desk.branch else "a detached HEAD"
        first = "" if desk.branch and desk.branch != desk.base_name else "git switch -c agent/NAME, then "
        hint = f"Claim a task first: {first}gatekeeper claim --next (or claim ID --again, to go on with one in review)."
        return Answer(False, (f"{who} holds no claim", hint))
    faults = [fault for claim in mine if (fault := _stale(desk, claim))]
    good = [claim for claim in mine if _stale(desk, claim) is None]
    if not good:
        return Answer(False, tuple(faults))
    scopes = [scope for claim in good if (scope := _scope(desk, claim))]
    outside = [path for path in paths if not _inside(desk, scopes, path)]
    names = ", ".join(claim.task for claim in good)
    if outside:
        said = tuple(f"{quoted(shown(path))} is outside the authority of {names}" for path in outside)
        return Answer(False, (*said, "Leave it, or have an operator widen the task on base."))
    return Answer(True, (f"{names} is held until {iso(good[0].expires_at)}",))


def _inside(desk: Desk, scopes: Sequence[Scope], path: bytes) -> bool:
    """Whether an authority holds a path. Patterns are for files of the tree: none opens git's folder or the world."""
    if path.startswith(b"/") or GIT_FOLDER.search(fold(path)):
        return False
    return any(scope.holds(_change(desk, path)) for scope in scopes)


def _plans(desk: Desk, path: bytes) -> bool:
    """Whether a path is the planning lane's: the board, the policy or the signers, and no task that goes to done."""
    layout = desk.reader.layout
    if GIT_FOLDER.search(fold(path)):
        return False
    place = layout.place(path)
    if place is not None and place.state is State.DONE and not _change(desk, path).old_mode:
        return False
    return path.startswith(layout.root) or path in (POLICY_PATH, SIGNERS_PATH)


def _stale(desk: Desk, claim: Claim) -> str | None:
    """Why a claim lets nothing be written now; None where it does."""
    if desk.now > claim.expires_at:
        return f"the claim on {claim.task} expired at {iso(claim.expires_at)}: gatekeeper renew"
    if claim.plan_revision != desk.revision:
        return f"the claim on {claim.task} is under another plan revision than base's: gatekeeper claim {claim.task}"
    return None


def _scope(desk: Desk, claim: Claim) -> Scope | None:
    task = desk.queued(claim.task)
    if task is None or task.authority is None:
        return None
    return Scope(desk.reader.policy, desk.reader.layout, task.authority, _own(desk, task))


def _own(desk: Desk, task: Task) -> list[bytes]:
    """The task's own files: where it stands, and where it may go."""
    name = task.path.rpartition(b"/")[2]
    return [desk.reader.layout.folder(state) + name for state in ENDS]


def _change(desk: Desk, path: bytes) -> Change:
    """A path as if it were written now: new where base does not have it."""
    entry = desk.clone.view.objects.entry(desk.base_tree, path)
    mode = entry[0] if entry else 0
    return Change(path, mode, REGULAR[0], entry[1] if entry else "", "0" * 40)
