"""GK224 to GK233: what task files say of one another, and what became of those that base had."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatekeeper.model import OPEN
from gatekeeper.rules.base import Found, Rule
from gatekeeper.text import listed, quoted, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from gatekeeper.boards.board import Board
    from gatekeeper.model import Task

ENDED = ("done", "failed", "cancelled")

_MOST_LOOKED = 1000  # dependencies that are looked at to tell one task's way round


def _open(board: Board) -> Iterator[Task]:
    return (task for task in board.tasks if task.state in OPEN and task.readable)


def id_duplicate(board: Board) -> Iterator[Found]:
    """No id stands in two files.

    Why: a claim on the one would be a claim on the other.

    Fails: a copy of a queued task's file is left in done/.

    Mend: delete one of the files, or give it a fresh id.
    """
    for task, places in sorted(board.places.items()):
        if len(places) > 1:
            names = listed([shown(path) for _, path in places])
            yield Found(
                f"id {quoted(task)} stands in {len(places)} files: {names}",
                path=max(path for _, path in places),
                help="Delete all but one of them, or give the others fresh ids.",
            )


def id_changed(board: Board) -> Iterator[Found]:
    """A task keeps its id, also when its file is renamed (by git's likeness of 50 %), unless it had ended.

    Why: ids are what claims, dependencies and the log hang on.

    Fails: T-20260814-abcdef02's file is renamed, and says `id: T-20260814-abcdef22`.

    Mend: restore the id; a task that replaces another has a fresh id and `regenerated_from`.
    """
    for old, new in _changed_ids(board):
        yield Found(
            f"the id of {quoted(old.id)} became {quoted(new.id)}: an id never changes",
            path=new.path,
            line=new.line("id"),
            help=f"Restore `id: {old.id}`.",
        )


def _changed_ids(board: Board) -> Iterator[tuple[Task, Task]]:
    """The tasks of base that had not ended and go by another id now, as they were and as they are."""
    after = {task.path: task for task in board.tasks}
    for old in board.before.tasks if board.before else ():
        new = after.get(board.renamed.get(old.path, old.path))
        if new is not None and old.state not in ENDED and new.readable and old.readable and new.id != old.id:
            yield old, new


def task_deleted(board: Board) -> Iterator[Found]:
    """No task is gone that base had, unless it had ended longer ago than the policy retains it.

    Why: a cancelled task says why; a deleted one was never asked for.

    Fails: `git rm .agents/tasks/queued/T-20260814-abcdef02.md`.

    Mend: restore the file, and use gatekeeper cancel ID --reason.
    """
    if board.before is None:
        return
    changed = {old.path for old, _ in _changed_ids(board)}  # GK225's alone
    for task, places in sorted(board.before.places.items()):
        path = places[0][1]
        if task not in board.places and task not in board.expired and path not in changed:
            yield Found(
                f"task {quoted(task)} was on base and is on the board no more",
                path=path,
                help="Restore it; a task that is not wanted goes to cancelled/ with its reason.",
            )


def dependency_unknown(board: Board) -> Iterator[Found]:
    """Every task that an open one depends on is on the board.

    Why: a task that waits for nothing that exists waits for ever.

    Fails: `depends_on: [T-20260814-0000dead]`.

    Mend: name a task that is there, or drop the dependency.
    """
    for task in _open(board):
        for name in task.depends_on:
            if name not in board.places:
                yield Found(
                    f"{quoted(task.id)} depends on {quoted(name)}, which is on no board",
                    path=task.path,
                    line=task.line("depends_on"),
                    help="Name a task of this board, or drop it from depends_on.",
                )


def dependency_cycle(board: Board) -> Iterator[Found]:
    """No open task waits for itself, however long the way round.

    Why: none of them could ever be claimed.

    Fails: 01 depends on 03, and 03 on 01.

    Mend: drop one of the dependencies on the way round.
    """
    tasks = list(_open(board))
    graph: dict[str, dict[str, None]] = {task.id: {} for task in tasks}
    for task in tasks:
        graph[task.id] |= dict.fromkeys(name for name in task.depends_on if name in graph)
    knots = _knots(graph)
    for task in tasks:
        knot = knots.get(task.id)
        inward = [name for name in task.depends_on if knot is not None and knots.get(name) == knot]
        if inward:
            ring = _way_back(graph, task.id)
            way = " → ".join(quoted(name) for name in (ring or [task.id, inward[0]])[:10])
            yield Found(
                f"{quoted(task.id)} waits for itself: {way}{'' if ring else ' → …'}",
                path=task.path,
                line=task.line("depends_on"),
                help="Drop one of the dependencies on the way round.",
            )


def _knots(graph: Mapping[str, Iterable[str]]) -> dict[str, str]:
    """The ids from which a way leads back to them, each with the same one id for all that are on ways round with it.

    Strongly connected components (Kosaraju's two passes), in time that grows as the dependencies do:
    a change may bring thousands of tasks.
    """
    back: dict[str, list[str]] = {name: [] for name in graph}
    for here, names in graph.items():
        for name in names:
            back[name].append(here)
    known: set[str] = set()
    found: dict[str, str] = {}
    for root in reversed(_as_left(graph)):
        if root in known:
            continue
        known.add(root)
        members = [root]
        for here in members:
            fresh = [name for name in back[here] if name not in known]
            known.update(fresh)
            members += fresh
        if len(members) > 1 or root in graph[root]:
            found |= dict.fromkeys(members, root)
    return found


def _as_left(graph: Mapping[str, Iterable[str]]) -> list[str]:
    """All ids in the order in which a walk in depth is done with them."""
    seen: set[str] = set()
    done: list[str] = []
    for root in graph:
        todo = [] if root in seen else [(root, iter(graph[root]))]
        seen.add(root)
        while todo:
            here, names = todo[-1]
            name = next((name for name in names if name not in seen), None)
            if name is None:
                done.append(here)
                todo.pop()
            else:
                seen.add(name)
                todo.append((name, iter(graph[name])))
    return done


def _way_back(graph: Mapping[str, Iterable[str]], start: str) -> list[str]:
    """The shortest way from a task along its dependencies back to itself; empty where that takes long to find."""
    came_from: dict[str, str] = {}
    todo = [start]
    left = _MOST_LOOKED
    for here in todo:
        for name in graph[here]:
            left -= 1
            if left < 0:
                return []
            if name == start:
                ring = [start, here]
                while ring[-1] != start:
                    ring.append(came_from[ring[-1]])
                return ring[::-1] if here != start else [start, start]
            if name not in came_from:
                came_from[name] = here
                todo.append(name)
    return []


def regeneration_invalid(board: Board) -> Iterator[Found]:
    """A task is regenerated only from one that failed by an invalid premise.

    Why: other failures are mended where they are; a new task for each of them hides the fault.

    Fails: `regenerated_from:` names a task that is done, or failed by `spec-gap`.

    Mend: drop the field, or classify the failed task as it failed.
    """
    failed = {task.id: task.failure for task in board.tasks if task.state == "failed" and task.readable}
    for task in _open(board):
        name = task.regenerated_from
        if name is None or failed.get(name) == "invalid-premise":
            continue
        state = board.state_of(name)
        why = (
            "is on no board"
            if state is None
            else f"is in {state}/"
            if state != "failed"
            else (f"failed by {quoted(failed.get(name) or 'no kind at all')}")
        )
        yield Found(
            f"{quoted(task.id)} is regenerated from {quoted(name)}, which {why}",
            path=task.path,
            line=task.line("regenerated_from"),
            help="Only a task in failed/ with `failure: invalid-premise` is regenerated.",
        )


RULES: tuple[Rule[Board], ...] = (
    Rule("GK224", "id-duplicate", id_duplicate),
    Rule("GK225", "id-changed", id_changed),
    Rule("GK226", "task-deleted", task_deleted),
    Rule("GK231", "dependency-unknown", dependency_unknown),
    Rule("GK232", "dependency-cycle", dependency_cycle),
    Rule("GK233", "regeneration-invalid", regeneration_invalid),
)
