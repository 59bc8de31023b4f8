"""A board as it was read: tasks, plan, manifest, proposals, decisions. What `rules/board` looks at."""

from collections.abc import Mapping
from datetime import date
from typing import NamedTuple

from gatekeeper.model import NOTHING, Defect, Task
from gatekeeper.plan import Manifest, Plan, Proposal
from gatekeeper.policy import DEFAULT, Policy


class ProposalFile(NamedTuple):
    """A proposal's path, what it says where it can be read, and what is wrong with it."""

    path: bytes
    proposal: Proposal | None
    defects: tuple[Defect, ...]


class Decision(NamedTuple):
    """A decision record's path and text."""

    path: bytes
    text: str


class Board(NamedTuple):
    """One tree's board, or the part of it that a change concerns.

    `places` maps each id to the states' folders and paths of all files that bear it, those that were
    not read included. `links` maps files to what is wrong with their links, `strays` are files among the
    tasks that are none, `paths` those of all files of the tree, in order (None: nobody listed them),
    `ended` maps the paths of tasks that ended to the day on which a commit moved them there. `renamed` maps a path of `before` to the path that git takes for its new name;
    `expired` are the ids of `before` whose tasks ended longer ago than the policy retains them.
    """

    tasks: tuple[Task, ...] = ()
    places: Mapping[str, tuple[tuple[str, bytes], ...]] = NOTHING
    plan: Plan | None = None
    plan_path: bytes = b""
    plan_defects: tuple[Defect, ...] = ()
    manifest: Manifest | None = None
    manifest_path: bytes = b""
    manifest_defects: tuple[Defect, ...] = ()
    proposals: tuple[ProposalFile, ...] = ()
    decisions: tuple[Decision, ...] = ()
    policy: Policy = DEFAULT
    today: date = date.max
    links: Mapping[bytes, tuple[Defect, ...]] = NOTHING
    strays: tuple[bytes, ...] = ()
    paths: tuple[bytes, ...] | None = None
    ended: Mapping[bytes, date] = NOTHING
    before: "Board | None" = None
    renamed: Mapping[bytes, bytes] = NOTHING
    expired: frozenset[str] = frozenset()

    def state_of(self, task: str) -> str | None:
        """The folder in which a task stands, done/ before any other; None where it is on no board."""
        states = [state for state, _ in self.places.get(task, ())]
        return "done" if "done" in states else next(iter(states), None)
