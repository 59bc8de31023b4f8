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

        Where base was pulled crosswise the claim's commit came in by another parent of a merge than the first.
        Then that merge brought nothing back if the task is queued there, and that side is looked through as well.
        Raises HistoryMissing where history is cut before that can be told.
        """
        tips, looked = [self._base], {commit}
        while tips:
            tip = tips.pop()
            for brought in () if tip in looked else self._bringing(task, commit, tip):
                sides = self._crosswise(brought, commit)
                if not sides or not all(self._queued(side, task) for side in sides):
                    return True
                tips += sides
            looked.add(tip)
        return False

    def _bringing(self, task: str, since: str, until: str) -> Iterator[str]:
        """The first-parent commits of `since..until`, newest first, after which the task is in queued/ anew.

        A commit at which history is cut looks as if it had brought everything: then its parent is looked at first.
        """
        told: set[str] = set()
        cuts: list[str] = []
        while True:
            cut = None
            for commit in self._adding(task, since, until):
                if commit in self._view.boundary() and self._view.objects.commit(commit).parents:
                    cut = commit
                elif commit not in told:
                    told.add(commit)
                    yield commit
            if cut is None:
                return
            if cut in cuts or not self._rooted(self._base, self._view.objects.commit(cut).parents[0]):
                raise HistoryMissing("base's history is cut where a claim began", "Fetch the whole history.")
            cuts.append(cut)

    def _adding(self, task: str, since: str, until: str) -> Iterator[str]:
        for commit, changes in self._view.first_parent_raw(since, until, [self._start(task)]):
            mine = [c for c in changes if id_from_name(c.path.rpartition(b"/")[2]) == task]
            if any(c.added for c in mine) and not any(c.deleted for c in mine):
                yield commit

    def _crosswise(self, merge: str, claimed: str) -> list[str]:
        """The parents of a merge that have a claim's commit behind them, where the first one has not."""
        first, *others = self._view.objects.commit(merge).parents or ("",)
        if not others or self._rooted(first, claimed):
            return []
        return [parent for parent in others if self._rooted(parent, claimed)]

    def _queued(self, commit: str, task: str) -> bool:
        """Whether a commit's tree has the task in queued/."""
        start = self._start(task)
        files = self._view.files(self._view.objects.commit(commit).tree, [start])
        return any(
            path.startswith(start) and id_from_name(path.rpartition(b"/")[2]) == task for path, _, _ in files
        )

    def _start(self, task: str) -> bytes:
        """What the task's path in the queue begins with."""
        return os.fsencode(self._layout.folder(State.QUEUED).decode() + task)
