"""A task file's bytes → a Task with the line of every field, and what is wrong with its header.

The fields are a table (`Form`), so that another layout reads other names into the same Task.
Each fault is one defect: what a value breaks is not told a second time by what depends on it.
Source of the rules: CONTRACT 2, the table of fields; the codes are CONTRACT 5's.
"""

from __future__ import annotations

import re
from datetime import date
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from gatekeeper import header, scope
from gatekeeper.header import List, Map, Node, Text, described
from gatekeeper.model import Authority, Defect, State, Task
from gatekeeper.taskname import id_from_name
from gatekeeper.text import quoted, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

FAILURES = (
    "implementation-mistake",
    "broken-verification",
    "spec-gap",
    "invalid-premise",
    "plan-level-wrong",
)
"""Why a task failed: a closed set."""

MOST = 20
"""How many faults of one kind a file is told of one by one; the rest are counted."""

_ID = re.compile(r"T-([0-9]{4})([0-9]{2})([0-9]{2})-[0-9a-f]{8}")
_LINE_END = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029]")
_LONGEST_ID = 200
_ALIKE = 0.7  # of two words' letters, for the one to be taken for the other misspelt


class FieldError(ValueError):
    """A value that is not of its field's kind: `what` goes on from the field's name, `line` is where."""

    def __init__(self, what: str, line: int | None = None) -> None:
        super().__init__(what)
        self.what = what
        self.line = line


Reader: TypeAlias = "Callable[[Node], Any]"


class Field(NamedTuple):
    """One header field: its name, the Task attribute it fills, how it is read, and what it has to be.

    `read` is called with a value that is not null, and raises FieldError. `example` is a line of YAML.
    """

    name: str
    attribute: str
    read: Reader
    wanted: str
    example: str
    required: bool = False


class Reading(NamedTuple):
    """A header as read: the Task so far, what it may be held against, and the fields that are spoilt."""

    task: Task
    header: Map
    classifications: Collection[str]
    today: date
    spoilt: frozenset[str]


class Form(NamedTuple):
    """A layout's header: its fields, and the checks of one file beyond each field's own kind."""

    fields: tuple[Field, ...]
    checks: tuple[Callable[[Reading], Iterable[Defect]], ...]


def parse_task(
    path: bytes,
    data: bytes,
    *,
    state: str,
    classifications: Collection[str],
    today: date,
    form: Form | None = None,
) -> Task:
    """The task that a file's bytes hold, whatever they are; its `defects` say what is wrong.

    `state` is the folder's. `form` is the layout's header, the `swarm` board's unless given.
    """
    form = form or SWARM
    named = id_from_name(path)
    try:
        document = header.read_document(data)
    except header.HeaderError as err:
        return Task(path=path, state=state, id=named, defects=(err.defect,))
    fields = document.header
    values, defects, spoilt = _read_fields(fields, form.fields)
    task = Task(
        path=path,
        state=state,
        body=document.body,
        body_line=document.body_line,
        header={key.value: header.canonical(value) for key, value in fields.items},
        lines={key.value: key.line for key, _ in fields.items},
        **({"id": named} | values),
    )
    reading = Reading(task, fields, classifications, today, spoilt)
    for check in form.checks:
        defects += check(reading)
    if len(task.id) > _LONGEST_ID:
        task = task._replace(id=named)
    return task._replace(defects=tuple(defects))


def _read_fields(fields: Map, form: tuple[Field, ...]) -> tuple[dict[str, Any], list[Defect], frozenset[str]]:
    values: dict[str, Any] = {}
    defects: list[Defect] = []
    spoilt: set[str] = set()
    for spec in form:
        node = fields.get(spec.name)
        if node is None or header.is_null(node):
            if spec.required:
                spoilt.add(spec.name)
                defects.append(_absent(spec, fields, node))
            continue
        try:
            values[spec.attribute] = spec.read(node)
        except FieldError as err:
            spoilt.add(spec.name)
            line = err.line or fields.line_of(spec.name)
            message = f"`{spec.name}` {err.what}, and has to be {spec.wanted}"
            defects.append(Defect("GK204", message, line, f"For example: `{spec.example}`."))
    defects += _unknown(fields, [spec.name for spec in form])
    return values, defects, frozenset(spoilt)


def _absent(spec: Field, fields: Map, node: Node | None) -> Defect:
    help_ = f"For example: `{spec.example}`."
    if node is None:
        return Defect("GK203", f"the field `{spec.name}` is missing; it has to be {spec.wanted}", 1, help_)
    message = f"`{spec.name}` is empty, and has to be {spec.wanted}"
    return Defect("GK204", message, fields.line_of(spec.name), help_)


def _unknown(fields: Map, known: Collection[str]) -> Iterator[Defect]:
    strange = [key for key, _ in fields.items if key.value not in known]
    for key in strange[:MOST]:
        near = nearest_field(key.value, known)
        guess = f"; `{near}` is meant?" if near else ""
        help_ = f"Rename it to `{near}`." if near else f"The fields are {', '.join(known)}."
        yield Defect("GK205", f"no task has a field {quoted(key.value)}{guess}", key.line, help_)
    if len(strange) > MOST:
        message = f"{len(strange) - MOST} more fields are unknown"
        yield Defect("GK205", message, strange[MOST].line, f"The fields are {', '.join(known)}.")


def nearest_field(word: str, known: Collection[str]) -> str | None:
    """The known word that a misspelt one is most like; None where none is like enough."""
    asked = word[:40].casefold().replace("-", "_")
    alike = [name for name in known if _may_be(asked, name)]
    if not alike:
        return None
    import difflib  # noqa: PLC0415 -- only where something is misspelt

    found = difflib.get_close_matches(asked, alike, n=1, cutoff=_ALIKE)
    return found[0] if found else None


def _may_be(word: str, name: str) -> bool:
    """Whether two words share so many letters that they can be alike enough, in whatever order."""
    shared = sum(min(word.count(letter), name.count(letter)) for letter in set(word))
    return 2 * shared >= _ALIKE * (len(word) + len(name))


# -- kinds of value ------------------------------------------------------------------------------


def any_text(node: Node) -> str:
    """A scalar's text."""
    value = header.text_of(node)
    if value is None:
        raise FieldError(described(node), node.line)
    return value


def one_line(node: Node) -> str:
    """A scalar's text, which is one line that is not blank."""
    value = any_text(node)
    if not is_one_line(value):
        raise FieldError(
            "is blank" if not value.strip() else "has several lines or control characters", node.line
        )
    return value


def is_one_line(value: str) -> bool:
    """Whether a text is one line with something on it."""
    return bool(value.strip()) and _LINE_END.search(value) is None


def one_of(*words: str) -> Reader:
    """A reader of one word of a closed set."""

    def read(node: Node) -> str:
        value = any_text(node)
        if value not in words:
            raise FieldError(described(node), node.line)
        return value

    return read


def day(node: Node) -> date:
    """A day that exists, written YYYY-MM-DD."""
    found = header.date_of(node)
    if found is None:
        raise FieldError(described(node), node.line)
    return found


def whole(node: Node) -> int:
    """A whole number."""
    found = header.whole_of(node)
    if found is None:
        raise FieldError(described(node), node.line)
    return found


def texts(node: Node) -> tuple[str, ...]:
    """A list of texts that are not empty, each once, in their order."""
    if not isinstance(node, List):
        raise FieldError(described(node), node.line)
    for item in node.items:
        if not header.text_of(item):
            raise FieldError(f"holds an item that {described(item)}", item.line)
    return tuple(dict.fromkeys(any_text(item) for item in node.items))


def authority(node: Node) -> Authority:
    """An authority block; its patterns may still be invalid (GK251)."""
    if not isinstance(node, Map):
        raise FieldError(described(node), node.line)
    paths, forbid = _patterns(node, "paths"), _patterns(node, "forbid")
    if not paths:
        raise FieldError("names no paths", node.line_of("paths"))
    other = [
        (key.value, header.canonical(v)) for key, v in node.items if key.value not in ("paths", "forbid")
    ]
    return Authority(paths, forbid, tuple(other))


def _patterns(block: Map, name: str) -> tuple[str, ...]:
    node = block.get(name)
    found = header.texts_of(node)
    if found is None:
        bad = [i for i in node.items if header.text_of(i) is None] if isinstance(node, List) else []
        line = bad[0].line if bad else block.line_of(name)
        raise FieldError(f"has `{name}` that are no list of texts", line)
    return found


# -- checks of one swarm task --------------------------------------------------------------------


def lifecycle(reading: Reading) -> Iterator[Defect]:
    """GK211: the header's status is the folder."""
    task = reading.task
    if task.status and task.status != task.state:
        message = f"`status` is {quoted(task.status)}, and the file stands in {task.state}/"
        help_ = f"Write `status: {task.state}`, or move the file to {task.status}/."
        yield Defect("GK211", message, task.line("status"), help_)


def classification(reading: Reading) -> Iterator[Defect]:
    """GK213: one of the policy's classifications."""
    task, known = reading.task, reading.classifications
    if task.classification and task.classification not in known:
        near = nearest_field(task.classification, known)
        message = f"the classification {quoted(task.classification)} is not one of {', '.join(sorted(known))}"
        help_ = (
            f"Write `{near}`."
            if near
            else "Choose one of them, or let the policy's `classifications` name it."
        )
        yield Defect("GK213", message, task.line("classification"), help_)


def identity(reading: Reading) -> Iterator[Defect]:
    """GK221, GK222, GK223: the id's form, its day, and the file's name; the first that fits, but for days."""
    if "id" in reading.spoilt:
        return
    task = reading.task
    line = task.line("id")
    found = _ID.fullmatch(task.id)
    if found is None:
        message = f"the id {quoted(task.id)} is not {_ID_SHAPE}"
        yield Defect("GK221", message, line, "Ids look like T-20260814-0a1b2c3d; `gatekeeper new` makes one.")
        return
    yield from _days(reading, _day(*map(int, found.groups())))
    name = task.path.rpartition(b"/")[2]
    stem, bare = name.removesuffix(b".md"), task.id.encode()
    slug = stem.startswith(bare + b"-") and len(stem) > len(bare) + 1
    if not name.endswith(b".md") or not (stem == bare or slug):
        seen = quoted(shown(name))
        message = f"the file's name {seen} is not that of the id {quoted(task.id)}"
        yield Defect("GK223", message, line, f"Name the file {task.id}.md or {task.id}-some-words.md.")


def _day(year: int, month: int, day_: int) -> date | None:
    try:
        return date(year, month, day_)
    except ValueError:
        return None


def _days(reading: Reading, made: date | None) -> Iterator[Defect]:
    task = reading.task
    if made is None:
        message = f"the id {quoted(task.id)} names a day that does not exist"
        yield Defect("GK222", message, task.line("id"), "Give the task the day on which it was written.")
    elif made > reading.today:
        message = f"the id {quoted(task.id)} names a day after today, {reading.today}"
        yield Defect("GK222", message, task.line("id"), "Give the task the day on which it was written.")
    elif task.created is not None and task.created != made:
        message = f"`created` is {task.created}, and the id says {made}"
        yield Defect("GK222", message, task.line("created"), f"Write `created: {made}`, or leave it out.")


def patterns(reading: Reading) -> Iterator[Defect]:
    """GK251: each authority pattern can be matched."""
    block = reading.header.get("authority")
    if not isinstance(block, Map) or "authority" in reading.spoilt:
        return
    wrong = [(item, why) for item in _pattern_items(block) if (why := scope.invalid(item.value)) is not None]
    for item, why in wrong[:MOST]:
        message = f"the authority pattern {quoted(item.value)} {why}"
        yield Defect(
            "GK251", message, item.line, "Write it from the repository's root, as in src/payments/**."
        )
    if len(wrong) > MOST:
        yield Defect(
            "GK251", f"{len(wrong) - MOST} more authority patterns can't be used", wrong[MOST][0].line
        )
    for key, _ in block.items[:MOST]:
        near = None if key.value in ("paths", "forbid") else nearest_field(key.value, ("paths", "forbid"))
        if near:
            message = f"the authority's key {quoted(key.value)} limits nothing; `{near}` is meant?"
            yield Defect("GK205", message, key.line, f"Rename it to `{near}`.")


def _pattern_items(block: Map) -> Iterator[Text]:
    for name in ("paths", "forbid"):
        node = block.get(name)
        items = node.items if isinstance(node, List) else ()
        yield from (item for item in items if isinstance(item, Text))


def ending(reading: Reading) -> Iterator[Defect]:
    """GK263, GK264: a failed task says of what kind, a blocked or cancelled one says why."""
    task = reading.task
    if task.state == State.FAILED and task.failure is None and "failure" not in reading.spoilt:
        message = "the task failed, and no `failure` says how"
        yield Defect(
            "GK263", message, task.line("failure"), f"Write `failure: …`, one of {', '.join(FAILURES)}."
        )
    if "reason" in reading.spoilt:
        return
    if task.state in (State.BLOCKED, State.CANCELLED):
        if task.reason is None or not is_one_line(task.reason):
            message = f"the task is {task.state}, and no `reason` says why in one line"
            yield Defect("GK264", message, task.line("reason"), "Write `reason: …` on one line.")
    elif task.reason is not None and not is_one_line(task.reason):
        message = "`reason` is blank or has several lines, and has to be one line"
        yield Defect("GK204", message, task.line("reason"), "Write `reason: …` on one line, or leave it out.")


_DAY = "a day that exists, written YYYY-MM-DD"
_BLOCK = "a mapping with `paths`, a list of at least one pattern, and perhaps `forbid`, a list of patterns"
_FAILURE = f"one of {', '.join(FAILURES)}"
_ID_SHAPE = "T-YYYYMMDD- and eight lower-case hex digits"

SWARM = Form(
    fields=(
        Field("id", "id", one_line, _ID_SHAPE, "id: T-20260814-0a1b2c3d", required=True),
        Field(
            "status", "status", one_of(*State), f"one of {', '.join(State)}", "status: queued", required=True
        ),
        Field("title", "title", one_line, "one line of text", "title: Retry failed payments", required=True),
        Field(
            "classification",
            "classification",
            one_line,
            "one of the policy's classifications",
            "classification: feature",
            required=True,
        ),
        Field(
            "authority",
            "authority",
            authority,
            _BLOCK,
            "authority: {paths: [src/payments/**]}",
            required=True,
        ),
        Field("created", "created", day, _DAY, "created: 2026-08-14"),
        Field("depends_on", "depends_on", texts, "a list of task ids", "depends_on: [T-20260814-0a1b2c3d]"),
        Field("locks", "locks", texts, "a list of lock keys, none of them empty", "locks: [schema]"),
        Field("review_by", "review_by", day, _DAY, "review_by: 2026-09-14"),
        Field("priority", "priority", whole, "a whole number, without quotes", "priority: 10"),
        Field("assignee", "assignee", one_line, "an agent's name, or `any`", "assignee: any"),
        Field(
            "regenerated_from",
            "regenerated_from",
            one_line,
            "the id of a failed task",
            "regenerated_from: T-20260814-0a1b2c3d",
        ),
        Field("failure", "failure", one_of(*FAILURES), _FAILURE, "failure: spec-gap"),
        Field("reason", "reason", any_text, "one line of text", "reason: the bank answers in September"),
    ),
    checks=(lifecycle, classification, identity, patterns, ending),
)
"""The header of the `swarm` board's tasks. CONTRACT 2."""
