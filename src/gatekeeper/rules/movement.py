"""GK101 to GK104: which task goes to done, and from where."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatekeeper.model import Lane, State
from gatekeeper.rules.base import Found, Rule
from gatekeeper.text import listed, quoted, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gatekeeper.snapshot import Snapshot, Spot


def no_task_finished(facts: Snapshot) -> Iterator[Found]:
    """A pull request that changes more than the board has to move one task from queued/ to done/.

    Why: work that no task asked for has no authority to be held against.

    Fails: the branch edits `src/payments/api.py`, and the task's file still stands in queued/.

    Mend: finish the task in this branch: `gatekeeper done ID` moves its file and its header together.
    """
    if facts.lane is Lane.IMPLEMENTATION and facts.merged_tree and not facts.finished:
        what, mend = _unfinished(facts)
        yield Found(f"{what}, so there is no task to hold this pull request against", help=mend)


def _unfinished(facts: Snapshot) -> tuple[str, str]:
    """Why there is no finished task, and what to do."""
    if not facts.changes:
        return "nothing is changed against base", "Commit the work, or switch to the branch that has it."
    handed = [
        move.id for move in facts.moves if move.was(State.QUEUED) and any(map(_handed_back, move.after))
    ]
    if handed:
        return (
            f"task {quoted(handed[0])} is handed back, and other paths change with it",
            "Hand a task back in a change that holds its file and new proposals alone; undo the rest.",
        )
    return (
        "no task goes from queued/ to done/",
        "Move the claimed task's file to done/ and set `status: done`: gatekeeper done ID.",
    )


def _handed_back(spot: Spot) -> bool:
    return spot.state in (State.FAILED, State.BLOCKED)


def several_tasks_finished(facts: Snapshot) -> Iterator[Found]:
    """A pull request finishes one task, not two.

    Why: two authorities in one change can't be told apart, path by path.

    Fails: the branch moves T-20260814-abcdef01 and T-20260814-abcdef02 to done/.

    Mend: keep one of the tasks in this branch, and finish the other in a branch of its own.
    """
    if len(facts.finished) > 1:
        names = listed([quoted(subject.id) for subject in facts.finished])
        yield Found(
            f"{len(facts.finished)} tasks go to done at once: {names}",
            path=facts.finished[1].after.path,
            help="Finish one task in this branch, and the others each in their own.",
        )


def not_queued_on_base(facts: Snapshot) -> Iterator[Found]:
    """The finished task was queued on base before this change.

    Why: a task that an agent writes straight into done/ was never asked for by anyone.

    Fails: the branch adds `.agents/tasks/done/T-20260819-0badc0de.md`, which base never had in queued/.

    Mend: have an operator queue the task on base first; a blocked, failed or cancelled one has to go back to queued/.
    """
    for subject in facts.finished:
        if subject.before is None:
            stood = _places(facts, subject.id)
            base = facts.question.base.ref
            where = f"stands in {stood} on {base}" if stood else f"is on {base} in no state at all"
            yield Found(
                f"task {quoted(subject.id)} goes to done, but {where}: only a task queued there can be finished",
                path=subject.after.path,
                help="Ask an operator to queue it on the base branch in a planning pull request.",
            )


def _places(facts: Snapshot, task: str) -> str:
    move = next((move for move in facts.moves if move.id == task), None)
    states = dict.fromkeys(f"{spot.state.value}/" for spot in (move.before if move else ()))
    return ", ".join(states)


def task_in_two_places(facts: Snapshot) -> Iterator[Found]:
    """After the merge no id that this change touches stands in two files.

    Why: a task that is both queued and done can be claimed and finished once more.

    Fails: the task's file is copied to done/, and the one in queued/ is left.

    Mend: delete the copy that is not the task's state: `git rm` the file in queued/.
    """
    if facts.lane in (Lane.PLANNING, Lane.MAINTENANCE):
        return  # a planning change is held against GK224, which is the same of the whole board
    for move in facts.moves:
        paths = [spot.path for spot in move.after]
        if len(paths) > 1:
            wrong = next((s.path for s in move.after if s.state is not State.DONE), paths[1])
            yield Found(
                f"after the merge task {quoted(move.id)} stands in {len(paths)} files: "
                + listed([shown(path) for path in paths]),
                path=wrong,
                help="Keep one file for each id: git rm the one that is not the task's state.",
            )


RULES = (
    Rule("GK101", "no-task-finished", no_task_finished),
    Rule("GK102", "several-tasks-finished", several_tasks_finished),
    Rule("GK103", "not-queued-on-base", not_queued_on_base),
    Rule("GK104", "task-in-two-places", task_in_two_places),
)
