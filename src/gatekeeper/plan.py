"""The plan, the manifest and the proposals of a board: bytes → frozen values, or what is wrong.

Each parser gives either a value or at least one defect, never both: half a manifest would answer
"no milestone lists this task" where the truth is "that can't be read". Unknown keys are let be:
teams keep notes there. Source of the rules: CONTRACT 2; the codes are GK301 and GK311.
"""

from collections.abc import Collection, Iterator
from typing import NamedTuple

from gatekeeper import header
from gatekeeper.header import List, Map
from gatekeeper.model import Defect
from gatekeeper.text import quoted, shown

PLAN_STATUSES = ("draft", "approved")
MILESTONE_STATUSES = ("planned", "active", "integrating", "done")
SEVERITIES = ("local", "ordering", "scope", "endgoal")
PROPOSAL_STATUSES = ("open", "folded", "rejected")

MOST = 20
"""How many defects of one file are told."""


class Plan(NamedTuple):
    """The plan's front matter: `draft` or `approved`, and its revision, from 0."""

    status: str
    revision: int


class Milestone(NamedTuple):
    """One milestone: its tasks' ids in their order, the task that integrates it, its line from 1."""

    id: str
    status: str
    tasks: tuple[str, ...]
    integration_task: str | None
    line: int


class Manifest(NamedTuple):
    """Which tasks belong to which milestone, as of a revision of the plan. `line` is the revision's."""

    plan_revision: int
    milestones: tuple[Milestone, ...]
    line: int = 1


class Proposal(NamedTuple):
    """A proposed change of the plan, and the revision it was written against. `line` is the revision's."""

    base_plan_revision: int
    severity: str
    status: str
    line: int = 1


class _Reader:
    """Typed values out of mappings; each that does not fit leaves a defect of the file's code."""

    def __init__(self, code: str) -> None:
        self.code = code
        self.defects: list[Defect] = []

    def found(self) -> tuple[Defect, ...]:
        """The defects, as many as are told."""
        return tuple(self.defects[:MOST])

    def fault(self, message: str, line: int, help_: str) -> None:
        self.defects.append(Defect(self.code, message, line, help_))

    def unfit(self, block: Map, name: str, wanted: str) -> None:
        node = block.get(name)
        is_ = "is missing" if node is None else header.described(node)
        message = f"`{name}` {is_}, and has to be {wanted}"
        self.fault(message, block.line_of(name), f"Write `{name}: …`: {wanted}.")

    def word(self, block: Map, name: str, words: Collection[str]) -> str:
        value = header.text_of(block.get(name))
        if value in words and value is not None:
            return value
        self.unfit(block, name, f"one of {', '.join(words)}")
        return ""

    def revision(self, block: Map, name: str) -> int:
        value = header.whole_of(block.get(name))
        if value is not None and value >= 0:
            return value
        self.unfit(block, name, "a whole number, 0 or more, without quotes")
        return 0

    def id(self, block: Map, name: str, wanted: str) -> str:
        value = header.text_of(block.get(name))
        if value and value.isprintable():
            return value
        self.unfit(block, name, wanted)
        return ""

    def ids(self, block: Map, name: str) -> tuple[str, ...]:
        value = header.texts_of(block.get(name))
        if value is not None and all(value):
            return value
        self.unfit(block, name, "a list of task ids")
        return ()


def parse_plan(path: bytes, data: bytes) -> tuple[Plan | None, tuple[Defect, ...]]:
    """The plan in `path`'s bytes, or GK301 defects that say why there is none."""
    reader = _Reader("GK301")
    block = _front(reader, path, data)
    if block is None:
        return None, reader.found()
    plan = Plan(reader.word(block, "status", PLAN_STATUSES), reader.revision(block, "revision"))
    return (None if reader.defects else plan), reader.found()


def parse_manifest(path: bytes, data: bytes) -> tuple[Manifest | None, tuple[Defect, ...]]:
    """The manifest in `path`'s bytes, or GK301 defects that say why there is none."""
    reader = _Reader("GK301")
    try:
        block = header.read_mapping(header.decode(data))
    except header.HeaderError as err:
        _unreadable(reader, path, err)
        return None, reader.found()
    revision = reader.revision(block, "plan_revision")
    milestones = tuple(_milestones(reader, block))
    manifest = Manifest(revision, milestones, block.line_of("plan_revision"))
    return (None if reader.defects else manifest), reader.found()


def parse_proposal(path: bytes, data: bytes) -> tuple[Proposal | None, tuple[Defect, ...]]:
    """The proposal in `path`'s bytes, or GK311 defects that say why there is none."""
    reader = _Reader("GK311")
    block = _front(reader, path, data)
    if block is None:
        return None, reader.found()
    proposal = Proposal(
        reader.revision(block, "base_plan_revision"),
        reader.word(block, "severity", SEVERITIES),
        reader.word(block, "status", PROPOSAL_STATUSES),
        block.line_of("base_plan_revision"),
    )
    return (None if reader.defects else proposal), reader.found()


def _front(reader: _Reader, path: bytes, data: bytes) -> Map | None:
    try:
        return header.read_document(data).header
    except header.HeaderError as err:
        _unreadable(reader, path, err)
        return None


def _unreadable(reader: _Reader, path: bytes, err: header.HeaderError) -> None:
    """Whatever code an unreadable header has of its own: here it is one fault of this file."""
    name = quoted(shown(path.rpartition(b"/")[2]))
    why = err.defect
    reader.fault(f"{name} can't be read: {why.message}", why.line or 1, why.help or "")


def _milestones(reader: _Reader, block: Map) -> Iterator[Milestone]:
    node = block.get("milestones")
    if header.is_null(node):
        return
    if not isinstance(node, List):
        reader.unfit(block, "milestones", "a list of milestones")
        return
    for item in node.items:
        if not isinstance(item, Map):
            message = f"a milestone {header.described(item)}, and has to be a mapping with `id`, `status` and `tasks`"
            reader.fault(message, item.line, "Write `- {id: m1, status: planned, tasks: []}`.")
            continue
        yield _milestone(reader, item)


def _milestone(reader: _Reader, block: Map) -> Milestone:
    integration = None
    if not header.is_null(block.get("integration_task")):
        integration = reader.id(block, "integration_task", "a task's id, or absent")
    return Milestone(
        reader.id(block, "id", "a milestone's name"),
        reader.word(block, "status", MILESTONE_STATUSES),
        reader.ids(block, "tasks"),
        integration,
        block.line,
    )
