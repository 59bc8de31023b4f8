"""One tree, for looking up what links lead to (`linking.Tree`)."""

from __future__ import annotations

from functools import cached_property, partial
from typing import TYPE_CHECKING

from gatekeeper.edges.git import LARGEST_BLOB
from gatekeeper.errors import HistoryMissing
from gatekeeper.linking import MISSING, Linker
from gatekeeper.model import REGULAR, Defect

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from gatekeeper.boards.layout import Layout
    from gatekeeper.edges.reader import Entry, Reader
    from gatekeeper.model import Task


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
        data = self._reader.blob(oid)
        return None if len(data) > LARGEST_BLOB else data

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
    return Linker(LinkTree(reader, tree), folders(reader.layout))


def folders(layout: Layout) -> list[bytes]:
    """The board's own folders, without their slashes."""
    parts = [layout.root, layout.tasks, layout.proposals, layout.decisions]
    return [folder.rstrip(b"/") for folder in (*parts, *map(layout.folder, layout.states))]


def of_task(reader: Reader, look: Linker, task: Task, oid: str) -> tuple[Defect, ...]:
    """What is wrong with the links of a task's file."""
    return look.defects(
        task.path, task.body, task.body_line, lambda: reader.blob(oid).decode("utf-8", "replace")
    )


def of_files(reader: Reader, look: Linker, files: Iterable[Entry]) -> dict[bytes, tuple[Defect, ...]]:
    """What is wrong with the links of any Markdown files, by path. Only in tasks are code spans paths: elsewhere examples."""
    regular = [(path, oid) for path, mode, oid in files if mode in REGULAR]
    reader.read(oid for _, oid in regular)
    found: dict[bytes, tuple[Defect, ...]] = {}
    for path, oid in regular:
        data = reader.blob(oid)
        if len(data) > LARGEST_BLOB:
            why = "its links can't be read: it is too large"
            found[path] = (Defect(MISSING, why, 1, "Make it several files."),)
        else:
            text = data.decode("utf-8", "replace")
            task = reader.layout.place(path) is not None
            found[path] = look.defects(path, text, 1, partial(str, text), spans=task)
    return found
