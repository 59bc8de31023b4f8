"""Reading a board's files through a view: each blob once, each task parsed once, many of them in one go."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple, Protocol

from gatekeeper import boards, header
from gatekeeper.boards.board import Board, Decision, ProposalFile
from gatekeeper.edges.git import LARGEST_BLOB
from gatekeeper.model import FOLDER, REGULAR, Defect, State, Task
from gatekeeper.plan import Manifest, Plan, parse_manifest, parse_plan, parse_proposal
from gatekeeper.policy import DEFAULT, Policy, parse_policy
from gatekeeper.snapshot import Spot
from gatekeeper.taskfile import parse_task
from gatekeeper.taskname import id_from_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from gatekeeper.edges.git import View
    from gatekeeper.question import Question

Entry = tuple[bytes, int, str]
"""A path in a tree, its mode and its object name."""

MAX_BROUGHT = 32 * 1024 * 1024
"""Bytes of the board's files that one change may bring; what goes beyond is unreadable."""
MAX_WEIGHT = 600_000
"""Their `header.weight`: some two seconds' time, or five thousand usual tasks."""

_MANY = 100  # tasks that git is asked for by their names
_WEIGHT_OF_MARK = 20  # in a decision, which is read as Markdown
_BATCH = 50  # files whose bytes are held at once
_TOO_MUCH = "this change brings more of the board than is read in one go"


class PlanFiles(NamedTuple):
    """A tree's plan and manifest, and what is wrong with each."""

    plan: Plan | None = None
    plan_defects: tuple[Defect, ...] = ()
    manifest: Manifest | None = None
    manifest_defects: tuple[Defect, ...] = ()


class Codes(Protocol):
    """Which codes there are, and which of them a policy may raise or lower."""

    @property
    def known(self) -> frozenset[str]:
        """Every code."""

    @property
    def adjustable(self) -> frozenset[str]:
        """Those with a degree mark, and warnings."""


class Reader:
    """Reads the files of boards under one policy, which is the default one until another is used."""

    def __init__(
        self,
        question: Question,
        view: View,
        codes: Codes,
        fetch_blobs: Callable[[Iterable[str]], None] | None = None,
    ) -> None:
        self.question = question
        self.view = view
        self.codes = codes
        self.policy = DEFAULT
        self.layout = boards.LAYOUTS[0]
        self._fetch_blobs = fetch_blobs
        self._blobs: dict[str, bytes | None] = {}
        self._named: dict[tuple[str, str], list[Entry]] = {}
        self._parsed: dict[tuple[bytes, str], Task] = {}
        self._parsed_proposals: dict[tuple[bytes, str], ProposalFile] = {}
        self._brought: set[tuple[bytes, str]] = set()  # what was not yet weighed of what the change brings
        self._refused: dict[tuple[bytes, str], str] = {}
        self._bytes_left = MAX_BROUGHT
        self._weight_left = MAX_WEIGHT

    def fetch(self, oids: Iterable[str]) -> None:
        """Have blobs here, in one go, where a remote is asked for what the clone lacks."""
        if self._fetch_blobs is not None:
            self._fetch_blobs(dict.fromkeys(oids))

    def bring(self, entries: Iterable[Entry]) -> None:
        """Take files for those that a change brings, of which so much is read and no more: it is hostile.

        A large one is refused unread.
        """
        regular = [(path, oid) for path, mode, oid in entries if mode in REGULAR]
        oids = dict.fromkeys(oid for _, oid in regular)
        self.fetch(oids)
        sizes = self.view.objects.kinds(oids)
        for key in regular:
            size = sizes[key[1]][1]
            if size > header.MAX_DOCUMENT:
                self._refused[key] = f"the file is larger than {header.MAX_DOCUMENT // 1024} KiB"
            elif size > self._bytes_left:
                self._refused[key] = _TOO_MUCH
            else:
                self._bytes_left -= size
                self._brought.add(key)

    def parse_all(self, entries: Iterable[Entry]) -> None:
        """Parse the board's files among these, a few at a time, and keep of them what they say, not their bytes."""
        todo = [e for e in entries if e[1] in REGULAR and (e[0], e[2]) not in self._parsed]
        for start in range(0, len(todo), _BATCH):
            batch = todo[start : start + _BATCH]
            known = set(self._blobs)
            self.read(oid for path, _, oid in batch if not self._spent((path, oid)))
            for path, mode, oid in batch:
                if self.spot(path, mode, oid) is None and self.layout.proposal(path):
                    self.proposal(path, mode, oid)
            for oid in set(self._blobs) - known:
                del self._blobs[oid]

    def _spent(self, key: tuple[bytes, str]) -> bool:
        """Whether a file will be refused."""
        return key in self._refused or (key in self._brought and self._weight_left < 0)

    def _refusal(self, path: bytes, oid: str) -> str | None:
        """Why a file is not read, if it is not."""
        key = (path, oid)
        if key in self._brought:
            self._brought.remove(key)
            if self._weight_left >= 0:
                self._weight_left -= header.weight(self.blob(oid))
            if self._weight_left < 0:
                self._refused[key] = _TOO_MUCH
        return self._refused.get(key)

    def read(self, oids: Iterable[str]) -> None:
        """Read blobs ahead, in one go."""
        wanted = [oid for oid in dict.fromkeys(oids) if oid and oid not in self._blobs]
        if wanted:
            self.fetch(wanted)
            self._blobs |= self.view.objects.blobs(wanted)

    def deepen(self, base: str) -> None:
        """Bring all of base's history here, where there is a way to: not here."""

    def blob(self, oid: str) -> bytes:
        """One blob's contents; for what is too large to be a file of a board as many bytes as say so."""
        self.read([oid])
        data = self._blobs[oid]
        return b"\0" * (LARGEST_BLOB + 1) if data is None else data

    def file(self, tree: str, path: bytes) -> bytes | None:
        """A regular file of a tree; None where there is none. A link or a folder there reads as no text."""
        found = self.view.objects.entry(tree, path)
        if found is None:
            return None
        return self.blob(found[1]) if found[0] in REGULAR else b"\xff"

    def spot(self, path: bytes, mode: int, oid: str) -> Spot | None:
        """A task file at a path; None where the path is no task's."""
        place = self.layout.place(path)
        if place is None:
            return None
        return Spot(path, place.state, mode, oid, self.parse(path, mode, oid, place.state))

    def parse(self, path: bytes, mode: int, oid: str, state: State) -> Task:
        """A task file as read under base's policy; what is no regular file is unreadable, whatever it holds."""
        if mode not in REGULAR:
            why = "a task has to be a regular file, and this is a symlink, a submodule or a folder"
            return _unread(path, state, why)
        if (refusal := self._refusal(path, oid)) is not None:
            return _unread(path, state, refusal)
        key = (path, oid)
        if key not in self._parsed:
            today = self.question.now.date()
            self._parsed[key] = parse_task(
                path,
                self.blob(oid),
                state=state.value,
                classifications=self.policy.classifications,
                today=today,
            )
        return self._parsed[key]

    def use_policy(self, policy: Policy) -> None:
        """Read task files under another policy from here on; what was parsed under the last one is forgotten."""
        if policy != self.policy:
            self.policy = policy
            self._parsed.clear()

    def parse_policy(self, data: bytes) -> Policy:
        """A policy's text under the codes that are known. Raises PolicyInvalid."""
        return parse_policy(data, self.codes.adjustable, self.codes.known)

    def named(self, tree: str, ids: Sequence[str]) -> dict[str, list[Entry]]:
        """For each id, the files in the states' folders whose name says that they are that task.

        Git looks for a few, so that a folder of ten thousand tasks costs what a folder of ten does;
        for many the folders are read.
        """
        self._named |= {(tree, task): files for task, files in self._look_for(tree, ids).items()}
        return {task: self._named[tree, task] for task in ids}

    def _look_for(self, tree: str, asked: Sequence[str]) -> dict[str, list[Entry]]:
        ids = [task for task in dict.fromkeys(asked) if (tree, task) not in self._named]
        found: dict[str, list[Entry]] = {task: [] for task in ids}
        folders = [self.layout.folder(state) for state in self.layout.states]
        if len(ids) > _MANY:
            files = sorted(entry for folder in folders for entry in self._in_folder(tree, folder))
        else:
            names = [os.fsencode(task) for task in ids if "\0" not in task]
            starts = [folder + name for folder in folders for name in names]
            files = self.view.files(tree, starts) if starts else []
        for path, mode, oid in files:
            task = id_from_name(path.rpartition(b"/")[2])
            if task in found and self.layout.place(path):
                found[task].append((path, mode, oid))
        return found

    def _in_folder(self, tree: str, folder: bytes) -> Iterator[Entry]:
        """The entries of a folder that are no folders; none where it is not there, or is none."""
        there = self.view.objects.entry(tree, folder.rstrip(b"/"))
        if there is not None and there[0] == FOLDER:
            for name, (mode, oid) in self.view.objects.tree(there[1]).items():
                if mode != FOLDER:
                    yield folder + name, mode, oid

    def proposal(self, path: bytes, mode: int, oid: str) -> ProposalFile:
        """A proposal as read; what is no regular file is none."""
        if mode not in REGULAR:
            return ProposalFile(path, None, (Defect("GK311", "a proposal has to be a regular file"),))
        if (refusal := self._refusal(path, oid)) is not None:
            return ProposalFile(path, None, (Defect("GK311", refusal),))
        key = (path, oid)
        if key not in self._parsed_proposals:
            self._parsed_proposals[key] = ProposalFile(path, *parse_proposal(path, self.blob(oid)))
        return self._parsed_proposals[key]

    def decision(self, path: bytes, mode: int, oid: str) -> Decision:
        """A decision record as read; of what is no regular file, or not read, the text is empty."""
        key = (path, oid)
        if mode not in REGULAR or key in self._refused:
            return Decision(path, "")
        text = self.blob(oid).decode("utf-8", "replace")
        del self._blobs[oid]
        if key in self._brought:
            from gatekeeper.mdbounds import weight  # noqa: PLC0415 -- few changes bring decisions

            self._weight_left -= _WEIGHT_OF_MARK * weight(text)
        return Decision(path, text if self._weight_left >= 0 else "")

    def plans(self, tree: str) -> PlanFiles:
        """The plan and the manifest of a tree, and what is wrong with them."""
        found = PlanFiles()
        if (data := self.file(tree, self.layout.plan)) is not None:
            plan, defects = parse_plan(self.layout.plan, data)
            found = found._replace(plan=plan, plan_defects=defects)
        if (data := self.file(tree, self.layout.manifest)) is not None:
            manifest, defects = parse_manifest(self.layout.manifest, data)
            found = found._replace(manifest=manifest, manifest_defects=defects)
        return found

    def board(self, plans: PlanFiles, tasks: Iterable[Task], proposals: Iterable[ProposalFile]) -> Board:
        """A board of these parts, under base's policy."""
        return Board(
            tasks=tuple(tasks),
            plan=plans.plan,
            plan_path=self.layout.plan,
            plan_defects=plans.plan_defects,
            manifest=plans.manifest,
            manifest_path=self.layout.manifest,
            manifest_defects=plans.manifest_defects,
            proposals=tuple(proposals),
            policy=self.policy,
            today=self.question.now.date(),
        )


def _unread(path: bytes, state: State, why: str) -> Task:
    """A task of which no more is known than its name."""
    name = id_from_name(path.rpartition(b"/")[2])
    return Task(path=path, state=state.value, id=name, defects=(Defect("GK201", why),))
