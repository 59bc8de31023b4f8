"""Base's board and the merged one, for the planning lane.

Of the tasks that the change does not touch only those are parsed that could have become wrong by
it: open ones that name a task which it moves. A change of the policy may concern every file.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING

from gatekeeper.boards.board import Board, Decision
from gatekeeper.errors import HistoryMissing, PolicyInvalid
from gatekeeper.model import REGULAR, State
from gatekeeper.policy import DEFAULT, Policy
from gatekeeper.snapshot import POLICY_PATH, Snapshot, Spot
from gatekeeper.taskfile import id_from_name

if TYPE_CHECKING:
    from gatekeeper.edges.gather import Entry, Gatherer

OPEN = (State.QUEUED, State.BLOCKED)


def planning(gatherer: Gatherer, facts: Snapshot, merged: str) -> Snapshot:
    """The snapshot with both boards, and with why the merged policy can't be read, if it can't."""
    base_policy = gatherer.policy
    problem, policy = _merged_policy(gatherer, merged)
    touched = {change.path for change in facts.changes}
    names = {task.encode("utf-8", "surrogateescape") for move in facts.moves for task in (move.id,)}
    every = POLICY_PATH in touched
    before = _board(gatherer, gatherer.base_tree, touched, names, every=every)
    if policy != base_policy:
        gatherer.use_policy(policy)
    after = _board(gatherer, merged, touched, names, every=every)
    gatherer.use_policy(base_policy)
    after = dataclasses.replace(
        after, before=before, renamed=_renamed(gatherer, merged), expired=_expired(gatherer, facts)
    )
    return dataclasses.replace(facts, boards=(before, after), policy_problem=problem)


def _merged_policy(gatherer: Gatherer, merged: str) -> tuple[str | None, Policy]:
    """Why the merged tree's policy can't be read, and the policy that its board is held against."""
    data = gatherer.file(merged, POLICY_PATH)
    if data is None:
        return None, DEFAULT
    try:
        return None, gatherer.parse_policy(data)
    except PolicyInvalid as why:
        return why.message, gatherer.policy


def _board(
    gatherer: Gatherer, tree: str, touched: Collection[bytes], names: Collection[bytes], *, every: bool
) -> Board:
    entries = list(gatherer.view.objects.walk(tree, gatherer.layout.tasks.rstrip(b"/")))
    spots = list(_spots(gatherer, entries, touched, names, every=every))
    proposals, decisions = [], []
    for folder in (gatherer.layout.proposals, gatherer.layout.decisions):
        for path, mode, oid in gatherer.view.objects.walk(tree, folder.rstrip(b"/")):
            if path not in touched:
                continue
            if gatherer.layout.proposal(path):
                proposals.append(gatherer.proposal(path, mode, oid))
            elif gatherer.layout.decision(path):
                text = gatherer.blob(oid).decode("utf-8", "replace") if mode in REGULAR else ""
                decisions.append(Decision(path, text))
    board = gatherer.board(gatherer.plans(tree), [spot.task for spot in spots], proposals)
    return dataclasses.replace(board, places=_places(gatherer, entries, spots), decisions=tuple(decisions))


def _spots(
    gatherer: Gatherer,
    entries: Iterable[Entry],
    touched: Collection[bytes],
    names: Collection[bytes],
    *,
    every: bool,
) -> Iterable[Spot]:
    """The task files to parse: those touched, and open ones whose text names a task that the change moves."""
    placed = [(entry, place) for entry in entries if (place := gatherer.layout.place(entry[0]))]
    wanted = [entry for entry, place in placed if every or entry[0] in touched or place.state in OPEN]
    gatherer.read(oid for _, mode, oid in wanted if mode in REGULAR)
    for path, mode, oid in wanted:
        mine = every or path in touched
        if mine or (mode in REGULAR and any(name in gatherer.blob(oid) for name in names)):
            spot = gatherer.spot(path, mode, oid)
            if spot is not None:
                yield spot


def _places(
    gatherer: Gatherer, entries: Iterable[Entry], spots: Iterable[Spot]
) -> Mapping[str, tuple[tuple[str, bytes], ...]]:
    """Every id and the files that bear it: by what they say where they were read, else by their names."""
    read = {spot.path: spot.task.id for spot in spots}
    places: dict[str, tuple[tuple[str, bytes], ...]] = {}
    for path, _, _ in entries:
        place = gatherer.layout.place(path)
        if place is not None:
            task = read.get(path) or id_from_name(place.name)
            places[task] = (*places.get(task, ()), (place.state.value, path))
    return places


def _renamed(gatherer: Gatherer, merged: str) -> dict[bytes, bytes]:
    """Task files that git takes for renamed between base and the merge, at its likeness of 50 %."""
    args = ["diff-tree", "-r", "-z", "-M50%", "--diff-filter=R", "--name-status", gatherer.base_tree, merged]
    done = gatherer.view.git(*args, "--", gatherer.layout.tasks.decode(), lazy=True)
    if done.status:
        raise HistoryMissing(f"git could not compare the boards: {done.complaint}", "Fetch base again.")
    parts = done.out.split(b"\0")
    return dict(zip(parts[1::3], parts[2::3], strict=False))


def _expired(gatherer: Gatherer, facts: Snapshot) -> frozenset[str]:
    """The ids that the change deletes, and that ended longer ago than the policy retains them (GK226)."""
    found = set()
    oldest = gatherer.question.now.timestamp() - gatherer.policy.retention_days * 86_400
    for move in facts.moves:
        ended = [spot for spot in move.before if spot.state not in OPEN]
        if ended and not move.after and _moved_at(gatherer, ended[0].path) < oldest:
            found.add(move.id)
    return frozenset(found)


def _moved_at(gatherer: Gatherer, path: bytes) -> float:
    """When the commit was made that last put a file at its path on base, in Unix seconds."""
    args = ["log", "-1", "--first-parent", "-m", "--diff-filter=A", "--no-renames", "--format=%ct", gatherer.base]
    done = gatherer.view.git(*args, "--", ":(top,literal)" + path.decode("utf-8", "surrogateescape"))
    if done.status:
        raise HistoryMissing(f"git could not follow base's history: {done.complaint}", "Fetch the whole history.")
    return float(done.out.split()[0]) if done.out.split() else float("inf")
