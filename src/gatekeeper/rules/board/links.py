"""GK241 and GK242: what the links of open tasks lead to, and GK212: files that are no task.

Looking them up (`linking.py`) brings the defects up; each rule here gives out those of its code.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatekeeper.model import Severity
from gatekeeper.rules.base import Found, Rule
from gatekeeper.text import quoted, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gatekeeper.boards.board import Board


def stray_file(board: Board) -> Iterator[Found]:
    """Every file among the tasks is a task in the folder of a state.

    Why: a task in a folder that is no state is in no state, and nobody finds it.

    Fails: (a warning) `.agents/tasks/active/x.md`, or `notes.txt` beside the tasks.

    Mend: move it to the folder of its state, or out of the tasks. README.md and `.gitkeep` may stay.
    """
    for path in board.strays:
        yield Found(
            f"{quoted(shown(path))} is no task in the folder of a state",
            path=path,
            help="Move it to the folder of its state, or out of the tasks.",
        )


def link_missing(board: Board) -> Iterator[Found]:
    """Every relative link, and every code span that reads as a path, of an open task leads to something in the tree.

    Names count byte by byte. URLs, code blocks and comments are not looked at, nor is what is followed
    by `(create)` or `(new)` on its line.

    Why: an agent that is sent to a file which is not there makes one up.

    Fails: `[guide](/docs/none.md)`, or a code span `src/payments/none.py`, in a queued task.

    Mend: correct the path; mark what the task is to make with `(create)`.
    """
    yield from _defects(board, "GK241")


def anchor_missing(board: Board) -> Iterator[Found]:
    """The `#anchor` of a link is a heading of the Markdown file it leads to, or an `id` in it; `#L10` is a line of it.

    Why: a link to a section that is gone sends its reader to the wrong one.

    Fails: `[steps](/docs/guide.md#last-steps)`, and the guide has no such heading.

    Mend: name a heading that is there; the message lists them.
    """
    yield from _defects(board, "GK242")


def _defects(board: Board, code: str) -> Iterator[Found]:
    for path, defects in board.links.items():
        for defect in defects:
            if defect.code == code:
                yield Found(defect.message, path=path, line=defect.line, help=defect.help)


RULES: tuple[Rule[Board], ...] = (
    Rule("GK212", "stray-file", stray_file, Severity.WARNING, adjustable=True),
    Rule("GK241", "link-missing", link_missing),
    Rule("GK242", "anchor-missing", anchor_missing),
)
