"""Base's board and the merged one, for the planning lane.

Of the tasks that the change does not touch only those are parsed that could have become wrong by
it: open ones that name a task which it moves. A change of the policy may concern every file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatekeeper.boards.board import Board, Decision
from gatekeeper.errors import HistoryMissing, PolicyInvalid
from gatekeeper.model import REGULAR, State
from gatekeeper.policy import DEFAULT, Policy
from gatekeeper.snapshot import POLICY_PATH, Snapshot, Spot
from gatekeeper.taskfile import id_from_name

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from gatekeeper.edges.reader import Entry, Reader

OPEN = (State.QUEUED, State.BLOCKED)


def planning(reader: Reader, facts: Snapshot, base_tree: str, merged: str) -> Snapshot:
    """The snapshot with both boards, and with why the merged policy can't be read, if it can't."""
    base_policy = reader.policy
    problem, policy = _merged_policy(reader, merged)
    touched = {change.path for change in facts.changes}
    names = {task.encode("utf-8", "surrogateescape") for move in facts.moves for task in (move.id,)}
    every = POLICY_PATH in touched
    before = _board(reader, base_tree, touched, names, every=every)
    if policy != base_policy:
        reader.use_policy(policy)
    after = _board(reader, merged, touched, names, every=every)
    reader.use_policy(base_policy)
    after = after._replace(
        before=before, renamed=_renamed(reader, base_tree, merged), expired=_expired(reader, facts)
    )
    return facts._replace(boards=(before, after), policy_problem=problem)


def _merged_policy(reader: Reader, merged: str) -> tuple[str | None, Policy]:
    """Why the merged tree's policy can't be read, and the policy that its board is held against."""
    data = reader.file(merged, POLICY_PATH)
    if data is None:
        return None, DEFAULT
    try:
        return None, reader.parse_policy(data)
    except PolicyInvalid as why:
        return why.message, reader.policy


def _board(
    reader: Reader, tree: str, touched: Collection[bytes], names: Collection[bytes], *, every: bool
) -> Board:
    entries = list(reader.view.objects.walk(tree, reader.layout.tasks.rstrip(b"/")))
    spots = list(_spots(reader, entries, touched, names, every=every))
    spots += _premises(reader, entries, spots)
    proposals, decisions = [], []
    for folder in (reader.layout.proposals, reader.layout.decisions):
        for path, mode, oid in reader.view.objects.walk(tree, folder.rstrip(b"/")):
            if path not in touched:
                continue
            if reader.layout.proposal(path):
                proposals.append(reader.proposal(path, mode, oid))
            elif reader.layout.decision(path):
                text = reader.blob(oid).decode("utf-8", "replace") if mode in REGULAR else ""
                decisions.append(Decision(path, text))
    board = reader.board(reader.plans(tree), [spot.task for spot in spots], proposals)
    return board._replace(places=_places(reader, entries, spots), decisions=tuple(decisions))


def _spots(
    reader: Reader,
    entries: Iterable[Entry],
    touched: Collection[bytes],
    names: Collection[bytes],
    *,
    every: bool,
) -> Iterable[Spot]:
    """The task files to parse: those touched, and open ones whose text names a task that the change moves."""
    placed = [(entry, place) for entry in entries if (place := reader.layout.place(entry[0]))]
    wanted = [entry for entry, place in placed if every or entry[0] in touched or place.state in OPEN]
    reader.read(oid for _, mode, oid in wanted if mode in REGULAR)
    for path, mode, oid in wanted:
        mine = every or path in touched
        if mine or (mode in REGULAR and any(name in reader.blob(oid) for name in names)):
            spot = reader.spot(path, mode, oid)
            if spot is not None:
                yield spot


def _premises(reader: Reader, entries: Iterable[Entry], spots: Sequence[Spot]) -> list[Spot]:
    """The failed tasks from which the tasks that were read are regenerated: why they failed decides (GK233)."""
    read = {spot.path for spot in spots}
    named = {spot.task.regenerated_from for spot in spots if spot.task.regenerated_from}
    found = []
    for path, mode, oid in entries:
        place = reader.layout.place(path)
        if place and place.state is State.FAILED and path not in read and id_from_name(place.name) in named:
            spot = reader.spot(path, mode, oid)
            found += [spot] if spot else []
    return found


def _places(
    reader: Reader, entries: Iterable[Entry], spots: Iterable[Spot]
) -> Mapping[str, tuple[tuple[str, bytes], ...]]:
    """Every id and the files that bear it: by what they say where they were read, else by their names."""
    read = {spot.path: spot.task.id for spot in spots}
    places: dict[str, tuple[tuple[str, bytes], ...]] = {}
    for path, _, _ in entries:
        place = reader.layout.place(path)
        if place is not None:
            task = read.get(path) or id_from_name(place.name)
            places[task] = (*places.get(task, ()), (place.state.value, path))
    return places


def _renamed(reader: Reader, base_tree: str, merged: str) -> dict[bytes, bytes]:
    """Task files that git takes for renamed between base and the merge, at its likeness of 50 %."""
    args = ["diff-tree", "-r", "-z", "-M50%", "--diff-filter=R", "--name-status", base_tree, merged]
    done = reader.view.git(*args, "--", reader.layout.tasks.decode(), lazy=True)
    if done.status:
        raise HistoryMissing(f"git could not compare the boards: {done.complaint}", "Fetch base again.")
    parts = done.out.split(b"\0")
    return dict(zip(parts[1::3], parts[2::3], strict=False))


def _expired(reader: Reader, facts: Snapshot) -> frozenset[str]:
    """The ids that the change deletes, and that ended longer ago than the policy retains them (GK226)."""
    found = set()
    oldest = reader.question.now.timestamp() - reader.policy.retention_days * 86_400
    for move in facts.moves:
        ended = [spot for spot in move.before if spot.state not in OPEN]
        if (
            ended
            and not move.after
            and _moved_at(reader, facts.question.base.commit or "", ended[0].path) < oldest
        ):
            found.add(move.id)
    return frozenset(found)


def _moved_at(reader: Reader, base: str, path: bytes) -> float:
    """When the commit was made that last put a file at its path on base, in Unix seconds."""
    args = [
        "log",
        "-1",
        "--first-parent",
        "-m",
        "--diff-filter=A",
        "--no-renames",
        "--format=%ct",
        base,
    ]
    done = reader.view.git(*args, "--", ":(top,literal)" + path.decode("utf-8", "surrogateescape"))
    if done.status:
        raise HistoryMissing(
            f"git could not follow base's history: {done.complaint}", "Fetch the whole history."
        )
    return float(done.out.split()[0]) if done.out.split() else float("inf")
