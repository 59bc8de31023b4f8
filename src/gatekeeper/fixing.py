"""What `lint --fix` mends: faults that have one right answer only. Bytes in, bytes out; never the authority.

A misspelt field that can be one field alone, a `created` that is not the id's day (an id never changes),
and a link whose path differs from the one that is there in the case of its letters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatekeeper import header, taskedit
from gatekeeper.taskfile import SWARM, nearest_field
from gatekeeper.taskname import day_of
from gatekeeper.text import quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gatekeeper.linking import Case
    from gatekeeper.model import Task

NEVER = "authority"
"""The field that no program changes."""


def fixed(task: Task, data: bytes, cases: Iterable[Case] = ()) -> tuple[bytes, list[str]]:
    """A task file's bytes with what can be mended mended, and a line for each mend."""
    said: list[str] = []
    if task.readable:
        for old, new in _misspelt(task):
            try:
                data = taskedit.renamed(data, old, new)
            except (header.HeaderError, taskedit.EditError):
                continue
            said.append(f"`{old}` is `{new}` now")
        day = day_of(task.id)
        if task.created is not None and day is not None and task.created != day:
            try:
                data = taskedit.edited(data, {"created": day})
            except (header.HeaderError, taskedit.EditError):
                pass
            else:
                said.append(f"`created` is {day.isoformat()} now, the id's day")
    for case in cases:
        after = _respelt(data, case)
        if after != data:
            said.append(f"line {case.line}: {quoted(case.written)} is {quoted(case.meant)} now")
        data = after
    return data, said


def _misspelt(task: Task) -> Iterator[tuple[str, str]]:
    """The unknown fields that can be one known field alone, which is not there yet."""
    known = [field.name for field in SWARM.fields]
    missing = [name for name in known if name not in task.header and name != NEVER]
    guesses = {name: nearest_field(name, known) for name in task.header if name not in known}
    for old, new in guesses.items():
        if new in missing and list(guesses.values()).count(new) == 1:
            yield old, new


def _respelt(data: bytes, case: Case) -> bytes:
    """The one place on a line where a path stands in the wrong case, spelt as the tree has it."""
    lines = data.splitlines(keepends=True)
    written, meant = case.written.encode(), case.meant.encode()
    at = case.line - 1
    if 0 <= at < len(lines) and lines[at].count(written) == 1:
        lines[at] = lines[at].replace(written, meant)
    return b"".join(lines)
