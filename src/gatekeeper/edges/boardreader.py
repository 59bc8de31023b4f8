"""Base's board and the merged one, for the planning lane.

Of the tasks that the change does not touch only those are parsed that could have become wrong by
it: open ones that name a task which it moves, or that may stand on a way round with one. Both boards
are read as far as each other, so that a fault of base is known as one. A change of the policy may
concern every file.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

from gatekeeper.edges.linktree import all_paths, linker, of_task
from gatekeeper.errors import HistoryMissing, PolicyInvalid
from gatekeeper.model import REGULAR, State
from gatekeeper.policy import DEFAULT, Policy
from gatekeeper.snapshot import POLICY_PATH, Move, Snapshot, Spot
from gatekeeper.taskname import day_of, id_from_name

if TYPE_CHECKING:
    from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence

    from gatekeeper.boards.board import Board
    from gatekeeper.edges.reader import Entry, Reader
    from gatekeeper.linking import Linker
    from gatekeeper.model import Change

OPEN = (State.QUEUED, State.BLOCKED)

_ID = re.compile(rb"T-[0-9]{8}-[0-9a-f]{8}")
_CLOSING = re.compile(rb"\n---[ \t]*\r?(?:\n|\Z)")
_NAMING = (b"depends_on", b"regenerated_from")
# A header's lines up to `id`, where each of them is a field with its whole value, whatever stands below them.
_OWN_ID = re.compile(
    rb"(?:\xef\xbb\xbf)?---[ \t]*\r?\n"
    rb"(?:[a-z_]+: (?:[A-Za-z0-9(][^\n]*|\"[^\"\n]*\"|'[^'\n]*'|\[[A-Za-z0-9, -]*\])\r?\n)*"
    rb"id: (?P<id>T-[0-9]{8}-[0-9a-f]{8})\r?\n(?=[a-z-])"
)
_NO_STRAYS = (b"readme.md", b".gitkeep", b".keep", b".gitignore", b".gitattributes")
_BATCH = 50  # tasks that are read between two looks at how far it has come
_FEW = 8  # files whose last move is looked up one by one


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
            | _concerned(reader, facts.moves, untouched)
            | _linking(reader, facts.changes, merged, untouched)
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
        renamed=_renamed(reader, base_tree, tree),
        expired=_expired(reader, base, before, after),
    )


def thoroughly(reader: Reader, board: Board, tree: str, commit: str | None) -> Board:
    """A whole board with what only `lint` looks at: strays, the tree's paths, and since when tasks have ended."""
    everything = all_paths(reader, tree)
    root = reader.layout.tasks
    strays = [path for path in everything if path.startswith(root) and _stray(reader, path)]
    return board._replace(
        paths=tuple(everything), strays=tuple(strays), ended=_ended(reader, board, commit) if commit else {}
    )


def _raised(policy: Policy) -> bool:
    """Whether a policy makes an error of what is a warning: then the planning lane has to look at all that lint does."""
    return any(severity == "error" for severity in policy.severity.values())


def _stray(reader: Reader, path: bytes) -> bool:
    name = path.rpartition(b"/")[2].lower()
    return reader.layout.place(path) is None and name not in _NO_STRAYS


def _linking(
    reader: Reader, changes: Sequence[Change], merged: str, untouched: Sequence[Entry]
) -> set[bytes]:
    """The untouched open tasks whose links may lead nowhere any more: those that name what is gone, or was rewritten."""
    names = {name for change in changes if not change.added for name in _lost(reader, change, merged)}
    found = set()
    for path, _, oid in (entry for entry in untouched if _open(reader, entry)):
        data = reader.blob(oid)
        spelt_oddly = b"%" in data or b"&" in data or b"\\" in data
        if spelt_oddly or any(name in data for name in names):
            found.add(path)
    return found


def _lost(reader: Reader, change: Change, merged: str) -> Iterator[bytes]:
    """The name of a file whose headings or lines may be others now, or that is gone, and of the folders gone with it."""
    folder, _, name = change.path.rpartition(b"/")
    yield name
    while change.deleted and folder and reader.view.objects.entry(merged, folder) is None:
        folder, _, name = folder.rpartition(b"/")
        yield name


def _ended(reader: Reader, board: Board, commit: str) -> dict[bytes, date]:
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


class Everything:
    """Holds every path: nothing of a board is left unread."""

    def __contains__(self, path: object) -> bool:
        return True


def whole(reader: Reader, tree: str, look: Linker | None, watch: Watch = unwatched) -> Board:
    """All of a tree's board, under the reader's policy; `look` looks up its links, and without it nobody does."""
    return board_of(reader, tree, _files(reader, tree), Everything(), Everything(), look, watch)


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


class _Mentions(NamedTuple):
    """What the bytes of an open task's file say, without parsing them.

    `own` is the id that it bears for sure, None where only parsing can tell what it bears and names;
    `names` are the ids of the usual form that it names, and perhaps more; `naming` says whether it
    names any task, be its id of whatever form.
    """

    own: str | None
    names: frozenset[str] = frozenset()
    naming: bool = False


def _mentions(data: bytes) -> _Mentions:
    """What can be told of a task's file. An escape may stand for any letter, so where there is one, nothing."""
    closing = _CLOSING.search(data)
    head = data[: closing.end()] if closing else b"\\"
    found = None if b"\\" in head else _OWN_ID.match(head)
    if found is None:
        return _Mentions(None)
    own = found["id"].decode()
    if not any(word in head for word in _NAMING):
        return _Mentions(own)
    return _Mentions(own, frozenset(name.decode() for name in _ID.findall(head)) - {own}, naming=True)


def _concerned(reader: Reader, moves: Sequence[Move], untouched: Sequence[Entry]) -> set[bytes]:
    """The untouched files of open tasks of which the board's rules may say something new.

    Those that name a task which moves (GK231, GK233), or bear its id (GK224); and those on a way
    round by which such a task waits for itself (GK232). What is found here may be more than that.
    """
    opened = [entry for entry in untouched if _open(reader, entry)]
    reader.read(oid for _, _, oid in opened)
    said = {entry: _mentions(reader.blob(entry[2])) for entry in opened}
    parsed = {entry for entry in opened if said[entry].own != id_from_name(entry[0])}
    spots = [spot for move in moves for spot in (*move.before, *move.after)]
    spots += [spot for entry in parsed if (spot := reader.spot(*entry))]
    moved = {move.id for move in moves}
    waiting = {spot.task.id for spot in spots if spot.task.depends_on}
    if not all(map(_usual, moved | waiting)):
        odd = {entry for entry in opened if said[entry].naming}  # any of them may name one by its odd id
        spots += [spot for entry in odd - parsed if (spot := reader.spot(*entry))]
        parsed |= odd
    rest = {entry: mentions for entry, mentions in said.items() if entry not in parsed}
    edges: dict[str, set[str]] = defaultdict(set)
    for own, names, _ in rest.values():
        edges[own or ""] |= names
    for spot in spots:
        edges[spot.task.id].update(spot.task.depends_on if spot.state in OPEN else ())
    round_ = _ways_round(edges, moved)
    wanted = {
        entry for entry, (own, names, _) in rest.items() if own in round_ or not moved.isdisjoint(names)
    }
    return {entry[0] for entry in parsed | wanted}


def _open(reader: Reader, entry: Entry) -> bool:
    """Whether an entry is the regular file of a task that is open."""
    place = reader.layout.place(entry[0])
    return place is not None and place.state in OPEN and entry[1] in REGULAR


def _usual(name: str) -> bool:
    return _ID.fullmatch(name.encode("utf-8", "surrogatepass")) is not None


def _ways_round(edges: Mapping[str, Collection[str]], starts: Collection[str]) -> set[str]:
    """The starts, and all that lies on ways from one of them to one of them."""
    ahead = _reach(edges, starts)
    back: dict[str, list[str]] = defaultdict(list)
    for here in ahead:
        for name in edges.get(here, ()):
            back[name].append(here)
    return _reach(back, starts)


def _reach(edges: Mapping[str, Iterable[str]], starts: Iterable[str]) -> set[str]:
    """All that can be come to from the starts, themselves among it."""
    found = set(starts)
    todo = list(found)
    while todo:
        fresh = set(edges.get(todo.pop(), ())) - found
        found |= fresh
        todo += fresh
    return found


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


def _renamed(reader: Reader, base_tree: str, merged: str) -> dict[bytes, bytes]:
    """Task files that git takes for renamed between base and the merge, at its likeness of 50 %."""
    args = ["diff-tree", "-r", "-z", "-M50%", "--diff-filter=R", "--name-status", base_tree, merged]
    done = reader.view.git(*args, "--", reader.layout.tasks.decode(), lazy=True)
    if done.status:
        raise HistoryMissing(f"git could not compare the boards: {done.complaint}", "Fetch base again.")
    parts = done.out.split(b"\0")
    return dict(zip(parts[1::3], parts[2::3], strict=False))


def _expired(reader: Reader, base: str, before: Board, after: Board) -> frozenset[str]:
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
