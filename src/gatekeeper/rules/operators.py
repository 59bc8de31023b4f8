"""GK161 and GK162: who may change the board, and that the policy stays readable."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatekeeper.model import Lane, Severity
from gatekeeper.rules.base import Found, Rule
from gatekeeper.snapshot import POLICY_PATH, Answer, Snapshot
from gatekeeper.text import quoted

if TYPE_CHECKING:
    from collections.abc import Iterator


PROPOSE = "Have an operator open it, or write a proposal under .agents/proposals/."


def operator_needed(facts: Snapshot) -> Iterator[Found]:
    """A planning change and a revert are an operator's, as author and as whoever pushed last.

    Why: who plans decides what is worked on; agents propose.

    Fails: `mallory`, who does not administer the repository, edits `.agents/plan.md`.

    Mend: an operator opens the pull request, or the change is written as a proposal.
    """
    asked = facts.question
    people = (
        (asked.author, facts.author_operates, "author"),
        (asked.pusher, facts.pusher_operates, "last pusher"),
    )
    for login, answer, role in people:
        if facts.asks_operator and answer is Answer.NO:
            yield Found(
                f"this is {_named(facts)}, which an operator makes, and its {role} "
                f"{quoted(login) if login else ''} is none",
                help="Have an operator open it." if facts.lane is Lane.REVERT else PROPOSE,
            )


def _named(facts: Snapshot) -> str:
    return "a revert" if facts.lane is Lane.REVERT else f"a {facts.lane.value} change"


def _unknown(facts: Snapshot) -> str:
    author = facts.question.author
    return f"whether {quoted(author)} is an operator" if author else "who makes it"


def operator_unknown(facts: Snapshot) -> Iterator[Found]:
    """As GK161, where nobody here knows who the author is or who the operators are: a notice of who must look."""
    if not facts.asks_operator or Answer.NO in (facts.author_operates, facts.pusher_operates):
        return
    if Answer.UNKNOWN in (facts.author_operates, facts.pusher_operates):
        listed = facts.policy.operators
        who = ", ".join(quoted(name) for name in listed) if listed else "whoever administers the repository"
        if facts.lane is Lane.MAINTENANCE:
            who = "whoever base's policy names for these paths under `maintenance`"
        yield Found(
            f"this is {_named(facts)}, and {_unknown(facts)} is not known here: only {who} may make it",
            help="In CI the forge is asked; here name --author and --operator to have it decided.",
        )


def policy_would_break(facts: Snapshot) -> Iterator[Found]:
    """The policy that the merge would leave can be read.

    Why: the next check could decide nothing.

    Fails: the branch writes `oops: 1` into `.github/gatekeeper.yml`.

    Mend: mend the policy's text; the message names the line.
    """
    if facts.policy_problem is not None:
        yield Found(
            f"the merge would leave a policy that can't be read: {facts.policy_problem}",
            path=POLICY_PATH,
            help="Mend it: docs/policy.md and docs/schemas/policy.schema.json say what may stand there.",
        )


RULES = (
    Rule("GK161", "operator-needed", operator_needed),
    Rule("GK162", "policy-would-break", policy_would_break),
)
WEAKER = (Rule("GK161", "operator-needed", operator_unknown, Severity.NOTICE),)
"""Rules that share a code with one of RULES and weigh less."""
