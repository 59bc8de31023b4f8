"""Which of many tasks may change one same path (GK254).

Two patterns can hold one same path only if the folders that they spell out lie on one way from the root:
each is compared with those above and below its own, and with no others. Whoever has found a handful goes on
to the next task, so that a board on which all may change everything takes no longer than another.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from functools import lru_cache
from typing import TYPE_CHECKING

from gatekeeper.scope import Patterns, folder_prefix, holds_below, literal, meet

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gatekeeper.model import Authority, Task

ENOUGH = 6
"""Tasks with which one overlaps, after which no more are looked for."""
EFFORT = 2_000_000
"""What is compared on one board at most, counted in pairs that are only looked at."""

_PAIR = 10  # the effort of comparing two short patterns; it grows with the product of their lengths
_LETTERS = 100


class Overlaps:
    """Looks for overlaps among tasks that have an authority. `cut`: there were too many to compare them all."""

    def __init__(self, tasks: Sequence[Task]) -> None:
        self.cut = False
        self._left = EFFORT
        self._met: dict[str, dict[str, None]] = defaultdict(dict)
        self._known: dict[bytes, dict[frozenset[str], list[tuple[Task, str]]]] = defaultdict(
            lambda: defaultdict(list)
        )
        for task in tasks:
            for pattern in task.authority.paths if task.authority else ():
                self._known[_spelt(pattern)][frozenset(task.locks)].append((task, pattern))
        self._order = sorted(self._known)

    def of(self, task: Task) -> list[str]:
        """The ids of some tasks with which a task overlaps, `ENOUGH` at most; without a lock in common, that is."""
        met = self._met[task.id]
        for pattern in task.authority.paths if task.authority else ():
            for other, theirs in self._near(_spelt(pattern), frozenset(task.locks)):
                if len(met) >= ENOUGH or self.cut:
                    return list(met)[:ENOUGH]
                if other.id != task.id and other.id not in met:
                    self._spend(_PAIR + len(pattern) * len(theirs) // _LETTERS)
                    if _overlap(task.authority, pattern, other.authority, theirs):
                        met[other.id] = self._met[other.id][task.id] = None
        return list(met)[:ENOUGH]

    def _near(self, folder: bytes, locks: frozenset[str]) -> Iterator[tuple[Task, str]]:
        """The patterns of others that spell out a folder, one above it, or one below."""
        for name in (*_way_up(folder), *self._below(folder)):
            for theirs, pairs in self._known[name].items() if name in self._known else ():
                self._spend(1)
                if locks.isdisjoint(theirs):
                    for pair in pairs:
                        self._spend(1)
                        yield pair

    def _below(self, folder: bytes) -> Iterator[bytes]:
        for at in range(bisect_right(self._order, folder), len(self._order)):
            if not self._order[at].startswith(folder):
                return
            yield self._order[at]

    def _spend(self, effort: int) -> None:
        self._left -= effort
        self.cut = self.cut or self._left < 0


def _spelt(pattern: str) -> bytes:
    """The folder, with its slash, at or below which all is that a pattern holds; of a single path that path as one."""
    name = literal(pattern)
    return folder_prefix(pattern) if name is None else name + b"/"


def _way_up(folder: bytes) -> Iterator[bytes]:
    """A folder (with its slash) and all above it, the root (empty) last."""
    while folder:
        yield folder
        folder = folder[: folder.rfind(b"/", 0, -1) + 1]
    yield b""


@lru_cache(maxsize=16384)
def _meet(one: str, other: str) -> bool:
    return meet(one, other)


def _overlap(one: Authority | None, mine: str, other: Authority | None, theirs: str) -> bool:
    """Whether two patterns can hold one same path that neither task is forbidden."""
    if one is None or other is None or not _meet(*sorted((mine, theirs))):
        return False
    return not (_kept_out(one.forbid, theirs) or _kept_out(other.forbid, mine))


def _kept_out(forbid: Sequence[str], pattern: str) -> bool:
    """Whether a `forbid` holds all that a pattern can hold, as far as its folder or its one path tells."""
    if not forbid:
        return False
    name, folder = literal(pattern), folder_prefix(pattern)
    if name is not None and Patterns(forbid).holds(name):
        return True
    return bool(folder) and holds_below(forbid, folder.rstrip(b"/"))
