"""GK261, GK262 and GK267: tasks that waited too long, that may go, and that do not say what they want."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gatekeeper.model import OPEN, Severity
from gatekeeper.rules.base import Found, Rule
from gatekeeper.text import quoted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gatekeeper.boards.board import Board

WORD = "accept"
"""What a heading has to hold that says when a task is done (CONTRACT 5, GK267)."""

# A heading with nothing in it but text, and what before it could hide it: HTML, or a fence that is not closed.
_HEADING = re.compile(rf"^#{{1,6}} [^\n<&\\[\]]*{WORD}[^\n<&\\[\]]*$", re.MULTILINE | re.IGNORECASE)
_FENCED = re.compile(r"^(```|~~~)[ \w+-]*\n(?:(?!.*(?:```|~~~)).*\n)*\1 *\n", re.MULTILINE)
_HIDING = re.compile(r"<|```|~~~|&|\\")


def review_overdue(board: Board) -> Iterator[Found]:
    """No open task is past the day by which it was to be reviewed.

    Why: it can't be claimed any more, and nobody is told.

    Fails: (a warning) `review_by: 2026-08-19`, a day later.

    Mend: look whether the task still stands; set a later day, or cancel it.
    """
    for task in board.tasks:
        if task.state in OPEN and task.review_by is not None and board.today > task.review_by:
            yield Found(
                f"{quoted(task.id)} was to be reviewed by {task.review_by.isoformat()}, and can't be claimed since",
                path=task.path,
                line=task.line("review_by"),
                help="Look whether it still stands: set a later day, or gatekeeper cancel ID --reason.",
            )


def retention_passed(board: Board) -> Iterator[Found]:
    """Tasks that ended longer ago than the policy retains them are pruned.

    The time counts from the commit that moved the file there.

    Why: a board that keeps everything hides what is open.

    Fails: (a warning) a task has been in done/ for 31 days, and `retention_days` is 30.

    Mend: `gatekeeper prune`; history keeps the files.
    """
    keep = board.policy.retention_days
    for path, day in sorted(board.ended.items()):
        age = (board.today - day).days
        if age > keep:
            yield Found(
                f"it ended {age} days ago, and the policy keeps such tasks for {keep}",
                path=path,
                help="Remove those that are due: gatekeeper prune.",
            )


def ask_unclear(board: Board) -> Iterator[Found]:
    """A queued task has a text, with a heading that says when the work is accepted.

    Why: whoever can't tell when a task is done calls it done early.

    Fails: (a warning) an empty body, or one without a heading that has "accept" in it.

    Mend: add `## Acceptance`, and under it what has to hold.
    """
    for task in board.tasks:
        if task.state == "queued" and task.readable and (why := _unclear(task.body)):
            yield Found(
                f"{quoted(task.id)} {why}",
                path=task.path,
                line=task.body_line,
                help="Add a heading `## Acceptance`, and under it what has to hold once it is done.",
            )


def _unclear(body: str) -> str | None:
    """What a body lacks; None where it says what it wants."""
    found = _HEADING.search(body)
    if found and not _HIDING.search(_FENCED.sub("", body[: found.start()])):
        return None
    from gatekeeper.markdown import UnreadableError, has_heading_with, says_nothing  # noqa: PLC0415 -- takes a parser

    try:
        if has_heading_with(body, WORD):
            return None
        return "has no text" if says_nothing(body) else 'has no heading with "accept" in it'
    except UnreadableError as why:
        return f"has a text that can't be read: {why}"


RULES: tuple[Rule[Board], ...] = (
    Rule("GK261", "review-overdue", review_overdue, Severity.WARNING, adjustable=True),
    Rule("GK262", "retention-passed", retention_passed, Severity.WARNING, adjustable=True),
    Rule("GK267", "ask-unclear", ask_unclear, Severity.WARNING, adjustable=True),
)
