"""Which ended tasks may go: those older than the retention that nothing open still needs (CONTRACT 6, retention_days)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gatekeeper.model import OPEN
from gatekeeper.text import listed, quoted

if TYPE_CHECKING:
    from gatekeeper.boards.board import Board


class Due(NamedTuple):
    """A task that ended longer ago than it is kept: its file, its age in days, and why it stays, if it does."""

    path: bytes
    task: str
    age: int
    kept: str | None


def due(board: Board, keep: int) -> list[Due]:
    """The tasks that ended more than `keep` days ago, by path. `board.ended` has to be known."""
    ids = {task.path: task.id for task in board.tasks}
    needs = _needs(board)
    return [
        Due(path, ids[path], age, _by(needs.get(ids[path], ())))
        for path, day in sorted(board.ended.items())
        if (age := (board.today - day).days) > keep and path in ids
    ]


def _needs(board: Board) -> dict[str, list[str]]:
    """For each task the open tasks and unfinished milestones that name it."""
    found: dict[str, list[str]] = {}
    for task in board.tasks:
        if task.state in OPEN:
            for name in (*task.depends_on, *([task.regenerated_from] if task.regenerated_from else ())):
                found.setdefault(name, []).append(quoted(task.id))
    for milestone in board.manifest.milestones if board.manifest else ():
        if milestone.status != "done":
            for name in (
                *milestone.tasks,
                *([milestone.integration_task] if milestone.integration_task else ()),
            ):
                found.setdefault(name, []).append(f"milestone {quoted(milestone.id)}")
    return found


def _by(names: list[str] | tuple[()]) -> str | None:
    return f"still named by {listed(sorted(set(names)))}" if names else None
