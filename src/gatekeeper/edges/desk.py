"""What the claim commands work on: base as it is now, the tasks on it, and the claims of all of them.

A `Desk` is opened for one command. It fetches base and the claims once; what it does afterwards
it does through the store.
"""

from __future__ import annotations

import os
from datetime import timedelta
from typing import TYPE_CHECKING, Self

from gatekeeper import rules
from gatekeeper.claims import admission, refs
from gatekeeper.claims.blob import encode, iso, parse, signed_bytes, stamp
from gatekeeper.claims.history import counting, in_review
from gatekeeper.edges import mirror
from gatekeeper.edges.reader import Reader
from gatekeeper.edges.returns import Returns
from gatekeeper.errors import GatekeeperError, HistoryMissing, Refusal
from gatekeeper.model import REGULAR, Claim, Malformed, State, Task
from gatekeeper.snapshot import POLICY_PATH
from gatekeeper.text import quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    from gatekeeper.edges.claimstore import Known
    from gatekeeper.edges.opening import Opening

NONCE_BYTES = 16
Standing = Claim | Malformed | None


class Desk:
    """Base, claims and store of one clone, for one command at one moment."""

    def __init__(self, opening: Opening, environ: Mapping[str, str]) -> None:
        self.environ = environ
        self.clone, self.store, question = opening
        self.repository = self.clone.repository
        self.now = question.now
        try:
            self.branch = question.branch or self.repository.rebasing()
            self.base_name = self.clone.branch_name(question.base.ref)
            self.base = question.base.commit or ""
            self.reader = Reader(question, self.clone.view, rules.Codes())
            self.base_tree = self.clone.view.objects.commit(self.base).tree
            self._read_policy()
            self.plans = self.reader.plans(self.base_tree)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the clone."""
        self.clone.close()

    def _read_policy(self) -> None:
        data = self.reader.file(self.base_tree, POLICY_PATH)
        if data is not None:
            self.reader.use_policy(self.reader.parse_policy(data))

    def follow_base(self) -> None:
        """Let the clone's own refs know base as it is now, for the guard."""
        self.clone.follow(self.base_name, self.base)
        if (
            self.repository.promisor() is not None
        ):  # a partial clone lacks them, and the guard fetches nothing
            mirror.bring_over(self.repository, self.clone.view, self._read_by_guard())

    def _read_by_guard(self) -> list[str]:
        """The blobs of base that the guard reads of this branch's claims, as far as the clone knows those."""
        tasks = self.store.guess(self.branch, self.now)
        entries = [entry for files in self.reader.named(self.base_tree, tasks).values() for entry in files]
        oids = [oid for _, mode, oid in entries if mode in REGULAR]
        for path in (POLICY_PATH, self.reader.layout.plan, self.reader.layout.manifest):
            entry = self.clone.view.objects.entry(self.base_tree, path)
            oids += [entry[1]] if entry is not None and entry[0] in REGULAR else []
        self.reader.read(oids)
        return oids

    # -- base --------------------------------------------------------------------

    @property
    def revision(self) -> int | None:
        """Base's plan revision; None where it has no plan."""
        return self.plans.plan.revision if self.plans.plan else None

    def queued(self, task: str) -> Task | None:
        """Base's queued copy of a task."""
        for path, mode, oid in self.reader.named(self.base_tree, [task]).get(task, []):
            spot = self.reader.spot(path, mode, oid)
            if spot is not None and spot.state is State.QUEUED:
                return spot.task
        return None

    def finished(self, task: str) -> bool:
        """Whether HEAD's commit has the task in done/."""
        head = self.reader.question.head.commit
        if head is None:
            return False
        entries = self.reader.named(self.clone.view.objects.commit(head).tree, [task])[task]
        places = [self.reader.layout.place(path) for path, _, _ in entries]
        return any(place is not None and place.state is State.DONE for place in places)

    def all_queued(self) -> list[Task]:
        """Every queued task of base, by priority, then id."""
        folder = self.reader.layout.folder(State.QUEUED).rstrip(b"/")
        entries = list(self.clone.view.objects.walk(self.base_tree, folder))
        self.reader.read(oid for _, mode, oid in entries if mode in REGULAR)
        spots = [self.reader.spot(path, mode, oid) for path, mode, oid in entries]
        return sorted((s.task for s in spots if s), key=lambda task: (task.priority, task.id))

    def states(self, tasks: Iterable[str]) -> dict[str, str]:
        """The folder in which each task stands on base, done/ before others; absent where it is on no board."""
        found = {}
        for task, entries in self.reader.named(self.base_tree, list(dict.fromkeys(tasks))).items():
            places = [
                place.state.value for path, _, _ in entries if (place := self.reader.layout.place(path))
            ]
            if places:
                found[task] = "done" if "done" in places else places[0]
        return found

    def says(self, tasks: Iterable[str]) -> admission.Base:
        """What base says, for admission of these tasks."""
        defects = (*self.plans.plan_defects, *self.plans.manifest_defects)
        return admission.Base(
            self.base_name,
            self.reader.policy,
            self.reader.layout,
            self.plans.plan,
            self.plans.manifest,
            defects[0].message if defects else None,
            self.states(tasks),
        )

    # -- claims --------------------------------------------------------------------

    def in_review(self, known: Known, task: str) -> bool:
        """Whether the newest log entry of a task that counts says `done`; asked of tasks that base has not in done/.

        So is one where history is cut too short to tell whether base put the task back since.
        """
        history = self.store.history(known, task, self.now)
        if not any(claim.outcome == "done" for claim in history.claims):
            return False
        back = Returns(self.clone.view, self.reader.layout, self.base, self.clone.claims.rooted)

        def ended(claim: Claim) -> bool:
            rooted = self.clone.claims.rooted(self.base, claim.base_commit)
            return rooted and back.since(claim.base_commit, task)

        try:
            return in_review(counting(history, ended))
        except HistoryMissing:
            return True

    def live(self, known: Known) -> list[str]:
        """The tasks that have a live claim, or one that may be live by another clock than ours."""
        standing = self.store.standing(known, self.now)
        return [
            task
            for task, c in standing.items()
            if (c.by_clock if isinstance(c, Malformed) else self.now <= c.expires_at)
        ]

    def fresh(self, task: Task, agent: str, branch: str, minutes: int, epoch: int) -> dict[str, object]:
        """The fields of a new claim, without a signature."""
        return {
            "task": task.id,
            "agent": agent,
            "branch": branch,
            "baseCommit": self.base,
            "claimedAt": iso(self.now),
            "expiresAt": iso(self.now + timedelta(minutes=minutes)),
            "locks": list(task.locks),
            "planRevision": self.revision,
            "nonce": os.urandom(NONCE_BYTES).hex(),
            "epoch": epoch,
        }

    def write(self, fields: Mapping[str, object], *, sign: bool) -> str:
        """Sign the fields if asked to, make sure that we would read them ourselves, and keep them as a blob."""
        final = {name: value for name, value in fields.items() if name != "signature"}
        try:
            if sign:
                final["signature"] = self._signature(final)
            data = encode(final)
        except UnicodeEncodeError:
            raise Refusal(
                "a claim is UTF-8, and the agent's name or the branch's is not",
                "Name yourself otherwise (--agent), or rename the branch: git branch -m NAME.",
            ) from None
        task = str(final["task"])
        read = parse(data, ref=refs.claim_ref(task), oid="", standing=True, task=task, now=self.now)
        if isinstance(read, Malformed):
            raise Refusal(
                f"this claim could not be read again: {read.why}", "Look at --agent and the branch's name."
            )
        return self.store.write(data)

    def _signature(self, fields: Mapping[str, object]) -> str:
        from gatekeeper.edges import ssh  # noqa: PLC0415 -- most claims are unsigned

        keys = self.repository.config.get("user.signingkey", [])
        if not keys:
            raise GatekeeperError(
                "a signature is asked for, and git knows no key of yours",
                "Set one: git config gpg.format ssh, and git config user.signingKey ~/.ssh/KEY.pub.",
            )
        return ssh.sign(signed_bytes(fields), keys[-1])

    @property
    def must_sign(self) -> bool:
        """Whether base requires signatures."""
        return self.reader.policy.signatures == "required"

    def stamp(self, known: Known, prefix: str) -> str:
        """The stamp of now for a log entry; a millisecond later as long as there is one already."""
        moment = self.now
        while f"{prefix}{stamp(moment)}" in known.refs:
            moment += timedelta(milliseconds=1)
        return stamp(moment)


def held_by(claim: Claim | Malformed, now: datetime) -> str:
    """Who holds a claim, on which branch, until when, in words."""
    if isinstance(claim, Malformed):
        return f"{claim.ref} can't be read as a claim: {claim.why}"
    past = " (EXPIRED)" if now > claim.expires_at else ""
    return f"{claim.agent} holds it on branch {quoted(claim.branch)} until {iso(claim.expires_at)}{past}"
