"""What `lint --fix` mends: faults that have one right answer only. Bytes in, bytes out; never the authority.

A misspelt field that can be one field alone, a `created` that is not the id's day (an id never changes),
and a link whose path differs from the one that is there in the case of its letters. Whatever comes out
is read again and held against what went in: a mend that would change anything else is none.
"""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING

from gatekeeper import header, taskedit
from gatekeeper.taskfile import MOST, SWARM, FieldError, nearest_field
from gatekeeper.taskname import day_of, id_from_name
from gatekeeper.text import quoted

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from datetime import date

    from gatekeeper.linking import Case
    from gatekeeper.mdlinks import Reference

NEVER = "authority"
"""The field that no program changes."""


def with_fields(path: bytes, data: bytes, today: date) -> tuple[bytes, list[str]]:
    """A task file's bytes with what can be mended in its header mended, and a line for each mend."""
    said: list[str] = []
    with suppress(header.HeaderError):
        for old, new in _misspelt(header.read_document(data).header):
            with suppress(taskedit.EditError):
                data = taskedit.renamed(data, old, new)
                said.append(f"`{old}` is `{new}` now")
        day = _created(path, header.read_document(data).header, today)
        if day is not None:
            with suppress(taskedit.EditError):
                data = taskedit.edited(data, {"created": day})
                said.append(f"`created` is {day.isoformat()} now, the id's day")
    return data, said


def with_links(data: bytes, cases: Collection[Case]) -> tuple[bytes, list[str]]:
    """A Markdown file's bytes with paths spelt as the tree has them, and a line for each; all of them or none."""
    lines = data.split(b"\n")
    said = []
    mended: list[Case] = []
    # The longest first: a shorter one may be a part of it.
    for case, count in sorted(Counter(cases).items(), key=lambda found: -len(found[0].written)):
        at, written = case.line - 1, case.written.encode()
        if at < len(lines) and lines[at].count(written) == count:
            lines[at] = lines[at].replace(written, case.meant.encode())
            mended += [case] * count
            said.append((case.line, f"line {case.line}: {quoted(case.written)} is {quoted(case.meant)} now"))
    after = b"\n".join(lines)
    return (
        (after, [line for _, line in sorted(said)])
        if mended and _only_those(data, after, mended)
        else (data, [])
    )


def _misspelt(fields: header.Map) -> Iterator[tuple[str, str]]:
    """The unknown fields that can be one known field alone, which is not there yet, and whose values it can have."""
    known = {field.name: field for field in SWARM.fields}
    strange = [(key.value, value) for key, value in fields.items if key.value not in known]
    if len(strange) > MOST:
        return
    guesses = {old: (nearest_field(old, known), value) for old, value in strange}
    meant = Counter(new for new, _ in guesses.values())
    for old, (new, value) in guesses.items():
        if new is None or new == NEVER or meant[new] > 1 or fields.get(new) or header.is_null(value):
            continue
        try:
            known[new].read(value)
        except FieldError:
            continue
        yield old, new


def _created(path: bytes, fields: header.Map, today: date) -> date | None:
    """The day that `created` has to be, if it is another: the id's, where nothing else is wrong with that."""
    task, created = header.text_of(fields.get("id")), header.date_of(fields.get("created"))
    day = day_of(task or "")
    if created is None or day is None or task != id_from_name(path) or day > today:
        return None
    return day if created != day else None


def _only_those(before: bytes, after: bytes, cases: Collection[Case]) -> bool:
    """Whether nothing that a text points at changed but what was to change."""
    from gatekeeper.mdlinks import UnreadableError  # noqa: PLC0415 -- most mends are none of links

    try:
        was, now = _points(before), _points(after)
    except UnreadableError:
        return False
    changed = [(old, new) for old, new in zip(was, now, strict=False) if old != new]
    meant = {(case.line, case.written, case.meant) for case in cases}
    return (
        len(was) == len(now)
        and len(changed) == len(cases)
        and all(
            any(
                line == old.line and new == old._replace(target=old.target.replace(one, other))
                for line, one, other in meant
            )
            for old, new in changed
        )
    )


def _points(data: bytes) -> tuple[Reference, ...]:
    from gatekeeper.mdlinks import links  # noqa: PLC0415 -- as above

    return links(data.decode("utf-8", "surrogateescape"))
