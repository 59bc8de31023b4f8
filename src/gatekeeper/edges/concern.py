"""Which untouched tasks a planning change may have made wrong: only these are parsed beside those that it touches.

Open ones that name a task which it moves, that may stand on a way round with one, or whose links may
lead to what is gone. What is found here may be more than that, and is never less.
"""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from gatekeeper.linktargets import readme
from gatekeeper.model import OPEN, REGULAR
from gatekeeper.taskname import id_from_name

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from gatekeeper.edges.reader import Entry, Reader
    from gatekeeper.model import Change
    from gatekeeper.snapshot import Move

_ID = re.compile(rb"T-[0-9]{8}-[0-9a-f]{8}")
_CLOSING = re.compile(rb"\n---[ \t]*\r?(?:\n|\Z)")
_NAMING = (b"depends_on", b"regenerated_from")
# A header's lines up to `id`, where each of them is a field with its whole value, whatever stands below them.
_OWN_ID = re.compile(
    rb"(?:\xef\xbb\xbf)?---[ \t]*\r?\n"
    rb"(?:[a-z_]+: (?:[A-Za-z0-9(][^\n]*|\"[^\"\n]*\"|'[^'\n]*'|\[[A-Za-z0-9, -]*\])\r?\n)*"
    rb"id: (?P<id>T-[0-9]{8}-[0-9a-f]{8})\r?\n(?=[a-z-])"
)


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


def concerned(reader: Reader, moves: Sequence[Move], untouched: Sequence[Entry]) -> set[bytes]:
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


def linking(reader: Reader, changes: Sequence[Change], merged: str, untouched: Sequence[Entry]) -> set[bytes]:
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
    """The name of a file whose headings or lines may be others now, or that is gone, and of the folders gone with it.

    A README's headings are those of its folder as well.
    """
    folder, _, name = change.path.rpartition(b"/")
    yield name
    if readme([name]) is not None:
        yield folder.rpartition(b"/")[2]
    while change.deleted and folder and reader.view.objects.entry(merged, folder) is None:
        folder, _, name = folder.rpartition(b"/")
        yield name
