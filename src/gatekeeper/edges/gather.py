"""The facts of one check, read in the order in which they are needed, and frozen into a Snapshot.

What is read follows the change set: blobs that differ, the base copies beside them, one task's
claims. Folders of a state are read as one tree object each, never file by file.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Protocol

from gatekeeper import boards, lanes
from gatekeeper.claims.history import History, counting
from gatekeeper.edges.links import resolve_links
from gatekeeper.edges.reader import Codes, Entry, PlanFiles, Reader
from gatekeeper.edges.returns import Returns
from gatekeeper.errors import HistoryMissing, PolicyInvalid, RemoteUnreachable, RepositoryUnreadable
from gatekeeper.inscope import Scope
from gatekeeper.model import REGULAR, Change, Claim, Lane, State
from gatekeeper.people import Forge, People
from gatekeeper.snapshot import (
    POLICY_PATH,
    SIGNERS_PATH,
    Answer,
    Claims,
    Move,
    Snapshot,
    Spot,
    Subject,
    claim_asked,
)
from gatekeeper.taskname import id_from_name
from gatekeeper.text import quoted, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from gatekeeper.boards.board import ProposalFile
    from gatekeeper.edges.git import View
    from gatekeeper.question import Question


_ODD_SEGMENTS = (b"//", b"/./", b"/../", b"/.git/")
_ODD_SEGMENT = re.compile(rb"(?:^|/)(?:\.{0,2}|\.git)(?:/|$)", re.IGNORECASE)


class ClaimSource(Protocol):
    """Where claims are read: the remote's refs where there is one, else the clone's own. `where` says it in words."""

    where: str

    def expect(self, task: str, locks: Collection[str]) -> None:
        """The history of this task will probably be asked for."""

    def history(self, task: str, locks: Collection[str], question: Question) -> History:
        """Every claim of one task, standing or logged, and what its locks' refs hold."""

    def rooted(self, base: str, commit: str) -> bool:
        """Whether `commit` is a commit in base's history, which is then here as far back as that."""

    def rooted_all(self, base: str, commits: Sequence[str]) -> dict[str, bool]:
        """As `rooted`, of several commits at once, the newest claim's first; only so many are looked up."""

    def whole(self, base: str) -> None:
        """Fetch all of base's history, if any is fetched."""


class Gatherer(Reader):
    """Reads the facts of one question through one view."""

    def __init__(
        self,
        question: Question,
        view: View,
        claims: ClaimSource,
        codes: Codes,
        forge: Forge | None,
        fetch_blobs: Callable[[Iterable[str]], None] | None = None,
    ) -> None:
        super().__init__(question, view, codes, fetch_blobs)
        self.source = claims
        self.forge = forge
        self.base, self.head = _commit(question.base.commit), _commit(question.head.commit)
        self.base_tree = view.objects.commit(self.base).tree
        self._on_base: dict[str, list[Entry]] = {}

    def deepen(self, base: str) -> None:
        """As `Reader.deepen`, where history is fetched as it is asked for."""
        self.source.whole(base)

    # -- the order of things -------------------------------------------------

    def snapshot(self) -> Snapshot:
        """Everything the rules ask for. Raises GatekeeperError where a fact can't be had."""
        broken = self._read_policy()
        self.view_is_whole()
        merged, conflicts = self.view.merge_tree(self.base, self.head)
        facts = Snapshot(self.question, self.policy, self.layout, merged_tree=merged)
        if merged is None:
            if broken:
                raise broken
            return facts._replace(conflicts=tuple(conflicts))
        changes = self.view.diff(self.base_tree, merged)
        _sane(changes)
        if broken:
            self._mended_policy(changes, merged, broken)
        root = self.layout.root
        touched = [c for c in changes if c.path.startswith(root) and self._reads(c)]
        self._take(touched)
        moves = self._moves(touched)
        finished = tuple(self._finished(moves, {change.path for change in touched}))
        people = People(self.question, self.policy, self.forge)
        choice = lanes.choose(self.policy, self.layout, changes, moves, finished, people.author_is)
        facts = facts._replace(
            changes=changes,
            lane=choice.lane,
            moves=tuple(moves),
            finished=finished,
            subject=choice.subject,
            board=self.board(
                PlanFiles(),
                [choice.subject.after.task] if choice.subject else [],
                self._proposals(touched),
            ),
        )
        facts = self._with_people(facts, people, on_trust=choice.on_trust)
        return self._with_lane(facts, people, merged)

    def view_is_whole(self) -> None:
        """Raise HistoryMissing where a shallow clone does not hold what base and head share."""
        if self.view.cut_between(self.base, self.head):
            raise HistoryMissing(
                "this clone is shallow, and its history ends before base and head meet",
                "Fetch the rest: git fetch --unshallow (in a workflow: fetch-depth: 0).",
            )

    def _with_lane(self, facts: Snapshot, people: People, merged: str) -> Snapshot:
        if facts.lane is Lane.PLANNING:
            from gatekeeper.edges.boardreader import planning  # noqa: PLC0415 -- the board's rules cost time

            return planning(self, facts, self.base_tree, merged)
        if facts.lane is Lane.IMPLEMENTATION:
            facts = self._with_plan(facts)
            facts = self._with_paths(facts, merged)
        if facts.lane in (Lane.IMPLEMENTATION, Lane.HANDBACK) and facts.subject and facts.subject.before:
            facts = self._with_claims(facts, facts.subject, people)
        return facts

    # -- the policy ------------------------------------------------------------

    def _read_policy(self) -> PolicyInvalid | None:
        data = self.file(self.base_tree, POLICY_PATH)
        if data is None:
            return None
        try:
            self.policy = self.parse_policy(data)
        except PolicyInvalid as why:
            return why
        self.layout = boards.by_name(self.policy.layout)
        return None

    def _mended_policy(self, changes: Sequence[Change], merged: str, broken: PolicyInvalid) -> None:
        """Let pass, under the default policy, a change of the policy alone that makes it readable."""
        if [change.path for change in changes] != [POLICY_PATH]:
            raise broken
        data = self.file(merged, POLICY_PATH)
        try:
            if data is not None:
                self.parse_policy(data)
        except PolicyInvalid:
            raise broken from None

    # -- tasks -------------------------------------------------------------------

    def _reads(self, change: Change) -> bool:
        """Whether what stands at a changed path of the board is read: a task's file or a new proposal."""
        new_proposal = self.layout.proposal(change.path) and not change.deleted
        return self.layout.place(change.path) is not None or new_proposal

    def _take(self, touched: Sequence[Change]) -> None:
        """Parse both sides of the board's files that the change touches; what it brings within bounds."""
        old = [(c.path, c.old_mode, c.old_oid) for c in touched if not c.added]
        new = [(c.path, c.new_mode, c.new_oid) for c in touched if not c.deleted]
        self.fetch(oid for _, mode, oid in (*old, *new) if mode in REGULAR)
        self.bring(new)
        self.parse_all([*old, *new])

    def _moves(self, touched: Sequence[Change]) -> list[Move]:
        """Every task that the change touches, with its places on both sides."""
        old = [self.spot(c.path, c.old_mode, c.old_oid) for c in touched if not c.added]
        new = [self.spot(c.path, c.new_mode, c.new_oid) for c in touched if not c.deleted]
        before, after = [s for s in old if s], [s for s in new if s]
        ids = list(dict.fromkeys(name for spot in (*before, *after) for name in ids_of(spot)))
        self._expect_claims(before, after)
        waits = (name for spot in before for name in spot.task.depends_on)
        self._on_base = self.named(self.base_tree, list(dict.fromkeys((*ids, *waits))))
        merging = self._merging(touched)
        old_by, new_by = _by_id(before), _by_id(after)
        return [
            Move(
                i,
                self._places(old_by.get(i, []), self._on_base[i]),
                self._places(new_by.get(i, []), merging(i)),
            )
            for i in ids
        ]

    def _expect_claims(self, before: Sequence[Spot], after: Sequence[Spot]) -> None:
        """Where one task plainly goes from queued/ to done/, let its claims be looked for while its places are."""
        gone, come = (
            [s for s in spots if s.state is state]
            for spots, state in ((before, State.QUEUED), (after, State.DONE))
        )
        if len(gone) == len(come) == 1 and gone[0].task.id == come[0].task.id:
            self.source.expect(gone[0].task.id, gone[0].task.locks)

    def _merging(self, touched: Sequence[Change]) -> Callable[[str], list[Entry]]:
        """Where a task's named files stand after the merge: where they stand on base, but for what the change does."""
        gone = {change.path for change in touched}
        new: dict[str, list[Entry]] = {}
        for change in touched:
            if not change.deleted and self.layout.place(change.path):
                entry = (change.path, change.new_mode, change.new_oid)
                new.setdefault(id_from_name(change.path.rpartition(b"/")[2]), []).append(entry)
        return lambda task: [e for e in self._on_base[task] if e[0] not in gone] + new.get(task, [])

    def _places(self, touched: Iterable[Spot], named: Iterable[Entry]) -> tuple[Spot, ...]:
        """Where a task stands in a tree: the touched files that bear its id, and all that are named after it."""
        found = {spot.path: spot for spot in touched}
        for path, mode, oid in named:
            if path not in found:
                spot = self.spot(path, mode, oid)
                found |= {path: spot} if spot else {}
        return tuple(found[path] for path in sorted(found))

    def _finished(self, moves: Sequence[Move], touched: Collection[bytes]) -> Iterable[Subject]:
        """The tasks that go to done: in done/ after the merge, by a file of this change, and not there on base."""
        seen: set[bytes] = set()
        ordered = sorted(
            moves, key=lambda move: move.was(State.QUEUED) is None
        )  # a real task before a mere name
        for move in ordered:
            ends = [
                s for s in move.after if s.state is State.DONE and s.path in touched and s.path not in seen
            ]
            if ends and move.was(State.DONE) is None:
                seen.add(ends[0].path)
                yield Subject(move.id, move.was(State.QUEUED), ends[0])

    def _proposals(self, touched: Sequence[Change]) -> Iterable[ProposalFile]:
        """The new proposals that the change brings."""
        for change in touched:
            if self.layout.proposal(change.path) and change.added:
                yield self.proposal(change.path, change.new_mode, change.new_oid)

    # -- plan, paths, people -----------------------------------------------------

    def _with_plan(self, facts: Snapshot) -> Snapshot:
        plans = self.plans(self.base_tree)
        task = facts.subject.before.task if facts.subject and facts.subject.before else None
        board = self.board(plans, facts.board.tasks, facts.board.proposals)
        waits = self._states(task.depends_on if task else ())
        return facts._replace(plan=plans.plan, manifest=plans.manifest, board=board, dependencies=waits)

    def _states(self, tasks: Sequence[str]) -> dict[str, str]:
        """The folder in which each of the tasks stands on base; empty where it stands nowhere."""
        states: dict[str, str] = {}
        for task in tasks:
            named = self._on_base.get(task, [])
            places = [place.state for path, _, _ in named if (place := self.layout.place(path))]
            states[task] = State.DONE.value if State.DONE in places else next((s.value for s in places), "")
        return states

    def _with_paths(self, facts: Snapshot, merged: str) -> Snapshot:
        own = self._own_paths(facts)
        task = facts.authority_task
        scope = Scope(self.policy, self.layout, task.authority if task else None, own)
        root = self.layout.tasks
        new = [c for c in facts.changes if c.path.startswith(root) and scope.proposed(c)]
        spots = [self.spot(c.path, c.new_mode, c.new_oid) for c in new]
        proposed = tuple(spot for spot in spots if spot)
        links = tuple(resolve_links(self, facts.changes, merged, scope)) if facts.authority_task else ()
        judged = scope.judge_all(facts.changes)
        tasks = (*facts.board.tasks, *(spot.task for spot in proposed))
        board = facts.board._replace(tasks=tasks)
        return facts._replace(proposed=proposed, links=links, judged=judged, board=board)

    @staticmethod
    def _own_paths(facts: Snapshot) -> set[bytes]:
        """The finished tasks' own paths; of one that was not queued, wherever it stood (that is GK103's alone)."""
        own = {path for subject in facts.finished for path in subject.paths}
        stray = {subject.id for subject in facts.finished if subject.before is None}
        return own | {spot.path for move in facts.moves if move.id in stray for spot in move.before}

    def _with_people(self, facts: Snapshot, people: People, *, on_trust: bool) -> Snapshot:
        if on_trust:
            if self.question.in_ci:
                raise _untold()
            return facts._replace(asks_operator=True)
        if facts.lane not in (Lane.PLANNING, Lane.REVERT):
            return facts
        return self.operators(facts._replace(asks_operator=True), people)

    def operators(self, facts: Snapshot, people: People) -> Snapshot:
        """With what is known of the author and of whoever pushed last. In CI not to know is an error."""
        author = people.operates(self.question.author)
        pusher = people.pusher_operates() if author is Answer.YES else Answer.YES
        if Answer.UNKNOWN in (author, pusher) and self.question.in_ci:
            raise _untold()
        question = (
            facts.question if author is not Answer.YES else facts.question._replace(pusher=people.pusher())
        )
        return facts._replace(question=question, author_operates=author, pusher_operates=pusher)

    # -- claims ----------------------------------------------------------------------

    def _with_claims(self, facts: Snapshot, subject: Subject, people: People) -> Snapshot:
        if facts.lane is Lane.HANDBACK and (self.question.homeless or not self.question.in_ci):
            facts = self.operators(facts, people)
            if not claim_asked(facts):
                return facts
        if self.question.homeless:
            raise _homeless()
        if self.question.foreign:
            return facts
        before = subject.before.task if subject.before else None
        history = self.source.history(subject.id, before.locks if before else (), self.question)
        newest_first = [claim.base_commit for claim in reversed(history.claims)]
        back = Returns(self.view, self.layout, self.base, self.source.rooted)
        for commit in newest_first[:1]:
            back.expect(commit, subject.id)
        rooted = self.source.rooted_all(self.base, newest_first)
        put_back = {
            commit: back.since(commit, subject.id) for commit, is_rooted in rooted.items() if is_rooted
        }
        counts = counting(history, lambda claim: put_back.get(claim.base_commit, False))
        return facts._replace(
            oldest_commit=self.view.oldest(self.base, self.head),
            claims=Claims(history, tuple(counts), rooted, self._signatures(counts), self.source.where),
        )

    def _signatures(self, claims: Sequence[Claim]) -> Mapping[str, str | None]:
        """Why each signed claim of this branch's signature does not hold; None where it does."""
        mine = [
            claim for claim in claims if claim.branch == self.question.branch and claim.signature is not None
        ]
        if not mine:
            return {}
        from gatekeeper.claims.blob import signed_bytes  # noqa: PLC0415 -- most claims are unsigned
        from gatekeeper.edges import ssh  # noqa: PLC0415

        signers = self.file(self.base_tree, SIGNERS_PATH) or b""
        return {
            claim.oid: ssh.verify(
                signed_bytes(claim.fields), claim.signature or "", signers, claim.agent, at=claim.claimed_at
            )
            for claim in mine[-1:]
        }


def _by_id(spots: Iterable[Spot]) -> dict[str, list[Spot]]:
    found: dict[str, list[Spot]] = {}
    for spot in spots:
        for task in ids_of(spot):
            found.setdefault(task, []).append(spot)
    return found


def ids_of(spot: Spot) -> tuple[str, ...]:
    """The ids that a task file goes by: its header's and its name's, the header's first."""
    return tuple(dict.fromkeys(i for i in (spot.task.id, id_from_name(spot.path.rpartition(b"/")[2])) if i))


def _sane(changes: Sequence[Change]) -> None:
    """Raise RepositoryUnreadable for what no working tree can hold: git would drop some of it, or write elsewhere."""
    paths = {change.path for change in changes}
    # A slash around each path, so that every segment stands between two: a few searches find the odd ones.
    listed = (b"/" + b"/\0/".join(paths) + b"/").lower() if paths else b""
    odd = any(segment in listed for segment in _ODD_SEGMENTS)
    if odd or len(paths) != len(changes):
        path = next((p for p in sorted(paths) if odd and _ODD_SEGMENT.search(p)), None)
        what = f"the path {quoted(shown(path))}" if path is not None else "a folder that names an entry twice"
        raise RepositoryUnreadable(
            f"head's tree holds {what}, which no checkout can have",
            "Make the commit anew with git itself; `git fsck` says what is wrong with it.",
        )


def _untold() -> RemoteUnreachable:
    return RemoteUnreachable(
        "who asks for this, who pushed it or who the operators are could not be asked of the forge, and decides here",
        "Give the action a token that may read collaborators; or list `operators` in base's policy, and name "
        "--author and --pusher.",
    )


def _homeless() -> RemoteUnreachable:
    return RemoteUnreachable(
        "which repository head lives in is not known, and a branch of a fork has no claim",
        "Run this on pull_request or pull_request_target, or name --base-repo and --head-repo.",
    )


def _commit(oid: str | None) -> str:
    if oid is None:
        raise HistoryMissing("base or head stands for no commit", "Fetch both, or name other refs.")
    return oid
