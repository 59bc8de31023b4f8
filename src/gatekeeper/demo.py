"""The demonstration's sample: a bookshop's board, and six pull requests of which one is honest.

Everything here is data. `gatekeeper.cli.demo` makes the repository and runs the check in it.
The dishonest five are the ways in which an agent was seen, or feared, to get round a board.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from gatekeeper.claims import blob, refs
from gatekeeper.edges.sandbox import NewCommit

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import datetime

BASE = "main"
PLAN_REVISION = 1

CLAIMED, WORKED, ENDS = timedelta(minutes=-5), timedelta(minutes=-2), timedelta(minutes=25)
"""When claims began, when the work was committed and when claims end, seen from now."""

_SOURCES = {
    "README.md": "# The bookshop\n\nThe sample of `gatekeeper demo`. The board is in `.agents/tasks/`.\n",
    "src/orders/cart.py": "def total(prices):\n    return sum(prices)\n",
    "src/search/index.py": "def find(books, word):\n    return [book for book in books if word in book]\n",
    "src/catalogue/shelf.py": "def shelf(book):\n    return book[0]\n",
    "src/receipts/paper.py": "def receipt(order):\n    return str(order)\n",
    "docs/search.md": "# Searching\n",
    ".agents/plan.md": f"---\nstatus: approved\nrevision: {PLAN_REVISION}\n---\n# Plan\n\nOpen in spring.\n",
}


@dataclass(frozen=True, slots=True)
class Job:
    """A task of the sample: its number, title, class and authority patterns."""

    number: int
    title: str
    classification: str
    paths: tuple[str, ...]

    def id(self, now: datetime) -> str:
        """Its id, dated the day before: no clock is so wrong that a task would come from the future."""
        return f"T-{now - timedelta(days=1):%Y%m%d}-5eed{self.number:04x}"

    def text(self, now: datetime, state: str, paths: tuple[str, ...] = (), evidence: str = "") -> str:
        """Its file in one of the states."""
        listed = "".join(f"    - {path}\n" for path in paths or self.paths)
        return (
            f"---\nid: {self.id(now)}\ntitle: {self.title}\nstatus: {state}\n"
            f"classification: {self.classification}\nauthority:\n  paths:\n{listed}---\n"
            f"# {self.title}\n\n## Acceptance criteria\n- [ ] It works, and a test says so\n\n## Evidence\n{evidence}"
        )

    def path(self, now: datetime, state: str) -> str:
        """Where its file stands in one of the states."""
        return f".agents/tasks/{state}/{self.id(now)}.md"


REFUND = Job(1, "Refund a cancelled order", "feature", ("src/orders/**", "tests/orders/**"))
SEARCH = Job(2, "Search by author", "feature", ("src/search/**",))
GUIDE = Job(3, "Describe the search", "docs", ("docs/**",))
CACHE = Job(4, "Cache the catalogue", "feature", ("src/catalogue/**",))
RECEIPT = Job(5, "Print a receipt", "feature", ("src/receipts/**",))
DISCOUNT = Job(6, "A discount for friends", "feature", ("src/**",))

BOARD = (REFUND, SEARCH, GUIDE, CACHE, RECEIPT)
"""What is queued on the base branch; `DISCOUNT` is not."""


@dataclass(frozen=True, slots=True)
class Story:
    """One pull request: what its agent did, and the error codes that the gate must find (none: it passes).

    `changes` are files beside the task's own. `claimed_for` is the branch that the agent's claim
    names, None where nobody claimed. `paths` is the authority as the head has it, where that differs.
    """

    title: str
    told: str
    job: Job
    agent: str
    branch: str
    changes: Mapping[str, str]
    claimed_for: str | None
    must_find: frozenset[str] = frozenset()
    paths: tuple[str, ...] = ()
    queued: bool = True

    def commit(self, now: datetime) -> NewCommit:
        """The pull request's one commit."""
        evidence = "```\n2 passed\n```\n"
        done = {self.job.path(now, "done"): self.job.text(now, "done", self.paths, evidence)}
        left = {self.job.path(now, "queued"): None} if self.queued else {}
        files = {**self.changes, **left, **done}
        return NewCommit(self.branch, BASE, self.agent, now + WORKED, self.job.title, files)


STORIES = (
    Story(
        "An honest pull request",
        "Ada claimed the task before she began, changed what it lets her change, and moved its file from "
        "queued/ to done/.",
        REFUND,
        "Ada",
        "agent/refund",
        {
            "src/orders/cart.py": "def total(prices):\n    return sum(prices)\n\n\ndef refund(prices):\n"
            "    return -total(prices)\n",
            "tests/orders/test_cart.py": "def test_refund():\n    assert refund([2, 3]) == -5\n",
        },
        claimed_for="agent/refund",
    ),
    Story(
        "A task authored straight into done/",
        "Bob wrote himself a task that nobody had queued, already finished and with room for all he wanted, "
        "and a claim to go with it.",
        DISCOUNT,
        "Bob",
        "agent/discount",
        {"src/orders/cart.py": "def total(prices):\n    return sum(prices) * 0.5\n"},
        claimed_for="agent/discount",
        must_find=frozenset({"GK103"}),
        queued=False,
    ),
    Story(
        "No claim",
        "Cleo took a queued task and did the work, while anybody else might have been doing the same.",
        SEARCH,
        "Cleo",
        "agent/search",
        {"src/search/index.py": "def find(books, word):\n    return sorted(books)\n"},
        claimed_for=None,
        must_find=frozenset({"GK111"}),
    ),
    Story(
        "A claim on the wrong branch",
        "The task is claimed for agent/guide; Dan finished it on a branch of his own.",
        GUIDE,
        "Dan",
        "agent/guide-too",
        {"docs/search.md": "# Searching\n\nType a word.\n"},
        claimed_for="agent/guide",
        must_find=frozenset({"GK112"}),
    ),
    Story(
        "A widened authority",
        "Eve claimed the task, then let its file say that she may change all of src/, and did.",
        CACHE,
        "Eve",
        "agent/cache",
        {
            "src/catalogue/shelf.py": "CACHE = {}\n",
            "src/orders/cart.py": "CACHE = {}\n",
        },
        claimed_for="agent/cache",
        must_find=frozenset({"GK131", "GK141"}),
        paths=("src/**",),
    ),
    Story(
        "A path outside the authority",
        "Fay kept to the rules, but for one file of somebody else's that she mended in passing.",
        RECEIPT,
        "Fay",
        "agent/receipt",
        {
            "src/receipts/paper.py": "def receipt(order):\n    return f'{order}, with thanks'\n",
            "src/search/index.py": "def find(books, word):\n    return books\n",
        },
        claimed_for="agent/receipt",
        must_find=frozenset({"GK141"}),
    ),
)


def base(now: datetime) -> NewCommit:
    """The base branch's one commit: the code, the plan and a board of queued tasks."""
    tasks = {job.path(now, "queued"): job.text(now, "queued") for job in BOARD}
    ids = ", ".join(job.id(now) for job in BOARD)
    manifest = f"plan_revision: {PLAN_REVISION}\nmilestones:\n  - id: spring\n    status: active\n    tasks: [{ids}]\n"
    files = {**_SOURCES, ".agents/manifest.yml": manifest, **tasks}
    return NewCommit(BASE, None, "Olga", now - timedelta(days=1), "The board, the plan and the code", files)


def claim(story: Story, commit: str, now: datetime) -> Iterator[tuple[str, bytes]]:
    """The ref and the blob of a story's claim, taken when base stood at `commit`; none where nobody claimed."""
    if story.claimed_for is None:
        return
    fields: dict[str, object] = {
        "task": story.job.id(now),
        "agent": story.agent.lower(),
        "branch": story.claimed_for,
        "baseCommit": commit,
        "claimedAt": blob.iso(now + CLAIMED),
        "expiresAt": blob.iso(now + ENDS),
        "locks": [],
        "planRevision": PLAN_REVISION,
        "nonce": f"{story.job.number:08x}",
        "epoch": 1,
    }
    yield refs.claim_ref(story.job.id(now)), blob.encode(fields)
