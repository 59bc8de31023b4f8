"""A task file's bytes → the same file with a few header fields changed, and not one other byte.

YAML's own writers would lose comments, quotes and line ends, so the places of the values are taken
from the parser and replaced in the text. Whatever comes out is read again by the strict reader
and held against what went in: an edit that would change anything else is refused (`EditError`).
Source of the rules: CONTRACT 2, the table of fields; CONTRACT 3, "move the file and its header
together".
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import yaml

from gatekeeper import header
from gatekeeper.taskfile import is_one_line
from gatekeeper.text import quoted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import date

    from gatekeeper.model import State

Value: TypeAlias = "str | int | date"
"""What a field can be set to: one line of text, a whole number, a day."""

_BOM = "\ufeff"
_PLAIN = re.compile(r"\w(?:[\w ./()-]*[\w./()-])?")


class EditError(ValueError):
    """A value that no header can hold, or a header that can't be edited by a program; one line says why."""


def moved(data: bytes, state: State, *, failure: str | None = None, reason: str | None = None) -> bytes:
    """A task file as it stands in another state's folder: `status`, and why where that is given.

    Raises header.HeaderError where the front matter can't be read, EditError where it can't be edited.
    """
    why = {"failure": failure, "reason": reason}
    return edited(data, {"status": state.value} | {name: text for name, text in why.items() if text})


def edited(data: bytes, changes: Mapping[str, Value | None]) -> bytes:
    """A file with these header fields set; None takes a field out. New fields come right behind `status`.

    Raises header.HeaderError where the front matter can't be read, EditError where it can't be edited.
    """
    before = header.read_document(data)
    front, head, rest = parted(data)
    after = (front + _Head(head).changed(changes) + rest).encode()
    _hold(before, after, changes)
    return after


def renamed(data: bytes, old: str, new: str) -> bytes:
    """A file with one header field under another name, its value as it stood.

    Raises header.HeaderError where the front matter can't be read, EditError where it can't be edited.
    """
    before = header.read_document(data)
    front, head, rest = parted(data)
    found = _Head(head)
    span = found.spans.get(old)
    if span is None or new in found.spans or not head.startswith(old, span.key):
        raise _too_odd(f"`{old}` is not there as a plain word, or `{new}` is")
    after = (front + head[: span.key] + new + head[span.key + len(old) :] + rest).encode()
    value = before.header.get(old)
    now = header.read_document(after)
    kept = {key.value: header.canonical(node) for key, node in now.header.items if key.value != new}
    was = {key.value: header.canonical(node) for key, node in before.header.items if key.value != old}
    moved_value = now.header.get(new)
    same = value is not None and moved_value is not None
    if not same or kept != was or now.body != before.body:
        raise _too_odd(f"`{old}` can't become `{new}`")
    return after


def parted(data: bytes) -> tuple[str, str, str]:
    """A readable file as three texts: up to the header, the header, and all from the closing `---` on."""
    text = header.decode(data)
    head, _ = header.StrictHandler().split(text)
    start = text.index("\n") + 1
    mark = _BOM if data.startswith(_BOM.encode()) else ""
    return mark + text[:start], head, text[start + len(head) :]


def scalar(value: Value) -> str:
    """A value as YAML that reads as that very text, quoted where it has to be. Raises EditError."""
    if not isinstance(value, str):
        return str(value)
    if not is_one_line(value):
        raise EditError(f"{quoted(value)} is blank, or has several lines or control characters")
    single = "'" + value.replace("'", "''") + "'"
    for spelt in (value, single) if _PLAIN.fullmatch(value) else (single,):
        if _reads_as(spelt, value):
            return spelt
    raise EditError(f"{quoted(value)} holds a character that may not stand in a header")


def _reads_as(spelt: str, value: str) -> bool:
    try:
        node = header.read_mapping(f"x: {spelt}").get("x")
    except header.HeaderError:
        return False
    return node is not None and header.canonical(node) == header.canonical(header.Text(value, False, 1))


class _Span(NamedTuple):
    """Where a field stands in the header, counted in characters: its key, its value's start and end."""

    key: int
    start: int
    end: int


def _at(mark: Any) -> int:
    """A place in the parsed text, in characters; the parser gives every event one."""
    return int(mark.index)


class _Head:
    """A header's text, and where each of its fields stands."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.flow = False
        self.spans: dict[str, _Span] = dict(self._fields())

    def changed(self, changes: Mapping[str, Value | None]) -> str:
        """The text with fields set and taken out."""
        edits: list[tuple[int, int, str]] = []
        added = {}
        for name, value in changes.items():
            if name in self.spans:
                edits.append(self._taken_out(name) if value is None else self._replaced(name, scalar(value)))
            elif value is not None:
                added[name] = scalar(value)
        if added:
            edits.append(self._behind_status(added))
        text = self.text
        for start, end, new in sorted(edits, reverse=True):
            text = text[:start] + new + text[end:]
        return text

    def _fields(self) -> Iterator[tuple[str, _Span]]:
        """Every field of the mapping that the header is, in order."""
        depth = start = 0
        key: tuple[str, int] | None = None
        for event in yaml.parse(self.text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
            begins = isinstance(event, yaml.CollectionStartEvent)
            ends = isinstance(event, yaml.CollectionEndEvent)
            depth -= ends
            if depth == 0 and isinstance(event, yaml.MappingStartEvent):
                self.flow = bool(event.flow_style)
            elif depth == 1 and key is None and isinstance(event, yaml.ScalarEvent):
                key = (str(event.value), _at(event.start_mark))
            elif depth == 1 and key is not None:
                start = start if ends else _at(event.start_mark)
                if not begins:
                    yield key[0], _Span(key[1], start, _at(event.end_mark))
                    key = None
            depth += begins

    def _replaced(self, name: str, spelt: str) -> tuple[int, int, str]:
        span = self.spans[name]
        before, old = self.text[: span.start], self.text[span.start : span.end]
        gap = " " if before.endswith(":") else ""
        ending = "\r\n" if old.endswith("\r\n") else "\n" if old.endswith("\n") else ""
        return span.start, span.end, gap + spelt + ending

    def _behind_status(self, added: Mapping[str, str]) -> tuple[int, int, str]:
        span = self.spans.get("status")
        if span is None:
            raise EditError("it has no `status` field")
        if self.flow:
            return span.end, span.end, "".join(f", {name}: {spelt}" for name, spelt in added.items())
        at = self._line_end(span.end)
        newline = "\r\n" if self.text[:at].endswith("\r\n") else "\n"
        indent = " " * (span.key - (self.text.rfind("\n", 0, span.key) + 1))
        return at, at, "".join(f"{indent}{name}: {spelt}{newline}" for name, spelt in added.items())

    def _taken_out(self, name: str) -> tuple[int, int, str]:
        span = self.spans[name]
        if not self.flow:
            return self.text.rfind("\n", 0, span.key) + 1, self._line_end(span.end), ""
        later = [other.key for other in self.spans.values() if other.key > span.key]
        if later:
            return span.key, min(later), ""
        earlier = [other.end for other in self.spans.values() if other.key < span.key]
        return max(earlier, default=span.key), span.end, ""

    def _line_end(self, at: int) -> int:
        """Where the line ends that holds the character before `at`."""
        if self.text[:at].endswith("\n"):
            return at
        found = self.text.find("\n", at)
        return len(self.text) if found < 0 else found + 1


def _hold(before: header.Document, data: bytes, changes: Mapping[str, Value | None]) -> None:
    """Read the edited file again. Raises EditError unless exactly the named fields are as they were to be."""
    try:
        after = header.read_document(data)
    except header.HeaderError as why:
        raise _too_odd(why.defect.message) from None
    was = {key.value: header.canonical(node) for key, node in before.header.items}
    now = {key.value: header.canonical(node) for key, node in after.header.items}
    texts = {key.value: header.text_of(node) for key, node in after.header.items}
    for name, value in changes.items():
        if (name in now) != (value is not None) or (value is not None and texts[name] != str(value)):
            raise _too_odd(f"`{name}` would not read as {value}")
    lost = [
        name for name in was.keys() | now.keys() if name not in changes and was.get(name) != now.get(name)
    ]
    if lost:
        raise _too_odd(f"{quoted(min(lost))} would change with it")
    if before.body != after.body:
        raise _too_odd("the text below would change with it")


def _too_odd(why: str) -> EditError:
    return EditError(f"its front matter is written in a way that no program can edit: {why}")
