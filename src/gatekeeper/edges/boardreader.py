"""Whole boards for lint, and for the planning lane as much of base's and of the merged one as a change concerns.

Both boards of a change are read as far as each other, so that a fault of base is known as one. A change
of the policy may concern every file.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Protocol, TypeVar

from gatekeeper.edges.ages import ended_on, expired, renamed
from gatekeeper.edges.concern import concerned, linking
from gatekeeper.edges.linktree import all_paths, linker, of_task
from gatekeeper.errors import PolicyInvalid
from gatekeeper.model import OPEN, REGULAR, State
from gatekeeper.policy import DEFAULT, Policy
from gatekeeper.snapshot import POLICY_PATH, Snapshot, Spot
from gatekeeper.taskname import id_from_name

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping, Sequence

    from gatekeeper.boards.board import Board
    from gatekeeper.edges.reader import Entry, Reader
    from gatekeeper.linking import Linker

_NO_STRAYS = (b"readme.md", b".gitkeep", b".keep", b".gitignore", b".gitattributes")
_BATCH = 50  # tasks that are read between two looks at how far it has come

T = TypeVar("T")


class Watch(Protocol):
    """Hands on what it is given, one after the other, and may tell somebody how far it has come."""

    def __call__(self, items: Sequence[T], what: str, /) -> Iterable[T]:
        """The items; `what` is done with each."""


def unwatched(items: Sequence[T], what: str, /) -> Iterable[T]:
    """Nobody looks on."""
    del what
    return items


def planning(reader: Reader, facts: Snapshot, base_tree: str, merged: str) -> Snapshot:
    """The snapshot with both boards, and with why the merged policy can't be read, if it can't."""
    base_policy = reader.policy
    problem, policy = _merged_policy(reader, merged)
    base = facts.question.base.commit or ""
    changed = {change.path for change in facts.changes}
    decided = [c for c in facts.changes if reader.layout.decision(c.path) and not c.deleted]
    reader.bring((c.path, c.new_mode, c.new_oid) for c in decided)
    trees = [(tree, _files(reader, tree)) for tree in (base_tree, merged)]
    touched: Container[bytes] = changed
    wanted: Container[bytes] = {path for _, files in trees for path, _, _ in files}
    thorough = _raised(base_policy) or _raised(policy)
    if thorough:
        touched = wanted = Everything()
    elif POLICY_PATH not in changed:
        untouched = [entry for entry in trees[1][1] if entry[0] not in changed]
        wanted = (
            changed
            | concerned(reader, facts.moves, untouched)
            | linking(reader, facts.changes, merged, untouched)
        )

    def read(tree: str, files: Sequence[Entry]) -> Board:
        board = board_of(reader, tree, files, touched, wanted, linker(reader, tree))
        return thoroughly(reader, board, tree, base) if thorough else board

    before = read(*trees[0])
    if policy != base_policy:
        reader.use_policy(policy)
    after = read(*trees[1])
    reader.use_policy(base_policy)
    return facts._replace(
        boards=(before, compared(reader, after, before, base, base_tree, merged)), policy_problem=problem
    )


def compared(reader: Reader, after: Board, before: Board, base: str, base_tree: str, tree: str) -> Board:
    """A board beside the one that base has: what was renamed, and what had ended long enough ago to be gone."""
    return after._replace(
        before=before,
        renamed=renamed(reader, base_tree, tree),
        expired=expired(reader, base, before, after),
    )


def thoroughly(reader: Reader, board: Board, tree: str, commit: str | None) -> Board:
    """A whole board with what only `lint` looks at: strays, the tree's paths, and since when tasks have ended."""
    everything = all_paths(reader, tree)
    root = reader.layout.tasks
    strays = [path for path in everything if path.startswith(root) and _stray(reader, path)]
    return board._replace(
        paths=tuple(everything), strays=tuple(strays), ended=ended_on(reader, board, commit) if commit else {}
    )


def _raised(policy: Policy) -> bool:
    """Whether a policy makes an error of what is a warning: then the planning lane has to look at all that lint does."""
    return any(severity == "error" for severity in policy.severity.values())


def _stray(reader: Reader, path: bytes) -> bool:
    name = path.rpartition(b"/")[2].lower()
    return reader.layout.place(path) is None and name not in _NO_STRAYS


class Everything:
    """Holds every path: nothing of a board is left unread."""

    def __contains__(self, path: object) -> bool:
        return True


def whole(reader: Reader, tree: str, look: Linker | None, watch: Watch = unwatched) -> Board:
    """All of a tree's board, under the reader's policy; `look` looks up its links, and without it nobody does."""
    return board_of(reader, tree, _files(reader, tree), Everything(), Everything(), look, watch)


def _merged_policy(reader: Reader, merged: str) -> tuple[str | None, Policy]:
    """Why the merged tree's policy can't be read, and the policy that its board is held against."""
    data = reader.file(merged, POLICY_PATH)
    if data is None:
        return None, DEFAULT
    try:
        return None, reader.parse_policy(data)
    except PolicyInvalid as why:
        return why.message, reader.policy


def _files(reader: Reader, tree: str) -> list[Entry]:
    """The task files of a tree."""
    entries = reader.view.objects.walk(tree, reader.layout.tasks.rstrip(b"/"))
    return [entry for entry in entries if reader.layout.place(entry[0])]


def board_of(
    reader: Reader,
    tree: str,
    files: Sequence[Entry],
    touched: Container[bytes],
    wanted: Container[bytes],
    look: Linker | None,
    watch: Watch = unwatched,
) -> Board:
    """The part of a board that is wanted: tasks at the paths in `wanted`, proposals and decisions in `touched`."""
    asked = [entry for entry in files if entry[0] in wanted]
    reader.fetch(oid for _, mode, oid in asked if mode in REGULAR)
    batches = [asked[start : start + _BATCH] for start in range(0, len(asked), _BATCH)]
    for batch in watch(batches, "reading tasks"):
        reader.parse_all(batch)
    spots = [spot for entry in asked if (spot := reader.spot(*entry))]
    spots += _premises(reader, files, spots)
    proposals, decisions = [], []
    for folder in (reader.layout.proposals, reader.layout.decisions):
        for path, mode, oid in reader.view.objects.walk(tree, folder.rstrip(b"/")):
            if path not in touched:
                continue
            if reader.layout.proposal(path):
                proposals.append(reader.proposal(path, mode, oid))
            elif reader.layout.decision(path):
                decisions.append(reader.decision(path, mode, oid))
    board = reader.board(reader.plans(tree), [spot.task for spot in spots], proposals)
    links = {}
    if look is not None:
        linking = [spot for spot in spots if spot.state in OPEN and spot.task.readable]
        links = {s.path: of_task(reader, look, s.task, s.oid) for s in watch(linking, "looking up links")}
    return board._replace(places=_places(reader, files, spots), decisions=tuple(decisions), links=links)


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
    places: dict[str, list[tuple[str, bytes]]] = defaultdict(list)
    for path, _, _ in entries:
        place = reader.layout.place(path)
        if place is not None:
            places[read.get(path) or id_from_name(place.name)].append((place.state.value, path))
    return {task: tuple(found) for task, found in places.items()}
