"""When base brought a task back into the queue: claims from before that count no more (CONTRACT 3)."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gatekeeper.errors import HistoryMissing
from gatekeeper.model import State
from gatekeeper.taskname import id_from_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gatekeeper.boards import Layout
    from gatekeeper.edges.git import View


class Returns:
    """Looks through base's first-parent history. `rooted(base, commit)` tells whether a commit is in it, and fetches it."""

    def __init__(self, view: View, layout: Layout, base: str, rooted: Callable[[str, str], bool]) -> None:
        self._view = view
        self._layout = layout
        self._base = base
        self._rooted = rooted

    def expect(self, commit: str, task: str) -> None:
        """`since` will probably be asked: git begins to look, where all of history is here."""
        if commit != self._base and not self._view.boundary():
            self._view.expect_first_parent(commit, self._base, [self._start(task)])

    def since(self, commit: str, task: str) -> bool:
        """Whether a first-parent commit of `commit..base` brought the task back into queued/.

        A commit at which history is cut looks as if it had brought everything: then its parent is looked at first.
        Raises HistoryMissing where that can't be had.
        """
        if commit == self._base:
            return False
        looked: set[str] = set()
        while True:
            brought = next(self._bringing(task, commit), None)
            if brought is None or brought not in self._view.boundary():
                return brought is not None
            parents = self._view.objects.commit(brought).parents
            if not parents:
                return True
            if brought in looked or not self._rooted(self._base, parents[0]):
                raise HistoryMissing("base's history is cut where a claim began", "Fetch the whole history.")
            looked.add(brought)

    def _bringing(self, task: str, since: str) -> Iterator[str]:
        """The first-parent commits of `since..base`, newest first, after which the task is in queued/ anew."""
        for commit, changes in self._view.first_parent_raw(since, self._base, [self._start(task)]):
            mine = [c for c in changes if id_from_name(c.path.rpartition(b"/")[2]) == task]
            if any(c.added for c in mine) and not any(c.deleted for c in mine):
                yield commit

    def _start(self, task: str) -> bytes:
        """What the task's path in the queue begins with."""
        return os.fsencode(self._layout.folder(State.QUEUED).decode() + task)
