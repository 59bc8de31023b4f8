"""When a commit put a task's file where it is: how long ago tasks ended, and which may be gone."""

from __future__ import annotations

import os
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, NamedTuple

from gatekeeper.errors import HistoryMissing
from gatekeeper.model import OPEN
from gatekeeper.taskname import day_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gatekeeper.boards.board import Board
    from gatekeeper.edges.reader import Reader

_FEW = 8  # files whose last move is looked up one by one


def ended_on(reader: Reader, board: Board, commit: str) -> dict[bytes, date]:
    """The day on which a commit moved each task that has ended to where it is, if it can be past the retention.

    Where history is cut it is the day of the cut: at least so long ago.
    """
    keep = reader.policy.retention_days
    old = [
        task.path
        for task in board.tasks
        if task.state not in OPEN and (board.today - (day_of(task.id) or date.min)).days > keep
    ]
    if old:
        old = _there_before(reader, commit, old)
    moved = moved_at(reader, commit, old) if old else {}
    return {path: datetime.fromtimestamp(moved[path].when, UTC).date() for path in old if path in moved}


def _there_before(reader: Reader, commit: str, paths: Sequence[bytes]) -> list[bytes]:
    """Those of the files that stood where they are when the retention of today began; later ones can't be past it.

    Each commit after that is younger, so that on a board which is pruned no history has to be compared.
    """
    since = int(reader.question.now.timestamp()) - reader.policy.retention_days * 86_400
    done = reader.view.git("rev-list", "-1", "--first-parent", f"--min-age={max(since, 0)}", commit)
    if done.status:
        raise HistoryMissing(f"git could not follow history: {done.complaint}", "Fetch the whole history.")
    newest = done.out.decode().strip()
    if not newest:
        return []
    objects = reader.view.objects
    tree = objects.commit(newest).tree
    return [path for path in paths if objects.entry(tree, path) is not None]


def expired(reader: Reader, base: str, before: Board, after: Board) -> frozenset[str]:
    """The ids that are gone, and whose tasks had ended longer ago than the policy retains them (GK226).

    Raises HistoryMissing where history is cut too short to tell.
    """
    oldest = reader.question.now.timestamp() - reader.policy.retention_days * 86_400
    ended = {
        task: places[0][1]
        for task, found in before.places.items()
        if task not in after.places and (places := [place for place in found if place[0] not in OPEN])
    }
    moved = moved_at(reader, base, list(ended.values()))
    if any(cut and when >= oldest for when, cut in moved.values()):
        reader.deepen(base)
        moved = moved_at(reader, base, list(ended.values()))
    if any(cut and when >= oldest for when, cut in moved.values()):
        raise HistoryMissing(
            "this history is cut short, and does not say since when the tasks that are gone had ended",
            "Fetch the rest: git fetch --unshallow (in a workflow: fetch-depth: 0).",
        )
    return frozenset(task for task, path in ended.items() if path in moved and moved[path].when < oldest)


def renamed(reader: Reader, base_tree: str, merged: str) -> dict[bytes, bytes]:
    """Task files that git takes for renamed between base and the merge, at its likeness of 50 %."""
    args = ["diff-tree", "-r", "-z", "-M50%", "--diff-filter=R", "--name-status", base_tree, merged]
    done = reader.view.git(*args, "--", reader.layout.tasks.decode(), lazy=True)
    if done.status:
        raise HistoryMissing(f"git could not compare the boards: {done.complaint}", "Fetch base again.")
    parts = done.out.split(b"\0")
    return dict(zip(parts[1::3], parts[2::3], strict=False))


class Moved(NamedTuple):
    """When a commit put a file where it is, in Unix seconds; `cut`: or earlier, for there history is cut."""

    when: float
    cut: bool


def moved_at(reader: Reader, base: str, paths: Sequence[bytes]) -> dict[bytes, Moved]:
    """When the commits were made that last put files at these paths on base.

    One walk for each of a few, which ends where it finds one; else a single one through all history.
    """
    if len(paths) > _FEW:
        return _additions(reader, base, reader.layout.tasks, [])
    found: dict[bytes, Moved] = {}
    for path in paths:
        found |= _additions(reader, base, path, ["-1"])
    return found


def _additions(reader: Reader, base: str, below: bytes, limit: Sequence[str]) -> dict[bytes, Moved]:
    """When files were last added at or below a path, by base's first parents."""
    args = ["log", *limit, "--first-parent", "-m", "--diff-filter=A", "--no-renames", "--name-only", "-z"]
    spec = ":(top,literal)" + os.fsdecode(below)
    done = reader.view.git(*args, "--format=%x01%H %ct", base, "--", spec, lazy=True)
    if done.status:
        raise HistoryMissing(
            f"git could not follow base's history: {done.complaint}", "Fetch the whole history."
        )
    boundary = reader.view.boundary()
    found: dict[bytes, Moved] = {}
    for part in done.out.split(b"\x01")[1:]:
        head, _, names = part.partition(b"\0")
        oid, _, when = head.decode().partition(" ")
        moved = Moved(float(when) if when.isdigit() else float("inf"), oid in boundary)
        for name in names.lstrip(b"\n").split(b"\0"):
            found.setdefault(name, moved)
    return found
