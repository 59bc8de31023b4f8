"""GK252 to GK254: authorities that hold too much, nothing, or what another task's holds as well."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from typing import TYPE_CHECKING

from gatekeeper import boards
from gatekeeper.claims.admission import Base, Claimant, denied
from gatekeeper.model import Severity
from gatekeeper.rules.base import Found, Rule
from gatekeeper.rules.board.relations import OPEN
from gatekeeper.scope import Patterns, folder_prefix, holds_below, literal, meet, too_broad
from gatekeeper.text import listed, quoted

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from gatekeeper.boards.board import Board
    from gatekeeper.model import Authority, Task

_MOST_OTHERS = 5  # tasks that a finding names
_EFFORT = 200_000  # pairs of patterns that are compared on one board; who has more is told so


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
    known: dict[str, bool] = {}
    for task in board.tasks:
        if task.state not in OPEN or task.authority is None:
            continue
        for pattern in dict.fromkeys(task.authority.paths):
            if pattern not in known:
                known[pattern] = _holds_some(pattern, board.paths)
            if not known[pattern]:
                yield Found(
                    f"{quoted(pattern)} holds no file of the tree",
                    path=task.path,
                    line=task.line("authority"),
                    help="Correct it, unless it names what the task is to make.",
                )


def _holds_some(pattern: str, paths: Sequence[bytes]) -> bool:
    """Whether a pattern holds one of some paths, which are in order: only those that begin as it does are looked at."""
    name = literal(pattern)
    start = name if name is not None else folder_prefix(pattern)
    holds = Patterns([pattern]).holds
    for at in range(bisect_left(paths, start), len(paths)):
        if not paths[at].startswith(start):
            return False
        if holds(paths[at]):
            return True
    return False


def authority_overlap(board: Board) -> Iterator[Found]:
    """No two tasks that can be claimed now may change one same path, unless they have a lock in common.

    Why: two agents at work on one file lose each other's work, and a lock is what keeps them apart.

    Fails: (a warning) two queued tasks, both with `paths: [src/payments/**]`, and no lock.

    Mend: give both the same `locks:`, narrow one of them, or let one depend on the other.
    """
    tasks = [task for task in board.tasks if _claimable(board, task)]
    others, cut = _overlaps(tasks)
    for task in tasks:
        if met := others.get(task.id):
            shown = listed([quoted(name) for name in sorted(met)][:_MOST_OTHERS])
            yield Found(
                f"{quoted(task.id)} and {shown}{' and more' if len(met) > _MOST_OTHERS else ''} can be claimed at once, "
                "and may change one same path",
                path=task.path,
                line=task.line("authority"),
                help="Give them a lock in common, narrow one's authority, or let one depend on the other.",
            )
    if cut and tasks:
        yield Found(
            f"{len(tasks)} tasks can be claimed at once, and their authorities are too many to compare them all",
            path=tasks[-1].path,
            help="Begin patterns with the folder that they are about, or have fewer tasks claimable at once.",
        )


def _claimable(board: Board, task: Task) -> bool:
    """Whether somebody could claim a task now, whoever that is."""
    if task.state != "queued" or task.authority is None or not task.readable:
        return False
    states = {name: state for name in task.depends_on if (state := board.state_of(name)) is not None}
    defects = (*board.plan_defects, *board.manifest_defects)
    problem = defects[0].message if defects else None
    says = Base(
        "base", board.policy, boards.by_name(board.policy.layout), board.plan, board.manifest, problem, states
    )
    anyone = Claimant(task.assignee or "any", "branch")
    return denied(task.id, task, says, anyone, board.today, in_review=False) is None


def _overlaps(tasks: Sequence[Task]) -> tuple[Mapping[str, Collection[str]], bool]:
    """For each task some of those that it overlaps with; and whether there were too many to compare them all.

    Two patterns can hold one same path only if the folders that they spell out lie on one way from
    the root: each is compared with those on its own way up, and not with all.
    """
    known: dict[bytes, list[tuple[Task, str]]] = defaultdict(list)
    for task in tasks:
        for pattern in task.authority.paths if task.authority else ():
            known[_spelt(pattern)].append((task, pattern))
    found: dict[str, set[str]] = defaultdict(set)
    left = _EFFORT
    for task in tasks:
        for pattern in task.authority.paths if task.authority else ():
            for other, theirs in (pair for folder in _way_up(_spelt(pattern)) for pair in known[folder]):
                if (
                    other.id == task.id
                    or other.id in found[task.id]
                    or not set(task.locks).isdisjoint(other.locks)
                ):
                    continue
                if len(found[task.id]) > _MOST_OTHERS and len(found[other.id]) > _MOST_OTHERS:
                    continue
                left -= 1
                if left < 0:
                    return found, True
                if _meet(task.authority, pattern, other.authority, theirs):
                    found[task.id].add(other.id)
                    found[other.id].add(task.id)
    return found, False


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


def _meet(one: Authority | None, mine: str, other: Authority | None, theirs: str) -> bool:
    """Whether two patterns can hold one same path that neither task is forbidden."""
    if one is None or other is None or not meet(mine, theirs):
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


RULES: tuple[Rule[Board], ...] = (
    Rule("GK252", "authority-too-broad", authority_too_broad, Severity.WARNING, adjustable=True),
    Rule("GK253", "authority-matches-nothing", authority_matches_nothing, Severity.WARNING, adjustable=True),
    Rule("GK254", "authority-overlap", authority_overlap, Severity.WARNING, adjustable=True),
)
