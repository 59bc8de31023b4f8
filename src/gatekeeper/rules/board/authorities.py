"""GK252 to GK254: authorities that hold too much, nothing, or what another task's holds as well."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from typing import TYPE_CHECKING

from gatekeeper import boards
from gatekeeper.claims.admission import Base, Claimant, denied
from gatekeeper.globs import read
from gatekeeper.meeting import ENOUGH, Overlaps
from gatekeeper.model import OPEN, Severity
from gatekeeper.rules.base import Found, Rule
from gatekeeper.scope import Patterns, folder_prefix, too_broad
from gatekeeper.text import listed, quoted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from gatekeeper.boards.board import Board
    from gatekeeper.model import Task
    from gatekeeper.plan import Milestone

_MOST_OTHERS = ENOUGH - 1  # tasks that a finding names
_EFFORT = 700_000  # paths that are held against patterns on one board, at most
_READING = 15  # as many take as long as it takes to read one letter of a pattern


def authority_too_broad(board: Board) -> Iterator[Found]:
    """No authority pattern holds everything.

    Why: an authority is the wall between tasks, and `**` is none.

    Fails: (a warning) `paths: ['**']`, or `*/**`.

    Mend: name the folders that the task is about.
    """
    for task in board.tasks:
        for pattern in task.authority.paths if task.authority else ():
            if too_broad(pattern):
                yield Found(
                    f"{quoted(pattern)} holds everything",
                    path=task.path,
                    line=task.line("authority"),
                    help="Name the folders that the task is about.",
                )


def authority_matches_nothing(board: Board) -> Iterator[Found]:
    """Every authority pattern of an open task holds some file of the tree.

    Why: a misspelt pattern lets the work fail at its end; one for files that are to be made is all right.

    Fails: (a warning) `paths: ['manuals/**']`, and there is no such folder.

    Mend: correct the pattern, or leave it: it may name what the task is to make.
    """
    if board.paths is None:
        return
    files = _Files(board.paths)
    tasks = [task for task in board.tasks if task.state in OPEN and task.authority is not None]
    for task in tasks:
        for pattern in dict.fromkeys(task.authority.paths if task.authority else ()):
            if files.holds_none(pattern):
                yield Found(
                    f"{quoted(pattern)} holds no file of the tree",
                    path=task.path,
                    line=task.line("authority"),
                    help="Correct it, unless it names what the task is to make.",
                )
    if files.unasked:
        yield Found(
            f"the patterns are too many to look for them all: {files.unasked} were not",
            path=tasks[-1].path,
            help="Begin patterns with the folder that they are about.",
        )


class _Files:
    """The paths of a tree, in order. `unasked` counts the patterns for which there was no time."""

    def __init__(self, paths: Sequence[bytes]) -> None:
        self._paths = paths
        self._known: dict[str, bool] = {}
        self._left = _EFFORT
        self.unasked = 0

    def holds_none(self, pattern: str) -> bool:
        """Whether a pattern holds none of them for sure."""
        if pattern not in self._known:
            plain = read(pattern).plain
            self._known[pattern] = self._found(pattern) if plain is None else self._there(*plain)
        return not self._known[pattern]

    def _there(self, name: bytes | None, start: bytes) -> bool:
        """Whether a path is there, or one that begins so."""
        return self._next(start).startswith(start) or (name is not None and self._next(name) == name)

    def _next(self, start: bytes) -> bytes:
        """The first path from a text on; the empty one, which begins with no text, behind the last."""
        at = bisect_left(self._paths, start)
        return self._paths[at] if at < len(self._paths) else b""

    def _found(self, pattern: str) -> bool:
        """Whether a pattern with wildcards holds one; only those that begin as it does are looked at."""
        start = folder_prefix(pattern)
        self._left -= _READING * len(pattern)
        holds = Patterns([pattern]).holds if self._left > 0 else None
        for at in range(bisect_left(self._paths, start), len(self._paths)):
            self._left -= 1
            if self._left < 0 or holds is None:
                self.unasked += 1
                return True
            if not self._paths[at].startswith(start):
                return False
            if holds(self._paths[at]):
                return True
        return False


def authority_overlap(board: Board) -> Iterator[Found]:
    """No two tasks that can be claimed now may change one same path, unless they have a lock in common.

    Why: two agents at work on one file lose each other's work, and a lock is what keeps them apart.

    Fails: (a warning) two queued tasks, both with `paths: [src/payments/**]`, and no lock.

    Mend: give both the same `locks:`, narrow one of them, or let one depend on the other.
    """
    milestones = _milestones(board)
    tasks = [task for task in board.tasks if _claimable(board, task, milestones)]
    overlaps = Overlaps(tasks)
    for task in tasks:
        if met := overlaps.of(task):
            shown = listed([quoted(name) for name in sorted(met)[:_MOST_OTHERS]])
            yield Found(
                f"{quoted(task.id)} and {shown}{' and more' if len(met) > _MOST_OTHERS else ''} can be claimed at once, "
                "and may change one same path",
                path=task.path,
                line=task.line("authority"),
                help="Give them a lock in common, narrow one's authority, or let one depend on the other.",
            )
    if overlaps.cut:
        yield Found(
            f"{len(tasks)} tasks can be claimed at once, and their authorities are too many to compare them all",
            path=tasks[-1].path,
            help="Begin patterns with the folder that they are about, or have fewer tasks claimable at once.",
        )


def _milestones(board: Board) -> Mapping[str, Sequence[Milestone]]:
    """The milestones of each task, cut down to that one task: each task asks for its own alone."""
    found: dict[str, list[Milestone]] = defaultdict(list)
    for milestone in board.manifest.milestones if board.manifest else ():
        for name in dict.fromkeys(milestone.tasks):
            found[name].append(milestone._replace(tasks=(name,)))
        last = milestone.integration_task
        if last is not None and last not in milestone.tasks:
            found[last].append(milestone._replace(tasks=()))
    return found


def _claimable(board: Board, task: Task, milestones: Mapping[str, Sequence[Milestone]]) -> bool:
    """Whether somebody could claim a task now, whoever that is."""
    if task.state != "queued" or task.authority is None or not task.readable:
        return False
    states = {name: state for name in task.depends_on if (state := board.state_of(name)) is not None}
    defects = (*board.plan_defects, *board.manifest_defects)
    problem = defects[0].message if defects else None
    manifest = board.manifest and board.manifest._replace(milestones=tuple(milestones.get(task.id, ())))
    layout = boards.by_name(board.policy.layout)
    says = Base("base", board.policy, layout, board.plan, manifest, problem, states)
    anyone = Claimant(task.assignee or "any", "branch")
    return denied(task.id, task, says, anyone, board.today, in_review=False) is None


RULES: tuple[Rule[Board], ...] = (
    Rule("GK252", "authority-too-broad", authority_too_broad, Severity.WARNING, adjustable=True),
    Rule("GK253", "authority-matches-nothing", authority_matches_nothing, Severity.WARNING, adjustable=True),
    Rule("GK254", "authority-overlap", authority_overlap, Severity.WARNING, adjustable=True),
)
