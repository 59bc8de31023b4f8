"""What only GitHub can tell: who administers, who is in a team, who pushed, what a pull request is.

The only importer of PyGithub, and only when a question is really asked: it costs start-up time,
and most verdicts need no answer of the forge. Every way of not getting an answer (no token, a
refusal, a rate limit, silence, a document that makes no sense) is RemoteUnreachable: never a guess.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import parse_qs, quote, urlsplit

from gatekeeper.errors import RemoteUnreachable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from github.Requester import Requester

PATIENCE = 15
"""Seconds to wait for a connection, and for each part of an answer."""

RETRIES = 2
"""How often a request is sent again after a broken connection or a 5xx answer."""

PAGES = 10
"""How many pages of a hundred entries are read before a search is given up."""

_FULL_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]*/[A-Za-z0-9._-]+")
_TEAM = re.compile(r"@([A-Za-z0-9][A-Za-z0-9-]*)/([A-Za-z0-9._-]+)")
_NOT_FOUND = 404
_PUSHES = ("push", "force_push", "branch_creation", "pr_merge", "merge_queue_merge")


class Pushed(NamedTuple):
    """Where a pull request's head stands: `owner/name`, branch, commit."""

    repository: str
    branch: str
    commit: str


class StatusError(Exception):
    """An answer with an error status: the number, and the message that came with it."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


class GitHubForge:
    """Questions to GitHub's REST API about one repository. Nothing is asked until a method is called.

    `operators_token`, where given, is used for team membership, which a workflow's own token may
    not read. `head` says where the pull request's head stands, if that is another repository or
    another commit than the one that is judged (a fork, a merge queue's entry).
    """

    def __init__(
        self,
        api_url: str,
        token: str,
        repository: str,
        *,
        operators_token: str = "",
        head: Pushed | None = None,
    ) -> None:
        self.api_url = api_url.rstrip("/")
        self.repository = repository
        self.head = head
        self._token = token
        self._operators_token = operators_token
        self._requesters: dict[str, Requester] = {}

    def is_admin(self, login: str) -> bool:
        """Whether `login` administers the repository, by a role of their own or a team's."""
        what = f"whether {login!r} administers {self.repository}"
        path = f"/repos/{_full_name(self.repository)}/collaborators/{quote(login, safe='')}/permission"
        try:
            found = self._get(path, what)
        except StatusError as why:
            if why.status == _NOT_FOUND and "is not a user" in why.message:
                return False  # an app: apps have permissions, not roles
            raise _refused(
                why, what, "Give the action's token `metadata: read` on this repository."
            ) from None
        return _text(found, "permission", what) == "admin"

    def in_team(self, login: str, team: str) -> bool:
        """Whether `login` is an active member of `@org/team` or of a team below it."""
        named = _TEAM.fullmatch(team)
        if named is None:
            raise RemoteUnreachable(f"{team!r} is no team", "Write teams as @organisation/team-slug.")
        what = f"whether {login!r} is in {team}"
        path = f"/orgs/{named[1]}/teams/{named[2]}"
        hint = "A workflow's own token may not read teams: give `operators-token` one with `members: read`."
        try:
            found = self._get(f"{path}/memberships/{quote(login, safe='')}", what, self._operators_token)
        except StatusError as why:
            if why.status != _NOT_FOUND:
                raise _refused(why, what, hint) from None
            # Not a member, or a team that this token may not see: the same answer, so look at the team.
            try:
                self._get(path, what, self._operators_token)
            except StatusError as again:
                raise _refused(again, what, hint) from None
            return False
        return _text(found, "state", what) == "active"

    def pull_request(self, number: int) -> Mapping[str, object]:
        """A pull request as the API describes it: the same document that events carry."""
        what = f"pull request {number}"
        try:
            found = self._get(f"/repos/{_full_name(self.repository)}/pulls/{number:d}", what)
        except StatusError as why:
            raise _refused(why, what, "Give the action's token `pull-requests: read`.") from None
        if _mapping(found, what).get("number") != number:
            raise _senseless(what)
        return _mapping(found, what)

    def pusher(self, branch: str, commit: str) -> str:
        """Who last put `commit` at the tip of `branch`, by the repository's activity log."""
        where = self.head or Pushed(self.repository, branch, commit)
        what = f"who pushed {where.commit[:12]} to {where.branch!r}"
        try:
            for entry in self._activity(where, what):
                if entry.get("after") == where.commit and entry.get("activity_type") in _PUSHES:
                    return _text(_mapping(entry.get("actor"), what), "login", what)
        except StatusError as why:
            hint = f"Give the action's token `contents: read` on {where.repository}."
            raise _refused(why, what, hint) from None
        raise RemoteUnreachable(
            f"{what} is not in the activity log of {where.repository}",
            "Push to the branch again, or run the check again in a minute: the log can be late.",
        )

    def _activity(self, where: Pushed, what: str) -> Iterator[Mapping[str, object]]:
        """The log of one branch, newest entry first."""
        query = {"ref": f"refs/heads/{where.branch}", "direction": "desc", "per_page": "100"}
        for _ in range(PAGES):
            headers, page = self._ask(f"/repos/{_full_name(where.repository)}/activity", what, query)
            if not isinstance(page, list):
                raise _senseless(what)
            yield from (_mapping(entry, what) for entry in page)
            after = _next(headers)
            if after is None:
                return
            query = query | {"after": after}

    def _get(self, path: str, what: str, token: str = "") -> object:
        return self._ask(path, what, {}, token)[1]

    def _ask(
        self, path: str, what: str, query: Mapping[str, str], token: str = ""
    ) -> tuple[Mapping[str, Any], object]:
        """One GET. Raises StatusError for an error status, RemoteUnreachable for everything else that goes wrong."""
        from github import GithubException  # noqa: PLC0415 -- see the module's docstring

        requester = self._requester(token or self._token, what)
        try:
            return requester.requestJsonAndCheck("GET", path, parameters=dict(query))
        except GithubException as why:
            raise StatusError(why.status, _said(why.data)) from None
        except Exception as why:  # noqa: BLE001 -- whatever breaks in between, there is no answer
            raise RemoteUnreachable(
                f"{what} could not be asked of {self.api_url}: {_brief(why)}",
                "Look at the network and at GitHub's status, then run the check again.",
            ) from None

    def _requester(self, token: str, what: str) -> Requester:
        if not token:
            raise RemoteUnreachable(f"{what} can't be asked without a token", "Give the action a `token`.")
        if not self.api_url.startswith(("https://", "http://")):
            raise RemoteUnreachable(
                f"{what} can't be asked: GITHUB_API_URL names no API", "Run this in a workflow."
            )
        if token not in self._requesters:
            self._requesters[token] = _connected(self.api_url, token)
        return self._requesters[token]


def _connected(api_url: str, token: str) -> Requester:
    """A connection that gives up soon: a check that waits for a rate limit to pass blocks a runner for an hour."""
    import logging  # noqa: PLC0415

    from github import Auth, Github  # noqa: PLC0415 -- see the module's docstring
    from urllib3 import Retry  # noqa: PLC0415

    logging.getLogger("github").setLevel(
        logging.CRITICAL
    )  # it quotes answers, and what is said here is ours to word
    logging.getLogger("urllib3").setLevel(logging.CRITICAL)
    retry = Retry(
        total=RETRIES,
        backoff_factor=0.2,
        status_forcelist=(500, 502, 503, 504),
        allowed_methods=("GET",),
        respect_retry_after_header=False,
        raise_on_status=False,
    )
    forge = Github(
        base_url=api_url,
        auth=Auth.Token(token),
        timeout=PATIENCE,
        retry=retry,
        user_agent="gatekeeper",
        seconds_between_requests=0,
        seconds_between_writes=0,
    )
    return forge.requester


def _next(headers: Mapping[str, Any]) -> str | None:
    """The cursor of the next page, from a Link header; only the cursor is taken, never the address."""
    for part in str(headers.get("link", "")).split(","):
        found = re.fullmatch(r'\s*<([^>]*)>\s*;.*\brel="next".*', part, re.DOTALL)
        if found:
            return next(iter(parse_qs(urlsplit(found[1]).query).get("after", [])), None)
    return None


def _full_name(name: str) -> str:
    """`owner/name`, fit for an address."""
    if not _FULL_NAME.fullmatch(name) or name.endswith(("/.", "/..")):
        raise RemoteUnreachable(
            f"{name!r} is no repository that could be asked about"
            if name
            else "the head's repository is gone",
            "Its full name is owner/name.",
        )
    return name


def _mapping(value: object, what: str) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise _senseless(what)
    return value


def _text(found: object, name: str, what: str) -> str:
    value = _mapping(found, what).get(name)
    if not isinstance(value, str):
        raise _senseless(what)
    return value


def _senseless(what: str) -> RemoteUnreachable:
    return RemoteUnreachable(f"GitHub's answer to {what} is not what it should be", "Run the check again.")


def _refused(why: StatusError, what: str, hint: str) -> RemoteUnreachable:
    """What to raise of an error status. A rate limit comes as 403 or 429 and is no question of permissions."""
    if why.status == 429 or "rate limit" in why.message.lower():  # noqa: PLR2004
        hint = "The token's rate limit is used up: run the check again later."
    elif why.status not in (401, 403, _NOT_FOUND):
        hint = "Look at GitHub's status, then run the check again."
    elif why.status == 401:  # noqa: PLR2004
        hint = "The token is not valid (any more): look at where it comes from."
    said = f": {why.message[:200]!r}" if why.message else ""
    return RemoteUnreachable(f"GitHub will not tell {what} (status {why.status}{said})", hint)


def _said(data: object) -> str:
    """The message in an error's document."""
    return str(data.get("message") or "") if isinstance(data, dict) else ""


def _brief(why: Exception) -> str:
    """An exception in one short line; its text may quote an address, and never a token."""
    name = type(why).__name__
    if "timeout" in f"{name}{why}".lower() or "timed out" in str(why).lower():
        return f"no answer within {PATIENCE} seconds"
    return name
