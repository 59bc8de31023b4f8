"""The id that a task file's name says, without reading the file."""

from __future__ import annotations

import re
from datetime import date

from gatekeeper.text import shown

_NAMED = re.compile(rb"T-[0-9]{8}-[0-9a-f]{8}(?=[-.]|$)")


def id_from_name(name: bytes) -> str:
    """The id that a file's name (or path) begins with, else the name without `.md`.

    Bytes that are no UTF-8 come as escapes, so that the id can be shown.
    """
    stem = name.rpartition(b"/")[2].removesuffix(b".md")
    found = _NAMED.match(stem)
    return shown(found.group() if found else stem)


def day_of(task: str) -> date | None:
    """The day on which a task was made, as its id says; None where it says none."""
    if _NAMED.fullmatch(task.encode("utf-8", "replace")) is None:
        return None
    try:
        return date(int(task[2:6]), int(task[6:8]), int(task[8:10]))
    except ValueError:
        return None
