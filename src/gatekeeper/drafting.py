"""New task files: written from a title and an authority, or begun again from a task that failed.

Source of the rules: CONTRACT 2, the table of fields, and CONTRACT 3, `new` and `regenerate`.
"""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, NamedTuple

from gatekeeper import header, taskedit
from gatekeeper.asktext import lines, unticked
from gatekeeper.taskedit import EditError, scalar

if TYPE_CHECKING:
    from datetime import date

    from gatekeeper.taskedit import Value

ENTROPY = 4
"""Random bytes in a task's id: eight hex digits."""

_SLUG = 48
_BODY = """# {title}

## Context

<!-- What there is today, and why it has to change. -->

## Acceptance criteria

- [ ] Say what must hold when this is done; one box for each

## Evidence

<!-- The output that shows it: paste it between fences. -->
"""
_ATX = re.compile(r" {0,3}#")
_UNDERLINE = re.compile(r" {0,3}(?:=+|-+)[ \t]*")
_COMMENT = re.compile(r"[ \t]*<!--(?:(?!-->).)*-->[ \t]*")


class Draft(NamedTuple):
    """What a new task's header says; what is empty or None is left out."""

    id: str
    title: str
    classification: str
    created: date
    paths: tuple[str, ...]
    forbid: tuple[str, ...] = ()
    locks: tuple[str, ...] = ()
    depends_on: tuple[str, ...] = ()
    priority: int | None = None
    review_by: date | None = None
    assignee: str | None = None


def task_id(day: date, entropy: bytes) -> str:
    """A task's id: its day, and `ENTROPY` random bytes."""
    return f"T-{day:%Y%m%d}-{entropy.hex()}"


def slug(title: str) -> str:
    """A title's words for a file's name: `-retry-failed-payments`, or nothing where it has no ASCII letters."""
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().casefold()
    words = "-".join(re.findall(r"[a-z0-9]+", plain))
    if len(words) > _SLUG:
        words = words[: _SLUG + 1].rpartition("-")[0] or words[:_SLUG]
    return f"-{words}" if words else ""


def composed(draft: Draft) -> bytes:
    """A queued task's file. Raises EditError where a value is not one line that a header can hold."""
    fields: list[tuple[str, Value | None]] = [
        ("id", draft.id),
        ("title", draft.title),
        ("status", "queued"),
        ("classification", draft.classification),
        ("created", draft.created),
        ("priority", draft.priority),
        ("assignee", draft.assignee),
        ("review_by", draft.review_by),
    ]
    head = [f"{name}: {scalar(value)}" for name, value in fields if value is not None]
    head += [*_list("depends_on", draft.depends_on), *_list("locks", draft.locks), "authority:"]
    head += [f"  {line}" for line in (*_list("paths", draft.paths), *_list("forbid", draft.forbid))]
    body = _BODY.replace("{title}", _heading(draft.title))
    return "\n".join(["---", *head, "---", body]).encode()


def _list(name: str, values: tuple[str, ...]) -> list[str]:
    return [f"{name}:", *(f"  - {scalar(value)}" for value in values)] if values else []


def _heading(title: str) -> str:
    """A title as a heading's text: no tag or comment begins in it, and marks at its end stay."""
    text = " " + title.strip().replace("<", "\\<")
    return re.sub(r"(?<=\s)#(?=#*$)", r"\\#", text)[1:]


def begun_again(data: bytes, task: str, day: date, failed: str) -> bytes:
    """A failed task's file as a new queued task: a fresh id, no failure, no ticks, no evidence; all else as it is.

    Raises header.HeaderError, and EditError where header or body can't be edited.
    """
    names = {key.value for key, _ in header.read_document(data).header.items}
    changes: dict[str, Value | None] = {"id": task, "status": "queued", "regenerated_from": failed}
    changes |= {"created": day} if "created" in names else {}
    front, head, rest = taskedit.parted(taskedit.edited(data, changes | {"failure": None, "reason": None}))
    fence, newline, body = rest.partition("\n")
    return (front + head + fence + newline + _blank(body)).encode()


def _blank(body: str) -> str:
    """A body without ticks, and with nothing but a leading comment under `Evidence`; its line ends are kept."""
    crlf = "\r\n" in body and body.count("\r\n") == body.count("\n")
    rows = _without_evidence(unticked(lines(body)))
    return rows.replace("\n", "\r\n") if crlf else rows


def _without_evidence(body: str) -> str:
    """A body with LF line ends whose sections `Evidence` are emptied, up to the next heading of their rank."""
    from gatekeeper import markdown  # noqa: PLC0415 -- the parser takes longer to import than all else here

    try:
        found = markdown.headings(body)
    except markdown.UnreadableError as why:
        raise EditError(f"its text can't be read as Markdown: {why}") from None
    rows = body.split("\n")
    for place, heading in reversed(list(enumerate(found))):
        if heading.text.strip(": ").casefold() != "evidence" or not _ours(rows, heading.line):
            continue
        below = [other.line for other in found[place + 1 :] if other.level <= heading.level]
        end = below[0] - 1 if below else len(rows)
        start = heading.line + (0 if _ATX.match(rows[heading.line - 1]) else 1)
        rows[start:end] = _emptied(rows[start:end])
    return "\n".join(rows)


def _ours(rows: list[str], line: int) -> bool:
    """Whether a heading stands at the margin: one in a quote or a list is part of what is asked."""
    if _ATX.match(rows[line - 1]):
        return True
    return line < len(rows) and _UNDERLINE.fullmatch(rows[line]) is not None


def _emptied(section: list[str]) -> list[str]:
    """What is left of a section: its comment of one line where it begins with one, and a blank line around."""
    first = next((row for row in section if row.strip()), "")
    kept = ["", first] if _COMMENT.fullmatch(first) else []
    return [*kept, ""]
