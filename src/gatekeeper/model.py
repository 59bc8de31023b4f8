"""The frozen values that every room of the house shares.

Paths are bytes, as git keeps them: a path is never decoded before it is shown.
Object names are lower-case hex text (40 digits for SHA-1, 64 for SHA-256), and
`ABSENT` stands for "no object" on one side of a change.
"""

from collections.abc import Mapping
from datetime import date, datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Any, NamedTuple

ABSENT = ""
"""The object name of a side of a change that does not exist."""

FOLDER = 0o040000
SYMLINK = 0o120000
GITLINK = 0o160000
REGULAR = (0o100644, 0o100755)


NOTHING: Mapping[Any, Any] = MappingProxyType({})
"""The empty mapping that fields default to: nobody can put anything into it."""


class Severity(StrEnum):
    """How much a finding weighs. Only errors turn a verdict."""

    ERROR = "error"
    WARNING = "warning"
    NOTICE = "notice"

    @property
    def rank(self) -> int:
        """0 for errors, 1 for warnings, 2 for notices: the order of a report."""
        return ("error", "warning", "notice").index(self.value)


class State(StrEnum):
    """The states of a task on the `swarm` board; each is a folder. CONTRACT 2."""

    QUEUED = "queued"
    BLOCKED = "blocked"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


OPEN = (State.QUEUED, State.BLOCKED)
"""The states of a task that is still to be done."""


class Lane(StrEnum):
    """What kind of change a pull request is, decided from base's policy and the change set."""

    MAINTENANCE = "maintenance"
    HANDBACK = "handback"
    REVERT = "revert"
    PLANNING = "planning"
    IMPLEMENTATION = "implementation"


class Outcome(StrEnum):
    """`pass`: it may merge. `fail`: it may not. `error`: that could not be decided."""

    PASS = "pass"  # noqa: S105 -- a verdict, no password
    FAIL = "fail"
    ERROR = "error"


class Change(NamedTuple):
    """One path that differs between two trees; renames are two of these.

    Modes are git's (0 where that side has no entry), object names are full hex.
    """

    path: bytes
    old_mode: int
    new_mode: int
    old_oid: str
    new_oid: str

    @property
    def added(self) -> bool:
        """The path exists only on the new side."""
        return self.old_mode == 0

    @property
    def deleted(self) -> bool:
        """The path exists only on the old side."""
        return self.new_mode == 0

    @property
    def gitlink(self) -> bool:
        """Either side is a submodule's commit."""
        return GITLINK in (self.old_mode, self.new_mode)

    @property
    def new_regular(self) -> bool:
        """A regular file that was not there before."""
        return self.added and self.new_mode in REGULAR


class Authority(NamedTuple):
    """What a task may change: `:(top,glob)` patterns, and any other keys of the block.

    `other` holds keys beside `paths` and `forbid` in a canonical textual form, for comparison only.
    """

    paths: tuple[str, ...] = ()
    forbid: tuple[str, ...] = ()
    other: tuple[tuple[str, str], ...] = ()

    def means_same(self, them: "Authority") -> bool:
        """Lists as sets, absent as empty (CONTRACT 5, GK131)."""
        return (
            set(self.paths) == set(them.paths)
            and set(self.forbid) == set(them.forbid)
            and dict(self.other) == dict(them.other)
        )


class Defect(NamedTuple):
    """What is wrong with a file as read: a rule's code, one line of text, a line number from 1."""

    code: str
    message: str
    line: int | None = None
    help: str | None = None


class Task(NamedTuple):
    """One task file, as far as it can be read.

    `state` is the folder's, `status` the header's. `header` maps each field to a canonical
    text of its value (equal text, equal meaning), `lines` each field to its line from 1.
    `defects` are what reading it brought up (GK201 to GK205, GK213, GK221, GK222, GK251);
    a file with a GK201 or GK202 defect has an empty header and is not `readable`.
    """

    path: bytes
    state: str
    id: str
    title: str = ""
    status: str = ""
    classification: str = ""
    authority: Authority | None = None
    created: date | None = None
    review_by: date | None = None
    priority: int = 99
    assignee: str | None = None
    depends_on: tuple[str, ...] = ()
    locks: tuple[str, ...] = ()
    regenerated_from: str | None = None
    failure: str | None = None
    reason: str | None = None
    body: str = ""
    body_line: int = 1
    header: Mapping[str, str] = NOTHING
    lines: Mapping[str, int] = NOTHING
    defects: tuple[Defect, ...] = ()

    @property
    def readable(self) -> bool:
        """Its front matter is one strict mapping."""
        return not any(d.code in ("GK201", "GK202") for d in self.defects)

    def line(self, name: str) -> int | None:
        """The line of a header field, or of the header's start where it is absent."""
        return self.lines.get(name, 1)


class Claim(NamedTuple):
    """A claim's blob that could be read. Times are aware UTC datetimes. CONTRACT 3.

    `fields` is the blob's JSON object as read, unknown fields included. `ref` is where it
    was found, `oid` the blob, `standing` whether that is the claim ref itself rather than the log.
    """

    task: str
    agent: str
    branch: str
    base_commit: str
    claimed_at: datetime
    expires_at: datetime
    locks: tuple[str, ...]
    plan_revision: int | None
    ref: str
    oid: str
    standing: bool
    epoch: int | None = None
    nonce: str | None = None
    outcome: str | None = None
    local: bool = False
    signature: str | None = None
    fields: Mapping[str, object] = NOTHING


class Malformed(NamedTuple):
    """A claim ref or log entry whose blob can't be read as a claim, and why, in one line.

    `by_clock`: nothing is wrong with it but that it lies too far ahead of now. Another clock may read it, so it
    may be somebody's live claim, or a good log entry.
    """

    ref: str
    oid: str
    standing: bool
    why: str
    by_clock: bool = False


class Finding(NamedTuple):
    """One thing that a rule has to say. `path` is git's bytes, `line` counts from 1."""

    code: str
    name: str
    severity: Severity
    message: str
    path: bytes | None = None
    line: int | None = None
    help: str | None = None

    @property
    def order(self) -> tuple[int, str, bytes, int]:
        """By severity, code, path, line (CONTRACT 4)."""
        return (self.severity.rank, self.code, self.path or b"", self.line or 0)


class Tip(NamedTuple):
    """A ref as it was named, and the commit it stood at."""

    ref: str
    commit: str | None


class TaskRef(NamedTuple):
    """The task a verdict is about."""

    id: str
    path: bytes
    title: str


class ClaimView(NamedTuple):
    """The claim a verdict rests on, and its state: `live`, `expired` or `released`."""

    claim: Claim
    state: str


class Verdict(NamedTuple):
    """What the gate decided, and everything a report says of it. Findings come sorted."""

    outcome: Outcome
    findings: tuple[Finding, ...]
    lane: Lane = Lane.IMPLEMENTATION
    base: Tip | None = None
    head: Tip | None = None
    merged_tree: str | None = None
    task: TaskRef | None = None
    claim: ClaimView | None = None
    changed_paths: int = 0
    enforced: bool = True
    command: str = "check"
