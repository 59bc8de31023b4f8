"""Everything the rules may know, read once and frozen.

`edges/gather.py` fills a Snapshot; the rules look at it and at nothing else.
"""

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import NamedTuple

from gatekeeper.boards import Layout
from gatekeeper.boards.board import Board
from gatekeeper.claims.history import History
from gatekeeper.model import NOTHING, Change, Claim, Lane, State, Task
from gatekeeper.plan import Manifest, Plan
from gatekeeper.policy import Policy
from gatekeeper.question import Question

POLICY_PATH = b".github/gatekeeper.yml"
SIGNERS_PATH = b".github/allowed_signers"


class Answer(Enum):
    """What is known of a question about a person."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


class Spot(NamedTuple):
    """A task file in a tree: where, what kind of entry, and what it says."""

    path: bytes
    state: State
    mode: int
    oid: str
    task: Task


class Move(NamedTuple):
    """One task that this change touches: its id, where it stood on base, where it stands after the merge.

    Only the places that decide are listed: all that the change touches, and all that bear the id in their name.
    """

    id: str
    before: tuple[Spot, ...]
    after: tuple[Spot, ...]

    def was(self, state: State) -> Spot | None:
        """The task's file in a state's folder on base."""
        return next((spot for spot in self.before if spot.state is state), None)

    def becomes(self, state: State) -> Spot | None:
        """The task's file in a state's folder after the merge."""
        return next((spot for spot in self.after if spot.state is state), None)


class Subject(NamedTuple):
    """The one task that a lane is about: its copy on base (if there is one) and its file after the merge."""

    id: str
    before: Spot | None
    after: Spot

    @property
    def paths(self) -> tuple[bytes, ...]:
        """The task's own paths."""
        return (self.after.path,) if self.before is None else (self.before.path, self.after.path)


class Claims(NamedTuple):
    """What the claim refs say of the subject, and what base's history says of those claims.

    `counting` are the claims that count, in order; `rooted` says of each base commit whether it is in
    base's history; `signatures` gives, by blob, why a claim's signature does not hold (None: it does).
    """

    history: History
    counting: tuple[Claim, ...]
    rooted: Mapping[str, bool]
    signatures: Mapping[str, str | None]
    where: str = ""


class Link(NamedTuple):
    """A changed symlink: where it leads in the merged tree and whether that is in scope, or why it leads nowhere."""

    path: bytes
    target: bytes | None
    inside: bool = False
    why: str = ""


class Snapshot(NamedTuple):
    """The facts of one check. `judged` are the changed paths out of scope, by the code of their one finding.

    `board` holds the files that every lane holds against the rules on one file (the subject's, what is new with
    it, base's plan); `boards` are base's and the merged one, whole, in the planning lane alone.
    """

    question: Question
    policy: Policy
    layout: Layout
    changes: tuple[Change, ...] = ()
    merged_tree: str | None = None
    conflicts: tuple[bytes, ...] | None = None
    lane: Lane = Lane.IMPLEMENTATION
    moves: tuple[Move, ...] = ()
    finished: tuple[Subject, ...] = ()
    subject: Subject | None = None
    plan: Plan | None = None
    manifest: Manifest | None = None
    dependencies: Mapping[str, str] = NOTHING
    proposed: tuple[Spot, ...] = ()
    claims: Claims | None = None
    oldest_commit: int | None = None
    judged: Mapping[str, Sequence[Change]] = NOTHING
    links: tuple[Link, ...] = ()
    policy_problem: str | None = None
    board: Board = Board()
    boards: tuple[Board, Board] | None = None
    author_operates: Answer = Answer.UNKNOWN
    pusher_operates: Answer = Answer.UNKNOWN
    asks_operator: bool = False

    @property
    def authority_task(self) -> Task | None:
        """The base copy whose authority the paths are judged by, in the lanes that have one."""
        return self.subject.before.task if self.subject and self.subject.before else None


def claim_asked(facts: Snapshot) -> bool:
    """Whether the lane asks for a claim: finishing and handing back do, but an operator hands back without one."""
    if facts.lane is Lane.HANDBACK:
        operator = facts.author_operates is Answer.YES and facts.pusher_operates is Answer.YES
        return facts.subject is not None and not operator
    return facts.lane is Lane.IMPLEMENTATION and facts.subject is not None
