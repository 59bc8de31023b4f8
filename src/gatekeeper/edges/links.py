"""Where changed symlinks lead, followed through the merged tree's own links and never on a file system."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from gatekeeper.model import FOLDER, GITLINK, SYMLINK, Change
from gatekeeper.snapshot import Link

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gatekeeper.edges.reader import Reader
    from gatekeeper.inscope import Scope

MOST_HOPS = 40
"""Links that one path may lead through, as in Linux."""

LONGEST = 4095
"""Bytes of the longest path: Linux's PATH_MAX, which counts the closing NUL."""

_EFFORT, _EFFORT_EACH = 1_000_000, 50  # names that are looked at for one change, and for each of its links
_DRIVE = re.compile(rb"[A-Za-z]:")


class _LostError(Exception):
    """A path that leads nowhere we can follow; the text says why."""


class _Reached(NamedTuple):
    """Where a link leads. `folder` is None where the tree can't tell: nothing is there, or a submodule."""

    path: bytes
    folder: bool | None


def resolve_links(reader: Reader, changes: Sequence[Change], tree: str, scope: Scope) -> Iterator[Link]:
    """For each changed symlink, the path that it stands for in `tree`, and whether that is in scope."""
    links = [change for change in changes if change.new_mode == SYMLINK]
    if not links:
        return
    walk = _Walk(reader, tree, links)
    for change in links:
        try:
            found = walk.follow(change.path)
        except _LostError as why:
            yield Link(change.path, None, why=str(why))
        else:
            yield Link(change.path, found.path, inside=scope.holds_target(found.path, folder=found.folder))


class _Walk:
    """Follows links through one tree, name by name, and gives up before that could take long."""

    def __init__(self, reader: Reader, tree: str, links: Sequence[Change]) -> None:
        self._reader = reader
        self._root = (FOLDER, tree)
        self._left = _EFFORT + _EFFORT_EACH * len(links)
        self._kinds = reader.view.objects.kinds(dict.fromkeys(change.new_oid for change in links))
        reader.read(oid for oid, (_, size) in self._kinds.items() if size <= LONGEST)

    def follow(self, path: bytes) -> _Reached:
        """A path with every link in it replaced by what it stands for; what does not exist stays as it reads."""
        todo = path.split(b"/")[::-1]
        names: list[bytes] = []
        entries: list[tuple[int, str] | None] = [
            self._root
        ]  # of each folder on the way, and of the last name
        hops = 0
        while todo:
            self._spend(1)
            name = todo.pop()
            if name in (b"", b"."):
                continue
            if name == b"..":
                if not names:
                    raise _LostError("it leads out of the repository")
                names.pop()
                entries.pop()
                continue
            entry = self._child(entries[-1], name)
            if entry is None or entry[0] != SYMLINK:
                names.append(name)
                entries.append(entry)
                continue
            hops += 1
            if hops > MOST_HOPS:
                raise _LostError("it leads through too many links, or round in a circle")
            todo += self._target(entry[1]).split(b"/")[::-1]
        return self._reached(names, entries[-1])

    def _reached(self, names: Sequence[bytes], entry: tuple[int, str] | None) -> _Reached:
        self._spend(4 * len(names))  # for the scope, which looks at each of them more than once
        path = b"/".join(names)
        if len(path) > LONGEST:
            raise _LostError("the path that it leads to is longer than any file system takes")
        return _Reached(path, None if entry is None or entry[0] == GITLINK else entry[0] == FOLDER)

    def _spend(self, steps: int) -> None:
        self._left -= steps
        if self._left < 0:
            raise _LostError("the links of this change lead too far to follow them all")

    def _child(self, folder: tuple[int, str] | None, name: bytes) -> tuple[int, str] | None:
        if folder is None or folder[0] != FOLDER:  # a file or a submodule holds nothing that we could walk
            return None
        return self._reader.view.objects.tree(folder[1]).get(name)

    def _target(self, oid: str) -> bytes:
        """What a link says, where every git and every system takes it for the same relative path."""
        target = self._text(oid)
        if not target:
            raise _LostError("it is empty, and no system makes a link of that")
        if b"\0" in target:
            raise _LostError("it holds a NUL, at which a checkout cuts it off")
        if b"\\" in target:
            raise _LostError("it holds a backslash, which some systems take for a slash")
        if target.startswith(b"/") or _DRIVE.match(target):
            raise _LostError("it is absolute, and so leads out of the repository")
        return target

    def _text(self, oid: str) -> bytes:
        """A link's blob, of which nothing is read where it is too long for a path."""
        if oid not in self._kinds:
            self._kinds |= self._reader.view.objects.kinds([oid])
        if self._kinds[oid][0] == "missing":  # reading brings it here; only then its size is known
            self._reader.read([oid])
            self._kinds |= self._reader.view.objects.kinds([oid])
        kind, size = self._kinds[oid]
        if kind != "blob":
            raise _LostError("what it says can't be read: it is no blob")
        if size > LONGEST:
            raise _LostError(f"it is longer than {LONGEST} bytes, and no system makes a link of that")
        return self._reader.blob(oid)
