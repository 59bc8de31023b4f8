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
    from collections.abc import Callable, Collection, Iterable

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
        self._told: str | None = None

    def author_is(self, who: str) -> Answer:
        """Whether a maintenance entry names the author: by login, a team or `@operators`; and whoever pushed last.

        On a laptop, where the author is not known, `@operators` is unknown and everyone else is not.
        """
        login = self._question.author
        if who == OPERATORS:
            return self._pushed_too(self.operates(login), self.operates)
        if login is None:
            return Answer.NO

        def named(person: str) -> Answer:
            return self._member(person, who) if who.startswith("@") else _yes(_among(person, [who]))

        return self._pushed_too(named(login), named, self.operates)

    def _pushed_too(self, author: Answer, *asked: Callable[[str], Answer]) -> Answer:
        """The author's answer, if one of `asked` holds for whoever pushed last too: nobody rides on a bot's branch."""
        if author is not Answer.YES:
            return author
        pusher = self.pusher()
        if pusher is None:
            return self._nobody_knows()
        if _among(pusher, [self._question.author or ""]):
            return author
        return _any(ask(pusher) for ask in asked)

    def pusher_operates(self) -> Answer:
        """Whether whoever pushed last is an operator."""
        pusher = self.pusher()
        return self._nobody_knows() if pusher is None else self.operates(pusher)

    def _nobody_knows(self) -> Answer:
        """What a pusher that is not known counts for: on a laptop the author, who is about to push it; in CI anybody."""
        return Answer.UNKNOWN if self._question.in_ci else Answer.YES

    def pusher(self) -> str | None:
        """Who pushed the head last; None where that is not known and nobody can be asked. The forge is asked once."""
        question = self._question
        if question.pusher is not None or self._forge is None:
            return question.pusher
        if question.branch is None or question.head.commit is None:
            raise RemoteUnreachable("who pushed the head can't be asked: no branch", "Name it with --branch.")
        if self._told is None:
            self._told = self._forge.pusher(question.branch, question.head.commit)
        return self._told

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
        return _any(self._member(login, team) for team in listed if team.startswith("@"))

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


def _any(answers: Iterable[Answer]) -> Answer:
    """Yes where one is, else unknown where one is; none is asked for after a yes."""
    found = Answer.NO
    for answer in answers:
        if answer is Answer.YES:
            return answer
        found = answer if answer is Answer.UNKNOWN else found
    return found


def _among(login: str, names: Collection[str]) -> bool:
    return login.casefold() in {name.casefold() for name in names}
