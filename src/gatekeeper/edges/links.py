"""Where changed symlinks lead, followed through the merged tree's own links and never on a file system."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from gatekeeper.model import FOLDER, SYMLINK, Change
from gatekeeper.snapshot import Link

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gatekeeper.edges.reader import Reader
    from gatekeeper.inscope import Scope

MOST_HOPS = 40
"""Links that one path may lead through, as in Linux."""


class _LostError(Exception):
    """A path that leads nowhere we can follow; the text says why."""


def resolve_links(reader: Reader, changes: Sequence[Change], tree: str, scope: Scope) -> Iterator[Link]:
    """For each changed symlink, the path that it stands for in `tree`, and whether that is in scope."""
    links = [change for change in changes if change.new_mode == SYMLINK]
    reader.read(change.new_oid for change in links)
    for change in links:
        try:
            path = _follow(reader, tree, change.path)
        except _LostError as why:
            yield Link(change.path, None, why=str(why))
        else:
            entry = reader.view.objects.entry(tree, path)
            folder = entry is not None and entry[0] == FOLDER
            yield Link(change.path, path, inside=scope.holds_target(path, folder=folder))


def _follow(reader: Reader, tree: str, path: bytes) -> bytes:
    """The path with every symlink in it replaced by what it stands for; what does not exist stays as it reads."""
    todo = deque(path.split(b"/"))
    here: list[bytes] = []
    hops = 0
    while todo:
        name = todo.popleft()
        if name in (b"", b"."):
            continue
        if name == b"..":
            if not here:
                raise _LostError("it leads out of the repository")
            here.pop()
            continue
        here.append(name)
        entry = reader.view.objects.entry(tree, b"/".join(here))
        if entry is None or entry[0] != SYMLINK:
            continue
        hops += 1
        if hops > MOST_HOPS:
            raise _LostError("it leads through too many links, or round in a circle")
        target = reader.blob(entry[1])
        if target.startswith(b"/"):
            raise _LostError("it is absolute, and so leads out of the repository")
        here.pop()
        todo.extendleft(reversed(target.split(b"/")))
    return b"/".join(here)
