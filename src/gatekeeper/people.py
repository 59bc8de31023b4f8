"""Who is who: operators, teams and the names in a maintenance entry (CONTRACT 1 and 6).

A login is compared without regard to case. What nobody can tell is `Answer.UNKNOWN`,
never a yes; the caller decides whether that is a notice (a laptop) or an error (CI).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from gatekeeper.errors import RemoteUnreachable
from gatekeeper.policy import OPERATORS, Policy
from gatekeeper.snapshot import Answer

if TYPE_CHECKING:
    from collections.abc import Collection

    from gatekeeper.question import Question


class Forge(Protocol):
    """What only the forge knows. Each raises RemoteUnreachable where it will not tell."""

    def is_admin(self, login: str) -> bool:
        """Whether a login administers the repository."""

    def in_team(self, login: str, team: str) -> bool:
        """Whether a login is in `@org/team`."""

    def pusher(self, branch: str, commit: str) -> str:
        """Who pushed `commit` to `branch`."""


class People:
    """Answers about the author and the pusher, from the policy, `--operator` and the forge, in that order."""

    def __init__(self, question: Question, policy: Policy, forge: Forge | None) -> None:
        self._question = question
        self._policy = policy
        self._forge = forge

    def author_is(self, who: str) -> Answer:
        """Whether the author is what a maintenance entry names: a login, a team or `@operators`.

        On a laptop, where the author is not known, `@operators` is unknown and everyone else is not.
        """
        login = self._question.author
        if who == OPERATORS:
            return self._both(self.operates(login))
        if login is None:
            return Answer.NO
        if who.startswith("@"):
            return self._member(login, who)
        return self._own_push(login) if login.casefold() == who.casefold() else Answer.NO

    def _own_push(self, login: str) -> Answer:
        """Yes, unless somebody else is known to have pushed last, who is no operator: nobody rides on a bot's branch."""
        pusher = self._question.pusher
        if pusher is None or pusher.casefold() == login.casefold():
            return Answer.YES
        return _yes(self.operates(pusher) is Answer.YES)

    def _both(self, author: Answer) -> Answer:
        """The author's answer, unless whoever pushed last is known to be no operator."""
        if author is not Answer.YES:
            return author
        pusher = self.pusher()
        return author if pusher is None else self.operates(pusher)

    def pusher(self) -> str | None:
        """Who pushed the head last; None where that is not known and nobody can be asked."""
        question = self._question
        if question.pusher is not None or self._forge is None:
            return question.pusher
        if question.branch is None or question.head.commit is None:
            raise RemoteUnreachable("who pushed the head can't be asked: no branch", "Name it with --branch.")
        return self._forge.pusher(question.branch, question.head.commit)

    def operates(self, login: str | None) -> Answer:
        """Whether a login is an operator. A policy's list without teams is final."""
        if login is None:
            return Answer.UNKNOWN
        listed = self._policy.operators
        if listed is None:
            return self._administers(login)
        names = [name for name in listed if not name.startswith("@")]
        if _among(login, names):
            return Answer.YES
        answers = [self._member(login, team) for team in listed if team.startswith("@")]
        return next((a for a in (Answer.YES, Answer.UNKNOWN) if a in answers), Answer.NO)

    def _administers(self, login: str) -> Answer:
        if self._question.operators:
            return _yes(_among(login, self._question.operators))
        return Answer.UNKNOWN if self._forge is None else _yes(self._forge.is_admin(login))

    def _member(self, login: str, team: str) -> Answer:
        if self._question.operators:
            return _yes(_among(login, self._question.operators))
        return Answer.UNKNOWN if self._forge is None else _yes(self._forge.in_team(login, team))


def _yes(holds: bool) -> Answer:
    return Answer.YES if holds else Answer.NO


def _among(login: str, names: Collection[str]) -> bool:
    return login.casefold() in {name.casefold() for name in names}
