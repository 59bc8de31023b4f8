"""Who is an operator, a team's member, a maintenance entry's author; and what stays unknown."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from gatekeeper.errors import RemoteUnreachable
from gatekeeper.model import Tip
from gatekeeper.people import People
from gatekeeper.policy import DEFAULT
from gatekeeper.question import Question
from gatekeeper.snapshot import Answer

ASKED = Question(
    Tip("main", "1" * 40), Tip("agent/x", "2" * 40), datetime(2026, 8, 20, tzinfo=UTC), "agent/x"
)


class Told:
    """A forge that knows one administrator, one team and who pushed."""

    def is_admin(self, login: str) -> bool:
        return login.casefold() == "octocat"

    def in_team(self, login: str, team: str) -> bool:
        return (login, team) == ("ann", "@org/team")

    def pusher(self, branch: str, commit: str) -> str:
        assert (branch, commit) == ("agent/x", "2" * 40)
        return "mallory"


def people(operators: tuple[str, ...] | None = None, forge: Told | None = None, **asked: object) -> People:
    return People(ASKED._replace(**asked), DEFAULT._replace(operators=operators), forge)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("who", "login", "answer"),
    [
        (people(), None, Answer.UNKNOWN),
        (people(), "ann", Answer.UNKNOWN),
        (people(forge=Told()), "OctoCat", Answer.YES),
        (people(forge=Told()), "ann", Answer.NO),
        (people(operators=("ann",)), "ANN", Answer.YES),
        (people(operators=("ann",), forge=Told()), "octocat", Answer.NO),
        (people(operators=("bob", "@org/team")), "ann", Answer.UNKNOWN),
        (people(operators=("bob", "@org/team"), forge=Told()), "ann", Answer.YES),
        (people(operators=("bob", "@org/team"), forge=Told()), "mallory", Answer.NO),
        (people(operators=("x",)), "x", Answer.YES),
    ],
)
def test_who_operates(who: People, login: str | None, answer: Answer) -> None:
    assert who.operates(login) is answer


def test_operators_on_the_command_line_stand_for_the_forge_but_not_for_the_policy() -> None:
    asked = ASKED._replace(operators=("eve",))
    assert People(asked, DEFAULT, None).operates("EVE") is Answer.YES
    assert People(asked, DEFAULT, None).operates("ann") is Answer.NO
    assert People(asked, DEFAULT._replace(operators=("ann",)), None).operates("eve") is Answer.NO
    assert People(asked, DEFAULT._replace(operators=("ann", "@org/team")), None).operates("eve") is Answer.YES


@pytest.mark.parametrize(
    ("named", "asked", "answer"),
    [
        ("dependabot[bot]", {"author": "dependabot[bot]"}, Answer.YES),
        ("dependabot[bot]", {"author": "Dependabot[bot]"}, Answer.YES),
        ("dependabot[bot]", {"author": "dependabot"}, Answer.NO),
        ("dependabot[bot]", {}, Answer.NO),
        ("@org/team", {}, Answer.NO),
        ("@org/team", {"author": "ann"}, Answer.UNKNOWN),
        ("@operators", {}, Answer.UNKNOWN),
        ("@operators", {"author": "ann", "operators": ("ann",)}, Answer.YES),
        ("@operators", {"author": "ann", "operators": ("bob",)}, Answer.NO),
    ],
)
def test_whom_a_maintenance_entry_names(named: str, asked: dict[str, object], answer: Answer) -> None:
    assert People(ASKED._replace(**asked), DEFAULT, None).author_is(named) is answer  # type: ignore[arg-type]


def test_nobody_rides_on_a_named_authors_branch() -> None:
    bot = ASKED._replace(author="bot", operators=("octocat",))
    assert People(bot._replace(pusher="BOT"), DEFAULT, None).author_is("bot") is Answer.YES
    assert People(bot._replace(pusher="octocat"), DEFAULT, None).author_is("bot") is Answer.YES
    assert People(bot._replace(pusher="mallory"), DEFAULT, None).author_is("bot") is Answer.NO


def test_whoever_pushed_last_has_to_be_an_operator_as_well() -> None:
    admin = ASKED._replace(author="octocat")
    assert People(admin._replace(pusher="octocat"), DEFAULT, Told()).author_is("@operators") is Answer.YES
    assert (
        People(admin, DEFAULT, Told()).author_is("@operators") is Answer.NO
    )  # the forge says mallory pushed


@pytest.mark.parametrize("named", ["bot", "@org/team", "@operators"])
def test_in_ci_a_pusher_that_nobody_knows_is_unknown(named: str) -> None:
    asked = ASKED._replace(author="bot", operators=("bot",))
    assert People(asked, DEFAULT, None).author_is(named) is Answer.YES
    in_ci = People(asked._replace(in_ci=True), DEFAULT, None)
    assert (in_ci.author_is(named), in_ci.pusher_operates()) == (Answer.UNKNOWN, Answer.UNKNOWN)
    told = People(asked._replace(in_ci=True, operators=()), DEFAULT._replace(operators=("bot",)), Told())
    assert told.author_is("bot") is Answer.NO  # the forge says mallory pushed
    assert told.pusher_operates() is Answer.NO


@pytest.mark.parametrize(
    ("pusher", "answer"),
    [("ANN", Answer.YES), ("octocat", Answer.YES), ("mallory", Answer.NO), ("bob", Answer.YES)],
)
def test_nobody_rides_on_a_team_members_branch(pusher: str, answer: Answer) -> None:
    class Team(Told):
        def in_team(self, login: str, team: str) -> bool:
            return login in ("ann", "bob") and team == "@org/team"

    assert people(forge=Team(), author="ann", pusher=pusher).author_is("@org/team") is answer


def test_the_forge_is_asked_once_who_pushed() -> None:
    asked: list[str] = []

    class Counting(Told):
        def pusher(self, branch: str, commit: str) -> str:
            asked.append(branch)
            return super().pusher(branch, commit)

    who = people(forge=Counting(), author="octocat")
    assert [who.author_is(name) for name in ("@operators", "octocat", "@operators")] == [Answer.NO] * 3
    assert asked == ["agent/x"]


def test_what_is_not_known_of_a_pusher_is_unknown() -> None:
    assert people(author="bot", pusher="mallory").author_is("bot") is Answer.UNKNOWN
    assert people(("octocat",), author="bot", pusher="mallory").author_is("bot") is Answer.NO
    assert people(("@org/team",), author="bot", pusher="mallory").author_is("bot") is Answer.UNKNOWN


def test_a_pusher_that_nobody_can_be_asked_for_is_an_error() -> None:
    with pytest.raises(RemoteUnreachable):
        People(ASKED._replace(author="octocat", branch=None), DEFAULT, Told()).pusher()
