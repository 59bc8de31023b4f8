"""One task file, field by field: what is read, and one defect a fault, at its line."""

from __future__ import annotations

import time
from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gatekeeper.header import MAX_HEADER
from gatekeeper.model import Authority, Defect, Task
from gatekeeper.taskfile import FAILURES, MOST, Field, Form, one_line, parse_task, texts
from gatekeeper.taskname import id_from_name

TODAY = date(2026, 8, 20)
ID = "T-20260814-abcdef01"
CLASSIFICATIONS = ("feature", "bug-fix", "docs")
HEAD = f"""\
id: {ID}
title: Retry failed payments
status: queued
classification: feature
authority:
  paths:
    - src/payments/**
    - tests/payments/**
  forbid:
    - src/payments/legacy/**
"""
BODY = "# Retry failed payments\n\nText.\n"


def parse(head: str = HEAD, state: str = "queued", path: str = "", body: str = BODY) -> Task:
    data = f"---\n{head}---\n{body}".encode()
    where = path or f".agents/tasks/{state}/{ID}.md"
    return parse_task(where.encode(), data, state=state, classifications=CLASSIFICATIONS, today=TODAY)


def put(old: str, new: str, head: str = HEAD) -> str:
    assert head.count(old) == 1
    return head.replace(old, new)


def told(task: Task) -> list[tuple[str, int | None]]:
    return [(d.code, d.line) for d in task.defects]


def only(task: Task) -> Defect:
    assert len(task.defects) == 1, told(task)
    return task.defects[0]


# -- what holds ------------------------------------------------------------------------------------


def test_a_whole_task() -> None:
    more = """\
created: 2026-08-14
depends_on: [T-20260814-abcdef02, T-20260814-abcdef03]
locks: [schema, "api: v2", schema]
review_by: 2026-09-01
priority: -1
assignee: any
regenerated_from: T-20260814-abcdef06
failure: spec-gap
reason: because
"""
    task = parse(HEAD + more)
    assert task.defects == ()
    assert task.readable
    assert (task.id, task.title, task.status, task.state) == (ID, "Retry failed payments", "queued", "queued")
    assert task.classification == "feature"
    paths = ("src/payments/**", "tests/payments/**")
    assert task.authority == Authority(paths, ("src/payments/legacy/**",))
    assert (task.created, task.review_by) == (date(2026, 8, 14), date(2026, 9, 1))
    assert task.depends_on == ("T-20260814-abcdef02", "T-20260814-abcdef03")
    assert task.locks == ("schema", "api: v2")
    assert (task.priority, task.assignee, task.regenerated_from) == (-1, "any", "T-20260814-abcdef06")
    assert (task.failure, task.reason) == ("spec-gap", "because")
    assert (task.body, task.body_line) == (BODY, 22)
    assert task.lines["authority"] == 6
    assert set(task.header) == set(task.lines)


def test_what_is_absent_or_null_has_its_default() -> None:
    names = (
        "created",
        "depends_on",
        "locks",
        "review_by",
        "priority",
        "assignee",
        "regenerated_from",
        "failure",
        "reason",
    )
    for task in (parse(), parse(HEAD + "".join(f"{name}:\n" for name in names))):
        assert task.defects == ()
        assert (task.created, task.review_by, task.priority, task.assignee) == (None, None, 99, None)
        assert (task.depends_on, task.locks, task.regenerated_from) == ((), (), None)
        assert (task.failure, task.reason) == (None, None)


def test_an_id_that_looks_like_a_number_is_text() -> None:
    assert only(parse(put(f"id: {ID}", "id: 20261201_12"))).code == "GK221"
    assert "'20261201_12'" in only(parse(put(f"id: {ID}", "id: 20261201_12"))).message


@pytest.mark.parametrize(
    ("written", "title"),
    [
        ("on", "on"),
        ("12", "12"),
        ("a -> b", "a -> b"),
        ("it's", "it's"),
        ("'a: b'", "a: b"),
        ('"\\u2192 done"', "\u2192 done"),
        ("100% of me@work", "100% of me@work"),
        ("a\n  b", "a b"),
    ],
)
def test_titles_are_text_whatever_yaml_takes_them_for(written: str, title: str) -> None:
    task = parse(put("Retry failed payments", written))
    assert task.defects == ()
    assert task.title == title


def test_other_authority_keys_are_kept_for_comparison() -> None:
    block = "authority: {paths: [a], risk: low, reviewers: [x, y]}\n"
    one = parse(HEAD[: HEAD.index("authority")] + block)
    other = parse(
        HEAD[: HEAD.index("authority")]
        + "authority:\n  reviewers:\n  - 'x'\n  - y\n  paths: [a]\n  risk: low\n"
    )
    assert one.defects == other.defects == ()
    assert one.authority is not None
    assert other.authority is not None
    assert one.authority.means_same(other.authority)
    assert not one.authority.means_same(Authority(("a",)))


def test_the_header_map_tells_a_changed_value_from_another_style() -> None:
    flow = put(
        "  paths:\n    - src/payments/**\n    - tests/payments/**\n",
        "  paths: [src/payments/**, 'tests/payments/**']\n",
    )
    assert parse(flow).header == parse().header
    assert parse(put("title: Retry", "title: retry")).header != parse().header


# -- unreadable --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "GK201"),
        (b"# T\n", "GK201"),
        (b"---\nid: \xff\n---\n", "GK201"),
        (b"---\nid: a\nid: a\n---\n", "GK202"),
    ],
)
def test_an_unreadable_file_has_one_defect_and_its_names_id(data: bytes, code: str) -> None:
    task = parse_task(
        b"x/queued/T-20260814-000000aa-some.md", data, state="queued", classifications=(), today=TODAY
    )
    assert only(task).code == code
    assert not task.readable
    assert task.id == "T-20260814-000000aa"
    assert task.header == {}
    assert task.authority is None


@pytest.mark.parametrize(
    ("name", "id_"),
    [
        (b"T-20260814-abcdef01.md", "T-20260814-abcdef01"),
        (b"T-20260814-abcdef01-a-slug.md", "T-20260814-abcdef01"),
        (b"T-20260814-abcdef01.old.md", "T-20260814-abcdef01"),
        (b"T-20260814-abcdef01", "T-20260814-abcdef01"),
        (b"a/b/T-20260814-abcdef01.md", "T-20260814-abcdef01"),
        (b"T-20260814-abcdef012.md", "T-20260814-abcdef012"),
        (b"T-20260814-ABCDEF01.md", "T-20260814-ABCDEF01"),
        (b"notes.md", "notes"),
        (b"\xff\n.md", "\\xff\n"),
        (b".md", ""),
    ],
)
def test_the_id_that_a_name_gives(name: bytes, id_: str) -> None:
    assert id_from_name(name) == id_


# -- required fields, kinds ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["id", "title", "status", "classification"])
def test_a_missing_field(name: str) -> None:
    line = next(line for line in HEAD.splitlines(keepends=True) if line.startswith(f"{name}:"))
    task = parse(put(line, ""))
    assert only(task).code == "GK203"
    assert f"`{name}`" in only(task).message
    assert f"`{name}: " in (only(task).help or "")
    assert task.id == ID


def test_a_missing_authority() -> None:
    task = parse(HEAD[: HEAD.index("authority")])
    assert only(task).code == "GK203"
    assert task.authority is None


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("title: Retry failed payments", "title:", 3),
        ("title: Retry failed payments", "title: ''", 3),
        ("title: Retry failed payments", "title: '  '", 3),
        ("title: Retry failed payments", 'title: "a\\nb"', 3),
        ("title: Retry failed payments", 'title: "a\\eb"', 3),
        ("title: Retry failed payments", 'title: "a\\Lb"', 3),
        ("title: Retry failed payments", "title: [a]", 3),
        ("title: Retry failed payments", "title: {a: b}", 3),
        ("title: Retry failed payments", "title: |\n  a\n  b", 3),
        (f"id: {ID}", "id:", 2),
        (f"id: {ID}", "id: [a]", 2),
        (f"id: {ID}", 'id: "a\\nb"', 2),
        ("status: queued", "status: active", 4),
        ("status: queued", "status: Queued", 4),
        ("status: queued", "status:", 4),
        ("status: queued", "status: [queued]", 4),
        ("classification: feature", "classification:", 5),
        ("classification: feature", "classification: [feature]", 5),
    ],
)
def test_a_required_field_of_the_wrong_kind_is_one_defect(old: str, new: str, line: int) -> None:
    found = only(parse(put(old, new)))
    assert (found.code, found.line) == ("GK204", line)
    assert found.help


@pytest.mark.parametrize(
    ("block", "line"),
    [
        ("authority:\n", 6),
        ("authority: src/**\n", 6),
        ("authority: [src/**]\n", 6),
        ("authority: {}\n", 6),
        ("authority:\n  paths: []\n", 7),
        ("authority:\n  paths:\n", 7),
        ("authority:\n  paths: src/**\n", 7),
        ("authority:\n  paths: [a, [b]]\n", 7),
        ("authority:\n  paths:\n  - a\n  - ~\n", 9),
        ("authority:\n  forbid: [a]\n", 7),
        ("authority:\n  paths: [a]\n  forbid: b\n", 8),
        ("authority:\n  paths: [a]\n  forbid: {b: c}\n", 8),
        ("authority:\n  paths: [a]\n  forbid: [~]\n", 8),
    ],
)
def test_an_authority_that_is_none_authorises_nothing(block: str, line: int) -> None:
    task = parse(HEAD[: HEAD.index("authority")] + block)
    assert (only(task).code, only(task).line) == ("GK204", line)
    assert task.authority is None


@pytest.mark.parametrize(
    "field",
    [
        "created: 2026-08-32",
        "created: 2026-08-14T00:00:00Z",
        "created: yesterday",
        "review_by: 2026-13-01",
        "review_by: 1.9.2026",
        "review_by: [2026-09-01]",
        "depends_on: T-20260814-abcdef02",
        "depends_on: [[T-20260814-abcdef02]]",
        "depends_on: {a: b}",
        "depends_on: ['']",
        "depends_on: [~]",
        "locks: schema",
        "locks: ['']",
        "locks: [a, ~]",
        "locks: {schema: 1}",
        "priority: high",
        "priority: 1.5",
        "priority: '1'",
        "priority: [1]",
        "assignee: ''",
        "assignee: [me]",
        "regenerated_from: [T-20260814-abcdef06]",
        "regenerated_from: ''",
        "failure: unlucky",
        "failure: [spec-gap]",
        "reason: [a]",
        'reason: "a\\nb"',
        "reason: ''",
    ],
)
def test_an_optional_field_of_the_wrong_kind(field: str) -> None:
    found = only(parse(HEAD + field + "\n"))
    assert (found.code, found.line) == ("GK204", 12)
    assert f"`{field.split(':', maxsplit=1)[0]}`" in found.message
    assert found.help


def test_an_item_is_told_at_its_own_line() -> None:
    assert only(parse(HEAD + "locks:\n  - a\n  - ''\n")).line == 14


def test_a_value_is_quoted_escaped_and_cut() -> None:
    message = only(parse(HEAD + 'failure: "a\\nb\\e[31m' + "x" * 500 + '"\n')).message
    assert "a\\nb\\x1b[31m" in message
    assert message.isprintable()
    assert len(message) < 300


def test_an_unknown_field_is_told_with_what_was_meant() -> None:
    found = only(parse(HEAD + "lock: [schema]\n"))
    assert (found.code, found.line) == ("GK205", 12)
    assert "`locks`" in found.message
    assert "`depends_on`" in only(parse(HEAD + "depends-on: []\n")).message
    assert "meant" not in only(parse(HEAD + "xyzzy: 1\n")).message


def test_many_unknown_fields_are_counted() -> None:
    task = parse(HEAD + "".join(f"x{i}: 1\n" for i in range(500)))
    assert {d.code for d in task.defects} == {"GK205"}
    assert len(task.defects) == MOST + 1
    assert str(500 - MOST) in task.defects[-1].message


# -- folder, classification, id ---------------------------------------------------------------------------


def test_the_status_is_the_folder() -> None:
    found = only(parse(put("status: queued", "status: done")))
    assert (found.code, found.line) == ("GK211", 4)
    assert only(parse(state="done")).code == "GK211"


def test_a_classification_outside_the_closed_set() -> None:
    found = only(parse(put("classification: feature", "classification: features")))
    assert (found.code, found.line) == ("GK213", 5)
    assert "`feature`" in (found.help or "")


@pytest.mark.parametrize(
    "id_",
    [
        "T-20260814-ABCDEF01",
        "T-20260814-abcdef0",
        "T-20260814-abcdef012",
        "t-20260814-abcdef01",
        "T-2026814-abcdef01",
        "TASK-001",
        "T-20260814-abcdefg1",
        "T-\u0662\u0660260814-abcdef01",
        "../x",
        "T-20260814-abcdef01.lock",
    ],
)
def test_an_id_of_another_form_is_one_defect(id_: str) -> None:
    task = parse(put(f"id: {ID}", f"id: {id_}"))
    assert (only(task).code, only(task).line) == ("GK221", 2)
    assert task.id == id_


def test_an_id_that_is_a_book_is_not_used() -> None:
    task = parse(put(f"id: {ID}", "id: " + "x" * 60_000))
    assert only(task).code == "GK221"
    assert task.id == ID


@pytest.mark.parametrize(
    ("day", "ok"),
    [
        ("20260820", True),
        ("20240229", True),
        ("20260821", False),
        ("20260230", False),
        ("20261301", False),
        ("00000101", False),
        ("99990101", False),
    ],
)
def test_the_day_of_an_id(day: str, ok: bool) -> None:
    id_ = f"T-{day}-abcdef01"
    task = parse(put(ID, id_), path=f"x/queued/{id_}.md")
    assert told(task) == ([] if ok else [("GK222", 2)])


def test_created_is_the_day_of_the_id() -> None:
    found = only(parse(HEAD + "created: 2026-08-15\n"))
    assert (found.code, found.line) == ("GK222", 12)
    assert parse(HEAD + "created: '2026-08-14'\n").defects == ()


@pytest.mark.parametrize(
    ("name", "ok"),
    [
        (f"{ID}.md", True),
        (f"{ID}-retry.md", True),
        (f"{ID}-\u00e4.md", True),
        (f"{ID}-.md", False),
        (f"{ID}x.md", False),
        (f"{ID}.x.md", False),
        ("T-20260814-abcdef02.md", False),
        (f"x{ID}.md", False),
        (f"{ID.lower()}.md", False),
        ("README.md", False),
    ],
)
def test_the_files_name_is_the_id_and_perhaps_a_slug(name: str, ok: bool) -> None:
    task = parse(path=f".agents/tasks/queued/{name}")
    assert told(task) == ([] if ok else [("GK223", 2)])


def test_a_name_of_bytes_that_are_no_text() -> None:
    data = f"---\n{HEAD}---\n".encode()
    for name, codes in ((ID.encode() + b"-\xff.md", []), (b"\xff\n.md", ["GK223"])):
        task = parse_task(name, data, state="queued", classifications=CLASSIFICATIONS, today=TODAY)
        assert [d.code for d in task.defects] == codes
        assert all(d.message.isprintable() for d in task.defects)


# -- patterns, endings -----------------------------------------------------------------------------------


def test_each_invalid_pattern_is_told_at_its_line() -> None:
    block = "authority:\n  paths:\n    - /docs/\n    - ok\n    - '!docs'\n  forbid: [docs/../src, '']\n"
    task = parse(HEAD[: HEAD.index("authority")] + block)
    assert told(task) == [("GK251", 8), ("GK251", 10), ("GK251", 11), ("GK251", 11)]
    assert "'/docs/'" in task.defects[0].message
    assert task.authority == Authority(("/docs/", "ok", "!docs"), ("docs/../src", ""))


def test_many_invalid_patterns_are_counted() -> None:
    block = "authority:\n  paths:\n" + "    - /x\n" * 3000
    task = parse(HEAD[: HEAD.index("authority")] + block)
    assert len(task.defects) == MOST + 1
    assert str(3000 - MOST) in task.defects[-1].message


@pytest.mark.parametrize("key", ["forbids", "forbidden", "path", "Paths"])
def test_a_misspelt_wall_is_told(key: str) -> None:
    block = f"authority:\n  paths: [a]\n  {key}: [b]\n"
    assert told(parse(HEAD[: HEAD.index("authority")] + block)) == [("GK205", 8)]


@pytest.mark.parametrize("kind", FAILURES)
def test_a_failed_task_says_of_what_kind(kind: str) -> None:
    head = put("status: queued", "status: failed")
    assert parse(f"{head}failure: {kind}\n", state="failed").defects == ()
    assert only(parse(head, state="failed")).code == "GK263"
    assert only(parse(head + "failure: ~\n", state="failed")).code == "GK263"
    assert only(parse(head + "failure: other\n", state="failed")).code == "GK204"


@pytest.mark.parametrize("state", ["blocked", "cancelled"])
def test_a_blocked_or_cancelled_task_says_why(state: str) -> None:
    head = put("status: queued", f"status: {state}")
    assert parse(head + "reason: the bank answers in September\n", state=state).defects == ()
    for reason in ("", "reason:\n", "reason: ''\n", 'reason: "a\\nb"\n'):
        assert only(parse(head + reason, state=state)).code == "GK264"
    assert only(parse(head + "reason: [a]\n", state=state)).code == "GK204"


# -- other layouts, any input --------------------------------------------------------------------------------


def test_another_layouts_form_fills_the_same_task() -> None:
    form = Form(
        fields=(
            Field("id", "id", one_line, "an id", "id: TASK-001", required=True),
            Field("blocked-by", "depends_on", texts, "a list of ids", "blocked-by: []"),
        ),
        checks=(),
    )
    data = b"---\nid: TASK-001\nblocked-by: [TASK-002]\n---\n"
    task = parse_task(b"x.md", data, state="inbox", classifications=(), today=TODAY, form=form)
    assert (task.id, task.depends_on, task.defects) == ("TASK-001", ("TASK-002",), ())


VALUES = [
    "",
    "~",
    "a",
    "[a]",
    "{a: b}",
    "'a\n\n  b'",
    "2026-08-14",
    "1",
    "[~]",
    "['', a]",
    "queued",
    "{paths: [a]}",
    '"\\e"',
]


@settings(max_examples=200, deadline=None)
@given(
    st.dictionaries(
        st.sampled_from(
            [line.split(":")[0] for line in HEAD.splitlines() if line[0] != " "]
            + ["locks", "reason", "priority", "failure", "created", "x y"]
        ),
        st.sampled_from(VALUES),
    ),
    st.sampled_from(["queued", "blocked", "done", "failed", "cancelled"]),
)
def test_any_header_is_read_with_one_fault_told_once(fields: dict[str, str], state: str) -> None:
    task = parse("".join(f"{name}: {value}\n" for name, value in fields.items()) or "{}\n", state=state)
    spots = [(d.code, d.line, d.message) for d in task.defects]
    assert len(set(spots)) == len(spots)
    assert all(d.message.isprintable() and d.help and d.line for d in task.defects)
    for name, line in task.lines.items():
        about = [d.code for d in task.defects if d.line == line]
        assert about.count("GK204") <= 1, (name, task.defects)


@pytest.mark.parametrize(
    "head",
    [
        "".join(f"x{i}x{i}: 1\n" for i in range(4_000)),
        HEAD + "locks: [" + "a," * 30_000 + "]\n",
        HEAD + "locks:\n" + "".join(f"- a{i}\n" for i in range(7_000)),
        "authority: {paths: [" + "/a," * 20_000 + "]}\n",
    ],
)
def test_large_headers_are_read_in_time(head: str) -> None:
    assert len(head) < MAX_HEADER
    start = time.process_time()
    parse(head)
    assert time.process_time() - start < 2
