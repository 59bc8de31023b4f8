"""Editing a header changes the fields that are meant, and no other byte; or it says that it can't."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gatekeeper import drafting, header, markdown
from gatekeeper.drafting import Draft
from gatekeeper.model import State
from gatekeeper.taskedit import EditError, edited, moved, scalar
from gatekeeper.taskfile import FAILURES, parse_task

if TYPE_CHECKING:
    from gatekeeper.model import Task

ID = "T-20260301-0000000a"
TODAY = date(2026, 3, 10)
CLASSES = ("feature", "docs")
PLAIN = b"""---
# who reads this?
id: T-20260301-0000000a
title: 'Refund: "all" of it'   # quoted
status: queued   # for now
classification: feature
authority:
  paths:
    - src/orders/**
  # not the ledger
  forbid: [src/orders/ledger/**]
---
# Refund

status: not a header's line
---
"""


def read(data: bytes, state: str, path: bytes = b".agents/tasks/x/" + ID.encode() + b".md") -> Task:
    return parse_task(path, data, state=state, classifications=CLASSES, today=TODAY)


def fields(data: bytes) -> dict[str, str]:
    return {key.value: header.canonical(node) for key, node in header.read_document(data).header.items}


def test_done_rewrites_the_status_and_nothing_else() -> None:
    assert moved(PLAIN, State.DONE) == PLAIN.replace(b"status: queued ", b"status: done ", 1)


def test_why_comes_right_behind_the_status_line() -> None:
    blocked = moved(PLAIN, State.BLOCKED, reason="waits: for #12")
    assert blocked == PLAIN.replace(
        b"status: queued   # for now\n", b"status: blocked   # for now\nreason: 'waits: for #12'\n", 1
    )
    assert read(blocked, "blocked").reason == "waits: for #12"
    assert not read(blocked, "blocked").defects
    failed = moved(PLAIN, State.FAILED, failure="spec-gap")
    assert b"status: failed   # for now\nfailure: spec-gap\nclassification" in failed
    assert not read(failed, "failed").defects


@pytest.mark.parametrize(
    ("line", "then"),
    [
        (b"reason: the bank", b"reason: new"),
        (b"reason: 'the bank'  # why", b"reason: new  # why"),
        (b"reason:", b"reason: new"),
        (b"reason: # none", b"reason: new # none"),
        (b"reason: ~", b"reason: new"),
        (b'"reason" : "the\\tbank"', b'"reason" : new'),
        (b"reason: the\n  bank\n  answers", b"reason: new"),
        (b"reason: >-\n  the bank\n  answers", b"reason: new"),
        (b"? reason\n: the bank", b"? reason\n: new"),
        (b"reason: [a, b]", b"reason: new"),
    ],
)
def test_a_reason_that_is_there_is_replaced_where_it_stands(line: bytes, then: bytes) -> None:
    at = b"classification: feature\n"
    before = PLAIN.replace(at, at + line + b"\n")
    after = edited(before, {"reason": "new"})
    assert after == before.replace(line, then)


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_a_byte_order_mark_and_windows_line_ends_stay(mark: bytes) -> None:
    before = mark + PLAIN.replace(b"\n", b"\r\n")
    after = moved(before, State.BLOCKED, reason="Grüße 😀")
    assert after == before.replace(
        b"status: queued   # for now\r\n",
        "status: blocked   # for now\r\nreason: 'Grüße 😀'\r\n".encode(),
        1,
    )


def test_characters_of_every_width_before_the_status_move_nothing() -> None:
    before = PLAIN.replace(b"# who", "# 😀 é \u202e who".encode()).replace(b'"all"', "😀é".encode())
    assert moved(before, State.DONE) == before.replace(b"status: queued ", b"status: done ", 1)


def test_a_header_in_one_pair_of_braces() -> None:
    before = b'---\n{id: a, "status": queued, title: "x: y", failure: spec-gap}\n---\n'
    assert moved(before, State.BLOCKED, reason="a, b") == before.replace(
        b"queued,", b"blocked, reason: 'a, b',"
    )
    assert edited(before, {"failure": None, "id": None}) == b'---\n{"status": queued, title: "x: y"}\n---\n'


def test_an_indented_header_stays_indented() -> None:
    before = b"---\n  id: a\n  status: queued\n  title: b\n---\n"
    assert moved(before, State.CANCELLED, reason="gone") == (
        b"---\n  id: a\n  status: cancelled\n  reason: gone\n  title: b\n---\n"
    )


def test_a_field_is_taken_out_with_its_line() -> None:
    before = PLAIN.replace(b"classification", b"failure: >-\n  spec-gap\n# of the class\nclassification")
    assert edited(before, {"failure": None, "reason": None}) == PLAIN.replace(
        b"classification", b"# of the class\nclassification"
    )


@pytest.mark.parametrize(
    "head", [b"id: a", b"id: a\nother: {status: queued}", b"status: {a: b}\nid: a\n", b"status:\n- a\nid: b"]
)
def test_what_can_not_be_edited_is_refused(head: bytes) -> None:
    data = b"---\n" + head + b"\n---\nstatus: queued\n"
    try:
        after = edited(data, {"status": "done", "reason": "x"})
    except EditError:
        return
    assert fields(after) == fields(data) | {"status": '["str","done"]', "reason": '["str","x"]'}


@pytest.mark.parametrize("data", [b"", b"no header", b"---\nstatus: queued\n", b"---\na: *b\n---\n", b"\xff"])
def test_what_can_not_be_read_is_not_edited(data: bytes) -> None:
    with pytest.raises(header.HeaderError):
        moved(data, State.DONE)


@pytest.mark.parametrize(
    "text", ["", " ", "a\nb", "a\x1b[2J", "a\u2028b", "\ufeffx", "a\x00", "\ud800", "\uffff", "a\x85b"]
)
def test_what_is_no_line_is_no_value(text: str) -> None:
    with pytest.raises(EditError):
        scalar(text)


@pytest.mark.parametrize(
    "text",
    [
        "yes",
        "12",
        "1.5",
        "~",
        "null",
        "2026-03-01",
        "0x1f",
        "1:30",
        "*a",
        "a: b",
        "- a",
        "it's",
        "a #b",
        "---",
        "{",
        "%x",
    ],
)
def test_what_yaml_would_take_for_something_else_is_quoted(text: str) -> None:
    assert scalar(text).startswith("'")


WORDS = st.text(
    st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Zl", "Zp")), min_size=1, max_size=30
)
LINES = WORDS.filter(lambda text: text.strip() and not set(text) & {"\ufeff", "\ufffe", "\uffff"})
OTHERS = [
    "title: 'a: b'",
    "title: plain words  # and a comment",
    "classification: feature",
    "locks: [a, 'b']",
    "locks:\n  - a\n  # between\n  - b",
    "note: |\n  status: queued\n\n  more",
    "note: >-\n  folded\n  status",
    "deep: {status: queued, reason: [x, {failure: y}]}",
    "? odd\n: key",
    "# a comment of 😀",
    "",
]


@st.composite
def files(draw: st.DrawFn) -> bytes:
    picked = draw(st.lists(st.sampled_from(OTHERS), max_size=6, unique_by=lambda text: text[:5]))
    own = [draw(st.sampled_from(["status: queued", '"status": "queued"  # s', "status:   'blocked'"]))]
    own += draw(st.sampled_from([[], ["failure: spec-gap"], ["reason:"], ["reason: 'x'", "failure: ~ # f"]]))
    lines = draw(st.permutations([*picked, *own]))
    text = "---\n" + "\n".join(lines) + "\n---\n" + draw(st.sampled_from(["", "status: x\n---\n", "text"]))
    newline = draw(st.sampled_from(["\n", "\r\n"]))
    return (draw(st.sampled_from(["", "\ufeff"])) + text.replace("\n", newline)).encode()


@settings(max_examples=300, deadline=None)
@given(files(), st.sampled_from(State), st.none() | st.sampled_from(FAILURES), st.none() | LINES)
def test_exactly_the_meant_fields_differ(
    data: bytes, state: State, failure: str | None, reason: str | None
) -> None:
    after = moved(data, state, failure=failure, reason=reason)
    meant = {"status": state.value, "failure": failure, "reason": reason}
    texts = {name: f'["str",{header.json.dumps(text)}]' for name, text in meant.items() if text}
    assert fields(after) == fields(data) | texts
    assert header.read_document(after).body == header.read_document(data).body
    mine = (b"status:", b'"status":', b"failure:", b"reason:")

    def rest(text: bytes) -> list[bytes]:
        return [line for line in text.splitlines(keepends=True) if not line.startswith(mine)]

    assert rest(after) == rest(data), "every other line is there, byte for byte"
    assert moved(after, state, failure=failure, reason=reason) == after


@settings(max_examples=200, deadline=None)
@given(LINES, st.lists(LINES, min_size=1, max_size=3, unique=True), st.lists(LINES, max_size=3, unique=True))
def test_what_is_composed_reads_as_it_was_meant(title: str, paths: list[str], locks: list[str]) -> None:
    draft = Draft(ID, title.strip(), "docs", date(2026, 3, 1), tuple(paths), locks=tuple(locks), priority=3)
    task = read(drafting.composed(draft), "queued")
    assert task.authority is not None
    assert {defect.code for defect in task.defects} <= {"GK251"}, "hostile words may be no patterns"
    assert (task.title, task.authority.paths, task.locks) == (title.strip(), tuple(paths), tuple(locks))
    assert (task.id, task.priority, task.created) == (ID, 3, date(2026, 3, 1))
    names = [heading.text for heading in markdown.headings(task.body)]
    assert names[-3:] == ["Context", "Acceptance criteria", "Evidence"]


def test_a_composed_task_has_a_box_to_tick_and_no_evidence() -> None:
    body = read(drafting.composed(Draft(ID, "C #", "docs", date(2026, 3, 1), ("a",))), "queued").body
    assert "- [ ] " in body
    assert markdown.headings(body)[0].text == "C #"
    assert not markdown.evidence(body, "")


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("Retry failed: Zahlungen für 3", "-retry-failed-zahlungen-fur-3"),
        ("支払い", ""),
        ("../../x", "-x"),
        ("a" * 90, "-" + "a" * 48),
        ("ab " * 30, "-" + "ab-" * 15 + "ab"),
    ],
)
def test_a_slug_is_short_and_plain(title: str, name: str) -> None:
    assert drafting.slug(title) == name


FAILED = b"""---
id: T-20260301-0000000a
title: Refund   # keep
status: failed
failure: invalid-premise
reason: it was
classification: feature
created: 2026-03-01
priority: 7
locks: [ledger]
authority: {paths: [src/**], forbid: [src/x], note: [1, "1"]}
---
# Refund

- [x] ticked
- [ ] not

## Evidence
<!-- the tests' output -->
```
# 12 passed
```
### more
[log](x)

## Notes
stay

> ## Evidence
> quoted
"""


@pytest.mark.parametrize("newline", [b"\n", b"\r\n"])
def test_a_failed_task_is_begun_again_without_ticks_and_evidence(newline: bytes) -> None:
    old = FAILED.replace(b"\n", newline)
    data = drafting.begun_again(old, "T-20260310-00000001", TODAY, ID)
    assert (
        data.replace(newline, b"\n")
        == b"""---
id: T-20260310-00000001
title: Refund   # keep
status: queued
regenerated_from: T-20260301-0000000a
classification: feature
created: 2026-03-10
priority: 7
locks: [ledger]
authority: {paths: [src/**], forbid: [src/x], note: [1, "1"]}
---
# Refund

- [ ] ticked
- [ ] not

## Evidence

<!-- the tests' output -->

## Notes
stay

> ## Evidence
> quoted
"""
    )
    assert data.count(newline) == data.count(b"\n")
    task, was = read(data, "queued", b"T-20260310-00000001.md"), read(old, "failed")
    assert not task.defects
    kept = ("title", "classification", "authority", "priority", "locks")
    assert all(getattr(task, name) == getattr(was, name) for name in kept)


def test_begun_again_without_a_day_or_a_heading_of_evidence() -> None:
    old = PLAIN.replace(b"status: queued", b"status: failed\nfailure: invalid-premise")
    data = drafting.begun_again(old, "T-20260310-00000001", TODAY, ID)
    was, now = fields(old), fields(data)
    assert now.keys() - was.keys() == {"regenerated_from"}
    assert was.keys() - now.keys() == {"failure"}
    assert header.read_document(data).body == header.read_document(old).body


def test_an_underlined_heading_of_evidence_is_emptied_too() -> None:
    old = FAILED.replace(b"## Evidence\n<!--", b"Evidence\n--------\n<!--", 1)
    body = header.read_document(drafting.begun_again(old, "T-20260310-00000001", TODAY, ID)).body
    assert "Evidence\n--------\n\n<!-- the tests' output -->\n\n## Notes" in body


def test_text_that_no_parser_takes_is_not_begun_again() -> None:
    with pytest.raises(EditError):
        drafting.begun_again(FAILED + b"> " * 40_000, "T-20260310-00000001", TODAY, ID)
