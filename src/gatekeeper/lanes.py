"""Which lane a change is in: decided from base's policy and the change set alone (CONTRACT 1)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gatekeeper.inscope import Scope
from gatekeeper.model import Authority, Change, Lane, State
from gatekeeper.scope import Patterns, folder_prefix, names
from gatekeeper.snapshot import POLICY_PATH, SIGNERS_PATH, Answer, Move, Subject

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gatekeeper.boards import Layout
    from gatekeeper.policy import Maintenance, Policy


class Choice(NamedTuple):
    """A lane, the task that it is about, and whether its entry rests on `@operators` taken as given."""

    lane: Lane
    subject: Subject | None = None
    on_trust: bool = False


def choose(
    policy: Policy,
    layout: Layout,
    changes: Sequence[Change],
    moves: Sequence[Move],
    finished: Sequence[Subject],
    member: Callable[[str], Answer],
) -> Choice:
    """The lane of a change set; `member(who)` says whether the author is `who`, asked only where that decides."""
    only = finished[0] if len(finished) == 1 else None
    if not changes:
        return Choice(Lane.IMPLEMENTATION)
    maintained = _maintenance(policy, layout, changes, member)
    if maintained is not Answer.NO:
        return Choice(Lane.MAINTENANCE, on_trust=maintained is Answer.UNKNOWN)
    if not finished:
        handed = _handback(policy, layout, changes, moves)
        if handed is not None:
            return handed
        reverted = _revert(policy, layout, changes, moves)
        if reverted is not None:
            return reverted
        if all(_plans(layout, change.path) for change in changes):
            return Choice(Lane.PLANNING)
    return Choice(Lane.IMPLEMENTATION, only)


def new_proposal(policy: Policy, layout: Layout, change: Change) -> bool:
    """Whether a change is a new proposal that the policy's `always_allowed` names."""
    allowed = Patterns(policy.always_allowed).match(change.path) is not None
    return layout.proposal(change.path) and change.new_regular and allowed


def _plans(layout: Layout, path: bytes) -> bool:
    return path.startswith(layout.root) or path in (POLICY_PATH, SIGNERS_PATH)


def _handback(
    policy: Policy, layout: Layout, changes: Sequence[Change], moves: Sequence[Move]
) -> Choice | None:
    rest = [change for change in changes if not new_proposal(policy, layout, change)]
    if not rest:
        return Choice(Lane.HANDBACK)
    subject = _only_move(rest, moves, (State.QUEUED,), (State.FAILED, State.BLOCKED))
    return Choice(Lane.HANDBACK, subject) if subject and len(rest) == len(subject.paths) else None


def _revert(
    policy: Policy, layout: Layout, changes: Sequence[Change], moves: Sequence[Move]
) -> Choice | None:
    subject = _only_move(changes, moves, (State.DONE,), (State.QUEUED,))
    if subject is None or subject.before is None:
        return None
    # What has no authority that can be read has nothing else inside it.
    scope = Scope(policy, layout, subject.before.task.authority or Authority(), subject.paths)
    for change in changes:
        place = layout.place(change.path)
        dropped = place is not None and place.state is State.QUEUED and change.deleted
        if not (
            change.path in subject.paths or dropped or layout.proposal(change.path) or scope.holds(change)
        ):
            return None
    return Choice(Lane.REVERT, subject)


def _only_move(
    changes: Sequence[Change], moves: Sequence[Move], origins: Sequence[State], ends: Sequence[State]
) -> Subject | None:
    """The one task that goes from one of `origins` to one of `ends`; None where it is none or several."""
    removed = {change.path for change in changes if change.deleted}
    added = {change.path for change in changes if change.added}
    found = [
        Subject(move.id, before, after)
        for move in moves
        for before in move.before
        for after in move.after
        if before.state in origins and before.path in removed and after.state in ends and after.path in added
    ]
    pairs = {subject.paths: subject for subject in found}
    return next(iter(pairs.values())) if len(pairs) == 1 else None


def _maintenance(
    policy: Policy, layout: Layout, changes: Sequence[Change], member: Callable[[str], Answer]
) -> Answer:
    """Whether an entry of the policy names the author and every path."""
    best = Answer.NO
    for entry in policy.maintenance:
        if not all(_maintainable(policy, layout, entry, change) for change in changes):
            continue
        for who in entry.authors:
            answer = member(who)
            if answer is Answer.YES:
                return Answer.YES
            if answer is Answer.UNKNOWN:
                best = Answer.UNKNOWN
    return best


def _protected_folder(guard: str, path: bytes) -> str | None:
    """The folder, with its slash, that a protected pattern holds whole; None where it holds single files."""
    folder = guard.removesuffix("**") if guard.endswith("/**") else guard.rstrip("/") + "/"
    spelt = folder_prefix(folder) == folder.encode()
    return folder if spelt and path.startswith(folder.encode()) else None


def _maintainable(policy: Policy, layout: Layout, entry: Maintenance, change: Change) -> bool:
    """Whether an entry may hold a path: never the policy, the signers, the board's root or a submodule.

    Of protected paths only by a pattern that begins with the protected folder, spelt out, or is that very path.
    """
    path = change.path
    if path in (POLICY_PATH, SIGNERS_PATH) or path.startswith(layout.root) or change.gitlink:
        return False
    guards = [
        guard for guard in policy.protected if Patterns([guard], ignore_case=True).match(path) is not None
    ]
    if not guards:
        return Patterns(entry.paths).match(path) is not None
    folders = tuple(folder for guard in guards if (folder := _protected_folder(guard, path)))
    spelt = [p for p in entry.paths if f"{p}/".startswith(folders) or names([p], path)]
    return Patterns(spelt).match(path) is not None
