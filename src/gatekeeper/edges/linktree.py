"""One tree, for looking up what links lead to (`linking.Tree`)."""

from __future__ import annotations

from functools import cached_property, partial
from typing import TYPE_CHECKING

from gatekeeper.errors import HistoryMissing
from gatekeeper.linking import Linker
from gatekeeper.model import REGULAR

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from gatekeeper.edges.reader import Entry, Reader
    from gatekeeper.model import Defect, Task

LARGEST = 1 << 20
"""Bytes of a file whose headings and lines are looked at."""


class LinkTree:
    """A tree as links see it."""

    def __init__(self, reader: Reader, tree: str) -> None:
        self._reader = reader
        self._tree = tree
        self._entries: dict[bytes, tuple[int, str] | None] = {}

    def entry(self, path: bytes) -> tuple[int, str] | None:
        """As `linking.Tree.entry`."""
        if path not in self._entries:
            self._entries[path] = self._reader.view.objects.entry(self._tree, path)
        return self._entries[path]

    def names(self, oid: str) -> Collection[bytes]:
        """As `linking.Tree.names`."""
        return self._reader.view.objects.tree(oid)

    def text(self, oid: str) -> bytes | None:
        """As `linking.Tree.text`."""
        self._reader.read([oid])
        data = self._reader.blob(oid)
        return None if data == b"\xff" or len(data) > LARGEST else data

    def paths(self) -> Sequence[bytes]:
        """As `linking.Tree.paths`."""
        return self._paths

    @cached_property
    def _paths(self) -> Sequence[bytes]:
        return all_paths(self._reader, self._tree)


def all_paths(reader: Reader, tree: str) -> list[bytes]:
    """The paths of all files, links and submodules of a tree, in git's order."""
    done = reader.view.git("ls-tree", "-r", "-z", "--name-only", tree, lazy=True)
    if done.status:
        raise HistoryMissing(f"git could not list the tree: {done.complaint}", "Fetch it again.")
    return done.out.split(b"\0")[:-1]


def linker(reader: Reader, tree: str) -> Linker:
    """Looks up links in a tree, in which the board's own folders stand even where they are empty."""
    layout = reader.layout
    folders = [layout.root, layout.tasks, layout.proposals, layout.decisions]
    return Linker(LinkTree(reader, tree), [*folders, *(layout.folder(state) for state in layout.states)])


def of_task(reader: Reader, look: Linker, task: Task, oid: str) -> tuple[Defect, ...]:
    """What is wrong with the links of a task's file."""
    return look.defects(
        task.path, task.body, task.body_line, lambda: reader.blob(oid).decode("utf-8", "replace")
    )


def of_files(reader: Reader, look: Linker, files: Iterable[Entry]) -> dict[bytes, tuple[Defect, ...]]:
    """What is wrong with the links of any Markdown files, by path."""
    found = {}
    for path, mode, oid in files:
        if mode in REGULAR:
            text = reader.blob(oid).decode("utf-8", "replace")
            found[path] = look.defects(path, text, 1, partial(str, text))
    return found
